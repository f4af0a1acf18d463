//! The plain types that make up a layout.

use super::{Order, Primitive};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// Returns the index of the entry in its arena, and in all tables parallel to the
            /// arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// The id of a name. Equal names have the same id.
    NameId;
    /// The id of a dict, list or data item. The root has number 0, and the other items are numbered
    /// in order of first declaration. The filter `ref` uses the same numbers.
    ItemId;
    /// The id of an array declaration. Data items and members with equal declarations may share an
    /// id.
    DataId;
    /// The id of a parameter, which belongs to a dict or a struct.
    ParamId;
    /// The id of a struct type, which may be anonymous.
    TypeId;
    /// The id of a member of a struct type. Parameters have separate ids.
    MemberId;
    /// The id of a filter with its arguments.
    FilterId;
}

impl NameId {
    /// The id that stands for the missing name of the root, a list element or an anonymous struct.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl DataId {
    /// The id that stands for data that has an error or has not been checked yet, and for an empty
    /// slot in `Alike`.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl ItemId {
    /// The root dict.
    pub const ROOT: Self = Self(0);
    /// An id greater than the id of any item.
    pub(crate) const LAST: Self = Self(u32::MAX);
}

/// A range of entries in an arena.
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
    /// The dict or list that contains the item. The root is its own parent.
    pub parent: ItemId,
    pub(crate) body: Body,
}

/// The kind and contents of an item, as stored in an arena. The run of a dict or list is a range in
/// `Layout::children`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Dict(Run),
    List(Run),
    Data(DataId),
}

/// The kind and contents of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ItemKind<'a> {
    /// A dict, with its items in order of first declaration.
    Dict(&'a [ItemId]),
    /// A list, with its elements in order.
    List(&'a [ItemId]),
    /// An array or scalar.
    Data(&'a Data),
}

/// An array or scalar: `datatype [shape] filter placement`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Data {
    /// The type of an element.
    pub datatype: Datatype,
    /// The explicit placement, if there is one.
    pub placement: Option<Placement>,
    pub(crate) shape: Run,
    /// The bindings, one for each free name of the struct type.
    pub(crate) bindings: Run,
    pub(crate) filter: Option<FilterId>,
    /// Whether this is a list element declared only by a placement, as in `list %0`. Such an element has the
    /// type, shape, bindings and filter of the preceding element.
    pub repeats: bool,
}

/// The type of an array's elements.
///
/// ```
/// use dudley::layout::Datatype;
/// use dudley::{ItemId, Layout, Order};
///
/// let layout = Layout::parse("x = >f8  p = { a = i1 }")?;
/// let datatype = |name| {
///     let item = layout.child(ItemId::ROOT, name)?;
///     layout.data_of(item).map(|data| data.datatype)
/// };
/// assert!(matches!(datatype("x"), Some(Datatype::Primitive(f8, Some(Order::Big))) if f8.name() == "f8"));
/// assert!(matches!(datatype("p"), Some(Datatype::Struct(_))));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Datatype {
    /// A primitive type and its byte order prefix. Without a prefix, the type has the default byte
    /// order.
    Primitive(Primitive, Option<Order>),
    /// A struct type: a named type, a redefined primitive type, or an anonymous struct.
    Struct(TypeId),
}

/// The placement of data or a parameter: `@address` or `%align`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// An address in bytes from the start of the stream or, for a member of a struct, from the start of the
    /// instance.
    Address(u64),
    /// An alignment: the address is rounded up to a multiple of this power of two. 0 stands for the alignment
    /// of the type.
    Align(u64),
}

/// A dimension of a shape. Shapes list the slowest varying dimension first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A number, which is at least -1. The value -1 removes the dimension.
    Fixed(i64),
    /// A parameter and its suffix: the number of `+` signs, or the negated number of `-` signs. The
    /// suffix is added to positive values only, and the length is at least 0.
    Named(Binding, i32),
}

/// The parameter or free name that a name in a shape refers to. Each use of a type also binds the free names
/// of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// A parameter. A data item uses parameters of dicts, and a member uses parameters of the enclosing
    /// struct.
    Param(ParamId),
    /// A free name of the enclosing struct type, by its index. Each use of the type binds the name
    /// to a parameter or to another free name.
    Free(u32),
}

/// A named integer that shapes may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    pub(crate) name: NameId,
    /// The dict or struct that declares the parameter.
    pub scope: Scope,
    /// The fixed value, or a description of how the value is stored.
    pub value: ParamValue,
}

/// The dict or struct that declares a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A dict. Later shapes in this dict and in dicts nested in it may use the parameter.
    Dict(ItemId),
    /// A struct. If the parameter is stored, each instance has its own value.
    Struct(TypeId),
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// A fixed number, at least -1.
    Fixed(i64),
    /// A scalar that is stored in the stream. It is placed like a data item.
    Stored {
        /// The declared type: a primitive type, or a typedef of one.
        datatype: Datatype,
        /// The primitive type after resolving typedefs.
        integer: Primitive,
        /// The byte order prefix of the type, or `None` if it has no prefix.
        order: Option<Order>,
        /// The explicit placement, if there is one.
        placement: Option<Placement>,
    },
}

impl ParamValue {
    /// Returns `true` if the value is stored in the stream.
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }

    /// Returns the explicit placement of a stored parameter, if it has one.
    pub(crate) fn placement(&self) -> Option<Placement> {
        match *self {
            Self::Stored { placement, .. } => placement,
            Self::Fixed(_) => None,
        }
    }
}

/// A struct type.
///
/// A struct type is closed: the shapes of its members use only its own parameters and free names. The size of
/// an instance therefore depends only on the values of the free names and of the parameters stored in the
/// instance. A type can use only types that are already complete, so it cannot contain itself. Types are
/// nested at most [`Limits::max_depth`](crate::Limits::max_depth) levels deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructType {
    pub(crate) name: NameId,
    /// The explicit alignment in bytes, written `{%align`. It overrides the largest alignment of the fields.
    pub align: Option<u64>,
    pub(crate) fields: Run,
    pub(crate) free: Run,
    /// The item or member that has this type, if the struct is anonymous.
    pub user: Option<Subject>,
    /// The number of nested levels of structs, including this struct.
    pub depth: u32,
    /// Whether the type is a typedef. A typedef has no stored parameters and exactly one member,
    /// which has the name `""` and no `@` address.
    pub is_typedef: bool,
    /// Whether the size of an instance depends on its contents or on the contents of a nested instance.
    pub is_indeterminate: bool,
}

/// A parameter or member of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// A parameter, which occupies space only if it is stored.
    Param(ParamId),
    /// A member, which occupies space unless it is empty.
    Member(MemberId),
}

/// A member of a struct type. Parameters are not members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub(crate) name: NameId,
    /// The struct type to which the member belongs.
    pub owner: TypeId,
    /// The id of the declaration, which contains the type, shape, filter and placement.
    pub data: DataId,
}

/// A filter: `-> name(arguments)` or `<- name(arguments)`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Filter {
    /// The kind of the filter, which tells whether the array contains compressed data or references.
    pub kind: FilterKind,
    /// The name of the filter, such as `gzip` or `ref`.
    pub name: String,
    /// The arguments of the filter.
    pub arguments: Vec<Argument>,
}

/// The kind of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterKind {
    /// `->`: the array is compressed.
    Compress,
    /// `<-`: the elements are references to items.
    Reference,
}

/// An argument of a filter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number without a decimal point or an exponent.
    Integer(i64),
    /// A number with a decimal point or an exponent.
    Float(f64),
    /// A quoted string.
    Text(String),
}

/// A declaration in the text of a layout.
///
/// ```
/// use dudley::Layout;
/// use dudley::layout::Declaration;
///
/// let layout = Layout::parse("N : 2  point { x = f8 }  p = point[N]")?;
/// let names = layout.declarations().iter().map(|&declaration| match declaration {
///     Declaration::Item(id) => layout.path(id),
///     Declaration::Param(id) => layout.param_name(id).to_owned(),
///     Declaration::Type(id, _) => layout.type_name(id).unwrap_or_default().to_owned(),
/// });
/// assert_eq!(names.collect::<Vec<_>>(), ["N", "point", "/p"]);
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Declaration {
    /// The first declaration of a dict, a list or data.
    Item(ItemId),
    /// A parameter of a dict. Parameters of structs are declared by their types.
    Param(ParamId),
    /// A named type and the dict that contains the declaration. Names of types are global.
    Type(TypeId, ItemId),
}

impl Declaration {
    /// Returns the item or parameter, or `None` for a type.
    #[inline]
    pub(crate) fn subject(self) -> Option<Subject> {
        match self {
            Self::Item(id) => Some(Subject::Item(id)),
            Self::Param(id) => Some(Subject::Param(id)),
            Self::Type(..) => None,
        }
    }
}

/// The summary block. Its declarations belong to the root. It is also available as a struct type, for files of
/// summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The block as a struct, with its own copies of the parameters.
    pub struct_type: TypeId,
    /// The number of declarations in the block. They are the first declarations of the layout.
    pub declarations: usize,
}

/// Something that a comment can describe.
///
/// ```
/// use dudley::Layout;
/// use dudley::layout::Subject;
///
/// let layout = Layout::parse("N : i4  ## number of nodes\nx = f8[N]  ## (cm)")?;
/// let documented = layout.commented().into_iter().map(|subject| match subject {
///     Subject::Item(id) => layout.path(id),
///     Subject::Param(id) => layout.param_name(id).to_owned(),
///     other => panic!("{other:?} has no comment"),
/// });
/// assert_eq!(documented.collect::<Vec<_>>(), ["/x", "N"]);
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The summary block.
    Summary,
    /// An item. The root stands for the whole layout.
    Item(ItemId),
    /// A parameter.
    Param(ParamId),
    /// A named type.
    Type(TypeId),
    /// A member of a struct.
    Member(MemberId),
}

/// An attribute in a comment: `name=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name of the attribute.
    pub name: String,
    /// The value of the attribute.
    pub value: Value,
}

/// The value of an attribute.
///
/// ```
/// use dudley::layout::Value;
/// use dudley::{ItemId, Layout};
///
/// let layout = Layout::parse("x = f8[3]  #: units=\"cm\", range=[0, 1.5]")?;
/// let x = layout.child(ItemId::ROOT, "x").unwrap();
/// let values: Vec<&Value> = layout.attributes(x.into()).map(|attribute| &attribute.value).collect();
/// assert_eq!(values, [&Value::Text("cm".to_owned()), &Value::Floats(vec![0.0, 1.5])]);
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum Value {
    /// No value: the attribute consists of a name only.
    Null,
    /// A number without a decimal point or an exponent.
    Integer(i64),
    /// A finite number with a decimal point or an exponent.
    Float(f64),
    /// A quoted string.
    Text(String),
    /// A list of integers, or an empty list.
    Integers(Vec<i64>),
    /// A list of numbers with at least one float.
    Floats(Vec<f64>),
    /// A list of quoted strings.
    Texts(Vec<String>),
}
