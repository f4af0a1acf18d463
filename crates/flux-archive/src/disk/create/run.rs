//! The files of a walk, prepared some at a time and written in order.

use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

use super::content::{self, Prepared};
use super::options::{Creator, Times};
use super::report::CreateReport;
use super::walk::{Item, Walker};
use crate::error::Result;
use crate::json::Text;
use crate::model::{Content, Entry};
use crate::parallel::try_map;
use crate::write::Writer;

/// Files that are prepared at a time, and their size together.
const WINDOW: usize = 128;
const WINDOW_BYTES: u64 = 8 << 20;

impl Creator<'_> {
    /// Writes files, and directories with their content.
    ///
    /// Files that cannot be read are in the report, and the rest is written. An error means that the archive
    /// could not be written.
    pub fn write<W: Write>(
        &self,
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
        writer: &mut Writer<W>,
    ) -> Result<CreateReport> {
        let mut report = CreateReport::default();
        for path in paths {
            let mut walker = Walker::new(self, path.as_ref(), &mut report);
            loop {
                let (mut window, mut bytes) = (Vec::new(), 0);
                while window.len() < WINDOW && bytes < WINDOW_BYTES {
                    let Some(item) = walker.next_item(&mut report) else { break };
                    bytes += item.found.size().min(content::IN_MEMORY);
                    window.push(item);
                }
                if window.is_empty() {
                    break;
                }
                let Ok(prepared) = try_map(
                    &window,
                    || (),
                    |(), item| Ok::<_, Infallible>(content::prepare(self, item)),
                );
                for (item, prepared) in window.iter().zip(prepared) {
                    self.write_item(item, prepared, writer, &mut report)?;
                }
            }
        }
        Ok(report)
    }

    fn write_item<W: Write>(
        &self,
        item: &Item,
        prepared: Result<Prepared>,
        writer: &mut Writer<W>,
        report: &mut CreateReport,
    ) -> Result<()> {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                report.fail(item.path.as_str(), error);
                return Ok(());
            }
        };
        let mut changed = prepared.changed;
        let size = prepared.size;
        match prepared.body {
            content::Body::Content(content) => writer.entry(&self.entry(item, content, size))?,
            content::Body::Text(text) => {
                writer.entry(&self.entry(item, Content::Text(Text::new(&text)), None))?;
            }
            content::Body::Stream(file, encoding, len) => {
                let entry = self.entry(item, Content::Empty, None);
                let mut body = writer.body(&entry, encoding)?;
                changed |= content::stream(&file, encoding, len, |piece| {
                    self.count(piece.len() as u64);
                    Ok(body.write_all(piece)?)
                })?;
                body.finish()?;
                changed |= content::has_changed(&file, item)?;
            }
        }
        report.entries += 1;
        if changed {
            report.changed.push(item.path.as_str().to_owned());
        }
        Ok(())
    }

    fn entry<'c>(&self, item: &Item, content: Content<'c>, size: Option<u64>) -> Entry<'c> {
        let mut entry = Entry::new(item.path.clone(), item.found.permissions(), content);
        if let Some(size) = size {
            entry = entry.with_size(size);
        }
        match self.times {
            Times::Keep => entry.with_mtime(item.found.mtime()).with_ctime(item.found.ctime()),
            Times::Fixed(mtime) => entry.with_mtime(mtime),
            Times::Omit => entry,
        }
    }
}
