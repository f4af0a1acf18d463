//! The arenas of a layout, and access to their contents.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "write")]
use super::model::Datatype;
use super::model::{
    Attribute, Binding, Body, Data, DataId, Declaration, Dim, Field, Filter, FilterId, Item,
    ItemId, ItemKind, Member, MemberId, NameId, Param, ParamId, Placement, Scope, StructType,
    Subject, Summary, TypeId,
};
use super::names::{Index, Names, index};
use super::primitive::Order;
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

/// A checked layout.
///
/// ```
/// use dudley::layout::{Binding, Dim, ItemKind};
/// use dudley::{ItemId, Layout};
///
/// let layout = Layout::parse("N : i8  grid/ x = f8[N+, 3]  ## (cm) nodes")?;
/// let grid = layout.child(ItemId::ROOT, "grid").unwrap();
/// let x = layout.child(grid, "x").unwrap();
/// let n = layout.param_named(ItemId::ROOT, "N").unwrap();
///
/// let ItemKind::Data(data) = layout.kind(x) else { panic!("x is data") };
/// assert_eq!(layout.shape(data), [Dim::Named(Binding::Param(n), 1), Dim::Fixed(3)]);
/// assert_eq!(layout.path(x), "/grid/x");
/// assert_eq!(layout.docs(x.into()).collect::<Vec<_>>(), ["(cm) nodes"]);
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// Two layouts are equal if they contain the same declarations in the same order with the same comments, even
/// if they are written differently.
#[derive(Clone, Default)]
pub struct Layout {
    pub(crate) order: Option<Order>,
    pub(crate) summary: Option<Summary>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) names: Names,
    pub(crate) items: Vec<Item>,
    pub(crate) children: Vec<ItemId>,
    pub(crate) data: Vec<Data>,
    pub(crate) dims: Vec<Dim>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) params: Vec<Param>,
    pub(crate) types: Vec<StructType>,
    pub(crate) fields: Vec<Field>,
    pub(crate) members: Vec<Member>,
    pub(crate) free_names: Vec<NameId>,
    pub(crate) comments: Comments,
    pub(crate) item_index: Index,
    pub(crate) param_index: Index,
    pub(crate) type_index: Index,
    pub(crate) spans: Spans,
    pub(crate) source: Arc<Source>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// All documentation and attributes, sorted by subject.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comments {
    pub(crate) text: String,
    /// The subject of each line of documentation, with the start and end of the line in `text`.
    pub(crate) docs: Vec<(Subject, u32, u32)>,
    pub(crate) attributes: Vec<(Subject, Attribute)>,
}

impl Comments {
    fn lines(&self) -> impl Iterator<Item = (Subject, &str)> {
        let line = |&(subject, start, end): &(Subject, u32, u32)| {
            (subject, &self.text[start as usize..end as usize])
        };
        self.docs.iter().map(line)
    }
}

impl PartialEq for Comments {
    fn eq(&self, other: &Self) -> bool {
        self.lines().eq(other.lines()) && self.attributes == other.attributes
    }
}

/// The spans of declared names in the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    pub(crate) items: Vec<Span>,
    pub(crate) params: Vec<Span>,
    pub(crate) types: Vec<Span>,
    pub(crate) members: Vec<Span>,
    /// The span of the first use of each free name in a struct type.
    pub(crate) free_names: Vec<Span>,
}

/// The scope under which all type names are indexed, because they are global.
pub(crate) const GLOBAL: u32 = 0;

impl Scope {
    /// Returns the key of the scope in the index of parameters. Keys are unique, because there are fewer than
    /// 2^31 dicts and structs.
    pub(crate) fn key(self) -> u32 {
        match self {
            Self::Dict(dict) => dict.0,
            Self::Struct(id) => id.0 | 1 << 31,
        }
    }
}

macro_rules! subjects {
    ($($Id:ident $Kind:ident,)+) => {$(
        impl From<$Id> for Subject {
            fn from(id: $Id) -> Self {
                Self::$Kind(id)
            }
        }
    )+};
}

subjects! { ItemId Item, ParamId Param, TypeId Type, MemberId Member, }

impl Layout {
    /// Returns the warnings and notes about the text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the text from which the layout was parsed. It is needed for rendering diagnostics.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Returns the byte order that the layout states, or `None` if it does not state one.
    pub fn order(&self) -> Option<Order> {
        self.order
    }

    /// Returns the summary block, or `None` if the layout does not have one.
    pub fn summary(&self) -> Option<Summary> {
        self.summary
    }

    /// Returns all declarations in source order.
    pub fn declarations(&self) -> &[Declaration] {
        &self.declarations
    }

    /// Returns the number of items, including the root.
    pub fn item_count(&self) -> usize {
        self.items.len()
    }

    /// Iterates over all items except the root, in order of first declaration.
    pub fn items(&self) -> impl ExactSizeIterator<Item = ItemId> + use<> {
        (1..index(self.items.len())).map(ItemId)
    }

    /// Returns the id of the item with this number, or `None` if there is no such item. The root has number 0,
    /// and the first declared item has number 1.
    pub fn item_id(&self, number: usize) -> Option<ItemId> {
        (number < self.items.len()).then(|| ItemId(index(number)))
    }

    /// Returns the item with this id.
    pub fn item(&self, id: ItemId) -> &Item {
        &self.items[id.index()]
    }

    /// Returns the kind and contents of an item.
    #[inline]
    pub fn kind(&self, id: ItemId) -> ItemKind<'_> {
        match self.item(id).body {
            Body::Dict(run) => ItemKind::Dict(run.of(&self.children)),
            Body::List(run) => ItemKind::List(run.of(&self.children)),
            Body::Data(data) => ItemKind::Data(&self.data[data.index()]),
        }
    }

    /// Returns the name of an item, or `None` for the root and for list elements.
    pub fn name(&self, id: ItemId) -> Option<&str> {
        let name = self.item(id).name;
        (name != NameId::NONE).then(|| self.names.text(name))
    }

    /// Returns the items of a dict or the elements of a list. For data, the result is empty.
    pub fn children(&self, id: ItemId) -> &[ItemId] {
        match self.kind(id) {
            ItemKind::Dict(children) | ItemKind::List(children) => children,
            ItemKind::Data(_) => &[],
        }
    }

    /// Returns the item with this name in a dict, or `None` if there is no such item.
    pub fn child(&self, dict: ItemId, name: &str) -> Option<ItemId> {
        self.item_index.get(dict.0, self.names.get(name)?).map(ItemId)
    }

    /// Returns the index of an element in its list, or of an item in its dict, counted from 0.
    pub fn position(&self, id: ItemId) -> usize {
        self.children(self.item(id).parent).binary_search(&id).unwrap_or_default()
    }

    /// Returns the array declared by an item, or `None` for a dict or list.
    #[inline]
    pub fn data_of(&self, id: ItemId) -> Option<&Data> {
        match self.item(id).body {
            Body::Data(data) => Some(&self.data[data.index()]),
            Body::Dict(_) | Body::List(_) => None,
        }
    }

    /// Returns the explicit placement of an item or parameter, or `None` if it has no placement.
    pub(crate) fn placement(&self, subject: Subject) -> Option<Placement> {
        match subject {
            Subject::Item(id) => self.data_of(id)?.placement,
            Subject::Param(id) => self.param(id).value.placement(),
            _ => None,
        }
    }

    /// Returns `true` if an item or parameter has an explicit address.
    pub(crate) fn has_explicit_address(&self, subject: Subject) -> bool {
        matches!(self.placement(subject), Some(Placement::Address(_)))
    }

    /// Returns the array with this id.
    pub fn data(&self, id: DataId) -> &Data {
        &self.data[id.index()]
    }

    /// Returns the dimensions of an array, slowest varying first. For a scalar, the result is empty.
    pub fn shape(&self, data: &Data) -> &[Dim] {
        data.shape.of(&self.dims)
    }

    /// Returns the bindings of the free names in an array's struct type, in the order of
    /// [`free_names`](Self::free_names).
    pub fn bindings(&self, data: &Data) -> &[Binding] {
        data.bindings.of(&self.bindings)
    }

    /// Returns the filter of an array, or `None` if the array has no filter.
    pub fn filter(&self, data: &Data) -> Option<&Filter> {
        data.filter.map(|id| &self.filters[id.index()])
    }

    pub(crate) fn filter_of(&self, id: FilterId) -> &Filter {
        &self.filters[id.index()]
    }

    /// Returns the number of parameters, including those declared in structs and in the struct type
    /// that represents the summary.
    pub fn param_count(&self) -> usize {
        self.params.len()
    }

    /// Returns the parameter with this id.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.index()]
    }

    /// Returns the name of a parameter.
    pub fn param_name(&self, id: ParamId) -> &str {
        self.names.text(self.param(id).name)
    }

    /// Returns the parameter with this name that the dict itself declares, or `None` if there is no
    /// such parameter. If [`allow_param_redeclare`](crate::ParseOptions::allow_param_redeclare)
    /// permitted several parameters with this name, returns the last one.
    pub fn param_named(&self, dict: ItemId, name: &str) -> Option<ParamId> {
        self.param_index.get(dict.0, self.names.get(name)?).map(ParamId)
    }

    /// Returns the number of struct types, including anonymous ones.
    pub fn type_count(&self) -> usize {
        self.types.len()
    }

    /// Iterates over all struct types. A type precedes the anonymous types that it contains.
    pub fn types(&self) -> impl ExactSizeIterator<Item = TypeId> + use<> {
        (0..index(self.types.len())).map(TypeId)
    }

    /// Iterates over all parameters, including parameters of structs.
    pub fn params(&self) -> impl ExactSizeIterator<Item = ParamId> + use<> {
        (0..index(self.params.len())).map(ParamId)
    }

    /// Returns the struct type with this id.
    pub fn struct_type(&self, id: TypeId) -> &StructType {
        &self.types[id.index()]
    }

    /// Returns the struct type with this name, or `None` if there is no such type. Primitive types
    /// are found only if the layout redefines them.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.type_index.get(GLOBAL, self.names.get(name)?).map(TypeId)
    }

    /// Returns the name of a struct type, or `None` if it is anonymous.
    pub fn type_name(&self, id: TypeId) -> Option<&str> {
        let name = self.struct_type(id).name;
        (name != NameId::NONE).then(|| self.names.text(name))
    }

    /// Returns the parameters and members of a struct type, in order of declaration.
    pub fn fields(&self, id: TypeId) -> &[Field] {
        self.struct_type(id).fields.of(&self.fields)
    }

    /// Returns the free names of a struct type, in order of first use.
    pub fn free_names(&self, id: TypeId) -> impl ExactSizeIterator<Item = &str> {
        self.struct_type(id).free.of(&self.free_names).iter().map(|&name| self.names.text(name))
    }

    /// Returns the stored parameters of a struct type and of the types nested in it.
    #[cfg(feature = "write")]
    pub(crate) fn stored_params(&self, datatype: Datatype) -> Vec<ParamId> {
        let mut stored = Vec::new();
        if matches!(datatype, Datatype::Primitive(..)) {
            return stored;
        }
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![datatype];
        while let Some(datatype) = open.pop() {
            let Datatype::Struct(id) = datatype else { continue };
            if !seen.insert(id) {
                continue;
            }
            for field in self.fields(id) {
                match *field {
                    Field::Param(id) if self.param(id).value.is_stored() => stored.push(id),
                    Field::Param(_) => {}
                    Field::Member(id) => open.push(self.data(self.member(id).data).datatype),
                }
            }
        }
        stored
    }

    /// Returns the only member of a typedef, or `None` if the type is not a typedef.
    pub fn typedef_member(&self, id: TypeId) -> Option<MemberId> {
        if !self.struct_type(id).is_typedef {
            return None;
        }
        self.fields(id).iter().find_map(|field| match *field {
            Field::Member(member) => Some(member),
            Field::Param(_) => None,
        })
    }

    /// Returns the member with this id.
    pub fn member(&self, id: MemberId) -> &Member {
        &self.members[id.index()]
    }

    /// Returns the name of a member, which may be empty.
    pub fn member_name(&self, id: MemberId) -> &str {
        self.names.text(self.member(id).name)
    }

    /// Returns the documentation of a subject as trimmed lines.
    pub fn docs(&self, subject: Subject) -> impl ExactSizeIterator<Item = &str> {
        let docs = &self.comments.docs;
        let start = docs.partition_point(|line| line.0 < subject);
        let end = docs.partition_point(|line| line.0 <= subject);
        let text = &self.comments.text;
        docs[start..end].iter().map(|&(_, start, end)| &text[start as usize..end as usize])
    }

    /// Returns the attributes of a subject, in source order.
    pub fn attributes(&self, subject: Subject) -> impl ExactSizeIterator<Item = &Attribute> {
        let attributes = &self.comments.attributes;
        let start = attributes.partition_point(|attribute| attribute.0 < subject);
        let end = attributes.partition_point(|attribute| attribute.0 <= subject);
        attributes[start..end].iter().map(|(_, attribute)| attribute)
    }

    /// Returns all subjects that have documentation or attributes, without duplicates. The summary is first,
    /// followed by items, parameters, types and members.
    pub fn commented(&self) -> Vec<Subject> {
        let docs = self.comments.docs.iter().map(|line| line.0);
        let mut subjects: Vec<Subject> =
            docs.chain(self.comments.attributes.iter().map(|attribute| attribute.0)).collect();
        subjects.sort_unstable();
        subjects.dedup();
        subjects
    }

    /// Returns the span of a declared name in the source or, for a list element, the span of its first token.
    /// For an element declared only by a placement, as in `list %0`, returns the span of the list's name. For
    /// the root and the summary, the span is empty.
    pub fn span(&self, subject: Subject) -> Span {
        let found = match subject {
            Subject::Summary => None,
            Subject::Item(id) => self.spans.items.get(id.index()),
            Subject::Param(id) => self.spans.params.get(id.index()),
            Subject::Type(id) => self.spans.types.get(id.index()),
            Subject::Member(id) => self.spans.members.get(id.index()),
        };
        found.copied().unwrap_or_default()
    }
}

/// Formats the layout as its canonical text, which is easier to read than the arenas.
impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Layout").field(&format_args!("{self}")).finish()
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
            && self.summary == other.summary
            && self.declarations == other.declarations
            && self.names == other.names
            && self.items == other.items
            && self.children == other.children
            && self.data == other.data
            && self.dims == other.dims
            && self.bindings == other.bindings
            && self.filters == other.filters
            && self.params == other.params
            && self.types == other.types
            && self.fields == other.fields
            && self.members == other.members
            && self.free_names == other.free_names
            && self.comments == other.comments
    }
}
