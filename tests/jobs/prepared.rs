//! A graph that is prepared once: each question gets the answer that all pairs of neighbours give, in every mode, wherever the graph is.

use proptest::prelude::*;
use trimill::{Bytes, Control, Graph, Kind, Options};

use super::figures::{by_all_pairs, some_arcs, triangles};
use crate::common::{complete, simple};

fn settings() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    prop::sample::select(vec![
        vec![],
        vec![("threads", "1")],
        vec![("threads", "1"), ("partitioner", "random"), ("parts", "5")],
        vec![("partitioner", "random"), ("parts", "5"), ("prune", "zero-indegree")],
        vec![("partitioner", "rank"), ("parts", "4"), ("block_bytes", "64KiB")],
        vec![("partitioner", "contiguous"), ("parts", "3"), ("spill_to", "memory")],
    ])
}

fn options(settings: &[(&str, &str)]) -> Options {
    settings.iter().fold(Options::new().backend(trimill::Backend::Cpu), |options, &(name, value)| {
        match value.parse::<u64>() {
            Ok(number) => options.set(name, number).unwrap(),
            Err(_) => options.set(name, value).unwrap(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_question_has_the_answer_of_all_pairs_of_neighbours(
        arcs in some_arcs(70, 700),
        in_file in prop::bool::ANY,
        settings in settings(),
    ) {
        let (edges, dir) = (simple(&arcs), tempfile::tempdir().unwrap());
        let ((at_vertices, on_edges), triangles) = (by_all_pairs(&edges), triangles(&edges));
        // A graph that counts with spills in memory is in a temporary file.
        let spills = if in_file { "memory" } else { "disk" };
        let preparing = Options::new().work_dir(dir.path()).set("spill_to", spills).unwrap();
        let graph = Graph::from_edges(arcs).prepare(&preparing).unwrap();
        prop_assert_eq!(graph.edge_count(), edges.len() as u64);
        prop_assert_eq!(in_file, dir.path().read_dir().unwrap().next().is_some());
        let options = options(&settings).work_dir(dir.path());
        for _ in 0..2 {
            prop_assert_eq!(graph.count(&options).unwrap().triangles, triangles);
            let (result, vertices) = graph.vertices(&options).unwrap();
            prop_assert_eq!(result.triangles, triangles);
            let rows = vertices.ids.iter().zip(vertices.degrees.iter().zip(&vertices.triangles));
            let found: Vec<_> = rows.map(|(&id, (&degree, &triangles))| (id, (degree, triangles))).collect();
            prop_assert_eq!(found, at_vertices.clone().into_iter().collect::<Vec<_>>());
            let (_, found) = graph.edges(&options).unwrap();
            let ends = found.u.iter().copied().zip(found.v.iter().copied());
            let found: Vec<_> = ends.zip(found.counts.iter().copied()).collect();
            prop_assert_eq!(found, on_edges.clone().into_iter().collect::<Vec<_>>());
        }
        let degrees = graph.degrees(&options).unwrap();
        let found: Vec<_> = degrees.ids.into_iter().zip(degrees.degrees).collect();
        prop_assert_eq!(found, at_vertices.iter().map(|(&id, &(degree, _))| (id, degree)).collect::<Vec<_>>());
        // The temporary file is removed with the last clone.
        let clone = graph.clone();
        drop(graph);
        prop_assert_eq!(clone.count(&options).unwrap().edges, edges.len() as u64);
        drop(clone);
        prop_assert!(dir.path().read_dir().unwrap().next().is_none());
    }
}

#[test]
fn a_question_that_fails_leaves_the_graph_as_it_was() {
    let graph = Graph::from_edges(complete(100)).prepare(&Options::new()).unwrap();
    let small = Options::new().backend(trimill::Backend::Cpu).device_memory(Bytes(16));
    assert_eq!(graph.count(&small).unwrap_err().kind(), Kind::Resource);
    assert_eq!(graph.vertices(&small).unwrap_err().kind(), Kind::Resource);
    let refused = graph.edges(&Options::new().run_dir("run")).unwrap_err();
    assert!(refused.kind() == Kind::Usage && refused.to_string().contains("a graph that stays prepared"), "{refused}");
    let stopped = Control::silent();
    stopped.stop();
    assert_eq!(graph.degrees_with(&Options::new(), &stopped).unwrap_err().kind(), Kind::Interrupted);
    if !trimill_kernels::has_driver() {
        let on_a_gpu = Options::new().backend(trimill::Backend::Cuda).device_memory(Bytes::mib(64));
        assert_eq!(graph.count(&on_a_gpu).unwrap_err().kind(), Kind::Resource);
    }
    let (_, vertices) = graph.vertices(&Options::new()).unwrap();
    assert!(vertices.triangles.iter().all(|&triangles| triangles == 99 * 98 / 2));
    let (result, edges) = graph.edges(&Options::new().truss()).unwrap();
    assert_eq!(result.truss.unwrap().largest_k, 100);
    assert!(edges.counts.len() == 4950 && edges.counts.iter().all(|&trussness| trussness == 100));
}

/// The pool's only thread counts a few rows from beginning to end; readers and builders of partitions beside it must not wait for that thread.
#[test]
fn one_thread_counts_few_rows_that_come_in_many_blocks() {
    let (done, counted) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let one = [("threads", "1"), ("partitioner", "rank"), ("parts", "3"), ("block_bytes", "4096")];
        let graph = Graph::from_edges(complete(300)).prepare(&options(&one)).unwrap();
        let in_place = graph.vertices(&options(&one)).unwrap().0;
        let spilled = [("threads", "1"), ("partitioner", "contiguous"), ("parts", "3")];
        done.send([in_place, graph.edges(&options(&spilled)).unwrap().0]).unwrap();
    });
    let results = counted.recv_timeout(std::time::Duration::from_secs(300)).expect("a question that waits for itself");
    assert!(results[0].partitions.iter().any(|part| part.row_blocks > 2), "{:?}", results[0].partitions);
    assert_eq!(results[1].partitions.len(), 3);
    assert!(results.iter().all(|result| result.triangles == 300 * 299 * 298 / 6));
}

#[test]
fn a_graph_in_a_file_is_asked_with_the_options_that_it_was_read_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.txt");
    std::fs::write(&path, "1 2\n2 3\n3 1\n").unwrap();
    let options = Options::new().set("format", "text").unwrap().cache_dir(dir.path());
    let graph = Graph::from_file(&path).prepare(&options).unwrap();
    assert_eq!(graph.count(&options).unwrap().triangles, 1);
    let refused = Graph::from_file(&path).prepare(&options.run_dir(dir.path().join("run"))).unwrap_err();
    assert!(refused.kind() == Kind::Usage && !dir.path().join("run").exists(), "{refused}");
}

#[test]
fn files_of_counts_never_replace_what_a_graph_was_read_from() {
    let (dir, text) = (tempfile::tempdir().unwrap(), "1 2\n2 3\n3 1\n");
    let (path, new) = (dir.path().join("g.tsv"), dir.path().join("new.tsv"));
    std::fs::write(&path, text).unwrap();
    let plain = Options::new().without_cache().force();
    for (input, output, words) in
        [(&*path, &path, "the input, and"), (dir.path(), &path, "the input, and"), (dir.path(), &new, "in the input")]
    {
        let graph = Graph::from_file(input).prepare(&plain).unwrap();
        let at_vertices = plain.clone().by_degree(output);
        for refused in [
            graph.count(&plain.clone().per_vertex(output)).unwrap_err(),
            graph.vertices(&at_vertices).unwrap_err(),
            graph.edges(&plain.clone().truss().by_k(output)).unwrap_err(),
            Graph::from_file(input).prepare(&at_vertices).unwrap_err(),
        ] {
            assert!(refused.kind() == Kind::Usage && refused.to_string().contains(words), "{refused}");
        }
        assert!(std::fs::read_to_string(&path).unwrap() == text && !new.exists(), "{words}");
    }
    let graph = Graph::from_file(&path).prepare(&plain).unwrap();
    assert_eq!(graph.count(&plain.per_vertex(&new)).unwrap().triangles, 1);
}

#[test]
fn names_of_files_are_no_patterns_in_the_library() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data1.txt"), "1 2\n2 3\n3 1\n").unwrap();
    let options = Options::new().without_cache();
    for name in ["data[1].txt", "data?.txt", "*"] {
        let path = dir.path().join(name);
        for refused in [
            Graph::from_file(&path).count(&options).unwrap_err(),
            Graph::from_files([&dir.path().join("data1.txt"), &path]).prepare(&options).unwrap_err(),
        ] {
            assert_eq!((refused.kind(), refused.path()), (Kind::Data, Some(&*path)), "{refused}");
        }
        std::fs::write(&path, "1 2\n").unwrap();
        assert_eq!(Graph::from_file(&path).count(&options).unwrap().edges, 1, "{name}");
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(Graph::from_file(dir.path()).count(&options).unwrap().triangles, 1);
}

#[test]
fn quantiles_are_found_only_where_more_than_arrays_is_asked_for() {
    let graph = Graph::from_edges(complete(50)).prepare(&Options::new()).unwrap();
    let alone = graph.vertices(&Options::new()).unwrap().0.clustering.unwrap();
    let described = graph.vertices(&Options::new().clustering()).unwrap().0.clustering.unwrap();
    assert_eq!((alone.quantiles.len(), described.quantiles.len()), (0, 7));
    assert!(described.quantiles.iter().all(|quantile| quantile.triangles == 49 * 48 / 2));
    assert_eq!((alone.average_clustering, alone.most_triangles), (1.0, 49 * 48 / 2));
}
