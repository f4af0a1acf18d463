//! Testing filters: arrays are written and read back, unsupported arrays are rejected, and damaged
//! data does not cause a panic.
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

use dudley::filter::{FilterError, FilterRegistry, Reference};
use dudley::{ErrorKind, File, ItemId, Layout, OpenOptions, Order, Rules, WriteOptions};

/// Opens a file that contains a single compressed array: the payload, preceded by its length in
/// eight bytes.
fn with_payload(layout: &str, payload: &[u8]) -> File {
    let bytes = [&(payload.len() as u64).to_le_bytes()[..], payload].concat();
    let layout = Layout::parse(layout).unwrap();
    OpenOptions::new()
        .rules(Rules::new().order(Order::Little))
        .layout(layout)
        .from_bytes(bytes)
        .unwrap()
}

/// Writes elements to the item `x`, and returns the compressed bytes and the elements read back.
fn round_trip<T: dudley::array::Element>(layout: &str, elements: &[T]) -> (Vec<u8>, Vec<T>) {
    let mut bytes = Vec::new();
    let options = WriteOptions::new().foreign(true).rules(Rules::new().order(Order::Little));
    let mut writer = options.write_at(&mut bytes, Layout::parse(layout).unwrap()).unwrap();
    writer.put("x", elements).unwrap();
    writer.finish().unwrap();
    let options = OpenOptions::new()
        .rules(Rules::new().order(Order::Little))
        .layout(Layout::parse(layout).unwrap());
    let file = options.from_bytes(bytes).unwrap();
    (file.raw_bytes("x").unwrap().to_vec(), file.get("x").unwrap().read().unwrap())
}

/// Returns the message with which a filter rejects elements.
fn rejected(layout: &str, elements: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut writer =
        WriteOptions::new().write_at(&mut bytes, Layout::parse(layout).unwrap()).unwrap();
    let error = writer.put("x", elements).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Filter { .. }), "{error}");
    error.to_string()
}

/// Replaces each byte of a payload with several values in turn, and truncates the payload at every
/// length. Opening the array must succeed or return an error, but must not panic. If the array can
/// be opened, reading the elements must succeed.
fn damaged(layout: &str, payload: &[u8]) {
    let read = |payload: &[u8]| {
        let file = with_payload(layout, payload);
        if let Ok(array) = file.get("x") {
            array.read_bytes(dudley::array::Order::C, dudley::array::ByteOrder::Stored).unwrap();
        }
    };
    for at in 0..payload.len() {
        for value in [0, 0x7f, 0x80, 0xff] {
            let mut damaged = payload.to_vec();
            damaged[at] = value;
            read(&damaged);
        }
        read(&payload[..at]);
    }
}

#[cfg(feature = "gzip")]
#[test]
fn gzip_must_decode_to_exactly_the_declared_size() {
    let (payload, found) = round_trip("x = u1[1000] -> gzip", &[7_u8; 1000]);
    assert_eq!(found, [7; 1000]);
    damaged("x = u1[1000] -> gzip", &payload);
    let message = |layout| with_payload(layout, &payload).get("x").unwrap_err().to_string();
    assert!(message("x = u1[999] -> gzip").contains("to more than the declared 999 bytes"));
    assert!(message("x = u1[1001] -> gzip").contains("to 1000 bytes, expected 1001"));
    assert!(
        rejected("x = u1 -> gzip(10)", &[1])
            .contains("invalid level 10: expected an integer from -1 to 9")
    );
}

/// The first element is at address 0, and decoded arrays begin at offset 0 too.
#[test]
fn a_list_of_compressed_elements_is_not_stacked_even_at_address_0() {
    for text in ["l [u1[4] -> gzip, u1[4] -> gzip]", "z {\"\" = u1[4] -> gzip}  l [z, z]"] {
        let layout = || Layout::parse(text).unwrap();
        let mut bytes = Vec::new();
        let mut writer = WriteOptions::new().foreign(true).write_at(&mut bytes, layout()).unwrap();
        writer.put("l[0]", &[1_u8, 2, 3, 4]).unwrap();
        writer.put("l[1]", &[5_u8, 6, 7, 8]).unwrap();
        writer.finish().unwrap();
        let file = OpenOptions::new().layout(layout()).from_bytes(bytes).unwrap();
        let list = file.list("/l").unwrap();
        assert_eq!(list.get(0).unwrap().read::<u8>().unwrap(), [1, 2, 3, 4], "{text}");
        assert_eq!(list.get(1).unwrap().read::<u8>().unwrap(), [5, 6, 7, 8], "{text}");
        assert!(list.stacked().unwrap().is_none(), "{text}");
    }
}

#[cfg(feature = "png")]
#[test]
fn png_stores_images_without_loss() {
    let grey: Vec<u8> = (0..12).collect();
    for layout in ["x = u1[3, 4] -> png", "x = u1[2, 2, 3] -> png(0)", "x = u1[3, 4] -> png(9)"] {
        let (payload, found) = round_trip(layout, &grey);
        assert!(payload.starts_with(b"\x89PNG"));
        assert_eq!(found, grey, "{layout}");
        damaged(layout, &payload);
    }
    let deep: Vec<u16> = (0..6).map(|number| number * 1000 + 1).collect();
    let (little, found) = round_trip("< x = u2[2, 3] -> png", &deep);
    assert_eq!(found, deep);
    let (big, found) = round_trip("> x = u2[2, 3] -> png", &deep);
    assert_eq!((found, big), (deep, little));
    for (layout, message) in [
        ("x = u1[12] -> png", "the shape is [12], expected [height, width] or [height, width, 3]"),
        ("x = i1[3, 4] -> png", "expected the type u1 or u2"),
        ("x = u1[3, 2, 2] -> png", "expected [height, width]"),
        ("x = u1[3, 4] -> png(10)", "expected one argument, a level from 0 to 9"),
    ] {
        let found = if layout.contains("i1") {
            let mut bytes = Vec::new();
            let layout = Layout::parse(layout).unwrap();
            let mut writer = WriteOptions::new().write_at(&mut bytes, layout).unwrap();
            writer.put("x", &[0_i8; 12]).unwrap_err().to_string()
        } else {
            rejected(layout, &grey)
        };
        assert!(found.contains(message), "{found}");
    }
    let (payload, _) = round_trip("x = u1[3, 4] -> png", &grey);
    let error = with_payload("x = u1[4, 3] -> png", &payload).get("x").unwrap_err().to_string();
    assert!(
        error.contains("it has 3 x 4 pixels with 1 sample of 8 bits each, expected 4 x 3 pixels"),
        "{error}"
    );
}

#[cfg(feature = "jpeg")]
#[test]
fn jpeg_stores_images_with_little_loss() {
    for (layout, count) in [
        ("x = u1[16, 16] -> jpeg(95)", 256),
        ("x = u1[16, 16, 3] -> jpeg(95)", 768),
        ("x = u1[16, 16, 4] -> jpeg(95)", 1024),
    ] {
        let colours = count / 256;
        let smooth: Vec<u8> =
            (0..count).map(|at| u8::try_from((at / colours / 16) * 8 + 40).unwrap()).collect();
        let (payload, found) = round_trip(layout, &smooth);
        assert!(payload.starts_with(&[0xff, 0xd8]));
        let far = smooth.iter().zip(&found).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert!(far <= 6, "{layout}: {far}");
        damaged(layout, &payload);
    }
    assert!(rejected("x = u1[1, 1] -> jpeg(96)", &[1]).contains("a quality from 0 to 95"));
    assert!(rejected("x = u1[1, 70000] -> jpeg", &vec![1; 70000]).contains("at most 65535 pixels"));
    let (payload, _) = round_trip("x = u1[8, 8] -> jpeg", &[9_u8; 64]);
    let error = with_payload("x = u1[8, 9] -> jpeg", &payload).get("x").unwrap_err().to_string();
    assert!(error.contains("it has 8 x 8 pixels with 1 sample of 8 bits each"), "{error}");
}

#[cfg(feature = "zfp")]
#[test]
fn zfp_loses_only_as_much_precision_as_requested() {
    let numbers: Vec<f64> = (0..60).map(|at| (f64::from(at) * 0.1).sin()).collect();
    let (payload, found) = round_trip("< x = f8[3, 4, 5] -> zfp(0)", &numbers);
    assert!(payload.starts_with(b"zfp\x05") && payload.len() % 8 == 0);
    assert_eq!(found, numbers);
    damaged("< x = f8[3, 4, 5] -> zfp(0)", &payload);
    assert_eq!(round_trip("> x = f8[3, 4, 5] -> zfp(0)", &numbers), (payload, numbers.clone()));
    for (layout, most) in [
        ("x = f8[60] -> zfp(1e-3)", 1e-3),
        ("x = f8[60] -> zfp(-20)", 1e-4),
        ("x = f8[60] -> zfp", 1e-2),
    ] {
        let (_, found) = round_trip(layout, &numbers);
        let far = numbers.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far > 0.0 && far <= most, "{layout}: {far}");
    }
    let integers: Vec<i32> = (-20..20).collect();
    assert_eq!(round_trip("x = i4[40] -> zfp(0)", &integers).1, integers);
    assert!(rejected("x = u1 -> zfp", &[1]).contains("expected the type f4, f8, i4 or i8"));
    let (payload, _) = round_trip("x = f8[60] -> zfp", &numbers);
    let error = with_payload("x = f8[6, 10] -> zfp", &payload).get("x").unwrap_err().to_string();
    assert!(error.contains("its type and shape are f8[60], expected f8[6, 10]"), "{error}");
}

#[test]
fn references_can_refer_to_arrays_and_dicts_and_lists_and_list_elements() {
    let layout =
        Layout::parse("a = u1  g/ b = u1[0]  / l [u1, / c = u1]  r = i1[8] <- ref").unwrap();
    let file = |numbers: [u8; 8]| {
        let bytes = [&[1, 2, 3][..], &numbers].concat();
        File::from_bytes(bytes, layout.clone()).unwrap()
    };
    let good = file([1, 2, 3, 4, 5, 6, 7, 0xff]);
    let references = good.references("/r").unwrap();
    let paths: Vec<Option<String>> =
        references.iter().map(|found| found.unwrap().map(|one| one.path())).collect();
    let expected = ["/a", "/g", "/g/b", "/l", "/l[0]", "/l[1]", "/l[1]/c"];
    let expected: Vec<Option<String>> =
        expected.iter().map(|path| Some((*path).to_owned())).chain([None]).collect();
    assert_eq!(paths, expected);
    assert!(references.get(2).unwrap().unwrap().array().unwrap().is_empty());
    assert!(references.get(1).unwrap().unwrap().array().is_err());

    let bad = file([1, 9, 0x80, 0, 0, 0, 0, 0]);
    let references = bad.references("/r").unwrap();
    assert!(references.get(0).is_ok());
    for index in [1, 2, 8] {
        let error = references.get(index).err().unwrap();
        let ErrorKind::Reference { index: found, .. } = error.kind() else { panic!("{error}") };
        assert_eq!(*found, index);
    }
    assert!(bad.references("/a").is_err());
}

#[test]
fn an_unsigned_reference_out_of_range_is_an_error_instead_of_null() {
    let layout = Layout::parse("r = u8[1] <- ref").unwrap();
    let file = File::from_bytes(vec![0xff; 8], layout).unwrap();
    assert!(file.references("/r").unwrap().get(0).is_err());
}

#[test]
fn deref_deep_reports_reference_cycles() {
    let layout = Layout::parse("r = i1 <- ref  s = i1 <- ref  t = i1[2] <- ref").unwrap();
    let deep = |bytes: [u8; 4]| {
        File::from_bytes(bytes.to_vec(), layout.clone())
            .unwrap()
            .deref_deep("/t")
            .map(|all| all.len())
    };
    assert_eq!(deep([0, 1, 1, 2]).unwrap(), 2);
    assert_eq!(deep([0, 0, 0, 0]).unwrap(), 0);
    for bytes in [[1, 0, 1, 0], [2, 1, 0, 1], [3, 0, 0, 1], [0, 0, 3, 0]] {
        let error = deep(bytes).unwrap_err();
        assert!(error.to_string().contains("leads back to"), "{error}");
    }
}

/// An example of a custom reference filter, whose item numbers count backwards from the last item.
struct Reversed;

impl Reference for Reversed {
    fn name(&self) -> &'static str {
        "back"
    }

    fn resolve(&self, number: i64, layout: &Layout) -> Result<Option<ItemId>, FilterError> {
        let number =
            usize::try_from(number).map_err(|_| FilterError::new("the number is below 0"))?;
        Ok(layout.item_id(layout.item_count() - number))
    }

    fn encode(&self, item: Option<ItemId>, layout: &Layout) -> Result<i64, FilterError> {
        let item = item.ok_or_else(|| FilterError::new("a null reference has no number"))?;
        Ok(i64::try_from(layout.item_count() - item.index()).unwrap())
    }
}

#[test]
fn a_custom_reference_filter_is_used_for_reading_and_writing() {
    let layout = Layout::parse("a = u1  r = u1 <- back").unwrap();
    let filters = FilterRegistry::new().with_reference(Reversed);
    let options = OpenOptions::new().layout(layout.clone());
    let unknown = options.from_bytes(vec![5, 2]).unwrap();
    assert!(unknown.references("/r").err().unwrap().to_string().contains("no filter named back"));
    assert_eq!(unknown.get("/r").unwrap().read::<u8>().unwrap(), [2]);
    let file = options.filters(filters.clone()).from_bytes(vec![5, 2]).unwrap();
    assert_eq!(file.references("/r").unwrap().get(0).unwrap().unwrap().path(), "/a");

    let mut bytes = Vec::new();
    let options = WriteOptions::new().foreign(true).filters(filters);
    let mut writer = options.write_at(&mut bytes, layout.clone()).unwrap();
    assert!(writer.put_references("/r", &[None]).is_err());
    assert!(writer.put_references("/a", &[None]).is_err());
    writer.put_references("/r", &[layout.item_id(1)]).unwrap();
    writer.finish().unwrap();
    assert_eq!(bytes, [0, 2]);
}
