//! Checking a layout or a native file.

use std::sync::Arc;

use binio::ReadAt;

use super::appended::text_at;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::error::{Error, ErrorKind};
use crate::layout::Layout;
use crate::options::ParseOptions;
use crate::place::Resolver;
use crate::signature::Signature;
use crate::source::Source;

/// Options for [`verify`].
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    parse: ParseOptions,
    name: Option<String>,
}

impl VerifyOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets how the layout is parsed, and which warnings and notes are silenced or denied.
        parse: ParseOptions;
        /// Sets the name of the layout in messages, usually the name of its file.
        name: impl Into<String> => Some(name.into());
    }

    /// Checks the text of a layout. Also checks its addresses, unless they depend on stored values.
    pub fn verify_layout(&self, source: impl Into<Arc<Source>>) -> VerifyReport {
        self.report(source.into(), None)
    }

    /// Checks a layout and its addresses. If the layout is appended to a native file, `native`
    /// contains the file and the offset at which its data ends.
    fn report(&self, source: Arc<Source>, native: Option<(&dyn ReadAt, u64)>) -> VerifyReport {
        let parsed = self.parse.parse_source(Arc::clone(&source));
        let (layout, mut diagnostics) = match parsed {
            Ok(layout) => {
                let found = layout.diagnostics().to_vec();
                (Some(layout), found)
            }
            Err(error) => (None, of_error(&error)),
        };
        if let Some(layout) = &layout {
            diagnostics.extend(self.of_addresses(layout, native));
        }
        VerifyReport { signature: None, layout, diagnostics, source }
    }

    fn of_addresses(&self, layout: &Layout, native: Option<(&dyn ReadAt, u64)>) -> Vec<Diagnostic> {
        let resolver = match native {
            Some((stream, _)) => Resolver::new(layout).stream(stream),
            None => Ok(Resolver::new(layout)),
        };
        let table = resolver.and_then(|resolver| {
            let table = resolver.table()?;
            let mut found = resolver.diagnose(&table);
            found.extend(native.and_then(|(_, end)| resolver.unexplained_tail(&table, end)));
            Ok(self.parse.judge(found))
        });
        match table {
            Ok(found) => found,
            Err(error) if error.code() == Some(Code::ValueUnknown) => Vec::new(),
            Err(error) => of_error(&error),
        }
    }
}

fn of_error(error: &Error) -> Vec<Diagnostic> {
    error.diagnostics().into_iter().flatten().cloned().collect()
}

/// The result of [`verify`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The signature, if the file is a native file.
    pub signature: Option<Signature>,
    /// The layout, or `None` if it has errors or if the native file has no appended layout.
    pub layout: Option<Layout>,
    /// Errors, warnings and notes about the layout and its addresses.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that the diagnostics refer to.
    pub source: Arc<Source>,
}

impl VerifyReport {
    /// Returns `true` if this is a native file without an appended layout, so that only its signature was
    /// checked.
    pub fn is_signature_only(&self) -> bool {
        self.signature.is_some_and(|signature| signature.layout_address == 0)
    }

    /// Returns `true` if no errors were found.
    pub fn passed(&self) -> bool {
        self.errors() == 0
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|found| found.severity == Severity::Error).count()
    }
}

/// Checks a file, which is either the text of a layout or a native file. In a native file, checks the
/// signature, the appended layout and the addresses of the data. Data that extends into the appended layout
/// or beyond the end of the file is an error, unless [silenced](ParseOptions::silence). Bytes that belong to
/// no item are reported as notes, unless they may be padding for alignment. If no layout is appended to a
/// native file, only its signature is checked.
///
/// ```
/// use dudley::file::{VerifyOptions, verify};
/// use dudley::diagnostic::Code;
///
/// let report = verify("x = f8  x = f4".as_bytes(), &VerifyOptions::new())?;
/// assert_eq!(report.diagnostics[0].code, Code::Redeclared);
///
/// let native = b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = f4";
/// assert!(verify(&native[..], &VerifyOptions::new())?.passed());
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Read`](ErrorKind::Read) if the file cannot be read, or if the layout has 2 GiB or more. If the
/// signature of a native file is damaged or incomplete, fails like [`Signature::parse`]. Fails with
/// [`LayoutAddress`](ErrorKind::LayoutAddress) if the address of the layout is after the end of the file.
/// If the layout cannot be decoded, fails like [`Source::decode`]. All other errors are in the report.
pub fn verify(
    file: &(impl ReadAt + ?Sized),
    options: &VerifyOptions,
) -> Result<VerifyReport, Error> {
    let file: &dyn ReadAt = &file;
    let head = text_at(file, 0, file.len().min(Signature::LEN))?;
    let signature = match Signature::parse(&head) {
        Ok(signature) => signature,
        Err(error) => {
            let is_text = matches!(error.kind(), ErrorKind::NotNative)
                || head.first().is_none_or(|&first| first != 0x8d);
            if !is_text || matches!(error.kind(), ErrorKind::TextMode { .. }) {
                return Err(error);
            }
            let text = text_at(file, 0, file.len())?;
            return Ok(options.verify_layout(decode(&text, options)?));
        }
    };
    let mut report = match signature.layout_address {
        0 => VerifyReport {
            signature: None,
            layout: None,
            diagnostics: Vec::new(),
            source: Arc::default(),
        },
        address => {
            let Some(len) = file.len().checked_sub(address) else {
                let address = i64::try_from(address).unwrap_or(i64::MAX);
                return Err(ErrorKind::LayoutAddress { address, len: Some(file.len()) }.into());
            };
            let text = text_at(file, address, len)?;
            let mut options = options.clone();
            if options.parse.severity(Code::PastEnd).is_some() {
                options.parse = options.parse.deny(Code::PastEnd);
            }
            options.report(decode(&text, &options)?.into(), Some((file, address)))
        }
    };
    report.signature = Some(signature);
    Ok(report)
}

fn decode(text: &[u8], options: &VerifyOptions) -> Result<Source, Error> {
    match &options.name {
        Some(name) => Source::decode_named(text, name.clone()),
        None => Source::decode(text),
    }
}
