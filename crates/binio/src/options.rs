//! What a caller chooses: the options of a call, and what a file may make its reader allocate,
//! decode, nest and count.
//!
//! Numbers in a file are claims. Before a claim turns into memory or work, a reader checks it
//! against the caller's [`Limits`]. The limits are absolute: a ratio of compressed to decoded size
//! says nothing, since 64 MiB of zeros are an honest 79 bytes of bzip2. A format defines its own
//! limits by [`limits!`](crate::limits).

use crate::{Error, ErrorKind, Result};

/// Defines the methods by which a caller sets options, inside of an `impl`: each sets the field of its
/// name, to the value or to what follows the arrow.
///
/// ```
/// #[derive(Debug, Default, PartialEq)]
/// pub struct Options {
///     level: u8,
///     room: Option<u64>,
/// }
///
/// impl Options {
///     binio::setters! {
///         /// Sets the level, 0 to 9.
///         level: u8;
///         /// Sets the room in bytes.
///         room: u64 => Some(room);
///     }
/// }
///
/// let options = Options::default().level(3).room(100);
/// assert_eq!(options, Options { level: 3, room: Some(100) });
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

/// Defines the limits of a reader: fields with their defaults, and a method that sets each. After a
/// colon, the limits that it extends by `Deref`, with their defaults.
///
/// ```
/// binio::limits! {
///     /// What an archive may make its reader hold.
///     pub struct Limits: binio::Limits = (binio::Limits::default().max_depth(128)) {
///         /// Entries of an archive. Default: 1,000.
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
            $(/// The limits that all readers have.
            pub base: $Base,)?
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl ::std::default::Default for $Limits {
            fn default() -> Self {
                Self { $(base: $base,)? $($name: $default,)+ }
            }
        }

        #[allow(unreachable_pub, reason = "the type may be private")]
        impl $Limits {
            $($crate::setters! {
                #[doc = ::std::concat!("Sets [`", ::std::stringify!($name), "`](Self::", ::std::stringify!($name), ").")]
                $name: $type;
            })+

            $($crate::setters! {
                /// Sets the limits that all readers have.
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
    /// Limits that the caller hands to a reader.
    ///
    /// ```
    /// use binio::Limits;
    ///
    /// let limits = Limits::default().max_alloc(1 << 20);
    /// assert!(limits.check_alloc("index", 4096).is_ok());
    /// let error = limits.check_alloc("index", 1 << 40).unwrap_err();
    /// assert_eq!(error.to_string(), "index: 1099511627776 is above the limit of 1048576");
    /// ```
    pub struct Limits {
        /// Bytes of any one buffer whose size the file states. Default: 4 GiB.
        max_alloc: u64 = 4 << 30;
        /// Bytes that one thing, such as a block, may decode to. Default: `u64::MAX`, no limit,
        /// since a caller decodes what it asks for, one thing at a time.
        max_decoded: u64 = u64::MAX;
        /// Levels of nesting. Default: 1000, far above any file made by a program and far below
        /// what would exhaust a thread's stack.
        max_depth: u32 = 1000;
        /// Nodes, entries, members: whatever a file has many of. Default: 50 million.
        max_items: u64 = 50_000_000;
    }
}

impl Limits {
    /// No limits, for data that the program itself made.
    pub const NONE: Self = Self {
        max_alloc: u64::MAX,
        max_decoded: u64::MAX,
        max_depth: u32::MAX,
        max_items: u64::MAX,
    };

    /// Fails if a buffer of `bytes` must not be allocated.
    pub fn check_alloc(&self, what: &'static str, bytes: u64) -> Result<()> {
        check_limit(what, self.max_alloc, bytes)
    }

    /// Fails if one thing must not decode to `bytes`.
    pub fn check_decoded(&self, what: &'static str, bytes: u64) -> Result<()> {
        check_limit(what, self.max_decoded, bytes)
    }

    /// Fails if the file must not have `items`.
    pub fn check_items(&self, what: &'static str, items: u64) -> Result<()> {
        check_limit(what, self.max_items, items)
    }
}

/// Fails with [`ErrorKind::Limit`] if `requested` is above `limit`.
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
    fn limit_itself_is_allowed() {
        let limits = Limits::default().max_items(3).max_alloc(2).max_decoded(1);
        assert!(limits.check_items("entries", 3).is_ok());
        assert!(limits.check_items("entries", 4).is_err());
        assert!(limits.check_alloc("buffer", 2).is_ok());
        assert!(limits.check_alloc("buffer", 3).is_err());
        assert!(limits.check_decoded("data", 1).is_ok());
        assert!(limits.check_decoded("data", 2).is_err());
    }
}
