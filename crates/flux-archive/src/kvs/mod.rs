//! Reading the state of a Flux broker without running the broker. The state is a key-value store within a content
//! store.
//!
//! [`BrokerState`] reads a state directory or a `flux dump` file.
//!
//! ```text
//! checkpoint    {"version":1,"rootref":"sha1-..","sequence":N,"timestamp":T}
//! rootref       names a blob: {"ver":1,"type":"dir","data":{name: object, ..}}
//! ```
//!
//! | type | data | meaning |
//! |---|---|---|
//! | `dir` | objects by name | a directory |
//! | `dirref` | an array of one blobref | a directory in a blob |
//! | `val` | base64 | a short value |
//! | `valref` | an array of blobrefs | a value in one or more blobs |
//! | `symlink` | `{"target": key}` | a link to another key |
//!
//! The value of `archive.NAME` is an archive. Its blobs are in the same store, but a dump contains them only if they
//! were preserved with the archive. The value of `job.<id>.jobspec` is the jobspec of a job and contains the files of
//! the job. In a state directory, the blobs of a value and all blobs on the path to its key are verified.

mod broker;
mod checkpoint;
mod job;
mod object;
mod state;

pub use crate::error::KvsError;
pub use broker::BrokerState;
pub use checkpoint::Checkpoint;
pub use job::JobId;
pub use state::StateDir;

fn invalid(key: &str, message: &str) -> KvsError {
    KvsError::Invalid { key: key.to_owned(), message: message.to_owned() }
}
