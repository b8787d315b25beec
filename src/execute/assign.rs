//! Assigns the vertices of an oriented graph to parts, by one of the partitioners.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rayon::prelude::*;
use trimill_partitioners as partitioners;
use trimill_partitioners::metis::MetisOptions;
use trimill_partitioners::{MAX_PARTS, RowsById};

use super::planning::Planning;
use super::session::Session;
use crate::job::{Partitioner, Parts};
use crate::plan::sets::VertexInfo;
use crate::plan::{Assign, Plan};
use trimill_graph::Direction;
use trimill_input::assignment::{self, Declared, FileAssignment};
use trimill_input::identity::Watched;
use trimill_partitioners::partition::assignment::Assignment;
use trimill_system::mapped::zeros;
use trimill_system::text::shown;
use trimill_system::{Error, Result, starts_of};

pub(super) struct Assigner<'a> {
    pub(super) planning: Planning<'a>,
    pub(super) partitioner: &'a Partitioner,
    pub(super) vertices: &'a VertexInfo,
    /// The most bytes that a METIS child took.
    pub(super) child_peak: &'a AtomicU64,
}

impl Planning<'_> {
    /// A plan of what `partitioner` assigns. `child_peak` becomes the peak memory of a METIS child.
    pub(super) fn sets(&self, partitioner: &Partitioner, child_peak: &AtomicU64) -> Result<Plan> {
        let planner = self.planner();
        if let Some(plan) = planner.as_one_part(partitioner, self.session.job.settings.partition.parts())? {
            return Ok(plan);
        }
        let assigned = {
            let vertices = VertexInfo::of(self.graph)?;
            planner.assigned(&vertices, &Assigner { planning: *self, partitioner, vertices: &vertices, child_peak })?
        };
        planner.sets(assigned)
    }
}

/// Removes empty parts, which would be built, streamed and recorded for nothing; the others keep their order.
fn drop_empty_parts(mut part_of: Vec<u32>, parts: u32) -> Assignment {
    let seen: Vec<AtomicBool> = (0..parts).map(|_| AtomicBool::new(false)).collect();
    part_of.par_iter().for_each(|&part| {
        let seen = &seen[part as usize];
        // Most are set already, and loads do not contend with other threads.
        if !seen.load(Ordering::Relaxed) {
            seen.store(true, Ordering::Relaxed);
        }
    });
    let mut nonempty = 0;
    let number = |seen: AtomicBool| {
        let number = nonempty;
        nonempty += u32::from(seen.into_inner());
        number
    };
    let numbers: Vec<u32> = seen.into_iter().map(number).collect();
    if nonempty < parts {
        part_of.par_iter_mut().for_each(|part| *part = numbers[*part as usize]);
    }
    Assignment::new(part_of, nonempty.max(1))
}

impl Assign for Assigner<'_> {
    fn assign(&self, parts: u32) -> Result<Assignment> {
        let Planning { session, graph, footprint, .. } = self.planning;
        let n = graph.vertices();
        if parts > MAX_PARTS {
            return Err(Error::usage(format!("{parts} parts")).expected(format!("at most {MAX_PARTS}")));
        }
        let part_of = match self.partitioner {
            Partitioner::Random => partitioners::random(n, parts, session.job.settings.partition.seed()),
            Partitioner::Rank | Partitioner::Auto | Partitioner::Contiguous => {
                let out_degrees = &self.vertices.out_degrees;
                let weight = |vertex: u32| footprint.resident(1, out_degrees[vertex as usize].into()).get();
                partitioners::contiguous_by_weight(n, parts, weight)
            }
            Partitioner::ContiguousVertices => partitioners::contiguous_vertices(n, parts),
            Partitioner::Metis => return self.metis(parts),
            Partitioner::File(path) => {
                let found = self.read(path)?;
                let assignment = drop_empty_parts(found.assignment, found.parts);
                if assignment.parts() < found.parts {
                    tracing::info!(
                        target: trimill_system::control::NOTE,
                        "{}: {} of the parts 0 to {} have vertices; they are renumbered from 0",
                        shown(path),
                        assignment.parts(),
                        found.parts - 1
                    );
                }
                return Ok(assignment);
            }
        };
        Ok(drop_empty_parts(part_of, parts))
    }

    fn is_cheap(&self) -> bool {
        self.partitioner.is_cheap()
    }

    fn parts(&self) -> Option<u32> {
        match (self.partitioner, self.planning.session.job.settings.partition.parts()) {
            (Partitioner::File(_), Parts::Auto) => Some(1),
            (_, parts) => parts.asked(),
        }
    }
}

impl Assigner<'_> {
    fn metis(&self, parts: u32) -> Result<Assignment> {
        let Planning { session, graph, .. } = self.planning;
        let Session { job, metis, host, work_dir, control, .. } = session;
        let Some(helper) = metis else {
            return Err(Error::usage("the partitioner metis runs in a child process, and no program for it was named")
                .advice("use another partitioner, or name the trimill program"));
        };
        let options = MetisOptions {
            parts,
            seed: job.settings.partition.seed(),
            contract: job.settings.partition.metis.contract,
            host_memory: host.budget(),
            beside: session.host_needs(graph, job.settings.mode()).floor_of_planning(),
            work_dir,
            helper,
            control,
        };
        let found = partitioners::metis::assign(&self.rows_by_id()?, &options)?;
        self.child_peak.fetch_max(found.child_peak_bytes, Ordering::Relaxed);
        tracing::info!("METIS cuts {} of {} edges", found.cut, graph.edges());
        Ok(drop_empty_parts(found.parts, parts))
    }

    /// The graph as METIS reads it: rows by vertex, in memory, at 4 bytes an edge and 8 a vertex.
    fn rows_by_id(&self) -> Result<RowsById> {
        let Planning { session, graph, limits, .. } = self.planning;
        let VertexInfo { order, out_degrees } = self.vertices;
        let begins = starts_of(out_degrees.iter().map(|&length| u64::from(length)));
        let successors: Vec<AtomicU32> = zeros(graph.edges() as usize);
        graph.pass(limits.host_block, Direction::Rising, &session.control, |block| {
            block.ranks().into_par_iter().with_min_len(256).for_each(|rank| {
                let begin = begins[order[rank as usize] as usize] as usize;
                for (place, &successor) in successors[begin..].iter().zip(block.row(rank)) {
                    place.store(order[successor as usize], Ordering::Relaxed);
                }
            });
            Ok(())
        })?;
        Ok(RowsById { begins, successors: successors.into_iter().map(AtomicU32::into_inner).collect() })
    }

    fn read(&self, path: &Path) -> Result<FileAssignment> {
        let Planning { session, graph, .. } = self.planning;
        let ids = graph.ids()?;
        let declared = Declared {
            lines: graph.declared_lines(),
            first_id: graph.first_declared_id(),
            vertices: graph.vertices(),
            compact: &|original| ids.vertex_of(original),
            original: &|id| ids.original(id),
        };
        let watched = Watched::new(path).ok().flatten();
        let found = assignment::read(path, declared, MAX_PARTS, &session.work_dir, &session.control);
        watched.map_or(Ok(()), |watched| watched.unchanged())?;
        found
    }
}
