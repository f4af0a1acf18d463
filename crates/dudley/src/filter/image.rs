//! Arrays of shape `[height, width]` or `[height, width, channels]` as images.

use binio::array::ScalarKind;
use binio::diagnostic::count;

use super::registry::{Declared, FilterError};
use crate::layout::Argument;

/// The size of an image and of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Number of samples per pixel.
    pub(super) channels: u8,
    /// Number of bytes per sample.
    pub(super) bytes: u8,
}

impl Image {
    /// Interprets an array as an image. The elements must be unsigned integers, and their size in
    /// bytes must be one of `sizes`. If there is a third dimension, its length must be one of
    /// `colours`.
    pub(super) fn of(
        declared: &Declared<'_>,
        sizes: &[u8],
        colours: &[u8],
    ) -> Result<Self, FilterError> {
        let scalar = declared.datatype.as_scalar();
        let scalar = scalar.filter(|scalar| scalar.kind() == ScalarKind::Uint);
        let bytes = scalar.and_then(|scalar| {
            sizes.iter().copied().find(|&size| u64::from(size) == scalar.size())
        });
        let Some(bytes) = bytes else {
            let names: Vec<String> = sizes.iter().map(|size| format!("u{size}")).collect();
            let expected = names.join(" or ");
            return Err(FilterError::new(format!("expected the type {expected}")));
        };
        let channels = match declared.shape {
            [_, _] => Some(1),
            &[_, _, last] => colours.iter().copied().find(|&count| u64::from(count) == last),
            _ => None,
        };
        let Some(channels) = channels else {
            let counts: Vec<String> = colours.iter().map(ToString::to_string).collect();
            let message = format!(
                "the shape is {:?}, expected [height, width] or [height, width, {}]",
                declared.shape,
                counts.join(" or ")
            );
            return Err(FilterError::new(message));
        };
        let size = |len: u64| {
            u32::try_from(len).map_err(|_| {
                let most = u32::MAX;
                FilterError::new(format!(
                    "an image has at most {most} pixels in a row or column, not {len}"
                ))
            })
        };
        let (height, width) = (size(declared.shape[0])?, size(declared.shape[1])?);
        Ok(Self { width, height, channels, bytes })
    }

    /// Fails unless the image found in the stored bytes matches the declared image in size, number
    /// of channels and bytes per sample.
    pub(super) fn expect(self, found: Self) -> Result<(), FilterError> {
        if found == self {
            return Ok(());
        }
        let shown = |image: Self| {
            let Self { width, height, channels, bytes } = image;
            let (samples, bits) = (count(channels, "sample"), 8 * u32::from(bytes));
            format!("{height} x {width} pixels with {samples} of {bits} bits each")
        };
        Err(FilterError::new(format!("it has {}, expected {}", shown(found), shown(self))))
    }
}

/// Returns the argument of a filter, or `default` if the filter has no argument. Fails if the
/// argument is not an integer from 0 to `most`, or if there are several arguments. `what` describes
/// the argument in errors, as in `a level`.
pub(super) fn argument(
    declared: &Declared<'_>,
    what: &str,
    most: u8,
    default: u8,
) -> Result<u8, FilterError> {
    let value = match declared.arguments {
        [] => Some(default),
        &[Argument::Integer(value)] => u8::try_from(value).ok().filter(|&value| value <= most),
        _ => None,
    };
    value.ok_or_else(|| FilterError::new(format!("expected one argument, {what} from 0 to {most}")))
}
