//! The codes of diagnostics.

use std::fmt;

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal, but seldom meant, or of use to know.
    Lint,
    /// Read in the way that was probably meant.
    Warning,
    /// It has no meaning.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lint => "lint",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($name:ident $code:literal $severity:ident $meaning:literal;)+) => {
        /// What a diagnostic is about. `E` is an error, `W` a warning, `L-` a lint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = concat!($code, ": ", $meaning)] $name,)+ }

        impl Code {
            /// All codes, in their order.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$name),+].into_iter()
            }

            /// `E031`, `L-leading-zeros`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// What it means, in a few words.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)+ }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }
        }
    };
}

codes! {
    IllegalCharacter "E001" Error "a character that no token begins with";
    UnterminatedQuote "E002" Error "a quoted name without its second quote";
    MalformedNumber "E003" Error "digits with something else among them";
    IntegerOverflow "E004" Error "an integer above 2^63-1";
    BeyondLimit "E005" Error "more than this reader is told to hold";
    BadEscape "E006" Error "an escape for no character";
    Unexpected "E010" Error "another token than expected";
    TooDeep "E011" Error "nested too deep";
    ExpectedName "E012" Error "expected the name of an item or member";
    ExpectedDeclaration "E013" Error "expected what declares an item behind its name";
    ExpectedDatatype "E014" Error "expected a datatype";
    ExpectedFilterName "E015" Error "expected the name of a filter";
    BadFilterArgument "E016" Error "expected a number or quoted text as argument of a filter";
    BinarySuffix "E017" Error "a suffix followed by a number";
    LiteralTooSmall "E018" Error "a number below -1";
    NotPowerOfTwo "E019" Error "an alignment that is no power of two";
    Redeclared "E020" Error "data or a member declared twice";
    ParamRedeclared "E021" Error "a parameter declared twice";
    OtherKind "E022" Error "an item of another kind";
    TypeRedefined "E023" Error "a type defined twice";
    PrimitiveRedefined "E024" Error "a primitive defined anew after its use";
    PrefixedTypeName "E025" Error "a type name that begins with < > |";
    BadExtension "E026" Error "nothing here to extend";
    NotInteger "E027" Error "a parameter that is no scalar integer";
    MarkedType "E030" Error "a byte order on what is no primitive";
    UndefinedType "E031" Error "a type that is not defined before";
    ParamNotInScope "E032" Error "a parameter that is not in scope";
    Overflow "E040" Error "a size or address above 2^63-1";
    ParamTooSmall "E041" Error "the value of a parameter is below -1";
    ValueUnknown "E042" Error "the value of a parameter is not known";
    StreamTooShort "E043" Error "the stream ends before a value";
    CompressedLength "E044" Error "a compressed length that cannot be";
    UpAtTop "W001" Warning "`..` at the top, where nothing is above";
    ParamNamedAsItem "W002" Warning "a parameter with the name of an item";
    DataAsParam "W003" Warning "`:` for data of the summary";
    UnknownEscape "W004" Warning "a backslash that escapes nothing";
    AttributeComment "W010" Warning "an attribute comment that says nothing";
    NotUtf8 "L-not-utf8" Lint "text in CP-1252 or Latin-1";
    LeadingZeros "L-leading-zeros" Lint "a decimal number with leading zeros";
    HashRun "L-hash-run" Lint "a documentation comment that looks like a rule";
    NonAsciiName "L-non-ascii-name" Lint "a name beyond ASCII without quotes";
    ManySuffixes "L-many-suffixes" Lint "more than 31 suffixes";
    ShadowedParam "L-shadowed-parameter" Lint "a parameter that hides one further out";
    HiddenMember "L-hidden-member" Lint "an item that hides a member of the item without a name";
    NotTemplate "L-not-template" Lint "a summary block in a layout that is no template";
    Overlap "L-overlap" Lint "data that lie over others";
    Hole "L-hole" Lint "bytes that belong to nothing";
    MisalignedAddress "L-misaligned-address" Lint "an address that its type is not aligned to";
    UnknownAddress "L-unknown-address" Lint "an address that only the stream tells";
    PastEnd "L-past-end" Lint "data that end behind the stream";
}

impl Code {
    /// The code of that text.
    ///
    /// ```
    /// use dudley::Code;
    ///
    /// assert_eq!(Code::from_name("L-hole"), Some(Code::Hole));
    /// ```
    pub fn from_name(text: &str) -> Option<Self> {
        Self::all().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
