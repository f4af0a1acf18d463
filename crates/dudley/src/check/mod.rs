//! A tree to a model: what names mean, and whether it is allowed.
//!
//! One walk in order of the text, so that what is not declared yet does not exist. An error loses the
//! thing that it is in. The name of a thing that was lost is remembered, so that its uses are not errors
//! as well.

mod alike;
mod bind;
mod comments;
mod cursor;
mod dicts;
mod names;
mod notes;
mod params;
mod report;
mod structs;
mod types;

use std::collections::HashSet;
use std::sync::Arc;

use alike::Alike;
use bind::Bound;
use comments::Subjects;
use cursor::Cursor;
use report::Report;
use structs::Structs;
use types::Primitives;

use crate::diagnostic::Diagnostics;
use crate::layout::{ItemId, Layout, NameId};
use crate::options::ParseOptions;
use crate::source::Source;
use crate::syntax::Tree;

/// Checks a tree of the source's text.
pub(crate) fn check(
    source: &Arc<Source>,
    tree: &Tree,
    options: &ParseOptions,
) -> Result<Layout, Diagnostics> {
    let mut checker = Checker {
        cursor: Cursor::new(source.text(), &tree.nodes),
        report: Report::new(options),
        layout: Layout::with_room_for(&tree.nodes),
        subjects: Subjects::of(tree),
        dict: OpenDict { id: ItemId::ROOT, top: ItemId::ROOT, depth: 0, in_summary: false },
        structs: Structs::default(),
        bound: Bound::default(),
        alike: Alike::default(),
        primitives: Primitives::default(),
        broken: HashSet::new(),
    };
    checker.check_layout();
    checker.attach_comments(tree);
    checker.find_irregularities(source);
    let Checker { mut layout, report, .. } = checker;
    let (errors, mut found) = report.finish(&tree.diagnostics);
    if !errors.is_empty() {
        found.extend(errors);
        found.sort_by_key(crate::diagnostic::start);
        return Err(Diagnostics::new(found, Arc::clone(source)));
    }
    source.locate(&mut found);
    layout.diagnostics = found;
    layout.source = Arc::clone(source);
    layout.number_children();
    Ok(layout)
}

/// The walk over the nodes. Each part of it has one job.
struct Checker<'a> {
    cursor: Cursor<'a>,
    report: Report<'a>,
    /// What was declared so far.
    layout: Layout,
    subjects: Subjects,
    dict: OpenDict,
    structs: Structs,
    bound: Bound,
    alike: Alike,
    primitives: Primitives,
    /// Names of things that were lost in an error.
    broken: HashSet<NameId>,
}

/// Where items are declared.
#[derive(Clone, Copy)]
struct OpenDict {
    id: ItemId,
    /// Where `/` leads: the root, or the dict that is a list element.
    top: ItemId,
    /// How many dicts and lists enclose what the dict holds.
    depth: u32,
    /// Whether this is the summary block.
    in_summary: bool,
}
