//! Checking struct types and their fields.

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{
    DataId, Declaration, Field, GLOBAL, Layout, Member, MemberId, NameId, Placement, Primitive,
    Run, StructType, TypeId,
};
use crate::source::Span;
use crate::text::{NodeKind, short};

/// A struct that is not closed yet. Its fields and free names are at the top of the stacks in [`Structs`],
/// above the fields and free names of the enclosing structs.
pub(super) struct OpenStruct {
    pub(super) id: TypeId,
    fields: usize,
    pub(super) free: usize,
    pub(super) depth: u32,
    pub(super) is_indeterminate: bool,
}

/// The structs that are not closed yet. Also stores, for each name, the last struct that has a
/// member with this name, and the last struct in which the name is free.
#[derive(Default)]
pub(super) struct Structs {
    pub(super) open: Vec<OpenStruct>,
    pub(super) fields: Vec<Field>,
    pub(super) free: Vec<(NameId, Span)>,
    /// For each name, by its index, the last closed struct that has a member with the name.
    member_of: Vec<TypeId>,
    /// For each name, by its index, the last struct in which the name is free, and the position of
    /// the name among the free names of that struct.
    pub(super) free_in: Vec<(TypeId, u32)>,
}

impl Checker<'_> {
    pub(super) fn declare_type(&mut self, node: usize, name: NameId, span: Span, open: Span) {
        let before = self.layout.type_index.get(GLOBAL, name);
        if let Some(before) = before {
            self.report.error(|| {
                let text = short(self.layout.names.text(name));
                Diagnostic::new(
                    Code::TypeRedefined,
                    span,
                    format!("type `{text}` is defined twice"),
                )
                .label("defined again here")
                .label_at(self.layout.spans.types[before as usize], "first defined here")
                .help("types are global, regardless of the dict in which they are defined")
            });
        }
        if self.layout.names.text(name).starts_with(['<', '>', '|']) {
            self.report.error(|| {
                let message = "the name of a type cannot begin with `<`, `>` or `|`";
                Diagnostic::new(Code::PrefixedTypeName, span, message)
            });
        }
        let next = TypeId(index(self.layout.types.len()));
        self.subjects.declare(node, next.into());
        self.layout.declarations.push(Declaration::Type(next, self.dict.id));
        let id = self.check_struct(name, open);
        self.layout.spans.types[id.index()] = span;
        if before.is_none() {
            self.layout.type_index.insert(GLOBAL, name, id.0);
        }
        if let Some(primitive) = Primitive::from_name(self.layout.names.text(name)) {
            if let Some(used) = self.primitives.used[primitive.index()] {
                self.report.error(|| {
                    let message = format!("`{primitive}` is redefined after its use");
                    Diagnostic::new(Code::PrimitiveRedefined, span, message)
                        .label_at(used, "used here as the primitive type")
                        .help(format!(
                            "define it before its first use, or write `|{primitive}` for the primitive type"
                        ))
                });
            }
            self.primitives.redefined[primitive.index()] = Some(id);
        }
    }

    /// Checks the fields of a struct, up to its `}`.
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
        self.structs.open.push(OpenStruct {
            id,
            fields: self.structs.fields.len(),
            free: self.structs.free.len(),
            depth: 1,
            is_indeterminate: false,
        });
        if let Some(align) = self.cursor.next_if(NodeKind::Align) {
            let align = self.placed(align.span());
            self.layout.types[id.index()].align = Some(align).filter(|&align| align > 0);
        }
        while let Some(node) = self.cursor.next() {
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
        let node = self.cursor.last();
        match self.cursor.next().map(|node| node.kind) {
            Some(NodeKind::Data) => {
                self.declare_member(node, name, span);
            }
            Some(NodeKind::Param) => self.declare_field_param(node, name, span),
            _ => {
                self.broken.insert(name);
            }
        }
    }

    /// Declares a member, and checks the data that follows its name.
    pub(super) fn declare_member(&mut self, node: usize, name: NameId, span: Span) {
        let member = self.push_member(name, span);
        if !self.report.is_muted {
            self.subjects.declare(node, member.into());
        }
        if let Some(data) = self.check_data() {
            let data = self.push_data(data, member.into());
            self.layout.members[member.index()].data = data;
        }
    }

    fn push_member(&mut self, name: NameId, span: Span) -> MemberId {
        let id = MemberId(index(self.layout.members.len()));
        let owner = self.structs.open.last().map_or(TypeId(u32::MAX), |open| open.id);
        self.layout.members.push(Member { name, owner, data: DataId::NONE });
        self.layout.spans.members.push(span);
        self.structs.fields.push(Field::Member(id));
        id
    }

    /// Reports members that are declared twice, or that have the same name as a parameter. Must be
    /// called once per struct, when its fields are complete, because `member_of` stores only one
    /// struct for each name.
    fn check_fields(&mut self, id: TypeId, fields: Run) {
        self.structs.member_of.resize(self.layout.names.len(), TypeId(u32::MAX));
        for at in fields.start as usize..(fields.start + fields.len) as usize {
            let Field::Member(member) = self.layout.fields[at] else { continue };
            let name = self.layout.members[member.index()].name;
            if std::mem::replace(&mut self.structs.member_of[name.index()], id) == id {
                self.member_twice(fields, member, name);
            }
        }
        for at in fields.start as usize..(fields.start + fields.len) as usize {
            let Field::Param(param) = self.layout.fields[at] else { continue };
            let name = self.layout.params[param.index()].name;
            let is_member = self.structs.member_of.get(name.index()) == Some(&id);
            if is_member && self.report.wants(Code::ParamNamedAsItem) {
                if let Some(member) = self.layout.first_member(fields, name) {
                    let (param, member) = (param.index(), member.index());
                    let spans = &self.layout.spans;
                    self.warn_param_named_as_item(spans.params[param], spans.members[member]);
                }
            }
        }
    }

    #[cold]
    fn member_twice(&mut self, fields: Run, member: MemberId, name: NameId) {
        self.report.error(|| {
            let text = short(self.layout.names.text(name));
            let spans = &self.layout.spans.members;
            let message = format!("member `{text}` is declared twice");
            let again = Diagnostic::new(Code::Redeclared, spans[member.index()], message);
            let again = again.label("declared again here");
            match self.layout.first_member(fields, name) {
                Some(first) => again.label_at(spans[first.index()], "first declared here"),
                None => again,
            }
        });
    }

    fn close_struct(&mut self, id: TypeId) {
        let Some(open) = self.structs.open.pop() else { return };
        let layout = &mut self.layout;
        let start = layout.fields.len();
        layout.fields.extend(self.structs.fields.drain(open.fields..));
        let fields = Run { start: index(start), len: index(layout.fields.len() - start) };
        let start = layout.free_names.len();
        for (name, place) in self.structs.free.drain(open.free..) {
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
}

impl Layout {
    fn first_member(&self, fields: Run, name: NameId) -> Option<MemberId> {
        fields.of(&self.fields).iter().find_map(|field| match *field {
            Field::Member(member) if self.member(member).name == name => Some(member),
            _ => None,
        })
    }
}
