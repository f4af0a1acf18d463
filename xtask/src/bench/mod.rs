//! Side-by-side benchmarks, in which the reference tools and our programs take turns on the same
//! files.

mod report;

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{cargo, no_more, program, root, run, take_flag};
use crate::python;

/// The benchmark of a format: `crates/NAME/benches/side_by_side.py`. Its arguments are the path of
/// a folder and the paths of our programs.
struct Bench {
    name: &'static str,
    /// Our programs, each as a package and an example. The names of the examples are unique,
    /// because all examples are built into the same folder.
    programs: &'static [(&'static str, &'static str)],
    /// The folder and name of a program that runs third-party readers. The benchmark script receives
    /// the path of this program after the paths of ours. The program has its own workspace, to keep
    /// the third-party readers out of our dependencies.
    peer: Option<(&'static str, &'static str)>,
    /// Python packages of peers that are not reference tools, in an environment of their own. The
    /// benchmark script receives the path of the interpreter as its last argument.
    packages: &'static [&'static str],
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "asdf",
        programs: &[("scibin-asdf", "bench_tasks")],
        peer: Some(("crates/asdf/benches/peer", "asdf-peer")),
        packages: &[],
    },
    Bench {
        name: "bloscpack",
        programs: &[("scibin-bloscpack", "bloscpack_tasks"), ("scibin-binio", "blosc_speed")],
        peer: None,
        packages: &["blosc2==4.14.1", "numpy==2.4.6"],
    },
    Bench {
        name: "dudley",
        programs: &[("scibin-dudley", "dudley_tasks")],
        peer: None,
        packages: &[],
    },
    Bench {
        name: "flux-archive",
        programs: &[("scibin-flux-archive", "flux_tasks")],
        peer: None,
        packages: &[],
    },
];

/// `bench [FORMAT] [--quick | --check]`: runs the benchmark of one format or of all formats.
/// `--quick` uses small files and few repetitions, just to check that the benchmark runs. `--check`
/// fails if a ratio is more than a tenth below its floor. Without a flag, writes `BENCHMARKS.md`.
/// For a format that was not run, the file contains the ratios of its last full run, if `target`
/// still has them.
pub(crate) fn bench(arguments: &[String]) -> Outcome {
    let (quick, rest) = take_flag(arguments, "--quick");
    let (check, rest) = take_flag(&rest, "--check");
    if quick && check {
        return Err(
            "--check cannot be combined with --quick, because floors do not apply to small files"
                .to_owned(),
        );
    }
    let (benches, rest) = match rest.split_first() {
        None => (BENCHES, &[][..]),
        Some((name, rest)) => {
            let Some(index) = BENCHES.iter().position(|bench| bench.name == name) else {
                let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
                let names = names.join(", ");
                return Err(format!("unknown format `{name}`: expected one of {names}"));
            };
            (&BENCHES[index..=index], rest)
        }
    };
    no_more(rest)?;
    let python = python::interpreter()?
        .ok_or("python3 is not installed, but the reference tools need it")?;
    touch_memory();
    for bench in benches {
        compare(bench, &python, quick)?;
    }
    if quick {
        Ok(())
    } else if check {
        report::check(&ratios(benches)?)
    } else {
        report::write(&ratios(BENCHES)?)
    }
}

/// Returns the ratios of the last full run of each benchmark. Skips benchmarks without a full run.
fn ratios(benches: &[Bench]) -> Result<Vec<report::Ratio>, String> {
    let mut ratios = Vec::new();
    for bench in benches {
        let path = folder(bench).join("full/ratios.tsv");
        if path.exists() {
            ratios.extend(report::read(bench.name, &path)?);
        }
    }
    Ok(ratios)
}

/// Returns the folder for the files of a benchmark.
fn folder(bench: &Bench) -> PathBuf {
    root().join("target").join("bench").join(bench.name)
}

/// Runs the benchmark of one format.
fn compare(bench: &Bench, python: &Path, quick: bool) -> Outcome {
    let mut command = program(python);
    command.arg(format!("crates/{}/benches/side_by_side.py", bench.name)).arg(folder(bench));
    for (package, example) in bench.programs {
        command.arg(build(package, example)?);
    }
    if let Some((folder, name)) = bench.peer {
        command.arg(build_peer(folder, name)?);
    }
    if !bench.packages.is_empty() {
        let peers = python::environment(&folder(bench).join("python"), bench.packages)?;
        command.arg(peers.ok_or("python3 is not installed")?);
    }
    if quick {
        command.arg("--quick");
    }
    run(&mut command)
}

/// Amount of memory in bytes that the largest tasks use.
const TOUCHED: usize = 4 << 30;

/// Writes to as much memory as the tasks use, then frees it. On a virtual machine, the host has to
/// supply each page on its first use, which would otherwise slow down whichever side runs first.
fn touch_memory() {
    let mut memory: Vec<u8> = Vec::new();
    if memory.try_reserve_exact(TOUCHED).is_ok() {
        memory.resize(TOUCHED, 1);
        std::hint::black_box(&mut memory);
    }
}

/// Builds an example in release mode and returns its path.
fn build(package: &str, example: &str) -> Result<PathBuf, String> {
    let options = ["build", "--release", "--all-features", "--package", package];
    run(cargo(&options).args(["--example", example]))?;
    Ok(root().join("target/release/examples").join(example))
}

/// Builds a program in a separate workspace in release mode and returns its path.
fn build_peer(folder: &str, name: &str) -> Result<PathBuf, String> {
    let target = root().join("target/bench/peer");
    let manifest = root().join(folder).join("Cargo.toml");
    let options = ["build", "--release", "--locked"];
    run(cargo(&options).arg("--manifest-path").arg(manifest).arg("--target-dir").arg(&target))?;
    Ok(target.join("release").join(name))
}
