//! Selects the methods of a comparison, their backends, and the baseline.

use super::BenchRequest;
use crate::count::method::{Choice, Method};
use crate::job::Backend;
use crate::report::bench::MethodName;
use trimill_system::{Error, Result};

/// The method that chooses one of the others. Listed on the first backend only: elsewhere it would repeat another method.
const AUTO: &str = "auto";

/// The default baselines, in order of preference.
const BASELINES: [(&str, Backend); 2] = [("lstc", Backend::Cuda), ("forward", Backend::Cpu)];

/// The methods in the requested order, each once, including the baseline; and the baseline.
pub(super) fn select_methods(request: &BenchRequest, gpu: bool) -> Result<(Vec<MethodName>, MethodName)> {
    let mut methods = Vec::new();
    let mut add = |name: MethodName| {
        if !methods.contains(&name) {
            methods.push(name);
        }
    };
    for typed in &request.methods {
        add(named(typed, request.backend, gpu)?);
    }
    if request.methods.is_empty() {
        all(request.backend, gpu).into_iter().for_each(&mut add);
    }
    let asked = request.baseline.as_deref().map(|typed| named(typed, request.backend, gpu)).transpose()?;
    asked.iter().cloned().for_each(add);
    // Without a GPU, a GPU method cannot be the baseline.
    let usual = BASELINES.iter().filter(|(_, backend)| gpu || *backend == Backend::Cpu);
    let mut usual = usual.map(|&(method, backend)| MethodName { method: method.into(), backend });
    let baseline = asked.or_else(|| usual.find(|usual| methods.contains(usual)));
    let baseline = baseline.or_else(|| methods.first().cloned());
    baseline.map(|baseline| (methods, baseline)).ok_or_else(|| Error::usage("no method to compare"))
}

fn all(backend: Backend, gpu: bool) -> Vec<MethodName> {
    let backends: &[Backend] = match backend {
        Backend::Auto if gpu => &[Backend::Cuda, Backend::Cpu],
        Backend::Auto | Backend::Cpu => &[Backend::Cpu],
        Backend::Cuda => &[Backend::Cuda],
    };
    let of = |&backend: &Backend| Method::names(backend).map(move |name| MethodName { method: name.into(), backend });
    backends.iter().flat_map(of).filter(|name| name.method != AUTO || name.backend == backends[0]).collect()
}

fn named(typed: &str, backend: Backend, gpu: bool) -> Result<MethodName> {
    let (name, own) = match typed.rsplit_once('@') {
        None => (typed, backend),
        Some((name, "cpu")) => (name, Backend::Cpu),
        Some((name, "cuda")) => (name, Backend::Cuda),
        Some((_, other)) => {
            return Err(Error::usage(format!("the method '{typed}' on the backend '{other}'"))
                .expected("NAME, NAME@cpu or NAME@cuda"));
        }
    };
    if backend != Backend::Auto && own != backend {
        return Err(Error::usage(format!("the method '{typed}' with --backend {backend}"))
            .advice("leave out --backend to compare across backends"));
    }
    let backend = match Choice::of(own, Some(name))? {
        Choice::Cpu(_) => Backend::Cpu,
        Choice::Cuda(_) => Backend::Cuda,
        Choice::Either(..) if gpu => Backend::Cuda,
        Choice::Either(..) => Backend::Cpu,
    };
    Ok(MethodName { method: name.into(), backend })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;

    fn request(methods: &[&str], baseline: Option<&str>, backend: Backend) -> BenchRequest {
        BenchRequest {
            graphs: Vec::new(),
            methods: methods.iter().map(|&name| name.into()).collect(),
            baseline: baseline.map(Into::into),
            backend,
            runs: NonZeroU32::MIN,
            timeout: Duration::from_secs(1),
            verify: false,
        }
    }

    fn names(methods: &[MethodName]) -> Vec<String> {
        methods.iter().map(MethodName::to_string).collect()
    }

    #[test]
    fn without_names_everything_runs_that_can() {
        let all = |backend, gpu| select_methods(&request(&[], None, backend), gpu).unwrap();
        let (here, baseline) = all(Backend::Auto, false);
        assert_eq!(names(&here)[..2], ["auto@cpu", "bitmap@cpu"]);
        assert!(here.iter().all(|name| name.backend == Backend::Cpu));
        assert_eq!(baseline.to_string(), "forward@cpu");
        assert_eq!(all(Backend::Cpu, true), (here, baseline));
        let (there, baseline) = all(Backend::Auto, true);
        assert_eq!(there[0].to_string(), "auto@cuda");
        assert_eq!(names(&there).iter().filter(|name| name.starts_with("auto")).count(), 1);
        for name in ["lstc@cuda", "reverse-edge@cuda", "reverse-edge@cpu", "bitmap@cpu"] {
            assert!(names(&there).iter().any(|found| found == name), "{name}");
        }
        assert_eq!(baseline.to_string(), "lstc@cuda");
        assert!(all(Backend::Cuda, false).0.iter().all(|name| name.backend == Backend::Cuda));
    }

    #[test]
    fn a_name_stands_for_what_count_would_take() {
        let typed = ["reverse-edge", "reverse-edge@cpu", "auto", "skiff:block-degree", "reverse-edge"];
        let (with, baseline) = select_methods(&request(&typed, None, Backend::Auto), true).unwrap();
        assert_eq!(names(&with), ["reverse-edge@cuda", "reverse-edge@cpu", "auto@cuda", "skiff:block-degree@cuda"]);
        assert_eq!(baseline.to_string(), "reverse-edge@cuda", "the first, where none of the usual takes part");
        let (without, _) = select_methods(&request(&typed, None, Backend::Auto), false).unwrap();
        assert_eq!(names(&without), ["reverse-edge@cpu", "auto@cpu", "skiff:block-degree@cuda"]);
    }

    #[test]
    fn a_baseline_that_was_named_takes_part() {
        let (found, baseline) =
            select_methods(&request(&["bitmap"], Some("compact-forward"), Backend::Auto), false).unwrap();
        assert_eq!(names(&found), ["bitmap@cpu", "compact-forward@cpu"]);
        assert_eq!(baseline.to_string(), "compact-forward@cpu");
    }

    #[test]
    fn wrong_names_are_refused() {
        for (typed, backend, words) in [
            ("forwrad", Backend::Auto, "did you mean `forward`?"),
            ("forward@gpu", Backend::Auto, "NAME@cuda"),
            ("forward@cuda", Backend::Auto, "'forward' with the backend cuda"),
            ("bitmap@cpu", Backend::Cuda, "with --backend cuda"),
            ("lstc", Backend::Cpu, "'lstc' with the backend cpu"),
        ] {
            let error = select_methods(&request(&[typed], None, backend), false).unwrap_err();
            assert_eq!(error.kind(), trimill_system::error::Kind::Usage);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
