//! Parses arbitrary text as a type in three forms: as a Python literal, as JSON, and in the header
//! of a `.npy` file. A valid type must be unchanged after being written and read again, and no size
//! may exceed its maximum.

#![no_main]

use binio::array::ElementsError;
use bloscpack::Reader;
use bloscpack::array::{ArrayInfo, Datatype};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Fragments of literals. Each input byte selects one, so a few bytes can spell out a deeply nested or
/// unusual type.
const TOKENS: [&str; 32] = [
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ", ",
    ": ",
    "'",
    "\"",
    "\\x41",
    "'a'",
    "'b'",
    "u'é'",
    "''",
    "'<f8'",
    "'>i4'",
    "'|S0'",
    "'<U536870911'",
    "'M8[25s]'",
    "'|O'",
    "'descr'",
    "('a', '<i4')",
    "('', '|V2')",
    "(('t', 'n'), '|u1', 3)",
    "[('x', '|i1')]",
    "(2, 3)",
    "1",
    "-1",
    "0",
    "9223372036854775807L",
    "True",
];

fuzz_target!(|data: &[u8]| {
    // The seeds are whole files, whose metadata contains the text.
    let metadata =
        Reader::from_bytes(data.to_vec()).ok().and_then(|file| file.metadata().ok()??.json().ok());
    let text = match metadata.as_ref().and_then(|metadata| metadata["dtype"].as_str()) {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(data).into_owned(),
    };
    check_text(data.iter().take(400).map(|&byte| TOKENS[usize::from(byte % 32)]).collect());
    check_text(text.clone());
    let json: Value = metadata.unwrap_or_else(|| serde_json::from_str(&text).unwrap_or_default());
    check(Datatype::from_json(&json));
    for metadata in
        [&json, &json!({"dtype": json, "shape": [3, 2], "order": "F", "container": "numpy"})]
    {
        if let Ok(info) = ArrayInfo::from_json(metadata) {
            assert!(i64::try_from(info.byte_size()).is_ok());
            let again = ArrayInfo::from_json(&info.to_json());
            assert_eq!(again.expect("written types can be read"), info);
            if let Ok(len @ ..=65536) = usize::try_from(info.byte_size()) {
                assert_eq!(npy(&info.npy_header(), len), Some(info));
            }
        }
    }
    npy(data, 0);
});

fn check_text(text: String) {
    check(Datatype::parse(&text));
    let dictionary = format!("{{'descr': {text}, 'fortran_order': False, 'shape': (2,)}}");
    for text in [text, dictionary] {
        let mut header = b"\x93NUMPY\x03\x00".to_vec();
        header.extend(u32::try_from(text.len()).expect("inputs are short").to_le_bytes());
        header.extend(text.as_bytes());
        npy(&header, 0);
    }
}

fn check(dtype: Result<Datatype, ElementsError>) {
    match dtype {
        Ok(dtype) => {
            assert!(i32::try_from(dtype.itemsize()).is_ok());
            assert_eq!(Datatype::parse(&dtype.descr()).expect("written types can be read"), dtype);
            assert_eq!(
                Datatype::from_json(&dtype.descr_json())
                    .expect("written JSON can be read")
                    .itemsize(),
                dtype.itemsize()
            );
        }
        Err(error) => drop(error.to_string()),
    }
}

/// Reads the array description from a `.npy` file that consists of `header` and `len` zero bytes.
fn npy(header: &[u8], len: usize) -> Option<ArrayInfo> {
    let mut file = header.to_vec();
    file.resize(header.len() + len, 0);
    ArrayInfo::from_npy(&file).ok().map(|(info, _)| info)
}
