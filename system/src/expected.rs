//! The share of a job that is done, from the seconds that its stages are expected to take.
//!
//! Input: [stages](ExpectedStage), as soon as a job knows what it will do, and the tasks that begin. Output: a share between 0 and 1. Only
//! the ratios of the seconds matter: on a machine that is half as fast as expected in everything, the time left is right nevertheless.

use std::time::Duration;

/// A stage of a job that is to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedStage {
    /// The name of its task.
    pub task: &'static str,
    /// How long it takes, about.
    pub seconds: f64,
}

/// Where a job is.
#[derive(Debug, Default)]
pub struct JobShare {
    /// The stages that were expected last, in order.
    stages: Vec<ExpectedStage>,
    /// The one that has begun last.
    current: Option<usize>,
    /// Seconds expected of stages that are done and no longer in the list.
    before: f64,
    /// The largest share of these stages so far: work beside them takes nothing back.
    reached: f64,
}

impl JobShare {
    /// From now on these stages are expected. Returns whether they are those of another job: no stage of the last one was left, or the
    /// first of these is done already.
    pub fn expect(&mut self, stages: &[ExpectedStage]) -> bool {
        let begun = self.current.map_or(&[][..], |current| &self.stages[..=current]);
        let again = stages.first().is_some_and(|first| begun.iter().any(|stage| stage.task == first.task));
        let another = again || (!self.stages.is_empty() && begun.len() == self.stages.len());
        let before = if another { 0.0 } else { self.before + seconds(begun) };
        *self = Self { stages: stages.to_vec(), current: None, before, reached: 0.0 };
        another
    }

    /// A task begins. Returns whether it begins another job: one of which nothing is expected.
    pub fn begin(&mut self, task: &str) -> bool {
        let is_last = |place: usize| place + 1 == self.stages.len();
        let from = self.current.unwrap_or_default();
        let place = self.stages[from..].iter().position(|stage| stage.task == task).map(|place| from + place);
        match (place, self.current) {
            // An input may have to be read twice; the last stage is the end of a job.
            (Some(place), current) if current != Some(place) || !is_last(place) => self.current = Some(place),
            // Work beside the stages.
            (None, current) if !self.stages.is_empty() && !current.is_some_and(is_last) => {}
            _ => {
                *self = Self::default();
                return true;
            }
        }
        false
    }

    /// The share of the job that is done once `fraction` of a task is, which began last.
    pub fn done(&mut self, task: &str, fraction: f64) -> f64 {
        if self.stages.is_empty() {
            return fraction;
        }
        let current = self.current.map(|current| (&self.stages[..current], self.stages[current]));
        let done = current.map_or(0.0, |(before, current)| {
            let fraction = if current.task == task { fraction } else { 0.0 };
            seconds(before) + current.seconds * fraction
        });
        let all = self.before + seconds(&self.stages);
        self.reached = self.reached.max(if all > 0.0 { (self.before + done) / all } else { fraction });
        self.reached
    }
}

fn seconds(stages: &[ExpectedStage]) -> f64 {
    stages.iter().map(|stage| stage.seconds).sum()
}

/// How long the rest of a job takes of which `share` is done after `elapsed`; none as long as nothing is done.
pub fn time_left(share: f64, elapsed: Duration) -> Option<Duration> {
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    // More than anybody waits for.
    (share > 0.0).then(|| Duration::from_secs_f64(left.clamp(0.0, 1e9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages<const N: usize>(of: [(&'static str, f64); N]) -> [ExpectedStage; N] {
        of.map(|(task, seconds)| ExpectedStage { task, seconds })
    }

    #[test]
    fn the_share_rises_from_nothing_to_all() {
        let mut share = JobShare::default();
        // What comes before the job knows what it will do.
        assert!(share.begin("header"));
        assert!(!share.expect(&stages([("read", 3.0), ("clean", 4.0), ("orient", 2.0), ("count", 1.0)])));
        assert_eq!(share.done("header", 0.9), 0.0);
        for (task, from, to) in [("read", 0.0, 0.3), ("clean", 0.3, 0.7), ("orient", 0.7, 0.9)] {
            assert!(!share.begin(task));
            assert!((share.done(task, 0.0) - from).abs() < 1e-9 && (share.done(task, 1.0) - to).abs() < 1e-9, "{task}");
        }
        // Work beside the stages.
        assert!(!share.begin("size"));
        assert!((share.done("size", 0.5) - 0.9).abs() < 1e-9);
        // What is known better later on, in relation to what was expected of the stages before.
        assert!(!share.expect(&stages([("count", 3.0)])));
        assert!(!share.begin("count"));
        assert!((share.done("count", 0.0) - 0.75).abs() < 1e-9 && share.done("count", 1.0) == 1.0);
        assert!(share.expect(&stages([("count", 3.0)])), "another job");
    }

    #[test]
    fn stages_that_are_left_out_or_come_twice() {
        let mut share = JobShare::default();
        share.expect(&stages([("read", 3.0), ("clean", 4.0), ("count", 3.0)]));
        assert!(!share.begin("read") && !share.begin("read"));
        assert_eq!(share.done("read", 0.5), 0.15);
        assert!(!share.begin("count"));
        assert_eq!(share.done("count", 0.0), 0.7);
        // Several counts of a graph are several jobs, of which nothing is expected.
        assert!(share.begin("count") && share.begin("count"));
        assert_eq!(share.done("count", 0.25), 0.25);
        // What begins again is begun anew.
        assert!(!share.expect(&stages([("read", 3.0), ("count", 3.0)])));
        assert!(!share.begin("read"));
        assert_eq!(share.done("read", 1.0), 0.5);
        assert!(share.expect(&stages([("read", 1.0), ("clean", 1.0), ("count", 2.0)])));
        assert_eq!(share.done("read", 1.0), 0.0);
    }

    #[test]
    fn the_time_left_follows_from_the_share() {
        let seconds = Duration::from_secs;
        assert_eq!(time_left(0.0, seconds(9)), None);
        assert_eq!(time_left(0.25, seconds(5)), Some(seconds(15)));
        assert_eq!(time_left(1.0, seconds(5)), Some(seconds(0)));
        assert_eq!(time_left(1e-300, seconds(5)), Some(seconds(1_000_000_000)));
    }
}
