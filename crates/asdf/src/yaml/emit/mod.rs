//! Writing YAML in the style of libyaml, which the reference implementation uses: choosing the
//! style of a scalar in its context, and breaking scalars into lines.

mod scalar;
mod text;

pub(crate) use scalar::{Place, default_style, float_text, possible_style, repr};
pub(crate) use text::{TextBuilder, WIDTH, encode_tag};
