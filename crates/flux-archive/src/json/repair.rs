//! Repairing a common error in hand-written JSON: a comma after the last item.

use std::borrow::Cow;

/// Replaces each comma after the last item of an array or object with a space, so that no offset changes.
///
/// ```
/// let document = br#"[{"path":"src","mode":41471,"data":"a,]",},]"#;
/// let repaired = flux_archive::json::repair_commas(document);
/// assert_eq!(&*repaired, br#"[{"path":"src","mode":41471,"data":"a,]" } ]"#);
/// ```
pub fn repair_commas(document: &[u8]) -> Cow<'_, [u8]> {
    let mut repaired = Cow::Borrowed(document);
    // `comma` is the position of the previous token, if it is a comma after a value. `last` is the
    // first byte of the previous token.
    let (mut comma, mut last) = (None, b'[');
    let mut position = 0;
    while let Some(&byte) = document.get(position) {
        let len = if byte == b'"' { string_len(&document[position..]) } else { 1 };
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {
                position += 1;
                continue;
            }
            b',' => comma = (!matches!(last, b',' | b':' | b'[' | b'{')).then_some(position),
            b']' | b'}' => {
                if let Some(at) = comma.take() {
                    repaired.to_mut()[at] = b' ';
                }
            }
            _ => comma = None,
        }
        last = byte;
        position += len;
    }
    repaired
}

/// Returns the length of the string at the start of the text, including its quotes, or the length
/// of the text if the string has no end.
fn string_len(text: &[u8]) -> usize {
    let mut position = 1;
    while let Some(at) = text.get(position..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if text[position + at] == b'"' {
            return position + at + 1;
        }
        position += at + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> String {
        String::from_utf8(repair_commas(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn only_a_comma_after_the_last_item_is_replaced_with_a_space() {
        assert_eq!(repaired("[1,2,\n ]"), "[1,2 \n ]");
        assert_eq!(repaired("{\"a\":[1,],}"), "{\"a\":[1 ] }");
        assert_eq!(repaired("[[],]"), "[[] ]");
        for wrong in ["[1,,]", "[,]", "{,}", "{\"a\":,}", ",]"] {
            assert_eq!(repaired(wrong), wrong);
        }
    }

    #[test]
    fn commas_within_strings_are_kept() {
        for text in [r#"["a,]","\",]"]"#, r#"["\\",1]"#, r#"["a,]"#, r#"["a\"#, "", "\""] {
            assert_eq!(repaired(text), text);
        }
        assert_eq!(repaired(r#"["\\",]"#), r#"["\\" ]"#);
    }

    #[test]
    fn valid_json_is_borrowed_unchanged() {
        assert!(matches!(repair_commas(b"[1,2]"), Cow::Borrowed(_)));
    }
}
