//! What is legal and still odd.

use std::collections::{HashMap, HashSet};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{
    Body, Data, Datatype, Declaration, Field, FilterKind, Item, ItemId, NameId, ParamId,
    ParamValue, Placement,
};
use crate::source::{Encoding, Source, Span};
use crate::syntax::short;

impl Checker<'_> {
    pub(super) fn warn_param_named_as_item(&mut self, param: Span, item: Span) {
        self.report.warn(Code::ParamNamedAsItem, || {
            let text = short(self.cursor.text_at(param));
            let message = format!("`{text}` is a parameter and an item");
            let (later, label, what) = if param.start < item.start {
                (item, param, "the parameter")
            } else {
                (param, item, "the item")
            };
            Diagnostic::new(Code::ParamNamedAsItem, later, message)
                .with_label(label, what)
                .with_help("shapes mean the parameter, paths the item")
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
            let message = format!("parameter `{text}` hides one further out");
            Diagnostic::new(Code::ShadowedParam, span, message)
                .with_label(self.layout.spans.params[hidden.index()], "this one")
        });
    }

    /// What only shows when all is there.
    pub(super) fn find_irregularities(&mut self, source: &Source) {
        if source.encoding() != Encoding::Utf8 {
            let odd = self.cursor.text.char_indices().find(|(_, character)| !character.is_ascii());
            let span = odd.map_or_else(Span::default, |(at, character)| {
                Span::new(index(at), index(at + character.len_utf8()))
            });
            self.report.warn(Code::NotUtf8, || {
                let message = format!("this text is no UTF-8; it is read as {}", source.encoding());
                Diagnostic::new(Code::NotUtf8, span, message)
            });
        }
        self.find_hidden_members();
        self.find_what_is_no_template();
    }

    /// Items that have the name of a member of the item without a name beside them. Wide types may be
    /// used often, so the members of each are listed once.
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
                let message = format!("item `{text}` hides a member of the item without a name");
                Diagnostic::new(Code::HiddenMember, self.layout.spans.items[at], message)
                    .with_label(self.layout.spans.members[member.index()], "the member")
            });
        }
    }

    /// With a summary block, a layout should tell every address from the summary alone.
    fn find_what_is_no_template(&mut self) {
        let Some(summary) = self.layout.summary else { return };
        let mut reasons: Vec<(Span, &str)> = Vec::new();
        for (at, &declaration) in self.layout.declarations.iter().enumerate() {
            let (span, reason) = match declaration {
                Declaration::Item(id) => {
                    let Body::Data(data) = self.layout.items[id.index()].body else { continue };
                    let Some(data) = self.layout.data.get(data.index()) else { continue };
                    let Some(reason) = self.no_template(data) else { continue };
                    (self.layout.spans.items[id.index()], reason)
                }
                Declaration::Param(id) => {
                    let ParamValue::Stored { placement, .. } = self.layout.params[id.index()].value
                    else {
                        continue;
                    };
                    let reason = if matches!(placement, Some(Placement::Address(_))) {
                        "an address is stated"
                    } else if at >= summary.declarations {
                        "a parameter is stored outside of the summary"
                    } else {
                        continue;
                    };
                    (self.layout.spans.params[id.index()], reason)
                }
                Declaration::Type(..) => continue,
            };
            if !reasons.iter().any(|&(_, known)| known == reason) {
                reasons.push((span, reason));
            }
        }
        for (span, reason) in reasons {
            self.report.warn(Code::NotTemplate, || {
                let message = format!("a layout with a summary that is no template: {reason}");
                Diagnostic::new(Code::NotTemplate, span, message)
                    .with_help("the summary alone cannot tell where everything is")
            });
        }
    }

    fn no_template(&self, data: &Data) -> Option<&'static str> {
        let filter = data.filter.map(|id| self.layout.filters[id.index()].kind);
        let is_indeterminate = match data.datatype {
            Datatype::Struct(id) => self.layout.types[id.index()].is_indeterminate,
            Datatype::Primitive(..) => false,
        };
        if matches!(data.placement, Some(Placement::Address(_))) {
            Some("an address is stated")
        } else if filter == Some(FilterKind::Compress) {
            Some("data is compressed")
        } else if is_indeterminate {
            Some("the size of a struct depends on what is stored in it")
        } else {
            None
        }
    }
}
