//! Files on disk: archives are created of them, extracted to them, and compared with them. On Unix.

mod create;
pub(crate) mod dir;
mod extract;
mod regions;
pub(crate) mod walk;

pub use create::{CreateReport, Creator, Filter, Holes, Times};
pub use extract::{Existing, ExtractReport, Extractor, LinkPolicy, Select};
pub use regions::RegionStore;
