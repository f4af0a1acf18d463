//! Options and limits of parsing.

use crate::diagnostic::{Code, Diagnostic, Severity};

binio::limits! {
    /// Limits of parsing and resolving.
    ///
    /// ```
    /// use dudley::diagnostic::Code;
    /// use dudley::{Limits, ParseOptions};
    ///
    /// let options = ParseOptions::new().limits(Limits::default().max_depth(3));
    /// let error = options.parse("a/ b/ c/ d/").unwrap_err();
    /// assert_eq!(error.code(), Some(Code::TooDeep));
    /// ```
    pub struct Limits {
        /// Maximum nesting depth of dicts, lists and structs, including named types. Default: 128. Values above
        /// 400 count as 400, so that the stack cannot overflow.
        max_depth: u32 = 128;
        /// Maximum number of dimensions in a shape. Default: 255.
        max_dims: u32 = 255;
        /// Maximum number of free names in a struct type. Default: 255.
        max_free_names: u32 = 255;
        /// Maximum number of bindings of free names, for all uses of types together. Default: 16 million.
        max_bindings: u32 = 1 << 24;
        /// Maximum number of struct fields that resolving visits or lists. Default: 268 million. To find
        /// addresses, resolving never visits more than 4 million, plus 16 for each byte of the stream.
        max_steps: u32 = 1 << 28;
        /// Maximum number of errors that are collected, and of warnings and notes together. Default: 100.
        max_diagnostics: u32 = 100;
    }
}

impl Limits {
    pub(crate) fn depth(&self) -> u32 {
        self.max_depth.min(400)
    }
}

/// Options for parsing a layout, including limits.
///
/// ```
/// use dudley::diagnostic::Code;
/// use dudley::ParseOptions;
///
/// let options = ParseOptions::new().allow_param_redeclare(true);
/// let layout = options.parse("N : 1  N : 2  x = i1[N]")?;
/// assert!(layout.diagnostics().is_empty());
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    pub(crate) allow_param_redeclare: bool,
    silenced: Vec<Code>,
    denied: Vec<Code>,
    pub(crate) limits: Limits,
}

impl ParseOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets whether a parameter may be declared twice in one dict or struct, which is E021 otherwise. The
        /// later declaration shadows the earlier one from then on.
        allow_param_redeclare: bool;
        /// Sets the limits.
        limits: Limits;
    }

    /// Silences a warning or note. Errors cannot be silenced.
    #[must_use]
    pub fn silence(mut self, code: Code) -> Self {
        if code.severity() != Severity::Error {
            self.silenced.push(code);
        }
        self
    }

    /// Silences all notes.
    #[must_use]
    pub fn silence_notes(mut self) -> Self {
        let notes = Code::ALL.iter().filter(|code| code.severity() == Severity::Note);
        self.silenced.extend(notes);
        self
    }

    /// Turns a warning or note into an error, even if it is silenced. This rejects what this crate accepts
    /// beyond the letter of the language.
    ///
    /// ```
    /// use dudley::diagnostic::Code;
    /// use dudley::ParseOptions;
    ///
    /// let strict = ParseOptions::new().deny(Code::LeadingZeros);
    /// assert!(strict.parse("x = f8[010]").is_err());
    /// ```
    #[must_use]
    pub fn deny(mut self, code: Code) -> Self {
        self.denied.push(code);
        self
    }

    /// Removes silenced diagnostics and turns denied ones into errors. Use this for the [diagnostics of
    /// addresses](crate::Resolver::diagnose); parsing does the same by itself.
    #[must_use]
    pub fn judge(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        found.retain_mut(|diagnostic| match self.severity(diagnostic.code) {
            Some(severity) => {
                diagnostic.severity = severity;
                true
            }
            None => false,
        });
        found
    }

    /// Returns the severity of a code under these options, or `None` if it is silenced.
    pub(crate) fn severity(&self, code: Code) -> Option<Severity> {
        if self.denied.contains(&code) {
            return Some(Severity::Error);
        }
        (!self.silenced.contains(&code)).then(|| code.severity())
    }
}
