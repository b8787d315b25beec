//! Several devices, in the guise of CPU counters and of devices that fail.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::count::cpu::Cpu;
use crate::count::{Device, PartitionCounter, Terms};
use crate::execute::planned::planned;
use crate::execute::shared::count_shared;
use crate::job::file::parse;
use crate::partition::section::ResidentSize;

/// A CPU counter that has a number and breaks down at its partition number `fails_at`.
struct Numbered {
    cpu: Cpu,
    ordinal: u32,
    fails_at: usize,
    begun: Arc<AtomicUsize>,
}

impl Backend for Numbered {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn method(&self) -> &'static str {
        "bitmap"
    }
    fn device(&self) -> Option<Device> {
        let name = format!("device {}", self.ordinal);
        Some(Device { ordinal: self.ordinal, name, budget: Bytes(1), context: Bytes(2), used: Bytes(3) })
    }
    fn terms(&self) -> Terms {
        self.cpu.terms()
    }
    fn begin<'a>(
        &'a mut self,
        resident: ResidentSize,
        numbered: u32,
        largest_frame: Bytes,
    ) -> Result<Box<dyn PartitionCounter + 'a>> {
        if self.begun.fetch_add(1, Ordering::Relaxed) == self.fails_at {
            return Err(Error::resource(format!("device {} is gone", self.ordinal)));
        }
        self.cpu.begin(resident, numbered, largest_frame)
    }
}

/// Complete graphs of 5 to 12 vertices, next to each other: `C(n, 3)` triangles each.
fn cliques() -> (String, u128) {
    let (mut text, mut first, mut triangles) = (String::new(), 0, 0);
    for n in 5..=12u32 {
        for a in first..first + n {
            for b in a + 1..first + n {
                text.push_str(&format!("{a} {b}\n"));
            }
        }
        first += n;
        triangles += u128::from(n * (n - 1) * (n - 2) / 6);
    }
    (text, triangles)
}

/// Counts the cliques in 8 parts on devices of which each fails at the given partition of its own.
fn count_on(
    fails: &[usize],
    more: &str,
    dir: &Path,
) -> Result<(Vec<PartitionResult>, Vec<DeviceResult>, Vec<Station>)> {
    std::fs::write(dir.join("cliques.txt"), cliques().0).unwrap();
    std::fs::create_dir_all(dir.join("spill")).unwrap();
    let text = format!(
        "input.path = 'cliques.txt'\npartition.parts = 8\npartition.partitioner = 'contiguous-vertices'\n\
         cache.enabled = false\ncount.backend = 'cpu'\nspill.dir = 'spill'\n{more}"
    );
    let text = if text.contains("frames") { text } else { text + "\npartition.frames = 'own'" };
    let job = Job::resolve(None, &parse(&text, Path::new("test"))?, dir)?;
    let setup = Setup::new(&job, None)?;
    let (control, mut stations) = (Control::silent(), Vec::new());
    let mut planned = planned(&job, &setup, &control, &mut stations)?;
    let vertices = planned.graph.vertices();
    let begun = Arc::new(AtomicUsize::new(0));
    planned.backends = fails
        .iter()
        .zip(0..)
        .map(|(&fails_at, ordinal)| {
            let begun = if fails_at == usize::MAX { Arc::default() } else { Arc::clone(&begun) };
            let cpu = setup.pool.install(|| Cpu::new(Bytes::ZERO, vertices));
            Box::new(Numbered { cpu, ordinal, fails_at, begun }) as Box<dyn Backend>
        })
        .collect();
    let (results, devices) = match planned.plan.shared {
        Some(_) => count_shared(&mut planned, &setup, &control, &mut stations)?,
        None => count_spilled(&job, &mut planned, &setup, &control, &mut stations)?,
    };
    Ok((results, devices, stations))
}

fn spills(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("spill")).unwrap().count()
}

#[test]
fn every_partition_is_counted_once_by_one_of_the_devices() {
    let shared = "partition.frames = 'shared'";
    for (devices, more) in [
        (1, ""),
        (2, ""),
        (3, "spill.to = 'memory'"),
        (4, "memory.host = '64MiB'\nspill.to = 'memory'"),
        (1, shared),
        (3, shared),
        (2, "partition.frames = 'shared'\nmemory = { host = '32MiB', device = '1MiB' }"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (results, shares, stations) = count_on(&vec![usize::MAX; devices], more, dir.path()).unwrap();
        let mut ids: Vec<u32> = results.iter().map(|result| result.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..8).collect::<Vec<_>>());
        let triangles: u128 = results.iter().map(|result| u128::from(result.triangles)).sum();
        assert_eq!(triangles, cliques().1);
        // What the shares say is what the partitions say.
        assert_eq!(shares.len(), devices);
        for share in &shares {
            let own: Vec<_> = results.iter().filter(|result| result.device == Some(share.device)).collect();
            assert_eq!(own.len(), share.partitions as usize);
            assert_eq!(own.iter().map(|result| u128::from(result.triangles)).sum::<u128>(), share.triangles);
            assert_eq!((share.name.as_str(), share.context_bytes), (&*format!("device {}", share.device), Bytes(2)));
        }
        let made = if more.contains("shared") { "gather" } else { "spill" };
        assert!([made, "stream", "count"].iter().all(|name| stations.iter().any(|station| station.name == *name)));
        assert_eq!(spills(dir.path()), 0);
    }
}

#[test]
fn kept_spills_are_all_there_in_order() {
    let dir = tempfile::tempdir().unwrap();
    count_on(&[usize::MAX; 3], "spill.keep = true", dir.path()).unwrap();
    let manifest = crate::spill::Manifest::read(&dir.path().join("spill")).unwrap();
    assert_eq!(manifest.partitions.iter().map(|part| part.id).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!(spills(dir.path()), 9);
}

#[test]
fn one_device_that_fails_ends_the_job_with_its_own_error_and_leaves_nothing() {
    let shared = "partition.frames = 'shared'";
    for (fails, keep) in [(0, ""), (3, ""), (7, ""), (2, "spill.keep = true"), (0, shared), (7, shared)] {
        let dir = tempfile::tempdir().unwrap();
        let error = count_on(&[fails; 3], keep, dir.path()).err().unwrap();
        assert_eq!(error.kind(), Kind::Resource, "{error}");
        assert!(error.to_string().contains("is gone"), "{error}");
        assert_eq!(spills(dir.path()), 0, "fails at {fails}");
    }
}

#[test]
fn with_several_devices_the_largest_partition_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("cliques.txt"), cliques().0).unwrap();
    let text = "input.path = 'cliques.txt'\npartition.parts = 8\ncache.enabled = false\ncount.backend = 'cpu'\n\
                partition.partitioner = 'contiguous-vertices'";
    let job = Job::resolve(None, &parse(text, Path::new("test")).unwrap(), dir.path()).unwrap();
    let setup = Setup::new(&job, None).unwrap();
    let planned = planned(&job, &setup, &Control::silent(), &mut Vec::new()).unwrap();
    assert_eq!(order(&planned.plan, 1), (0..8).collect::<Vec<_>>());
    let sizes: Vec<Bytes> =
        order(&planned.plan, 2).iter().map(|&part| planned.plan.predictions[part as usize].stream).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] > sizes[7], "{sizes:?}");
}
