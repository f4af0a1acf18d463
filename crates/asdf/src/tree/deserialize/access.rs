//! Access to the items and entries of collections and to the variants of enums, as required by serde.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::failure::Failure;
use super::{Form, NodeDeserializer, Path};
use crate::yaml::YamlNode;

/// The remaining items of a sequence.
pub(super) struct Items<I> {
    items: I,
    visited: usize,
}

impl<'p, 'a: 'p, I: ExactSizeIterator<Item = NodeDeserializer<'p, 'a>>> Items<I> {
    /// Passes all items of a node to the visitor. Fails if the visitor does not consume all of them.
    pub(super) fn visit<V: Visitor<'a>>(
        items: I,
        owner: NodeDeserializer<'_, 'a>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let mut access = Self { items, visited: 0 };
        let value = owner.visit(visitor.visit_seq(&mut access))?;
        if access.items.len() > 0 {
            let len = access.visited + access.items.len();
            let error = de::Error::invalid_length(len, &"fewer items");
            return owner.visit(Err(error));
        }
        Ok(value)
    }
}

impl<'p, 'a: 'p, I> SeqAccess<'a> for &mut Items<I>
where
    I: ExactSizeIterator<Item = NodeDeserializer<'p, 'a>>,
{
    type Error = Failure;

    fn next_element_seed<T>(&mut self, seed: T) -> Result<Option<T::Value>, Failure>
    where
        T: DeserializeSeed<'a>,
    {
        let Some(item) = self.items.next() else { return Ok(None) };
        self.visited += 1;
        item.visit(seed.deserialize(item)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The remaining entries of a mapping.
pub(super) struct Entries<'w, 'a, I> {
    rest: I,
    visited: usize,
    /// The current key and its value.
    current: Option<(YamlNode<'a>, YamlNode<'a>)>,
    path: &'w Path<'w>,
    owner: NodeDeserializer<'w, 'a>,
}

impl<'w, 'a, I> Entries<'w, 'a, I>
where
    I: ExactSizeIterator<Item = Result<(YamlNode<'a>, YamlNode<'a>), Failure>>,
{
    /// Passes all entries of a node to the visitor. Fails if the visitor does not consume all of them.
    pub(super) fn visit<V: Visitor<'a>>(
        entries: I,
        path: &'w Path<'w>,
        owner: NodeDeserializer<'w, 'a>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let mut access = Self { rest: entries, visited: 0, current: None, path, owner };
        let value = owner.visit(visitor.visit_map(&mut access))?;
        if access.rest.len() > 0 {
            let len = access.visited + access.rest.len();
            let error = de::Error::invalid_length(len, &"fewer entries");
            return owner.visit(Err(error));
        }
        Ok(value)
    }
}

impl<'a, I> MapAccess<'a> for &mut Entries<'_, 'a, I>
where
    I: ExactSizeIterator<Item = Result<(YamlNode<'a>, YamlNode<'a>), Failure>>,
{
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failure> {
        let Some(entry) = self.rest.next() else { return Ok(None) };
        let (key, value) = entry?;
        self.visited += 1;
        self.current = Some((key, value));
        let place = NodeDeserializer { node: key, form: Form::Key, ..self.owner };
        let visited = seed.deserialize(NodeDeserializer { path: Some(self.path), ..place });
        visited.map(Some).map_err(|failure| failure.at_key(self.owner.node, key))
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let Some((_, node)) = self.current.take() else {
            return Err(de::Error::custom("a value was requested before its key"));
        };
        let place = NodeDeserializer { node, form: Form::Value, ..self.owner };
        let place = NodeDeserializer { path: Some(self.path), ..place };
        place.visit(seed.deserialize(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum: its name and its optional content.
pub(super) struct Variant<'w, 'a> {
    pub(super) name: &'a str,
    /// The node whose text is the name of the variant: a scalar, or the key of a mapping.
    pub(super) node: NodeDeserializer<'w, 'a>,
    pub(super) content: Option<NodeDeserializer<'w, 'a>>,
}

impl Variant<'_, '_> {
    fn missing(&self, expected: &str) -> Failure {
        let error: Failure = de::Error::invalid_type(Unexpected::UnitVariant, &expected);
        error.at(self.node.node)
    }
}

impl<'a> EnumAccess<'a> for Variant<'_, 'a> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), Failure> {
        let name = self.node.visit(seed.deserialize(BorrowedStrDeserializer::new(self.name)))?;
        Ok((name, self))
    }
}

impl<'a> VariantAccess<'a> for Variant<'_, 'a> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        self.content.map_or(Ok(()), de::Deserialize::deserialize)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, Failure> {
        match self.content {
            Some(content) => content.visit(seed.deserialize(content)),
            None => Err(self.missing("newtype variant")),
        }
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        match self.content {
            Some(content) => content.deserialize_seq(visitor),
            None => Err(self.missing("tuple variant")),
        }
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.content {
            Some(content) => content.deserialize_map(visitor),
            None => Err(self.missing("struct variant")),
        }
    }
}
