//! A tree to a model: what names mean, and whether it is allowed.
//!
//! One walk in order of the text, so that what is not declared yet is not there. An error costs the
//! thing that it is in; a name that could not be declared for an error is remembered, so that its uses
//! are no errors on top.

mod comments;
mod lints;
mod params;
mod types;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use comments::Subjects;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::layout::names::{Index, Names, index, reserve};
use crate::layout::{
    Body, Data, DataId, Datatype, Declaration, Item, ItemId, Layout, NameId, Order, Placement,
    Primitive, Run, Scope, Subject, Summary, TypeId,
};
use crate::options::ParseOptions;
use crate::quote;
use crate::source::{Source, Span};
use crate::syntax::{self, Node, NodeKind, Tree, short};

/// Checks a tree of the source's text.
pub(crate) fn check(
    source: &Arc<Source>,
    tree: &Tree,
    options: &ParseOptions,
) -> Result<Layout, Diagnostics> {
    let mut checker = Checker {
        text: source.text(),
        nodes: &tree.nodes,
        at: 0,
        options,
        layout: Layout::default(),
        errors: Vec::new(),
        warnings: Vec::new(),
        is_muted: false,
        in_summary: false,
        subjects: Subjects::of(tree),
        dict: ItemId::ROOT,
        top: ItemId::ROOT,
        depth: 0,
        open: Vec::new(),
        open_fields: Vec::new(),
        open_free: Vec::new(),
        member_of: Vec::new(),
        free_in: Vec::new(),
        last_bindings: HashMap::new(),
        looked_at: 0,
        redefined: [None; Primitive::COUNT],
        used: [None; Primitive::COUNT],
        broken: HashSet::new(),
    };
    checker.reserve();
    checker.check_layout();
    checker.attach_comments(tree);
    checker.find_oddities(source);
    let Checker { mut layout, mut errors, mut warnings, .. } = checker;
    errors.extend_from_slice(&tree.diagnostics);
    errors.sort_by_key(|error| error.span.start);
    errors.truncate(options.limits.max_diagnostics.max(1) as usize);
    warnings.sort_by_key(|warning| warning.span.start);
    if !errors.is_empty() {
        errors.extend(warnings);
        errors.sort_by_key(|error| error.span.start);
        return Err(Diagnostics::new(errors, Arc::clone(source)));
    }
    layout.warnings = warnings;
    layout.source = Arc::clone(source);
    layout.number_children();
    Ok(layout)
}

/// A struct that is not closed yet. Its fields and free names are on stacks, above its own.
struct OpenStruct {
    id: TypeId,
    fields: usize,
    free: usize,
    depth: u32,
    is_indeterminate: bool,
}

struct Checker<'a> {
    text: &'a str,
    nodes: &'a [Node],
    at: usize,
    options: &'a ParseOptions,
    layout: Layout,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// In the first of two walks over the summary.
    is_muted: bool,
    in_summary: bool,
    subjects: Subjects,
    /// Where items are declared.
    dict: ItemId,
    /// Where `/` leads: the root, or the dict that is an element.
    top: ItemId,
    /// How many dicts and lists are around what `dict` has.
    depth: u32,
    open: Vec<OpenStruct>,
    open_fields: Vec<crate::layout::Field>,
    open_free: Vec<(NameId, Span)>,
    /// By name: the last struct, as it closed, that has a member of the name.
    member_of: Vec<TypeId>,
    /// By name: the last struct of which it is a free name, and its number there.
    free_in: Vec<(TypeId, u32)>,
    /// The bindings of the last use of each type; in a dict, with that and how many parameters there
    /// were.
    last_bindings: HashMap<TypeId, (Run, Option<(ItemId, usize)>)>,
    /// Dicts that were looked at to find parameters.
    looked_at: usize,
    redefined: [Option<TypeId>; Primitive::COUNT],
    used: [Option<Span>; Primitive::COUNT],
    broken: HashSet<NameId>,
}

impl<'a> Checker<'a> {
    /// Most layouts are mostly items: growing arenas in steps would take a third of the time.
    fn reserve(&mut self) {
        // By kind, of which `Broken` is the last. The nodes are many: all is counted in one go.
        let mut counts = [0; NodeKind::Broken as usize + 1];
        let mut bytes = 0;
        for node in self.nodes {
            counts[node.kind as usize] += 1;
            bytes += if node.kind == NodeKind::Name { node.span().len() } else { 0 };
        }
        let count = |kind: NodeKind| counts[kind as usize];
        let (names, types) = (count(NodeKind::Name), count(NodeKind::StructOpen));
        let dims = count(NodeKind::Dim) + count(NodeKind::DimName);
        let items = names + count(NodeKind::Element) + 1;
        self.layout.names = Names::with_capacity(names, bytes);
        self.layout.item_index = Index::with_capacity(names);
        reserve(&mut self.layout.items, items);
        reserve(&mut self.layout.spans.items, items);
        reserve(&mut self.layout.declarations, items);
        reserve(&mut self.layout.data, items);
        reserve(&mut self.layout.dims, dims);
        reserve(&mut self.layout.types, types);
        reserve(&mut self.layout.spans.types, types);
    }

    #[inline]
    fn peek(&self) -> Option<NodeKind> {
        self.nodes.get(self.at).map(|node| node.kind)
    }

    #[inline]
    fn next(&mut self) -> Option<Node> {
        let node = *self.nodes.get(self.at)?;
        self.at += 1;
        Some(node)
    }

    /// The next node, if it is of that kind.
    #[inline]
    fn next_if(&mut self, kind: NodeKind) -> Option<Node> {
        if self.peek() == Some(kind) { self.next() } else { None }
    }

    /// Ends the walk: nothing more is looked at.
    fn stop(&mut self) {
        self.at = self.nodes.len();
    }

    fn text_at(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn error(&mut self, diagnostic: impl FnOnce(&Self) -> Diagnostic) {
        if !self.is_muted && self.errors.len() < self.options.limits.max_diagnostics.max(1) as usize
        {
            let diagnostic = diagnostic(self);
            self.errors.push(diagnostic);
        }
    }

    /// A warning or lint, unless there are enough, or it is not wanted; an error if it is denied.
    fn warn(&mut self, code: Code, diagnostic: impl FnOnce(&Self) -> Diagnostic) {
        debug_assert!(code.severity() != Severity::Error);
        if self.options.denied.contains(&code) {
            self.error(|this| Diagnostic { is_denied: true, ..diagnostic(this) });
        } else if self.wants(code) {
            let diagnostic = diagnostic(self);
            self.warnings.push(diagnostic);
        }
    }

    /// Whether one more warning or lint of the code would be kept.
    fn wants(&self, code: Code) -> bool {
        let limit = self.options.limits.max_diagnostics as usize;
        let is_wanted = self.warnings.len() < limit && !self.options.silenced.contains(&code);
        !self.is_muted && (is_wanted || self.options.denied.contains(&code))
    }

    /// The text of a name token, without quotes and escapes.
    fn name_text(&mut self, span: Span) -> Cow<'a, str> {
        let token = self.text_at(span);
        match token.as_bytes().first() {
            Some(b'"' | b'\'') => self.unquote(span, token),
            _ => Cow::Borrowed(token),
        }
    }

    fn unquote(&mut self, span: Span, token: &'a str) -> Cow<'a, str> {
        let part = |start: usize, end: usize| {
            Span::new(span.start + index(start), span.start + index(end))
        };
        let mut unknown = Vec::new();
        let text = quote::unquote_with(token, |at| unknown.push(at));
        for at in unknown {
            self.warn(Code::UnknownEscape, |_| {
                let message = "this backslash escapes nothing, and stays";
                Diagnostic::new(Code::UnknownEscape, part(at, at + 1), message)
                    .with_help("write two for one")
                    .with_fix(part(at, at + 1), "\\\\")
            });
        }
        text.unwrap_or_else(|error| {
            self.error(|_| {
                Diagnostic::new(Code::BadEscape, part(error.start, error.end), error.reason)
            });
            Cow::Borrowed(token)
        })
    }

    #[inline]
    fn name(&mut self, span: Span) -> NameId {
        let text = self.name_text(span);
        if !text.is_ascii() {
            self.lint_name(span);
        }
        self.layout.names.intern(&text)
    }

    #[cold]
    fn lint_name(&mut self, span: Span) {
        if self.text_at(span).starts_with(['"', '\'']) {
            return;
        }
        self.warn(Code::NonAsciiName, |this| {
            let name = this.text_at(span);
            Diagnostic::new(Code::NonAsciiName, span, "a name with letters beyond ASCII")
                .with_help("other readers may want it in quotes")
                .with_fix(span, format!("\"{name}\""))
        });
    }

    /// The value of an integer node with its sign; the parser has seen that it has one.
    fn integer(&mut self, span: Span) -> i64 {
        let digits = self.digits(span);
        if digits.len() > 1 && digits.starts_with('0') && !digits[1..].starts_with(['x', 'X']) {
            self.warn(Code::LeadingZeros, |_| {
                let plain = digits[..digits.len() - 1].trim_start_matches('0').len() + 1;
                let plain = short(&digits[digits.len() - plain..]);
                Diagnostic::new(Code::LeadingZeros, span, "leading zeros do not make it octal")
                    .with_help(format!("it is {plain}"))
            });
        }
        let value = syntax::integer(digits).unwrap_or_default();
        if self.text_at(span).starts_with('-') { -value } else { value }
    }

    /// The number of a node without its sign, and without what stands between.
    fn digits(&self, span: Span) -> &'a str {
        let text = self.text_at(span);
        if !text.starts_with(['+', '-']) {
            return text;
        }
        let number = syntax::Lexer::new(text).last().map_or(0, |token| token.start as usize);
        &text[number..]
    }

    fn check_layout(&mut self) {
        self.push_item(NameId::NONE, ItemId::ROOT, Body::Dict(Run::default()), Span::default());
        if let Some(order) = self.next_if(NodeKind::Order) {
            self.layout.order = self.order(order.span());
        }
        if let Some(open) = self.next_if(NodeKind::SummaryOpen) {
            self.check_summary(open);
        }
        self.check_items();
    }

    fn order(&self, mark: Span) -> Option<Order> {
        match self.text_at(mark) {
            "<" => Some(Order::Little),
            ">" => Some(Order::Big),
            _ => None,
        }
    }

    /// Twice: as a struct, then as items of the root.
    fn check_summary(&mut self, open: Node) {
        let start = self.at;
        self.is_muted = true;
        let used = self.used;
        let struct_type = self.check_struct(NameId::NONE, open.span());
        self.used = used;
        self.is_muted = false;
        self.at = start;
        self.subjects.declare(start - 1, Subject::Summary);
        self.next_if(NodeKind::Align);
        self.in_summary = true;
        while let Some(node) = self.next() {
            match node.kind {
                NodeKind::SummaryClose => break,
                NodeKind::Unnamed => {
                    let name = self.layout.names.intern("");
                    self.check_item(name, node.span());
                }
                _ => {
                    let name = self.name(node.span());
                    self.check_item(name, node.span());
                }
            }
        }
        self.in_summary = false;
        let declarations = self.layout.declarations.len();
        self.layout.summary = Some(Summary { struct_type, declarations });
    }

    /// The items of a dict and of what it leads to, up to its end.
    fn check_items(&mut self) {
        while let Some(node) = self.next() {
            match node.kind {
                NodeKind::Top => {
                    while self.dict != self.top {
                        self.leave();
                    }
                    self.subjects.declare(self.at - 1, self.dict.into());
                }
                NodeKind::Up => {
                    if self.dict == self.top {
                        self.warn(Code::UpAtTop, |_| {
                            let message = "`..` at the top, where nothing is above";
                            Diagnostic::new(Code::UpAtTop, node.span(), message)
                        });
                    } else {
                        self.leave();
                    }
                    self.subjects.declare(self.at - 1, self.dict.into());
                }
                NodeKind::Name => {
                    let name = self.name(node.span());
                    self.check_item(name, node.span());
                }
                NodeKind::DictClose => return,
                _ => {}
            }
        }
    }

    /// From a dict to the one that has it.
    fn leave(&mut self) {
        self.dict = self.layout.items[self.dict.index()].parent;
        self.depth -= 1;
    }

    /// One level deeper, unless that is too deep.
    fn enter(&mut self, span: Span) -> bool {
        self.depth += 1;
        let limit = self.options.limits.depth();
        if self.depth <= limit {
            return true;
        }
        self.error(|_| {
            let message = format!("nested too deep: more than {limit} levels");
            Diagnostic::new(Code::TooDeep, span, message)
        });
        self.stop();
        false
    }

    /// What stands behind a name.
    fn check_item(&mut self, name: NameId, span: Span) {
        let node = self.at - 1;
        let Some(next) = self.next() else { return };
        match next.kind {
            NodeKind::Data => self.declare_data(node, name, span),
            NodeKind::Param => self.declare_param(node, name, span),
            NodeKind::Dict => self.open_dict(node, name, span),
            NodeKind::ListOpen => self.open_list(node, name, span),
            NodeKind::StructOpen => self.declare_type(node, name, span, next.span()),
            NodeKind::Extend => self.extend_list(node, name, span),
            _ => {
                self.broken.insert(name);
            }
        }
    }

    fn push_item(&mut self, name: NameId, parent: ItemId, body: Body, span: Span) -> ItemId {
        let id = ItemId(index(self.layout.items.len()));
        self.layout.items.push(Item { name, parent, body });
        self.layout.spans.items.push(span);
        if id != ItemId::ROOT {
            self.layout.declarations.push(Declaration::Item(id));
        }
        id
    }

    /// A new item of the dict. Where the name is taken, it stays the other's.
    fn declare(&mut self, name: NameId, body: Body, span: Span, is_taken: bool) -> ItemId {
        let id = self.push_item(name, self.dict, body, span);
        if !is_taken {
            self.layout.item_index.insert(self.dict.0, name, id.0);
            if let Some(param) = self.layout.param_index.get(self.dict.0, name) {
                let declared = self.layout.spans.params[param as usize];
                self.warn_param_named_as_item(declared, span);
            }
        }
        id
    }

    fn existing(&self, name: NameId) -> Option<ItemId> {
        self.layout.item_index.get(self.dict.0, name).map(ItemId)
    }

    fn declare_data(&mut self, node: usize, name: NameId, span: Span) {
        let before = self.existing(name);
        if let Some(before) = before {
            self.error(|this| {
                let text = short(this.layout.names.text(name));
                let first = this.layout.spans.items[before.index()];
                let what = this.what(before);
                Diagnostic::new(Code::Redeclared, span, format!("`{text}` is declared twice"))
                    .with_text("and here again")
                    .with_label(first, format!("first here, as {what}"))
                    .with_help(
                        "names are unique in a dict; `name/` and `name [` reopen dicts and lists",
                    )
            });
        }
        let placeholder = Body::Data(DataId::NONE);
        let id = self.declare(name, placeholder, span, before.is_some());
        self.subjects.declare(node, id.into());
        if let Some(data) = self.check_data() {
            self.set_data(id, data);
        }
    }

    fn set_data(&mut self, id: ItemId, data: Data) {
        let data_id = self.push_data(data, id.into());
        self.layout.items[id.index()].body = Body::Data(data_id);
    }

    fn push_data(&mut self, data: Data, user: Subject) -> DataId {
        if let Datatype::Struct(id) = data.datatype {
            let used = &mut self.layout.types[id.index()];
            if used.name == NameId::NONE {
                used.user.get_or_insert(user);
            }
        }
        let id = DataId(index(self.layout.data.len()));
        self.layout.data.push(data);
        id
    }

    /// `a dict`, `a list`, `data`.
    fn what(&self, id: ItemId) -> &'static str {
        match self.layout.items[id.index()].body {
            Body::Dict(_) => "a dict",
            Body::List(_) => "a list",
            Body::Data(_) => "data",
        }
    }

    fn open_dict(&mut self, node: usize, name: NameId, span: Span) {
        let id = self.reopen(name, Body::Dict(Run::default()), span);
        self.subjects.declare(node, id.into());
        if self.enter(span) {
            self.dict = id;
        }
    }

    fn open_list(&mut self, node: usize, name: NameId, span: Span) {
        let id = self.reopen(name, Body::List(Run::default()), span);
        self.subjects.declare(node, id.into());
        self.check_list(id, span);
    }

    /// The dict or list of that name, which is made if it is not there.
    fn reopen(&mut self, name: NameId, body: Body, span: Span) -> ItemId {
        let before = self.existing(name);
        if let Some(before) = before {
            match (body, self.layout.items[before.index()].body) {
                (Body::Dict(_), Body::Dict(_)) | (Body::List(_), Body::List(_)) => return before,
                _ => {}
            }
            self.error(|this| {
                let text = short(this.layout.names.text(name));
                let what = this.what(before);
                let wanted = if matches!(body, Body::Dict(_)) { "dict" } else { "list" };
                let first = this.layout.spans.items[before.index()];
                let message = format!("`{text}` is {what}, no {wanted}");
                Diagnostic::new(Code::OtherKind, span, message).with_label(first, "declared here")
            });
        }
        self.declare(name, body, span, before.is_some())
    }

    /// The elements of a list, up to its `]`.
    fn check_list(&mut self, list: ItemId, span: Span) {
        if !self.enter(span) {
            return;
        }
        while let Some(node) = self.next() {
            if node.kind != NodeKind::Element {
                break;
            }
            self.check_element(list, node.span());
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn check_element(&mut self, list: ItemId, span: Span) {
        let node = self.at - 1;
        match self.peek() {
            Some(NodeKind::ListOpen) => {
                self.next();
                let id = self.push_element(list, Body::List(Run::default()), span);
                self.subjects.declare(node, id.into());
                self.check_list(id, span);
            }
            Some(NodeKind::DictOpen) => {
                self.next();
                let id = self.push_element(list, Body::Dict(Run::default()), span);
                self.subjects.declare(node, id.into());
                let around = (self.dict, self.top, self.depth);
                (self.dict, self.top) = (id, id);
                if self.enter(span) {
                    self.check_items();
                }
                (self.dict, self.top, self.depth) = around;
            }
            Some(NodeKind::Broken) => {
                self.next();
                self.broken.insert(self.layout.items[list.index()].name);
            }
            _ => {
                let id = self.push_element(list, Body::Data(DataId::NONE), span);
                self.subjects.declare(node, id.into());
                if let Some(data) = self.check_data() {
                    self.set_data(id, data);
                }
            }
        }
    }

    fn push_element(&mut self, list: ItemId, body: Body, span: Span) -> ItemId {
        let id = self.push_item(NameId::NONE, list, body, span);
        // Until children are numbered, a list's run is its last element and their count.
        if let Body::List(run) = &mut self.layout.items[list.index()].body {
            *run = Run { start: id.0, len: run.len + 1 };
        }
        id
    }

    fn extend_list(&mut self, node: usize, name: NameId, span: Span) {
        let list = self.existing(name);
        self.subjects.declare(node, list.unwrap_or(self.dict).into());
        let last = self.last_data(list, name, span);
        let placements: Vec<Placement> = std::iter::from_fn(|| self.placement()).collect();
        let (Some(list), Some(data)) = (list, last) else { return };
        for placement in placements {
            let id = self.push_element(list, Body::Data(DataId::NONE), span);
            self.set_data(id, Data { placement: Some(placement), repeats: true, ..data });
        }
    }

    /// The last element of a list, which is to be repeated.
    fn last_data(&mut self, list: Option<ItemId>, name: NameId, span: Span) -> Option<Data> {
        let body = list.map(|list| self.layout.items[list.index()].body);
        let problem = match body {
            None => "nothing has this name here",
            Some(Body::Dict(_)) => "this is a dict, no list",
            Some(Body::Data(_)) => "this is data, no list",
            Some(Body::List(Run { len: 0, .. })) => "the list is empty: there is nothing to repeat",
            Some(Body::List(run)) => match self.layout.items[run.start as usize].body {
                Body::Data(data) => match self.layout.data.get(data.index()) {
                    Some(data) => return Some(*data),
                    None => return None,
                },
                Body::Dict(_) => "the list's last element is a dict, which cannot be repeated",
                Body::List(_) => "the list's last element is a list, which cannot be repeated",
            },
        };
        if self.broken.contains(&name) {
            return None;
        }
        self.error(|this| {
            let text = short(this.layout.names.text(name));
            let message = format!("`{text}` has no element to repeat");
            let diagnostic = Diagnostic::new(Code::BadExtension, span, message).with_text(problem);
            match list {
                Some(list) => {
                    diagnostic.with_label(this.layout.spans.items[list.index()], "declared here")
                }
                None => diagnostic.with_help(format!(
                    "`{text} [datatype]` declares a list; only then `{text} %0` adds to it"
                )),
            }
        });
        None
    }

    fn placement(&mut self) -> Option<Placement> {
        let node = self.nodes.get(self.at)?;
        if !matches!(node.kind, NodeKind::At | NodeKind::Align) {
            return None;
        }
        self.at += 1;
        let value = self.integer(node.span()).unsigned_abs();
        Some(match node.kind {
            NodeKind::At => Placement::Address(value),
            _ => Placement::Align(value),
        })
    }

    /// Where names in shapes are looked up: the struct that is open, or the dict.
    fn scope(&self) -> Scope {
        self.open.last().map_or(Scope::Dict(self.dict), |open| Scope::Struct(open.id))
    }
}

impl Layout {
    /// Gives each dict and list the run of its children. Their numbers ascend, so this is a sort by
    /// parent.
    fn number_children(&mut self) {
        let mut next = Vec::new();
        reserve(&mut next, self.items.len());
        next.resize(self.items.len(), 0_u32);
        for item in &self.items[1..] {
            next[item.parent.index()] += 1;
        }
        let mut start = 0;
        for (item, next) in self.items.iter_mut().zip(&mut next) {
            let run = Run { start, len: *next };
            *next = start;
            start += run.len;
            match &mut item.body {
                Body::Dict(children) | Body::List(children) => *children = run,
                Body::Data(_) => {}
            }
        }
        reserve(&mut self.children, self.items.len());
        self.children.resize(self.items.len() - 1, ItemId::ROOT);
        for (id, item) in (0..).map(ItemId).zip(&self.items).skip(1) {
            let next = &mut next[item.parent.index()];
            self.children[*next as usize] = id;
            *next += 1;
        }
    }
}
