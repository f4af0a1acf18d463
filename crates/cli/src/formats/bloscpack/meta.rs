//! `scibin bloscpack meta`: the metadata.

use bloscpack::OpenOptions;

use super::get::{metadata, print_value};
use crate::Verdict;
use crate::arguments::bloscpack::MetaCommand;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn run(command: &MetaCommand, output: Output) -> Result<Verdict, Failure> {
    let MetaCommand::Get { file: path, pointer } = command;
    let file = super::open(path, &OpenOptions::new())?;
    let value = metadata(&file).map_err(|error| Failure::bloscpack(path, error))?;
    let value = value.pointer(pointer).ok_or_else(|| {
        let place = format!("{} {pointer}", path.display());
        Failure::other(place, "the metadata have nothing there")
    })?;
    print_value(value, output)?;
    Ok(Verdict::Fine)
}
