//! The time that stations which overlap were at work, and their bytes.

use std::time::Duration;

use super::build::Built;
use crate::bytes::Bytes;
use crate::count::DeviceTimes;
use crate::graph::OrientedGraph;
use crate::report::Station;
use crate::stream::Counted;

/// Sums over partitions. Stations that overlap, or several devices, each add their own time.
#[derive(Default)]
pub(super) struct Busy {
    inducing: Duration,
    pruning: Duration,
    spilling: Duration,
    reading: Duration,
    counting: Duration,
    device: Option<DeviceTimes>,
    spilled: Bytes,
    streamed: Bytes,
}

impl Busy {
    /// Adds what a partition took to build.
    pub(super) fn add_built(&mut self, built: &Built) {
        self.inducing += built.inducing;
        self.pruning += built.pruning;
        self.spilling += built.spilling;
        self.spilled += Bytes(built.spill.bytes);
    }

    /// Adds what a partition took to count.
    pub(super) fn add_counted(&mut self, counted: &Counted) {
        self.reading += counted.reading;
        self.counting += counted.counting;
        self.streamed += counted.streamed;
        self.add_device(counted.device);
    }

    /// Adds what another thread added up.
    pub(super) fn merge(&mut self, other: &Self) {
        self.inducing += other.inducing;
        self.pruning += other.pruning;
        self.spilling += other.spilling;
        self.reading += other.reading;
        self.counting += other.counting;
        self.spilled += other.spilled;
        self.streamed += other.streamed;
        self.add_device(other.device);
    }

    fn add_device(&mut self, times: Option<DeviceTimes>) {
        if let Some(times) = times {
            let all = self.device.get_or_insert_default();
            all.kernels += times.kernels;
            all.copies += times.copies;
            all.preprocessing += times.preprocessing;
        }
    }

    /// The host's seconds of counting.
    pub(super) fn counting(&self) -> Duration {
        self.counting
    }

    /// The stations from inducing to counting.
    pub(super) fn stations(&self, graph: &OrientedGraph) -> Vec<Station> {
        let arcs = graph.stored_bytes();
        let mut stations = vec![
            Station::new("induce", self.inducing, arcs, Bytes::ZERO),
            Station::new("prune", self.pruning, arcs, Bytes::ZERO),
            Station::new("spill", self.spilling, arcs, self.spilled),
        ];
        stations.extend(self.streamed_stations(self.spilled));
        stations
    }

    /// Bytes of the graph's file that were read for the graph stream.
    pub(super) fn read(&self, graph: &OrientedGraph) -> Bytes {
        let passes = self.streamed.get() as f64 / graph.csr_bytes().get().max(1) as f64;
        Bytes((passes * graph.stored_bytes().get() as f64) as u64)
    }

    /// The stations from reading, of so many bytes, to counting.
    pub(super) fn streamed_stations(&self, read: Bytes) -> Vec<Station> {
        let mut stations = vec![
            Station::new("stream", self.reading, read, self.streamed),
            Station::new("count", self.counting, self.streamed, Bytes::ZERO),
        ];
        stations.extend(device_stations(self.device, self.streamed));
        stations
    }
}

/// What the device's own clock says, where it has one: these overlap with 'count', the host's time.
pub(super) fn device_stations(times: Option<DeviceTimes>, streamed: Bytes) -> impl Iterator<Item = Station> {
    times.into_iter().flat_map(move |times| {
        let preprocessed = Some(times.preprocessing).filter(|time| !time.is_zero());
        [
            Some(Station::new("copy", times.copies, streamed, streamed)),
            preprocessed.map(|time| Station::new("preprocess", time, streamed, Bytes::ZERO)),
            Some(Station::new("kernel", times.kernels, streamed, Bytes::ZERO)),
        ]
        .into_iter()
        .flatten()
    })
}
