//! What `trimill partition` does: from the input to kept spills and their manifest; nothing is counted.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use super::planned::Planned;
use super::session::{Purpose, Session};
use super::spill_dir::SpillDir;
use super::stage_times::StageTimes;
use crate::job::{Job, Mode, SpillTo};
use crate::plan::GraphCut;
use crate::report::{PartitionFigures, PartitionReport, Stage};
use trimill_partitioners::partition::assignment::Assignment;
use trimill_partitioners::spill::SpillSummary;
use trimill_system::child::Helper;
use trimill_system::control::{Control, Unit};
use trimill_system::disk::check_room;
use trimill_system::expected::ExpectedStage;
use trimill_system::memory::SharedBudget;
use trimill_system::{Bytes, Error, Result};

/// Spills the partitions of a job, which must name a directory for them.
pub fn partition(job: Job, metis: Option<Helper>, control: &Control) -> Result<PartitionReport> {
    if job.settings.mode() == Some(Mode::InPlace) {
        return Err(
            Error::usage("partitions of the partitioner rank cannot be spilled").expected("another partitioner")
        );
    }
    let Some(directory) = job.settings.spill.dir.clone() else {
        return Err(Error::usage("no directory for the spilled partitions").advice("name it with --spill-dir"));
    };
    // Of a count's outputs, only the spills are written.
    let mut job = job.without_counts();
    (job.settings.spill.to, job.settings.spill.keep) = (Some(SpillTo::Disk), Some(true));
    let session = Session::open(job, Purpose::Count, metis, control)?;
    let planned = session.input(None)?.prepare()?.plan(1)?;
    planned.removing_damaged_graph(|planned| planned.spill(&directory))
}

impl Planned {
    fn spill(mut self, directory: &Path) -> Result<PartitionReport> {
        let GraphCut::Sets(locals) = &self.plan.cut else {
            return Err(Error::defect("rank ranges that are to be spilled"));
        };
        let dir = SpillDir::kept(directory, self.session.job.settings.output.force(), self.fingerprint)?;
        let mut stages = std::mem::take(&mut self.stages);
        let spills = self.write_spills(locals, dir, &mut stages)?;
        let Self { graph, plan, .. } = &self;
        let reported = |spill: SpillSummary| {
            let part = spill.header.partition.partition;
            PartitionFigures {
                file: Some(spill.path.clone()),
                row_blocks: u64::from(spill.header.row_blocks),
                largest_block_bytes: Bytes(spill.largest_block_bytes),
                spill_bytes: Bytes(spill.bytes),
                ..PartitionFigures::planned(part, &plan.partitions[part as usize])
            }
        };
        Ok(PartitionReport {
            vertices: u64::from(graph.vertices()),
            edges: graph.edges(),
            parts: plan.parts(),
            partitions: spills.into_iter().map(reported).collect(),
            stages,
            peak_host_bytes: self.peak_now(),
            device_memory: self.limits.device,
            partitioner: self.partitioner.to_string(),
            directory: directory.to_path_buf(),
            prune: self.session.job.settings.partition.prune(),
            seed: self.session.job.settings.partition.seed(),
        })
    }

    /// Builds the partitions whose spills are missing in `dir`, and writes the manifest.
    pub(super) fn write_spills(
        &self,
        locals: &Assignment,
        mut dir: SpillDir,
        stages: &mut Vec<Stage>,
    ) -> Result<Vec<SpillSummary>> {
        let Self { graph, plan, session: Session { control, .. }, .. } = self;
        let parts = plan.parts();
        let order: Vec<u32> = (0..parts).collect();
        let batches = self.plan_batches(order.len(), true)?;
        check_room([self.spills_needed(&batches)])?;
        let room = SharedBudget::new(Bytes::ZERO);
        dir.writes(&order)?;
        control.expect(&[ExpectedStage::new("spill", self.counting_seconds())]);
        let task = control.task("spill", Some(u64::from(parts)), Unit::Partitions);
        let (mut spills, mut times) = (Vec::new(), StageTimes::default());
        self.batch_builder(locals, &dir, &room, batches).build(&order, control, |built| {
            times.add_built(&built);
            spills.push(built.spill);
            task.advance(1);
            ControlFlow::Continue(())
        })?;
        let start = Instant::now();
        spills.sort_by_key(|spill| spill.header.partition.partition);
        self.manifest(&spills).write(&dir.path)?;
        dir.complete();
        times.spilling += start.elapsed();
        stages.extend(times.built_stages(graph));
        Ok(spills)
    }
}
