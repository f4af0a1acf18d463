//! The values that `enum` allows.

use std::collections::HashSet;

use super::scalars::{is_equal, key};
use crate::yaml::YamlNode;

/// Number of steps to count for each comparison of two collections, timestamps or byte strings.
const STEPS_PER_COMPARISON: u64 = 8;

/// Number of bytes in a scalar that count as one step when the scalar is looked up.
const BYTES_PER_STEP: usize = 256;

/// The values of an `enum`. Most scalars are looked up by value, so checking a scalar against a long
/// `enum` takes no longer than against a short one.
#[derive(Debug)]
pub(super) struct Constants<'s> {
    scalars: HashSet<(u8, String)>,
    /// Collections, timestamps, byte strings and NaN, which are compared one by one.
    others: Vec<YamlNode<'s>>,
}

impl<'s> Constants<'s> {
    pub(super) fn new(values: YamlNode<'s>) -> Self {
        let (mut scalars, mut others) = (HashSet::new(), Vec::new());
        for value in values.items() {
            match key(value) {
                Some(key) => drop(scalars.insert(key)),
                None => others.push(value),
            }
        }
        Self { scalars, others }
    }

    /// Returns a flag that is `true` if the node has one of the values, and the number of steps
    /// taken.
    pub(super) fn find(&self, node: YamlNode<'_>) -> (bool, u64) {
        if let Some(key) = key(node) {
            let steps = 1 + key.1.len() / BYTES_PER_STEP;
            return (self.scalars.contains(&key), steps as u64);
        }
        let found = self.others.iter().position(|value| is_equal(node, *value));
        let compared = found.map_or(self.others.len(), |at| at + 1);
        (found.is_some(), compared as u64 * STEPS_PER_COMPARISON)
    }
}
