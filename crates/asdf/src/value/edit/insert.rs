//! Inserting entries and items.

use super::text::{Emission, TreeText};
use crate::error::Result;
use crate::value::{Form, Mapping, Sequence, Tree, Value};
use crate::yaml::edit::place::{
    Surroundings, WrittenChild, byte, children, column, comment_after, line_end, line_start, range,
    rest, skip,
};
use crate::yaml::edit::splices::Splices;
use crate::yaml::{NodeStyle, YamlNode};

/// Returns the replacements that add an entry at the end of a mapping, or `None` if the entry cannot be inserted
/// into the text.
pub(super) fn entry(
    text: &TreeText,
    container: YamlNode<'_>,
    key: &str,
    emission: &Emission<'_>,
) -> Result<Option<Splices>> {
    let wrapped = |value: Value| Mapping::from_iter([(key, value)]).into();
    if let Some(splices) = first(text, container, emission, &wrapped)? {
        return Ok(Some(splices));
    }
    add(text, container, emission, &|fragment| fragment.entry(key))
}

/// Returns the replacements that add an item at the end of a list, or `None` if the item cannot be inserted into
/// the text.
pub(super) fn item(
    text: &TreeText,
    container: YamlNode<'_>,
    emission: &Emission<'_>,
) -> Result<Option<Splices>> {
    let wrapped = |value: Value| Sequence::from_iter([value]).into();
    if let Some(splices) = first(text, container, emission, &wrapped)? {
        return Ok(Some(splices));
    }
    let in_flow = Surroundings::of(text.text(), container).in_flow;
    add(text, container, emission, &|fragment| {
        if in_flow { fragment.item() } else { fragment.dashed_item() }
    })
}

/// Adds the first entry or item to an empty collection by rewriting the collection. Returns `None` if the
/// collection has children, contains a comment, or is inside brackets.
fn first(
    text: &TreeText,
    container: YamlNode<'_>,
    emission: &Emission<'_>,
    wrapped: &dyn Fn(Value) -> Value,
) -> Result<Option<Splices>> {
    let content = range(container.content_span());
    let written = text.text().get(content.clone()).unwrap_or_default();
    if TreeText::has_children(container) || written.contains('#') {
        return Ok(None);
    }
    let mut tree: Tree = emission.tree.clone();
    let root = std::mem::take(tree.root_mut());
    *tree.root_mut() = wrapped(root);
    let is_root = container.mention().parent().is_none();
    if is_root {
        if let Value::Mapping(mapping) = tree.root_mut() {
            mapping.form = Some(Form::Block);
        }
    }
    let emission = Emission { tree: &tree, arrays: emission.arrays, known: emission.known.clone() };
    if is_root {
        let around = Surroundings { in_flow: false, indent: None };
        let new = text.with_line_breaks(text.fragment(&emission, &around, 0).value()?);
        let start = text.text().get(..content.start).unwrap_or_default();
        let start = start.trim_end_matches([' ', '\t']).len();
        if line_start(text.text(), start) == start {
            let new = new.trim_start_matches(['\r', '\n']).to_owned();
            let ends = !rest(text.text(), content.end).starts_with(['\r', '\n']);
            let new = if ends { new + &text.with_line_breaks("\n".to_owned()) } else { new };
            return Ok(Some(Splices::one(start..content.end, new)));
        }
        return Ok(Some(Splices::one(start..content.end, new)));
    }
    let Some(slot) = WrittenChild::of(text.text(), container.mention()) else { return Ok(None) };
    if slot.around.in_flow || container.style() != NodeStyle::Flow {
        return Ok(None);
    }
    // Keep the anchor and the tag.
    let has_properties = slot.span.start < content.start;
    let slot = WrittenChild { span: content.clone(), ..slot };
    let after = if has_properties {
        let before = text.text().get(..content.start).unwrap_or_default();
        before.trim_end_matches([' ', '\t']).len()
    } else {
        slot.after
    };
    let slot = WrittenChild { after, ..slot };
    let new = text.emitted_in(&slot, &emission)?;
    Ok(Some(text.replace(&slot, &new)))
}

/// Adds an entry or item to a collection that has children or is written in brackets.
fn add(
    text: &TreeText,
    container: YamlNode<'_>,
    emission: &Emission<'_>,
    emit: &dyn Fn(&crate::value::emit::Fragment<'_>) -> Result<String>,
) -> Result<Option<Splices>> {
    let around = Surroundings::of(text.text(), container);
    if around.in_flow {
        return in_brackets(text, container, around, emission, emit);
    }
    let Some(last) = children(container).last().copied() else { return Ok(None) };
    let indent = column(text.text(), range(container.content_span()).start);
    let mut fragment = text.fragment(emission, &around, indent);
    fragment.begins_line = true;
    let new = text.with_line_breaks(emit(&fragment)?);
    let blanks = " ".repeat(indent);
    let line_break = text.with_line_breaks("\n".to_owned());
    let end = line_end(text.text(), range(last.span()).end);
    Ok(Some(Splices::one(end..end, format!("{line_break}{blanks}{new}"))))
}

/// Like [`add`], for a collection in brackets. If the last child begins its own line, the new child also gets
/// its own line.
fn in_brackets(
    text: &TreeText,
    container: YamlNode<'_>,
    around: Surroundings,
    emission: &Emission<'_>,
    emit: &dyn Fn(&crate::value::emit::Fragment<'_>) -> Result<String>,
) -> Result<Option<Splices>> {
    if container.style() != NodeStyle::Flow {
        return Ok(None);
    }
    let source = text.text();
    let content = range(container.content_span());
    let count = children(container).len();
    let emitted = |at: usize| {
        let fragment = text.fragment(emission, &around, at);
        Ok::<_, crate::Error>(text.with_line_breaks(emit(&fragment)?))
    };
    let width = if container.kind() == crate::yaml::NodeKind::Mapping { 2 } else { 1 };
    let Some(index) = (count / width).checked_sub(1) else {
        let at = content.start + 1;
        return Ok(Some(Splices::one(at..at, emitted(column(source, at))?)));
    };
    let Some(slot) = WrittenChild::new(source, container, index) else { return Ok(None) };
    let end = slot.span.end;
    let line_break = text.with_line_breaks("\n".to_owned());
    let start_of_line = line_start(source, slot.start);
    let lead = source.get(start_of_line..slot.start).unwrap_or_default();
    let is_own_line = lead.bytes().all(|byte| byte == b' ');
    let comma = skip(source, end);
    let has_comma = byte(source, comma) == Some(b',');
    let place = if has_comma { comma + 1 } else { end };
    let mut splices = Splices::default();
    let comment = comment_after(source, place);
    let at = comment.as_ref().map_or(place, |comment| comment.end);
    let mut new = String::new();
    if !has_comma {
        if comment.is_some() {
            splices.add(end..end, ",");
        } else {
            new.push(',');
        }
    }
    if is_own_line || comment.is_some() {
        let indent = around.indent.map_or(2, |indent| indent + 2);
        let blanks = if is_own_line { lead.len() } else { indent };
        new.push_str(&line_break);
        new.push_str(&" ".repeat(blanks));
        new.push_str(&emitted(blanks)?);
        let follows = skip(source, at);
        // The preceding comment extends to the end of its line, so the new text must end with a line break.
        if comment.is_some() && line_end(source, at) == at && follows == at {
            new.push_str(&line_break);
        }
    } else {
        new.push(' ');
        new.push_str(&emitted(column(source, at) + new.len())?);
    }
    splices.add(at..at, new);
    Ok(Some(splices))
}
