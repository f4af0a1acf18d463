//! Patterns that match JSON Pointers.

use binio::pointer;

use crate::error::{Error, ReferenceError, Result};

/// Maximum number of tokens in a pattern. Each token needs one bit in [`Progress`].
const MAX_TOKENS: usize = 63;

/// A pattern that matches JSON Pointers. Within a key, `*` matches any characters and `?` matches a single one;
/// the key `**` matches any number of keys.
///
/// ```
/// use asdf::inspect::Pattern;
///
/// let pattern = Pattern::parse("/meta/**/time_*")?;
/// assert!(pattern.matches("/meta/time_start") && pattern.matches("/meta/exposure/0/time_end"));
/// assert!(!pattern.matches("/meta") && !pattern.matches("/time_start"));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern(Vec<Token>);

#[derive(Clone, Debug)]
enum Token {
    /// The key `**`, which matches any number of keys.
    Any,
    Glob(String),
}

/// The progress of matching a pattern against a pointer. Bit n is set if the first n tokens of the
/// pattern match all tokens of the pointer that have been read so far. Several bits may be set,
/// because there may be several ways to match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress(u64);

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) of kind
    /// [`Syntax`](ReferenceError::Syntax) if the pattern is not a JSON Pointer or has more than 63 keys.
    pub fn parse(pattern: &str) -> Result<Self> {
        let invalid = |message: String| Error::reference(pattern, ReferenceError::Syntax(message));
        let tokens = pointer::tokens(pattern).map_err(|error| invalid(error.to_string()))?;
        if tokens.len() > MAX_TOKENS {
            return Err(invalid(format!(
                "the pattern has {} keys, but at most 63 are allowed",
                tokens.len()
            )));
        }
        let token = |token: std::borrow::Cow<'_, str>| match &*token {
            "**" => Token::Any,
            _ => Token::Glob(token.into_owned()),
        };
        Ok(Self(tokens.into_iter().map(token).collect()))
    }

    /// Returns `true` if a pointer matches the pattern. Invalid pointers never match.
    pub fn matches(&self, pointer: &str) -> bool {
        let Ok(tokens) = pointer::tokens(pointer) else { return false };
        let progress = tokens.iter().fold(self.start(), |at, token| self.step(at, token));
        self.is_match(progress)
    }

    pub(super) fn start(&self) -> Progress {
        self.closed(1)
    }

    /// Returns the progress after matching one more token of the pointer.
    pub(super) fn step(&self, from: Progress, token: &str) -> Progress {
        let mut next = 0;
        for (at, expected) in self.0.iter().enumerate() {
            if from.0 >> at & 1 == 0 {
                continue;
            }
            match expected {
                Token::Any => next |= 1 << at,
                Token::Glob(pattern) if glob(pattern, token, Wildcards::Text) => {
                    next |= 1 << (at + 1);
                }
                Token::Glob(_) => {}
            }
        }
        self.closed(next)
    }

    pub(super) fn is_match(&self, progress: Progress) -> bool {
        progress.0 >> self.0.len() & 1 == 1
    }

    /// Adds the states that can be reached by letting `**` match no tokens.
    fn closed(&self, mut bits: u64) -> Progress {
        for (at, token) in self.0.iter().enumerate() {
            if matches!(token, Token::Any) && bits >> at & 1 == 1 {
                bits |= 1 << (at + 1);
            }
        }
        Progress(bits)
    }
}

/// The set of wildcards that a pattern may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// `*` matches any characters, and `?` matches a single one.
    Text,
    /// `*` matches any characters except `/`, and `**` matches any characters.
    #[cfg(feature = "schema")]
    Path,
}

/// A character of a pattern, or a wildcard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Character(char),
    One,
    AnyBut(Option<char>),
}

/// Returns `true` if a string matches a pattern with wildcards. The running time is at most
/// proportional to the product of the two lengths.
pub(super) fn glob(pattern: &str, text: &str, wildcards: Wildcards) -> bool {
    let is_text = wildcards == Wildcards::Text;
    let Some(literal) = pattern.find(|c| c == '*' || (c == '?' && is_text)) else {
        return pattern == text;
    };
    let (literal, pattern) = pattern.split_at(literal);
    let Some(text) = text.strip_prefix(literal) else { return false };
    let mut pieces = Vec::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            '*' if characters.next_if_eq(&'*').is_some() || is_text => Piece::AnyBut(None),
            '*' => Piece::AnyBut(Some('/')),
            '?' if is_text => Piece::One,
            _ => Piece::Character(character),
        });
    }
    // `states[i]` is true if piece `i` may match the next character. The last state is true if the
    // whole pattern has matched.
    let mut states = vec![false; pieces.len() + 1];
    states[0] = true;
    skip_any(&pieces, &mut states);
    for character in text.chars() {
        if !states.contains(&true) {
            return false;
        }
        states[pieces.len()] = false;
        for (at, piece) in pieces.iter().enumerate().rev() {
            if std::mem::take(&mut states[at]) {
                match *piece {
                    Piece::AnyBut(excluded) => states[at] = excluded != Some(character),
                    Piece::One => states[at + 1] = true,
                    Piece::Character(expected) => states[at + 1] |= expected == character,
                }
            }
        }
        skip_any(&pieces, &mut states);
    }
    states[pieces.len()]
}

/// Adds the states that can be reached by letting `*` match the empty string.
fn skip_any(pieces: &[Piece], states: &mut [bool]) {
    for (at, piece) in pieces.iter().enumerate() {
        if states[at] && matches!(piece, Piece::AnyBut(_)) {
            states[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_matches_characters_and_two_stars_match_keys() {
        for (pattern, pointers, others) in [
            ("", &[""][..], &["/a"][..]),
            ("/a", &["/a"], &["", "/b", "/a/b", "/ab"]),
            ("/*", &["/a", "/"], &["", "/a/b"]),
            ("/a*c/?", &["/abc/x", "/ac/1"], &["/abd/x", "/abc/xy", "/abc/"]),
            ("/**", &["", "/a", "/a/b/c"], &[]),
            ("/**/b", &["/b", "/a/b", "/b/b", "/a/a/b"], &["", "/a", "/b/a"]),
            ("/a/**/b/**", &["/a/b", "/a/x/b", "/a/b/x", "/a/b/b"], &["/b", "/a/x"]),
            ("/a~1b", &["/a~1b"], &["/a/b"]),
            ("/*ab*ab", &["/abab", "/xaabxab"], &["/ab", "/abx"]),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            for pointer in pointers {
                assert!(parsed.matches(pointer), "{pattern} {pointer}");
            }
            for pointer in others {
                assert!(!parsed.matches(pointer), "{pattern} {pointer}");
            }
        }
        assert!(Pattern::parse("a").is_err());
        assert!(Pattern::parse(&"/a".repeat(64)).is_err());
        assert!(Pattern::parse(&"/a".repeat(63)).unwrap().matches(&"/a".repeat(63)));
    }

    #[test]
    fn matching_a_pattern_with_many_stars_does_not_take_exponential_time() {
        let text = "a".repeat(10_000);
        assert!(!glob(&("*a".repeat(200) + "b"), &text, Wildcards::Text));
        let pattern = Pattern::parse(&"/**/a".repeat(31)).unwrap();
        assert!(!pattern.matches(&"/b".repeat(1000)));
        assert!(pattern.matches(&"/a".repeat(1000)));
    }

    #[test]
    fn a_question_mark_matches_one_character_and_a_star_matches_any_number_of_them() {
        for (pattern, text, is_match) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("?", "é", true),
            ("??", "é", false),
            ("*é?", "aéé", true),
            ("a*b*", "ab", true),
            ("a**b", "a//b", true),
            ("*.fits", "a.fits.gz", false),
        ] {
            assert_eq!(glob(pattern, text, Wildcards::Text), is_match, "{pattern} {text}");
        }
    }

    #[cfg(feature = "schema")]
    #[test]
    fn a_single_star_in_a_tag_pattern_does_not_match_a_slash() {
        for (pattern, uri, is_match) in [
            ("tag:a/b-1.0.0", "tag:a/b-1.0.0", true),
            ("tag:a/b-1.0.0", "tag:a/b-1.0.1", false),
            ("tag:a/b-1.*", "tag:a/b-1.0.0", true),
            ("tag:a/*", "tag:a/b/c", false),
            ("tag:a/**", "tag:a/b/c", true),
            ("**/c-*", "tag:a/b/c-1", true),
            ("*", "", true),
            ("a*b", "ab", true),
            ("a*b", "a", false),
            ("a?", "a?", true),
            ("*?", "ab", false),
        ] {
            assert_eq!(glob(pattern, uri, Wildcards::Path), is_match, "{pattern} {uri}");
        }
        let (pattern, uri) = ("**a".repeat(50), "a".repeat(2000) + "b");
        assert!(!glob(&pattern, &uri, Wildcards::Path));
    }
}
