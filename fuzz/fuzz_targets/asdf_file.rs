//! Opens arbitrary bytes, decodes and verifies every block, and reads the arrays among the first
//! nodes, both entirely and in part. A decoded block must have the stated length, and decoding a
//! range of the block must return the same bytes.

#![no_main]

use asdf::ndarray::{ByteOrder, Order, Slice};
use asdf::{External, OpenOptions, Strictness};
use binio::Limits;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let strictness = if data.len() % 2 == 0 { Strictness::Lenient } else { Strictness::Salvage };
    let limits = Limits::default().max_alloc(2 << 20).max_decoded(2 << 20).max_items(1 << 20);
    let options = OpenOptions::new().strictness(strictness).limits(limits).external(External::Deny);
    let Ok(file) = options.from_bytes(data.to_vec()) else { return };
    for block in file.blocks() {
        let Ok(block) = block else { continue };
        let decoded = block.decode();
        if let (Ok(bytes), Ok(len)) = (&decoded, block.data_len()) {
            assert_eq!(bytes.len() as u64, len, "decoding returns data_size bytes or an error");
            let middle = len / 2;
            assert_eq!(
                block.decode_range(middle..len).expect("a range of a block that can be decoded"),
                bytes.slice(middle as usize..)
            );
        }
        let _ = block.verify();
    }
    let Ok(nodes) = file.nodes() else { return };
    for node in nodes.take(200) {
        let Ok(array) = node.ndarray() else { continue };
        let _ = (
            array.view::<f64>().is_ok(),
            array.read_bytes(Order::C, ByteOrder::Little).is_ok(),
            array.mask().is_ok(),
        );
        let _ = (array.strings().is_ok(), array.write_npy(std::io::sink()).is_ok());
        let backwards = Slice::Range { start: None, stop: None, step: -2 };
        let _ =
            array.slice(&[backwards]).and_then(|tile| tile.read_bytes(Order::F, ByteOrder::Stored));
    }
});
