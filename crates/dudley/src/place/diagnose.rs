//! Reporting irregular addresses.

use std::ops::Deref;

use super::align::Alignments;
use super::resolver::Resolver;
use super::table::{AddressTable, Row};
use crate::diagnostic::{Code, Diagnostic, start};
use crate::layout::{Datatype, Layout, ParamValue, Placement, Subject};
use crate::source::Span;

/// The largest alignment in bytes of any primitive type. If fewer bytes than this follow the last
/// item, they may be padding.
pub(crate) const TAIL_ALIGN: u64 = 8;

impl<L: Deref<Target = Layout> + Clone> Resolver<'_, L> {
    /// Reports irregular addresses in a table, in source order:
    ///
    /// - explicit addresses that are not aligned for their type
    /// - overlapping data
    /// - unused bytes before an explicit address, if they cannot be padding, and if all addresses and sizes
    ///   are known
    /// - addresses that depend on a stream, if no stream is set (only the first of several consecutive
    ///   addresses)
    /// - the first data beyond the end of the stream
    ///
    /// Returns at most [`Limits::max_diagnostics`](crate::Limits::max_diagnostics) diagnostics.
    ///
    /// ```
    /// use dudley::diagnostic::Code;
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("a = f8[2]  b = i4 @14  c = i1 @100")?;
    /// let resolver = Resolver::new(&layout);
    /// let found = resolver.diagnose(&resolver.table()?);
    /// let codes: Vec<Code> = found.iter().map(|one| one.code).collect();
    /// assert_eq!(codes, [Code::MisalignedAddress, Code::Overlap, Code::Hole]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diagnose(&self, table: &AddressTable<L>) -> Vec<Diagnostic> {
        let mut alignments = Alignments::of(self.layout(), self.inputs.rules.complex_align);
        let mut found = Vec::new();
        let mut is_after_unknown = false;
        let enough = self.inputs.rules.limits.max_diagnostics as usize;
        for row in table.rows() {
            if found.len() >= enough {
                break;
            }
            match row.address() {
                None if !is_after_unknown && self.inputs.stream.is_none() => {
                    found.push(unknown(self.layout(), *row));
                }
                Some(_) => found.extend(self.misaligned(*row, &mut alignments)),
                None => {}
            }
            is_after_unknown = row.address().is_none();
        }
        found.extend(self.neighbours(table, &mut alignments));
        found.extend(self.past_end(table));
        found.sort_by_key(start);
        found.truncate(enough);
        self.layout().source().locate(&mut found);
        found
    }

    /// Reports unused bytes between the last item and the end of the data. Returns `None` if the
    /// bytes are so few that they may be padding, or if an address or size is unknown.
    pub(crate) fn unexplained_tail(&self, table: &AddressTable<L>, end: u64) -> Option<Diagnostic> {
        let (mut last, mut last_end) = (None, self.inputs.start);
        for row in table.rows() {
            let row_end = row.address()?.saturating_add(row.nbytes()?);
            if row.nbytes() != Some(0) && row_end >= last_end {
                (last, last_end) = (Some(row.subject()), row_end);
            }
        }
        if end.saturating_sub(last_end) < TAIL_ALIGN {
            return None;
        }
        let after = last.map_or_else(String::new, |last| {
            format!(", after `{}`,", short_path(self.layout(), last))
        });
        let message = format!("bytes {last_end} to {end}{after} belong to no item");
        let span = last.map_or_else(|| Span::new(0, 0), |last| self.layout().span(last));
        let mut found = [Diagnostic::new(Code::Hole, span, message)];
        self.layout().source().locate(&mut found);
        let [found] = found;
        Some(found)
    }

    fn misaligned(&self, row: Row, alignments: &mut Alignments<'_>) -> Option<Diagnostic> {
        let (layout, subject) = (self.layout(), row.subject());
        let Some(Placement::Address(explicit)) = layout.placement(subject) else { return None };
        let align = align(layout, subject, alignments);
        (explicit % align != 0).then(|| {
            let path = short_path(layout, subject);
            let message = format!(
                "`{path}` is at {explicit}, which is not a multiple of its alignment {align}"
            );
            Diagnostic::new(Code::MisalignedAddress, layout.span(subject), message)
        })
    }

    /// Reports the first item that extends beyond the end of the stream.
    fn past_end(&self, table: &AddressTable<L>) -> Option<Diagnostic> {
        let end = |row: &Row| Some(row.address()? + row.nbytes()?);
        let is_past = |row: &&Row| {
            // Empty items cannot be out of bounds.
            row.nbytes() != Some(0) && end(row).is_some_and(|end| end > self.inputs.end)
        };
        let row = table.rows().iter().find(is_past)?;
        let path = short_path(self.layout(), row.subject());
        let end = end(row)?;
        let message =
            format!("`{path}` ends at {end}, after the end of the stream at {}", self.inputs.end);
        Some(Diagnostic::new(Code::PastEnd, self.layout().span(row.subject()), message))
    }

    /// Reports overlapping items, and unused bytes before explicit addresses, in order of address.
    fn neighbours(
        &self,
        table: &AddressTable<L>,
        alignments: &mut Alignments<'_>,
    ) -> Vec<Diagnostic> {
        let layout = self.layout();
        let stored = |row: &Row| Some((row.address()?, row.nbytes().filter(|&n| n > 0)?, *row));
        let mut rows: Vec<_> = table.rows().iter().filter_map(stored).collect();
        rows.sort_by_key(|&(address, nbytes, _)| (address, nbytes));
        // If any address or size is unknown, do not report holes, because the item with the unknown
        // address or size may fill them.
        let is_known =
            table.rows().iter().all(|row| row.address().is_some() && row.nbytes().is_some());
        let mut found = Vec::new();
        let (mut end, mut before) = (self.inputs.start, None);
        for (address, nbytes, row) in rows {
            if found.len() >= self.inputs.rules.limits.max_diagnostics as usize {
                break;
            }
            if let Some(before) = before.filter(|_| address < end) {
                found.push(overlap(layout, before, row));
            } else if is_known
                && layout.has_explicit_address(row.subject())
                && address.saturating_sub(end) >= align(layout, row.subject(), alignments)
            {
                found.push(hole(layout, row, end, address));
            }
            if address.saturating_add(nbytes) >= end {
                end = address.saturating_add(nbytes);
                before = Some(row);
            }
        }
        found
    }
}

/// Returns the path of a subject for a message. If the path is longer than 200 characters, returns
/// only its end.
pub(crate) fn short_path(layout: &Layout, subject: Subject) -> String {
    shortened(layout.subject_path(subject))
}

/// Returns the end of a path if it is longer than 200 characters, and otherwise the path itself.
pub(crate) fn shortened(path: String) -> String {
    match path.char_indices().rev().nth(199) {
        Some((start, _)) if start > 0 => format!("..{}", &path[start..]),
        _ => path,
    }
}

/// Returns the alignment of an item or stored parameter, regardless of its placement.
#[cfg(feature = "write")]
pub(crate) fn alignment(layout: &Layout, subject: Subject) -> u64 {
    align(layout, subject, &mut Alignments::of(layout, super::ComplexAlign::default()))
}

fn align(layout: &Layout, subject: Subject, alignments: &mut Alignments<'_>) -> u64 {
    let datatype: Option<Datatype> = match subject {
        Subject::Item(id) => {
            return layout.data_of(id).map_or(1, |data| alignments.of_data(data));
        }
        Subject::Param(id) => match layout.param(id).value {
            ParamValue::Stored { datatype, .. } => Some(datatype),
            ParamValue::Fixed(_) => None,
        },
        _ => None,
    };
    datatype.map_or(1, |datatype| alignments.of_datatype(datatype))
}

fn unknown(layout: &Layout, row: Row) -> Diagnostic {
    let path = short_path(layout, row.subject());
    let message = format!("the address of `{path}` depends on the stream");
    Diagnostic::new(Code::UnknownAddress, layout.span(row.subject()), message).help(
        "write an explicit `@` address here, so that this address and those after it are known",
    )
}

fn overlap(layout: &Layout, one: Row, other: Row) -> Diagnostic {
    let [first, second] = [one, other].map(|row| layout.span(row.subject()));
    let (span, label) = if first.start < second.start { (second, first) } else { (first, second) };
    let [one, other] = [one, other].map(|row| short_path(layout, row.subject()));
    let message = format!("`{one}` and `{other}` overlap");
    Diagnostic::new(Code::Overlap, span, message).label_at(label, "the other item")
}

fn hole(layout: &Layout, row: Row, from: u64, to: u64) -> Diagnostic {
    let path = short_path(layout, row.subject());
    let message = format!("bytes {from} to {to}, before `{path}`, belong to no item");
    Diagnostic::new(Code::Hole, layout.span(row.subject()), message)
}
