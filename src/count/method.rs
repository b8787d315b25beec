//! The counting methods by name, and which backend has each. What a method's name means is said at the head of its module.

use trimill_kernels::papers::polak::{self, Preprocess};
use trimill_kernels::papers::skiff::{self, Organisation};
use trimill_kernels::papers::{self, radix_binning, reverse_edge};

use crate::error::{Error, Result};
use crate::job::Backend;
use crate::job::suggest::did_you_mean;

use super::serial;

/// A method of the CPU backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuMethod {
    /// Bitmaps, on all threads ([`super::cpu`]).
    Bitmap,
    /// A published method, on one thread ([`super::serial`]).
    Serial(serial::Method),
}

/// A method of the CUDA backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CudaMethod {
    /// `lstc` or `packed`, whichever is estimated to be sooner done ([`crate::plan::choose`]).
    Auto,
    /// Algorithm 3 of LSTC.
    Lstc,
    /// Rows packed into words of bits, the shorter row of an arc streamed past a table of the longer one.
    Packed,
    /// The forward algorithm, a thread an edge.
    Polak(Preprocess),
    /// The reverse-edge forward algorithm, in one queue or several.
    ReverseEdge {
        /// Queues.
        streams: u32,
    },
    /// Hash tries.
    Skiff(Organisation),
    /// Candidate edges, binned with the edges.
    RadixBinning,
}

impl CudaMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        METHODS.iter().find(|method| method.cuda == Some(self)).map_or("", |method| method.name)
    }

    /// The same for the kernels of the papers, with blocks of so many threads where that was asked for; none for the others.
    pub fn of_papers(self, block_threads: Option<u32>) -> Option<papers::Method> {
        match self {
            Self::Auto | Self::Lstc | Self::Packed => None,
            Self::Polak(preprocess) => {
                let paper = polak::Options { preprocess, ..polak::Options::default() };
                let block_threads = block_threads.unwrap_or(paper.block_threads);
                Some(papers::Method::Polak(polak::Options { block_threads, ..paper }))
            }
            Self::ReverseEdge { streams } => {
                let block_threads = block_threads.unwrap_or(reverse_edge::Options::default().block_threads);
                Some(papers::Method::ReverseEdge(reverse_edge::Options { block_threads, streams }))
            }
            Self::Skiff(organisation) => {
                let ours = skiff::Options { organisation, ..skiff::Options::default() };
                let block_threads = block_threads.unwrap_or(ours.block_threads);
                Some(papers::Method::Skiff(skiff::Options { block_threads, ..ours }))
            }
            Self::RadixBinning => Some(papers::Method::RadixBinning(radix_binning::Options::default())),
        }
    }
}

/// What has a name: on the CPU, on a GPU, or on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    name: &'static str,
    cpu: Option<CpuMethod>,
    cuda: Option<CudaMethod>,
}

const fn on_cpu(name: &'static str, method: CpuMethod) -> Method {
    Method { name, cpu: Some(method), cuda: None }
}

const fn on_cuda(name: &'static str, method: CudaMethod) -> Method {
    Method { name, cpu: None, cuda: Some(method) }
}

const fn on_both(name: &'static str, cpu: CpuMethod, cuda: CudaMethod) -> Method {
    Method { name, cpu: Some(cpu), cuda: Some(cuda) }
}

/// All of them.
static METHODS: [Method; 15] = [
    on_both("auto", CpuMethod::Bitmap, CudaMethod::Auto),
    on_cpu("bitmap", CpuMethod::Bitmap),
    on_cpu("forward", CpuMethod::Serial(serial::Method::Forward)),
    on_cpu("compact-forward", CpuMethod::Serial(serial::Method::CompactForward)),
    on_both("reverse-edge", CpuMethod::Serial(serial::Method::ReverseEdge), CudaMethod::ReverseEdge { streams: 1 }),
    on_cpu("reverse-edge-serial", CpuMethod::Serial(serial::Method::ReverseEdgeSerial)),
    on_cuda("lstc", CudaMethod::Lstc),
    on_cuda("packed", CudaMethod::Packed),
    on_cuda("polak", CudaMethod::Polak(Preprocess::Auto)),
    on_cuda("polak:cpu", CudaMethod::Polak(Preprocess::Cpu)),
    on_cuda("reverse-edge:streams", CudaMethod::ReverseEdge { streams: reverse_edge::STREAMS }),
    on_cuda("skiff", CudaMethod::Skiff(Organisation::WarpIndex)),
    on_cuda("skiff:block-degree", CudaMethod::Skiff(Organisation::BlockDegree)),
    on_cuda("skiff:block-index", CudaMethod::Skiff(Organisation::BlockIndex)),
    on_cuda("radix-binning", CudaMethod::RadixBinning),
];

/// What a job may be counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The CPU, by this method.
    Cpu(CpuMethod),
    /// A GPU, by this method.
    Cuda(CudaMethod),
    /// A GPU, or where none can be used the CPU.
    Either(CudaMethod, CpuMethod),
}

impl Choice {
    /// What a backend and the name of a method stand for.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`]: there is no method of this name, or it is not the backend's.
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
}

impl Method {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_one_name_and_is_found_by_it() {
        for (i, method) in METHODS.iter().enumerate() {
            assert!(METHODS[..i].iter().all(|other| other.name != method.name));
            assert!(method.cuda.is_none_or(|cuda| cuda.name() == method.name), "{}", method.name);
            let of_papers = method.cuda.and_then(|cuda| cuda.of_papers(None));
            assert!(of_papers.is_none_or(|paper| method.name.starts_with(paper.name())), "{}", method.name);
        }
    }

    #[test]
    fn a_method_is_taken_where_a_backend_has_it() {
        let choice = |backend, name| Choice::of(backend, name).map_err(|error| error.to_string());
        let forward = CpuMethod::Serial(serial::Method::Forward);
        let reverse = (CpuMethod::Serial(serial::Method::ReverseEdge), CudaMethod::ReverseEdge { streams: 1 });
        for (backend, name, expected) in [
            (Backend::Auto, None, Choice::Either(CudaMethod::Auto, CpuMethod::Bitmap)),
            (Backend::Cpu, None, Choice::Cpu(CpuMethod::Bitmap)),
            (Backend::Cuda, Some("auto"), Choice::Cuda(CudaMethod::Auto)),
            (Backend::Auto, Some("bitmap"), Choice::Cpu(CpuMethod::Bitmap)),
            (Backend::Auto, Some("lstc"), Choice::Cuda(CudaMethod::Lstc)),
            (Backend::Cpu, Some("forward"), Choice::Cpu(forward)),
            (Backend::Auto, Some("reverse-edge"), Choice::Either(reverse.1, reverse.0)),
            (Backend::Cuda, Some("skiff"), Choice::Cuda(CudaMethod::Skiff(Organisation::WarpIndex))),
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
}
