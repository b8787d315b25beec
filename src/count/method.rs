//! The counting methods by name, and which backend has each. The methods are described at the heads of their modules.

use std::sync::LazyLock;

#[cfg(feature = "baselines")]
use trimill_baselines::{GpuMethod, SerialMethod};
#[cfg(feature = "baselines")]
use trimill_counting::{CountBackend, Scope};
#[cfg(feature = "baselines")]
use trimill_kernels::CountingMethod;

use crate::job::Backend;
use crate::job::file::CountTable;
use crate::job::suggest::did_you_mean;
use trimill_system::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuMethod {
    /// Bitmaps, on all threads ([`super::cpu`]).
    Bitmap,
    /// A published method, on one thread.
    #[cfg(feature = "baselines")]
    Serial(SerialMethod),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CudaMethod {
    /// `lstc` or `packed`, whichever is estimated to be faster ([`crate::plan::choose`]).
    Auto,
    /// Algorithm 3 of LSTC.
    Lstc,
    /// Rows packed into words of bits; for each arc, the words of the shorter row are looked up in a table of the longer one.
    Packed,
    /// A published one, by the name of its variant.
    #[cfg(feature = "baselines")]
    Baseline(&'static str, GpuMethod),
}

impl CudaMethod {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Lstc => LEAST_MEMORY_METHOD,
            Self::Packed => "packed",
            #[cfg(feature = "baselines")]
            Self::Baseline(name, _) => name,
        }
    }
}

/// The method that takes the least memory of a GPU for a partition.
pub const LEAST_MEMORY_METHOD: &str = "lstc";

/// A named method: on the CPU, on a GPU, or on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    name: &'static str,
    cpu: Option<CpuMethod>,
    cuda: Option<CudaMethod>,
}

/// All methods: those of this program, then the published ones.
static METHODS: LazyLock<Vec<Method>> = LazyLock::new(|| {
    let own = [
        Method { name: "auto", cpu: Some(CpuMethod::Bitmap), cuda: Some(CudaMethod::Auto) },
        Method::on_cpu("bitmap", CpuMethod::Bitmap),
        Method::on_cuda(CudaMethod::Lstc),
        Method::on_cuda(CudaMethod::Packed),
    ];
    own.into_iter().chain(published()).collect()
});

#[cfg(feature = "baselines")]
fn published() -> Vec<Method> {
    let on_cpu = |method: SerialMethod| Method::on_cpu(method.name(), CpuMethod::Serial(method));
    let mut methods: Vec<Method> = SerialMethod::ALL.map(on_cpu).into();
    for (name, method) in trimill_baselines::gpu_methods() {
        let cuda = CudaMethod::Baseline(name, method);
        match methods.iter_mut().find(|method| method.name == name) {
            Some(both) => both.cuda = Some(cuda),
            None => methods.push(Method::on_cuda(cuda)),
        }
    }
    methods
}

#[cfg(not(feature = "baselines"))]
fn published() -> [Method; 0] {
    []
}

/// The backend and method of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The CPU, by this method.
    Cpu(CpuMethod),
    /// A GPU, by this method.
    Cuda(CudaMethod),
    /// A GPU, or where none can be used the CPU.
    Either(CudaMethod, CpuMethod),
}

impl CountTable {
    /// The backend and method that are asked for. Errors: as [`Choice::of`].
    pub fn choice(&self) -> Result<Choice> {
        Choice::of(self.backend(), self.method.as_deref())
    }

    /// Whether a GPU may count: one is allowed, and there is a driver.
    pub fn may_use_gpu(&self) -> bool {
        !matches!(self.choice(), Ok(Choice::Cpu(_))) && trimill_kernels::has_driver()
    }
}

impl Choice {
    /// Resolves a backend and the name of a method. Errors, `Kind::Usage`: there is no method of this name, or it is not the backend's.
    pub fn of(backend: Backend, name: Option<&str>) -> Result<Self> {
        let name = name.unwrap_or("auto");
        let &Method { cpu, cuda, .. } = Method::named(name)?;
        match (backend, cpu, cuda) {
            (Backend::Auto, Some(cpu), Some(cuda)) => Ok(Self::Either(cuda, cpu)),
            (Backend::Cpu, Some(cpu), _) | (Backend::Auto, Some(cpu), None) => Ok(Self::Cpu(cpu)),
            (Backend::Cuda, _, Some(cuda)) | (Backend::Auto, None, Some(cuda)) => Ok(Self::Cuda(cuda)),
            _ => Err(Error::usage(format!("the method '{name}' with the backend {backend}"))
                .expected(format!("one of {}", Method::list(backend)))),
        }
    }

    /// Whether the method can also count the triangles at each vertex and on each edge.
    fn counts_details(self) -> bool {
        let on_gpu = |method| matches!(method, CudaMethod::Auto | CudaMethod::Lstc | CudaMethod::Packed);
        self.all(|method| method == CpuMethod::Bitmap, on_gpu)
    }

    fn counts_partitions(self) -> bool {
        let on_cpu = |method| match method {
            CpuMethod::Bitmap => true,
            #[cfg(feature = "baselines")]
            CpuMethod::Serial(method) => method.footprint().scope == Scope::Partitions,
        };
        let on_gpu = |method| match method {
            #[cfg(feature = "baselines")]
            CudaMethod::Baseline(_, method) => method.footprint().scope == Scope::Partitions,
            CudaMethod::Auto | CudaMethod::Lstc | CudaMethod::Packed => true,
        };
        self.all(on_cpu, on_gpu)
    }

    /// Whether all methods that may be chosen have the requested property.
    fn all(self, on_cpu: impl Fn(CpuMethod) -> bool, on_gpu: impl Fn(CudaMethod) -> bool) -> bool {
        match self {
            Self::Cpu(method) => on_cpu(method),
            Self::Cuda(method) => on_gpu(method),
            Self::Either(cuda, cpu) => on_gpu(cuda) && on_cpu(cpu),
        }
    }

    /// `None` if the method can do what is asked, else the names of the methods that can.
    fn others(asked: &CountTable, can: fn(Self) -> bool) -> Result<Option<String>> {
        let choice = asked.choice()?;
        let backend = match (asked.backend(), choice) {
            (Backend::Auto, Self::Cpu(_)) if !trimill_kernels::has_driver() => Backend::Cpu,
            (backend, _) => backend,
        };
        let able = |name: &&str| Self::of(backend, Some(name)).is_ok_and(can);
        let names = || Method::names(backend).filter(able).collect::<Vec<_>>().join(", ");
        Ok((!can(choice)).then(names))
    }

    /// Whether the threads of a block can be chosen, if a GPU counts.
    pub fn has_block_threads(self) -> bool {
        match self {
            Self::Cpu(_) => false,
            Self::Cuda(CudaMethod::Packed) | Self::Either(CudaMethod::Packed, _) => false,
            #[cfg(feature = "baselines")]
            Self::Cuda(CudaMethod::Baseline(_, method)) | Self::Either(CudaMethod::Baseline(_, method), _) => {
                !matches!(method, GpuMethod::RadixBinning(_))
            }
            Self::Cuda(_) | Self::Either(..) => true,
        }
    }

    /// Whether the method has a tile, if a GPU counts.
    pub fn has_tile(self) -> bool {
        matches!(self, Self::Cuda(method) | Self::Either(method, _) if matches!(method, CudaMethod::Auto | CudaMethod::Lstc))
    }

    /// Refuses a method that counts whole graphs only, where there are, or may be, several partitions: `cut` says what cuts the graph.
    pub fn check_partitions(asked: &CountTable, cut: &str) -> Result<()> {
        let Some(others) = Self::others(asked, Self::counts_partitions)? else { return Ok(()) };
        let name = asked.method.as_deref().unwrap_or_default();
        Err(Error::usage(format!("the method '{name}' counts whole graphs only, and {cut}"))
            .expected(format!("one partition, or one of the methods {others}")))
    }

    /// Refuses a method that counts the total only, where the triangles at each vertex or on each edge are wanted.
    pub fn check_details(asked: &CountTable) -> Result<()> {
        let Some(others) = Self::others(asked, Self::counts_details)? else { return Ok(()) };
        Err(Error::usage(format!(
            "the method '{}' counts the total only, not the triangles at vertices or on edges",
            asked.method.as_deref().unwrap_or_default()
        ))
        .expected(format!("one of {others}")))
    }
}

impl Method {
    fn on_cpu(name: &'static str, method: CpuMethod) -> Self {
        Self { name, cpu: Some(method), cuda: None }
    }

    fn on_cuda(method: CudaMethod) -> Self {
        Self { name: method.name(), cpu: None, cuda: Some(method) }
    }

    fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().find(|method| method.name == name).ok_or_else(|| {
            Error::usage(format!("the method '{name}'")).expected(format!(
                "on the CPU one of {}; on a GPU one of {}{}",
                Self::list(Backend::Cpu),
                Self::list(Backend::Cuda),
                did_you_mean(name, Self::names(Backend::Auto))
            ))
        })
    }

    fn list(backend: Backend) -> String {
        Self::names(backend).collect::<Vec<_>>().join(", ")
    }

    /// The names of all methods that a backend has; `auto`: of all methods.
    pub fn names(backend: Backend) -> impl Iterator<Item = &'static str> {
        let of = move |method: &&Method| match backend {
            Backend::Auto => true,
            Backend::Cpu => method.cpu.is_some(),
            Backend::Cuda => method.cuda.is_some(),
        };
        METHODS.iter().filter(of).map(|method| method.name)
    }
}

#[cfg(all(test, feature = "baselines"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(backend: Backend, method: Option<&str>) -> CountTable {
        CountTable { backend: Some(backend), method: method.map(Into::into), ..CountTable::default() }
    }

    #[test]
    fn every_method_has_one_name_and_is_found_by_it() {
        for (i, method) in METHODS.iter().enumerate() {
            assert!(METHODS[..i].iter().all(|other| other.name != method.name));
            assert!(method.cuda.is_none_or(|cuda| cuda.name() == method.name), "{}", method.name);
            if let Some(CudaMethod::Baseline(name, baseline)) = method.cuda {
                assert!(name.starts_with(baseline.name()), "{name}");
            }
        }
    }

    #[test]
    fn a_method_is_taken_where_a_backend_has_it() {
        let choice = |backend, name| Choice::of(backend, name).map_err(|error| error.to_string());
        let forward = CpuMethod::Serial(SerialMethod::Forward);
        let baseline = |name| {
            let (name, method) = trimill_baselines::gpu_methods().into_iter().find(|method| method.0 == name).unwrap();
            CudaMethod::Baseline(name, method)
        };
        let reverse = (CpuMethod::Serial(SerialMethod::ReverseEdge), baseline("reverse-edge"));
        for (backend, name, expected) in [
            (Backend::Auto, None, Choice::Either(CudaMethod::Auto, CpuMethod::Bitmap)),
            (Backend::Cpu, None, Choice::Cpu(CpuMethod::Bitmap)),
            (Backend::Cuda, Some("auto"), Choice::Cuda(CudaMethod::Auto)),
            (Backend::Auto, Some("bitmap"), Choice::Cpu(CpuMethod::Bitmap)),
            (Backend::Auto, Some("lstc"), Choice::Cuda(CudaMethod::Lstc)),
            (Backend::Cpu, Some("forward"), Choice::Cpu(forward)),
            (Backend::Auto, Some("reverse-edge"), Choice::Either(reverse.1, reverse.0)),
            (Backend::Cuda, Some("skiff"), Choice::Cuda(baseline("skiff"))),
        ] {
            assert_eq!(choice(backend, name), Ok(expected), "{backend} {name:?}");
        }
        for (backend, name, words) in [
            (Backend::Cuda, "forward", ["'forward' with the backend cuda", "lstc"]),
            (Backend::Cpu, "lstc", ["'lstc' with the backend cpu", "compact-forward"]),
            (Backend::Auto, "compact-froward", ["'compact-froward'", "did you mean `compact-forward`?"]),
        ] {
            let text = choice(backend, Some(name)).map_or_else(|text| text, |choice| format!("{choice:?}"));
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn methods_of_whole_graphs_are_refused_where_there_are_partitions() {
        // As docs/methods.md has them.
        let whole = ["forward", "compact-forward", "polak", "polak:cpu", "radix-binning"];
        for name in Method::names(Backend::Auto) {
            let refused = Choice::check_partitions(&asked(Backend::Auto, Some(name)), "there are 2 parts").err();
            assert_eq!(refused.is_some(), whole.contains(&name), "{name}");
            let Some(text) = refused.map(|error| error.to_string()) else { continue };
            assert!(text.contains(name) && text.contains("2 parts") && text.contains("bitmap"), "{text}");
            // A CPU method is replaced by a GPU method only where the latter could count.
            let on_cpu = matches!(asked(Backend::Auto, Some(name)).choice(), Ok(Choice::Cpu(_)));
            assert_eq!(text.contains("lstc"), !on_cpu || trimill_kernels::has_driver(), "{text}");
        }
    }

    #[test]
    fn methods_that_count_the_total_only_are_refused_where_vertices_are_wanted() {
        for (backend, name) in [(Backend::Auto, None), (Backend::Cpu, Some("bitmap")), (Backend::Cuda, Some("packed"))]
        {
            assert!(Choice::check_details(&asked(backend, name)).is_ok());
        }
        for (backend, name, expected) in [
            (Backend::Cpu, "forward", "expected one of auto, bitmap"),
            (Backend::Auto, "polak", "expected one of auto, bitmap, lstc, packed"),
        ] {
            let refused = Choice::check_details(&asked(backend, Some(name))).unwrap_err().to_string();
            assert!(refused.contains(name) && refused.contains(expected), "{refused}");
        }
    }
}
