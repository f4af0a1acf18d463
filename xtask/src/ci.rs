//! The gates, in the order in which they fail fastest.

use std::time::Instant;

use crate::process::{cargo, no_more, root, run};
use crate::{Outcome, fuzz, golden, msrv, python};

/// How long each fuzz target runs in `ci`.
const CI_FUZZ_SECONDS: u32 = 10;

/// Every test: units, properties, behaviour, golden files, documentation.
pub(crate) fn test(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    run(&mut cargo(&["test", "--workspace", "--all-features"]))
}

/// A check that passes or says why not.
type Gate = fn() -> Outcome;

/// Every gate.
pub(crate) fn ci(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let gates: &[(&str, Gate)] = &[
        ("format", || run(&mut cargo(&["fmt", "--all", "--check"]))),
        ("lints", || {
            run(&mut cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ]))
        }),
        ("tests", || test(&[])),
        ("features", features),
        ("documentation", documentation),
        ("golden files", || golden::golden(&[])),
        ("examples", || examples(&[])),
        ("assets", || assets(&[])),
        ("minimum toolchain", || msrv::msrv(&[])),
        ("interoperability", || python::interop(&[])),
        ("fuzz targets", || fuzz::all(CI_FUZZ_SECONDS)),
    ];
    let begin = Instant::now();
    for (name, gate) in gates {
        let start = Instant::now();
        eprintln!("\n== {name}");
        gate().map_err(|error| format!("{name}: {error}"))?;
        eprintln!("== {name}: passed in {:.0} s", start.elapsed().as_secs_f64());
    }
    eprintln!("\nall {} gates passed in {:.0} s", gates.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

/// Each library alone and without its default features, as a user with one dependency builds it, and
/// the features that stand for themselves.
fn features() -> Outcome {
    for (package, features) in [
        ("scibin-binio", ""),
        ("scibin-binio", "blosc"),
        ("scibin-asdf", ""),
        ("scibin-bloscpack", ""),
        ("scibin-flux-archive", ""),
        ("scibin-flux-archive", "sqlite"),
    ] {
        run(&mut cargo(&[
            "test",
            "--package",
            package,
            "--no-default-features",
            "--features",
            features,
            "--lib",
            "--tests",
        ]))?;
    }
    Ok(())
}

fn documentation() -> Outcome {
    run(cargo(&["doc", "--workspace", "--no-deps", "--all-features"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// The examples, each with arguments that make it do its work on a golden file.
pub(crate) fn examples(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let file = "crates/testdata/asdf/science.asdf";
    let chunks = "crates/testdata/bloscpack/v3/codec_blosclz_0_1.blp";
    let layout = "crates/testdata/dudley/layouts/scopes.dud";
    for (package, example, arguments) in [
        ("scibin-binio", "scan_and_digest", &[file, "#ASDF BLOCK INDEX"][..]),
        ("testdata", "cases", &[][..]),
        ("scibin-asdf", "read_array", &[file, "/image/data"][..]),
        ("scibin-bloscpack", "pack_file", &[file, "target/science.blp"][..]),
        ("scibin-bloscpack", "unpack_file", &[chunks][..]),
        ("scibin-bloscpack", "pack_file", &[file, "target/science.blp", "lz4"][..]),
        ("scibin-dudley", "dudley_tasks", &["resolve", layout, "1"][..]),
        ("scibin-dudley", "dudley_tasks", &["locate_one", layout, "1", "/sub/b"][..]),
        ("scibin-flux-archive", "list_archive", &["crates/testdata/flux/untidy.json"][..]),
    ] {
        run(cargo(&["run", "--quiet", "--package", package, "--example", example, "--"])
            .args(arguments))?;
    }
    Ok(())
}

/// Shell completions and man pages.
pub(crate) fn assets(arguments: &[String]) -> Outcome {
    let directory = match arguments {
        [] => root().join("target").join("assets"),
        [directory] => directory.into(),
        [_, rest @ ..] => return no_more(rest),
    };
    run(cargo(&["run", "--quiet", "--package", "scibin", "--example", "assets", "--"])
        .arg(directory))
}
