//! The stages one by one, for this package's own tests, benchmarks and fuzz targets.

macro_rules! stages {
    ($($stage:ident)*) => {
        $(
            #[allow(missing_docs)]
            pub mod $stage {
                pub use crate::$stage::*;
            }
        )*
    };
}

stages! {
    assign bench bytes cache clean cluster control count disk edges engine error execute generate graph input job mapped memory orient outputs partition
    pipeline plan prepare rates report request run_dir sealed shards spill stream table text threads vertices
}
