//! Counts at vertices as a Parquet table: columns `id` and `triangles` (unsigned 64 bits), `degree` (unsigned 32 bits) and
//! `local_clustering` (double), none of them null; zstd. Row groups are encoded by all threads and written in order.
