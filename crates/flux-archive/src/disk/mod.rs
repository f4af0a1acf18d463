//! Creating archives from files on disk, extracting them, and comparing them with files. On Unix only.

mod create;
pub(crate) mod dir;
mod extract;
mod regions;
pub(crate) mod walk;

pub use create::{CreateReport, Creator, Filter, Holes, Times};
pub use extract::{Existing, ExtractReport, Extractor, LinkPolicy, Select};
pub use regions::RegionStore;
