//! Printing the functions in C, Rust or Python.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::expr::{Factor, Sum, Term, Terms};
use super::{Language, Listed};

const C: &str = "\
/* Addresses and sizes in bytes, generated from a Dudley layout. A parameter of -1 removes a dimension. Other negative
   parameters, and sizes that do not fit into 63 bits, are not checked. */

#include <stdint.h>

#ifndef DUDLEY_FUNCTIONS
#define DUDLEY_FUNCTIONS
/* The length of a dimension. */
static inline uint64_t dudley_dim(int64_t value, int64_t suffix) {
    if (value == -1) return 1;
    if (value == 0) return 0;
    return value + suffix > 0 ? (uint64_t)(value + suffix) : 0;
}

/* The address, rounded up to a multiple of a power of two. */
static inline uint64_t dudley_up(uint64_t address, uint64_t align) {
    return (address + align - 1) & ~(align - 1);
}

/* Like dudley_up, except that an empty item is not aligned. */
static inline uint64_t dudley_place(uint64_t address, uint64_t align, uint64_t nbytes) {
    return nbytes == 0 ? address : dudley_up(address, align);
}

static inline uint64_t dudley_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}
#endif
";

const RUST: &str = "\
// Addresses and sizes in bytes, generated from a Dudley layout. A parameter of -1 removes a dimension. Other negative
// parameters, and sizes that do not fit into 63 bits, are not checked.

/// The length of a dimension.
#[allow(dead_code)]
fn dudley_dim(value: i64, suffix: i64) -> u64 {
    match value {
        -1 => 1,
        0 => 0,
        _ => (value + suffix).max(0) as u64,
    }
}

/// The address, rounded up to a multiple of a power of two.
#[allow(dead_code)]
fn dudley_up(address: u64, align: u64) -> u64 {
    (address + align - 1) & !(align - 1)
}

/// Like `dudley_up`, except that an empty item is not aligned.
#[allow(dead_code)]
fn dudley_place(address: u64, align: u64, nbytes: u64) -> u64 {
    if nbytes == 0 { address } else { dudley_up(address, align) }
}

#[allow(dead_code)]
fn dudley_max(a: u64, b: u64) -> u64 {
    a.max(b)
}
";

const PYTHON: &str = "\
# Addresses and sizes in bytes, generated from a Dudley layout. A parameter of -1 removes a dimension. Other negative
# parameters are not checked.


def dudley_dim(value, suffix):
    # A numpy integer may be too narrow for a size.
    value = int(value)
    if value == -1:
        return 1
    return max(value + suffix, 0) if value else 0


def dudley_up(address, align):
    return (address + align - 1) & -align


def dudley_place(address, align, nbytes):
    return dudley_up(address, align) if nbytes else address


def dudley_max(a, b):
    return max(a, b)


";

const C_KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if \
    inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void \
    volatile while _Bool _Complex _Imaginary alignas alignof bool constexpr false nullptr static_assert \
    thread_local true typeof asm catch class const_cast delete dynamic_cast explicit export friend mutable namespace \
    new noexcept operator private protected public reinterpret_cast static_cast template this throw try typeid \
    typename using virtual wchar_t int64_t uint64_t linux unix";
const RUST_KEYWORDS: &str = "as async await break const continue crate dyn else enum extern false fn for if impl in \
    let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while \
    abstract become box do final gen macro override priv try typeof unsized virtual yield i64 u64 _";
const PYTHON_KEYWORDS: &str = "False None True and as assert async await break class continue def del elif else \
    except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield \
    int max";

impl Language {
    fn is_reserved(self, name: &str) -> bool {
        let keywords = match self {
            Self::C => C_KEYWORDS,
            Self::Rust => RUST_KEYWORDS,
            Self::Python => PYTHON_KEYWORDS,
        };
        let of_terms = |name: &str| {
            name.strip_prefix('t')
                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let of_functions = ["dudley_", "offset_", "nbytes_"].iter();
        keywords.split_whitespace().any(|keyword| keyword == name)
            || of_terms(name)
            || of_functions.into_iter().any(|prefix| name.starts_with(prefix))
    }
}

/// The function or argument names that are already in use.
#[derive(Default)]
struct Taken(HashSet<String>);

impl Taken {
    /// Returns the name, with a number appended if it is already in use.
    fn unique(&mut self, name: String) -> String {
        if self.0.insert(name.clone()) {
            return name;
        }
        let others = (2_u64..).map(|number| format!("{name}_{number}"));
        let free = others.into_iter().find(|other| self.0.insert(other.clone()));
        free.unwrap_or(name)
    }
}

/// A printer for the generated functions.
pub(super) struct Printer<'t> {
    language: Language,
    terms: &'t Terms,
    params: Vec<String>,
    out: String,
}

impl<'t> Printer<'t> {
    pub(super) fn new(language: Language, terms: &'t Terms, params: Vec<String>) -> Self {
        let mut taken = Taken::default();
        let valid = |name: String| {
            let begins = name.starts_with(|first: char| !first.is_ascii_digit());
            let name = if begins { name } else { format!("_{name}") };
            if language.is_reserved(&name) { format!("{name}_") } else { name }
        };
        let params = params.into_iter().map(|name| taken.unique(valid(name))).collect();
        Self { language, terms, params, out: String::new() }
    }

    pub(super) fn print(mut self, stored: &[Listed]) -> String {
        self.out.push_str(match self.language {
            Language::C => C,
            Language::Rust => RUST,
            Language::Python => PYTHON,
        });
        for id in self.terms.functions() {
            self.term_function(id);
        }
        let mut taken = Taken::default();
        for Listed { name, about, offset, nbytes } in stored {
            let name = taken.unique(name.clone());
            let missing = match (offset, nbytes) {
                (Some(_), Some(_)) => "",
                (Some(_), None) => "; its size depends on the stream",
                (None, Some(_)) => "; its address depends on the stream",
                (None, None) => "; its address and size depend on the stream",
            };
            self.comment(&format!("{about}{missing}"));
            if let Some(offset) = offset {
                self.function(&format!("offset_{name}"), true, offset);
            }
            if let Some(nbytes) = nbytes {
                self.function(&format!("nbytes_{name}"), true, nbytes);
            }
        }
        let len = self.out.trim_end().len();
        self.out.truncate(len);
        self.out.push('\n');
        self.out
    }

    /// Prints a one-line comment. Escapes characters that could end the comment or change the
    /// direction of its text.
    fn comment(&mut self, text: &str) {
        let mut shown = String::new();
        for character in text.chars() {
            if character.is_alphanumeric() || character == ' ' || character.is_ascii_graphic() {
                shown.push(character);
            } else {
                shown.extend(character.escape_unicode());
            }
        }
        let _ = match self.language {
            Language::C => {
                let shown = shown.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?");
                writeln!(self.out, "\n/* {shown} */")
            }
            // This is not a doc comment, because it describes two functions, and either of them may
            // be missing.
            Language::Rust => writeln!(self.out, "\n// {shown}"),
            Language::Python => writeln!(self.out, "# {shown}"),
        };
    }

    /// Prints the function that computes a term.
    fn term_function(&mut self, id: u32) {
        let sums = match self.terms.get(id) {
            Term::Up(sum, _) | Term::Value(sum) => vec![sum],
            Term::Place(sum, _, other) | Term::Max(sum, other) => vec![sum, other],
        };
        let needed = self.terms.needed(&sums);
        let value = self.term(id);
        self.body(&format!("dudley_t{id}"), false, &needed, &value);
    }

    fn function(&mut self, name: &str, is_public: bool, sum: &Sum) {
        let needed = self.terms.needed(&[sum]);
        let value = self.sum(sum);
        self.body(name, is_public, &needed, &value);
    }

    fn body(&mut self, name: &str, is_public: bool, needed: &[u32], value: &str) {
        let lines: Vec<(u32, String)> = needed.iter().map(|&id| (id, self.local(id))).collect();
        let params = |before: &str, after: &str| {
            let all: Vec<String> =
                self.params.iter().map(|name| format!("{before}{name}{after}")).collect();
            all.join(", ")
        };
        let out = &mut self.out;
        let _ = match self.language {
            Language::C => {
                let list =
                    if self.params.is_empty() { "void".into() } else { params("int64_t ", "") };
                let mut body = String::new();
                for name in &self.params {
                    let _ = writeln!(body, "    (void){name};");
                }
                for (id, line) in &lines {
                    let _ = writeln!(body, "    const uint64_t t{id} = {line};");
                }
                let _ = writeln!(out, "static inline uint64_t {name}({list}) {{");
                writeln!(out, "{body}    return {value};\n}}")
            }
            Language::Rust => {
                let public = if is_public { "pub " } else { "" };
                let _ = writeln!(
                    out,
                    "#[allow(dead_code, non_snake_case, unused_parens, unused_variables)]"
                );
                let _ = writeln!(out, "{public}fn {name}({}) -> u64 {{", params("", ": i64"));
                for (id, line) in &lines {
                    let _ = writeln!(out, "    let t{id} = {line};");
                }
                writeln!(out, "    {value}\n}}")
            }
            Language::Python => {
                let _ = writeln!(out, "def {name}({}):", params("", ""));
                for (id, line) in &lines {
                    let _ = writeln!(out, "    t{id} = {line}");
                }
                writeln!(out, "    return {value}\n")
            }
        };
    }

    /// Returns the expression for a term. If the term has a function, the expression is a call.
    fn local(&self, id: u32) -> String {
        if self.terms.is_function(id) {
            return format!("dudley_t{id}({})", self.params.join(", "));
        }
        self.term(id)
    }

    fn term(&self, id: u32) -> String {
        match self.terms.get(id) {
            Term::Up(sum, align) => format!("dudley_up({}, {align})", self.sum(sum)),
            Term::Place(sum, align, nbytes) => {
                format!("dudley_place({}, {align}, {})", self.sum(sum), self.sum(nbytes))
            }
            Term::Max(a, b) => format!("dudley_max({}, {})", self.sum(a), self.sum(b)),
            Term::Value(sum) => self.sum(sum),
        }
    }

    /// Returns the expression for a sum, such as `8 * dudley_dim(N, 0) + 16`.
    fn sum(&self, sum: &Sum) -> String {
        let mut parts = Vec::new();
        for (factors, &number) in sum.products.iter().filter(|(_, number)| **number > 0) {
            let own = (number != 1).then(|| number.to_string());
            let factors = factors.iter().map(|factor| match *factor {
                Factor::Dim(param, suffix) => {
                    format!("dudley_dim({}, {suffix})", self.params[param])
                }
                Factor::Term(id) => format!("t{id}"),
            });
            let all: Vec<String> = own.into_iter().chain(factors).collect();
            parts.push(all.join(" * "));
        }
        if sum.constant > 0 || parts.is_empty() {
            parts.push(sum.constant.to_string());
        }
        parts.join(" + ")
    }
}
