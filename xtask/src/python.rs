//! Installing and running the reference tools. They are only installed in a virtual environment
//! under `target/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{build_programs, cargo, no_more, output, program, root, run, run_tests, skip};

/// The packages to install, in the versions with which the golden files and the published benchmark
/// results were generated.
///
/// Their dependencies are listed too, because a new release of a dependency can change the
/// behaviour of a reference tool. For example, if a merged mapping has two equal keys, `PyYAML`
/// 6.0.3 keeps the last one, but 6.0.4 keeps the first one if Python happens to store both keys as
/// the same string object.
const PACKAGES: &[&str] = &[
    "asdf==6.0.0",
    "asdf-compression==0.1.0",
    "asdf-coordinates-schemas==0.5.1",
    "asdf-standard==1.5.0",
    "asdf-transform-schemas==0.6.0",
    "attrs==26.1.0",
    "blosc==1.11.4",
    "bloscpack==0.16.0",
    "certifi==2026.10.18",
    "cftime==1.6.6.1",
    "Deprecated==1.3.1",
    "h5py==3.16.0",
    "importlib_metadata==10.2.0",
    "jmespath==1.1.0",
    "lazy-importer==0.1.0",
    "lz4==4.4.5",
    "netCDF4==1.7.5.1.post1",
    "numcodecs==0.16.6",
    "numpy==2.4.6",
    "packaging==26.3",
    "pillow==13.0.0",
    "PyYAML==6.0.3",
    "scipy==1.17.1",
    "semantic-version==2.10.0",
    "six==1.17.0",
    "typing_extensions==4.16.0",
    "wrapt==2.5.2",
    "zfpy==1.0.1",
    "zipp==4.1.2",
    "zstandard==0.25.0",
];

/// A package that is installed into a separate folder, `abacus`, without its dependencies. Only its
/// file with the ASDF extension is loaded. If the package were installed normally, its extension
/// would replace that of asdf-compression.
const ABACUS: &str = "abacusutils==2.1.2";

/// Packages from space missions and observatories, whose schemas and test files `validate.py`
/// uses. They are installed into a separate folder, `missions`, without their dependencies, which
/// would take almost a gigabyte. Only the dependencies that `roman_datamodels` imports are listed.
const MISSIONS: &[&str] = &[
    "asdf-astropy==0.11.0",
    "asdf-wcs-schemas==0.5.0",
    "astropy==8.0.2",
    "astropy-iers-data==0.2026.11.2.0.34.55",
    "dkist==1.18.1",
    "gwcs==1.0.3",
    "pyerfa==2.0.1.5",
    "rad==1.2.1",
    "roman_datamodels==1.2.0",
    "sunpy==7.0.5",
];

/// A file for `site-packages` that makes bloscpack importable.
const SHIM: &str = include_str!("../../crates/testdata/bloscpack/mutable_mapping.pth");

/// A format. The script `crates/testdata/NAME/generate.py`, if it exists, generates its golden
/// files.
struct Format {
    name: &'static str,
    /// The steps to check, in this order, that our programs and the reference tools can read each
    /// other's files.
    interop: &'static [Step],
}

/// A step of an interoperability run. All steps of a format work in the same folder.
enum Step {
    /// A Python script, which is run with the folder as its argument.
    Script(&'static str),
    /// The name of a test binary and a filter for the names of its tests. If several crates have a
    /// binary of this name, the filter applies to all of them. `SCIBIN_INTEROP` contains the path of
    /// the folder.
    Test(&'static str, &'static str),
    /// A Python script, which is run with the folder and the path of `scibin` as its arguments.
    Program(&'static str),
}

const FORMATS: &[Format] = &[
    Format {
        name: "asdf",
        interop: &[
            Step::Script("crates/asdf/tests/interop/write.py"),
            Step::Test("golden", "interop_arrays"),
            Step::Test("write", "interop"),
            Step::Script("crates/asdf/tests/interop/check.py"),
            Step::Script("crates/asdf/tests/interop/yaml_texts.py"),
            Step::Test("tree", "interop"),
            Step::Program("crates/cli/tests/interop/asdftool.py"),
            Step::Program("crates/cli/tests/interop/validate.py"),
        ],
    },
    Format {
        name: "bloscpack",
        interop: &[
            Step::Script("crates/bloscpack/tests/interop/write.py"),
            Step::Test("golden", "interop_files"),
            Step::Test("interop", "write_files_for_the_reference"),
            Step::Script("crates/bloscpack/tests/interop/check.py"),
            Step::Program("crates/cli/tests/interop/blpk.py"),
        ],
    },
    Format {
        name: "dudley",
        interop: &[
            Step::Script("crates/dudley/tests/interop/write.py"),
            Step::Test("interop", "numpy"),
            Step::Program("crates/dudley/tests/interop/data.py"),
            Step::Program("crates/dudley/tests/interop/foreign.py"),
            Step::Script("crates/dudley/tests/interop/filters.py"),
            Step::Test("interop", "filters"),
            Step::Script("crates/dudley/tests/interop/filters.py"),
        ],
    },
    Format { name: "flux", interop: &[] },
];

/// Returns the Python interpreter of the virtual environment that contains the reference tools.
/// Creates the environment if necessary. Returns `None` if python3 is not installed.
pub(crate) fn interpreter() -> Result<Option<PathBuf>, String> {
    let directory = root().join("target").join("python");
    let Some(python) = environment(&directory, PACKAGES)? else { return Ok(None) };
    let wanted = [ABACUS, &MISSIONS.join("\n"), SHIM].join("\n");
    if_changed(&directory.join("additions"), &wanted, || {
        for (folder, packages) in [("abacus", &[ABACUS][..]), ("missions", MISSIONS)] {
            run(pip_install(&python)
                .args(["--no-deps", "--target"])
                .arg(directory.join(folder))
                .args(packages))?;
        }
        write(&site_packages(&python)?.join("mutable_mapping.pth"), SHIM)
    })?;
    Ok(Some(python))
}

/// Returns the Python interpreter of the virtual environment in a folder. Creates the environment,
/// and installs the given packages in it, unless this was already done with the same packages.
/// Returns `None` if python3 is not installed.
pub(crate) fn environment(directory: &Path, packages: &[&str]) -> Result<Option<PathBuf>, String> {
    if output(program("python3").arg("--version")).is_none() {
        return Ok(None);
    }
    let python = directory.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if_changed(&directory.join("packages"), &packages.join("\n"), || {
        run(program("python3").args(["-m", "venv", "--clear"]).arg(directory))?;
        run(pip_install(&python).args(packages))
    })?;
    Ok(Some(python))
}

/// Runs a step and writes `record` to a file, unless the file already contains this record.
fn if_changed(stamp: &Path, record: &str, step: impl FnOnce() -> Outcome) -> Outcome {
    if std::fs::read_to_string(stamp).ok().as_deref() == Some(record) {
        return Ok(());
    }
    step()?;
    write(stamp, record)
}

fn pip_install(python: &Path) -> Command {
    let mut command = program(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

fn site_packages(python: &Path) -> Result<PathBuf, String> {
    let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let answer = output(program(python).args(["-c", ask]));
    answer
        .map(|path| path.trim().into())
        .ok_or_else(|| "python did not print the path of site-packages".into())
}

fn write(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// `interop [FORMAT]`: checks that our programs and the reference tools can read each other's
/// files.
pub(crate) fn interop(arguments: &[String]) -> Outcome {
    let formats = wanted(arguments)?;
    let Some(python) = interpreter()? else {
        return skip("python3 is not installed");
    };
    for format in formats {
        let directory = root().join("target").join("interop").join(format.name);
        create(&directory)?;
        for step in format.interop {
            match step {
                Step::Script(script) => run(program(&python).arg(script).arg(&directory))?,
                Step::Test(binary, filter) => {
                    run_tests(binary, filter, Some(("SCIBIN_INTEROP", &directory)))?;
                }
                Step::Program(script) => {
                    let scibin = build_programs()?.join("scibin");
                    run(program(&python).arg(script).arg(&directory).arg(scibin))?;
                }
            }
        }
    }
    Ok(())
}

/// `generate [FORMAT]`: generates the golden files. For a format without a generator, the golden
/// tests record our own results for review.
pub(crate) fn generate(arguments: &[String]) -> Outcome {
    for format in wanted(arguments)? {
        let directory = root().join("crates/testdata").join(format.name);
        let script = directory.join("generate.py");
        if script.is_file() {
            let python = interpreter()?.ok_or("python3 is not installed")?;
            run(program(&python).arg(script).arg(&directory))?;
        } else {
            let package = format!("scibin-{}", format.name);
            let test = ["test", "--package", &package, "--all-features", "--test", "golden"];
            run(cargo(&test).env("SCIBIN_RECORD", "1"))?;
        }
    }
    Ok(())
}

/// Returns the format named by the argument, or all formats if there is no argument.
fn wanted(arguments: &[String]) -> Result<&'static [Format], String> {
    let Some((name, rest)) = arguments.split_first() else { return Ok(FORMATS) };
    no_more(rest)?;
    let at = FORMATS.iter().position(|format| format.name == name);
    at.map(|at| &FORMATS[at..=at])
        .ok_or_else(|| format!("unknown format `{name}`: expected asdf, bloscpack, dudley or flux"))
}

fn create(directory: &Path) -> Outcome {
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}
