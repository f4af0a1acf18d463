//! A layout as JSON: what it declares, as a tree.

use serde_json::{Map, Value as Json, json};

use crate::layout::{
    Argument, Binding, Data, Datatype, Declaration, Dim, Field, FilterKind, ItemId, ItemKind,
    Layout, ParamId, ParamValue, Placement, Scope, Subject, TypeId, Value,
};
use crate::quote;

impl Layout {
    /// What the layout declares, as a tree of objects in order of declaration:
    ///
    /// | `kind` | further members |
    /// |---|---|
    /// | `dict` | `items` |
    /// | `list` | `elements` |
    /// | `data` | `dtype`, `shape`; `filter`, `place`, `members` (of an anonymous struct) where they apply; or, of what is like the element before, `repeats` and `place` |
    /// | `parameter` | `value`, or `dtype` and `place` |
    /// | `type` | `align`, `members` |
    ///
    /// All have a `name` (elements have none), and `docs` and `attributes` where there are any; what
    /// stands in the summary block has `"summary": true`. A dimension is a number or text such as `N+`.
    /// Names in it that need quotes have them; more than 31 suffixes are `N+..40`. The root has the
    /// `order` of the layout, or null, besides, and under `summary` what is said about the block.
    ///
    /// ```
    /// let layout = dudley::Layout::parse("N : i8  g/ x = f8[N+, 3]  ## (cm)")?;
    /// let json = layout.to_json();
    /// assert_eq!(json["items"][0], serde_json::json!(
    ///     {"name": "N", "kind": "parameter", "dtype": "i8"}));
    /// assert_eq!(json["items"][1]["items"][0], serde_json::json!(
    ///     {"name": "x", "kind": "data", "dtype": "f8", "shape": ["N+", 3], "docs": ["(cm)"]}));
    /// # Ok::<(), dudley::Diagnostics>(())
    /// ```
    pub fn to_json(&self) -> Json {
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
        let mut root = self.item_json(ItemId::ROOT, &declared);
        root.insert("order".to_owned(), json!(self.order().map(|order| order.to_string())));
        if self.summary().is_some() {
            let mut object = Map::new();
            self.add_comments(Subject::Summary, &mut object);
            root.insert("summary".to_owned(), object.into());
        }
        root.into()
    }

    fn item_json(&self, id: ItemId, declared: &[Vec<(Declaration, bool)>]) -> Map<String, Json> {
        let mut object = Map::new();
        if let Some(name) = self.name(id) {
            object.insert("name".to_owned(), name.into());
        }
        let inside = || -> Json {
            let one = |&(declaration, is_summary): &(Declaration, bool)| {
                let mut object = match declaration {
                    Declaration::Item(id) => self.item_json(id, declared),
                    Declaration::Param(id) => self.param_json(id),
                    Declaration::Type(id, _) => self.type_json(id),
                };
                if is_summary {
                    object.insert("summary".to_owned(), true.into());
                }
                Json::from(object)
            };
            declared[id.index()].iter().map(one).collect()
        };
        match self.kind(id) {
            ItemKind::Dict(_) => {
                object.insert("kind".to_owned(), "dict".into());
                object.insert("items".to_owned(), inside());
            }
            ItemKind::List(_) => {
                object.insert("kind".to_owned(), "list".into());
                object.insert("elements".to_owned(), inside());
            }
            ItemKind::Data(data) => self.add_data(data, None, &mut object),
        }
        self.add_comments(id.into(), &mut object);
        object
    }

    fn param_json(&self, id: ParamId) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("name".to_owned(), self.param_name(id).into());
        object.insert("kind".to_owned(), "parameter".into());
        match self.param(id).value {
            ParamValue::Fixed(value) => {
                object.insert("value".to_owned(), value.into());
            }
            ParamValue::Stored { datatype, placement, .. } => {
                object.insert("dtype".to_owned(), self.type_text(datatype).into());
                add_place(placement, &mut object);
            }
        }
        self.add_comments(id.into(), &mut object);
        object
    }

    fn type_json(&self, id: TypeId) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("name".to_owned(), self.type_name(id).unwrap_or_default().into());
        object.insert("kind".to_owned(), "type".into());
        self.add_members(id, &mut object);
        self.add_comments(id.into(), &mut object);
        object
    }

    /// `inside` is the struct that the data are a member of.
    fn add_data(&self, data: &Data, inside: Option<TypeId>, object: &mut Map<String, Json>) {
        object.insert("kind".to_owned(), "data".into());
        // What it is may be long, and repeated often.
        if data.repeats {
            object.insert("repeats".to_owned(), true.into());
            return add_place(data.placement, object);
        }
        object.insert("dtype".to_owned(), self.type_text(data.datatype).into());
        let dim = |dim: &Dim| self.dim_json(*dim, inside);
        let shape: Vec<Json> = self.shape(data).iter().map(dim).collect();
        object.insert("shape".to_owned(), shape.into());
        if let Some(filter) = self.filter(data) {
            let arrow = if filter.kind == FilterKind::Compress { "->" } else { "<-" };
            let arguments: Vec<String> = filter.arguments.iter().map(Argument::to_text).collect();
            let mut text = format!("{arrow} {}", filter.name);
            if !arguments.is_empty() {
                text = format!("{text}({})", arguments.join(", "));
            }
            object.insert("filter".to_owned(), text.into());
        }
        add_place(data.placement, object);
        if let Datatype::Struct(id) = data.datatype {
            if self.type_name(id).is_none() {
                self.add_members(id, object);
            }
        }
    }

    fn add_members(&self, id: TypeId, object: &mut Map<String, Json>) {
        if let Some(align) = self.struct_type(id).align {
            object.insert("align".to_owned(), align.into());
        }
        let field = |field: &Field| match *field {
            Field::Param(param) => Json::from(self.param_json(param)),
            Field::Member(member) => {
                let mut object = Map::new();
                object.insert("name".to_owned(), self.member_name(member).into());
                self.add_data(self.data(self.member(member).data), Some(id), &mut object);
                self.add_comments(member.into(), &mut object);
                object.into()
            }
        };
        let members: Vec<Json> = self.fields(id).iter().map(field).collect();
        object.insert("members".to_owned(), members.into());
    }

    /// The type without its struct: `f8`, `>i4`, a name, `{}`.
    fn type_text(&self, datatype: Datatype) -> String {
        match datatype {
            Datatype::Primitive(primitive, Some(order)) => format!("{order}{primitive}"),
            Datatype::Primitive(primitive, None) => primitive.to_string(),
            Datatype::Struct(id) => self.type_name(id).unwrap_or("{}").to_owned(),
        }
    }

    fn dim_json(&self, dim: Dim, inside: Option<TypeId>) -> Json {
        let (binding, suffix) = match dim {
            Dim::Fixed(len) => return len.into(),
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
        let suffix = usize::try_from(suffix.unsigned_abs()).unwrap_or_default();
        if suffix > 31 {
            return format!("{text}{sign}..{suffix}").into();
        }
        (text + &sign.repeat(suffix)).into()
    }

    fn add_comments(&self, subject: Subject, object: &mut Map<String, Json>) {
        let docs: Vec<&str> = self.docs(subject).collect();
        if !docs.is_empty() {
            object.insert("docs".to_owned(), docs.into());
        }
        let attributes: Map<String, Json> = self
            .attributes(subject)
            .map(|attribute| (attribute.name.clone(), value_json(&attribute.value)))
            .collect();
        if !attributes.is_empty() {
            object.insert("attributes".to_owned(), attributes.into());
        }
    }
}

fn add_place(placement: Option<Placement>, object: &mut Map<String, Json>) {
    let place = match placement {
        Some(Placement::Address(address)) => format!("@{address}"),
        Some(Placement::Align(align)) => format!("%{align}"),
        None => return,
    };
    object.insert("place".to_owned(), place.into());
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Text(value) => json!(value),
        Value::Integers(values) => json!(values),
        Value::Floats(values) => json!(values),
        Value::Texts(values) => json!(values),
    }
}
