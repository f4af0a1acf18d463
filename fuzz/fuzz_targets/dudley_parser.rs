//! Any bytes give a layout, which prints as what it is, or errors that can be shown.
#![no_main]

use dudley::{Found, Layout, ParseOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for options in [ParseOptions::new(), ParseOptions::new().allow_param_redeclare(true)] {
        match options.parse(data) {
            Ok(layout) => check(&layout, &options),
            Err(error) => {
                let length = error.source().text().len();
                assert!(error.iter().count() <= 200);
                assert!(error.iter().all(|found| found.span.end as usize <= length));
                assert!(error.iter().all(|found| found.span.start <= found.span.end));
                assert!(!error.to_string().is_empty());
                assert!(error.to_json().is_array());
            }
        }
    }
});

fn check(layout: &Layout, options: &ParseOptions) {
    let printed = layout.to_string();
    let again = options.parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(&again, layout, "{printed}");
    for id in layout.items().take(100) {
        let path = layout.path(id);
        assert_eq!(layout.find(&path), Ok(Found::Item(id, Vec::new())), "{path}");
    }
    // Whatever stands in the text leads somewhere or nowhere.
    for path in printed.split_whitespace().take(100) {
        let _ = layout.find(path);
    }
    for subject in layout.commented() {
        let _ = (layout.subject_path(subject), layout.docs(subject).count());
    }
}
