//! Errors and advice for files and lines that cannot be read, by what they were probably meant to be. Formats are detected elsewhere.

use super::ends;
use super::number::columns;
use trimill_system::Error;

/// The byte order mark that some editors write before UTF-8 text; not a part of the text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The error for a CR without LF: some programs take it for a line end, others for a blank.
pub(super) fn bare_cr() -> Error {
    Error::data("", "a carriage return (CR) without a line feed (LF) behind it")
        .expected("lines that end with LF, or with CR and LF")
        .advice("convert the line ends: tr '\\r' '\\n' < FILE > NEW")
}

pub(super) fn mark_within() -> Error {
    Error::data("", "a byte order mark (U+FEFF) in a line that is not the first")
        .expected("one at the beginning of a file only")
        .advice("delete it: sed 's/^\\xEF\\xBB\\xBF//' FILE > NEW; if files were joined, name these instead")
}

pub(super) fn utf16() -> Error {
    Error::data("", "text in UTF-16")
        .expected("ASCII or UTF-8")
        .advice("convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW")
}

/// How many first bytes [`in_place_of_a_graph`] needs.
pub(super) const TELLING: u64 = 1 << 10;

/// The error for a failed download (a Git LFS or git-annex pointer, a web page, a server's message), which may pass as a graph, and for files
/// of this program that are no inputs. `head`: first bytes.
pub(super) fn in_place_of_a_graph(head: &[u8]) -> Option<Error> {
    let text = String::from_utf8_lossy(head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head));
    let text = text.trim_start();
    let small = text.to_ascii_lowercase();
    let compact: String = small.chars().filter(|c| !c.is_whitespace()).collect();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|&beginning| small.starts_with(beginning));
    let refused = compact.starts_with("404:notfound")
        || begins(&["<?xml", "<error"]) && small.contains("<error>") && small.contains("<code>")
        || compact.strip_prefix("{\"").and_then(|rest| rest.split_once("\":")).is_some_and(|(key, value)| {
            let no_list = !value.starts_with('[') || value.starts_with("[{") && key == "errors";
            matches!(key, "code" | "detail" | "error" | "errors" | "message" | "status") && no_list
        });
    // A magic and a version, whose upper bytes are zero.
    let is_own = |magic: &[u8; 8]| head.strip_prefix(magic).is_some_and(|version| matches!(version, [_, 0, 0, 0, ..]));
    // JSON of this program by its first key, and what must follow that key's value.
    let is_json = |first: &str, then: &str| {
        let value = compact.strip_prefix(first);
        value.is_some_and(|value| value.trim_start_matches(|c: char| c.is_ascii_hexdigit()).starts_with(then))
    };
    let (found, advice) = if is_json("{\"kind\":\"", "trimill")
        || is_json("{\"fingerprint\":\"", "\",\"schema_version\":")
    {
        (
            "is a file of a run directory, not a graph",
            "name the file of the graph, and the run directory with --run-dir: trimill count GRAPH --run-dir DIR",
        )
    } else if is_json("{\"version\":", ",\"fingerprint\":\"") {
        ("is the manifest of spilled partitions, not a graph", "count its directory: trimill count DIR")
    } else if is_own(b"TRIMSPIL") {
        (
            "is a spilled partition, not a whole graph",
            "count the directory of its manifest.json: trimill count DIR; to see what it holds: trimill inspect FILE",
        )
    } else if is_own(b"TRIMGRAF") {
        (
            "is a graph that trimill prepared for itself, which is no input",
            "name the file that it was made of; that of each graph in the cache: trimill cache list",
        )
    } else if begins(&["version https://git-lfs.github.com/spec/"]) {
        ("is a pointer of Git LFS, which stands for the file until it is fetched", "fetch it: git lfs pull")
    } else if begins(&["/annex/objects/", ".git/annex/objects/"]) {
        ("is a pointer of git-annex, which stands for the file until it is fetched", "fetch it: git annex get FILE")
    } else if begins(&["<!doctype html", "<html"]) || begins(&["<?xml", "<!--"]) && small.contains("<html") {
        ("is a web page, not a graph", FETCH_AGAIN)
    } else if refused {
        ("is the answer of a server that refused to send a file, not a graph", FETCH_AGAIN)
    } else {
        return None;
    };
    Some(Error::data("", found).expected("a file that holds a graph").advice(advice))
}

const FETCH_AGAIN: &str = "the download failed or needs a login: read what the file says, and fetch it again";

/// Whether a file begins like 16-bit text: every other byte is zero.
pub(super) fn is_utf16(head: &[u8]) -> bool {
    let text = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let pairs = head.as_chunks::<2>().0;
    let pairs = &pairs[..pairs.len().min(64)];
    // A few characters may differ. Raw numbers are mostly small, so they have several zero bytes in a row.
    let most = |little: bool| {
        let is_plain = |&&[a, b]: &&[u8; 2]| if little { b == 0 && text(a) } else { a == 0 && text(b) };
        let plain = pairs.iter().filter(is_plain).count();
        plain >= 2 && 8 * plain >= 7 * (pairs.len() - 1)
    };
    most(true) || most(false)
}

/// Whether nearly all bytes can occur in a text, which is never so for raw numbers.
pub(super) fn is_mostly_text(head: &[u8]) -> bool {
    let text = head.iter().filter(|&&byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')).count();
    8 * text >= 7 * head.len()
}

/// Advice about the first of these lines, which does not begin with two numbers; `names`: whether `--names` may be added.
pub(super) fn about(lines: &[u8], names: bool) -> Option<&'static str> {
    let advice = likely(lines)?;
    let without = advice.strip_suffix(NAMES).filter(|_| !names).map(|rest| rest.strip_suffix("; "));
    without.unwrap_or(Some(advice))
}

fn likely(lines: &[u8]) -> Option<&'static str> {
    let mut each = lines.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let line = each.clone().next().unwrap_or_default();
    let has = |byte| memchr::memchr(byte, line).is_some();
    let is_dimacs = each.find(|line| !is_comment_of_dimacs(line)).is_some_and(|line| {
        let [first, second, ..] = first_words(line);
        match first {
            b"p" => !second.is_empty() && !is_number(second),
            b"e" | b"a" => is_number(second),
            _ => false,
        }
    });
    let [first, second, ..] = first_words(line);
    let name = |column: &[u8]| String::from_utf8_lossy(column).trim_matches('"').to_lowercase();
    let names: Vec<String> = columns(line).take(3).map(name).collect();
    Some(match line {
        _ if is_dimacs => DIMACS,
        _ if ends::places(&names).is_some() => {
            "names of columns are a header in the first line of a file only: delete this line; if files were joined, name these instead"
        }
        _ if line.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case(b"sep=")) => {
            "a line sep= is for Excel: delete it, as by tail -n +2 FILE > NEW"
        }
        _ if line.starts_with(b"//") || line.starts_with(b"--") => {
            "comments begin with # or %: delete such lines, or put # before them"
        }
        // In a quoted column.
        _ if line.split(|&byte| byte == b'"').skip(1).step_by(2).any(|quoted| quoted.contains(&b',')) => {
            "numbers must be without quotes and without commas in them; if ids are names, add --names"
        }
        _ if has(b'"') || has(b'\'') => {
            "numbers must be without quotes: tr -d '\"' < FILE > NEW; if ids are names, add --names"
        }
        _ if has(b';') => "columns are separated by blanks, tabs or commas, not by ';': tr ';' ' ' < FILE > NEW",
        _ if has(b'|') => "columns are separated by blanks, tabs or commas, not by '|': tr '|' ' ' < FILE > NEW",
        _ if has(b':') => "columns are separated by blanks, tabs or commas, not by ':'",
        _ if has(b',') && is_name(line.split(|&byte| byte == b',')) => NAMES,
        _ if !has(b',') && is_name([first, second]) => NAMES,
        _ if columns(line).take(2).any(is_whole_fraction) => {
            "write ids as whole numbers, such as 3 for 3.0 or 100000 for 1e+05: in R by options(scipen = 99), in pandas by astype('int64')"
        }
        _ => return None,
    })
}

/// Whether a whole number is written with a fraction or an exponent.
fn is_whole_fraction(column: &[u8]) -> bool {
    let number = std::str::from_utf8(column).ok().and_then(|text| text.parse::<f64>().ok());
    is_number(column) && !column.iter().all(u8::is_ascii_digit) && number.is_some_and(|number| number % 1.0 == 0.0)
}

/// Advice about the first line of names between blanks, if something else seems to separate them: `ann ; bob`.
pub(super) fn separated_otherwise(line: &[u8]) -> Option<&'static str> {
    // Quoted names may have anything in them.
    let line = line.split(|&byte| byte == b'"').step_by(2).collect::<Vec<_>>().concat();
    let [first, second, third, ..] = first_words(&line);
    if line.contains(&b';') {
        return Some("replace ';': tr ';' ',' < FILE > NEW; a name with it is written in quotes");
    }
    let is_alone = second == b"|" && !third.is_empty();
    let is_beside = second.is_empty() || first.ends_with(b"|") || second.starts_with(b"|");
    (is_alone || is_beside && memchr::memchr_iter(b'|', &line).count() == 1)
        .then_some("replace '|': tr '|' ',' < FILE > NEW; a name with it is written in quotes")
}

/// The first words of a line, empty where it has fewer.
fn first_words(line: &[u8]) -> [&[u8]; 5] {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

fn is_number(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_digit)
}

pub(super) fn is_comment_of_dimacs(line: &[u8]) -> bool {
    matches!(line, [b'c'] | [b'c', b' ' | b'\t', ..])
}

/// Whether a line says what a DIMACS file holds: `p WORD N M`.
pub(super) fn is_problem_of_dimacs(line: &[u8]) -> bool {
    matches!(first_words(line), [b"p", word, n, m, b""] if !is_number(word) && is_number(n) && is_number(m))
}

fn is_name<'l>(columns: impl IntoIterator<Item = &'l [u8]>) -> bool {
    columns
        .into_iter()
        .take(2)
        .any(|column| column.trim_ascii().first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_'))
}

const NAMES: &str = "if ids are names, add --names";

pub(super) fn is_job_file(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(4096)]);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| ["[[job", "[job", "[defaults", "defaults."].iter().any(|begin| line.starts_with(begin)))
}

/// The name of a text format that is not read, and how NetworkX reads it, if it does.
pub(super) fn foreign(head: &[u8]) -> Option<(&'static str, Option<&'static str>)> {
    let text = String::from_utf8_lossy(&head[..head.len().min(4096)]).to_lowercase();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '%']));
    let mut lines = lines.skip_while(|line| line.starts_with("creator ") || line.starts_with("//"));
    let first = lines.next()?;
    let word = first.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let then = first[word.len()..].trim_start().chars().chain(lines.next().unwrap_or_default().chars()).next();
    Some(match first {
        _ if first.starts_with('<') && text.contains("<graphml") => ("GraphML", Some("nx.read_graphml('FILE')")),
        _ if first.starts_with('<') && text.contains("<gexf") => ("GEXF", Some("nx.read_gexf('FILE')")),
        _ if first.starts_with(['{', '[']) => ("JSON", of_json(&text)),
        _ if first.starts_with("*vertices") || first.starts_with("*network") => {
            ("Pajek", Some("nx.read_pajek('FILE')"))
        }
        // NetworkX needs the vertices.
        _ if first.starts_with("*edges") || first.starts_with("*arcs") => ("Pajek", None),
        _ if word == "graph" && then == Some('[') => ("GML", Some("nx.read_gml('FILE', label='id')")),
        _ if matches!(word, "graph" | "digraph" | "strict") && text.contains('{') => {
            ("DOT", Some("nx.nx_pydot.read_dot('FILE')"))
        }
        _ => return None,
    })
}

/// How NetworkX reads JSON that begins like `text`: its own forms, lists of neighbours, or pairs; `None` for other JSON.
fn of_json(text: &str) -> Option<&'static str> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let first = text.strip_prefix("{\"").and_then(|rest| rest.split_once("\":[")).filter(|(key, _)| !key.contains('"'));
    let neighbours = first.is_some_and(|(key, items)| key != "nodes" && !items.starts_with(['{', '[']));
    if text.contains("\"nodes\":[{") || (text.contains("\"directed\":") && text.contains("\"multigraph\":")) {
        return Some(
            "(lambda d: nx.adjacency_graph(d) if 'adjacency' in d else nx.cytoscape_graph(d) if 'elements' in d else \
             nx.node_link_graph(d, edges='links' if 'links' in d else 'edges'))(__import__('json').load(open('FILE')))",
        );
    }
    // Keys are text in any case, but neighbours may be numbers: 1 and "1" would be two vertices.
    if neighbours {
        return Some("nx.Graph({k: list(map(str, v)) for k, v in __import__('json').load(open('FILE')).items()})");
    }
    text.starts_with("[[").then_some("nx.Graph(__import__('json').load(open('FILE')))")
}

const DIMACS: &str = "this looks like a DIMACS file, which is not read: write its edges as an edge list, \
                      sed -n 's/^[ae] *//; /^[0-9]/p' FILE > NEW.txt";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_probably_meant_is_named() {
        for line in ["p edge 5 4", "e 1 2", "a 1 2 7", "c a graph\na 1 2 7\n"] {
            assert!(about(line.as_bytes(), true).is_some_and(|advice| advice.contains("DIMACS")), "{line}");
        }
        for line in ["one two", "1 x2", "ann,bob", "1,b", "c d\nc e\nd e\n"] {
            assert!(about(line.as_bytes(), true).is_some_and(|advice| advice.contains("--names")), "{line}");
        }
        for line in ["source,target", "\"From\"\t\"To\"", "id src dst"] {
            assert!(about(line.as_bytes(), true).is_some_and(|advice| advice.contains("a header")), "{line}");
        }
        for line in ["1.0 2.0", "1,1e+05,0.5"] {
            assert!(about(line.as_bytes(), true).is_some_and(|advice| advice.contains("whole numbers")), "{line}");
        }
        for line in ["-1 2", "1.5 2", "1 99999999999999999999", "1 1e999", "3"] {
            assert_eq!(about(line.as_bytes(), true), None, "{line}");
        }
    }

    #[test]
    fn names_are_advised_only_where_they_are_read() {
        assert_eq!(about(b"ann bob", false), None);
        let quotes = about(b"\"0\",\"1\"", false).unwrap();
        assert!(quotes.starts_with("numbers must be without quotes") && quotes.ends_with("> NEW"), "{quotes}");
        assert!(about(b"source,target", false).is_some_and(|advice| advice.contains("a header")));
    }

    #[test]
    fn what_seems_to_separate_names_is_not_in_quotes() {
        for line in ["\"a;b\" c", "a \"b; c\"", "\"a | b\" c", "\"a|\" \"\"\"|\"", "a|b c|d"] {
            assert_eq!(separated_otherwise(line.as_bytes()), None, "{line}");
        }
        for line in ["a;b c", "\"a b\" ; \"c\"", "a | b", "\"a b\" | \"c\"", "\"a\"| b"] {
            assert!(separated_otherwise(line.as_bytes()).is_some(), "{line}");
        }
    }

    #[test]
    fn formats_of_others_are_named() {
        for (text, name) in [
            ("Creator \"x\"\ngraph [\n", Some("GML")),
            ("graph\n[\n", Some("GML")),
            ("// roads\nstrict digraph{0 -> 1}", Some("DOT")),
            ("*Edges\n1 2\n", Some("Pajek")),
            ("% a net\n*arcslist\n1 2 3\n", Some("Pajek")),
            ("0 1\n", None),
            ("# graph [\n0 1\n", None),
            ("graph edges\n0 1\n", None),
            ("", None),
        ] {
            assert_eq!(foreign(text.as_bytes()).map(|(name, _)| name), name, "{text}");
        }
        for (text, read) in [
            (" {\"directed\": false, \"multigraph\": false, \"graph\": {}, \"no", Some("node_link")),
            ("{ \"nodes\":\n [ {\"id\": 0}], \"links\": []}", Some("node_link")),
            ("[\n [0, 1], [1, 2]]", Some("nx.Graph(__import__")),
            ("{\"ann\": [\"bob\"], \"bob\": []}", Some("map(str, v)")),
            ("{\"0\": [1, 2], \"1\": [0, 2]}", Some("map(str, v)")),
            ("{\"nodes\": [0, 1], \"edges\": [[0, 1]]}", None),
            ("{\"edges\": [[0, 1]]}", None),
            ("{\"data\": {\"a\": [1]}}", None),
            ("{\"source\": 0, \"target\": 1}\n", None),
        ] {
            let (_, found) = foreign(text.as_bytes()).unwrap_or_else(|| unreachable!("{text}"));
            assert_eq!(found.is_some(), read.is_some(), "{text}");
            assert!(found.zip(read).is_none_or(|(found, read)| found.contains(read)), "{text}");
        }
    }

    #[test]
    fn job_files_are_told_from_lists_in_json() {
        for text in ["[[job]]\n", "#:schema s.json\n\n# A study.\n[defaults]\n", "[defaults.input]", "[job.input]"] {
            assert!(is_job_file(text.as_bytes()), "{text}");
        }
        for text in ["[[0, 1]]", "[\n [0, 1]]", "[\"job\"]", "# [[job]]\n0 1\n", ""] {
            assert!(!is_job_file(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_comes_instead_of_a_graph_is_named() {
        for (text, words) in [
            ("/annex/objects/SHA256E-s1048576--30e1.txt\n", "git annex get"),
            ("\u{feff}<HTML><HEAD>", "a web page"),
            ("<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC><html>", "a web page"),
            ("404: Not Found", "refused"),
            ("{\"message\": \"Not Found\", \"documentation_url\": \"https://docs\", \"status\": \"404\"}", "refused"),
            ("{ \"error\": {\"code\": 403, \"errors\": [{\"reason\": \"rateLimitExceeded\"}]}}", "refused"),
            ("{\"errors\":[{\"code\":\"UNAUTHORIZED\"}]}", "refused"),
            ("<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied", "refused"),
            ("TRIMSPIL\u{2}\0\0\0\u{1}", "is a spilled partition"),
            ("TRIMSPIL\u{2}\0\0\0\u{1}", "trimill inspect FILE"),
            ("TRIMGRAF\u{5}\0\0\0", "is a graph that trimill prepared"),
            ("TRIMGRAF\u{5}\0\0\0", "trimill cache list"),
            ("{\n  \"kind\": \"trimill run directory 3\",\n  \"input\": [", "--run-dir"),
            ("{\n  \"fingerprint\": \"c0178e59\",\n  \"schema_version\": 1,", "--run-dir"),
            ("{\n  \"version\": 2,\n  \"fingerprint\": \"1987b515\",\n", "count its directory"),
        ] {
            let told = in_place_of_a_graph(text.as_bytes()).unwrap_or_else(|| unreachable!("{text}"));
            assert!(told.to_string().contains(words), "{told}");
        }
        for text in [
            "404 1\n1 2\n",
            "version 2\n",
            "<http://a> <http://b> <http://html>\n",
            "<?xml version=\"1.0\"?>\n<graphml>",
            "{\"error\": [\"cause\"], \"cause\": []}",
            "{\"kind\": \"graph\", \"version\": 2}",
            "{\"version\": 2, \"nodes\": []}",
            "{\"fingerprint\": \"c0\", \"edges\": []}",
            "{\"message\": [[0, 1]]}",
            "{\"nodes\": [], \"message\": \"\"}",
            "html 1\n",
            "TRIMGRAF TRIMSPIL\n",
            "",
        ] {
            assert!(in_place_of_a_graph(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn text_of_16_bits_is_told_from_numbers() {
        let wide = |text: &str, big: bool| -> Vec<u8> {
            text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        };
        for text in ["\u{feff}0 1\n", "0 1\n"] {
            assert!(is_utf16(&wide(text, false)) && is_utf16(&wide(text, true)), "{text}");
        }
        assert!(!is_utf16(b"0 1\n"));
        let numbers: Vec<u8> = (0..64u32).flat_map(|i| (48 + i % 10).to_le_bytes()).collect();
        assert!(!is_utf16(&numbers) && !is_utf16(&numbers[..16]) && !is_mostly_text(&numbers));
        assert!(is_mostly_text(b"0 1\n1 2\0\n"));
        assert!(!is_utf16(b"\xff"));
        assert!(!is_utf16(b""));
    }
}
