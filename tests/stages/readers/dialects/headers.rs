//! First lines that may be a header or an arc.

use super::*;

#[test]
fn a_first_line_that_may_be_a_header_or_an_arc_is_asked_for() {
    let folder = Folder::new();
    // A star or, with the first line as an arc, a triangle.
    let star = folder.write("star.txt", "3 2\n1 2\n1 3\n");
    let error = read(&star).unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
    let message = error.to_string();
    for part in ["star.txt:1: the first line, '3 2', could be a header", "--header yes", "--header no"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(read_as(&star, None, Some(Header::Yes)).unwrap(), [(1, 2), (1, 3)]);
    assert_eq!(read_as(&star, None, Some(Header::No)).unwrap(), [(1, 2), (1, 3), (3, 2)]);
    // Headers with another number of lines, or that count something else.
    for (name, text) in [
        ("cut.txt", format!("6 8\n{}", lines(0, " ", ""))),
        ("wrong-n.txt", format!("5 7\n{}", lines(0, " ", ""))),
        // A header of three numbers, or a weighted loop.
        ("loop.txt", format!("6 6 8\n{}", lines(1, " ", " 1"))),
        (
            "sparse.txt",
            format!("100 99\n{}", (0..99).map(|i| format!("{} {}\n", 900 + i, 901 + i)).collect::<String>()),
        ),
    ] {
        folder.refuses(name, text, &[&format!("{name}:1:"), "--header yes", "--header no"]);
    }
    folder.refuses(
        "cut-weights.txt",
        format!("6 8\n{}", lines(0, " ", " 1")),
        &[
            "cut-weights.txt:1:",
            "other columns",
            "announce 8 edges of 6 vertices, and there are 7 lines",
            "--header yes",
        ],
    );
    // Lists without a header.
    for text in ["1 2\n2 3\n3 1\n", "0 1\n1 2\n", "2 1\n0 1\n2 0\n", "30 1412\n30 3352\n5 30\n"] {
        assert_eq!(read(&folder.write("arcs.txt", text)).unwrap().len(), text.lines().count(), "{text}");
    }
    // For first lines of names or of one number, the user decides.
    let count = folder.write("count.txt", "6\n0 1\n");
    assert_eq!(read_as(&count, None, Some(Header::Yes)).unwrap(), [(0, 1)]);
    assert!(read_as(&count, None, Some(Header::No)).unwrap_err().to_string().contains("one column only"));
    let usage = read_as(&data("karate.mtx"), None, Some(Header::No)).unwrap_err();
    assert_eq!(usage.kind(), Kind::Usage);
}

/// The arcs of a list that is read, or none if its first line is refused because it may be a header (or the list a METIS file).
fn read_or_asked(folder: &Folder, text: &str) -> Option<Vec<(u64, u64)>> {
    let path = folder.write("list.txt", text);
    match read(&path) {
        Ok(arcs) => Some(arcs),
        Err(error) => {
            assert!(error.kind() == Kind::Data && error.to_string().contains("list.txt:1: "), "{error}: {text}");
            assert!(
                [" may be a", " could be a"].iter().any(|said| error.to_string().contains(said)),
                "{error}: {text}"
            );
            None
        }
    }
}

#[test]
fn a_list_that_begins_with_its_largest_id_has_no_header_unless_one_fits() {
    let folder = Folder::new();
    let text_of = |arcs: &[(u64, u64)]| arcs.iter().map(|(u, v)| format!("{u} {v}\n")).collect::<String>();
    let sorted = |arcs: &[(u64, u64)]| {
        let mut arcs = arcs.to_vec();
        arcs.sort_unstable();
        arcs
    };
    for n in (2..20).chain([63, 64, 65, 100, 1000]) {
        for first in [0, 1] {
            // The last vertex is adjacent to all others: the lines descend, ascend, or begin in the middle.
            let down: Vec<(u64, u64)> = (first..n).rev().map(|leaf| (n, leaf)).collect();
            let up: Vec<_> = down.iter().copied().rev().collect();
            let middle: Vec<_> = down.iter().copied().cycle().skip(down.len() / 2).take(down.len()).collect();
            let both: Vec<_> = down.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
            // The path through all vertices, the wheel, and the graph with all edges, from the largest id down.
            let path: Vec<_> = (first..n).rev().map(|v| (v + 1, v)).collect();
            let rim = path[1..].iter().copied().chain((n > first + 2).then_some((n - 1, first)));
            let mut wheel: Vec<_> = down.iter().copied().chain(rim).collect();
            wheel.sort_unstable_by(|a, b| b.cmp(a));
            let all: Vec<_> = (first..=n.min(12)).rev().flat_map(|u| (first..u).rev().map(move |v| (u, v))).collect();
            let lists = [("down", down), ("up", up), ("middle", middle), ("both", both), ("path", path)];
            for (what, arcs) in lists.into_iter().chain([("wheel", wheel), ("all", all)]) {
                // The first line, read as a header, is true of the others.
                let ((vertices, edges), rest) = (arcs[0], &arcs[1..]);
                let ids = rest.iter().flat_map(|&(u, v)| [u, v]);
                let (least, most) = (ids.clone().min().unwrap_or(0), ids.max().unwrap_or(0));
                let among = most < vertices || least > 0 && most == vertices;
                let twice = rest.iter().all(|&(u, v)| rest.contains(&(v, u))) && 2 * edges == rest.len() as u64;
                let fits = among && edges > 0 && (edges == rest.len() as u64 || twice);
                match read_or_asked(&folder, &text_of(&arcs)) {
                    Some(found) => assert_eq!(found, sorted(&arcs), "{what} of {n} from {first}"),
                    None => assert!(fits, "{what} of {n} from {first} is refused"),
                }
                // With a header the arcs are the same, or the list is refused.
                let vertices = vertices + 1 - first;
                for header in
                    [format!("{vertices} {}\n", arcs.len()), format!("{vertices} {vertices} {}\n", arcs.len())]
                {
                    if let Some(found) = read_or_asked(&folder, &format!("{header}{}", text_of(&arcs))) {
                        assert_eq!(found, sorted(&arcs), "{what} of {n} from {first} after {header}");
                    } else {
                        assert!(arcs.len() as u64 <= vertices + 1, "{what} of {n} from {first} after {header}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_long_list_with_a_header_is_told_from_one_without() {
    // Longer than the part that is read for detection; with each edge in both directions, and with ids from 0 and from 1.
    let folder = Folder::new();
    let ring = |n: u64, first: u64| (0..n).map(move |v| (v + first, (v + 1) % n + first));
    for first in [0, 1] {
        let n = 30_000;
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
