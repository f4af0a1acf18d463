"""Tests that arrays in the golden files and the corpus equal those that the asdf package reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import scibin
import scibin.asdf
from conftest import GOLDEN, corpus
from scibin import NDArray

asdf = pytest.importorskip("asdf")

THEIRS_DIFFERS = {
    "034_zlib_truncated.asdf": "asdf does not notice that the checksum of the stream is truncated",
    "054_header_2_spaces.asdf": "asdf converts no tags after such a header line",
    "056_header_trailing_space.asdf": "asdf converts no tags after such a header line",
    "inline_null.asdf": "asdf reads a masked element of an inline array as None",
}
"""The files in which the asdf package reads an array differently, with the reasons."""


def files() -> list[Path]:
    folders = [GOLDEN / "asdf"] + [folder / "asdf" for folder in [corpus()] if folder]
    return sorted(path for folder in folders for path in folder.rglob("*.asdf"))


def walk(root: Any) -> Iterator[tuple[str, NDArray]]:
    """Yield all arrays below a value with their pointers. Trees may be deep and have cycles."""
    stack, seen = [("", root)], set()
    while stack:
        pointer, value = stack.pop()
        if isinstance(value, NDArray):
            yield pointer, value
        elif isinstance(value, (dict, list)) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            stack.extend((f"{pointer}/{key}", item) for key, item in items)


def theirs_at(tree: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        tree = tree[int(token) if isinstance(tree, (list, tuple)) else token]
    return tree


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
@pytest.mark.filterwarnings("ignore")
def test_arrays_equal_those_of_asdf(path: Path) -> None:
    if path.name in THEIRS_DIFFERS:
        pytest.skip(THEIRS_DIFFERS[path.name])
    try:
        theirs = asdf.open(path)
    except Exception:
        # The tests of the crate cover files that asdf rejects, using recorded results.
        return
    with theirs, scibin.asdf.open(path) as ours:
        for pointer, array in walk(ours.to_dict(arrays="lazy", errors="keep")):
            try:
                want = theirs_at(theirs.tree, pointer)[...]
            except Exception:
                continue
            compare(array.masked(), want, pointer)


def compare(got: Any, want: Any, pointer: str) -> None:
    """Fail if two arrays differ in value, dtype or mask."""
    mask = np.broadcast_to(np.ma.getmask(want), got.shape)
    want = np.ma.getdata(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype), pointer
    if got.dtype.names is not None:
        np.testing.assert_array_equal(got.data, want, pointer)
        return
    visible = ~np.ma.getmaskarray(got)
    np.testing.assert_array_equal(got.data[visible], want[visible], pointer)
    np.testing.assert_array_equal(~visible, mask, pointer)


DTYPES = ["i1", ">i2", "<i4", "u8", "f2", ">f4", "f8", "c8", ">c16", "?", "S3", "U2", "i4,>f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=500, deadline=None, database=None)
@given(data=st.data())
def test_an_index_selects_the_same_elements_as_in_numpy(dtype: str, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    size = int(np.prod(shape))
    raw = np.arange(size * np.dtype(dtype).itemsize, dtype="u1") % 97 + 1
    if dtype == "?":
        raw %= 2
    if dtype == "U2":
        whole = np.array(["ab"[: i % 3] for i in range(size)], "U2").reshape(shape)
    else:
        whole = raw.view(dtype).reshape(shape)
    if data.draw(st.booleans()):
        whole = whole.T
    index = data.draw(arrays.basic_indices(whole.shape, allow_newaxis=True))
    codec = data.draw(st.sampled_from([None, "lz4"]))
    array = scibin.asdf.loads(scibin.asdf.dumps({"a": whole}, compression=codec))["a"]
    got, want = array[index], whole[index]
    assert type(got) is type(want)
    assert np.shape(got) == np.shape(want)
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()
