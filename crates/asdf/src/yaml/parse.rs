//! Converting tokens to events, according to the YAML grammar of libyaml.
//!
//! The parser is a state machine with a stack of the states to which it returns after nested nodes.
//! An event contains the position of its node: the start of the anchor or tag, and the start of the
//! content.

use super::directives::Directives;
use super::scalar::NodeStyle;
use super::scan::{Fault, Scanner, Span, Token, TokenKind, fault, number_end};
use crate::diagnostic::Code;

/// An event of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The start of a document, with its offset. It is explicit if the document begins with `---`.
    DocumentStart {
        is_explicit: bool,
        offset: u32,
    },
    /// The end of a document. It is explicit if the document ends with `...`.
    DocumentEnd {
        is_explicit: bool,
    },
    StreamEnd,
    /// An alias such as `*name`.
    Alias(Span),
    /// A scalar and the span of its text; see [`text_of`].
    Scalar {
        node: NodePlace,
        style: NodeStyle,
        end: u32,
        text: Span,
    },
    /// A flow sequence that contains only plain numbers, with the range of its elements. `floats`
    /// is true if any of them is a float.
    Numbers {
        node: NodePlace,
        end: u32,
        elements: Span,
        floats: bool,
    },
    SequenceStart {
        node: NodePlace,
        style: NodeStyle,
    },
    /// The start of a mapping. A pair without braces in a flow sequence has block style.
    MappingStart {
        node: NodePlace,
        style: NodeStyle,
    },
    /// The end of the innermost sequence or mapping, with the offset at which its text ends.
    End(u32),
}

/// The position of a node in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodePlace {
    /// Offset of the anchor, tag or content, whichever comes first.
    pub(super) start: u32,
    pub(super) content: u32,
    /// The anchor, including the `&`; empty if there is none.
    pub(super) anchor: Span,
    /// The tag, with its handle and `%` escapes unresolved; empty if the node has no tag.
    pub(super) tag: Span,
}

/// The state of the parser, which determines the tokens that may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The start of a document. Only the first document may omit `---`.
    DocumentStart {
        is_first: bool,
    },
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceEntry,
    /// An item of a sequence whose `-` is in the same column as the key of the surrounding mapping.
    UnindentedEntry,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceEntry {
        is_first: bool,
    },
    /// A pair without braces in a flow sequence.
    PairKey,
    PairValue,
    PairEnd,
    FlowMappingKey {
        is_first: bool,
    },
    FlowMappingValue,
    /// The missing value of a key without `:`.
    FlowMappingNoValue,
}

pub(super) struct Parser<'t> {
    scanner: Scanner<'t>,
    directives: Directives,
    /// Irregularities in directives, each with its offset.
    pub(super) irregularities: Vec<(usize, Code, String)>,
    state: State,
    /// For each node being parsed, innermost last, the state to which the parser returns after it.
    states: Vec<State>,
    /// Offset at which the last nonempty token ends.
    last_end: u32,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            scanner: Scanner::new(text),
            directives: Directives::default(),
            irregularities: Vec::new(),
            state: State::DocumentStart { is_first: true },
            states: Vec::new(),
            last_end: 0,
        }
    }

    /// Makes the parser read flow sequences of numbers like any other sequence, for tests.
    #[cfg(test)]
    pub(super) fn without_numbers(mut self) -> Self {
        self.scanner.joins_numbers = false;
        self
    }

    pub(super) fn directives(&self) -> &Directives {
        &self.directives
    }

    /// Returns the text of the scalars that differ from their source, and the offsets at which the
    /// elements of number lists begin in the source.
    pub(super) fn into_parts(self) -> (String, Vec<u32>) {
        (self.scanner.changed, self.scanner.elements)
    }

    /// Swaps the arguments with the values that [`Self::into_parts`] returns. A second call swaps
    /// them back.
    pub(super) fn swap_parts(&mut self, changed: &mut String, elements: &mut Vec<u32>) {
        std::mem::swap(&mut self.scanner.changed, changed);
        std::mem::swap(&mut self.scanner.elements, elements);
    }

    /// Returns the text to which a span in an event refers.
    pub(super) fn text(&self, span: Span) -> &str {
        text_of(self.scanner.text(), &self.scanner.changed, span)
    }

    /// Iterates over the elements in a span of [`Event::Numbers`], as strings.
    pub(super) fn elements(&self, elements: Span) -> impl Iterator<Item = &'t str> {
        let text = self.scanner.text();
        let elements = self.scanner.elements.get(elements.range()).unwrap_or_default();
        elements.iter().map(|&start| {
            let end = number_end(text.as_bytes(), start as usize).map_or(0, |(end, _)| end);
            text.get(start as usize..end).unwrap_or_default()
        })
    }

    pub(super) fn next_event(&mut self) -> Result<Event, Fault> {
        match self.state {
            State::DocumentStart { is_first } => self.document_start(is_first),
            State::DocumentContent => match self.peek()?.kind {
                TokenKind::Directive
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::StreamEnd => Ok(self.empty_and_return()),
                _ => self.node(true, false),
            },
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::UnindentedEntry => self.unindented_entry(),
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceEntry { is_first } => self.flow_sequence_entry(is_first),
            State::PairKey => self.pair_key(),
            State::PairValue => self.pair_value(),
            State::PairEnd => {
                self.state = State::FlowSequenceEntry { is_first: false };
                Ok(Event::End(self.last_end))
            }
            State::FlowMappingKey { is_first } => self.flow_mapping_key(is_first),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingNoValue => Ok(self.empty(State::FlowMappingKey { is_first: false })),
        }
    }

    fn peek(&mut self) -> Result<Token, Fault> {
        self.scanner.peek()
    }

    /// Consumes `token`, which must be the token that [`Self::peek`] returned.
    fn take(&mut self, token: Token) {
        self.scanner.take();
        if !token.span.is_empty() {
            self.last_end = token.span.end;
        }
    }

    /// Parses a node, after which the parser continues in the state `next`.
    fn node_then(
        &mut self,
        next: State,
        is_block: bool,
        may_be_unindented: bool,
    ) -> Result<Event, Fault> {
        self.states.push(next);
        self.node(is_block, may_be_unindented)
    }

    fn return_state(&mut self) {
        // The stack is not empty here, because the root node of a document returns to `DocumentEnd`.
        self.state = self.states.pop().unwrap_or(State::DocumentEnd);
    }

    /// Returns an empty scalar after the last token, and continues in the state `next`.
    fn empty(&mut self, next: State) -> Event {
        self.state = next;
        let at = self.last_end;
        let node = NodePlace { start: at, content: at, ..NodePlace::default() };
        let text = Span { start: at, end: at };
        Event::Scalar { node, style: NodeStyle::Plain, end: at, text }
    }

    fn empty_and_return(&mut self) -> Event {
        self.return_state();
        self.empty(self.state)
    }

    fn document_start(&mut self, is_first: bool) -> Result<Event, Fault> {
        self.directives = Directives::default();
        let mut token = self.peek()?;
        while token.kind == TokenKind::DocumentEnd && !is_first {
            self.take(token);
            token = self.peek()?;
        }
        if token.kind == TokenKind::Directive {
            let irregularities = &mut self.irregularities;
            let start = token.span.start as usize;
            let report = |offset, code, message| irregularities.push((offset, code, message));
            self.directives = Directives::read(self.scanner.text(), start, report)?;
            self.scanner.restart(self.directives.content);
            token = self.peek()?;
        }
        self.states.push(State::DocumentEnd);
        match token.kind {
            TokenKind::StreamEnd => Ok(Event::StreamEnd),
            TokenKind::DocumentStart => {
                self.take(token);
                self.state = State::DocumentContent;
                Ok(Event::DocumentStart { is_explicit: true, offset: token.span.start })
            }
            _ if is_first => {
                self.state = State::BlockNode;
                self.last_end = token.span.start;
                Ok(Event::DocumentStart { is_explicit: false, offset: token.span.start })
            }
            _ => expected("`...`, or the end of the text", token),
        }
    }

    /// Parses the end of a document. Does not look at the text after `...` until the next event is
    /// requested.
    fn document_end(&mut self) -> Result<Event, Fault> {
        let token = self.peek()?;
        let is_explicit = token.kind == TokenKind::DocumentEnd;
        if is_explicit {
            self.take(token);
        }
        self.states.clear();
        self.state = State::DocumentStart { is_first: false };
        Ok(Event::DocumentEnd { is_explicit })
    }

    fn node(&mut self, is_block: bool, may_be_unindented: bool) -> Result<Event, Fault> {
        let mut token = self.peek()?;
        if token.kind == TokenKind::Alias {
            self.take(token);
            self.return_state();
            return Ok(Event::Alias(token.span));
        }
        let mut node = NodePlace { start: token.span.start, ..NodePlace::default() };
        loop {
            match token.kind {
                TokenKind::Anchor if node.anchor.is_empty() => node.anchor = token.span,
                TokenKind::Tag if node.tag.is_empty() => node.tag = token.span,
                _ => break,
            }
            self.take(token);
            token = self.peek()?;
        }
        node.content = token.span.start;
        let end = token.span.end;
        match token.kind {
            TokenKind::Scalar(style) => {
                self.take(token);
                self.return_state();
                Ok(Event::Scalar { node, style, end, text: token.text })
            }
            TokenKind::Numbers { floats } => {
                self.take(token);
                self.return_state();
                Ok(Event::Numbers { node, end, elements: token.text, floats })
            }
            TokenKind::FlowSequenceStart => {
                self.take(token);
                self.state = State::FlowSequenceEntry { is_first: true };
                Ok(Event::SequenceStart { node, style: NodeStyle::Flow })
            }
            TokenKind::FlowMappingStart => {
                self.take(token);
                self.state = State::FlowMappingKey { is_first: true };
                Ok(Event::MappingStart { node, style: NodeStyle::Flow })
            }
            TokenKind::BlockSequenceStart if is_block => {
                self.take(token);
                self.state = State::BlockSequenceEntry;
                Ok(Event::SequenceStart { node, style: NodeStyle::Block })
            }
            TokenKind::BlockMappingStart if is_block => {
                self.take(token);
                self.state = State::BlockMappingKey;
                Ok(Event::MappingStart { node, style: NodeStyle::Block })
            }
            TokenKind::BlockEntry if may_be_unindented => {
                self.state = State::UnindentedEntry;
                Ok(Event::SequenceStart { node, style: NodeStyle::Block })
            }
            _ if node.anchor.is_empty() && node.tag.is_empty() => {
                fault(token.span.start as usize, format!("expected a value, found {}", name(token)))
            }
            _ => {
                self.return_state();
                let at = self.last_end;
                node.content = at;
                let text = Span { start: at, end: at };
                Ok(Event::Scalar { node, style: NodeStyle::Plain, end: at, text })
            }
        }
    }

    fn block_sequence_entry(&mut self) -> Result<Event, Fault> {
        let token = self.peek()?;
        match token.kind {
            TokenKind::BlockEntry => {
                self.take(token);
                match self.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        Ok(self.empty(State::BlockSequenceEntry))
                    }
                    _ => self.node_then(State::BlockSequenceEntry, true, false),
                }
            }
            TokenKind::BlockEnd => Ok(self.end_collection(token)),
            _ => expected("`-`, or less indentation to end the sequence", token),
        }
    }

    fn unindented_entry(&mut self) -> Result<Event, Fault> {
        let token = self.peek()?;
        if token.kind != TokenKind::BlockEntry {
            self.return_state();
            return Ok(Event::End(self.last_end));
        }
        self.take(token);
        match self.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(State::UnindentedEntry))
            }
            _ => self.node_then(State::UnindentedEntry, true, false),
        }
    }

    fn block_mapping_key(&mut self) -> Result<Event, Fault> {
        let token = self.peek()?;
        match token.kind {
            TokenKind::Key => {
                self.take(token);
                match self.peek()?.kind {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        Ok(self.empty(State::BlockMappingValue))
                    }
                    _ => self.node_then(State::BlockMappingValue, true, true),
                }
            }
            TokenKind::BlockEnd => Ok(self.end_collection(token)),
            _ => expected("a key, or less indentation to end the mapping", token),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event, Fault> {
        let token = self.peek()?;
        if token.kind != TokenKind::Value {
            return Ok(self.empty(State::BlockMappingKey));
        }
        self.take(token);
        match self.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(State::BlockMappingKey))
            }
            _ => self.node_then(State::BlockMappingKey, true, true),
        }
    }

    fn flow_sequence_entry(&mut self, is_first: bool) -> Result<Event, Fault> {
        let mut token = self.peek()?;
        if token.kind != TokenKind::FlowSequenceEnd && !is_first {
            if token.kind != TokenKind::FlowEntry {
                return expected("`,` or `]`", token);
            }
            self.take(token);
            token = self.peek()?;
        }
        match token.kind {
            TokenKind::FlowSequenceEnd => Ok(self.end_collection(token)),
            TokenKind::Key => {
                self.take(token);
                self.state = State::PairKey;
                let (start, content) = (token.span.start, token.span.start);
                let node = NodePlace { start, content, ..NodePlace::default() };
                Ok(Event::MappingStart { node, style: NodeStyle::Block })
            }
            _ => self.node_then(State::FlowSequenceEntry { is_first: false }, false, false),
        }
    }

    fn pair_key(&mut self) -> Result<Event, Fault> {
        match self.peek()?.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                Ok(self.empty(State::PairValue))
            }
            _ => self.node_then(State::PairValue, false, false),
        }
    }

    fn pair_value(&mut self) -> Result<Event, Fault> {
        let token = self.peek()?;
        if token.kind == TokenKind::Value {
            self.take(token);
            let next = self.peek()?.kind;
            if !matches!(next, TokenKind::FlowEntry | TokenKind::FlowSequenceEnd) {
                return self.node_then(State::PairEnd, false, false);
            }
        }
        Ok(self.empty(State::PairEnd))
    }

    fn flow_mapping_key(&mut self, is_first: bool) -> Result<Event, Fault> {
        let mut token = self.peek()?;
        if token.kind != TokenKind::FlowMappingEnd && !is_first {
            if token.kind != TokenKind::FlowEntry {
                return expected("`,` or `}`", token);
            }
            self.take(token);
            token = self.peek()?;
        }
        match token.kind {
            TokenKind::FlowMappingEnd => Ok(self.end_collection(token)),
            TokenKind::Key => {
                self.take(token);
                match self.peek()?.kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        Ok(self.empty(State::FlowMappingValue))
                    }
                    _ => self.node_then(State::FlowMappingValue, false, false),
                }
            }
            _ => self.node_then(State::FlowMappingNoValue, false, false),
        }
    }

    fn flow_mapping_value(&mut self) -> Result<Event, Fault> {
        let next = State::FlowMappingKey { is_first: false };
        let token = self.peek()?;
        if token.kind == TokenKind::Value {
            self.take(token);
            let value = self.peek()?.kind;
            if !matches!(value, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.node_then(next, false, false);
            }
        }
        Ok(self.empty(next))
    }

    fn end_collection(&mut self, token: Token) -> Event {
        self.take(token);
        self.return_state();
        Event::End(self.last_end)
    }
}

/// Returns the text of a span. Offsets at or beyond the end of `written` refer to `changed`.
pub(super) fn text_of<'t>(written: &'t str, changed: &'t str, span: Span) -> &'t str {
    let range = span.range();
    let text = match range.start.checked_sub(written.len()) {
        Some(start) if !span.is_empty() => changed.get(start..range.end - written.len()),
        _ => written.get(range),
    };
    text.unwrap_or_default()
}

fn expected<T>(what: &str, token: Token) -> Result<T, Fault> {
    fault(token.span.start as usize, format!("expected {what}, found {}", name(token)))
}

/// Returns the name of a token for error messages.
fn name(token: Token) -> &'static str {
    match token.kind {
        TokenKind::Directive => "a directive",
        TokenKind::DocumentStart => "`---`",
        TokenKind::DocumentEnd => "`...`",
        TokenKind::StreamEnd => "the end of the text",
        TokenKind::BlockSequenceStart | TokenKind::BlockEntry => "`-`",
        TokenKind::BlockMappingStart | TokenKind::Key => "a key",
        TokenKind::BlockEnd => "a line that is indented less",
        TokenKind::FlowSequenceStart | TokenKind::Numbers { .. } => "`[`",
        TokenKind::FlowSequenceEnd => "`]`",
        TokenKind::FlowMappingStart => "`{`",
        TokenKind::FlowMappingEnd => "`}`",
        TokenKind::FlowEntry => "`,`",
        TokenKind::Value => "`:`",
        TokenKind::Alias => "an alias",
        TokenKind::Anchor => "an anchor",
        TokenKind::Tag => "a tag",
        TokenKind::Scalar(_) => "a scalar",
    }
}
