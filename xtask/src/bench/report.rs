//! Reading and checking the ratios of all benchmarks, and writing them to `BENCHMARKS.md`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, thread};

use crate::Outcome;
use crate::process::{output, program, root};

/// The path of the document that lists the ratios.
const DOCUMENT: &str = "BENCHMARKS.md";

/// A ratio must reach this fraction of its floor. The fraction is below 1, because measurements
/// vary.
const TOLERANCE: f64 = 0.9;

/// A comparison of our program with a peer.
#[derive(Debug, PartialEq)]
pub(super) struct Ratio {
    format: &'static str,
    work: String,
    peer: String,
    /// The time of the peer divided by our time.
    value: f64,
    /// The floor of the ratio, or `None` if the ratio has no floor.
    floor: Option<f64>,
    /// Our peak memory in MiB, if it was measured.
    peak: Option<f64>,
}

/// Reads the ratios that the benchmark of a format has written.
pub(super) fn read(format: &'static str, path: &Path) -> Result<Vec<Ratio>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let ratio = |line| {
        parse(format, line).ok_or_else(|| {
            format!("{}: expected five fields separated by tabs, found {line:?}", path.display())
        })
    };
    text.lines().map(ratio).collect()
}

/// Parses a line that contains the work, the peer, the ratio, the floor and the peak memory. The
/// last two may be empty.
fn parse(format: &'static str, line: &str) -> Option<Ratio> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [work, peer, value, floor, peak] = fields[..] else { return None };
    let optional =
        |field: &str| if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) };
    Some(Ratio {
        format,
        work: work.to_owned(),
        peer: peer.to_owned(),
        value: value.parse().ok()?,
        floor: optional(floor)?,
        peak: optional(peak)?,
    })
}

/// Fails if a ratio is more than a tenth below its floor.
pub(super) fn check(ratios: &[Ratio]) -> Outcome {
    let is_missed =
        |ratio: &&Ratio| ratio.floor.is_some_and(|floor| ratio.value < TOLERANCE * floor);
    let mut missed = String::new();
    for Ratio { format, work, peer, value, floor, .. } in ratios.iter().filter(is_missed) {
        let floor = floor.unwrap_or_default();
        let _ = write!(
            missed,
            "\n{format}: {work}: the ratio to {peer} is {value:.2}, but the floor is {floor:.2}"
        );
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("ratios below their floors:{missed}")) }
}

/// Writes `BENCHMARKS.md`.
pub(super) fn write(ratios: &[Ratio]) -> Outcome {
    let path = root().join(DOCUMENT);
    let text = document(ratios, &machine());
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the Markdown text of the document.
fn document(ratios: &[Ratio], machine: &str) -> String {
    let mut text = format!(
        "# Benchmarks\n\n\
         Measured by `cargo xtask bench` on {machine}.\n\n\
         A ratio is the time of the peer divided by our time, so our program is faster if the ratio is above 1.\n\
         The peer and our program take turns in the same run.\n\
         `cargo xtask bench --check` requires each ratio to reach its floor, with a tolerance of a tenth.\n\
         The last column is the peak memory of our program in MiB.\n\
         The script `crates/FORMAT/benches/side_by_side.py` describes the work that each row measures, and also prints times.\n\n\
         | format | work | peer | ratio | floor | MiB |\n|---|---|---|---|---|---|\n"
    );
    let optional = |value: Option<f64>, digits| {
        value.map_or_else(String::new, |value| format!("{value:.digits$}"))
    };
    for Ratio { format, work, peer, value, floor, peak } in ratios {
        let (floor, peak) = (optional(*floor, 2), optional(*peak, 0));
        let _ = writeln!(text, "| {format} | {work} | {peer} | {value:.2} | {floor} | {peak} |");
    }
    text
}

/// Describes this machine: its processor, memory and Rust toolchain.
fn machine() -> String {
    let value = |path: &str, name: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = value("/proc/cpuinfo", "model name")
        .unwrap_or_else(|| format!("an unknown {} processor", env::consts::ARCH));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let memory = value("/proc/meminfo", "MemTotal")
        .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
        .map_or_else(String::new, |kib| format!(", {} GiB of memory", kib >> 20));
    let rust = output(program("rustc").arg("--version")).unwrap_or_default();
    format!("{cores} cores of {processor}{memory}, with {}", rust.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios() -> Vec<Ratio> {
        let lines = ["read 1 GiB\tPython\t1.5\t2\t12.6", "open\tasdf-rs\t0.95\t1\t"];
        lines.iter().map(|line| parse("asdf", line).unwrap()).collect()
    }

    #[test]
    fn a_ratio_more_than_a_tenth_below_its_floor_fails_the_check() {
        assert_eq!(check(&ratios()[1..]), Ok(()));
        let message = "ratios below their floors:\nasdf: read 1 GiB: the ratio to Python is 1.50, \
                       but the floor is 2.00";
        assert_eq!(check(&ratios()), Err(message.to_owned()));
    }

    #[test]
    fn the_document_has_a_row_for_each_ratio() {
        let text = document(&ratios(), "a machine");
        let rows: Vec<&str> = text.lines().rev().take(2).collect();
        assert_eq!(
            rows,
            [
                "| asdf | open | asdf-rs | 0.95 | 1.00 |  |",
                "| asdf | read 1 GiB | Python | 1.50 | 2.00 | 13 |",
            ]
        );
    }

    #[test]
    fn a_line_without_five_valid_fields_is_rejected() {
        assert_eq!(parse("asdf", "read\tPython\t1.5\t2"), None);
        assert_eq!(parse("asdf", "read\tPython\tfast\t\t"), None);
    }
}
