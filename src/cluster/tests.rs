use std::process::Command;

use super::*;

fn job(shards: u32) -> ClusterJob {
    let shards = NonZeroU32::new(shards).unwrap();
    ClusterJob { shards, partitions: Bytes(6 << 30), peels: false, merge: Bytes::mib(18) }
}

fn cluster(engine: Scheduler, asked: ClusterTable) -> ClusterTable {
    ClusterTable { engine: Some(engine), ..asked }
}

fn without_gpus(engine: Scheduler) -> ClusterTable {
    cluster(engine, ClusterTable { gpus_per_task: Some(0), ..ClusterTable::default() })
}

fn written(cluster: &ClusterTable, job: ClusterJob) -> Vec<String> {
    let dir = tempfile::Builder::new().prefix("run").tempdir().unwrap();
    let report = write(cluster, dir.path(), Path::new("/usr/bin/trimill"), job, false).unwrap();
    report.files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn every_value_is_filled_in_and_lines_without_one_are_left_out() {
    let all = ClusterTable {
        time: Some("4:00:00".into()),
        partition: Some("gpu".into()),
        account: Some("graphs".into()),
        memory: Some(Bytes(64 << 30)),
        at_once: NonZeroU32::new(8),
        sbatch: Some(vec!["module load 'cuda/12'".into(), "#SBATCH --qos=@TIME@".into(), "#SBATCH -C h100".into()]),
        merge_partition: Some("cpu".into()),
        merge_sbatch: Some(vec!["#SBATCH --qos=short".into(), "export A='$B'".into()]),
        ..ClusterTable::default()
    };
    let all = cluster(Scheduler::Slurm, all);
    let texts = written(&all, job(20));
    assert_eq!(texts.len(), 3);
    let [count, merge] = [0, 1].map(|at| texts[at].lines().collect::<Vec<&str>>());
    let at = |script: &[&str], line: &str| {
        script.iter().position(|found| *found == line).unwrap_or_else(|| panic!("{line} is not in {script:#?}"))
    };
    for line in ["--array=0-19%8", "--time=4:00:00", "--partition=gpu", "--account=graphs", "--gres=gpu:1"] {
        at(&count, &format!("#SBATCH {line}"));
    }
    for line in ["--time=1:00:00", "--partition=cpu", "--account=graphs"] {
        at(&merge, &format!("#SBATCH {line}"));
    }
    for script in [&count, &merge] {
        at(script, "#SBATCH --mem=65536M");
        assert!(script.join(" ").contains("--host-memory 49152MiB"), "{script:#?}");
    }
    // Slurm reads directives up to the first command; if two contradict each other, the later one applies.
    let order = ["#SBATCH --gres=gpu:1", "#SBATCH --qos=@TIME@", "#SBATCH -C h100", "module load 'cuda/12'"];
    assert!(order.map(|line| at(&count, line)).is_sorted());
    assert!(["#SBATCH --mem=65536M", "#SBATCH --qos=short", "export A='$B'"].map(|line| at(&merge, line)).is_sorted());
    assert!(!texts[1].contains("gpu"), "{}", texts[1]);

    let none = without_gpus(Scheduler::Slurm);
    let [count, merge] = [0, 1].map(|at| written(&none, job(3))[at].clone());
    assert!(count.contains("\n#SBATCH --array=0-2\n") && merge.contains("\n#SBATCH --time=1:00:00\n"));
    for option in ["--time", "--partition", "--account", "--gres"] {
        assert!(!count.contains(&format!("#SBATCH {option}")), "{option}");
    }
    // Four cores of 8 GiB each; partitions of 6 GiB need only 16 GiB.
    assert!(count.contains("#SBATCH --mem=32768M\n") && count.contains("--host-memory 24576MiB"), "{count}");
    // A merge that peels may take as long as a task.
    let peels = ClusterJob { peels: true, ..job(3) };
    assert!(!written(&none, peels)[1].contains("--time") && written(&all, peels)[1].contains("--time=4:00:00"));
    // It gets the memory that it needs, and tasks get no more than before.
    let large = ClusterJob { merge: Bytes(100 << 30) + Bytes(1), ..peels };
    for table in [&none, &all] {
        let [count, merge] = [0, 1].map(|at| written(table, large)[at].clone());
        assert!(merge.contains("\n#SBATCH --mem=136536M\n") && merge.contains("--host-memory 102402MiB\n"), "{merge}");
        let memory =
            |script: &str| script.lines().filter(|line| line.contains("--mem")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(memory(&count), memory(&written(table, peels)[0]));
    }
}

#[test]
fn the_files_of_hq_have_the_same_length_for_any_number_of_shards() {
    for memory in [None, Some(Bytes::mib(24))] {
        let some = cluster(Scheduler::Hq, ClusterTable { memory, ..ClusterTable::default() });
        let [few, many] = [10, shards::MOST_SHARDS].map(|shards| written(&some, job(shards)));
        for (few, many) in few.iter().zip(&many) {
            assert_eq!(few.lines().count(), many.lines().count());
        }
        let [count, merge]: [toml::Table; 2] = [0, 1].map(|at| many[at].parse().unwrap());
        assert_eq!(count["array"]["ids"].as_str(), Some("0-1048575"));
        let asked =
            |task: &toml::Value, what: &str| task["request"][0]["resources"].get(what).map(|n| n.as_integer().unwrap());
        assert_eq!(asked(&count["array"], "gpus/nvidia"), Some(1));
        assert_eq!(asked(&merge["task"][0], "gpus/nvidia"), None);
        for task in [&count["array"], &merge["task"][0]] {
            assert_eq!((asked(task, "cpus"), asked(task, "mem")), (Some(4), memory.map(|_| 24)));
        }
        let large = written(&some, ClusterJob { merge: Bytes::mib(30), ..job(10) });
        let merge: toml::Table = large[1].parse().unwrap();
        assert_eq!(asked(&merge["task"][0], "mem"), memory.map(|_| 40));
        let of_both = format!("memory, memory_of_merge = {} ", if memory.is_some() { "24, 40" } else { "0, 0" });
        assert!(large[3].contains(&of_both), "{}", large[3]);
    }
}

/// Runs a script of bash in which `srun` runs the words behind its options; returns the program's arguments.
fn words_of(script: &Path, folder: &Path) -> Vec<String> {
    let bash = "srun() { while [ \"${1#--}\" != \"$1\" ]; do shift; done; \"$@\"; }; . \"$0\"";
    let mut command = Command::new("bash");
    command.env("SLURM_ARRAY_TASK_ID", "1").env("SLURM_CPUS_PER_TASK", "3").current_dir(folder);
    words(command.args(["-c", bash]).arg(script))
}

fn words(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    said.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn nothing_in_a_path_is_interpreted() {
    let odd = [
        "@RUN@@TIME@", "a b", "$(touch bad)`touch bad`", "'\"", "#SBATCH -n 9", "x;touch bad&", "two\nlines", "*?[a]~",
        "\u{7f}\u{e9}\u{1f600}", "-x",
    ];
    let dir = tempfile::Builder::new().prefix("run").tempdir().unwrap();
    let folders = odd
        .iter()
        .map(|folder| dir.path().join(folder))
        .chain([odd.iter().fold(dir.path().to_path_buf(), |path, folder| path.join(folder))]);
    let program = dir.path().join("it's %A\\n%{CWD} \"$(touch bad)");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\0' \"$0\" \"$@\"\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for run in folders {
        std::fs::create_dir_all(&run).unwrap();
        let [shown, called] = [&run, &program].map(|path| path.to_str().unwrap().to_owned());

        let slurm = write(&without_gpus(Scheduler::Slurm), &run, &program, job(2), false).unwrap();
        let how = ["--threads", "3", "--host-memory", "24576MiB"];
        let count = ["count", "--run-dir", &shown, "--shard", "1/2", "--backend", "cpu"];
        assert_eq!(words_of(&slurm.files[0], dir.path())[..], [&[&called[..]], &count[..], &how].concat());
        assert_eq!(words_of(&slurm.files[1], dir.path())[..], [&[&called[..], "merge", &shown], &how[..]].concat());
        for file in &slurm.files[..2] {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.lines().all(|line| !line.starts_with("#SBATCH") || !line.contains('/')), "{text}");
        }

        // Both commands that submit run in the directory of their files: here with stand-ins for the schedulers.
        let stand_in = run.join("bin");
        std::fs::create_dir_all(&stand_in).unwrap();
        let script =
            "#!/bin/sh\nfor last; do :; done\ncase $last in *.*) test -f \"$last\" || exit 9 ;; esac\necho 7\n";
        for name in ["sbatch", "hq"] {
            let path = stand_in.join(name);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let submitted = |command: &str| {
            let path = format!("PATH={}:$PATH; {command}", for_shell(stand_in.to_str().unwrap()));
            let output = Command::new("bash").args(["-c", &path]).current_dir(dir.path()).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.contains(" is job 7"), "{said}{errors}");
        };
        submitted(&slurm.commands[0]);

        let hq = write(&without_gpus(Scheduler::Hq), &run, &program, job(2), false).unwrap();
        submitted(&hq.commands[0]);
        let texts: Vec<String> = hq.files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let [count_file, merge_file]: [toml::Table; 2] = [0, 1].map(|at| texts[at].parse().unwrap());
        let how = ["--threads", "4", "--host-memory", "24576MiB"];
        for (task, expected) in [(&count_file["array"], &count[..]), (&merge_file["task"][0], &["merge", &shown])] {
            let command: Vec<&str> =
                task["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            let said =
                words(Command::new(command[0]).args(&command[1..]).env("HQ_TASK_ID", "1").current_dir(dir.path()));
            assert_eq!(said[..], [&[&called[..]], expected, &how].concat());
            assert_eq!(task["cwd"].as_str(), run.join("hq").to_str());
        }
        let line = texts[3].lines().find(|line| line.starts_with("run = ")).unwrap();
        assert_eq!(line.parse::<toml::Table>().unwrap()["run"].as_str(), Some(&shown[..]));
        assert!(!run.join("bad").exists() && !dir.path().join("bad").exists());
    }
}

#[test]
fn what_scripts_would_misread_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let some = ClusterTable::default();
    let many = ClusterTable { cpus_per_task: NonZeroU32::new(128), ..some.clone() };
    let refused = |asked: ClusterTable, folder: &Path| {
        write(&asked, folder, Path::new("trimill"), job(1), false).unwrap_err().to_string()
    };
    for (asked, word) in [
        (ClusterTable { partition: Some("a;rm".into()), ..some.clone() }, "partition 'a;rm'"),
        (ClusterTable { merge_time: Some("1 hour".into()), ..some.clone() }, "'1 hour'"),
        (ClusterTable { memory: Some(Bytes(1)), ..some.clone() }, "at least 24.0 MiB (25165824 bytes)"),
        (ClusterTable { memory: Some(Bytes::mib(63)), ..many }, "at least 64.0 MiB"),
        (ClusterTable { sbatch: Some(vec!["--qos=a".into()]), ..some.clone() }, "#SBATCH --qos=long"),
        (ClusterTable { merge_sbatch: Some(vec!["a\nb".into()]), ..some.clone() }, "one line"),
    ] {
        let error = refused(cluster(Scheduler::Slurm, asked), dir.path());
        assert!(error.contains(word), "{error}");
    }
    for (engine, folder) in [(Scheduler::Slurm, "50%"), (Scheduler::Slurm, "a\\b"), (Scheduler::Hq, "%{JOB_ID}")] {
        let error = refused(cluster(engine, some.clone()), &dir.path().join(folder));
        assert!(error.contains("rename the directory"), "{folder}: {error}");
    }
    let not_text: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff");
    let error = refused(cluster(Scheduler::Slurm, some), &dir.path().join(not_text));
    assert!(error.contains("not UTF-8"), "{error}");
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
}
