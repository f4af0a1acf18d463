//! Data, datatypes, structs, and the binding of their names.

use super::{Checker, OpenStruct};
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{
    Argument, Binding, Data, DataId, Datatype, Declaration, Dim, Field, Filter, FilterId,
    FilterKind, GLOBAL, Member, MemberId, NameId, ParamId, Placement, Primitive, Run, Scope,
    StructType, TypeId,
};
use crate::source::Span;
use crate::syntax::{NodeKind, short};

/// Dicts that may be looked at for the parameters of names, and more for each byte of the text: as many
/// as a dimension of one letter takes at the usual limit of nesting.
const LOOK_UPS: usize = 1 << 22;
const LOOK_UPS_PER_BYTE: usize = 64;

impl Checker<'_> {
    /// `datatype shape filter placement`. Nothing where the datatype is an error.
    pub(super) fn check_data(&mut self) -> Option<Data> {
        let (datatype, bindings) = self.check_datatype();
        let shape = self.check_shape();
        let filter = self.check_filter();
        let placement = self.placement();
        let datatype = datatype?;
        Some(Data { datatype, placement, shape, bindings, filter, repeats: false })
    }

    fn check_datatype(&mut self) -> (Option<Datatype>, Run) {
        let Some(node) = self.next() else { return (None, Run::default()) };
        match node.kind {
            NodeKind::Mark => {
                let Some(name) = self.next() else { return (None, Run::default()) };
                (self.marked(node.span(), name.span()), Run::default())
            }
            NodeKind::StructOpen => {
                let id = self.check_struct(NameId::NONE, node.span());
                let bindings = self.bind(id, node.span());
                (Some(Datatype::Struct(id)), bindings)
            }
            NodeKind::Type => {
                let datatype = self.named_type(node.span());
                let bindings = match datatype {
                    Some(Datatype::Struct(id)) => self.bind(id, node.span()),
                    _ => Run::default(),
                };
                (datatype, bindings)
            }
            _ => {
                // A list as the value of a parameter, or what was broken.
                self.at -= 1;
                (None, Run::default())
            }
        }
    }

    fn marked(&mut self, mark: Span, name: Span) -> Option<Datatype> {
        let text = self.name_text(name);
        if let Some(primitive) = Primitive::from_name(&text) {
            return Some(Datatype::Primitive(primitive, self.order(mark)));
        }
        self.error(|_| {
            let message = format!("`{}` is no primitive: it has no byte order", short(&text));
            Diagnostic::new(Code::MarkedType, mark.to(name), message)
                .with_help("the members of a struct have their own")
        });
        None
    }

    fn named_type(&mut self, span: Span) -> Option<Datatype> {
        let text = self.name_text(span);
        if let Some(primitive) = Primitive::from_name(&text) {
            if let Some(id) = self.redefined[primitive.index()] {
                return Some(Datatype::Struct(id));
            }
            self.used[primitive.index()].get_or_insert(span);
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
        let being_defined = self.open.iter().find_map(|open| {
            let name = self.layout.types[open.id.index()].name;
            let is_it = name != NameId::NONE && self.layout.names.text(name) == text;
            is_it.then(|| self.layout.spans.types[open.id.index()])
        });
        self.error(|this| {
            let message = format!("there is no type `{}`", short(text));
            let diagnostic = Diagnostic::new(Code::UndefinedType, span, message);
            if let Some(open) = being_defined {
                return diagnostic
                    .with_label(open, "not complete before its `}`")
                    .with_help("a type cannot hold itself; `<- ref` refers to items");
            }
            let diagnostic = match this.nearest_type(text) {
                Some(near) => {
                    diagnostic.with_help(format!("there is `{near}`")).with_fix(span, near)
                }
                None => diagnostic.with_text("not defined before this"),
            };
            // `[ name[shape] ]`, or the dict of a list with what looks like `name[shape]`.
            if this.is_bare_list_of(span) {
                diagnostic.with_help("did you mean `name = datatype[shape]`?")
            } else {
                diagnostic
            }
        });
    }

    /// Whether the type is the one element of a list so far: `name[type`.
    fn is_bare_list_of(&self, span: Span) -> bool {
        let before = self.text[..span.start as usize].trim_end();
        before.ends_with('[')
            && self.layout.items.last().is_some_and(|item| item.name == NameId::NONE)
    }

    fn nearest_type(&self, text: &str) -> Option<String> {
        if text.len() > 40 {
            return None;
        }
        let types = self.layout.types.iter().map(|found| found.name);
        let types = types.filter(|&name| name != NameId::NONE).take(1000);
        let names = types.map(|name| self.layout.names.text(name));
        let primitives: Vec<&str> = Primitive::all().map(Primitive::name).collect();
        nearest(text, names.chain(primitives))
    }

    fn check_shape(&mut self) -> Run {
        let start = index(self.layout.dims.len());
        while let Some(node) = self.nodes.get(self.at) {
            let dim = match node.kind {
                NodeKind::Dim => {
                    self.at += 1;
                    Some(Dim::Fixed(self.integer(node.span())))
                }
                NodeKind::DimName => {
                    self.at += 1;
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
            self.layout.dims.extend(dim);
        }
        Run { start, len: index(self.layout.dims.len()) - start }
    }

    fn suffix(&mut self) -> i32 {
        let Some(node) = self.next_if(NodeKind::Suffix) else { return 0 };
        let count = node.end - node.start;
        if count > 31 {
            self.warn(Code::ManySuffixes, |_| {
                let message = format!("{count} suffixes");
                Diagnostic::new(Code::ManySuffixes, node.span(), message)
                    .with_help("other versions of the language allow 31")
            });
        }
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        if self.text_at(node.span()).starts_with('-') { -count } else { count }
    }

    /// Where a name in a shape gets its value here.
    fn look_up(&mut self, name: NameId, span: Span) -> Option<Binding> {
        let Some(open) = self.open.last_mut() else {
            return self.look_up_in_dicts(name, span).map(Binding::Param);
        };
        let own = self.layout.param_index.get(Scope::Struct(open.id).key(), name);
        if let Some(param) = own.map(ParamId) {
            open.is_indeterminate |= self.layout.params[param.index()].value.is_stored();
            return Some(Binding::Param(param));
        }
        let (id, free) = (open.id, &self.open_free[open.free..]);
        if let Some(&(by, number)) = self.free_in.get(name.index()) {
            if by == id {
                return Some(Binding::Free(number));
            }
        }
        let found = free.iter().position(|&(free, _)| free == name);
        let number = found.unwrap_or(free.len());
        if found.is_none() {
            self.open_free.push((name, span));
            if number >= self.options.limits.max_free_names as usize {
                self.too_many_free_names(span);
            }
        }
        if self.free_in.len() <= name.index() {
            self.free_in.resize(name.index() + 1, (TypeId(u32::MAX), 0));
        }
        self.free_in[name.index()] = (id, index(number));
        Some(Binding::Free(index(number)))
    }

    /// Binds the free names of a type where it is used.
    fn bind(&mut self, id: TypeId, span: Span) -> Run {
        let used = self.layout.types[id.index()];
        if let Some(open) = self.open.last_mut() {
            open.depth = open.depth.max(used.depth + 1);
            open.is_indeterminate |= used.is_indeterminate;
            if open.depth > self.options.limits.depth() {
                let limit = self.options.limits.depth();
                self.error(|_| {
                    let message = format!("types nested too deep: more than {limit} levels");
                    Diagnostic::new(Code::TooDeep, span, message)
                });
                self.stop();
                return Run::default();
            }
        }
        if used.free.len == 0 {
            return Run::default();
        }
        // Where no parameter was declared since the last use in this dict, all is bound as it was.
        let scope = (self.open.is_empty()).then_some((self.dict, self.layout.params.len()));
        if let Some(&(run, bound_in)) = self.last_bindings.get(&id) {
            if bound_in.is_some() && bound_in == scope {
                return run;
            }
        }
        let start = self.layout.bindings.len();
        for at in used.free.start..used.free.start + used.free.len {
            let name = self.layout.free_names[at as usize];
            let place = self.layout.spans.free_names[at as usize];
            let is_anonymous = used.name == NameId::NONE;
            match self.look_up(name, if is_anonymous { place } else { span }) {
                Some(binding) => self.layout.bindings.push(binding),
                None if is_anonymous => self.param_not_in_scope(name, place),
                None => self.type_needs_param(name, span, place),
            }
        }
        if self.layout.bindings.len() > self.options.limits.max_bindings as usize {
            self.error(|_| {
                let message = "too many names of types are bound by their uses";
                Diagnostic::new(Code::BeyondLimit, span, message)
            });
            self.stop();
        }
        let run = self.share_bindings(id, start);
        // What is missing is missed at each use.
        let scope = scope.filter(|_| run.len == used.free.len);
        self.last_bindings.insert(id, (run, scope));
        run
    }

    /// Uses in one scope bind alike: the last run is taken again where it is the same.
    fn share_bindings(&mut self, id: TypeId, start: usize) -> Run {
        let bindings = &mut self.layout.bindings;
        if let Some(&(last, _)) = self.last_bindings.get(&id) {
            if last.of(bindings) == &bindings[start..] {
                bindings.truncate(start);
                return last;
            }
        }
        Run { start: index(start), len: index(bindings.len() - start) }
    }

    fn check_filter(&mut self) -> Option<FilterId> {
        let node = *self.nodes.get(self.at)?;
        let kind = match node.kind {
            NodeKind::Compress => FilterKind::Compress,
            NodeKind::Reference => FilterKind::Reference,
            _ => return None,
        };
        self.at += 1;
        let name = self.name_text(node.span()).into_owned();
        let mut arguments = Vec::new();
        while let Some(argument) = self.next_if(NodeKind::Argument) {
            arguments.push(self.argument(argument.span()));
        }
        if let (FilterKind::Compress, Some(open)) = (kind, self.open.last_mut()) {
            open.is_indeterminate = true;
        }
        self.layout.filters.push(Filter { kind, name, arguments });
        Some(FilterId(index(self.layout.filters.len() - 1)))
    }

    fn argument(&mut self, span: Span) -> Argument {
        let text = self.text_at(span);
        if text.starts_with(['"', '\'']) {
            return Argument::Text(self.name_text(span).into_owned());
        }
        let digits = self.digits(span);
        let is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
        if is_hexadecimal || digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Argument::Integer(self.integer(span));
        }
        let value: f64 = digits.parse().unwrap_or_default();
        if !value.is_finite() {
            self.error(|_| {
                let message = format!("`{}` is beyond all floats", short(text));
                Diagnostic::new(Code::BadFilterArgument, span, message)
            });
        }
        Argument::Float(if text.starts_with('-') { -value } else { value })
    }

    pub(super) fn declare_type(&mut self, node: usize, name: NameId, span: Span, open: Span) {
        let before = self.layout.type_index.get(GLOBAL, name);
        if let Some(before) = before {
            self.error(|this| {
                let text = short(this.layout.names.text(name));
                Diagnostic::new(
                    Code::TypeRedefined,
                    span,
                    format!("type `{text}` is defined twice"),
                )
                .with_text("and here again")
                .with_label(this.layout.spans.types[before as usize], "first here")
                .with_help("a type holds everywhere, in whichever dict it is defined")
            });
        }
        if self.layout.names.text(name).starts_with(['<', '>', '|']) {
            self.error(|_| {
                let message = "the name of a type cannot begin with `<`, `>` or `|`";
                Diagnostic::new(Code::PrefixedTypeName, span, message)
            });
        }
        let next = TypeId(index(self.layout.types.len()));
        self.subjects.declare(node, next.into());
        self.layout.declarations.push(Declaration::Type(next, self.dict));
        let id = self.check_struct(name, open);
        self.layout.spans.types[id.index()] = span;
        if before.is_none() {
            self.layout.type_index.insert(GLOBAL, name, id.0);
        }
        if let Some(primitive) = Primitive::from_name(self.layout.names.text(name)) {
            if let Some(used) = self.used[primitive.index()] {
                self.error(|_| {
                    let message = format!("`{primitive}` is defined anew after its use");
                    Diagnostic::new(Code::PrimitiveRedefined, span, message)
                        .with_label(used, "used here as the primitive")
                        .with_help(format!(
                            "define it before, or mean the primitive by `|{primitive}`"
                        ))
                });
            }
            self.redefined[primitive.index()] = Some(id);
        }
    }

    /// The inside of a struct, up to its `}`.
    pub(super) fn check_struct(&mut self, name: NameId, span: Span) -> TypeId {
        let id = TypeId(index(self.layout.types.len()));
        self.layout.types.push(StructType {
            name,
            align: None,
            fields: Run::default(),
            free: Run::default(),
            user: None,
            depth: 1,
            is_typedef: false,
            is_indeterminate: false,
        });
        self.layout.spans.types.push(span);
        self.open.push(OpenStruct {
            id,
            fields: self.open_fields.len(),
            free: self.open_free.len(),
            depth: 1,
            is_indeterminate: false,
        });
        if let Some(align) = self.next_if(NodeKind::Align) {
            let align = self.integer(align.span()).unsigned_abs();
            self.layout.types[id.index()].align = Some(align).filter(|&align| align > 0);
        }
        while let Some(node) = self.next() {
            match node.kind {
                NodeKind::StructClose | NodeKind::SummaryClose => break,
                NodeKind::Unnamed => {
                    let name = self.layout.names.intern("");
                    self.check_field(name, node.span());
                }
                _ => {
                    let name = self.name(node.span());
                    self.check_field(name, node.span());
                }
            }
        }
        self.close_struct(id);
        id
    }

    fn check_field(&mut self, name: NameId, span: Span) {
        let node = self.at - 1;
        match self.next().map(|node| node.kind) {
            Some(NodeKind::Data) => {
                self.declare_member(node, name, span);
            }
            Some(NodeKind::Param) => self.declare_field_param(node, name, span),
            _ => {
                self.broken.insert(name);
            }
        }
    }

    /// A member; its data follow.
    pub(super) fn declare_member(&mut self, node: usize, name: NameId, span: Span) {
        let member = self.push_member(name, span);
        if !self.is_muted {
            self.subjects.declare(node, member.into());
        }
        if let Some(data) = self.check_data() {
            let data = self.push_data(data, member.into());
            self.layout.members[member.index()].data = data;
        }
    }

    fn push_member(&mut self, name: NameId, span: Span) -> MemberId {
        let id = MemberId(index(self.layout.members.len()));
        let owner = self.open.last().map_or(TypeId(u32::MAX), |open| open.id);
        self.layout.members.push(Member { name, owner, data: DataId::NONE });
        self.layout.spans.members.push(span);
        self.open_fields.push(Field::Member(id));
        id
    }

    /// No member twice, and none with the name of a parameter. All fields of the struct are there, so
    /// one mark for each name will do.
    fn check_fields(&mut self, id: TypeId, fields: Run) {
        self.member_of.resize(self.layout.names.len(), TypeId(u32::MAX));
        for at in fields.start as usize..(fields.start + fields.len) as usize {
            let Field::Member(member) = self.layout.fields[at] else { continue };
            let name = self.layout.members[member.index()].name;
            if std::mem::replace(&mut self.member_of[name.index()], id) == id {
                self.member_twice(fields, member, name);
            }
        }
        for at in fields.start as usize..(fields.start + fields.len) as usize {
            let Field::Param(param) = self.layout.fields[at] else { continue };
            let name = self.layout.params[param.index()].name;
            let is_member = self.member_of.get(name.index()) == Some(&id);
            if is_member && self.wants(Code::ParamNamedAsItem) {
                if let Some(member) = self.first_member(fields, name) {
                    let (param, member) = (param.index(), member.index());
                    let spans = &self.layout.spans;
                    self.warn_param_named_as_item(spans.params[param], spans.members[member]);
                }
            }
        }
    }

    fn first_member(&self, fields: Run, name: NameId) -> Option<MemberId> {
        fields.of(&self.layout.fields).iter().find_map(|field| match *field {
            Field::Member(member) if self.layout.member(member).name == name => Some(member),
            _ => None,
        })
    }

    #[cold]
    fn member_twice(&mut self, fields: Run, member: MemberId, name: NameId) {
        self.error(|this| {
            let text = short(this.layout.names.text(name));
            let spans = &this.layout.spans.members;
            let message = format!("member `{text}` is declared twice");
            let again = Diagnostic::new(Code::Redeclared, spans[member.index()], message);
            let again = again.with_text("and here again");
            match this.first_member(fields, name) {
                Some(first) => again.with_label(spans[first.index()], "first here"),
                None => again,
            }
        });
    }

    fn close_struct(&mut self, id: TypeId) {
        let Some(open) = self.open.pop() else { return };
        let layout = &mut self.layout;
        let start = layout.fields.len();
        layout.fields.extend(self.open_fields.drain(open.fields..));
        let fields = Run { start: index(start), len: index(layout.fields.len() - start) };
        let start = layout.free_names.len();
        for (name, place) in self.open_free.drain(open.free..) {
            layout.free_names.push(name);
            layout.spans.free_names.push(place);
        }
        let free = Run { start: index(start), len: index(layout.free_names.len() - start) };
        let mut members = fields.of(&layout.fields).iter().filter_map(|field| match *field {
            Field::Member(member) => Some(layout.members[member.index()]),
            Field::Param(_) => None,
        });
        let only = members.next().filter(|_| members.next().is_none());
        let is_nameless = only.is_some_and(|member| {
            let data = layout.data.get(member.data.index());
            let is_moved =
                data.is_some_and(|data| matches!(data.placement, Some(Placement::Address(_))));
            layout.names.text(member.name).is_empty() && !is_moved
        });
        let has_stored = fields.of(&layout.fields).iter().any(|field| match *field {
            Field::Member(_) => false,
            Field::Param(param) => layout.params[param.index()].value.is_stored(),
        });
        let struct_type = &mut layout.types[id.index()];
        struct_type.fields = fields;
        struct_type.free = free;
        struct_type.depth = open.depth;
        struct_type.is_typedef = is_nameless && !has_stored;
        struct_type.is_indeterminate = open.is_indeterminate;
        self.check_fields(id, fields);
    }

    /// The same in a dict. Every dict around may have to be looked at, for every name of a type: the
    /// text pays for that.
    fn look_up_in_dicts(&mut self, name: NameId, span: Span) -> Option<ParamId> {
        let (found, looked_at) = self.find_param(self.dict, name);
        self.looked_at += looked_at;
        if self.looked_at > LOOK_UPS + LOOK_UPS_PER_BYTE * self.text.len() {
            self.error(|_| {
                let message = "too many names are looked up in too many dicts";
                Diagnostic::new(Code::BeyondLimit, span, message)
            });
            self.stop();
        }
        found
    }

    #[cold]
    fn too_many_free_names(&mut self, span: Span) {
        let limit = self.options.limits.max_free_names;
        self.error(|_| {
            let message = format!("a type with more than {limit} names from outside");
            Diagnostic::new(Code::BeyondLimit, span, message)
        });
        self.stop();
    }
}

/// The name that is at most two changes away, and less than half of the text.
pub(super) fn nearest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let limit = (text.chars().count() / 2).min(2);
    let near = names.filter(|name| name.len() <= text.len() + 2);
    let near = near.map(|name| (distance(text, name), name)).filter(|near| near.0 <= limit);
    near.min_by_key(|near| near.0).map(|near| near.1.to_owned())
}

/// How many characters are to be changed, added or taken away.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, from) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, &to) in other.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_with_the_fewest_changes() {
        let names = ["mesh_data", "mesh", "f8"];
        assert_eq!(nearest("mesh_dat", names.into_iter()), Some("mesh_data".to_owned()));
        assert_eq!(nearest("mehs", names.into_iter()), Some("mesh".to_owned()));
        assert_eq!(nearest("other", names.into_iter()), None);
    }
}
