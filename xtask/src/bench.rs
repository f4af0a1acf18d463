//! Side-by-side benchmarks: the reference and ours in one run, in turns, on the same files.

use crate::Outcome;
use crate::process::{cargo, no_more, program, root, run, take_flag};
use crate::python;

/// `bench asdf [--quick]`: `--quick` takes small files and few repetitions, to see that it runs.
pub(crate) fn bench(arguments: &[String]) -> Outcome {
    let (quick, rest) = take_flag(arguments, "--quick");
    match rest.split_first() {
        Some((format, rest)) if format == "asdf" => {
            no_more(rest)?;
            asdf(quick)
        }
        _ => Err("expected the format: asdf".to_owned()),
    }
}

fn asdf(quick: bool) -> Outcome {
    let python =
        python::interpreter()?.ok_or("no python3 here, and it is what we are compared with")?;
    run(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "asdf",
        "--all-features",
        "--example",
        "bench_tasks",
    ]))?;
    let directory = root().join("target").join("bench");
    let ours = root().join("target/release/examples/bench_tasks");
    let mut command = program(python);
    command.arg("crates/asdf/benches/side_by_side.py").arg(&directory).arg(ours);
    if quick {
        command.arg("--quick");
    }
    run(&mut command)
}
