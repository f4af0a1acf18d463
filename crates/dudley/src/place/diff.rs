//! Comparing two layouts, and checking that files written with the first can be read with the second.
//!
//! Addresses depend on the values of stored parameters. If no values are given, both layouts are
//! resolved for several sets of values, in which parameters with the same path have the same value.
//! If an item has the same address in both layouts for all of these sets, its addresses can differ
//! for other values only in contrived layouts.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use super::member::MemberRow;
use super::resolver::Resolver;
use super::rules::Rules;
use super::table::filter_text;
use super::table::{AddressTable, Row};
use super::values::Values;
use crate::diagnostic::Code;
use crate::error::Error;
use crate::layout::{Layout, Order, Scope, Subject, Summary};
use crate::options::Limits;

/// Maximum number of struct members to compare. Without a limit, a short layout with nested types
/// could have far too many members.
const MAX_MEMBERS: usize = 1 << 17;

/// Maximum total length in bytes of the compared paths, types and shapes. Each byte of the layout
/// text adds 16 to this limit, because a single path or type may be as long as the text.
const MAX_BYTES: usize = 1 << 24;

/// Maximum number of fields to visit for one set of values. Each declared field adds 4 to this limit.
const STEPS: u32 = 1 << 18;

/// If more rows than this have been compared, the remaining sets of values are skipped. This limit
/// does not apply to the first three sets.
const ENOUGH_ROWS: usize = 1 << 18;

/// The kind of a change to an array, stored parameter or member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The item exists only in the second layout.
    Added,
    /// The item exists only in the first layout.
    Removed,
    /// The type or filter differs. Contains the old and the new type, each with its filter, written
    /// as in an address table.
    Retyped(String, String),
    /// The shape differs. Contains the old and new shape.
    Reshaped(Vec<u64>, Vec<u64>),
    /// The address differs. Contains the old and new address; `None` means that the address depends on the
    /// stream.
    Moved(Option<u64>, Option<u64>),
}

/// A difference between two layouts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The path of the array, stored parameter or member.
    pub path: String,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The parameter values for which the change was found, sorted by name. Empty unless a shape or address
    /// changed.
    pub values: Vec<(String, i64)>,
}

/// The differences between two layouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    changes: Vec<Change>,
    is_partial: bool,
}

impl Comparison {
    /// Returns the differences. Additions are last.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns `true` if the second layout can read files written with the first, that is, if all
    /// items present in both layouts are unchanged. Items that only the second layout declares are
    /// not in these files. Returns `false` if the comparison [is incomplete](Self::is_partial).
    pub fn keeps_files_readable(&self) -> bool {
        !self.is_partial && !self.breaks_files()
    }

    /// Returns `true` if any item present in both layouts has changed.
    pub fn breaks_files(&self) -> bool {
        let harmless =
            |change: &Change| matches!(change.kind, ChangeKind::Added | ChangeKind::Removed);
        !self.changes.iter().all(harmless)
    }

    /// Returns `true` if the comparison is incomplete, which happens if a layout has 131,072 or more struct
    /// members, if its paths, types and shapes together exceed 16 MiB plus 16 times the length of its text,
    /// or if its addresses take too long to compute. Changes may then be missing, in particular additions and
    /// removals.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.kind {
            ChangeKind::Added => write!(f, "+ {path}")?,
            ChangeKind::Removed => write!(f, "- {path}")?,
            ChangeKind::Retyped(from, to) => write!(f, "~ {path}: type {from} -> {to}")?,
            ChangeKind::Reshaped(from, to) => write!(f, "~ {path}: shape {from:?} -> {to:?}")?,
            ChangeKind::Moved(from, to) => {
                let place = |address: Option<u64>| {
                    address.map_or_else(|| "depends on the stream".to_owned(), |at| at.to_string())
                };
                write!(f, "~ {path}: address {} -> {}", place(*from), place(*to))?;
            }
        }
        if !self.values.is_empty() {
            let values: Vec<String> =
                self.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
            write!(f, "  (for {})", values.join(" "))?;
        }
        Ok(())
    }
}

/// Compares two layouts for the given values of stored parameters. If `values` is `None`, compares
/// the layouts for several sets of values.
///
/// ```
/// use dudley::place::diff;
/// use dudley::Layout;
///
/// let before = Layout::parse("N : i8  x = f8[N]  y = f8")?;
/// let after = Layout::parse("N : i8  x = f4[N]  y = f8  z = i4")?;
/// let comparison = diff(&before, &after, None)?;
/// assert!(!comparison.keeps_files_readable());
/// let lines: Vec<String> = comparison.changes().iter().map(ToString::to_string).collect();
/// assert_eq!(lines[0], "~ /x: type <f8 -> <f4");
/// assert!(lines[1].starts_with("~ /y: address "));
/// assert_eq!(lines[2], "+ /z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the error of [`Resolver::table`](crate::Resolver::table) if there is no set of values for which the
/// addresses of both layouts can be computed.
pub fn diff(before: &Layout, after: &Layout, values: Option<&Values>) -> Result<Comparison, Error> {
    diff_in(before, after, values, Order::Little)
}

/// Returns the first contradiction between the layout given for a file and the file's own layout:
/// an item that the two layouts describe differently, or that exists only in the given layout.
/// `order` is the byte order of the file, for a layout that does not state one.
///
/// # Errors
///
/// Same as [`diff`].
#[cfg(feature = "read")]
pub(crate) fn contradiction(
    own: &Layout,
    given: &Layout,
    order: Order,
) -> Result<Option<Change>, Error> {
    if own == given {
        return Ok(None);
    }
    let changes = diff_in(own, given, None, order)?.changes;
    Ok(changes.into_iter().find(|change| change.kind != ChangeKind::Removed))
}

fn diff_in(
    before: &Layout,
    after: &Layout,
    values: Option<&Values>,
    order: Order,
) -> Result<Comparison, Error> {
    let samples = match values {
        Some(values) => vec![values.clone()],
        None => samples([before, after]),
    };
    let mut changes: Vec<Change> = Vec::new();
    let mut known = HashSet::new();
    let mut failed = None;
    let (mut is_compared, mut is_partial, mut rows_seen) = (false, false, 0);
    for (sample, values) in samples.iter().enumerate() {
        if is_partial || sample > 2 && rows_seen > ENOUGH_ROWS {
            break;
        }
        let pair =
            rows(before, values, order).and_then(|old| Ok((old, rows(after, values, order)?)));
        let (old, new, is_whole) = match pair {
            Ok(((old, is_old_whole), (new, is_new_whole))) => {
                (old, new, is_old_whole && is_new_whole)
            }
            Err(error) => {
                // The remaining sets of values would take just as long, so stop and mark the result
                // as incomplete.
                is_partial |= error.code() == Some(Code::BeyondLimit);
                failed.get_or_insert(error);
                continue;
            }
        };
        is_compared = true;
        is_partial |= !is_whole;
        rows_seen += old.len() + new.len();
        let mut shown: Vec<(String, i64)> =
            values.keys().filter_map(|key| Some((key.to_owned(), values.get(key)?))).collect();
        shown.sort();
        for (path, kind) in compare(&old, &new, is_whole) {
            // If there are several sets of values, report only the first change at each path.
            if samples.len() == 1 || known.insert(path.clone()) {
                let matters = matches!(kind, ChangeKind::Moved(..) | ChangeKind::Reshaped(..));
                let values = if matters { shown.clone() } else { Vec::new() };
                changes.push(Change { path, kind, values });
            }
        }
    }
    if let (false, Some(error)) = (is_compared, failed) {
        return Err(error);
    }
    changes.sort_by_key(|change| matches!(change.kind, ChangeKind::Added));
    Ok(Comparison { changes, is_partial })
}

/// Returns the sets of values to compare: eight sets, or a single one if no parameter is stored.
fn samples(layouts: [&Layout; 2]) -> Vec<Values> {
    let is_stored = |layout: &Layout| layout.params().any(|id| layout.param(id).value.is_stored());
    let count = if layouts.into_iter().any(is_stored) { 8 } else { 1 };
    (0..count).map(|sample| sampled(layouts, sample)).collect()
}

/// Returns values for the stored parameters of the layouts. The values of sample 0 are all 1, and the values
/// of sample 1 are all 0. Later samples have values from 2 to 98.
fn sampled(layouts: [&Layout; 2], sample: u64) -> Values {
    let mut values = Values::new();
    for layout in layouts {
        for id in layout.params() {
            let param = layout.param(id);
            // The parameters of the summary belong to the root, and are repeated in the struct type of the
            // summary.
            let is_repeated = |summary: Summary| param.scope == Scope::Struct(summary.struct_type);
            if !param.value.is_stored() || layout.summary().is_some_and(is_repeated) {
                continue;
            }
            let key = match param.scope {
                Scope::Dict(_) => layout.subject_path(Subject::Param(id)),
                Scope::Struct(_) => layout.param_name(id).to_owned(),
            };
            let value = match sample {
                0 => 1,
                1 => 0,
                _ => {
                    let mut hasher = DefaultHasher::new();
                    (&key, sample).hash(&mut hasher);
                    i64::try_from(2 + hasher.finish() % 97).unwrap_or(2)
                }
            };
            values = values.with(key, value);
        }
    }
    values
}

/// A row of an address table, or a member of a struct, with everything that is compared.
struct Seen {
    path: String,
    address: Option<u64>,
    shape: Vec<u64>,
    dtype: String,
    filter: Option<String>,
    /// A hash of all rows and members since the last known address. It is compared instead of an
    /// address that depends on the stream.
    since: u64,
}

impl Seen {
    /// Returns the total length of the path, type and shape in bytes.
    fn len(&self) -> usize {
        self.path.len() + self.dtype.len() + 8 * self.shape.len()
    }
}

/// A collector for the rows and members to compare.
struct Seeing<'t, 'a> {
    table: &'t AddressTable<&'a Layout>,
    rows: Vec<Seen>,
    /// The hash of all rows and members since the last known address.
    since: DefaultHasher,
    /// The index in `rows` of the row whose members are being collected. The members follow the
    /// row.
    last: usize,
}

impl Seeing<'_, '_> {
    fn row(&mut self, row: Row) {
        self.end_row();
        if row.address().is_some() {
            self.since = DefaultHasher::new();
        }
        let array = self.table.entry(row);
        let filter = array.filter().map(filter_text);
        let (path, shape, dtype) = (array.path(), array.shape(), array.dtype());
        (&path, &shape, &dtype, &filter).hash(&mut self.since);
        self.rows.push(Seen {
            path,
            address: row.address(),
            shape: shape.into_vec(),
            dtype,
            filter,
            since: 0,
        });
    }

    fn member(&mut self, row: Row, member: MemberRow<'_>) {
        let (dtype, filter) = (member.dtype(), member.filter().map(filter_text));
        let offset = member.address.zip(row.address()).map(|(member, row)| member - row);
        (&member.path, offset, &member.shape, &dtype).hash(&mut self.since);
        let MemberRow { path, address, shape, .. } = member;
        self.rows.push(Seen { path, address, shape, dtype, filter, since: 0 });
    }

    /// Stores the hash in the current row and in its members.
    fn end_row(&mut self) {
        let since = self.since.finish();
        self.rows[self.last..].iter_mut().for_each(|row| row.since = since);
        self.last = self.rows.len();
    }
}

/// Returns the rows and members of a layout. Also returns `true` if they are complete, or `false`
/// if some are missing because of a limit.
fn rows(layout: &Layout, values: &Values, order: Order) -> Result<(Vec<Seen>, bool), Error> {
    let declared: usize = layout.types().map(|id| layout.fields(id).len()).sum();
    let steps = STEPS.saturating_add(u32::try_from(declared).unwrap_or(u32::MAX).saturating_mul(4));
    let resolver = Resolver::new(layout).rules(
        Rules::new().order(order).values(values.clone()).limits(Limits::default().max_steps(steps)),
    );
    let max_bytes = MAX_BYTES + 16 * layout.source().text().len();
    let table = resolver.table()?;
    let since = DefaultHasher::new();
    let mut seen = Seeing { table: &table, rows: Vec::new(), since, last: 0 };
    let (mut walked, mut members, mut bytes) = (0, 0, 0);
    let walk = resolver.walk(&table, table.rows(), |row, member| {
        if let Some(member) = member {
            seen.member(row, member);
            members += 1;
        } else {
            seen.row(row);
            walked += 1;
        }
        bytes += seen.rows.last().map_or(0, Seen::len);
        let is_enough = members == MAX_MEMBERS || bytes > max_bytes;
        if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let is_walked = match walk {
        Ok(()) => members < MAX_MEMBERS,
        Err(error) if error.code() == Some(Code::BeyondLimit) => false,
        Err(error) => return Err(error),
    };
    for &row in &table.rows()[walked..] {
        if bytes > max_bytes {
            break;
        }
        seen.row(row);
        bytes += seen.rows.last().map_or(0, Seen::len);
    }
    seen.end_row();
    Ok((seen.rows, is_walked && bytes <= max_bytes))
}

/// Returns the differences between the rows of two layouts. If the rows are incomplete, omits
/// additions and removals, because the counterpart of a row may exist beyond the limit.
fn compare(old: &[Seen], new: &[Seen], is_whole: bool) -> Vec<(String, ChangeKind)> {
    let index: HashMap<&str, &Seen> = new.iter().map(|row| (row.path.as_str(), row)).collect();
    let described = |row: &Seen| match &row.filter {
        Some(filter) => format!("{} {filter}", row.dtype),
        None => row.dtype.clone(),
    };
    let mut changes = Vec::new();
    for before in old {
        let after = index.get(before.path.as_str());
        if after.is_none() && !is_whole {
            continue;
        }
        let kind = match after {
            None => ChangeKind::Removed,
            Some(after) if (&before.dtype, &before.filter) != (&after.dtype, &after.filter) => {
                ChangeKind::Retyped(described(before), described(after))
            }
            Some(after) if before.shape != after.shape => {
                ChangeKind::Reshaped(before.shape.clone(), after.shape.clone())
            }
            Some(after) if before.address != after.address => {
                ChangeKind::Moved(before.address, after.address)
            }
            Some(after) if before.address.is_none() && before.since != after.since => {
                ChangeKind::Moved(None, None)
            }
            Some(_) => continue,
        };
        changes.push((before.path.clone(), kind));
    }
    if is_whole {
        let kept: HashSet<&str> = old.iter().map(|row| row.path.as_str()).collect();
        let added = new.iter().filter(|row| !kept.contains(row.path.as_str()));
        changes.extend(added.map(|row| (row.path.clone(), ChangeKind::Added)));
    }
    changes
}
