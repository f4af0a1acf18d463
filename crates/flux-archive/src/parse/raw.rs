//! Reading entries without interpreting them. Their keys and values are kept as written.

use super::locate::{Place, locate, text_of};
use super::member::Member;
use super::options::OpenOptions;
use crate::error::Result;
use crate::json::{Cursor, Json, Text};
use crate::model::Form;
use binio::check_limit;

/// An uninterpreted item of an archive, which is not necessarily an object.
#[derive(Clone, Debug)]
pub struct RawEntry<'a> {
    pub(crate) index: u64,
    pub(crate) key: Option<Json<'a>>,
    pub(crate) members: Option<Vec<Member<'a>>>,
    pub(crate) json: &'a str,
}

impl<'a> RawEntry<'a> {
    /// Returns the index of the entry in the archive.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the key of the entry, or `None` if the archive is not a dict.
    pub fn key(&self) -> Option<Json<'a>> {
        self.key.clone()
    }

    /// Returns the members in order, or `None` if the item is not an object.
    pub fn members(&self) -> Option<&[Member<'a>]> {
        self.members.as_deref()
    }

    /// Returns the JSON text of the entry.
    pub fn json(&self) -> &'a str {
        self.json
    }

    /// Returns the value of the member `name`, or `None` if there is no such member. If several
    /// members have this name, returns the last value.
    pub fn get(&self, name: &str) -> Option<Json<'a>> {
        let members = self.members.as_deref().unwrap_or_default();
        members.iter().rev().find(|member| member.is(name)).map(|member| member.value.clone())
    }

    /// Returns the path as written: the member `path` or, without this member, the key. Returns
    /// `None` if this value is missing or is not a valid string. The path has not been checked, so
    /// do not open it.
    pub fn path(&self) -> Option<Text<'a>> {
        Text::from_json(&self.get("path").or_else(|| self.key())?).ok()
    }
}

/// An iterator over the entries of a document. It uses a bounded amount of memory. Created by [`OpenOptions::entries`].
///
/// The iterator ends after the first error.
#[derive(Clone, Debug)]
pub struct RawEntries<'a> {
    cursor: Cursor<'a>,
    form: Option<Form>,
    pointer: String,
    max_entries: u64,
    max_members: u64,
    max_key_len: u64,
    index: u64,
    done: bool,
}

impl OpenOptions {
    /// Returns an iterator over the entries as written in the document. Each item is an entry or an error. After the
    /// last entry, the iterator may still return an error from reading the end of the document.
    ///
    /// ```
    /// use flux_archive::OpenOptions;
    ///
    /// let json = br#"[{"path":"a","mode":16877,"note":1.50}]"#;
    /// for entry in OpenOptions::new().entries(json)? {
    ///     assert_eq!(entry?.get("note").unwrap().get(), "1.50");
    /// }
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Json`](crate::ErrorKind::Json) if the document is not UTF-8. Also fails with this error
    /// if the document is not valid JSON, and the archive is only part of it or it begins with neither `[` nor `{`. The
    /// form of an object follows from its members, so the members that are read to determine the form must also be
    /// valid.
    ///
    /// Fails with [`ErrorKind::Pointer`](crate::ErrorKind::Pointer) if the [pointer](Self::pointer) is malformed or the
    /// document has no value at it, and with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the document exceeds
    /// [`Limits::max_json_bytes`](crate::Limits::max_json_bytes).
    pub fn entries<'a>(&self, document: &'a [u8]) -> Result<RawEntries<'a>> {
        check_limit("bytes of JSON", self.limits.max_json_bytes, document.len() as u64)?;
        RawEntries::new(text_of(document)?, self)
    }
}

impl<'a> RawEntries<'a> {
    pub(super) fn new(text: &'a str, options: &OpenOptions) -> Result<Self> {
        Ok(Self::at(locate(text, options.pointer.as_deref())?, options))
    }

    fn at(place: Place<'a>, options: &OpenOptions) -> Self {
        Self {
            cursor: place.cursor,
            form: place.form,
            pointer: place.pointer,
            max_entries: options.limits.max_entries,
            max_members: options.limits.max_members,
            // A single byte may be written as a six-character escape.
            max_key_len: options.limits.max_path_len.saturating_mul(6).saturating_add(2),
            index: 0,
            done: place.form.is_none(),
        }
    }

    /// Returns an iterator that starts at entry `index` of an array. The text must begin after the
    /// previous entry, or with the array if `index` is 0. Returns `None` if `index` is 0 and the text
    /// does not begin with an array.
    #[cfg(unix)]
    pub(super) fn continued(text: &'a str, options: &OpenOptions, index: u64) -> Option<Self> {
        let mut cursor = Cursor::new(text);
        let is_array = index > 0 || cursor.take(b'[');
        let place = Place { cursor, form: Some(Form::Array), pointer: String::new() };
        is_array.then(|| Self { index, ..Self::at(place, options) })
    }

    /// Returns the offset of the first character of `data` in the next entry. Returns `None` if the entry has no `data`,
    /// if `data` is not a string, or if the text before this character is malformed or incomplete.
    #[cfg(unix)]
    pub(super) fn data_start(self) -> Option<usize> {
        let Self { mut cursor, index, .. } = self;
        let has_members = cursor.item(index == 0, b']').ok()? && cursor.take(b'{');
        let mut first = true;
        while has_members && cursor.item(first, b'}').ok()? {
            if cursor.key().ok()?.plain_string() == Some("data") {
                return cursor.take(b'"').then(|| cursor.position());
            }
            cursor.value().ok()?;
            first = false;
        }
        None
    }

    /// Returns the offset of the next byte in the text.
    #[cfg(unix)]
    pub(super) fn position(&self) -> usize {
        self.cursor.position()
    }

    /// Returns the form of the archive, or `None` if it is neither an array nor an object.
    pub fn form(&self) -> Option<Form> {
        self.form
    }

    /// Returns the JSON pointer of the archive in the document.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Returns the next entry, or `None` at the end of the archive.
    pub(super) fn advance(&mut self) -> Result<Option<RawEntry<'a>>> {
        let first = self.index == 0;
        let more = match self.form {
            None => false,
            Some(Form::Array) => self.cursor.item(first, b']')?,
            Some(Form::Dict) => self.cursor.item(first, b'}')?,
            Some(Form::Objects) => self.cursor.peek().is_some(),
        };
        if !more {
            if self.pointer.is_empty() {
                self.cursor.finish()?;
            }
            return Ok(None);
        }
        check_limit("entries", self.max_entries, self.index + 1)?;
        let key = if self.form == Some(Form::Dict) { Some(self.cursor.key()?) } else { None };
        let key_len = key.as_ref().map_or(0, |key| key.get().len() as u64);
        check_limit("bytes of a key", self.max_key_len, key_len)?;
        self.cursor.peek();
        let start = self.cursor.position();
        let members = self.members()?;
        let entry = RawEntry { index: self.index, key, members, json: self.cursor.since(start) };
        self.index += 1;
        Ok(Some(entry))
    }

    fn members(&mut self) -> Result<Option<Vec<Member<'a>>>> {
        if !self.cursor.take(b'{') {
            self.cursor.value()?;
            return Ok(None);
        }
        let mut members = Vec::with_capacity(8);
        while self.cursor.item(members.is_empty(), b'}')? {
            if members.len() as u64 >= self.max_members {
                check_limit("members of an entry", self.max_members, members.len() as u64 + 1)?;
            }
            let short = self.cursor.short_key();
            if let (Some(key), Some(value)) = (short, short.and_then(|_| self.cursor.short_value()))
            {
                members.push(Member { key: Json::short(key), value: Json::short(value) });
                continue;
            }
            let key = short.map_or_else(|| self.cursor.key(), |key| Ok(Json::short(key)))?;
            members.push(Member { key, value: self.cursor.value()? });
        }
        Ok(Some(members))
    }
}

impl<'a> Iterator for RawEntries<'a> {
    type Item = Result<RawEntry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let entry = self.advance().transpose();
        self.done = !matches!(entry, Some(Ok(_)));
        entry
    }
}
