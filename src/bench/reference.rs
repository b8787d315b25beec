//! The reference count, which every other count must equal.

use crate::report::bench::{GraphReport, MethodName, MethodReport};

/// Compares every run's count with the reference; if the report has none yet, it is the baseline's count, else that of the first method with a count.
pub(super) fn judge(report: &mut GraphReport, baseline: &MethodName) {
    let counted = |method: &&MethodReport| !method.triangles.is_empty();
    if report.triangles.is_none() {
        let base = report.methods.iter().find(|method| method.name() == *baseline).filter(counted);
        let Some(by) = base.or_else(|| report.methods.iter().find(counted)) else { return };
        (report.triangles, report.reference) = (Some(by.triangles[0]), Some(by.name().to_string()));
    }
    let reference = report.triangles;
    for method in report.methods.iter_mut().filter(|method| !method.triangles.is_empty()) {
        method.correct = Some(method.triangles.iter().all(|&triangles| Some(triangles) == reference));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Backend;

    fn name(method: &str) -> MethodName {
        MethodName { method: method.into(), backend: Backend::Cpu }
    }

    fn judged(counts: &[&[u128]], given: Option<u128>) -> (Option<u128>, Vec<Option<bool>>) {
        let methods = counts.iter().zip(["a", "base", "c"]).map(|(counts, method)| {
            let mut report = MethodReport::new(name(method));
            report.triangles = counts.to_vec();
            report
        });
        let mut report = GraphReport { methods: methods.collect(), triangles: given, ..GraphReport::default() };
        judge(&mut report, &name("base"));
        (report.triangles, report.methods.iter().map(|method| method.correct).collect())
    }

    #[test]
    fn the_known_count_comes_first_then_the_baselines_then_the_firsts() {
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(judged(&[&[7], &[8], &[8]], Some(7)), (Some(7), vec![yes, no, no]));
        assert_eq!(judged(&[&[7], &[8], &[8]], None), (Some(8), vec![no, yes, yes]));
        assert_eq!(judged(&[&[7], &[], &[8]], None), (Some(7), vec![yes, None, no]));
        assert_eq!(judged(&[&[], &[], &[]], None), (None, vec![None; 3]));
        assert_eq!(judged(&[&[7], &[7], &[7, 8]], None).1[2], no, "one run that differs is enough");
    }
}
