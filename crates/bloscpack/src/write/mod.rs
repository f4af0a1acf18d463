//! Writing new files: data is divided into chunks, which are compressed on several threads and written in order.

pub(crate) mod batch;
pub(crate) mod chunk_encoder;
pub(crate) mod container;
pub(crate) mod options;
pub(crate) mod pack;
pub(crate) mod stream;
pub(crate) mod writer;
