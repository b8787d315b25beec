use clap::Parser;

use crate::cli::Cli;
use crate::commands::tests::{folder, run};
use trimill::program::{Tables, key_of};

#[test]
fn advice_for_a_job_names_the_key_of_its_file() {
    let (_guard, dir) = folder();
    std::fs::write(dir.join("b.toml"), "[[job]]\ninput.path='g.txt'\ncache.enabled=false\nmemory.device='1'\n")
        .unwrap();
    let memory = run(&dir, "run @/b.toml");
    assert!(memory.err.contains("raise --device-memory"), "{}", memory.err);
    assert!(memory.err.contains("in a job file --device-memory is `memory.device`"), "{}", memory.err);
    // Could be a header or an arc: --header is named twice.
    std::fs::write(dir.join("l.txt"), "3 2\n3 1\n3 2\n").unwrap();
    std::fs::write(dir.join("b.toml"), "[[job]]\ninput.path='l.txt'\ncache.enabled=false\n").unwrap();
    let header = run(&dir, "run @/b.toml").err;
    let told = header.lines().filter_map(|line| line.strip_prefix("error: ")).collect::<String>();
    assert_eq!(told.matches("in a job file --header is `input.header`").count(), 1, "{header}");
    // Before a job begins.
    std::fs::write(dir.join("b.toml"), "[[job]]\ninput={path='g.txt',format='bin-u32',header='yes'}\n").unwrap();
    let refused = run(&dir, "run @/b.toml").end.unwrap_err().to_string();
    assert!(refused.contains("--header for a file") && refused.contains("is `input.header`"), "{refused}");
}

#[test]
fn every_flag_of_a_job_has_a_key() {
    let tables = serde_json::to_value(Tables::default()).unwrap();
    let job = <Tables as clap::Args>::augment_args(clap::Command::new("job"));
    let flags: Vec<String> = job.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    assert!(flags.len() > 40, "{flags:?}");
    for flag in flags {
        let key = key_of(&flag).unwrap_or_else(|| panic!("{flag}"));
        assert!(tables.pointer(&format!("/{}", key.replace('.', "/"))).is_some(), "{flag}: {key}");
    }
    assert_eq!(key_of("--metis-contract").as_deref(), Some("partition.metis.contract"));
    assert_eq!([key_of("--features"), key_of("--path")], [None, None]);
}

/// So that the settings in a report can repeat the job.
#[test]
fn a_seed_is_one_that_a_job_file_can_hold() {
    let typed = |seed: &str| Cli::try_parse_from(["trimill", "count", "g", "--seed", seed]);
    assert!(typed("9223372036854775807").is_ok());
    let error = typed("9223372036854775808").unwrap_err().to_string();
    assert!(error.contains("'--seed <SEED>'") && error.contains("0..=9223372036854775807"), "{error}");
}
