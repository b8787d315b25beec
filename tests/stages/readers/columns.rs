//! The same file with other columns is another graph, also in the cache.

use trimill::{Backend, ColumnNames, Graph, Kind, Options};

use super::bad_tables::{put, table};
use super::support::{Folder, work_dir};
use crate::common::place::with_suffix;

#[test]
fn the_same_file_with_other_columns_is_another_graph() {
    let folder = Folder::new();
    // Columns a and b hold a triangle, a and c a path of three edges, c and b two loops and an edge.
    let columns: [[i64; 3]; 3] = [[0, 1, 2], [1, 2, 0], [1, 2, 3]];
    let schema = "required int64 a; required int64 b; required int64 c;";
    let bytes = table(schema, &[&|number, column| put(&columns[number], None, column)]);
    let graph = Graph::from_file(folder.write("g.parquet", bytes));
    let options = Options::new().backend(Backend::Cpu).work_dir(work_dir()).cache_dir(folder.path("cache"));
    let count = |names: Option<&str>| {
        let options = match names {
            Some(names) => options.clone().columns(names.parse::<ColumnNames>().unwrap()),
            None => options.clone(),
        };
        graph.count(&options).map(|counted| (counted.edges, counted.triangles))
    };
    for _ in 0..2 {
        assert_eq!(count(None).unwrap(), (3, 1));
        assert_eq!(count(Some("a,b")).unwrap(), (3, 1));
        assert_eq!(count(Some("a,c")).unwrap(), (3, 0));
        assert_eq!(count(Some("c,b")).unwrap(), (1, 0));
    }
    assert_eq!(count(Some("a,d")).unwrap_err().kind(), Kind::Data);
    assert_eq!(with_suffix(&folder.path("cache"), "trimgraf").len(), 4);
}
