"""Tests of `scibin.bloscpack`, alone and compared with the original program."""

from __future__ import annotations

import collections
import collections.abc
import doctest
import fcntl
import hashlib
import importlib
import inspect
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import scibin
import scibin.asdf
import scibin.bloscpack as bp
from scibin.bloscpack import append, exceptions

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "testdata" / "bloscpack"
CASES = json.loads((GOLDEN / "expected.json").read_text())["cases"]
GOOD = [case for case in CASES if case["ours"].get("unpack") == ["good"]]
# The original program writes outside its memory for some of the hostile files.
HARMLESS = [case for case in GOOD if not case["file"].startswith("hostile/")]


@pytest.fixture(scope="session")
def original() -> ModuleType:
    """Return the original package, or skip the test."""
    # Python 3.10 removed this name, which the original still imports.
    collections.MutableMapping = collections.abc.MutableMapping  # type: ignore[attr-defined]
    return pytest.importorskip("bloscpack")


def arrays() -> list[np.ndarray[Any, Any]]:
    random = np.random.default_rng(7)
    record = np.zeros(300, [("a", ">f8"), ("b", "<i2", (3,)), ("c", "S5"), ("d", [("e", "u1")])])
    record["a"] = random.random(300)
    cube = random.integers(-9, 9, (30, 40, 50)).astype("<i4")
    return [
        random.random(100_000),
        cube,
        np.asfortranarray(cube),
        cube[::2, ::-3, 5],
        cube.T,
        random.random((70, 80)).astype(">f4"),
        (random.random(1000) + 1j * random.random(1000)).reshape(10, 100),
        np.array(["a", "bcd", "é"]),
        np.array([b"x", b"yz"]),
        np.arange("2026-01-01", "2026-03-01", dtype="M8[D]"),
        np.array(2.5),
        np.empty((0, 3)),
        random.random(1000) < 0.5,
        record,
        random.random(1000).astype("f2"),
    ]


@pytest.mark.parametrize("array", arrays(), ids=lambda array: f"{array.dtype}-{array.shape}")
def test_arrays_agree_with_the_original_in_both_directions(
    array: np.ndarray[Any, Any], original: ModuleType, tmp_path: Path
) -> None:
    path = str(tmp_path / "a.blp")
    # The chunk size is a multiple of the size of every element.
    options = {"chunk_size": 27 * 1000 * 16}
    bp.pack_ndarray_to_file(array, path, **options)
    # The original program does not close the file that it unpacks.
    theirs = original.unpack_ndarray_from_bytes(Path(path).read_bytes())
    assert theirs.dtype == array.dtype
    np.testing.assert_array_equal(theirs, array)

    original.pack_ndarray_to_file(array, path, **options)
    ours = bp.unpack_ndarray_from_file(path)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours, array)
    assert ours.flags.writeable
    assert ours.flags.f_contiguous == theirs.flags.f_contiguous
    assert ours.flags.c_contiguous == theirs.flags.c_contiguous


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case["name"])
def test_golden_files_have_the_expected_content(case: dict[str, Any]) -> None:
    data = bp.open(GOLDEN / case["file"]).read()
    assert len(data) == case["ours"]["plain_size"]
    assert hashlib.sha256(data).hexdigest() == case["ours"]["plain_sha256"]


@pytest.mark.parametrize("case", HARMLESS, ids=lambda case: case["name"])
def test_golden_files_agree_with_the_original(case: dict[str, Any], original: ModuleType) -> None:
    path = str(GOLDEN / case["file"])
    try:
        data, metadata = original.unpack_bytes_from_file(path)
    except Exception as error:
        pytest.skip(f"the original cannot read it: {error!r}")
    ours = bp.unpack_bytes_from_file(path)
    if hashlib.sha256(data).hexdigest() != case["ours"]["plain_sha256"]:
        pytest.skip("the original returns other data than the reference records")
    assert ours == (data, metadata)
    if isinstance(metadata, dict) and metadata.get("container") == "numpy":
        found = original.unpack_ndarray_from_bytes(Path(path).read_bytes())
        array = bp.unpack_ndarray_from_file(path)
        # The original program names the padding of records, and the elements of a scalar type.
        assert (array.shape, array.tobytes()) == (found.shape, found.tobytes())


def test_a_script_prints_the_same_with_either_import(
    original: ModuleType,
) -> None:
    def output(package: str) -> str:
        command = [sys.executable, str(HERE / "bloscpack_script.py"), package]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    theirs = output("bloscpack")
    assert theirs.count("\n") > 80
    assert output("scibin.bloscpack") == theirs


def test_signatures_begin_with_those_of_the_original(original: ModuleType) -> None:
    for name in dir(original):
        theirs = getattr(original, name)
        if not callable(theirs) or name.startswith("_") or inspect.isclass(theirs):
            continue
        expected = list(inspect.signature(inspect.unwrap(theirs)).parameters)
        found = list(inspect.signature(getattr(bp, name)).parameters)
        assert found[: len(expected)] == expected, name
        assert found[len(expected) :] == ["threads"], name


def test_exceptions_have_the_names_and_bases_of_the_original(original: ModuleType) -> None:
    theirs = importlib.import_module("bloscpack.exceptions")
    names = [name for name in dir(theirs) if inspect.isclass(getattr(theirs, name))]
    assert sorted(exceptions.__all__) == sorted(names)
    for name in names:
        base = getattr(theirs, name).__mro__[1]
        if base is not BaseException:
            assert issubclass(getattr(exceptions, name), base), name
    assert exceptions.ChecksumMismatch is scibin.ChecksumMismatch


def packed(size: int = 10_000, **options: Any) -> bytes:
    return bp.pack_bytes_to_bytes(bytes(size), 1000, **options)


def test_errors_have_the_usual_python_classes(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        bp.open(tmp_path / "none")
    assert missing.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        bp.open(tmp_path)
    with pytest.raises(scibin.FormatError) as foreign:
        bp.unpack_bytes_from_bytes(b"something else")
    assert foreign.value.code == "not-bloscpack"
    with pytest.raises(scibin.FormatError):
        bp.unpack_bytes_from_bytes(b"")
    with pytest.raises(TypeError):
        bp.unpack_bytes_from_bytes("a path")  # type: ignore[arg-type]
    with pytest.raises(exceptions.NotANumpyArray) as plain:
        bp.open(packed())[0]
    assert isinstance(plain.value, scibin.FormatError)
    assert isinstance(plain.value, RuntimeError)
    again = pickle.loads(pickle.dumps(plain.value))
    assert (type(again), str(again), again.code) == (
        exceptions.NotANumpyArray,
        str(plain.value),
        "not-numpy",
    )
    with pytest.raises(scibin.LimitError):
        bp.open(packed(), limits={"decoded": 100}).read()
    with pytest.raises(TypeError, match="expected one of allocation"):
        bp.open(packed(), limits={"memory": 100})
    with pytest.raises(ValueError, match="unknown compressor"):
        packed(blosc_args={"typesize": 8, "clevel": 7, "shuffle": 1, "cname": "none"})
    with pytest.raises(ValueError, match="blosc args lack"):
        packed(blosc_args={"typesize": 8})
    with pytest.raises(ValueError, match="metadata"):
        packed(metadata={"big": 1 << 70})


def test_a_damaged_chunk_is_reported_and_other_chunks_can_be_read() -> None:
    data = bytearray(packed(5000))
    chunk = bp.open(bytes(data)).chunks[2]
    data[chunk.offset + chunk.stored - 1] ^= 1
    file = bp.open(bytes(data))
    with pytest.raises(scibin.ChecksumMismatch) as error:
        file.read()
    assert error.value.block == 2
    assert file.read_at(0, 2000) == bytes(2000)
    report = bp.verify(bytes(data))
    assert not report.ok
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["BadChunk"]
    assert report.chunks == 5


def test_verify_reports_errors_that_stop_the_reader(tmp_path: Path) -> None:
    assert bp.verify(packed()).ok
    report = bp.verify(packed()[:-1])
    assert not report.ok
    assert report.diagnostics[0].severity == "error"
    with pytest.raises(scibin.FormatError):
        bp.verify(b"something else")
    with pytest.raises(FileNotFoundError):
        bp.verify(tmp_path / "none")


def test_recover_keeps_intact_chunks(tmp_path: Path) -> None:
    path = tmp_path / "new.blp"
    report = bp.recover(packed(3500)[:-1], path)
    assert (report.kept, report.nbytes) == (3, 3000)
    assert [loss.chunks for loss in report.lost] == [range(3, 4)]
    assert bp.unpack_bytes_from_file(path) == (bytes(3000), None)


def test_slices_read_only_the_necessary_chunks() -> None:
    array = np.random.default_rng(1).random((100, 1000))
    data = bp.pack_ndarray_to_bytes(array, 80_000)

    class Log:
        """A source that counts the bytes that are read."""

        gap = 0
        read = 0

        def __len__(self) -> int:
            return len(data)

        def read_at(self, offset: int, length: int) -> bytes:
            self.read += length
            return data[offset : offset + length]

    log = Log()
    file = bp.open(log)
    assert (file.shape, file.dtype, len(file.chunks)) == ((100, 1000), np.dtype("f8"), 10)
    log.read = 0
    np.testing.assert_array_equal(file[15, ::7], array[15, ::7])
    assert 0 < log.read < len(data) / 4
    np.testing.assert_array_equal(file.array[::-20], array[::-20])
    assert file.array.chunks == (10, 1000)


def test_random_basic_indices_select_the_same_elements_as_in_numpy() -> None:
    random = np.random.default_rng(3)
    for array in arrays():
        lazy = bp.open(bp.pack_ndarray_to_bytes(array, 27 * 1000 * 16)).array
        np.testing.assert_array_equal(np.asarray(lazy), array)
        for _ in range(20):
            index: list[Any] = []
            for count in array.shape:
                if count and random.random() < 0.3:
                    index.append(int(random.integers(-count, count)))
                else:
                    start, stop = random.integers(-count - 2, count + 2, 2)
                    step = int(random.choice([-3, -1, 1, 2]))
                    index.append(slice(int(start), int(stop), step))
            found, expected = lazy[tuple(index)], array[tuple(index)]
            np.testing.assert_array_equal(found, expected)
            assert np.asarray(found).dtype == expected.dtype


def test_a_field_of_records_can_be_indexed() -> None:
    record = arrays()[13]
    lazy = bp.open(bp.pack_ndarray_to_bytes(record)).array
    np.testing.assert_array_equal(lazy["b"][5:9, 1], record["b"][5:9, 1])
    with pytest.raises(KeyError):
        lazy["none"]


def test_arrays_can_be_written_to_asdf_files() -> None:
    array = np.arange(12).reshape(3, 4)
    lazy = bp.open(bp.pack_ndarray_to_bytes(array)).array
    found = scibin.asdf.loads(scibin.asdf.dumps({"a": lazy}))["a"]
    np.testing.assert_array_equal(found, array)


def test_files_and_arrays_are_pickled_as_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.blp"
    array = np.arange(20.0).reshape(4, 5)
    bp.pack_ndarray_to_file(array, path)
    file = bp.open(path)
    again = pickle.loads(pickle.dumps(file))
    np.testing.assert_array_equal(again[...], array)
    part = pickle.loads(pickle.dumps(file.array.slice(slice(1, 3))))
    np.testing.assert_array_equal(part.read(), array[1:3])
    stored = pickle.dumps(file)
    bp.pack_ndarray_to_file(array + 1, path, bloscpack_args={**bp.BloscpackArgs(checksum="md5")})
    with pytest.raises(OSError, match="has changed"):
        pickle.loads(stored)
    with pytest.raises(TypeError):
        pickle.dumps(bp.open(bp.pack_bytes_to_bytes(b"")))


def test_reading_a_closed_file_is_an_error() -> None:
    with bp.open(bp.pack_ndarray_to_bytes(np.arange(3))) as file:
        lazy = file.array
        values = lazy[...]
    assert file.closed
    assert values.tolist() == [0, 1, 2]
    for read in (file.read, lazy.read, lambda: file.metadata):
        with pytest.raises(ValueError, match="file is closed"):
            read()


def test_an_existing_output_file_survives_a_failure(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    damaged = tmp_path / "damaged.blp"
    damaged.write_bytes(packed()[:-1] + b"\xff")
    with pytest.raises(scibin.FormatError):
        bp.unpack_file_from_file(damaged, out)
    with pytest.raises(exceptions.MetadataSectionTooSmall):
        bp.pack_bytes_to_file(
            b"x", out, metadata={}, metadata_args=bp.MetadataArgs(max_meta_size=0)
        )
    assert out.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["damaged.blp", "out"]


def test_appending_is_rejected_without_space_and_extends_arrays_on_request(tmp_path: Path) -> None:
    path, new = tmp_path / "a.blp", tmp_path / "new"
    new.write_bytes(bytes(5000))
    args = bp.BloscpackArgs(max_app_chunks=1)
    bp.pack_bytes_to_file(b"x", path, bloscpack_args=args)
    bp.pack_bytes_to_file(bytes(1000), path, 1000, bloscpack_args=args)
    before = path.read_bytes()
    with pytest.raises(exceptions.NotEnoughSpace):
        append.append(path, new)
    assert path.read_bytes() == before
    with pytest.raises(FileNotFoundError):
        append.append(path, tmp_path / "none")

    array = np.arange(10.0).reshape(2, 5)
    bp.pack_ndarray_to_file(array, path)
    new.write_bytes(array.tobytes())
    with pytest.raises(ValueError, match="array"):
        append.append(path, new)
    append.append(path, new, in_place=True, rows=True, threads=1)
    np.testing.assert_array_equal(bp.unpack_ndarray_from_file(path), np.vstack([array, array]))


def test_appending_to_a_file_that_another_process_changes_raises_blocking_io_error(
    tmp_path: Path,
) -> None:
    path, new = tmp_path / "a.blp", tmp_path / "new"
    new.write_bytes(b"x")
    bp.pack_bytes_to_file(b"x", path)
    with path.open("r+b") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX)
        append.append(path, new)


def _sum(path: Path) -> float:
    return float(bp.unpack_ndarray_from_file(path).sum())


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_can_read_after_its_parent(method: str, tmp_path: Path) -> None:
    path = tmp_path / "a.blp"
    bp.pack_ndarray_to_file(np.arange(1e6), path, 100_000)
    expected = _sum(path)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(_sum, [path] * 4).get(timeout=60) == [expected] * 4


def test_the_number_of_threads_does_not_change_the_result() -> None:
    data = os.urandom(100_000) * 10
    one = bp.pack_bytes_to_bytes(data, 100_000, threads=1)
    assert one == bp.pack_bytes_to_bytes(data, 100_000, threads=2)
    assert bp.unpack_bytes_from_bytes(one, threads=1)[0] == data
    with pytest.raises(ValueError, match="threads is 0"):
        bp.pack_bytes_to_bytes(data, threads=0)


def _limit_memory() -> None:
    resource = pytest.importorskip("resource")
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def _use_hostile_files(out: Path) -> tuple[int, int]:
    """Read every file of the corpus, and return the number of files and the number of errors."""
    folders = [GOLDEN]
    if "SCIBIN_CORPUS" in os.environ:
        folders.append(Path(os.environ["SCIBIN_CORPUS"]) / "bloscpack")
    files = [path for folder in folders for path in folder.rglob("*.blp")]
    limits = {"decoded": 64 << 20}
    errors = 0
    for path in files:
        for use in (
            lambda path=path: bp.open(path, limits=limits).read(),
            lambda path=path: bp.open(path, limits=limits).array.read(),
            lambda path=path: bp.open(path, limits=limits).read_array(),
            lambda path=path: bp.open(path).metadata,
            lambda path=path: bp.verify(path),
            lambda path=path: bp.recover(path, out),
        ):
            try:
                use()
            except scibin.FormatError as error:
                errors += error.code is not None
    return len(files), errors


def test_hostile_files_raise_only_format_errors_and_need_little_memory(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1, _limit_memory) as pool:
        files, errors = pool.apply_async(_use_hostile_files, [tmp_path / "out"]).get(timeout=120)
    assert files > 100
    assert errors > 50


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_and_descriptors_do_not_leak(tmp_path: Path) -> None:
    path = tmp_path / "a.blp"
    bp.pack_ndarray_to_file(np.random.default_rng(1).random(500_000), path)

    def used() -> tuple[int, int]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd"))

    def use(times: int) -> None:
        for _ in range(times):
            bp.unpack_ndarray_from_file(path)
            bp.open(path)[::1000]

    use(20)
    memory, descriptors = used()
    use(200)
    more, after = used()
    assert after == descriptors
    assert more - memory < 20 << 20


def test_examples_of_the_documentation_run() -> None:
    page = HERE.parent / "docs" / "coming-from-bloscpack.md"
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert attempted > 5
    assert failed == 0
