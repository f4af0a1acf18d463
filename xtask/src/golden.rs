//! Comparing the results of reading golden files with the recorded results.

use crate::Outcome;
use crate::process::{no_more, root, run_tests, take_option};

/// The test binaries that compare results with recorded ones, each with a filter for the names of
/// its tests.
const GOLDEN_TESTS: &[(&str, &str)] = &[
    ("golden", ""),
    ("tree", "corpus_scalar_cases"),
    ("language", "corpus"),
    ("language", "every_address"),
    ("format", "archives_that_flux_extracts"),
    ("io", "recorded"),
];

/// `golden [--corpus DIR]`: runs the golden tests of every format crate, which also run the recorded
/// cases of the corpus if there is one. `--corpus` sets the corpus folder, which must exist.
pub(crate) fn golden(arguments: &[String]) -> Outcome {
    let (corpus, rest) = take_option(arguments, "--corpus")?;
    no_more(&rest)?;
    let corpus = match corpus {
        Some(corpus) => {
            let path =
                std::path::absolute(&corpus).map_err(|error| format!("{corpus}: {error}"))?;
            if !path.is_dir() {
                return Err(format!("{} is not a directory", path.display()));
            }
            Some(path)
        }
        None => None,
    };
    let beside = root().join("../shared/corpus").is_dir();
    if corpus.is_none() && std::env::var_os("SCIBIN_CORPUS").is_none() && !beside {
        eprintln!("no corpus found: the cases that need it are skipped");
    }
    let variable = corpus.as_deref().map(|corpus| ("SCIBIN_CORPUS", corpus));
    for (binary, filter) in GOLDEN_TESTS {
        run_tests(binary, filter, variable)?;
    }
    Ok(())
}
