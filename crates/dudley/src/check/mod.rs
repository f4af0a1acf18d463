//! Checking a syntax tree and building the layout that it declares.
//!
//! Checking walks the nodes once in source order (those of the summary block twice), so a name cannot be
//! used before it is declared. If a declaration has an error, its name is remembered, so that using the
//! name does not cause another error.

mod alike;
mod bind;
mod comments;
mod cursor;
mod dicts;
mod names;
mod notes;
mod params;
mod parse;
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
use crate::text::Tree;

/// Parses and checks a source. Returns its layout or, if there are errors, all diagnostics.
pub(crate) fn check(source: &Arc<Source>, options: &ParseOptions) -> Result<Layout, Diagnostics> {
    let tree = Tree::parse(source.text(), &options.limits);
    let mut checker = Checker {
        cursor: Cursor::new(source.text(), &tree.nodes),
        report: Report::new(options),
        layout: Layout::default(),
        subjects: Subjects::of(&tree.comments),
        dict: OpenDict { id: ItemId::ROOT, top: ItemId::ROOT, depth: 0, in_summary: false },
        structs: Structs::default(),
        bound: Bound::default(),
        alike: Alike::default(),
        primitives: Primitives::default(),
        broken: HashSet::new(),
        prefetched: 0,
    };
    checker.make_room();
    checker.push_root();
    checker.check_start();
    checker.check_items();
    checker.attach_comments(&tree.comments);
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

/// The state of the walk over the nodes.
struct Checker<'a> {
    cursor: Cursor<'a>,
    report: Report<'a>,
    /// The declarations so far.
    layout: Layout,
    subjects: Subjects,
    dict: OpenDict,
    structs: Structs,
    bound: Bound,
    alike: Alike,
    primitives: Primitives,
    /// The names of declarations with errors, for which no further errors are reported.
    broken: HashSet<NameId>,
    /// The number of nodes, counted from the start of the tree, for which names have been prefetched.
    prefetched: usize,
}

/// The dict in which items are currently declared.
#[derive(Clone, Copy)]
struct OpenDict {
    id: ItemId,
    /// The dict that `/` returns to: the root or, inside a list element, the outermost dict of the
    /// element.
    top: ItemId,
    /// The nesting depth of the items in the open dict: the number of dicts and lists that enclose
    /// them.
    depth: u32,
    /// Whether the items being declared are in the summary block.
    in_summary: bool,
}
