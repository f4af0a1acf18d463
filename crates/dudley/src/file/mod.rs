//! Native files, and other files that are described by a layout.
//!
//! | module | content |
//! |---|---|
//! | `bytes` | the bytes of a file, without the effects of an interrupted change |
//! | `appended` | the layout at the end of a native file |
//! | `value` | an open file: arrays, members and parameters by path |
//! | `open` | opening a file: finding its layout, parameters and addresses |
//! | `blocks` | reading a file in blocks |
//! | `compressed` | arrays decoded by a filter |
//! | `instances` | structs whose instances differ in size |
//! | `list` | the elements of a list |
//! | `references` | arrays of references to items |
//! | `json` | values as JSON |
//! | `numpy` | conversion of arrays to types that numpy supports |
//! | `explain` | the item that a byte belongs to |
//! | `pipe` | sequential reading of input that cannot seek |
//! | `family` | many files that share one layout |
//! | `verify` | checks of a layout, or of a native file and its layout |

mod appended;
#[cfg(feature = "read")]
mod blocks;
#[cfg(feature = "read")]
pub(crate) mod bytes;
#[cfg(feature = "read")]
mod compressed;
#[cfg(feature = "read")]
mod explain;
#[cfg(feature = "read")]
mod family;
#[cfg(feature = "read")]
mod instances;
#[cfg(feature = "read")]
mod json;
#[cfg(feature = "read")]
mod list;
#[cfg(feature = "read")]
mod numpy;
#[cfg(feature = "read")]
pub(crate) mod open;
#[cfg(feature = "read")]
mod pipe;
#[cfg(feature = "read")]
mod references;
#[cfg(feature = "read")]
pub(crate) mod value;
mod verify;

pub use appended::appended_layout;
#[cfg(feature = "write")]
pub(crate) use appended::appended_text;
#[cfg(feature = "read")]
pub use bytes::FileBytes;
#[cfg(feature = "read")]
pub use explain::Explanation;
#[cfg(feature = "read")]
pub use family::{Family, Summaries, Template, file_names};
#[cfg(feature = "read")]
pub use instances::{Instance, Instances};
#[cfg(feature = "read")]
pub use list::List;
#[cfg(feature = "read")]
pub use numpy::for_numpy;
#[cfg(feature = "read")]
pub use references::{Referenced, References};
pub use verify::{VerifyOptions, VerifyReport, verify};
