//! Why a command could not do its work.

use std::fmt;
use std::io;
use std::path::Path;

use crate::Verdict;
use crate::goal::is_standard;

/// One line for people: the file, then what, where, expected and found.
#[derive(Debug)]
pub(crate) struct Failure {
    subject: String,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Asdf(asdf::Error),
    Bloscpack(bloscpack::Error),
    Flux(flux_archive::Error),
    Io(io::Error),
    Other(String),
}

impl Failure {
    pub(crate) fn asdf(file: &Path, error: asdf::Error) -> Self {
        Self { subject: file.display().to_string(), cause: Cause::Asdf(error) }
    }

    pub(crate) fn bloscpack(file: &Path, error: bloscpack::Error) -> Self {
        Self { subject: name(file), cause: Cause::Bloscpack(error) }
    }

    pub(crate) fn flux(file: &Path, error: flux_archive::Error) -> Self {
        Self { subject: name(file), cause: Cause::Flux(error) }
    }

    pub(crate) fn io(file: &Path, error: io::Error) -> Self {
        Self { subject: name(file), cause: Cause::Io(error) }
    }

    pub(crate) fn other(subject: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { subject: subject.to_string(), cause: Cause::Other(message.into()) }
    }

    /// The outcome of the command: bad data are a finding, everything else is a failure.
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.cause {
            Cause::Asdf(error) if error.is_bad_data() => Verdict::Found,
            Cause::Bloscpack(error) if error.is_bad_data() => Verdict::Found,
            Cause::Flux(error) if error.is_bad_data() => Verdict::Found,
            _ => Verdict::Failed,
        }
    }

    /// Standard output was closed by its reader, as `| head` does: no failure of ours.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(&self.cause, Cause::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn name(file: &Path) -> String {
    if is_standard(file) { "standard input".to_owned() } else { file.display().to_string() }
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
            Cause::Bloscpack(error) => error.to_string(),
            Cause::Flux(error) => error.to_string(),
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
