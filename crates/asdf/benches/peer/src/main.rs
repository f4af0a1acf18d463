//! Runs one task of the side-by-side benchmark with `asdf-rs`, used as in its documentation:
//! `asdf-peer TASK FILE REPETITIONS`. `cargo xtask bench asdf` builds and calls this program.

#[path = "../../measure.rs"]
mod measure;

use std::hint::black_box;

use measure::{measure, measure_writing};
use peer::{AsdfFile, Value};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, path, repetitions] = &arguments[..] else {
        return Err("usage: asdf-peer TASK FILE REPETITIONS".into());
    };
    let repetitions = repetitions.parse()?;
    if task.starts_with("write_") {
        // The builder keeps the decoded data, and compresses it again on each write, as in the
        // original file.
        let builder = AsdfFile::open(path)?.edit()?;
        let path = format!("{path}.peer");
        return measure_writing(repetitions, &path, |path| Ok(builder.write_to_path(path)?));
    }
    measure(repetitions, || once(task, path))
}

fn once(task: &str, path: &str) -> Outcome {
    let file = AsdfFile::open(path)?;
    if task.starts_with("open_") || task.starts_with("tree_") || task.starts_with("arrays_") {
        let tree = file.tree()?.ok_or("no tree")?;
        let root = tree.root().ok_or("no root")?;
        black_box(root.len());
        if task.contains("blocks") {
            black_box(file.block_count());
        }
        if task.starts_with("tree_") {
            visit(root);
        }
        if task.starts_with("arrays_") {
            for (_, value) in root.entries() {
                black_box(value.as_ndarray());
            }
        }
        return Ok(());
    }
    if task == "read_1000_blocks" {
        let tree = file.tree()?.ok_or("no tree")?;
        for (_, value) in tree.root().ok_or("no root")?.entries() {
            black_box(value.as_ndarray());
        }
        // Copying the blocks is faster than reading the arrays, whose elements are converted one by one.
        for index in 0..file.block_count() {
            black_box(file.block_data(index)?.into_owned());
        }
        return Ok(());
    }
    let path = if task == "read_block" { "array_0500" } else { "data" };
    black_box(file.read_array_f64_at(path)?);
    Ok(())
}

/// Resolves every scalar in a value.
fn visit(value: Value<'_>) {
    if value.is_mapping() {
        value.entries().for_each(|(key, value)| {
            black_box(key);
            visit(value);
        });
    } else if value.is_sequence() {
        value.items().for_each(visit);
    } else {
        let _ = black_box((value.as_f64(), value.as_str()));
    }
}
