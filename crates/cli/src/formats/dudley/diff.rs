//! `scibin dudley diff`: compares two layouts.

use std::path::Path;

use dudley::ParseOptions;
use serde_json::json;

use super::{name, parse, show, values, verdict_of};
use crate::Verdict;
use crate::arguments::dudley::Params;
use crate::failure::Failure;
use crate::output::file::is_standard;
use crate::output::{Output, print_json};

pub(super) fn diff(
    before: &Path,
    after: &Path,
    params: &Params,
    output: Output,
) -> Result<Verdict, Failure> {
    if is_standard(before) && is_standard(after) {
        return Err(Failure::other(
            "standard input",
            "only one of the two layouts can be standard input",
        ));
    }
    let options = ParseOptions::new();
    let names = [name(before), name(after)];
    let (Some(before), Some(after)) = (parse(before, &options)?, parse(after, &options)?) else {
        return Ok(Verdict::Found);
    };
    let given = values(params, &[&before, &after])?;
    let comparison =
        match dudley::diff(&before, &after, Some(&given).filter(|_| !params.params.is_empty())) {
            Ok(comparison) => comparison,
            Err(error) => {
                show(&error, "");
                return Ok(verdict_of(&error));
            }
        };
    if output.json {
        print_json(&json!(comparison))?;
    } else {
        if !comparison.changes().is_empty() {
            output.result(&format_args!("--- {}", names[0]))?;
            output.result(&format_args!("+++ {}", names[1]))?;
        }
        for change in comparison.changes() {
            output.result(change)?;
        }
        if comparison.is_partial() {
            output.result(
                &"the layouts are too large to compare completely; additions and removals are not shown",
            )?;
        }
        let verdict = if comparison.keeps_files_readable() {
            "files of the first layout (-) can be read by the second (+)"
        } else if !comparison.breaks_files() {
            "whether files of the first layout (-) can be read by the second (+) is not known"
        } else {
            "files of the first layout (-) cannot be read by the second (+)"
        };
        output.result(&verdict)?;
    }
    let is_same = comparison.changes().is_empty() && !comparison.is_partial();
    Ok(if is_same { Verdict::Fine } else { Verdict::Found })
}
