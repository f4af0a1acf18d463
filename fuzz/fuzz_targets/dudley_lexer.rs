//! The tokens and the whitespace between them must cover the entire text.
#![no_main]

use dudley::Source;
use dudley::text::{Lexer, TokenKind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(source) = Source::decode(data) else { return };
    let text = source.text();
    let mut lexer = Lexer::new(text);
    let mut end = 0;
    loop {
        let token = lexer.token();
        let blank = &text[end as usize..token.start as usize];
        assert!(blank.bytes().all(|byte| matches!(byte, b' ' | 0x09..=0x0d)), "{blank:?}");
        end = token.end;
        let (line, column) = source.line_column(token.start.into());
        assert!(line > 0 && column > 0);
        if token.kind == TokenKind::End {
            break;
        }
        assert!(token.end > token.start);
        assert!(text.is_char_boundary(token.end as usize));
    }
    assert_eq!(end as usize, text.len());
});
