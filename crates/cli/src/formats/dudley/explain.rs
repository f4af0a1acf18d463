//! `scibin dudley explain`: what a byte of a file belongs to.

use dudley::Explanation;
use serde_json::json;

use super::{data, name, show, verdict_of};
use crate::Verdict;
use crate::arguments::dudley::Explain;
use crate::failure::Failure;
use crate::output::{Output, print_json};

pub(super) fn explain(command: &Explain, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    let file = match data::open(path, &command.described)? {
        Ok(file) => file,
        Err(verdict) => return Ok(verdict),
    };
    let address = command.address;
    let explained = match file.explain(address) {
        Ok(explained) => explained,
        Err(error) => {
            show(&error, &name(path));
            return Ok(verdict_of(&error));
        }
    };
    if output.json {
        print_json(&json!({"file": name(path), "address": address, "found": explained}))?;
    } else {
        for one in &explained {
            output.result(&format_args!("{address:#x}: {one}"))?;
        }
    }
    if let Some(error) = file.stopped() {
        show(error, &name(path));
        return Ok(verdict_of(error));
    }
    let is_past = matches!(explained[..], [Explanation::PastEnd { .. }]);
    Ok(if is_past { Verdict::Found } else { Verdict::Fine })
}
