//! Error types for format crates, each of which defines its own kinds of errors.

use std::io;

use crate::Error;

/// The error kinds of a format, for use with [`error_type!`](crate::error_type).
pub trait FormatErrorKind: std::error::Error + Clone + Send + Sync + 'static {
    /// Converts an error of this crate. The error has no offset, because the format's error stores
    /// the offset itself. If the format has its own kinds for limits and system errors, convert
    /// such errors to these kinds.
    fn from_binio(error: Error) -> Self;

    /// Returns `true` if the file is at fault, rather than the machine, the caller or a limit. In
    /// this case, most commands exit with status 1 instead of 2.
    fn is_bad_data(&self) -> bool;

    /// Returns the system error, or `None` for any other kind of error.
    fn io_error(&self) -> Option<&io::Error>;

    /// Returns the kind of the `std::io::Error` to which the error is converted.
    fn io_kind(&self) -> io::ErrorKind {
        match self.io_error() {
            Some(error) => error.kind(),
            None if self.is_bad_data() => io::ErrorKind::InvalidData,
            None => io::ErrorKind::Other,
        }
    }
}

/// Defines the error type of a format, given the type of its error kinds. An error contains the
/// kind and the offset in the file, and is the size of a pointer.
///
/// ```
/// use std::{fmt, io};
///
/// #[derive(Clone, Debug)]
/// enum ErrorKind {
///     NoHeader,
///     Binio(binio::Error),
/// }
///
/// binio::error_type! {
///     /// The reason why a file cannot be read.
///     pub struct Error(ErrorKind);
/// }
///
/// impl binio::FormatErrorKind for ErrorKind {
///     fn from_binio(error: binio::Error) -> Self {
///         Self::Binio(error)
///     }
///     fn is_bad_data(&self) -> bool {
///         match self {
///             Self::NoHeader => true,
///             Self::Binio(error) => error.is_bad_data(),
///         }
///     }
///     fn io_error(&self) -> Option<&io::Error> {
///         match self {
///             Self::NoHeader => None,
///             Self::Binio(error) => error.io_error(),
///         }
///     }
/// }
///
/// impl fmt::Display for ErrorKind {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         match self {
///             Self::NoHeader => f.write_str("no header"),
///             Self::Binio(error) => error.fmt(f),
///         }
///     }
/// }
///
/// impl std::error::Error for ErrorKind {}
///
/// let error = Error::from(ErrorKind::NoHeader).at(12);
/// assert_eq!(format!("{error:?}"), "no header (offset 12)");
/// assert!(error.is_bad_data());
/// ```
#[macro_export]
macro_rules! error_type {
    ($(#[$meta:meta])* $vis:vis struct $Error:ident($Kind:ty);) => {
        $(#[$meta])*
        #[derive(Clone)]
        $vis struct $Error(::std::boxed::Box<($Kind, ::std::option::Option<u64>)>);

        #[allow(unreachable_pub, reason = "the error type may be private")]
        impl $Error {
            /// Creates an error without an offset.
            pub fn new(kind: $Kind) -> Self {
                Self(::std::boxed::Box::new((kind, ::std::option::Option::None)))
            }

            /// Sets the offset in the file unless it is already set, since the innermost offset is
            /// the most precise.
            #[must_use]
            pub fn at(mut self, offset: u64) -> Self {
                self.0.1.get_or_insert(offset);
                self
            }

            /// Returns the kind of failure.
            pub fn kind(&self) -> &$Kind {
                &self.0.0
            }

            /// Returns the offset in bytes from the start of the file, if known.
            pub fn offset(&self) -> ::std::option::Option<u64> {
                self.0.1
            }

            /// Returns `true` if the file is at fault, rather than the machine, the caller or a
            /// limit.
            pub fn is_bad_data(&self) -> bool {
                $crate::FormatErrorKind::is_bad_data(self.kind())
            }

            /// Returns the system error, or `None` for any other kind of error.
            pub fn io_error(&self) -> ::std::option::Option<&::std::io::Error> {
                $crate::FormatErrorKind::io_error(self.kind())
            }
        }

        /// Writes one line that ends with the offset. `{:#}` omits the offset.
        impl ::std::fmt::Display for $Error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::write!(f, "{}", self.kind())?;
                match self.offset() {
                    ::std::option::Option::Some(offset) if !f.alternate() => {
                        ::std::write!(f, " (offset {offset})")
                    }
                    _ => ::std::result::Result::Ok(()),
                }
            }
        }

        /// Writes the same text as `Display`, because a `main` that returns an error prints it with
        /// `Debug`.
        impl ::std::fmt::Debug for $Error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }

        impl ::std::error::Error for $Error {
            fn source(&self) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                ::std::error::Error::source(self.kind())
            }
        }

        impl ::std::convert::From<$Kind> for $Error {
            fn from(kind: $Kind) -> Self {
                Self::new(kind)
            }
        }

        impl ::std::convert::From<$crate::Error> for $Error {
            fn from(error: $crate::Error) -> Self {
                let (error, offset) = error.split_offset();
                let kind = <$Kind as $crate::FormatErrorKind>::from_binio(error);
                Self(::std::boxed::Box::new((kind, offset)))
            }
        }

        impl ::std::convert::From<::std::io::Error> for $Error {
            /// Converts a system error, or recovers an error of this type that was passed through
            /// `std::io`.
            fn from(error: ::std::io::Error) -> Self {
                match error.downcast::<Self>() {
                    ::std::result::Result::Ok(ours) => ours,
                    ::std::result::Result::Err(error) => $crate::Error::from(error).into(),
                }
            }
        }

        impl ::std::convert::From<$Error> for ::std::io::Error {
            /// Wraps an error so that it can pass through `std::io` and be recovered with `From`.
            fn from(error: $Error) -> Self {
                Self::new($crate::FormatErrorKind::io_kind(error.kind()), error)
            }
        }
    };
}
