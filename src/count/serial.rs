//! The CPU backend with one of the published single-threaded methods (`trimill-baselines`).

use trimill_baselines::SerialMethod;
use trimill_counting::{CountBackend, Detail, EdgeShare, Footprint, PartitionCounter, PartitionExtent, Scope};
use trimill_kernels::GpuError;

use trimill_system::Result;

#[derive(Debug, Clone, Copy)]
pub struct Serial(pub SerialMethod);

impl CountBackend for Serial {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn method(&self) -> &'static str {
        self.0.name()
    }

    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn begin<'a>(
        &'a mut self,
        size: PartitionExtent,
        _: EdgeShare,
        detail: Detail,
    ) -> Result<Box<dyn PartitionCounter + 'a>> {
        if detail != Detail::Total {
            return Err(GpuError::Total(self.0.name()).into());
        }
        Ok(self.0.begin(size)?)
    }
}
