//! Creating archives from files on disk, extracting archives, and reading blobs from the original files. Available on
//! Unix only.

mod create;
pub(crate) mod dir;
mod extract;
mod regions;
pub(crate) mod walk;

pub use create::{CreateReport, Creator, Filter, Holes, Times};
pub use extract::{Existing, ExtractReport, Extractor, LinkPolicy, Select};
pub use regions::RegionStore;
