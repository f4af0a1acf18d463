//! Options and limits for parsing.

use crate::diagnostic::{Code, Diagnostic, Severity};

binio::limits! {
    /// Limits for parsing layouts and computing addresses.
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
        /// Maximum number of bindings in a layout. Each use of a type binds each of its free names. Bindings
        /// that equal those of the previous use of the type are shared, and count only once. Default: 16.8
        /// million.
        max_bindings: u32 = 1 << 24;
        /// Maximum number of struct fields that are visited or listed when addresses are computed. Default: 268
        /// million. Even if this limit is higher, computing an address table visits at most 4.2 million fields,
        /// plus 16 fields per byte of the stream.
        max_steps: u32 = 1 << 28;
        /// Maximum number of errors to collect, and also the maximum number of warnings and notes
        /// together. Default: 100.
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
        /// Sets whether a parameter may be declared again in the same dict or struct. Later uses of the name
        /// refer to the new declaration. By default, a second declaration is an error (E021).
        allow_param_redeclare: bool;
        /// Sets the limits for parsing.
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

    /// Turns a warning or note into an error, even if it is silenced. For example, this can reject layouts that
    /// are accepted by default although the language does not strictly allow them.
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

    /// Removes silenced diagnostics, and turns denied diagnostics into errors. Parsing applies
    /// these options automatically, but the [diagnostics of addresses](crate::Resolver::diagnose)
    /// must be passed to this method.
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
