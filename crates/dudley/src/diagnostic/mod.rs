//! What is wrong with a layout, or odd: values, and how they are shown.

mod code;
mod render;

use std::fmt;
use std::sync::Arc;

pub use code::{Code, Severity};
use serde_json::{Value, json};

use crate::source::{Source, Span};

/// One thing that is wrong, or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What kind of thing.
    pub code: Code,
    /// Where. Empty where it has no place.
    pub span: Span,
    /// What, in one line without a place.
    pub message: String,
    /// What stands at `span`; may be empty.
    pub label: String,
    /// Other places that matter.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Vec<String>,
    /// The change that mends it, where it is sure.
    pub fix: Option<Fix>,
    /// A warning or lint that the caller takes for an error.
    pub(crate) is_denied: bool,
}

/// A place and what matters there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What.
    pub message: String,
}

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What to take away.
    pub span: Span,
    /// What to put there.
    pub replacement: String,
}

impl Diagnostic {
    /// A diagnostic without labels and help.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            span,
            message: message.into(),
            label: String::new(),
            labels: Vec::new(),
            help: Vec::new(),
            fix: None,
            is_denied: false,
        }
    }

    /// How bad it is: as bad as its code says, or an error where that was
    /// [denied](crate::ParseOptions::deny).
    pub fn severity(&self) -> Severity {
        if self.is_denied { Severity::Error } else { self.code.severity() }
    }

    /// With a word on its place.
    #[must_use]
    pub fn with_text(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With another place.
    #[must_use]
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// With a line of help.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// With the change that mends it.
    #[must_use]
    pub fn with_fix(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { span, replacement: replacement.into() });
        self
    }

    /// As text with the lines that it is about.
    ///
    /// ```text
    /// error[E020]: `x` is declared twice
    ///  --> run.dud:2:1
    ///   |
    /// 1 | x = f8
    ///   | - first here
    /// 2 | x = i4
    ///   | ^ and here again
    /// ```
    pub fn render(&self, source: &Source) -> String {
        render::render(self, source)
    }

    /// As JSON: `code`, `severity`, `message`, `file`, `line`, `column`, `start` and `end` (bytes),
    /// `label`, `labels`, `help`, `fix`.
    pub fn to_json(&self, source: &Source) -> Value {
        let place = |span: Span| {
            let (line, column) = source.line_column(span.start);
            json!({"line": line, "column": column, "start": span.start, "end": span.end})
        };
        let mut value = place(self.span);
        value["code"] = self.code.as_str().into();
        value["severity"] = self.severity().to_string().into();
        value["message"] = self.message.clone().into();
        value["file"] = source.name().into();
        value["label"] = self.label.clone().into();
        let labels = self.labels.iter().map(|label| {
            let mut value = place(label.span);
            value["message"] = label.message.clone().into();
            value
        });
        value["labels"] = labels.collect();
        value["help"] = self.help.clone().into();
        value["fix"] = self.fix.as_ref().map_or(Value::Null, |fix| {
            let mut value = place(fix.span);
            value["replacement"] = fix.replacement.clone().into();
            value
        });
        value
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity(), self.code, self.message)
    }
}

/// Everything that is wrong with a text, in its order. `Display` shows all, with carets.
///
/// ```
/// let error = dudley::Layout::parse("x = f8\nx = i4").unwrap_err();
/// assert_eq!(error.first().code, dudley::Code::Redeclared);
/// assert_eq!(error.line_column(error.first()), (2, 1));
/// assert!(error.to_string().starts_with("error[E020]: "));
/// ```
#[derive(Clone)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    source: Arc<Source>,
}

impl Diagnostics {
    /// Of at least one, in order of the text.
    pub(crate) fn new(list: Vec<Diagnostic>, source: Arc<Source>) -> Self {
        Self { list, source }
    }

    /// The first error: the one that a parser would give that stops at errors.
    pub fn first(&self) -> &Diagnostic {
        let mut errors = self.list.iter().filter(|found| found.severity() == Severity::Error);
        errors.next().unwrap_or(&self.list[0])
    }

    /// All of them, warnings too.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The text that they are about.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Line and column of one of them, from 1.
    pub fn line_column(&self, diagnostic: &Diagnostic) -> (usize, usize) {
        self.source.line_column(diagnostic.span.start)
    }

    /// An array of what [`Diagnostic::to_json`] gives.
    pub fn to_json(&self) -> Value {
        self.list.iter().map(|found| found.to_json(&self.source)).collect()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, diagnostic) in self.list.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            f.write_str(&diagnostic.render(&self.source))?;
        }
        Ok(())
    }
}

/// The messages alone: `unwrap` shows them.
impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(ToString::to_string)).finish()
    }
}

impl std::error::Error for Diagnostics {}
