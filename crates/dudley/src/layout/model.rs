//! The plain types that a layout consists of.

use super::{Order, Primitive};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Its position in the arena, as an index of parallel tables.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A distinct name.
    NameId;
    /// A dict, list or data item. The root is 0; the others are numbered in order of first declaration, as
    /// the filter `ref` numbers them.
    ItemId;
    /// An array: of a data item, of a member, or of several that are declared alike.
    DataId;
    /// A parameter of a dict or a struct.
    ParamId;
    /// A struct type, named or not.
    TypeId;
    /// A member of a struct type; parameters are separate.
    MemberId;
    /// A filter with its arguments.
    FilterId;
}

impl NameId {
    /// The name of the root, of list elements and of anonymous structs.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl DataId {
    /// Stands for data with an error while a layout is checked.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl ItemId {
    /// The root dict.
    pub const ROOT: Self = Self(0);
    /// After all others.
    pub(crate) const LAST: Self = Self(u32::MAX);
}

/// A part of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Run {
    pub(crate) fn of<T>(self, arena: &[T]) -> &[T] {
        let start = self.start as usize;
        &arena[start..start + self.len as usize]
    }
}

/// A dict, a list or data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub(crate) name: NameId,
    /// The dict or list that holds it; the root holds itself.
    pub parent: ItemId,
    pub(crate) body: Body,
}

/// What an item is. Children are a run of `Layout::children`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Dict(Run),
    List(Run),
    Data(DataId),
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ItemKind<'a> {
    /// Named items, in order of first declaration.
    Dict(&'a [ItemId]),
    /// Elements.
    List(&'a [ItemId]),
    /// An array or scalar.
    Data(&'a Data),
}

/// An array or scalar: `datatype [shape] filter placement`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data {
    /// The type of an element.
    pub datatype: Datatype,
    /// The stated placement.
    pub placement: Option<Placement>,
    pub(crate) shape: Run,
    /// One for each free name of the struct type.
    pub(crate) bindings: Run,
    pub(crate) filter: Option<FilterId>,
    /// Declared by an extension (`list %0`): type, shape, bindings and filter are those of the element
    /// before it.
    pub repeats: bool,
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// A primitive type with the byte order of its prefix; none means that of the layout.
    Primitive(Primitive, Option<Order>),
    /// A struct type: a named type, a redefined primitive type, or an anonymous struct.
    Struct(TypeId),
}

/// Where data or a parameter is: `@address` or `%align`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Bytes from the start of the stream, or of the instance for a member of a struct.
    Address(u64),
    /// A multiple of this power of two; 0 means no placement.
    Align(u64),
}

/// A dimension, slowest varying first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number, at least -1, which removes the dimension.
    Fixed(i64),
    /// A parameter and its suffix: the number of `+`, or of `-` below zero. The suffix does not apply to
    /// the values 0 and -1, and the result is at least 0.
    Named(Binding, i32),
}

/// Where a name in a shape gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// A parameter: of a dict for a data item, of the same struct for a member.
    Param(ParamId),
    /// In a struct type only: the free name with this index of the enclosing struct. Each use of the type
    /// binds it.
    Free(u32),
}

/// A named integer that shapes may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    pub(crate) name: NameId,
    /// The dict or struct that declares it.
    pub scope: Scope,
    /// Its value, or how it is stored.
    pub value: ParamValue,
}

/// What a parameter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A dict: it and everything below it may use the parameter.
    Dict(ItemId),
    /// A struct: each instance has its own value.
    Struct(TypeId),
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// A number, at least -1.
    Fixed(i64),
    /// A scalar in the stream, placed like data.
    Stored {
        /// The declared type: a primitive type, or a typedef of one.
        datatype: Datatype,
        /// The primitive type that this is.
        integer: Primitive,
        /// The byte order of its prefix.
        order: Option<Order>,
        /// The stated placement.
        placement: Option<Placement>,
    },
}

impl ParamValue {
    /// Whether it takes space in the stream.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }

    /// The placement of a stored parameter.
    pub(crate) fn placement(&self) -> Option<Placement> {
        match *self {
            Self::Stored { placement, .. } => placement,
            Self::Fixed(_) => None,
        }
    }
}

/// A struct type.
///
/// It is closed: the shapes of its members use its own parameters and its free names only. So the size of
/// an instance depends only on the values of the free names and of the parameters stored in the instance.
/// The types that it uses were complete before it, so following them ends, at most
/// [`Limits::max_depth`](crate::Limits::max_depth) levels down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructType {
    pub(crate) name: NameId,
    /// `{%align`: replaces the greatest alignment of the members.
    pub align: Option<u64>,
    pub(crate) fields: Run,
    pub(crate) free: Run,
    /// For an anonymous struct, the item or member that is declared with it.
    pub user: Option<Subject>,
    /// Levels of structs, itself included.
    pub depth: u32,
    /// Whether it stands for its only member: that member is called `""` and has no `@` address, and no
    /// parameter is stored.
    pub is_typedef: bool,
    /// Whether the size of an instance depends on what is stored in it, or in an instance inside it.
    pub is_indeterminate: bool,
}

/// A parameter or member of a struct, in order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// A parameter; takes space if it is stored.
    Param(ParamId),
    /// A member; takes space.
    Member(MemberId),
}

/// A member of a struct type; parameters are separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub(crate) name: NameId,
    /// The struct type that it belongs to.
    pub owner: TypeId,
    /// Its type, shape, filter and placement.
    pub data: DataId,
}

/// `-> name(arguments)` or `<- name(arguments)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Filter {
    /// Whether the stream holds compressed bytes or references.
    pub kind: FilterKind,
    /// `gzip`, `ref`, or any other registered name.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

/// What a filter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterKind {
    /// `->`: the array is stored compressed.
    Compress,
    /// `<-`: the array's values refer to items.
    Reference,
}

/// An argument of a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number without point and exponent.
    Integer(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// A quoted text.
    Text(String),
}

/// A declaration, in order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declaration {
    /// A dict, a list or data, at its first declaration.
    Item(ItemId),
    /// A parameter of a dict. Parameters of structs belong to the types.
    Param(ParamId),
    /// A named type and the dict that declares it; its name is global.
    Type(TypeId, ItemId),
}

impl Declaration {
    /// The item or parameter.
    #[inline]
    pub(crate) fn subject(self) -> Option<Subject> {
        match self {
            Self::Item(id) => Some(Subject::Item(id)),
            Self::Param(id) => Some(Subject::Param(id)),
            Self::Type(..) => None,
        }
    }
}

/// The summary block: its declarations belong to the root. It is also a struct type, for streams of
/// summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The block as a struct, with its own copies of the parameters.
    pub struct_type: TypeId,
    /// The number of declarations in the block; they are the first of the layout.
    pub declarations: usize,
}

/// What a comment may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The summary block.
    Summary,
    /// An item; the root means the whole layout.
    Item(ItemId),
    /// A parameter.
    Param(ParamId),
    /// A named type.
    Type(TypeId),
    /// A member of a struct.
    Member(MemberId),
}

/// `name=value` of an attribute comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum Value {
    /// No value, only a name.
    Null,
    /// A number without point and exponent.
    Integer(i64),
    /// A number with a point or an exponent; finite.
    Float(f64),
    /// A quoted text.
    Text(String),
    /// A list of integers, or an empty list.
    Integers(Vec<i64>),
    /// A list of numbers with at least one float.
    Floats(Vec<f64>),
    /// A list of quoted texts.
    Texts(Vec<String>),
}
