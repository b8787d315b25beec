//! Reserves each GPU's budget before anything is planned. All device memory is allocated here, so no allocation can fail later. If a GPU refuses its
//! budget, because other programs hold memory, the job continues with what is free, with smaller row blocks and more partitions if needed. Unless the
//! user names a budget, a job takes its estimated need at most: to free a large GPU takes a tenth of a second, and other programs may use the rest.

use crate::count::cuda::Cuda;
use trimill_counting::CountBackend;
use trimill_system::{Bytes, Error, Result};

/// The number of attempts before the job fails: other programs may take memory as fast as this one asks for less.
const TRIES: usize = 4;

pub(super) trait Reserve {
    /// The driver's number of the GPU.
    fn ordinal(&self) -> u32;
    fn free(&self) -> Result<Bytes>;
    /// Takes the budget, in place of one taken before; returns the free bytes if it is refused.
    fn reserve(&mut self, budget: Bytes) -> Result<Option<Bytes>>;
}

impl Reserve for Cuda {
    fn ordinal(&self) -> u32 {
        self.device().map_or(0, |device| device.ordinal)
    }

    fn free(&self) -> Result<Bytes> {
        Self::free(self)
    }

    fn reserve(&mut self, budget: Bytes) -> Result<Option<Bytes>> {
        Self::reserve(self, budget)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Budget {
    Asked(Bytes),
    /// 90% of the free memory, but at most this for each worker.
    Free(Bytes),
}

impl Budget {
    pub(super) fn of(asked: Option<Bytes>) -> Self {
        asked.map_or(Self::Free(Bytes(u64::MAX)), Self::Asked)
    }
}

/// Reserves the same budget, as `asked` or less, for each of the `workers`, and returns it; workers on one GPU share its memory. Fails below `least`.
pub(super) fn reserve<R: Reserve>(workers: &mut [R], asked: Budget, least: Bytes) -> Result<Bytes> {
    let ordinals: Vec<u32> = workers.iter().map(Reserve::ordinal).collect();
    let sharing = |ordinal: u32| ordinals.iter().filter(|&&other| other == ordinal).count() as u64;
    let mut budget = Bytes(u64::MAX);
    for worker in &*workers {
        let (all, most) = match asked {
            Budget::Asked(asked) => (asked, asked),
            Budget::Free(most) => (Bytes(worker.free()?.get() / 10 * 9), most),
        };
        budget = budget.min(Bytes(all.get() / sharing(worker.ordinal()))).min(most);
    }
    let mut tries = 0;
    loop {
        let refusal = |worker: &mut R| Some(worker.reserve(budget).transpose()?.map(|free| (worker.ordinal(), free)));
        let refused = workers.iter_mut().find_map(refusal).transpose()?;
        let Some((ordinal, free)) = refused else { return Ok(budget) };
        // Earlier workers of this GPU release what they have just taken, so each gets at least this share.
        let next = Bytes(free.get() / 20 * 19 / sharing(ordinal)).min(Bytes(budget.get() / 20 * 19));
        let error = || Error::resource(format!("GPU {ordinal} refused {budget}; {free} of its memory are free"));
        tries += 1;
        if next < least {
            // The backend cpu refuses settings of GPUs.
            return Err(error().expected(format!("at least {least} for this graph")).advice(
                "end other programs on that GPU, name another one with --devices, or use --backend cpu \
                 without --devices and a --method of GPUs",
            ));
        }
        if tries == TRIES {
            return Err(error().advice("end other programs on that GPU, or lower --device-memory"));
        }
        tracing::warn!("GPU {ordinal} refused {budget}, {free} are free: counting in {next}, with smaller row blocks");
        budget = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill_system::error::Kind;

    struct Fake {
        ordinal: u32,
        free: u64,
        most: u64,
        taken: u64,
    }

    impl Fake {
        fn new(ordinal: u32, free: u64) -> Self {
            Self { ordinal, free, most: free, taken: 0 }
        }
    }

    impl Reserve for Fake {
        fn ordinal(&self) -> u32 {
            self.ordinal
        }
        fn free(&self) -> Result<Bytes> {
            Ok(Bytes(self.free))
        }
        fn reserve(&mut self, budget: Bytes) -> Result<Option<Bytes>> {
            self.taken = if budget.get() <= self.most { budget.get() } else { 0 };
            Ok((self.taken == 0).then_some(Bytes(self.free)))
        }
    }

    #[test]
    fn all_get_what_was_asked_for_or_nine_tenths_of_the_least() {
        let mut workers = [Fake::new(0, 1000), Fake::new(1, 700)];
        assert_eq!(reserve(&mut workers, Budget::Asked(Bytes(500)), Bytes(1)).unwrap(), Bytes(500));
        assert_eq!(reserve(&mut workers, Budget::of(None), Bytes(1)).unwrap(), Bytes(630));
        assert_eq!(workers.iter().map(|worker| worker.taken).collect::<Vec<_>>(), [630, 630]);
        assert_eq!(reserve(&mut workers, Budget::Free(Bytes(600)), Bytes(1)).unwrap(), Bytes(600));
        assert_eq!(reserve(&mut workers, Budget::Free(Bytes(640)), Bytes(1)).unwrap(), Bytes(630));
        let mut workers = [Fake::new(0, 1000), Fake::new(0, 1000)];
        assert_eq!(reserve(&mut workers, Budget::Asked(Bytes(500)), Bytes(1)).unwrap(), Bytes(250));
        assert_eq!(reserve(&mut workers, Budget::Free(Bytes(400)), Bytes(1)).unwrap(), Bytes(400));
        assert_eq!(reserve(&mut workers, Budget::Free(Bytes(500)), Bytes(1)).unwrap(), Bytes(450));
    }

    #[test]
    fn what_is_refused_is_asked_for_again_as_far_as_it_is_free() {
        let mut workers = [Fake::new(0, 2000), Fake::new(1, 1000)];
        let budget = reserve(&mut workers, Budget::Asked(Bytes(1500)), Bytes(500)).unwrap();
        assert_eq!(budget, Bytes(950));
        assert!(workers.iter().all(|worker| worker.taken == budget.get()));
    }

    #[test]
    fn less_than_the_least_is_refused_with_both_numbers() {
        let error = reserve(&mut [Fake::new(0, 1000)], Budget::Asked(Bytes(1500)), Bytes(951)).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        let text = error.to_string();
        assert!(text.contains(&Bytes(1000).to_string()) && text.contains(&Bytes(951).to_string()), "{text}");
        assert!(text.ends_with("or use --backend cpu without --devices and a --method of GPUs"), "{text}");
        // A GPU that always grants less than it reports free ends the job after a few attempts.
        let error = reserve(&mut [Fake { most: 0, ..Fake::new(3, 1000) }], Budget::of(None), Bytes(0)).unwrap_err();
        // It was asked for 900, 855, 798 and 741 bytes.
        assert!(error.to_string().contains(&format!("GPU 3 refused {}; ", Bytes(741))), "{error}");
    }
}
