//! When a job's threads and devices did which work: the timeline of its report and its trace. Input: the beginning and end of pieces of work, which
//! threads record as they end them, and times that a GPU measured. Output: [`Timeline`], tracks of spans. Nothing is recorded unless the job asks for
//! it ([`Control::with_timeline_if`](crate::control::Control)). A track holds at most `MOST` spans; when it is full, neighbours are joined in pairs,
//! so its memory is bounded and its sums stay exact. A span costs a lock and about 100 bytes; threads record one per row block, not per row.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::lock;

const MOST: usize = 20_000;

/// Shorter waits are not recorded: the thread hardly stopped.
const SHORTEST_WAIT: Duration = Duration::from_micros(20);

/// What a track shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TrackKind {
    /// The stages of the job, one after another.
    Stages,
    /// The thread that builds partitions.
    Building,
    /// The thread that reads the first rows of the next partition.
    Prefetching,
    /// The thread that reads the rows of the partition that is counted.
    Reading,
    /// The thread that counts, or that gives commands to a GPU.
    Counting,
    /// Copies to a GPU, by its own clock.
    Copies,
    /// Kernels on a GPU, by its own clock.
    Kernels,
}

impl TrackKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Stages => "stages",
            Self::Building => "building partitions",
            Self::Prefetching => "reading ahead",
            Self::Reading => "reading",
            Self::Counting => "counting",
            Self::Copies => "copies",
            Self::Kernels => "kernels",
        }
    }
}

/// What ran when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
// Tests construct these three types.
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Timeline {
    /// The time that it covers: the whole job.
    pub seconds: f64,
    /// Its tracks: the stages, then what each device's threads did, then what the device did.
    pub tracks: Vec<Track>,
}

/// The spans of a thread, or of a queue of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Track {
    /// The name of the track.
    pub name: String,
    /// The kind of work that the track shows.
    pub kind: TrackKind,
    /// The GPU, by the driver's number; null for the host.
    pub device: Option<u32>,
    /// The spans, by their beginning. Those of one track may overlap where several threads or kernels run at a time.
    pub spans: Vec<Span>,
}

/// A piece of work, or a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Span {
    /// What was done, or what was waited for.
    pub name: String,
    /// When it began, in seconds since the job did.
    pub start: f64,
    /// From its beginning to its end.
    pub seconds: f64,
    /// The sum of the times of the joined spans: less than `seconds` if there were gaps between them.
    pub busy: f64,
    /// The bytes that it handled, where they are known.
    pub bytes: Option<Bytes>,
    pub partition: Option<u32>,
    /// Whether the thread or device only waited.
    pub waiting: bool,
    /// The number of recorded spans that were joined into it.
    pub merged: u32,
}

impl Timeline {
    /// Joins neighbouring spans of the same work until each track has at most `most`, or none are left to join.
    #[must_use]
    pub fn with_at_most(mut self, most: usize) -> Self {
        for track in &mut self.tracks {
            let mut before = usize::MAX;
            while track.spans.len() > most && track.spans.len() < before {
                before = track.spans.len();
                join_pairs(&mut track.spans);
            }
        }
        self
    }
}

/// What a span is called: a word, and a number if there are several.
pub type Name = (&'static str, Option<u64>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanPlace {
    pub device: Option<u32>,
    pub partition: Option<u32>,
}

/// Work, or a wait, that is over.
#[derive(Debug, Clone, Copy)]
pub struct TimedWork {
    pub kind: TrackKind,
    pub name: Name,
    pub start: Instant,
    pub time: Duration,
    pub bytes: Option<Bytes>,
    pub waiting: bool,
}

/// The GPU, `None` for the host; and what the track shows.
type TrackOf = (Option<u32>, TrackKind);

#[derive(Debug)]
pub struct Recorder {
    begun: Instant,
    tracks: Mutex<BTreeMap<TrackOf, Vec<Span>>>,
}

impl Recorder {
    /// Records from now on; `begun` is when the job began.
    pub fn new(begun: Instant) -> Self {
        Self { begun, tracks: Mutex::default() }
    }

    /// Adds work that took any time, or a wait of at least `SHORTEST_WAIT`.
    pub fn record(&self, place: SpanPlace, work: TimedWork) {
        let SpanPlace { device, partition } = place;
        let TimedWork { kind, name: (word, number), start, time, bytes, waiting } = work;
        if time.is_zero() || waiting && time < SHORTEST_WAIT {
            return;
        }
        let name = number.map_or_else(|| word.to_owned(), |number| format!("{word} {number}"));
        let start = start.saturating_duration_since(self.begun).as_secs_f64();
        let seconds = time.as_secs_f64();
        let span = Span { name, start, seconds, busy: seconds, bytes, partition, waiting, merged: 1 };
        let mut tracks = lock(&self.tracks);
        let spans = tracks.entry((device, kind)).or_default();
        if spans.len() >= 2 * MOST {
            spans.sort_by(|a, b| a.start.total_cmp(&b.start));
            join_pairs(spans);
        }
        spans.push(span);
    }

    pub fn timeline(&self, seconds: f64) -> Timeline {
        let mut tracks: Vec<_> = lock(&self.tracks).clone().into_iter().collect();
        // The host's stages come first, then everything by device.
        tracks.sort_by_key(|&((device, kind), _)| (kind != TrackKind::Stages, device, kind));
        let track = |((device, kind), mut spans): (TrackOf, Vec<Span>)| {
            spans.sort_by(|a, b| a.start.total_cmp(&b.start));
            let name = match device {
                Some(device) => format!("GPU {device} {}", kind.name()),
                None => kind.name().to_owned(),
            };
            Track { name, kind, device, spans }
        };
        Timeline { seconds, tracks: tracks.into_iter().map(track).collect() }.with_at_most(MOST)
    }
}

/// Joins each span with the next one of the same name and kind. There are few names, so about half of the spans remain.
fn join_pairs(spans: &mut Vec<Span>) {
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len() / 2 + 2);
    // The places in `joined` of spans that have no partner yet.
    let mut open: Vec<usize> = Vec::new();
    for span in spans.drain(..) {
        let partner = |&at: &usize| joined[at].waiting == span.waiting && joined[at].word() == span.word();
        match open.iter().position(partner) {
            Some(place) => joined[open.swap_remove(place)].join(span),
            None => {
                open.push(joined.len());
                joined.push(span);
            }
        }
    }
    *spans = joined;
}

impl Span {
    /// The name without the number: `row block` of `row block 7`.
    fn word(&self) -> &str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end()
    }

    fn join(&mut self, other: Self) {
        let end = (self.start + self.seconds).max(other.start + other.seconds);
        self.start = self.start.min(other.start);
        self.seconds = end - self.start;
        self.busy += other.busy;
        self.merged += other.merged;
        self.bytes = match (self.bytes, other.bytes) {
            (Some(a), Some(b)) => Some(a + b),
            (one, None) | (None, one) => one,
        };
        if self.partition != other.partition {
            self.partition = None;
        }
        if self.name != other.name {
            self.name = self.word().to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn of(kind: TrackKind, timeline: &Timeline) -> &Track {
        timeline.tracks.iter().find(|track| track.kind == kind).unwrap()
    }

    /// Work without bytes that is no wait.
    fn work(kind: TrackKind, name: &'static str, start: Instant, time: Duration) -> TimedWork {
        TimedWork { kind, name: (name, None), start, time, bytes: None, waiting: false }
    }

    #[test]
    fn spans_have_their_time_their_track_and_their_order() {
        let begun = Instant::now();
        let recorder = Recorder::new(begun);
        let place = SpanPlace { device: Some(1), partition: Some(7) };
        let (second, third) = (begun + 2 * MILLISECOND, begun + 5 * MILLISECOND);
        let counted = work(TrackKind::Kernels, "count", third, MILLISECOND);
        recorder.record(place, counted);
        let copied = TimedWork { name: ("row block", Some(3)), start: second, bytes: Some(Bytes(9)), ..counted };
        recorder.record(place, copied);
        recorder.record(SpanPlace::default(), work(TrackKind::Stages, "orient", begun, MILLISECOND));
        let timeline = recorder.timeline(0.25);
        assert_eq!(timeline.seconds, 0.25);
        let names: Vec<_> = timeline.tracks.iter().map(|track| (track.name.as_str(), track.device)).collect();
        assert_eq!(names, [("stages", None), ("GPU 1 kernels", Some(1))]);
        let spans = &of(TrackKind::Kernels, &timeline).spans;
        assert_eq!((spans[0].name.as_str(), spans[0].bytes), ("row block 3", Some(Bytes(9))));
        assert_eq!(spans[0].partition, Some(7));
        assert!((spans[0].start - 0.002).abs() < 1e-9 && (spans[1].start - 0.005).abs() < 1e-9);
    }

    #[test]
    fn a_long_track_is_bounded_and_keeps_its_sums() {
        let begun = Instant::now();
        let recorder = Recorder::new(begun);
        let many = 5 * MOST as u32;
        for i in 0..many {
            let (start, place) = (begun + i * MILLISECOND, SpanPlace { device: None, partition: Some(i / 1000) });
            let read = work(TrackKind::Reading, "row block", start, MILLISECOND / 4);
            let name = ("row block", Some(i.into()));
            recorder.record(place, TimedWork { name, bytes: Some(Bytes(3)), ..read });
            let waited = work(TrackKind::Reading, "room", start + MILLISECOND / 2, MILLISECOND / 8);
            recorder.record(place, TimedWork { waiting: true, ..waited });
        }
        let timeline = recorder.timeline(1.0);
        let spans = &of(TrackKind::Reading, &timeline).spans;
        assert!(spans.len() <= MOST, "{}", spans.len());
        for (waiting, each) in [(false, 0.00025), (true, 0.000125)] {
            let of_kind = || spans.iter().filter(move |span| span.waiting == waiting);
            assert_eq!(of_kind().map(|span| span.merged).sum::<u32>(), many);
            let busy: f64 = of_kind().map(|span| span.busy).sum();
            assert!((busy - f64::from(many) * each).abs() < 1e-6, "{busy}");
            assert!(of_kind().all(|span| span.busy <= span.seconds + 1e-9));
        }
        let bytes: u64 = spans.iter().filter_map(|span| span.bytes).map(Bytes::get).sum();
        assert_eq!(bytes, 3 * u64::from(many));
        assert!(spans.iter().all(|span| span.name == if span.waiting { "room" } else { "row block" }));
        let end = spans.iter().map(|span| span.start + span.seconds).fold(0.0, f64::max);
        assert!((end - (f64::from(many) - 1.0 + 0.625) / 1000.0).abs() < 1e-6, "{end}");
        let few = timeline.with_at_most(100);
        assert!(of(TrackKind::Reading, &few).spans.len() <= 100);
    }

    #[test]
    fn the_shortest_waits_are_left_out() {
        let start = Instant::now();
        let recorder = Recorder::new(start);
        for (time, waiting, recorded) in [
            (Duration::ZERO, false, 0),
            (SHORTEST_WAIT / 2, true, 0),
            (SHORTEST_WAIT / 2, false, 1),
            (SHORTEST_WAIT, true, 2),
        ] {
            let counted = work(TrackKind::Counting, "rows", start, time);
            recorder.record(SpanPlace::default(), TimedWork { waiting, ..counted });
            let timeline = recorder.timeline(0.0);
            let spans = timeline.tracks.first().map_or(&[][..], |track| &track.spans[..]);
            assert_eq!(spans.len(), recorded, "{time:?}");
            assert!(spans.last().is_none_or(|span| span.waiting == waiting));
        }
    }
}
