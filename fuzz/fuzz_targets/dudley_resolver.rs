//! Every layout must be resolved or rejected, both with given values and with a stream. All ways of
//! finding an address must agree.
//!
//! The layout ends at the first zero byte. The rest is the stream. Its bytes also serve as the given
//! values: one byte for each parameter, set by name, and then one byte for each of the first four
//! items, set by a path inside the item.
#![no_main]

use std::ops::ControlFlow;

use dudley::diagnostic::Code;
use dudley::layout::{Declaration, Subject};
use dudley::place::{ComplexAlign, Origin, Row};
use dudley::{AddressTable, Layout, Limits, Resolver, Rules, Values};
use libfuzzer_sys::fuzz_target;

/// Maximum number of struct fields that the resolver may visit.
const STEPS: u32 = 20_000;

/// Maximum number of rows to check, and maximum number of members to visit.
const MANY: usize = 200;

const MAX: u64 = i64::MAX.unsigned_abs();

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let text = parts.next().unwrap_or_default();
    let stream = parts.next().unwrap_or_default().to_vec();
    let Ok(layout) = Layout::parse(text) else { return };

    let printed = layout.to_string();
    let again = Layout::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    for other in [false, true] {
        let of_values = |layout| {
            let given = values(layout, &stream);
            Resolver::new(layout).rules(limited(other).values(given)).native(other)
        };
        let of_stream = |layout| Resolver::new(layout).rules(limited(other)).stream(&stream);
        let rows = check(&of_values(&layout));
        assert_eq!(check(&of_values(&layout)), rows, "{printed}");
        assert_eq!(check(&of_values(&again)), rows, "{printed}");
        if let Ok(resolver) = of_stream(&layout) {
            let rows = check(&resolver);
            let again = of_stream(&again).expect("the original layout was accepted");
            assert_eq!(check(&again), rows, "{printed}");
        }
    }
});

/// Returns rules with low limits. If `other` is `true`, they also have a different origin, tail
/// padding and complex alignment.
fn limited(other: bool) -> Rules {
    let rules = Rules::new().limits(Limits::default().max_steps(STEPS));
    if other {
        let rules = rules.origin(Origin::Data).tail_padding(false);
        return rules.complex_align(ComplexAlign::Part);
    }
    rules
}

/// Turns the bytes of the stream into values. Each parameter takes one byte, and its value is set by
/// name. Then each of the first four items takes one byte, and the value is set for the path of the
/// item followed by `.N` or `[1].N`.
fn values(layout: &Layout, stream: &[u8]) -> Values {
    let mut bytes = stream.iter().map(|&byte| match i8::from_le_bytes([byte]) {
        i8::MIN => i64::MAX,
        i8::MAX => i64::from(u32::MAX),
        value => value.into(),
    });
    let mut values = Values::new();
    for (id, value) in layout.params().zip(&mut bytes) {
        values = values.with(layout.param_name(id), value);
    }
    for (item, value) in layout.items().zip(bytes).take(4) {
        let end = if value % 2 == 0 { ".N" } else { "[1].N" };
        values = values.with(layout.path(item) + end, value);
    }
    values
}

/// Checks the properties of a table. Returns its rows and its end, or the code of the error. The
/// position of the error is ignored, because it differs in the printed layout.
fn check(resolver: &Resolver<'_>) -> Result<(Vec<Row>, Option<u64>), Option<Code>> {
    let table = resolver.table().map_err(|error| {
        assert!(!error.to_string().is_empty());
        error.code()
    })?;
    let layout = resolver.layout();
    let stored = layout.declarations().iter().filter_map(|&declaration| match declaration {
        Declaration::Item(id) => layout.data_of(id).map(|_| Subject::Item(id)),
        Declaration::Param(id) => layout.param(id).value.is_stored().then_some(Subject::Param(id)),
        Declaration::Type(..) => None,
    });
    assert!(table.rows().iter().map(Row::subject).eq(stored), "rows are in order of declaration");
    for row in table.rows() {
        let end = row.address().unwrap_or(0).checked_add(row.nbytes().unwrap_or(0));
        assert!(end.is_some_and(|end| end <= MAX), "{row:?}");
    }
    assert!(table.end().is_none_or(|end| end <= MAX));
    for array in table.iter().take(MANY) {
        assert!(serde_json::json!(array).is_object());
        if let Subject::Item(id) = array.row().subject() {
            assert_eq!(table.row_of(id), Some(array.row()));
        }
    }
    for lint in resolver.diagnose(&table) {
        assert!(!layout.source().render(&lint, false).is_empty());
    }
    locate(resolver, &table);
    members(resolver, &table);
    Ok((table.rows().to_vec(), table.end()))
}

/// Locates at most eight items, because locating an item costs as much as locating all items before
/// it.
fn locate(resolver: &Resolver<'_>, table: &AddressTable<&Layout>) {
    let step = table.rows().len() / 8 + 1;
    for row in table.rows().iter().step_by(step) {
        let Subject::Item(id) = row.subject() else { continue };
        let located = resolver.locate(id).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(located, Some(*row));
    }
}

fn members<'a>(resolver: &Resolver<'a>, table: &AddressTable<&'a Layout>) {
    let mut left = MANY;
    // Ignore the result, because the walk may exceed a limit.
    let _ = resolver.walk(table, table.rows(), |_, row| {
        let Some(row) = row else { return ControlFlow::Continue(()) };
        assert!(row.path.starts_with('/'));
        assert!(row.strides.len() <= row.shape.len());
        assert!(row.address.is_none_or(|address| address <= MAX));
        assert!(serde_json::json!(row).is_object());
        left -= 1;
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
}
