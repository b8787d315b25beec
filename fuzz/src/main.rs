//! libFuzzer's entry: runs the target that `TRIMILL_FUZZ_TARGET` names. Built and started by `scripts/fuzz`.
#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../targets/mod.rs"]
mod targets;

use std::sync::OnceLock;

use targets::{Place, Target};

fn target() -> &'static (Place, &'static Target) {
    static TARGET: OnceLock<(Place, &'static Target)> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("TRIMILL_FUZZ_TARGET").expect("TRIMILL_FUZZ_TARGET names a target");
        let target = targets::TARGETS.iter().find(|target| target.name == name).expect("no such target");
        (Place::new(), target)
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (place, target) = target();
    place.run(target, bytes);
});
