//! A comparison small enough to be checked by hand, for tests.

use super::*;

fn run(kernel: f64, copy: Option<f64>, triangles: u128) -> BenchRun {
    BenchRun {
        kernel_seconds: kernel,
        copy_seconds: copy,
        preprocess_seconds: None,
        seconds: 2.0 * kernel,
        device_bytes: Bytes::mib(3),
        host_bytes: Bytes::mib(5),
        triangles,
    }
}

fn method(name: &str, backend: Backend, runs: &[BenchRun]) -> MethodReport {
    let mut report = MethodReport::new(MethodName { method: name.into(), backend });
    report.runs = runs.to_vec();
    report.warmed_up = true;
    report.triangles = runs.first().map(|run| run.triangles).into_iter().collect();
    report.correct = runs.first().map(|run| run.triangles == 7);
    report.counted_by = runs.first().map(|_| name.into());
    report
}

/// 1000 edges, 4000 probes, the baseline's kernels 2 s.
pub fn example() -> BenchReport {
    let baseline = MethodName { method: "slow".into(), backend: Backend::Cpu };
    let copied = [0.5, 0.3, 0.4, 0.2].map(|kernel| run(kernel, Some(0.1), 7));
    let mut auto = method("auto", Backend::Cuda, &copied);
    auto.counted_by = Some("swift".into());
    let mut late = method("late", Backend::Cuda, &[]);
    late.problem = Some(Reason { kind: "timeout".into(), message: "stopped after 60 s".into() });
    let slow = method("slow", Backend::Cpu, &[run(2.0, None, 7)]);
    let odd = method("odd <&>", Backend::Cpu, &[run(20.0, None, 8)]);
    let mut methods: Vec<MethodReport> =
        [auto, slow, odd, late].into_iter().map(|method| method.complete(1000, 4000)).collect();
    (methods[0].kernel_speedup, methods[0].speedup) = (Some(2.0 / 0.35), Some(4.0 / 0.7));
    BenchReport {
        schema_version: 1,
        version: "0.0.0".into(),
        machine: BenchMachine {
            processor: "Abacus".into(),
            cores: 4,
            memory: Bytes::mib(64),
            gpus: vec!["Loom".into(), "Loom".into()],
        },
        settings: BenchSettings { runs: 4, timeout_seconds: 60.0, ..BenchSettings::default() },
        baseline,
        graphs: vec![GraphReport {
            graph: "graphs/some & more.txt".into(),
            vertices: 100,
            edges: 1000,
            probes: 4000,
            triangles: Some(7),
            reference: Some("--expect".into()),
            preparation: vec![Stage { name: "cached".into(), ..Stage::default() }],
            problem: None,
            methods,
        }],
    }
}
