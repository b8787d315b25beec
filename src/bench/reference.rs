//! The reference count, which every other count must equal.

use crate::report::bench::{GraphReport, MethodName};

pub(super) struct Reference {
    pub(super) triangles: u128,
    pub(super) from: String,
}

/// Compares every run's count with `given`, else with the baseline's, else with the first method's that has a count.
pub(super) fn judge(report: &mut GraphReport, given: Option<Reference>, baseline: &MethodName) {
    let counted = |method: &&crate::report::bench::MethodReport| !method.triangles.is_empty();
    let base = report.methods.iter().find(|method| method.name() == *baseline).filter(counted);
    let first = report.methods.iter().find(counted);
    let reference = given.or_else(|| {
        base.or(first).map(|method| Reference { triangles: method.triangles[0], from: method.name().to_string() })
    });
    let Some(reference) = reference else { return };
    for method in &mut report.methods {
        let right = method.triangles.iter().all(|&triangles| triangles == reference.triangles);
        method.correct = (!method.triangles.is_empty()).then_some(right);
    }
    (report.triangles, report.reference) = (Some(reference.triangles), Some(reference.from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Backend;
    use crate::report::bench::MethodReport;

    fn name(method: &str) -> MethodName {
        MethodName { method: method.into(), backend: Backend::Cpu }
    }

    fn judged(counts: &[&[u128]], given: Option<u128>) -> (Option<u128>, Vec<Option<bool>>) {
        let methods = counts.iter().zip(["a", "base", "c"]).map(|(counts, method)| {
            let mut report = MethodReport::new(name(method));
            report.triangles = counts.to_vec();
            report
        });
        let mut report = GraphReport { methods: methods.collect(), ..GraphReport::default() };
        judge(&mut report, given.map(|triangles| Reference { triangles, from: "x".into() }), &name("base"));
        (report.triangles, report.methods.iter().map(|method| method.correct).collect())
    }

    #[test]
    fn the_known_count_comes_first_then_the_baselines_then_the_firsts() {
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(judged(&[&[7], &[8], &[8]], Some(7)), (Some(7), vec![yes, no, no]));
        assert_eq!(judged(&[&[7], &[8], &[8]], None), (Some(8), vec![no, yes, yes]));
        assert_eq!(judged(&[&[7], &[], &[8]], None), (Some(7), vec![yes, None, no]));
        assert_eq!(judged(&[&[], &[], &[]], None), (None, vec![None; 3]));
    }

    #[test]
    fn one_run_that_differs_is_enough() {
        assert_eq!(judged(&[&[7], &[7], &[7, 8]], None).1[2], Some(false));
    }
}
