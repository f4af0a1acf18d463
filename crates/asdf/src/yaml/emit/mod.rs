//! Writing YAML like libyaml, which writes the files of the reference implementation: choosing the
//! style of a scalar in its context, and breaking scalars into lines.

mod scalar;
mod text;

pub(crate) use scalar::{Place, default_style, float_text, possible_style, repr};
pub(crate) use text::{TextBuilder, WIDTH, encode_tag};
