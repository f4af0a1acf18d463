//! `scibin dudley explain`: shows which item of the layout a byte of a file belongs to.

use std::io::{self, Write};

use dudley::file::Explanation;
use serde_json::json;

use super::data;
use crate::Verdict;
use crate::arguments::dudley::Explain;
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json};

pub(super) fn explain(command: &Explain, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    let file = data::open(path, &command.described, output)?;
    let address = command.address;
    let explained = file.explain(address).map_err(|error| Failure::dudley(path, error))?;
    if output.json {
        let file = path.display().to_string();
        print_json(&json!({"file": file, "address": address, "found": explained}))?;
    } else {
        let mut out = io::stdout().lock();
        for one in &explained {
            writeln!(out, "{address:#x}: {}", one_line(&one.to_string()))?;
        }
    }
    if let Some(error) = file.stopped() {
        return Err(Failure::dudley(path, error.clone()));
    }
    let is_past = matches!(explained[..], [Explanation::PastEnd { .. }]);
    Ok(if is_past { Verdict::Found } else { Verdict::Fine })
}
