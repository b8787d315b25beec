//! The two messages between parent and child, through one file without a name, in the byte order of the machine. The graph, parent to child: eight
//! `u64` (magic, version, vertices, arcs, parts, seed, whether arcs have weights, checksum of these and the rest), then `i32` arrays: `vertices + 1`
//! offsets, vertex weights, `arcs` successors, arc weights if any. The assignment, child to parent, overwrites it: four `u64` (magic, vertices, peak
//! bytes, checksum of the rest), then a `u32` per vertex. Its header is written last. Checksums and lengths must be right.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64_with_seed};

use super::symmetric::Symmetric;
use super::{MOST_ARCS, MetisOptions};
use trimill_system::{Error, Result, disk};

const GRAPH_MAGIC: u64 = u64::from_le_bytes(*b"trigraph");
const RESULT_MAGIC: u64 = u64::from_le_bytes(*b"triparts");
const VERSION: u64 = 2;
const RESULT_HEADER: usize = 4;

pub(super) struct MetisTask {
    pub(super) graph: Symmetric,
    pub(super) parts: u32,
    pub(super) seed: u64,
}

fn arrays(graph: &Symmetric) -> [&[i32]; 4] {
    let weights = graph.arc_weights.as_deref().unwrap_or_default();
    [&graph.offsets, &graph.vertex_weights, &graph.successors, weights]
}

fn checksum(fields: &[u64], graph: &Symmetric) -> u64 {
    let mut hash = Xxh3Default::new();
    hash.update(bytemuck::cast_slice(fields));
    arrays(graph).into_iter().for_each(|array| hash.update(bytemuck::cast_slice(array)));
    hash.digest()
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
    let fields = [GRAPH_MAGIC, VERSION, vertices, arcs, u64::from(options.parts), options.seed, weighted];
    let header = [&fields[..], &[checksum(&fields, graph)]].concat();
    disk::write(&file, dir, bytemuck::cast_slice(&header)).map_err(unwritable)?;
    for array in arrays(graph) {
        // In chunks, so that a request to stop is noticed between them.
        for chunk in array.chunks(1 << 22) {
            options.control.check()?;
            disk::write(&file, dir, bytemuck::cast_slice(chunk)).map_err(unwritable)?;
        }
    }
    file.rewind().map_err(|error| Error::write(dir, error))?;
    Ok(file)
}

pub(super) fn read_graph(file: &File) -> io::Result<MetisTask> {
    let mut input = BufReader::new(file);
    let mut header = [0_u64; 8];
    input.read_exact(bytemuck::cast_slice_mut(&mut header))?;
    let [fields @ .., sum] = header;
    let [magic, version, vertices, arcs, parts, seed, weighted] = fields;
    let refused = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("standard input holds {what}"));
    let fits = vertices < MOST_ARCS && arcs <= MOST_ARCS && parts <= u64::from(u32::MAX);
    if magic != GRAPH_MAGIC || version != VERSION || !fits {
        return Err(refused("no graph of this program"));
    }
    let lists = if weighted == 0 { 1 } else { 2 };
    if file.metadata()?.len() != size_of_val(&header) as u64 + 4 * (2 * vertices + 1 + lists * arcs) {
        return Err(refused("a graph of another length than its header says"));
    }
    let mut array = |length: u64| -> io::Result<Vec<i32>> {
        let mut array = vec![0; length as usize];
        input.read_exact(bytemuck::cast_slice_mut(&mut array))?;
        Ok(array)
    };
    let (offsets, vertex_weights, successors) = (array(vertices + 1)?, array(vertices)?, array(arcs)?);
    let arc_weights = if weighted == 0 { None } else { Some(array(arcs)?) };
    let graph = Symmetric { offsets, successors, arc_weights, vertex_weights };
    if checksum(&fields, &graph) != sum {
        return Err(refused("a damaged graph"));
    }
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

/// Reads the parts of `vertices` vertices, all below `parts`, and the child's peak memory. Errors: a damaged file, or one without an assignment.
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

    fn written(graph: &Symmetric, work_dir: &Path, control: &Control) -> Result<File> {
        let helper = &Helper { program: "helper".into(), arguments: Vec::new() };
        let (host_memory, beside, contract) = (Bytes::ZERO, Bytes::ZERO, None);
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
        let mut file = written(&graph, dir.path(), &Control::silent()).unwrap();
        for (bit, other) in flipped(&mut file).enumerate() {
            assert!(read_graph(&other).is_err(), "bit {bit} flipped");
        }
        file.rewind().unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        assert!(read_graph(&file).is_err(), "a cut graph");
    }

    /// Copies of a file with each bit flipped.
    fn flipped(file: &mut File) -> impl Iterator<Item = File> {
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        (0..bytes.len() * 8).map(move |bit| {
            let (mut flipped, mut other) = (bytes.clone(), tempfile::tempfile().unwrap());
            flipped[bit / 8] ^= 1 << (bit % 8);
            other.write_all(&flipped).unwrap();
            other.rewind().unwrap();
            other
        })
    }

    #[test]
    fn an_assignment_is_whole_or_none() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[9; 300]).unwrap();
        write_assignment(&file, &[2, 0, 1, 2], 12345).unwrap();
        assert_eq!(read_assignment(&file, 4, 3).unwrap(), Ok((vec![2, 0, 1, 2], 12345)));
        assert!(read_assignment(&file, 4, 2).unwrap().is_err(), "a part out of range");
        assert!(read_assignment(&file, 3, 3).unwrap().is_err(), "another number of vertices");
        for (bit, other) in flipped(&mut file).enumerate() {
            assert!(read_assignment(&other, 4, 3).unwrap().is_err(), "bit {bit} flipped");
        }
        for length in (0..file.metadata().unwrap().len()).rev() {
            file.set_len(length).unwrap();
            assert!(read_assignment(&file, 4, 3).unwrap().is_err(), "cut to {length} bytes");
        }
    }
}
