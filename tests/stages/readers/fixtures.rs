//! Files that other programs wrote (`tests/fixtures/make_inputs.py`), counted and compared with what networkx counted in them.

use trimill::{Backend, ColumnNames, Graph, Options};

use super::support::work_dir;
use crate::common::job::fixture;

#[test]
fn files_of_other_programs_have_the_counts_of_networkx() {
    let options = Options::new().backend(Backend::Cpu).without_cache().work_dir(work_dir());
    let table = std::fs::read_to_string(fixture("counts.tsv")).unwrap();
    let mut files: Vec<String> = std::fs::read_dir(fixture(""))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "counts.tsv")
        .collect();
    for line in table.lines().skip(1) {
        let [name, columns, edges, triangles] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let options = match columns {
            "-" => options.clone(),
            "names" => options.clone().names(true),
            names => options.clone().columns(names.parse::<ColumnNames>().unwrap()),
        };
        let counted = Graph::from_file(fixture(name)).count(&options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected: (u64, u128) = (edges.parse().unwrap(), triangles.parse().unwrap());
        assert_eq!((counted.edges, counted.triangles), expected, "{name}");
        files.retain(|file| file != name);
    }
    assert!(files.is_empty(), "without a count: {files:?}");
}
