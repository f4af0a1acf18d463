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
mod parse;
mod report;
mod structs;
mod types;

use std::collections::HashSet;
use std::sync::Arc;

use alike::{Alike, Repeated};
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
use crate::text::{Comment, Parser};

/// Nodes that are parsed and then checked, over and over: so few that they stay in the fast memory of the
/// processor, so many that two threads seldom wait for each other.
const PART: usize = 1 << 14;

/// Parses and checks the source's text. With threads, parsing is ahead of checking by one part, where the
/// feature `rayon` is on: not for who holds a lock that other threads of the pool wait for.
pub(crate) fn check(
    source: &Arc<Source>,
    options: &ParseOptions,
    threads: bool,
) -> Result<Layout, Diagnostics> {
    let text = source.text();
    let mut parser = Parser::new(text, &options.limits);
    let mut checker = Checker {
        cursor: Cursor::new(text),
        report: Report::new(options),
        layout: Layout::default(),
        subjects: Subjects::default(),
        dict: OpenDict { id: ItemId::ROOT, top: ItemId::ROOT, depth: 0, in_summary: false },
        structs: Structs::default(),
        bound: Bound::default(),
        alike: Alike::default(),
        repeated: None,
        primitives: Primitives::default(),
        broken: HashSet::new(),
    };
    checker.push_root();
    let mut goes_on = parser.part(PART);
    let end = if goes_on { parser.offset() } else { text.len() };
    let mut comments = Vec::new();
    parser.take_part(checker.cursor.next_part(), &mut comments);
    checker.make_room(end);
    checker.subjects.expect(&comments);
    checker.check_start();
    while goes_on {
        goes_on = while_parsing(&mut parser, threads, || checker.check_part(&comments));
        parser.take_part(checker.cursor.next_part(), &mut comments);
        checker.subjects.expect(&comments);
    }
    checker.check_part(&comments);
    checker.attach_comments();
    checker.find_irregularities(source);
    let Checker { mut layout, report, .. } = checker;
    let (errors, mut found) = report.finish(&parser.into_diagnostics());
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

/// Checks a part while the next one is parsed. Returns whether the text goes on after that.
fn while_parsing(parser: &mut Parser<'_>, threads: bool, check: impl FnOnce()) -> bool {
    #[cfg(feature = "rayon")]
    if threads {
        let mut goes_on = false;
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| goes_on = parser.part(PART));
            check();
        });
        return goes_on;
    }
    let _ = threads;
    check();
    parser.part(PART)
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
    repeated: Option<Repeated<'a>>,
    primitives: Primitives,
    /// Names of things that were lost in an error.
    broken: HashSet<NameId>,
}

impl Checker<'_> {
    /// Checks the items of a part of the text, which has these comments.
    fn check_part(&mut self, comments: &[Comment]) {
        if !self.cursor.is_stopped() {
            self.check_items();
        }
        self.subjects.keep(comments);
    }
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
