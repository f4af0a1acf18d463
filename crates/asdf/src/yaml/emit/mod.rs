//! Writing YAML as libyaml does, which writes the files of the reference implementation: the style of
//! a scalar at its place, and scalars broken into lines.

mod scalar;
mod text;

pub(crate) use scalar::{Place, default_style, float_text, possible_style, repr};
pub(crate) use text::{TextBuilder, WIDTH, encode_tag};
