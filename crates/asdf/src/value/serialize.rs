//! Converting between Rust types and values through serde (feature `serde`).
//!
//! | type | value |
//! |---|---|
//! | unit, unit struct, `None` | null |
//! | booleans, numbers | booleans, numbers; integers of any size |
//! | `char`, strings, variants without content | a string |
//! | bytes (`serialize_bytes`) | `!!binary` |
//! | sequences, tuples | a sequence |
//! | maps, structs | a mapping in the same order |
//! | variants with content | a mapping with one entry: the name as the key, the content as the value |
//!
//! The conversion is the inverse of [`crate::tree::deserialize`], which usually restores the original value.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::ser::{self, Serialize};

use crate::error::{Error, Result};
use crate::value::{Mapping, Sequence, Tree, Value};
use crate::yaml::{Document, Integer, ParseOptions};

/// Maximum nesting depth of values. Each level uses stack space. Deserialization has the same default limit.
const MAX_DEPTH: u32 = 128;

/// Converts a Rust value to a tree value.
///
/// ```
/// use asdf::Tree;
///
/// #[derive(serde::Serialize)]
/// struct Exposure {
///     filter: String,
///     seconds: Vec<f64>,
///     comment: Option<String>,
/// }
///
/// let exposure = Exposure { filter: "F110W".into(), seconds: vec![120.5, 90.0], comment: None };
/// let mut tree = Tree::default();
/// tree.set("/exposure", asdf::value::to_value(&exposure)?)?;
/// let mut text = Vec::new();
/// tree.write_yaml(&mut text)?;
/// let text = String::from_utf8_lossy(&text);
/// assert!(text.contains("  filter: F110W\n  seconds: [120.5, 90.0]\n  comment: null\n"), "{text}");
/// # Ok::<(), asdf::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the type reports an error or a key is
/// a collection, and with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if values are nested more than 128
/// levels deep.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    value.serialize(Serializer { depth: 0 }).map_err(|failure| failure.0)
}

/// Converts a tree value to a Rust value. The result is the same as if the value were written with
/// [`Tree::write_yaml`] and the text were then deserialized with [`YamlNode::deserialize`].
///
/// [`YamlNode::deserialize`]: crate::yaml::YamlNode::deserialize
///
/// ```
/// let value = asdf::value::to_value(&[("a", 1), ("b", 2)])?;
/// let pairs: Vec<(String, u8)> = asdf::value::from_value(&value)?;
/// assert_eq!(pairs, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
/// # Ok::<(), asdf::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`Tree::deserialize`].
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T> {
    Tree::new(value.clone()).deserialize()
}

impl Tree {
    /// Converts the tree to a Rust value; see [`from_value`](crate::value::from_value). Arrays are
    /// deserialized from their inline form.
    ///
    /// # Errors
    ///
    /// Same as [`write_yaml`](Self::write_yaml), [`Document::parse`] with the default limits, and
    /// [`YamlNode::deserialize`](crate::yaml::YamlNode::deserialize).
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T> {
        let mut text = Vec::new();
        self.write_yaml(&mut text)?;
        let document = Document::parse(&text, &ParseOptions::default(), &mut Vec::new())?;
        document.root().deserialize()
    }
}

/// An error from serializing a value, reported either by its type or by the serializer.
#[derive(Debug)]
struct Failure(Error);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl ser::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::unwritable(message.to_string()))
    }
}

type Made<T> = std::result::Result<T, Failure>;

#[derive(Clone, Copy)]
struct Serializer {
    depth: u32,
}

impl Serializer {
    /// Returns the serializer for values one level deeper. Fails if they would be nested too deeply.
    fn inside(self) -> Made<Self> {
        if self.depth >= MAX_DEPTH {
            let (limit, requested) = (MAX_DEPTH.into(), u64::from(MAX_DEPTH) + 1);
            return Err(Failure(Error::limit("depth of a value", limit, requested)));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

/// Wraps the content of a variant in a mapping with one entry, whose key is the name of the variant.
fn named(variant: Option<&'static str>, content: Value) -> Value {
    match variant {
        Some(variant) => Value::Mapping([(variant, content)].into_iter().collect()),
        None => content,
    }
}

macro_rules! scalars {
    ($($method:ident($type:ty) => $make:expr;)+) => {$(
        fn $method(self, value: $type) -> Made<Value> {
            let make: fn($type) -> Value = $make;
            Ok(make(value))
        }
    )+};
}

impl ser::Serializer for Serializer {
    type Ok = Value;
    type Error = Failure;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    scalars! {
        serialize_bool(bool) => Value::Bool;
        serialize_i8(i8) => |value| i128::from(value).into();
        serialize_i16(i16) => |value| i128::from(value).into();
        serialize_i32(i32) => |value| i128::from(value).into();
        serialize_i64(i64) => |value| i128::from(value).into();
        serialize_i128(i128) => Value::from;
        serialize_u8(u8) => |value| i128::from(value).into();
        serialize_u16(u16) => |value| i128::from(value).into();
        serialize_u32(u32) => |value| i128::from(value).into();
        serialize_u64(u64) => |value| i128::from(value).into();
        serialize_f32(f32) => |value| Value::Float(value.into());
        serialize_f64(f64) => Value::Float;
        serialize_char(char) => |value| Value::String(value.into());
        serialize_str(&str) => |value| Value::String(value.to_owned());
        serialize_bytes(&[u8]) => |value| Value::Binary(value.to_vec());
    }

    fn serialize_u128(self, value: u128) -> Made<Value> {
        Ok(match i128::try_from(value) {
            Ok(value) => value.into(),
            Err(_) => {
                Value::Int(Integer::Large { negative: false, digits: value.to_string().into() })
            }
        })
    }

    fn serialize_none(self) -> Made<Value> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<Value> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Made<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Made<Value> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Made<Value> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Made<Value> {
        Ok(named(Some(variant), value.serialize(self.inside()?)?))
    }

    fn serialize_seq(self, _len: Option<usize>) -> Made<Items> {
        Ok(Items { values: Vec::new(), variant: None, inside: self.inside()? })
    }

    fn serialize_tuple(self, len: usize) -> Made<Items> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Made<Items> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Made<Items> {
        Ok(Items { variant: Some(variant), ..self.serialize_seq(Some(len))? })
    }

    fn serialize_map(self, _len: Option<usize>) -> Made<Entries> {
        Ok(Entries { mapping: Mapping::new(), key: None, variant: None, inside: self.inside()? })
    }

    fn serialize_struct(self, _name: &'static str, len: usize) -> Made<Entries> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Made<Entries> {
        Ok(Entries { variant: Some(variant), ..self.serialize_map(Some(len))? })
    }
}

/// A sequence that is being serialized.
struct Items {
    values: Vec<Value>,
    variant: Option<&'static str>,
    inside: Serializer,
}

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Made<()> {
        self.values.push(value.serialize(self.inside)?);
        Ok(())
    }

    fn finish(self) -> Value {
        named(self.variant, Value::Sequence(self.values.into_iter().collect::<Sequence>()))
    }
}

macro_rules! items {
    ($($kind:ident $method:ident;)+) => {$(
        impl ser::$kind for Items {
            type Ok = Value;
            type Error = Failure;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Made<()> {
                self.push(value)
            }

            fn end(self) -> Made<Value> {
                Ok(self.finish())
            }
        }
    )+};
}

items! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

/// A mapping that is being serialized.
struct Entries {
    mapping: Mapping,
    key: Option<Value>,
    variant: Option<&'static str>,
    inside: Serializer,
}

impl Entries {
    fn insert<T: Serialize + ?Sized>(&mut self, key: Value, value: &T) -> Made<()> {
        self.mapping.insert(key, value.serialize(self.inside)?);
        Ok(())
    }
}

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = Failure;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Made<()> {
        let key = key.serialize(self.inside)?;
        if key.is_collection() {
            return Err(ser::Error::custom("a key is a collection; only scalars can be keys"));
        }
        self.key = Some(key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Made<()> {
        let key = self.key.take().unwrap_or_default();
        self.insert(key, value)
    }

    fn end(self) -> Made<Value> {
        Ok(named(self.variant, Value::Mapping(self.mapping)))
    }
}

macro_rules! fields {
    ($($kind:ident)+) => {$(
        impl ser::$kind for Entries {
            type Ok = Value;
            type Error = Failure;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Made<()> {
                self.insert(key.into(), value)
            }

            fn end(self) -> Made<Value> {
                Ok(named(self.variant, Value::Mapping(self.mapping)))
            }
        }
    )+};
}

fields! { SerializeStruct SerializeStructVariant }
