"""Tests of `scibin.flux_archive`."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import stat
import sys
from pathlib import Path

import pytest

import scibin
from scibin import flux_archive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="archives need Unix")


def entries() -> list[dict[str, object]]:
    return [
        {"path": "d", "mode": stat.S_IFDIR | 0o755},
        {"path": "d/link", "mode": stat.S_IFLNK | 0o777, "data": "text"},
        {
            "path": "d/text",
            "mode": stat.S_IFREG | 0o640,
            "mtime": 1_700_000_000,
            "encoding": "utf-8",
            "size": 5,
            "data": "é\nb\n",
        },
        {
            "path": "bytes",
            "mode": stat.S_IFREG | 0o755,
            "encoding": "base64",
            "size": 300,
            "data": base64.b64encode(bytes(range(256)) + bytes(44)).decode(),
        },
        {"path": "json", "mode": stat.S_IFREG | 0o644, "data": {"a": [1, 2]}},
    ]


def archive(extra: list[dict[str, object]] | None = None) -> bytes:
    return json.dumps(entries() + (extra or [])).encode()


def test_entries_are_found_by_path() -> None:
    with flux_archive.open(archive()) as found:
        assert list(found) == ["d", "d/link", "d/text", "bytes", "json"]
        text = found["d/text"]
        assert (text.type, text.mode, text.size, text.mtime) == ("file", 0o100640, 5, 1_700_000_000)
        assert text.read() == "é\nb\n".encode()
        assert text.read(2, 2) == b"\nb"
        assert found["bytes"].read(250, 10) == bytes(range(250, 256)) + bytes(4)
        assert found["bytes"].read(1000) == b""
        assert json.loads(found["json"].read()) == {"a": [1, 2]}
        link = found["d/link"]
        assert (link.type, link.target, link.size) == ("symlink", "text", 0)
        with pytest.raises(IsADirectoryError):
            found["d"].read()
        with pytest.raises(ValueError, match="symbolic link"):
            link.read()
        with pytest.raises(KeyError):
            found["none"]
        assert found.verify().ok
        assert found.diagnostics == ()
    with pytest.raises(ValueError, match="file is closed"):
        text.read()


def test_extracted_files_equal_the_entries(tmp_path: Path) -> None:
    report = flux_archive.open(archive()).extract(tmp_path)
    assert (report.files, report.directories, report.links) == (3, 1, 1)
    assert report.failures == {}
    assert (tmp_path / "d/text").read_text() == "é\nb\n"
    assert (tmp_path / "d/text").stat().st_mtime == 1_700_000_000
    assert os.readlink(tmp_path / "d/link") == "text"
    assert os.access(tmp_path / "bytes", os.X_OK)

    (tmp_path / "json").write_text("old")
    again = flux_archive.open(archive()).extract(tmp_path, ["json"])
    assert list(again.failures) == ["json"]
    assert (tmp_path / "json").read_text() == "old"
    again = flux_archive.open(archive()).extract(tmp_path, ["json"], overwrite=True)
    assert (again.files, again.failures) == (1, {})
    with pytest.raises(KeyError):
        flux_archive.open(archive()).extract(tmp_path, ["none"])
    with pytest.raises(FileNotFoundError):
        flux_archive.open(archive()).extract(tmp_path / "none")


@pytest.mark.parametrize("path", ["../out", "/out", "d/../../out", "d/link/../../out"])
def test_paths_that_lead_outside_are_rejected_or_kept_inside(path: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    bad = {"path": path, "mode": stat.S_IFREG | 0o644, "data": 5}
    with contextlib.suppress(scibin.FormatError):
        flux_archive.open(archive([bad])).extract(inside)
    assert os.listdir(tmp_path) == ["inside"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "d").symlink_to(outside)
    report = flux_archive.open(archive()).extract(inside, overwrite=True)
    assert "d/text" in report.failures
    assert os.listdir(outside) == []
    bad = [{"path": "out", "mode": stat.S_IFLNK | 0o777, "data": "../outside"}]
    other = tmp_path / "other"
    other.mkdir()
    report = flux_archive.open(archive(bad)).extract(other)
    # Links are created as they are, but never followed.
    assert report.failures == {}
    assert os.readlink(other / "out") == "../outside"
    assert os.listdir(outside) == []


def test_a_created_archive_contains_the_files(tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "d").mkdir(parents=True)
    (base / "d/text").write_text("text\n")
    (base / "big").write_bytes(os.urandom(3_000_000))
    (base / "link").symlink_to("big")
    path, store = tmp_path / "a.json", tmp_path / "store"
    report = flux_archive.create(path, ["d", "big", "link"], base=base, store=store)
    assert (report.entries, report.changed) == (4, ())
    with flux_archive.open(path, store=store) as found:
        assert found["big"].read() == (base / "big").read_bytes()
        assert found["d/text"].read() == b"text\n"
        assert found["link"].target == "big"
        verified = found.verify()
        assert verified.ok
        assert verified.blobs >= 3
        again = pickle.loads(pickle.dumps(found))
        assert again["big"].read(2_999_990) == (base / "big").read_bytes()[-10:]
    with flux_archive.open(path) as without:
        with pytest.raises(scibin.FormatError) as missing:
            without["big"].read()
        assert missing.value.code == "blob"
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError):
        flux_archive.create(path, ["none"], base=base)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.json", "base", "store"]
    with pytest.raises(TypeError):
        flux_archive.create(path, "d", base=base)


def test_damaged_archives_are_format_errors(tmp_path: Path) -> None:
    data = archive()
    with pytest.raises(scibin.FormatError) as error:
        flux_archive.open(b'[{"path":')
    assert (error.value.code, error.value.offset) == ("json", 9)
    with pytest.raises(scibin.FormatError) as rejected:
        flux_archive.open(b'[{"path":"a","mode":5}]')
    assert rejected.value.pointer == "/0/mode"
    with pytest.raises(scibin.LimitError):
        flux_archive.open(data, limits={"entries": 2})
    with pytest.raises(TypeError, match="unknown limit"):
        flux_archive.open(data, limits={"memory": 2})
    with pytest.raises(ValueError, match="profile"):
        flux_archive.open(data, profile="none")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        flux_archive.open(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        flux_archive.open(tmp_path)
    with pytest.raises(TypeError):
        pickle.dumps(flux_archive.open(data))


def test_hostile_archives_raise_only_format_errors(tmp_path: Path) -> None:
    data = archive()
    documents = [data[:length] for length in range(0, len(data), 7)]
    for at in range(0, len(data), 3):
        for byte in (b"\0", b"\xff", b'"', b"{", b"9"):
            documents.append(data[:at] + byte + data[at + 1 :])
    folder = Path(__file__).parents[2] / "testdata" / "flux"
    documents += [path.read_bytes() for path in folder.rglob("*.json")]
    for number, document in enumerate(documents):
        with contextlib.suppress(scibin.FormatError), flux_archive.open(document) as found:
            for entry in found.values():
                if entry.type == "file" and entry.size < 1 << 20:
                    with contextlib.suppress(scibin.FormatError):
                        entry.read()
            if number % 50 == 0:
                target = tmp_path / str(number)
                target.mkdir()
                found.extract(target)
