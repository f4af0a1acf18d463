//! Formatting arbitrary text must either fail or preserve the comments and the meaning. Formatting
//! the result again must change nothing.
#![no_main]

use dudley::text::Lexer;
use dudley::{Layout, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(formatted) = dudley::text::format(data) else { return };
    let again =
        dudley::text::format(&formatted).unwrap_or_else(|error| panic!("{error}\n{formatted}"));
    assert_eq!(again, formatted);
    let source = Source::decode(data).expect("it was formatted");
    assert_eq!(comments(source.text()), comments(&formatted));
    match (Layout::parse(data), Layout::parse(&formatted)) {
        (Ok(one), Ok(other)) => assert_eq!(one, other, "{formatted}"),
        (one, other) => assert_eq!(one.is_ok(), other.is_ok(), "{formatted}"),
    }
});

/// Returns all comments, with whitespace removed.
fn comments(text: &str) -> Vec<String> {
    let comments = Lexer::new(text).filter(|token| token.kind.is_comment());
    let texts = comments.map(|token| &text[token.start as usize..token.end as usize]);
    texts.map(|comment| comment.split_whitespace().collect()).collect()
}
