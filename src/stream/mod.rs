//! Streaming: a partition passes from where it lies to the counter, in bounded memory, reading overlapped with counting.
//!
//! Enters: a [`PartitionSource`] (a spill file, or a partition that was never spilled). Leaves: its triangles, and how
//! much memory it took at most. One reader thread reads and decodes; two frame buffers go round between it and the
//! counter, so while one frame is counted the next one is decoded, and never more than two exist. Frames that lie in
//! memory as the counter needs them are lent: nothing is read or copied for them; while one passes, its bytes count.

pub mod meter;
pub mod source;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::{Backend, CounterMemory, DeviceTimes};
use crate::error::{Error, Result};
use crate::partition::section::{Frame, FrameView, Resident};
use meter::Meter;
use source::PartitionSource;

/// Frames that exist at a time.
const IN_FLIGHT: usize = 2;

/// What counting a partition found and took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// Triangles whose lowest corner is local.
    pub triangles: u64,
    /// The most bytes that resident section, frames and tables took together.
    pub peak: Bytes,
    /// Decoded bytes of all sections.
    pub streamed: Bytes,
    /// The largest frame.
    pub largest_frame: Bytes,
    /// Frames.
    pub frames: u64,
    /// How long the reader thread was at work.
    pub reading: Duration,
    /// How long the counter was at work, by the host's clock.
    pub counting: Duration,
    /// How long kernels and copies took, where the device has a clock.
    pub device: Option<DeviceTimes>,
    /// Whether `peak` was measured on a device with memory of its own.
    pub own_memory: bool,
}

enum Message<'f> {
    Resident(Resident),
    Frame(Frame),
    Lent(FrameView<'f>),
}

/// Counts one partition. Reading and counting both use `pool`.
///
/// # Errors
/// Damaged or unreadable spills ([`crate::error::Kind::Data`]), a device that refuses, a stop.
pub fn count_partition<'f>(
    source: &mut dyn PartitionSource<'f>,
    backend: &mut dyn Backend,
    pool: &ThreadPool,
    control: &Control,
) -> Result<Counted> {
    let meter = Meter::default();
    let partition = (source.numbered(), source.largest_frame());
    let (to_counter, messages) = sync_channel(0);
    let (give_back, spare) = sync_channel(IN_FLIGHT);
    for _ in 0..IN_FLIGHT {
        // The channel has room for all buffers, so this neither fails nor waits.
        let _ = give_back.try_send(Frame::default());
    }
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(source, pool, &meter, control, to_counter, spare));
        let counted = count(partition, backend, pool, &meter, messages, give_back);
        // A reader that failed is why the counter found its channel closed: the reader's error is the cause.
        let reading = joined(reader.join())??;
        let counted = counted?;
        let peak = counted.peak.max(meter.peak());
        Ok(Counted { reading, peak: if counted.own_memory { counted.peak } else { peak }, ..counted })
    })
}

/// The reader thread: resident section, then all frames in order.
fn read<'f>(
    source: &mut dyn PartitionSource<'f>,
    pool: &ThreadPool,
    meter: &Meter,
    control: &Control,
    to_counter: SyncSender<Message<'f>>,
    spare: Receiver<Frame>,
) -> Result<Duration> {
    let largest = source.largest_frame();
    let mut busy = Duration::ZERO;
    let start = Instant::now();
    let mut resident = Resident::default();
    pool.install(|| source.read_resident(&mut resident))?;
    meter.take(resident.heap());
    busy += start.elapsed();
    // A closed channel means that the counter failed; its error is reported.
    if to_counter.send(Message::Resident(resident)).is_err() {
        return Ok(busy);
    }
    for i in 0..source.frames() {
        control.check()?;
        if let Some(frame) = source.lent(i) {
            meter.take(frame.size().bytes());
            if to_counter.send(Message::Lent(frame)).is_err() {
                break;
            }
            continue;
        }
        let Ok(mut frame) = spare.recv() else { break };
        let start = Instant::now();
        let before = frame.heap();
        // A buffer that held many short rows and then a few long ones has room for more than any frame takes.
        if source.frame_size(i).bytes_within(&frame) > largest {
            frame = Frame::default();
        }
        pool.install(|| source.read_frame(i, &mut frame))?;
        meter.change(before, frame.heap());
        busy += start.elapsed();
        if to_counter.send(Message::Frame(frame)).is_err() {
            break;
        }
    }
    Ok(busy)
}

/// The counter: runs on the caller's thread and in `pool`.
fn count(
    (numbered, largest_frame): (u32, Bytes),
    backend: &mut dyn Backend,
    pool: &ThreadPool,
    meter: &Meter,
    messages: Receiver<Message<'_>>,
    give_back: SyncSender<Frame>,
) -> Result<Counted> {
    let mut counted = Counted::default();
    let Ok(Message::Resident(resident)) = messages.recv() else { return Ok(counted) };
    let start = Instant::now();
    let mut counter = backend.begin(&resident, numbered, largest_frame)?;
    counted.counting += start.elapsed();
    counted.streamed = resident.heap();
    let mut own = Bytes::ZERO;
    while let Ok(message) = messages.recv() {
        let view = match &message {
            Message::Frame(frame) => &frame.view(),
            Message::Lent(view) => view,
            Message::Resident(_) => continue,
        };
        let start = Instant::now();
        counter.frame(view, pool)?;
        counted.counting += start.elapsed();
        match counter.memory() {
            CounterMemory::BesidesSections(bytes) => {
                meter.change(own, bytes);
                own = bytes;
            }
            CounterMemory::All(bytes) => {
                counted.own_memory = true;
                counted.peak = counted.peak.max(bytes);
            }
        }
        let size = view.size().bytes();
        counted.largest_frame = counted.largest_frame.max(size);
        counted.streamed += size;
        counted.frames += 1;
        match message {
            // The reader may be done already; then the buffer is dropped here.
            Message::Frame(buffer) => drop(give_back.try_send(buffer)),
            _ => meter.change(size, Bytes::ZERO),
        }
    }
    let start = Instant::now();
    let tally = counter.finish()?;
    counted.counting += start.elapsed();
    (counted.triangles, counted.device) = (tally.triangles, tally.device);
    Ok(counted)
}

/// The value of a thread, or an error in place of its panic.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when it panicked.
pub fn joined<T>(result: std::thread::Result<T>) -> Result<T> {
    result.map_err(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Error::resource(format!("a worker thread failed: {what}")).advice("this is a defect; please report it")
    })
}
