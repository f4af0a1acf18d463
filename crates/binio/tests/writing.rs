//! If a fault occurs while a file is being replaced, the file has its old or its new content, but
//! never only part of the new content.

use std::fs;
use std::io::{Seek, Write};

use binio::write::fault::{Fault, FaultyWriter};
use binio::write::{AtomicFile, PatchWriter};
use binio::{Endian, ErrorKind, Result};

const OLD: &[u8] = b"the old file";
const NEW: &[u8] = b"BLK1\x00\x07payload\0\0\0";

/// Writes a file as a format crate would: magic number, payload length, payload, padding.
fn write_block<W: Write + Seek>(inner: W) -> Result<W> {
    let mut writer = PatchWriter::new(inner)?;
    writer.write_all(b"BLK1")?;
    let size = writer.reserve::<u16>(Endian::Big)?;
    let start = writer.position();
    writer.write_all(b"payload")?;
    let len = u16::try_from(writer.position() - start).unwrap_or(u16::MAX);
    writer.fill(size, len)?;
    writer.pad_to(8)?;
    writer.finish()
}

fn replace(goal: &std::path::Path, fault: Fault) -> Result<u64> {
    let writer = write_block(FaultyWriter::new(AtomicFile::create(goal)?, fault))?;
    let operations = writer.operations();
    writer.into_inner().commit()?;
    Ok(operations)
}

#[test]
fn the_old_file_survives_a_failure_at_any_operation() {
    let folder = tempfile::tempdir().unwrap();
    let goal = folder.path().join("goal");
    fs::write(&goal, OLD).unwrap();

    let mut operation = 0;
    let operations = loop {
        match replace(&goal, Fault::FailAtOperation(operation)) {
            Ok(operations) => break operations,
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}"),
        }
        assert_eq!(fs::read(&goal).unwrap(), OLD, "operation {operation}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        operation += 1;
    };
    assert_eq!(operation, operations, "every operation must fail once");
    assert_eq!(fs::read(&goal).unwrap(), NEW);
}

#[test]
fn the_old_file_survives_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let goal = folder.path().join("goal");
    fs::write(&goal, OLD).unwrap();
    // The two bytes of the length are written twice: first as zeros, then with their value.
    let written = NEW.len() as u64 + 2;
    for byte in 0..written {
        assert!(replace(&goal, Fault::FailAtByte(byte)).is_err(), "byte {byte}");
        assert_eq!(fs::read(&goal).unwrap(), OLD);
    }
    replace(&goal, Fault::FailAtByte(written)).unwrap();
    assert_eq!(fs::read(&goal).unwrap(), NEW);
}
