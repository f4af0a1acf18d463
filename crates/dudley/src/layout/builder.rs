//! Building layouts in programs.
//!
//! A builder writes the text of a layout, and then parses it. Built layouts therefore follow the
//! same rules as layouts written by hand, and errors show the text that was built.

use std::fmt::Write as _;

use crate::error::Error;
use crate::layout::{Argument, Attribute, Layout, Order, Placement, Value, attributes};
use crate::text::quote;

/// A builder for a layout or struct. Its methods add items to the current dict, or fields to the
/// struct, one after another.
///
/// ```
/// use dudley::layout::ArrayBuilder;
/// use dudley::{Builder, Layout};
///
/// let layout = Builder::new()
///     .stored("N", "i8")
///     .dict("grid")
///     .data("x", ArrayBuilder::of("f8").named_dim("N", 1).dim(3))
///     .docs("(cm) nodes")
///     .up()
///     .list("l", |list| list.data(ArrayBuilder::of("f4").compress("gzip", &[])))
///     .build()?;
/// let text = "N : i8  grid/ x = f8[N+, 3]  ## (cm) nodes\n.. l [f4 -> gzip]";
/// assert_eq!(layout, Layout::parse(text)?);
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    text: String,
}

/// A builder for the elements of a list.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ListBuilder {
    text: String,
}

/// An array declaration: `datatype[shape] filter placement`.
#[derive(Clone, Debug)]
#[must_use]
pub struct ArrayBuilder {
    datatype: String,
    dims: Vec<String>,
    rest: String,
}

fn name_and(name: &str, rest: &str) -> String {
    let mut text = String::new();
    quote::push_name(&mut text, name);
    text + rest
}

/// Returns the text of a type, quoted if needed. A leading `<`, `>` or `|` is a byte order prefix,
/// because these characters cannot begin a type name.
fn type_text(datatype: &str) -> String {
    let name = datatype.trim_start_matches(['<', '>', '|']);
    let (mark, name) = datatype.split_at(datatype.len() - name.len());
    mark.to_owned() + &name_and(name, "")
}

fn push_docs(out: &mut String, docs: &str) {
    for line in docs.lines() {
        // Split at carriage returns too, because they also end a comment.
        for line in line.split('\r') {
            let _ = write!(out, "  ## {}", line.trim());
            out.push('\n');
        }
    }
}

fn push_attribute(out: &mut String, name: &str, value: Value) {
    out.push_str("  #: ");
    attributes::push(out, &Attribute { name: name.to_owned(), value });
    out.push('\n');
}

/// Adds methods for documentation and attributes, which usually apply to the last declaration.
macro_rules! comments {
    ($($Builder:ident: $docs:literal $attribute:literal,)+) => {$(
        impl $Builder {
            #[doc = $docs]
            pub fn docs(mut self, docs: &str) -> Self {
                push_docs(&mut self.text, docs);
                self
            }

            #[doc = $attribute]
            pub fn attribute(mut self, name: &str, value: Value) -> Self {
                push_attribute(&mut self.text, name, value);
                self
            }
        }
    )+};
}

comments! {
    Builder:
        "Documents the last declaration. After [`up`](Self::up) or [`top`](Self::top), documents the dict to which they return. If nothing has been declared yet, documents the layout, struct or list element that is being built."
        "Adds an attribute to the last declaration. After [`up`](Self::up) or [`top`](Self::top), adds it to the dict to which they return. If nothing has been declared yet, adds it to the layout, struct or list element that is being built. Floats must be finite.",
    ListBuilder:
        "Documents the last element. If the builder has no elements yet, documents the list itself."
        "Adds an attribute to the last element. If the builder has no elements yet, adds it to the list itself. Floats must be finite.",
}

impl ArrayBuilder {
    /// Creates a scalar of a primitive or named type. A primitive type may have a byte order prefix, as in
    /// `<f8`.
    pub fn of(datatype: &str) -> Self {
        Self { datatype: type_text(datatype), dims: Vec::new(), rest: String::new() }
    }

    /// Creates a scalar of a primitive type with a byte order.
    pub fn ordered(order: Order, primitive: &str) -> Self {
        let mut array = Self::of(primitive);
        array.datatype.insert(0, order.mark());
        array
    }

    /// Creates a scalar of an anonymous struct.
    pub fn of_struct(fields: impl FnOnce(Builder) -> Builder) -> Self {
        let datatype = format!("{{{}}}", fields(Builder::default()).text);
        Self { datatype, dims: Vec::new(), rest: String::new() }
    }

    /// Adds a dimension that varies faster than the previous ones.
    pub fn dim(mut self, length: i64) -> Self {
        self.dims.push(length.to_string());
        self
    }

    /// Adds a dimension whose length is given by a parameter. A positive `suffix` is written as that many `+`
    /// signs after the name of the parameter, and a negative `suffix` as `-` signs.
    pub fn named_dim(mut self, param: &str, suffix: i32) -> Self {
        let sign = if suffix < 0 { "-" } else { "+" };
        self.dims.push(name_and(param, &sign.repeat(suffix.unsigned_abs() as usize)));
        self
    }

    /// Compresses the array: `-> filter(arguments)`.
    pub fn compress(self, filter: &str, arguments: &[Argument]) -> Self {
        self.filter(" -> ", filter, arguments)
    }

    /// Declares the elements as references to items: `<- filter(arguments)`.
    pub fn reference(self, filter: &str, arguments: &[Argument]) -> Self {
        self.filter(" <- ", filter, arguments)
    }

    fn filter(mut self, arrow: &str, filter: &str, arguments: &[Argument]) -> Self {
        self.rest.push_str(arrow);
        quote::push_name(&mut self.rest, filter);
        if !arguments.is_empty() {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let _ = write!(self.rest, "({})", arguments.join(", "));
        }
        self
    }

    /// Sets the placement. Must be called after all other methods.
    pub fn placed(mut self, placement: Placement) -> Self {
        let _ = write!(self.rest, " {placement}");
        self
    }

    fn into_text(self) -> String {
        let dims = if self.dims.is_empty() {
            String::new()
        } else {
            format!("[{}]", self.dims.join(", "))
        };
        format!("{}{dims}{}", self.datatype, self.rest)
    }
}

impl Builder {
    /// Creates a builder for an empty layout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a builder that contains an existing layout. Further items are added to its root.
    pub fn from_layout(layout: &Layout) -> Self {
        Self { text: format!("{layout}/\n") }
    }

    /// States the byte order of the layout. Must be called before all other methods.
    pub fn order(mut self, order: Order) -> Self {
        let _ = writeln!(self.text, "{order}");
        self
    }

    /// Adds the summary block. Must be called before anything else is declared.
    pub fn summary(mut self, fields: impl FnOnce(Builder) -> Builder) -> Self {
        let _ = writeln!(self.text, "{{{}}}", fields(Builder::default()).text);
        self
    }

    /// Sets the alignment of a struct. Must be called before the first field is declared.
    pub fn align(mut self, align: u64) -> Self {
        let _ = writeln!(self.text, "%{align}");
        self
    }

    fn line(mut self, name: &str, rest: &str) -> Self {
        self.text.push_str(&name_and(name, rest));
        self.text.push('\n');
        self
    }

    /// Adds a data item to the current dict, or a member to the struct.
    pub fn data(self, name: &str, array: ArrayBuilder) -> Self {
        self.line(name, &format!(" = {}", array.into_text()))
    }

    /// Adds a fixed parameter.
    pub fn fixed(self, name: &str, value: i64) -> Self {
        self.line(name, &format!(" : {value}"))
    }

    /// Adds a parameter stored in the stream. `integer` is its type, written as for [`ArrayBuilder::of`].
    pub fn stored(self, name: &str, integer: &str) -> Self {
        self.line(name, &format!(" : {}", type_text(integer)))
    }

    /// Like [`stored`](Self::stored), but also states the placement of the parameter.
    pub fn stored_at(self, name: &str, integer: &str, placement: Placement) -> Self {
        self.line(name, &format!(" : {} {placement}", type_text(integer)))
    }

    /// Adds a named struct type.
    pub fn named_type(self, name: &str, fields: impl FnOnce(Builder) -> Builder) -> Self {
        self.line(name, &format!(" {{{}}}", fields(Builder::default()).text))
    }

    /// Enters a dict, and creates it if it does not exist.
    pub fn dict(self, name: &str) -> Self {
        self.line(name, "/")
    }

    /// Returns to the enclosing dict.
    pub fn up(mut self) -> Self {
        self.text.push_str("..\n");
        self
    }

    /// Returns to the root or, within a list element, to the outermost dict of the element.
    pub fn top(mut self) -> Self {
        self.text.push_str("/\n");
        self
    }

    /// Adds a list, or appends elements to an existing list.
    pub fn list(self, name: &str, elements: impl FnOnce(ListBuilder) -> ListBuilder) -> Self {
        self.line(name, &format!(" [{}]", elements(ListBuilder::default()).text))
    }

    /// Adds a copy of the last element of a list, with another placement.
    pub fn extend(self, list: &str, placement: Placement) -> Self {
        self.line(list, &format!(" {placement}"))
    }

    /// Returns the layout text that has been built so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses and checks the text that has been built, and returns the layout.
    ///
    /// # Errors
    ///
    /// Same as [`Layout::parse`].
    pub fn build(&self) -> Result<Layout, Error> {
        Layout::parse(&self.text)
    }
}

impl ListBuilder {
    fn element(mut self, text: &str) -> Self {
        let _ = write!(self.text, "\n{text},");
        self
    }

    /// Adds an array as an element.
    pub fn data(self, array: ArrayBuilder) -> Self {
        self.element(&array.into_text())
    }

    /// Adds a list as an element.
    pub fn list(self, elements: impl FnOnce(Self) -> Self) -> Self {
        self.element(&format!("[{}]", elements(Self::default()).text))
    }

    /// Adds a dict as an element.
    pub fn dict(self, items: impl FnOnce(Builder) -> Builder) -> Self {
        self.element(&format!("/ {}", items(Builder::default()).text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_layout_equals_a_parsed_layout_with_the_same_declarations() {
        let layout = Builder::new()
            .order(Order::Big)
            .summary(|fields| {
                fields.stored("N", "<i4").docs("count").data("time", ArrayBuilder::of("f8"))
            })
            .named_type("str", |fields| {
                fields.align(4).stored("L", "u4").data("", ArrayBuilder::of("S1").named_dim("L", 0))
            })
            .data("a b", ArrayBuilder::of("str").dim(3).placed(Placement::Align(8)))
            .attribute("units", Value::Text("\"\n".to_owned()))
            .list("l", |list| {
                list.docs("all")
                    .data(ArrayBuilder::ordered(Order::Little, "f8"))
                    .docs("one")
                    .list(|list| {
                        list.dict(|dict| {
                            dict.fixed("M", -1)
                                .dict("d")
                                .data("x", ArrayBuilder::of("i1").named_dim("M", -2))
                        })
                    })
                    .data(ArrayBuilder::of("i1"))
            })
            .extend("l", Placement::Align(0))
            .dict("g")
            .data("r", ArrayBuilder::of("i8").dim(2).reference("ref", &[]))
            .data("z", ArrayBuilder::of("f8").dim(9).compress("zfp", &[Argument::Float(1e-6)]))
            .build()
            .unwrap();
        let text = "> {N : <i4 ## count\n time = f8} str {%4 L : u4 \"\" = S1[L]} 'a b' = str[3] %8\n\
            #: units='\"\\n'\n l [ ## all\n <f8, ## one\n [/M : -1 d/ x = i1[M--]], i1] l %0 \
            g/ r = i8[2] <- ref z = f8[9] -> zfp(1e-6)";
        assert_eq!(layout, Layout::parse(text).unwrap());
        let more =
            Builder::from_layout(&layout).data("last", ArrayBuilder::of("f8")).build().unwrap();
        assert_eq!(more, Layout::parse(format!("{text} / last = f8")).unwrap());
    }

    #[test]
    fn building_a_layout_with_an_undefined_type_fails() {
        let error = Builder::new().data("x", ArrayBuilder::of("foo")).build().unwrap_err();
        assert_eq!(error.code(), Some(crate::diagnostic::Code::UndefinedType));
    }
}
