//! The share of a job that is done.
//!
//! A job is a sequence of stages. What each of them takes is estimated before it begins: by fixed weights, from the medians of jobs on
//! edge lists, binary pairs and symmetric crawls. Stages that are left out count for nothing, so a job on a cached graph is its count alone.

/// The stages of a count by the names of their tasks, in order, and what they take in relation to each other. `trimill partition` ends
/// with spills in place of the count.
const STAGES: [(&[&str], f64); 7] = [
    (&["header"], 0.1),
    (&["read"], 3.0),
    (&["clean"], 3.0),
    (&["orient"], 3.0),
    (&["orient rows"], 6.0),
    (&["size"], 1.0),
    (&["count", "spill"], 2.0),
];

/// The stage that stands for reading, cleaning and orienting: where it does not come, these do.
const ROWS: usize = 4;

/// Where a job is.
#[derive(Debug, Default)]
pub(super) struct JobShare {
    /// The stages that the job has had, the current one last.
    stages: Vec<usize>,
}

impl JobShare {
    /// A task begins. Returns whether it begins another job: a stage that was passed already, or work that is no stage of a count.
    pub(super) fn begin(&mut self, name: &str) -> bool {
        let stage = STAGES.iter().position(|(names, _)| names.contains(&name));
        // An input may have to be read twice; a count is the end of a job.
        let follows = |stage, current| stage > current || stage == current && stage < STAGES.len() - 1;
        match (stage, self.stages.last()) {
            (Some(stage), Some(&current)) if follows(stage, current) => {
                if stage > current {
                    self.stages.push(stage);
                }
                false
            }
            _ => {
                self.stages = stage.into_iter().collect();
                true
            }
        }
    }

    /// The share of the job that is done once `fraction` of the current task is.
    pub(super) fn done(&self, fraction: f64) -> f64 {
        let [before @ .., current] = &self.stages[..] else { return fraction };
        let weight = |stage: usize| STAGES[stage].1;
        let before: f64 = before.iter().map(|&stage| weight(stage)).sum();
        let after: f64 = (current + 1..STAGES.len()).filter(|&stage| stage != ROWS).map(weight).sum();
        let current = weight(*current);
        (before + current * fraction) / (before + current + after)
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
            &["header", "orient rows", "count"],
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
    fn what_is_left_out_is_not_done() {
        let mut share = JobShare::default();
        share.begin("header");
        share.begin("orient rows");
        assert!(share.done(0.0) < 0.02 && (0.6..0.7).contains(&share.done(1.0)));
        share.begin("count");
        assert!((0.7..0.8).contains(&share.done(0.0)));
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
