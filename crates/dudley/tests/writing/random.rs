//! Writing random layouts and values, and reading them back.

use std::fmt::Write as _;

use dudley::{File, Layout, Order, Resolver, Rules, Values};
use proptest::prelude::*;

use super::with_values;

/// An item of a random layout: its declaration, its members, and the values to put.
#[derive(Clone, Debug)]
struct Item {
    text: String,
    parts: Vec<Part>,
    values: Vec<i64>,
}

/// A path within an item, the number of values to put per instance, and the number of bits kept
/// from each random value.
type Part = (&'static str, usize, u32);

fn item() -> impl Strategy<Value = Item> {
    let scalar = |name: &'static str, bits| Just((name, vec![("", 1, bits)]));
    let types = prop_oneof![
        scalar("i1", 8),
        scalar("u1", 7),
        scalar("i2", 16),
        scalar(">i4", 32),
        scalar("<i8", 53),
        scalar("u4", 31),
        scalar("f4", 24),
        scalar("f8", 53),
        scalar("<f8", 53),
        scalar(">u2", 15),
        scalar("u8", 52),
        scalar("f2", 11),
        Just(("{ a = u1  \"b c\" = i4[2] }", vec![(".a", 1, 7), (".\"b c\"", 2, 32)])),
        Just(("{ %8 K : u1  a = f8  in = { z = i2 %1 } }", vec![(".a", 1, 53), (".in.z", 1, 16)])),
    ];
    let dims = prop::collection::vec(
        prop_oneof![Just("2"), Just("N"), Just("N-"), Just("M+"), Just("Z")],
        0..3,
    );
    let place = prop_oneof![4 => Just(""), 1 => Just("%16"), 1 => Just("-> gzip"), 1 => Just("%0")];
    (types, dims, place, prop::collection::vec(any::<i64>(), 64)).prop_map(
        |((datatype, parts), dims, place, values)| {
            let shape =
                if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) };
            // A compressed struct can only be put as a whole.
            let is_put = place != "-> gzip" || parts.len() == 1;
            let parts = if is_put { parts } else { Vec::new() };
            Item { text: format!("{datatype}{shape} {place}"), parts, values }
        },
    )
}

/// Returns `count` values that fit into `bits` bits and are exact as floats.
fn fit(values: &[i64], bits: u32, count: usize) -> Vec<i64> {
    values
        .iter()
        .cycle()
        .take(count)
        .map(|value| {
            let value = value >> (64 - bits.min(53));
            if matches!(bits, 7 | 15 | 31 | 52) { value & ((1 << bits) - 1) } else { value }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn data_written_with_a_random_layout_reads_back_unchanged(
        items in prop::collection::vec(item(), 1..8),
        order in prop_oneof![Just(Order::Little), Just(Order::Big)],
        is_pipe in any::<bool>(),
    ) {
        let mut layout = "N : i2  M : >u4  Z : i1  K : i8\n".to_owned();
        for (number, item) in items.iter().enumerate() {
            let _ = writeln!(layout, "d{}/ v{number} = {} /", number % 3, item.text);
        }
        let values = Values::new().with("N", 2).with("M", 1).with("Z", -1).with("K", 5);
        let options = with_values(order, values);
        let layout = Layout::parse(layout).unwrap();
        let mut bytes = Vec::new();
        let mut pipe = Vec::new();
        let mut writer = if is_pipe {
            options.stream(&mut pipe, layout.clone()).unwrap()
        } else {
            options.write_at(&mut bytes, layout.clone()).unwrap()
        };
        let table = Resolver::new(&layout).rules(Rules::new().values(Values::new().with("N", 2).with("M", 1).with("Z", -1)));
        let table = table.table().unwrap();
        let mut put = Vec::new();
        for (number, item) in items.iter().enumerate().rev() {
            let path = format!("/d{}/v{number}", number % 3);
            let shape = table.find(&path).unwrap().shape();
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            for &(member, each, bits) in &item.parts {
                let values = fit(&item.values, bits, count * each);
                let path = format!("{path}{member}");
                writer.put(&path, &values).unwrap();
                put.push((path, values));
            }
        }
        writer.finish().unwrap();
        let bytes = if is_pipe { pipe } else { bytes };
        let file = File::from_bytes(bytes, None).unwrap();
        for (path, values) in put {
            let mut json = Vec::new();
            file.write_json(&path, &mut json).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
            let mut flat = Vec::new();
            flatten(&json, &mut flat);
            let expected: Vec<f64> = values.iter().map(|&value| as_float(value)).collect();
            prop_assert_eq!(flat, expected, "{}", path);
        }
        prop_assert_eq!(file.param("K").unwrap(), 5);
    }
}

#[allow(clippy::cast_precision_loss, reason = "only values that are exact are put")]
fn as_float(value: i64) -> f64 {
    value as f64
}

fn flatten(json: &serde_json::Value, out: &mut Vec<f64>) {
    match json {
        serde_json::Value::Array(list) => list.iter().for_each(|one| flatten(one, out)),
        other => out.push(other.as_f64().unwrap()),
    }
}
