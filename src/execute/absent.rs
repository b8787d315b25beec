//! Plans for a GPU whose memory the job names, on a machine that has none.

use super::chosen::ChosenBackends;
use super::count_memory::on_the_way;
use super::host::HostNeeds;
use super::host_of_gpus::OnGpus;
use super::session::Session;
use crate::count::cuda::Absent;
use crate::count::method::CudaMethod;
use crate::outputs::CountedAt;
use crate::plan::choose::choose;
use trimill_counting::CountBackend;
use trimill_system::{Bytes, Error, Result};

impl Session {
    /// What [`Session::backends`] would choose on a machine with such GPUs; they cannot count.
    pub(super) fn absent(
        &self,
        method: CudaMethod,
        needs: &HostNeeds,
        device: Option<Bytes>,
    ) -> Result<ChosenBackends> {
        let (graph, counts, device) = (&needs.size, needs.counts, device.unwrap_or_default());
        let gpus = self.gpus_named();
        let mut all = Absent::choices(method, &self.job.settings.count, graph.vertices, device, counts.edges)?;
        if counts.at() == CountedAt::Vertices {
            let most = on_the_way(needs.host, gpus);
            all.iter_mut().for_each(|absent| absent.count_vertices(graph.vertices, needs.counters, most));
        }
        let device_peels = all.first().and_then(|absent| absent.peels(graph.vertices.into(), graph.edges)).map(Bytes);
        let (least_on_host, division, OnGpus { block: largest_row_block, all: on_host, .. }) =
            HostNeeds { device_peels, ..*needs }.divided_on_gpus(gpus, self.job.settings.memory.block)?;
        let choices: Vec<_> = all.iter().map(|absent| (absent.choice(), absent.footprint())).collect();
        let compared = if method == CudaMethod::Auto { &choices[..] } else { &[] };
        let (chosen, methods) = choose(graph, compared, &self.rates, device, largest_row_block);
        let found = all.into_iter().find(|absent| chosen.is_none_or(|chosen| chosen == absent.choice()));
        let found = found.ok_or_else(|| Error::defect("a method without a footprint"))?;
        let floor = self.counting_floor(graph, |_, _| found.footprint());
        Ok(ChosenBackends {
            backends: (0..gpus).map(|_| Box::new(found) as Box<dyn CountBackend>).collect(),
            device_budget: device,
            largest_row_block,
            floor,
            methods,
            on_host,
            division,
            least_on_host,
            driver_bytes: Bytes::ZERO,
            opened_early: false,
        })
    }
}
