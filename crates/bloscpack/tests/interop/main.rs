//! Writes files with every option for the Python reference to read. `cargo xtask interop` sets
//! `SCIBIN_INTEROP` to a folder, runs this test, and then runs `check.py`, which reads the files.

mod changed;
mod data;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use bloscpack::array::{ArrayInfo, Datatype, Order, pack_array};
use bloscpack::change::{AppendOptions, append};
use bloscpack::{
    Checksum, ChunkSize, Compressor, Shuffle, StreamWriter, WriteOptions, pack_to_vec,
};
use data::Random;
use serde_json::{Value, json};

#[test]
fn write_files_for_the_reference() {
    let Some(folder) = testdata::interop_folder() else { return };
    let mut folder = Folder::new(folder.join("ours"));
    let random = &mut Random::new(20_260_101);
    write_files(&mut folder, random);
    write_streams(&mut folder, random);
    append_to_files(&mut folder, random);
    write_arrays(&mut folder, random);
    changed::write_changed(&mut folder, random);
    folder.finish();
}

/// A folder of files, and the list of their expected properties for `check.py`.
struct Folder {
    path: PathBuf,
    cases: Vec<Value>,
}

impl Folder {
    fn new(path: PathBuf) -> Self {
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the folder can be created");
        Self { path, cases: Vec::new() }
    }

    fn add(&mut self, kind: &str, name: &str, file: &[u8], plain: &[u8], facts: &Value) {
        let write = |path: &Path, bytes| fs::write(path, bytes).expect("the folder can be written");
        write(&self.path.join(name).with_extension("blp"), file);
        write(&self.path.join(name).with_extension("plain"), plain);
        self.cases.push(json!({"kind": kind, "name": name, "facts": facts}));
    }

    fn finish(self) {
        let text = serde_json::to_string(&self.cases).expect("serialising JSON succeeds");
        fs::write(self.path.join("cases.json"), text).expect("the folder can be written");
        eprintln!("{} files", self.cases.len());
    }
}

const COMPRESSORS: [Compressor; 5] =
    [Compressor::Blosclz, Compressor::Lz4, Compressor::Lz4hc, Compressor::Zlib, Compressor::Zstd];
const SHUFFLES: [Shuffle; 3] = [Shuffle::None, Shuffle::Byte, Shuffle::Bit];

/// Writes files with every compressor, shuffle and level. All other options are random.
fn write_files(folder: &mut Folder, random: &mut Random) {
    for compressor in COMPRESSORS {
        for (number, shuffle) in SHUFFLES.into_iter().enumerate() {
            for level in 0..=9_u8 {
                let typesize = random.pick(&[1, 2, 3, 4, 7, 8, 12, 16, 17, 31, 64, 255]);
                let size = match random.below(6) {
                    0 => random.below(2),
                    1 => random.below(300),
                    _ => random.below(300_000),
                };
                let chunk_size = match random.below(5) {
                    0 => 1 << 20,
                    1 => 1 << 16,
                    2 => size.max(1),
                    3 => size.div_ceil(2).max(1),
                    _ => size.div_ceil(13).max(1),
                };
                let checksum = random.pick(&Checksum::ALL);
                let (offsets, room) = (random.below(4) != 0, random.below(20));
                let options = WriteOptions::new()
                    .compressor(compressor)
                    .level(level)
                    .shuffle(shuffle)
                    .typesize(typesize)
                    .chunk_size(ChunkSize::Bytes(chunk_size))
                    .checksum(checksum)
                    .offsets(offsets)
                    .threads(random.pick(&[1, 2, 3]));
                let options = if offsets { options.max_app_chunks(room.into()) } else { options };
                let metadata = random.metadata();
                let options = match &metadata {
                    Some(value) => {
                        options.metadata(value).metadata_options(random.metadata_options())
                    }
                    None => options,
                };
                let plain = random.data(size);
                let file = pack_to_vec(&plain, &options).expect("packing succeeds");
                let facts = json!({
                    "cname": compressor.name(), "shuffle": number, "clevel": level, "typesize": typesize,
                    "chunk_size": chunk_size, "checksum": checksum.name(), "offsets": offsets,
                    "max_app_chunks": room, "metadata": metadata, "has_metadata": metadata.is_some(),
                });
                let name = format!("file_{}_{number}_{level}", compressor.name());
                folder.add("file", &name, &file, &plain, &facts);
            }
        }
    }
}

/// Writes files whose headers do not state the number of chunks. The reference treats such files as
/// empty, so `check.py` checks their chunks instead.
fn write_streams(folder: &mut Folder, random: &mut Random) {
    for number in 0..10 {
        let size = random.below(100_000);
        let plain = random.data(size);
        let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(10_000)).offsets(false);
        let mut writer = StreamWriter::new(Vec::new(), &options).expect("the options are valid");
        writer.write_all(&plain).expect("writing succeeds");
        let file = writer.finish().expect("finishing succeeds");
        folder.add("stream", &format!("stream_{number}"), &file, &plain, &json!({}));
    }
}

/// Writes files, and appends to each of them once or three times. The original program must be able
/// to read every result.
///
/// If the file has offsets, `check.py` repeats the appends with the original program, and compares
/// the headers of the two results. With the default compressor and shuffle, it also compares the
/// chunks, the offsets and the metadata. Other chunks may differ, because the original program
/// always appends with its own defaults. It cannot append to files without offsets.
fn append_to_files(folder: &mut Folder, random: &mut Random) {
    for number in 0..60 {
        let name = format!("appended_{number}");
        let chunk_size = random.pick(&[100, 1000, 4096, 65536]);
        let begin = chunk_size + random.below(5 * chunk_size);
        let mut plain = random.data(begin);
        let mut steps = vec![plain.len()];
        let same_bytes = number % 3 != 0;
        let offsets = number % 5 != 0;
        let mut options =
            WriteOptions::new().chunk_size(ChunkSize::Bytes(chunk_size)).offsets(offsets);
        if offsets {
            options = options.max_app_chunks(50);
        }
        if !same_bytes {
            options = options.compressor(random.pick(&COMPRESSORS)).shuffle(random.pick(&SHUFFLES));
        }
        if number % 4 == 0 {
            options = options.metadata(&json!({"run": number}));
        }
        let begin = pack_to_vec(&plain, &options).expect("packing succeeds");
        let path = folder.path.join(&name).with_extension("begin");
        fs::write(&path, &begin).expect("the folder can be written");
        let growing = folder.path.join("growing");
        fs::write(&growing, &begin).expect("the folder can be written");
        let options =
            random.pick(&[AppendOptions::new(), AppendOptions::new().in_place(true)]).threads(2);
        for _ in 0..random.pick(&[1, 3]) {
            let more = random.below(4 * chunk_size);
            let more = random.data(more);
            append(&growing, &more, &options, None).expect("appending succeeds");
            steps.push(more.len());
            plain.extend(more);
        }
        let file = fs::read(&growing).expect("the file exists");
        fs::remove_file(&growing).expect("the file exists");
        let steps = offsets.then_some(steps);
        let facts = json!({"begin": path, "steps": steps, "same_bytes": same_bytes});
        folder.add("appended", &name, &file, &plain, &facts);
    }
}

/// Writes arrays of every kind of dtype. The reference can read, but not write, elements of more
/// than 255 bytes and chunk sizes that are not a multiple of the element size.
fn write_arrays(folder: &mut Folder, random: &mut Random) {
    let scalars = "b1 i1 u1 i2 i4 i8 u2 u4 u8 f2 f4 f8 f16 c8 c16 c32 M8[ns] M8[D] m8[25s] U3 U70 S1 S7 S255 S256 S300 V5 V1000";
    let mut dtypes = Vec::new();
    for scalar in scalars.split(' ') {
        let orders = match scalar {
            "b1" | "i1" | "u1" => &["|"][..],
            _ if scalar.starts_with(['S', 'V']) => &["|"],
            _ => &["<", ">"],
        };
        dtypes.extend(orders.iter().map(|order| format!("'{order}{scalar}'")));
    }
    dtypes.extend(
        [
            "[('a', '|S1'), ('b', '<f8')]",
            "[('id', '>i4'), ('m', '<f8', (2, 3)), ('c', [('d', '<u2'), ('e', '|b1', (4,))])]",
            r#"[("it's", '<f4'), ('é "q"', '<f4'), ('tab\t', '|i1')]"#,
            "[('large', '<f8', (40,)), ('x', '<i2')]",
        ]
        .map(str::to_owned),
    );
    for (number, dtype) in dtypes.iter().enumerate() {
        for shape in [&[][..], &[0], &[1], &[701], &[13, 17], &[0, 4], &[5, 6, 7]] {
            let orders = if shape.len() > 1 && !shape.contains(&0) {
                &[Order::C, Order::F][..]
            } else {
                &[Order::C]
            };
            for &order in orders {
                let parsed = Datatype::parse(dtype).expect("the dtype is valid");
                let info =
                    ArrayInfo::new(parsed, shape.to_vec(), order).expect("the array is valid");
                let chunk_size = random.pick(&[1 << 20, 4096, 7000]);
                let plain = random.data(info.byte_size().try_into().expect("the number is small"));
                let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(chunk_size));
                let file = Cursor::new(Vec::new());
                let file =
                    pack_array(&info, &plain, file, &options, None).expect("packing succeeds");
                let facts = json!({
                    "dtype": dtype, "shape": shape, "order": order.name(), "chunk_size": chunk_size,
                });
                let name = format!("array_{number}_{}_{}", shape.len(), random.next());
                folder.add("array", &name, &file.into_inner(), &plain, &facts);
            }
        }
    }
}
