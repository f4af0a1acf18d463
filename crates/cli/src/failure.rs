//! Why a command could not do its work.

use std::fmt;
use std::io;
use std::path::Path;

/// One line for people: the file, then what, where, expected and found.
#[derive(Debug)]
pub(crate) struct Failure {
    subject: String,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Asdf(asdf::Error),
    Io(io::Error),
    Other(String),
}

impl Failure {
    pub(crate) fn asdf(file: &Path, error: asdf::Error) -> Self {
        Self { subject: file.display().to_string(), cause: Cause::Asdf(error) }
    }

    pub(crate) fn io(file: &Path, error: io::Error) -> Self {
        Self { subject: file.display().to_string(), cause: Cause::Io(error) }
    }

    pub(crate) fn other(subject: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { subject: subject.to_string(), cause: Cause::Other(message.into()) }
    }

    /// Standard output was closed by its reader, as `| head` does: no failure of ours.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(&self.cause, Cause::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { subject: "standard output".to_owned(), cause: Cause::Io(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match &self.cause {
            Cause::Asdf(error) => error.to_string(),
            Cause::Io(error) => error.to_string(),
            Cause::Other(message) => message.clone(),
        };
        // Errors of opening a file name it themselves.
        let is_named =
            message.strip_prefix(&self.subject).is_some_and(|rest| rest.starts_with(": "));
        if !is_named {
            write!(f, "{}: ", self.subject)?;
        }
        f.write_str(&message)
    }
}
