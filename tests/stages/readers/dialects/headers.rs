//! First lines that may be a header or an arc.

use super::*;

#[test]
fn a_first_line_that_may_be_a_header_or_an_arc_is_asked_for() {
    let folder = Folder::new();
    // A star or, with the first line as an arc, a triangle.
    let told = ["star.txt:1: the first line, '3 2', could be a header", "--header yes", "--header no"];
    folder.refuses("star.txt", "3 2\n1 2\n1 3\n", &told);
    let star = folder.path("star.txt");
    assert_eq!(read_as(&star, None, Some(Header::Yes)).unwrap(), [(1, 2), (1, 3)]);
    assert_eq!(read_as(&star, None, Some(Header::No)).unwrap(), [(1, 2), (1, 3), (3, 2)]);
    // Headers that do not give the number of lines, or that count something else.
    let sparse: String = (0..99).map(|i| format!("{} {}\n", 900 + i, 901 + i)).collect();
    for (name, text) in [
        ("cut.txt", format!("6 8\n{}", lines(0, " ", ""))),
        ("wrong-n.txt", format!("5 7\n{}", lines(0, " ", ""))),
        // A header of three numbers, or a weighted loop.
        ("loop.txt", format!("6 6 8\n{}", lines(1, " ", " 1"))),
        ("sparse.txt", format!("100 99\n{sparse}")),
    ] {
        folder.refuses(name, text, &[&format!("{name}:1:"), "--header yes", "--header no"]);
    }
    let (weighted, told) = (lines(0, " ", " 1"), "announce 8 edges of 6 vertices, and there are 7 lines");
    let told = ["cut-weights.txt:1:", "other columns", told, "--header yes"];
    folder.refuses("cut-weights.txt", format!("6 8\n{weighted}"), &told);
    // Lists without a header; the last one begins with its largest id.
    for text in
        ["1 2\n2 3\n3 1\n", "0 1\n1 2\n", "2 1\n0 1\n2 0\n", "30 1412\n30 3352\n5 30\n", "5 4\n5 3\n5 2\n5 1\n5 0\n"]
    {
        assert_eq!(read(&folder.write("arcs.txt", text)).unwrap().len(), text.lines().count(), "{text}");
    }
    // For first lines of names or of one number, the user decides.
    let count = folder.write("count.txt", "6\n0 1\n");
    assert_eq!(read_as(&count, None, Some(Header::Yes)).unwrap(), [(0, 1)]);
    assert!(read_as(&count, None, Some(Header::No)).unwrap_err().to_string().contains("one column only"));
    let usage = read_as(&data("karate.mtx"), None, Some(Header::No)).unwrap_err();
    assert_eq!(usage.kind(), Kind::Usage);
}

#[test]
fn a_long_list_with_a_header_is_told_from_one_without() {
    // Longer than the part that is read for detection; with each edge in both directions, and with ids from 0 and from 1.
    let folder = Folder::new();
    let ring = |n: u64, first: u64| (0..n).map(move |v| (v + first, (v + 1) % n + first));
    for first in [0, 1] {
        let n = 10_000;
        let chords = (0..n).map(|v| (v + first, (v * 7 + 3) % n + first)).filter(|(u, v)| u != v);
        let all: Vec<(u64, u64)> = ring(n, first).chain(chords).collect();
        let text: String = all.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
        let back: String = all.iter().map(|(u, v)| format!("{v} {u}\n")).collect();
        let header = format!("{n} {}\n", all.len());
        for text in [format!("{header}{text}"), format!("{header}{text}{back}")] {
            let found = read(&folder.write("long.txt", &text)).unwrap();
            assert_eq!(edges(&found), edges(&all));
            let packed = read(&folder.write("long.txt.gz", gz(text.as_bytes()))).unwrap();
            assert_eq!(edges(&packed), edges(&all));
        }
        let cut = text.lines().take(all.len() / 2).map(|line| format!("{line}\n")).collect::<String>();
        folder.refuses("cut.txt", format!("{header}{cut}"), &["cut.txt:1:", "--header"]);
    }
}

#[test]
fn a_small_compressed_file_may_hold_a_long_list() {
    // Detection reads a part of the list, whose last line is cut at any of its bytes; such a line is no row of another length.
    let (folder, list) = (Folder::new(), "1 2\n".repeat(20_000));
    for pad in 0..4 {
        let text = format!("%{}\n30000 20000\n{list}", "-".repeat(pad));
        assert_eq!(read(&folder.write("list.txt.gz", gz(text))).unwrap().len(), 20_000, "{pad}");
    }
}

#[test]
fn names_of_columns_in_a_comment_say_where_the_ends_are() {
    let folder = Folder::new();
    for text in
        ["#id,source,target\n9,0,1\n8,1,2\n", "% id source target\n9 0 1\n8 1 2\n", "# c\n#,src,dst\n9,0,1\n8,1,2\n"]
    {
        assert_eq!(read(&folder.write("index.csv", text)).unwrap(), [(0, 1), (1, 2)], "{text}");
    }
    let told = ["time.txt:2: the ends of arcs in columns 1 and 3", "delete it"];
    folder.refuses("time.txt", "#source\ttime\ttarget\n0\t7\t1\n", &told);
    // Comments that name other columns, or not all, or are prose.
    for text in [
        "# FromNodeId\tToNodeId\n0\t1\n1\t2\n",
        "# id source target\n0 1\n1 2\n",
        "# a long story\n0 1 5\n1 2 5\n",
        "# Format: source target\n0 1 9\n1 2 9\n",
        "# from u to v\n0 1 5 0\n1 2 5 0\n",
        "# u follows v\n0 1 5\n1 2 5\n",
        "# Each from to\n0 1 5\n1 2 5\n",
    ] {
        assert_eq!(read(&folder.write("plain.txt", text)).unwrap(), [(0, 1), (1, 2)], "{text}");
    }
    let path = folder.write("no.txt", "#id source target\n9 0 1\n");
    assert_eq!(read_as(&path, None, Some(Header::No)).unwrap(), [(9, 0)]);
}

#[test]
fn the_column_that_numbers_the_lines_may_be_empty_or_have_blanks() {
    let folder = Folder::new();
    for text in [
        "label\tsource\ttarget\tweight\n\t0\t1\t9\n\t1\t2\t9\n",
        "\tsource\ttarget\n1 2\t0\t1\n3 4\t1\t2\n",
        "date,source,target\nSun 1 3 2015,0,1\n,1,2\n",
        "# id,source,target\nLine 7,0,1\n\"8, 9\",1,2\n",
        "id source target\n7 0 1\n 8 1 2\n",
    ] {
        assert_eq!(read(&folder.write("index.csv", text)).unwrap(), [(0, 1), (1, 2)], "{text}");
    }
}

#[test]
fn parts_of_a_table_have_the_header_of_the_first_one_or_are_refused() {
    let folder = Folder::new();
    folder.write("split/a.csv", "id,source,target\n9,0,1\n");
    folder.write("split/b.csv", "8,1,2\n7,2,0\n");
    refused(read(&folder.path("split")), &["b.csv:1: '8,1,2'", "second and third", "a.csv say"]);
    for text in ["id,source,target\n8,1,2\n7,2,0\n", "source,target,id\n1,2,8\n2,0,7\n"] {
        folder.write("split/b.csv", text);
        assert_eq!(read(&folder.path("split")).unwrap(), [(0, 1), (1, 2), (2, 0)], "{text}");
    }
    // A table of vertices beside one of edges is refused; another header with usual names, or of a list without arcs, is not.
    folder.write("split/b.csv", "id,age\n1,30\n2,40\n");
    let told = "b.csv: the ends of edges in the columns 'id' and 'age'; expected them in 'source' and 'target', as in";
    refused(read(&folder.path("split")), &[told, "a.csv; read files of one table only", "--header yes"]);
    assert_eq!(read_as(&folder.path("split"), None, Some(Header::Yes)).unwrap(), [(0, 1), (1, 30), (2, 40)]);
    folder.write("split/b.csv", "Src,Dst\n1,2\n");
    assert_eq!(read(&folder.path("split")).unwrap(), [(0, 1), (1, 2)]);
    folder.write("split/b.csv", "ann,bob\nbob,cleo\n");
    refused(read(&folder.path("split")), &["b.csv:2: 'bob'", "add --names"]);
}
