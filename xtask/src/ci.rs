//! The gates of continuous integration. Quick gates run first, so that errors are reported early.

use std::fs::File;
use std::time::Instant;

use crate::process::{build_programs, cargo, no_more, program, root, run};
use crate::{Outcome, fuzz, msrv, python, sanitize, targets, tools, web, wheel};

/// Number of seconds for which `ci` runs each fuzz target.
const CI_FUZZ_SECONDS: u32 = 5;

/// `test`: runs all tests: unit, property, behaviour, golden file and documentation tests.
pub(crate) fn test(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    run(&mut cargo(&["test", "--workspace", "--all-features"]))
}

/// A check, which returns an error message if it fails.
type Gate = fn() -> Outcome;

/// `ci`: runs all gates.
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
        ("dependencies", || tools::deny(&[])),
        ("tests", || test(&[])),
        ("program as shipped", || run(&mut cargo(&["test", "--package", "scibin"]))),
        ("features", features),
        ("each feature", || tools::each_feature(&[])),
        ("documentation", documentation),
        ("examples", || examples(&[])),
        ("assets", || assets(&[])),
        ("minimum toolchain", || msrv::msrv(&[])),
        ("other systems", || targets::targets(&[])),
        ("web page", web::test),
        ("packages", || package(&[])),
        ("interoperability", || python::interop(&[])),
        ("Python package", || wheel::wheel(&[])),
        ("address sanitizer", || sanitize::sanitize(&[])),
        ("miri", || sanitize::miri(&[])),
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

/// Tests the libraries without their default features, and some of them with a single feature. The
/// four format libraries are tested in one run, in which `binio` has the features that any of them
/// needs. The gate "each feature" checks that each library also compiles alone.
fn features() -> Outcome {
    let formats = ["scibin-asdf", "scibin-bloscpack", "scibin-dudley", "scibin-flux-archive"];
    for (packages, features) in [
        (&["scibin-binio"][..], ""),
        (&["scibin-binio"], "blosc"),
        (&formats, ""),
        (&["scibin-dudley"], "read"),
        (&["scibin-flux-archive"], "sqlite"),
    ] {
        let packages = packages.iter().flat_map(|package| ["--package", package]);
        let mut command = cargo(&["test", "--no-default-features", "--features", features]);
        run(command.args(["--lib", "--tests"]).args(packages))?;
    }
    Ok(())
}

fn documentation() -> Outcome {
    run(cargo(&["doc", "--workspace", "--no-deps", "--all-features"])
        .env("RUSTDOCFLAGS", "-D warnings"))
}

/// `examples`: runs the examples of all crates, but of the benchmark programs only `dudley_tasks`.
/// Most of the examples read golden files.
pub(crate) fn examples(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let file = "crates/testdata/asdf/science.asdf";
    let made = root().join("target/examples");
    let _ = std::fs::remove_dir_all(&made);
    std::fs::create_dir_all(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    let path = |name: &str| made.join(name).display().to_string();
    let (log, backup, restored) = (path("log.blp"), path("backup"), path("restored"));
    let layout = "crates/testdata/dudley/layouts/scopes.dud";
    let folder = build_programs()?.join("examples");
    for (example, arguments) in [
        ("scan_and_digest", &[file, "#ASDF BLOCK INDEX"][..]),
        ("cases", &[][..]),
        ("read_array", &[file, "/image/data"][..]),
        ("sensor_log", &[&*log, "5000"][..]),
        ("sensor_log", &[&*log][..]),
        ("dudley_tasks", &["resolve", layout, "1"][..]),
        ("dudley_tasks", &["locate_one", layout, "1", "/sub/b"][..]),
        ("list_archive", &["crates/testdata/flux/untidy.json"][..]),
        ("backup", &["save", "crates/testdata/flux", &*backup][..]),
        ("backup", &["save", "crates/testdata/flux", &*backup][..]),
        ("backup", &["restore", &*backup, &*restored][..]),
    ] {
        run(program(folder.join(example)).args(arguments))?;
    }
    Ok(())
}

/// `package`: creates the package that would be published for each library. Does not build the
/// packages, because the other gates have built the libraries.
pub(crate) fn package(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let mut command = cargo(&["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for package in
        ["scibin-binio", "scibin-asdf", "scibin-bloscpack", "scibin-dudley", "scibin-flux-archive"]
    {
        command.args(["--package", package]);
    }
    run(&mut command)
}

/// `assets [DIR]`: writes shell completions and man pages.
pub(crate) fn assets(arguments: &[String]) -> Outcome {
    let directory = match arguments {
        [] => root().join("target").join("assets"),
        [directory] => root().join(directory),
        [_, rest @ ..] => return no_more(rest),
    };
    let scibin = build_programs()?.join("scibin");
    run(program(&scibin).arg("man").arg(&directory))?;
    for (shell, file) in [
        ("bash", "scibin.bash"),
        ("elvish", "scibin.elv"),
        ("fish", "scibin.fish"),
        ("powershell", "_scibin.ps1"),
        ("zsh", "_scibin"),
    ] {
        let path = directory.join(file);
        let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        run(program(&scibin).args(["completions", shell]).stdout(file))?;
    }
    Ok(())
}
