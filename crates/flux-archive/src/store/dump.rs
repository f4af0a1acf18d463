//! Reading blobs from the tar file that `flux dump` writes.
//!
//! ```text
//! archive/main              the value of the key archive.main: an archive
//! archive/main_blobs/0      its blobs, with --preserve
//! archive/main_blobs/1
//! job/0000/...              other keys
//! ```
//!
//! The members are not named by blobrefs. When the file is opened, all complete members that are regular files are
//! therefore hashed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use binio::{FileSource, ReadAt};

use super::{BlobStore, StoreError};
use crate::model::{BlobRef, HashType};

/// The size of a tar block in bytes.
const BLOCK: u64 = 512;

/// The byte range of a member's data in the file.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    size: u64,
}

/// A store that reads blobs from an uncompressed tar file written by `flux dump`. If the file is truncated after the
/// header of its first member, its complete members can be read.
#[derive(Debug)]
pub struct DumpTar {
    source: FileSource,
    blobs: HashMap<BlobRef, Place>,
    keys: HashMap<Vec<u8>, Place>,
    damage: Option<String>,
}

impl DumpTar {
    /// Opens a file, and reads it once to hash its members.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Damaged`] if the header of the first member is incomplete or invalid, and with
    /// [`StoreError::Io`] if the file is not a regular file, or if it cannot be opened or its members cannot be read.
    /// If the file is damaged or truncated after this header, or if it is empty, opening it succeeds.
    /// [`damage`](Self::damage) then describes the damage, and the complete members before the damage can be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file").into());
        }
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        let (mut keys, mut places) = (HashMap::new(), Vec::new());
        // The end and the name of the last complete member.
        let (mut end, mut last, mut damage) = (0, None, None);
        for member in tar::Archive::new(&file).entries_with_seek()? {
            let member = match member {
                Ok(member) => member,
                Err(error) if end == 0 => {
                    return Err(StoreError::Damaged(format!("not a tar file: {error}")));
                }
                Err(error) => {
                    damage = Some(error.to_string());
                    break;
                }
            };
            let place = Place { offset: member.raw_file_position(), size: member.size() };
            let name = member.path_bytes().into_owned();
            let data_end = place.offset.saturating_add(place.size);
            if data_end > len {
                damage =
                    Some(format!("the data of {} is truncated", String::from_utf8_lossy(&name)));
                break;
            }
            end = data_end.next_multiple_of(BLOCK);
            last = Some(String::from_utf8_lossy(&name).into_owned());
            if member.header().entry_type() == tar::EntryType::Regular {
                keys.insert(name, place);
                places.push(place);
            }
        }
        // A complete file has blocks of zeros after the last member.
        if damage.is_none() && end.saturating_add(BLOCK) > len {
            damage = Some(format!("the file ends at byte {len} without an end marker"));
        }
        let damage = damage.map(|damage| match last {
            Some(last) => format!("{damage}; everything after {last} is missing"),
            None => format!("{damage}; everything is missing"),
        });
        let mut blobs = HashMap::new();
        for place in places {
            let names = name(&mut file, place)?;
            blobs.extend(names.map(|blobref| (blobref, place)));
        }
        let source = FileSource::open(path).map_err(io::Error::other)?;
        Ok(Self { source, blobs, keys, damage })
    }

    /// Describes the damage and the missing members of a truncated or damaged file. Returns `None`
    /// for an intact file.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Reads the value of a key. The value of the key `archive.main`, for example, is the content of
    /// the member `archive/main`.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if there is no such member or it is not a regular file, with
    /// [`StoreError::TooBig`] if it exceeds [`MAX_BLOB_SIZE`](super::MAX_BLOB_SIZE), and with [`StoreError::Io`] if it
    /// cannot be read.
    pub fn value(&self, key: &str) -> Result<Vec<u8>, StoreError> {
        let member = key.replace('.', "/").into_bytes();
        let mut value = Vec::new();
        self.read(self.keys.get(&member), &mut value)?;
        Ok(value)
    }

    /// Returns the names of all complete members that are regular files, such as `archive/main`, in
    /// no particular order. Names that are not UTF-8 are omitted.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().filter_map(|name| std::str::from_utf8(name).ok())
    }

    fn read(&self, place: Option<&Place>, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let place = place.ok_or(StoreError::NotFound)?;
        StoreError::check_size(place.size)?;
        let len =
            usize::try_from(place.size).map_err(|_| StoreError::TooBig { size: place.size })?;
        out.clear();
        StoreError::reserve(out, place.size)?;
        out.resize(len, 0);
        self.source.read_exact_at(out, place.offset).map_err(io::Error::other)?;
        Ok(())
    }
}

/// Returns the blobrefs of a member, one for each hash function.
fn name(file: &mut File, place: Place) -> io::Result<[BlobRef; 2]> {
    file.seek(SeekFrom::Start(place.offset))?;
    let mut hashers = HashType::ALL.map(|hash| hash.algorithm().hasher());
    let mut rest = place.size;
    let mut buffer = vec![0; 64 << 10];
    while rest > 0 {
        let step = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        file.read_exact(&mut buffer[..step])?;
        for hasher in &mut hashers {
            hasher.update(&buffer[..step]);
        }
        rest -= step as u64;
    }
    let [sha1, sha256] = hashers.map(binio::checksum::Hasher::finish);
    let [first, second] = HashType::ALL;
    Ok([BlobRef::from_computed(first, &sha1), BlobRef::from_computed(second, &sha256)])
}

impl BlobStore for DumpTar {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.read(self.blobs.get(blobref), out)
    }

    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let place = self.blobs.get(blobref);
        place.map_or(Ok(()), |place| StoreError::check_length(size, place.size))?;
        self.read(place, out)
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        Ok(self.blobs.contains_key(blobref))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite;

    fn dump(path: &Path, members: &[(&str, &[u8])]) {
        let mut builder = tar::Builder::new(File::create(path).unwrap());
        for (name, bytes) in members {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len());
            header.set_mode(0o644);
            builder.append_data(&mut header, name, *bytes).unwrap();
        }
        builder.finish().unwrap();
    }

    #[test]
    fn members_of_a_dump_are_found_by_sha1_and_by_sha256() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dump.tar");
        let blobs = suite::blobs();
        let names: Vec<_> = (0..blobs.len()).map(|n| format!("archive/main_blobs/{n}")).collect();
        let members: Vec<_> =
            names.iter().zip(&blobs).map(|(name, blob)| (name.as_str(), blob.as_slice())).collect();
        dump(&path, &members);
        let store = DumpTar::open(&path).unwrap();
        for hash in HashType::ALL {
            let names: Vec<_> = blobs.iter().map(|blob| BlobRef::of(hash, blob)).collect();
            suite::check_reading(&store, &names);
        }
    }

    #[test]
    fn the_values_of_keys_are_read_from_the_members_of_a_dump() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dump.tar");
        dump(&path, &[("archive/main", b"[]")]);
        let store = DumpTar::open(&path).unwrap();
        assert_eq!(store.value("archive.main").unwrap(), b"[]");
        assert!(matches!(store.value("archive.other"), Err(StoreError::NotFound)));
    }

    #[test]
    fn complete_members_of_a_truncated_dump_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dump.tar");
        dump(&path, &[("archive/a", &[7; 300]), ("archive/main", &[7; 5000]), ("archive/z", b"")]);
        assert_eq!(DumpTar::open(&path).unwrap().damage(), None);
        let whole = std::fs::read(&path).unwrap();
        // Truncate the file within data, within a header, before a header, and before the final
        // blocks of zeros.
        for (len, keys, damage) in [
            (
                2000,
                1,
                "the data of archive/main is truncated; everything after archive/a is missing",
            ),
            (1100, 1, "failed to read entire block; everything after archive/a is missing"),
            (
                1024,
                1,
                "the file ends at byte 1024 without an end marker; everything after archive/a is missing",
            ),
            (
                7168,
                3,
                "the file ends at byte 7168 without an end marker; everything after archive/z is missing",
            ),
        ] {
            std::fs::write(&path, &whole[..len]).unwrap();
            let store = DumpTar::open(&path).unwrap();
            assert_eq!((store.members().count(), store.damage()), (keys, Some(damage)));
            assert_eq!(store.value("archive.a").unwrap(), [7; 300]);
        }
        std::fs::write(&path, &whole[..300]).unwrap();
        assert!(matches!(DumpTar::open(&path), Err(StoreError::Damaged(_))));
    }
}
