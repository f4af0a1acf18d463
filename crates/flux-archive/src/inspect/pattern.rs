//! Patterns of POSIX `fnmatch` without flags, as in `flux archive list PATTERN`.
//!
//! | pattern | matches |
//! |---|---|
//! | `*` | zero or more characters, including `/` and a leading dot |
//! | `?` | any single character, including `/` and a leading dot |
//! | `[abc]` `[a-z]` `[!a]` `[^a]` `[[:alpha:]]` `[[.-.]]` `[[=a=]]` | a single character in the set, or with `!` or `^`, a single character that is not in the set |
//! | `\x` | the character `x` |
//!
//! A `[` that is not followed by a complete set is an ordinary character. After an unknown class or collating symbol, a
//! set usually matches nothing, even if it is incomplete. As in the GNU C library, the `[` in `[:` is an ordinary
//! character of the set unless a name in lower-case letters and `:]` follow, and the `[` in `[=` unless a single character
//! and `=]` follow. `?` and sets match Unicode characters, but classes such as `[:alpha:]` contain only ASCII.

use crate::model::ArchivePath;

/// Returns `true` if a pattern matches the whole path. [`selects`] also matches everything below a
/// matching directory.
///
/// Matching takes time at most proportional to `pattern.len() * path.len()`, no matter how many stars and brackets there
/// are.
///
/// ```
/// use flux_archive::inspect::fnmatch;
///
/// assert!(fnmatch("*.csv", "data/a.csv"));
/// assert!(fnmatch("data/[a-c]?csv", "data/a.csv"));
/// assert!(!fnmatch("data", "data/a.csv"));
/// ```
pub fn fnmatch(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern, path);
    // The pattern after the last star, and the rest of the path to match with it. If the match fails, it is tried again
    // from the next character of the path.
    let mut retry: Option<(&str, &str)> = None;
    let mut closed = Vec::new();
    loop {
        if let Some(rest) = pattern.strip_prefix('*') {
            pattern = rest;
            retry = Some((rest, path));
            continue;
        }
        let mut characters = path.chars();
        let character = characters.next();
        let step = match (character, pattern.is_empty()) {
            (None, true) => return true,
            (Some(character), false) => one(pattern, character, &mut closed),
            (None, false) | (Some(_), true) => None,
        };
        if let Some(rest) = step {
            (pattern, path) = (rest, characters.as_str());
            continue;
        }
        let Some((behind_star, from)) = retry else { return false };
        let mut characters = from.chars();
        if characters.next().is_none() {
            return false;
        }
        (pattern, path) = (behind_star, characters.as_str());
        retry = Some((pattern, path));
    }
}

/// Returns `true` if a pattern matches a path in an archive, or a directory above it.
///
/// The path is first compared as given. If it does not match, it is normalised and compared again, together with the
/// directories above it. In this case, `./` at the start and `/` at the end of the pattern are ignored.
///
/// ```
/// use flux_archive::inspect::selects;
///
/// assert!(selects("data", "data/a.csv") && selects("./data/", "data"));
/// assert!(selects("*.csv", "./data/a.csv") && !selects("a.csv", "data/a.csv"));
/// ```
pub fn selects(pattern: &str, path: &str) -> bool {
    if fnmatch(pattern, path) {
        return true;
    }
    let Ok((path, _)) = ArchivePath::normalise(path) else { return false };
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    fnmatch(pattern, path.as_str()) || path.ancestors().any(|above| fnmatch(pattern, above))
}

/// Returns the pattern after its first element, or `None` if this element does not match the character. If the element
/// is a `[` without a complete set, sets `closed` to the [`closed_ends`] of the pattern, so that the rest of the pattern
/// is not searched again for the end of the set.
fn one<'p>(pattern: &'p str, character: char, closed: &mut Vec<bool>) -> Option<&'p str> {
    let mut rest = pattern.chars();
    let matches = match rest.next()? {
        '?' => true,
        '\\' => rest.next()? == character,
        '[' if may_be_set(rest.as_str(), closed) => {
            if let Some((matches, behind)) = set(rest.as_str(), character) {
                return matches.then_some(behind);
            }
            *closed = closed_ends(rest.as_str());
            character == '['
        }
        other => other == character,
    };
    matches.then_some(rest.as_str())
}

/// Compares a character with the set after a `[`. Returns whether the set matches, and the pattern
/// after the `]` of the set. Returns `None` if there is no `]`, and [`NO_MATCH`] if an unknown class or
/// symbol prevents a match.
fn set(text: &str, character: char) -> Option<(bool, &str)> {
    let (negated, mut rest) = negation(text);
    let (mut found, mut first, mut unknown) = (false, true, false);
    loop {
        if let Some(behind) = rest.strip_prefix(']').filter(|_| !first) {
            return Some((found != negated, behind));
        }
        first = false;
        let Some((item, behind)) = item(rest) else {
            return if unknown { NO_MATCH } else { None };
        };
        match item {
            Item::Range(low, high) => found |= (low..=high).contains(&character),
            Item::Class(Some(contains)) => found |= contains(character),
            Item::Class(None) if found => unknown = true,
            Item::Class(None) | Item::NoSymbol => return NO_MATCH,
        }
        rest = behind;
    }
}

/// The result for a set that does not match, because it contains an unknown class, or an unknown or
/// incomplete collating symbol.
const NO_MATCH: Option<(bool, &str)> = Some((false, ""));

/// Returns whether a set is negated, and its items. `text` is the pattern after the `[` of the set.
fn negation(text: &str) -> (bool, &str) {
    let negated = text.strip_prefix(['!', '^']);
    (negated.is_some(), negated.unwrap_or(text))
}

/// Returns `false` if [`set`] returns `None` for any character. `closed` may contain the [`closed_ends`] of the pattern.
fn may_be_set(text: &str, closed: &[bool]) -> bool {
    closed.is_empty() || is_closed(negation(text).1, closed)
}

/// Returns, for each length of the end of a pattern, `true` if a set that continues with it has a `]`, or if an unknown
/// class or symbol prevents a match.
fn closed_ends(pattern: &str) -> Vec<bool> {
    let mut closed = vec![false; pattern.len() + 1];
    for (at, _) in pattern.char_indices().rev() {
        let end = &pattern[at..];
        closed[end.len()] = end.starts_with(']') || is_closed(end, &closed);
    }
    closed
}

/// Like [`closed_ends`], but for a set that continues with an item. A `]` at the start of the text is an item.
fn is_closed(text: &str, closed: &[bool]) -> bool {
    match item(text) {
        None => false,
        Some((Item::Class(None) | Item::NoSymbol, _)) => true,
        Some((_, behind)) => closed.get(behind.len()).copied().unwrap_or(true),
    }
}

/// An item of a set.
enum Item {
    /// The characters from the first to the second, both included.
    Range(char, char),
    /// The characters for which a function returns `true`, or `None` if the class is unknown.
    Class(Option<fn(char) -> bool>),
    /// An unknown or incomplete collating symbol.
    NoSymbol,
}

/// Returns the item at the start of the text, and the text after it. Returns `None` if the text ends early.
fn item(text: &str) -> Option<(Item, &str)> {
    if let Some((name, behind)) = class_name(text) {
        return Some((Item::Class(class(name)), behind));
    }
    if let Some((character, behind)) = bracketed(text, "[=", "=]") {
        return Some((Item::Range(character, character), behind));
    }
    let (low, behind) = member(text)?;
    let high = behind.strip_prefix('-').filter(|behind| !behind.starts_with(']'));
    let (high, behind) = high.map_or(Some((low, behind)), member)?;
    let range = low.zip(high).map(|(low, high)| Item::Range(low, high));
    Some((range.unwrap_or(Item::NoSymbol), behind))
}

/// Returns the name in an expression such as `[:alpha:]`, and the text after the expression.
fn class_name(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("[:")?;
    let end = text.find(|character: char| !character.is_ascii_lowercase())?;
    Some((&text[..end], text[end..].strip_prefix(":]")?))
}

/// Returns the character in an expression such as `[.-.]`, and the text after the expression.
fn bracketed<'t>(text: &'t str, start: &str, end: &str) -> Option<(char, &'t str)> {
    let mut rest = text.strip_prefix(start)?.chars();
    Some((rest.next()?, rest.as_str().strip_prefix(end)?))
}

/// Returns the next character of a set, and the text after it. `text` is the rest of the pattern, starting at this
/// character. The character is `None` if the text begins with an unknown or incomplete collating symbol. Returns `None`
/// if the text ends early.
fn member(text: &str) -> Option<(Option<char>, &str)> {
    if text.starts_with("[.") {
        let symbol = bracketed(text, "[.", ".]");
        return Some(symbol.map_or((None, ""), |(character, behind)| (Some(character), behind)));
    }
    let mut rest = text.chars();
    let character = match rest.next()? {
        '\\' => rest.next()?,
        other => other,
    };
    Some((Some(character), rest.as_str()))
}

/// Returns a function that tests whether a class contains a character, or `None` if the class is unknown.
fn class(name: &str) -> Option<fn(char) -> bool> {
    let contains: fn(char) -> bool = match name {
        "alnum" => |character| character.is_ascii_alphanumeric(),
        "alpha" => |character| character.is_ascii_alphabetic(),
        "blank" => |character| matches!(character, ' ' | '\t'),
        "cntrl" => |character| character.is_ascii_control(),
        "digit" => |character| character.is_ascii_digit(),
        "graph" => |character| character.is_ascii_graphic(),
        "lower" => |character| character.is_ascii_lowercase(),
        "print" => |character| character.is_ascii_graphic() || character == ' ',
        "punct" => |character| character.is_ascii_punctuation(),
        "space" => |character| character.is_ascii_whitespace() || character == '\u{b}',
        "upper" => |character| character.is_ascii_uppercase(),
        "xdigit" => |character| character.is_ascii_hexdigit(),
        _ => return None,
    };
    Some(contains)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn incomplete_sets_are_recognised_without_comparing_a_character(
            text in r"(\[|\]|[a\\!-]|\[:alpha:\]|\[:foo:\]|\[=a=\]|\[\.a\.\]|\[[:=.]){0,8}",
        ) {
            let closed = is_closed(negation(&text).1, &closed_ends(&text));
            for character in ['a', '[', '-', 'x'] {
                prop_assert_eq!(set(&text, character).is_some(), closed);
            }
        }
    }

    #[test]
    fn patterns_match_like_posix_fnmatch() {
        // The expected results are those of `fnmatch(pattern, path, 0)` in the C library.
        for (pattern, path, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", ".hidden/x", true),
            ("?", "/", true),
            ("??", "a", false),
            ("a*b*c", "a/x/b//c", true),
            ("a*b*c", "a/x/b//d", false),
            ("*a", "aaab", false),
            ("*aab", "aaab", true),
            ("[a-c]", "b", true),
            ("[!a-c]", "b", false),
            ("[^a-c]", "d", true),
            ("[]]", "]", true),
            ("[!]]", "x", true),
            ("[]-a]", "^", true),
            ("[a-]", "-", true),
            ("[a\\-c]", "b", false),
            ("[a\\-c]", "-", true),
            ("[[:digit:]x]", "7", true),
            ("[[:digit:]x]", "y", false),
            ("[![:space:]]", " ", false),
            ("[a", "[a", true),
            ("[a", "a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", false),
            ("a\\\\", "a\\", true),
            ("[z-a]", "m", false),
            ("[[.a.]]", "a", true),
            ("[[.-.]x]", "-", true),
            ("[[.].]]", "]", true),
            ("[[.a.]-c]", "b", true),
            ("[a-[.c.]]", "b", true),
            ("[![.a.]]", "b", true),
            ("[[.ab.]x]", "x", false),
            ("[[.ab.]]", "[[.ab.]]", false),
            ("[[.a]", "a", false),
            ("[[=a=]b]", "a", true),
            ("[[=]=]]", "]", true),
            ("[[=a=]-c]", "b", false),
            ("[[=a]", "=", true),
            ("[[:foo:]]", "f", false),
            ("[[:foo:]]", "[[:foo:]]", false),
            ("[x[:foo:]]", "x", true),
            ("[[:digit:]-z]", "-", true),
            ("[[:digit:]-z]", "m", false),
            ("[[:alpha:", "[[:alpha:", true),
            ("[[:alpha:]", "[a", true),
            ("[[:alpha:][[:digit:]", "[a[d", true),
            ("[[:Alpha:]]", "A]", true),
            ("[[:a-b:]]", "a]", true),
            ("[[::]]", "[[::]]", false),
            ("[[:[:x]", ":", true),
            ("[[:[:x", "[[:[:x", true),
            ("[[[:foo:]", "[[", false),
            ("[[.a", "[[.a", false),
            ("[[==]]", "=]", true),
            ("[[=ab=]]", "a]", true),
            ("[[=ab=]]", "a", false),
            ("[[=a=", "[[=a=", true),
        ] {
            assert_eq!(fnmatch(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn question_marks_and_sets_match_unicode_characters() {
        assert!(fnmatch("h?/[à-ÿ]", "hé/é"));
    }

    #[test]
    fn a_pattern_with_many_stars_does_not_take_exponential_time() {
        let pattern = "*a".repeat(100) + "b";
        assert!(!fnmatch(&pattern, &"a".repeat(5000)));
    }

    #[test]
    fn a_pattern_with_many_incomplete_sets_does_not_take_quadratic_time() {
        for start in ["[", "[:", "[=", "[!", "[a-", "[[:alpha:]", "[[=a=]"] {
            for end in ["", "]", "\\]", "[.", "[:foo:]"] {
                let pattern = ["[", &start.repeat(100_000), end].concat();
                for path in ["path", "[a", "[[:a"] {
                    fnmatch(&pattern, path);
                }
            }
            let pattern = ["*", &start.repeat(20_000), "\\]"].concat();
            assert!(!fnmatch(&pattern, &start.repeat(1000)));
        }
    }
}
