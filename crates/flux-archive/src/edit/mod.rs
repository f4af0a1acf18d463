//! Editing archives by writing changed copies. Entries that need no change keep their members as written.

mod change;
mod convert;
mod externalize;
mod fix;
mod pack;
mod rewrite;
mod superseded;

pub use change::{append, delete};
pub use convert::convert;
pub use externalize::Externalizer;
pub use fix::fix;
pub use pack::pack;
pub use rewrite::MoveReport;
