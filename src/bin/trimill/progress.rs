//! Progress on standard error: bars on a terminal, plain lines elsewhere, or nothing.
//!
//! Input: the reports of [`trimill::Control`]. Many threads report at once, so an advance takes one shared lock, one
//! atomic addition and one reading of the clock. At most one plain line is printed every [`EVERY`], over all tasks, and a
//! task that took less than that is not mentioned.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use crate::cli::ProgressMode;
use trimill::Bytes;
use trimill::program::Silent;
use trimill::program::{seconds, thousands};
use trimill::{Observer, Unit};

/// The shortest time between two plain lines.
pub(crate) const EVERY: Duration = Duration::from_secs(3);

/// The observer of the stages, and a way to write to standard error beside it.
pub(crate) struct Progress {
    /// Receives the reports.
    pub(crate) observer: Arc<dyn Observer>,
    bars: Option<MultiProgress>,
}

impl Progress {
    /// `terminal`: whether standard error is one.
    pub(crate) fn new(mode: ProgressMode, terminal: bool) -> Self {
        match (mode, terminal) {
            (ProgressMode::None, _) => Self { observer: Arc::new(Silent::default()), bars: None },
            (ProgressMode::Auto, true) => {
                let bars = Bars::default();
                let multi = bars.multi.clone();
                Self { observer: Arc::new(bars), bars: Some(multi) }
            }
            _ => Self { observer: Arc::new(Plain::new(Box::new(io::stderr()), EVERY)), bars: None },
        }
    }

    /// Standard error for log lines; bars are hidden while they are written.
    pub(crate) fn log_writer(&self) -> LogWriter {
        LogWriter(self.bars.clone())
    }
}

/// Standard error; bars are hidden during a write.
#[derive(Clone)]
pub(crate) struct LogWriter(Option<MultiProgress>);

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Some(bars) => bars.suspend(|| io::stderr().write(text)),
            None => io::stderr().write(text),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Tasks by number.
struct Tasks<T> {
    next: AtomicU64,
    by_number: RwLock<HashMap<u64, Arc<T>>>,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { next: AtomicU64::new(0), by_number: RwLock::default() }
    }
}

impl<T> Tasks<T> {
    fn add(&self, task: T) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.by_number.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(task));
        number
    }
    fn get(&self, number: u64) -> Option<Arc<T>> {
        self.by_number.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }
    fn remove(&self, number: u64) -> Option<Arc<T>> {
        self.by_number.write().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }
}

/// Bars by indicatif, one for each task under way.
#[derive(Default)]
struct Bars {
    multi: MultiProgress,
    tasks: Tasks<ProgressBar>,
}

fn template(unit: Unit, known: bool) -> &'static str {
    match (unit, known) {
        (Unit::Bytes, true) => {
            "{prefix:<16} [{bar:30}] {percent:>3}% {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}, {eta} left"
        }
        (Unit::Bytes, false) => "{prefix:<16} {spinner} {binary_bytes} {binary_bytes_per_sec}, {elapsed}",
        (_, true) => "{prefix:<16} [{bar:30}] {percent:>3}% {human_pos}/{human_len} {rate}, {eta} left",
        (_, false) => "{prefix:<16} {spinner} {human_pos} {rate}, {elapsed}",
    }
}

/// Units a second: whole numbers where there are many, two decimals where there are few.
fn rate(per_second: f64, unit: Unit) -> String {
    match unit {
        Unit::Partitions | Unit::Runs if per_second < 100.0 => format!("{per_second:.2}/s"),
        _ => format!("{}/s", thousands(per_second as u64)),
    }
}

impl Observer for Bars {
    fn begin(&self, name: &str, total: Option<u64>, unit: Unit) -> u64 {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        let style = ProgressStyle::with_template(template(unit, total.is_some()))
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .with_key("rate", move |state: &ProgressState, out: &mut dyn fmt::Write| {
                // Writing to a bar does not fail.
                let _ = out.write_str(&rate(state.per_sec(), unit));
            })
            .progress_chars("=> ");
        let bar = self.multi.add(bar.with_prefix(name.to_owned()).with_style(style));
        bar.enable_steady_tick(Duration::from_millis(250));
        self.tasks.add(bar)
    }
    fn advance(&self, task: u64, units: u64) {
        if let Some(bar) = self.tasks.get(task) {
            bar.inc(units);
        }
    }
    fn end(&self, task: u64) {
        if let Some(bar) = self.tasks.remove(task) {
            bar.finish_and_clear();
            self.multi.remove(&bar);
        }
    }
}

/// A task of [`Plain`].
struct PlainTask {
    name: String,
    total: Option<u64>,
    unit: Unit,
    begun: Instant,
    done: AtomicU64,
}

/// Plain lines.
struct Plain {
    out: Mutex<Box<dyn Write + Send>>,
    tasks: Tasks<PlainTask>,
    every: Duration,
    begun: Instant,
    /// When the next line may come, in milliseconds since `begun`.
    next: AtomicU64,
}

impl Plain {
    fn new(out: Box<dyn Write + Send>, every: Duration) -> Self {
        let next = AtomicU64::new(every.as_millis() as u64);
        Self { out: Mutex::new(out), tasks: Tasks::default(), every, begun: Instant::now(), next }
    }

    fn line(&self, text: &str) {
        // If standard error cannot be written, there is nowhere to report it.
        let _ = writeln!(self.out.lock().unwrap_or_else(PoisonError::into_inner), "{text}");
    }
}

impl PlainTask {
    fn amount(&self, units: u64) -> String {
        match self.unit {
            Unit::Bytes => Bytes(units).to_string(),
            Unit::Arcs => format!("{} arcs", thousands(units)),
            Unit::Partitions => format!("{} partitions", thousands(units)),
            Unit::Runs => format!("{} runs", thousands(units)),
        }
    }

    fn describe(&self, elapsed: Duration) -> String {
        let done = self.done.load(Ordering::Relaxed);
        let rate = done as f64 / elapsed.as_secs_f64().max(1e-3);
        let rate_text = match self.unit {
            Unit::Partitions => format!("{rate:.2} partitions/s"),
            Unit::Runs => format!("{rate:.2} runs/s"),
            Unit::Bytes | Unit::Arcs => format!("{}/s", self.amount(rate as u64)),
        };
        match self.total.filter(|total| *total > 0 && done > 0) {
            Some(total) => {
                let left = Duration::from_secs_f64((total.saturating_sub(done) as f64 / rate).min(1e9));
                let percent = 100.0 * done as f64 / total as f64;
                let (done, total) = (self.amount(done), self.amount(total));
                format!("{}: {percent:.0}%, {done} of {total}, {rate_text}, {} left", self.name, HumanDuration(left))
            }
            None => format!("{}: {}, {rate_text}", self.name, self.amount(done)),
        }
    }
}

impl Observer for Plain {
    fn begin(&self, name: &str, total: Option<u64>, unit: Unit) -> u64 {
        let (begun, done) = (Instant::now(), AtomicU64::new(0));
        self.tasks.add(PlainTask { name: name.to_owned(), total, unit, begun, done })
    }
    fn advance(&self, task: u64, units: u64) {
        let Some(task) = self.tasks.get(task) else { return };
        task.done.fetch_add(units, Ordering::Relaxed);
        let now = self.begun.elapsed().as_millis() as u64;
        let next = self.next.load(Ordering::Relaxed);
        let after = now + self.every.as_millis() as u64;
        if now >= next && self.next.compare_exchange(next, after, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.line(&task.describe(task.begun.elapsed()));
        }
    }
    fn end(&self, task: u64) {
        let Some(task) = self.tasks.remove(task) else { return };
        let took = task.begun.elapsed();
        if took >= self.every {
            let done = task.done.load(Ordering::Relaxed);
            self.line(&format!("{}: {} in {}", task.name, task.amount(done), seconds(took.as_secs_f64())));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(text);
            Ok(text.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(every: Duration, work: impl Fn(&Plain)) -> Vec<String> {
        let buffer = Buffer::default();
        work(&Plain::new(Box::new(buffer.clone()), every));
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_have_rate_and_time_left() {
        let lines = lines(Duration::ZERO, |plain| {
            let task = plain.begin("read", Some(4 << 20), Unit::Bytes);
            plain.advance(task, 1 << 20);
            plain.end(task);
            let task = plain.begin("count", None, Unit::Arcs);
            plain.advance(task, 12_345);
        });
        assert!(lines[0].starts_with("read: 25%, 1.0 MiB of 4.0 MiB, "), "{lines:?}");
        assert!(lines[0].ends_with(" left") && lines[0].contains("/s, "), "{lines:?}");
        assert!(lines[1].starts_with("read: 1.0 MiB in "), "{lines:?}");
        assert!(lines[2].starts_with("count: 12,345 arcs, "), "{lines:?}");
    }

    #[test]
    fn a_quick_task_is_not_mentioned_and_many_threads_share_one_line() {
        let quick = lines(Duration::from_secs(60), |plain| {
            let task = plain.begin("read", None, Unit::Bytes);
            (0..1000).for_each(|_| plain.advance(task, 1));
            plain.end(task);
        });
        assert!(quick.is_empty(), "{quick:?}");
        let shared = lines(Duration::from_millis(100), |plain| {
            let tasks = [(); 4].map(|()| plain.begin("count", Some(1 << 40), Unit::Arcs));
            let until = Instant::now() + Duration::from_millis(350);
            std::thread::scope(|scope| {
                for task in tasks {
                    scope.spawn(move || {
                        while Instant::now() < until {
                            plain.advance(task, 1);
                        }
                    });
                }
            });
        });
        assert!((1..=4).contains(&shared.len()), "{shared:?}");
    }

    #[test]
    fn rates_have_meaningful_digits() {
        assert_eq!(rate(18_327_710.593_4, Unit::Arcs), "18,327,710/s");
        assert_eq!(rate(0.5, Unit::Arcs), "0/s");
        assert_eq!(rate(0.257, Unit::Partitions), "0.26/s");
        assert_eq!(rate(1234.5, Unit::Runs), "1,234/s");
        for known in [false, true] {
            assert!(!template(Unit::Arcs, known).contains("per_sec"), "the library's own has four decimals");
        }
    }

    #[test]
    fn every_template_is_understood() {
        for unit in [Unit::Bytes, Unit::Arcs, Unit::Partitions, Unit::Runs] {
            for known in [false, true] {
                ProgressStyle::with_template(template(unit, known)).unwrap();
            }
        }
        let bars = Bars::default();
        let task = bars.begin("read", Some(10), Unit::Bytes);
        bars.advance(task, 10);
        bars.end(task);
        bars.advance(task, 1);
    }
}
