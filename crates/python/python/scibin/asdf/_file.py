"""Files that are open for reading."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _scibin
from ..sources import FsspecSource, Source, is_url
from ._node import MappingNode, Node, _node
from ._outline import outline

__all__ = ["Block", "Diagnostic", "File", "Report", "loads", "open"]


@dataclass(frozen=True)
class Diagnostic:
    """An irregularity in a file, which often does not prevent the file from being read.

    Attributes
    ----------
    code
        A stable name for use by programs, such as ``"DuplicateKey"``.
    severity
        ``"note"``, ``"warning"`` or ``"error"``.
    message
        A description in one line.
    help
        Advice on what to do, which may be empty.
    path
        The path of the affected file if it is an external file, or ``None``.
    pointer
        The JSON Pointer of the affected node, if there is one.
    offset
        The offset in the file in bytes, if it is known.
    line, column
        The position in the text of the file, counted from 1, if it is known.
    """

    code: str
    severity: Literal["note", "warning", "error"]
    message: str
    help: str
    path: str | None
    pointer: str | None
    offset: int | None
    line: int | None
    column: int | None

    def __str__(self) -> str:
        places = (
            self.path,
            self.pointer,
            _numbered("line", self.line),
            _numbered("offset", self.offset),
        )
        place = ", ".join(place for place in places if place)
        return f"{self.severity}[{self.code}]: {self.message}" + (f" ({place})" if place else "")


@dataclass(frozen=True)
class Block:
    """A binary block of a file.

    Attributes
    ----------
    index
        The index of the block.
    offset
        The offset of the block in the file in bytes.
    compression
        The four-character code of the compression, or an empty string if there is none.
    stored_size
        The size of the stored data in bytes.
    data_size
        The size of the decoded data in bytes.
    checksum
        The MD5 digest in the header, or ``None`` if there is none.
    """

    index: int
    offset: int
    compression: str
    stored_size: int
    data_size: int
    checksum: bytes | None
    _file: _scibin.AsdfFile

    def read(self) -> npt.NDArray[np.uint8]:
        """Decode the block, and return a read-only array of its bytes."""
        return np.asarray(self._file.read_block(self.index))

    def __repr__(self) -> str:
        compression = self.compression or "raw"
        return f"<Block {self.index} at {self.offset}: {self.data_size} bytes, {compression}>"


@dataclass(frozen=True)
class CheckedBlock:
    """The result of checking a block.

    Attributes
    ----------
    path
        The path of the file that contains the block if it is an external file, or ``None``.
    index
        The index of the block.
    stored_size
        The size of the stored data in bytes, or 0 if the block cannot be read.
    checksum
        ``"good"``, ``"bad"``, ``"absent"``, ``"unreadable"``, or ``"legacy"`` for a correct
        checksum of the decoded data, as written by old programs.
    """

    path: str | None
    index: int
    stored_size: int
    checksum: Literal["good", "bad", "absent", "legacy", "unreadable"]


@dataclass(frozen=True)
class Report:
    """The result of :meth:`File.verify`.

    Attributes
    ----------
    ok
        Whether the file is valid, which means that no diagnostic has the severity ``"error"``.
    blocks
        The checked blocks, including those in external files that arrays use.
    diagnostics
        All irregularities: first those in the file itself, ordered by offset, and then those in
        external files.
    """

    ok: bool
    blocks: tuple[CheckedBlock, ...]
    diagnostics: tuple[Diagnostic, ...]


class File(Mapping[Any, Any]):
    """An ASDF file that is open for reading.

    A file is a mapping from the keys of the root of the tree to values. Mappings and sequences are
    instances of :class:`Node`, arrays are instances of :class:`scibin.NDArray`, and all other
    values are plain objects. A key that contains a ``/`` and does not exist is used as a JSON
    Pointer, as in ``file["meta/gain"]`` or ``file["/meta/gain"]``.

    Any number of threads may use a file at the same time. It can be pickled unless it was opened
    from bytes. A pickle contains only the path (or source) and the options. Unpickling raises
    `OSError` (``ESTALE``) if the file at the path has changed since.

    Lazy arrays and nodes need the file. After it has been closed, using them raises `ValueError`,
    but arrays that were read remain valid.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Source | bytes,
        *,
        memmap: bool = False,
        verify: bool | None = None,
        strict: bool = False,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self._origin: Any = source
        self._options = {
            "memmap": memmap,
            "verify": verify,
            "strict": strict,
            "limits": None if limits is None else dict(limits),
        }
        self._path: str | None = None
        if isinstance(source, (str, os.PathLike)):
            source = os.fspath(source)
            if is_url(source):
                source = self._origin = FsspecSource.from_url(source)
            else:
                self._path = source
                self._origin = os.path.abspath(source)
        self._raw = _scibin.AsdfFile(source, **self._options)  # type: ignore[arg-type]
        self._identity = None if self._path is None else _identity(self._origin)

    @property
    def path(self) -> str | None:
        """The path from which the file was opened, or ``None``."""
        return self._path

    @property
    def memmap(self) -> bool:
        """Whether arrays in uncompressed blocks are read-only views of the mapped file."""
        return bool(self._options["memmap"])

    @property
    def standard(self) -> str | None:
        """The version of the ASDF standard that the file states, or ``None``."""
        return self._raw.standard

    @property
    def tree(self) -> Any:
        """The root of the tree, usually a :class:`MappingNode`, or ``None`` if there is no tree."""
        raw = self._raw.root()
        return None if raw is None else _node(self, raw).value

    def node(self, pointer: str = "") -> Node:
        """Return the node at a JSON Pointer, even if it is a scalar or an array.

        Raises
        ------
        KeyError
            If there is no such node.
        """
        raw = self._raw.root()
        if raw is None:
            raise KeyError(pointer)
        node = _node(self, raw)
        return node.node(pointer) if pointer else node

    def _root(self) -> Mapping[Any, Any]:
        root = self.tree
        return root if isinstance(root, MappingNode) else {}

    def __getitem__(self, key: Any) -> Any:
        return self._root()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._root()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._root())

    def __len__(self) -> int:
        return len(self._root())

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def to_dict(
        self,
        *,
        arrays: Literal["numpy", "lazy"] = "numpy",
        errors: Literal["raise", "keep"] = "raise",
        tagged: bool = False,
    ) -> Any:
        """Convert the whole tree into plain objects. See :meth:`Node.to_dict`."""
        raw = self._raw.root()
        if raw is None:
            return None
        return Node(self, raw).to_dict(arrays=arrays, errors=errors, tagged=tagged)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The binary blocks of the file. Reads the headers of all blocks."""
        count = self._raw.block_count()
        return tuple(Block(**self._raw.block(index), _file=self._raw) for index in range(count))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The irregularities found so far. Reading more of the file may find others."""
        return tuple(Diagnostic(**diagnostic) for diagnostic in self._raw.diagnostics())

    def verify(self) -> Report:
        """Check the whole file, including its layout, tree, arrays, blocks and checksums.

        The report lists all problems. An exception is raised only if the file is closed, cannot be
        read, or has more blocks than the limits allow.
        """
        ok, blocks, diagnostics = self._raw.verify()
        return Report(
            ok,
            tuple(CheckedBlock(**block) for block in blocks),
            tuple(Diagnostic(**diagnostic) for diagnostic in diagnostics),
        )

    def info(self, *, max_rows: int = 60) -> str:
        r"""Return an outline of the tree in at most `max_rows` lines.

        >>> import scibin.asdf
        >>> f = scibin.asdf.loads(scibin.asdf.dumps({"meta": {"gain": 2.5}, "flux": np.zeros(3)}))
        >>> print("\n".join(f.info().splitlines()[-3:]))
        meta
          gain: 2.5
        flux: float64 (3,)
        """
        return "\n".join(outline(self._raw.root(), max_rows))

    def close(self) -> None:
        """Close the file. Arrays that were read remain valid."""
        self._raw.close()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._raw.closed

    def __enter__(self) -> File:
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
        return f"<File {self._path or self._origin_name()}{state}>"

    def _origin_name(self) -> str:
        return "in memory" if _is_bytes(self._origin) else repr(self._origin)

    def __reduce__(self) -> tuple[Any, ...]:
        if _is_bytes(self._origin):
            raise TypeError("cannot pickle a file that was opened from bytes")
        if self.closed:
            raise ValueError("file is closed")
        return _reopen, (self._origin, self._identity, self._options)


def open(
    source: str | os.PathLike[str] | Source | bytes,
    *,
    memmap: bool = False,
    verify: bool | None = None,
    strict: bool = False,
    limits: Mapping[str, int] | None = None,
) -> File:
    """Open an ASDF file for reading.

    Reads only the start and the end of a large file. The tree is parsed when it is first used.

    Parameters
    ----------
    source
        A path; a URL that fsspec can open, such as ``s3://bucket/image.asdf``; the bytes of a file;
        or an object with a length and a method ``read_at(offset, length)``
        (:class:`scibin.sources.Source`).
    memmap
        Whether to map the file into memory, so that arrays in uncompressed blocks are views of the
        file instead of copies. Such arrays are read-only and often unaligned, which makes
        computations slower than with a copy. If the file is truncated while it is mapped, reading
        the missing part kills the process.
    verify
        Whether to verify the checksum of each block before its data is first used. By default,
        only compressed blocks that are decoded completely are verified. ``False`` verifies none, as
        `asdf` does by default; this is the fastest way to read lz4.
    strict
        Whether to reject a file with an irregular layout, instead of reporting the irregularities
        as diagnostics.
    limits
        The limits for the file, by name: ``"allocation"`` is the size of an array or any other
        buffer in bytes (default 4 GiB); ``"decoded"`` is the size of a decoded block in bytes (no
        limit); ``"depth"`` is the nesting depth of the tree (1,000); ``"items"`` is the number of
        nodes, and also of blocks (50 million).

    Raises
    ------
    OSError
        If the file cannot be opened or read.
    FormatError
        If the file is not an ASDF file. If its tree cannot be parsed, this error is raised when the
        tree is first used.
    TypeError
        If a limit is unknown.
    ValueError
        If a limit is not a non-negative integer.
    """
    return File(source, memmap=memmap, verify=verify, strict=strict, limits=limits)


def loads(
    data: bytes,
    *,
    verify: bool | None = None,
    strict: bool = False,
    limits: Mapping[str, int] | None = None,
) -> File:
    """Open a file in memory. See :func:`open`. An object of type `bytes` is not copied."""
    if isinstance(data, (str, os.PathLike)):
        raise TypeError(f"expected bytes, found {type(data).__name__}")
    return File(data, verify=verify, strict=strict, limits=limits)


def _reopen(origin: Any, identity: tuple[int, int] | None, options: dict[str, Any]) -> File:
    """Open a file that was pickled."""
    file = File(origin, **options)
    if identity is not None and _identity(origin) != identity:
        file.close()
        raise OSError(errno.ESTALE, "the file has changed since it was pickled", origin)
    return file


def _identity(path: str) -> tuple[int, int]:
    """Return the size in bytes and the modification time in nanoseconds."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _is_bytes(origin: object) -> bool:
    return not isinstance(origin, str) and not hasattr(origin, "read_at")


def _numbered(name: str, number: int | None) -> str | None:
    return None if number is None else f"{name} {number}"
