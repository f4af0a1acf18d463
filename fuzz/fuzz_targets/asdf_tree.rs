//! Parsing arbitrary bytes as a tree must either succeed or return an error. Every traversal must
//! end, and every position must be inside the file.

#![no_main]

use asdf::OpenOptions;
use libfuzzer_sys::fuzz_target;

const HEAD: &[u8] = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n";

fuzz_target!(|data: &[u8]| {
    let bytes = if data.starts_with(b"#ASDF") { data.to_vec() } else { [HEAD, data].concat() };
    let Ok(file) = OpenOptions::new().from_bytes(bytes.clone()) else { return };
    if let Ok(nodes) = file.nodes() {
        for node in nodes {
            assert!(node.position().offset <= bytes.len() as u64);
            let _ = (node.value(), node.text(), node.tag(), node.as_f64(), node.as_i64());
        }
    }
    if let Ok(root) = file.tree() {
        let _ = root.write_json(&mut std::io::sink(), &asdf::tree::json::Options::default());
    }
    let _ = (file.history(), file.library());
});
