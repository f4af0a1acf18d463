//! Reporting irregularities in valid layouts.

use std::collections::{HashMap, HashSet};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{
    Binding, Body, Datatype, Declaration, Dim, Field, Item, ItemId, Layout, NameId, ParamId,
};
use crate::source::{Encoding, Source, Span};
use crate::text::short;

/// Help for layouts that seem to be written in the 2026 version of the language.
pub(super) const SWAPPED: &str =
    "here `:` declares a parameter and `=` declares data; in the 2026 version it is the reverse";

impl Layout {
    /// Returns the index of the first item that looks like a parameter of the 2026 version: a scalar integer
    /// whose name begins with a capital and has no lower-case letters.
    pub(super) fn constant(&self) -> Option<usize> {
        self.items.iter().position(|item| {
            let Body::Data(data) = item.body else { return false };
            let Some(data) = self.data.get(data.index()) else { return false };
            let is_integer =
                matches!(data.datatype, Datatype::Primitive(primitive, _) if primitive.is_integer());
            let name = self.names.text(item.name);
            let is_capital = name.starts_with(|first: char| first.is_ascii_uppercase())
                && !name.contains(char::is_lowercase);
            is_integer && data.shape.len == 0 && is_capital
        })
    }
}

impl Checker<'_> {
    pub(super) fn warn_param_named_as_item(&mut self, param: Span, item: Span) {
        self.report.warn(Code::ParamNamedAsItem, || {
            let text = short(self.cursor.text_at(param));
            let message = format!("`{text}` is the name of both a parameter and an item");
            let (later, label, what) = if param.start < item.start {
                (item, param, "the parameter")
            } else {
                (param, item, "the item")
            };
            Diagnostic::new(Code::ParamNamedAsItem, later, message).label_at(label, what).help(
                "in shapes, the name refers to the parameter; in paths, it refers to the item",
            )
        });
    }

    pub(super) fn warn_shadowed(&mut self, param: ParamId, name: NameId, span: Span) {
        if self.dict.id == ItemId::ROOT {
            return;
        }
        let around = self.layout.items[self.dict.id.index()].parent;
        let (Some(hidden), _) = self.find_param(around, name) else { return };
        debug_assert!(hidden != param);
        self.report.warn(Code::ShadowedParam, || {
            let text = short(self.layout.names.text(name));
            let message = format!("parameter `{text}` hides a parameter of an enclosing dict");
            Diagnostic::new(Code::ShadowedParam, span, message)
                .label_at(self.layout.spans.params[hidden.index()], "the hidden parameter")
        });
    }

    #[cold]
    pub(super) fn warn_double_slash(&mut self, second: Span) {
        self.report.warn(Code::DoubleSlash, || {
            let span = Span::new(second.start - 1, second.end);
            let message =
                "`//` does not begin a comment: it returns to the top level, and the items after it are declared there";
            Diagnostic::new(Code::DoubleSlash, span, message)
                .help("a comment begins with `#`; a single `/` is enough to return to the top level")
        });
    }

    /// Reports a layout that seems to be written in the 2026 version of the language, in which `N = i4` is a
    /// parameter and `x : i4` is data. This is assumed if there are stored parameters outside the summary but
    /// no shape uses any of them, and if the name of a scalar integer begins with a capital and has no
    /// lower-case letters.
    fn find_swapped_dialect(&mut self) {
        let layout = &self.layout;
        let begin = layout.summary.map_or(0, |summary| summary.declarations);
        let mut params = layout.declarations[begin..].iter().filter_map(|found| match *found {
            Declaration::Param(id) if layout.param(id).value.is_stored() => Some(id),
            _ => None,
        });
        let Some(first) = params.next() else { return };
        let Some(constant) = layout.constant() else { return };
        let of_dims = layout.dims.iter().filter_map(|dim| match *dim {
            Dim::Named(binding, _) => Some(binding),
            Dim::Fixed(_) => None,
        });
        let used: HashSet<Binding> = of_dims.chain(layout.bindings.iter().copied()).collect();
        if params.chain([first]).any(|id| used.contains(&Binding::Param(id))) {
            return;
        }
        let (span, label) = (layout.spans.params[first.index()], layout.spans.items[constant]);
        self.report.warn(Code::SwappedDialect, || {
            Diagnostic::new(Code::SwappedDialect, span, "no shape uses this parameter")
                .label_at(label, "this is data")
                .help(SWAPPED)
        });
    }

    /// Reports irregularities that can be found only in the complete layout.
    pub(super) fn find_irregularities(&mut self, source: &Source) {
        if source.encoding() != Encoding::Utf8 {
            let found =
                self.cursor.text.char_indices().find(|(_, character)| !character.is_ascii());
            let span = found.map_or_else(Span::default, |(at, character)| {
                Span::new(index(at), index(at + character.len_utf8()))
            });
            self.report.warn(Code::NotUtf8, || {
                let message =
                    format!("the text is not valid UTF-8; it is read as {}", source.encoding());
                Diagnostic::new(Code::NotUtf8, span, message)
            });
        }
        self.find_hidden_members();
        self.find_swapped_dialect();
        self.check_template();
    }

    /// Reports items that hide a member with the same name in their dict's unnamed item. The members of each
    /// type are collected only once, because a type with many members may be used often.
    fn find_hidden_members(&mut self) {
        let Some(nameless) = self.layout.names.get("") else { return };
        let mut types = HashMap::new();
        let (mut members, mut listed) = (HashMap::new(), HashSet::new());
        for item in &self.layout.items {
            let Body::Data(data) = item.body else { continue };
            let data = self.layout.data.get(data.index()).filter(|_| item.name == nameless);
            let Some(Datatype::Struct(id)) = data.map(|data| data.datatype) else { continue };
            if listed.insert(id) {
                for field in self.layout.fields(id) {
                    if let Field::Member(member) = *field {
                        members.insert((id, self.layout.member(member).name), member);
                    }
                }
            }
            types.insert(item.parent, id);
        }
        if types.is_empty() {
            return;
        }
        for at in 1..self.layout.items.len() {
            let Item { name, parent, .. } = self.layout.items[at];
            let Some(&id) = types.get(&parent).filter(|_| name != nameless) else { continue };
            let Some(&member) = members.get(&(id, name)) else { continue };
            self.report.warn(Code::HiddenMember, || {
                let text = short(self.layout.names.text(name));
                let message = format!("item `{text}` hides a member of the unnamed item");
                Diagnostic::new(Code::HiddenMember, self.layout.spans.items[at], message)
                    .label_at(self.layout.spans.members[member.index()], "the member")
            });
        }
    }

    /// If the layout has a summary block, reports the reasons why the summary alone does not determine
    /// every address.
    fn check_template(&mut self) {
        if self.layout.summary.is_none() {
            return;
        }
        let mut reasons: Vec<(Span, &str)> = Vec::new();
        for (subject, obstacle) in self.layout.template_obstacles() {
            let reason = obstacle.of_layout();
            let span = self.layout.span(subject);
            if !reasons.iter().any(|&(_, known)| known == reason) {
                reasons.push((span, reason));
            }
        }
        for (span, reason) in reasons {
            self.report.warn(Code::NotTemplate, || {
                let message = format!("the layout has a summary but is not a template: {reason}");
                Diagnostic::new(Code::NotTemplate, span, message)
                    .help("the summary alone does not determine every address")
            });
        }
    }
}
