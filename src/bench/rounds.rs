//! The order of runs: methods alternate, so that changes over time (clocks, heat, other programs) affect all alike. The first round warms up (page
//! cache, kernels); its run counts only if no other fits. Each round begins with another method. A method that fails does not run again. A run begins
//! only if the time left is at least that of the run before, and is stopped if it does not end in time.

use std::time::Duration;

use crate::report::RunResult;
use crate::report::bench::{BenchRun, MethodName, MethodReport};
use crate::report::failure::Reason;
use trimill_system::Result;

pub(super) struct Turn {
    pub(super) outcome: Result<Box<RunResult>, Reason>,
    pub(super) elapsed: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RunLimits {
    /// Runs of each method, without the first.
    pub(super) runs: u32,
    /// The time limit for all runs of a method.
    pub(super) time: Duration,
}

/// Runs all rounds. `turn` runs the method at an index once, within a time limit; its errors end the comparison on the graph. Calls
/// `advance` after each turn. Figures computed from the runs are not filled in yet.
pub(super) fn run(
    methods: &[MethodName],
    limits: RunLimits,
    turn: &mut dyn FnMut(usize, Duration) -> Result<Turn>,
    advance: &dyn Fn(),
) -> Result<Vec<MethodReport>> {
    let mut states: Vec<MethodState> = methods.iter().map(|name| MethodState::new(name.clone())).collect();
    for round in 0..=limits.runs {
        for step in 0..states.len() {
            let place = (round as usize + step) % states.len();
            states[place].take_turn(round, limits, &mut |limit| turn(place, limit))?;
            advance();
        }
    }
    Ok(states.into_iter().map(MethodState::report).collect())
}

struct MethodState {
    report: MethodReport,
    warm_up: Option<BenchRun>,
    spent: Duration,
    last: Duration,
}

impl MethodState {
    fn new(name: MethodName) -> Self {
        let (spent, last) = (Duration::ZERO, Duration::ZERO);
        Self { report: MethodReport::new(name), warm_up: None, spent, last }
    }

    fn take_turn(
        &mut self,
        round: u32,
        limits: RunLimits,
        turn: &mut dyn FnMut(Duration) -> Result<Turn>,
    ) -> Result<()> {
        if self.report.problem.is_some() {
            return Ok(());
        }
        let left = limits.time.saturating_sub(self.spent);
        if left.is_zero() || left < self.last {
            self.report.problem = Some(late(limits.time, "another run would not end within"));
            return Ok(());
        }
        let Turn { outcome, elapsed } = turn(left)?;
        self.spent += elapsed;
        self.last = elapsed;
        match outcome {
            Ok(result) => self.note(round, &result),
            Err(reason) => self.report.problem = Some(reason),
        }
        Ok(())
    }

    fn note(&mut self, round: u32, result: &RunResult) {
        let run = BenchRun::of(result);
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

    fn report(mut self) -> MethodReport {
        self.report.warmed_up = !self.report.runs.is_empty();
        if !self.report.warmed_up {
            self.report.runs.extend(self.warm_up);
        }
        self.report
    }
}

pub(super) fn late(limit: Duration, what: &str) -> Reason {
    Reason { kind: "timeout".into(), message: format!("{what} {} s", limit.as_secs_f64()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Backend;
    use crate::report::result::example::example;

    /// Runs rounds in which `rule` answers each turn, given the method and the number of its turn. Also returns which methods were asked.
    fn rounds(
        methods: usize,
        runs: u32,
        rule: impl Fn(usize, usize) -> Result<f64, &'static str>,
    ) -> (Vec<MethodReport>, Vec<usize>) {
        let names: Vec<MethodName> =
            (0..methods).map(|i| MethodName { method: i.to_string(), backend: Backend::Cpu }).collect();
        let mut asked = Vec::new();
        let mut turn = |place: usize, limit: Duration| {
            let number = asked.iter().filter(|&&before| before == place).count();
            asked.push(place);
            let (outcome, elapsed) = match rule(place, number) {
                Ok(seconds) if seconds > limit.as_secs_f64() => (Err(late(limit, "stopped after")), limit),
                Ok(seconds) => {
                    let result = RunResult { seconds, ..example(1) };
                    (Ok(Box::new(result)), Duration::from_secs_f64(seconds))
                }
                Err(message) => {
                    let reason = Reason { kind: "crash".into(), message: message.into() };
                    (Err(reason), Duration::ZERO)
                }
            };
            Ok(Turn { outcome, elapsed })
        };
        let limits = RunLimits { runs, time: Duration::from_secs(60) };
        let reports = run(&names, limits, &mut turn, &|| ()).unwrap();
        (reports, asked)
    }

    fn seconds(report: &MethodReport) -> Vec<f64> {
        report.runs.iter().map(|run| run.seconds).collect()
    }

    #[test]
    fn every_round_begins_with_another_method_and_the_first_is_not_counted() {
        let (reports, asked) = rounds(3, 3, |place, turn| Ok((4 * turn + place) as f64));
        assert_eq!(asked, [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]);
        assert_eq!(seconds(&reports[1]), [5.0, 9.0, 13.0]);
        assert!(reports.iter().all(|report| report.warmed_up && report.problem.is_none()));
    }

    #[test]
    fn who_fails_is_out_and_the_others_go_on() {
        let (reports, asked) = rounds(2, 2, |place, turn| if (place, turn) == (1, 1) { Err("gone") } else { Ok(1.0) });
        assert_eq!(asked.iter().filter(|&&place| place == 1).count(), 2);
        assert_eq!((reports[0].runs.len(), reports[1].runs.len()), (2, 1));
        assert_eq!(reports[1].problem.as_ref().unwrap().message, "gone");
        assert!(!reports[1].warmed_up, "what is left is the run of the first round");
    }

    #[test]
    fn who_takes_too_long_runs_fewer_times() {
        for (each, runs, warmed_up) in [(10.0, 5, true), (20.0, 2, true), (35.0, 1, false), (61.0, 0, false)] {
            let (reports, _) = rounds(1, 5, |_, _| Ok(each));
            let report = &reports[0];
            assert_eq!((report.runs.len(), report.warmed_up), (runs, warmed_up), "{each}");
            let late = report.problem.as_ref().is_some_and(|problem| problem.kind == "timeout");
            assert_eq!(late, runs < 5, "{each}");
        }
    }
}
