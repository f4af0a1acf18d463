use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use binio::write::MemoryStorage;
use binio::write::fault::{Fault, FaultyWriter};
use binio::write::journal::{self, undo};
use serde_json::json;

use super::*;
use crate::diagnostic::Code;
use crate::format::{MetadataOptions, Version};
use crate::{
    Checksum, ErrorKind, Result, StreamWriter, Strictness, WriteOptions, pack_to_vec, verify,
};

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * n / 7).to_le_bytes()[0]).collect()
}

fn packing() -> WriteOptions {
    WriteOptions::new().chunk_size(ChunkSize::Bytes(1000)).threads(1)
}

fn both() -> [AppendOptions; 2] {
    [AppendOptions::new().threads(2), AppendOptions::new().in_place(true).threads(1)]
}

/// A temporary folder with a file to append to.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn with(file: &[u8]) -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(folder.path(), file).unwrap();
        folder
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("file.blp")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    /// Opens the file, which must be the only one in the folder and have no diagnostics worse than
    /// notes.
    fn reader(&self) -> Reader {
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 1);
        let reader = Reader::from_bytes(self.bytes()).unwrap();
        let report = verify(&reader, &crate::VerifyOptions::new()).unwrap();
        assert!(report.passed(), "{report:?}");
        reader
    }

    fn append(&self, data: &[u8], options: &AppendOptions) -> Result<Appended> {
        append(self.path(), &data.to_vec(), options, None)
    }
}

#[test]
fn appending_produces_the_same_chunks_as_packing_all_data_together() {
    let data = data(7_321);
    for first in [0, 37, 999, 1000, 1001, 3000, 3500] {
        for options in both() {
            let options = options.chunk_size(ChunkSize::Bytes(1000));
            for packing in [
                packing(),
                packing().offsets(false),
                packing().checksum(Checksum::Sha256).metadata(&json!({"unit": "K"})),
            ] {
                // If the file has a single small chunk, all new chunks have its size.
                let size = if first == 0 { 1000 } else { first.min(1000) };
                let whole =
                    packing.clone().chunk_size(ChunkSize::Bytes(u32::try_from(size).unwrap()));
                let whole = Reader::from_bytes(pack_to_vec(&data, &whole).unwrap()).unwrap();
                let folder = Folder::with(&pack_to_vec(&data[..first], &packing).unwrap());
                let before = folder.reader().header().clone();
                let options = options.grow(true);
                folder.append(&data[first..], &options).unwrap();
                let reader = folder.reader();
                assert_eq!(reader.read_all().unwrap(), data);
                let header = reader.header();
                assert_eq!(header.nchunks, whole.header().nchunks);
                assert_eq!(header.chunk_size, whole.header().chunk_size);
                assert_eq!(header.last_chunk, whole.header().last_chunk);
                if before.offsets_len() >= header.nchunks.unwrap() {
                    assert_eq!(header.offsets_len(), before.offsets_len());
                }
                // The stored bytes of all chunks must equal those of `whole`.
                let stored = |reader: &Reader| -> Vec<_> {
                    (0..reader.chunks().len()).map(|n| reader.chunk_bytes(n).unwrap()).collect()
                };
                assert_eq!(stored(&reader), stored(&whole), "{first} bytes, then the rest");
            }
        }
    }
}

#[test]
fn appending_reports_the_number_of_chunks_the_length_and_the_settings() {
    let packing = packing().compressor(Compressor::Zlib).shuffle(Shuffle::Bit).typesize(4);
    for options in both() {
        let folder = Folder::with(&pack_to_vec(&data(2500), &packing).unwrap());
        let appended = folder.append(&data(1500), &options.level(3)).unwrap();
        assert_eq!((appended.nchunks, appended.new_chunks, appended.len), (4, 1, 4000));
        assert_eq!((appended.compressor, appended.shuffle), (Compressor::Zlib, Shuffle::Bit));
        assert_eq!((appended.typesize, appended.level), (4, 3));
        assert_eq!(appended.in_place, options.in_place);
        assert!(!appended.rolled_back);
        let reader = folder.reader();
        assert_eq!(reader.chunk_header(3).unwrap().typesize(), 4);
        assert_eq!(reader.header().max_app_chunks, 29);
    }
}

#[test]
fn options_override_the_settings_of_the_last_chunk() {
    let folder = Folder::with(&pack_to_vec(&data(1500), &packing()).unwrap());
    let options = AppendOptions::new().compressor(Compressor::Zstd).shuffle(Shuffle::None);
    let appended = folder.append(&data(1), &options.typesize(1)).unwrap();
    assert_eq!((appended.compressor, appended.typesize), (Compressor::Zstd, 1));
    let reader = folder.reader();
    assert_eq!(reader.chunk_header(1).unwrap().codec(), Compressor::Zstd.codec());
    assert_eq!((reader.header().typesize, reader.chunk_header(0).unwrap().typesize()), (8, 8));
}

#[test]
fn appending_no_bytes_leaves_the_file_unchanged() {
    for options in both() {
        for len in [0, 1000, 1500] {
            let file = pack_to_vec(&data(len), &packing()).unwrap();
            let folder = Folder::with(&file);
            let appended = folder.append(&[], &options).unwrap();
            assert_eq!((appended.new_chunks, appended.len), (0, len as u64));
            assert_eq!(folder.bytes(), file);
        }
    }
}

#[test]
fn appending_removes_a_stale_tail() {
    for options in both() {
        let mut file = pack_to_vec(&data(1500), &packing()).unwrap();
        file.extend([7; 5000]);
        let folder = Folder::with(&file);
        folder.append(&data(10), &options).unwrap();
        assert!(folder.reader().diagnostics().is_empty());
    }
}

#[test]
fn a_full_offset_table_is_an_error_unless_it_may_grow() {
    for options in both() {
        let file = pack_to_vec(&data(1500), &packing().max_app_chunks(2)).unwrap();
        let folder = Folder::with(&file);
        let error = folder.append(&data(2501), &options).unwrap_err();
        assert_eq!(error.to_string(), "chunks to append: 3 needed, but there is only space for 2");
        assert_eq!(folder.bytes(), file);
        folder.append(&data(2500), &options).unwrap();
        assert_eq!(folder.reader().header().max_app_chunks, 0);
        let appended = folder.append(&data(1), &options.grow(true)).unwrap();
        assert!(!appended.in_place, "all chunks have to move");
        let header = folder.reader().header().clone();
        assert_eq!((header.nchunks, header.max_app_chunks), (Some(5), 50));
    }
}

#[test]
fn a_version_2_file_has_no_spare_offsets_so_its_table_must_grow_for_each_new_chunk() {
    for options in both() {
        let file = pack_to_vec(&data(1500), &packing().version(Version::V2)).unwrap();
        let folder = Folder::with(&file);
        folder.append(&data(500), &options).unwrap();
        assert!(folder.append(&data(1), &options).is_err());
        folder.append(&data(1), &options.grow(true)).unwrap();
        let header = folder.reader().header().clone();
        assert_eq!((header.version, header.nchunks), (Version::V2, Some(3)));
        assert_eq!((header.last_chunk, header.max_app_chunks), (Some(1), 0));
    }
}

#[test]
fn appending_to_a_version_1_file_is_rejected() {
    let mut file = b"blpk\x01\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    file.extend(crate::format::test_file::buffer(&[1; 100]));
    let error = Folder::with(&file).append(b"more", &AppendOptions::new()).unwrap_err();
    assert_eq!(error.to_string(), "appending is not supported in version 1");
}

#[test]
fn appending_to_a_file_with_an_unknown_number_of_chunks_requires_scan() {
    for options in both() {
        let mut writer = StreamWriter::new(Vec::new(), &packing()).unwrap();
        std::io::Write::write_all(&mut writer, &data(2500)).unwrap();
        let folder = Folder::with(&writer.finish().unwrap());
        let error = folder.append(&data(2501)[2500..], &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidOption { option: "scan", .. }), "{error}");
        folder.append(&data(4200)[2500..], &options.scan(true)).unwrap();
        let header = folder.reader().header().clone();
        assert_eq!((header.nchunks, header.last_chunk), (Some(5), Some(200)));
        assert_eq!(folder.reader().read_all().unwrap(), data(4200));
    }
}

#[test]
fn a_damaged_file_is_rejected_and_left_unchanged() {
    let whole = pack_to_vec(&data(2500), &packing()).unwrap();
    let last_digest = whole.len() - 1;
    let table = 32 + 8;
    for (place, name) in [(last_digest, "chunk 2: "), (table, "offset")] {
        let mut file = whole.clone();
        file[place] ^= 1;
        for options in both() {
            let folder = Folder::with(&file);
            let error = folder.append(b"more", &options).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            assert_eq!(folder.bytes(), file);
        }
    }
}

#[test]
fn appending_to_chunks_of_different_sizes_is_rejected() {
    let mut file = crate::format::test_file::TestFile::of(&[&[1; 100], &[2; 90], &[3; 40]]);
    file.chunk_size = 100;
    let error = Folder::with(&file.bytes()).append(b"more", &AppendOptions::new());
    assert!(error.unwrap_err().to_string().contains("chunk 1 has 90"));
}

#[test]
fn appending_fills_in_unset_offsets() {
    for options in both() {
        let mut file = crate::format::test_file::TestFile::of(&[&[1; 100], &[3; 40]]);
        file.offsets = Some(vec![-1; 5]);
        file.max_app_chunks = 3;
        file.set_offsets();
        file.offsets = Some(vec![-1; 5]);
        let folder = Folder::with(&file.bytes());
        folder.append(&[5; 100], &options).unwrap();
        assert!(folder.reader().diagnostics().is_empty());
    }
}

fn array(shape: &[u64], order: &str, room: Option<u32>) -> Vec<u8> {
    let metadata = json!({"dtype": "'<i4'", "shape": shape, "order": order, "container": "numpy"});
    let metadata_options = MetadataOptions { max_size: room, ..MetadataOptions::default() };
    let packing = packing().metadata(&metadata).metadata_options(metadata_options);
    let len = 4 * shape.iter().product::<u64>();
    pack_to_vec(&data(usize::try_from(len).unwrap()), &packing).unwrap()
}

#[test]
fn appending_rows_to_an_array_is_rejected_unless_axis0_is_set() {
    for options in both() {
        let folder = Folder::with(&array(&[200, 3], "C", None));
        let error = folder.append(&[0; 12], &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidOption { option: "axis0", .. }));
        let options = options.axis0(true);
        let error = folder.append(&[0; 13], &options).unwrap_err();
        assert_eq!(error.to_string(), "shape: expected whole rows of 12 bytes, found 13 bytes");
        let appended = folder.append(&[0; 1200], &options).unwrap();
        assert_eq!(appended.in_place, options.in_place);
        let reader = folder.reader();
        let metadata = reader.metadata().unwrap().unwrap().json().unwrap();
        assert_eq!(
            metadata.to_string(),
            r#"{"dtype":"'<i4'","shape":[300,3],"order":"C","container":"numpy"}"#
        );
    }
}

#[test]
fn appending_to_an_array_is_rejected_unless_its_rows_are_contiguous_and_nonempty() {
    let options = AppendOptions::new().axis0(true);
    for (shape, order) in [(&[10, 10][..], "F"), (&[], "C"), (&[5, 0], "C")] {
        let error =
            Folder::with(&array(shape, order, None)).append(&[0; 40], &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ShapeMismatch(_)), "{error}");
    }
    for (shape, order) in [(&[10][..], "F"), (&[0, 10], "C")] {
        Folder::with(&array(shape, order, None)).append(&[0; 40], &options).unwrap();
    }
}

#[test]
fn a_shape_too_long_for_the_metadata_section_is_rejected_unless_the_section_may_grow() {
    for options in both() {
        let text = r#"{"dtype":"'<i4'","shape":[9],"order":"C","container":"numpy"}"#;
        let folder = Folder::with(&array(&[9], "C", Some(u32::try_from(text.len()).unwrap())));
        let options = options.axis0(true);
        let before = folder.bytes();
        let error = folder.append(&[0; 40], &options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }), "{error}");
        assert_eq!(folder.bytes(), before);
        let appended = folder.append(&[0; 40], &options.grow(true)).unwrap();
        assert!(!appended.in_place);
        let shape = folder.reader().metadata().unwrap().unwrap().json().unwrap()["shape"].clone();
        assert_eq!(shape, json!([19]));
    }
}

/// Appends data and replaces the metadata.
fn append_with(
    folder: &Folder,
    bytes: &[u8],
    options: &AppendOptions,
    metadata: &serde_json::Value,
) -> Result<Appended> {
    let appender = Appender::open(folder.path(), options)?.metadata(metadata);
    appender.append(&bytes.to_vec(), None)
}

#[test]
fn new_metadata_is_written_in_the_same_change_as_the_data() {
    for options in both() {
        let packing = packing().metadata(&json!({"v": 1}));
        let folder = Folder::with(&pack_to_vec(&data(2500), &packing).unwrap());
        let appended = append_with(&folder, &data(1000), &options, &json!({"v": 2})).unwrap();
        assert_eq!(appended.in_place, options.in_place);
        let reader = folder.reader();
        assert_eq!(reader.metadata().unwrap().unwrap().json().unwrap(), json!({"v": 2}));
        assert_eq!(reader.len(), 3500);
        assert!(reader.diagnostics().is_empty());
        // Metadata without data is always written in place if it fits.
        let appended = append_with(&folder, &[], &options, &json!({"v": 3})).unwrap();
        assert!(appended.in_place);
        let reader = folder.reader();
        assert_eq!(reader.metadata().unwrap().unwrap().json().unwrap(), json!({"v": 3}));
        assert_eq!(reader.len(), 3500);
    }
}

#[test]
fn new_metadata_too_long_for_its_section_is_rejected_unless_the_section_may_grow() {
    let long = json!("x".repeat(100));
    for options in both() {
        for packing in [packing(), packing().metadata(&json!(1))] {
            let folder = Folder::with(&pack_to_vec(&data(2500), &packing).unwrap());
            let before = folder.bytes();
            for bytes in [&[][..], &[0; 10]] {
                let error = append_with(&folder, bytes, &options, &long).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }), "{error}");
                assert_eq!(folder.bytes(), before);
            }
            let options = options.grow(true);
            assert!(!append_with(&folder, &[], &options, &long).unwrap().in_place);
            append_with(&folder, &[0; 10], &options, &long).unwrap();
            let reader = folder.reader();
            assert_eq!(reader.metadata().unwrap().unwrap().json().unwrap(), long);
            assert_eq!((reader.len(), reader.diagnostics()), (2510, &[][..]));
        }
        let packing = packing().version(Version::V2);
        let folder = Folder::with(&pack_to_vec(&data(2500), &packing).unwrap());
        for bytes in [&[][..], &[0; 10]] {
            let error = append_with(&folder, bytes, &options, &long).unwrap_err();
            assert_eq!(error.to_string(), "metadata is not supported in version 2");
        }
    }
}

#[test]
fn new_metadata_that_does_not_match_the_array_after_appending_is_rejected() {
    let of = |rows: u64| json!({"dtype": "'<i4'", "shape": [rows, 3], "order": "C", "container": "numpy"});
    for options in both() {
        let folder = Folder::with(&array(&[200, 3], "C", None));
        let error = append_with(&folder, &[0; 12], &options, &of(200)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ShapeMismatch(_)), "{error}");
        let error = append_with(&folder, &[], &options, &of(201)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ShapeMismatch(_)), "{error}");
        let axis0 = options.axis0(true);
        assert!(append_with(&folder, &[0; 12], &axis0, &of(201)).is_err());
        assert!(append_with(&folder, &[], &axis0, &of(200)).is_err());
        append_with(&folder, &[], &options, &of(200)).unwrap();
        append_with(&folder, &[0; 12], &options, &of(201)).unwrap();
        assert_eq!(folder.reader().array().unwrap().shape(), [201, 3]);
    }
}

/// Returns files, each with a number of bytes to append. Together, these appends change every part
/// of a file.
fn cases() -> Vec<(Vec<u8>, usize)> {
    let mut with_tail = pack_to_vec(&data(2100), &packing()).unwrap();
    with_tail.extend([7; 2000]);
    let mut unset = pack_to_vec(&data(1500), &packing()).unwrap();
    unset[32..48].fill(0xff);
    vec![
        (pack_to_vec(&data(2500), &packing()).unwrap(), 1700),
        (pack_to_vec(&data(2500), &packing()).unwrap(), 1),
        (pack_to_vec(&data(500), &packing()).unwrap(), 700),
        (pack_to_vec(&data(2000), &packing()).unwrap(), 3),
        (pack_to_vec(&data(2100), &packing().offsets(false)).unwrap(), 2000),
        (pack_to_vec(&[], &packing()).unwrap(), 1200),
        (array(&[300], "C", None), 400),
        (with_tail, 10),
        (unset, 10),
    ]
}

fn in_place() -> AppendOptions {
    AppendOptions::new().in_place(true).axis0(true).chunk_size(ChunkSize::Bytes(1000)).threads(1)
}

fn append_on(tape: &mut MemoryStorage, len: usize) -> Result<()> {
    let reader = Reader::from_bytes(tape.file_bytes().to_vec())?;
    let plan = Plan::new(&reader, len as u64, &in_place(), None)?;
    let recipe = plan::recipe(&reader, &in_place())?;
    let source = data(len);
    Job { reader: &reader, plan: &plan, recipe, threads: 1, source: &source, progress: None }
        .run_in_place(tape)
}

#[test]
fn a_power_failure_during_an_in_place_append_leaves_the_old_or_the_new_file() {
    for (old, len) in cases() {
        let mut tape = MemoryStorage::new(&old);
        append_on(&mut tape, len).unwrap();
        let (new, operations) = (tape.file_bytes(), tape.operations());
        assert_eq!(tape.journal_bytes(), None);
        let (mut olds, mut news) = (0, 0);
        for count in 0..=operations.len() {
            for mut crash in tape.crashes(count) {
                undo(&mut crash).unwrap();
                assert_eq!(crash.journal_bytes(), None);
                if crash.file_bytes() == old {
                    olds += 1;
                } else {
                    assert!(
                        crash.file_bytes() == new,
                        "neither the old nor the new file after {count} of {operations:?}"
                    );
                    news += 1;
                }
            }
        }
        assert!(olds > 20 && news > 0, "{olds} old, {news} new");
    }
}

#[test]
fn a_rollback_interrupted_by_a_power_failure_succeeds_when_repeated() {
    let (old, len) = cases().remove(0);
    let mut tape = MemoryStorage::new(&old);
    append_on(&mut tape, len).unwrap();
    // Simulate a crash just before the journal is removed.
    let mut crash = tape.crashes(tape.operations().len() - 2).remove(0);
    undo(&mut crash).unwrap();
    for count in 0..=crash.operations().len() {
        for mut again in crash.crashes(count) {
            undo(&mut again).unwrap();
            assert!(again.file_bytes() == old && again.journal_bytes().is_none());
        }
    }
}

#[test]
fn a_failed_in_place_append_is_rolled_back_unless_only_the_last_operation_failed() {
    for (old, len) in cases() {
        let mut whole = MemoryStorage::new(&old);
        append_on(&mut whole, len).unwrap();
        let last = whole.operations().len() as u64 - 1;
        for operation in 0..=last {
            for stays in [false, true] {
                let once = Fault::FailOnceAtOperation(operation);
                let fault = if stays { Fault::FailAtOperation(operation) } else { once };
                let mut tape = MemoryStorage::new(&old).fault(fault);
                append_on(&mut tape, len).unwrap_err();
                if stays {
                    // Let operations succeed again, so that the journal can be undone.
                    tape.set_fault(Fault::None);
                    undo(&mut tape).unwrap();
                }
                assert_eq!(tape.journal_bytes(), None, "{operation}");
                // Only a failure of the last operation, which syncs the removal of the journal,
                // comes too late to roll back.
                let expected = if operation == last { whole.file_bytes() } else { &old };
                assert!(tape.file_bytes() == expected);
            }
        }
    }
}

#[test]
fn an_interrupted_change_is_rolled_back_when_the_file_is_opened_for_appending() {
    let (old, len) = cases().remove(0);
    let mut tape = MemoryStorage::new(&old);
    append_on(&mut tape, len).unwrap();
    let crash = tape.crashes(tape.operations().len() - 3).remove(0);
    assert!(crash.file_bytes() != old);
    for options in both() {
        let folder = Folder::with(crash.file_bytes());
        let journal = folder.folder.path().join("file.blp.undo-journal");
        fs::write(&journal, crash.journal_bytes().unwrap()).unwrap();
        assert_eq!(journal::pending(folder.path()).unwrap(), Some(journal::Pending::Changed));
        // A reader sees the old content, and has a diagnostic about the journal.
        let reader = Reader::open(folder.path()).unwrap();
        assert_eq!(reader.diagnostics().last().unwrap().code, Code::Journal);
        let whole = Reader::from_bytes(old.clone()).unwrap();
        assert!(reader.read_all().unwrap() == whole.read_all().unwrap());
        let strict = OpenOptions::new().strictness(Strictness::Strict);
        let error = strict.open(folder.path()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
        let appended = folder.append(&[], &options).unwrap();
        assert!(appended.rolled_back);
        assert!(folder.bytes() == old);
        assert_eq!(journal::pending(folder.path()).unwrap(), None);
        folder.reader();
    }
}

#[test]
fn the_journal_of_another_file_is_not_applied() {
    let (old, len) = cases().remove(0);
    let mut tape = MemoryStorage::new(&old);
    append_on(&mut tape, len).unwrap();
    let crash = tape.crashes(tape.operations().len() - 3).remove(0);
    let other = pack_to_vec(&vec![1; 2500], &packing()).unwrap();
    let folder = Folder::with(&other);
    let journal = folder.folder.path().join("file.blp.undo-journal");
    fs::write(&journal, crash.journal_bytes().unwrap()).unwrap();
    assert_eq!(journal::pending(folder.path()).unwrap(), Some(journal::Pending::Foreign));
    let error = folder.append(b"more", &AppendOptions::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ForeignJournal), "{error}");
    let error = Reader::open(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ForeignJournal), "{error}");
    assert!(matches!(binio::Error::from(error).kind(), binio::ErrorKind::ForeignJournal));
    assert!(folder.bytes() == other && journal.exists());
}

#[test]
fn a_failure_of_any_operation_while_writing_a_new_file_is_reported() {
    let (old, len) = cases().remove(0);
    let reader = Reader::from_bytes(old.clone()).unwrap();
    let plan = Plan::new(&reader, len as u64, &in_place(), None).unwrap();
    let recipe = plan::recipe(&reader, &in_place()).unwrap();
    let source = data(len);
    let job =
        Job { reader: &reader, plan: &plan, recipe, threads: 1, source: &source, progress: None };
    let write = |fault| {
        let copy = |range: std::ops::Range<u64>, sink: &mut FaultyWriter<_>| {
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
            Ok(std::io::Write::write_all(sink, &old[start..end])?)
        };
        job.write_to(FaultyWriter::new(Cursor::new(Vec::new()), fault), copy)
    };
    let whole = write(Fault::None).unwrap();
    let (operations, bytes) = (whole.operations(), whole.bytes());
    let file = whole.into_inner().into_inner();
    let all = Reader::from_bytes(file).unwrap().read_all().unwrap();
    assert_eq!(all, [data(2500), data(len)].concat());
    // Because every failure is reported, an incomplete file is never renamed, and the old file is
    // kept.
    for operation in 0..operations {
        assert!(write(Fault::FailAtOperation(operation)).is_err(), "operation {operation}");
    }
    for byte in 0..bytes {
        assert!(write(Fault::FailAtByte(byte)).is_err(), "byte {byte}");
    }
}

#[cfg(unix)]
#[test]
fn a_failure_to_create_or_commit_the_new_file_is_reported_as_an_output_error() {
    let (old, len) = cases().remove(0);
    let folder = Folder::with(&old);
    let path = folder.path();
    let replace_with_directory = |_| {
        // On later calls, `path` is a directory, so `remove_file` fails.
        if fs::remove_file(&path).is_ok() {
            fs::create_dir(&path).unwrap();
        }
    };
    let source = data(len);
    let options = AppendOptions::new().threads(1);
    let error = append(&path, &source, &options, Some(&replace_with_directory)).unwrap_err();
    assert!(error.to_string().contains("commit"), "{error}");
    assert!(matches!(error.kind(), ErrorKind::Output(_)), "{error:?}");

    let reader = Reader::from_bytes(old).unwrap();
    let plan = Plan::new(&reader, len as u64, &options, None).unwrap();
    let recipe = plan::recipe(&reader, &options).unwrap();
    let job =
        Job { reader: &reader, plan: &plan, recipe, threads: 1, source: &source, progress: None };
    let error = job.run_atomically(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Output(_)), "{error:?}");
}
