//! The plain types of the arena: what a layout consists of.

use super::{Order, Primitive};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Its place in the arena: for tables that run beside it.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A distinct name.
    NameId;
    /// A dict, list or data item. The root is 0; the others count in order of first declaration, so
    /// this is the number by which the reference filter names an item.
    ItemId;
    /// What is declared of an array: shared form of data items and members.
    DataId;
    /// A parameter of a dict or a struct.
    ParamId;
    /// A struct type, named or not.
    TypeId;
    /// A member of a struct type that is no parameter.
    MemberId;
    /// A filter with its arguments.
    FilterId;
}

impl NameId {
    /// Of the root, of list elements, of anonymous structs.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl DataId {
    /// Of what had an error, while a layout is checked: there is no such data.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl ItemId {
    /// The root dict.
    pub const ROOT: Self = Self(0);
    /// Behind all others.
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
    /// Where it was said to be, if it was.
    pub placement: Option<Placement>,
    pub(crate) shape: Run,
    /// One for each free name of the struct type.
    pub(crate) bindings: Run,
    pub(crate) filter: Option<FilterId>,
    /// Declared by an extension (`list %0`): type, shape, bindings and filter are those of the
    /// element before, as it bound them.
    pub repeats: bool,
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// A primitive type with the order of its prefix; without one, of the layout.
    Primitive(Primitive, Option<Order>),
    /// A struct type: a named type (primitives defined anew included) or an anonymous struct.
    Struct(TypeId),
}

/// Where data or a parameter is: `@address` or `%align`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Bytes from the beginning of the stream, or of the instance in a struct.
    Address(u64),
    /// A multiple of this, a power of two; 0 is as if nothing were said.
    Align(u64),
}

/// A dimension, slowest varying first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number, at least -1, which removes the dimension.
    Fixed(i64),
    /// A parameter, with how many `+` (or, below zero, `-`) follow it. The suffix does not apply
    /// to the values 0 and -1, and leads no lower than 0.
    Named(Binding, i32),
}

/// Where a name in a shape gets its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// A parameter: in a data item of a dict, one of a dict; in a struct, one of that very struct.
    Param(ParamId),
    /// In a struct type only: the free name of this index of the struct that holds it. Whoever uses
    /// the type binds it.
    Free(u32),
}

/// A named integer that shapes may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    pub(crate) name: NameId,
    /// Where it was declared.
    pub scope: Scope,
    /// Its value, or how it is stored.
    pub value: ParamValue,
}

/// What a parameter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All below the dict may use it.
    Dict(ItemId),
    /// Each instance of the struct has its own.
    Struct(TypeId),
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// A number, at least -1.
    Fixed(i64),
    /// A scalar in the stream, placed like data.
    Stored {
        /// As declared: a primitive, or a type that reduces to one.
        datatype: Datatype,
        /// What it reduces to, an integer.
        integer: Primitive,
        /// The prefix of that integer.
        order: Option<Order>,
        /// Where it was said to be, if it was.
        placement: Option<Placement>,
    },
}

impl ParamValue {
    /// Whether it takes space in the stream.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }
}

/// A struct type.
///
/// It is closed: its members' shapes name its own parameters and its free names, nothing else. So the
/// size of an instance depends on the values of the free names, of the parameters stored in the
/// instance, and on nothing more. Types that it uses were complete before it: following them ends, and
/// is no deeper than [`Limits::max_depth`](crate::Limits::max_depth).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructType {
    pub(crate) name: NameId,
    /// `{%align`: in place of the greatest alignment of the members.
    pub align: Option<u64>,
    pub(crate) fields: Run,
    pub(crate) free: Run,
    /// Of an anonymous struct, what is declared to be of it: an item, or a member of another.
    pub user: Option<Subject>,
    /// How deep structs nest in it; 1 without any.
    pub depth: u32,
    /// Its only member that is no parameter is called `""` and has no `@` address, and no parameter is
    /// stored: it stands for that member.
    pub is_typedef: bool,
    /// An instance's size depends on what is stored in it, or in an instance that it holds.
    pub is_indeterminate: bool,
}

/// A parameter or member of a struct, in order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Takes space when it is stored.
    Param(ParamId),
    /// Takes space.
    Member(MemberId),
}

/// A member of a struct type that is no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub(crate) name: NameId,
    /// The struct type that it is of.
    pub owner: TypeId,
    /// What it is an array of.
    pub data: DataId,
}

/// `-> name(arguments)` or `<- name(arguments)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// Whether the stream has compressed bytes, or references.
    pub kind: FilterKind,
    /// `gzip`, `ref`, or one that somebody registers.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<Argument>,
}

/// What a filter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FilterKind {
    /// `->`: the array is stored compressed.
    Compress,
    /// `<-`: the array's values refer to items.
    Reference,
}

/// An argument of a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Without point and exponent.
    Integer(i64),
    /// With either.
    Float(f64),
    /// In quotes.
    Text(String),
}

/// A declaration, in order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declaration {
    /// A dict, a list, data: where it was declared first.
    Item(ItemId),
    /// A parameter of a dict. Those of structs are with the types.
    Param(ParamId),
    /// A named type, declared in this dict; its name holds everywhere.
    Type(TypeId, ItemId),
}

/// The summary block: its declarations belong to the root, and it is a struct type for streams of
/// summaries too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The block as a struct. Its parameters are its own, beside those of the root.
    pub struct_type: TypeId,
    /// So many of the declarations are the block's.
    pub declarations: usize,
}

/// What a comment may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The summary block.
    Summary,
    /// An item; the root stands for the whole layout.
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
    /// Only the name is there.
    Null,
    /// Without point and exponent.
    Integer(i64),
    /// With either; finite.
    Float(f64),
    /// In quotes.
    Text(String),
    /// All integers; the empty array too.
    Integers(Vec<i64>),
    /// Numbers of which one at least is a float.
    Floats(Vec<f64>),
    /// All in quotes.
    Texts(Vec<String>),
}
