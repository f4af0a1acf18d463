//! Random damage: repair must not lose any array that could be read before, unless it reports the
//! loss.
//!
//! `SCIBIN_DAMAGE_CASES` sets the number of cases per file, and `SCIBIN_DAMAGE_SEED` seeds the
//! random numbers. With `SCIBIN_CORPUS` set, the files of the corpus are also damaged.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use asdf::ndarray::{ByteOrder, Order};
use asdf::save::repair::{RecoverOptions, RecoverReport, recover};
use asdf::{Asdf, External, Limits, OpenOptions};

use crate::bytes_of;

/// Maximum size of a test file in bytes. Larger files would take too long for many cases.
const MAX_LEN: usize = 100_000;

/// A generator of pseudorandom numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap();
        usize::try_from((self.next() >> 11) % bound).unwrap()
    }
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Returns the data of each readable array, by pointer.
fn arrays(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let limits = Limits::default().max_alloc(16 << 20).max_decoded(16 << 20);
    let options = OpenOptions::new().external(External::Deny).limits(limits);
    let mut found = BTreeMap::new();
    let Ok(file) = options.from_bytes(bytes.to_vec()) else { return found };
    let Ok(nodes) = file.nodes() else { return found };
    for node in nodes {
        let read = node.ndarray().and_then(|array| array.read_bytes(Order::C, ByteOrder::Stored));
        if let (Some(pointer), Ok(data)) = (node.to_pointer(), read) {
            found.insert(pointer, data);
        }
    }
    found
}

fn repair(bytes: &[u8]) -> Option<(Vec<u8>, RecoverReport)> {
    let mut out = Cursor::new(Vec::new());
    let options = RecoverOptions::new().limits(Limits::default().max_alloc(16 << 20));
    let report = recover(Arc::new(bytes.to_vec()), &mut out, &options).ok()?;
    Some((out.into_inner(), report))
}

/// Repairs a damaged file. An array that was readable before must have the same data afterwards, or
/// the data of the good file, unless the report lists the array or the tree as lost. Returns a
/// description of the first violation, or `None` if there is no violation or the file cannot be
/// repaired.
fn broken_promise(good: &BTreeMap<String, Vec<u8>>, damaged: &[u8]) -> Option<String> {
    let before = arrays(damaged);
    let (repaired, report) = repair(damaged)?;
    let after = arrays(&repaired);
    let is_tree_lost =
        report.lost.iter().any(|loss| loss.block.is_none() && loss.pointers.is_empty());
    let is_named = |pointer: &String| {
        report.lost.iter().any(|loss| loss.pointers.contains(pointer)) || is_tree_lost
    };
    for (pointer, data) in &before {
        let now = after.get(pointer);
        let is_kept = now == Some(data);
        // The repair may have corrected data that was wrong before.
        let is_mended =
            now.is_some() && now == good.get(pointer) && good.get(pointer) != Some(data);
        if !is_kept && !is_mended && !is_named(pointer) {
            let len = now.map(Vec::len);
            return Some(format!(
                "{pointer}: {} bytes before, {len:?} after: {report:?}",
                data.len()
            ));
        }
    }
    None
}

/// Damages a file in one of several realistic ways. Returns the kind of damage and the damaged
/// bytes.
fn damage(good: &[u8], random: &mut Random) -> (&'static str, Vec<u8>) {
    let mut bytes = good.to_vec();
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            ("a flipped bit", bytes)
        }
        1 => {
            // Flip a bit in the header of a block.
            let headers: Vec<usize> = good
                .windows(4)
                .enumerate()
                .filter(|(_, four)| *four == b"\xd3BLK")
                .map(|(at, _)| at)
                .collect();
            if !headers.is_empty() {
                let at = headers[random.below(headers.len())] + random.below(54);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            ("a flipped bit in a header", bytes)
        }
        2 => {
            bytes.truncate(at);
            ("a truncation", bytes)
        }
        3 => {
            wrong_index(&mut bytes, random);
            ("a wrong index entry", bytes)
        }
        4 => {
            let len = 1 + random.below(120);
            let inserted: Vec<u8> = (0..len).map(|_| random.next().to_le_bytes()[0]).collect();
            bytes.splice(at..at, inserted);
            ("inserted bytes", bytes)
        }
        5 => {
            let end = bytes.len().min(at + 1 + random.below(120));
            bytes.drain(at..end);
            ("removed bytes", bytes)
        }
        6 => {
            let converted = bytes.iter().flat_map(|&byte| match byte {
                b'\n' => vec![b'\r', b'\n'],
                byte => vec![byte],
            });
            ("LF converted to CR LF", converted.collect())
        }
        _ => {
            let is_kept = |at: &usize| bytes[*at] != b'\r' || bytes.get(at + 1) != Some(&b'\n');
            let kept = (0..bytes.len()).filter(is_kept).map(|at| bytes[at]).collect();
            ("CR LF converted to LF", kept)
        }
    }
}

/// Adds a random number from -100 to 100 to one entry of the index.
fn wrong_index(bytes: &mut Vec<u8>, random: &mut Random) {
    let header = b"#ASDF BLOCK INDEX";
    let Some(start) = bytes.windows(header.len()).rposition(|text| text == header) else { return };
    let text = String::from_utf8_lossy(&bytes[start..]).into_owned();
    let entries = text.lines().filter(|line| line.starts_with("- ")).count();
    let changed = random.below(entries);
    let delta = i64::try_from(random.below(201)).unwrap() - 100;
    let mut number = 0;
    let lines = text.lines().map(|line| {
        let Some(Ok(entry)) = line.strip_prefix("- ").map(str::parse::<i64>) else {
            return format!("{line}\n");
        };
        number += 1;
        let entry = if number == changed + 1 { entry + delta } else { entry };
        format!("- {}\n", entry.max(0))
    });
    let text: String = lines.collect();
    bytes.truncate(start);
    bytes.extend(text.into_bytes());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "asdf") {
            files.push(path);
        }
    }
}

/// Returns the golden files, and the files of the corpus if there is one.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&testdata::path("asdf"), &mut files);
    if let Some(corpus) = std::env::var_os("SCIBIN_CORPUS") {
        collect(&Path::new(&corpus).join("asdf"), &mut files);
    }
    files.sort();
    files
}

#[test]
fn repair_keeps_every_readable_array_or_reports_its_loss() {
    let cases = from_environment("SCIBIN_DAMAGE_CASES", 4);
    let seed = from_environment("SCIBIN_DAMAGE_SEED", 1);
    let (mut tried, mut broken) = (0, Vec::new());
    for (number, path) in (1_u64..).zip(files()) {
        let good = std::fs::read(&path).unwrap();
        if good.is_empty() || good.len() > MAX_LEN {
            continue;
        }
        let expected = arrays(&good);
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(number).max(1));
        for case in 0..cases {
            let (kind, damaged) = damage(&good, &mut random);
            tried += 1;
            if let Some(promise) = broken_promise(&expected, &damaged) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                broken.push(format!("{name}, case {case}, {kind}: {promise}"));
            }
        }
    }
    println!("{tried} damaged files");
    assert!(broken.is_empty(), "{} of {tried}:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn repair_changes_no_array_if_an_index_entry_is_off_by_up_to_100() {
    // Unless many cases are requested, test only some of the wrong entries, because testing all of
    // them takes several seconds.
    let step = if from_environment("SCIBIN_DAMAGE_CASES", 4) < 100 { 11 } else { 1 };
    for name in ["datatypes_little", "compressed_zlib", "padded", "records"] {
        let good = std::fs::read(testdata::path(&format!("asdf/{name}.asdf"))).unwrap();
        let file = Asdf::from_bytes(good.clone()).unwrap();
        let offsets: Vec<u64> = file.blocks().iter().map(|block| block.unwrap().offset()).collect();
        let Some(index) = &file.layout().index else { continue };
        let head = &good[..usize::try_from(index.offset).unwrap()];
        let (expected, (whole, _)) = (arrays(&good), repair(&good).unwrap());
        for number in 0..offsets.len() {
            for delta in
                (-100..=100_i64).filter(|&delta| delta != 0 && delta.abs() % step == 1 % step)
            {
                let entries = offsets.iter().enumerate().map(|(at, &offset)| {
                    let wrong = if at == number { delta } else { 0 };
                    format!("- {}\n", offset.saturating_add_signed(wrong))
                });
                let entries: Vec<String> = entries.collect();
                let text = format!("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n{}", entries.concat());
                let damaged = [head, text.as_bytes(), b"...\n"].concat();
                let context = format!("{name}: entry {number} off by {delta}");
                assert_eq!(arrays(&damaged), expected, "{context}");
                let (repaired, report) = repair(&damaged).unwrap();
                assert!(report.lost.is_empty(), "{context}: {:?}", report.lost);
                assert!(repaired == whole, "{context}");
            }
        }
    }
}

/// Creates a file with three arrays in blocks without checksums.
fn without_checksums() -> Vec<u8> {
    let mut tree = asdf::Tree::default();
    for name in ["/a", "/b", "/c"] {
        let text = b"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n".repeat(3);
        let len = text.len() as u64;
        tree.set(name, asdf::value::Array::from_slice(&text, &[len]).unwrap()).unwrap();
    }
    let options = asdf::WriteOptions::new().checksum(false);
    bytes_of(&asdf::Writer::new(tree).options(options))
}

#[test]
fn repair_does_not_undo_a_line_ending_conversion_that_only_a_wrong_index_suggests() {
    let good = without_checksums();
    let file = Asdf::from_bytes(good.clone()).unwrap();
    let second = file.blocks().get(1).unwrap().offset();
    // Insert 15 bytes after the first block, which contains 15 lines. The second block now begins
    // 15 bytes after the offset in the index, as if a conversion had added a byte to each line.
    let mut bytes = good.clone();
    let at = usize::try_from(second).unwrap();
    bytes.splice(at..at, [b'x'; 15]);
    assert_eq!(broken_promise(&arrays(&good), &bytes), None);
    let (repaired, _) = repair(&bytes).unwrap();
    assert_eq!(arrays(&repaired), arrays(&good));
}
