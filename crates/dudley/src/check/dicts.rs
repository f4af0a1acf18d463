//! Checking dicts and lists and their contents.

use binio::diagnostic::count;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::{Index, Names, index, reserve};
use crate::layout::{
    Body, Data, DataId, Datatype, Declaration, Item, ItemId, Layout, NameId, Order, Placement, Run,
    Scope, Subject, Summary,
};
use crate::source::Span;
use crate::text::{Node, NodeKind, short};

impl Checker<'_> {
    pub(super) fn push_root(&mut self) {
        self.push_item(NameId::NONE, ItemId::ROOT, Body::Dict(Run::default()), Span::default());
    }

    /// Checks the byte order and the summary block, which precede all items.
    pub(super) fn check_start(&mut self) {
        if let Some(order) = self.cursor.next_if(NodeKind::Order) {
            self.layout.order = self.order(order.span());
        }
        if let Some(open) = self.cursor.next_if(NodeKind::SummaryOpen) {
            if self.cursor.next_if(NodeKind::Broken).is_none() {
                self.check_summary(open);
            }
        }
    }

    pub(super) fn order(&self, mark: Span) -> Option<Order> {
        match self.cursor.text_at(mark) {
            "<" => Some(Order::Little),
            ">" => Some(Order::Big),
            _ => None,
        }
    }

    /// Walks the summary block twice: as a struct, and then as items of the root.
    fn check_summary(&mut self, open: Node) {
        let start = self.cursor.last() + 1;
        self.report.is_muted = true;
        let used = self.primitives.used;
        let struct_type = self.check_struct(NameId::NONE, open.span());
        self.primitives.used = used;
        self.report.is_muted = false;
        self.cursor.go_to(start);
        self.subjects.declare(start - 1, Subject::Summary);
        self.cursor.next_if(NodeKind::Align);
        self.dict.in_summary = true;
        while let Some(node) = self.cursor.next() {
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
        self.dict.in_summary = false;
        let declarations = self.layout.declarations.len();
        self.layout.summary = Some(Summary { struct_type, declarations });
    }

    /// Checks items, including the items of nested dicts, up to the end of the layout or, inside a
    /// list element, up to the end of the element.
    pub(super) fn check_items(&mut self) {
        while let Some(node) = self.cursor.next() {
            match node.kind {
                NodeKind::Top => {
                    while self.dict.id != self.dict.top {
                        self.leave();
                    }
                    self.subjects.declare(self.cursor.last(), self.dict.id.into());
                    if self.cursor.text[..node.start as usize].ends_with('/') {
                        self.warn_double_slash(node.span());
                    }
                }
                NodeKind::Up => {
                    if self.dict.id == self.dict.top {
                        self.report.warn(Code::UpAtTop, || {
                            let message =
                                "`..` cannot leave the top level, which has no enclosing dict";
                            Diagnostic::new(Code::UpAtTop, node.span(), message)
                        });
                    } else {
                        self.leave();
                    }
                    self.subjects.declare(self.cursor.last(), self.dict.id.into());
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

    /// Returns to the enclosing dict.
    fn leave(&mut self) {
        self.dict.id = self.layout.items[self.dict.id.index()].parent;
        self.dict.depth -= 1;
    }

    /// Increases the nesting depth by one. If the depth then exceeds the limit, reports an error
    /// and returns `false`.
    fn enter(&mut self, span: Span) -> bool {
        self.dict.depth += 1;
        let limit = self.report.options.limits.depth();
        if self.dict.depth <= limit {
            return true;
        }
        self.report.error(|| {
            let message = format!("this is nested too deeply: more than {}", count(limit, "level"));
            Diagnostic::new(Code::TooDeep, span, message)
        });
        self.cursor.stop();
        false
    }

    /// Checks the declaration that follows a name.
    fn check_item(&mut self, name: NameId, span: Span) {
        let node = self.cursor.last();
        let Some(next) = self.cursor.next() else { return };
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

    /// Adds an item to the current dict. If `is_taken` is set, the name belongs to an earlier item,
    /// and continues to refer to that item.
    fn declare(&mut self, name: NameId, body: Body, span: Span, is_taken: bool) -> ItemId {
        let id = self.push_item(name, self.dict.id, body, span);
        if !is_taken {
            self.layout.item_index.insert(self.dict.id.0, name, id.0);
            if let Some(param) = self.layout.param_index.get(self.dict.id.0, name) {
                let declared = self.layout.spans.params[param as usize];
                self.warn_param_named_as_item(declared, span);
            }
        }
        id
    }

    fn existing(&self, name: NameId) -> Option<ItemId> {
        self.layout.item_index.get(self.dict.id.0, name).map(ItemId)
    }

    pub(super) fn declare_data(&mut self, node: usize, name: NameId, span: Span) {
        let before = self.existing(name);
        if let Some(before) = before {
            self.report.error(|| {
                let text = short(self.layout.names.text(name));
                let first = self.layout.spans.items[before.index()];
                let what = self.layout.what(before);
                Diagnostic::new(Code::Redeclared, span, format!("`{text}` is declared twice"))
                    .label("declared again here")
                    .label_at(first, format!("first declared here, as {what}"))
                    .help("names are unique in a dict; `name/` and `name [` reopen dicts and lists")
            });
        }
        let placeholder = Body::Data(DataId::NONE);
        let id = self.declare(name, placeholder, span, before.is_some());
        self.subjects.declare(node, id.into());
        self.check_data_of(id);
    }

    fn check_data_of(&mut self, id: ItemId) {
        if let Some(data) = self.check_data() {
            self.set_data(id, data);
        }
    }

    fn set_data(&mut self, id: ItemId, data: Data) {
        let data_id = self.push_data(data, id.into());
        self.layout.items[id.index()].body = Body::Data(data_id);
    }

    pub(super) fn push_data(&mut self, data: Data, user: Subject) -> DataId {
        if let Datatype::Struct(id) = data.datatype {
            let used = &mut self.layout.types[id.index()];
            if used.name == NameId::NONE {
                used.user.get_or_insert(user);
            }
        }
        self.alike.data(&mut self.layout.data, data)
    }

    fn open_dict(&mut self, node: usize, name: NameId, span: Span) {
        let id = self.reopen(name, Body::Dict(Run::default()), span);
        self.subjects.declare(node, id.into());
        if self.enter(span) {
            self.dict.id = id;
        }
    }

    fn open_list(&mut self, node: usize, name: NameId, span: Span) {
        let id = self.reopen(name, Body::List(Run::default()), span);
        self.subjects.declare(node, id.into());
        self.check_list(id, span);
    }

    /// Returns the dict or list with this name. Creates it if it does not exist.
    fn reopen(&mut self, name: NameId, body: Body, span: Span) -> ItemId {
        let before = self.existing(name);
        if let Some(before) = before {
            match (body, self.layout.items[before.index()].body) {
                (Body::Dict(_), Body::Dict(_)) | (Body::List(_), Body::List(_)) => return before,
                _ => {}
            }
            self.report.error(|| {
                let text = short(self.layout.names.text(name));
                let what = self.layout.what(before);
                let wanted = if matches!(body, Body::Dict(_)) { "dict" } else { "list" };
                let first = self.layout.spans.items[before.index()];
                let message = format!("`{text}` is {what}, not a {wanted}");
                Diagnostic::new(Code::OtherKind, span, message).label_at(first, "declared here")
            });
        }
        self.declare(name, body, span, before.is_some())
    }

    /// Checks the elements of a list, up to its `]`.
    fn check_list(&mut self, list: ItemId, span: Span) {
        if !self.enter(span) {
            return;
        }
        while let Some(node) = self.cursor.next() {
            if node.kind != NodeKind::Element {
                break;
            }
            self.check_element(list, node.span());
        }
        self.dict.depth = self.dict.depth.saturating_sub(1);
    }

    fn check_element(&mut self, list: ItemId, span: Span) {
        let node = self.cursor.last();
        match self.cursor.peek() {
            Some(NodeKind::ListOpen) => {
                self.cursor.next();
                let id = self.push_element(list, Body::List(Run::default()), span);
                self.subjects.declare(node, id.into());
                self.check_list(id, span);
            }
            Some(NodeKind::DictOpen) => {
                self.cursor.next();
                let id = self.push_element(list, Body::Dict(Run::default()), span);
                self.subjects.declare(node, id.into());
                let around = (self.dict.id, self.dict.top, self.dict.depth);
                (self.dict.id, self.dict.top) = (id, id);
                if self.enter(span) {
                    self.check_items();
                }
                (self.dict.id, self.dict.top, self.dict.depth) = around;
            }
            Some(NodeKind::Broken) => {
                self.cursor.next();
                self.broken.insert(self.layout.items[list.index()].name);
            }
            _ => {
                let id = self.push_element(list, Body::Data(DataId::NONE), span);
                self.subjects.declare(node, id.into());
                self.check_data_of(id);
            }
        }
    }

    fn push_element(&mut self, list: ItemId, body: Body, span: Span) -> ItemId {
        let id = self.push_item(NameId::NONE, list, body, span);
        // Until `number_children` is called, `start` in the run of a list is the id of its last element.
        if let Body::List(run) = &mut self.layout.items[list.index()].body {
            *run = Run { start: id.0, len: run.len + 1 };
        }
        id
    }

    fn extend_list(&mut self, node: usize, name: NameId, span: Span) {
        let list = self.existing(name);
        self.subjects.declare(node, list.unwrap_or(self.dict.id).into());
        let last = self.last_data(list, name, span);
        let placements: Vec<Placement> = std::iter::from_fn(|| self.placement()).collect();
        let (Some(list), Some(data)) = (list, last) else { return };
        for placement in placements {
            let id = self.push_element(list, Body::Data(DataId::NONE), span);
            self.set_data(id, Data { placement: Some(placement), repeats: true, ..data });
        }
    }

    /// Returns the last element of a list, for an extension that repeats it. Reports an error if
    /// the list does not exist or is empty, or if its last element is a dict or a list.
    fn last_data(&mut self, list: Option<ItemId>, name: NameId, span: Span) -> Option<Data> {
        let body = list.map(|list| self.layout.items[list.index()].body);
        let problem = match body {
            None => "the dict has no item with this name",
            Some(Body::Dict(_)) => "this is a dict, not a list",
            Some(Body::Data(_)) => "this is data, not a list",
            Some(Body::List(Run { len: 0, .. })) => "the list is empty",
            Some(Body::List(run)) => match self.layout.items[run.start as usize].body {
                Body::Data(data) => match self.layout.data.get(data.index()) {
                    Some(data) => return Some(*data),
                    None => return None,
                },
                Body::Dict(_) => "the last element of the list is a dict, which cannot be repeated",
                Body::List(_) => "the last element of the list is a list, which cannot be repeated",
            },
        };
        if self.broken.contains(&name) {
            return None;
        }
        self.report.error(|| {
            let text = short(self.layout.names.text(name));
            let message = format!("`{text}` has no element to repeat");
            let diagnostic = Diagnostic::new(Code::BadExtension, span, message).label(problem);
            match list {
                Some(list) => {
                    diagnostic.label_at(self.layout.spans.items[list.index()], "declared here")
                }
                None => diagnostic.help(format!(
                    "`{text} [datatype]` declares a list; after that, `{text} %0` adds to it"
                )),
            }
        });
        None
    }

    pub(super) fn placement(&mut self) -> Option<Placement> {
        let node = self.cursor.ahead(0)?;
        if !matches!(node.kind, NodeKind::At | NodeKind::Align) {
            return None;
        }
        self.cursor.next();
        let value = self.placed(node.span());
        Some(match node.kind {
            NodeKind::At => Placement::Address(value),
            _ => Placement::Align(value),
        })
    }

    /// Returns the scope in which parameters are declared: the innermost open struct or, outside structs, the
    /// current dict.
    pub(super) fn scope(&self) -> Scope {
        self.structs.open.last().map_or(Scope::Dict(self.dict.id), |open| Scope::Struct(open.id))
    }
}

impl Checker<'_> {
    /// Reserves memory for the items, arrays and names in the tree. Without this, growing the
    /// arenas would take a third of the time needed for checking.
    pub(super) fn make_room(&mut self) {
        let (mut names, mut items, mut data, mut dims, mut len) = (0, 1, 0, 0, 0);
        for node in self.cursor.nodes() {
            names += usize::from(node.kind == NodeKind::Name);
            items += usize::from(matches!(node.kind, NodeKind::Name | NodeKind::Element));
            data += usize::from(matches!(node.kind, NodeKind::Type | NodeKind::StructOpen));
            dims += usize::from(matches!(node.kind, NodeKind::Dim | NodeKind::DimName));
            len += if node.kind == NodeKind::Name { node.span().len() } else { 0 };
        }
        let layout = &mut self.layout;
        layout.names = Names::with_capacity(names, len);
        layout.item_index = Index::with_capacity(names);
        reserve(&mut layout.items, items);
        reserve(&mut layout.spans.items, items);
        reserve(&mut layout.declarations, items);
        // Fewer entries may be needed, because equal arrays share an entry. The surplus costs
        // nothing, because the system provides only the memory that is written to.
        reserve(&mut layout.data, data);
        reserve(&mut layout.dims, dims);
    }
}

impl Layout {
    /// Describes the kind of an item: `a dict`, `a list` or `data`.
    fn what(&self, id: ItemId) -> &'static str {
        match self.items[id.index()].body {
            Body::Dict(_) => "a dict",
            Body::List(_) => "a list",
            Body::Data(_) => "data",
        }
    }

    /// Determines the children of each dict and list with a counting sort of the items by parent.
    /// Children remain in order of declaration.
    pub(super) fn number_children(&mut self) {
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
