//! A GPU that this machine does not have, for plans for other machines.

use trimill_counting::COUNTER_BYTES;
use trimill_counting::{CountBackend, Detail, Device, Footprint, PartitionCounter, PartitionExtent};
use trimill_kernels::truss::PeelingDevice;
use trimill_kernels::{CountingMethod, Packed, packed_takes, scratch_bytes};

use super::{counter_bytes, footprint};
use crate::count::method::CudaMethod;
use crate::job::file::CountTable;
use trimill_system::{Bytes, Error, Result};

#[derive(Debug, Clone, Copy)]
pub struct Absent {
    name: CudaMethod,
    budget: Bytes,
    footprint: Footprint,
}

impl Absent {
    /// The methods that could count a graph of so many vertices, or its `edges`, too, within `budget`: the named one, or those of `auto`.
    pub fn choices(
        name: CudaMethod,
        settings: &CountTable,
        vertices: u32,
        budget: Bytes,
        edges: bool,
    ) -> Result<Vec<Self>> {
        let lstc = settings.lstc()?;
        let absent = |name: CudaMethod, method: &dyn CountingMethod| {
            let scratch = if method.takes_encoded_rows() { scratch_bytes(budget.get()) } else { 0 };
            Self { name, budget, footprint: footprint(method, edges, scratch, 0) }
        };
        let (lstc, packed) = (absent(CudaMethod::Lstc, &lstc), absent(CudaMethod::Packed, &Packed));
        Ok(match name {
            CudaMethod::Lstc => vec![lstc],
            CudaMethod::Packed => vec![packed],
            #[cfg(feature = "baselines")]
            CudaMethod::Baseline(_, method) => vec![absent(name, &method)],
            CudaMethod::Auto if packed_takes(vertices) && !settings.asks_for_shape() => vec![lstc, packed],
            CudaMethod::Auto => vec![lstc],
        })
    }

    pub fn choice(&self) -> CudaMethod {
        self.name
    }

    /// Counts at vertices, too, with at most `most` bytes of counters at a time.
    pub fn count_vertices(&mut self, vertices: u32, of_partition: u64, most: Bytes) {
        let budget = self.budget.min(Bytes(4 * most.get()));
        let counters = counter_bytes(vertices, of_partition, budget, self.budget.get());
        self.footprint.apart += Bytes(counters);
        self.footprint.counters = counters / COUNTER_BYTES;
    }
}

impl CountBackend for Absent {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn method(&self) -> &'static str {
        self.name.name()
    }

    fn device(&self) -> Option<Device> {
        let (name, used) = ("a GPU that is not here".into(), Bytes::ZERO);
        Some(Device { ordinal: 0, name, budget: self.budget, context: used, used })
    }

    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn peels(&self, vertices: u64, edges: u64) -> Option<u64> {
        PeelingDevice::on_host(vertices, edges, self.budget.get())
    }

    fn begin<'a>(&'a mut self, _: PartitionExtent, _: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        Err(Error::defect("a GPU that is not here was to count"))
    }
}
