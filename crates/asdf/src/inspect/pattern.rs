//! Patterns of JSON Pointers.

use binio::pointer;

use crate::error::{Error, ReferenceError, Result};

/// Tokens of a pattern, each of which is a bit of [`Progress`].
const MAX_TOKENS: usize = 63;

/// A pattern of JSON Pointers: in a key `*` stands for any characters and `?` for one, and the key `**` stands
/// for any number of keys.
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
    /// `**`
    Any,
    Glob(String),
}

/// How many tokens of a pattern the tokens of a pointer have matched so far: bit n for the first n. There may
/// be several ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress(u64);

impl Pattern {
    /// Parses a pattern. Fails if it is not a pointer, or has more than 63 keys.
    pub fn parse(pattern: &str) -> Result<Self> {
        let invalid = |message: String| Error::reference(pattern, ReferenceError::Syntax(message));
        let tokens = pointer::tokens(pattern).map_err(|error| invalid(error.to_string()))?;
        if tokens.len() > MAX_TOKENS {
            return Err(invalid(format!("a pattern of {} keys, at most 63", tokens.len())));
        }
        let token = |token: std::borrow::Cow<'_, str>| match &*token {
            "**" => Token::Any,
            _ => Token::Glob(token.into_owned()),
        };
        Ok(Self(tokens.into_iter().map(token).collect()))
    }

    /// Whether a pointer is one of the pattern. What is not a pointer is none.
    pub fn matches(&self, pointer: &str) -> bool {
        let Ok(tokens) = pointer::tokens(pointer) else { return false };
        let progress = tokens.iter().fold(self.start(), |at, token| self.step(at, token));
        self.is_match(progress)
    }

    pub(super) fn start(&self) -> Progress {
        self.closed(1)
    }

    /// The progress after one more token.
    pub(super) fn step(&self, from: Progress, token: &str) -> Progress {
        let mut next = 0;
        for (at, expected) in self.0.iter().enumerate() {
            if from.0 >> at & 1 == 0 {
                continue;
            }
            match expected {
                Token::Any => next |= 1 << at,
                Token::Glob(pattern) if glob(pattern, token) => next |= 1 << (at + 1),
                Token::Glob(_) => {}
            }
        }
        self.closed(next)
    }

    pub(super) fn is_match(&self, progress: Progress) -> bool {
        progress.0 >> self.0.len() & 1 == 1
    }

    /// Adds that `**` may stand for nothing.
    fn closed(&self, mut bits: u64) -> Progress {
        for (at, token) in self.0.iter().enumerate() {
            if matches!(token, Token::Any) && bits >> at & 1 == 1 {
                bits |= 1 << (at + 1);
            }
        }
        Progress(bits)
    }
}

/// Whether a text is one of a pattern with `*` and `?`.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // The pattern after the last `*`, and the text that it has not been compared with.
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let before_text = text.clone();
        match (pattern.next(), text.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((pattern.clone(), before_text.clone()));
                text = before_text;
            }
            (Some('?'), Some(_)) => {}
            (Some(expected), Some(found)) if expected == found => {}
            _ => {
                let Some((after, rest)) = &mut retry else { return false };
                // The `*` takes one character more.
                if rest.next().is_none() {
                    return false;
                }
                (pattern, text) = (after.clone(), rest.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_characters_and_for_keys() {
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
    fn a_pattern_of_many_stars_takes_no_exponential_time() {
        let text = "a".repeat(10_000);
        assert!(!glob(&("*a".repeat(200) + "b"), &text));
        let pattern = Pattern::parse(&"/**/a".repeat(31)).unwrap();
        assert!(!pattern.matches(&"/b".repeat(1000)));
        assert!(pattern.matches(&"/a".repeat(1000)));
    }
}
