//! Golden files: reading each file must produce the recorded results. The files are our own, the
//! files of the corpus if it is available, and files written by the Python reference if
//! `cargo xtask interop` has generated them.

mod pairs;
mod runner;

use std::path::Path;

/// Cases that need a feature missing from this build, each with the reason. The results of these
/// cases must differ from the expected results. If they do not, the list is out of date.
const CODEC_WAITS: &[(&str, &str)] = &[
    #[cfg(not(feature = "blsc"))]
    ("blsc_raw", "the feature `blsc` is off"),
    #[cfg(not(feature = "blsc"))]
    ("blsc_framed_(Abacus)", "the feature `blsc` is off"),
    #[cfg(not(feature = "zstd"))]
    ("zstd_2_frames", "the feature `zstd` is off"),
];

#[test]
fn our_own_files_have_the_recorded_results() {
    runner::run(&testdata::path("asdf/expected.json"), &[]);
}

#[test]
fn corpus_layout_cases_have_the_expected_results() {
    corpus("layout/layout.json", &[]);
}

#[test]
fn corpus_codec_cases_have_the_expected_results() {
    corpus("codec/codec.json", CODEC_WAITS);
}

#[test]
fn corpus_ndarray_cases_have_the_expected_results() {
    corpus("ndarray/expected.json", &[]);
}

#[test]
fn corpus_fixture_cases_have_the_expected_results() {
    corpus("fixtures/fixtures.json", &[]);
}

#[test]
fn corpus_reference_pairs_have_equal_values() {
    let Some(corpus) = testdata::corpus() else { return };
    let mut failures = Vec::new();
    let mut count = 0;
    for standard in ["1.0.0", "1.6.0"] {
        let folder = corpus.join("asdf/reference").join(standard);
        let entries =
            std::fs::read_dir(&folder).expect("the corpus must contain the reference files");
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        for yaml in
            files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        {
            count += 1;
            if let Err(text) = pairs::same_values(&yaml.with_extension("asdf"), &yaml) {
                failures.push(format!("{standard} {}: {text}", name(&yaml)));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {count} pairs differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert_eq!(count, 30, "fifteen pairs for each of two standards");
}

/// `cargo xtask interop` writes the files, and sets `SCIBIN_INTEROP` to their folder.
#[test]
fn interop_arrays_written_by_the_python_reference_have_the_expected_values() {
    let Some(folder) = testdata::interop_folder() else { return };
    runner::run(&folder.join("expected.json"), &[]);
}

fn corpus(list: &str, held_wrong: &[(&str, &str)]) {
    if let Some(corpus) = testdata::corpus() {
        runner::run(&corpus.join("asdf").join(list), held_wrong);
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
