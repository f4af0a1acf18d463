//! How a layout is parsed.

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::layout::Layout;
use crate::limits::Limits;
use crate::source::Source;
use crate::syntax::Tree;

/// Options of parsing, and the limits under which it happens.
///
/// ```
/// use dudley::{Code, ParseOptions};
///
/// let options = ParseOptions::new().allow_param_redeclare(true);
/// let layout = options.parse("N : 1  N : 2  x = i1[N]")?;
/// assert!(layout.warnings().is_empty());
/// # Ok::<(), dudley::Diagnostics>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    pub(crate) allow_param_redeclare: bool,
    pub(crate) silenced: Vec<Code>,
    pub(crate) denied: Vec<Code>,
    pub(crate) limits: Limits,
}

impl ParseOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A parameter may be declared twice in one dict or struct: the later one shadows the earlier from
    /// there on, instead of E021.
    #[must_use]
    pub fn allow_param_redeclare(mut self, allow: bool) -> Self {
        self.allow_param_redeclare = allow;
        self
    }

    /// Says nothing of a warning or lint. Errors cannot be silenced.
    #[must_use]
    pub fn silence(mut self, code: Code) -> Self {
        if code.severity() != Severity::Error {
            self.silenced.push(code);
        }
        self
    }

    /// Says nothing of lints, whichever.
    #[must_use]
    pub fn silence_lints(mut self) -> Self {
        self.silenced.extend(Code::all().filter(|code| code.severity() == Severity::Lint));
        self
    }

    /// Takes a warning or lint for an error, also where it was silenced: so what this crate reads and the
    /// letter of the language does not have is refused.
    ///
    /// ```
    /// use dudley::{Code, ParseOptions};
    ///
    /// let strict = ParseOptions::new().deny(Code::LeadingZeros);
    /// assert!(strict.parse("x = f8[010]").is_err());
    /// ```
    #[must_use]
    pub fn deny(mut self, code: Code) -> Self {
        self.denied.push(code);
        self
    }

    /// Leaves out what is silenced, and makes errors of what is denied: for the
    /// [lints](crate::Resolver::lints) of addresses.
    #[must_use]
    pub fn judge(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for diagnostic in &mut found {
            diagnostic.is_denied |= self.denied.contains(&diagnostic.code);
        }
        found.retain(|found| found.is_denied || !self.silenced.contains(&found.code));
        found
    }

    /// What a text may make its reader hold.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Decodes, parses and checks.
    ///
    /// # Errors
    /// As [`Layout::parse`].
    pub fn parse(&self, text: impl AsRef<[u8]>) -> Result<Layout, Diagnostics> {
        match Source::decode(text.as_ref()) {
            Ok(source) => self.parse_source(source),
            Err(error) => Err(Diagnostics::new(vec![*error], Arc::default())),
        }
    }

    /// Parses and checks a text that is decoded; its name is in the messages.
    ///
    /// # Errors
    /// As [`Layout::parse`].
    pub fn parse_source(&self, source: impl Into<Arc<Source>>) -> Result<Layout, Diagnostics> {
        let source = source.into();
        let tree = Tree::parse(source.text(), &self.limits);
        crate::check::check(&source, &tree, self)
    }
}
