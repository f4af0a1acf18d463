//! Scanning tags: `!suffix`, `!!suffix`, `!handle!suffix`, `!<whole>`, and a lone `!`.
//!
//! Only the syntax is checked here; `Directives` resolves the handles.

use binio::pointer::percent_decode;

use super::{Fault, Scanner, TokenKind, fault};

/// For each byte, `true` if it is allowed in every form of tag.
static IS_URI: [bool; 256] = {
    let mut is_uri = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        #[allow(clippy::cast_possible_truncation, reason = "below 128")]
        let b = byte as u8;
        is_uri[byte] = b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'-' | b'_'
                    | b';'
                    | b'/'
                    | b'?'
                    | b':'
                    | b'@'
                    | b'&'
                    | b'='
                    | b'+'
                    | b'$'
                    | b'.'
                    | b'!'
                    | b'~'
                    | b'*'
                    | b'\''
                    | b'('
                    | b')'
                    | b'%'
            );
        byte += 1;
    }
    is_uri
};

impl Scanner<'_> {
    pub(super) fn tag(&mut self) -> Result<(), Fault> {
        self.save_key()?;
        self.is_key_allowed = false;
        let start = self.cursor.at;
        let end = if self.cursor.byte_at(start + 1) == b'<' {
            let end = self.uri_end(start + 2, true)?;
            if self.cursor.byte_at(end) != b'>' {
                return fault(end, "expected `>` at the end of the tag");
            }
            end + 1
        } else {
            let name = self.cursor.name_end(start + 1);
            let has_handle = self.cursor.byte_at(name) == b'!';
            let suffix = if has_handle { name + 1 } else { start + 1 };
            let end = self.uri_end(suffix, false)?;
            if has_handle && end == suffix {
                return fault(end, "expected a suffix after the tag handle");
            }
            end
        };
        let is_item = self.is_flow() && self.cursor.byte_at(end) == b',';
        if !is_item && !self.cursor.is_space(end) {
            return fault(end, "expected a space or a line break after the tag");
        }
        self.cursor.at = end;
        self.push(TokenKind::Tag, start, end);
        Ok(())
    }

    /// Returns the offset at which the URI or suffix that begins at `start` ends. Only a verbatim
    /// tag (`!<..>`, `is_whole`) may contain commas and brackets.
    fn uri_end(&self, start: usize, is_whole: bool) -> Result<usize, Fault> {
        let is_uri = |byte: u8| match byte {
            b',' | b'[' | b']' => is_whole,
            _ => IS_URI[usize::from(byte)],
        };
        let rest = self.cursor.bytes.get(start..).unwrap_or_default();
        let len = rest.iter().take_while(|&&byte| is_uri(byte)).count();
        let uri = self.cursor.text.get(start..start + len).unwrap_or_default();
        if is_whole && uri.is_empty() {
            return fault(start, "expected a tag after `!<`");
        }
        if memchr::memchr(b'%', uri.as_bytes()).is_some() && percent_decode(uri).is_none() {
            return fault(start, "the `%` escapes in this tag do not form valid UTF-8");
        }
        Ok(start + len)
    }
}
