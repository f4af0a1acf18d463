//! Interpreting the members of an entry.
//!
//! | `mode` | `encoding` | `data` | content |
//! |---|---|---|---|
//! | directory | | | a directory |
//! | link | | string | a symbolic link |
//! | regular | | | empty, or a hole of `size` bytes |
//! | regular | | any JSON | that JSON |
//! | regular | `utf-8` | string | text |
//! | regular | `base64` | string | bytes |
//! | regular | `blobvec` | array | regions |
//!
//! The profile `Flux` accepts a deviation, usually with a warning, if all readers of Flux treat it in
//! the same way. If the readers disagree or lose content, the deviation is an error.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};

use super::member::Member;
use super::raw::RawEntry;
use super::regions::regions;
use super::report::Report;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::json::{Base64, Json, Text, TextError, integer};
use crate::model::{ArchivePath, Content, Entry, FileType, Limits, Mode, Profile};
use binio::diagnostic::count;
use binio::{check_limit, pointer};

/// The members that are defined only in the dialect that Flux used before RFC 37.
const OLD_MEMBERS: [&str; 3] = ["version", "type", "blobvec"];

/// Interprets an entry and reports its deviations. Returns `None` if the entry is invalid. The
/// profile matters only for the dialect that Flux used before RFC 37. Fails if a limit is exceeded.
pub(crate) fn decode<'a>(
    raw: &RawEntry<'a>,
    profile: Profile,
    limits: &Limits,
    report: &mut Report<'a>,
) -> Result<Option<Entry<'a>>> {
    let Some(members) = raw.members() else {
        report.entry(Code::EntryType, "", || "expected an object".to_owned());
        return Ok(None);
    };
    let mut members = Members::sort(members, report);
    let path = path(raw.key.as_ref(), &members, limits, report)?;
    let mode = mode(&members, report);
    let size = size(&members, report);
    let mtime = time("mtime", members.mtime.as_ref(), report);
    let ctime = time("ctime", members.ctime.as_ref(), report);
    let old = members.old_dialect(profile, report);
    let (Some(mode), false) = (mode, old && profile != Profile::Legacy) else { return Ok(None) };
    let size_or_none = size.unwrap_or_default();
    let mut context = Context { members: &members, size: size_or_none, old, limits, report };
    let content = match mode.file_type() {
        FileType::Directory => Some(context.directory()),
        FileType::Symlink => context.symlink()?,
        FileType::Regular if old => context.old_regular()?,
        FileType::Regular => context.regular()?,
    };
    let (Some(path), Ok(size), Ok(mtime), Ok(ctime), Some(content)) =
        (path, size, mtime, ctime, content)
    else {
        return Ok(None);
    };
    if old {
        let meant = |key: &Text<'_>| OLD_MEMBERS.contains(&&*key.decode());
        members.extra.retain(|(key, _)| !meant(key));
    }
    let size = size.filter(|_| mode.file_type() == FileType::Regular);
    let extra = members.extra;
    let entry = Entry { index: raw.index, path, mode, size, mtime, ctime, content, extra };
    check_limit("bytes of a file", limits.max_file_size, entry.len())?;
    Ok(Some(entry))
}

/// The members of an entry by name. If a name occurs twice, the last member is used.
#[derive(Default)]
struct Members<'a> {
    path: Option<Json<'a>>,
    mode: Option<Json<'a>>,
    size: Option<Json<'a>>,
    mtime: Option<Json<'a>>,
    ctime: Option<Json<'a>>,
    encoding: Option<Json<'a>>,
    data: Option<Json<'a>>,
    /// The members that RFC 37 does not define, except members whose name has an unpaired surrogate.
    extra: Vec<(Text<'a>, Json<'a>)>,
}

impl<'a> Members<'a> {
    fn sort(written: &[Member<'a>], report: &mut Report<'a>) -> Self {
        let mut members = Self::default();
        let mut places = HashMap::new();
        for Member { key, value } in written {
            let Ok(name) = Text::from_json(key) else { continue };
            let name_text = name.decode();
            let before = match &*name_text {
                "path" => members.path.replace(value.clone()).is_some(),
                "mode" => members.mode.replace(value.clone()).is_some(),
                "size" => members.size.replace(value.clone()).is_some(),
                "mtime" => members.mtime.replace(value.clone()).is_some(),
                "ctime" => members.ctime.replace(value.clone()).is_some(),
                "encoding" => members.encoding.replace(value.clone()).is_some(),
                "data" => members.data.replace(value.clone()).is_some(),
                unknown => members.add_extra(unknown, &name, value.clone(), &mut places),
            };
            if before {
                let mut place = String::new();
                pointer::push(&mut place, &name.decode());
                report.entry(Code::DuplicateKey, &place, || "the key occurs twice".to_owned());
            }
        }
        members
    }

    /// Adds a member that RFC 37 does not define. Returns `true` if it replaces a member with the
    /// same name.
    fn add_extra(
        &mut self,
        name: &str,
        key: &Text<'a>,
        value: Json<'a>,
        places: &mut HashMap<String, usize>,
    ) -> bool {
        match places.entry(name.to_owned()) {
            Occupied(place) => {
                self.extra[*place.get()].1 = value;
                true
            }
            Vacant(place) => {
                place.insert(self.extra.len());
                self.extra.push((key.clone(), value));
                false
            }
        }
    }

    fn extra(&self, name: &str) -> Option<&Json<'a>> {
        self.extra.iter().find(|(key, _)| key.decode() == name).map(|(_, value)| value)
    }

    /// Returns `true` and reports a deviation if the entry is in the dialect that Flux used before
    /// RFC 37. An entry in that dialect has no `encoding`. It has the member `blobvec`, or both a
    /// `version` and the `type` `"fileref"`.
    fn old_dialect(&self, profile: Profile, report: &mut Report<'a>) -> bool {
        let fileref = self.extra("type").is_some_and(|value| value.get() == "\"fileref\"");
        let is_known =
            fileref && self.extra("version").is_some() || self.extra("blobvec").is_some();
        let old = self.encoding.is_none() && is_known;
        if old {
            report.entry(Code::OldDialect, "", || {
                let remedy = match profile {
                    Profile::Legacy => "",
                    _ => "; use the profile \"legacy\" to read it",
                };
                format!("the entry is in the dialect that Flux used before RFC 37{remedy}")
            });
        }
        old
    }
}

/// Returns the normalised path. The path is the member `path` or, without this member, the key.
/// Returns `None` if the path is missing or invalid.
fn path<'a>(
    key: Option<&Json<'a>>,
    members: &Members<'a>,
    limits: &Limits,
    report: &mut Report<'a>,
) -> Result<Option<ArchivePath>> {
    let (written, place) = match (members.path.as_ref(), key) {
        (Some(path), Some(_)) => {
            report.entry(Code::PathInDict, "/path", || {
                "the member `path` overrides the key".to_owned()
            });
            (path, "/path")
        }
        (Some(path), None) => (path, "/path"),
        (None, Some(key)) => (key, ""),
        (None, None) => {
            report.entry(Code::PathType, "", || "path is missing".to_owned());
            return Ok(None);
        }
    };
    let text = match Text::from_json(written) {
        Ok(text) => text,
        Err(error) => {
            report.entry(Code::PathType, place, || format!("invalid path: {error}"));
            return Ok(None);
        }
    };
    check_limit("length of a path in bytes", limits.max_path_len, text.len())?;
    match ArchivePath::normalise(&text.decode()) {
        Ok((path, dropped)) => {
            for error in dropped {
                report.entry(error.code(), place, || error.to_string());
            }
            let depth = path.components().count() as u64;
            check_limit("components of a path", limits.max_path_depth, depth)?;
            Ok(Some(path))
        }
        Err(error) => {
            report.entry(error.code(), place, || error.to_string());
            Ok(None)
        }
    }
}

fn mode<'a>(members: &Members<'a>, report: &mut Report<'a>) -> Option<Mode> {
    let Some(value) = &members.mode else {
        report.entry(Code::ModeType, "", || "mode is missing".to_owned());
        return None;
    };
    let Some(mode) = integer(value).and_then(|mode| u32::try_from(mode).ok()) else {
        report.entry(Code::ModeType, "/mode", || {
            format!("expected a 32-bit integer, found {}", brief(value))
        });
        return None;
    };
    let known = Mode::from_u32(mode);
    if known.is_none() {
        report.entry(Code::FileType, "/mode", || {
            format!("mode 0{mode:o} is not a regular file, directory or symbolic link")
        });
    }
    known
}

/// The error for a member of the wrong type. The deviation has already been reported.
#[derive(Clone, Copy)]
struct Wrong;

fn size<'a>(members: &Members<'a>, report: &mut Report<'a>) -> Result<Option<u64>, Wrong> {
    let Some(value) = &members.size else { return Ok(None) };
    let size = integer(value).and_then(|size| u64::try_from(size).ok());
    if size.is_none() {
        report.entry(Code::SizeType, "/size", || {
            format!("expected an integer from 0 to 2^63-1, found {}", brief(value))
        });
    }
    size.ok_or(Wrong).map(Some)
}

fn time(
    name: &str,
    value: Option<&Json<'_>>,
    report: &mut Report<'_>,
) -> Result<Option<i64>, Wrong> {
    let Some(value) = value else { return Ok(None) };
    let seconds = integer(value);
    if seconds.is_none() {
        report.entry(Code::TimeType, &format!("/{name}"), || {
            format!("expected a 64-bit integer, found {}", brief(value))
        });
    }
    seconds.ok_or(Wrong).map(Some)
}

/// Returns the first 40 characters of a value, followed by `...` if it is longer, for use in a
/// message.
fn brief(value: &Json<'_>) -> String {
    let text = value.get();
    match text.char_indices().nth(40) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The members of an entry, and the context needed to interpret its content.
struct Context<'m, 'a> {
    members: &'m Members<'a>,
    size: Option<u64>,
    /// Whether the entry is in the dialect that Flux used before RFC 37.
    old: bool,
    limits: &'m Limits,
    report: &'m mut Report<'a>,
}

impl<'a> Context<'_, 'a> {
    fn directory(&mut self) -> Content<'a> {
        let members = self.members;
        self.needless("size", members.size.as_ref());
        self.needless("encoding", members.encoding.as_ref());
        self.needless("data", members.data.as_ref());
        Content::Directory
    }

    fn symlink(&mut self) -> Result<Option<Content<'a>>> {
        let members = self.members;
        self.needless("encoding", members.encoding.as_ref());
        if !self.old {
            self.needless("size", members.size.as_ref());
        }
        let Some(data) = &members.data else {
            self.report.entry(Code::LinkTarget, "", || "the target is missing".to_owned());
            return Ok(None);
        };
        let problem = match Text::from_json(data) {
            Err(error) => format!("invalid link target: {error}"),
            Ok(target) if target.is_empty() => "the target is empty".to_owned(),
            Ok(target) if target.has_nul() => "the target contains a NUL".to_owned(),
            Ok(target) => {
                check_limit(
                    "length of a link target in bytes",
                    self.limits.max_link_len,
                    target.len(),
                )?;
                return Ok(Some(Content::Symlink(target.into_decoded())));
            }
        };
        self.report.entry(Code::LinkTarget, "/data", || problem);
        Ok(None)
    }

    fn needless(&mut self, name: &str, value: Option<&Json<'_>>) {
        if value.is_some() {
            let message = || format!("{name} is meaningless for this entry");
            self.report.entry(Code::NeedlessMember, &format!("/{name}"), message);
        }
    }

    fn regular(&mut self) -> Result<Option<Content<'a>>> {
        let Some(encoding) = &self.members.encoding else {
            let data = self.members.data.as_ref();
            return Ok(if let Some(json) = data { self.json(json) } else { self.empty() });
        };
        let name = Text::from_json(encoding).map(Text::into_decoded).unwrap_or_default();
        if !matches!(&*name, "utf-8" | "base64" | "blobvec") {
            self.report.entry(Code::Encoding, "/encoding", || {
                let found = brief(encoding);
                format!("expected \"utf-8\", \"base64\" or \"blobvec\", found {found}")
            });
            return Ok(None);
        }
        let Some(data) = &self.members.data else {
            self.report.entry(Code::DataMissing, "", || {
                format!("the entry has the encoding {name:?}, but no data")
            });
            return Ok(None);
        };
        match &*name {
            "utf-8" => Ok(self.text(data)),
            "base64" => Ok(self.base64(data)),
            _ => self.blobvec(data),
        }
    }

    /// Interprets a regular file in the dialect that Flux used before RFC 37. The file contains
    /// base64 or regions, or has no data.
    fn old_regular(&mut self) -> Result<Option<Content<'a>>> {
        match (&self.members.data, self.members.extra("blobvec")) {
            (Some(data), _) => Ok(self.base64(data)),
            (None, Some(regions)) if regions.get() != "[]" => self.blobvec(regions),
            (None, _) => Ok(self.empty()),
        }
    }

    fn empty(&mut self) -> Option<Content<'a>> {
        self.size_of_data(0, true).then_some(Content::Empty)
    }

    fn json(&mut self, json: &Json<'a>) -> Option<Content<'a>> {
        self.needless("size", self.members.size.as_ref());
        let len = json.get().len() as u64;
        let fits = self.size.is_none_or(|size| size >= len);
        if !fits {
            self.size_below_data(len);
        }
        fits.then(|| Content::Json(json.clone()))
    }

    fn text(&mut self, data: &Json<'a>) -> Option<Content<'a>> {
        let text = self.string(data)?;
        if text.has_nul() {
            self.report.entry(Code::TextWithNul, "/data", || {
                "the text contains a NUL, which no Flux reader accepts".to_owned()
            });
        }
        self.size_of_data(text.len(), false).then_some(Content::Text(text))
    }

    fn base64(&mut self, data: &Json<'a>) -> Option<Content<'a>> {
        let text = self.string(data)?;
        let Some(data) = Base64::parse(text.into_decoded()) else {
            self.report.entry(Code::Base64, "/data", || "not base64".to_owned());
            return None;
        };
        if !data.is_tidy() {
            self.report.entry(Code::UntidyBase64, "/data", || {
                "the base64 has wrong padding or nonzero unused bits".to_owned()
            });
        }
        self.size_of_data(data.len(), false).then_some(Content::Base64(data))
    }

    fn blobvec(&mut self, data: &Json<'a>) -> Result<Option<Content<'a>>> {
        if !data.get().starts_with('[') {
            self.report.entry(Code::DataType, "/data", || {
                format!("expected an array of regions, found {}", brief(data))
            });
            return Ok(None);
        }
        self.size_of_data(0, true);
        let place = if self.members.data.is_some() { "/data" } else { "/blobvec" };
        let regions = regions(data, place, self.size, self.limits, self.report)?;
        Ok(regions.map(Content::Blobvec))
    }

    /// Returns the data as text, or reports an error if it is not a valid string.
    fn string(&mut self, data: &Json<'a>) -> Option<Text<'a>> {
        match Text::from_json(data) {
            Ok(text) => Some(text),
            Err(TextError::NotAString) => {
                let message = || format!("expected a string, found {}", brief(data));
                self.report.entry(Code::DataType, "/data", message);
                None
            }
            Err(error) => {
                self.report.entry(Code::DataType, "/data", || error.to_string());
                None
            }
        }
    }

    /// Compares the member `size` with the length of the data, and reports a missing or different
    /// size. Returns `false` if the size is less than the length. If `holes` is set, the file may
    /// be longer than its data.
    fn size_of_data(&mut self, len: u64, holes: bool) -> bool {
        match self.size {
            None => self.size_missing(),
            Some(size) if size < len => {
                self.size_below_data(len);
                return false;
            }
            Some(size) if size > len && !holes => {
                self.report.entry(Code::SizeAboveData, "/size", || {
                    format!(
                        "the size {size} is more than the {} of data; zeros follow",
                        count(len, "byte")
                    )
                });
            }
            Some(_) => {}
        }
        true
    }

    fn size_missing(&mut self) {
        if self.members.size.is_none() {
            self.report.entry(Code::SizeMissing, "", || "size is missing".to_owned());
        }
    }

    fn size_below_data(&mut self, len: u64) {
        let size = self.size.unwrap_or_default();
        self.report.entry(Code::SizeBelowData, "/size", || {
            format!("the size {size} is less than the {} of data", count(len, "byte"))
        });
    }
}
