//! The tests of `binio` with its C parts under the address sanitizer: what the one call of the C
//! compressor reads and writes is seen by it, on both sides of the call.

use crate::Outcome;
use crate::fuzz::{NO_NIGHTLY, has_nightly, host};
use crate::process::{no_more, program, root, run, skip};

/// The C compiler's part. Without its check of scopes: with it, what gcc compiles is said to read a
/// constant of zstd out of scope, which no constant can be.
const CFLAGS: &str =
    "-g -fno-omit-frame-pointer -fsanitize=address -fno-sanitize-address-use-after-scope";

/// Runs the tests. Skips them if no nightly toolchain is installed.
pub(crate) fn sanitize(arguments: &[String]) -> Outcome {
    no_more(arguments)?;
    if !has_nightly() {
        return skip(NO_NIGHTLY);
    }
    let host = host().ok_or("rustc does not tell its host")?;
    run(program("cargo")
        .args(["+nightly", "test", "--package", "scibin-binio", "--no-default-features"])
        .args(["--features", "blosc-compress", "--lib", "--tests", "--target", &host])
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTC")
        .env_remove("CARGO")
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CFLAGS", CFLAGS)
        // A test asks for more memory than there is, and wants the error.
        .env("ASAN_OPTIONS", "allocator_may_return_null=1")
        .env("CARGO_TARGET_DIR", root().join("target").join("asan")))
}
