//! Converting an entry to a form that RFC 37 allows.

use std::borrow::Cow;

use binio::diagnostic::count;

use crate::diagnostic::Code;
use crate::error::{ErrorKind, Result};
use crate::json::{Base64, Text};
use crate::model::{Content, Entry, Region};

/// The members to write between the path and the times of an entry.
pub(super) struct Plan<'e> {
    pub(super) encoding: Option<&'static str>,
    pub(super) data: Option<Data<'e>>,
    pub(super) size: Option<u64>,
}

/// The value of the member `data`.
pub(super) enum Data<'e> {
    /// Any JSON value.
    Json(&'e str),
    /// The escaped text of a string.
    String(Cow<'e, str>),
    /// An array of one or more regions.
    Regions(Vec<Region>),
}

impl<'e> Plan<'e> {
    pub(super) fn of(entry: &'e Entry<'_>) -> Result<Self> {
        let reject = |code: Code, message: String| {
            let path = entry.path.to_string();
            Err(ErrorKind::NotWritable { code, path, message }.into())
        };
        let (data_len, len) = (entry.content.data_len(), entry.len());
        if i64::try_from(len).is_err() {
            return reject(Code::SizeType, format!("the size {len} does not fit into 63 bits"));
        }
        if let Some(size) = entry.size.filter(|&size| size < data_len) {
            return reject(
                Code::SizeBelowData,
                format!("the size {size} is less than the {} of data", count(data_len, "byte")),
            );
        }
        let only_data =
            matches!(entry.content, Content::Json(_) | Content::Text(_) | Content::Base64(_));
        if only_data && len > data_len {
            let data = count(data_len, "byte");
            let message = format!(
                "the size is {len}, but the data has {data}: only content stored as blobs can be padded \
                 with zeros"
            );
            return reject(Code::SizeAboveData, message);
        }
        let string = |text| Some(Data::String(text));
        let (encoding, data) = match &entry.content {
            Content::Directory | Content::Empty => (None, None),
            Content::Symlink(target) if target.is_empty() || target.contains('\0') => {
                return reject(
                    Code::LinkTarget,
                    "the target is empty or contains a NUL".to_owned(),
                );
            }
            Content::Symlink(target) => (None, string(Text::new(target).into_escaped())),
            Content::Json(json) => (None, Some(Data::Json(json.get()))),
            Content::Text(_) | Content::Base64(_) if data_len == 0 => (None, None),
            Content::Text(text) if text.has_nul() => {
                let encoded = Base64::encode(text.decode().as_bytes());
                (Some("base64"), string(Cow::Owned(encoded.as_str().to_owned())))
            }
            Content::Text(text) => (Some("utf-8"), string(Cow::Borrowed(text.escaped()))),
            Content::Base64(data) if data.is_tidy() => {
                (Some("base64"), string(Cow::Borrowed(data.as_str())))
            }
            Content::Base64(data) => {
                let encoded = Base64::encode(&data.decode());
                (Some("base64"), string(Cow::Owned(encoded.as_str().to_owned())))
            }
            Content::Blobvec(regions) => {
                let mut regions = regions.clone();
                regions.retain(|region| region.size > 0);
                regions.sort_by_key(|region| region.offset);
                if regions.windows(2).any(|pair| pair[0].end() > pair[1].offset) {
                    return reject(Code::UntidyRegions, "the regions overlap".to_owned());
                }
                if regions.is_empty() {
                    (None, None)
                } else {
                    (Some("blobvec"), Some(Data::Regions(regions)))
                }
            }
        };
        let sized =
            encoding.is_some() || data.is_none() && !matches!(entry.content, Content::Directory);
        Ok(Self { encoding, data, size: sized.then_some(len) })
    }
}
