//! `scibin dudley diff`: what differs between two layouts.

use std::path::Path;

use dudley::ParseOptions;

use super::{parse, show, values};
use crate::Verdict;
use crate::arguments::dudley::Params;
use crate::failure::Failure;
use crate::output::{Output, print_json};

pub(super) fn diff(
    before: &Path,
    after: &Path,
    params: &Params,
    output: Output,
) -> Result<Verdict, Failure> {
    let options = ParseOptions::new();
    let (Some(before), Some(after)) = (parse(before, &options)?, parse(after, &options)?) else {
        return Ok(Verdict::Failed);
    };
    let given = values(params);
    let comparison =
        match dudley::diff(&before, &after, Some(&given).filter(|_| !params.params.is_empty())) {
            Ok(comparison) => comparison,
            Err(error) => {
                show(&error.to_string());
                return Ok(Verdict::Failed);
            }
        };
    if output.json {
        print_json(&comparison.to_json())?;
    } else {
        for change in comparison.changes() {
            output.result(change)?;
        }
        let verdict = if comparison.keeps_files_readable() {
            "files of the first layout can be read by the second"
        } else {
            "files of the first layout cannot be read by the second"
        };
        output.result(&verdict)?;
    }
    let is_same = comparison.changes().is_empty();
    Ok(if is_same { Verdict::Fine } else { Verdict::Found })
}
