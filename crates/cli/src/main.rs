//! The program `scibin`, whose code is in the library of the same package.

use std::process::ExitCode;

fn main() -> ExitCode {
    scibin_cli::main()
}
