"""Tests of the engine for xarray."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import xarray

import scibin.asdf


def test_the_engine_is_found_and_recognises_files_by_their_content() -> None:
    scibin.asdf.write("file.data", {"x": np.arange(3)})
    engine = xarray.backends.list_engines()["scibin"]
    assert engine.guess_can_open("file.data")
    Path("other.asdf").write_bytes(b"SIMPLE")
    assert not engine.guess_can_open("other.asdf")
    assert not engine.guess_can_open("missing.asdf")
    with xarray.open_dataset("file.data") as dataset:
        assert dataset.x.values.tolist() == [0, 1, 2]


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_variables_are_indexed_with_slices_lists_and_conditions(compression: str | None) -> None:
    values = np.arange(24.0).reshape(4, 6)
    scibin.asdf.write("a.asdf", {"x": values}, compression=compression)
    x = xarray.open_dataset("a.asdf", engine="scibin", cache=False).x
    np.testing.assert_array_equal(x[1:, ::2], values[1:, ::2])
    np.testing.assert_array_equal(x[::-1, -1], values[::-1, -1])
    np.testing.assert_array_equal(x[[3, 0], [1, 1, 2]], values[np.ix_([3, 0], [1, 1, 2])])
    np.testing.assert_array_equal(x.where(x > 7, drop=True)[-1], values[-1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), values)


def test_groups_names_and_attributes_come_from_the_tree() -> None:
    records = np.zeros(2, [("a", "f4")])
    tree = {"roman": {"data": np.zeros((2, 3)), "err": np.ones(2), "t": records, "gain": 2.5}}
    scibin.asdf.write("a.asdf", tree)
    dims = {"data": ["y", "x"]}
    dataset = xarray.open_dataset("a.asdf", engine="scibin", group="/roman", dims=dims)
    assert set(dataset.variables) == {"data", "err"}
    assert dataset.data.dims == ("y", "x")
    assert dataset.err.dims == ("err_0",)
    assert dataset.attrs == {"gain": 2.5}
    dropped = xarray.open_dataset("a.asdf", engine="scibin", group="roman", drop_variables=["err"])
    assert set(dropped.variables) == {"data"}
    with pytest.raises(TypeError, match="/roman/gain is not a mapping"):
        xarray.open_dataset("a.asdf", engine="scibin", group="/roman/gain")


def test_masked_elements_are_nan() -> None:
    masked = np.ma.MaskedArray([1.0, 2.0, 3.0], [False, True, False])
    scibin.asdf.write("a.asdf", {"x": masked})
    x = xarray.open_dataset("a.asdf", engine="scibin").x
    np.testing.assert_array_equal(x, [1, np.nan, 3])


def test_a_directory_of_files_is_concatenated() -> None:
    for i in range(50):
        scibin.asdf.write(f"{i:02}.asdf", {"x": np.full((3, 4), i)}, compression="lz4")
    with xarray.open_mfdataset(
        "*.asdf", engine="scibin", combine="nested", concat_dim="file", chunks={}
    ) as dataset:
        assert dataset.x.shape == (50, 3, 4)
        np.testing.assert_array_equal(dataset.x[:, 0, 0].compute(), np.arange(50))


def test_a_closed_dataset_cannot_be_read() -> None:
    scibin.asdf.write("a.asdf", {"x": np.arange(3)})
    dataset = xarray.open_dataset("a.asdf", engine="scibin")
    dataset.close()
    with pytest.raises(ValueError, match="file is closed"):
        dataset.x.load()
