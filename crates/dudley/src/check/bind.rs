//! Binding the names in shapes to parameters.

use std::collections::HashMap;

use binio::diagnostic::count;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{Binding, ItemId, NameId, ParamId, Run, Scope, TypeId};
use crate::source::Span;

/// The total number of dicts and lists that may be examined when looking up parameters. Each byte
/// of the text adds `LOOK_UPS_PER_BYTE` to this limit. A one-letter dimension takes two bytes with
/// its comma, so it can always be looked up in 128 enclosing dicts, the default nesting limit.
const LOOK_UPS: usize = 1 << 22;
const LOOK_UPS_PER_BYTE: usize = 64;

/// The most recent bindings of the free names of each type, and the work done to find parameters.
#[derive(Default)]
pub(super) struct Bound {
    /// The bindings from the last use of each type. If that use was in a dict and bound all free
    /// names of the type, the dict and the number of parameters declared until then are stored as
    /// well.
    last_bindings: HashMap<TypeId, (Run, Option<(ItemId, usize)>)>,
    /// The number of dicts and lists examined for parameters so far.
    looked_at: usize,
}

impl Checker<'_> {
    /// Returns the parameter or free name that a name in a shape refers to. In a struct, an unknown name
    /// becomes a free name.
    pub(super) fn look_up(&mut self, name: NameId, span: Span) -> Option<Binding> {
        let Some(open) = self.structs.open.last_mut() else {
            return self.look_up_in_dicts(name, span).map(Binding::Param);
        };
        let own = self.layout.param_index.get(Scope::Struct(open.id).key(), name);
        if let Some(param) = own.map(ParamId) {
            open.is_indeterminate |= self.layout.params[param.index()].value.is_stored();
            return Some(Binding::Param(param));
        }
        let (id, free) = (open.id, &self.structs.free[open.free..]);
        if let Some(&(by, number)) = self.structs.free_in.get(name.index()) {
            if by == id {
                return Some(Binding::Free(number));
            }
        }
        let found = free.iter().position(|&(free, _)| free == name);
        let number = found.unwrap_or(free.len());
        if found.is_none() {
            self.structs.free.push((name, span));
            if number >= self.report.options.limits.max_free_names as usize {
                self.too_many_free_names(span);
            }
        }
        if self.structs.free_in.len() <= name.index() {
            self.structs.free_in.resize(name.index() + 1, (TypeId(u32::MAX), 0));
        }
        self.structs.free_in[name.index()] = (id, index(number));
        Some(Binding::Free(index(number)))
    }

    /// Binds the free names of a type at its current use, and returns the range of the bindings.
    pub(super) fn bind(&mut self, id: TypeId, span: Span) -> Run {
        let used = self.layout.types[id.index()];
        if let Some(open) = self.structs.open.last_mut() {
            open.depth = open.depth.max(used.depth + 1);
            open.is_indeterminate |= used.is_indeterminate;
            if open.depth > self.report.options.limits.depth() {
                let limit = self.report.options.limits.depth();
                self.report.error(|| {
                    let levels = count(limit, "level");
                    let message = format!("types are nested too deeply: more than {levels}");
                    Diagnostic::new(Code::TooDeep, span, message)
                });
                self.cursor.stop();
                return Run::default();
            }
        }
        if used.free.len == 0 {
            return Run::default();
        }
        // If the type was last used in this dict, and no parameter has been declared since, reuse
        // the bindings.
        let scope =
            (self.structs.open.is_empty()).then_some((self.dict.id, self.layout.params.len()));
        if let Some(&(run, bound_in)) = self.bound.last_bindings.get(&id) {
            if bound_in.is_some() && bound_in == scope {
                return run;
            }
        }
        let start = self.layout.bindings.len();
        for at in used.free.start..used.free.start + used.free.len {
            let name = self.layout.free_names[at as usize];
            let place = self.layout.spans.free_names[at as usize];
            let is_anonymous = used.name == NameId::NONE;
            match self.look_up(name, if is_anonymous { place } else { span }) {
                Some(binding) => self.layout.bindings.push(binding),
                None if is_anonymous => self.param_not_in_scope(name, place),
                None => self.type_needs_param(name, span, place),
            }
        }
        if self.layout.bindings.len() > self.report.options.limits.max_bindings as usize {
            self.report.error(|| {
                let limit = count(self.report.options.limits.max_bindings, "parameter binding");
                let message = format!(
                    "the layout has more than {limit}: each use of a type binds each of its free names"
                );
                Diagnostic::new(Code::BeyondLimit, span, message)
            });
            self.cursor.stop();
        }
        let run = self.share_bindings(id, start);
        // Remember only complete bindings, so that missing parameters are reported at each use.
        let scope = scope.filter(|_| run.len == used.free.len);
        self.bound.last_bindings.insert(id, (run, scope));
        run
    }

    /// Returns the range of the bindings at and after index `start`. If they equal the bindings from
    /// the last use of the type, removes them and returns the range of the earlier bindings instead.
    fn share_bindings(&mut self, id: TypeId, start: usize) -> Run {
        let bindings = &mut self.layout.bindings;
        if let Some(&(last, _)) = self.bound.last_bindings.get(&id) {
            if last.of(bindings) == &bindings[start..] {
                bindings.truncate(start);
                return last;
            }
        }
        Run { start: index(start), len: index(bindings.len() - start) }
    }

    /// Looks up a parameter in the current and the enclosing dicts. The total number of dicts and
    /// lists examined is limited in proportion to the length of the layout, so that a deeply nested
    /// layout with many names does not take too long.
    fn look_up_in_dicts(&mut self, name: NameId, span: Span) -> Option<ParamId> {
        let (found, looked_at) = self.find_param(self.dict.id, name);
        self.bound.looked_at += looked_at;
        if self.bound.looked_at > LOOK_UPS + LOOK_UPS_PER_BYTE * self.cursor.text.len() {
            self.report.error(|| {
                let message = "looking up names in enclosing dicts takes too many steps";
                Diagnostic::new(Code::BeyondLimit, span, message)
            });
            self.cursor.stop();
        }
        found
    }

    #[cold]
    fn too_many_free_names(&mut self, span: Span) {
        let limit = self.report.options.limits.max_free_names;
        self.report.error(|| {
            let names = count(limit, "name");
            let message = format!("the type uses more than {names} that it does not declare");
            Diagnostic::new(Code::BeyondLimit, span, message)
        });
        self.cursor.stop();
    }
}
