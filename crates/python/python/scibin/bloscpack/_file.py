"""Opening, unpacking, verifying and recovering files."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _scibin
from .._array import NDArray
from .._errors import FormatError, LimitError
from ..sources import FsspecSource, Source, is_url
from .exceptions import _named

__all__ = [
    "Chunk",
    "Diagnostic",
    "File",
    "Loss",
    "RecoverReport",
    "Report",
    "open",
    "recover",
    "unpack_bytes_from_bytes",
    "unpack_bytes_from_file",
    "unpack_file_from_file",
    "unpack_ndarray_from_bytes",
    "unpack_ndarray_from_file",
    "verify",
]

_Path = str | os.PathLike[str]
_Source = str | os.PathLike[str] | Source | bytes


@dataclass(frozen=True)
class Chunk:
    """A chunk of a file.

    Attributes
    ----------
    offset
        The offset of the compressed chunk in the file in bytes.
    nbytes
        The length of the decoded data in bytes.
    stored
        The length of the compressed chunk in bytes, without its checksum.
    """

    offset: int
    nbytes: int
    stored: int


@dataclass(frozen=True)
class Diagnostic:
    """An irregularity in a file, which often does not prevent the file from being read.

    Attributes
    ----------
    code
        A stable name for use by programs, such as ``"BadChunk"``.
    severity
        ``"note"``, ``"warning"`` or ``"error"``.
    message
        A description in one line.
    offset
        The offset in the file in bytes, if it is known.
    """

    code: str
    severity: Literal["note", "warning", "error"]
    message: str
    offset: int | None


@dataclass(frozen=True)
class Report:
    """The result of :func:`verify`.

    Attributes
    ----------
    ok
        Whether the file is valid, which means that there are no warnings or errors.
    chunks
        The number of checked chunks.
    diagnostics
        The irregularities, first in the structure of the file, then in the chunks. If very many
        chunks are bad, only some of them are listed.
    """

    ok: bool
    chunks: int
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Loss:
    """Consecutive chunks of a damaged file that could not be recovered.

    Attributes
    ----------
    chunks
        The indices of the lost chunks in the damaged file.
    zeros
        The number of zero bytes that replace the data of the lost chunks.
    reason
        The error in the first lost chunk.
    """

    chunks: range
    zeros: int
    reason: str


@dataclass(frozen=True)
class RecoverReport:
    """The result of :func:`recover`.

    Attributes
    ----------
    kept
        The number of chunks that were kept.
    nbytes
        The length of the decoded data of the new file in bytes, including zeros.
    lost
        The lost parts, in the order of their positions in the file.
    diagnostics
        Irregularities in the header, the table of offsets, and the metadata.
    """

    kept: int
    nbytes: int
    lost: tuple[Loss, ...]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class _Address:
    """The location of the array in a file."""

    file: File

    def open_array(self) -> NDArray:
        return self.file.array

    def node(self) -> None:
        return None


class File:
    """A Bloscpack file that is open for reading.

    If the file contains an array, it can be indexed like an array. Only the chunks and blocks that
    contain selected elements are decoded.

    Any number of threads may use a file at the same time. It can be pickled unless it was opened
    from bytes. A pickle contains only the path (or source) and the options. Unpickling raises
    `OSError` (``ESTALE``) if the file at the path has changed since. After a file has been closed,
    reading raises `ValueError`, but arrays that were read remain valid.

    Examples
    --------
    >>> import numpy as np, scibin.bloscpack as bp
    >>> f = bp.open(bp.pack_ndarray_to_bytes(np.arange(12).reshape(3, 4)))
    >>> f.shape, f.dtype, len(f.chunks)
    ((3, 4), dtype('int64'), 1)
    >>> f[1:, ::2]
    array([[ 4,  6],
           [ 8, 10]])
    """

    def __init__(
        self,
        source: _Source,
        *,
        limits: Mapping[str, int] | None = None,
        threads: int | None = None,
    ) -> None:
        checked = None if limits is None else dict(limits)
        self._options: dict[str, Any] = {"limits": checked, "threads": threads}
        self._threads = threads
        self._origin: Any = source
        self._path: str | None = None
        if isinstance(source, (str, os.PathLike)):
            source = os.fspath(source)
            if is_url(source):
                source = self._origin = FsspecSource.from_url(source)
            else:
                self._path = source
                self._origin = os.path.abspath(source)
        with _named():
            self._raw = _scibin.BloscpackFile(source, limits=checked)
        self._identity = None if self._path is None else _identity(self._origin)

    @property
    def path(self) -> str | None:
        """The path from which the file was opened, or ``None``."""
        return self._path

    @property
    def nbytes(self) -> int:
        """The length of the decoded data in bytes."""
        return self._raw.nbytes

    @property
    def typesize(self) -> int:
        """The typesize in the header, in bytes."""
        return self._raw.header()[0]

    @property
    def checksum(self) -> str:
        """The name of the checksum of the chunks, or ``"None"`` if there is none."""
        return self._raw.header()[1]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks, in order."""
        return tuple(Chunk(*chunk) for chunk in self._raw.chunks())

    @property
    def metadata(self) -> Any:
        """The metadata, or ``None`` if the file has no metadata.

        Raises
        ------
        FormatError
            If the metadata cannot be read.
        """
        text = self._raw.metadata()
        if text is None:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            message = f"metadata: {error}"
            raise FormatError(message, path=self._path, code="metadata") from None

    @property
    def array(self) -> NDArray:
        """The array in the file, as a lazy array.

        Raises
        ------
        NotANumpyArray
            If the file does not contain an array.
        FormatError
            If the description of the array is invalid.
        """
        with _named():
            return NDArray(self._raw.array(), address=_Address(self))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements of the array."""
        return self.array.dtype

    def __getitem__(self, index: Any) -> Any:
        return self.array[index]

    def read(self) -> bytes:
        """Read and return all decoded data.

        Raises
        ------
        FormatError
            If a chunk cannot be decoded.
        ChecksumMismatch
            If a chunk does not match its checksum.
        LimitError
            If the data exceeds the limits.
        """
        with _named():
            return self._raw.read(self._threads)

    def read_at(self, offset: int, length: int) -> bytes:
        """Read `length` bytes of decoded data at `offset`, decoding only the necessary chunks."""
        if offset < 0 or length < 0 or offset + length > self.nbytes:
            raise ValueError(
                f"cannot read {length} bytes at offset {offset}: the data has {self.nbytes} bytes"
            )
        out = np.empty(length, np.uint8)
        with _named():
            self._raw.read_into(out, offset, self._threads)
        return out.tobytes()

    def read_array(self) -> npt.NDArray[Any]:
        """Read the whole array, in C or Fortran order as in the file."""
        array = self.array
        with _named():
            self._raw.check_size()
        is_fortran = self._raw.is_fortran()
        try:
            out = np.empty(array.shape, array.dtype, "F" if is_fortran else "C")
        except ValueError as error:
            message = f"numpy cannot create an array of shape {array.shape}: {error}"
            raise FormatError(message, path=self._path, code="array") from None
        if out.nbytes:
            flat = (out.T if is_fortran else out).reshape(-1).view(np.uint8)
            with _named():
                self._raw.read_into(flat, 0, self._threads)
        return out

    def verify(self) -> Report:
        """Check the whole file, including every checksum, and decode every chunk."""
        ok, chunks, diagnostics = self._raw.verify(self._threads)
        return Report(ok, chunks, tuple(Diagnostic(**diagnostic) for diagnostic in diagnostics))

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
        if _is_bytes(self._origin):
            raise TypeError("cannot pickle a file that was opened from bytes")
        if self.closed:
            raise ValueError("file is closed")
        return _reopen, (self._origin, self._identity, self._options)


def open(
    source: _Source,
    *,
    limits: Mapping[str, int] | None = None,
    threads: int | None = None,
) -> File:
    """Open a file for reading.

    Reads the header, the metadata, the table of offsets and the headers of the chunks.

    Parameters
    ----------
    source
        A path; a URL that fsspec can open; the bytes of a file; or an object with a length and a
        method ``read_at(offset, length)`` (:class:`scibin.sources.Source`).
    limits
        The limits for the file, by name: ``"decoded"`` is the size of data to read at a time in
        bytes (default 16 GiB); ``"allocation"`` is the size of a chunk in bytes (4 GiB);
        ``"items"`` is the number of chunks (50 million).
    threads
        The maximum number of threads for decoding a whole file.

    Raises
    ------
    OSError
        If the file cannot be opened or read.
    FormatError
        If the file is not a Bloscpack file, or is damaged.
    """
    return File(source, limits=limits, threads=threads)


def verify(source: _Source, *, threads: int | None = None) -> Report:
    """Check the structure of a file and every checksum, and decode every chunk.

    Damage is only reported, and does not raise an exception.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If the file is not a Bloscpack file, or has an unknown version of the format.
    LimitError
        If a chunk or the metadata exceeds a limit.
    """
    try:
        with File(source, threads=threads) as file:
            return file.verify()
    except LimitError:
        raise
    except FormatError as error:
        if error.code in ("not-bloscpack", "version"):
            raise
        message = error.args[0] if error.args else ""
        diagnostic = Diagnostic(error.code or "damaged", "error", message, error.offset)
        return Report(False, 0, (diagnostic,))


def recover(
    source: _Source,
    out_file: _Path,
    *,
    skip_bad: bool = False,
    fill_zeros: bool = False,
) -> RecoverReport:
    """Copy the intact chunks of a damaged file to a new file.

    Parameters
    ----------
    source
        The damaged file, as for :func:`open`.
    out_file
        The new file.
    skip_bad
        Whether to leave out bad chunks, so that all later data moves towards the start. By default,
        only the chunks before the first bad chunk are copied.
    fill_zeros
        Whether to replace bad chunks with zeros, so that all later data keeps its offset.

    Raises
    ------
    FormatError
        If no chunk is intact, or the header is too damaged to be read.
    OSError
        If the file cannot be read, or the new file cannot be written.
    """
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    with _named():
        report = _scibin.bloscpack_recover(source, out_file, skip_bad, fill_zeros)
    return RecoverReport(
        report["kept"],
        report["nbytes"],
        tuple(
            Loss(range(start, stop), zeros, reason) for start, stop, zeros, reason in report["lost"]
        ),
        tuple(Diagnostic(**diagnostic) for diagnostic in report["diagnostics"]),
    )


def unpack_file_from_file(in_file: _Path, out_file: _Path, *, threads: int | None = None) -> Any:
    """Unpack a file into a file that appears only when it is complete, and return the metadata."""
    with File(in_file, threads=threads) as file:
        metadata = file.metadata
        with _named():
            file._raw.unpack(os.fspath(out_file), threads)
        return metadata


def unpack_bytes_from_file(
    compressed_file: _Path, *, threads: int | None = None
) -> tuple[bytes, Any]:
    """Unpack a file, and return the data and the metadata, which may be ``None``."""
    with File(compressed_file, threads=threads) as file:
        return file.read(), file.metadata


def unpack_bytes_from_bytes(bytes_: bytes, *, threads: int | None = None) -> tuple[bytes, Any]:
    """Unpack a file in memory, and return the data and the metadata, which may be ``None``."""
    with File(_in_memory(bytes_), threads=threads) as file:
        return file.read(), file.metadata


def unpack_ndarray_from_file(filename: _Path, *, threads: int | None = None) -> npt.NDArray[Any]:
    """Unpack a file, and return its array, which is writable.

    Raises
    ------
    NotANumpyArray
        If the file does not contain an array.
    """
    with File(filename, threads=threads) as file:
        return file.read_array()


def unpack_ndarray_from_bytes(bytes_: bytes, *, threads: int | None = None) -> npt.NDArray[Any]:
    """Unpack a file in memory, and return its array. See :func:`unpack_ndarray_from_file`."""
    with File(_in_memory(bytes_), threads=threads) as file:
        return file.read_array()


def _in_memory(data: bytes) -> bytes:
    if isinstance(data, (str, os.PathLike)):
        raise TypeError(f"expected bytes, found {type(data).__name__}")
    return data


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
