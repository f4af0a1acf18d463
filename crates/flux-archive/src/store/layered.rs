//! Combining several stores into one.

use super::{BlobStore, StoreError};
use crate::model::BlobRef;

/// A list of stores that are searched in turn. A blob is read from the first store that returns it.
///
/// If a store fails, the search continues with the next one. If no store returns the blob, the first error other than
/// [`StoreError::NotFound`] is returned. If there is no such error, the blob is not found.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::{BlobStore, BlobStoreMut, Layered, MemoryStore};
///
/// let (near, far) = (MemoryStore::new(), MemoryStore::new());
/// let blobref = far.put(HashType::Sha1, b"abc")?;
/// let both = Layered::new().with(&near).with(&far);
/// assert!(both.contains(&blobref)?);
/// # Ok::<(), flux_archive::store::StoreError>(())
/// ```
#[derive(Default)]
pub struct Layered<'s> {
    layers: Vec<Box<dyn BlobStore + 's>>,
}

impl<'s> Layered<'s> {
    /// Creates an empty list of stores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `ask` with each store until a call succeeds. If none succeeds, returns the first error other than
    /// `NotFound`, or `NotFound` if there is no such error.
    fn first(
        &self,
        mut ask: impl FnMut(&(dyn BlobStore + 's)) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut failure = StoreError::NotFound;
        for layer in &self.layers {
            match ask(&**layer) {
                Ok(()) => return Ok(()),
                Err(StoreError::NotFound) => {}
                Err(error) if matches!(failure, StoreError::NotFound) => failure = error,
                Err(_) => {}
            }
        }
        Err(failure)
    }

    /// Adds a store to the end of the list.
    #[must_use]
    pub fn with(mut self, store: impl BlobStore + 's) -> Self {
        self.layers.push(Box::new(store));
        self
    }
}

impl std::fmt::Debug for Layered<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Layered({} stores)", self.layers.len())
    }
}

impl BlobStore for Layered<'_> {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.first(|layer| layer.get(blobref, out))
    }

    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.first(|layer| layer.get_sized(blobref, size, out))
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        let mut failure = None;
        for layer in &self.layers {
            match layer.contains(blobref) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(false), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlobStoreMut, MemoryStore, suite};
    use super::*;
    use crate::model::HashType;

    /// A store that always fails.
    struct Broken;

    impl BlobStore for Broken {
        fn get(&self, _: &BlobRef, _: &mut Vec<u8>) -> Result<(), StoreError> {
            Err(StoreError::Corrupt("broken".into()))
        }

        fn contains(&self, _: &BlobRef) -> Result<bool, StoreError> {
            Err(StoreError::Corrupt("broken".into()))
        }
    }

    #[test]
    fn layered_stores_pass_the_store_suite() {
        let layers = [MemoryStore::new(), MemoryStore::new()];
        let blobs = suite::blobs();
        let put = |(index, blob): (usize, &Vec<u8>)| layers[index % 2].put(HashType::Sha1, blob);
        let names: Vec<_> = blobs.iter().enumerate().map(put).map(Result::unwrap).collect();
        let [one, two] = &layers;
        suite::check_reading(&Layered::new().with(one).with(two), &names);
    }

    #[test]
    fn blobs_are_found_even_if_an_earlier_store_fails() {
        let store = MemoryStore::new();
        let there = store.put(HashType::Sha1, b"abc").unwrap();
        let layered = Layered::new().with(Broken).with(&store);
        let mut blob = Vec::new();
        layered.get(&there, &mut blob).unwrap();
        assert!(layered.contains(&there).unwrap());

        let absent = BlobRef::of(HashType::Sha1, b"absent");
        assert!(matches!(layered.get(&absent, &mut blob), Err(StoreError::Corrupt(_))));
        assert!(layered.contains(&absent).is_err());
    }
}
