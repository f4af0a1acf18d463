//! JSON's escapes: text to characters and back, eight bytes at a time.
//!
//! | escape | character |
//! |---|---|
//! | `\"` `\\` `\/` | itself |
//! | `\b` `\f` `\n` `\r` `\t` | U+0008, U+000C, U+000A, U+000D, U+0009 |
//! | `\uXXXX` | a character of the basic plane |
//! | `\uD800` to `\uDBFF`, `\uDC00` to `\uDFFF` | together one of the other planes; alone nothing |
//!
//! Text has an escape every few bytes, and a call for each to search for the next costs more than the
//! search: a word at a time reads and writes text of short lines more than twice as fast.

/// Bytes that [`decode`] has to have room for.
pub(crate) const ROOM: usize = 8;

/// Words without an escape after which a search for the next one pays.
const LONG: u32 = 4;

/// Bytes that are looked at together when text is measured.
const BLOCK: usize = 64;

/// In each byte the lowest bit, and the highest.
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW << 7;

/// Marks bytes of a word by their highest bits: the first mark is one of `byte`, later ones may not be.
fn mark(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (LOW * u64::from(byte));
    zeros.wrapping_sub(LOW) & !zeros & HIGH
}

/// The same for bytes that must be escaped.
fn mark_special(word: u64) -> u64 {
    let controls = word.wrapping_sub(LOW * 0x20) & !word & HIGH;
    controls | mark(word, b'"') | mark(word, b'\\')
}

/// The first byte of a mark, or 8.
fn first(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; 8]> {
    bytes.get(at..at + 8)?.try_into().ok()
}

/// Escapes as the C writer does: nothing but `"`, `\` and what is below U+0020, with digits in upper
/// case.
pub(crate) fn encode(plain: &str, out: &mut String) {
    out.reserve(plain.len());
    let mut rest = plain;
    while let Some(at) = position_special(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push_str("\\u00");
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Does nothing have to be escaped?
pub(crate) fn is_plain(text: &str) -> bool {
    position_special(text.as_bytes()).is_none()
}

/// Where the first byte is that must be escaped.
fn position_special(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = word(bytes, at) {
        let marks = mark_special(u64::from_le_bytes(word));
        if marks != 0 {
            return Some(at + first(marks));
        }
        at += 8;
    }
    let special = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    bytes[at..].iter().position(special).map(|found| at + found)
}

/// Bytes of the decoded text, and whether a NUL is in it; nothing if a surrogate is alone.
pub(crate) fn measure(escaped: &str) -> Option<(u64, bool)> {
    let bytes = escaped.as_bytes();
    let (mut saved, mut nul, mut at, mut words) = (0, false, 0, 0);
    // Where the next attempt at a block is worth it.
    let mut next_block = 0;
    while at < bytes.len() {
        if at >= next_block {
            if let Some((used, escapes)) = short_escapes(&bytes[at..]) {
                saved += escapes;
                at += used;
                continue;
            }
            next_block = at + BLOCK;
        }
        let plain = match word(bytes, at) {
            Some(word) if words < LONG => first(mark(u64::from_le_bytes(word), b'\\')),
            _ => run(&bytes[at..]),
        };
        at += plain;
        words = if plain == 8 { words + 1 } else { 0 };
        if bytes.get(at) != Some(&b'\\') {
            continue;
        }
        if short(bytes, at).is_some() {
            saved += 1;
            at += 2;
        } else {
            let (character, used) = unescape_unicode(&bytes[at..])?;
            saved += used - character.len_utf8();
            nul |= character == '\0';
            at += used;
        }
    }
    Some(((escaped.len() - saved) as u64, nul))
}

/// The bytes of a block and the escapes in it, if all are of two characters and none is of a backslash,
/// so that every backslash begins one. The compiler makes vector instructions of the loop.
fn short_escapes(bytes: &[u8]) -> Option<(usize, usize)> {
    let block: &[u8; BLOCK + 1] = bytes.first_chunk()?;
    let (mut count, mut others) = (0_u8, 0_u8);
    for (&byte, &next) in block.iter().zip(&block[1..]) {
        let begins = u8::from(byte == b'\\');
        count += begins;
        others |= begins & (u8::from(next == b'\\') | u8::from(next == b'u'));
    }
    let spans_end = usize::from(block[BLOCK - 1] == b'\\');
    (others == 0).then_some((BLOCK + spans_end, count.into()))
}

/// Decodes as much as `out` has room for, which is [`ROOM`] at least; gives the bytes that were taken and
/// written. What is taken may end inside of a character. The text was measured.
pub(crate) fn decode(bytes: &[u8], out: &mut [u8]) -> (usize, usize) {
    let (mut at, mut to, mut words) = (0, 0, 0);
    while at < bytes.len() && to + ROOM <= out.len() {
        let plain = match word(bytes, at) {
            Some(word) if words < LONG => {
                out[to..to + 8].copy_from_slice(&word);
                first(mark(u64::from_le_bytes(word), b'\\'))
            }
            _ => {
                let plain = run(&bytes[at..]).min(out.len() - to);
                out[to..to + plain].copy_from_slice(&bytes[at..at + plain]);
                plain
            }
        };
        words = if plain == 8 { words + 1 } else { 0 };
        (at, to) = (at + plain, to + plain);
        if bytes.get(at) != Some(&b'\\') {
            continue;
        }
        let room = &mut out[to..];
        if let (Some(byte), Some(first)) = (short(bytes, at), room.first_mut()) {
            *first = byte;
            (at, to) = (at + 2, to + 1);
            continue;
        }
        let Some((character, used)) = unescape_unicode(&bytes[at..]) else { break };
        if room.len() < character.len_utf8() {
            break;
        }
        to += character.encode_utf8(room).len();
        at += used;
    }
    (at, to)
}

/// Bytes up to the next escape.
fn run(bytes: &[u8]) -> usize {
    memchr::memchr(b'\\', bytes).unwrap_or(bytes.len())
}

/// The byte that an escape of two characters stands for. JSON that was parsed has no others but `\u`.
fn short(bytes: &[u8], at: usize) -> Option<u8> {
    Some(match *bytes.get(at + 1)? {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return None,
        other => other,
    })
}

/// The character of `\u`, and how many bytes it takes.
fn unescape_unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, 6));
    }
    let pair = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
    Some((pair, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn escapes_are_counted_across_blocks() {
        for special in ["\n", "\\", "\u{1}", "\0", "é\t", "\\\n", "\n\\\\\""] {
            for gap in 0..140 {
                let plain = ("y".repeat(gap) + special).repeat(5);
                let mut escaped = String::new();
                encode(&plain, &mut escaped);
                let expected = Some((plain.len() as u64, special == "\0"));
                assert_eq!(measure(&escaped), expected, "{special:?} after {gap}");
            }
        }
    }

    #[test]
    fn escapes_are_found_wherever_they_lie_and_however_little_room_there_is() {
        for special in ["\n", "\"", "\\", "\u{1}", "\0", "\u{7f}", "\u{80}é", "😀", " !#[]"] {
            for before in 0..20 {
                for after in 0..20 {
                    let plain = "x".repeat(before) + special + &"y".repeat(after) + special;
                    let mut escaped = String::new();
                    encode(&plain, &mut escaped);
                    assert_eq!(measure(&escaped), Some((plain.len() as u64, special == "\0")));
                    for room in [ROOM, 9, 11, 64] {
                        assert_eq!(decoded(&escaped, room), plain);
                    }
                }
            }
        }
    }

    #[test]
    fn pairs_of_surrogates_are_one_character() {
        let escaped = r"\ud83d\ude00\u00e9\/";
        assert_eq!(decoded(escaped, ROOM), "😀é/");
        assert_eq!(measure(escaped), Some((7, false)));
        assert_eq!(measure(r"x\ud83dx"), None);
    }
}
