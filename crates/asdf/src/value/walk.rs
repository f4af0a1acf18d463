//! Traversing values, parents before children, with a stack instead of recursion.

use binio::pointer;

use crate::error::Result;
use crate::value::{Tree, Value};

/// An iterator over a value and everything inside it, including keys. Shared nodes are returned as handles;
/// [`enter`](Self::enter) visits their content.
pub(crate) struct Values<'a> {
    stack: Vec<&'a Value>,
}

impl<'a> Values<'a> {
    pub(crate) fn of(value: &'a Value) -> Self {
        Self { stack: vec![value] }
    }

    /// Inserts a value and everything inside it before the remaining values.
    pub(crate) fn enter(&mut self, value: &'a Value) {
        self.stack.push(value);
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        let value = self.stack.pop()?;
        match value.untagged() {
            Value::Sequence(sequence) => self.stack.extend(sequence.items.iter().rev()),
            Value::Mapping(mapping) => {
                let entries = mapping.entries.iter().rev();
                self.stack.extend(entries.flat_map(|(key, value)| [value, key]));
            }
            _ => {}
        }
        Some(value)
    }
}

/// Selects the values that [`Tree::walk_mut`] visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// All values except keys.
    All,
    /// All values except keys and the elements of inline arrays. The meaning of these elements depends on the
    /// datatype of the array.
    WithoutElements,
}

impl Tree {
    /// Iterates over all values of the tree, including keys: first the root and everything below
    /// it, then the shared nodes.
    pub(crate) fn values(&self) -> Values<'_> {
        let mut stack: Vec<&Value> = self.places().collect();
        stack.reverse();
        Values { stack }
    }

    /// Returns a pointer to the value that [`walk_mut`](Self::walk_mut) visits after `count` other values.
    /// Returns `None` for values in shared nodes, which have no unique pointer, and for values below a key
    /// without a [name](Value::to_key).
    pub(crate) fn pointer_of_visit(&self, which: Visit, mut count: usize) -> Option<String> {
        for (number, place) in self.places().enumerate() {
            let mut stack = vec![(place, Some(String::new()))];
            while let Some((value, pointer)) = stack.pop() {
                if count == 0 {
                    return pointer.filter(|_| number == 0);
                }
                count -= 1;
                let has_elements = which == Visit::WithoutElements && value.is_ndarray();
                let below = |token: &str| {
                    let mut pointer = pointer.clone()?;
                    pointer::push(&mut pointer, token);
                    Some(pointer)
                };
                match value.untagged() {
                    Value::Sequence(sequence) if !has_elements => {
                        let items = sequence.items.iter().enumerate().rev();
                        stack.extend(items.map(|(at, item)| (item, below(&at.to_string()))));
                    }
                    Value::Mapping(mapping) => {
                        let entries = mapping.entries.iter().rev();
                        let is_visited =
                            |key: &Value| !(has_elements && key.as_str() == Some("data"));
                        let entries = entries.filter(|(key, _)| is_visited(key));
                        stack.extend(entries.map(|(key, value)| {
                            (value, key.to_key().and_then(|name| below(&name)))
                        }));
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// Calls a function with the root, the shared nodes, and each value below them that `which` selects. The
    /// function may modify the value.
    pub(crate) fn walk_mut(
        &mut self,
        which: Visit,
        visit: &mut dyn FnMut(&mut Value) -> Result<()>,
    ) -> Result<()> {
        for place in self.places_mut() {
            let mut stack = vec![place];
            while let Some(value) = stack.pop() {
                visit(value)?;
                let has_elements = which == Visit::WithoutElements && value.is_ndarray();
                match value.untagged_mut() {
                    Value::Sequence(sequence) if !has_elements => {
                        stack.extend(sequence.items.iter_mut().rev());
                    }
                    Value::Mapping(mapping) => {
                        let entries = mapping.entries.iter_mut().rev();
                        let is_visited =
                            |key: &Value| !(has_elements && key.as_str() == Some("data"));
                        stack.extend(
                            entries.filter(|(key, _)| is_visited(key)).map(|(_, value)| value),
                        );
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str =
        "a: [1, {b: 2}]\nc: &x [3]\nd: *x\ne: !core/ndarray-1.1.0 {data: [4], mask: 5}\n";

    fn integers<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<i64> {
        values.filter_map(Value::as_i64).collect()
    }

    #[test]
    fn a_walk_visits_values_in_order_and_shared_nodes_once() {
        let tree = Tree::parse(TREE).unwrap();
        assert_eq!(integers(tree.values()), [1, 2, 4, 5, 3]);
        let keys = tree.values().filter_map(Value::as_str);
        assert_eq!(keys.collect::<Vec<_>>(), ["a", "b", "c", "d", "e", "data", "mask"]);
    }

    #[test]
    fn the_pointer_of_a_visited_value_can_lead_through_keys_that_are_not_strings() {
        let tree = Tree::parse("a: 1\n7: {yes: [2, {'': 3, c/d: 4}]}\n").unwrap();
        let pointers: Vec<_> =
            (0..8).map(|count| tree.pointer_of_visit(Visit::All, count).unwrap()).collect();
        let expected = ["", "/a", "/7", "/7/true", "/7/true/0", "/7/true/1"];
        assert_eq!(pointers[..6], expected);
        assert_eq!(pointers[6..], ["/7/true/1/", "/7/true/1/c~1d"]);
        for pointer in pointers {
            assert!(tree.pointer(&pointer).is_some(), "{pointer}");
        }
    }

    #[test]
    fn a_walk_visits_the_elements_of_an_array_only_on_request() {
        let mut tree = Tree::parse(TREE).unwrap();
        for (which, expected) in
            [(Visit::All, vec![1, 2, 4, 5, 3]), (Visit::WithoutElements, vec![1, 2, 5, 3])]
        {
            let mut visited = Vec::new();
            tree.walk_mut(which, &mut |value| {
                visited.extend(value.as_i64());
                Ok(())
            })
            .unwrap();
            assert_eq!(visited, expected);
        }
    }
}
