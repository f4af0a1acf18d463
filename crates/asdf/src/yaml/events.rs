//! YAML events, and the parser they come from.
//!
//! The rest of `yaml` sees the trait [`EventSource`] only. It is implemented by the pull side of
//! `yaml-rust2`, with what it lacks made up for here:
//!
//! - It knows one tag handle at a time, so it gets no directives at all. A tag with the handle `!`
//!   or `!!` arrives with it; one of a named handle, `!x!suffix`, would be rejected and is passed
//!   as `!x~suffix`, which takes the same space.
//! - It numbers anchors and drops their names; a pass of its scanner finds the names.
//! - It adds a line break to a block scalar at the very end of the text, and rejects a `?`
//!   there, so a text without `...` gets one.
//! - It puts the bytes of an escape such as `%C3%A9` side by side as if they were one number.
//!
//! What it rejects, and what no writer is known to make: flow pairs in a flow sequence whose value
//! is a flow collection (`[k: [1]]`), continuation lines of a quoted scalar that are indented less
//! than its parent, escapes of three and four bytes in tags, flow collections more than 255 deep.
//!
//! The pass of the scanner costs as much as the parse, so it is made only for texts with anchors
//! or named handles.

use std::borrow::Cow;
use std::str::Chars;

use yaml_rust2::parser::{Event as ParserEvent, Parser, Tag};
use yaml_rust2::scanner::{Marker, ScanError, Scanner, TScalarStyle, TokenType};

use super::directives::Directives;
use super::position::Lines;
use super::scalar::Style;

/// One step of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    Scalar {
        text: String,
        style: Style,
        properties: Properties,
    },
    SequenceStart(Properties),
    MappingStart(Properties),
    /// The end of the innermost sequence or mapping.
    End,
    /// A node again, by the number of its anchor.
    Alias(usize),
    DocumentStart,
    DocumentEnd,
    StreamEnd,
}

/// What may stand before a node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Properties {
    /// Number of the anchor, from 1 in the order of the text; 0 is none.
    pub(super) anchor: usize,
    /// The tag in full; none for `!`.
    pub(super) tag: Option<String>,
    /// Whether the tag is `!`: a scalar then resolves as if it were plain, as the field's tools do.
    pub(super) non_specific: bool,
}

/// A line from 0, and a column in characters from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Where and why the text is not YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) message: String,
}

/// A source of the events of one text.
pub(super) trait EventSource {
    /// The next event and where it begins. A block mapping is where its first `:` is.
    fn next_event(&mut self) -> Result<(Event, Place), Fault>;

    /// The name of an anchor by its number.
    fn anchor_name(&self, anchor: usize) -> &str;
}

/// Makes an event source of content and reads it with `read`, since the source may need a changed
/// copy of the content.
pub(super) fn with_source<T>(
    content: &str,
    directives: &Directives,
    read: impl FnOnce(&mut dyn EventSource) -> T,
) -> T {
    let prepared = Prepared::new(content, directives);
    let parser = Parser::new_from_str(&prepared.content);
    let stand_in = prepared.stand_in;
    read(&mut PullParser { parser, anchors: prepared.anchors, stand_in, directives })
}

/// `yaml-rust2`, pulled.
struct PullParser<'a> {
    parser: Parser<Chars<'a>>,
    anchors: Vec<String>,
    stand_in: Option<char>,
    directives: &'a Directives,
}

impl EventSource for PullParser<'_> {
    fn next_event(&mut self) -> Result<(Event, Place), Fault> {
        loop {
            let (event, marker) = self.parser.next_token().map_err(|error| fault(&error))?;
            let event = match event {
                ParserEvent::Nothing | ParserEvent::StreamStart => continue,
                ParserEvent::StreamEnd => Event::StreamEnd,
                ParserEvent::DocumentStart => Event::DocumentStart,
                ParserEvent::DocumentEnd => Event::DocumentEnd,
                ParserEvent::Alias(anchor) => Event::Alias(anchor),
                ParserEvent::SequenceEnd | ParserEvent::MappingEnd => Event::End,
                ParserEvent::SequenceStart(anchor, tag) => {
                    Event::SequenceStart(self.properties(anchor, tag.as_ref()))
                }
                ParserEvent::MappingStart(anchor, tag) => {
                    Event::MappingStart(self.properties(anchor, tag.as_ref()))
                }
                ParserEvent::Scalar(text, style, anchor, tag) => {
                    let properties = self.properties(anchor, tag.as_ref());
                    Event::Scalar { text, style: style_of(style), properties }
                }
            };
            return Ok((event, place(marker)));
        }
    }

    fn anchor_name(&self, anchor: usize) -> &str {
        let name = anchor.checked_sub(1).and_then(|at| self.anchors.get(at));
        name.map(String::as_str).unwrap_or_default()
    }
}

impl PullParser<'_> {
    fn properties(&self, anchor: usize, tag: Option<&Tag>) -> Properties {
        let full = tag.and_then(|tag| self.expand(tag));
        Properties { anchor, non_specific: tag.is_some() && full.is_none(), tag: full }
    }

    /// The tag in full. The parser has resolved `!!` already, and returns the tag `!` as a suffix.
    fn expand(&self, tag: &Tag) -> Option<String> {
        let suffix = repair_escapes(&tag.suffix);
        match tag.handle.as_str() {
            "" if suffix == "!" => None,
            "" => Some(suffix.into_owned()),
            "tag:yaml.org,2002:" => Some(self.directives.expand("!!", &suffix)),
            handle => {
                let named = self.stand_in.and_then(|stand_in| suffix.split_once(stand_in));
                if let Some((name, suffix)) = named {
                    let named = format!("!{name}!");
                    if self.directives.has_handle(&named) {
                        return Some(self.directives.expand(&named, suffix));
                    }
                }
                Some(self.directives.expand(handle, &suffix))
            }
        }
    }
}

/// Content as the parser takes it.
struct Prepared<'a> {
    content: Cow<'a, str>,
    /// Names of the anchors in their order.
    anchors: Vec<String>,
    /// What stands for the second `!` of named handles.
    stand_in: Option<char>,
}

impl<'a> Prepared<'a> {
    fn new(content: &'a str, directives: &Directives) -> Self {
        let mut prepared = Self { content: ended(content), anchors: Vec::new(), stand_in: None };
        let has_named = directives.has_named_handles();
        if !has_named && !content.contains('&') {
            return prepared;
        }
        let mut named = Vec::new();
        let mut local = Vec::new();
        for token in Scanner::new(content.chars()) {
            match token.1 {
                TokenType::Anchor(name) => prepared.anchors.push(name),
                TokenType::Tag(handle, suffix) if has_named => {
                    if handle == "!" {
                        local.push(suffix);
                    } else if directives.has_handle(&handle) && handle.len() > 2 {
                        named.push((place(token.0), handle.len() - 1));
                    }
                }
                _ => {}
            }
        }
        // Any character that a tag may hold and a handle may not, if no tag has it there already.
        let is_free = |c: &char| {
            local.iter().all(|suffix| {
                let name = suffix.split_once(*c).map(|(name, _)| format!("!{name}!"));
                name.is_none_or(|name| !directives.has_handle(&name))
            })
        };
        prepared.stand_in = "~;/?:@=+$.*".chars().find(is_free).filter(|_| !named.is_empty());
        if let Some(stand_in) = prepared.stand_in {
            let mut lines = Lines::new(content);
            let mut changed = prepared.content.into_owned();
            for (place, to_second) in named {
                let at = lines.offset(place.line, place.column) + to_second;
                if changed.get(at..=at) == Some("!") {
                    changed.replace_range(at..=at, stand_in.encode_utf8(&mut [0; 4]));
                }
            }
            prepared.content = Cow::Owned(changed);
        }
        prepared
    }
}

/// Content that ends with a `...` line.
fn ended(content: &str) -> Cow<'_, str> {
    let last = content.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default();
    if last.starts_with("...") || content.is_empty() {
        return Cow::Borrowed(content);
    }
    let line_break = if content.ends_with(['\n', '\r']) { "" } else { "\n" };
    Cow::Owned([content, line_break, "...\n"].concat())
}

/// The parser takes `%C3%A9` for U+C3A9. Written as itself a character beyond ASCII cannot be in a
/// tag, so each one is such a number.
fn repair_escapes(suffix: &str) -> Cow<'_, str> {
    if suffix.is_ascii() {
        return Cow::Borrowed(suffix);
    }
    let mut bytes = Vec::with_capacity(suffix.len());
    for c in suffix.chars() {
        let number = u32::from(c).to_be_bytes();
        let leading = number.iter().take(3).take_while(|&&byte| byte == 0).count();
        bytes.extend_from_slice(number.get(leading..).unwrap_or_default());
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn style_of(style: TScalarStyle) -> Style {
    match style {
        TScalarStyle::Plain => Style::Plain,
        TScalarStyle::SingleQuoted => Style::SingleQuoted,
        TScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        TScalarStyle::Literal => Style::Literal,
        TScalarStyle::Folded => Style::Folded,
    }
}

fn place(marker: Marker) -> Place {
    Place { line: marker.line().saturating_sub(1), column: marker.col() }
}

fn fault(error: &ScanError) -> Fault {
    let message = match error.info() {
        "recursion limit exceeded" => "flow collections nested more than 255 deep",
        "the handle wasn't declared" => "a tag handle that no %TAG declares",
        "unexpected eof" => "the text ends inside a collection",
        info => info,
    };
    Fault { place: place(*error.marker()), message: message.to_owned() }
}
