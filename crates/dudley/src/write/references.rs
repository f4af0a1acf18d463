//! Writing references to items.

use super::writer::Writer;
use crate::error::{Error, ErrorKind};
use crate::layout::{FilterKind, ItemId};

impl Writer<'_> {
    /// Puts references to items into an array of references, in C order. `None` becomes a null reference.
    ///
    /// ```
    /// use dudley::{File, Layout, WriteOptions};
    ///
    /// let layout = Layout::parse("a = u1  g/ b = u1  / r = i4[2] <- ref")?;
    /// let dudley::layout::Found::Item(b, _) = layout.find("/g/b")? else { panic!() };
    /// let mut bytes = Vec::new();
    /// let mut writer = WriteOptions::new().write_at(&mut bytes, layout)?;
    /// writer.put_references("/r", &[Some(b), None])?;
    /// writer.finish()?;
    /// let file = File::from_bytes(bytes, None)?;
    /// assert_eq!(file.get("/r")?.read::<i32>()?, [3, 0]);
    /// assert_eq!(file.references("/r")?.get(0)?.unwrap().path(), "/g/b");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`put`](Self::put). Also fails with [`NotData`](ErrorKind::NotData) if the item at the path has
    /// no reference filter, and with [`Reference`](ErrorKind::Reference) if the filter is not registered or
    /// cannot refer to an item.
    pub fn put_references(&mut self, path: &str, items: &[Option<ItemId>]) -> Result<(), Error> {
        let row = self.table().rows()[self.destination(path)?.index];
        let filter =
            self.table().entry(row).filter().map(|filter| (filter.kind, filter.name.clone()));
        let Some((FilterKind::Reference, name)) = filter else {
            let what = "not an array of references";
            return Err(ErrorKind::NotData { path: path.to_owned(), what }.into());
        };
        let fail = |index, message: String| {
            Error::from(ErrorKind::Reference { path: path.to_owned(), index, message })
        };
        let filters = self.filters.clone();
        let known = filters.reference(&name);
        let known =
            known.ok_or_else(|| fail(0, format!("no filter named {name} is registered")))?;
        let mut numbers = Vec::with_capacity(items.len());
        for (index, &item) in items.iter().enumerate() {
            let number = known.encode(item, &self.layout);
            numbers.push(number.map_err(|error| fail(index, error.to_string()))?);
        }
        self.put(path, &numbers)
    }
}
