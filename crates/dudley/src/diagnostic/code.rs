//! Codes of diagnostics.

binio::codes! {
    /// The kind of a diagnostic. The codes of errors begin with `E`, codes of warnings with `W`, and codes of
    /// notes with `L-`.
    pub enum Code {
        /// a character that cannot begin a token
        IllegalCharacter = "E001": Error;
        /// a quoted name without its closing quote
        UnterminatedQuote = "E002": Error;
        /// a malformed number
        MalformedNumber = "E003": Error;
        /// an integer above 2^63-1
        IntegerOverflow = "E004": Error;
        /// a reader limit is exceeded
        BeyondLimit = "E005": Error;
        /// an escape that represents no character
        BadEscape = "E006": Error;
        /// an unexpected token
        Unexpected = "E010": Error;
        /// dicts, lists or structs nested too deeply
        TooDeep = "E011": Error;
        /// expected the name of an item or member
        ExpectedName = "E012": Error;
        /// expected a declaration after a name
        ExpectedDeclaration = "E013": Error;
        /// expected a datatype
        ExpectedDatatype = "E014": Error;
        /// expected the name of a filter
        ExpectedFilterName = "E015": Error;
        /// an invalid filter argument
        BadFilterArgument = "E016": Error;
        /// a suffix followed by a number
        BinarySuffix = "E017": Error;
        /// a number below -1
        LiteralTooSmall = "E018": Error;
        /// an alignment that is not a power of two
        NotPowerOfTwo = "E019": Error;
        /// data or a member declared twice
        Redeclared = "E020": Error;
        /// a parameter declared twice
        ParamRedeclared = "E021": Error;
        /// a name that is already declared as another kind of item
        OtherKind = "E022": Error;
        /// a type defined twice
        TypeRedefined = "E023": Error;
        /// a primitive type redefined after its use
        PrimitiveRedefined = "E024": Error;
        /// a type name that begins with <, > or |
        PrefixedTypeName = "E025": Error;
        /// an extension without a list element to repeat
        BadExtension = "E026": Error;
        /// a parameter that is not a scalar integer
        NotInteger = "E027": Error;
        /// a byte order before a type that is not primitive
        MarkedType = "E030": Error;
        /// a type that is not defined before its use
        UndefinedType = "E031": Error;
        /// a parameter that is not in scope
        ParamNotInScope = "E032": Error;
        /// a size, address or value that is too large
        Overflow = "E040": Error;
        /// the value of a parameter is below -1
        ParamTooSmall = "E041": Error;
        /// the value of a parameter is not known
        ValueUnknown = "E042": Error;
        /// the stream ends before a value
        StreamTooShort = "E043": Error;
        /// compressed data that does not fit into the stream
        CompressedLength = "E044": Error;
        /// `..` at the top level
        UpAtTop = "W001": Warning;
        /// a parameter with the name of an item
        ParamNamedAsItem = "W002": Warning;
        /// data that the summary declares with `:`
        DataAsParam = "W003": Warning;
        /// a backslash that does not begin an escape
        UnknownEscape = "W004": Warning;
        /// an invalid or repeated attribute
        AttributeComment = "W010": Warning;
        /// text in CP-1252 or Latin-1
        NotUtf8 = "L-not-utf8": Note;
        /// a decimal number with leading zeros
        LeadingZeros = "L-leading-zeros": Note;
        /// a documentation comment whose text begins with `#`
        HashRun = "L-hash-run": Note;
        /// documentation that looks as if it belonged to the next item, but documents the preceding one
        DocBeforeItem = "L-doc-before-item": Note;
        /// `//`, which is not a comment
        DoubleSlash = "L-double-slash": Note;
        /// a layout that seems to be in the 2026 version of the language, in which `=` and `:` are swapped
        SwappedDialect = "L-swapped-dialect": Note;
        /// an unquoted name with non-ASCII letters
        NonAsciiName = "L-non-ascii-name": Note;
        /// a dimension with more than 31 suffixes
        ManySuffixes = "L-many-suffixes": Note;
        /// a parameter that hides a parameter of an enclosing dict
        ShadowedParam = "L-shadowed-parameter": Note;
        /// an item that hides a member of the unnamed item
        HiddenMember = "L-hidden-member": Note;
        /// a layout that has a summary but is not a template
        NotTemplate = "L-not-template": Note;
        /// overlapping data
        Overlap = "L-overlap": Note;
        /// bytes that belong to no item
        Hole = "L-hole": Note;
        /// an address that is not aligned for its type
        MisalignedAddress = "L-misaligned-address": Note;
        /// an address that depends on the stream
        UnknownAddress = "L-unknown-address": Note;
        /// data beyond the end of the stream
        PastEnd = "L-past-end": Note;
    }
}

impl Code {
    /// Returns the code with this name, such as `L-hole`, or `None` if there is no such code.
    ///
    /// ```
    /// use dudley::diagnostic::Code;
    ///
    /// assert_eq!(Code::from_name("L-hole"), Some(Code::Hole));
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}
