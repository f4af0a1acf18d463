"""Tests of arrays in many files on a cluster of processes."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
import pytest
from distributed import Client, LocalCluster

import scibin.asdf
import scibin.dask


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the paths of 1,000 files with an image each."""
    folder = tmp_path_factory.mktemp("images")
    paths = [folder / f"{i:04}.asdf" for i in range(1000)]
    ramp = np.linspace(-1, 1, 64 * 64, dtype="float32").reshape(64, 64)
    for i, path in enumerate(paths):
        scibin.asdf.write(path, {"image": ramp + np.float32(i)})
    return paths


def _mean(paths: list[Path]) -> npt.NDArray[np.float64]:
    total = np.zeros((64, 64))
    for path in paths:
        with scibin.asdf.open(path) as file:
            total += file["image"].read()
    return total / len(paths)


def test_the_mean_of_a_thousand_files_equals_the_result_of_numpy(
    client: Client, images: list[Path]
) -> None:
    mean = scibin.dask.stack(images, "image").mean(axis=0, dtype="float64").compute()
    np.testing.assert_allclose(mean, _mean(images), rtol=1e-6)


def test_a_task_contains_no_data(images: list[Path]) -> None:
    stacked = scibin.dask.stack(images, "image", files_per_task=100)
    assert stacked.numblocks == (10, 1, 1)
    assert len(pickle.dumps(dict(stacked.__dask_graph__()))) < 300 * len(images)


def test_the_result_is_correct_even_if_a_worker_is_killed(
    client: Client, images: list[Path]
) -> None:
    mean = scibin.dask.stack(images, "image", files_per_task=10).mean(axis=0, dtype="float64")
    processes = client.run(os.getpid)

    def kill() -> None:
        time.sleep(0.3)
        os.kill(next(iter(processes.values())), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    result = mean.compute()
    thread.join()
    np.testing.assert_allclose(result, _mean(images), rtol=1e-6)


@pytest.fixture
def damaged(images: list[Path], tmp_path: Path) -> list[Path]:
    """Return the paths of four files, the third of which is damaged."""
    paths = []
    for path in images[:4]:
        copy = tmp_path / path.name
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    paths[2].write_bytes(paths[2].read_bytes()[:5000])
    return paths


def test_errors_for_damaged_files_contain_the_path(client: Client, damaged: list[Path]) -> None:
    stacked = scibin.dask.stack(damaged, "image")
    with pytest.raises(scibin.FormatError) as raised:
        stacked.compute()
    assert raised.value.path == str(damaged[2])


def test_damaged_files_can_be_replaced_by_nan_and_are_listed(
    client: Client, damaged: list[Path]
) -> None:
    stacked = scibin.dask.stack(damaged, "image", errors="nan", return_failed=True)
    mean, failed = dask.compute(da.nanmean(stacked.array, axis=(1, 2)), stacked.failed)
    assert failed == [str(damaged[2])]
    np.testing.assert_allclose(mean, [0, 1, np.nan, 3], atol=1e-5)


def _compute(array: Any) -> Any:
    with dask.config.set(scheduler="synchronous"):
        return array.compute()


def test_integers_become_floats_if_files_may_be_replaced_by_nan(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scibin.asdf.write("a.asdf", {"x": np.arange(3)})
    Path("b.asdf").write_bytes(b"#ASDF 1.0.0\n")
    with pytest.warns(UserWarning, match="int64 has no NaN: the result is float64"):
        stacked = scibin.dask.stack(["a.asdf", "b.asdf"], "x", errors="nan", files_per_task=2)
    np.testing.assert_array_equal(_compute(stacked), [[0, 1, 2], [np.nan] * 3])
    assert caplog.messages == ["1 of 2 files cannot be read: b.asdf"]


def test_an_array_that_differs_from_the_first_one_is_an_error_with_its_path() -> None:
    scibin.asdf.write("a.asdf", {"x": np.zeros(3)})
    scibin.asdf.write("b.asdf", {"x": np.zeros(4)})
    paths = ["a.asdf", "b.asdf"]
    message = r"^b.asdf: the array is float64 \(4,\), but the first one is float64 \(3,\)"
    with pytest.raises(ValueError, match=message):
        scibin.dask.stack(paths, "x", check="all")
    stacked = scibin.dask.stack(paths, "x")
    with pytest.raises(ValueError, match=message):
        _compute(stacked)


def test_an_empty_list_and_a_missing_array_are_errors() -> None:
    with pytest.raises(ValueError, match="no files to stack"):
        scibin.dask.stack([], "x")
    scibin.asdf.write("a.asdf", {"x": 1})
    with pytest.raises(TypeError, match=r"a.asdf: x is int, not an array"):
        scibin.dask.open("a.asdf", "x")
    with pytest.raises(KeyError):
        scibin.dask.open("a.asdf", "y")


@pytest.mark.parametrize(
    ("compression", "tiles"), [(None, [16, 16, 16, 2]), ("lz4", None), ("zlib", [50])]
)
def test_tiles_do_not_divide_rows_that_are_decoded_together(
    compression: str | None, tiles: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(50 * 65536, dtype="float64").reshape(50, 65536)
    scibin.asdf.write("a.asdf", {"x": values}, compression=compression)
    monkeypatch.setattr("scibin.dask.TARGET", 8 << 20)
    array = scibin.dask.open("a.asdf", "x")
    rows = list(array.chunks[0])
    if tiles is not None:
        assert rows == tiles
    else:
        with scibin.asdf.open("a.asdf") as file:
            unit = file["x"].chunks[0]
        assert len(rows) > 1
        assert all(count % unit == 0 for count in rows[:-1])
    np.testing.assert_array_equal(_compute(array), values)


@pytest.mark.parametrize(
    ("compression", "divided"), [(None, [1, 2]), ("lz4", [1]), ("blsc", [1]), ("zlib", [])]
)
def test_large_rows_are_divided_unless_they_are_compressed_as_a_single_stream(
    compression: str | None, divided: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(1024 * 1024, dtype="float64").reshape(1, 1024, 1024)
    scibin.asdf.write("a.asdf", {"x": values}, compression=compression)
    monkeypatch.setattr("scibin.dask.TARGET", 2 << 20)
    array = scibin.dask.open("a.asdf", "x")
    assert [axis for axis in range(3) if array.numblocks[axis] > 1] in (divided, divided[:1])
    assert (array.npartitions > 1) == bool(divided)
    np.testing.assert_array_equal(_compute(array), values)


def test_several_paths_open_a_list_of_arrays_with_their_own_shapes() -> None:
    scibin.asdf.write("a.asdf", {"x": np.zeros(3)})
    scibin.asdf.write("b.asdf", {"x": np.ones((2, 2), ">i2")})
    arrays = scibin.dask.open(["a.asdf", "b.asdf"], "x", chunks=1)
    assert [array.shape for array in arrays] == [(3,), (2, 2)]
    assert _compute(arrays[1]).tolist() == [[1, 1], [1, 1]]
