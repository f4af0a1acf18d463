//! Converting C structs to layouts.
//!
//! ```text
//! file       { [typedef] specifier [declarator {"," declarator}] ";" }
//! specifier  arithmetic type | struct [tag] ["{" member* "}"] | enum [tag] ["{" .. "}"] | name of a typedef
//! declarator name { "[" constant "]" }
//! ```
//!
//! C and Dudley align members in the same way, so most members need no placement.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::error::{Error, ErrorKind};
use crate::text::{format, primitive_of, quote};

/// Maximum nesting depth of structs, and of parentheses in constants.
const MAX_DEPTH: u32 = 100;

/// Maximum length of the text of a struct, in bytes. The text of an unnamed struct is copied wherever the
/// struct is used, so the length may double with each level of nesting.
const MAX_TEXT: usize = 1 << 24;

/// Converts plain C structs to a layout. Each struct with a name becomes a named type, and each variable at
/// file scope becomes an item. Types have the same sizes as on 64-bit Unix, where `long` has 8 bytes. A
/// comment on the line of a member or variable becomes its documentation. Numbers defined by `#define` can be
/// used as lengths. `#pragma pack` is an error, and other preprocessor directives are skipped.
///
/// ```
/// let layout = dudley::import::from_c("
///     #define DIMS 3
///     struct particle {
///         int id;
///         double pos[DIMS];  /* (cm) position */
///         char label[5];
///     };
///     struct particle all[100];
/// ")?;
/// assert_eq!(layout, "\
/// particle {
///   id = i4
///   pos = f8[3]  ## (cm) position
///   label = S1[5]
/// }
/// all = particle[100]
/// ");
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Foreign`](ErrorKind::Foreign) for syntax errors, for pointers, which have no meaning in a file,
/// and for other unsupported declarations, such as unions, bit-fields and functions. Fails with
/// [`Layout`](ErrorKind::Layout) if an array has more than 255 dimensions.
pub fn from_c(text: &str) -> Result<String, Error> {
    let mut parser = Parser { tokens: Tokens::of(text)?, ..Parser::default() };
    while parser.peek().is_some() {
        parser.declaration()?;
    }
    format(parser.out)
}

fn fail<T>(line: u32, message: impl Into<String>) -> Result<T, Error> {
    Err(ErrorKind::Foreign { language: "C", line, message: message.into() }.into())
}

#[derive(Clone, Debug)]
struct Token {
    text: String,
    line: u32,
}

/// The tokens of a C source file, with its comments by line number and its numeric constants.
#[derive(Default)]
struct Tokens {
    list: Vec<Token>,
    comments: HashMap<u32, String>,
    constants: HashMap<String, i64>,
}

impl Tokens {
    fn of(text: &str) -> Result<Self, Error> {
        let mut tokens = Self::default();
        let (mut rest, mut line) = (text, 1);
        while let Some(first) = rest.chars().next() {
            let is_first = tokens.list.last().is_none_or(|last| last.line < line);
            let len = if let Some(comment) = rest.strip_prefix("//") {
                let len = comment.find('\n').unwrap_or(comment.len());
                tokens.comments.insert(line, comment[..len].trim().to_owned());
                len + 2
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(len) = comment.find("*/") else {
                    return fail(line, "unterminated comment");
                };
                let first = comment[..len].lines().next().unwrap_or_default();
                tokens.comments.insert(line, first.trim_matches(['*', ' ', '\t']).to_owned());
                len + 4
            } else if first == '#' && is_first {
                tokens.directive(rest, line)?
            } else if first.is_whitespace() {
                first.len_utf8()
            } else {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let len = if word > 0 { word } else { first.len_utf8() };
                tokens.list.push(Token { text: rest[..len].to_owned(), line });
                len
            };
            let (taken, after) = rest.split_at(len);
            line += u32::try_from(taken.matches('\n').count()).unwrap_or_default();
            rest = after;
        }
        Ok(tokens)
    }

    /// Processes the preprocessor directive at the start of `rest`. Returns its length in bytes.
    fn directive(&mut self, rest: &str, line: u32) -> Result<usize, Error> {
        let mut len = 0;
        for part in rest.split_inclusive('\n') {
            len += part.len();
            if !part.trim_end().ends_with('\\') {
                break;
            }
        }
        let mut words = rest[1..len].split_whitespace();
        match (words.next(), words.next()) {
            (Some("define"), Some(name)) => {
                if let Some(value) = words.next().and_then(number) {
                    self.constants.insert(name.to_owned(), value);
                }
            }
            (Some("pragma"), Some(pack)) if pack.starts_with("pack") => {
                return fail(
                    line,
                    "`#pragma pack` is not supported: write `%1` after each member in the layout",
                );
            }
            _ => {}
        }
        Ok(len)
    }
}

/// Parses a decimal, octal or hexadecimal integer in C syntax. Returns `None` if the text is not an
/// integer.
fn number(text: &str) -> Option<i64> {
    let text = text.trim_matches(['(', ')']).trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => i64::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    }
}

/// A C type, as written in the layout.
#[derive(Clone, Default)]
struct Type {
    text: String,
    /// The dimensions of the typedef, if the type is an array.
    dims: Vec<i64>,
    /// The placement that members of this type need if C and Dudley align the type differently,
    /// otherwise empty.
    place: &'static str,
    /// The tag of a struct. `is_new` is set until the struct is declared in the layout.
    tag: Option<String>,
    is_new: bool,
}

impl Type {
    fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

#[derive(Default)]
struct Parser {
    tokens: Tokens,
    at: usize,
    depth: u32,
    /// Types by typedef name or `struct tag`.
    types: HashMap<String, Type>,
    out: String,
}

impl Parser {
    fn peek(&self) -> Option<&str> {
        self.tokens.list.get(self.at).map(|token| &*token.text)
    }

    fn line(&self) -> u32 {
        let token = self.tokens.list.get(self.at).or(self.tokens.list.last());
        token.map_or(1, |token| token.line)
    }

    fn skip(&mut self, text: &str) -> bool {
        let is_it = self.peek() == Some(text);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, text: &str) -> Result<(), Error> {
        if self.skip(text) {
            return Ok(());
        }
        self.unexpected(&format!("`{text}`"))
    }

    /// Returns the error for an unexpected token.
    fn unexpected<T>(&self, expected: &str) -> Result<T, Error> {
        let message = match self.peek() {
            Some("*") => {
                "pointers are not supported, because they have no meaning in a file".to_owned()
            }
            Some(":") => {
                "bit-fields are not supported, because their layout depends on the compiler"
                    .to_owned()
            }
            Some("(") => "only structs and variables are supported, not functions".to_owned(),
            Some(found) => format!("expected {expected}, found `{found}`"),
            None => format!("expected {expected}, found the end of the text"),
        };
        fail(self.line(), message)
    }

    fn name(&mut self) -> Option<String> {
        let is_start = |first: char| first.is_alphabetic() || first == '_';
        let name = self.peek().filter(|text| text.starts_with(is_start))?.to_owned();
        self.at += 1;
        Some(name)
    }

    fn declaration(&mut self) -> Result<(), Error> {
        if self.skip(";") {
            return Ok(());
        }
        let is_typedef = self.skip("typedef");
        let mut datatype = self.specifier()?;
        let mut names = Vec::new();
        while self.peek() != Some(";") {
            names.push(self.declarator()?);
            if !self.skip(",") {
                break;
            }
        }
        let line = self.line();
        self.expect(";")?;
        if datatype.is_new {
            // Prefer the name of the typedef, which users know better than the tag.
            let plain = names.iter().find(|(_, dims)| is_typedef && dims.is_empty());
            let name = plain.map(|(name, _)| name.clone()).or(datatype.tag.clone());
            if let Some(name) = name {
                self.define(&name, &mut datatype);
            }
        }
        for (name, dims) in names {
            let mut of_name = datatype.clone();
            of_name.dims = [&dims[..], &datatype.dims].concat();
            if is_typedef {
                self.types.insert(name, of_name);
            } else {
                let (text, docs) = (declared(&name, &of_name, of_name.place), self.docs(line));
                let _ = writeln!(self.out, "{text}{docs}");
            }
        }
        Ok(())
    }

    /// Declares a named type in the layout, and replaces the text of the type with its name.
    fn define(&mut self, name: &str, datatype: &mut Type) {
        let mut quoted = String::new();
        quote::push_name(&mut quoted, name);
        let _ = writeln!(self.out, "{quoted} {}", datatype.text);
        (datatype.text, datatype.is_new) = (quoted, false);
        if let Some(tag) = &datatype.tag {
            self.types.insert(format!("struct {tag}"), datatype.clone());
        }
    }

    /// Removes the comment on a line, and returns it as documentation for the layout. Returns an
    /// empty string if there is no comment.
    fn docs(&mut self, line: u32) -> String {
        let docs = self.tokens.comments.remove(&line).filter(|docs| !docs.is_empty());
        let docs = docs.map(|docs| docs.replace(char::is_control, " "));
        docs.map(|docs| format!("  ## {}", docs.trim_start_matches('#'))).unwrap_or_default()
    }

    fn specifier(&mut self) -> Result<Type, Error> {
        let mut words: Vec<String> = Vec::new();
        loop {
            let line = self.line();
            let Some(word) = self.peek() else { break };
            match word {
                "const" | "volatile" | "static" | "extern" | "register" => self.at += 1,
                "struct" if words.is_empty() => return self.structure(),
                "enum" if words.is_empty() => return self.enumeration(),
                "union" => {
                    return fail(
                        line,
                        "unions are not supported: replace the union with one of its members",
                    );
                }
                "signed" | "unsigned" | "char" | "short" | "int" | "long" | "float" | "double"
                | "_Complex" | "complex" | "_Bool" | "bool" => {
                    words.push(word.to_owned());
                    self.at += 1;
                }
                _ if !words.is_empty() => break,
                _ => {
                    if let Some(known) = self.types.get(word).cloned() {
                        self.at += 1;
                        return Ok(known);
                    }
                    let primitive = primitive_of(word).filter(|_| word.ends_with("_t"));
                    let Some(primitive) = primitive else {
                        return fail(line, format!("no type named `{word}`"));
                    };
                    self.at += 1;
                    return Ok(Type::of(primitive));
                }
            }
        }
        self.numeric(&words)
    }

    /// Converts the keywords of an arithmetic type, such as `unsigned long int`.
    fn numeric(&self, words: &[String]) -> Result<Type, Error> {
        let has = |word: &str| words.iter().any(|found| found == word);
        let longs = words.iter().filter(|word| *word == "long").count();
        let is_complex = has("_Complex") || has("complex");
        let letter = if has("unsigned") { "u" } else { "i" };
        let size = match () {
            () if has("double") && longs > 0 => {
                return fail(self.line(), "no Dudley type corresponds to `long double`");
            }
            () if has("double") && is_complex => return Ok(Type::of("c16")),
            () if has("double") => return Ok(Type::of("f8")),
            () if has("float") && is_complex => {
                return Ok(Type { place: " %4", ..Type::of("c8") });
            }
            () if has("float") => return Ok(Type::of("f4")),
            () if has("_Bool") || has("bool") => return Ok(Type::of("b1")),
            () if has("char") && !has("signed") && !has("unsigned") => return Ok(Type::of("S1")),
            () if has("char") => 1,
            () if has("short") => 2,
            () if longs > 0 => 8,
            () if words.is_empty() || is_complex => return fail(self.line(), "expected a type"),
            () => 4,
        };
        Ok(Type::of(format!("{letter}{size}")))
    }

    /// Parses an enumeration, such as `enum tag { A, B = 4 }`. Returns the type `int`, and adds the
    /// enumerators to the constants.
    fn enumeration(&mut self) -> Result<Type, Error> {
        self.at += 1;
        self.name();
        if self.skip("{") {
            let mut next = 0;
            while let Some(name) = self.name() {
                if self.skip("=") {
                    next = self.constant(0)?;
                }
                self.tokens.constants.insert(name, next);
                next = next.wrapping_add(1);
                if !self.skip(",") {
                    break;
                }
            }
            self.expect("}")?;
        }
        Ok(Type::of("i4"))
    }

    /// If `__attribute__((packed))` comes next, skips it and returns `true`. Fails for other
    /// attributes.
    fn is_packed(&mut self) -> Result<bool, Error> {
        if !self.skip("__attribute__") {
            return Ok(false);
        }
        let line = self.line();
        let words: Vec<&str> =
            self.tokens.list[self.at..].iter().take(5).map(|token| &*token.text).collect();
        match words[..] {
            ["(", "(", "packed" | "__packed__", ")", ")"] => {
                self.at += 5;
                Ok(true)
            }
            _ => fail(line, "the only supported attribute is `packed`"),
        }
    }

    fn structure(&mut self) -> Result<Type, Error> {
        self.at += 1;
        let mut is_packed = self.is_packed()?;
        let line = self.line();
        let tag = self.name();
        if !self.skip("{") {
            let Some(tag) = tag else { return fail(line, "expected `{` or the name of a struct") };
            return match self.types.get(&format!("struct {tag}")) {
                Some(known) => Ok(known.clone()),
                None if self.peek() == Some("*") => {
                    fail(line, "pointers are not supported, because they have no meaning in a file")
                }
                // A declaration without a definition, such as `struct s;`, adds nothing to the layout.
                None if self.peek() == Some(";") => Ok(Type::of("{}")),
                None => fail(line, format!("struct `{tag}` is not defined before its use")),
            };
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return fail(line, format!("structs nest deeper than {MAX_DEPTH} levels"));
        }
        let mut members = Vec::new();
        while !self.skip("}") {
            self.members(&mut members)?;
        }
        self.depth -= 1;
        is_packed |= self.is_packed()?;
        let mut text = "{\n".to_owned();
        for (name, datatype, docs) in &members {
            let place = if is_packed { " %1" } else { datatype.place };
            let _ = writeln!(text, "{}{docs}", declared(name, datatype, place));
        }
        text.push('}');
        if text.len() > MAX_TEXT {
            return fail(line, format!("the layout text of a struct exceeds {MAX_TEXT} bytes"));
        }
        Ok(Type { tag, is_new: true, ..Type::of(text) })
    }

    fn members(&mut self, members: &mut Vec<(String, Type, String)>) -> Result<(), Error> {
        let mut datatype = self.specifier()?;
        if let Some(tag) = datatype.tag.clone().filter(|_| datatype.is_new) {
            self.define(&tag, &mut datatype);
        }
        let first = members.len();
        loop {
            let (name, dims) = self.declarator()?;
            let dims = [&dims[..], &datatype.dims].concat();
            members.push((name, Type { dims, ..datatype.clone() }, String::new()));
            if !self.skip(",") {
                break;
            }
        }
        let line = self.line();
        self.expect(";")?;
        members[first].2 = self.docs(line);
        Ok(())
    }

    fn declarator(&mut self) -> Result<(String, Vec<i64>), Error> {
        let Some(name) = self.name() else { return self.unexpected("a name") };
        let mut dims = Vec::new();
        while self.skip("[") {
            if self.peek() == Some("]") {
                return fail(
                    self.line(),
                    format!(
                        "the length of `{name}` is not stated: expected a number between `[` and `]`"
                    ),
                );
            }
            let (line, dim) = (self.line(), self.constant(0)?);
            if dim < 0 {
                return fail(line, format!("the length of `{name}` is {dim}, expected at least 0"));
            }
            dims.push(dim);
            self.expect("]")?;
        }
        Ok((name, dims))
    }

    /// Evaluates a constant expression, which consists of numbers, named constants, `+`, `-`, `*` and
    /// parentheses.
    fn constant(&mut self, depth: u32) -> Result<i64, Error> {
        let mut sum = self.product(depth)?;
        loop {
            let sign = match self.peek() {
                Some("+") => 1,
                Some("-") => -1,
                _ => return Ok(sum),
            };
            self.at += 1;
            sum = self.product(depth)?.saturating_mul(sign).saturating_add(sum);
        }
    }

    fn product(&mut self, depth: u32) -> Result<i64, Error> {
        let mut product = self.factor(depth)?;
        while self.skip("*") {
            product = product.saturating_mul(self.factor(depth)?);
        }
        Ok(product)
    }

    fn factor(&mut self, depth: u32) -> Result<i64, Error> {
        let line = self.line();
        if depth > MAX_DEPTH {
            return fail(line, format!("the constant nests deeper than {MAX_DEPTH} levels"));
        }
        if self.skip("(") {
            let value = self.constant(depth + 1)?;
            self.expect(")")?;
            return Ok(value);
        }
        if self.skip("-") {
            return Ok(self.factor(depth + 1)?.saturating_neg());
        }
        let Some(text) = self.peek() else { return self.unexpected("a constant") };
        match number(text).or_else(|| self.tokens.constants.get(text).copied()) {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => fail(line, format!("`{text}` is not a constant")),
        }
    }
}

/// Returns a declaration in the layout language: `name = type[dims] place`.
fn declared(name: &str, datatype: &Type, place: &str) -> String {
    let mut text = String::new();
    quote::push_name(&mut text, name);
    let _ = write!(text, " = {}", datatype.text);
    if !datatype.dims.is_empty() {
        let dims: Vec<String> = datatype.dims.iter().map(ToString::to_string).collect();
        let _ = write!(text, "[{}]", dims.join(", "));
    }
    text + place
}
