//! The directive lines before `---`.
//!
//! ```text
//! %YAML 1.1                          the version
//! %TAG ! tag:stsci.edu:asdf/         the handle `!` stands for this prefix
//! %TAG !x! tag:example.com,2026:     and so does `!x!`
//! ```
//!
//! The parser of this crate keeps one handle only and checks nothing, so it never sees these
//! lines: tags arrive as handle and suffix, and [`Directives::expand`] puts them together.

use std::collections::HashMap;

use crate::Code;

/// The longest prefix, in bytes: it is repeated in each tag.
const MAX_PREFIX: usize = 4096;

/// The directives of one document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Directives {
    /// Prefixes by handle: `!`, `!!` or `!name!`.
    handles: HashMap<String, String>,
    /// Offset in the text of what follows the directives.
    pub(super) content: usize,
}

/// What is wrong, and its offset in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadDirective {
    pub(super) offset: usize,
    pub(super) message: String,
}

impl Directives {
    /// Reads the directive lines; `report` is called for each irregularity, with its offset.
    pub(super) fn read(
        text: &str,
        mut report: impl FnMut(usize, Code, String),
    ) -> Result<Self, BadDirective> {
        let mut directives = Self::default();
        let mut version_seen = false;
        let mut offset = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut any = false;
        while offset < text.len() {
            let rest = &text[offset..];
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let line = &rest[..end];
            if let Some(directive) = line.strip_prefix('%') {
                any = true;
                let fail = |message: String| BadDirective { offset, message };
                let end = directive.find([' ', '\t']).unwrap_or(directive.len());
                let (name, parameters) = directive.split_at(end);
                match name {
                    "YAML" if version_seen => {
                        return Err(fail("a second %YAML directive".into()));
                    }
                    "YAML" => {
                        version_seen = true;
                        if let Some(message) = check_version(parameters).map_err(fail)? {
                            report(offset, Code::YamlVersion, message);
                        }
                    }
                    "TAG" => directives.add_handle(parameters).map_err(fail)?,
                    "" => return Err(fail("expected the name of a directive after `%`".into())),
                    _ => report(offset, Code::UnknownDirective, format!("directive `%{name}`")),
                }
            } else {
                let content = line.trim_start_matches([' ', '\t']);
                if !content.is_empty() && !content.starts_with('#') {
                    break;
                }
            }
            let break_len = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
            offset = (offset + end + break_len).min(text.len());
        }
        let follows = &text[offset..];
        let explicit = follows
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']));
        if any && !explicit && !follows.is_empty() {
            let message = "expected `---` after the directives".into();
            return Err(BadDirective { offset, message });
        }
        directives.content = offset;
        Ok(directives)
    }

    /// `HANDLE PREFIX` of a `%TAG` line.
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
            return Err(format!("a tag prefix of {len} bytes, the limit is {MAX_PREFIX}"));
        }
        let prefix = decode_percent(prefix)
            .ok_or_else(|| format!("`{prefix}` has a `%` that escapes no UTF-8"))?;
        match self.handles.insert(handle.to_owned(), prefix) {
            Some(_) => Err(format!("a second %TAG directive for the handle `{handle}`")),
            None => Ok(()),
        }
    }

    /// Whether there are handles of the form `!name!`.
    pub(super) fn has_named_handles(&self) -> bool {
        self.handles.keys().any(|handle| handle.len() > 2)
    }

    /// Whether a handle was declared.
    pub(super) fn has_handle(&self, handle: &str) -> bool {
        self.handles.contains_key(handle)
    }

    /// The whole tag of a handle and its suffix. A handle that was not declared stays as it is,
    /// but for `!!`.
    pub(super) fn expand(&self, handle: &str, suffix: &str) -> String {
        let prefix = match self.handles.get(handle) {
            Some(prefix) => prefix,
            None if handle == "!!" => "tag:yaml.org,2002:",
            None => handle,
        };
        [prefix, suffix].concat()
    }
}

/// The first word of a text and what follows it and the blanks after it.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    let end = text.find([' ', '\t']).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start_matches([' ', '\t']))
}

/// Checks `MAJOR.MINOR`; returns what is irregular about it.
fn check_version(parameters: &str) -> Result<Option<String>, String> {
    let (version, rest) = split_word(parameters);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let Some((major, minor)) =
        version.split_once('.').filter(|(a, b)| is_number(a) && is_number(b))
    else {
        return Err(format!("`{version}` is not a YAML version, expected `1.1`"));
    };
    if !(rest.is_empty() || rest.starts_with('#')) {
        return Err(format!("`{rest}` after the YAML version"));
    }
    if major.trim_start_matches('0') != "1" {
        return Err(format!("YAML {version} cannot be read, expected 1.1"));
    }
    Ok((minor.trim_start_matches('0') != "1").then(|| format!("YAML {version}, expected 1.1")))
}

fn is_handle(handle: &str) -> bool {
    let name = match handle {
        "!" | "!!" => return true,
        _ => handle.strip_prefix('!').and_then(|rest| rest.strip_suffix('!')),
    };
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_word))
}

/// Resolves `%21` and the like; `None` if what they stand for is not UTF-8.
pub(super) fn decode_percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let byte = part.get(..2).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(byte, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Directives, Vec<(usize, Code)>), String> {
        let mut found = Vec::new();
        Directives::read(text, |offset, code, _| found.push((offset, code)))
            .map(|directives| (directives, found))
            .map_err(|error| format!("{}: {}", error.offset, error.message))
    }

    #[test]
    fn several_handles_are_kept() {
        let text = "%YAML 1.1\n%TAG ! tag:a/\n%TAG !e! tag:b/ # why\n%TAG !! tag:c/\n--- 1\n";
        let (directives, found) = read(text).unwrap();
        assert_eq!(found, []);
        assert_eq!(&text[directives.content..], "--- 1\n");
        assert_eq!(directives.expand("!", "x"), "tag:a/x");
        assert_eq!(directives.expand("!e!", "x"), "tag:b/x");
        assert_eq!(directives.expand("!!", "x"), "tag:c/x");
        assert!(directives.has_named_handles() && directives.has_handle("!e!"));
    }

    #[test]
    fn undeclared_handles_are_local_or_yamls_own() {
        let (directives, _) = read("--- 1").unwrap();
        assert_eq!(directives.expand("!", "foo"), "!foo");
        assert_eq!(directives.expand("!!", "int"), "tag:yaml.org,2002:int");
        assert_eq!(directives.expand("", "tag:x"), "tag:x");
    }

    #[test]
    fn versions_1_x_pass_and_others_do_not() {
        assert_eq!(read("%YAML 1.1 # x\n---").unwrap().1, []);
        assert_eq!(read("%YAML 1.2\r\n---").unwrap().1, [(0, Code::YamlVersion)]);
        for bad in ["2.0", "1", "", "1.x", "1.1 1.1", "11"] {
            assert!(read(&format!("%YAML {bad}\n---")).is_err(), "{bad}");
        }
    }

    #[test]
    fn duplicates_are_errors_at_the_second() {
        assert_eq!(read("%YAML 1.1\n%YAML 1.1\n---").unwrap_err(), "10: a second %YAML directive");
        assert_eq!(
            read("%TAG ! a\n%TAG ! a\n---").unwrap_err(),
            "9: a second %TAG directive for the handle `!`"
        );
    }

    #[test]
    fn a_handle_ends_with_an_exclamation_mark() {
        for bad in ["!foo", "foo", "!f.o!", "!é!", ""] {
            assert!(read(&format!("%TAG {bad} tag:x\n---")).is_err(), "{bad}");
        }
        assert!(read("%TAG !foo!\n---").is_err(), "no prefix");
    }

    #[test]
    fn unknown_directives_are_odd() {
        assert_eq!(read("%FOO bar\n---").unwrap().1, [(0, Code::UnknownDirective)]);
        assert!(read("% FOO\n---").is_err());
    }

    #[test]
    fn directives_need_a_document_start() {
        assert_eq!(
            read("%YAML 1.1\na: 1\n").unwrap_err(),
            "10: expected `---` after the directives"
        );
        assert_eq!(read("# c\n\na: 1\n").unwrap().0.content, 5);
        assert_eq!(read("%YAML 1.1\n").unwrap().0.content, 10);
        assert_eq!(read("").unwrap().0.content, 0);
    }

    #[test]
    fn percent_escapes_are_bytes() {
        assert_eq!(decode_percent("a%21%c3%A9").as_deref(), Some("a!é"));
        assert_eq!(decode_percent("%"), None);
        assert_eq!(decode_percent("%4"), None);
        assert_eq!(decode_percent("%+4"), None);
        assert_eq!(decode_percent("%ff"), None);
        assert_eq!(decode_percent("%é"), None);
    }
}
