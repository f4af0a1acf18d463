//! Editing files: the method by which a change is written, and the parts of the file that it
//! preserves.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use asdf::inspect::VerifyOptions;
use asdf::save::{EditOptions, EditReport, Editor, Method};
use asdf::tree::metadata::HistoryEntry;
use asdf::value::Array;
use asdf::{
    Asdf, Compression, ErrorKind, Limits, OpenOptions, Strictness, Tree, Verify, WriteOptions,
    Writer,
};

use crate::edited;

/// Creates a file with three arrays in blocks, one of them compressed.
pub(crate) fn sample(options: &WriteOptions) -> Vec<u8> {
    let mut tree = Tree::parse("meta: {gain: 2.5, name: x}\n").unwrap();
    let numbers: Vec<i32> = (0..5000).collect();
    tree.set("/a", Array::from_slice(&numbers[..100], &[10, 10]).unwrap()).unwrap();
    let packed = Array::from_slice(&numbers, &[5000]).unwrap().compression(Compression::Zlib(1));
    tree.set("/b", packed).unwrap();
    tree.set("/c", Array::from_slice(&numbers[..2000], &[2000]).unwrap()).unwrap();
    let mut out = Cursor::new(Vec::new());
    Writer::new(tree).options(options.clone()).write_to(&mut out).unwrap();
    out.into_inner()
}

fn open(path: &Path) -> Asdf {
    let options = OpenOptions::new().strictness(Strictness::Strict).verify(Verify::OnRead);
    let file = options.open(path).unwrap();
    file.document().unwrap();
    assert_eq!(file.diagnostics(), []);
    assert!(file.verify(&VerifyOptions::new()).unwrap().passed());
    file
}

fn array(file: &Asdf, pointer: &str) -> Vec<i32> {
    file.tree().unwrap().pointer(pointer).unwrap().ndarray().unwrap().read::<i32>().unwrap()
}

/// Edits a file, and checks that the report equals the plan and that the result is valid. Returns
/// the report, the new bytes, and the folder of the file.
fn change(
    bytes: &[u8],
    options: &EditOptions,
    edit: impl FnOnce(&mut Editor) -> asdf::Result<()>,
) -> (EditReport, Vec<u8>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, bytes).unwrap();
    let mut editor = options.open(&path).unwrap();
    edit(&mut editor).unwrap();
    let planned = editor.plan().unwrap();
    let mut copy = Cursor::new(Vec::new());
    let copied = editor.write_to(&mut copy).unwrap();
    let report = editor.commit().unwrap();
    assert_eq!(report, planned);
    assert_eq!((copied.blocks, &copied.unused), (report.blocks, &report.unused));
    let now = fs::read(&path).unwrap();
    assert_eq!(report.len, now.len() as u64);
    assert_eq!(report.blocks, open(&path).blocks().len().unwrap());
    if report.method == Method::NewFile {
        assert_eq!(now, copy.into_inner(), "`write_to` and `commit` must write the same file");
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "the folder must contain only the file"
    );
    (report, now, folder)
}

fn yaml(text: &str) -> Tree {
    Tree::parse(text).unwrap()
}

#[test]
fn changing_one_digit_patches_one_byte_in_place() {
    let bytes = sample(&WriteOptions::new());
    let (report, now, folder) =
        change(&bytes, &EditOptions::new(), |editor| editor.set("/meta/gain", &yaml("3.5")));
    assert_eq!((report.method, now.len()), (Method::Patched, bytes.len()));
    assert_eq!(now.iter().zip(&bytes).filter(|(a, b)| a != b).count(), 1);
    let file = open(&folder.path().join("a.asdf"));
    assert_eq!(file.tree().unwrap().pointer("/meta/gain").unwrap().as_f64(), Some(3.5));
}

#[test]
fn committing_without_edits_writes_nothing() {
    let bytes = sample(&WriteOptions::new());
    let (report, now, _) = change(&bytes, &EditOptions::new(), |_| Ok(()));
    assert_eq!((report.method, now), (Method::Unchanged, bytes.clone()));
    let (report, now, _) =
        change(&bytes, &EditOptions::new(), |editor| editor.set("/meta/gain", &yaml("2.5")));
    assert_eq!((report.method, now), (Method::Unchanged, bytes));
}

#[test]
fn a_tree_too_long_for_its_space_moves_the_blocks_and_keeps_them_aligned() {
    for align in [1, 64, 4096] {
        let bytes = sample(&WriteOptions::new().align(align));
        let before = OpenOptions::new().from_bytes(bytes.clone()).unwrap();
        let (report, _, folder) = change(&bytes, &EditOptions::new(), |editor| {
            editor.set("/text", &yaml(&format!("'{}'", "long word ".repeat(700))))
        });
        assert_eq!(report.method, Method::NewFile);
        let file = open(&folder.path().join("a.asdf"));
        assert!(file.layout().index.as_ref().unwrap().accepted);
        for pointer in ["/a", "/b", "/c"] {
            assert_eq!(array(&file, pointer), array(&before, pointer));
        }
        for block in file.blocks() {
            assert_eq!(block.unwrap().header().unwrap().data_start() % align, 0);
        }
    }
}

#[test]
fn a_tree_that_fits_into_the_padding_does_not_move_the_blocks() {
    let bytes = sample(&WriteOptions::new().pad_tree(20_000));
    let long = yaml(&format!("'{}'", "long word ".repeat(700)));
    for in_place in [false, true] {
        let options = EditOptions::new().in_place(in_place);
        let (report, now, _) = change(&bytes, &options, |editor| editor.set("/text", &long));
        let want = if in_place { Method::InPlace } else { Method::NewFile };
        assert_eq!((report.method, now.len()), (want, bytes.len()));
        assert_eq!(now[30_000..], bytes[30_000..]);
    }
}

#[test]
fn a_new_file_is_shorter_if_the_tree_shrinks_by_more_than_a_page() {
    let long = format!("text: '{}'\n", "q".repeat(1_500_000));
    let mut tree = yaml(&long);
    tree.set("/a", Array::from_slice(&[1_i32, 2, 3], &[3]).unwrap()).unwrap();
    let mut bytes = Cursor::new(Vec::new());
    Writer::new(tree).write_to(&mut bytes).unwrap();
    let bytes = bytes.into_inner();
    for (in_place, most) in [(false, 2000), (true, bytes.len())] {
        let options = EditOptions::new().in_place(in_place);
        let (report, now, folder) =
            change(&bytes, &options, |editor| editor.set("/text", &yaml("short")));
        assert_ne!(report.method, Method::Patched);
        assert!(now.len() <= most, "{}", now.len());
        let file = open(&folder.path().join("a.asdf"));
        assert_eq!(array(&file, "/a"), [1, 2, 3]);
        assert_eq!(file.blocks().get(0).unwrap().header().unwrap().data_start() % 64, 0);
    }
}

#[test]
fn the_padding_is_kept_if_the_tree_shrinks_by_less_than_a_page() {
    let bytes = sample(&WriteOptions::new().pad_tree(20_000));
    let (_, now, _) = change(&bytes, &EditOptions::new(), |editor| editor.remove("/meta"));
    assert_eq!(now.len(), bytes.len());
}

#[test]
fn padding_after_a_shortened_scalar_does_not_become_part_of_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
    let file = |tree: &str| format!("{head}--- !core/asdf-1.1.0\n{tree}...\n").into_bytes();
    for (before, edited) in [
        ("a: |\n  text\nb: 1\n", "a: |\n  tex\nb: 1\n"),
        ("a: >-\n  one\n  two\nb: 1\n", "a: >-\n  on\n  two\nb: 1\n"),
        ("a: 'one\n  two'\nb: 1\n", "a: 'on\n  two'\nb: 1\n"),
        ("a: \"x #y\"\nb: 1\n", "a: \"x #\"\nb: 1\n"),
        ("a: one\n  two\nb: 1\n", "a: on\n  two\nb: 1\n"),
    ] {
        fs::write(&path, file(before)).unwrap();
        let mut editor = Editor::open(&path).unwrap();
        let text = String::from_utf8(file(edited)).unwrap().split_off(head.find("%YAML").unwrap());
        editor.set_text(&text).unwrap();
        let expected = yaml(edited);
        editor.commit().unwrap();
        let found = Asdf::open(&path).unwrap();
        let found = Tree::from_file(&found, 0).unwrap();
        assert_eq!(found.pointer("/a"), expected.pointer("/a"), "{edited}");
    }
}

#[test]
fn history_entries_are_added_to_a_history_of_any_form_except_a_mapping_of_entries() {
    let editor = |tree: &str| {
        let text = format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n---\n{tree}\n...\n");
        Editor::from_file(Asdf::from_bytes(text.into_bytes()).unwrap())
    };
    let entry = HistoryEntry::new("new");
    for (before, added) in [
        ("a: 1", "/history/entries/0"),
        ("history: ~", "/history/entries/0"),
        ("history: [{description: old}]", "/history/1"),
        ("history: {extensions: []}", "/history/entries/0"),
        ("history: {entries: ~}", "/history/entries/0"),
        ("history: {entries: [{description: old}]}", "/history/entries/1"),
    ] {
        let mut editor = editor(before);
        editor.add_history_entry(&entry).unwrap();
        let root = editor.tree().unwrap().document().root();
        let description = root.pointer(&format!("{added}/description")).unwrap();
        assert_eq!(description.as_str(), Some("new"), "{before}");
    }
    let mut editor = editor("history: {entries: {a: 1}}");
    let error = editor.add_history_entry(&entry).unwrap_err().to_string();
    assert!(error.contains("expected a list of history entries, found a mapping"), "{error}");
}

#[test]
fn a_replaced_tree_may_refer_to_arrays_that_were_set_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, sample(&WriteOptions::new())).unwrap();
    let mut editor = Editor::open(&path).unwrap();
    editor.set_array("/new", Array::from_slice(&[7_i32, 8], &[2]).unwrap()).unwrap();
    let text = editor.tree().unwrap().text().replace("new: ", "renamed: ");
    editor.set_text(&text).unwrap();
    let error = editor.set_text(&text.replace("source: 0", "source: 9")).unwrap_err().to_string();
    assert!(error.contains("`source: 9`"), "{error}");
    editor.commit().unwrap();
    assert_eq!(array(&Asdf::open(&path).unwrap(), "/renamed"), [7, 8]);
}

#[test]
fn an_in_place_change_fails_if_the_tree_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let bytes = sample(&WriteOptions::new());
    fs::write(&path, &bytes).unwrap();
    let mut editor = EditOptions::new().in_place(true).open(&path).unwrap();
    editor.set("/text", &yaml(&format!("'{}'", "long word ".repeat(700)))).unwrap();
    let error = editor.commit().unwrap_err().to_string();
    assert!(error.contains("only 424 are available, including the padding"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn an_in_place_change_uses_only_the_padding_before_stray_bytes() {
    let bytes = sample(&WriteOptions::new().pad_tree(5000));
    let padding = bytes.windows(5).position(|window| window == b"\n...\n").unwrap() + 5;
    let stray = padding + 4000;
    let mut bytes = bytes;
    bytes[stray..stray + 5].copy_from_slice(b"stray");
    let path_of = |folder: &tempfile::TempDir| folder.path().join("a.asdf");
    let folder = tempfile::tempdir().unwrap();
    fs::write(path_of(&folder), &bytes).unwrap();
    let mut editor = EditOptions::new().in_place(true).open(path_of(&folder)).unwrap();
    editor.set("/text", &yaml(&"q".repeat(3900))).unwrap();
    assert_eq!(editor.commit().unwrap().method, Method::InPlace);
    let now = fs::read(path_of(&folder)).unwrap();
    assert_eq!(now[stray..], bytes[stray..]);
    let file = Asdf::open(path_of(&folder)).unwrap();
    let text = file.tree().unwrap().pointer("/text").unwrap();
    assert_eq!(text.as_str().map(str::len), Some(3900));
}

#[test]
fn arrays_can_be_added_and_replaced_and_removed() {
    let bytes = sample(&WriteOptions::new());
    let before = OpenOptions::new().from_bytes(bytes.clone()).unwrap();
    let new: Vec<i32> = (0..3333).map(|n| n * 3).collect();
    let new_array = || Array::from_slice(&new, &[3333]).unwrap();
    for in_place in [false, true] {
        let bytes =
            if in_place { sample(&WriteOptions::new().pad_tree(4096)) } else { bytes.clone() };
        let options = EditOptions::new().in_place(in_place);
        let (report, _, folder) =
            change(&bytes, &options, |editor| editor.set_array("/new/x", new_array()));
        assert_eq!(report.blocks, 4);
        let file = open(&folder.path().join("a.asdf"));
        assert!(file.layout().index.as_ref().unwrap().accepted);
        assert_eq!(array(&file, "/new/x"), new);
        assert_eq!(array(&file, "/b"), array(&before, "/b"));

        let (report, _, folder) =
            change(&bytes, &options, |editor| editor.set_array("/b", new_array()));
        let file = open(&folder.path().join("a.asdf"));
        assert_eq!(array(&file, "/b"), new);
        assert_eq!(array(&file, "/a"), array(&before, "/a"));
        assert_eq!(array(&file, "/c"), array(&before, "/c"));
        if in_place {
            assert_eq!((report.blocks, report.unused), (4, vec![1]));
        } else {
            assert_eq!((report.blocks, report.unused), (3, vec![]));
        }

        let (report, now, folder) = change(&bytes, &options, |editor| editor.remove("/c"));
        let file = open(&folder.path().join("a.asdf"));
        assert_eq!(array(&file, "/b"), array(&before, "/b"));
        if in_place {
            assert_eq!((report.blocks, report.unused), (3, vec![2]));
        } else {
            assert_eq!(report.blocks, 2);
            assert!(now.len() < bytes.len() - 7000, "the block must be removed");
        }

        let (report, _, folder) = change(&bytes, &options, |editor| editor.remove("/a"));
        let file = open(&folder.path().join("a.asdf"));
        assert_eq!(report.blocks, 3, "the other blocks must keep their numbers");
        assert_eq!(array(&file, "/c"), array(&before, "/c"));
        for block in file.blocks() {
            assert_eq!(block.unwrap().header().unwrap().data_start() % 64, 0);
        }
    }
}

#[test]
fn an_array_that_is_set_and_removed_again_leaves_the_file_unchanged() {
    let bytes = sample(&WriteOptions::new().pad_tree(4096));
    for in_place in [false, true] {
        let (report, now, _) = change(&bytes, &EditOptions::new().in_place(in_place), |editor| {
            editor.set_array("/x", Array::from_slice(&[1_u8; 999], &[999]).unwrap())?;
            editor.remove("/x")
        });
        assert_eq!((report.method, report.blocks), (Method::Unchanged, 3));
        assert_eq!(report.unused, [0; 0]);
        assert_eq!(now, bytes);
    }
}

#[test]
fn a_new_array_reuses_the_block_number_of_a_new_array_that_was_removed() {
    let filled = |value: i32| Array::from_slice(&[value; 999], &[999]).unwrap();
    for in_place in [false, true] {
        let bytes = sample(&WriteOptions::new().pad_tree(4096));
        let (report, _, folder) =
            change(&bytes, &EditOptions::new().in_place(in_place), |editor| {
                editor.set_array("/x", filled(1))?;
                editor.remove("/x")?;
                editor.set_array("/y", filled(2))
            });
        assert_eq!(report.blocks, 4);
        assert_eq!(array(&open(&folder.path().join("a.asdf")), "/y"), [2; 999]);
    }
}

#[test]
fn removing_a_new_array_leaves_an_empty_block_if_a_later_block_is_used() {
    let filled = |value: i32| Array::from_slice(&[value; 999], &[999]).unwrap();
    for in_place in [false, true] {
        let bytes = sample(&WriteOptions::new().pad_tree(4096));
        let (report, _, folder) =
            change(&bytes, &EditOptions::new().in_place(in_place), |editor| {
                editor.set_array("/x", filled(1))?;
                editor.set_array("/y", filled(2))?;
                editor.remove("/x")
            });
        let file = open(&folder.path().join("a.asdf"));
        assert_eq!(report.blocks, 5);
        assert_eq!(file.blocks().get(3).unwrap().header().unwrap().used_size, 0);
        assert_eq!(array(&file, "/y"), [2; 999]);
    }
}

#[test]
fn replacing_an_array_keeps_a_block_that_another_array_uses() {
    let bytes = sample(&WriteOptions::new());
    let (report, _, folder) = change(&bytes, &EditOptions::new(), |editor| {
        editor.set(
            "/d",
            &yaml(
                "!core/ndarray-1.1.0 {source: 0, datatype: int32, byteorder: little, shape: [100]}",
            ),
        )?;
        editor.set_array("/a", Array::from_slice(&[1_i32, 2], &[2]).unwrap())
    });
    let file = open(&folder.path().join("a.asdf"));
    assert_eq!(report.blocks, 4);
    assert_eq!(array(&file, "/a"), [1, 2]);
    assert_eq!(array(&file, "/d")[99], 99);
}

#[test]
fn inline_arrays_and_large_integers_are_written_as_the_standard_requires() {
    let bytes = sample(&WriteOptions::new());
    let (_, now, folder) = change(&bytes, &EditOptions::new(), |editor| {
        editor.set_inline("/small", Array::from_slice(&[1_u8, 2], &[2]).unwrap())?;
        editor.set("/big", &yaml("123456789012345678901234567890"))
    });
    let text = String::from_utf8_lossy(&now);
    assert!(
        text.contains("small: !core/ndarray-1.1.0\n  data: [1, 2]\n  datatype: uint8\n"),
        "{text}"
    );
    assert!(text.contains("big: !core/integer-1.1.0\n"), "{text}");
    open(&folder.path().join("a.asdf"));
}

#[test]
fn a_file_without_a_tree_or_without_blocks_can_be_edited() {
    let head = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n".to_vec();
    let array = || Array::from_slice(&[1_i32, 2], &[2]).unwrap();
    for options in [EditOptions::new(), EditOptions::new().in_place(true)] {
        let (report, now, _) = change(&head, &options, |editor| editor.set("/a", &yaml("1")));
        assert_eq!(report.blocks, 0);
        assert!(
            now.ends_with(b"--- !core/asdf-1.1.0\na: 1\n...\n"),
            "{}",
            String::from_utf8_lossy(&now)
        );
        let (report, _, _) = change(&now, &options, |editor| editor.set_array("/b", array()));
        assert_eq!(report.blocks, 1);
        let (_, now, _) = change(&now, &options, |editor| editor.remove("/a"));
        assert!(String::from_utf8_lossy(&now).contains("\n{}"));
    }
}

#[test]
fn copying_a_block_whose_header_extends_past_the_file_is_an_error() {
    let mut bytes = sample(&WriteOptions::new());
    let offset = Asdf::from_bytes(bytes.clone()).unwrap().blocks().get(2).unwrap().offset();
    bytes[usize::try_from(offset).unwrap() + 4] = 0xff; // Change `header_size`.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, &bytes).unwrap();
    let mut editor = EditOptions::new().open(&path).unwrap();
    editor.remove("/a").unwrap();
    let error = editor.commit().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unwritable { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn no_block_can_be_added_after_a_streamed_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.asdf");
    let datatype = asdf::ndarray::Datatype::parse("<i4").unwrap();
    let mut rows = Writer::new(Tree::default()).rows(&path, "/rows", &datatype, &[]).unwrap();
    rows.push(&[1_i32, 2, 3]).unwrap();
    drop(rows);
    let mut editor = Editor::open(&path).unwrap();
    let error = editor.set_array("/x", Array::from_slice(&[1_i32], &[1]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("streamed"), "{error}");
    editor.set("/text", &yaml(&format!("'{}'", "long word ".repeat(700)))).unwrap();
    editor.commit().unwrap();
    assert_eq!(array(&Asdf::open(&path).unwrap(), "/rows"), [1, 2, 3]);
    // A closed block is no longer streamed, so a block can be added after it. The tree refers to
    // the closed block as -1, and must still refer to it afterwards.
    asdf::save::RowWriter::resume(&path).unwrap().close().unwrap();
    let mut editor = Editor::open(&path).unwrap();
    editor.set_array("/x", Array::from_slice(&[7_i32], &[1]).unwrap()).unwrap();
    editor.commit().unwrap();
    let file = open(&path);
    assert_eq!((array(&file, "/rows"), array(&file, "/x")), (vec![1, 2, 3], vec![7]));
}

#[test]
fn a_shorter_or_longer_number_in_a_long_tree_is_patched_in_place() {
    let lines = (0..2000).map(|n| format!("k{n}: {n}\n")).collect::<Vec<_>>().concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let mut tree = yaml(&lines);
    tree.set("/x", Array::from_slice(&[1_i32, 2], &[2]).unwrap()).unwrap();
    Writer::new(tree).write(&path).unwrap();
    let len = fs::metadata(&path).unwrap().len();
    for value in ["9", "1000", "12"] {
        let mut editor = Editor::open(&path).unwrap();
        editor.set("/k1000", &yaml(value)).unwrap();
        assert_eq!(editor.commit().unwrap().method, Method::Patched, "{value}");
        let file = open(&path);
        assert_eq!(file.tree().unwrap().pointer("/k1000").unwrap().text(), Some(value));
        assert_eq!(fs::metadata(&path).unwrap().len(), len);
    }
}

#[test]
fn a_shorter_value_is_padded_at_the_end_of_its_line_or_before_the_comment() {
    let text = "a: 250 # of a\nb: [10, 20, 30]\nc: 1\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
    let file = |tree: &str| format!("{head}--- !core/asdf-1.1.0\n{tree}...\n").into_bytes();
    fs::write(&path, file(text)).unwrap();
    for (pointer, value, want) in [
        ("/a", "3", "a: 3   # of a\nb: [10, 20, 30]\nc: 1\n"),
        ("/b/0", "7", "a: 3   # of a\nb: [7, 20, 30] \nc: 1\n"),
        ("/a", "42", "a: 42  # of a\nb: [7, 20, 30] \nc: 1\n"),
        ("/b/1", "200", "a: 42  # of a\nb: [7, 200, 30]\nc: 1\n"),
    ] {
        let mut editor = Editor::open(&path).unwrap();
        editor.set(pointer, &yaml(value)).unwrap();
        assert_eq!(editor.commit().unwrap().method, Method::Patched, "{pointer} {value}");
        assert_eq!(String::from_utf8(fs::read(&path).unwrap()).unwrap().as_bytes(), file(want));
    }
}

#[test]
fn removing_an_entry_leaves_no_blank_line() {
    let (_, now, _) = change(&sample(&WriteOptions::new()), &EditOptions::new(), |editor| {
        editor.remove("/meta/name")
    });
    let tree = String::from_utf8_lossy(&now).split("\n...").next().unwrap().to_owned();
    assert!(tree.lines().all(|line| !line.trim().is_empty()), "{tree}");
    let file = |tree: &str| {
        let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
        format!("{head}--- !core/asdf-1.1.0\n{tree}...\n").into_bytes()
    };
    let before = file("# about\na: 1\nb: [1, 2]\nc: 3\n");
    let (report, now, _) = change(&before, &EditOptions::new(), |editor| editor.remove("/b"));
    assert_eq!(now, file("# about\na: 1\nc: 3\n"));
    assert_eq!(report.method, Method::NewFile);
}

/// Returns a file with a number at `/n`, and with `depth` nested lists at `/deep`.
fn nested(depth: usize) -> Vec<u8> {
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    format!(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
         --- !core/asdf-1.1.0\nn: 1.25\ndeep: {open}{close}\n...\n"
    )
    .into_bytes()
}

#[test]
fn raising_the_depth_limit_allows_editing_a_deeper_tree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, nested(1100)).unwrap();
    let strict = EditOptions::new().open(&path).unwrap();
    let error = strict.tree().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: 1000, .. }), "{error}");
    drop(strict);
    let mut editor =
        EditOptions::new().limits(Limits::default().max_depth(2000)).open(&path).unwrap();
    editor.set("/n", &yaml("1.5")).unwrap();
    // The value is padded with a space. Before the padded text is written, it is parsed again, with
    // the raised limit.
    assert_eq!(editor.commit().unwrap().method, Method::Patched);
}

#[test]
fn an_edit_applies_low_limits_to_the_value_and_to_the_edited_tree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let bytes = nested(4);
    fs::write(&path, &bytes).unwrap();
    let mut editor = EditOptions::new().limits(Limits::default().max_depth(6)).open(&path).unwrap();
    for (pointer, value) in [("/n", "[[[[[[[[0]]]]]]]]"), ("/deep/0/0/0/-", "[[[[0]]]]")] {
        let error = editor.set(pointer, &yaml(value)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { limit: 6, .. }), "{pointer}: {error}");
    }
    editor.set("/n", &yaml("[[0]]")).unwrap();
}

#[test]
fn a_read_only_file_is_edited_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, sample(&WriteOptions::new())).unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let error = Editor::open(&path).unwrap_err().to_string();
    assert!(error.contains("read-only"), "{error}");
    let mut editor = EditOptions::new().read_only(true).open(&path).unwrap();
    editor.set("/meta/gain", &yaml("3.5")).unwrap();
    assert_eq!(editor.commit().unwrap().method, Method::NewFile);
    assert!(fs::metadata(&path).unwrap().permissions().readonly());
}

#[test]
fn an_invalid_tree_can_only_be_replaced_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, "#ASDF 1.0.0\n%YAML 1.1\n--- \na: [1\n...\n").unwrap();
    let mut editor = Editor::open(&path).unwrap();
    assert!(editor.set("/a", &yaml("1")).is_err());
    for (text, want) in [
        ("a: 1\n", "%YAML"),
        ("%YAML 1.1\n---\na: [1\n", "line 4"),
        ("%YAML 1.1\n---\n- 1\n", "a mapping at the root"),
        ("%YAML 1.1\n---\na: 1\n...\nb: 1\n", "more text follows that line"),
        (
            "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\na: !core/ndarray-1.1.0 {source: 3}\n",
            "the block does not exist",
        ),
    ] {
        let error = editor.set_text(text).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    editor.set_text("%YAML 1.1\n---\na: [1]").unwrap();
    editor.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [1]\n...\n");
    assert!(edited("a: 1\n", crate::Remove("/a")).is_ok());
}

#[cfg(unix)]
#[test]
fn no_change_is_lost_if_several_editors_change_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, sample(&WriteOptions::new().pad_tree(40_000))).unwrap();
    let done = AtomicUsize::new(0);
    let (writers, each) = (4, 15);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let (path, done) = (&path, &done);
            scope.spawn(move || {
                for number in 0..each {
                    let options = EditOptions::new()
                        .in_place(writer % 2 == 0)
                        .patience(Duration::from_secs(60));
                    let mut editor = options.open(path).unwrap();
                    editor.set(&format!("/w{writer}n{number}"), &Tree::new(number as u64)).unwrap();
                    editor.commit().unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Each read must see the file before or after an edit, never in between.
        let (path, done) = (&path, &done);
        scope.spawn(move || {
            let mut before = 0;
            while done.load(Ordering::Relaxed) < writers * each {
                let file = Asdf::open(path).unwrap();
                let keys = file.document().unwrap().root().len();
                assert!(keys >= before, "{keys} after {before}");
                before = keys;
                assert_eq!(array(&file, "/c").len(), 2000);
            }
        });
    });
    let file = open(&path);
    let root = file.document().unwrap().root();
    for writer in 0..writers {
        for number in 0..each {
            assert!(root.get(&format!("w{writer}n{number}")).is_some(), "{writer} {number}");
        }
    }
}

/// Returns the file that `sample` creates, but with negative sources for `/a` and `/b`.
fn sample_with_negative_sources() -> Vec<u8> {
    let bytes = sample(&WriteOptions::new().pad_tree(500));
    let mut editor = Editor::from_file(Asdf::from_bytes(bytes).unwrap());
    editor.set("/a/source", &yaml("-3")).unwrap();
    editor.set("/b/source", &yaml("-2")).unwrap();
    let mut out = Cursor::new(Vec::new());
    editor.write_to(&mut out).unwrap();
    out.into_inner()
}

#[test]
fn negative_sources_refer_to_the_same_blocks_after_the_number_of_blocks_changes() {
    type Edit = fn(&mut Editor, Array) -> asdf::Result<()>;
    let bytes = sample_with_negative_sources();
    let before = Asdf::from_bytes(bytes.clone()).unwrap();
    let short = || Array::from_slice(&[1_i32, 2], &[2]).unwrap();
    let in_place = EditOptions::new().in_place(true);
    let edits: [(&EditOptions, Edit); 5] = [
        (&EditOptions::new(), |editor, _| editor.remove("/c")),
        (&EditOptions::new(), |editor, _| editor.set("/c", &yaml("1"))),
        (&EditOptions::new(), |editor, array| editor.set_inline("/c", array)),
        (&EditOptions::new(), |editor, array| editor.set_array("/d", array)),
        (&in_place, |editor, array| editor.set_array("/d", array)),
    ];
    for (number, (options, edit)) in edits.into_iter().enumerate() {
        let (report, _, folder) = change(&bytes, options, |editor| edit(editor, short()));
        assert_ne!(report.blocks, 3, "edit {number} changes the number of blocks");
        let file = open(&folder.path().join("a.asdf"));
        for pointer in ["/a", "/b"] {
            assert_eq!(array(&file, pointer), array(&before, pointer), "edit {number}, {pointer}");
        }
    }
}

#[test]
fn negative_sources_are_unchanged_if_the_number_of_blocks_is_unchanged() {
    let bytes = sample_with_negative_sources();
    let edits: [fn(&mut Editor) -> asdf::Result<()>; 2] =
        [|editor| editor.set("/meta/gain", &yaml("3.5")), |editor| editor.rename("/c", "d")];
    for edit in edits {
        let (_, _, folder) = change(&bytes, &EditOptions::new(), edit);
        let file = open(&folder.path().join("a.asdf"));
        let source = file.tree().unwrap().pointer("/b/source").unwrap();
        assert_eq!(source.text(), Some("-2"));
    }
}

#[test]
fn editing_in_place_adds_a_missing_line_ending_to_the_header() {
    for head in ["#ASDF 1.0.0", "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0", "#ASDF 1.0.0\n"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.asdf");
        fs::write(&path, head).unwrap();
        let mut editor = EditOptions::new().in_place(true).open(&path).unwrap();
        editor.set("/v", &Tree::parse("5").unwrap()).unwrap();
        editor.commit().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("{}\n%YAML 1.1\n", head.trim_end())), "{text}");
        let file = Asdf::open(&path).unwrap();
        assert_eq!(file.document().unwrap().root().get("v").unwrap().as_i64(), Some(5), "{text}");
    }
}
