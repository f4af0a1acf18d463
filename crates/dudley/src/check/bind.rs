//! Where the names in shapes get their values.

use std::collections::HashMap;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{Binding, ItemId, NameId, ParamId, Run, Scope, TypeId};
use crate::source::Span;

/// Dicts that may be searched for the parameters of names, and how many more for each byte of the text:
/// as many as a dimension of one letter takes at the usual limit of nesting.
const LOOK_UPS: usize = 1 << 22;
const LOOK_UPS_PER_BYTE: usize = 64;

/// The free names of types, as their uses bound them.
#[derive(Default)]
pub(super) struct Bound {
    /// The bindings of the last use of each type; in a dict, with that and how many parameters there
    /// were.
    last_bindings: HashMap<TypeId, (Run, Option<(ItemId, usize)>)>,
    /// Dicts that were searched for parameters.
    looked_at: usize,
}

impl Checker<'_> {
    /// Where a name in a shape gets its value.
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

    /// Binds the free names of a type where it is used.
    pub(super) fn bind(&mut self, id: TypeId, span: Span) -> Run {
        let used = self.layout.types[id.index()];
        if let Some(open) = self.structs.open.last_mut() {
            open.depth = open.depth.max(used.depth + 1);
            open.is_indeterminate |= used.is_indeterminate;
            if open.depth > self.report.options.limits.depth() {
                let limit = self.report.options.limits.depth();
                self.report.error(|| {
                    let message = format!("types are nested too deeply: more than {limit} levels");
                    Diagnostic::new(Code::TooDeep, span, message)
                });
                self.cursor.stop();
                return Run::default();
            }
        }
        if used.free.len == 0 {
            return Run::default();
        }
        // If no parameter was declared since the last use in this dict, the bindings are the same.
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
                let message = "too many names in types are bound by their uses";
                Diagnostic::new(Code::BeyondLimit, span, message)
            });
            self.cursor.stop();
        }
        let run = self.share_bindings(id, start);
        // What is missing is reported at each use.
        let scope = scope.filter(|_| run.len == used.free.len);
        self.bound.last_bindings.insert(id, (run, scope));
        run
    }

    /// Uses in one scope have the same bindings: shares the last run if it is the same.
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

    /// Looks up a name in the enclosing dicts. There may be many of them, and many names: the number of
    /// lookups is limited by the length of the text.
    fn look_up_in_dicts(&mut self, name: NameId, span: Span) -> Option<ParamId> {
        let (found, looked_at) = self.find_param(self.dict.id, name);
        self.bound.looked_at += looked_at;
        if self.bound.looked_at > LOOK_UPS + LOOK_UPS_PER_BYTE * self.cursor.text.len() {
            self.report.error(|| {
                let message = "too many lookups of names through the enclosing dicts";
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
            let message = format!("the type uses more than {limit} names from outside");
            Diagnostic::new(Code::BeyondLimit, span, message)
        });
        self.cursor.stop();
    }
}
