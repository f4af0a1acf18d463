//! Opening arbitrary bytes must either succeed or return an error. The chain of blocks must end,
//! and all blocks must be inside the file.

#![no_main]

use asdf::{OpenOptions, Strictness};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for strictness in [Strictness::Lenient, Strictness::Strict, Strictness::Salvage] {
        let file = match OpenOptions::new().strictness(strictness).from_bytes(data.to_vec()) {
            Ok(file) => file,
            Err(error) => {
                let _ = error.to_string();
                continue;
            }
        };
        let blocks = file.blocks();
        assert!(blocks.len().expect("reading from memory cannot fail") <= data.len() / 4 + 1);
        for block in blocks {
            let block = block.expect("reading from memory cannot fail");
            assert!(block.offset() < data.len() as u64);
            if let Ok(range) = block.data_range() {
                assert!(range.start <= range.end && range.end <= data.len() as u64);
                assert_eq!(
                    block.raw().expect("the range is in the file").len() as u64,
                    range.end - range.start
                );
            }
        }
        for diagnostic in file.diagnostics() {
            let _ = diagnostic.to_string();
        }
    }
});
