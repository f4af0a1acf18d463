"""Tests of opening files, and of indexing trees and arrays."""

from __future__ import annotations

import datetime
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import scibin
import scibin.asdf
from conftest import GOLDEN

SCIENCE = GOLDEN / "asdf/science.asdf"


def text_file(tree: str) -> scibin.asdf.File:
    head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n"
    return scibin.asdf.loads(f"{head}--- !core/asdf-1.1.0\n{tree}\n...\n".encode())


@pytest.fixture
def science() -> scibin.asdf.File:
    return scibin.asdf.open(SCIENCE)


def test_values_are_found_by_key_and_by_pointer(science: scibin.asdf.File) -> None:
    assert science["meta"]["gain"] == science["meta/gain"] == science["/meta/gain"] == 1.4
    assert science["meta"]["filters"][-1] == "R"
    assert science["meta/filters/0"] == "B"
    assert "meta" in science
    assert "absent" not in science
    assert science.get("absent") is None


def test_a_pointer_without_a_value_raises_key_error(science: scibin.asdf.File) -> None:
    for pointer in ["absent", "meta/absent", "/meta/filters/9", "meta/gain/x"]:
        with pytest.raises(KeyError):
            science[pointer]


def test_a_key_with_a_slash_takes_precedence_over_a_pointer() -> None:
    f = text_file("a/b: 1\na: {b: 2}")
    assert f["a/b"] == 1
    assert f["/a/b"] == 2


def test_each_key_of_a_mapping_is_found() -> None:
    node = text_file(
        "m: {text: 1, 7: 2, true: 3, null: 4, 1.50: 5, 2026-11-25: 6, 2026-11-25T10:20:30Z: 7,\n"
        "  !!binary aGVsbG8=: 8, !core/complex-1.0.0 1+2j: 9}\no: !!omap [2026-11-25: 1]"
    )
    for mapping in (node["m"], node["o"]):
        assert all(key in mapping for key in mapping)
        assert [mapping[key] for key in mapping] == list(range(1, len(mapping) + 1))
    assert node["m"][datetime.date(2026, 11, 25)] == 6
    assert node["m"][np.int64(7)] == 2
    assert node["m"].get(datetime.date(2026, 11, 26)) is None
    assert b"HELLO" not in node["m"]


def test_a_key_that_cannot_be_hashed_raises_type_error(science: scibin.asdf.File) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        science[[1, 2]]


def test_an_outline_contains_keys_of_every_type() -> None:
    assert text_file("2026-11-25: 1\n!!binary aGVsbG8=: 2").info() == "2026-11-25: 1\nb'hello': 2"


def test_a_mapping_node_equals_the_dict_of_its_items(science: scibin.asdf.File) -> None:
    wcs = science["meta/wcs"]
    assert wcs == {"crpix": [64.5, 48.5], "cdelt": [-0.0001, 0.0001]}
    assert wcs["crpix"] == [64.5, 48.5]
    assert wcs["crpix"][::-1] == [48.5, 64.5]
    np.testing.assert_array_equal(np.asarray(wcs["crpix"]), [64.5, 48.5])


def test_scalars_become_python_objects() -> None:
    f = text_file(
        "none: null\nyes: true\nint: 7\nhuge: 340282366920938463463374607431768211456\n"
        "float: 2.5\ntext: abc\nday: 2026-11-25\nnaive: 2026-11-25 10:20:30.25\n"
        "aware: 2026-11-25T10:20:30+05:30\nutc: 2026-11-25T10:20:30Z\n"
        "bytes: !!binary aGVsbG8=\nz: !core/complex-1.0.0 1+2j\n"
        "i: !core/integer-1.1.0 {words: [0, 0, 1], sign: '-', string: '-18446744073709551616'}"
    )
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    assert f.to_dict() == {
        "none": None,
        True: True,
        "int": 7,
        "huge": 1 << 128,
        "float": 2.5,
        "text": "abc",
        "day": datetime.date(2026, 11, 25),
        "naive": datetime.datetime(2026, 11, 25, 10, 20, 30, 250_000),
        "aware": datetime.datetime(2026, 11, 25, 10, 20, 30, tzinfo=zone),
        "utc": datetime.datetime(2026, 11, 25, 10, 20, 30, tzinfo=datetime.UTC),
        "bytes": b"hello",
        "z": 1 + 2j,
        "i": -(1 << 64),
    }
    assert f[True] is True
    assert f["huge"] == 1 << 128


def test_sets_ordered_mappings_and_pairs_become_python_collections() -> None:
    f = text_file("s: !!set {a, b}\no: !!omap [z: 1, a: 2]\np: !!pairs [a: 1, a: 2]")
    assert f.to_dict() == {"s": {"a", "b"}, "o": {"z": 1, "a": 2}, "p": [("a", 1), ("a", 2)]}
    assert f["s"] == {"a", "b"}
    assert f["o"]["a"] == 2
    assert f["p"] == [("a", 1), ("a", 2)]


def test_aliases_become_the_same_object() -> None:
    tree = text_file("a: &x {k: [1, 2]}\nb: *x\nme: &me {self: *me}").to_dict()
    assert tree["a"] is tree["b"]
    assert tree["me"]["self"] is tree["me"]


def test_a_deep_tree_is_converted_without_recursion() -> None:
    f = text_file("a: " + "[" * 900 + "]" * 900)
    value, depth = f.to_dict()["a"], 0
    while value:
        value, depth = value[0], depth + 1
    assert depth == 899


def test_tags_are_kept_on_request() -> None:
    f = text_file("u: !unit/unit-1.0.0 deg\nt: !<tag:x:y-1.0.0> {a: [1]}")
    assert f["u"] == "deg"
    assert f.node("u").tag == "tag:stsci.edu:asdf/unit/unit-1.0.0"
    assert f.to_dict(tagged=True) == {
        "u": scibin.asdf.Tagged("tag:stsci.edu:asdf/unit/unit-1.0.0", "deg"),
        "t": scibin.asdf.Tagged("tag:x:y-1.0.0", {"a": [1]}),
    }


def test_nodes_have_a_pointer_and_a_position() -> None:
    node = text_file("a:\n  b: [1, 2]").node("a/b")
    assert (node.pointer, node.line, node.column) == ("/a/b", 7, 6)


def test_a_file_without_a_tree_is_empty() -> None:
    f = scibin.asdf.loads(b"#ASDF 1.0.0\n")
    assert f.tree is None
    assert f.to_dict() is None
    assert list(f) == []
    with pytest.raises(KeyError):
        f["a"]


def test_a_root_that_is_not_a_mapping_is_the_tree() -> None:
    f = text_file("[1, 2]")
    assert f.tree == [1, 2]
    with pytest.raises(KeyError):
        f["a"]


def test_an_array_reads_the_elements_that_an_index_selects(science: scibin.asdf.File) -> None:
    image = science["image/error"]
    whole = np.asarray(image)
    assert (image.shape, image.dtype, image.ndim) == ((96, 128), np.dtype(">f4"), 2)
    assert (image.size, image.nbytes, len(image)) == (96 * 128, 4 * 96 * 128, 96)
    assert image.tag == "tag:stsci.edu:asdf/core/ndarray-1.1.0"
    part = image[3:9:2, ::-1]
    np.testing.assert_array_equal(part, whole[3:9:2, ::-1])
    assert part.flags.owndata
    assert part.flags.writeable
    assert part.flags.aligned
    assert isinstance(image[1, 2], np.float32)
    assert image[np.int64(1), 2] == whole[1, 2]
    assert image[..., None, 0].shape == whole[..., None, 0].shape


def test_lists_and_masks_select_the_same_elements_as_in_numpy(science: scibin.asdf.File) -> None:
    image = science["image/data"]
    whole = np.asarray(image)
    np.testing.assert_array_equal(image[[3, 1]], whole[[3, 1]])
    np.testing.assert_array_equal(image[whole > 0], whole[whole > 0])
    np.testing.assert_array_equal(image[:, [True] * 128], whole[:, [True] * 128])


def test_an_index_out_of_range_raises_index_error(science: scibin.asdf.File) -> None:
    image = science["image/data"]
    for index in [96, -97, (0, 0, 0), (0, 128), 1 << 80]:
        with pytest.raises(IndexError):
            image[index]
    with pytest.raises(ValueError, match="zero"):
        image[::0]
    with pytest.raises(TypeError):
        image.slice("x")  # type: ignore[arg-type]


def test_a_field_of_records_is_lazy(science: scibin.asdf.File) -> None:
    table = science["catalogue"]
    assert table["flux"].shape == (20, 2)
    np.testing.assert_array_equal(table["ra"][2:4], np.asarray(table)["ra"][2:4])
    with pytest.raises(KeyError):
        table["absent"]
    with pytest.raises(KeyError):
        science["image/data"]["ra"]


def test_read_fills_a_buffer_and_converts_the_byte_order(science: scibin.asdf.File) -> None:
    image = science["image/error"]
    out = np.empty(image.shape, "=f4")
    assert image.read(out) is out
    np.testing.assert_array_equal(out, image.read())
    for wrong in [
        np.empty((96, 127), "f4"),
        np.empty(image.shape, "f8"),
        np.empty(image.shape, "f4").T.copy().T,
    ]:
        with pytest.raises(ValueError, match="out"):
            image.read(wrong)


def test_the_array_protocol_follows_numpy(science: scibin.asdf.File) -> None:
    image = science["image/data"]
    assert np.asarray(image, "f8").dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        np.array(image, copy=False)
    assert np.sum(image) == np.asarray(image).sum()


def test_chunks_are_rows_decoded_together_or_the_whole_array(science: scibin.asdf.File) -> None:
    assert science["image/error"].chunks == (1, 128)
    assert science["image/data"].chunks == (96, 128)
    data = np.arange(4 << 20, dtype="u1").reshape(1024, 4096)
    f = scibin.asdf.loads(scibin.asdf.dumps({"a": data}, compression="blsc-chunked"))
    rows, columns = f["a"].chunks
    assert columns == 4096
    assert 1 <= rows <= 1024


def test_mapped_arrays_are_read_only_and_outlive_the_file() -> None:
    with scibin.asdf.open(SCIENCE, memmap=True) as f:
        lazy = f["image/error"]
        view = lazy[2:4]
    np.testing.assert_array_equal(view, np.asarray(scibin.asdf.open(SCIENCE)["image/error"])[2:4])
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="file is closed"):
        lazy.read()


def test_a_closed_file_cannot_be_read(science: scibin.asdf.File) -> None:
    image, node, values = science["image/data"], science["meta"], science["image/error"][:]
    science.close()
    science.close()
    assert science.closed
    assert values.sum() != 0
    for read in [image.read, node.to_dict, lambda: science["meta"], lambda: node["gain"]]:
        with pytest.raises(ValueError, match="file is closed"):
            read()


def test_an_array_is_read_with_its_mask() -> None:
    f = scibin.asdf.open(GOLDEN / "asdf/masked.asdf")
    array = next(a for a in f.to_dict(arrays="lazy").values() if getattr(a, "is_masked", False))
    masked = array.masked()
    assert isinstance(masked, np.ma.MaskedArray)
    assert not isinstance(np.asarray(array), np.ma.MaskedArray)
    np.testing.assert_array_equal(masked.mask, array.mask())


def test_errors_can_be_kept_in_place_of_arrays_that_cannot_be_decoded() -> None:
    f = scibin.asdf.open(GOLDEN / "asdf/checksum_mismatch.asdf", verify=True)
    with pytest.raises(scibin.ChecksumMismatch) as caught:
        f.to_dict()
    assert caught.value.pointer is not None
    assert caught.value.block == 1
    assert caught.value.code == "checksum"
    kept = f.to_dict(errors="keep")
    assert any(isinstance(value, scibin.ChecksumMismatch) for value in kept.values())


def test_the_checksum_of_a_compressed_block_is_verified_unless_verify_is_false() -> None:
    data = bytearray(scibin.asdf.dumps({"a": np.arange(1000)}, compression="lz4"))
    data[data.index(b"\xd3BLK") + 53] ^= 1  # the last byte of the checksum
    with pytest.raises(scibin.ChecksumMismatch):
        scibin.asdf.loads(bytes(data))["a"].read()
    unverified = scibin.asdf.loads(bytes(data), verify=False)["a"].read()
    np.testing.assert_array_equal(unverified, np.arange(1000))


def test_blocks_are_listed_and_unread_trees_have_no_diagnostics(science: scibin.asdf.File) -> None:
    first = science.blocks[0]
    assert (first.index, first.compression, first.data_size) == (0, "zlib", 49152)
    assert first.checksum is not None
    np.testing.assert_array_equal(first.read().view("<f4").reshape(96, 128), science["image/data"])
    assert science.diagnostics == ()
    assert text_file("a: 1\na: 2").diagnostics == ()


def test_a_duplicate_key_is_reported_as_a_diagnostic() -> None:
    f = text_file("a: 1\na: 2")
    assert f["a"] == 2
    (found,) = f.diagnostics
    assert (found.code, found.severity, found.line) == ("DuplicateKey", "warning", 7)
    assert "DuplicateKey" in str(found)


def test_verify_reports_damage_instead_of_raising(science: scibin.asdf.File) -> None:
    report = science.verify()
    assert report.ok
    assert [block.checksum for block in report.blocks] == ["good"] * 7
    bad = scibin.asdf.open(GOLDEN / "asdf/checksum_mismatch.asdf").verify()
    assert not bad.ok
    assert "bad" in [block.checksum for block in bad.blocks]
    assert "ChecksumMismatch" in [found.code for found in bad.diagnostics]


def test_strict_rejects_an_irregular_layout() -> None:
    path = GOLDEN / "asdf/index_stale.asdf"
    assert scibin.asdf.open(path).tree is not None
    with pytest.raises(scibin.FormatError):
        scibin.asdf.open(path, strict=True)


def test_limits_of_the_caller_are_enforced() -> None:
    with pytest.raises(TypeError, match="allocation, decoded, depth, items"):
        scibin.asdf.open(SCIENCE, limits={"memory": 1})
    with pytest.raises(ValueError, match="from 0 to"):
        scibin.asdf.open(SCIENCE, limits={"items": -1})
    f = scibin.asdf.open(SCIENCE, limits={"allocation": 1000})
    with pytest.raises(scibin.LimitError):
        f["image/data"].read()
    assert f["image/data"][0, :3].shape == (3,)


def test_errors_contain_the_reason_and_the_position(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        scibin.asdf.open("absent.asdf")
    assert missing.value.filename == "absent.asdf"
    with pytest.raises(IsADirectoryError):
        scibin.asdf.open(tmp_path)
    Path("text.asdf").write_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [\n...\n")
    with pytest.raises(scibin.FormatError) as broken:
        scibin.asdf.open("text.asdf").tree  # noqa: B018
    error = broken.value
    assert isinstance(error, ValueError)
    assert (error.path, error.code) == ("text.asdf", "tree")
    assert error.line is not None
    assert str(error).startswith("text.asdf: ")
    with pytest.raises(TypeError, match="expected a path"):
        scibin.asdf.open(7)  # type: ignore[arg-type]


def test_exceptions_are_pickled_with_their_attributes() -> None:
    for kind in [scibin.FormatError, scibin.ChecksumMismatch, scibin.LimitError]:
        error = kind("wrong", path="a", offset=1, line=2, column=3, block=4, pointer="/x", code="y")
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is kind
        assert copy.__dict__ == error.__dict__
        assert str(copy) == "a: wrong"
    assert issubclass(scibin.ChecksumMismatch, RuntimeError)


def test_pickles_reopen_the_file() -> None:
    path = Path("a.asdf")
    scibin.asdf.write(path, {"x": np.arange(20).reshape(4, 5), "r": np.zeros(3, "i4,f8")})
    f = scibin.asdf.open(path)
    parts = [f["x"], f["x"].slice(slice(1, 3)).slice(Ellipsis, 0), f["r"]["f1"]]
    data = pickle.dumps((f, parts))
    for copy, part in zip(pickle.loads(data)[1], parts, strict=True):
        np.testing.assert_array_equal(copy.read(), part.read())
    os.utime(path, ns=(1, 1))
    with pytest.raises(OSError, match="changed"):
        pickle.loads(data)
    with pytest.raises(TypeError, match="bytes"):
        pickle.dumps(scibin.asdf.loads(path.read_bytes()))


def test_an_outline_is_truncated_to_the_number_of_rows(science: scibin.asdf.File) -> None:
    rows = science.info(max_rows=5).splitlines()
    assert len(rows) == 5
    assert rows[-1] == "..."
    assert "  data: float32 (96, 128)" in science.info().splitlines()
