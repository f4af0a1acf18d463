//! Checking parameters: their types, values and scopes.

use super::Checker;
use super::notes::SWAPPED;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{
    Datatype, Declaration, Field, ItemId, Layout, NameId, Order, Param, ParamId, ParamValue,
    Placement, Primitive, Scope,
};
use crate::source::Span;
use crate::text::{NodeKind, short};

impl Checker<'_> {
    /// Declares a parameter (`name :`) in a dict.
    pub(super) fn declare_param(&mut self, node: usize, name: NameId, span: Span) {
        if self.is_data() {
            if !self.dict.in_summary {
                return self.not_integer(name, span);
            }
            self.report.warn(Code::DataAsParam, || {
                let text = short(self.layout.names.text(name));
                let message = format!(
                    "`{text}` is not a scalar integer, so it is read as data, not as a parameter"
                );
                Diagnostic::new(Code::DataAsParam, span, message)
                    .label("a parameter must be a scalar integer")
                    .help(format!("write `{text} = ..`"))
            });
            return self.declare_data(node, name, span);
        }
        if let Some(value) = self.param_value(name) {
            let id = self.push_param(name, span, value);
            self.subjects.declare(node, id.into());
            self.layout.declarations.push(Declaration::Param(id));
            if let Some(item) = self.layout.item_index.get(self.dict.id.0, name) {
                let item = self.layout.spans.items[item as usize];
                self.warn_param_named_as_item(span, item);
            }
            self.warn_shadowed(id, name, span);
        }
    }

    /// Declares a parameter (`name :`) in a struct.
    pub(super) fn declare_field_param(&mut self, node: usize, name: NameId, span: Span) {
        if self.is_data() {
            if self.report.is_muted && self.structs.open.len() == 1 {
                return self.declare_member(node, name, span);
            }
            return self.not_integer(name, span);
        }
        if let Some(value) = self.param_value(name) {
            let id = self.push_param(name, span, value);
            if !self.report.is_muted {
                self.subjects.declare(node, id.into());
            }
            self.structs.fields.push(Field::Param(id));
        }
    }

    /// Returns `true` if the declaration after the `:` describes data: it has a shape or filter, or
    /// its type is not a scalar integer.
    fn is_data(&self) -> bool {
        let kind = |ahead: usize| self.cursor.ahead(ahead).map(|node| node.kind);
        let marks = usize::from(kind(0) == Some(NodeKind::Mark));
        match kind(marks) {
            Some(NodeKind::StructOpen) => return true,
            Some(NodeKind::Type) => {}
            _ => return false,
        }
        let array = [NodeKind::Dim, NodeKind::DimName, NodeKind::Compress, NodeKind::Reference];
        if kind(marks + 1).is_some_and(|kind| array.contains(&kind)) {
            return true;
        }
        let name = self.cursor.ahead(marks).map_or("", |node| self.cursor.text_at(node.span()));
        let primitive = Primitive::from_name(name);
        let redefined =
            primitive.and_then(|primitive| self.primitives.redefined[primitive.index()]);
        match (primitive, redefined) {
            (Some(primitive), None) => !primitive.is_integer(),
            (Some(primitive), Some(_)) if marks > 0 => !primitive.is_integer(),
            _ if marks > 0 => false,
            _ => {
                let id = self.layout.names.get(name);
                let id =
                    id.and_then(|name| self.layout.type_index.get(crate::layout::GLOBAL, name));
                let datatype = id.map(|id| Datatype::Struct(crate::layout::TypeId(id)));
                datatype.is_some_and(|datatype| self.scalar_integer(datatype).is_none())
            }
        }
    }

    /// Resolves typedefs. Returns the primitive integer type and its byte order, or `None` if the
    /// datatype is not a scalar integer.
    fn scalar_integer(&self, datatype: Datatype) -> Option<(Primitive, Option<Order>)> {
        let mut datatype = datatype;
        loop {
            match datatype {
                Datatype::Primitive(primitive, order) => {
                    return primitive.is_integer().then_some((primitive, order));
                }
                Datatype::Struct(id) => {
                    let member = self.layout.typedef_member(id)?;
                    let data = self.layout.data.get(self.layout.member(member).data.index())?;
                    let is_placed = matches!(data.placement, Some(Placement::Address(_)));
                    if data.shape.len > 0 || data.filter.is_some() || is_placed {
                        return None;
                    }
                    datatype = data.datatype;
                }
            }
        }
    }

    /// Checks and returns the value of a parameter. Returns `None` if the value has an error.
    fn param_value(&mut self, name: NameId) -> Option<ParamValue> {
        if let Some(integer) = self.cursor.next_if(NodeKind::Integer) {
            return Some(ParamValue::Fixed(self.integer(integer.span())));
        }
        let found = self.check_data();
        let scalar = found.and_then(|data| Some((data, self.scalar_integer(data.datatype)?)));
        let Some((data, (integer, order))) = scalar else {
            if self.cursor.peek() == Some(NodeKind::Broken) {
                self.cursor.next();
            }
            self.broken.insert(name);
            return None;
        };
        let (datatype, placement) = (data.datatype, data.placement);
        Some(ParamValue::Stored { datatype, integer, order, placement })
    }

    fn not_integer(&mut self, name: NameId, span: Span) {
        let Some(node) = self.cursor.ahead(0) else { return };
        self.report.error(|| {
            let text = short(self.layout.names.text(name));
            let message = format!("parameter `{text}` is not a scalar integer");
            let found = Diagnostic::new(Code::NotInteger, node.span(), message)
                .label("expected a number, or one of i1 i2 i4 i8 u1 u2 u4 u8")
                .label_at(span, "`:` declares a parameter")
                .help(format!("data is declared by `{text} = ..`"));
            if self.layout.constant().is_some() { found.help(SWAPPED) } else { found }
        });
        self.broken.insert(name);
        self.check_data();
    }

    fn push_param(&mut self, name: NameId, span: Span, value: ParamValue) -> ParamId {
        let scope = self.scope();
        if let Some(before) = self.layout.param_index.get(scope.key(), name) {
            if !self.report.options.allow_param_redeclare {
                self.report.error(|| {
                    let text = short(self.layout.names.text(name));
                    let message = format!("parameter `{text}` is declared twice");
                    Diagnostic::new(Code::ParamRedeclared, span, message)
                        .label("declared again here")
                        .label_at(self.layout.spans.params[before as usize], "first declared here")
                });
            }
        }
        let id = ParamId(index(self.layout.params.len()));
        self.layout.params.push(Param { name, scope, value });
        self.layout.spans.params.push(span);
        self.layout.param_index.insert(scope.key(), name, id.0);
        id
    }

    /// Finds a parameter by name in a dict or, if the dict does not declare it, in the nearest
    /// enclosing dict that does. Also returns the number of dicts and lists that were searched.
    pub(super) fn find_param(&self, dict: ItemId, name: NameId) -> (Option<ParamId>, usize) {
        if !self.layout.param_index.knows(name) {
            return (None, 1);
        }
        let (mut dict, mut looked_at) = (dict, 1);
        loop {
            if let Some(id) = self.layout.param_index.get(Scope::Dict(dict).key(), name) {
                return (Some(ParamId(id)), looked_at);
            }
            if dict == ItemId::ROOT {
                return (None, looked_at);
            }
            dict = self.layout.items[dict.index()].parent;
            looked_at += 1;
        }
    }

    #[cold]
    pub(super) fn param_not_in_scope(&mut self, name: NameId, span: Span) {
        if self.broken.contains(&name) {
            return;
        }
        self.report.error(|| {
            let text = short(self.layout.names.text(name));
            let message = format!("parameter `{text}` is not in scope");
            let diagnostic = Diagnostic::new(Code::ParamNotInScope, span, message)
                .label("not declared earlier, in this dict or in an enclosing dict");
            self.layout.explain_scope(diagnostic, name)
        });
    }

    #[cold]
    pub(super) fn type_needs_param(&mut self, name: NameId, span: Span, place: Span) {
        if self.broken.contains(&name) {
            return;
        }
        self.report.error(|| {
            let text = short(self.layout.names.text(name));
            let message = format!("this type needs a parameter `{text}`, which is not in scope");
            let diagnostic = Diagnostic::new(Code::ParamNotInScope, span, message)
                .label("the parameter must be in scope where the type is used")
                .label_at(place, "this name is bound where the type is used");
            self.layout.explain_scope(diagnostic, name)
        });
    }
}

impl Layout {
    /// If a parameter with this name exists but is out of scope, adds a label at its declaration.
    /// Otherwise, adds help, such as a similar name.
    fn explain_scope(&self, diagnostic: Diagnostic, name: NameId) -> Diagnostic {
        let params = self.params.iter().take(1000);
        if let Some(at) = params.clone().position(|param| param.name == name) {
            let declared = self.spans.params[at];
            return diagnostic.label_at(declared, "declared here, out of scope");
        }
        let is_dict = |param: &&Param| matches!(param.scope, Scope::Dict(_));
        let names = params.filter(is_dict).map(|param| self.names.text(param.name));
        let text = self.names.text(name);
        let near = if text.len() > 40 { None } else { binio::diagnostic::nearest(text, names) };
        match near {
            _ if self.item_index.knows(name) => {
                let help = "this name is data; a parameter is declared by `name : type`";
                let diagnostic = diagnostic.help(help);
                if self.constant().is_some() { diagnostic.help(SWAPPED) } else { diagnostic }
            }
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("declare it before its use: `{text} : i8`")),
        }
    }
}
