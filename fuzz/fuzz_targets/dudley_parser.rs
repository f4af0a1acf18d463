//! Parsing arbitrary bytes as a layout must either succeed or return errors that can be displayed.
//! A printed layout must parse as an equal layout.
#![no_main]

use dudley::diagnostic::Place;
use dudley::layout::Found;
use dudley::{Layout, ParseOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for options in [ParseOptions::new(), ParseOptions::new().allow_param_redeclare(true)] {
        match options.parse(data) {
            Ok(layout) => check(&layout, &options),
            Err(error) => {
                let found = error.diagnostics().expect("the error has diagnostics");
                let length = found.source().text().len() as u64;
                assert!(found.iter().count() <= 200);
                let end = |place: &Place| place.offset.unwrap_or(0) + place.len.unwrap_or(0);
                assert!(found.iter().all(|found| end(&found.place) <= length));
                assert!(!found.render(true).is_empty() && !error.to_string().is_empty());
                assert!(serde_json::json!(found).is_array());
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
        assert_eq!(layout.find(&path).ok(), Some(Found::Item(id, Vec::new())), "{path}");
    }
    // Looking up any word as a path must not panic.
    for path in printed.split_whitespace().take(100) {
        let _ = layout.find(path);
    }
    for subject in layout.commented() {
        let _ = (layout.subject_path(subject), layout.docs(subject).count());
    }
}
