r"""Dudley, a language for the layout of binary data.

>>> import scibin.dudley
>>> layout = scibin.dudley.Layout.parse("N : i4  x = f8[N]")
>>> with scibin.dudley.open(b"\x02\0\0\0\0\0\0\0" + bytes(16), layout, order="<") as f:
...     f["/x"][...]
array([0., 0.])

A layout describes the locations of the arrays in a file. It is either passed to :func:`open` or
appended to the file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import numpy.typing as npt

from . import _scibin
from ._array import NDArray
from .sources import FsspecSource, Source, is_url

__all__ = ["Address", "Diagnostic", "File", "Layout", "open"]


@dataclass(frozen=True)
class Address:
    """The location of an item that a layout describes.

    Attributes
    ----------
    path
        The path, such as ``"/mesh/x"``.
    address
        The offset from the start of the file in bytes, or ``None`` if it is unknown.
    shape
        The lengths of the dimensions, outermost first.
    dtype
        The type of the elements in the notation of Dudley, such as ``"<f8"``, or the name of a
        struct.
    nbytes
        The size in bytes, or ``None`` if it is unknown.
    """

    path: str
    address: int | None
    shape: tuple[int, ...]
    dtype: str
    nbytes: int | None


@dataclass(frozen=True)
class Diagnostic:
    """A warning or a note about a layout.

    Attributes
    ----------
    code
        A stable name for use by programs.
    severity
        ``"note"`` or ``"warning"``.
    message
        A description in one line.
    line, column
        The position in the text, counted from 1.
    """

    code: str
    severity: Literal["note", "warning", "error"]
    message: str
    line: int | None
    column: int | None


class Layout:
    """A layout that was parsed without errors.

    Examples
    --------
    >>> layout = Layout.parse("> a = i2[3]  b = f4")
    >>> [(item.path, item.address, item.nbytes) for item in layout.addresses()]
    [('/a', 0, 6), ('/b', 8, 4)]
    """

    def __init__(self, raw: _scibin.DudleyLayout) -> None:
        self._raw = raw

    @classmethod
    def parse(cls, text: str | bytes) -> Layout:
        """Parse a layout.

        Raises
        ------
        FormatError
            If the text has errors. The attributes `line` and `column` are the position of the first
            error.
        """
        return cls(_scibin.DudleyLayout(text.encode() if isinstance(text, str) else text))

    @property
    def text(self) -> str:
        """The text of the layout."""
        return self._raw.text

    def check(self) -> tuple[Diagnostic, ...]:
        """Return the warnings and notes about the layout."""
        return tuple(Diagnostic(**diagnostic) for diagnostic in self._raw.check())

    def addresses(
        self,
        stream: str | os.PathLike[str] | Source | bytes | None = None,
        *,
        native: bool = False,
        order: Literal["<", ">"] | None = None,
        parameters: Mapping[str, int] | None = None,
    ) -> tuple[Address, ...]:
        """Compute the locations of all items that the layout describes.

        Parameters
        ----------
        stream
            The file that contains the values of parameters, as a path, as bytes, or as an object
            with a length and a method ``read_at(offset, length)``.
        native
            Whether a signature of 16 bytes precedes the data. If a stream is given, the signature
            is detected.
        order
            The byte order of types that do not specify one, if neither the layout nor the stream
            specifies a default. By default, this is the byte order of this machine.
        parameters
            The values of parameters that are not in the stream, by name or path.

        Raises
        ------
        FormatError
            If an address cannot be computed, because a value is missing or wrong.
        OSError
            If the stream cannot be read.
        """
        if isinstance(stream, os.PathLike):
            stream = os.fspath(stream)
        rows = self._raw.addresses(stream, native, order, dict(parameters or {}))
        return tuple(
            Address(path, address, tuple(shape), dtype, nbytes)
            for path, address, shape, dtype, nbytes in rows
        )

    def __repr__(self) -> str:
        return f"<Layout of {len(self.text)} characters>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout.parse, (self.text,)


@dataclass(frozen=True)
class _ArrayAddress:
    """The location of an array."""

    file: File
    path: str

    def open_array(self) -> NDArray:
        return self.file[self.path]

    def node(self) -> None:
        return None


class File(Mapping[str, NDArray]):
    """A file described by a layout, which is open for reading.

    A file is a mapping from paths to arrays. Indexing also accepts the path of an element of a list
    (``/list[2]``), an instance of a struct (``/item[2]``) or a member of a struct
    (``/item.member``), although these paths are not among the keys.

    Any number of threads may use a file at the same time. It can be pickled unless it was opened
    from bytes. A pickle contains only the path (or source) and the options. Unpickling raises
    `OSError` (``ESTALE``) if the file at the path has changed since. After a file has been closed,
    reading raises `ValueError`, but arrays that were read remain valid.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | Source | bytes,
        layout: Layout | str | None = None,
        *,
        parameters: Mapping[str, int] | None = None,
        order: Literal["<", ">"] | None = None,
        memmap: bool = False,
    ) -> None:
        layout = Layout.parse(layout) if isinstance(layout, str) else layout
        self._given = layout
        self._options: dict[str, Any] = {
            "parameters": dict(parameters or {}),
            "order": order,
            "memmap": memmap,
        }
        self._memmap = memmap
        self._origin: Any = data
        self._path: str | None = None
        if isinstance(data, (str, os.PathLike)):
            data = os.fspath(data)
            if is_url(data):
                data = self._origin = FsspecSource.from_url(data)
            else:
                self._path = data
                self._origin = os.path.abspath(data)
        raw = None if layout is None else layout._raw
        self._raw = _scibin.DudleyFile(data, raw, **self._options)
        self._identity = None if self._path is None else _identity(self._origin)

    @property
    def path(self) -> str | None:
        """The path from which the file was opened, or ``None``."""
        return self._path

    @property
    def layout(self) -> Layout:
        """The layout of the file."""
        return Layout(self._raw.layout())

    @property
    def order(self) -> str:
        """The default byte order, for types that do not specify one: ``"<"`` or ``">"``."""
        return self._raw.order()

    def __getitem__(self, path: str) -> NDArray:
        return NDArray(
            self._raw.array(path), address=_ArrayAddress(self, path), memmap=self._memmap
        )

    def read(self, path: str) -> npt.NDArray[Any]:
        """Read the array or scalar at a path."""
        return self[path].read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw.paths())

    def __len__(self) -> int:
        return len(self._raw.paths())

    __hash__ = object.__hash__
    __eq__ = object.__eq__

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
        return f"<File {self._path or 'in memory'}{state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._origin, str) and not hasattr(self._origin, "read_at"):
            raise TypeError("cannot pickle a file that was opened from bytes")
        if self.closed:
            raise ValueError("file is closed")
        return _reopen, (self._origin, self._identity, self._given, self._options)


def open(
    data: str | os.PathLike[str] | Source | bytes,
    layout: Layout | str | None = None,
    *,
    parameters: Mapping[str, int] | None = None,
    order: Literal["<", ">"] | None = None,
    memmap: bool = False,
) -> File:
    """Open a file for reading.

    Parameters
    ----------
    data
        A path; a URL that fsspec can open; the bytes of a file; or an object with a length and a
        method ``read_at(offset, length)`` (:class:`scibin.sources.Source`).
    layout
        The layout or its text. Without a layout, the file must be a native file with an appended
        layout.
    parameters
        The values of parameters that are not in the file, by name or path.
    order
        The byte order (``"<"`` or ``">"``) of types that do not specify one, if neither the layout
        nor the file specifies a default. By default, this is the byte order of this machine.
    memmap
        Whether to map the file into memory, so that uncompressed arrays are read-only views of it.
        If the file is truncated while it is mapped, reading the missing part kills the process.

    Raises
    ------
    OSError
        If the file cannot be opened or read.
    FormatError
        If the signature of the file is damaged, or the layout has errors.
    ValueError
        If no layout is given, and the file does not contain one.
    """
    return File(data, layout, parameters=parameters, order=order, memmap=memmap)


def _reopen(
    origin: Any,
    identity: tuple[int, int] | None,
    layout: Layout | None,
    options: dict[str, Any],
) -> File:
    """Open a file that was pickled."""
    file = File(origin, layout, **options)
    if identity is not None and _identity(origin) != identity:
        file.close()
        raise OSError(errno.ESTALE, "the file has changed since it was pickled", origin)
    return file


def _identity(path: str) -> tuple[int, int]:
    """Return the size in bytes and the modification time in nanoseconds."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns
