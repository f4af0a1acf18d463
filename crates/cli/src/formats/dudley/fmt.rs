//! `scibin dudley fmt`: formats layouts.

use std::io::{self, Write};
use std::path::Path;

use dudley::{ParseOptions, Source};

use super::{name, read, show};
use crate::arguments::dudley::Fmt;
use crate::failure::Failure;
use crate::goal::{self, is_standard};
use crate::output::Output;
use crate::{Verdict, each};

pub(super) fn fmt(command: &Fmt, output: Output) -> Result<Verdict, Failure> {
    each(&command.layouts, output, |path| one(path, command.check, output))
}

fn one(path: &Path, is_check: bool, output: Output) -> Result<Verdict, Failure> {
    let bytes = read(path)?;
    let source = Source::decode_named(&bytes, name(path));
    let formatted = match source.and_then(|source| ParseOptions::new().format_source(source)) {
        Ok(formatted) => formatted,
        Err(error) => {
            show(&error);
            return Ok(Verdict::Found);
        }
    };
    if is_check {
        let is_formatted = formatted.as_bytes() == bytes;
        if !is_formatted {
            output.result(&format_args!("{}: not formatted", name(path)))?;
        }
        return Ok(if is_formatted { Verdict::Fine } else { Verdict::Found });
    }
    if is_standard(path) {
        io::stdout().lock().write_all(formatted.as_bytes())?;
    } else if formatted.as_bytes() != bytes {
        let body = |out: &mut dyn Write| out.write_all(formatted.as_bytes());
        goal::write(path, true, body, |error| Failure::io(path, error))?;
        output.result(&format_args!("{}: formatted", name(path)))?;
    }
    Ok(Verdict::Fine)
}
