//! Options chosen by the caller: settings, and limits on the resources that reading a file may use.
//!
//! Numbers in a file are only claims. Before a reader allocates memory or does work because of a
//! claim, it checks the claim against the caller's [`Limits`]. The limits are absolute, because a
//! high compression ratio does not prove an attack: bzip2 compresses 64 MiB of zeros to 79 bytes,
//! and such a file is legitimate. Formats define their own limits with [`limits!`](crate::limits).

use crate::{Error, ErrorKind, Result};

/// Defines methods that set options, for use inside an `impl`. Each method sets the field of the
/// same name to its argument or, if the type is followed by an arrow, to the expression after the
/// arrow.
///
/// ```
/// #[derive(Debug, Default, PartialEq)]
/// pub struct Options {
///     level: u8,
///     capacity: Option<u64>,
/// }
///
/// impl Options {
///     binio::setters! {
///         /// Sets the level, 0 to 9.
///         level: u8;
///         /// Sets the capacity in bytes.
///         capacity: u64 => Some(capacity);
///     }
/// }
///
/// let options = Options::default().level(3).capacity(100);
/// assert_eq!(options, Options { level: 3, capacity: Some(100) });
/// ```
#[macro_export]
macro_rules! setters {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($($(#[doc = $doc:expr])+ $name:ident: $type:ty $(=> $value:expr)?;)+) => {
        $($(#[doc = $doc])+
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $crate::setters!(@value $name $($value)?);
            self
        })+
    };
}

/// Defines a struct with the limits of a reader. Each limit is a field with a default value and a
/// method that sets it. If the name is followed by a colon, a base type and a default value, the
/// struct also has a field `base` of this type and dereferences to it.
///
/// ```
/// binio::limits! {
///     /// Limits on reading an archive.
///     pub struct Limits: binio::Limits = (binio::Limits::default().max_depth(128)) {
///         /// Maximum number of entries. Default: 1,000.
///         max_entries: u64 = 1_000;
///     }
/// }
///
/// let base = binio::Limits::default().max_items(5);
/// let limits = Limits::default().max_entries(7).base(base);
/// assert_eq!((limits.max_entries, limits.max_items), (7, 5));
/// assert_eq!(Limits::default().max_depth, 128);
/// ```
#[macro_export]
macro_rules! limits {
    (
        $(#[$meta:meta])*
        $vis:vis struct $Limits:ident $(: $Base:ty = ($base:expr))? {
            $($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        $vis struct $Limits {
            $(/// Limits common to all readers.
            pub base: $Base,)?
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl ::std::default::Default for $Limits {
            fn default() -> Self {
                Self { $(base: $base,)? $($name: $default,)+ }
            }
        }

        #[allow(unreachable_pub, reason = "the struct may be private")]
        impl $Limits {
            $($crate::setters! {
                #[doc = ::std::concat!("Sets [`", ::std::stringify!($name), "`](Self::", ::std::stringify!($name), ").")]
                $name: $type;
            })+

            $($crate::setters! {
                /// Sets the limits common to all readers.
                base: $Base;
            })?
        }

        $(impl ::std::ops::Deref for $Limits {
            type Target = $Base;

            fn deref(&self) -> &$Base {
                &self.base
            }
        })?
    };
}

limits! {
    /// Limits that a caller imposes on a reader.
    ///
    /// ```
    /// use binio::Limits;
    ///
    /// let limits = Limits::default().max_alloc(1 << 20);
    /// assert!(limits.check_alloc("bytes of the index", 4096).is_ok());
    /// let error = limits.check_alloc("bytes of the index", 1 << 40).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "bytes of the index: 1099511627776 is above the limit of 1048576"
    /// );
    /// ```
    pub struct Limits {
        /// Maximum size in bytes of any single buffer whose size comes from the file. Default: 4
        /// GiB.
        max_alloc: u64 = 4 << 30;
        /// Maximum size in bytes of any decoded item, such as a block. Default: `u64::MAX`, which
        /// means no limit, since callers decode one item of their choice at a time.
        max_decoded: u64 = u64::MAX;
        /// Maximum nesting depth. Default: 1000, which is far more than the depth of any real file,
        /// and far less than would exhaust a thread's stack.
        max_depth: u32 = 1000;
        /// Maximum number of items such as nodes, entries or members. Default: 50 million.
        max_items: u64 = 50_000_000;
    }
}

impl Limits {
    /// No limits, for trusted data, such as data written by the program itself.
    pub const NONE: Self = Self {
        max_alloc: u64::MAX,
        max_decoded: u64::MAX,
        max_depth: u32::MAX,
        max_items: u64::MAX,
    };

    /// Checks that a buffer of `bytes` bytes does not exceed [`max_alloc`](Self::max_alloc). `what`
    /// names the amount in errors, such as `bytes of the index`.
    ///
    /// # Errors
    ///
    /// Fails with [`Limit`](ErrorKind::Limit) if the buffer is larger.
    pub fn check_alloc(&self, what: &'static str, bytes: u64) -> Result<()> {
        check_limit(what, self.max_alloc, bytes)
    }

    /// Checks that a decoded item of `bytes` bytes does not exceed
    /// [`max_decoded`](Self::max_decoded). `what` names the amount in errors, such as `bytes of a
    /// block`.
    ///
    /// # Errors
    ///
    /// Fails with [`Limit`](ErrorKind::Limit) if the item is larger.
    pub fn check_decoded(&self, what: &'static str, bytes: u64) -> Result<()> {
        check_limit(what, self.max_decoded, bytes)
    }

    /// Checks that the number of items in a file does not exceed [`max_items`](Self::max_items).
    /// `what` names the items in errors, such as `entries`.
    ///
    /// # Errors
    ///
    /// Fails with [`Limit`](ErrorKind::Limit) if there are more items.
    pub fn check_items(&self, what: &'static str, items: u64) -> Result<()> {
        check_limit(what, self.max_items, items)
    }
}

/// Checks that the amount `requested` does not exceed a limit. `what` names the amount in
/// errors, with its unit.
///
/// ```
/// assert!(binio::check_limit("members", 100, 100).is_ok());
/// let error = binio::check_limit("members", 100, 101).unwrap_err();
/// assert_eq!(error.to_string(), "members: 101 is above the limit of 100");
/// ```
///
/// # Errors
///
/// Fails with [`Limit`](ErrorKind::Limit) if `requested` is above `limit`.
pub fn check_limit(what: &'static str, limit: u64, requested: u64) -> Result<()> {
    if requested > limit {
        return Err(Error::new(ErrorKind::Limit { what, limit, requested }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_equal_to_the_limit_is_allowed() {
        let limits = Limits::default().max_items(3).max_alloc(2).max_decoded(1);
        assert!(limits.check_items("entries", 3).is_ok());
        assert!(limits.check_items("entries", 4).is_err());
        assert!(limits.check_alloc("buffer", 2).is_ok());
        assert!(limits.check_alloc("buffer", 3).is_err());
        assert!(limits.check_decoded("data", 1).is_ok());
        assert!(limits.check_decoded("data", 2).is_err());
    }
}
