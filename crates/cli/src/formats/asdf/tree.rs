//! `scibin asdf tree`: the tree, as an outline or with its values as JSON.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use asdf::json::{self, Options};

use super::outline::outline;
use crate::Verdict;
use crate::arguments::asdf::{Aliases, Reading};
use crate::failure::Failure;
use crate::output::{Output, Sink};

pub(crate) fn tree(
    path: &Path,
    tags: bool,
    aliases: Aliases,
    reading: &Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let file = super::open(path, reading)?;
    let root = file.tree().map_err(|error| Failure::asdf(path, error))?;
    if output.json {
        let aliases = match aliases {
            Aliases::Expand => json::Aliases::Expand,
            Aliases::Ref => json::Aliases::Reference,
        };
        let options = Options::new().with_tags(tags).with_aliases(aliases);
        let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
        let written = root.write_json(&mut out, &options);
        if written.is_ok() {
            out.write_all(b"\n")?;
        }
        out.finish(written, |error| Failure::asdf(path, error), Failure::from)?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        outline(&mut out, root, "", None)?;
        out.flush()?;
        super::remark(path, &file, output);
    }
    Ok(Verdict::Fine)
}
