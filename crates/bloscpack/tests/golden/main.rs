//! Golden files: what we read is what is recorded.

mod corpus;
