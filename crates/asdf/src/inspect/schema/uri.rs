//! Resolving and splitting the URIs of schemas.

use std::borrow::Cow;

/// Resolves a reference against a base URI. Implements as much of RFC 3986 as schemas need. A fragment in the
/// base is ignored.
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

/// Splits a URI into the part before the fragment and the percent-decoded fragment, which is empty if the URI
/// has no fragment.
pub(super) fn split(uri: &str) -> (&str, String) {
    match uri.split_once('#') {
        None => (uri, String::new()),
        Some((uri, fragment)) => {
            let decoded = binio::pointer::percent_decode_lenient(fragment);
            (uri, decoded.map_or_else(|| fragment.to_owned(), Cow::into_owned))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_resolved_against_the_id_of_the_schema() {
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
}
