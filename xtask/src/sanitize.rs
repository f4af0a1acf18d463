//! Testing `binio` with tools that find undefined behaviour. The address sanitizer checks every
//! memory access by the C compressor and by the code that calls it. Miri runs the tests in an
//! interpreter.

use std::process::Command;

use crate::Outcome;
use crate::fuzz::{NO_NIGHTLY, has_nightly, host};
use crate::process::{no_more, output, program, root, run, skip};

/// Flags for the C compiler. The use-after-scope check is disabled, because with gcc it falsely
/// reports an access to a constant in zstd.
const CFLAGS: &str =
    "-g -fno-omit-frame-pointer -fsanitize=address -fno-sanitize-address-use-after-scope";

/// `sanitize`: runs the tests of `binio` under the address sanitizer. Skips them if no nightly
/// toolchain is installed.
pub(crate) fn sanitize(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    if !has_nightly() {
        return skip(NO_NIGHTLY);
    }
    let host = host().ok_or("`rustc -vV` did not print the host")?;
    run(nightly()
        .args(["test", "--package", "scibin-binio", "--no-default-features"])
        .args(["--features", "blosc-compress,crc32", "--lib", "--tests", "--target", &host])
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CFLAGS", CFLAGS)
        // Make huge allocations fail instead of aborting, because a test expects the error.
        .env("ASAN_OPTIONS", "allocator_may_return_null=1")
        .env("CARGO_TARGET_DIR", root().join("target").join("asan")))
}

/// `miri`: runs the tests whose names begin with `miri_`. They open no files, and they are short,
/// because miri is about a thousand times slower than native code. If miri is missing, installs it
/// with rustup, or skips the tests if that fails.
pub(crate) fn miri(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    if !has_nightly() {
        return skip(NO_NIGHTLY);
    }
    let is_installed = || output(nightly().args(["miri", "--version"])).is_some();
    if !is_installed() {
        let components = ["component", "add", "--toolchain", "nightly", "miri", "rust-src"];
        // Ignore the result, because the next line checks whether miri is installed.
        let _ = run(program("rustup").args(components));
    }
    if !is_installed() {
        return skip(
            "miri is not installed (rustup component add --toolchain nightly miri rust-src)",
        );
    }
    run(nightly()
        .args(["miri", "test", "--package", "scibin-binio", "--lib"])
        .args(["--features", "array,crc32,testing,write", "miri_"])
        .env("CARGO_TARGET_DIR", root().join("target").join("miri")))
}

/// Returns a `cargo` command that uses the nightly toolchain.
fn nightly() -> Command {
    let mut command = program("cargo");
    command.arg("+nightly").env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC").env_remove("CARGO");
    command
}
