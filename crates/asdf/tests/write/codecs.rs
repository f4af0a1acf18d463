//! Compression: various kinds of data must read back from every codec, and the compressed bytes
//! must not depend on the number of threads.

use std::sync::Arc;

use asdf::ndarray::{Datatype, Order, Strided};
use asdf::value::Array;
use asdf::{Bytes, Compression, Limits, ReadAt, Tree, WriteOptions, Writer};

use crate::{bytes_of, open};

/// Returns pseudorandom bytes.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def0_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn smooth(len: usize) -> Vec<u8> {
    (0..u32::try_from(len).unwrap() / 4).flat_map(|at| (at / 3).to_le_bytes()).collect()
}

/// Returns named test data: empty, constant, smooth and random data, data that fits into one
/// compression piece or needs several, and runs of equal bytes.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let runs = (0..3000_usize).flat_map(|at| vec![u8::try_from(at % 251).unwrap(); at % 300]);
    vec![
        ("nothing", Vec::new()),
        ("a byte", vec![7]),
        ("short", b"hello hello hello".to_vec()),
        ("zeros", vec![0; 5_000_000]),
        ("noise", noise(2_500_000)),
        ("smooth", smooth(3_000_000)),
        ("runs", runs.collect()),
        ("a piece", smooth(512 << 10)),
        ("a piece and a byte", noise((512 << 10) + 1)),
        ("long runs", [vec![1; 900_000], vec![2; 3], noise(100), vec![3; 1_000_000]].concat()),
    ]
}

fn file_of(data: Vec<u8>, compression: Compression) -> Vec<u8> {
    let shape = [data.len() as u64];
    let array = Array::from_bytes(data, Datatype::parse("|u1").unwrap(), &shape).unwrap();
    let mut tree = Tree::default();
    tree.set("/a", array.compression(compression)).unwrap();
    bytes_of(&Writer::new(tree))
}

fn check(compressions: &[&str]) {
    for compression in compressions {
        for (name, data) in kinds() {
            let bytes = file_of(data.clone(), compression.parse().unwrap());
            // Open the file strictly, so that any bytes after the stream, such as a second stream,
            // cause an error.
            let file = open(bytes);
            let block = file.blocks().get(0).unwrap();
            assert_eq!(
                block.header().unwrap().compression,
                compression.parse::<Compression>().unwrap().code()
            );
            let decoded = block.decode().unwrap();
            assert!(decoded == data, "{compression} of {name}");
            assert_eq!(file.diagnostics(), [], "{compression} of {name}");
        }
    }
}

#[test]
fn zlib_writes_a_single_stream_that_decodes_to_the_same_data() {
    check(&["zlib:0", "zlib:1", "zlib:6", "zlib:9"]);
}

#[test]
fn bzip2_writes_a_single_stream_that_decodes_to_the_same_data() {
    check(&["bzp2:1", "bzp2:9"]);
}

#[test]
fn data_stored_uncompressed_or_with_lz4_or_zstd_or_blosc_is_restored() {
    check(&["none", "lz4"]);
    #[cfg(feature = "lz4f")]
    check(&["lz4f"]);
    #[cfg(feature = "zstd")]
    check(&["zstd:3", "zstd:1"]);
    #[cfg(feature = "blsc")]
    check(&["blsc:5", "blsc-chunked:5"]);
}

#[cfg(feature = "blsc")]
#[test]
fn a_blosc_chunk_has_at_most_4_mib_of_data_and_is_preceded_by_its_length() {
    let bytes = file_of(noise((4 << 20) + 1000), "blsc-chunked".parse().unwrap());
    let file = open(bytes);
    let block = file.blocks().get(0).unwrap();
    let stored = block.raw().unwrap();
    let mut rest = &stored[..];
    let mut sizes = Vec::new();
    while let Some((len, chunk)) = rest.split_first_chunk::<4>() {
        let (buffer, after) = chunk.split_at(u32::from_be_bytes(*len) as usize);
        assert_eq!(buffer[0], 2, "the version of the buffer");
        sizes.push(u32::from_le_bytes(*buffer[4..].first_chunk().unwrap()));
        rest = after;
    }
    assert_eq!(sizes, [4 << 20, 1000]);
    assert_eq!(block.chunks().unwrap().unwrap().len(), 2);
}

#[cfg(feature = "blsc")]
#[test]
fn a_copied_block_keeps_its_blosc_framing_unless_the_options_change_it() {
    for (framing, other) in [("blsc", "blsc-chunked"), ("blsc-chunked", "blsc")] {
        let file = open(file_of(smooth(100_000), framing.parse().unwrap()));
        let is_chunked = framing == "blsc-chunked";
        assert_eq!(file.blocks().get(0).unwrap().is_blosc_chunked().unwrap(), is_chunked);
        let copy = |options: WriteOptions| {
            let tree = Tree::from_file(&file, 0).unwrap();
            open(bytes_of(&Writer::new(tree).blocks_of(&file).options(options)))
        };
        let kept = copy(WriteOptions::new());
        assert_eq!(kept.blocks().get(0).unwrap().is_blosc_chunked().unwrap(), is_chunked);
        let changed = copy(WriteOptions::new().compression(other.parse().unwrap()));
        assert_eq!(changed.blocks().get(0).unwrap().is_blosc_chunked().unwrap(), !is_chunked);
        assert_eq!(changed.blocks().get(0).unwrap().decode().unwrap(), smooth(100_000));
    }
}

#[test]
#[cfg(feature = "rayon")]
fn the_compressed_bytes_do_not_depend_on_the_number_of_threads() {
    let compressions = ["zlib:6", "bzp2:3", "lz4"].into_iter();
    let compressions = compressions.chain(cfg!(feature = "blsc").then_some("blsc-chunked:5"));
    for compression in compressions {
        let written = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| file_of(smooth(9_000_000), compression.parse().unwrap()))
        };
        assert!(written(1) == written(4), "{compression}");
    }
}

/// A source of zeros. The fields are its length and the size of the largest read so far, in bytes.
struct Endless(u64, std::sync::atomic::AtomicU64);

impl ReadAt for Endless {
    fn len(&self) -> u64 {
        self.0
    }

    fn read_exact_at(&self, out: &mut [u8], _: u64) -> binio::Result<()> {
        self.1.fetch_max(out.len() as u64, std::sync::atomic::Ordering::Relaxed);
        out.fill(0);
        Ok(())
    }
}

#[test]
fn large_arrays_are_read_in_pieces_during_writing() {
    for compression in [
        Compression::None,
        Compression::Zlib(1),
        Compression::Lz4,
        #[cfg(feature = "zstd")]
        Compression::Zstd(1),
    ] {
        let data = Arc::new(Endless(100 << 20, std::sync::atomic::AtomicU64::default()));
        let layout = Strided::packed(vec![100 << 20], Order::C, 0, 1, 100 << 20).unwrap();
        let array =
            Array::new(data.clone(), Datatype::parse("|u1").unwrap(), layout, Limits::default())
                .unwrap();
        let mut tree = Tree::default();
        tree.set("/a", array.compression(compression)).unwrap();
        let file = open(bytes_of(&Writer::new(tree)));
        assert_eq!(file.blocks().get(0).unwrap().data_len().unwrap(), 100 << 20);
        assert!(data.1.load(std::sync::atomic::Ordering::Relaxed) <= 16 << 20, "{compression}");
    }
}

#[test]
fn the_compression_of_an_array_overrides_the_default_of_the_writer() {
    let array = |bytes: &'static [u8]| {
        let datatype = Datatype::parse("|u1").unwrap();
        Array::from_bytes(Bytes::from_static(bytes), datatype, &[bytes.len() as u64]).unwrap()
    };
    let mut tree = Tree::default();
    tree.set("/a", array(b"first").compression(Compression::None)).unwrap();
    tree.set("/b", array(b"second")).unwrap();
    let options = WriteOptions::new().compression(Compression::Lz4);
    let file = open(bytes_of(&Writer::new(tree).options(options)));
    let code = |at: usize| file.blocks().get(at).unwrap().is_compressed();
    assert_eq!([code(0), code(1)], [false, true]);
}
