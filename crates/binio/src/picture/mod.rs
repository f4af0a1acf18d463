//! Drawing two-dimensional arrays as pictures, and one-dimensional arrays as curves.
//!
//! ```text
//! bytes of the elements ──► Reducer ──► Plane   means of square blocks, or NaN if missing
//!                                         │
//!                       Stretch (limits and scale), then ColorMap
//!                                         ▼
//!                                   RGBA pixels
//! bytes of the elements ──► Values ──► Curve    statistics, and the extremes of each column
//! ```
//!
//! The elements are passed in the layout of a `.npy` file, without the header. Every format can
//! produce these bytes in one pass and with little memory. This module does not depend on terminals
//! or image file formats.
//!
//! ```
//! use binio::array::{Datatype, Order};
//! use binio::picture::{ColorMap, Reducer, Stretch};
//!
//! let mut reducer = Reducer::new(&Datatype::parse("<u2")?, &[2, 4], Order::C, 2)?;
//! reducer.push(&[0, 0, 2, 0, 10, 0, 20, 0, 4, 0, 6, 0, 10, 0, 20, 0]);
//! let plane = reducer.finish();
//! assert_eq!((plane.width(), plane.height(), plane.values()), (2, 1, &[3.0, 15.0][..]));
//! let pixels = plane.to_rgba(&Stretch::default(), ColorMap::Grey);
//! assert_eq!(pixels, [0, 0, 0, 255, 255, 255, 255, 255]);
//! # Ok::<(), binio::array::ElementsError>(())
//! ```

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "brightness is rounded to 8 bits; indices are smaller than vectors in memory"
)]
#![cfg_attr(test, allow(clippy::float_cmp, reason = "the expected values are exact"))]

mod colors;
mod curve;
mod npy;
mod reduce;
mod stretch;
mod values;

pub use colors::ColorMap;
pub use curve::{Curve, Span};
pub use reduce::{Plane, Reducer};
pub use stretch::{Range, Scale, Stretch};
pub use values::Values;
