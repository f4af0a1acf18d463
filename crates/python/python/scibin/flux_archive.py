r"""Flux archives: files, directories and symbolic links in a JSON document (RFC 37).

>>> import scibin.flux_archive
>>> data = b'[{"path":"hello.txt","mode":33188,"encoding":"utf-8","size":3,"data":"hi\\n"}]'
>>> with scibin.flux_archive.open(data) as archive:
...     list(archive), archive["hello.txt"].read()
(['hello.txt'], b'hi\n')
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from . import _scibin
from .sources import FsspecSource, Source, is_url

__all__ = [
    "Archive",
    "CreateReport",
    "Diagnostic",
    "Entry",
    "ExtractReport",
    "Report",
    "create",
    "open",
]

_Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Diagnostic:
    """An irregularity in an archive.

    Attributes
    ----------
    code
        A stable code for use by programs, such as ``"R111"``.
    severity
        ``"note"``, ``"warning"`` or ``"error"``.
    message
        A description in one line.
    path
        The path of the affected entry, if it is known.
    pointer
        The JSON Pointer of the affected value, if there is one.
    """

    code: str
    severity: Literal["note", "warning", "error"]
    message: str
    path: str | None
    pointer: str | None


@dataclass(frozen=True)
class Report:
    """The result of :meth:`Archive.verify`.

    Attributes
    ----------
    ok
        Whether all blobs are intact, which means that no diagnostic is an error.
    blobs
        The number of blobs checked. A blob that is used several times usually counts once.
    diagnostics
        All irregularities found.
    """

    ok: bool
    blobs: int
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class ExtractReport:
    """The result of :meth:`Archive.extract`.

    Attributes
    ----------
    files, directories, links
        The numbers of extracted files, directories and symbolic links.
    nbytes
        The number of bytes written to files, not counting holes.
    failures
        The exceptions of entries that could not be extracted, by path.
    """

    files: int
    directories: int
    links: int
    nbytes: int
    failures: dict[str, Exception]


@dataclass(frozen=True)
class CreateReport:
    """The result of :func:`create`.

    Attributes
    ----------
    entries
        The number of entries in the archive.
    changed
        The paths of files that changed while the archive was being created.
    """

    entries: int
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A file, directory or symbolic link in an archive.

    Attributes
    ----------
    path
        The relative path, which has no ``..`` component.
    type
        ``"file"``, ``"directory"`` or ``"symlink"``.
    mode
        The type and permissions, as in `os.stat_result.st_mode`.
    target
        The target of a symbolic link.
    size
        The size of a file in bytes, or 0 for a directory or link.
    mtime
        The modification time in seconds since 1970, or ``None``.
    """

    path: str
    type: Literal["file", "directory", "symlink"]
    mode: int
    target: str | None
    size: int
    mtime: int | None
    _archive: Archive = field(repr=False, compare=False)
    _index: int = field(repr=False, compare=False)

    def read(self, offset: int = 0, length: int | None = None) -> bytes:
        """Read the content of a file from `offset` on, but at most `length` bytes.

        Only the necessary blobs are fetched, and each is verified.

        Raises
        ------
        IsADirectoryError
            If the entry is a directory.
        FormatError
            If a blob is missing or damaged.
        LimitError
            If more bytes are to be read than the limit ``"allocation"`` allows.
        OSError
            If the archive or the store cannot be read.
        ValueError
            If the entry is a symbolic link, or the archive was closed.
        """
        if self.type == "directory":
            raise IsADirectoryError(f"{self.path} is a directory")
        if self.type == "symlink":
            raise ValueError(f"{self.path} is a symbolic link")
        if offset < 0 or (length is not None and length < 0):
            raise ValueError("offset and length cannot be negative")
        return self._archive._raw.read(self._index, offset, length)


class Archive(Mapping[str, Entry]):
    """An archive that is open for reading, which is a mapping from paths to entries.

    The archive is kept in memory, except for the blobs in its store. Any number of threads may use
    it at the same time. It can be pickled unless it was opened from bytes. A pickle contains only
    the path (or source) and the options.
    """

    def __init__(
        self,
        source: _Path | Source | bytes,
        *,
        store: _Path | None = None,
        profile: Literal["strict", "flux", "legacy"] = "flux",
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "store": None if store is None else os.path.abspath(store),
            "profile": profile,
            "limits": None if limits is None else dict(limits),
        }
        self._origin: Any = source
        self._path: str | None = None
        if isinstance(source, (str, os.PathLike)):
            source = os.fspath(source)
            if is_url(source):
                source = self._origin = FsspecSource.from_url(source)
            else:
                self._path = source
                self._origin = os.path.abspath(source)
        self._raw = _scibin.FluxArchive(source, **self._options)
        self._entries = {
            entry["path"]: Entry(**entry, _archive=self, _index=index)
            for index, entry in enumerate(self._raw.entries())
        }

    @property
    def path(self) -> str | None:
        """The path from which the archive was opened, or ``None``."""
        return self._path

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The deviations from RFC 37 that the profile accepts but reports."""
        return tuple(Diagnostic(**diagnostic) for diagnostic in self._raw.diagnostics())

    def __getitem__(self, path: str) -> Entry:
        return self._entries[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def verify(self) -> Report:
        """Check that all blobs are in the store and have the right length and digest."""
        ok, blobs, diagnostics = self._raw.verify()
        return Report(ok, blobs, tuple(Diagnostic(**diagnostic) for diagnostic in diagnostics))

    def extract(
        self,
        directory: _Path,
        paths: Iterable[str] | None = None,
        *,
        overwrite: bool = False,
        preserve_permissions: bool = False,
    ) -> ExtractReport:
        """Extract entries below an existing directory.

        Nothing is ever written outside the directory, because symbolic links are created as they
        are, but never followed. Entries that cannot be extracted are listed in the report, and do
        not affect the others.

        Parameters
        ----------
        directory
            The directory, which must exist.
        paths
            The paths of the entries to extract. By default, all entries are extracted.
        overwrite
            Whether to replace existing files.
        preserve_permissions
            Whether to restore permissions exactly, including the set-user-ID, set-group-ID and
            sticky bits, regardless of the umask.

        Raises
        ------
        KeyError
            If a path is not in the archive.
        OSError
            If the directory does not exist.
        """
        selected = None if paths is None else set(paths)
        for path in selected or ():
            if path not in self._entries:
                raise KeyError(path)
        report = self._raw.extract(os.fspath(directory), selected, overwrite, preserve_permissions)
        return ExtractReport(**{**report, "failures": dict(report["failures"])})

    def close(self) -> None:
        """Close the archive. Its entries can still be listed, but not read."""
        self._raw.close()

    @property
    def closed(self) -> bool:
        """Whether the archive was closed."""
        return self._raw.closed

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self.closed else ""
        return f"<Archive {self._path or 'in memory'}{state}: {len(self)} entries>"

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._origin, str) and not hasattr(self._origin, "read_at"):
            raise TypeError("cannot pickle an archive that was opened from bytes")
        if self.closed:
            raise ValueError("file is closed")
        return _reopen, (self._origin, self._options)


def open(
    path: _Path | Source | bytes,
    *,
    store: _Path | None = None,
    profile: Literal["strict", "flux", "legacy"] = "flux",
    limits: Mapping[str, int] | None = None,
) -> Archive:
    """Open an archive for reading.

    Parameters
    ----------
    path
        A path; a URL that fsspec can open; the bytes of an archive; or an object with a length and
        a method ``read_at(offset, length)`` (:class:`scibin.sources.Source`). The document may also
        be a jobspec, whose files are then the archive.
    store
        The store of the blobs, which is a directory or a file written by ``flux dump``.
    profile
        The archives to accept: ``"strict"`` accepts only archives that conform to RFC 37,
        ``"flux"`` accepts all archives that Flux reads, and ``"legacy"`` also accepts the dialect
        that Flux used before RFC 37.
    limits
        The limits for the archive, by name: ``"allocation"`` is the number of bytes to read from a
        file at a time (default 4 GiB); ``"document"`` is the size of the JSON text in bytes;
        ``"entries"`` is the number of entries; ``"file"`` is the size of a file in bytes;
        ``"total"`` is the total size of all files in bytes.

    Raises
    ------
    OSError
        If the archive or the store cannot be opened or read.
    FormatError
        If the archive is not JSON, or the profile does not accept it.
    """
    return Archive(path, store=store, profile=profile, limits=limits)


def create(
    path: _Path,
    names: Iterable[_Path],
    *,
    base: _Path = ".",
    store: _Path | None = None,
) -> CreateReport:
    """Create an archive. An existing file is replaced only when the new archive is complete.

    Parameters
    ----------
    path
        The path of the archive.
    names
        The files and directories to archive, relative to `base`. Symbolic links are not followed.
    base
        The directory to which the paths in the archive are relative.
    store
        A directory in which the content of files larger than 1 KiB is stored as blobs. It is
        created if it does not exist. Without a store, the archive contains all data.

    Raises
    ------
    OSError, ValueError
        If a file cannot be read or archived, or the archive cannot be written. In this case, an
        existing archive is not replaced.
    """
    if isinstance(names, (str, os.PathLike)):
        raise TypeError("names is a single path: expected a list of paths")
    store = None if store is None else os.fspath(store)
    paths = [os.fspath(name) for name in names]
    report = _scibin.flux_create(os.fspath(path), paths, os.fspath(base), store)
    for _, failure in report["failures"]:
        raise failure
    return CreateReport(report["entries"], tuple(report["changed"]))


def _reopen(origin: Any, options: dict[str, Any]) -> Archive:
    """Open an archive that was pickled."""
    return Archive(origin, **options)
