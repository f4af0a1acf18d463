//! Testing addresses that are computed once and used many times: tables, streams, compiled layouts
//! and families.
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod compiled;
mod family;

use std::sync::Arc;

use binio::source::ReadLog;
use dudley::{AddressTable, Layout, Order, Resolver, Rules, Values};

fn table(text: &str, values: Values) -> AddressTable {
    let layout = Arc::new(Layout::parse(text).unwrap());
    Resolver::new(layout).rules(Rules::new().values(values).order(Order::Little)).table().unwrap()
}

#[test]
fn a_table_owns_its_layout_and_can_move_between_threads() {
    fn is_shared<T: Send + Sync + 'static>(_: &T) {}

    let table = Arc::new(table("N : i4  x = { a = f8  b = i2 }[N]", Values::new().with("N", 3)));
    is_shared(&table);
    let threads = (0..4).map(|_| {
        let table = Arc::clone(&table);
        std::thread::spawn(move || {
            let x = table.find("/x").unwrap();
            (x.address(), x.shape().to_vec(), x.array_type().unwrap().0.itemsize())
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        assert_eq!(thread.join().unwrap(), (Some(8), vec![3], 16));
    }
}

#[test]
fn a_parameter_can_have_any_signed_64_bit_value() {
    let layout = "N : i8  K : 7  x = i1";
    for value in [i64::MIN, i64::MIN + 1, i64::MIN / 2, -2, -1, 0, i64::MAX] {
        let table = table(layout, Values::new().with("N", value));
        let id = |name| table.layout().param_named(dudley::ItemId::ROOT, name).unwrap();
        assert_eq!(table.value(id("N")), Some(value));
        assert_eq!(table.value(id("K")), Some(7));
    }
    let table = table(layout, Values::new());
    assert_eq!(table.value(table.layout().param_named(dudley::ItemId::ROOT, "N").unwrap()), None);
}

#[test]
fn items_are_located_after_a_pass_over_a_stream_without_reading_the_stream_again() {
    let mut text = "N : u1 l [f8[N]]".to_owned();
    text.push_str(&" l %0".repeat(99_999));
    let layout = Layout::parse(text).unwrap();
    let stream = ReadLog::new(vec![2_u8]);
    let resolver = Resolver::new(&layout).stream(&stream).unwrap();
    let items: Vec<_> = layout.items().collect();
    let last = resolver.locate(*items.last().unwrap()).unwrap().unwrap();
    assert_eq!(last.address(), Some(8 + 16 * 99_999));
    stream.clear();
    assert_eq!(resolver.locate(items[0]).unwrap(), None, "a list is not data");
    for (at, &item) in items[1..].iter().step_by(10).enumerate() {
        let row = resolver.locate(item).unwrap().unwrap();
        assert_eq!(row.address(), Some(8 + 160 * at as u64));
    }
    assert!(stream.ranges().is_empty(), "the stream is read once");
}

#[test]
fn an_item_before_the_end_of_a_truncated_stream_is_located() {
    let layout = Layout::parse("a = i4  N : u1  b = i4[N]  M : u1  c = i4[M]").unwrap();
    let stream = [0, 0, 0, 0, 2].to_vec();
    let resolver = Resolver::new(&layout).stream(&stream).unwrap();
    let item = |name| layout.child(dudley::ItemId::ROOT, name).unwrap();
    assert_eq!(resolver.locate(item("b")).unwrap().unwrap().address(), Some(8));
    assert_eq!(
        resolver.locate(item("c")).unwrap_err().code(),
        Some(dudley::diagnostic::Code::StreamTooShort)
    );
}

#[test]
fn a_given_value_is_used_if_the_stream_ends_before_the_parameter() {
    let layout = Layout::parse("N : i2  a = i1[N]  K : i2 @100  b = i1[K]").unwrap();
    let stream = vec![3, 0, 1, 2, 3];
    let shapes = |values| {
        let resolver =
            Resolver::new(&layout).rules(Rules::new().order(Order::Little).values(values));
        let table = resolver.stream(&stream)?.table()?;
        Ok::<_, dudley::Error>(["/a", "/b"].map(|path| table.find(path).unwrap().shape().to_vec()))
    };
    assert_eq!(shapes(Values::new().with("K", 2).with("N", 9)).unwrap(), [[3], [2]]);
    assert_eq!(shapes(Values::new().with("/K", 4)).unwrap(), [[3], [4]]);
    let error = shapes(Values::new().with("N", 9)).unwrap_err();
    assert_eq!(error.code(), Some(dudley::diagnostic::Code::StreamTooShort));
}
