//! Checking that a file matches its summary before its data is read.
//!
//! | part of the file | requirement |
//! |---|---|
//! | signature | present if and only if the summaries have a signature; same byte order, unless the layout states one |
//! | length | the file does not end before its data; in a native file without a layout, at most 7 bytes follow the data |
//! | appended layout | does not contradict the layout of the family; unused bytes may precede it |

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use binio::ReadAt;

use super::super::appended::appended_text;
use super::template::Template;
use crate::error::{Error, ErrorKind};
use crate::layout::{Layout, Order};
use crate::place::{TAIL_ALIGN, contradiction};
use crate::signature::Signature;

/// The properties that all files of a family with summaries must share, and the end of the data in each file.
pub(super) struct Identity {
    layout: Arc<Layout>,
    is_native: bool,
    order: Order,
    /// The offset of the end of the data in each file.
    ends: Vec<u64>,
    /// The last appended layout that did not contradict the layout of the family.
    accepted: Mutex<Arc<[u8]>>,
}

impl Identity {
    pub(super) fn new(template: &Template, ends: Vec<u64>) -> Self {
        let layout = Arc::clone(template.layout());
        let accepted = Mutex::new(layout.source().text().as_bytes().into());
        let order = layout.order().or(template.stated_order()).unwrap_or_else(Order::native);
        Self { layout, is_native: template.is_native(), order, ends, accepted }
    }

    /// Checks that a file matches its summary.
    pub(super) fn check(
        &self,
        number: usize,
        file: &Path,
        source: &dyn ReadAt,
    ) -> Result<(), Error> {
        let mismatch = |message: String| {
            let path = file.display().to_string();
            Err(ErrorKind::Mismatch { path, message }.into())
        };
        let Some(signature) = Signature::of(source)? else {
            return match (self.is_native, self.ends[number]) {
                (true, _) => mismatch("expected a native file, but it has no signature".to_owned()),
                (false, end) if source.len() < end => {
                    let len = source.len();
                    mismatch(format!(
                        "the file ends at byte {len}, but the summary says that its data ends at byte {end}"
                    ))
                }
                (false, _) => Ok(()),
            };
        };
        if !self.is_native {
            return mismatch("expected a file without a signature, but it is native".to_owned());
        }
        if self.layout.order().is_none() && signature.order != self.order {
            let (expected, found) = (self.order, signature.order);
            return mismatch(format!("expected the byte order `{expected}`, found `{found}`"));
        }
        let (expected, found) = (self.ends[number], signature.data_end(source));
        let has_layout = signature.layout_address > 0;
        if found < expected || !has_layout && found - expected >= TAIL_ALIGN {
            return mismatch(format!(
                "the data ends at byte {found}, but the summary says byte {expected}"
            ));
        }
        if has_layout { self.check_layout(file, source, signature) } else { Ok(()) }
    }

    fn check_layout(
        &self,
        file: &Path,
        source: &dyn ReadAt,
        signature: Signature,
    ) -> Result<(), Error> {
        let text = appended_text(source, signature)?;
        let accepted = || self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if **accepted() == *text {
            return Ok(());
        }
        let own = Layout::parse(&text)?;
        if let Some(change) = contradiction(&own, &self.layout, signature.order)? {
            let path = file.display().to_string();
            let message = format!("its own layout contradicts the layout of the family: {change}");
            return Err(ErrorKind::Mismatch { path, message }.into());
        }
        *accepted() = text.into();
        Ok(())
    }
}
