//! Checking data: datatype, shape and filter.

use super::Checker;
use super::cursor::digits;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{
    Argument, Data, Datatype, Dim, Filter, FilterId, FilterKind, GLOBAL, Layout, NameId, Primitive,
    Run, TypeId,
};
use crate::source::Span;
use crate::text::{Node, NodeKind, primitive_of, short};

/// The primitive types that have been used or redefined so far.
#[derive(Default)]
pub(super) struct Primitives {
    pub(super) redefined: [Option<TypeId>; Primitive::COUNT],
    pub(super) used: [Option<Span>; Primitive::COUNT],
}

impl Checker<'_> {
    /// Checks the declaration of an array: `datatype shape filter placement`. Returns `None` if the datatype
    /// has an error.
    pub(super) fn check_data(&mut self) -> Option<Data> {
        let span = self.cursor.ahead(0).map_or_else(Span::default, Node::span);
        let datatype = self.check_datatype();
        let bindings = match datatype {
            Some(Datatype::Struct(id)) => self.bind(id, span),
            _ => Run::default(),
        };
        let shape = self.check_shape();
        let filter = self.check_filter();
        let placement = self.placement();
        let datatype = datatype?;
        Some(Data { datatype, placement, shape, bindings, filter, repeats: false })
    }

    fn check_datatype(&mut self) -> Option<Datatype> {
        let node = self.cursor.next()?;
        match node.kind {
            NodeKind::Mark => {
                let name = self.cursor.next()?;
                self.marked(node.span(), name.span())
            }
            NodeKind::StructOpen => {
                Some(Datatype::Struct(self.check_struct(NameId::NONE, node.span())))
            }
            NodeKind::Type => self.named_type(node.span()),
            _ => {
                // Leave a node that does not begin a datatype, such as `Broken`, to the caller.
                self.cursor.go_to(self.cursor.last());
                None
            }
        }
    }

    fn marked(&mut self, mark: Span, name: Span) -> Option<Datatype> {
        let text = self.name_text(name);
        if let Some(primitive) = Primitive::from_name(&text) {
            return Some(Datatype::Primitive(primitive, self.order(mark)));
        }
        self.report.error(|| {
            let message = format!(
                "`{}` is not a primitive type, so it cannot have a byte order",
                short(&text)
            );
            Diagnostic::new(Code::MarkedType, mark.to(name), message)
                .help("the members of a struct have their own byte orders")
        });
        None
    }

    fn named_type(&mut self, span: Span) -> Option<Datatype> {
        let text = self.name_text(span);
        if let Some(primitive) = Primitive::from_name(&text) {
            if let Some(id) = self.primitives.redefined[primitive.index()] {
                return Some(Datatype::Struct(id));
            }
            self.primitives.used[primitive.index()].get_or_insert(span);
            return Some(Datatype::Primitive(primitive, None));
        }
        let name = self.layout.names.get(&text);
        if let Some(id) = name.and_then(|name| self.layout.type_index.get(GLOBAL, name)) {
            return Some(Datatype::Struct(TypeId(id)));
        }
        if name.is_none_or(|name| !self.broken.contains(&name)) {
            self.undefined_type(span, &text);
        }
        None
    }

    #[cold]
    fn undefined_type(&mut self, span: Span, text: &str) {
        let is_bare_list = self.is_bare_list_of(span);
        let being_defined = self.structs.open.iter().find_map(|open| {
            let name = self.layout.types[open.id.index()].name;
            let is_it = name != NameId::NONE && self.layout.names.text(name) == text;
            is_it.then(|| self.layout.spans.types[open.id.index()])
        });
        self.report.error(|| {
            let message = format!("no type named `{}`", short(text));
            let diagnostic = Diagnostic::new(Code::UndefinedType, span, message);
            if let Some(open) = being_defined {
                return diagnostic
                    .label_at(open, "this type is complete only after its `}`")
                    .help("a type cannot contain itself; `<- ref` refers to items");
            }
            if let Some(later) = self.cursor.type_defined_later(text) {
                return diagnostic
                    .label_at(later, "defined here, after its use")
                    .help("move the definition of the type before its first use");
            }
            let diagnostic = match self.layout.nearest_type(text) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(span, near),
                None => diagnostic.label("not defined before its use"),
            };
            // Without `= datatype`, `x[N]` opens a list whose first element has the type `N`. Suggest
            // what the author probably meant.
            if is_bare_list {
                diagnostic.help("did you mean `name = datatype[shape]`?")
            } else {
                diagnostic
            }
        });
    }

    /// Returns `true` if the type name follows the `[` of a list, as in `name[type`.
    fn is_bare_list_of(&self, span: Span) -> bool {
        let before = self.cursor.text[..span.start as usize].trim_end();
        before.ends_with('[')
            && self.layout.items.last().is_some_and(|item| item.name == NameId::NONE)
    }

    fn check_shape(&mut self) -> Run {
        let start = index(self.layout.dims.len());
        while let Some(node) = self.cursor.ahead(0) {
            let dim = match node.kind {
                NodeKind::Dim => {
                    self.cursor.next();
                    Some(Dim::Fixed(self.integer(node.span())))
                }
                NodeKind::DimName => {
                    self.cursor.next();
                    let suffix = self.suffix();
                    let name = self.name(node.span());
                    let binding = self.look_up(name, node.span());
                    if binding.is_none() {
                        self.param_not_in_scope(name, node.span());
                    }
                    binding.map(|binding| Dim::Named(binding, suffix))
                }
                _ => break,
            };
            if let Some(dim) = dim {
                self.layout.dims.push(dim);
            }
        }
        self.alike.shape(&mut self.layout.dims, start)
    }

    fn suffix(&mut self) -> i32 {
        let Some(node) = self.cursor.next_if(NodeKind::Suffix) else { return 0 };
        let count = node.end - node.start;
        if count > 31 {
            self.report.warn(Code::ManySuffixes, || {
                let message = format!("this dimension has {count} suffixes");
                Diagnostic::new(Code::ManySuffixes, node.span(), message)
                    .help("other versions of the language allow at most 31 suffixes")
            });
        }
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        if self.cursor.text_at(node.span()).starts_with('-') { -count } else { count }
    }

    fn check_filter(&mut self) -> Option<FilterId> {
        let node = self.cursor.ahead(0)?;
        let kind = match node.kind {
            NodeKind::Compress => FilterKind::Compress,
            NodeKind::Reference => FilterKind::Reference,
            _ => return None,
        };
        self.cursor.next();
        let name = self.name_text(node.span()).into_owned();
        let mut arguments = Vec::new();
        while let Some(argument) = self.cursor.next_if(NodeKind::Argument) {
            arguments.push(self.argument(argument.span()));
        }
        if let (FilterKind::Compress, Some(open)) = (kind, self.structs.open.last_mut()) {
            open.is_indeterminate = true;
        }
        self.layout.filters.push(Filter { kind, name, arguments });
        Some(FilterId(index(self.layout.filters.len() - 1)))
    }

    fn argument(&mut self, span: Span) -> Argument {
        let text = self.cursor.text_at(span);
        if text.starts_with(['"', '\'']) {
            return Argument::Text(self.name_text(span).into_owned());
        }
        let digits = digits(text);
        let is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
        if is_hexadecimal || digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Argument::Integer(self.integer(span));
        }
        let value: f64 = digits.parse().unwrap_or_default();
        if !value.is_finite() {
            self.report.error(|| {
                let message = format!("`{}` is too large for a float", short(text));
                Diagnostic::new(Code::BadFilterArgument, span, message)
            });
        }
        Argument::Float(if text.starts_with('-') { -value } else { value })
    }
}

impl Layout {
    fn nearest_type(&self, text: &str) -> Option<String> {
        if text.len() > 40 {
            return None;
        }
        let types = self.types.iter().map(|found| found.name);
        let types = types.filter(|&name| name != NameId::NONE).take(1000);
        let mut names: Vec<&str> = types.map(|name| self.names.text(name)).collect();
        if let Some(same) = names.iter().find(|name| name.eq_ignore_ascii_case(text)) {
            return Some((*same).to_owned());
        }
        if let Some(primitive) = primitive_of(text) {
            return Some(primitive.to_owned());
        }
        // The name may be a numpy string type, such as `S16`.
        if let Some((kind, len)) = text.split_at_checked(1) {
            if matches!(kind, "S" | "U") && len.parse::<u32>().is_ok() {
                return Some(format!("{}[{len}]", if kind == "S" { "S1" } else { "U4" }));
            }
        }
        for primitive in Primitive::all() {
            names.push(primitive.name());
        }
        binio::diagnostic::nearest(text, names)
    }
}
