//! Workspace automation, run as `cargo xtask TASK`. The tasks call programs directly, so no shell is
//! needed.

mod bench;
mod ci;
mod fuzz;
mod golden;
mod imports;
mod msrv;
#[cfg(test)]
mod names;
mod process;
mod python;
mod sanitize;
mod targets;
mod tools;
mod web;
mod wheel;

use std::process::ExitCode;

/// The result of a task. An error is a message for the user.
type Outcome = Result<(), String>;

/// A row of the task table.
struct Task {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "test",
        arguments: "",
        about: "run all tests: unit, property, behaviour, golden file and documentation tests",
        run: ci::test,
    },
    Task {
        name: "ci",
        arguments: "",
        about: "run every check of continuous integration",
        run: ci::ci,
    },
    Task {
        name: "golden",
        arguments: "[--corpus DIR]",
        about: "compare our results with those recorded in crates/testdata and in the corpus",
        run: golden::golden,
    },
    Task {
        name: "generate",
        arguments: "[FORMAT]",
        about: "generate the golden files of crates/testdata, usually with the reference tools",
        run: python::generate,
    },
    Task {
        name: "interop",
        arguments: "[FORMAT]",
        about: "check that our programs and the reference tools read each other's files (needs python3)",
        run: python::interop,
    },
    Task {
        name: "bench",
        arguments: "[asdf|bloscpack|dudley|flux-archive] [--quick | --check]",
        about: "time our programs and the reference tools, and write BENCHMARKS.md (needs python3)",
        run: bench::bench,
    },
    Task {
        name: "fuzz",
        arguments: "[TARGET..] [--seconds N] [--corpus DIR]",
        about: "build and run the fuzz targets (needs a nightly toolchain)",
        run: fuzz::fuzz,
    },
    Task {
        name: "sanitize",
        arguments: "",
        about: "run the tests of binio and its C parts under the address sanitizer (needs nightly)",
        run: sanitize::sanitize,
    },
    Task {
        name: "miri",
        arguments: "",
        about: "run the tests of binio named miri_* in Miri, which detects undefined behaviour (needs nightly)",
        run: sanitize::miri,
    },
    Task {
        name: "examples",
        arguments: "",
        about: "run the example programs of every crate, except most benchmarks",
        run: ci::examples,
    },
    Task {
        name: "imports",
        arguments: "",
        about: "count the references between the modules of each library, and fail if modules import each other in a cycle",
        run: imports::imports,
    },
    Task {
        name: "msrv",
        arguments: "",
        about: "check every crate in the workspace with the minimum toolchain",
        run: msrv::msrv,
    },
    Task {
        name: "python",
        arguments: "",
        about: "build, install and test the wheel of the Python package (needs Python 3.11 or later)",
        run: wheel::wheel,
    },
    Task {
        name: "targets",
        arguments: "[TRIPLE]",
        about: "check that the crates compile for WebAssembly, Windows and macOS",
        run: targets::targets,
    },
    Task {
        name: "each-feature",
        arguments: "",
        about: "check each library with each of its features alone (needs python3)",
        run: tools::each_feature,
    },
    Task {
        name: "deny",
        arguments: "",
        about: "check the dependencies: licences, sources, duplicate versions and vulnerabilities (needs python3)",
        run: tools::deny,
    },
    Task {
        name: "web",
        arguments: "[--serve | --test]",
        about: "build the web page in target/web, and optionally serve it locally or test it in Chromium",
        run: web::web,
    },
    Task {
        name: "package",
        arguments: "",
        about: "check that each library can be packaged",
        run: ci::package,
    },
    Task {
        name: "assets",
        arguments: "[DIR]",
        about: "write shell completions and man pages of scibin (default target/assets)",
        run: ci::assets,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print_tasks();
        return ExitCode::from(2);
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("xtask: unknown task `{name}`");
        print_tasks();
        return ExitCode::from(2);
    };
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print_tasks() {
    eprintln!("usage: cargo xtask TASK [ARGUMENTS]\n");
    for task in TASKS {
        let call = format!("{} {}", task.name, task.arguments);
        eprintln!("  {call:<52} {}", task.about);
    }
}
