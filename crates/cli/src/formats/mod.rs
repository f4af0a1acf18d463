//! The commands of each format. Each module calls the crate for its format and prints the results,
//! but does not process the bytes of a file itself.

pub(crate) mod asdf;
pub(crate) mod bloscpack;
pub(crate) mod dudley;
pub(crate) mod flux;
