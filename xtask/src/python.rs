//! The reference tools: a virtual environment of their own under `target/`, so that nothing is
//! installed anywhere else.

use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::process::{cargo, no_more, output, program, root, run};

/// What is installed, with the versions that the golden files and figures come from.
const PACKAGES: &[&str] = &["asdf==6.0.0", "lz4", "numpy>=2,<3"];

/// The interpreter of the virtual environment, made on first use; nothing where there is no python3.
pub(crate) fn interpreter() -> Result<Option<PathBuf>, String> {
    if output(program("python3").arg("--version")).is_none() {
        return Ok(None);
    }
    let directory = root().join("target").join("python");
    let python = directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = directory.join("packages");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        run(program("python3").args(["-m", "venv", "--clear"]).arg(&directory))?;
        run(program(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(PACKAGES))?;
        std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(Some(python))
}

/// Reads arrays of every datatype, byte order, stride and mask that the reference writes.
pub(crate) fn interop(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let Some(python) = interpreter()? else {
        eprintln!("skipped: no python3 here");
        return Ok(());
    };
    let directory = root().join("target").join("interop");
    script(&python, "crates/asdf/tests/interop/write.py", &directory)?;
    let test = ["test", "--package", "asdf", "--all-features", "--test", "golden"];
    run(cargo(&test).args(["interop", "--", "--nocapture"]).env("SCIBIN_INTEROP", &directory))
}

/// Makes the golden files anew.
pub(crate) fn generate(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    let python = interpreter()?.ok_or("no python3 here")?;
    script(&python, "crates/testdata/asdf/generate.py", &root().join("crates/testdata/asdf"))
}

fn script(python: &Path, script: &str, directory: &Path) -> Outcome {
    std::fs::create_dir_all(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    run(program(python).arg(script).arg(directory))
}
