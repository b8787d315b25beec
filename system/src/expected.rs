//! The share of a job that is done, and the time left, from the seconds that its stages are expected to take. Input: [stages](ExpectedStage), as soon
//! as a job knows what it will do, the tasks that begin, and the job's time so far. Output: a share between 0 and 1, and the time left. The current
//! stage is extrapolated from its progress; later ones take their expected seconds, scaled by how much longer than expected earlier stages took. So
//! both hold even on a machine that is half as fast in everything.

use std::time::Duration;

/// A stage that a job will go through.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ExpectedStage {
    /// The name of its task.
    pub task: &'static str,
    /// About how long it takes.
    pub seconds: f64,
}

impl ExpectedStage {
    /// A stage that takes about so many `seconds`.
    pub const fn new(task: &'static str, seconds: f64) -> Self {
        Self { task, seconds }
    }
}

/// From this share of a stage on, the rest is extrapolated from its time so far alone.
const TELLING: f64 = 0.1;

/// The completed share of a job, for an [`Observer`](crate::control::Observer) that passes on expected stages, tasks, and the job's time.
#[derive(Debug, Default)]
pub struct JobShare {
    stages: Vec<ExpectedStage>,
    current: Option<usize>,
    began: Duration,
    /// Expected seconds of done stages that are no longer in the list.
    before: f64,
    /// Seconds that all done stages actually took.
    took: f64,
    /// The largest share of these stages so far: work beside the stages does not lower it.
    reached: f64,
}

impl JobShare {
    /// Expects these stages from now on (`elapsed`). Returns whether they are another job's, since all earlier ones or the first of these had begun.
    pub fn expect(&mut self, stages: &[ExpectedStage], elapsed: Duration) -> bool {
        let begun = self.current.map_or(&[][..], |current| &self.stages[..=current]);
        let again = stages.first().is_some_and(|first| begun.iter().any(|stage| stage.task == first.task));
        let stages = stages.to_vec();
        if again || (!self.stages.is_empty() && begun.len() == self.stages.len()) {
            *self = Self { stages, ..Self::default() };
            return true;
        }
        let (before, took) = (self.before + seconds(begun), self.took + self.taking(elapsed));
        *self = Self { stages, before, took, ..Self::default() };
        false
    }

    /// A task begins after `elapsed`. Returns whether it begins another job, whose stages are unknown.
    pub fn begin(&mut self, task: &str, elapsed: Duration) -> bool {
        let is_last = |place: usize| place + 1 == self.stages.len();
        let from = self.current.unwrap_or_default();
        let place = self.stages[from..].iter().position(|stage| stage.task == task).map(|place| from + place);
        match (place, self.current) {
            // An input may have to be read twice; the last stage is the end of a job.
            (Some(place), current) if current != Some(place) || !is_last(place) => {
                self.took += self.taking(elapsed);
                (self.current, self.began) = (Some(place), elapsed);
            }
            // Work beside the stages.
            (None, current) if !self.stages.is_empty() && !current.is_some_and(is_last) => {}
            _ => {
                *self = Self::default();
                return true;
            }
        }
        false
    }

    fn taking(&self, elapsed: Duration) -> f64 {
        self.current.map_or(0.0, |_| elapsed.saturating_sub(self.began).as_secs_f64())
    }

    /// The current stage and its share that is done, if `fraction` of the task that began last is done.
    fn current(&self, task: &str, fraction: f64) -> Option<(usize, f64)> {
        self.current.map(|place| (place, if self.stages[place].task == task { fraction } else { 0.0 }))
    }

    fn expected(&self, current: Option<(usize, f64)>) -> f64 {
        let of =
            |(place, fraction): (usize, f64)| seconds(&self.stages[..place]) + self.stages[place].seconds * fraction;
        self.before + current.map_or(0.0, of)
    }

    /// The completed share of the job, if `fraction` of the latest task is done.
    pub fn done(&mut self, task: &str, fraction: f64) -> f64 {
        let all = self.before + seconds(&self.stages);
        if all <= 0.0 {
            return fraction;
        }
        self.reached = self.reached.max(self.expected(self.current(task, fraction)) / all);
        self.reached
    }

    /// How long the rest of the job takes, after `elapsed`; `None` as long as nothing is done.
    pub fn time_left(&self, task: &str, fraction: f64, elapsed: Duration) -> Option<Duration> {
        let going_on = |taken: f64, fraction: f64| taken * (1.0 - fraction) / fraction;
        let left = if self.stages.is_empty() {
            going_on(elapsed.as_secs_f64(), fraction)
        } else {
            let (place, done) = self.current(task, fraction)?;
            let taking = self.taking(elapsed);
            let pace = (self.took + taking) / self.expected(Some((place, done)));
            let expected = pace * (1.0 - done) * self.stages[place].seconds;
            // Squared, since a stage may make no progress for a long time at first.
            let telling = (done / TELLING).min(1.0).powi(2);
            let current = if done > 0.0 { telling * going_on(taking, done) } else { 0.0 } + (1.0 - telling) * expected;
            current + pace * seconds(&self.stages[place + 1..])
        };
        // A bound for display; no job takes that long.
        left.is_finite().then(|| Duration::from_secs_f64(left.clamp(0.0, 1e9)))
    }
}

fn seconds(stages: &[ExpectedStage]) -> f64 {
    stages.iter().map(|stage| stage.seconds).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn stages<const N: usize>(of: [(&'static str, f64); N]) -> [ExpectedStage; N] {
        of.map(|(task, seconds)| ExpectedStage { task, seconds })
    }

    #[test]
    fn the_share_rises_from_nothing_to_all() {
        let mut share = JobShare::default();
        // A task begins before the job knows its stages.
        assert!(share.begin("header", NOW));
        assert!(!share.expect(&stages([("read", 3.0), ("clean", 4.0), ("orient", 2.0), ("count", 1.0)]), NOW));
        assert_eq!(share.done("header", 0.9), 0.0);
        for (task, from, to) in [("read", 0.0, 0.3), ("clean", 0.3, 0.7), ("orient", 0.7, 0.9)] {
            assert!(!share.begin(task, NOW));
            assert!((share.done(task, 0.0) - from).abs() < 1e-9 && (share.done(task, 1.0) - to).abs() < 1e-9, "{task}");
        }
        // Work beside the stages.
        assert!(!share.begin("size", NOW));
        assert!((share.done("size", 0.5) - 0.9).abs() < 1e-9);
        // A later estimate is taken relative to those of the stages before.
        assert!(!share.expect(&stages([("count", 3.0)]), NOW));
        assert!(!share.begin("count", NOW));
        assert!((share.done("count", 0.0) - 0.75).abs() < 1e-9 && share.done("count", 1.0) == 1.0);
        assert!(share.expect(&stages([("count", 3.0)]), NOW), "another job");
    }

    #[test]
    fn stages_that_are_left_out_or_come_twice() {
        let mut share = JobShare::default();
        share.expect(&stages([("read", 3.0), ("clean", 4.0), ("count", 3.0)]), NOW);
        assert!(!share.begin("read", NOW) && !share.begin("read", NOW));
        assert_eq!(share.done("read", 0.5), 0.15);
        assert!(!share.begin("count", NOW));
        assert_eq!(share.done("count", 0.0), 0.7);
        // Several counts of a graph are several jobs, for which there is no estimate.
        assert!(share.begin("count", NOW) && share.begin("count", NOW));
        assert_eq!(share.done("count", 0.25), 0.25);
        // A task that begins again starts from zero.
        assert!(!share.expect(&stages([("read", 3.0), ("count", 3.0)]), NOW));
        assert!(!share.begin("read", NOW));
        assert_eq!(share.done("read", 1.0), 0.5);
        assert!(share.expect(&stages([("read", 1.0), ("clean", 1.0), ("count", 2.0)]), NOW));
        assert_eq!(share.done("read", 1.0), 0.0);
    }

    #[test]
    fn the_time_left_follows_from_what_stages_took_and_from_what_is_expected_of_others() {
        let after = Duration::from_secs;
        let nothing = JobShare::default();
        assert_eq!(nothing.time_left("generate", 0.0, after(9)), None);
        assert_eq!(nothing.time_left("generate", 0.25, after(5)), Some(after(15)));
        assert_eq!(nothing.time_left("generate", 1e-300, after(5)), Some(after(1_000_000_000)));
        // The job is twice as slow as expected, after 7 seconds that were not in the estimate.
        let mut share = JobShare::default();
        share.expect(&stages([("read", 10.0), ("clean", 5.0), ("count", 5.0)]), NOW);
        assert_eq!(share.time_left("header", 0.5, after(5)), None);
        share.begin("read", after(7));
        assert_eq!(share.time_left("read", 0.0, after(7)), None);
        assert_eq!(share.time_left("read", 0.05, after(8)), Some(after(19 + 20)));
        assert_eq!(share.time_left("read", 0.5, after(17)), Some(after(10 + 20)));
        share.begin("clean", after(27));
        assert_eq!(share.time_left("clean", 0.0, after(27)), Some(after(20)));
        // The stage itself is as fast as expected.
        let left = share.time_left("clean", 0.2, after(28)).unwrap_or_default().as_secs_f64();
        assert!((left - 4.0 - 5.0 * 21.0 / 11.0).abs() < 1e-6, "{left}");
        share.expect(&stages([("count", 30.0)]), after(32));
        share.begin("count", after(32));
        let left = share.time_left("count", 0.5, after(42)).unwrap_or_default();
        assert_eq!(left, after(10));
    }
}
