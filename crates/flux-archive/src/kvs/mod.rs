//! What a Flux broker left on the disk, read without a broker: the key-value store in a content store.
//!
//! ```text
//! checkpoint    {"version":1,"rootref":"sha1-..","sequence":N,"timestamp":T}
//! rootref       names a blob: {"ver":1,"type":"dir","data":{name: object, ..}}
//! ```
//!
//! | type | data | stands for |
//! |---|---|---|
//! | `dir` | objects by name | a directory |
//! | `dirref` | an array of one blobref | a directory in a blob |
//! | `val` | base64 | a short value |
//! | `valref` | an array of blobrefs | a value, in pieces |
//! | `symlink` | `{"target": key}` | what lies under another key |
//!
//! `archive.NAME` is an archive; its blobs lie in the same store. `job.<id>.jobspec` is what a job
//! was submitted with, its files included. Every blob on the way is verified.

mod checkpoint;
#[cfg(feature = "dump-tar")]
mod dump;
mod error;
mod job;
mod object;
mod state;

pub use checkpoint::Checkpoint;
#[cfg(feature = "dump-tar")]
pub use dump::DumpTar;
pub use error::KvsError;
pub use job::JobId;
pub use state::StateDir;
