//! A queue of scanned tokens that have not been consumed yet.

use super::Token;

/// Minimum number of consumed tokens to remove from memory at a time, unless the queue is empty.
const KEPT: usize = 32;

/// A short queue of tokens into which tokens can be inserted at any index.
#[derive(Default)]
pub(super) struct Queue {
    /// Consumed tokens that are still in memory, followed by the queued tokens.
    tokens: Vec<Token>,
    /// Number of tokens at the start of the list that have already been removed from the queue.
    taken: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.tokens.len() - self.taken
    }

    pub(super) fn front(&self) -> Option<Token> {
        self.tokens.get(self.taken).copied()
    }

    pub(super) fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Inserts a token at an index, counted from the front.
    pub(super) fn insert(&mut self, place: usize, token: Token) {
        self.tokens.insert(self.taken + place, token);
    }

    /// Removes the token at the front.
    pub(super) fn pop(&mut self) {
        self.taken += 1;
        if self.taken >= self.tokens.len() {
            self.clear();
        } else if self.taken >= KEPT && self.taken >= self.len() {
            self.tokens.drain(..self.taken);
            self.taken = 0;
        }
    }

    pub(super) fn clear(&mut self) {
        self.tokens.clear();
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::scan::{Span, TokenKind};

    fn token(start: u32) -> Token {
        let span = Span { start, end: start };
        Token { kind: TokenKind::Key, span, text: Span::default() }
    }

    #[test]
    fn removing_consumed_tokens_keeps_the_others_in_order() {
        let mut queue = Queue::default();
        // Always leave a token in the queue. If `pop` emptied the queue, it would clear the list
        // instead of draining the consumed tokens.
        for number in 0..1000 {
            queue.push(token(3 * number));
            queue.push(token(3 * number + 2));
            queue.insert(queue.len() - 1, token(3 * number + 1));
            for taken in 3 * number..3 * number + if number == 0 { 2 } else { 3 } {
                let taken = if number == 0 { taken } else { taken - 1 };
                assert_eq!(queue.front().map(|token| token.span.start), Some(taken));
                queue.pop();
            }
            assert_eq!(queue.len(), 1);
            assert!(queue.tokens.len() <= KEPT + 3);
        }
    }
}
