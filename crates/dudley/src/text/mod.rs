//! The syntax of layouts: splitting text into tokens and parsing them into a tree. Names are not resolved at
//! this level.
//!
//! The tree is a list of nodes in source order, 12 bytes each. Lists, structs, the summary and
//! dicts in lists each have one node at the beginning and one at the end, so a reader can process
//! the tree in one walk over the list.
//!
//! ```text
//! layout   [Order] [SummaryOpen ([Align] member* SummaryClose | Broken)] item*
//! item     Top | Up | Name (Dict | Data data | Param param | list | struct | Extend place+ | Broken)
//! list     ListOpen (Element (data | list | DictOpen item* DictClose | Broken))* ListClose
//! struct   StructOpen [Align] member* StructClose
//! member   Name (Data data | Param param | Broken) | Unnamed (Data data | Broken)
//! data     ([Mark] Type | struct) (Dim | DimName [Suffix])* [(Compress | Reference) Argument*] [place]
//! param    Integer | data
//! place    At | Align
//! ```
//!
//! A `Broken` node replaces the rest of an item, member or element that has an error, and the rest of a summary
//! that cannot be parsed up to its `}`. All other constructs are complete.

mod expect;
mod foreign;
mod format;
mod lex;
mod parse;
pub(crate) mod quote;
mod tree;

pub(crate) use expect::short;
pub(crate) use foreign::primitive_of;
pub(crate) use lex::is_word;

pub use format::format;
pub use lex::{Lexer, TokenKind};
pub use tree::{Comment, Node, NodeKind, Token, Tree};

pub use crate::source::{Encoding, Span};

/// Returns the value of an integer token, or `None` if it is above 2^63-1.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if let [b'0', b'x' | b'X', ..] = bytes {
        return i64::from_str_radix(&text[2..], 16).ok();
    }
    // A number of up to 18 digits cannot overflow. Most integers have one or two digits, for which `parse`
    // would take three times as long.
    if bytes.len() > 18 {
        return text.parse().ok();
    }
    Some(bytes.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}
