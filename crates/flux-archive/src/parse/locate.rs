//! Finding the archive in a document, and determining its form.
//!
//! | document | archive |
//! |---|---|
//! | `[` | the array |
//! | `{`, with a member that only an entry has, such as an integer `mode` or a string `path` | consecutive objects |
//! | `{`, with `attributes` that contain no `mode`, but a `system` with `files` | the files of a jobspec |
//! | `{`, with any other members | the dict |
//!
//! Every value in a dict is an object. So if `mode` is an integer or `path` is a string, for example,
//! the document starts with an entry. The members are read in order, until one of them determines
//! the form.

use crate::error::{Error, ErrorKind, Result};
use crate::json::{Cursor, Text, integer};
use crate::model::Form;
use crate::parse::Member;

/// The JSON pointer of the files in a jobspec.
pub const JOBSPEC_FILES: &str = "/attributes/system/files";

/// The position of an archive in its document.
pub(super) struct Place<'a> {
    /// A cursor after the opening bracket of the array or dict, or before the first of consecutive
    /// objects.
    pub(super) cursor: Cursor<'a>,
    /// The form of the archive, or `None` if the value is neither an array nor an object.
    pub(super) form: Option<Form>,
    pub(super) pointer: String,
}

/// Finds the archive at a pointer. If there is no pointer or it is empty, the members of the document
/// determine where the archive is.
pub(super) fn locate<'a>(text: &'a str, pointer: Option<&str>) -> Result<Place<'a>> {
    let mut cursor = Cursor::new(text);
    let mut pointer = pointer.unwrap_or_default();
    let mut form = None;
    if pointer.is_empty() && cursor.peek() == Some(b'{') {
        match kind(cursor.clone())? {
            Kind::Entry => form = Some(Form::Objects),
            Kind::Jobspec => pointer = JOBSPEC_FILES,
            Kind::Dict => {}
        }
    }
    if !pointer.is_empty() {
        cursor = follow(text, pointer)?;
    }
    if form.is_none() {
        form = match cursor.peek() {
            Some(b'[') => Some(Form::Array),
            Some(b'{') => Some(Form::Dict),
            _ => None,
        };
        if form.is_none() {
            cursor.value()?;
            if pointer.is_empty() {
                cursor.finish()?;
            }
        } else if !cursor.take(b'[') {
            cursor.take(b'{');
        }
    }
    Ok(Place { cursor, form, pointer: pointer.to_owned() })
}

/// Returns the JSON text at a JSON pointer in a document, exactly as written. The pointer `""` refers to the whole
/// document.
///
/// ```
/// let document = br#"[{"path":"f","mode":33188,"data":{"k":1.50}}]"#;
/// assert_eq!(flux_archive::parse::value_at(document, "/0/data")?, r#"{"k":1.50}"#);
/// assert!(flux_archive::parse::value_at(document, "/1").is_err());
/// # Ok::<(), flux_archive::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`ErrorKind::Pointer`] if the pointer is malformed or there is no such value, and with
/// [`ErrorKind::Json`] if the document is not valid JSON.
pub fn value_at<'a>(document: &'a [u8], pointer: &str) -> Result<&'a str> {
    let text = text_of(document)?;
    let mut cursor = if pointer.is_empty() { Cursor::new(text) } else { follow(text, pointer)? };
    cursor.peek();
    let start = cursor.position();
    cursor.value()?;
    let value = cursor.since(start);
    if pointer.is_empty() {
        cursor.finish()?;
    }
    Ok(value)
}

/// Returns a document as text, and fails if it is not UTF-8.
pub(super) fn text_of(document: &[u8]) -> Result<&str> {
    simdutf8::compat::from_utf8(document).map_err(|error| {
        Error::new(ErrorKind::Json("not UTF-8".to_owned())).at(error.valid_up_to() as u64)
    })
}

enum Kind {
    Dict,
    Entry,
    Jobspec,
}

/// Determines from the members of the object at the cursor whether it is a dict, an entry or a
/// jobspec.
fn kind(mut cursor: Cursor<'_>) -> Result<Kind> {
    cursor.expect(b'{')?;
    let mut first = true;
    while cursor.item(first, b'}')? {
        first = false;
        let key = cursor.key()?;
        let kind = cursor.peek();
        let inside = cursor.clone();
        let value = cursor.value()?;
        let member = Member { key, value };
        let is_one_of = |names: &[&str]| names.iter().any(|name| member.is(name));
        match kind {
            Some(b'"') if is_one_of(&["path", "encoding"]) => return Ok(Kind::Entry),
            Some(b'{') if is_one_of(&["data"]) => {}
            Some(b'{') if is_one_of(&["attributes"]) => {
                let entry = child(inside.clone(), "mode")?.is_some();
                let system = child(inside, "system")?;
                let files = system.map(|system| child(system, "files")).transpose()?.flatten();
                return Ok(if files.is_some() && !entry { Kind::Jobspec } else { Kind::Dict });
            }
            Some(b'{') => return Ok(Kind::Dict),
            _ if is_one_of(&["mode", "size", "mtime", "ctime"])
                && integer(&member.value).is_some() =>
            {
                return Ok(Kind::Entry);
            }
            _ => {}
        }
    }
    Ok(Kind::Dict)
}

/// Returns a cursor at the value of a JSON pointer. Fails if the document is not valid JSON, even
/// after the value.
fn follow<'a>(text: &'a str, pointer: &str) -> Result<Cursor<'a>> {
    let fail = |message| Error::new(ErrorKind::Pointer { pointer: pointer.to_owned(), message });
    let tokens = binio::pointer::tokens(pointer).map_err(|error| fail(error.to_string()))?;
    let mut whole = Cursor::new(text);
    whole.value()?;
    whole.finish()?;
    let mut cursor = Cursor::new(text);
    for token in tokens {
        cursor = child(cursor, &token)?.ok_or_else(|| fail(format!("{token:?} does not exist")))?;
    }
    Ok(cursor)
}

/// Returns a cursor at the value of a key or index, or `None` if there is no such value. If a key
/// occurs several times, the last value is used.
fn child<'a>(mut cursor: Cursor<'a>, token: &str) -> Result<Option<Cursor<'a>>> {
    let array = cursor.take(b'[');
    if !array && !cursor.take(b'{') {
        return Ok(None);
    }
    let mut found = None;
    let mut index = 0_u64;
    while cursor.item(index == 0, if array { b']' } else { b'}' })? {
        let is_it = if array {
            token == index.to_string()
        } else {
            Text::from_json(&cursor.key()?).is_ok_and(|key| key.decode() == token)
        };
        if is_it {
            found = Some(cursor.clone());
        }
        cursor.value()?;
        index += 1;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, pointer: Option<&str>) -> (Option<Form>, String) {
        let place = locate(text, pointer).unwrap();
        (place.form, place.pointer)
    }

    #[test]
    fn the_members_of_a_document_determine_its_form() {
        for (text, form) in [
            ("[]", Some(Form::Array)),
            ("{}", Some(Form::Dict)),
            (r#"{"path":{"mode":33188}}"#, Some(Form::Dict)),
            (r#"{"data":{"mode":33188},"attributes":{"mode":33188}}"#, Some(Form::Dict)),
            (r#"{"attributes":{"mode":33188,"system":{"files":{}}}}"#, Some(Form::Dict)),
            (r#"{"data":{"a":1},"mode":33188,"path":"a"}"#, Some(Form::Objects)),
            (r#"{"path":"a","mode":33188}{"path":"b","mode":33188}"#, Some(Form::Objects)),
            (r#"{"version":1,"type":"fileref","path":"a"}"#, Some(Form::Objects)),
            ("5", None),
            ("\"[]\"", None),
        ] {
            assert_eq!(place(text, None), (form, String::new()), "{text}");
        }
    }

    #[test]
    fn the_files_in_a_jobspec_are_found() {
        let jobspec = r#"{"version":1,"resources":[{"type":"slot"}],"tasks":[],
            "attributes":{"system":{"duration":0,"files":{"script":{"mode":33152}}}}}"#;
        assert_eq!(place(jobspec, None), (Some(Form::Dict), JOBSPEC_FILES.to_owned()));
        let without = r#"{"version":1,"attributes":{"system":{}}}"#;
        assert_eq!(place(without, None), (Some(Form::Dict), String::new()));
    }

    #[test]
    fn a_pointer_is_followed_into_objects_and_arrays() {
        let text = r#"{"a/b":[5,{"m~":{}}],"a/b":[0,{"m~":[]}]}"#;
        assert_eq!(place(text, Some("/a~1b/1/m~0")).0, Some(Form::Array));
        for (pointer, message) in [
            ("/x", "JSON pointer \"/x\": \"x\" does not exist"),
            ("/a~1b/2", "JSON pointer \"/a~1b/2\": \"2\" does not exist"),
            ("/a~1b/01", "JSON pointer \"/a~1b/01\": \"01\" does not exist"),
            ("x", "JSON pointer \"x\": expected `/` at the start"),
        ] {
            let Err(error) = locate(text, Some(pointer)) else { panic!("{pointer}") };
            assert_eq!(error.to_string(), message);
        }
    }
}
