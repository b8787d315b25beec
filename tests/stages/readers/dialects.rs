//! Dialects of edge lists: legal ones, illegal ones, and ambiguous ones, which are refused: the right arcs or an error.

mod headers;
mod repository;

use trimill::Kind;
use trimill::testing::input::Header;
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;

use super::support::{
    Folder, data, edges, gz, open, pairs32, pairs64, read, read_as, read_files, refused, write_bvgraph,
};

/// Six vertices: two triangles, 0-1-2 and 1-2-3, and a path 3-4-5.
const KITE: [(u64, u64); 7] = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5)];

fn lines(first: u64, separator: &str, rest: &str) -> String {
    KITE.iter().map(|(u, v)| format!("{}{separator}{}{rest}\n", u + first, v + first)).collect()
}

/// Checks that a file, which may be compressed, has the arcs of the kite, with ids from `first` on.
fn is_kite(folder: &Folder, name: &str, text: &str, first: u64) {
    let packed = format!("{name}.gz");
    for path in [folder.write(name, text), folder.write(&packed, gz(text.as_bytes()))] {
        let found = read(&path).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<_> = edges(&found).iter().map(|(u, v)| (u - first, v - first)).collect();
        assert_eq!(found, KITE, "{name}: {text}");
    }
}

#[test]
fn legal_dialects_are_read() {
    let folder = Folder::new();
    let snap = format!("# Undirected graph\n# Nodes: 6 Edges: 7\n# FromNodeId\tToNodeId\n{}", lines(0, "\t", ""));
    let both = format!("{}{}", lines(0, "\t", ""), KITE.map(|(u, v)| format!("{v}\t{u}\n")).concat());
    for (name, text, first) in [
        ("snap.txt", snap, 0),
        ("both.txt", format!("# both directions\n{both}"), 0),
        ("out.unweighted", format!("% sym unweighted\n% 7 6 6\n{}", lines(1, " ", "")), 1),
        ("out.weighted", format!("% sym posweighted\n% 7 6 6\n{}", lines(1, " ", " 2.5")), 1),
        ("out.times", format!("% asym\n{}", lines(1, "\t", "\t1\t1082008561")), 1),
        ("challenge.tsv", lines(1, "\t", "\t1"), 1),
        ("gap.el", lines(0, " ", ""), 0),
        ("gap.wel", lines(0, " ", " 17"), 0),
        ("nr.edges", format!("% sym unweighted\n% 7 6 6\n{}", lines(1, ",", "")), 1),
        ("nr-weights.edges", lines(1, ",", ",-1.5"), 1),
        ("nr-header.edges", format!("% asym weighted\n6 6 7\n{}", lines(1, " ", " 1 1280000000")), 1),
        // Of Neo4j.
        ("neo4j.csv", format!(":START_ID,:END_ID,:TYPE\n{}", lines(0, ",", ",KNOWS")), 0),
        ("named.csv", format!("source,target,weight\n{}", lines(0, ",", ",0.5")), 0),
        ("gephi.csv", format!("Source,Target,Type,Id,Label\n{}", lines(0, ",", ",Undirected,7,")), 0),
        ("blank-weights.csv", format!("u,v,w\n{}", lines(0, ",", ",")), 0),
        ("names.csv", format!("{}0,1,New York, NY\n", lines(0, ",", ",Boston")), 0),
        ("networkx.edgelist", format!("{}0 1 {{}}\n", lines(0, " ", " {'weight': 3, 'x': 1}")), 0),
        ("spaced.csv", lines(0, " , ", " "), 0),
        ("padded.tsv", lines(0, " \t ", ""), 0),
        ("decimal-commas.txt", lines(0, " ", " 0,5"), 0),
        ("times.csv", lines(0, ",", ",2020-01-01 10:00:00"), 0),
        ("blanks.tsv", format!("From Node\tTo Node\n{}", lines(0, "\t", "")), 0),
        ("quoted.csv", format!("\"Source, id\",\"Target, id\"\n{}", lines(0, ",", "")), 0),
        ("alike.csv", format!("user_id,item_id,count\n{}", lines(0, ",", ",7")), 0),
        ("coordinates.csv", format!("row,col,data\n{}", lines(0, ",", ",1")), 0),
        ("weights.csv", format!("id,friend,weight\n{}", lines(0, ",", ",0.5")), 0),
        ("count.txt", format!("6\n{}", lines(0, "\t", "")), 0),
        ("graph.jlg", format!("6,7,u,graph,2,Int64,simplegraph\n{}", lines(1, ",", "")), 1),
        ("enron.txt", format!("6 7\n{}", lines(0, " ", "")), 0),
        ("enron-both.txt", format!("6 7\n{both}"), 0),
        ("weights.txt", format!("6 7\n{}", lines(0, " ", " 0.25")), 0),
        ("coordinates.txt", format!("6 6 7\n{}", lines(1, " ", "")), 1),
        ("konect-header.txt", format!("7 6 6\n{}", lines(1, " ", "")), 1),
    ] {
        is_kite(&folder, name, &text, first);
    }
}

#[test]
fn a_column_that_numbers_the_lines_is_no_end_of_an_arc() {
    let folder = Folder::new();
    let numbered = |quote: &str, separator: &str, rest: &str| -> String {
        let row = |(i, (u, v)): (usize, &(u64, u64))| format!("{quote}{i}{quote}{separator}{u}{separator}{v}{rest}\n");
        KITE.iter().enumerate().map(row).collect()
    };
    is_kite(&folder, "pandas.csv", &format!(",src,dst\n{}", numbered("", ",", "")), 0);
    is_kite(&folder, "weights.csv", &format!(",src,dst,w\n# c\n\n{}", numbered("", ",", ",0.5")), 0);
    is_kite(&folder, "again.csv", &format!("Unnamed: 0,source,target\n{}", numbered("", ",", "")), 0);
    is_kite(&folder, "r.csv", &format!("\"\",\"from\",\"to\"\n{}", numbered("\"", ",", "")), 0);
    is_kite(&folder, "ids.tsv", &format!("id\tsource\ttarget\n{}", numbered("", "\t", "")), 0);
    is_kite(&folder, "index.csv", &format!("index,a,b\n{}", numbered("", ",", "")), 0);
    is_kite(&folder, "times.csv", &format!("time,user1,user2\n{}", numbered("", ",", "")), 0);
    is_kite(&folder, "nodes.tsv", &format!("Edge Id\tFrom Node\tTo Node\n{}", numbered("", "\t", "")), 0);
    is_kite(&folder, "index.tsv", &format!("\tsource\ttarget\n{}", numbered("", "\t", "")), 0);
    is_kite(&folder, "none.txt", &format!("a b c\n{}", lines(0, " ", " 1")), 0);
    let away = format!("id,weight,source,target\n{}", numbered("", ",", ",1"));
    folder.refuses("away.csv", away, &["away.csv:", "columns 3 and 4", "first two columns"]);
    let awk = "awk '{print $1, $3}' FILE";
    for (separator, cut) in [(",", "cut -d, -f1,3 FILE"), ("\t", "cut -f1,3 FILE"), (" ", awk), ("  ", awk)] {
        let header = |names: [&str; 3]| format!("{}\n{}", names.join(separator), numbered("", separator, ""));
        let between = header(["source", "weight", "target"]);
        folder.refuses("between.csv", between, &["columns 1 and 3", cut]);
        for key in ["id", "edge_id", "X", "year"] {
            let keyed = header([key, "a", "b"]);
            folder.refuses("key.csv", keyed, &["key.csv:1: ", "may number the lines", &cut.replace('1', "2")]);
            assert_eq!(read_as(&folder.path("key.csv"), None, Some(Header::Yes)).unwrap().len(), KITE.len());
        }
    }
    // As R writes a table: one name fewer than columns.
    let unnamed = format!("source target\n{}", numbered("", " ", ""));
    let how = "if the ends are the first two, delete the header";
    folder.refuses("unnamed.txt", unnamed, &["unnamed.txt:2: a line with 3 columns; expected 2", how]);
    folder.refuses("short.csv", ",src,dst\n0,1,2\n1\n2,2,3\n", &["short.csv:3:", "without numbers"]);
}

#[test]
fn columns_are_settled_once_a_file() {
    let folder = Folder::new();
    for (text, line, parts) in [
        ("0 1\n1 2 3\n2 3\n", 2, &["a line with 3 columns; expected 2 columns"][..]),
        ("0 1 5\n1 2 3\n\n2 3\n", 4, &["a line with 2 columns; expected 3 columns"]),
        ("0 1\n1 2 {}\n", 2, &["a line with 3 columns; expected 2 columns"]),
        ("0,1,2\n1,2,,5\n", 2, &["a line with 4 columns; expected 3 columns"]),
        ("0,1\n1,2,\n", 2, &["a line with 3 columns"]),
        ("0,1,7\n3,,1\n", 2, &["an empty column"]),
        ("3,,1\n", 1, &["an empty column"]),
        ("0 1 2\n3 4 5 6\n", 2, &["a line with 4 columns"]),
        // The further columns show that it is not a header `3 2` with two arcs.
        ("3 2 # c\n2 1\n1 3\n", 2, &["a line with 2 columns; expected 3 columns"]),
        // Adjacency lists.
        ("0 1 2\n1 0 2 3\n2 0 1 3\n3 1 2 4\n", 2, &["a line with 4 columns"]),
    ] {
        for (name, bytes) in [("list.txt", text.as_bytes().to_vec()), ("list.txt.gz", gz(text.as_bytes()))] {
            folder.refuses(name, bytes, &[&[format!("{name}:{line}: ").as_str()], parts].concat());
        }
    }
    let bipartite = format!("% bip unweighted\n{}", lines(1, " ", ""));
    folder.refuses("out.actors", bipartite, &["out.actors:1:", "bipartite", "no triangles"]);
    // Two files may have different numbers of columns.
    let paths = [folder.write("a.txt", "0 1\n"), folder.write("b.txt", "1 2 9\n")];
    assert_eq!(read_files(&paths).unwrap(), [(0, 1), (1, 2)]);
}

#[test]
fn a_dense_matrix_is_no_edge_list() {
    let folder = Folder::new();
    let k4 = ["0 1 1 1", "1 0 1 1", "1 1 0 1", "1 1 1 0"];
    let comma = k4.join("\n").replace(' ', ",");
    let rows: String = comma.split('\n').map(|row| format!("x,{row}\n")).collect();
    let numbered = format!(",ann,bob,cleo,dan\n{rows}");
    for (name, text, how) in [
        ("k4.txt", format!("# K4\n{}\n", k4.join("\n")), "loadtxt('FILE', skiprows=1, usecols=range(0, 4))"),
        ("k4.csv", comma, "loadtxt('FILE', delimiter=',', skiprows=0, usecols=range(0, 4))"),
        ("k4-names.csv", numbered, "loadtxt('FILE', delimiter=',', skiprows=1, usecols=range(1, 5))"),
    ] {
        folder.refuses(name, &text, &["look like a dense adjacency matrix", how]);
        folder.refuses(&format!("{name}.gz"), gz(text.as_bytes()), &["a dense adjacency matrix"]);
        assert_eq!(read_as(&folder.path(name), Some(Format::Text), None).unwrap().len(), 4, "{name}");
    }
    // From eight columns on, the entries may be any integers.
    let weights = "0 5 2 3 9 8 7 -1\n".repeat(8);
    folder.refuses("weights.txt", &weights, &["8 lines of 8 integers look like a dense adjacency matrix"]);
    // Not square, of few columns, or with other numbers.
    let [fraction, word] = ["1.5", "NA"].map(|other| weights.replacen("-1", other, 1));
    let few = "0 5 2 3\n5 0 7 4\n2 7 0 1\n3 4 1 8\n";
    for text in ["0 1 1 1\n1 0 1 1\n1 1 0 1\n", "0 1 1\n1 0 1\n1 0 5\n", few, &fraction, &word] {
        assert_eq!(read(&folder.write("list.txt", text)).unwrap().len(), text.lines().count(), "{text}");
    }
}

#[test]
fn a_metis_file_is_never_an_edge_list() {
    let folder = Folder::new();
    let mesh = std::fs::read_to_string(data("delaunay_n15.graph")).unwrap();
    let (header, rows) = mesh.split_once('\n').unwrap();
    assert_eq!(header.trim(), "32768 98274");
    let right = read(&data("delaunay_n15.graph")).unwrap();
    for name in ["out.graph", "out.metis", "mesh", "mesh.txt", "mesh.adj", "m.graph"] {
        assert_eq!(read(&folder.write(name, &mesh)).unwrap(), right, "{name}");
        for wrong in ["32768 400000", "32768 98273", "32767 98274", "32769 98274"] {
            folder.refuses(name, format!("{wrong}\n{rows}"), &[]);
        }
    }
    // A ring has rows of two columns, like an edge list with a header.
    let ring = "5 5\n2 5\n1 3\n2 4\n3 5\n1 4\n";
    for text in [ring.to_owned(), ring.replace(' ', "\t")] {
        folder.refuses("ring.txt", text, &["ring.txt:1:", "--format metis", "--format text"]);
    }
    let ring = folder.write("ring.adj", ring);
    assert_eq!(read_as(&ring, Some(Format::Metis), None).unwrap().len(), 10);
    assert_eq!(read_as(&ring, Some(Format::Text), None).unwrap().len(), 5, "the first line is a header");
    let alone = "6 5\n2 5\n1 3\n2 4\n3 5\n1 4\n\n";
    folder.refuses("alone.txt", alone, &["alone.txt:1:", "--format metis", "--format text"]);
    // The complete graph on four vertices, whose header counts its edges wrongly.
    let k4 = "4 4\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n";
    folder.refuses("k4.txt", k4, &["k4.txt:1:", "--format metis", "--format text"]);
    assert!(read(&folder.write("k4.txt", k4.replacen("4 4", "4 6", 1))).is_err());
    folder.refuses("directed.metis", "3 2\n2 3\n1\n2\n", &["directed.metis:", "both ends", "--format text"]);
    // The file is not METIS, and no other format is guessed.
    folder.refuses("list.graph", "0 1\n1 2\n", &["list.graph: text without the header", "--format text"]);
    assert_eq!(read_as(&folder.path("list.graph"), Some(Format::Text), None).unwrap(), [(0, 1), (1, 2)]);
}

#[test]
fn a_suffix_wins_over_the_prefix_out() {
    let folder = Folder::new();
    assert_eq!(edges(&read(&folder.write("out.bin", pairs32(&KITE))).unwrap()), KITE);
    std::fs::copy(data("cnr-symmetric.graph"), folder.path("out.graph")).unwrap();
    std::fs::copy(data("cnr-symmetric.properties"), folder.path("out.properties")).unwrap();
    let source = open(&folder.path("out.graph")).unwrap();
    assert_eq!((source.format(), source.facts().arcs_at_most), (Format::Bvgraph, 2_057_910));
    assert_eq!(open(&folder.write("out.ca-Kite", lines(1, " ", ""))).unwrap().format(), Format::Text);
    // Text under the name of a binary format is refused until the format is given.
    let text = format!("{}# pad\n", lines(0, " ", ""));
    folder.refuses("text.bin", text, &["holds text", "--format text", "--format bin-u32"]);
}

#[test]
fn a_cr_without_lf_is_refused_wherever_it_stands() {
    let folder = Folder::new();
    let list = lines(0, " ", "");
    let matrix = format!("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n6 6 7\n{}", lines(1, " ", ""));
    let metis = "% c\n3 2\n2\n1 3\n2\n".to_string();
    for (name, text) in [
        ("a.txt", format!("# c\n{list}")),
        ("a.csv", format!("u,v,w\n{}", lines(0, ",", ",1"))),
        ("a.mtx", matrix),
        ("a.metis", metis),
    ] {
        assert!(read(&folder.write(name, &text)).is_ok(), "{name}");
        assert!(read(&folder.write(name, text.replace('\n', "\r\n"))).is_ok(), "{name} with CR LF");
        // All line ends are altered, and each alone, except the last one, which is at the end of the file.
        let mut altered = vec![text.replace('\n', "\r")];
        for (at, _) in text.match_indices('\n').filter(|(at, _)| at + 1 < text.len()) {
            altered.push(format!("{}\r{}", &text[..at], &text[at + 1..]));
        }
        for altered in altered {
            folder.refuses(name, &altered, &["carriage return (CR)", "tr '\\r' '\\n'"]);
            let packed = format!("{name}.gz");
            folder.refuses(&packed, gz(altered.as_bytes()), &["carriage return (CR)"]);
        }
    }
    // Longer than the longest line that is allowed.
    let long = "0 1\r".repeat(1 << 19);
    folder.refuses("long.txt", &long, &["long.txt:1: a carriage return"]);
    folder.refuses("long.txt.gz", gz(long.as_bytes()), &["long.txt.gz:1: a carriage return"]);
}

#[test]
fn a_byte_order_mark_is_passed_over_in_all_formats_of_text() {
    let folder = Folder::new();
    for name in ["karate.mtx", "delaunay_n15.graph", "as20000102.txt", "p2p-Gnutella04.txt"] {
        let plain = read(&data(name)).unwrap();
        let marked = [b"\xef\xbb\xbf", &std::fs::read(data(name)).unwrap()[..]].concat();
        assert!(read(&folder.write(name, &marked)).unwrap() == plain, "{name}");
        assert!(read(&folder.write(&format!("{name}.gz"), gz(&marked))).unwrap() == plain, "{name}.gz");
    }
    write_bvgraph(&folder.path("crawl"), &[(0, 1), (1, 2)]);
    let properties = std::fs::read_to_string(folder.path("crawl.properties")).unwrap();
    folder.write("crawl.properties", format!("\u{feff}{properties}"));
    assert_eq!(read(&folder.path("crawl.graph")).unwrap(), [(0, 1), (1, 2)]);
    let karate = std::fs::read_to_string(data("karate.mtx")).unwrap();
    for (name, text) in [("wide.mtx", karate.as_str()), ("wide.txt", "0 1\n"), ("wide", "0 1\n1 2\n")] {
        for mark in ["", "\u{feff}"] {
            let wide: Vec<u8> = format!("{mark}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            folder.refuses(name, wide, &["UTF-16", "iconv"]);
        }
    }
}

#[test]
fn binary_formats_are_decompressed() {
    let folder = Folder::new();
    let (pairs, wide) = (pairs32(&KITE), pairs64(&KITE));
    let both: Vec<(u64, u64)> = KITE.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
    let sg = super::support::sg(6, &both, false);
    for (name, bytes, format) in
        [("k.bin", &pairs, Format::BinU32), ("k.u64", &wide, Format::BinU64), ("k.sg", &sg, Format::GapbsSg)]
    {
        let zst = zstd::encode_all(&bytes[..], 1).unwrap();
        for (suffix, packed) in [(".gz", gz(bytes)), (".zst", zst)] {
            let path = folder.write(&format!("{name}{suffix}"), &packed);
            assert_eq!(edges(&read(&path).unwrap()), KITE, "{name}{suffix}");
            assert_eq!(edges(&read_as(&path, Some(format), None).unwrap()), KITE, "{name}{suffix}");
            let unnamed = folder.write("packed", &packed);
            assert_eq!(edges(&read_as(&unnamed, Some(format), None).unwrap()), KITE, "{name}{suffix} without a name");
            let cut = folder.write(&format!("cut-{name}{suffix}"), &packed[..packed.len() - 3]);
            assert_eq!(read_as(&cut, Some(format), None).unwrap_err().kind(), Kind::Data, "{name}{suffix}");
        }
    }
    // Raw numbers that begin like a compressed file.
    let raw = [0x0808_8b1fu32, 7, 1, 2, 3, 4].map(u32::to_le_bytes);
    for name in ["raw.bin", "raw.dat"] {
        let path = folder.write(name, raw.as_flattened());
        assert_eq!(read_as(&path, Some(Format::BinU32), None).unwrap(), [(1, 2), (3, 4), (0x0808_8b1f, 7)], "{name}");
    }
    assert_eq!(read(&folder.path("raw.bin")).unwrap().len(), 3);
    // A compressed crawl.
    let [crawl, properties] =
        ["graph", "properties"].map(|end| std::fs::read(data(&format!("cnr-2000.{end}"))).unwrap());
    for base in ["crawl", "crawl.2024"] {
        let path = folder.write(&format!("{base}.graph.gz"), gz(&crawl));
        refused(read(&path), &[&format!("{base}.properties: does not exist")]);
        folder.write(&format!("{base}.properties"), &properties);
        for path in [path, folder.path(base)] {
            assert_eq!(read(&path).unwrap().len(), 3_216_152, "{}", path.display());
        }
        folder.refuses(&format!("{base}.graph.gz"), &gz(&crawl)[..99_999], &["truncated"]);
        folder.refuses(&format!("{base}.graph.gz"), &crawl, &["does not begin like one"]);
    }
}
