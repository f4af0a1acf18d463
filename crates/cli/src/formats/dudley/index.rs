//! `scibin dudley index`: compiles a layout.

use std::fs;
use std::io::Write;

use dudley::index::CompiledLayout;
use dudley::{ParseOptions, Source};
use serde_json::json;

use super::read;
use crate::Verdict;
use crate::arguments::dudley::Index;
use crate::failure::{Failure, name};
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, print_json};

pub(super) fn index(command: &Index, output: Output) -> Result<Verdict, Failure> {
    let path = &command.layout;
    let target = match &command.output {
        Some(target) => target.clone(),
        None if is_standard(path) => {
            return Err(Failure::other(
                "--output",
                "required if the layout is read from standard input",
            ));
        }
        None => path.with_extension("dudx"),
    };
    // Get the metadata before reading the text. If the file changes in between, its metadata will
    // differ from that in the compiled layout, so the change is detected.
    let file = fs::metadata(path).ok();
    let text = read(path)?;
    let compiled = Source::decode_named(&text, name(path))
        .and_then(|source| ParseOptions::new().parse_source(source))
        .and_then(|layout| CompiledLayout::compile(&layout, &text, file.as_ref()));
    let compiled = compiled.map_err(|error| Failure::dudley(path, error))?;
    let body = |out: &mut dyn Write| out.write_all(&compiled);
    output_file::write(&target, command.force, body, |error| Failure::io(&target, error))?;
    if is_standard(&target) {
        return Ok(Verdict::Fine);
    }
    if output.json {
        print_json(&json!({
            "file": name(&target), "format": "dudley", "ok": true, "bytes": compiled.len(),
        }))?;
    } else {
        output.result(&format_args!("{}: {}", name(&target), count(compiled.len(), "byte")))?;
    }
    Ok(Verdict::Fine)
}
