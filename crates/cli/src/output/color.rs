//! The option `--color`. It is evaluated before the other arguments are parsed, because it also
//! applies to the help and to errors in the arguments.

use std::ffi::OsString;

use clap::{Arg, ColorChoice, value_parser};

/// Returns the definition of `--color`.
pub(crate) fn argument() -> Arg {
    Arg::new("color")
        .long("color")
        .global(true)
        .value_name("WHEN")
        .value_parser(value_parser!(ColorChoice))
        .help("When to use colours [default: on a terminal, unless NO_COLOR is set]")
}

/// Finds `--color` in the arguments and applies it to all output.
pub(crate) fn apply(arguments: impl Iterator<Item = OsString>) {
    let arguments: Vec<String> = arguments.filter_map(|one| one.into_string().ok()).collect();
    let value =
        arguments.iter().zip(1..).find_map(|(one, next)| match one.strip_prefix("--color")? {
            "" => arguments.get(next).map(String::as_str),
            value => value.strip_prefix('='),
        });
    match value {
        Some("always") => anstream::ColorChoice::Always.write_global(),
        Some("never") => anstream::ColorChoice::Never.write_global(),
        _ => {}
    }
}
