"""Tests of files in memory, in objects that read by position, and in remote stores."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

import scibin
import scibin.asdf
from scibin.sources import FsspecSource, ObstoreSource, Source


class Log:
    """A source that keeps a log of its requests."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.requests: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.data)

    def read_at(self, offset: int, length: int) -> memoryview:
        self.requests.append((offset, length))
        return memoryview(self.data)[offset : offset + length]


IMAGE = np.arange(2048 * 2048, dtype="f4").reshape(2048, 2048)


@pytest.fixture(scope="module")
def data() -> bytes:
    """Return the bytes of a file with a long tree, a raw image and many blocks."""
    tree: dict[str, Any] = {"image": IMAGE, "meta": [{"key": f"value {i}"} for i in range(20_000)]}
    return scibin.asdf.dumps(tree | {f"x{i}": np.full(1000, i) for i in range(300)})


def test_a_file_is_opened_with_at_most_three_requests(data: bytes) -> None:
    source = Log(data)
    assert isinstance(source, Source)
    f = scibin.asdf.open(source)
    assert f["meta"][19_999]["key"] == "value 19999"
    assert f["image"].shape == IMAGE.shape
    assert f["x299"].dtype == np.int64
    assert len(source.requests) <= 3


def test_a_tile_of_a_raw_image_is_read_with_one_request(data: bytes) -> None:
    source = Log(data)
    image = scibin.asdf.open(source)["image"]
    source.requests.clear()
    np.testing.assert_array_equal(image[512:768, 100:356], IMAGE[512:768, 100:356])
    assert len(source.requests) == 1
    assert source.requests[0][1] <= 256 * 2048 * 4


def test_gaps_larger_than_that_of_the_source_are_skipped(data: bytes) -> None:
    source = Log(data)
    source.gap = 0  # type: ignore[attr-defined]
    image = scibin.asdf.open(source)["image"]
    source.requests.clear()
    np.testing.assert_array_equal(image[900:904, :8], IMAGE[900:904, :8])
    assert [length for _, length in source.requests] == [32] * 4


def test_an_exception_raised_by_a_source_is_passed_on_unchanged(data: bytes) -> None:
    class Gone(Log):
        def read_at(self, offset: int, length: int) -> memoryview:
            if self.requests and len(self.requests) > 2:
                raise PermissionError("expired")
            return super().read_at(offset, length)

    f = scibin.asdf.open(Gone(data))
    with pytest.raises(PermissionError, match="expired"):
        for i in range(5):
            f["image"][i * 300].sum()


def test_a_source_that_returns_too_few_bytes_raises_os_error(data: bytes) -> None:
    class Short(Log):
        def read_at(self, offset: int, length: int) -> memoryview:
            return super().read_at(offset, length)[:-1]

    with pytest.raises(OSError, match="returned"):
        scibin.asdf.open(Short(data))


def test_threads_read_from_one_source_at_the_same_time(data: bytes) -> None:
    barrier = threading.Barrier(2, timeout=30)

    class Both(Log):
        together = False

        def read_at(self, offset: int, length: int) -> memoryview:
            if self.together:
                barrier.wait()
            return super().read_at(offset, length)

    source = Both(data)
    image = scibin.asdf.open(source)["image"]
    source.together = True
    results: list[float] = []
    threads = [
        threading.Thread(target=lambda row=row: results.append(float(image[row, 0])))
        for row in (100, 1500)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [float(IMAGE[100, 0]), float(IMAGE[1500, 0])]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.frombuffer])
def test_bytes_like_objects_can_be_opened(kind: Any) -> None:
    data = scibin.asdf.dumps({"a": np.arange(3)})
    f = scibin.asdf.open(kind(data) if kind is not np.frombuffer else np.frombuffer(data, "u1"))
    np.testing.assert_array_equal(f["a"], [0, 1, 2])


def test_a_url_is_opened_by_fsspec(data: bytes) -> None:
    fsspec = pytest.importorskip("fsspec")
    fs = fsspec.filesystem("memory")
    fs.pipe("/bucket/a.asdf", data)
    f = scibin.asdf.open("memory://bucket/a.asdf")
    np.testing.assert_array_equal(f["image"][7, :5], IMAGE[7, :5])
    copy = pickle.loads(pickle.dumps(f["x7"]))
    assert copy[0] == 7
    assert scibin.asdf.open(FsspecSource(fs, "/bucket/a.asdf"))["x1"][0] == 1
    with pytest.raises(FileNotFoundError):
        scibin.asdf.open("memory://bucket/absent.asdf")


def test_a_file_in_an_obstore_store_is_opened(data: bytes) -> None:
    obstore = pytest.importorskip("obstore")
    store = obstore.store.MemoryStore()
    obstore.put(store, "a.asdf", data)
    f = scibin.asdf.open(ObstoreSource(store, "a.asdf"))
    np.testing.assert_array_equal(f["image"][7, :5], IMAGE[7, :5])
