//! Runs one task of the side-by-side benchmark several times, and prints the times as JSON:
//! `bench_tasks TASK FILE REPETITIONS`. For the task `nodes`, FILE is the number of nodes in a tree
//! that is created in memory. `cargo xtask bench asdf` calls this program.

#[path = "../benches/measure.rs"]
mod measure;

use std::fmt::Write as _;
use std::hint::black_box;

use asdf::block::ChecksumVerdict;
use asdf::save::{EditOptions, Editor, Method};
use asdf::value::Array;
use asdf::yaml::{Document, ParseOptions, YamlNode};
use asdf::{Asdf, OpenOptions, Tree, Verify, WriteOptions, Writer};
use measure::{measure, measure_writing, status_bytes};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, path, repetitions] = &arguments[..] else {
        return Err("usage: bench_tasks TASK FILE REPETITIONS".into());
    };
    let repetitions: usize = repetitions.parse()?;
    if task == "nodes" {
        return nodes(path.parse()?, repetitions);
    }
    if task == "edit_tree_1gib" {
        return measure(repetitions, || edit_tree(path));
    }
    if task.starts_with("edit_") {
        return measure(repetitions, || edit_number(path));
    }
    if let Some(task) = task.strip_prefix("write_") {
        let writer = prepared_writer(task, path)?;
        return measure_writing(repetitions, &format!("{path}.ours"), |path| write(&writer, path));
    }
    let view = prepared_view(task, path)?;
    measure(repetitions, || match &view {
        Some(file) => read_view(file, task),
        None => once(task, path),
    })
}

/// Measures how long it takes to parse a tree of about `count` nodes. First prints, as JSON, the
/// number of nodes and the growth of the resident memory in bytes.
fn nodes(count: usize, repetitions: usize) -> Outcome {
    let text = tree_text(count);
    let options = ParseOptions::default();
    let parse = || Document::parse(text.as_bytes(), &options, &mut Vec::new());
    let before = status_bytes("VmRSS:");
    let document = parse()?;
    let taken = status_bytes("VmRSS:").saturating_sub(before);
    let nodes = document.node_count();
    println!("{{\"nodes\": {nodes}, \"bytes\": {taken}}}");
    drop(document);
    measure(repetitions, || {
        black_box(parse()?);
        Ok(())
    })
}

/// Returns the text of a tree like the one in the task `tree_10000_nodes`: each group contains 25
/// entries of five nodes.
fn tree_text(count: usize) -> String {
    let mut text = "%YAML 1.1\n---\n".to_owned();
    for group in 0..count.div_ceil(127) {
        let _ = writeln!(text, "group_{group:06}:");
        for key in 0..25u32 {
            let number = f64::from(key) / 7.0;
            let _ = writeln!(text, "  key_{key:02}: [{group}, {number:?}, text {key}]");
        }
    }
    text
}

/// Returns options for opening files. As in the reference implementation, checksums are not
/// verified by default, but only if the name of the task begins with `checked_`.
fn options(task: &str) -> OpenOptions {
    let is_checked = task.starts_with("checked_");
    OpenOptions::new().verify(if is_checked { Verify::OnRead } else { Verify::Never })
}

/// Opens the file of a task with strided or complex arrays, as a memory map if possible. As for the
/// reference implementation, opening the file is not part of the measured time. Returns `None` for
/// other tasks.
fn prepared_view(task: &str, path: &str) -> Result<Option<Asdf>, asdf::Error> {
    if task.starts_with("strided_") || task.starts_with("complex_") {
        let options = options(task);
        #[cfg(feature = "mmap")]
        let options = options.mmap(true);
        options.open(path).map(Some)
    } else {
        Ok(None)
    }
}

/// Returns a writer for the content of a file. The arrays are read into memory first, and the name
/// of the task determines the compression.
fn prepared_writer(task: &str, path: &str) -> Result<Writer<'static>, asdf::Error> {
    let file = options(task).open(path)?;
    let mut tree = Tree::from_file(&file, 0)?;
    for (key, node) in file.tree()?.entries() {
        if node.is_ndarray() {
            let array = Array::from_file(&node.ndarray()?)?;
            tree.set(&format!("/{}", key.to_key()?), array)?;
        }
    }
    let mut options = WriteOptions::new();
    if let Some(Ok(compression)) = task.split('_').next().map(str::parse) {
        options = options.compression(compression);
    }
    Ok(Writer::new(tree).options(options))
}

/// Writes without waiting for the disk, like the reference implementation.
fn write(writer: &Writer<'_>, path: &str) -> Outcome {
    let file = std::io::BufWriter::with_capacity(64 << 10, std::fs::File::create(path)?);
    black_box(writer.write_to(file)?.len);
    Ok(())
}

/// Changes one number in a file, and waits for the disk.
fn edit_number(path: &str) -> Outcome {
    let mut editor = Editor::open(path)?;
    let now = editor.tree()?.document().root().get("gain").and_then(YamlNode::as_i64);
    editor.set("/gain", &Tree::new(if now == Some(1) { 2 } else { 1 }))?;
    if editor.commit()?.method != Method::Patched {
        return Err("changing one number took more than one write".into());
    }
    Ok(())
}

/// Changes a long text in a large tree with enough padding, in place, and waits for the disk.
fn edit_tree(path: &str) -> Outcome {
    let mut editor = EditOptions::new().in_place(true).open(path)?;
    let text = editor.tree()?.document().root().get("text").and_then(YamlNode::as_str);
    let is_short = text.is_some_and(|text| text.starts_with("short"));
    let text = if is_short { "much longer ".repeat(800) } else { "short ".repeat(700) };
    editor.set("/text", &Tree::new(text))?;
    if editor.commit()?.method != Method::InPlace {
        return Err("the tree was not changed in place".into());
    }
    Ok(())
}

fn once(task: &str, path: &str) -> Outcome {
    let file = options(task).open(path)?;
    if task.starts_with("open_") || task.starts_with("tree_") || task.starts_with("arrays_") {
        black_box(file.tree()?.len());
        if task.contains("blocks") {
            black_box(file.blocks().len()?);
        }
        if task.starts_with("tree_") {
            for node in file.nodes()? {
                let _ = black_box(node.value());
            }
        }
        if task.starts_with("arrays_") {
            for (_, node) in file.tree()?.entries().filter(|(_, node)| node.is_ndarray()) {
                black_box(node.ndarray()?.len());
            }
        }
    } else if task.starts_with("verify_") {
        for verdict in file.blocks().verify_all()? {
            if verdict? != ChecksumVerdict::Stored {
                return Err("a checksum does not match".into());
            }
        }
    } else if task == "many_zlib_blocks" {
        for decoded in file.blocks().decode_all()? {
            black_box(decoded?.len());
        }
    } else if task == "read_1000_blocks" {
        for (_, node) in file.tree()?.entries().filter(|(_, node)| node.is_ndarray()) {
            black_box(node.ndarray()?.read::<f64>()?);
        }
    } else {
        let pointer = if task == "read_block" { "/array_0500" } else { "/data" };
        let array = file.tree()?.pointer(pointer)?.ndarray()?;
        match array.datatype().itemsize() {
            2 => drop(black_box(array.read::<i16>()?)),
            _ => drop(black_box(array.read::<f64>()?)),
        }
    }
    Ok(())
}

fn read_view(file: &Asdf, task: &str) -> Outcome {
    let key = match task {
        "strided_step" => "step",
        "strided_transposed" => "transposed",
        "strided_reversed" => "reversed",
        "strided_big_endian" => "big_step",
        "complex_big_endian" => "complex_big",
        _ => "complex_step",
    };
    let array = file.tree()?.pointer(&format!("/{key}"))?.ndarray()?;
    if task.starts_with("complex_") {
        black_box(array.read::<num_complex::Complex<f64>>()?);
    } else {
        black_box(array.read::<f64>()?);
    }
    Ok(())
}
