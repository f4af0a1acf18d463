//! `scibin dudley codegen`: generates code that computes addresses.

use std::io::{self, Write};

use dudley::codegen::Language;
use dudley::{ParseOptions, Resolver};

use super::parse;
use crate::Verdict;
use crate::arguments::dudley::{Codegen, Lang};
use crate::failure::Failure;
use crate::output::Output;
use crate::output::file as output_file;

pub(super) fn codegen(command: &Codegen, output: Output) -> Result<Verdict, Failure> {
    let layout = parse(&command.layout, &ParseOptions::new())?;
    let language = match command.lang {
        Lang::C => Language::C,
        Lang::Rust => Language::Rust,
        Lang::Python => Language::Python,
    };
    let code = Resolver::new(&layout).native(command.native).code(language);
    let code = code.map_err(|error| Failure::dudley(&command.layout, error))?;
    let Some(target) = &command.output else {
        io::stdout().lock().write_all(code.as_bytes())?;
        return Ok(Verdict::Fine);
    };
    let body = |out: &mut dyn Write| out.write_all(code.as_bytes());
    output_file::write(target, command.force, body, |error| Failure::io(target, error))?;
    super::report_size(target, code.len(), output)?;
    Ok(Verdict::Fine)
}
