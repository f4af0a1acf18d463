//! Decoding the bytes of a layout, and parsing and checking its text.
//!
//! The bytes of a layout are decoded as UTF-8 if they are valid UTF-8. Otherwise, they are decoded as CP-1252
//! or, if they contain one of the five bytes that CP-1252 does not define, as Latin-1. A byte-order mark is
//! skipped. A layout cannot begin with the byte 8d, because every native binary file begins with it.

use std::borrow::Cow;
use std::sync::Arc;

use super::check;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::error::Error;
use crate::layout::Layout;
use crate::layout::names::reserve;
use crate::options::ParseOptions;
use crate::signature::Signature;
use crate::source::{Encoding, Source, Span};

/// The characters for bytes 80 to 9f in CP-1252, or 0 if a byte is undefined.
const CP1252: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc,
    0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Source {
    /// Decodes the bytes of a layout. A `Vec` of valid UTF-8 is not copied, unless it begins with a byte-order
    /// mark.
    ///
    /// # Errors
    ///
    /// Fails with [`Layout`](crate::ErrorKind::Layout). The code of the diagnostic is
    /// [`IllegalCharacter`](Code::IllegalCharacter) if the first byte is 8d, as in a native binary file, and
    /// [`BeyondLimit`](Code::BeyondLimit) if the layout has 2 GiB or more, or 4 GiB or more after decoding
    /// to UTF-8.
    pub fn decode<'b>(bytes: impl Into<Cow<'b, [u8]>>) -> Result<Self, Error> {
        Self::decode_as(None, bytes.into())
    }

    /// Decodes the bytes of a layout, like [`decode`](Self::decode). Messages refer to the layout
    /// as `name`, which is usually the name of a file.
    ///
    /// # Errors
    ///
    /// Same as [`decode`](Self::decode).
    pub fn decode_named<'b>(
        bytes: impl Into<Cow<'b, [u8]>>,
        name: impl Into<String>,
    ) -> Result<Self, Error> {
        Self::decode_as(Some(name.into()), bytes.into())
    }

    fn decode_as(name: Option<String>, bytes: Cow<'_, [u8]>) -> Result<Self, Error> {
        let fail = |name, diagnostic: Diagnostic| {
            let source = Self { name, ..Self::default() };
            Err(Diagnostics::new(vec![diagnostic], Arc::new(source)).into())
        };
        let too_long = |len: usize, limit| {
            let message = format!("the layout has {len} bytes, expected less than {limit}");
            Diagnostic::new(Code::BeyondLimit, Span::default(), message)
        };
        if bytes.first() == Some(&0x8d) {
            return fail(name, binary(&bytes));
        }
        // Limit the length, because offsets are 32-bit numbers. The length is checked again after
        // decoding, which may turn one byte into three.
        let len = bytes.len();
        if len > i32::MAX as usize {
            return fail(name, too_long(len, "2 GiB"));
        }
        let text = match bytes {
            Cow::Owned(bytes) if !bytes.starts_with(BYTE_ORDER_MARK) => bytes,
            bytes => {
                let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
                let mut text = Vec::new();
                reserve(&mut text, bytes.len());
                text.extend_from_slice(bytes);
                text
            }
        };
        let (text, encoding) = match String::from_utf8(text) {
            Ok(text) => (text, Encoding::Utf8),
            Err(error) => decode_single_bytes(error.as_bytes()),
        };
        if u32::try_from(text.len()).is_err() {
            return fail(name, too_long(text.len(), "4 GiB after decoding"));
        }
        Ok(Self { name, text, encoding })
    }
}

fn decode_single_bytes(bytes: &[u8]) -> (String, Encoding) {
    let windows = |byte: u8| match byte {
        0x80..=0x9f => char::from_u32(CP1252[usize::from(byte - 0x80)].into()).unwrap_or('\0'),
        _ => char::from(byte),
    };
    if bytes.iter().any(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d)) {
        return (bytes.iter().copied().map(char::from).collect(), Encoding::Latin1);
    }
    (bytes.iter().copied().map(windows).collect(), Encoding::Cp1252)
}

fn binary(bytes: &[u8]) -> Diagnostic {
    let message = "this is a binary file, not a layout";
    let diagnostic = Diagnostic::new(Code::IllegalCharacter, Span::default(), message);
    diagnostic.help(match Signature::parse(bytes) {
        Ok(signature) if signature.layout_address != 0 => {
            format!(
                "the layout is at the end of the file, starting at byte {}",
                signature.layout_address
            )
        }
        Ok(_) => "the layout is in another file, usually with the extension .dud".to_owned(),
        Err(error) => error.to_string(),
    })
}

impl ParseOptions {
    /// Decodes, parses and checks a layout.
    ///
    /// # Errors
    ///
    /// Same as [`Layout::parse`].
    pub fn parse(&self, text: impl AsRef<[u8]>) -> Result<Layout, Error> {
        self.parse_source(Source::decode(text.as_ref())?)
    }

    /// Parses and checks the decoded text of a layout. The name of the source appears in messages.
    ///
    /// # Errors
    ///
    /// Fails with [`Layout`](crate::ErrorKind::Layout) if the layout has errors, like [`Layout::parse`].
    pub fn parse_source(&self, source: impl Into<Arc<Source>>) -> Result<Layout, Error> {
        Ok(check(&source.into(), self)?)
    }
}

impl Layout {
    /// Parses and checks a layout with the default options.
    ///
    /// ```
    /// use dudley::Layout;
    /// use dudley::diagnostic::Code;
    ///
    /// let layout = Layout::parse("N : i4  x = f8[N]  ## (cm) nodes")?;
    /// assert_eq!(layout.to_string(), "N : i4\nx = f8[N]  ## (cm) nodes\n");
    /// let error = Layout::parse("x = f8[M]").unwrap_err();
    /// assert_eq!(error.code(), Some(Code::ParamNotInScope));
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Source::decode`]. Also fails with [`Layout`](crate::ErrorKind::Layout) if the layout
    /// has errors. The error contains all of them, but at most
    /// [`max_diagnostics`](crate::Limits::max_diagnostics).
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, Error> {
        ParseOptions::new().parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_utf8_is_decoded_as_cp1252_or_as_latin1_if_cp1252_does_not_define_a_byte() {
        let decoded = |bytes: &[u8]| {
            let source = Source::decode(bytes).unwrap();
            (source.text().to_owned(), source.encoding())
        };
        assert_eq!(decoded("\u{feff}é".as_bytes()), ("é".to_owned(), Encoding::Utf8));
        assert_eq!(decoded(b"\x80\xe9"), ("€é".to_owned(), Encoding::Cp1252));
        assert_eq!(decoded(b"\x81\xe9"), ("\u{81}é".to_owned(), Encoding::Latin1));
    }

    #[test]
    fn decoding_a_vector_reuses_its_memory_and_returns_the_same_text_as_decoding_a_slice() {
        let bytes = b"x = f8".to_vec();
        let place = bytes.as_ptr();
        assert_eq!(Source::decode(bytes).unwrap().text().as_ptr(), place);
        for bytes in [&b"\xef\xbb\xbfx"[..], b"\x80\xe9", b"\x81\xe9", b""] {
            let (taken, copied) = (Source::decode(bytes.to_vec()), Source::decode(bytes));
            let (taken, copied) = (taken.unwrap(), copied.unwrap());
            assert_eq!((taken.text(), taken.encoding()), (copied.text(), copied.encoding()));
        }
    }

    #[test]
    fn decoding_a_native_file_fails_and_names_the_address_of_its_layout() {
        let error = Source::decode(b"\x8d<BD\r\n\x1a\n\x30\0\0\0\0\0\0\0").unwrap_err();
        assert_eq!(error.code(), Some(Code::IllegalCharacter));
        let help = &error.diagnostics().unwrap().first().help;
        assert_eq!(help[0], "the layout is at the end of the file, starting at byte 48");
    }
}
