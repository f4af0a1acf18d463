"""Tests of `scibin.dudley`."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scibin
from scibin import dudley

TEXT = "< N : i2  x = f8[N]  p = { id = i4  pos = f4[2] }[2]  name = S1[2, 3]  l [u1, u1[2]]"


def data() -> bytes:
    record = np.zeros(2, [("id", "<i4"), ("pos", "<f4", (2,))])
    record["id"] = [7, 8]
    record["pos"] = [[1, 2], [3, 4]]
    head = (3).to_bytes(2, "little") + bytes(6) + np.arange(3.0).tobytes()
    return head + record.tobytes() + b"ab\0cde" + bytes([9, 10, 11])


def test_arrays_are_read_by_path() -> None:
    with dudley.open(data(), TEXT) as file:
        assert list(file) == ["/N", "/x", "/p", "/name", "/l/0", "/l/1"] or len(file) == 6
        np.testing.assert_array_equal(file["/x"], np.arange(3.0))
        assert file["/x"][::-1].tolist() == [2.0, 1.0, 0.0]
        assert file["x"].shape == (3,)
        np.testing.assert_array_equal(file["/p.pos"], [[1, 2], [3, 4]])
        np.testing.assert_array_equal(file["/p"]["id"][...], [7, 8])
        np.testing.assert_array_equal(file["/p[1].pos"], [3, 4])
        assert file["/name"][...].tolist() == [b"ab", b"cde"]
        assert file["/N"][...] == 3
        assert file["/l[1]"][...].tolist() == [10, 11]
        assert file.order == "<"
        assert file.layout == dudley.Layout.parse(TEXT)
        for path in ("/none", "/l", "x["):
            with pytest.raises(KeyError):
                file[path]
        assert "/none" not in file
        lazy = file["/x"]
    with pytest.raises(ValueError, match="file is closed"):
        lazy.read()
    with pytest.raises(ValueError, match="file is closed"):
        file["/x"]


def test_order_and_parameters_are_used_if_the_file_does_not_specify_them() -> None:
    numbers = np.array([1, 2, 3], ">u2")
    file = dudley.open(numbers.tobytes(), "x = u2[3]", order=">")
    np.testing.assert_array_equal(file["/x"], [1, 2, 3])
    with pytest.raises(ValueError, match="order"):
        dudley.open(b"", "x = u2", order="big")  # type: ignore[arg-type]
    layout = dudley.Layout.parse("N : i4  x = f8[N]")
    (n, x) = layout.addresses(native=True, order="<", parameters={"N": 5})
    assert (n.path, n.address, n.nbytes) == ("/N", 16, 4)
    assert (x.address, x.shape, x.dtype, x.nbytes) == (24, (5,), "<f8", 40)
    with pytest.raises(scibin.FormatError):
        layout.addresses()


def test_addresses_are_read_from_a_stream(tmp_path: Path) -> None:
    layout = dudley.Layout.parse(TEXT)
    path = tmp_path / "data.bin"
    path.write_bytes(data())
    for stream in (data(), path):
        rows = {row.path: row for row in layout.addresses(stream)}
        assert (rows["/x"].address, rows["/x"].shape) == (8, (3,))
    with pytest.raises(FileNotFoundError):
        layout.addresses(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        layout.addresses(tmp_path)


def test_errors_in_a_layout_have_a_position() -> None:
    with pytest.raises(scibin.FormatError) as error:
        dudley.Layout.parse("x = f8\ny = f9")
    assert (error.value.line, error.value.column) == (2, 5)
    assert error.value.code
    with pytest.raises(scibin.FormatError):
        dudley.open(b"", "x = ")
    (warning, *_) = dudley.Layout.parse("x = f8[010]").check()
    assert (warning.line, warning.severity) == (1, warning.severity)
    assert warning.severity in ("note", "warning")


def test_short_and_foreign_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(scibin.FormatError) as short:
        dudley.open(data()[:20], TEXT)["/x"].read()
    assert short.value.code
    with pytest.raises(ValueError, match="layout") as none:
        dudley.open(b"something")
    assert not isinstance(none.value, scibin.FormatError)
    with pytest.raises(FileNotFoundError):
        dudley.open(tmp_path / "none", TEXT)
    with pytest.raises(TypeError):
        dudley.open(5, TEXT)  # type: ignore[arg-type]


def test_files_arrays_and_layouts_are_pickled(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(data())
    file = dudley.open(path, TEXT)
    again = pickle.loads(pickle.dumps(file))
    np.testing.assert_array_equal(again["/x"], np.arange(3.0))
    part = pickle.loads(pickle.dumps(file["/x"].slice(slice(1, None))))
    assert part.read().tolist() == [1.0, 2.0]
    layout = dudley.Layout.parse(TEXT)
    assert pickle.loads(pickle.dumps(layout)) == layout
    with pytest.raises(TypeError):
        pickle.dumps(dudley.open(data(), TEXT))


def test_mapped_arrays_are_read_only(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(data())
    array = dudley.open(path, TEXT, memmap=True)["/x"].read()
    assert not array.flags.writeable
    assert array.tolist() == [0.0, 1.0, 2.0]
    strided = dudley.open(path, TEXT, memmap=True)["/p.pos"].read()
    np.testing.assert_array_equal(strided, [[1, 2], [3, 4]])


def test_only_the_needed_bytes_of_a_source_are_read() -> None:
    big = np.arange(1_000_000.0)

    class Log:
        """A source that counts the bytes that are read."""

        gap = 0
        read = 0
        data = big.tobytes()

        def __len__(self) -> int:
            return len(self.data)

        def read_at(self, offset: int, length: int) -> bytes:
            self.read += length
            return self.data[offset : offset + length]

    log = Log()
    file = dudley.open(log, "x = f8[1000, 1000]", order="<")
    log.read = 0
    np.testing.assert_array_equal(file["/x"][500, ::100], big.reshape(1000, 1000)[500, ::100])
    assert log.read <= 128 << 10


def test_layouts_of_the_conformance_suite_raise_only_expected_exceptions() -> None:
    folder = Path(__file__).parents[2] / "testdata" / "dudley"
    texts = [path.read_bytes() for path in folder.rglob("*.dud")]
    for path in folder.rglob("*.json"):
        texts += [text.encode() for text in _texts(json.loads(path.read_text()))]
    assert len(texts) > 100
    good = 0
    for text in texts:
        try:
            layout = dudley.Layout.parse(text)
            layout.check()
            layout.addresses(bytes(64), order="<")
            file = dudley.open(bytes(64), layout, order="<")
            for name in file:
                file[name].read()
            good += 1
        except (scibin.FormatError, KeyError, ValueError, MemoryError):
            pass
    assert good > 10


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) and "=" in value else []
