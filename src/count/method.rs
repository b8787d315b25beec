//! The counting methods by name, and which backend has each. What a method's name means is said at the head of its module.

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
    /// Algorithm 3 of LSTC.
    Lstc,
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

/// All of them.
static METHODS: [Method; 6] = [
    on_cpu("bitmap", CpuMethod::Bitmap),
    on_cpu("forward", CpuMethod::Serial(serial::Method::Forward)),
    on_cpu("compact-forward", CpuMethod::Serial(serial::Method::CompactForward)),
    on_cpu("reverse-edge", CpuMethod::Serial(serial::Method::ReverseEdge)),
    on_cpu("reverse-edge-serial", CpuMethod::Serial(serial::Method::ReverseEdgeSerial)),
    on_cuda("lstc", CudaMethod::Lstc),
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
        let (name, cpu, cuda) = match name {
            None => ("", Some(CpuMethod::Bitmap), Some(CudaMethod::Lstc)),
            Some(name) => Method::named(name).map(|method| (name, method.cpu, method.cuda))?,
        };
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
    fn a_method_is_taken_where_a_backend_has_it() {
        let choice = |backend, name| Choice::of(backend, name).map_err(|error| error.to_string());
        let forward = CpuMethod::Serial(serial::Method::Forward);
        for (backend, name, expected) in [
            (Backend::Auto, None, Choice::Either(CudaMethod::Lstc, CpuMethod::Bitmap)),
            (Backend::Cpu, None, Choice::Cpu(CpuMethod::Bitmap)),
            (Backend::Cuda, None, Choice::Cuda(CudaMethod::Lstc)),
            (Backend::Auto, Some("bitmap"), Choice::Cpu(CpuMethod::Bitmap)),
            (Backend::Auto, Some("lstc"), Choice::Cuda(CudaMethod::Lstc)),
            (Backend::Cpu, Some("forward"), Choice::Cpu(forward)),
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
