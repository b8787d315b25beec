//! Stop requests and progress reports, which every stage handles.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::expected::ExpectedStage;
use crate::timeline::{Name, Recorder, SpanPlace, TimedWork, Timeline, TrackKind};

/// The target of log lines that the program shows even without `-v`, although they are no warnings.
pub const NOTE: &str = "trimill::note";

/// Receives progress reports. Implemented by the program (bars or plain lines); the library itself prints nothing.
///
/// Threads of the job call it, several at the same time, and wait for it, so its functions must be quick. Tasks may overlap. Their names
/// are for people, and later versions may have others:
///
/// | tasks | when |
/// | --- | --- |
/// | `header`, `vertices`, `read`, `sort names`, `clean`, `orient` | an input of arcs is prepared |
/// | `header`, `vertices`, `reverse arcs`, `orient rows`, `read rows again` | an input of rows is prepared |
/// | `size`, `spill` | partitions are planned and written |
/// | `count`, `merge`, `peel` | triangles are counted, counts added up, trusses found |
///
/// ```
/// # use std::sync::Arc;
/// # use std::sync::atomic::{AtomicU64, Ordering};
/// # use trimill_system::control::{Control, Observer, Unit};
/// #[derive(Default)]
/// struct Lines {
///     tasks: AtomicU64,
/// }
///
/// impl Observer for Lines {
///     fn begin(&self, name: &str, _: Option<u64>, _: Unit) -> u64 {
///         let task = self.tasks.fetch_add(1, Ordering::Relaxed);
///         println!("task {task} begins: {name}");
///         task
///     }
///     fn advance(&self, _: u64, _: u64) {}
///     fn end(&self, task: u64) {
///         println!("task {task} is over");
///     }
/// }
///
/// let control = Control::new(Arc::default(), Arc::new(Lines::default()));
/// // Another thread may do so while a graph is counted with it.
/// control.stop();
/// assert!(control.is_stopped());
/// ```
pub trait Observer: Send + Sync {
    /// A task begins, with `total` units of `unit` if known. Returns the task's number.
    fn begin(&self, name: &str, total: Option<u64>, unit: Unit) -> u64;
    /// `units` more are done.
    fn advance(&self, task: u64, units: u64);
    /// The task is over.
    fn end(&self, task: u64);
    /// The stages that follow, by their tasks' names; they replace those that were expected before.
    fn expect(&self, _stages: &[ExpectedStage]) {}
}

/// What a task counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes read, written or sent.
    Bytes,
    Arcs,
    Partitions,
    /// Whole counts of a graph.
    Runs,
}

/// An [`Observer`] that ignores all reports.
#[derive(Debug)]
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _: &str, _: Option<u64>, _: Unit) -> u64 {
        0
    }
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self, _: u64) {}
}

/// A stop flag and an [`Observer`]; cheap to clone, shared by all threads of a job. A stop cannot be undone, so each job needs its own.
#[derive(Clone)]
pub struct Control {
    stop: Arc<AtomicBool>,
    /// The stop flags of the parts of the job that contain this part.
    outer: Vec<Arc<AtomicBool>>,
    observer: Arc<dyn Observer>,
    /// Set if the job asks for a timeline.
    recorder: Option<Arc<Recorder>>,
    /// The device and the partition that the work is for.
    place: SpanPlace,
    #[cfg(feature = "testing")]
    watch: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Control {
    /// Stopped by setting `stop`; reports to `observer`.
    pub fn new(stop: Arc<AtomicBool>, observer: Arc<dyn Observer>) -> Self {
        Self {
            stop,
            outer: Vec::new(),
            observer,
            recorder: None,
            place: SpanPlace::default(),
            #[cfg(feature = "testing")]
            watch: None,
        }
    }

    /// Without progress reports, and stopped by [`Self::stop`] only.
    pub fn silent() -> Self {
        Self::new(Arc::default(), Arc::new(Silent))
    }

    /// A copy that calls `watch` at each check, to measure the work between checks.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn watched(&self, watch: impl Fn() + Send + Sync + 'static) -> Self {
        Self { watch: Some(Arc::new(watch)), ..self.clone() }
    }

    /// Asks the job, or the part of it that this is for, to stop at the next check.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the job was asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.outer.iter().any(|stop| stop.load(Ordering::Relaxed))
    }

    /// Fails with [`crate::error::Kind::Interrupted`] once the job was asked to stop. Long work calls it about every 10 ms.
    pub fn check(&self) -> Result<()> {
        #[cfg(feature = "testing")]
        self.watch.iter().for_each(|watch| watch());
        if self.is_stopped() { Err(Error::interrupted()) } else { Ok(()) }
    }
}

// For the crates of this workspace.
#[doc(hidden)]
impl Control {
    /// A copy for a part of the job: it stops when the whole job does, and can be stopped on its own.
    #[must_use]
    pub fn part(&self) -> Self {
        let mut outer = self.outer.clone();
        outer.push(Arc::clone(&self.stop));
        Self { stop: Arc::default(), outer, ..self.clone() }
    }

    /// As [`Self::part`], without progress reports and without a timeline.
    #[must_use]
    pub fn silent_part(&self) -> Self {
        Self { observer: Arc::new(Silent), recorder: None, ..self.part() }
    }

    /// A copy that records a timeline, if one is `wanted`, for a job that began at `begun`.
    #[must_use]
    pub fn with_timeline_if(&self, wanted: bool, begun: Instant) -> Self {
        let recorder = wanted.then(|| Arc::new(Recorder::new(begun)));
        Self { recorder: recorder.or_else(|| self.recorder.clone()), ..self.clone() }
    }

    /// A copy for work on `partition`, on `device` unless the host counts it; the timeline names both.
    #[must_use]
    pub fn at(&self, device: Option<u32>, partition: u32) -> Self {
        Self { place: SpanPlace { device, partition: Some(partition) }, ..self.clone() }
    }

    pub fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    pub fn did_stage(&self, name: &'static str, start: Instant) {
        self.did_stage_for(name, start, start.elapsed());
    }

    pub fn did_stage_for(&self, name: &'static str, start: Instant, time: Duration) {
        self.did_for(TrackKind::Stages, (name, None), start, time);
    }

    /// Records that work began at `start` and ends now.
    pub fn did(&self, kind: TrackKind, name: Name, start: Instant, bytes: Option<Bytes>) {
        self.record(TimedWork { kind, name, start, time: start.elapsed(), bytes, waiting: false });
    }

    pub fn did_for(&self, kind: TrackKind, name: Name, start: Instant, time: Duration) {
        self.record(TimedWork { kind, name, start, time, bytes: None, waiting: false });
    }

    pub fn record(&self, work: TimedWork) {
        if let Some(recorder) = &self.recorder {
            recorder.record(self.place, work);
        }
    }

    pub fn waited(&self, kind: TrackKind, what: &'static str, start: Instant) {
        let (name, time) = ((what, None), start.elapsed());
        self.record(TimedWork { kind, name, start, time, bytes: None, waiting: true });
    }

    /// The timeline, if one is recorded, of a job that took `seconds`.
    pub fn timeline(&self, seconds: f64) -> Option<Timeline> {
        self.recorder.as_ref().map(|recorder| recorder.timeline(seconds))
    }

    pub fn expect(&self, stages: &[ExpectedStage]) {
        self.observer.expect(stages);
    }

    /// Begins a task, which ends when the value is dropped.
    pub fn task(&self, name: &str, total: Option<u64>, unit: Unit) -> Task {
        Task(Progress { number: self.observer.begin(name, total, unit), control: self.clone() })
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("is_stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}

/// A task, which is over when this is dropped.
pub struct Task(Progress);

impl Deref for Task {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        &self.0
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.control.observer.end(self.number);
    }
}

/// Reports the progress of a task, and asks whether to stop. A clone may outlive the task.
#[derive(Clone)]
pub struct Progress {
    number: u64,
    control: Control,
}

impl Progress {
    pub fn advance(&self, units: u64) {
        self.control.observer.advance(self.number, units);
    }

    pub fn check(&self) -> Result<()> {
        self.control.check()
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress").field("number", &self.number).finish_non_exhaustive()
    }
}
