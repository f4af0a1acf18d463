//! Printing a layout in its canonical form, usually with one declaration per line. Parsing the text with the
//! same options returns an equal layout.

use std::fmt;
use std::fmt::Write as _;

use super::attributes;
use super::{
    Argument, Data, Datatype, Declaration, Dim, Field, Filter, FilterKind, ItemId, ItemKind,
    Layout, Param, ParamValue, Placement, Subject, TypeId,
};
use crate::layout::{Binding, NameId};
use crate::text::quote;

impl fmt::Display for Layout {
    /// Writes the canonical text.
    ///
    /// ```
    /// let layout = dudley::Layout::parse("N:=i8 l=[ f8[N -] ]  l %0")?;
    /// assert_eq!(layout.to_string(), "N : i8\nl [\n  f8[N-]\n]\nl %0\n");
    /// assert_eq!(dudley::Layout::parse(layout.to_string())?, layout);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(self);
        printer.print();
        f.write_str(&printer.out)
    }
}

impl Layout {
    /// Returns the body of a struct type, including its braces.
    #[cfg(feature = "read")]
    pub(crate) fn struct_text(&self, id: TypeId) -> String {
        let mut printer = Printer::new(self);
        printer.structure(id, None);
        printer.out
    }
}

struct Printer<'a> {
    layout: &'a Layout,
    out: String,
    /// The index of the next declaration.
    at: usize,
    dict: ItemId,
    /// The dict that `/` returns to.
    top: ItemId,
    base: usize,
    depth: usize,
    /// The struct that is being printed.
    open: Option<TypeId>,
}

impl<'a> Printer<'a> {
    fn new(layout: &'a Layout) -> Self {
        let (dict, top) = (ItemId::ROOT, ItemId::ROOT);
        Self { layout, out: String::new(), at: 0, dict, top, base: 0, depth: 0, open: None }
    }

    fn print(&mut self) {
        let root = Subject::Item(ItemId::ROOT);
        for line in self.comment_lines(root) {
            let _ = writeln!(self.out, "{line}");
        }
        if let Some(order) = self.layout.order() {
            let _ = writeln!(self.out, "{order}");
        }
        if let Some(summary) = self.layout.summary() {
            self.out.push('{');
            self.align(summary.struct_type);
            self.depth = 1;
            self.comments(Subject::Summary);
            while self.at < summary.declarations {
                self.declaration();
            }
            self.out.push_str("}\n");
            self.depth = 0;
        }
        self.declarations();
    }

    /// Prints the next declarations, up to the first one that is not inside `top`.
    fn declarations(&mut self) {
        while let Some(dict) = self.next_dict() {
            if !self.is_below_top(dict) {
                return;
            }
            self.go_to(dict);
            self.declaration();
        }
    }

    /// Returns the dict that contains the next declaration or, for a list element, the dict that
    /// contains the list. Returns `None` at the end.
    fn next_dict(&self) -> Option<ItemId> {
        let dict = match *self.layout.declarations().get(self.at)? {
            Declaration::Item(id) => self.layout.item(id).parent,
            Declaration::Type(_, dict) => dict,
            Declaration::Param(id) => match self.layout.param(id).scope {
                super::Scope::Dict(dict) => dict,
                super::Scope::Struct(_) => ItemId::ROOT,
            },
        };
        match self.layout.kind(dict) {
            ItemKind::List(_) => Some(self.layout.item(dict).parent),
            ItemKind::Dict(_) | ItemKind::Data(_) => Some(dict),
        }
    }

    fn is_below_top(&self, dict: ItemId) -> bool {
        let mut dict = dict;
        while dict > self.top {
            dict = self.layout.item(dict).parent;
        }
        dict == self.top
    }

    /// Prints the steps from the current dict to another dict. They begin with `/`, or with `..` for
    /// each level up to the common ancestor. This avoids repeating the names of dicts that contain
    /// both dicts, because names may be long.
    fn go_to(&mut self, dict: ItemId) {
        if dict == self.dict {
            return;
        }
        let (from, to) = (self.chain(self.dict), self.chain(dict));
        let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        self.indent();
        if common == 0 && !from.is_empty() && !(to.is_empty() && from.len() == 1) {
            self.out.push('/');
        } else {
            let up = vec![".."; from.len() - common];
            self.out.push_str(&up.join(" "));
            self.out.push_str(if up.is_empty() || to.len() == common { "" } else { " " });
        }
        for (nth, &id) in to[common..].iter().enumerate() {
            self.out.push_str(if nth > 0 { " " } else { "" });
            quote::push_name(&mut self.out, self.layout.name(id).unwrap_or_default());
            self.out.push('/');
        }
        self.out.push('\n');
        self.dict = dict;
        self.depth = self.base + to.len();
    }

    /// Returns the dicts on the path from `top` to `dict`, including `dict` but not `top`.
    fn chain(&self, dict: ItemId) -> Vec<ItemId> {
        let mut chain = Vec::new();
        let mut at = dict;
        while at != self.top {
            chain.push(at);
            at = self.layout.item(at).parent;
        }
        chain.reverse();
        chain
    }

    fn declaration(&mut self) {
        let declaration = self.layout.declarations()[self.at];
        self.at += 1;
        self.indent();
        match declaration {
            Declaration::Param(id) => {
                let param = *self.layout.param(id);
                self.param(&param);
                self.comments(id.into());
            }
            Declaration::Type(id, _) => {
                self.name(self.layout.struct_type(id).name);
                self.out.push(' ');
                self.structure(id, Some(id.into()));
                self.out.push('\n');
            }
            Declaration::Item(id) => self.item(id),
        }
    }

    fn item(&mut self, id: ItemId) {
        let item = *self.layout.item(id);
        if let ItemKind::List(_) = self.layout.kind(item.parent) {
            return self.extension(id, item.parent);
        }
        self.name(item.name);
        match self.layout.kind(id) {
            ItemKind::Data(data) => {
                self.out.push_str(" = ");
                self.data(data);
                self.comments(id.into());
            }
            ItemKind::Dict(_) => {
                self.out.push('/');
                self.dict = id;
                self.depth += 1;
                self.comments(id.into());
            }
            ItemKind::List(_) => {
                self.out.push_str(" [");
                self.comments(id.into());
                self.elements(id);
                self.out.push('\n');
            }
        }
    }

    /// Prints the next extension of a list, which consists of elements that are declared after the
    /// `]` of the list.
    fn extension(&mut self, id: ItemId, list: ItemId) {
        self.name(self.layout.item(list).name);
        let repeats = self.layout.data_of(id).filter(|data| data.repeats);
        if let Some(placement) = repeats.and_then(|data| data.placement) {
            self.placed(Some(placement));
            self.more_placements(list);
        } else {
            self.at -= 1;
            self.out.push_str(" [\n");
            self.elements(list);
        }
        self.out.push('\n');
    }

    /// Prints the placements of the next declarations, as long as each of them repeats the last
    /// element of `list`.
    fn more_placements(&mut self, list: ItemId) {
        while let Some(&Declaration::Item(id)) = self.layout.declarations().get(self.at) {
            let data = self.layout.data_of(id).filter(|data| data.repeats);
            let is_next = self.layout.item(id).parent == list;
            let Some(placement) = data.filter(|_| is_next).and_then(|data| data.placement) else {
                return;
            };
            self.placed(Some(placement));
            self.at += 1;
        }
    }

    /// Prints the next elements of a list, and the `]` after them.
    fn elements(&mut self, list: ItemId) {
        self.depth += 1;
        while self.next_is_element_of(list) {
            let Declaration::Item(id) = self.layout.declarations()[self.at] else { break };
            self.at += 1;
            self.indent();
            self.element(id);
        }
        self.depth -= 1;
        self.indent();
        self.out.push(']');
    }

    fn element(&mut self, id: ItemId) {
        match self.layout.kind(id) {
            ItemKind::Data(data) => {
                self.data(data);
                let more = self.next_is_element_of(self.layout.item(id).parent);
                self.out.push_str(if more { "," } else { "" });
                self.comments(id.into());
                return;
            }
            ItemKind::List(_) => {
                self.out.push('[');
                self.comments(id.into());
                self.elements(id);
            }
            ItemKind::Dict(_) => {
                let around = (self.dict, self.top, self.base, self.depth);
                (self.dict, self.top) = (id, id);
                self.depth += 1;
                self.base = self.depth;
                self.out.push('/');
                self.comments(id.into());
                self.declarations();
                (self.dict, self.top, self.base, self.depth) = around;
                if self.next_is_element_of(self.layout.item(id).parent) {
                    self.indent();
                    self.out.push_str(",\n");
                }
                return;
            }
        }
        let more = self.next_is_element_of(self.layout.item(id).parent);
        self.out.push_str(if more { ",\n" } else { "\n" });
    }

    fn next_is_element_of(&self, list: ItemId) -> bool {
        match self.layout.declarations().get(self.at) {
            Some(&Declaration::Item(id)) => {
                let repeats = self.layout.data_of(id).is_some_and(|data| data.repeats);
                self.layout.item(id).parent == list && !repeats
            }
            _ => false,
        }
    }

    fn param(&mut self, param: &Param) {
        self.name(param.name);
        self.out.push_str(" : ");
        match param.value {
            ParamValue::Fixed(value) => {
                let _ = write!(self.out, "{value}");
            }
            ParamValue::Stored { datatype, placement, .. } => {
                self.datatype(datatype);
                self.placed(placement);
            }
        }
    }

    fn data(&mut self, data: &Data) {
        self.datatype(data.datatype);
        let shape = self.layout.shape(data);
        if !shape.is_empty() {
            self.out.push('[');
            for (nth, dim) in shape.iter().enumerate() {
                self.out.push_str(if nth > 0 { ", " } else { "" });
                self.dim(*dim);
            }
            self.out.push(']');
        }
        if let Some(filter) = self.layout.filter(data) {
            let _ = write!(self.out, " {filter}");
        }
        self.placed(data.placement);
    }

    fn dim(&mut self, dim: Dim) {
        match dim {
            Dim::Fixed(value) => {
                let _ = write!(self.out, "{value}");
            }
            Dim::Named(binding, suffix) => {
                let name = match binding {
                    Binding::Param(id) => self.layout.param(id).name,
                    Binding::Free(number) => self.free_name(number),
                };
                self.name(name);
                let sign = if suffix < 0 { "-" } else { "+" };
                self.out.push_str(&sign.repeat(suffix.unsigned_abs() as usize));
            }
        }
    }

    /// Returns the free name with this number in the struct that is being printed.
    fn free_name(&self, number: u32) -> NameId {
        let free = self.open.map(|id| self.layout.struct_type(id).free.of(&self.layout.free_names));
        free.and_then(|free| free.get(number as usize)).copied().unwrap_or(NameId::NONE)
    }

    fn datatype(&mut self, datatype: Datatype) {
        match datatype {
            Datatype::Primitive(primitive, order) => {
                let is_redefined = self.layout.type_named(primitive.name()).is_some();
                let mark = order.map(super::Order::mark).or(is_redefined.then_some('|'));
                self.out.extend(mark);
                self.out.push_str(primitive.name());
            }
            Datatype::Struct(id) => match self.layout.type_name(id) {
                Some(name) => quote::push_name(&mut self.out, name),
                None => self.structure(id, None),
            },
        }
    }

    fn align(&mut self, id: TypeId) {
        if let Some(align) = self.layout.struct_type(id).align {
            let _ = write!(self.out, " %{align}");
        }
    }

    fn structure(&mut self, id: TypeId, subject: Option<Subject>) {
        let around = self.open.replace(id);
        self.out.push('{');
        self.align(id);
        self.depth += 1;
        match subject {
            Some(subject) => self.comments(subject),
            None => self.out.push('\n'),
        }
        for field in self.layout.fields(id) {
            self.indent();
            match *field {
                Field::Param(param) => {
                    let declared = *self.layout.param(param);
                    self.param(&declared);
                    self.comments(param.into());
                }
                Field::Member(member) => {
                    self.name(self.layout.member(member).name);
                    self.out.push_str(" = ");
                    self.data(self.layout.data(self.layout.member(member).data));
                    self.comments(member.into());
                }
            }
        }
        self.open = around;
        self.depth -= 1;
        self.indent();
        self.out.push('}');
    }

    fn placed(&mut self, placement: Option<Placement>) {
        if let Some(placement) = placement {
            let _ = write!(self.out, " {placement}");
        }
    }

    fn name(&mut self, name: NameId) {
        quote::push_name(&mut self.out, self.layout.names.text(name));
    }

    fn indent(&mut self) {
        let width = 2 * self.depth;
        let _ = write!(self.out, "{:width$}", "");
    }

    /// Prints the comments on a declaration, and ends the line.
    fn comments(&mut self, subject: Subject) {
        for (nth, line) in self.comment_lines(subject).into_iter().enumerate() {
            if nth > 0 {
                self.out.push('\n');
                self.indent();
            }
            self.out.push_str("  ");
            self.out.push_str(&line);
        }
        self.out.push('\n');
    }

    fn comment_lines(&self, subject: Subject) -> Vec<String> {
        let docs = self.layout.docs(subject).map(|line| format!("## {line}").trim_end().to_owned());
        let mut lines: Vec<String> = docs.collect();
        let mut texts = self.layout.attributes(subject).map(|attribute| {
            let mut text = String::new();
            attributes::push(&mut text, attribute);
            text
        });
        if let Some(first) = texts.next() {
            lines.push(texts.fold(format!("#: {first}"), |line, text| line + ", " + &text));
        }
        lines
    }
}

/// Writes `@address` or `%align`.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "@{address}"),
            Self::Align(align) => write!(f, "%{align}"),
        }
    }
}

/// Writes `->` or `<-`.
impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Compress { "->" } else { "<-" })
    }
}

/// Writes the filter as in a layout: `-> name(arguments)`.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = String::new();
        quote::push_name(&mut name, &self.name);
        f.write_str(&self.text(&name))
    }
}

impl Filter {
    /// Returns the text of the filter, with its name written as `name`.
    pub(super) fn text(&self, name: &str) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        if arguments.is_empty() {
            return format!("{} {name}", self.kind);
        }
        format!("{} {name}({})", self.kind, arguments.join(", "))
    }
}

/// Writes the argument as in a layout: a number or a quoted string.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            // `Debug` always writes a decimal point or an exponent, and the result parses as the same
            // float.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => {
                let mut out = String::new();
                quote::push_quoted(&mut out, text);
                f.write_str(&out)
            }
        }
    }
}
