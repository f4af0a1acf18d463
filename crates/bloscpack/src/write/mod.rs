//! Writing new files: data are cut into chunks, which are compressed on several threads and written
//! in their order.

pub(crate) mod batch;
pub(crate) mod chunk_encoder;
pub(crate) mod container;
pub(crate) mod options;
pub(crate) mod pack;
pub(crate) mod stream;
pub(crate) mod writer;
