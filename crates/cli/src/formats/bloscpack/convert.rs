//! `scibin bloscpack convert`: copies the chunks to a file with another format version or checksum.

use bloscpack::change::{RewriteOptions, rewrite};
use bloscpack::format::Version;
use serde_json::json;

use crate::Verdict;
use crate::arguments::bloscpack::Convert;
use crate::failure::Failure;
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, print_json};

pub(super) fn convert(command: &Convert, output: Output) -> Result<Verdict, Failure> {
    let Convert { input, output: target, format, .. } = command;
    let _lock = output_file::lock(target, command.replacing.force)?;
    let file = super::open(input, &command.opening.options())?;
    super::remark_damage(input, &file, output);
    let version = if *format == 2 { Version::V2 } else { Version::V3 };
    let mut options = RewriteOptions::new().version(version);
    if let Some(checksum) = command.checksum {
        options = options.checksum(checksum);
    }
    if command.no_metadata {
        options = options.without_metadata();
    }
    let body = |out: &mut _| rewrite(&file, out, &options).map(drop);
    let fail = |error| Failure::bloscpack(input, error);
    output_file::write_file(target, command.replacing.force, body, fail)?;
    // Report nothing if standard output contains the file itself.
    if is_standard(target) {
        return Ok(Verdict::Fine);
    }
    let chunks = file.chunks().len();
    if output.json {
        print_json(&json!({
            "file": input.display().to_string(), "output": target.display().to_string(),
            "version": version.number(), "chunks": chunks,
        }))?;
    } else {
        let chunks = count(chunks, "chunk");
        output.result(&format_args!("{}: {chunks} in {version}", target.display()))?;
    }
    Ok(Verdict::Fine)
}
