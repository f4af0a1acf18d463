//! What a text may make its reader hold, and how deep.

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident, $with:ident = $default:expr;)+) => {
        /// Limits that the caller hands to the parser.
        ///
        /// ```
        /// use dudley::{Code, Limits, ParseOptions};
        ///
        /// let options = ParseOptions::new().limits(Limits::default().with_max_depth(3));
        /// let error = options.parse("a/ b/ c/ d/").unwrap_err();
        /// assert_eq!(error.first().code, Code::TooDeep);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Limits { $($(#[doc = $doc])+ pub $name: u32,)+ }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Limits {
            $(#[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
            #[must_use]
            pub fn $with(mut self, limit: u32) -> Self {
                self.$name = limit;
                self
            })+
        }
    };
}

limits! {
    /// How deep dicts, lists and structs nest, through named types too. Default: 128. Above 400 it is
    /// 400, so that no stack overflows.
    max_depth, with_max_depth = 128;
    /// Dimensions of a shape. Default: 255.
    max_dims, with_max_dims = 255;
    /// Names that a struct type leaves to its users. Default: 255.
    max_free_names, with_max_free_names = 255;
    /// Bindings of such names, over all uses of types. Default: 16 million.
    max_bindings, with_max_bindings = 1 << 24;
    /// Fields of structs that one resolving looks at, or lists. Default: 268 million. Resolving never
    /// looks at more than 4 million, and 16 for each byte of the stream.
    max_steps, with_max_steps = 1 << 28;
    /// Errors, and warnings, that are collected. Default: 100.
    max_diagnostics, with_max_diagnostics = 100;
}

impl Limits {
    pub(crate) fn depth(&self) -> u32 {
        self.max_depth.min(400)
    }
}
