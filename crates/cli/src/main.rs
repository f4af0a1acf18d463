//! scibin.
fn main() {}
