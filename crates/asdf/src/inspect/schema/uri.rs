//! URIs of schemas: relative ones, fragments, and patterns of tags.

use std::borrow::Cow;

/// A URI against a base, as RFC 3986 says, as far as schemas need it. Without a fragment in the base.
///
/// ```text
/// http://x.org/schemas/a-1.0.0  +  b-1.0.0        http://x.org/schemas/b-1.0.0
///                               +  ../c-1.0.0     http://x.org/c-1.0.0
///                               +  #/definitions  http://x.org/schemas/a-1.0.0#/definitions
/// ```
pub(super) fn join(base: &str, reference: &str) -> String {
    if has_scheme(reference) || base.is_empty() {
        return reference.to_owned();
    }
    let base = base.split('#').next().unwrap_or_default();
    if reference.is_empty() || reference.starts_with('#') {
        return format!("{base}{reference}");
    }
    let scheme_end = base.find(':').map_or(0, |at| at + 1);
    let authority = if base[scheme_end..].starts_with("//") {
        let start = scheme_end + 2;
        base[start..].find('/').map_or(base.len(), |at| start + at)
    } else {
        scheme_end
    };
    if reference.starts_with("//") {
        return format!("{}{reference}", &base[..scheme_end]);
    }
    if let Some(path) = reference.strip_prefix('/') {
        return format!("{}/{path}", &base[..authority]);
    }
    let folder = base[authority..].rfind('/').map_or("/", |at| &base[authority..=authority + at]);
    let (path, fragment) = match reference.find('#') {
        Some(at) => reference.split_at(at),
        None => (reference, ""),
    };
    let mut parts: Vec<&str> = folder.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." if parts.len() > 1 => {
                parts.pop();
            }
            "." | ".." => {}
            part => parts.push(part),
        }
    }
    format!("{}{}{fragment}", &base[..authority], parts.join("/"))
}

fn has_scheme(uri: &str) -> bool {
    let Some((scheme, _)) = uri.split_once(':') else { return false };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_scheme)
}

/// A URI and its fragment, which is percent-decoded and empty if there is none.
pub(super) fn split(uri: &str) -> (&str, String) {
    match uri.split_once('#') {
        None => (uri, String::new()),
        Some((uri, fragment)) => {
            let decoded = binio::pointer::percent_decode_lenient(fragment);
            (uri, decoded.map_or_else(|| fragment.to_owned(), Cow::into_owned))
        }
    }
}

/// Whether a tag matches a pattern, in which `*` stands for any characters but `/`, and `**` for any.
pub(super) fn matches(pattern: &str, uri: &str) -> bool {
    let (pattern, uri) = (tokens(pattern), uri.as_bytes());
    // Which tokens may come next, after each byte.
    let mut states = vec![false; pattern.len() + 1];
    states[0] = true;
    skip_wildcards(&pattern, &mut states);
    for &byte in uri {
        let mut next = vec![false; states.len()];
        for (at, token) in pattern.iter().enumerate().filter(|(at, _)| states[*at]) {
            match *token {
                Token::Byte(expected) => next[at + 1] |= expected == byte,
                Token::Any { slash } => next[at] |= slash || byte != b'/',
            }
        }
        skip_wildcards(&pattern, &mut next);
        states = next;
    }
    states[pattern.len()]
}

#[derive(Clone, Copy)]
enum Token {
    Byte(u8),
    Any { slash: bool },
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut bytes = pattern.bytes().peekable();
    while let Some(byte) = bytes.next() {
        tokens.push(match byte {
            b'*' => Token::Any { slash: bytes.next_if_eq(&b'*').is_some() },
            byte => Token::Byte(byte),
        });
    }
    tokens
}

/// A wildcard may stand for nothing.
fn skip_wildcards(pattern: &[Token], states: &mut [bool]) {
    for (at, token) in pattern.iter().enumerate() {
        if states[at] && matches!(token, Token::Any { .. }) {
            states[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_relative_to_the_id_of_the_schema() {
        let base = "http://stsci.edu/schemas/asdf/core/asdf-1.1.0";
        for (reference, joined) in [
            ("software-1.0.0", "http://stsci.edu/schemas/asdf/core/software-1.0.0"),
            ("../unit/unit-1.0.0", "http://stsci.edu/schemas/asdf/unit/unit-1.0.0"),
            ("./a#/b", "http://stsci.edu/schemas/asdf/core/a#/b"),
            ("#/definitions/x", "http://stsci.edu/schemas/asdf/core/asdf-1.1.0#/definitions/x"),
            ("", base),
            ("/a", "http://stsci.edu/a"),
            ("//x.org/a", "http://x.org/a"),
            ("asdf://x.org/a", "asdf://x.org/a"),
            ("tag:x.org,2020:a", "tag:x.org,2020:a"),
            ("../../../../../../a", "http://stsci.edu/a"),
        ] {
            assert_eq!(join(base, reference), joined);
        }
        assert_eq!(join("asdf://x.org/schemas/a-1", "b-1"), "asdf://x.org/schemas/b-1");
        assert_eq!(join("asdf://x.org", "b"), "asdf://x.org/b");
        assert_eq!(join("", "b"), "b");
    }

    #[test]
    fn wildcards_of_tags_stop_at_a_slash_unless_they_are_two() {
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
        ] {
            assert_eq!(matches(pattern, uri), is_match, "{pattern} {uri}");
        }
        let (pattern, uri) = ("**a".repeat(50), "a".repeat(2000) + "b");
        assert!(!matches(&pattern, &uri));
    }
}
