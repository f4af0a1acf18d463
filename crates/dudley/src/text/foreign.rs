//! Names of the primitive types in other languages and libraries, such as C, Fortran, Rust and numpy.

/// The names of each primitive type, with Dudley's own name first. C types have the same sizes as
/// on 64-bit Unix.
const NAMES: [&[&str]; 19] = [
    &["i1", "int8", "int8_t", "schar"],
    &["i2", "int16", "int16_t", "short", "i16"],
    &["i4", "int32", "int32_t", "int", "integer", "i32"],
    &["i8", "int64", "int64_t", "long", "longlong", "intp", "ssize_t", "ptrdiff_t", "i64"],
    &["u1", "uint8", "uint8_t", "byte", "ubyte", "uchar"],
    &["u2", "uint16", "uint16_t", "ushort", "u16"],
    &["u4", "uint32", "uint32_t", "uint", "unsigned", "u32"],
    &["u8", "uint64", "uint64_t", "ulong", "ulonglong", "size_t", "uintp", "u64"],
    &["f2", "float16", "half"],
    &["f4", "float32", "float", "single", "real", "f32"],
    &["f8", "float64", "double", "real64", "f64"],
    &["c4"],
    &["c8", "complex64", "complex", "csingle"],
    &["c16", "complex128", "cdouble"],
    &["b1", "bool", "_Bool", "boolean", "logical"],
    &["S1", "char", "character", "string", "str"],
    &["U1", "utf8"],
    &["U2", "utf16", "char16_t"],
    &["U4", "utf32", "unicode", "char32_t", "wchar_t"],
];

/// Returns the primitive type that a name stands for in Dudley or in another language or library, or
/// `None` if there is no such type. A match with the same case takes precedence over a match that ignores
/// case.
pub(crate) fn primitive_of(name: &str) -> Option<&'static str> {
    let find = |is_it: fn(&str, &str) -> bool| {
        NAMES.iter().find(|names| names.iter().any(|known| is_it(known, name)))
    };
    let found = find(<str as PartialEq>::eq);
    found.or_else(|| find(str::eq_ignore_ascii_case)).map(|names| names[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_match_takes_precedence_over_a_match_that_ignores_case() {
        let found = ["F8", "U2", "u2", "U8", "Double", "int32", "f64", "f16", "mesh"];
        let expected = [
            Some("f8"),
            Some("U2"),
            Some("u2"),
            Some("u8"),
            Some("f8"),
            Some("i4"),
            Some("f8"),
            None,
            None,
        ];
        assert_eq!(found.map(primitive_of), expected);
    }
}
