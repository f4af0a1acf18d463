//! Golden files: what the crates read is compared with what is recorded beside the files.

use crate::Outcome;
use crate::process::{cargo, no_more, root, run, take_option};

/// The golden tests of every format crate. With `--corpus` they also run the recorded cases of a
/// corpus, which is then required to be there.
pub(crate) fn golden(arguments: &[String]) -> Outcome {
    let (corpus, rest) = take_option(arguments, "--corpus")?;
    no_more(&rest)?;
    let mut command = cargo(&[
        "test",
        "--package",
        "asdf",
        "--all-features",
        "--test",
        "golden",
        "--",
        "--nocapture",
    ]);
    if let Some(corpus) = corpus {
        let corpus = std::path::absolute(&corpus).map_err(|error| format!("{corpus}: {error}"))?;
        if !corpus.is_dir() {
            return Err(format!("{} is no directory", corpus.display()));
        }
        command.env("SCIBIN_CORPUS", corpus);
    } else {
        let found = root().join("../shared/corpus").is_dir();
        let found =
            if found { "found beside the workspace" } else { "not here: its cases are skipped" };
        eprintln!("corpus {found}");
    }
    run(&mut command)
}
