//! Generating C, Rust and Python code that computes addresses and sizes.
//!
//! | module | contents |
//! |---|---|
//! | `expr` | sums of products of dimensions, and terms, such as rounded-up sums |
//! | `sums` | arithmetic with sums of products, for the walk in `place` |
//! | `print` | printing the functions in a language |
//!
//! Everything that does not depend on parameter values is computed in advance, so the functions of
//! most items have only one line.

mod expr;
mod print;
mod sums;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Deref;

use crate::diagnostic::Code;
use crate::error::Error;
use crate::layout::{
    Data, Datatype, Declaration, Dim, Field, Layout, MemberId, ParamId, ParamValue, Subject,
    TypeId, push_name,
};
use crate::place::measure::{Measure, Visited};
use crate::place::pass::to_error;
use crate::place::resolver::Resolver;
use crate::place::scope::{Base, Frame, Number, Result as Outcome, Scope, Trouble};
use crate::place::sizes::{Placed, Sizes as _};
use expr::Sum;
use print::Printer;
use sums::Sums;

/// Maximum number of struct members for which functions are generated. Nested types may have far
/// too many members.
const MAX_MEMBERS: usize = 100_000;

/// The language of the generated code.
///
/// ```
/// use dudley::codegen::Language;
/// use dudley::{Layout, Resolver};
///
/// let layout = Layout::parse("N : i8  x = f8[N]")?;
/// let code = Resolver::new(&layout).code(Language::C)?;
/// assert!(code.contains("offset_x("), "{code}");
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// C99 or later. The functions are `static inline`.
    C,
    /// Rust. The functions can be included in a module.
    Rust,
    /// Python 3.
    Python,
}

impl<L: Deref<Target = Layout> + Clone> Resolver<'_, L> {
    /// Generates code with functions `offset_NAME` and `nbytes_NAME` for each stored item and parameter, and
    /// for each member of a struct. In an array of structs, the functions describe the member in the first
    /// instance. All functions have the same arguments: the stored parameters of dicts, by name, in order of
    /// declaration. Addresses and sizes that depend on the stream, such as the size of a compressed array,
    /// have no functions.
    ///
    /// To form `NAME` from a path, the first `/`, every `]` and double quote, and the `.` after the root item
    /// `""` are removed. All other characters except ASCII letters and digits become `_`. If a name is already
    /// in use, a number is appended to it.
    ///
    /// The code follows the rules of this resolver, for example for alignment and the origin of addresses. The
    /// values and the stream of the resolver are ignored.
    ///
    /// ```
    /// use dudley::codegen::Language;
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("N : i8  x = f8[N+, 3]  y = i2")?;
    /// let code = Resolver::new(&layout).native(true).code(Language::Python)?;
    /// assert!(code.ends_with("\
    /// ## /x: f8[N+, 3]
    /// def offset_x(N):
    ///     return 24
    ///
    /// def nbytes_x(N):
    ///     return 24 * dudley_dim(N, 1)
    ///
    /// ## /y: i2
    /// def offset_y(N):
    ///     return 24 * dudley_dim(N, 1) + 24
    ///
    /// def nbytes_y(N):
    ///     return 2
    /// "), "{code}");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Overflow`](crate::diagnostic::Code::Overflow) if an address or size contains a constant
    /// above 2^63-1, and with [`BeyondLimit`](Code::BeyondLimit) for layouts that are too costly, for example
    /// because structs have more than 100,000 members in total.
    pub fn code(&self, language: Language) -> Result<String, Error> {
        let layout: &Layout = &self.layout;
        let declarations = layout.declarations();
        let given = declarations.iter().filter_map(|&declaration| match declaration {
            Declaration::Param(id) if layout.param(id).value.is_stored() => Some(id),
            _ => None,
        });
        let given: Vec<ParamId> = given.collect();
        let sums = Sums::new(layout, &given);
        let measure = Measure::without_values(layout, &self.inputs, Scope::of(layout), sums);
        let (base, start) = self.inputs.begin();
        let mut lister =
            Lister { measure, given, found: Vec::new(), members: 0, base: Sum::constant(base) };
        let mut cursor = Some(Sum::constant(start));
        for &declaration in declarations {
            let Some(subject) = declaration.subject() else { continue };
            lister
                .declare(subject, &mut cursor)
                .map_err(|trouble| to_error(layout, *trouble, subject))?;
        }
        let Lister { measure, given, found, .. } = lister;
        let names = given.iter().map(|&id| identifier(&layout.subject_path(id.into()))).collect();
        let plain = given.iter().map(|&id| identifier(layout.param_name(id)));
        let params = param_names(plain.collect(), names);
        Ok(Printer::new(language, &measure.facts.terms, params).print(&found))
    }
}

/// An item, parameter or member for which functions are generated.
struct Listed {
    name: String,
    /// The text of the comment before the functions.
    about: String,
    offset: Option<Sum>,
    nbytes: Option<Sum>,
}

/// A collector for the stored items, parameters and members for which functions are generated.
struct Lister<'l> {
    measure: Measure<'l, Sums>,
    given: Vec<ParamId>,
    found: Vec<Listed>,
    members: usize,
    /// The address of the origin, which is added to the offsets of items and parameters.
    base: Sum,
}

impl<'l> Lister<'l> {
    fn declare(&mut self, subject: Subject, cursor: &mut Option<Sum>) -> Outcome<()> {
        let layout = self.measure.layout;
        let placed = self.measure.declare(subject, cursor.clone(), None)?;
        let Some(placed) = placed else { return Ok(()) };
        let sums = &mut self.measure.facts;
        *cursor = placed.end(sums)?;
        let Placed { offset, nbytes } = placed;
        let offset = offset.map(|offset| sums.add(&offset, &self.base)).transpose()?;
        let path = layout.subject_path(subject);
        match subject {
            Subject::Param(id) => {
                let integer = match layout.param(id).value {
                    ParamValue::Stored { integer, .. } => integer.name(),
                    ParamValue::Fixed(_) => "",
                };
                let about = format!("{path}: {integer}, a parameter");
                let name = identifier(&path);
                self.found.push(Listed { name, about, offset, nbytes });
            }
            Subject::Item(id) => {
                if let Some(data) = layout.data_of(id) {
                    self.array(&path, data, 0, offset, nbytes)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Lists an array and the members of its struct. The recursion is bounded by the maximum nesting of types.
    fn array(
        &mut self,
        path: &str,
        data: &'l Data,
        frame: Frame,
        offset: Option<Sum>,
        nbytes: Option<Sum>,
    ) -> Outcome<()> {
        let about = format!("{path}: {}", self.declared(data, frame));
        let is_known = nbytes.is_some();
        let name = identifier(path);
        self.found.push(Listed { name, about, offset: offset.clone(), nbytes });
        let outer = self.measure.scope.frame();
        let element = self.measure.element(data, frame)?;
        if let (Base::Struct(id, frame), Some(offset), true) = (element.base, offset, is_known) {
            self.members(path, id, frame, &offset)?;
        }
        self.measure.scope.leave(outer);
        Ok(())
    }

    /// Lists the members of a struct at an offset. The values of the struct's free names begin at `frame`.
    fn members(&mut self, path: &str, id: TypeId, frame: Frame, offset: &Sum) -> Outcome<()> {
        let mut members: Vec<(MemberId, Placed<Sum>)> = Vec::new();
        let visit = &mut |_: &mut _, visited: Visited<Sum, _>| {
            if let Field::Member(member) = visited.field {
                members.push((member, visited.placed));
            }
            Ok(())
        };
        self.measure.fields(id, frame, None, Some(visit))?;
        for (member, placed) in members {
            self.members += 1;
            if self.members > MAX_MEMBERS {
                let message = format!("the structs have more than {MAX_MEMBERS} members in total");
                return Err(Trouble::Is(Code::BeyondLimit, message).into());
            }
            let layout = self.measure.layout;
            let mut path = format!("{path}.");
            push_name(&mut path, layout.member_name(member));
            let Some(inner) = placed.offset else { continue };
            let offset = self.measure.facts.add(&inner, offset)?;
            let data = layout.data(layout.member(member).data);
            self.array(&path, data, frame, Some(offset), placed.nbytes)?;
        }
        Ok(())
    }

    /// Returns the type, shape and filter of an array as declared.
    fn declared(&self, data: &Data, frame: Frame) -> String {
        let layout = self.measure.layout;
        let mut text = match data.datatype {
            Datatype::Primitive(primitive, Some(order)) if primitive.unit() > 1 => {
                format!("{order}{primitive}")
            }
            Datatype::Primitive(primitive, _) => primitive.to_string(),
            Datatype::Struct(id) => layout.type_name(id).unwrap_or("{}").to_owned(),
        };
        let dims: Vec<String> =
            layout.shape(data).iter().map(|&dim| self.dim(dim, frame)).collect();
        if !dims.is_empty() {
            let _ = write!(text, "[{}]", dims.join(", "));
        }
        if let Some(filter) = layout.filter(data) {
            let arrow =
                if filter.kind == crate::layout::FilterKind::Compress { "->" } else { "<-" };
            let _ = write!(text, " {arrow} {}", filter.name);
        }
        text
    }

    fn dim(&self, dim: Dim, frame: Frame) -> String {
        let (name, suffix) = match dim {
            Dim::Fixed(len) => return len.to_string(),
            Dim::Named(binding, suffix) => (self.measure.scope.value(binding, frame), suffix),
        };
        let sign = if suffix < 0 { "-" } else { "+" };
        let signs = sign.repeat(suffix.unsigned_abs().min(32) as usize);
        match name {
            Number::Known(value) => format!("{value}{signs}"),
            Number::Missing(id) if self.measure.facts.position(id).is_some() => {
                format!("{}{signs}", self.measure.layout.param_name(id))
            }
            Number::Missing(_) => "?".to_owned(),
        }
    }
}

/// Converts a path to a part of a function name: `/grid/x` becomes `grid_x`, and `/list[2]` becomes `list_2`.
/// The name of the root item `""` is omitted, so its members are named as if they were items.
fn identifier(path: &str) -> String {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_prefix("\"\"").map_or(path, |rest| rest.trim_start_matches('.'));
    let kept = path.chars().filter(|character| !matches!(character, ']' | '"'));
    kept.map(|character| if character.is_ascii_alphanumeric() { character } else { '_' }).collect()
}

/// Returns the argument names of parameters: the plain name or, if several parameters have the same plain name,
/// a name made from the path.
fn param_names(plain: Vec<String>, paths: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let repeated: HashSet<String> =
        plain.iter().filter(|&name| !seen.insert(name.clone())).cloned().collect();
    let pairs = plain.into_iter().zip(paths);
    pairs.map(|(name, path)| if repeated.contains(&name) { path } else { name }).collect()
}
