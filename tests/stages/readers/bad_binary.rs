//! Binary files that are cut or damaged.

use trimill::testing::input::format::Format;

use super::bad_tables::words;
use super::support::{Folder, TINY, data, gz, on, open, pairs32, pairs64, read, read_as, refused, sg};

#[test]
fn bad_binary_files_are_refused() {
    let folder = Folder::new();
    folder.refuses("odd.bin", [0; 12], &["a size of 12 bytes", "a multiple of 8", "--format"]);
    folder.refuses("odd.bin64", [0; 24], &["a size of 24 bytes", "a multiple of 16"]);
    folder.refuses("odd.g500", [0; 16], &["a size of 16 bytes", "a multiple of 12"]);
    folder.refuses("unknown.dat", [0; 16], &["cannot be told", "bvgraph, text, matrix-market, metis"]);
    let path = folder.write("named.dat", [1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(read_as(&path, Some(Format::BinU32), None).unwrap(), [(1, 2)]);

    let whole = sg(6, &TINY, true);
    folder.refuses("short.sg", &whole[..10], &["no header"]);
    folder.refuses("few.sg", &whole[..40], &["too small for its 6 vertices"]);
    folder.refuses("cut.sg", &whole[..whole.len() - 1], &["a size of", "expected"]);
    let altered = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        bytes
    };
    folder.refuses("count.sg", altered(1, 7), &["8 stored arcs; expected 7"]);
    let told = ["offsets: ", "after 200 at place 3; expected numbers that ascend"];
    folder.refuses("offset.sg", altered(17 + 8 * 2, 200), &told);
    folder.refuses("first.sg", altered(17, 1), &["offsets: the first number 1 and the last one 8; expected 0 and 8"]);
    folder.refuses("head.sg", altered(17 + 8 * 7, 6), &["neighbour 6 of vertex 0", "from 0 to 5"]);
    folder.refuses("negative.sg", altered(17 + 8 * 7 + 3, 0xff), &["neighbour -"]);
    folder.refuses("vertices.sg", altered(9 + 4, 1), &["4294967302 vertices"]);

    // With weights: after 7 offsets, each neighbour is followed by a number.
    let weighted = |csr: &[u8]| {
        let neighbours = csr[56..].as_chunks::<4>().0.iter().flat_map(|&id| [id, [9, 0, 0, 0]]);
        [csr[..56].to_vec(), neighbours.flatten().collect()].concat()
    };
    for directed in [false, true] {
        let whole = sg(6, &TINY, directed);
        let bytes: Vec<u8> = whole[17..].chunks(56 + 4 * TINY.len()).flat_map(weighted).collect();
        for name in ["w.wsg", "w.sg"] {
            let bytes = [&whole[..17], &bytes].concat();
            folder.refuses(name, bytes, &["a weighted graph", "converter -f FILE -w -e NEW.wel"]);
        }
    }
}

#[test]
fn pairs_of_64_bits_are_told_from_pairs_of_32() {
    let folder = Folder::new();
    let wide = pairs64(&TINY);
    for (name, bytes) in [("wide.bin", wide.clone()), ("wide.bin.gz", gz(&wide))] {
        folder.refuses(name, &bytes, &["looks like bin-u64", "--format bin-u64", "--format bin-u32"]);
        for (format, first) in [(Format::BinU64, (0, 1)), (Format::BinU32, (0, 0))] {
            assert_eq!(read_as(&folder.path(name), Some(format), None).unwrap()[0], first, "{name} as {format}");
        }
    }
    // Many ids, one of them of more than 32 bits; then edges of 12 bytes, as Graph500 writes them.
    let ring: Vec<(u64, u64)> = (0..30).map(|i| (i, (i + 7) % 30)).chain([(1 << 40, 3)]).collect();
    folder.refuses("ring.bin", pairs64(&ring), &["looks like bin-u64"]);
    let packed: Vec<u8> =
        ring[..30].iter().flat_map(|&(u, v)| [u as u32, v as u32, 0].map(u32::to_le_bytes)).flatten().collect();
    folder.refuses("packed.bin", packed, &["looks like graph500", "--format bin-u32"]);
    // A star, loops, and arcs in the order of their heads, of which more than 64 KiB lead to 0.
    let by_heads: Vec<(u64, u64)> = (0..20_000).map(|i| (i * 7919 % 20_011, i / 10_000)).collect();
    for narrow in [&[(1, 0), (2, 0), (3, 0), (9, 0)][..], &[(0, 0); 4], &by_heads] {
        let path = folder.write("narrow.bin", pairs32(narrow));
        assert_eq!(read(&path).unwrap().len(), narrow.len());
    }
    // Edges of 12 bytes are ruled out: the file has 16.
    let path = folder.write("two.bin.gz", gz(pairs32(&[(1, 3), (0, 2)])));
    assert_eq!(read(&path).unwrap(), [(0, 2), (1, 3)]);
}

/// The files are made of a ring of 65 vertices, in which the neighbours of `i` are `i - 1` and `i + 1`.
#[test]
fn what_is_no_list_of_pairs_is_refused_unless_its_format_is_named() {
    let folder = Folder::new();
    let ring: Vec<(u64, u64)> = (0..65).map(|i| (i, (i + 1) % 65)).collect();
    let as_floats = |wide: bool| -> Vec<u8> {
        let ids = ring.iter().flat_map(|&(u, v)| [u as f32, v as f32]);
        ids.flat_map(|id| if wide { f64::from(id).to_le_bytes().to_vec() } else { id.to_le_bytes().to_vec() }).collect()
    };
    let ends: Vec<i64> = (0..=65).map(|row| 2 * row).collect();
    let neighbours: Vec<i64> = (0..65).flat_map(|i| [(i + 64) % 65, (i + 1) % 65]).collect();
    let (narrow, wide) = (words::<4>, words::<8>);
    let headed = [&[(65, 65)][..], &ring].concat();
    for (name, bytes, format, found) in [
        ("f.bin", as_floats(false), Format::BinU32, "floating-point"),
        ("d.bin", as_floats(true), Format::BinU32, "floating-point"),
        ("d.bin64", as_floats(true), Format::BinU64, "floating-point"),
        ("c.bin", [narrow(&ends), narrow(&neighbours)].concat(), Format::BinU32, "CSR: the ends of 65 rows"),
        ("m.bin", [wide(&ends), narrow(&neighbours)].concat(), Format::BinU32, "CSR: the ends of 65 rows"),
        ("c.bin64", [wide(&ends), wide(&neighbours)].concat(), Format::BinU64, "CSR: the ends of 65 rows"),
        ("h.bin", pairs32(&headed), Format::BinU32, "begins with 65 and 65, and 65 pairs follow"),
        ("h.bin64", pairs64(&headed), Format::BinU64, "tail -c +17 FILE"),
    ] {
        folder.refuses(name, bytes, &[found, &format!("name it with --format {format}")]);
        read_as(&folder.path(name), Some(format), None).unwrap();
    }
    // Paths, whose ids ascend like offsets; and a ring after an edge one of whose ids is the number of the ring's edges.
    let edge = [&[(64, 65)][..], &ring].concat();
    for pairs in (100..103).map(|edges| (0..edges).map(|i| (i, i + 1)).collect::<Vec<_>>()).chain([edge]) {
        assert_eq!(read(&folder.write("g.bin", pairs32(&pairs))).unwrap().len(), pairs.len());
    }
}

#[test]
fn bad_bvgraphs_are_refused() {
    let folder = Folder::new();
    let graph = std::fs::read(data("cnr-symmetric.graph")).unwrap();
    let properties = std::fs::read_to_string(data("cnr-symmetric.properties")).unwrap();
    let refuses = |name: &str, parts: &[&str], alter: &dyn Fn(&mut Vec<u8>, &mut String)| {
        let (mut graph, mut properties) = (graph.clone(), properties.clone());
        alter(&mut graph, &mut properties);
        folder.write(&format!("{name}.properties"), properties);
        let path = folder.write(&format!("{name}.graph"), graph);
        for threads in [1, 3] {
            refused(on(threads, || read(&path)), parts);
        }
    };
    let replace = |from: &'static str, to: &'static str| {
        move |_: &mut Vec<u8>, text: &mut String| {
            assert!(text.contains(from));
            *text = text.replace(from, to);
        }
    };
    refuses("cut", &["the stream ends too early", "cut.graph"], &|graph, _| graph.truncate(300_001));
    // The writer pads the last word of 64 bits, of which this file uses one byte.
    refuses("cut-a-word", &["cut-a-word.graph"], &|graph, _| graph.truncate(graph.len() - 8));
    refuses("longer", &["bytes; expected 640105"], &|graph, _| graph.extend([0; 40]));
    refuses("zeros", &["zeros.graph"], &|graph, _| graph[5000..].fill(0));
    refuses("ones", &["ones.graph"], &|graph, _| graph[5000..].fill(0xff));
    refuses("no-nodes", &["no 'nodes'", "no-nodes.properties"], &replace("\nnodes=130000", ""));
    refuses("no-arcs", &["no 'arcs'"], &replace("\narcs=2057910", ""));
    refuses("words", &["'nodes'", "words.properties"], &replace("nodes=130000", "nodes=many"));
    refuses("more-nodes", &["too early"], &replace("nodes=130000", "nodes=130001"));
    refuses("fewer-nodes", &["fewer-nodes.graph"], &replace("nodes=130000", "nodes=129000"));
    refuses("more-arcs", &["2057910 arcs in 130000 rows; expected 2057911"], &replace("arcs=2057910", "arcs=2057911"));
    refuses("fewer-arcs", &["fewer-arcs.graph"], &replace("arcs=2057910", "arcs=2057909"));
    refuses("window", &["a window of"], &replace("windowsize=7", "windowsize=999999999999"));
    refuses("window-word", &["window-word.properties"], &replace("windowsize=7", "windowsize=x"));
    refuses("small-window", &["small-window.graph"], &replace("windowsize=7", "windowsize=1"));
    refuses("intervals", &["intervals.graph"], &replace("minintervallength=4", "minintervallength=3"));
    refuses("class", &["a graph of class"], &replace("webgraph.BVGraph", "webgraph.EFGraph"));
    refuses("codes", &["codes.properties"], &replace("compressionflags=", "compressionflags=RESIDUALS_MORSE"));
    refuses("other-codes", &["other-codes.graph"], &replace("compressionflags=", "compressionflags=RESIDUALS_DELTA"));
    refuses("limit", &["4294967295 vertices", "2^32 - 2"], &replace("nodes=130000", "nodes=4294967295"));
    refuses("most", &["most.graph"], &replace("nodes=130000", "nodes=4294967294"));
    refuses("endian", &["endian.properties"], &replace("endianness=big", "endianness=middle"));

    refused(open(&folder.write("alone.graph", &graph)), &["alone.properties: does not exist"]);
    refused(open(&folder.write("lonely.properties", &properties)), &["lonely.graph: does not exist"]);
}
