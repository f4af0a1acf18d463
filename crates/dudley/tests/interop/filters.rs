//! Testing filters against zfpy and Pillow. `filters.py` first writes the cases, and later reads
//! the data that this test writes.

use std::fmt::Write as _;

use dudley::{File, Layout, Order, Rules, WriteOptions};
use serde_json::Value;

#[test]
fn data_compressed_by_the_reference_tools_can_be_decoded() {
    let Some(folder) = testdata::interop_folder() else { return };
    let folder = folder.join("filters");
    let cases = std::fs::read(folder.join("cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    for (number, case) in cases.iter().enumerate() {
        let read = |kind: &str| std::fs::read(folder.join(format!("{number}.{kind}"))).unwrap();
        let (payload, array, decoded) = (read("payload"), read("array"), read("decoded"));
        let mut text = format!("< x = {}[", case["dtype"].as_str().unwrap());
        for len in case["shape"].as_array().unwrap() {
            write!(text, "{len}, ").unwrap();
        }
        let text =
            format!("{}] -> {}", text.trim_end_matches(", "), case["filter"].as_str().unwrap());
        let layout = Layout::parse(&text).unwrap();

        let stored = [&(payload.len() as u64).to_le_bytes()[..], &payload].concat();
        let file = File::from_bytes(stored, layout.clone()).unwrap();
        let found = file.get("x").unwrap_or_else(|error| panic!("{text}: {error}"));
        let bytes =
            found.read_bytes(dudley::array::Order::C, dudley::array::ByteOrder::Stored).unwrap();
        if case["exact"] == true {
            assert_eq!(bytes, decoded, "{text}");
        } else {
            let far = bytes.iter().zip(&decoded).filter(|(a, b)| a.abs_diff(**b) > 4).count();
            assert_eq!((bytes.len(), far), (decoded.len(), 0), "{text}");
        }

        let plain = Layout::parse(text.split(" -> ").next().unwrap()).unwrap();
        let given = File::from_bytes(array, plain).unwrap().get("x").unwrap();
        let mut out = Vec::new();
        let options = WriteOptions::new().rules(Rules::new().order(Order::Little)).foreign(true);
        let mut writer = options.write_at(&mut out, layout.clone()).unwrap();
        writer.put_array("x", &given).unwrap();
        writer.finish().unwrap();
        let written = File::from_bytes(out, layout).unwrap();
        std::fs::write(folder.join(format!("{number}.ours")), written.raw_bytes("x").unwrap())
            .unwrap();
        let back = written.get("x").unwrap();
        let back =
            back.read_bytes(dudley::array::Order::C, dudley::array::ByteOrder::Stored).unwrap();
        std::fs::write(folder.join(format!("{number}.back")), back).unwrap();
    }
    assert!(cases.len() > 30);
}
