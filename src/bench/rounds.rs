//! Who counts when: methods take turns, so that what changes over time (clocks, heat, other programs) meets all of them.
//!
//! The first round warms up: files come into memory, kernels are compiled. Each round begins with another method. A method
//! that fails is out. One whose time is over runs fewer times: a run begins only if it fits as the one before it would, and
//! one that does not end in time is stopped. Where only the first round fits, its run counts.

use std::time::Duration;

use crate::error::Result;
use crate::report::RunResult;
use crate::report::bench::{MethodName, MethodReport, Run};
use crate::report::failure::Reason;

/// How a turn ended.
pub(super) enum Outcome {
    /// With a result.
    Counted(Box<RunResult>),
    /// Without one.
    Failed(Reason),
}

/// A turn, and how long it took from the outside.
pub(super) struct Turn {
    /// How it ended.
    pub(super) outcome: Outcome,
    /// How long it took.
    pub(super) elapsed: Duration,
}

/// Lets methods count.
pub(super) trait Runner {
    /// Lets the method of this place count once, within `limit`.
    ///
    /// # Errors
    /// A stop of the whole.
    fn run(&mut self, place: usize, limit: Duration) -> Result<Turn>;
}

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Runs of each method, without the first.
    pub(super) runs: u32,
    /// The most time of a method for all of them.
    pub(super) time: Duration,
}

/// Runs all rounds; `advance` hears of every turn that is over. The reports lack what follows from the runs.
///
/// # Errors
/// A stop of the whole.
pub(super) fn run(
    methods: &[MethodName],
    limits: Limits,
    runner: &mut dyn Runner,
    advance: &dyn Fn(u64),
) -> Result<Vec<MethodReport>> {
    let mut players: Vec<Player> = methods.iter().map(|name| Player::new(name.clone())).collect();
    for round in 0..=limits.runs {
        for step in 0..players.len() {
            let place = (round as usize + step) % players.len();
            players[place].play(place, round, limits, runner)?;
            advance(1);
        }
    }
    Ok(players.into_iter().map(Player::report).collect())
}

/// A method on its way through the rounds.
struct Player {
    report: MethodReport,
    warm_up: Option<Run>,
    spent: Duration,
    last: Duration,
    out: bool,
}

impl Player {
    fn new(name: MethodName) -> Self {
        let (spent, last) = (Duration::ZERO, Duration::ZERO);
        Self { report: MethodReport::new(name), warm_up: None, spent, last, out: false }
    }

    fn play(&mut self, place: usize, round: u32, limits: Limits, runner: &mut dyn Runner) -> Result<()> {
        if self.out {
            return Ok(());
        }
        let left = limits.time.saturating_sub(self.spent);
        if left.is_zero() || left < self.last {
            self.leave(late(limits.time, "another run would not end within"));
            return Ok(());
        }
        let Turn { outcome, elapsed } = runner.run(place, left)?;
        self.spent += elapsed;
        self.last = elapsed;
        match outcome {
            Outcome::Counted(result) => self.note(round, &result),
            Outcome::Failed(reason) => self.leave(reason),
        }
        Ok(())
    }

    fn note(&mut self, round: u32, result: &RunResult) {
        let run = Run::of(result);
        if !self.report.triangles.contains(&run.triangles) {
            self.report.triangles.push(run.triangles);
        }
        self.report.counted_by = Some(result.method.clone());
        self.report.parts = Some(result.parts);
        match round {
            0 => self.warm_up = Some(run),
            _ => self.report.runs.push(run),
        }
    }

    fn leave(&mut self, reason: Reason) {
        self.out = true;
        self.report.problem = Some(reason);
    }

    fn report(mut self) -> MethodReport {
        self.report.warmed_up = !self.report.runs.is_empty();
        if !self.report.warmed_up {
            self.report.runs.extend(self.warm_up);
        }
        self.report
    }
}

/// What is said of a method whose time is over.
pub(super) fn late(limit: Duration, what: &str) -> Reason {
    Reason { kind: "timeout".into(), message: format!("{what} {} s", limit.as_secs_f64()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::job::Backend;
    use crate::report::result::tests::example;

    /// Answers each turn by a rule of method and number of the turn, and remembers who was asked.
    struct Script<F>(F, Vec<usize>);

    impl<F: Fn(usize, usize) -> Result<f64, &'static str>> Runner for Script<F> {
        fn run(&mut self, place: usize, limit: Duration) -> Result<Turn> {
            let turn = self.1.iter().filter(|&&asked| asked == place).count();
            self.1.push(place);
            let (outcome, elapsed) = match (self.0)(place, turn) {
                Ok(seconds) if seconds > limit.as_secs_f64() => (Outcome::Failed(late(limit, "stopped after")), limit),
                Ok(seconds) => {
                    let result = crate::report::RunResult { seconds, ..example(1) };
                    (Outcome::Counted(Box::new(result)), Duration::from_secs_f64(seconds))
                }
                Err(message) => {
                    let reason = Reason { kind: "crash".into(), message: message.into() };
                    (Outcome::Failed(reason), Duration::ZERO)
                }
            };
            Ok(Turn { outcome, elapsed })
        }
    }

    fn played(
        methods: usize,
        runs: u32,
        rule: impl Fn(usize, usize) -> Result<f64, &'static str>,
    ) -> (Vec<MethodReport>, Vec<usize>) {
        let names: Vec<MethodName> =
            (0..methods).map(|i| MethodName { method: i.to_string(), backend: Backend::Cpu }).collect();
        let mut script = Script(rule, Vec::new());
        let limits = Limits { runs, time: Duration::from_secs(60) };
        let reports = run(&names, limits, &mut script, &|_| ()).unwrap();
        (reports, script.1)
    }

    fn seconds(report: &MethodReport) -> Vec<f64> {
        report.runs.iter().map(|run| run.seconds).collect()
    }

    #[test]
    fn every_round_begins_with_another_method_and_the_first_is_not_counted() {
        let (reports, asked) = played(3, 3, |place, turn| Ok((4 * turn + place) as f64));
        assert_eq!(asked, [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]);
        assert_eq!(seconds(&reports[1]), [5.0, 9.0, 13.0]);
        assert!(reports.iter().all(|report| report.warmed_up && report.problem.is_none()));
    }

    #[test]
    fn who_fails_is_out_and_the_others_go_on() {
        let (reports, asked) = played(2, 2, |place, turn| if (place, turn) == (1, 1) { Err("gone") } else { Ok(1.0) });
        assert_eq!(asked.iter().filter(|&&place| place == 1).count(), 2);
        assert_eq!((reports[0].runs.len(), reports[1].runs.len()), (2, 1));
        assert_eq!(reports[1].problem.as_ref().unwrap().message, "gone");
        assert!(!reports[1].warmed_up, "what is left is the run of the first round");
    }

    #[test]
    fn who_takes_too_long_runs_fewer_times() {
        for (each, runs, warmed_up) in [(10.0, 5, true), (20.0, 2, true), (35.0, 1, false), (61.0, 0, false)] {
            let (reports, _) = played(1, 5, |_, _| Ok(each));
            let report = &reports[0];
            assert_eq!((report.runs.len(), report.warmed_up), (runs, warmed_up), "{each}");
            let late = report.problem.as_ref().is_some_and(|problem| problem.kind == "timeout");
            assert_eq!(late, runs < 5, "{each}");
        }
    }
}
