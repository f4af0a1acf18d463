"""Tests of writing and editing files."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import scibin
import scibin.asdf
from conftest import GOLDEN
from scibin.asdf import Tagged

asdf = pytest.importorskip("asdf")

DTYPES = [
    *("i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 ?".split()),
    *(">i2 >i4 >i8 >u2 >u4 >u8 >f2 >f4 >f8 >c8 >c16".split()),
    *("S5 U3 >U3".split()),
]


def trip(tree: Any, **options: Any) -> Any:
    return scibin.asdf.loads(scibin.asdf.dumps(tree, **options)).to_dict()


def values(dtype: str, shape: tuple[int, ...] = (3, 4)) -> npt.NDArray[Any]:
    count = int(np.prod(shape))
    return (np.arange(count) % 100).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_every_dtype_is_read_back_by_us_and_by_asdf(dtype: str, compression: str | None) -> None:
    array = values(dtype)
    scibin.asdf.write("a.asdf", {"a": array}, compression=compression)
    ours = scibin.asdf.open("a.asdf")["a"]
    assert ours.dtype == array.dtype
    np.testing.assert_array_equal(ours.read(), array)
    with asdf.open("a.asdf") as theirs:
        np.testing.assert_array_equal(np.asarray(theirs["a"]), array)


@pytest.mark.parametrize("name", ["zlib:9", "bzp2", "lz4", "lz4f", "zstd:5", "blsc", "none"])
def test_every_compression_is_read_back(name: str) -> None:
    array = np.arange(100_000, dtype="f4")
    np.testing.assert_array_equal(trip({"a": array}, compression=name)["a"], array)


def test_records_are_read_back() -> None:
    dtype = np.dtype(
        [("id", ">i4"), ("name", "S3"), ("inner", [("x", "f4"), ("y", "f8")]), ("v", "i2", (2, 3))]
    )
    table = np.zeros(5, dtype)
    table["id"] = np.arange(5)
    table["v"] = 7
    back = trip({"t": table})["t"]
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, table)


def test_records_with_padding_or_reordered_fields_are_read_back() -> None:
    aligned = np.zeros(3, np.dtype([("a", "u1"), ("b", "f8")], align=True))
    swapped = np.zeros(3, {"names": ["b", "a"], "formats": ["f4", "i4"], "offsets": [4, 0]})
    for table in [aligned, swapped]:
        table["b"] = [1, 2, 3]
        back = trip({"t": table})["t"]
        assert back.dtype.names == table.dtype.names
        np.testing.assert_array_equal(back["b"], table["b"])


@pytest.mark.parametrize(
    "array",
    [
        np.array(5.0),
        np.empty((0, 3)),
        np.asfortranarray(values("f4")),
        values("i4")[::-1, ::2],
        values("i4", (2, 3, 4)).transpose(2, 0, 1),
        np.broadcast_to(np.arange(3), (4, 3)),
        np.lib.stride_tricks.sliding_window_view(np.arange(10), 4),
    ],
)
def test_arrays_with_any_strides_are_read_back(array: npt.NDArray[Any]) -> None:
    back = trip({"a": array})["a"]
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)
    scibin.asdf.write("a.asdf", {"a": array})
    with asdf.open("a.asdf") as theirs:
        np.testing.assert_array_equal(np.asarray(theirs["a"]), array)


def test_views_of_the_same_memory_share_a_block() -> None:
    base = np.arange(1000.0)
    tree = {"all": base, "even": base[::2], "back": base[::-1], "table": base.reshape(10, 100)}
    f = scibin.asdf.loads(scibin.asdf.dumps(tree))
    assert [block.data_size for block in f.blocks] == [8000]
    for key, array in tree.items():
        np.testing.assert_array_equal(f[key], array)


def test_only_the_viewed_part_of_a_base_array_is_written() -> None:
    base = np.arange(1_000_000.0)
    f = scibin.asdf.loads(scibin.asdf.dumps({"a": base[10:20], "b": base[::1000]}))
    assert sorted(block.data_size for block in f.blocks) == [80, 8000]
    np.testing.assert_array_equal(f["b"], base[::1000])


def test_masked_arrays_are_read_back_by_us_and_by_asdf() -> None:
    masked = np.ma.MaskedArray(values("f8"), values("i4") % 3 == 0)
    back = trip({"a": masked})["a"]
    np.testing.assert_array_equal(back.mask, masked.mask)
    np.testing.assert_array_equal(back.data, masked.data)
    scibin.asdf.write("a.asdf", {"a": masked})
    with asdf.open("a.asdf") as theirs:
        np.testing.assert_array_equal(np.ma.getmaskarray(theirs["a"][:]), masked.mask)


def test_scalars_and_collections_are_read_back() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))
    tree = {
        "none": None,
        "bool": [True, False],
        "int": [0, -7, 1 << 62, 1 << 100, -(1 << 200)],
        "float": [0.1, float("inf"), 1e300, -0.0],
        "text": ["", "yes", "1", "a: b", "línea\n two", "\x07"],
        "bytes": b"\x00\xff",
        "complex": 1 - 2j,
        "date": datetime.date(2026, 11, 25),
        "time": datetime.datetime(2026, 11, 25, 1, 2, 3, 4, zone),
        "set": {"a", "b"},
        "nested": {"x": [{"y": [[]]}]},
        7: "int key",
        True: "bool key",
    }
    back = trip(tree)
    assert {key: back[key] for key in tree} == tree


def test_numpy_scalars_become_plain_scalars() -> None:
    tree = {"f": np.float32(0.5), "i": np.int64(3), "b": np.bool_(True), "s": np.str_("x")}
    back = trip(tree)
    assert {key: back[key] for key in tree} == {"f": 0.5, "i": 3, "b": True, "s": "x"}


def test_repeated_objects_and_cycles_are_kept() -> None:
    shared: dict[str, Any] = {"k": [1]}
    shared["self"] = shared
    array = np.arange(3)
    back = trip({"a": shared, "b": shared, "x": array, "y": array})
    assert back["a"] is back["b"] is back["a"]["self"]


def test_tagged_values_are_read_back() -> None:
    tree = {"u": Tagged("tag:stsci.edu:asdf/unit/unit-1.0.0", "deg"), "t": Tagged("!x", {"a": [1]})}
    f = scibin.asdf.loads(scibin.asdf.dumps(tree))
    back = f.to_dict(tagged=True)
    assert {key: back[key] for key in tree} == tree


class Odd:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Odd(), "Odd"),
        (np.array([None]), "object"),
        (np.array(["2026"], "M8[D]"), "M8"),
        (np.longdouble(1), "longdouble"),
        ({(1, 2): 3}, "key"),
        (Tagged("!x", Tagged("!y", 1)), "without a tag"),
    ],
)
def test_a_value_that_cannot_be_written_raises_type_error(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message) as caught:
        scibin.asdf.dumps({"a": [1, {"b/c": value}]})
    assert "/a/1/b~1c" in str(caught.value)


def test_objects_nested_too_deeply_raise_type_error() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(TypeError, match="deep"):
        scibin.asdf.dumps({"a": value})


def test_deeply_nested_tags_raise_type_error() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = Tagged("!x", value)
    with pytest.raises(TypeError, match="without a tag"):
        scibin.asdf.dumps({"a": value})


def test_an_existing_file_survives_a_failure() -> None:
    scibin.asdf.write("a.asdf", {"a": 1})
    with pytest.raises(FileExistsError):
        scibin.asdf.write("a.asdf", {"a": 2})
    with pytest.raises(TypeError):
        scibin.asdf.write("a.asdf", {"a": Odd()}, overwrite=True)
    assert scibin.asdf.open("a.asdf")["a"] == 1
    scibin.asdf.write("a.asdf", {"a": 2}, overwrite=True)
    assert scibin.asdf.open("a.asdf")["a"] == 2
    assert [path.name for path in Path().iterdir()] == ["a.asdf"]
    with pytest.raises(FileNotFoundError):
        scibin.asdf.write("absent/a.asdf", {})


def test_invalid_options_raise_value_error() -> None:
    for options in [{"compression": "gzip"}, {"align": 3}, {"standard": "9.9.9"}]:
        with pytest.raises(ValueError, match="expected"):
            scibin.asdf.dumps({}, **options)  # type: ignore[arg-type]
    assert scibin.asdf.loads(scibin.asdf.dumps({}, standard="1.5.0")).standard == "1.5.0"


def test_compression_can_be_chosen_by_pointer() -> None:
    arrays = {"a": np.zeros(1000), "b": {"c": np.ones(1000)}}
    f = scibin.asdf.loads(scibin.asdf.dumps(arrays, compression={"/a": "zlib", "b/c": "lz4"}))
    assert sorted(block.compression for block in f.blocks) == ["lz4", "zlib"]
    with pytest.raises(KeyError, match="/x"):
        scibin.asdf.dumps(arrays, compression={"/x": "zlib"})


@pytest.mark.parametrize(
    "key",
    [
        7,
        True,
        None,
        1e20,
        datetime.date(2026, 11, 25),
        datetime.datetime(2026, 11, 25),
        b"hello",
        1j,
    ],
    ids=repr,
)
def test_an_array_below_any_key_has_the_same_pointer_when_written_and_when_read(key: Any) -> None:
    def written(compression: dict[str, str] | None) -> scibin.asdf.File:
        tree = {key: [np.zeros(1000)]}
        # Newer versions of the standard do not allow all of these keys.
        data = scibin.asdf.dumps(tree, compression=compression, standard="1.5.0")
        return scibin.asdf.loads(data)

    pointer = written(None)[key].pointer
    assert written({f"{pointer}/0": "zlib"}).blocks[0].compression == "zlib"


def test_nodes_are_copied_with_their_blocks_undecoded() -> None:
    with scibin.asdf.open(GOLDEN / "asdf/science.asdf") as f:
        tree = {"image": f["image"], "one": f["spectrum/counts"], "new": np.arange(3)}
        copy = scibin.asdf.loads(scibin.asdf.dumps(tree))
        np.testing.assert_array_equal(copy["image/data"], f["image/data"])
        np.testing.assert_array_equal(copy["one"], f["spectrum/counts"])
        np.testing.assert_array_equal(copy["new"], [0, 1, 2])
        old, new = f.blocks[0], copy.blocks[0]
        assert (new.compression, new.checksum) == (old.compression, old.checksum)
        whole = scibin.asdf.loads(scibin.asdf.dumps(f))
        assert len(whole.blocks) == len(f.blocks)
        np.testing.assert_equal(whole.to_dict()["meta"], f.to_dict()["meta"])


def test_nodes_of_several_files_are_combined() -> None:
    files = [scibin.asdf.loads(scibin.asdf.dumps({"a": np.full(3, i)})) for i in range(3)]
    back = trip({str(i): f["a"] for i, f in enumerate(files)} | {"part": files[0]["a"].slice(0)})
    for i in range(3):
        np.testing.assert_array_equal(back[str(i)], np.full(3, i))
    assert back["part"] == 0


def test_edit_changes_values_and_keeps_comments() -> None:
    meta = {"gain": 1.0, "old": {"nested": 1}}
    scibin.asdf.write("a.asdf", {"meta": meta, "image": np.zeros(4)})
    text = Path("a.asdf").read_bytes().replace(b"gain: 1.0", b"gain: 1.0 # e/ADU")
    text = text[: text.rindex(b"#ASDF BLOCK INDEX")]
    Path("a.asdf").write_bytes(text)
    with scibin.asdf.edit("a.asdf") as f:
        f["meta/gain"] = 2.5
        f["image"] = np.arange(6, dtype="i2").reshape(2, 3)
        f["meta/list"] = [1, {"z": 1j}]
        f["meta/list/-"] = "end"
        del f["meta/old"]
        f.rename("meta/list", "items")
        assert "gain: 2.5 # e/ADU" in f.text
    assert f.report is not None
    assert f.report.method == "new file"
    back = scibin.asdf.open("a.asdf").to_dict()
    assert back["meta"] == {"gain": 2.5, "items": [1, {"z": 1j}, "end"]}
    np.testing.assert_array_equal(back["image"], [[0, 1, 2], [3, 4, 5]])
    assert scibin.asdf.open("a.asdf").verify().ok


def test_edit_compresses_only_the_arrays_that_it_sets() -> None:
    scibin.asdf.write("a.asdf", {"old": np.arange(2), "image": np.zeros(4)}, compression="lz4")
    with scibin.asdf.edit("a.asdf", compression="zlib") as f:
        f["image"] = np.zeros(1000)
        f["nested"] = {"array": np.ones(1000)}
    back = scibin.asdf.open("a.asdf")
    assert [block.compression for block in back.blocks] == ["lz4", "zlib", "zlib"]
    np.testing.assert_array_equal(back["nested/array"], np.ones(1000))
    with pytest.raises(ValueError, match="compression"):
        scibin.asdf.edit("a.asdf", compression="none such")


def test_edit_writes_nothing_after_an_exception_or_in_a_dry_run() -> None:
    scibin.asdf.write("a.asdf", {"a": 1})
    before = Path("a.asdf").read_bytes()
    with pytest.raises(RuntimeError), scibin.asdf.edit("a.asdf") as f:
        f["a"] = 2
        raise RuntimeError
    with scibin.asdf.edit("a.asdf", dry_run=True) as f:
        f["a"] = 2
    assert f.report is not None
    assert f.report.method == "patched"
    assert Path("a.asdf").read_bytes() == before
    with scibin.asdf.edit("a.asdf") as f:
        with pytest.raises(KeyError):
            del f["absent"]
        with pytest.raises(TypeError):
            f["a"] = Odd()
    assert Path("a.asdf").read_bytes() == before
    with pytest.raises(ValueError, match="closed"):
        f["a"] = 3


def test_edit_in_place_keeps_the_inode() -> None:
    scibin.asdf.write("a.asdf", {"a": np.zeros(10_000), "b": 1})
    inode = Path("a.asdf").stat().st_ino
    with scibin.asdf.edit("a.asdf", in_place=True) as f:
        f["b"] = 2
        f["a"] = np.ones(20_000)
    assert f.report is not None
    assert f.report.method == "in place"
    assert Path("a.asdf").stat().st_ino == inode
    assert scibin.asdf.open("a.asdf")["a"][-1] == 1
    with (
        pytest.raises(ValueError, match="in place"),
        scibin.asdf.edit("a.asdf", in_place=True) as f,
    ):
        f["long"] = "x" * 10_000


def test_two_editors_exclude_each_other() -> None:
    scibin.asdf.write("a.asdf", {"a": 1})
    with scibin.asdf.edit("a.asdf"), pytest.raises(BlockingIOError):
        scibin.asdf.edit("a.asdf")
