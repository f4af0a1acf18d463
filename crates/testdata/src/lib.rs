//! Golden files and the comparers that check them.
