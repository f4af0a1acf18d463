//! Runs the cases of an `expected.json`: opens each file, and compares its tree, blocks, arrays,
//! diagnostics and checksums with the expectation.

use std::path::Path;

use asdf::block::ChecksumVerdict;
use asdf::ndarray::{ByteOrder, Order};
use asdf::tree::json::Options;
use asdf::{Asdf, NdArray, OpenOptions, Strictness};
use binio::checksum::Algorithm;
use serde_json::{Map, Value, json};
use testdata::Case;

/// Runs the cases, and fails with a list of those that differ. `held_wrong` lists the cases that
/// must differ, each with the reason. If such a case does not differ, its entry is out of date, and
/// the run fails.
pub(crate) fn run(list: &Path, held_wrong: &[(&str, &str)]) {
    let cases = testdata::cases(list);
    let mut failures = Vec::new();
    for case in &cases {
        let reason =
            held_wrong.iter().find(|(name, _)| *name == case.name).map(|(_, reason)| reason);
        match (check(case), reason) {
            (Ok(()), None) => {}
            (Err(difference), Some(reason)) => {
                eprintln!("{}: differs, as listed, because {reason}: {difference}", case.name);
            }
            (Ok(()), Some(_)) => {
                failures.push(format!("{}: agrees, although it is listed as different", case.name));
            }
            (Err(difference), None) => failures.push(format!("{}: {difference}", case.name)),
        }
    }
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    for (name, _) in held_wrong {
        if !names.contains(name) {
            failures.push(format!("{name}: listed as different, but no case has this name"));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
    eprintln!("{}: {} cases agree", list.display(), cases.len() - held_wrong.len());
}

fn check(case: &Case) -> Result<(), String> {
    let ours = &case.ours;
    let file = match Asdf::open(&case.file) {
        Ok(file) => file,
        Err(_) if ours["tree"] == "error" => return Ok(()),
        Err(error) => return Err(format!("does not open: {error}")),
    };
    if let Some(expected) = ours["nblocks"].as_u64() {
        let found = file.blocks().len().map_err(|error| format!("blocks: {error}"))? as u64;
        if found != expected {
            return Err(format!("expected {expected} blocks, found {found}"));
        }
    }
    match (ours["tree"].as_str(), tree_value(&file)) {
        (Some("error"), Ok(value)) => {
            return Err(format!("expected an error, the tree is {value}"));
        }
        (Some("error" | "any"), Err(_)) | (Some("any"), Ok(_)) => {}
        (_, Err(error)) => return Err(format!("tree: {error}")),
        (_, Ok(value)) => {
            if let Some(expected) = ours.get("value") {
                let found = without_library(value, expected);
                testdata::difference(expected, &found)
                    .map_or(Ok(()), |text| Err(format!("tree: {text}")))?;
            }
        }
    }
    for (pointer, expected) in ours["arrays"].as_object().unwrap_or(&Map::new()) {
        check_array(&file, pointer, expected).map_err(|text| format!("array {pointer}: {text}"))?;
    }
    check_diagnostics(&file, ours)?;
    check_checksums(&file, ours)?;
    check_salvage(case)
}

/// Returns the JSON form of the tree.
fn tree_value(file: &Asdf) -> Result<Value, String> {
    let mut text = Vec::new();
    let root = file.tree().map_err(|error| error.to_string())?;
    root.write_json(&mut text, &Options::default()).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("our JSON: {error}"))
}

/// Removes the library and the history from the tree, unless the case expects them.
fn without_library(mut value: Value, expected: &Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        for key in ["asdf_library", "history"] {
            if expected.get(key).is_none() {
                map.shift_remove(key);
            }
        }
    }
    value
}

fn check_array(file: &Asdf, pointer: &str, expected: &Value) -> Result<(), String> {
    let found = array_facts(file, pointer);
    if expected.get("error").is_some() {
        return match found {
            Err(_) => Ok(()),
            Ok(facts) => Err(format!("expected an error ({}), found {facts}", expected["error"])),
        };
    }
    let found = found?;
    for key in ["shape", "sha256", "mask", "dtype"] {
        let Some(wanted) = expected.get(key) else { continue };
        let wanted = if key == "dtype" { little(wanted) } else { wanted.clone() };
        if let Some(text) = testdata::difference(&wanted, &found[key]) {
            return Err(format!("{key}{text}"));
        }
    }
    Ok(())
}

/// Describes an array by its dtype, shape and mask, and by the digest of its bytes in C order and
/// little-endian byte order, with masked elements set to zero.
fn array_facts(file: &Asdf, pointer: &str) -> Result<Value, String> {
    let facts = || -> asdf::Result<Value> {
        let array = file.tree()?.pointer(pointer)?.ndarray()?;
        let mut bytes = array.read_bytes(Order::C, ByteOrder::Little)?;
        let mask = array.mask()?;
        if let Some(mask) = &mask {
            let size = bytes.len() / mask.len().max(1);
            for (element, _) in
                bytes.chunks_mut(size.max(1)).zip(mask).filter(|(_, masked)| **masked)
            {
                element.fill(0);
            }
        }
        Ok(json!({
            "dtype": dtype(&array),
            "shape": array.shape(),
            "sha256": Algorithm::Sha256.digest(&bytes).to_string(),
            "mask": mask,
        }))
    };
    facts().map_err(|error| error.to_string())
}

/// Returns the datatype in numpy's notation, with little-endian byte order.
pub(crate) fn dtype(array: &NdArray<'_>) -> Value {
    little(&array.datatype().descr_json())
}

/// Converts a dtype to little-endian byte order, because the expected digests are of little-endian
/// data.
fn little(dtype: &Value) -> Value {
    match dtype {
        Value::String(text) if text.starts_with('>') => Value::String(text.replacen('>', "<", 1)),
        Value::Array(items) => items.iter().map(little).collect(),
        other => other.clone(),
    }
}

/// Checks that every diagnostic code of the case is reported.
fn check_diagnostics(file: &Asdf, ours: &Value) -> Result<(), String> {
    let Some(expected) = ours["diagnostics"].as_array() else { return Ok(()) };
    let found: Vec<String> =
        file.diagnostics().iter().map(|diagnostic| diagnostic.code.to_string()).collect();
    for code in expected.iter().filter_map(Value::as_str) {
        if !found.iter().any(|other| other == code) {
            return Err(format!("diagnostic {code} is missing, found {found:?}"));
        }
    }
    Ok(())
}

fn check_checksums(file: &Asdf, ours: &Value) -> Result<(), String> {
    let Some(expected) = ours["verify"].as_bool() else { return Ok(()) };
    let verdicts = file.blocks().verify_all().map_err(|error| error.to_string())?;
    let pass = verdicts.iter().all(|verdict| matches!(verdict, Ok(verdict) if !matches!(verdict, ChecksumVerdict::Mismatch { .. })));
    if pass == expected {
        Ok(())
    } else {
        Err(format!("checksums: expected pass {expected}, found {verdicts:?}"))
    }
}

/// Checks the number of blocks found by salvaging, if the case states it.
fn check_salvage(case: &Case) -> Result<(), String> {
    let Some(expected) = case.ours["salvaged"].as_u64() else { return Ok(()) };
    let file = OpenOptions::new()
        .strictness(Strictness::Salvage)
        .open(&case.file)
        .map_err(|error| error.to_string())?;
    let found = file.blocks().len().map_err(|error| error.to_string())? as u64;
    if found == expected {
        Ok(())
    } else {
        Err(format!("salvage: expected {expected} blocks, found {found}"))
    }
}
