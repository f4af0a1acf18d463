//! Failures of commands.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use binio::diagnostic::compression_by_signature;
use serde_json::{Value, json};

use crate::Verdict;
use crate::hint;
use crate::input::head;
use crate::output::file::is_standard;
use crate::output::{Output, show_text};

/// The name of standard output in messages, and the subject of failures to write to it.
pub(crate) const STANDARD_OUTPUT: &str = "standard output";

/// The failure of a command: a subject, which is usually a file, and an error. It is printed on one
/// line, but errors in a layout are shown with the lines that contain them.
#[derive(Debug)]
pub(crate) struct Failure {
    subject: String,
    error: Box<dyn Error + Send + Sync>,
    /// The format of the file, if known.
    format: Option<&'static str>,
    /// A phrase such as "a gzip file", if the file must be decompressed first.
    compressed: Option<&'static str>,
    is_bad_data: bool,
}

impl Failure {
    pub(crate) fn asdf(file: &Path, error: asdf::Error) -> Self {
        Self::of_format("asdf", file, error.is_bad_data(), error)
    }

    pub(crate) fn bloscpack(file: &Path, error: bloscpack::Error) -> Self {
        Self::of_format("bloscpack", file, error.is_bad_data(), error)
    }

    pub(crate) fn dudley(file: &Path, error: dudley::Error) -> Self {
        Self::of_format("dudley", file, error.is_bad_data(), error)
    }

    /// Returns the failure for a compressed layout file.
    pub(crate) fn compressed_layout(file: &Path) -> Self {
        Self::of_format("dudley", file, true, "expected a plain-text layout")
    }

    pub(crate) fn flux(file: &Path, error: flux_archive::Error) -> Self {
        Self::of_format("flux", file, error.is_bad_data(), error)
    }

    fn of_format(
        format: &'static str,
        file: &Path,
        is_bad_data: bool,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let compressed = compression_by_signature(&head(file));
        Self { format: Some(format), compressed, is_bad_data, ..Self::other(name(file), error) }
    }

    pub(crate) fn io(file: &Path, error: io::Error) -> Self {
        Self::other(name(file), error)
    }

    pub(crate) fn other(
        subject: impl fmt::Display,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let subject = subject.to_string();
        Self { subject, error: error.into(), format: None, compressed: None, is_bad_data: false }
    }

    /// Appends the name of a part of the file, such as a pointer into the tree, to the subject.
    pub(crate) fn about(mut self, part: &str) -> Self {
        self.subject = format!("{}: {part}", self.subject);
        self
    }

    /// Sets the exit status to 2 even if the cause is bad data. Used by commands such as `diff`,
    /// for which status 1 has another meaning.
    pub(crate) fn fatal(self) -> Self {
        Self { is_bad_data: false, ..self }
    }

    /// Prints the failure on standard error, and a hint if there is one. Errors in a layout are
    /// shown with the lines that contain them.
    pub(crate) fn show(&self, output: Output) {
        match self.layout_errors() {
            Some(errors) => show_text(|color| errors.render(color)),
            None => output.fail(self),
        }
        if let Some(hint) = self.hint() {
            output.hint(&hint);
        }
    }

    /// Returns a sentence that suggests a command or an option. Returns `None` if no hint is known,
    /// or if the file is compressed, because the message already says that it must be decompressed.
    fn hint(&self) -> Option<&'static str> {
        if self.compressed.is_some() { None } else { hint::of(&*self.error) }
    }

    /// Returns the message without the subject.
    fn message(&self) -> String {
        let message = match self.layout_errors() {
            Some(errors) => errors.first().message.clone(),
            None => self.error.to_string(),
        };
        match self.compressed {
            Some(kind) if !message.contains(kind) => {
                format!("{message}; this is {kind}, which has to be decompressed first")
            }
            _ => message,
        }
    }

    /// Returns the errors in a Dudley layout, if they caused the failure.
    fn layout_errors(&self) -> Option<&dudley::diagnostic::Diagnostics> {
        self.error.downcast_ref::<dudley::Error>().and_then(dudley::Error::diagnostics)
    }

    /// Returns `Found` if the cause is bad data, or else `Failed`.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.is_bad_data { Verdict::Found } else { Verdict::Failed }
    }

    /// Returns `true` if the program that reads standard output has closed the pipe, as `head` does
    /// after a few lines. This does not count as a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let error = self.error.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns `true` if writing to standard output failed.
    pub(crate) fn is_of_standard_output(&self) -> bool {
        self.subject == STANDARD_OUTPUT
    }

    /// Returns the JSON report on a file that could not be read, in the same form as all other
    /// reports.
    pub(crate) fn report(&self, file: &Path) -> Value {
        let diagnostics = match self.layout_errors() {
            Some(errors) => json!(errors),
            None => json!([self.diagnostic()]),
        };
        let all = diagnostics.as_array().into_iter().flatten();
        let errors = all.filter(|one| one["severity"] == "error").count();
        json!({
            "file": file.display().to_string(), "format": self.format, "ok": false, "errors": errors,
            "diagnostics": diagnostics,
        })
    }

    /// Returns the failure as a JSON diagnostic.
    pub(crate) fn diagnostic(&self) -> Value {
        let code = if self.is_bad_data { "BadData" } else { "Failed" };
        let mut diagnostic = json!({"code": code, "severity": "error", "message": self.message()});
        if let Some(hint) = self.hint() {
            diagnostic["help"] = json!([hint]);
        }
        diagnostic
    }
}

/// Returns the name of an input file for messages: its path, or "standard input" for "-". JSON
/// contains the path as given instead.
pub(crate) fn name(file: &Path) -> String {
    if is_standard(file) { "standard input".to_owned() } else { file.display().to_string() }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::other(STANDARD_OUTPUT, error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message();
        // Do not repeat the subject: errors from opening a file already contain the file name.
        let is_named =
            message.strip_prefix(&self.subject).is_some_and(|rest| rest.starts_with(": "));
        if !is_named {
            write!(f, "{}: ", self.subject)?;
        }
        f.write_str(&message)
    }
}
