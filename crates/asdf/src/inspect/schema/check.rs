//! Checking a node against a schema, including keywords that contain or refer to other schemas.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use binio::Limits;
use regex_lite::Regex;

use super::constants::Constants;
use super::defaults::Defaults;
use super::scalars::Type;
use super::store::{Place, Schemas};
use super::{Mismatch, array, scalars, uri};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::yaml::{NodeId, NodeKind, YamlNode};

/// Maximum nesting depth of schemas, including those reached through references. The limit exceeds
/// any reasonable depth, but keeps the recursion from overflowing the stack.
const MAX_DEPTH: usize = 200;

/// Maximum number of pairs of nodes and schemas whose results are remembered. Further pairs are checked each
/// time they occur, within the limit on steps.
const MAX_KNOWN: usize = 1 << 21;

/// A node and a schema against which it is checked: the id of the node, the number of the schema's document,
/// and the id of the schema's node.
type Pair = (NodeId, usize, NodeId);

/// The state of checking a node against a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PairState {
    /// The check has not finished. If the same pair occurs again, the node contains itself or the
    /// schema refers to itself.
    Open,
    Valid,
    /// The node does not match the schema, and the mismatch was reported.
    Reported,
    Invalid,
}

/// Checks nodes against schemas and remembers the results.
pub(super) struct Checker<'s> {
    pub(super) schemas: &'s Schemas,
    pub(super) limits: Limits,
    pub(super) found: Vec<Mismatch>,
    known: HashMap<Pair, PairState>,
    patterns: HashMap<String, Option<Regex>>,
    /// The values of each `enum`, identified by the number of its document and the id of its node.
    constants: HashMap<(usize, NodeId), Rc<Constants<'s>>>,
    defaults: Rc<Defaults<'s>>,
    max_steps: u64,
    steps: u64,
    depth: usize,
    /// Whether mismatches are reported in addition to being returned as `false`.
    reporting: bool,
}

impl<'s> Checker<'s> {
    /// Creates a checker that performs at most `max_steps` steps.
    pub(super) fn new(schemas: &'s Schemas, limits: Limits, max_steps: u64) -> Self {
        Self {
            schemas,
            limits,
            max_steps,
            constants: HashMap::new(),
            defaults: Rc::default(),
            found: Vec::new(),
            known: HashMap::new(),
            patterns: HashMap::new(),
            steps: 0,
            depth: 0,
            reporting: true,
        }
    }

    /// Sets the keys that have defaults. These keys count as present even if they are missing.
    pub(super) fn with_defaults(mut self, defaults: Defaults<'s>) -> Self {
        self.defaults = Rc::new(defaults);
        self
    }

    /// Checks a node against the schema with this URI, and reports mismatches.
    pub(super) fn check_by_uri(&mut self, node: YamlNode<'_>, uri: &str) -> Result<()> {
        if let Some(schema) = self.schemas.find(uri) {
            return self.check(node, schema).map(drop);
        }
        let message = format!("the schema {uri} was not found, so no node is checked against it");
        self.found.push(Mismatch {
            diagnostic: node.diagnostic(Code::BadSchema, message),
            schema: uri.to_owned(),
        });
        Ok(())
    }

    /// Returns `true` if a node matches a schema. Reports mismatches unless reporting is turned off.
    fn check(&mut self, node: YamlNode<'_>, schema: Place<'s>) -> Result<bool> {
        if schema.node.kind() != NodeKind::Mapping || is_reference(node) {
            return Ok(true);
        }
        // Count each item of a tagged sequence as a step, because all items are examined to find
        // out whether the sequence is an ordered mapping.
        let is_tagged_sequence = node.kind() == NodeKind::Sequence && node.tag().is_some();
        self.count(if is_tagged_sequence { 1 + node.len() as u64 } else { 1 })?;
        // Only remember a pair that can occur more than once through an alias to the node or a
        // reference to the schema.
        let is_shared = schema.is_target || node.anchor().is_some();
        let pair = (node.id(), schema.number, schema.node.id());
        match self.known.get(&pair) {
            Some(PairState::Open | PairState::Valid) => return Ok(true),
            Some(PairState::Reported) => return Ok(false),
            Some(PairState::Invalid) if !self.reporting => return Ok(false),
            _ => {}
        }
        if self.depth >= MAX_DEPTH {
            let limit = MAX_DEPTH as u64;
            return Err(Error::limit("depth of schemas", limit, limit + 1));
        }
        let is_known = is_shared && self.known.len() < MAX_KNOWN;
        if is_known {
            self.known.insert(pair, PairState::Open);
        }
        self.depth += 1;
        let result = self.check_keywords(node, schema);
        self.depth -= 1;
        let known = match &result {
            Ok(true) => PairState::Valid,
            _ if self.reporting => PairState::Reported,
            _ => PairState::Invalid,
        };
        if is_known {
            self.known.insert(pair, known);
        }
        result
    }

    fn count(&mut self, steps: u64) -> Result<()> {
        const WHAT: &str = "steps of schema validation";
        self.steps += steps;
        self.limits.check_items(WHAT, self.steps)?;
        Ok(binio::check_limit(WHAT, self.max_steps, self.steps)?)
    }

    /// Returns `true` if a node matches a schema, without reporting mismatches.
    pub(super) fn is_match(&mut self, node: YamlNode<'_>, schema: Place<'s>) -> Result<bool> {
        let reporting = std::mem::replace(&mut self.reporting, false);
        let result = self.check(node, schema);
        self.reporting = reporting;
        result
    }

    fn check_keywords(&mut self, node: YamlNode<'_>, schema: Place<'s>) -> Result<bool> {
        // Ignore other keys next to `$ref`.
        if let Some(reference) = schema.node.get("$ref").and_then(YamlNode::as_str) {
            let uri = uri::join(schema.uri, reference);
            if let Some(target) = self.schemas.find(&uri) {
                return self.check(node, target);
            }
            let message =
                format!("the schema {uri} was not found, so no node is checked against it");
            return self.fail(Code::BadSchema, node, schema, "$ref", message);
        }
        let mut is_valid = true;
        for (key, value) in schema.node.entries() {
            let Some(keyword) = key.text() else { continue };
            is_valid &= self.check_keyword(node, schema, keyword, value)?;
            if !is_valid && !self.reporting {
                break;
            }
        }
        Ok(is_valid)
    }

    fn check_keyword(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        keyword: &str,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        match keyword {
            "allOf" => self.all(node, value.items().map(|item| schema.at(item))),
            "anyOf" | "oneOf" => self.some_of(node, schema, keyword, value),
            "not" => {
                if !self.is_match(node, schema.at(value))? {
                    return Ok(true);
                }
                let message =
                    "the value matches the schema of `not`, but must not match it".to_owned();
                self.fail(Code::SchemaMismatch, node, schema, keyword, message)
            }
            "properties" => self.properties(node, schema, value),
            "required" => self.required(node, schema, value),
            "enum" => {
                let constants = self.constants(schema, value);
                let (is_allowed, steps) = constants.find(node);
                self.count(steps)?;
                if is_allowed || !self.reporting {
                    return Ok(is_allowed);
                }
                let message = scalars::none_of(node, value);
                self.fail(Code::SchemaMismatch, node, schema, keyword, message)
            }
            // Most alternatives fail this check, so do not build a message that would be discarded.
            "type" if !self.reporting => Ok(scalars::is_of_type(node, schema.node, value)),
            "patternProperties" | "additionalProperties" => {
                self.other_properties(node, schema, keyword, value)
            }
            "items" => self.items(node, schema, value),
            "additionalItems" => self.additional_items(node, schema, value),
            "dependencies" => self.dependencies(node, schema, value),
            "pattern" => self.pattern(node, schema, value),
            "ndim" | "max_ndim" | "datatype" => {
                match array::mismatch(node, schema.node, keyword, value, &self.limits) {
                    Some(message) => {
                        self.fail(Code::SchemaMismatch, node, schema, keyword, message)
                    }
                    None => Ok(true),
                }
            }
            _ => match scalars::mismatch(node, schema.node, keyword, value) {
                Some(message) => self.fail(Code::SchemaMismatch, node, schema, keyword, message),
                None => Ok(true),
            },
        }
    }

    fn constants(&mut self, schema: Place<'s>, values: YamlNode<'s>) -> Rc<Constants<'s>> {
        let constants = self.constants.entry((schema.number, values.id()));
        Rc::clone(constants.or_insert_with(|| Rc::new(Constants::new(values))))
    }

    fn properties(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        let mut is_valid = true;
        if node.is_ordered_mapping() {
            // Iterate over the members, because looking up each key in an ordered mapping would
            // take quadratic time.
            for (key, child) in node.members() {
                if let Some(below) = key.to_key().ok().and_then(|key| value.get(&key)) {
                    is_valid &= self.check(child, schema.at(below))?;
                }
            }
            return Ok(is_valid);
        }
        for (key, below) in value.entries() {
            if let Some(child) = key.to_key().ok().and_then(|key| node.get(&key)) {
                is_valid &= self.check(child, schema.at(below))?;
            }
        }
        Ok(is_valid)
    }

    fn required(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        if scalars::type_of(node) != Type::Object {
            return Ok(true);
        }
        let members: HashSet<_> = match node.kind() {
            NodeKind::Sequence => node.members().filter_map(|(key, _)| key.to_key().ok()).collect(),
            _ => HashSet::new(),
        };
        let defaults = Rc::clone(&self.defaults);
        let is_missing = |key: &&str| {
            node.get(key).is_none() && !members.contains(*key) && !defaults.has(node, key)
        };
        match scalars::missing(value.items().filter_map(YamlNode::text).filter(is_missing)) {
            Some(message) => self.fail(Code::SchemaMismatch, node, schema, "required", message),
            None => Ok(true),
        }
    }

    /// Reports a mismatch, unless reporting is turned off. Returns `false`.
    fn fail(
        &mut self,
        code: Code,
        node: YamlNode<'_>,
        schema: Place<'s>,
        keyword: &str,
        message: String,
    ) -> Result<bool> {
        if self.reporting {
            self.limits.check_items("mismatches", self.found.len() as u64 + 1)?;
            let (diagnostic, schema) = (node.diagnostic(code, message), schema.path(keyword));
            self.found.push(Mismatch { diagnostic, schema });
        }
        Ok(false)
    }

    fn all(
        &mut self,
        node: YamlNode<'_>,
        schemas: impl Iterator<Item = Place<'s>>,
    ) -> Result<bool> {
        let mut is_valid = true;
        for schema in schemas {
            is_valid &= self.check(node, schema)?;
        }
        Ok(is_valid)
    }

    /// Checks `anyOf` or `oneOf`.
    fn some_of(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        keyword: &str,
        choices: YamlNode<'s>,
    ) -> Result<bool> {
        let mut matching = 0;
        for choice in choices.items() {
            if self.is_match(node, schema.at(choice))? {
                matching += 1;
                if keyword == "anyOf" || matching > 1 {
                    break;
                }
            }
        }
        let message = match matching {
            1 => return Ok(true),
            0 => self.none_of(node, schema, choices)?,
            _ => "the value matches more than one schema, but must match exactly one".to_owned(),
        };
        self.fail(Code::SchemaMismatch, node, schema, keyword, message)
    }

    /// Explains why a node matches none of several schemas. Includes the first mismatch that
    /// [`Self::check_shallow`] finds for each schema. Omits all mismatches if there are more than
    /// eight schemas, or if a message contains a semicolon, which separates the messages.
    fn none_of(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        choices: YamlNode<'s>,
    ) -> Result<String> {
        let count = choices.len();
        let mut message = match count {
            1 => "the value does not match the only allowed schema".to_owned(),
            _ => format!("the value matches none of the {count} allowed schemas"),
        };
        if !self.reporting || count > 8 {
            return Ok(message);
        }
        let mut reasons = Vec::new();
        for choice in choices.items() {
            let mut other = Checker::new(self.schemas, self.limits, self.max_steps);
            other.defaults = Rc::clone(&self.defaults);
            (other.steps, other.depth) = (self.steps, self.depth);
            // Do not check nested values, because every level would then check everything below it again.
            other.check_shallow(node, schema.at(choice))?;
            let first = other.found.into_iter().next();
            reasons.extend(first.map(|found| found.diagnostic.message));
        }
        reasons.dedup();
        if !reasons.is_empty() && reasons.iter().all(|reason| !reason.contains(';')) {
            message = format!("{message}: {}", reasons.join("; "));
        }
        Ok(message)
    }

    /// Checks a node against a few keywords of a schema, none of which contain other schemas. If the
    /// schema is a reference, uses the keywords of the schema that it refers to.
    fn check_shallow(&mut self, node: YamlNode<'_>, schema: Place<'s>) -> Result<()> {
        let mut schema = schema;
        for _ in 0..8 {
            let Some(target) = self.schemas.target(schema) else { break };
            schema = target;
        }
        for (key, value) in schema.node.entries() {
            let Some(keyword @ ("type" | "tag" | "enum" | "required" | "datatype" | "ndim")) =
                key.text()
            else {
                continue;
            };
            self.check_keyword(node, schema, keyword, value)?;
        }
        Ok(())
    }

    /// Checks `patternProperties` or `additionalProperties`. The keyword `additionalProperties` applies to keys
    /// that neither `properties` nor `patternProperties` mentions.
    fn other_properties(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        keyword: &str,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        if scalars::type_of(node) != Type::Object {
            return Ok(true);
        }
        let patterns = schema.node.get("patternProperties");
        let named = schema.node.get("properties");
        let mut is_valid = true;
        for (key, child) in node.members() {
            let Ok(name) = key.to_key() else { continue };
            let mut is_named = named.is_some_and(|named| named.get(&name).is_some());
            for (pattern, below) in patterns.into_iter().flat_map(YamlNode::entries) {
                let Some(pattern) = pattern.text() else { continue };
                let Some(is_match) = self.finds(pattern, &name) else {
                    let message = format!("the pattern {pattern:?} is not supported");
                    return self.fail(Code::BadSchema, node, schema, "patternProperties", message);
                };
                is_named |= is_match;
                if is_match && keyword == "patternProperties" {
                    is_valid &= self.check(child, schema.at(below))?;
                }
            }
            if is_named || keyword == "patternProperties" {
                continue;
            }
            is_valid &= match value.as_bool() {
                Some(true) => true,
                Some(false) => {
                    let message = format!("the key `{}` is not allowed", scalars::cut(&name));
                    self.fail(Code::SchemaMismatch, child, schema, keyword, message)?
                }
                None => self.check(child, schema.at(value))?,
            };
        }
        Ok(is_valid)
    }

    fn items(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        if scalars::type_of(node) != Type::Array {
            return Ok(true);
        }
        let mut is_valid = true;
        if value.kind() == NodeKind::Sequence {
            for (item, below) in node.items().zip(value.items()) {
                is_valid &= self.check(item, schema.at(below))?;
            }
        } else {
            for item in node.items() {
                is_valid &= self.check(item, schema.at(value))?;
            }
        }
        Ok(is_valid)
    }

    fn additional_items(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        let items = schema.node.get("items").filter(|items| items.kind() == NodeKind::Sequence);
        let (Some(items), Type::Array) = (items, scalars::type_of(node)) else { return Ok(true) };
        if value.as_bool() == Some(false) && node.len() > items.len() {
            let most = scalars::number_of(items.len(), "item");
            let message = format!("expected at most {most}, found {}", node.len());
            return self.fail(Code::SchemaMismatch, node, schema, "additionalItems", message);
        }
        let mut is_valid = true;
        for item in node.items().skip(items.len()) {
            is_valid &= self.check(item, schema.at(value))?;
        }
        Ok(is_valid)
    }

    fn dependencies(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        let mut is_valid = true;
        for (key, needed) in value.entries() {
            let Ok(name) = key.to_key() else { continue };
            if !self.has_key(node, &name) {
                continue;
            }
            if needed.kind() != NodeKind::Sequence {
                is_valid &= self.check(node, schema.at(needed))?;
                continue;
            }
            for needed in needed.items().filter_map(YamlNode::as_str) {
                if !self.has_key(node, needed) {
                    let message =
                        format!("the key `{name}` requires the key `{needed}`, which is missing");
                    is_valid &=
                        self.fail(Code::SchemaMismatch, node, schema, "dependencies", message)?;
                }
            }
        }
        Ok(is_valid)
    }

    /// Returns `true` if a node has a key, or if the key is missing but has a default that is filled in.
    fn has_key(&self, node: YamlNode<'_>, key: &str) -> bool {
        node.member(key).is_some() || self.defaults.has(node, key)
    }

    fn pattern(
        &mut self,
        node: YamlNode<'_>,
        schema: Place<'s>,
        value: YamlNode<'s>,
    ) -> Result<bool> {
        let (Some(text), Some(pattern)) = (scalars::string(node), value.text()) else {
            return Ok(true);
        };
        match self.finds(pattern, text) {
            Some(true) => Ok(true),
            Some(false) => {
                let message =
                    format!("{:?} does not match the pattern {pattern}", scalars::cut(text));
                self.fail(Code::SchemaMismatch, node, schema, "pattern", message)
            }
            None => {
                let message = format!("the pattern {pattern:?} is not supported");
                self.fail(Code::BadSchema, node, schema, "pattern", message)
            }
        }
    }

    /// Returns `true` if a regular expression matches part of a string, or `None` if the expression is not
    /// supported.
    fn finds(&mut self, pattern: &str, text: &str) -> Option<bool> {
        if !self.patterns.contains_key(pattern) {
            self.patterns.insert(pattern.to_owned(), Regex::new(pattern).ok());
        }
        self.patterns.get(pattern)?.as_ref().map(|regex| regex.is_match(text))
    }
}

/// Returns the value for a key, or `None` if the node is not a mapping or does not have the key.
fn node_at<'n>(node: YamlNode<'n>, key: &str) -> Option<YamlNode<'n>> {
    if node.kind() == NodeKind::Mapping { node.get(key) } else { None }
}

/// Returns `true` for a node of the form `{$ref: URI}` without other keys. Such a node cannot be checked,
/// because its content is elsewhere. The root never counts as a reference, because there would be nothing
/// left to check.
fn is_reference(node: YamlNode<'_>) -> bool {
    let target = node_at(node, "$ref").and_then(YamlNode::as_str);
    target.is_some() && node.len() == 1 && node.id() != node.document().root().id()
}
