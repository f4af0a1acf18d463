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
//! set usually matches nothing, even if it is incomplete. `?` and sets match Unicode characters, but classes such as
//! `[:alpha:]` contain only ASCII.

use crate::model::ArchivePath;

/// Returns `true` if a pattern matches the whole path. [`selects`] also matches everything below a
/// matching directory.
///
/// If the pattern contains no `[`, matching takes time at most proportional to
/// `pattern.len() * path.len()`, no matter how many stars there are.
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
            (Some(character), false) => one(pattern, character),
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

/// Returns the pattern after its first element, or `None` if this element does not match the character.
fn one(pattern: &str, character: char) -> Option<&str> {
    let mut rest = pattern.chars();
    let matches = match rest.next()? {
        '?' => true,
        '\\' => rest.next()? == character,
        '[' => match set(rest.as_str(), character) {
            Some((matches, behind)) => return matches.then_some(behind),
            None => character == '[',
        },
        other => other == character,
    };
    matches.then_some(rest.as_str())
}

/// Compares a character with the set after a `[`. Returns whether the set matches, and the pattern
/// after the `]` of the set. Returns `None` if there is no `]`, and [`NO_MATCH`] if an unknown class or
/// symbol prevents a match.
fn set(text: &str, character: char) -> Option<(bool, &str)> {
    let negated = text.strip_prefix(['!', '^']);
    let mut rest = negated.unwrap_or(text);
    let (mut found, mut first) = (false, true);
    loop {
        if let Some(behind) = rest.strip_prefix(']').filter(|_| !first) {
            return Some((found != negated.is_some(), behind));
        }
        first = false;
        if let Some((class, behind)) = bracketed(rest, ":") {
            match is_in_class(class, character) {
                Some(matches) => found |= matches,
                None if found => {}
                None => return NO_MATCH,
            }
            rest = behind;
            continue;
        }
        if let Some((name, behind)) = bracketed(rest, "=") {
            found |= name.strip_prefix(character) == Some("");
            rest = behind;
            continue;
        }
        let Ok((low, behind)) = member(rest)? else { return NO_MATCH };
        let high = behind.strip_prefix('-').filter(|behind| !behind.starts_with(']'));
        let (high, behind) = match high {
            Some(behind) => match member(behind)? {
                Ok(member) => member,
                Err(NoSymbol) => return NO_MATCH,
            },
            None => (low, behind),
        };
        found |= (low..=high).contains(&character);
        rest = behind;
    }
}

/// The result for a set that does not match, because it contains an unknown class, or an unknown or
/// incomplete collating symbol.
const NO_MATCH: Option<(bool, &str)> = Some((false, ""));

/// An unknown or incomplete collating symbol.
struct NoSymbol;

/// Returns the name in a bracketed expression such as `[:alpha:]`, and the text after the
/// expression. `mark` is the character inside the brackets, such as `:`.
fn bracketed<'t>(text: &'t str, mark: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix('[')?.strip_prefix(mark)?.split_once(&format!("{mark}]"))
}

/// Returns the next character of a set, and the text after it. `text` is the rest of the pattern,
/// starting at this character. Returns `None` if the text ends early, and an error if it begins with
/// an unknown or incomplete collating symbol.
fn member(text: &str) -> Option<Result<(char, &str), NoSymbol>> {
    if text.starts_with("[.") {
        let symbol = bracketed(text, ".").and_then(|(name, behind)| {
            let mut name = name.chars();
            Some((name.next()?, behind)).filter(|_| name.next().is_none())
        });
        return Some(symbol.ok_or(NoSymbol));
    }
    let mut rest = text.chars();
    let character = match rest.next()? {
        '\\' => rest.next()?,
        other => other,
    };
    Some(Ok((character, rest.as_str())))
}

fn is_in_class(class: &str, character: char) -> Option<bool> {
    Some(match class {
        "alnum" => character.is_ascii_alphanumeric(),
        "alpha" => character.is_ascii_alphabetic(),
        "blank" => matches!(character, ' ' | '\t'),
        "cntrl" => character.is_ascii_control(),
        "digit" => character.is_ascii_digit(),
        "graph" => character.is_ascii_graphic(),
        "lower" => character.is_ascii_lowercase(),
        "print" => character.is_ascii_graphic() || character == ' ',
        "punct" => character.is_ascii_punctuation(),
        "space" => character.is_ascii_whitespace() || character == '\u{b}',
        "upper" => character.is_ascii_uppercase(),
        "xdigit" => character.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
