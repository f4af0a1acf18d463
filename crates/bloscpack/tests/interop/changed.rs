//! Writing files that are changed after packing, or whose data arrives piece by piece.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use bloscpack::array::{ArrayInfo, Datatype, Order, pack_array};
use bloscpack::change::{
    AppendOptions, MetadataEdit, RewriteOptions, append, rewrite_file, set_metadata,
};
use bloscpack::format::Version;
use bloscpack::repair::{RecoverOptions, recover};
use bloscpack::{
    Checksum, ChunkSize, OpenOptions, Reader, WriteOptions, Writer, pack_reader, pack_to_vec,
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::Folder;
use super::data::Random;

const ROUNDS: u32 = 12;

/// The data, metadata and options of a file with several chunks.
struct Case {
    plain: Vec<u8>,
    chunk_size: u32,
    options: WriteOptions,
    metadata: Option<Value>,
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let chunk_size = random.pick(&[100, 1000, 4096]);
        let size = 2 * chunk_size + random.below(5 * chunk_size);
        let metadata = random.metadata();
        let options = WriteOptions::new()
            .chunk_size(ChunkSize::Bytes(chunk_size))
            .checksum(random.pick(&Checksum::ALL));
        let options = match &metadata {
            Some(value) => options.metadata(value).metadata_options(random.metadata_options()),
            None => options,
        };
        Self { plain: random.data(size), chunk_size, options, metadata }
    }

    fn pack(&self) -> Vec<u8> {
        pack_to_vec(&self.plain, &self.options).expect("packing succeeds")
    }
}

/// Changes or writes files in each of the [`WAYS`], and appends rows to an array. Repeats this
/// [`ROUNDS`] times with random data.
pub(crate) fn write_changed(folder: &mut Folder, random: &mut Random) {
    let path = folder.path.join("changing");
    for round in 0..ROUNDS {
        for (name, change) in WAYS {
            let mut case = Case::random(random);
            change(&mut case, &path, random);
            let file = fs::read(&path).expect("the file exists");
            let facts = json!({"chunk_size": case.chunk_size, "metadata": case.metadata});
            folder.add("changed", &format!("{name}_{round}"), &file, &case.plain, &facts);
        }
        append_rows(folder, &path, round, random);
    }
    fs::remove_file(&path).expect("the file exists");
}

type Change = fn(&mut Case, &Path, &mut Random);

const WAYS: [(&str, Change); 8] = [
    ("grown", grow),
    ("edited", edit),
    ("rewritten", rewrite),
    ("of_version_2", rewrite_version_2),
    ("recovered", recover_cut),
    ("filled_up", recover_hole),
    ("written", write_pieces),
    ("read", read_pipe),
];

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("the folder can be written");
}

fn grow(case: &mut Case, path: &Path, random: &mut Random) {
    case.options = case.options.clone().max_app_chunks(0);
    write(path, &case.pack());
    let more = random.data(case.chunk_size * 3);
    let options = AppendOptions::new().in_place(true).grow(true);
    append(path, &more, &options, None).expect("appending succeeds");
    case.plain.extend(more);
}

fn edit(case: &mut Case, path: &Path, random: &mut Random) {
    write(path, &case.pack());
    let metadata = random.metadata().unwrap_or_else(|| json!([1.5, "é"]));
    set_metadata(path, &metadata, MetadataEdit::new().grow(true))
        .expect("setting the metadata succeeds");
    case.metadata = Some(metadata);
}

fn rewrite(case: &mut Case, path: &Path, random: &mut Random) {
    write(path, &case.pack());
    let offsets = random.below(2) == 0;
    let options = RewriteOptions::new().checksum(random.pick(&Checksum::ALL)).offsets(offsets);
    let options = if offsets { options.max_app_chunks(random.below(9).into()) } else { options };
    rewrite_file(path, path, &options).expect("rewriting succeeds");
}

fn rewrite_version_2(case: &mut Case, path: &Path, random: &mut Random) {
    case.metadata = None;
    case.options = WriteOptions::new()
        .chunk_size(ChunkSize::Bytes(case.chunk_size))
        .version(Version::V2)
        .offsets(random.below(2) == 0);
    write(path, &case.pack());
    let options = RewriteOptions::new().version(Version::V3).offsets(true).max_app_chunks(7);
    rewrite_file(path, path, &options).expect("rewriting succeeds");
}

fn recover_to(path: &Path, file: Vec<u8>, options: &RecoverOptions) {
    let mut sink = Cursor::new(Vec::new());
    recover(&Bytes::from(file), &mut sink, options).expect("recovering succeeds");
    write(path, &sink.into_inner());
}

fn recover_cut(case: &mut Case, path: &Path, _: &mut Random) {
    let mut file = case.pack();
    file.pop();
    recover_to(path, file, &RecoverOptions::new());
    // The missing byte is part of the last chunk or of its digest, so the last chunk is lost.
    let whole = case.plain.len().div_ceil(case.chunk_size as usize) - 1;
    case.plain.truncate(whole * case.chunk_size as usize);
}

fn recover_hole(case: &mut Case, path: &Path, _: &mut Random) {
    case.options = case.options.clone().checksum(Checksum::Crc32);
    let mut file = case.pack();
    let reader = OpenOptions::new().from_bytes(file.clone()).expect("the file can be opened");
    let chunk = &reader.chunks()[1];
    file[usize::try_from(chunk.offset).expect("the number is small") + 16] ^= 1;
    recover_to(path, file, &RecoverOptions::new().fill_zeros(true));
    let size = case.chunk_size as usize;
    case.plain[size..2 * size].fill(0);
}

fn write_pieces(case: &mut Case, path: &Path, random: &mut Random) {
    let file = fs::File::create(path).expect("the folder can be written");
    let mut writer = Writer::new(file, &case.options).expect("the options are valid");
    let mut rest = &case.plain[..];
    while !rest.is_empty() {
        let len = (random.below(3 * case.chunk_size) as usize).min(rest.len());
        writer.write_all(&rest[..len]).expect("writing succeeds");
        rest = &rest[len..];
    }
    writer.finish().expect("finishing succeeds");
}

fn read_pipe(case: &mut Case, path: &Path, _: &mut Random) {
    pack_reader(&mut &case.plain[..], path, &case.options, None).expect("packing succeeds");
}

/// Appends rows to an array, first in place and then by replacing the file.
fn append_rows(folder: &mut Folder, path: &Path, round: u32, random: &mut Random) {
    let dtype = random.pick(&["'<f8'", "'>i4'", "'<U70'", "[('a', '|S1'), ('b', '<f8')]"]);
    let parsed = Datatype::parse(dtype).expect("the dtype is valid");
    let row = 7 * parsed.itemsize();
    let bytes = |rows: u64| u32::try_from(rows * row).expect("the number is small");
    let info = ArrayInfo::new(parsed, vec![30, 7], Order::C).expect("the array is valid");
    let mut plain = random.data(bytes(30));
    let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(3000));
    let file = pack_array(&info, &plain, Cursor::new(Vec::new()), &options, None)
        .expect("packing succeeds");
    write(path, &file.into_inner());
    for options in [AppendOptions::new().in_place(true), AppendOptions::new()] {
        let more = random.data(bytes(20));
        append(path, &more, &options.axis0(true), None).expect("appending succeeds");
        plain.extend(more);
    }
    let file = fs::read(path).expect("the file exists");
    assert_eq!(Reader::open(path).expect("the file can be opened").len(), plain.len() as u64);
    let facts = json!({"dtype": dtype, "shape": [70, 7], "order": "C"});
    folder.add("rows", &format!("rows_{round}"), &file, &plain, &facts);
}
