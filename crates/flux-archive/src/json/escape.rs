//! Escaping and unescaping JSON strings.
//!
//! | escape | character |
//! |---|---|
//! | `\"` `\\` `\/` | itself |
//! | `\b` `\f` `\n` `\r` `\t` | U+0008, U+000C, U+000A, U+000D, U+0009 |
//! | `\uXXXX` | a character up to U+FFFF, except surrogates |
//! | `\uD800` to `\uDBFF`, `\uDC00` to `\uDFFF` | a pair of surrogates encodes a character beyond U+FFFF; a lone surrogate is not text |
//!
//! A string may contain a file of hundreds of megabytes with an escape in every line. Blocks with
//! simple escapes are therefore scanned and decoded as a whole, and simple loops process the rest
//! byte by byte. Without the blocks, extracting text takes four times as long
//! (`cargo xtask bench flux-archive`).

use wide::u8x16;

/// The minimum length of the output buffer of [`decode`], which is the length of the longest
/// character in UTF-8.
pub(crate) const ROOM: usize = 4;

/// The length of the longest incomplete escape in bytes.
#[cfg(unix)]
pub(crate) const MAX_ESCAPE: usize = 11;

/// The maximum number of continuation bytes of a character in UTF-8.
#[cfg(unix)]
pub(crate) const MAX_CONTINUATION: usize = 3;

/// The number of bytes in a block.
const BLOCK: usize = 64;

/// Returns the number of bytes at the start of a piece that continue a character of the previous
/// piece, at most [`MAX_CONTINUATION`].
#[cfg(unix)]
pub(crate) fn continuation(piece: &[u8]) -> usize {
    piece.iter().take(MAX_CONTINUATION).take_while(|&&byte| byte & 0xc0 == 0x80).count()
}

/// Escapes text like the C writer of Flux: only `"`, `\` and characters below U+0020, with
/// upper-case hexadecimal digits. Other bytes are copied, so a piece of text may end within a
/// character.
pub(crate) fn encode(plain: &[u8], out: &mut Vec<u8>) {
    out.reserve(plain.len());
    let used = encode_blocks(plain, out);
    encode_bytes(&plain[used..], out);
}

/// Escapes text byte by byte.
fn encode_bytes(plain: &[u8], out: &mut Vec<u8>) {
    for &byte in plain {
        match &ESCAPES[usize::from(byte)] {
            (0, _) => out.push(byte),
            (len, escape) => out.extend_from_slice(&escape[..usize::from(*len)]),
        }
    }
}

/// Escapes one block after another while at least two blocks are left, and returns the number of
/// bytes read. Vector instructions find all special characters of a block. The bytes between them
/// are copied in fixed lengths, and the next copy overwrites any excess. Creating an archive of
/// text takes 0.65 times as long as with [`encode_bytes`] alone (`cargo xtask bench flux-archive`,
/// "text: create, all inside").
fn encode_blocks(plain: &[u8], out: &mut Vec<u8>) -> usize {
    let mut escaped = [0; 6 * BLOCK + BLOCK];
    let mut at = 0;
    while let Some(block) = plain.get(at..).and_then(<[u8]>::first_chunk::<{ 2 * BLOCK }>) {
        let mut specials = specials(block);
        let (mut from, mut len) = (0, 0);
        while specials != 0 {
            let special = specials.trailing_zeros() as usize;
            escaped[len..len + 16].copy_from_slice(&block[from..from + 16]);
            if special - from > 16 {
                escaped[len + 16..len + BLOCK].copy_from_slice(&block[from + 16..from + BLOCK]);
            }
            len += special - from;
            let (used, escape) = &ESCAPES[usize::from(block[special])];
            escaped[len..len + escape.len()].copy_from_slice(escape);
            len += usize::from(*used);
            from = special + 1;
            specials &= specials - 1;
        }
        out.extend_from_slice(&escaped[..len]);
        out.extend_from_slice(&block[from..BLOCK]);
        at += BLOCK;
    }
    at
}

/// Returns a bit for each of the first [`BLOCK`] bytes, set for a byte that must be escaped.
fn specials(block: &[u8; 2 * BLOCK]) -> u64 {
    bits(&block[..BLOCK], is_special)
}

/// Sets all bits of each byte that must be escaped, and clears all bits of every other byte.
fn is_special(part: u8x16) -> u8x16 {
    let control = part.max(u8x16::splat(0x1f)).cmp_eq(u8x16::splat(0x1f));
    control | part.cmp_eq(u8x16::splat(b'"')) | part.cmp_eq(u8x16::splat(b'\\'))
}

/// Returns a bit for each byte of a block, set if `find` sets all bits of the byte.
fn bits(block: &[u8], find: impl Fn(u8x16) -> u8x16) -> u64 {
    let mut bits = 0;
    for part in block.chunks_exact(16).rev() {
        let part = part.first_chunk().copied().unwrap_or_default();
        let found = find(u8x16::new(part)).move_mask();
        bits = bits << 16 | u64::from(found.unsigned_abs());
    }
    bits
}

/// For each byte, the escape and its length, which is 0 for a byte that needs no escape.
static ESCAPES: [(u8, [u8; 6]); 256] = {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut escapes = [(0, [0; 6]); 256];
    let mut byte = 0;
    while byte < 0x20 {
        escapes[byte] = (6, [b'\\', b'u', b'0', b'0', DIGITS[byte >> 4], DIGITS[byte & 15]]);
        byte += 1;
    }
    let mut short = 0;
    while short < 7 {
        let (byte, letter) = (b"\x08\x0c\n\r\t\"\\"[short], b"bfnrt\"\\"[short]);
        escapes[byte as usize] = (2, [b'\\', letter, 0, 0, 0, 0]);
        short += 1;
    }
    escapes
};

/// Returns `true` if no character of the text needs to be escaped.
pub(crate) fn is_plain(text: &str) -> bool {
    position_special(text.as_bytes()).is_none()
}

/// Returns the position of the first byte that must be escaped, or `None` if there is no such
/// byte.
fn position_special(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
}

/// The properties of a string that [`scan`] determines while it searches for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    /// The length of the decoded text in bytes, not counting unpaired surrogates.
    pub(crate) len: u64,
    /// Whether the text contains a NUL.
    pub(crate) nul: bool,
    /// Whether the string contains an unpaired surrogate, and is therefore not text.
    pub(crate) lone_surrogate: bool,
}

/// Returns the position of the closing quote of a string that is short and has no escapes,
/// as most strings in an archive are. Returns `None` for any other string, or if too few bytes
/// follow the string.
pub(crate) fn plain_end(bytes: &[u8]) -> Option<usize> {
    for (index, part) in bytes.chunks_exact(16).take(BLOCK / 16).enumerate() {
        let specials = bits(part, is_special);
        if specials != 0 {
            let at = index * 16 + specials.trailing_zeros() as usize;
            return (bytes[at] == b'"').then_some(at);
        }
    }
    None
}

/// Finds the end of a JSON string whose opening quote directly precedes `bytes`. Returns the position of the closing
/// quote, and the properties of the string. Returns `None` if the string has no end or is malformed.
pub(crate) fn scan(bytes: &[u8]) -> Option<(usize, Measure)> {
    let (end, measure) = scan_until(bytes, |_| false);
    (bytes.get(end) == Some(&b'"')).then_some((end, measure))
}

/// Measures a piece of a JSON string, which may end within an escape. Returns the position of the first byte that is not
/// valid text, and the properties of the text before it. This byte is the closing quote, a control character, or the
/// backslash of an incomplete or malformed escape, or of an unpaired surrogate. If there is no such byte, returns the
/// end of the piece.
#[cfg(unix)]
pub(crate) fn scan_piece(bytes: &[u8]) -> (usize, Measure) {
    // Stop at an unpaired surrogate, because its second half may follow in the next piece.
    scan_until(bytes, |character| character.is_none())
}

/// Measures text up to the first byte that is not valid text, or up to a `\u` escape if `stop` returns `true` for its
/// character. The character is `None` for an unpaired surrogate.
#[inline]
fn scan_until(bytes: &[u8], stop: impl Fn(Option<char>) -> bool) -> (usize, Measure) {
    let (mut at, mut saved) = (0, 0);
    let (mut nul, mut lone_surrogate) = (false, false);
    // Do not try a whole block again before this position.
    let mut next_block = 0;
    loop {
        if at >= next_block {
            if let Some((used, escapes)) = simple_block(&bytes[at..]) {
                saved += escapes;
                at += used;
                continue;
            }
            next_block = at + BLOCK;
        }
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'u')) => match unescape_unicode(&bytes[at..]) {
                Some((character, used)) if !stop(character) => {
                    saved += used - character.map_or(0, char::len_utf8);
                    nul |= character == Some('\0');
                    lone_surrogate |= character.is_none();
                    at += used;
                }
                _ => break,
            },
            (Some(b'\\'), Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => {
                saved += 1;
                at += 2;
            }
            (None | Some(b'"' | b'\\' | 0..0x20), _) => break,
            _ => at += 1,
        }
    }
    (at, Measure { len: (at - saved) as u64, nul, lone_surrogate })
}

/// Measures a block that is valid and does not contain the end of the string. Every escape in the
/// block must have two characters and must not be `\\`, so that every backslash starts an escape.
/// Returns the number of bytes measured and the number of escapes. Returns `None` for any other block,
/// or if there are too few bytes.
/// The compiler vectorises the loops.
fn simple_block(bytes: &[u8]) -> Option<(usize, usize)> {
    let block: &[u8; BLOCK + 1] = bytes.first_chunk()?;
    let is = |byte: u8, other: u8| u8::from(byte == other);
    let mut special = 0;
    for &byte in &block[..BLOCK] {
        special |= u8::from(byte < 0x20) | is(byte, b'"') | is(byte, b'\\');
    }
    if special == 0 {
        return Some((BLOCK, 0));
    }
    let (mut count, mut others) = (0_u8, is(block[0], b'"'));
    for (&byte, &next) in block.iter().zip(&block[1..]) {
        let begins = is(byte, b'\\');
        let quote = is(next, b'"');
        let letter =
            is(next, b'b') | is(next, b'f') | is(next, b'n') | is(next, b'r') | is(next, b't');
        let short = quote | letter | is(next, b'/');
        count += begins;
        others |= u8::from(byte < 0x20) | begins & (short ^ 1) | quote & (begins ^ 1);
    }
    let spans_end = usize::from(block[BLOCK - 1] == b'\\');
    (others == 0).then_some((BLOCK + spans_end, count.into()))
}

/// Decodes text until `out` is full. Stops at an incomplete or malformed escape, or at an unpaired
/// surrogate. The length of `out` must be at least [`ROOM`]. Returns the number of bytes read and the
/// number of bytes written. The bytes written may end within a character.
pub(crate) fn decode(bytes: &[u8], out: &mut [u8]) -> (usize, usize) {
    let (mut at, mut to) = decode_blocks(bytes, out);
    while let (Some(&byte), Some(room)) = (bytes.get(at), out.get_mut(to..)) {
        let escaped = bytes.get(at + 1).map_or(0, |&next| SHORT[usize::from(next)]);
        let (byte, used) = if byte == b'\\' { (escaped, 2) } else { (byte, 1) };
        let Some(first) = room.first_mut() else { break };
        if byte != 0 {
            *first = byte;
            (at, to) = (at + used, to + 1);
            continue;
        }
        let Some((Some(character), used)) = unescape_unicode(&bytes[at..]) else { break };
        if room.len() < character.len_utf8() {
            break;
        }
        to += character.encode_utf8(room).len();
        at += used;
    }
    (at, to)
}

/// Decodes one block after another while slightly more than two blocks of text are left, and `out`
/// has at least as much space. Returns the number of bytes read and the number of bytes written. Vector
/// instructions find all backslashes of a block. The bytes between escapes are copied in fixed
/// lengths, and the next copy overwrites any excess.
fn decode_blocks(bytes: &[u8], out: &mut [u8]) -> (usize, usize) {
    let (mut at, mut to) = (0, 0);
    while let (Some(block), Some(room)) = (
        bytes.get(at..).and_then(<[u8]>::first_chunk::<{ 2 * BLOCK + 2 }>),
        out.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<{ 2 * BLOCK + 2 }>),
    ) {
        let mut escapes = backslashes(block);
        let (mut from, mut len) = (0, 0);
        while escapes != 0 {
            let escape = escapes.trailing_zeros() as usize;
            room[len..len + 16].copy_from_slice(&block[from..from + 16]);
            if escape - from > 16 {
                room[len + 16..len + BLOCK].copy_from_slice(&block[from + 16..from + BLOCK]);
            }
            len += escape - from;
            from = escape;
            let byte = SHORT[usize::from(block[escape + 1])];
            if byte == 0 {
                break;
            }
            room[len] = byte;
            len += 1;
            from = escape + 2;
            // Skip the escaped character, because an escaped backslash does not start another
            // escape.
            escapes &= !(3 << escape);
        }
        if escapes == 0 {
            room[len..len + BLOCK].copy_from_slice(&block[from..from + BLOCK]);
            len += BLOCK.saturating_sub(from);
            from = from.max(BLOCK);
        } else if let Some((Some(character), used)) = unescape_unicode(&block[from..]) {
            len += character.encode_utf8(&mut room[len..]).len();
            from += used;
        } else {
            // Stop at a malformed escape or an unpaired surrogate.
            return (at + from, to + len);
        }
        (at, to) = (at + from, to + len);
    }
    (at, to)
}

/// Returns a bit for each of the first [`BLOCK`] bytes, which is set if the byte is a backslash.
fn backslashes(block: &[u8; 2 * BLOCK + 2]) -> u64 {
    bits(&block[..BLOCK], |part| part.cmp_eq(u8x16::splat(b'\\')))
}

/// The byte that a two-character escape represents, indexed by the character after the backslash; 0
/// for any other escape.
static SHORT: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 0;
    while at < 8 {
        bytes[b"bfnrt\"\\/"[at] as usize] = b"\x08\x0c\n\r\t\"\\/"[at];
        at += 1;
    }
    bytes
};

/// Returns the character of a `\u` escape or surrogate pair, and its length as written. The character
/// is `None` for an unpaired surrogate. Returns `None` if the escape is malformed.
fn unescape_unicode(bytes: &[u8]) -> Option<(Option<char>, usize)> {
    let unit = |at: usize| {
        let digits: &[u8; 4] = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?.first_chunk()?;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(first) {
        return Some((Some(character), 6));
    }
    let pair = match (first, unit(6)) {
        (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) => {
            char::from_u32(0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff))
        }
        _ => None,
    };
    Some((pair, if pair.is_some() { 12 } else { 6 }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// Returns the properties of a string, and checks that it ends at the expected position.
    fn measured(escaped: &str) -> Option<Measure> {
        let behind = format!("{escaped}\"\\ \" behind");
        let (end, measure) = scan(behind.as_bytes())?;
        assert_eq!(end, escaped.len());
        assert_eq!(scan(escaped.as_bytes()), None);
        Some(measure)
    }

    fn expected(plain: &str) -> Measure {
        Measure { len: plain.len() as u64, nul: plain.contains('\0'), lone_surrogate: false }
    }

    fn encoded(plain: &str) -> String {
        let mut escaped = Vec::new();
        encode(plain.as_bytes(), &mut escaped);
        String::from_utf8(escaped).unwrap()
    }

    fn decoded(escaped: &str, room: usize) -> String {
        let (mut rest, mut plain) = (escaped.as_bytes(), Vec::new());
        let mut buffer = vec![0; room];
        while !rest.is_empty() {
            let (used, len) = decode(rest, &mut buffer);
            assert!(used > 0, "{rest:?}");
            plain.extend_from_slice(&buffer[..len]);
            rest = &rest[used..];
        }
        String::from_utf8(plain).unwrap()
    }

    #[test]
    fn the_length_of_a_string_is_correct_even_if_escapes_cross_block_boundaries() {
        for special in ["\n", "\\", "\u{1}", "\0", "é\t", "\\\n", "\n\\\\\""] {
            for gap in 0..140 {
                let plain = ("y".repeat(gap) + special).repeat(5);
                let escaped = encoded(&plain);
                assert_eq!(measured(&escaped), Some(expected(&plain)), "{special:?} after {gap}");
            }
        }
    }

    #[test]
    fn escapes_in_short_text_are_decoded_into_small_and_large_buffers() {
        for special in ["\n", "\"", "\\", "\u{1}", "\0", "\u{7f}", "\u{80}é", "😀", " !#[]"] {
            for before in 0..20 {
                for after in 0..20 {
                    let plain = "x".repeat(before) + special + &"y".repeat(after) + special;
                    let escaped = encoded(&plain);
                    assert_eq!(measured(&escaped), Some(expected(&plain)));
                    for room in [ROOM, 9, 11, 64, 200, 1000] {
                        assert_eq!(decoded(&escaped, room), plain);
                    }
                }
            }
        }
    }

    #[test]
    fn a_surrogate_pair_decodes_to_one_character() {
        let escaped = r"\ud83d\ude00\u00e9\/";
        assert_eq!(decoded(escaped, ROOM), "😀é/");
        assert_eq!(measured(escaped), Some(expected("😀é/")));
        for lone in [r"x\ud83dx", r"\ude00\ud83d", r"\ud83d\ud83d\u0041", r"\ud83d\n"] {
            assert!(measured(lone).is_some_and(|measure| measure.lone_surrogate), "{lone}");
        }
    }

    #[test]
    fn invalid_characters_and_escapes_are_rejected_at_every_position_of_a_block() {
        for wrong in ["\n", "\0", "\u{1f}", r"\x", r"\ ", r"\u12g4", r"\u+123", r"\u12", r"\U0041"]
        {
            for before in 0..140 {
                let text = "x".repeat(before) + wrong + &"y".repeat(100) + "\"";
                assert_eq!(scan(text.as_bytes()), None, "{wrong:?} after {before}");
            }
        }
    }

    proptest! {
        #[test]
        fn escaping_in_blocks_agrees_with_escaping_byte_by_byte_and_with_serde_json(
            parts in proptest::collection::vec("[a-z é😀]{0,90}|[\0-\x1f\"\\\\]{1,70}", 0..8),
            at in 0_usize..300,
        ) {
            let plain = parts.concat();
            let mut simple = Vec::new();
            encode_bytes(plain.as_bytes(), &mut simple);
            let escaped = encoded(&plain);
            prop_assert_eq!(escaped.as_bytes(), &simple);
            let json = format!("\"{escaped}\"");
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), &*plain);

            let (head, tail) = plain.as_bytes().split_at(at.min(plain.len()));
            let mut pieces = Vec::new();
            encode(head, &mut pieces);
            encode(tail, &mut pieces);
            prop_assert_eq!(pieces, simple);
        }

        #[test]
        fn strings_are_accepted_if_and_only_if_serde_json_accepts_them(
            text in r#"([a-z\\"u0-9dDfF/\x00-\x1f é😀]|\\[bfnrt/"\\u]|\\u[dD][89a-f]..|[a-z]{30,90}){0,30}"#,
            split in 0_usize..300,
        ) {
            let text = format!("\"{text}");
            let mut values = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
            let known = values.next().and_then(Result::ok).map(|value| value.get().len());
            let found = scan(&text.as_bytes()[1..]);
            if let Some(end) = plain_end(&text.as_bytes()[1..]) {
                prop_assert_eq!(found, Some((end, expected(&text[1..=end]))));
            }
            prop_assert_eq!(found.map(|(end, _)| end + 2), known);
            // Scan the string again in two pieces.
            #[cfg(unix)]
            if let Some((end, measure)) = found.filter(|(_, measure)| !measure.lone_surrogate) {
                let split = split.min(text.len() - 1);
                let (used, first) = scan_piece(&text.as_bytes()[1..=split]);
                let (rest, second) = scan_piece(&text.as_bytes()[1 + used..]);
                prop_assert!(used + MAX_ESCAPE >= split.min(end));
                prop_assert_eq!((used + rest, first.len + second.len), (end, measure.len));
                prop_assert_eq!(first.nul || second.nul, measure.nul);
            }
            if let (Some((end, measure)), Some(len)) = (found, known) {
                let plain = serde_json::from_str::<String>(&text[..len]).ok();
                let told = plain.as_deref().map(expected);
                prop_assert_eq!(Some(measure).filter(|measure| !measure.lone_surrogate), told);
                if let Some(plain) = plain {
                    prop_assert_eq!(decoded(&text[1..=end], ROOM), plain);
                }
            }
        }
    }
}
