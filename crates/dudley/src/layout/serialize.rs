//! Serialising a layout as a tree, for example as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{
    Attribute, Binding, Data, Datatype, Declaration, Dim, Field, ItemId, ItemKind, Layout, ParamId,
    ParamValue, Scope, Subject, TypeId,
};
use crate::text::quote;

/// Serialises the declarations as a tree of objects, in order of declaration:
///
/// | `kind` | further members |
/// |---|---|
/// | `dict` | `items` |
/// | `list` | `elements` |
/// | `data` | `dtype` and `shape`; `filter` and `place` if they apply; `align` and `members` of an anonymous struct; only `repeats` and `place` for a list element declared only by a placement, as in `list %0` |
/// | `parameter` | `value`, or `dtype` and, if it applies, `place` |
/// | `type` | `members`; `align` if it applies |
///
/// All objects except the root and list elements have a `name`. All objects have `docs` and
/// `attributes` if they are not empty. Declarations in the summary block have `"summary": true`. A
/// dimension is a number, or a string such as `N+`. The name in the string is quoted if needed. If
/// a suffix has more than 31 signs, the sign is followed by `..` and the number of signs, as in
/// `N+..40`. The root also has the `order` of the layout, or null, and the comments of the summary
/// block under `summary`.
///
/// ```
/// let layout = dudley::Layout::parse("N : i8  g/ x = f8[N+, 3]  ## (cm)")?;
/// let json = serde_json::to_value(&layout)?;
/// assert_eq!(json["items"][0], serde_json::json!(
///     {"name": "N", "kind": "parameter", "dtype": "i8"}));
/// assert_eq!(json["items"][1]["items"][0], serde_json::json!(
///     {"name": "x", "kind": "data", "dtype": "f8", "shape": ["N+", 3], "docs": ["(cm)"]}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut declared = vec![Vec::new(); self.item_count()];
        let summary = self.summary().map_or(0, |summary| summary.declarations);
        for (at, &declaration) in self.declarations().iter().enumerate() {
            let holder = match declaration {
                Declaration::Item(id) => self.item(id).parent,
                Declaration::Param(id) => match self.param(id).scope {
                    Scope::Dict(dict) => dict,
                    Scope::Struct(_) => continue,
                },
                Declaration::Type(_, dict) => dict,
            };
            declared[holder.index()].push((declaration, at < summary));
        }
        let root = Root {
            node: self.item_node(ItemId::ROOT, &declared),
            order: self.order().map(|order| order.to_string()),
            summary: self.summary().map(|_| self.comments_of(Subject::Summary)),
        };
        root.serialize(serializer)
    }
}

#[derive(serde::Serialize)]
struct Root<'a> {
    #[serde(flatten)]
    node: Node<'a>,
    order: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Comments<'a>>,
}

#[derive(Default, serde::Serialize)]
struct Node<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<Extent>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeats: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    align: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<Node<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Node<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<Vec<Node<'a>>>,
    #[serde(flatten)]
    comments: Comments<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    summary: bool,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Extent {
    Number(i64),
    Text(String),
}

#[derive(Default, serde::Serialize)]
struct Comments<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    docs: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "attributes")]
    attributes: Vec<&'a Attribute>,
}

fn attributes<S: Serializer>(list: &[&Attribute], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(list.len()))?;
    for attribute in list {
        map.serialize_entry(&attribute.name, &attribute.value)?;
    }
    map.end()
}

impl Layout {
    fn item_node(&self, id: ItemId, declared: &[Vec<(Declaration, bool)>]) -> Node<'_> {
        let inside = || {
            let one = |&(declaration, summary): &(Declaration, bool)| {
                let node = match declaration {
                    Declaration::Item(id) => self.item_node(id, declared),
                    Declaration::Param(id) => self.param_node(id),
                    Declaration::Type(id, _) => self.type_node(id),
                };
                Node { summary, ..node }
            };
            Some(declared[id.index()].iter().map(one).collect())
        };
        let node = match self.kind(id) {
            ItemKind::Dict(_) => Node { kind: "dict", items: inside(), ..Node::default() },
            ItemKind::List(_) => Node { kind: "list", elements: inside(), ..Node::default() },
            ItemKind::Data(data) => self.data_node(data, None),
        };
        Node { name: self.name(id), comments: self.comments_of(id.into()), ..node }
    }

    fn param_node(&self, id: ParamId) -> Node<'_> {
        let (value, dtype, place) = match self.param(id).value {
            ParamValue::Fixed(value) => (Some(value), None, None),
            ParamValue::Stored { datatype, placement, .. } => {
                (None, Some(self.type_text(datatype)), placement.map(|place| place.to_string()))
            }
        };
        let (name, comments) = (Some(self.param_name(id)), self.comments_of(id.into()));
        Node { name, kind: "parameter", value, dtype, place, comments, ..Node::default() }
    }

    fn type_node(&self, id: TypeId) -> Node<'_> {
        let (name, comments) = (self.type_name(id), self.comments_of(id.into()));
        let align = self.struct_type(id).align;
        let members = Some(self.member_nodes(id));
        Node { name, kind: "type", align, members, comments, ..Node::default() }
    }

    /// Returns the node of a data item or member. `inside` is the struct type that contains the
    /// member, or `None` for a data item.
    fn data_node(&self, data: &Data, inside: Option<TypeId>) -> Node<'_> {
        let node = Node {
            kind: "data",
            place: data.placement.map(|place| place.to_string()),
            ..Node::default()
        };
        // Omit the type of repeated elements, because it may be long and there may be many
        // elements.
        if data.repeats {
            return Node { repeats: true, ..node };
        }
        let anonymous = match data.datatype {
            Datatype::Struct(id) if self.type_name(id).is_none() => Some(id),
            _ => None,
        };
        Node {
            dtype: Some(self.type_text(data.datatype)),
            shape: Some(self.shape(data).iter().map(|&dim| self.extent(dim, inside)).collect()),
            filter: self.filter(data).map(|filter| filter.text(&filter.name)),
            align: anonymous.and_then(|id| self.struct_type(id).align),
            members: anonymous.map(|id| self.member_nodes(id)),
            ..node
        }
    }

    fn member_nodes(&self, id: TypeId) -> Vec<Node<'_>> {
        let field = |field: &Field| match *field {
            Field::Param(param) => self.param_node(param),
            Field::Member(member) => Node {
                name: Some(self.member_name(member)),
                comments: self.comments_of(member.into()),
                ..self.data_node(self.data(self.member(member).data), Some(id))
            },
        };
        self.fields(id).iter().map(field).collect()
    }

    /// Returns the name of a type: `f8`, `>i4`, the name of a struct type, or `{}` for an anonymous
    /// struct.
    fn type_text(&self, datatype: Datatype) -> String {
        match datatype {
            Datatype::Primitive(primitive, Some(order)) => format!("{order}{primitive}"),
            Datatype::Primitive(primitive, None) => primitive.to_string(),
            Datatype::Struct(id) => self.type_name(id).unwrap_or("{}").to_owned(),
        }
    }

    fn extent(&self, dim: Dim, inside: Option<TypeId>) -> Extent {
        let (binding, suffix) = match dim {
            Dim::Fixed(len) => return Extent::Number(len),
            Dim::Named(binding, suffix) => (binding, suffix),
        };
        let name = match binding {
            Binding::Param(id) => self.param_name(id),
            Binding::Free(index) => {
                let names = inside.map(|id| self.free_names(id).nth(index as usize));
                names.flatten().unwrap_or_default()
            }
        };
        let mut text = String::new();
        quote::push_name(&mut text, name);
        let sign = if suffix < 0 { "-" } else { "+" };
        Extent::Text(match suffix.unsigned_abs() {
            count @ 0..=31 => text + &sign.repeat(count as usize),
            count => format!("{text}{sign}..{count}"),
        })
    }

    fn comments_of(&self, subject: Subject) -> Comments<'_> {
        Comments {
            docs: self.docs(subject).collect(),
            attributes: self.attributes(subject).collect(),
        }
    }
}
