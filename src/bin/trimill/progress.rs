//! Progress on standard error: a bar on a terminal, plain lines elsewhere, or nothing. A line shows the job's completed share, the time left and the
//! current task. Many threads report to [`trimill::Control`], so an advance costs only a shared lock, an atomic addition and a reading of the clock.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::cli::ProgressMode;
use crate::text::table::{prefixed, seconds};
use trimill::program::{Silent, lock, unpoisoned};
use trimill::{Bytes, ExpectedStage, JobShare, Observer, Unit};

/// When the first plain line comes, and the shortest time between two of them.
const FIRST: Duration = Duration::from_secs(1);
pub(crate) const EVERY: Duration = Duration::from_secs(3);

/// The shortest time between two drawings of the bar.
const REDRAWN: Duration = Duration::from_millis(100);

const SCALE: u64 = 1000;

pub(crate) struct ProgressLine {
    pub(crate) observer: Arc<dyn Observer>,
    bar: Option<ProgressBar>,
}

impl ProgressLine {
    /// `terminal`: whether standard error is one on which lines can be drawn over.
    pub(crate) fn new(mode: ProgressMode, terminal: bool) -> Self {
        match (mode, terminal) {
            (ProgressMode::None, _) => Self { observer: Arc::new(Silent), bar: None },
            (ProgressMode::Auto, true) => {
                let bar = ProgressBar::new(SCALE).with_style(style());
                let shown = ShownProgress::new(ProgressTarget::Bar(bar.clone()), Duration::ZERO, REDRAWN);
                Self { observer: Arc::new(shown), bar: Some(bar) }
            }
            _ => {
                let shown = ShownProgress::new(ProgressTarget::Lines(Mutex::new(Box::new(io::stderr()))), FIRST, EVERY);
                Self { observer: Arc::new(shown), bar: None }
            }
        }
    }

    pub(crate) fn log_writer(&self) -> LogWriter {
        LogWriter(self.bar.clone())
    }
}

fn style() -> ProgressStyle {
    // The bar gets the width that the message leaves, so that the rate is not cut off.
    let style = ProgressStyle::with_template("[{wide_bar}] {msg:58}").unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

#[derive(Clone)]
pub(crate) struct LogWriter(Option<ProgressBar>);

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Some(bar) => bar.suspend(|| io::stderr().write(text)),
            None => io::stderr().write(text),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

enum ProgressTarget {
    Bar(ProgressBar),
    Lines(Mutex<Box<dyn Write + Send>>),
}

struct ShownTask {
    name: String,
    total: Option<u64>,
    unit: Unit,
    begun: Instant,
    done: AtomicU64,
}

struct ShownProgress {
    target: ProgressTarget,
    tasks: RwLock<HashMap<u64, Arc<ShownTask>>>,
    numbers: AtomicU64,
    job: Mutex<ShownJob>,
    every: Duration,
    begun: Instant,
    /// When the next line may come, in milliseconds since `begun`.
    next: AtomicU64,
}

struct ShownJob {
    share: JobShare,
    begun: Instant,
}

impl ShownProgress {
    fn new(target: ProgressTarget, first: Duration, every: Duration) -> Self {
        let job = ShownJob { share: JobShare::default(), begun: Instant::now() };
        Self {
            target,
            tasks: RwLock::default(),
            numbers: AtomicU64::new(0),
            job: Mutex::new(job),
            every,
            begun: Instant::now(),
            next: AtomicU64::new(first.as_millis() as u64),
        }
    }

    fn show(&self, task: &ShownTask) {
        let now = self.begun.elapsed().as_millis() as u64;
        let next = self.next.load(Ordering::Relaxed);
        let after = now + self.every.as_millis() as u64;
        if now < next || self.next.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let (share, left) = {
            let (mut job, fraction) = (lock(&self.job), task.fraction());
            let elapsed = job.begun.elapsed();
            (job.share.done(&task.name, fraction), job.share.time_left(&task.name, fraction, elapsed))
        };
        let line = format!("{}; {}", of_job(share, left), task.describe());
        match &self.target {
            ProgressTarget::Bar(bar) => {
                // A finished bar draws nothing, so its next message is set before it is restarted.
                bar.set_message(line);
                if bar.is_finished() {
                    bar.reset();
                }
                bar.set_position((share * SCALE as f64) as u64);
            }
            ProgressTarget::Lines(out) => write_line(out, &line),
        }
    }
}

fn write_line(out: &Mutex<Box<dyn Write + Send>>, line: &str) {
    // If standard error cannot be written, there is nowhere to report it.
    let _ = writeln!(lock(out), "{line}");
}

fn of_job(share: f64, left: Option<Duration>) -> String {
    let left = left.map_or(String::new(), |left| format!(", {:#} left", HumanDuration(left)));
    format!("{:.0}% done{left}", 100.0 * share)
}

/// Three digits and a prefix: `152 M`; small whole numbers without one.
fn digits(number: f64) -> String {
    if number < 999.5 && number.fract() == 0.0 { format!("{number:.0}") } else { prefixed(number) }
}

impl ShownTask {
    fn fraction(&self) -> f64 {
        let done = self.done.load(Ordering::Relaxed) as f64;
        self.total.map_or(0.0, |total| (done / total.max(1) as f64).min(1.0))
    }

    fn amount(&self, units: f64) -> String {
        match self.unit {
            Unit::Bytes => Bytes(units as u64).to_string(),
            _ => digits(units),
        }
    }

    fn unit(&self) -> &'static str {
        match self.unit {
            Unit::Arcs => " arcs",
            Unit::Partitions => " partitions",
            Unit::Runs => " runs",
            _ => "",
        }
    }

    /// `clean: 16.8 M of 134 M arcs, 20.1 M arcs/s`
    fn describe(&self) -> String {
        let (done, unit) = (self.done.load(Ordering::Relaxed) as f64, self.unit());
        let rate = self.amount(done / self.begun.elapsed().as_secs_f64().max(1e-3));
        let of = self.total.map_or_else(String::new, |total| format!(" of {}", self.amount(total as f64)));
        format!("{}: {}{of}{unit}, {rate}{unit}/s", self.name, self.amount(done))
    }
}

impl Observer for ShownProgress {
    fn begin(&self, name: &str, total: Option<u64>, unit: Unit) -> u64 {
        let task =
            Arc::new(ShownTask { name: name.to_owned(), total, unit, begun: Instant::now(), done: AtomicU64::new(0) });
        {
            let mut job = lock(&self.job);
            let elapsed = job.begun.elapsed();
            if job.share.begin(name, elapsed) {
                job.begun = task.begun;
            }
        }
        self.show(&task);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        unpoisoned(self.tasks.write()).insert(number, task);
        number
    }

    fn expect(&self, stages: &[ExpectedStage]) {
        let mut job = lock(&self.job);
        let elapsed = job.begun.elapsed();
        if job.share.expect(stages, elapsed) {
            job.begun = Instant::now();
        }
    }

    fn advance(&self, task: u64, units: u64) {
        let task = unpoisoned(self.tasks.read()).get(&task).cloned();
        if let Some(task) = task {
            task.done.fetch_add(units, Ordering::Relaxed);
            self.show(&task);
        }
    }

    fn end(&self, task: u64) {
        let mut tasks = unpoisoned(self.tasks.write());
        let Some(task) = tasks.remove(&task) else { return };
        match &self.target {
            // The next line shows the bar again; after the last task there is no next line, only the result.
            ProgressTarget::Bar(bar) if tasks.is_empty() => bar.finish_and_clear(),
            ProgressTarget::Bar(_) => {}
            ProgressTarget::Lines(out) => {
                let took = task.begun.elapsed();
                if took >= self.every {
                    let done = task.amount(task.done.load(Ordering::Relaxed) as f64);
                    write_line(
                        out,
                        &format!("{}: {done}{} in {}", task.name, task.unit(), seconds(took.as_secs_f64())),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
