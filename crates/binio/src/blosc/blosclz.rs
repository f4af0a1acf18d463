//! blosclz, Blosc's own codec. A stream is a sequence of instructions, which are runs of literals
//! or matches. The first instruction is always a run of literals.
//!
//! | first byte | followed by | decodes to |
//! |---|---|---|
//! | `000n nnnn` | n + 1 bytes | these bytes |
//! | `lllo oooo`, l ≥ 1 | length bytes if l = 7, low byte, two far bytes if o and the low byte are all ones | a match |
//!
//! A match copies l + 2 bytes, plus the sum of the length bytes if l = 7. A length byte of 255 is
//! followed by another length byte. The distance is o · 256 + low byte + 1. If o and the low byte
//! are all ones, the distance is instead 8192 plus the two far bytes (big-endian). A match may
//! overlap the bytes that it writes, in which case it repeats them.
//!
//! The format does not limit the number of length bytes. With 8 MB of length bytes that are all
//! 255, the length overflows in decoders that add up all length bytes before they check the
//! remaining space. This decoder stops adding as soon as the sum is too large.

use super::copies::{copy_literals, copy_match, repeated};
use crate::diagnostic::count;
use crate::{Error, Result};

/// Lowest first byte of a match instruction.
const MATCH: u8 = 32;
/// The value of `l - 1` in a match with length bytes (`l` = 7).
const LONG: usize = 6;
/// Length of the shortest match.
const MIN_MATCH: usize = 3;
/// The high part of a distance that, together with a low byte of 255, means that far bytes follow.
const FAR_HIGH: usize = 31 << 8;
/// A far distance is the sum of this number, the two far bytes, and 1.
const FAR: usize = 8191;

/// Decodes a stream to exactly the length of `out`. Offsets in errors include `offset`, the offset
/// of the stream in the buffer.
pub(super) fn decode(stream: &[u8], offset: u64, out: &mut [u8]) -> Result<()> {
    let truncated = |at: usize, needed: usize| {
        let left = stream.len().saturating_sub(at);
        let error = Error::truncated(needed as u64, left as u64);
        Err(error.at(offset + at as u64).context("blosclz"))
    };
    let invalid = |at: usize, message: &str| {
        Err(Error::invalid(format!("blosclz: {message}")).at(offset + at as u64))
    };
    let Some(first) = stream.first() else { return truncated(0, 1) };
    let mut control = first & (MATCH - 1);
    let (mut at, mut done) = (1, 0);
    loop {
        let start = at - 1;
        let room = out.len() - done;
        if control < MATCH {
            let run = usize::from(control) + 1;
            let rest = &stream[at..];
            if run > rest.len() {
                return truncated(at, run);
            }
            if run > room {
                return invalid(
                    start,
                    &format!("the stream decodes to more than {}", count(out.len(), "byte")),
                );
            }
            copy_literals(rest, &mut out[done..], run);
            at += run;
            done += run;
            if at == stream.len() {
                break;
            }
        } else if let Some(len) = short_match(control, &stream[at..], out, done) {
            at += 1;
            done += len;
        } else {
            let Some((len, distance)) = read_match(control, stream, &mut at, room) else {
                return truncated(stream.len(), 1);
            };
            if len > room {
                return invalid(
                    start,
                    &format!("the stream decodes to more than {}", count(out.len(), "byte")),
                );
            }
            if distance > done {
                return invalid(
                    start,
                    &format!(
                        "after {}, match distance {distance} is invalid",
                        count(done, "decoded byte")
                    ),
                );
            }
            copy_match(out, done, distance, len);
            done += len;
        }
        let Some(&next) = stream.get(at) else { return truncated(at, 1) };
        control = next;
        at += 1;
    }
    if done < out.len() {
        return invalid(
            at,
            &format!("expected {}, found {done}", count(out.len(), "decoded byte")),
        );
    }
    Ok(())
}

/// Copies a common match: 3 to 8 bytes long and not near the ends of `out`. Returns its length, or
/// `None` for any other match. Reads a single byte from the stream, the low byte of the distance.
#[inline]
fn short_match(control: u8, stream: &[u8], out: &mut [u8], done: usize) -> Option<usize> {
    let len = usize::from(control >> 5) - 1;
    let low = *stream.first()?;
    let distance = (usize::from(control & (MATCH - 1)) << 8) + usize::from(low) + 1;
    if len == LONG || distance > FAR {
        return None;
    }
    let (before, after) = out.split_at_mut_checked(done)?;
    let last: &[u8; 8] = before.last_chunk()?;
    let eight = if distance >= 8 {
        *before.get(done.checked_sub(distance)?..)?.first_chunk()?
    } else {
        repeated(*last, distance).0
    };
    *after.first_chunk_mut()? = eight;
    Some(len + MIN_MATCH)
}

/// Reads the length and the distance of a match. Returns `None` if the stream ends first. Stops
/// adding length bytes once the length exceeds `room`, the number of bytes left in the output.
#[inline]
fn read_match(control: u8, stream: &[u8], at: &mut usize, room: usize) -> Option<(usize, usize)> {
    let mut byte = || {
        let &byte = stream.get(*at)?;
        *at += 1;
        Some(usize::from(byte))
    };
    let mut len = usize::from(control >> 5) - 1;
    if len == LONG {
        loop {
            let more = byte()?;
            len += more;
            if more != 255 || len > room {
                break;
            }
        }
    }
    let high = usize::from(control & (MATCH - 1)) << 8;
    let low = byte()?;
    let mut distance = high + low;
    if low == 255 && high == FAR_HIGH {
        distance = byte()? << 8;
        distance += byte()? + FAR;
    }
    Some((len + MIN_MATCH, distance + 1))
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn decoded(stream: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        decode(stream, 0, &mut out).map(|()| out)
    }

    #[test]
    fn literals_are_copied_to_the_output() {
        assert_eq!(decoded(b"\x02abc", 3).unwrap(), b"abc");
        assert_eq!(
            decoded(b"\x22abc", 3).unwrap(),
            b"abc",
            "the upper bits of the first byte are ignored"
        );
        assert_eq!(decoded(b"\x00a\x01bc", 3).unwrap(), b"abc");
    }

    #[test]
    fn an_overlapping_match_repeats_its_own_output() {
        assert_eq!(decoded(b"\x02abc\x20\x02\x00x", 7).unwrap(), b"abcabcx");
        assert_eq!(decoded(b"\x00a\x40\x00\x00x", 6).unwrap(), b"aaaaax", "distance 1 fills");
        assert_eq!(
            decoded(b"\x01ab\xc0\x01\x00x", 11).unwrap(),
            b"ababababab".iter().chain(b"x").copied().collect::<Vec<_>>()
        );
    }

    #[test]
    fn length_bytes_are_summed_up_to_and_including_the_first_byte_below_255() {
        let len = 9 + 255 + 7;
        let mut expected = vec![b'a'; 1 + len];
        expected.push(b'x');
        assert_eq!(decoded(b"\x00a\xe0\xff\x07\x00\x00x", len + 2).unwrap(), expected);
    }

    #[test]
    fn far_distances_start_after_8191() {
        let plain: Vec<u8> = (0..9000_u32).map(|n| (n * 7 + n / 251) as u8).collect();
        let mut stream = Vec::new();
        for run in plain.chunks(32) {
            stream.push(run.len() as u8 - 1);
            stream.extend_from_slice(run);
        }
        // Add a match at the far distance 8192 + 3 * 256 + 5, then a match at the largest near
        // distance, 8191.
        stream.extend_from_slice(&[0x3f, 0xff, 3, 5]);
        stream.extend_from_slice(&[0x3f, 0xfe]);
        stream.extend_from_slice(b"\x00x");
        let out = decoded(&stream, 9007).unwrap();
        let from = 9000 - (8192 + 3 * 256 + 5);
        assert_eq!(out[9000..9003], plain[from..from + 3]);
        assert_eq!(out[9003..9006], plain[9003 - 8191..9006 - 8191]);
    }

    #[test]
    fn each_kind_of_damage_is_reported() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "blosclz: needs 1 byte, found only 0 (offset 0)"),
            (b"\x05ab", "blosclz: needs 6 bytes, found only 2 (offset 1)"),
            (b"\x01ab", "blosclz: expected 10 decoded bytes, found 2 (offset 3)"),
            (b"\x0aabcdefghijk", "blosclz: the stream decodes to more than 10 bytes (offset 0)"),
            (b"\x00a\x20", "blosclz: needs 1 byte, found only 0 (offset 3)"),
            (
                b"\x00a\x20\x01\x00x",
                "blosclz: after 1 decoded byte, match distance 2 is invalid (offset 2)",
            ),
            (b"\x00a\x3f\xff\x00", "blosclz: needs 1 byte, found only 0 (offset 5)"),
            (
                b"\x00a\xe0\x01\x00\x00x",
                "blosclz: the stream decodes to more than 10 bytes (offset 2)",
            ),
        ];
        for (stream, message) in cases {
            assert_eq!(decoded(stream, 10).unwrap_err().to_string(), *message);
        }
    }

    #[test]
    fn a_stream_that_ends_with_a_match_is_rejected() {
        let error = decoded(b"\x00a\x20\x00", 4).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{error}");
    }

    #[test]
    fn summing_length_bytes_stops_once_the_match_exceeds_the_output() {
        let mut stream = b"\x03abcd\xe0".to_vec();
        stream.resize(stream.len() + 8_421_605, 255);
        stream.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let error = decoded(&stream, 65536).unwrap_err();
        assert_eq!(
            error.to_string(),
            "blosclz: the stream decodes to more than 65536 bytes (offset 5)"
        );
    }
}
