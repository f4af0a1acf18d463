//! Reading the directive lines before `---`.
//!
//! ```text
//! %YAML 1.1                          version of YAML
//! %TAG ! tag:stsci.edu:asdf/         the handle `!` stands for this prefix
//! %TAG !x! tag:example.com,2026:     the handle `!x!` stands for this prefix
//! ```
//!
//! Each document has its own directives. By default, `!` stands for local tags, and `!!` for YAML's
//! own tags.

use std::collections::HashMap;

use binio::pointer::percent_decode;

use super::scan::{Fault, fault};
use crate::diagnostic::Code;

/// Maximum length of a tag prefix in bytes. The length is limited, because every tag that uses a
/// handle contains the whole prefix of the handle.
const MAX_PREFIX: usize = 4096;

/// The directives of one document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Directives {
    /// Maps tag handles (`!`, `!!` or `!name!`) to their prefixes.
    handles: HashMap<String, String>,
    /// Offset in the text of the `---` that follows the directives.
    pub(super) content: usize,
}

impl Directives {
    /// Reads the directive lines that begin at the offset `start`. Calls `report` for each
    /// irregularity, with its offset.
    pub(super) fn read(
        text: &str,
        start: usize,
        mut report: impl FnMut(usize, Code, String),
    ) -> Result<Self, Fault> {
        let mut directives = Self::default();
        let mut version_seen = false;
        let mut offset = start;
        while offset < text.len() {
            let rest = &text[offset..];
            let end = rest.find(is_line_break).unwrap_or(rest.len());
            let line = &rest[..end];
            if let Some(directive) = line.strip_prefix('%') {
                let fail = |message: String| Fault { offset, message: message.into() };
                let end = directive.find([' ', '\t']).unwrap_or(directive.len());
                let (name, parameters) = directive.split_at(end);
                match name {
                    "YAML" if version_seen => {
                        return fault(
                            offset,
                            "a second %YAML directive, but a document may have only one",
                        );
                    }
                    "YAML" => {
                        version_seen = true;
                        if let Some(message) = check_version(parameters).map_err(fail)? {
                            report(offset, Code::YamlVersion, message);
                        }
                    }
                    "TAG" => directives.add_handle(parameters).map_err(fail)?,
                    "" => return fault(offset, "expected the name of a directive after `%`"),
                    _ => report(
                        offset,
                        Code::UnknownDirective,
                        format!("unknown directive `%{name}`, expected `%YAML` or `%TAG`"),
                    ),
                }
            } else {
                let content = line.trim_start_matches([' ', '\t']);
                if !content.is_empty() && !content.starts_with('#') {
                    break;
                }
            }
            let line_break = rest[end..].chars().next().map_or(0, char::len_utf8);
            let is_pair = rest[end..].starts_with("\r\n");
            offset += end + line_break + usize::from(is_pair);
        }
        let follows = &text[offset..];
        let is_explicit = follows.strip_prefix("---").is_some_and(|rest| {
            rest.is_empty() || rest.starts_with([' ', '\t']) || rest.starts_with(is_line_break)
        });
        if !is_explicit {
            return fault(offset, "expected `---` after the directives");
        }
        directives.content = offset;
        Ok(directives)
    }

    /// Parses the `HANDLE PREFIX` parameters of a `%TAG` line.
    fn add_handle(&mut self, parameters: &str) -> Result<(), String> {
        let (handle, rest) = split_word(parameters);
        let (prefix, rest) = split_word(rest);
        if !is_handle(handle) {
            return Err(format!("`{handle}` is not a tag handle, expected `!`, `!!` or `!name!`"));
        }
        if prefix.is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
            return Err(format!("expected one prefix after the tag handle `{handle}`"));
        }
        if prefix.len() > MAX_PREFIX {
            let len = prefix.len();
            return Err(format!("the tag prefix has {len} bytes, but the limit is {MAX_PREFIX}"));
        }
        let prefix = percent_decode(prefix)
            .ok_or_else(|| format!("the `%` escapes in `{prefix}` do not form valid UTF-8"))?;
        match self.handles.insert(handle.to_owned(), prefix.into_owned()) {
            Some(_) => Err(format!("a second %TAG directive for the handle `{handle}`")),
            None => Ok(()),
        }
    }

    /// Resolves a tag from its spelling in the source to the full tag, or to `None` for `!` and
    /// `!<!>`. The scanner has already checked the syntax of the tag.
    pub(super) fn resolve(&self, written: &str) -> Result<Option<String>, String> {
        if let Some(whole) = written.strip_prefix("!<") {
            let whole = whole.strip_suffix('>').and_then(percent_decode).unwrap_or_default();
            return Ok(Some(whole.into_owned()).filter(|whole| whole != "!"));
        }
        if written == "!" {
            return Ok(None);
        }
        let after = written.strip_prefix('!').unwrap_or(written);
        let handle_end =
            after.find(|c: char| !is_name(c)).filter(|&end| after[end..].starts_with('!'));
        let (handle, suffix) = written.split_at(handle_end.map_or(1, |end| end + 2));
        let prefix = match self.handles.get(handle) {
            Some(prefix) => prefix,
            None if handle == "!!" => "tag:yaml.org,2002:",
            None if handle == "!" => "!",
            None => {
                return Err(format!(
                    "the tag handle `{handle}` is not declared by a %TAG directive"
                ));
            }
        };
        let suffix = percent_decode(suffix).unwrap_or_default();
        Ok(Some([prefix, &suffix].concat()))
    }
}

/// Returns `true` if a character ends a line in YAML 1.1.
pub(super) fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns `true` if a character is allowed in the name of a tag handle.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// Splits a string into its first word and the rest, and removes the spaces and tabs around the
/// word.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start_matches([' ', '\t']))
}

/// Checks the version `MAJOR.MINOR` of a `%YAML` directive. Fails unless the major version is 1.
/// Returns a message if the minor version is not 1.
fn check_version(parameters: &str) -> Result<Option<String>, String> {
    let parameters = parameters.trim_start_matches([' ', '\t']);
    let is_digit = |c: char| c.is_ascii_digit();
    let end = parameters.find(|c| !is_digit(c) && c != '.').unwrap_or(parameters.len());
    let (version, rest) = parameters.split_at(end);
    let rest = rest.trim_start_matches([' ', '\t']);
    let is_number = |text: &str| !text.is_empty() && text.chars().all(is_digit);
    let numbers = version.split_once('.').filter(|(a, b)| is_number(a) && is_number(b));
    let Some((major, minor)) = numbers.filter(|_| rest.is_empty() || rest.starts_with('#')) else {
        let found: String = parameters.chars().take(40).collect();
        return Err(format!("`{found}` is not a YAML version, expected `1.1`"));
    };
    if major.trim_start_matches('0') != "1" {
        return Err(format!("YAML {version} is not supported, expected 1.1"));
    }
    Ok((minor.trim_start_matches('0') != "1")
        .then(|| format!("the document declares YAML {version}, expected 1.1")))
}

fn is_handle(handle: &str) -> bool {
    let name = match handle {
        "!" | "!!" => return true,
        _ => handle.strip_prefix('!').and_then(|rest| rest.strip_suffix('!')),
    };
    name.is_some_and(|name| !name.is_empty() && name.chars().all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Directives, Vec<(usize, Code)>), String> {
        let mut found = Vec::new();
        Directives::read(text, 0, |offset, code, _| found.push((offset, code)))
            .map(|directives| (directives, found))
            .map_err(|error| format!("{}: {}", error.offset, error.message))
    }

    #[test]
    fn each_declared_tag_handle_resolves_to_its_own_prefix() {
        let text = "%YAML 1.1\n%TAG ! tag:a/\n%TAG !e! tag:b/ # why\n%TAG !! tag:c/\n--- 1\n";
        let (directives, found) = read(text).unwrap();
        assert_eq!(found, []);
        assert_eq!(&text[directives.content..], "--- 1\n");
        let resolve = |tag| directives.resolve(tag).unwrap().unwrap();
        assert_eq!(["!x", "!e!x", "!!x"].map(resolve), ["tag:a/x", "tag:b/x", "tag:c/x"]);
        assert_eq!(
            ["!x-y/z!", "!e~x", "!e!%21"].map(resolve),
            ["tag:a/x-y/z!", "tag:a/e~x", "tag:b/!"]
        );
    }

    #[test]
    fn the_handles_of_local_and_yaml_tags_need_no_directive() {
        let directives = Directives::default();
        let resolve = |tag| directives.resolve(tag).unwrap();
        assert_eq!(resolve("!foo").as_deref(), Some("!foo"));
        assert_eq!(resolve("!!int").as_deref(), Some("tag:yaml.org,2002:int"));
        assert_eq!(resolve("!<tag:x%21>").as_deref(), Some("tag:x!"));
        assert_eq!([resolve("!"), resolve("!<!>")], [None, None]);
        assert!(directives.resolve("!e!x").is_err());
    }

    #[test]
    fn only_versions_1_x_of_yaml_are_accepted() {
        assert_eq!(read("%YAML 1.1 # x\n---").unwrap().1, []);
        assert_eq!(read("%YAML 1.1#x\n---").unwrap().1, []);
        assert_eq!(read("%YAML 1.2\r\n---").unwrap().1, [(0, Code::YamlVersion)]);
        for bad in ["2.0", "1", "", "1.x", "1.1 1.1", "11"] {
            assert!(read(&format!("%YAML {bad}\n---")).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_repeated_directive_is_rejected_at_its_second_occurrence() {
        assert_eq!(
            read("%YAML 1.1\n%YAML 1.1\n---").unwrap_err(),
            "10: a second %YAML directive, but a document may have only one"
        );
        assert_eq!(
            read("%TAG ! a\n%TAG ! a\n---").unwrap_err(),
            "9: a second %TAG directive for the handle `!`"
        );
    }

    #[test]
    fn a_tag_directive_with_a_malformed_handle_or_no_prefix_is_rejected() {
        for bad in ["!foo", "foo", "!f.o!", "!é!", ""] {
            assert!(read(&format!("%TAG {bad} tag:x\n---")).is_err(), "{bad}");
        }
        assert!(read("%TAG !foo!\n---").is_err(), "no prefix");
    }

    #[test]
    fn an_unknown_directive_is_reported_but_is_not_an_error() {
        assert_eq!(read("%FOO bar\n---").unwrap().1, [(0, Code::UnknownDirective)]);
        assert!(read("% FOO\n---").is_err());
    }

    #[test]
    fn directives_must_be_followed_by_a_document_start() {
        assert_eq!(
            read("%YAML 1.1\na: 1\n").unwrap_err(),
            "10: expected `---` after the directives"
        );
        assert_eq!(read("%YAML 1.1\n# c\n\n--- 1\n").unwrap().0.content, 15);
        assert_eq!(read("%YAML 1.1\u{85}---").unwrap().0.content, 11);
        assert_eq!(read("%YAML 1.1\n").unwrap_err(), "10: expected `---` after the directives");
    }
}
