//! Building and running the fuzz targets. `cargo +nightly fuzz run TARGET` works too, but these
//! tasks do not require cargo-fuzz.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::process::{output, program, root, run, run_together, skip, take_option};

/// Flags that enable the coverage instrumentation for libFuzzer and the address sanitizer.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address -Ccodegen-units=1 --cfg fuzzing";

/// Maximum size in MiB of a single allocation in a fuzz target.
const MALLOC_LIMIT_MIB: u32 = 256;

/// Targets that read choices from the end of their input, each with the number of bytes it reads.
/// Each seed is extended by this number of bytes.
const CHOICES: &[(&str, usize)] = &[("asdf_edit", 3), ("asdf_write", 12)];

/// `fuzz [TARGET..] [--seconds N] [--corpus DIR]`: runs the given targets, or all of them.
pub(crate) fn fuzz(arguments: &[String]) -> Outcome {
    let (seconds, rest) = take_option(arguments, "--seconds")?;
    let seconds = seconds
        .map_or(Ok(60), |text| text.parse())
        .map_err(|error| format!("--seconds: {error}"))?;
    let (corpus, wanted) = take_option(&rest, "--corpus")?;
    run_targets(&wanted, seconds, corpus.map(PathBuf::from))
}

/// Runs every target for the given number of seconds. Skips the targets if no nightly toolchain is
/// installed.
pub(crate) fn all(seconds: u32) -> Outcome {
    run_targets(&[], seconds, None)
}

fn run_targets(wanted: &[String], seconds: u32, corpus: Option<PathBuf>) -> Outcome {
    if !has_nightly() {
        return skip(NO_NIGHTLY);
    }
    let targets = targets()?;
    if let Some(unknown) = wanted.iter().find(|name| !targets.contains(name)) {
        return Err(format!(
            "unknown fuzz target `{unknown}`: expected one of {}",
            targets.join(", ")
        ));
    }
    let binaries = build()?;
    let corpus = corpus.unwrap_or_else(|| root().join("../shared/corpus"));
    let chosen: Vec<&String> =
        targets.iter().filter(|name| wanted.is_empty() || wanted.contains(name)).collect();
    let at_once = std::thread::available_parallelism().map_or(1, NonZero::get);
    for names in chosen.chunks(at_once) {
        let mut commands = Vec::new();
        for target in names {
            let found = seed(target, &corpus)?;
            eprintln!("{target}: {found} seeds, {seconds} s");
            commands.push(target_command(target, &binaries, seconds)?);
        }
        run_together(&mut commands)?;
    }
    Ok(())
}

fn target_command(target: &str, binaries: &Path, seconds: u32) -> Result<Command, String> {
    let artifacts = root().join("fuzz/artifacts").join(target);
    create(&artifacts)?;
    let mut command = program(binaries.join(target));
    command
        .arg(root().join("fuzz/corpus").join(target))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-malloc_limit_mb={MALLOC_LIMIT_MIB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([
            "-timeout=20",
            "-rss_limit_mb=4096",
            "-max_len=65536",
            "-print_final_stats=1",
            "-verbosity=0",
        ]);
    Ok(command)
}

/// Reason for skipping a step that needs a nightly toolchain.
pub(crate) const NO_NIGHTLY: &str =
    "the nightly toolchain is not installed (rustup toolchain install nightly)";

/// Returns `true` if a nightly toolchain is installed.
pub(crate) fn has_nightly() -> bool {
    let mut cargo = program("cargo");
    output(cargo.args(["+nightly", "--version"]).env_remove("RUSTUP_TOOLCHAIN")).is_some()
}

/// Returns the names of all targets, which are the names of their source files.
fn targets() -> Result<Vec<String>, String> {
    let directory = root().join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds all targets with coverage instrumentation and the address sanitizer, like cargo-fuzz.
/// Returns the folder that contains the programs.
fn build() -> Result<PathBuf, String> {
    let host = host().ok_or("`rustc -vV` did not print the host")?;
    let mut command: Command = program("cargo");
    command
        .args([
            "+nightly",
            "build",
            "--release",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target",
            &host,
        ])
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTC")
        .env_remove("CARGO")
        .env("RUSTFLAGS", RUSTFLAGS);
    run(&mut command)?;
    Ok(root().join("fuzz/target").join(host).join("release"))
}

pub(crate) fn host() -> Option<String> {
    let version = output(program("rustc").arg("-vV"))?;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// Copies seeds into the target's own corpus, and returns their number. The seeds are the golden
/// files of the target's format and, if the shared corpus exists, its files of that format. Targets
/// of `binio` get the files of ASDF. The targets `asdf_yaml*`, `asdf_edit` and `asdf_write` also get
/// the YAML files of the shared corpus. A list of recorded cases becomes one seed per case. Other
/// files larger than 64 KiB are omitted.
fn seed(target: &str, corpus: &Path) -> Result<usize, String> {
    let seeds = root().join("fuzz/corpus").join(target);
    create(&seeds)?;
    let format = target.split('_').next().unwrap_or(target);
    let format = if format == "binio" { "asdf" } else { format };
    let mut count = 0;
    let mut folders = vec![root().join("crates/testdata").join(format), corpus.join(format)];
    let choices = CHOICES.iter().find(|(name, _)| *name == target);
    let choices = vec![0; choices.map_or(0, |(_, len)| *len)];
    if target.starts_with("asdf_yaml") || !choices.is_empty() {
        folders.push(corpus.join("yaml"));
    }
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "cases-extract.json") {
                count += seed_cases(&path, "archive", &seeds, &choices)?;
            } else if path.file_name().is_some_and(|name| name == "cases.json") {
                count += seed_cases(&path, "layout", &seeds, &choices)?;
            } else if path.file_name().is_some_and(|name| name == "suite.json") {
                count += seed_cases(&path, "yaml", &seeds, &choices)?;
            } else if path.metadata().is_ok_and(|metadata| metadata.len() <= 65536) {
                let relative = path.strip_prefix(root()).unwrap_or(&path);
                let name = relative.to_string_lossy().replace(['/', '\\', '.'], "_");
                let copied = std::fs::read(&path).and_then(|bytes| {
                    std::fs::write(seeds.join(name), [bytes, choices.clone()].concat())
                });
                copied.map_err(|error| format!("{}: {error}", path.display()))?;
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Writes a seed for each recorded case in a JSON file. The seed is the value of `member` in the
/// case. Returns the number of seeds.
fn seed_cases(list: &Path, member: &str, folder: &Path, choices: &[u8]) -> Result<usize, String> {
    let text =
        std::fs::read_to_string(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let before = format!("\"{member}\": \"");
    let cases = text.split(&before).skip(1).map(unescape);
    let mut count = 0;
    for case in cases {
        let path = folder.join(format!("case_{count}"));
        let seed = [case.as_bytes(), choices].concat();
        std::fs::write(&path, seed).map_err(|error| format!("{}: {error}", path.display()))?;
        count += 1;
    }
    Ok(count)
}

/// Decodes a JSON string up to its closing quote. Lone surrogates become U+FFFD.
fn unescape(text: &str) -> String {
    let mut units: Vec<u16> = Vec::new();
    let mut characters = text.chars();
    while let Some(mut character) = characters.next().filter(|&character| character != '"') {
        if character == '\\' {
            character = match characters.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    units.extend(u16::from_str_radix(&digits, 16));
                    continue;
                }
                Some(escaped) => escaped,
                None => break,
            };
        }
        units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

fn create(directory: &Path) -> Outcome {
    std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escapes_of_json_strings_are_decoded() {
        let text = r#"\r\n \t\b\f \"\\\/ \u2193\u0000\ud83d\ude01 é\\u00e9", "next": "x""#;
        assert_eq!(unescape(text), "\r\n \t\u{8}\u{c} \"\\/ ↓\0😁 é\\u00e9");
    }
}
