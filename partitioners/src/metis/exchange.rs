//! The two messages between parent and child, through one file without a name, in the byte order of the machine. The graph, parent to child: eight
//! `u64` (magic, version, vertices, arcs, parts, seed, whether arcs have weights, 0), then `i32` arrays: `vertices + 1` offsets, vertex weights,
//! `arcs` successors, arc weights if any. The assignment, child to parent, overwrites it: four `u64` (magic, vertices, peak bytes, checksum of the
//! rest), then a `u32` per vertex. Its header is written last; checksum and length must be right.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::MetisOptions;
use super::symmetric::Symmetric;
use trimill_system::{Error, Result, disk};

const GRAPH_MAGIC: u64 = u64::from_le_bytes(*b"trigraph");
const RESULT_MAGIC: u64 = u64::from_le_bytes(*b"triparts");
const VERSION: u64 = 1;
const RESULT_HEADER: usize = 4;

pub(super) struct MetisTask {
    pub(super) graph: Symmetric,
    pub(super) parts: u32,
    pub(super) seed: u64,
}

/// Writes the graph to a new file without a name in the work directory, and seeks to its beginning.
pub(super) fn write_graph(graph: &Symmetric, options: &MetisOptions<'_>) -> Result<File> {
    let dir = options.work_dir;
    let unwritable = |error: Error| {
        error.while_doing("a temporary file for METIS").also("name a directory with more space by --work-dir")
    };
    let mut file = disk::anonymous(dir).map_err(unwritable)?;
    let (vertices, arcs) = (graph.vertex_weights.len() as u64, graph.successors.len() as u64);
    let weighted = u64::from(graph.arc_weights.is_some());
    let header = [GRAPH_MAGIC, VERSION, vertices, arcs, u64::from(options.parts), options.seed, weighted, 0];
    disk::write(&file, dir, bytemuck::cast_slice(&header)).map_err(unwritable)?;
    let weights = graph.arc_weights.as_deref().unwrap_or(&[]);
    for array in [&graph.offsets, &graph.vertex_weights, &graph.successors, weights] {
        // In chunks, so that a request to stop is noticed between them.
        for chunk in array.chunks(1 << 22) {
            options.control.check()?;
            disk::write(&file, dir, bytemuck::cast_slice(chunk)).map_err(unwritable)?;
        }
    }
    file.rewind().map_err(|error| Error::write(dir, error))?;
    Ok(file)
}

/// Reads the graph; checks only the format, not the contents.
pub(super) fn read_graph(file: &File) -> io::Result<MetisTask> {
    let mut input = BufReader::new(file);
    let mut header = [0_u64; 8];
    input.read_exact(bytemuck::cast_slice_mut(&mut header))?;
    let [magic, version, vertices, arcs, parts, seed, weighted, _] = header;
    let small = |number: u64| number < i32::MAX as u64 + 1;
    if magic != GRAPH_MAGIC || version != VERSION || !small(vertices + 1) || !small(arcs) || parts > u64::from(u32::MAX)
    {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "standard input holds no graph of this program"));
    }
    let mut array = |length: u64| -> io::Result<Vec<i32>> {
        let mut array = vec![0; length as usize];
        input.read_exact(bytemuck::cast_slice_mut(&mut array))?;
        Ok(array)
    };
    let (offsets, vertex_weights, successors) = (array(vertices + 1)?, array(vertices)?, array(arcs)?);
    let arc_weights = if weighted == 0 { None } else { Some(array(arcs)?) };
    let graph = Symmetric { offsets, successors, arc_weights, vertex_weights };
    Ok(MetisTask { graph, parts: parts as u32, seed })
}

pub(super) fn write_assignment(mut file: &File, parts: &[i32], peak_bytes: u64) -> io::Result<()> {
    let bytes: &[u8] = bytemuck::cast_slice(parts);
    let header = [0_u64; RESULT_HEADER];
    file.rewind()?;
    file.write_all(bytemuck::cast_slice(&header))?;
    file.write_all(bytes)?;
    file.set_len((size_of_val(&header) + bytes.len()) as u64)?;
    let header = [RESULT_MAGIC, parts.len() as u64, peak_bytes, xxh3_64_with_seed(bytes, peak_bytes)];
    file.rewind()?;
    file.write_all(bytemuck::cast_slice(&header))
}

/// Reads the parts of `vertices` vertices, all below `parts`, and the child's peak memory. Errors: what is wrong with the file.
pub(super) fn read_assignment(
    mut file: &File,
    vertices: u32,
    parts: u32,
) -> io::Result<Result<(Vec<u32>, u64), String>> {
    let mut header = [0_u64; RESULT_HEADER];
    let expected_length = size_of_val(&header) as u64 + 4 * u64::from(vertices);
    let length = file.metadata()?.len();
    file.rewind()?;
    if length != expected_length {
        return Ok(Err(format!("{length} bytes instead of {expected_length}")));
    }
    file.read_exact(bytemuck::cast_slice_mut(&mut header))?;
    let [magic, count, peak_bytes, sum] = header;
    if magic != RESULT_MAGIC || count != u64::from(vertices) {
        return Ok(Err("no assignment".to_owned()));
    }
    let mut assignment = vec![0_i32; vertices as usize];
    file.read_exact(bytemuck::cast_slice_mut(&mut assignment))?;
    if sum != xxh3_64_with_seed(bytemuck::cast_slice(&assignment), peak_bytes) {
        return Ok(Err("an assignment with a wrong checksum".to_owned()));
    }
    if let Some(part) = assignment.iter().find(|&&part| part < 0 || part as u32 >= parts) {
        return Ok(Err(format!("the part {part} of {parts}")));
    }
    Ok(Ok((bytemuck::allocation::cast_vec(assignment), peak_bytes)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use trimill_system::bytes::Bytes;
    use trimill_system::child::Helper;
    use trimill_system::control::Control;
    use trimill_system::error::Kind;

    fn written(graph: &Symmetric, dir: &Path, control: &Control) -> Result<File> {
        let helper = &Helper { program: "helper".into(), arguments: Vec::new() };
        let (host_memory, beside, contract) = (Bytes::ZERO, Bytes::ZERO, None);
        let work_dir = dir;
        let options =
            MetisOptions { parts: 3, seed: 1 << 40, contract, host_memory, beside, work_dir, helper, control };
        write_graph(graph, &options)
    }

    #[test]
    fn the_graph_comes_through() {
        let dir = tempfile::tempdir().unwrap();
        for arc_weights in [None, Some(vec![7, 7])] {
            let graph =
                Symmetric { offsets: vec![0, 1, 2], successors: vec![1, 0], arc_weights, vertex_weights: vec![3, 4] };
            let file = written(&graph, dir.path(), &Control::silent()).unwrap();
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has a name");
            let task = read_graph(&file).unwrap();
            assert_eq!((task.graph, task.parts, task.seed), (graph, 3, 1 << 40));
        }
        let stopped = Control::silent();
        stopped.stop();
        let graph = Symmetric { offsets: vec![0], successors: vec![], arc_weights: None, vertex_weights: vec![] };
        assert_eq!(written(&graph, dir.path(), &stopped).unwrap_err().kind(), Kind::Interrupted);
    }

    #[test]
    fn other_files_are_no_graph() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        file.rewind().unwrap();
        assert!(read_graph(&file).is_err());
        let dir = tempfile::tempdir().unwrap();
        let graph =
            Symmetric { offsets: vec![0, 1, 2], successors: vec![1, 0], arc_weights: None, vertex_weights: vec![3, 4] };
        let file = written(&graph, dir.path(), &Control::silent()).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        assert!(read_graph(&file).is_err(), "a cut graph");
    }

    #[test]
    fn an_assignment_is_whole_or_none() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[9; 300]).unwrap();
        write_assignment(&file, &[2, 0, 1, 2], 12345).unwrap();
        assert_eq!(read_assignment(&file, 4, 3).unwrap(), Ok((vec![2, 0, 1, 2], 12345)));
        assert!(read_assignment(&file, 4, 2).unwrap().is_err(), "a part out of range");
        assert!(read_assignment(&file, 3, 3).unwrap().is_err(), "another number of vertices");
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut other = tempfile::tempfile().unwrap();
            other.write_all(&flipped).unwrap();
            assert!(read_assignment(&other, 4, 3).unwrap().is_err(), "bit {bit} flipped");
        }
        for length in 0..bytes.len() as u64 {
            let other = tempfile::tempfile().unwrap();
            (&other).write_all(&bytes).unwrap();
            other.set_len(length).unwrap();
            assert!(read_assignment(&other, 4, 3).unwrap().is_err(), "cut to {length} bytes");
        }
    }
}
