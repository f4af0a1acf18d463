//! The filter `ref`, which stores a reference as the number of an item.
//!
//! | number | meaning |
//! |---|---|
//! | 0, -1 | null reference |
//! | 1, 2, 3 .. | the first, second, third .. declared item; data, dicts, lists and list elements count as items |
//!
//! References therefore do not depend on addresses, and can refer to dicts, lists and empty arrays.

use super::registry::{FilterError, Reference};
use crate::layout::{ItemId, Layout};

/// The filter `ref`, which maps item numbers to items.
pub(super) struct ItemNumbers;

impl Reference for ItemNumbers {
    fn name(&self) -> &'static str {
        "ref"
    }

    fn resolve(&self, number: i64, layout: &Layout) -> Result<Option<ItemId>, FilterError> {
        if matches!(number, 0 | -1) {
            return Ok(None);
        }
        let found = usize::try_from(number).ok().and_then(|number| layout.item_id(number));
        found.map(Some).ok_or_else(|| {
            let last = layout.item_count().saturating_sub(1);
            FilterError::new(format!("{number} is not a valid item number: expected -1 to {last}"))
        })
    }

    fn encode(&self, item: Option<ItemId>, layout: &Layout) -> Result<i64, FilterError> {
        let number = item.map_or(0, ItemId::index);
        match i64::try_from(number) {
            Ok(number @ 1..) if layout.item_id(item.map_or(0, ItemId::index)).is_some() => {
                Ok(number)
            }
            Ok(0) if item.is_none() => Ok(0),
            _ => Err(FilterError::new("the root has no number")),
        }
    }
}
