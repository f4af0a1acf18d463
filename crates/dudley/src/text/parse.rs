//! Parsing tokens into a tree, by recursive descent.
//!
//! The grammar is LL(1). The recursion is bounded, because the nesting depth is limited. After an
//! error in an item, member or element, parsing continues with the next item, member or element.

use super::{Comment, Lexer, Node, NodeKind, Token, TokenKind, Tree};
use crate::diagnostic::{Code, Diagnostic, start};
use crate::options::Limits;
use crate::source::Span;

pub(crate) fn parse(text: &str, limits: &Limits) -> Tree {
    let mut parser = Parser::new(text, limits);
    // This capacity is enough for a layout with one short item per line. With a smaller capacity,
    // page faults would take longer than parsing.
    parser.tree.nodes.reserve(text.len() / 4);
    binio::memory::prefer_huge_pages(&mut parser.tree.nodes);
    parser.begin_layout();
    // Ignore the result: errors are in the tree, and no enclosing construct has to handle them.
    let _ = parser.items(Within::Root);
    parser.tree
}

/// The action to take after an error has been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Continue with the next item, member or element.
    Recover,
    /// Stop parsing.
    Fatal,
}

pub(super) type Parsed = Result<(), Stop>;

/// The construct whose contents are being parsed. It determines which token ends the contents, and where the
/// next item, member or element may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Root,
    ListDict,
    List,
    Struct,
}

impl Within {
    fn is_list(self) -> bool {
        matches!(self, Self::List | Self::ListDict)
    }
}

/// The next token, if it has been peeked at. The offsets are as wide as a register, because the
/// processor has to wait when it reads two recently written 32-bit numbers as one 64-bit number.
/// This wait took a third of the parsing time.
#[derive(Clone, Copy)]
struct Peeked {
    kind: TokenKind,
    start: usize,
    end: usize,
}

/// A parser. Its position in the text is always between two tokens.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    lexer: Lexer<'a>,
    token: Peeked,
    /// Whether `token` is the next token. Comments before a token are attached only when the token
    /// is peeked at, because their subject may change until then.
    peeked: bool,
    subject: u32,
    depth: u32,
    pub(super) limits: &'a Limits,
    pub(super) tree: Tree,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, limits: &'a Limits) -> Self {
        Self {
            text,
            lexer: Lexer::new(text),
            token: Peeked { kind: TokenKind::End, start: 0, end: 0 },
            peeked: false,
            subject: Comment::LAYOUT,
            depth: 0,
            limits,
            tree: Tree::default(),
        }
    }

    /// Returns the kind of the last node.
    pub(super) fn last_node(&self) -> Option<NodeKind> {
        self.tree.nodes.last().map(|node| node.kind)
    }
}

impl Parser<'_> {
    #[inline]
    pub(super) fn peek(&mut self) -> Token {
        if !self.peeked {
            let mut token = self.lexer.token();
            while token.kind.is_comment() {
                self.keep_comment(token);
                token = self.lexer.token();
            }
            let Token { kind, start, end } = token;
            self.token = Peeked { kind, start: start as usize, end: end as usize };
            self.peeked = true;
        }
        let Peeked { kind, start, end } = self.token;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the offsets were converted from 32-bit numbers"
        )]
        Token { kind, start: start as u32, end: end as u32 }
    }

    fn keep_comment(&mut self, Token { kind, start, end }: Token) {
        if kind != TokenKind::Comment {
            let is_attributes = kind == TokenKind::Attributes;
            self.tree.comments.push(Comment { subject: self.subject, start, end, is_attributes });
        }
    }

    #[inline]
    fn kind(&mut self) -> TokenKind {
        self.peek().kind
    }

    #[inline]
    fn bump(&mut self) -> Token {
        let token = self.peek();
        self.peeked = false;
        token
    }

    fn push(&mut self, kind: NodeKind, span: Span) {
        self.tree.nodes.push(Node { kind, start: span.start, end: span.end });
    }

    /// Consumes the next token, adds a node for it, and returns the token.
    #[inline]
    fn take(&mut self, kind: NodeKind) -> Token {
        let token = self.bump();
        self.push(kind, token.span());
        token
    }

    /// Adds a node at the next token without consuming the token. The node becomes the subject of
    /// the comments that follow. Returns the index of the node.
    #[inline]
    fn begin(&mut self, kind: NodeKind) -> u32 {
        let token = self.peek();
        let node = self.next_node();
        self.push(kind, token.span());
        self.subject = node;
        node
    }

    fn next_node(&self) -> u32 {
        u32::try_from(self.tree.nodes.len()).unwrap_or(Comment::LAYOUT)
    }

    fn begin_layout(&mut self) {
        if matches!(self.kind(), TokenKind::Less | TokenKind::Greater | TokenKind::Bar) {
            self.take(NodeKind::Order);
        }
        if self.kind() == TokenKind::OpenBrace {
            let start = self.tree.nodes.len();
            let node = self.begin(NodeKind::SummaryOpen);
            let open = self.bump();
            let parsed = self.members(node, open, NodeKind::SummaryClose);
            self.depth = 0;
            // Ignore the result: at the root, recovery always succeeds.
            let _ = self.recover(parsed, start, Within::Root);
        }
    }

    /// Parses the items of a dict up to the end of the dict.
    fn items(&mut self, within: Within) -> Parsed {
        let depth = self.depth;
        loop {
            let start = self.tree.nodes.len();
            // Peeking at the next token also attaches the comments on the previous item.
            let next = self.kind();
            let parsed = match next {
                TokenKind::End => return Ok(()),
                TokenKind::Comma | TokenKind::CloseBracket if within == Within::ListDict => {
                    return Ok(());
                }
                TokenKind::Name | TokenKind::Quoted => self.item(),
                TokenKind::Slash => {
                    self.begin(NodeKind::Top);
                    self.bump();
                    Ok(())
                }
                TokenKind::Up => {
                    self.begin(NodeKind::Up);
                    self.bump();
                    Ok(())
                }
                _ => Err(self.expected_item()),
            };
            self.depth = depth;
            self.recover(parsed, start, within)?;
        }
    }

    /// After an error in an item, member, element or summary, replaces all of its nodes but the first
    /// with a `Broken` node, and skips to the next item, member or element.
    #[inline]
    fn recover(&mut self, parsed: Parsed, start: usize, within: Within) -> Parsed {
        match parsed {
            Ok(()) => Ok(()),
            Err(stop) => self.recover_from(stop, start, within),
        }
    }

    #[cold]
    fn recover_from(&mut self, stop: Stop, start: usize, within: Within) -> Parsed {
        let at = self.peek().start;
        if self.tree.nodes.len() > start {
            self.keep_first(start);
            self.push(NodeKind::Broken, Span::new(at, at));
        }
        if stop == Stop::Fatal && within != Within::Root {
            return Err(Stop::Fatal);
        }
        if stop == Stop::Fatal {
            self.end();
            return Ok(());
        }
        self.skip(within);
        Ok(())
    }

    /// Removes all nodes after the node `first`, which begins an item, member, element or summary. The
    /// comments on the removed nodes are attached to `first` instead.
    fn keep_first(&mut self, first: usize) {
        self.tree.nodes.truncate(first + 1);
        let from = self.tree.nodes[first].start;
        let first = u32::try_from(first).unwrap_or(Comment::LAYOUT);
        let attached = |subject: u32| subject.min(first);
        let inside = self.tree.comments.iter_mut().rev().take_while(|comment| comment.start > from);
        for comment in inside {
            comment.subject = attached(comment.subject);
        }
        self.subject = attached(self.subject);
    }

    /// Skips the rest of the text.
    fn end(&mut self) {
        self.lexer = Lexer::new("");
        self.peeked = false;
    }

    /// Skips to the next token that may begin an item or member, or that may end the current
    /// construct. The contents of brackets are usually skipped as a whole.
    fn skip(&mut self, within: Within) {
        let mut open = 0_u32;
        loop {
            let token = self.peek();
            let is_end = match token.kind {
                TokenKind::End => true,
                TokenKind::CloseBrace => open == 0 && within == Within::Struct,
                TokenKind::CloseBracket | TokenKind::Comma => open == 0 && within.is_list(),
                TokenKind::Up => open == 0 && matches!(within, Within::Root | Within::ListDict),
                TokenKind::Name | TokenKind::Quoted => {
                    let near = open == 0 && within != Within::List;
                    let begins_line = self.begins_line(token.start as usize);
                    (near || begins_line) && self.begins_item(near && begins_line)
                }
                _ => false,
            };
            if is_end {
                return;
            }
            match token.kind {
                TokenKind::OpenBracket | TokenKind::OpenBrace | TokenKind::OpenParen => open += 1,
                TokenKind::CloseBracket | TokenKind::CloseBrace | TokenKind::CloseParen => {
                    open = open.saturating_sub(1);
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Returns `true` if the token after the current name shows that the name begins an item. `[`
    /// and `{` are accepted only if `brackets_too` is set.
    fn begins_item(&mut self, brackets_too: bool) -> bool {
        match self.ahead().next().map(|token| token.kind) {
            Some(
                TokenKind::Equals | TokenKind::Colon | TokenKind::ColonEquals | TokenKind::Slash,
            ) => true,
            Some(TokenKind::OpenBracket | TokenKind::OpenBrace) => brackets_too,
            _ => false,
        }
    }

    /// Iterates over the tokens after the current token, without comments.
    pub(super) fn ahead(&mut self) -> impl Iterator<Item = Token> + use<'_> {
        self.peek();
        self.lexer.clone().filter(|token| !token.kind.is_comment())
    }

    fn begins_line(&self, start: usize) -> bool {
        let before = self.text[..start].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', '\r'])
    }

    fn item(&mut self) -> Parsed {
        let node = self.begin(NodeKind::Name);
        self.bump();
        match self.kind() {
            TokenKind::Equals => {
                let equals = self.bump();
                if self.kind() == TokenKind::OpenBracket {
                    return self.list(node);
                }
                self.push(NodeKind::Data, equals.span());
                self.data(node)
            }
            TokenKind::Colon | TokenKind::ColonEquals => {
                self.take(NodeKind::Param);
                self.param(node)
            }
            TokenKind::Slash => {
                self.take(NodeKind::Dict);
                Ok(())
            }
            TokenKind::OpenBracket => self.list(node),
            TokenKind::OpenBrace => self.structure(node),
            TokenKind::At | TokenKind::Percent => {
                let at = self.peek().start;
                self.push(NodeKind::Extend, Span::new(at, at));
                while matches!(self.kind(), TokenKind::At | TokenKind::Percent) {
                    self.place()?;
                }
                Ok(())
            }
            _ => Err(self.expected_declaration(self.text_of(node), false)),
        }
    }

    fn text_of(&self, node: u32) -> Span {
        self.tree.nodes[node as usize].span()
    }

    fn enter(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > self.limits.depth() {
            return Err(self.too_deep());
        }
        Ok(())
    }

    fn list(&mut self, owner: u32) -> Parsed {
        self.enter()?;
        let open = self.take(NodeKind::ListOpen);
        loop {
            if self.kind() == TokenKind::CloseBracket {
                self.take(NodeKind::ListClose);
                self.subject = owner;
                self.depth -= 1;
                return Ok(());
            }
            let start = self.tree.nodes.len();
            let depth = self.depth;
            let element = self.begin(NodeKind::Element);
            let parsed = self.element(element);
            self.depth = depth;
            self.recover(parsed, start, Within::List)?;
            match self.kind() {
                TokenKind::Comma => {
                    self.subject = element;
                    self.bump();
                }
                TokenKind::CloseBracket => {}
                _ if parsed.is_ok() => {
                    let stop = self.expected_in(open, "`,` or `]`");
                    self.recover_from(stop, start, Within::List)?;
                    if self.kind() == TokenKind::Comma {
                        self.bump();
                    } else if self.kind() != TokenKind::CloseBracket {
                        self.abandon(owner);
                        return Ok(());
                    }
                }
                _ => {
                    self.abandon(owner);
                    return Ok(());
                }
            }
        }
    }

    /// Ends a list whose `]` is missing. The next token seems to begin an item, or is the end of the text.
    fn abandon(&mut self, owner: u32) {
        let at = self.peek().start;
        self.push(NodeKind::ListClose, Span::new(at, at));
        self.subject = owner;
        self.depth -= 1;
    }

    fn element(&mut self, node: u32) -> Parsed {
        match self.kind() {
            TokenKind::OpenBracket => self.list(node),
            TokenKind::Slash => {
                self.enter()?;
                self.take(NodeKind::DictOpen);
                self.items(Within::ListDict)?;
                let at = self.peek().start;
                self.push(NodeKind::DictClose, Span::new(at, at));
                self.depth -= 1;
                Ok(())
            }
            _ => self.data(node),
        }
    }

    fn structure(&mut self, owner: u32) -> Parsed {
        let open = self.take(NodeKind::StructOpen);
        self.members(owner, open, NodeKind::StructClose)
    }

    /// Parses the members of a struct and the `}` after them.
    fn members(&mut self, owner: u32, open: Token, close: NodeKind) -> Parsed {
        self.enter()?;
        if self.kind() == TokenKind::Percent {
            self.place()?;
        }
        loop {
            let start = self.tree.nodes.len();
            let depth = self.depth;
            let parsed = match self.kind() {
                TokenKind::CloseBrace => {
                    self.take(close);
                    self.subject = owner;
                    self.depth -= 1;
                    return Ok(());
                }
                TokenKind::Name | TokenKind::Quoted => self.member(),
                TokenKind::Equals => {
                    let node = self.begin(NodeKind::Unnamed);
                    self.take(NodeKind::Data);
                    self.data(node)
                }
                TokenKind::End => return Err(self.expected_in(open, "a member or `}`")),
                _ => Err(self.expected_member()),
            };
            self.depth = depth;
            self.recover(parsed, start, Within::Struct)?;
        }
    }

    fn member(&mut self) -> Parsed {
        let node = self.begin(NodeKind::Name);
        self.bump();
        match self.kind() {
            TokenKind::Equals => {
                self.take(NodeKind::Data);
                self.data(node)
            }
            TokenKind::Colon | TokenKind::ColonEquals => {
                self.take(NodeKind::Param);
                self.param(node)
            }
            _ => Err(self.expected_declaration(self.text_of(node), true)),
        }
    }

    fn param(&mut self, owner: u32) -> Parsed {
        match self.kind() {
            TokenKind::Plus | TokenKind::Minus | TokenKind::Integer => {
                let span = self.integer("an integer")?;
                self.push(NodeKind::Integer, span);
                Ok(())
            }
            // Accept any data here: if the data is not a scalar integer, the checker reports it
            // with a better message.
            _ => self.data(owner),
        }
    }

    /// Parses an integer with an optional sign. The value must be at least -1.
    fn integer(&mut self, what: &str) -> Result<Span, Stop> {
        let sign = self.sign()?;
        if self.kind() != TokenKind::Integer {
            return Err(self.expected(Code::Unexpected, what));
        }
        let number = self.bump();
        let value = self.value(number)?;
        let span = sign.map_or(number.span(), |sign| sign.span().to(number.span()));
        if sign.is_some_and(|sign| sign.kind == TokenKind::Minus) && value > 1 {
            self.too_small(span)?;
        }
        Ok(span)
    }

    fn sign(&mut self) -> Result<Option<Token>, Stop> {
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Plus | TokenKind::Minus) {
            return Ok(None);
        }
        if token.end - token.start > 1 {
            return Err(self.expected(Code::Unexpected, "a single sign and a number"));
        }
        Ok(Some(self.bump()))
    }

    fn value(&mut self, number: Token) -> Result<i64, Stop> {
        let text = &self.text[number.start as usize..number.end as usize];
        super::integer(text).ok_or_else(|| self.too_large(number.span()))
    }

    fn data(&mut self, owner: u32) -> Parsed {
        match self.kind() {
            TokenKind::Name | TokenKind::Quoted => {
                self.take(NodeKind::Type);
            }
            TokenKind::OpenBrace => self.structure(owner)?,
            TokenKind::Less | TokenKind::Greater | TokenKind::Bar => {
                self.take(NodeKind::Mark);
                if !matches!(self.kind(), TokenKind::Name | TokenKind::Quoted) {
                    let expected = "a primitive type after the byte order";
                    return Err(self.expected(Code::ExpectedDatatype, expected));
                }
                self.take(NodeKind::Type);
            }
            _ => return Err(self.expected_datatype()),
        }
        if self.kind() == TokenKind::OpenBracket {
            self.shape()?;
        }
        match self.kind() {
            TokenKind::Arrow => self.filter(NodeKind::Compress)?,
            TokenKind::BackArrow => self.filter(NodeKind::Reference)?,
            _ => {}
        }
        if matches!(self.kind(), TokenKind::At | TokenKind::Percent) {
            self.place()?;
        }
        Ok(())
    }

    fn shape(&mut self) -> Parsed {
        let open = self.bump();
        let mut count = 0;
        loop {
            count += 1;
            if count > self.limits.max_dims {
                return Err(self.too_many_dims(open.span()));
            }
            match self.kind() {
                TokenKind::Name | TokenKind::Quoted => {
                    let name = self.take(NodeKind::DimName);
                    if matches!(self.kind(), TokenKind::Plus | TokenKind::Minus) {
                        let suffix = self.take(NodeKind::Suffix);
                        if self.kind() == TokenKind::Integer {
                            return Err(self.binary_suffix(name, suffix));
                        }
                    }
                }
                TokenKind::Plus | TokenKind::Minus | TokenKind::Integer => {
                    let span =
                        self.integer("a dimension: an integer or the name of a parameter")?;
                    self.push(NodeKind::Dim, span);
                }
                _ => {
                    let expected = "a dimension: an integer or the name of a parameter";
                    return Err(self.expected_in(open, expected));
                }
            }
            match self.kind() {
                TokenKind::Comma => {
                    self.bump();
                }
                TokenKind::CloseBracket => {
                    self.bump();
                    return Ok(());
                }
                _ => return Err(self.expected_in(open, "`,` or `]` in a shape")),
            }
        }
    }

    fn filter(&mut self, kind: NodeKind) -> Parsed {
        self.bump();
        if !matches!(self.kind(), TokenKind::Name | TokenKind::Quoted) {
            return Err(self.expected(Code::ExpectedFilterName, "the name of a filter"));
        }
        self.take(kind);
        if self.kind() != TokenKind::OpenParen {
            return Ok(());
        }
        self.bump();
        if self.kind() == TokenKind::CloseParen {
            self.bump();
            return Ok(());
        }
        loop {
            self.argument()?;
            match self.kind() {
                TokenKind::Comma => {
                    self.bump();
                }
                TokenKind::CloseParen => {
                    self.bump();
                    return Ok(());
                }
                _ => return Err(self.expected(Code::BadFilterArgument, "`,` or `)`")),
            }
        }
    }

    fn argument(&mut self) -> Parsed {
        if self.kind() == TokenKind::Quoted {
            self.take(NodeKind::Argument);
            return Ok(());
        }
        let sign = self.sign()?;
        if !matches!(self.kind(), TokenKind::Integer | TokenKind::Float) {
            return Err(self.expected(Code::BadFilterArgument, "a number or a quoted string"));
        }
        let number = self.bump();
        if number.kind == TokenKind::Integer {
            self.value(number)?;
        }
        let span = sign.map_or(number.span(), |sign| sign.span().to(number.span()));
        self.push(NodeKind::Argument, span);
        Ok(())
    }

    fn place(&mut self) -> Parsed {
        let mark = self.bump();
        let is_address = mark.kind == TokenKind::At;
        if self.kind() != TokenKind::Integer {
            let expected =
                if is_address { "an address after `@`" } else { "an alignment after `%`" };
            return Err(self.expected(Code::Unexpected, expected));
        }
        let number = self.bump();
        let value = self.value(number)?;
        let span = mark.span().to(number.span());
        if is_address {
            self.push(NodeKind::At, span);
        } else {
            if value != 0 && value.count_ones() != 1 {
                self.no_power(number.span(), value)?;
            }
            self.push(NodeKind::Align, span);
        }
        Ok(())
    }

    /// Reports an error, unless the previous error is at the same position. Returns `Fatal` once
    /// there are too many errors.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Stop {
        let last = self.tree.diagnostics.last();
        if last.is_none_or(|last| start(last) != start(&diagnostic)) {
            self.tree.diagnostics.push(diagnostic);
        }
        if self.tree.diagnostics.len() < self.limits.max_diagnostics as usize {
            Stop::Recover
        } else {
            Stop::Fatal
        }
    }
}
