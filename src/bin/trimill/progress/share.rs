//! The share of a job that is done.
//!
//! A job is a sequence of stages. What each of them takes is estimated before it begins: by fixed weights, from the medians of jobs on
//! edge lists and binary pairs. Stages that are left out count as done, so a job on a cached graph is its count alone.

/// The stages of a count by the names of their tasks, in order, and what they take in relation to each other. `trimill partition` ends
/// with spills in place of the count.
const STAGES: [(&[&str], f64); 6] = [
    (&["header"], 0.1),
    (&["read"], 3.0),
    (&["clean"], 3.0),
    (&["orient"], 3.0),
    (&["size"], 1.0),
    (&["count", "spill"], 2.0),
];

/// Where a job is.
#[derive(Debug, Default)]
pub(super) struct JobShare {
    /// The stage that the job began with, and the current one.
    stages: Option<(usize, usize)>,
}

impl JobShare {
    /// A task begins. Returns whether it begins another job: a stage that was passed already, or work that is no stage of a count.
    pub(super) fn begin(&mut self, name: &str) -> bool {
        let stage = STAGES.iter().position(|(names, _)| names.contains(&name));
        // An input may have to be read twice; a count is the end of a job.
        let follows = |stage, current| stage > current || stage == current && stage < STAGES.len() - 1;
        match (stage, self.stages) {
            (Some(stage), Some((first, current))) if follows(stage, current) => {
                self.stages = Some((first, stage));
                false
            }
            _ => {
                self.stages = stage.map(|stage| (stage, stage));
                true
            }
        }
    }

    /// The share of the job that is done once `fraction` of the current task is.
    pub(super) fn done(&self, fraction: f64) -> f64 {
        let Some((first, current)) = self.stages else { return fraction };
        let weight = |stages: &[(&[&str], f64)]| stages.iter().map(|(_, weight)| weight).sum::<f64>();
        (weight(&STAGES[first..current]) + STAGES[current].1 * fraction) / weight(&STAGES[first..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_rises_from_nothing_to_all() {
        for stages in [
            &["read", "clean", "orient", "count"][..],
            &["read", "orient", "count"],
            &["read", "read", "clean", "orient", "size", "spill"],
            &["count"],
        ] {
            let (mut share, mut before) = (JobShare::default(), 0.0);
            for (i, stage) in stages.iter().enumerate() {
                assert_eq!(share.begin(stage), i == 0, "{stage}");
                for fraction in [0.0, 0.5, 1.0] {
                    let done = share.done(fraction);
                    let again = i > 0 && stages[i - 1] == *stage;
                    assert!(again || before <= done && done <= 1.0, "{stages:?}: {stage} {fraction}: {before} {done}");
                    before = done;
                }
            }
            assert!(before > 0.999, "{stages:?}: {before}");
        }
    }

    #[test]
    fn another_job_begins_anew() {
        let mut share = JobShare::default();
        assert!(share.begin("count") && share.done(1.0) > 0.99);
        assert!(share.begin("read") && share.done(0.0) < 0.01);
        assert!(share.begin("generate"));
        assert!((share.done(0.25) - 0.25).abs() < 1e-9);
    }
}
