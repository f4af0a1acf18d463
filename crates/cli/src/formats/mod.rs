//! What each format's commands print. A module here calls its crate and formats; it knows nothing
//! about bytes.

pub(crate) mod asdf;
pub(crate) mod bloscpack;
pub(crate) mod dudley;
pub(crate) mod flux;
