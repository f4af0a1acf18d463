//! Round trips: after an archive is extracted, creating it again must produce an equal archive.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use flux_archive::disk::{CreateReport, Creator, Extractor, Holes, RegionStore, Times};
use flux_archive::inspect::VerifyOptions;
use flux_archive::json::Text;
use flux_archive::store::{BlobStore, BlobStoreMut, Chunking, DirStore, MemoryStore};
use flux_archive::{Archive, Content, Form, HashType, Profile, Writer};
use proptest::prelude::*;

use crate::support::{Umask, tree};

fn create(creator: &Creator<'_>) -> (Vec<u8>, CreateReport) {
    let mut writer = Writer::new(Vec::new(), Form::Array);
    let report = creator.write(["."], &mut writer).unwrap();
    (writer.finish().unwrap(), report)
}

fn extract(json: &[u8], store: &dyn BlobStore, target: &Path) {
    let archive = Archive::parse(json, Profile::Strict).unwrap();
    let report = Extractor::new(target).unwrap().store(store).run(&archive).unwrap();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}

/// A file, link or directory in a random tree.
#[derive(Clone, Debug)]
enum Data {
    Bytes(Vec<u8>),
    /// Blocks of 4096 bytes, some of them holes.
    Blocks(Vec<Option<u8>>),
    Link(String),
    Directory,
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![
        "[a-zé\n\0\"\\\\]{0,30}".prop_map(|text| Data::Bytes(text.into_bytes())),
        proptest::collection::vec(any::<u8>(), 0..3000).prop_map(Data::Bytes),
        proptest::collection::vec(proptest::option::of(any::<u8>()), 0..6).prop_map(Data::Blocks),
        "[a-z/.]{1,12}".prop_map(Data::Link),
        Just(Data::Directory),
    ]
}

fn make(root: &Path, path: &str, mode: u32, data: &Data) {
    let path = root.join(path);
    let parent = path.parent().unwrap();
    // Create nothing below a link, because the link may lead anywhere.
    let mut above = parent.ancestors().take_while(|above| *above != root);
    if above.any(Path::is_symlink)
        || fs::create_dir_all(parent).is_err()
        || fs::symlink_metadata(&path).is_ok()
    {
        return;
    }
    match data {
        Data::Bytes(bytes) => fs::write(&path, bytes).unwrap(),
        Data::Blocks(blocks) => {
            let file = fs::File::create(&path).unwrap();
            for (at, byte) in blocks.iter().enumerate() {
                let Some(byte) = byte else { continue };
                file.write_all_at(&[*byte; 4096], at as u64 * 4096).unwrap();
            }
            file.set_len(blocks.len() as u64 * 4096).unwrap();
        }
        Data::Link(target) => return symlink(target, &path).unwrap(),
        Data::Directory => fs::create_dir(&path).unwrap(),
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_trees_are_restored_by_extracting_their_archives(
        nodes in proptest::collection::vec(("[abé]{1,2}(/[ab]{1,2}){0,3}", 0_u32..0o100, data()), 0..12),
        chunk_size in prop_oneof![Just(0_u64), Just(1000), Just(4096), Just(1 << 20)],
        threshold in prop_oneof![Just(0_u64), Just(1000), Just(1 << 20)],
        zeros: bool,
        with_store: bool,
    ) {
        let _umask = Umask::set(0);
        let source = tempfile::tempdir().unwrap();
        for (path, mode, data) in &nodes {
            make(source.path(), path, 0o700 | mode, data);
        }
        let store = MemoryStore::new();
        let create_with = |root: &Path, holes: Holes| {
            let creator = Creator::new(root)
                .unwrap()
                .chunking(Chunking::new().chunk_size(chunk_size).threshold(threshold))
                .holes(holes)
                .times(Times::Fixed(1_000_000_000));
            let creator = if with_store { creator.store(&store) } else { creator };
            create(&creator)
        };
        let holes = if zeros { Holes::Zeros } else { Holes::FileSystem };
        let (mut first, report) = create_with(source.path(), holes);
        prop_assert!(report.failures.is_empty() && report.changed.is_empty());
        let target = tempfile::tempdir().unwrap();
        extract(&first, &store, target.path());
        prop_assert_eq!(tree(source.path(), u64::MAX), tree(target.path(), u64::MAX));
        // Treat blocks of zeros as holes, because the extraction restores them as holes.
        let has_zeros = nodes
            .iter()
            .any(|(_, _, data)| matches!(data, Data::Blocks(blocks) if blocks.contains(&Some(0))));
        let holes = if has_zeros { Holes::Zeros } else { holes };
        if has_zeros {
            first = create_with(source.path(), holes).0;
        }
        let (second, _) = create_with(target.path(), holes);
        prop_assert_eq!(String::from_utf8(first).unwrap(), String::from_utf8(second).unwrap());
    }
}

#[test]
fn a_file_larger_than_4_gib_keeps_its_holes() {
    const SIZE: u64 = (5 << 30) + 123;
    let source = tempfile::tempdir().unwrap();
    let file = fs::File::create(source.path().join("big")).unwrap();
    if file.set_len(SIZE).is_err() {
        eprintln!("skipped: this file system does not support files of 5 GiB");
        return;
    }
    for offset in [0, (4 << 30) - 2, SIZE - 4] {
        file.write_all_at(b"data", offset).unwrap();
    }
    let blobs = tempfile::tempdir().unwrap();
    let store = DirStore::open(blobs.path()).unwrap();
    let creator = Creator::new(source.path())
        .unwrap()
        .store(&store)
        .chunking(Chunking::new().hash(HashType::Sha256));
    let (json, report) = create(&creator);
    assert!(report.failures.is_empty() && report.changed.is_empty());
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    assert_eq!(archive.entries()[0].len(), SIZE);
    let reader = archive.entries()[0].reader(&store).unwrap();
    let mut part = [1; 8];
    reader.read_at(&mut part, (4 << 30) - 4).unwrap();
    assert_eq!(part, *b"\0\0data\0\0");

    let target = tempfile::tempdir().unwrap();
    extract(&json, &store, target.path());
    let extracted = fs::File::open(target.path().join("big")).unwrap();
    assert_eq!(extracted.metadata().unwrap().len(), SIZE);
    for offset in [0, (4 << 30) - 2, SIZE - 4] {
        let mut data = [0; 4];
        extracted.read_exact_at(&mut data, offset).unwrap();
        assert_eq!(data, *b"data");
    }
    // Holes must be restored if the file system supports them.
    let blocks =
        |file: &fs::File| std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap());
    assert!(blocks(&extracted) <= blocks(&file) + 64);

    let regions = RegionStore::open(source.path(), &archive).unwrap();
    let report = archive.verify(&VerifyOptions::new().store(&regions));
    assert!(report.diagnostics.is_empty() && report.sha1 == 0);
}

#[test]
fn large_files_are_archived_as_text_or_base64_without_a_store() {
    let source = tempfile::tempdir().unwrap();
    let text = "line é\n".repeat(400_000);
    let mut bytes: Vec<u8> = (0..4_000_001_u32).map(|n| n.to_le_bytes()[1]).collect();
    fs::write(source.path().join("text"), &text).unwrap();
    fs::write(source.path().join("bytes"), &bytes).unwrap();
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes.truncate(text.len());
    bytes[text.len() - 1] = 0xc3;
    fs::write(source.path().join("cut"), &bytes).unwrap();
    let (json, report) = create(&Creator::new(source.path()).unwrap());
    assert_eq!(report.entries, 3);
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let encoding = |path| archive.get(path).unwrap().content().encoding();
    assert_eq!(encoding("text"), Some("utf-8"));
    assert_eq!((encoding("bytes"), encoding("cut")), (Some("base64"), Some("base64")));
    let target = tempfile::tempdir().unwrap();
    extract(&json, &MemoryStore::new(), target.path());
    for name in ["text", "bytes", "cut"] {
        let [before, after] = [&source, &target].map(|root| fs::read(root.path().join(name)));
        assert!(before.unwrap() == after.unwrap(), "{name}");
    }
}

#[test]
fn archives_created_on_one_and_on_several_threads_are_equal() {
    let source = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|n| n.to_le_bytes()[1]).collect();
    for n in 0..200 {
        let folder = source.path().join(format!("{}", n % 7));
        fs::create_dir_all(&folder).unwrap();
        let content = if n % 2 == 0 { &bytes[..n * n] } else { &[b'\n'; 5000][..n * 20] };
        fs::write(folder.join(format!("{n}")), content).unwrap();
    }
    for (name, len) in [("a", 3_000_001), ("b", 1 << 20), ("c", (1 << 20) + 1), ("d", 393_216 * 5)]
    {
        fs::write(source.path().join(name), &bytes[..len]).unwrap();
    }
    fs::write(source.path().join("text"), "line \"é\"\n".repeat(200_000)).unwrap();
    let archives = [1, 2, 5].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (json, report) = pool.install(|| create(&Creator::new(source.path()).unwrap()));
        assert_eq!((report.entries, report.failures.len(), report.changed.len()), (212, 0, 0));
        json
    });
    assert!(archives.iter().all(|json| *json == archives[0]));
    let target = tempfile::tempdir().unwrap();
    extract(&archives[0], &MemoryStore::new(), target.path());
    assert!(tree(source.path(), u64::MAX) == tree(target.path(), u64::MAX));
}

#[test]
fn a_binary_file_resized_while_being_streamed_is_reported_and_the_archive_is_valid() {
    for (threads, len) in [(1, 3 << 20), (3, 3 << 20), (1, 9 << 20), (3, 9 << 20), (3, 5)] {
        let source = tempfile::tempdir().unwrap();
        fs::write(source.path().join("log"), vec![0xff; 6 << 20]).unwrap();
        let once = std::sync::Once::new();
        let progress = |_| {
            once.call_once(|| {
                let log = source.path().join("log");
                fs::File::options().write(true).open(log).unwrap().set_len(len).unwrap();
            });
        };
        let creator = Creator::new(source.path()).unwrap().progress(&progress);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (json, report) = pool.install(|| create(&creator));
        assert_eq!((report.entries, report.failures.len()), (1, 0));
        assert_eq!(report.changed, ["log"]);
        let archive = Archive::parse(&json, Profile::Strict).unwrap();
        assert_eq!(archive.entries()[0].content().encoding(), Some("base64"));
        assert!(archive.entries()[0].len() >= 48 << 10);
    }
}

#[test]
fn a_large_file_in_blobs_is_restored_unless_a_blob_is_missing() {
    let source = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..9_000_001_u32).map(|n| n.to_le_bytes()[1] ^ 0x5a).collect();
    fs::write(source.path().join("big"), &bytes).unwrap();
    let store = MemoryStore::new();
    let (json, _) = create(&Creator::new(source.path()).unwrap().store(&store));
    let target = tempfile::tempdir().unwrap();
    extract(&json, &store, target.path());
    assert!(fs::read(target.path().join("big")).unwrap() == bytes);
    // If a blob is missing, no file may be left behind.
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let Content::Blobvec(regions) = archive.entries()[0].content() else { panic!() };
    store.remove(&regions[5].blobref).unwrap();
    let target = tempfile::tempdir().unwrap();
    let report = Extractor::new(target.path()).unwrap().store(&store).run(&archive).unwrap();
    assert_eq!(report.failures.len(), 1);
    assert!(tree(target.path(), 0).is_empty());
}

#[test]
fn a_file_that_changes_while_being_read_is_reported_and_the_archive_is_valid() {
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("still"), vec![7; 2000]).unwrap();
    for (name, size) in [("grows", 5 << 20), ("shrinks", 5 << 20)] {
        fs::write(source.path().join(name), vec![7; size]).unwrap();
    }
    // Change `grows` and `shrinks` after the first blob of one of them has been read.
    let once = std::sync::Once::new();
    let meddle = |bytes: u64| {
        if bytes < 1 << 20 {
            return;
        }
        once.call_once(|| {
            let open = |name| fs::File::options().write(true).open(source.path().join(name));
            open("grows").unwrap().set_len(6 << 20).unwrap();
            open("shrinks").unwrap().set_len(4 << 20).unwrap();
        });
    };
    let store = MemoryStore::new();
    let creator = Creator::new(source.path()).unwrap().store(&store).progress(&meddle);
    let (json, report) = create(&creator);
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    assert!(archive.verify(&VerifyOptions::new().store(&store)).diagnostics.is_empty());
    assert!(!report.changed.contains(&"still".to_owned()));
    assert!(report.changed.iter().any(|path| path != "still"), "{:?}", report.changed);
    assert_eq!((report.entries, report.failures.len()), (3, 0));
}

#[test]
fn text_that_changes_while_being_streamed_is_reported_and_the_archive_is_valid() {
    const SIZE: usize = 3 << 20;
    let text = "a line é\n".repeat(SIZE / 10);
    // While the file is being read, overwrite part of it with bytes that are not text, truncate it,
    // or append to it.
    let meddle: [(&[u8], u64, Option<u64>); 3] = [
        (b"\xff\0\xc3", 2 << 20, None),
        (b"", 0, Some((2 << 20) + 8)),
        (b"more", text.len() as u64, None),
    ];
    for (bytes, offset, cut) in meddle {
        let source = tempfile::tempdir().unwrap();
        fs::write(source.path().join("log"), &text).unwrap();
        let once = std::sync::Once::new();
        let progress = |_| {
            once.call_once(|| {
                let log = source.path().join("log");
                let file = fs::File::options().write(true).open(log).unwrap();
                file.write_all_at(bytes, offset).unwrap();
                if let Some(len) = cut {
                    file.set_len(len).unwrap();
                }
            });
        };
        let (json, report) = create(&Creator::new(source.path()).unwrap().progress(&progress));
        assert_eq!((report.entries, report.failures.len()), (1, 0));
        assert_eq!(report.changed, ["log"]);
        let archive = Archive::parse(&json, Profile::Strict).unwrap();
        assert_eq!(archive.entries()[0].content().encoding(), Some("utf-8"));
        assert!(archive.entries()[0].len() <= text.len() as u64);
    }
}

#[test]
fn a_file_replaced_after_it_was_found_but_before_it_was_read_is_reported() {
    let source = tempfile::tempdir().unwrap();
    for (name, size) in [("small", 100), ("large", 2 << 20), ("still", 10)] {
        fs::write(source.path().join(name), vec![b'x'; size]).unwrap();
    }
    let replace = |path: &str| {
        if path != "still" {
            fs::write(source.path().join("new"), "another").unwrap();
            fs::rename(source.path().join("new"), source.path().join(path)).unwrap();
        }
        true
    };
    let (json, report) = create(&Creator::new(source.path()).unwrap().include(&replace));
    assert!(Archive::parse(&json, Profile::Strict).is_ok());
    assert_eq!(report.changed, ["large", "small"]);
}

#[test]
fn each_extent_of_data_starts_a_new_chunk() {
    let source = tempfile::tempdir().unwrap();
    let mut data = [b'a'; 16384];
    data[4096..12288].fill(0);
    fs::write(source.path().join("f"), data).unwrap();
    let store = MemoryStore::new();
    let creator = Creator::new(source.path()).unwrap().store(&store).holes(Holes::Zeros);
    let (json, _) = create(&creator.chunking(Chunking::new().chunk_size(3000)));
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let regions = archive.entries()[0].regions().iter();
    let regions: Vec<_> = regions.map(|region| (region.offset, region.size)).collect();
    assert_eq!(regions, [(0, 3000), (3000, 1096), (12288, 3000), (15288, 1096)]);
}

#[test]
fn leave_out_omits_an_open_file_under_all_its_names() {
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("own"), "x").unwrap();
    fs::hard_link(source.path().join("own"), source.path().join("other")).unwrap();
    fs::create_dir(source.path().join("blobs")).unwrap();
    fs::write(source.path().join("blobs/b"), "x").unwrap();
    fs::write(source.path().join("kept"), "x").unwrap();
    let open = |name| fs::File::open(source.path().join(name)).unwrap();
    let creator = Creator::new(source.path()).unwrap();
    let creator = creator.leave_out(open("own")).unwrap().leave_out(open("blobs")).unwrap();
    let (json, report) = create(&creator);
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let paths: Vec<_> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
    assert_eq!(paths, ["kept"]);
    assert_eq!(report.left_out, ["blobs", "other", "own"]);
}

#[test]
fn a_large_file_in_base64_is_restored() {
    let source = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..6_000_001_u32).map(|n| n.to_le_bytes()[1] ^ 0xda).collect();
    fs::write(source.path().join("big"), &bytes).unwrap();
    let (json, _) = create(&Creator::new(source.path()).unwrap());
    let target = tempfile::tempdir().unwrap();
    extract(&json, &MemoryStore::new(), target.path());
    assert!(fs::read(target.path().join("big")).unwrap() == bytes);
}

#[test]
fn large_text_is_extracted_in_order_on_one_and_on_two_threads() {
    let line = "plain \"é\" and \\ and \u{1}😀, ".to_owned() + &"x".repeat(200) + "\n";
    let plain = line.repeat(20_000);
    let text = Text::new(&plain);
    for (threads, more) in [(1, 0), (2, 5)] {
        let json = format!(
            r#"[{{"path":"big","encoding":"utf-8","data":"{}","size":{},"mode":33188}}]"#,
            text.escaped(),
            plain.len() + more,
        );
        let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
        let target = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let report = pool.install(|| Extractor::new(target.path()).unwrap().run(&archive));
        assert!(report.unwrap().failures.is_empty());
        let found = fs::read(target.path().join("big")).unwrap();
        let (data, zeros) = found.split_at(plain.len());
        assert!(data == plain.as_bytes());
        assert_eq!(zeros, vec![0; more]);
    }
}

#[test]
fn names_and_link_targets_that_are_not_utf8_are_reported_and_the_rest_is_written() {
    let source = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    if fs::write(source.path().join(name), "").is_err() {
        eprintln!("skipped: this file system does not support such names");
        return;
    }
    symlink(name, source.path().join("link")).unwrap();
    fs::write(source.path().join("ok"), "").unwrap();
    let (json, report) = create(&Creator::new(source.path()).unwrap());
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().any(|failure| failure.contains("a\\xff")), "{failures:?}");
    assert_eq!(report.entries, 1);
    assert!(Archive::parse(&json, Profile::Strict).unwrap().get("ok").is_some());
}

#[test]
fn an_unreadable_directory_is_reported_and_written_without_its_content() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root reads every directory");
        return;
    }
    let source = tempfile::tempdir().unwrap();
    make(source.path(), "a/hidden/f", 0o644, &Data::Bytes(Vec::new()));
    make(source.path(), "z", 0o644, &Data::Bytes(Vec::new()));
    let hidden = source.path().join("a/hidden");
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o000)).unwrap();
    let (json, report) = create(&Creator::new(source.path()).unwrap());
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(report.failures.len(), 1);
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let paths: Vec<_> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
    assert_eq!(paths, ["a/hidden", "a", "z"]);
}

#[test]
fn files_that_report_size_0_are_read_to_their_end() {
    if !Path::new("/proc/version").exists() {
        eprintln!("skipped: no /proc here");
        return;
    }
    let mut writer = Writer::new(Vec::new(), Form::Array);
    let creator = Creator::new("/proc").unwrap().times(Times::Omit);
    let report = creator.write(["version"], &mut writer).unwrap();
    assert!(report.failures.is_empty());
    let json = writer.finish().unwrap();
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    assert_eq!(archive.entries()[0].len(), fs::read("/proc/version").unwrap().len() as u64);
}

#[test]
fn directories_not_selected_by_include_are_searched_unless_excluded() {
    let source = tempfile::tempdir().unwrap();
    for path in ["a/keep.txt", "a/drop.log", "b/keep.txt"] {
        make(source.path(), path, 0o644, &Data::Bytes(b"x".to_vec()));
    }
    let exclude = |path: &str| path == "b";
    let include = |path: &str| path.ends_with("/keep.txt");
    let creator = Creator::new(source.path()).unwrap().exclude(&exclude).include(&include);
    let (json, _) = create(&creator);
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let paths: Vec<_> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
    assert_eq!(paths, ["a/keep.txt"]);
}

#[test]
fn names_are_sorted_by_bytes_and_children_precede_their_directory() {
    let source = tempfile::tempdir().unwrap();
    for path in ["b/z", "b/a", "b.c", "a", "Z"] {
        make(source.path(), path, 0o644, &Data::Bytes(Vec::new()));
    }
    let (json, _) = create(&Creator::new(source.path()).unwrap());
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let paths: Vec<_> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
    assert_eq!(paths, ["Z", "a", "b/a", "b/z", "b", "b.c"]);
}

#[test]
fn leading_slashes_of_arguments_are_removed() {
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("f"), "x").unwrap();
    let mut writer = Writer::new(Vec::new(), Form::Array);
    let argument = source.path().canonicalize().unwrap().join("f");
    let report = Creator::new(".").unwrap().write([&argument], &mut writer).unwrap();
    assert_eq!((report.entries, report.absolute.len()), (1, 1));
    let json = writer.finish().unwrap();
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    assert_eq!(format!("/{}", archive.entries()[0].path()), argument.to_str().unwrap());
}
