//! The stages one by one, for this package's own tests and fuzz targets.

pub use trimill_graph as graph;
pub use trimill_input as input;
pub use trimill_partitioners::{partition, spill};
pub use trimill_system::{bytes, child, control, disk, error, expected, memory, sealed};

macro_rules! stages {
    ($($stage:ident)*) => {
        $(
            pub mod $stage {
                pub use crate::$stage::*;
            }
        )*
    };
}

stages! {
    bench cache clean cluster count directions edges execute job names orient outputs paths plan prepare rates report run_dir shards
    stream sums table vertices
}
