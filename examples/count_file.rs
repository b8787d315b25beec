//! Counts the triangles of a file within budgets, and says what to do if they are too small.
//!
//!     cargo run --release --example count_file FILE [DEVICE-MEMORY]

#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use trimill::{Backend, Bytes, Graph, Options};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("expected a file of edges, and the most memory for counting, such as 64MiB");
        return ExitCode::from(2);
    };
    let budget: Bytes = match arguments.next().unwrap_or_else(|| "64MiB".into()).parse() {
        Ok(budget) => budget,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let options = Options::new().backend(Backend::Cpu).device_memory(budget).without_cache();
    match Graph::from_file(file).count(&options) {
        Ok(counted) => {
            println!("{} triangles, counted in {} partitions", counted.triangles, counted.parts);
            for partition in &counted.partitions {
                assert!(partition.counted().peak_bytes <= budget, "a budget is never exceeded");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            match (error.bytes_wanted(), error.path(), error.line()) {
                (Some(bytes), ..) => eprintln!("enough would be {bytes}"),
                (None, Some(path), Some(line)) => eprintln!("look at line {line} of {}", path.display()),
                _ => {}
            }
            ExitCode::FAILURE
        }
    }
}
