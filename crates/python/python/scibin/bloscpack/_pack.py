"""Packing files, bytes and arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _scibin
from . import _options
from .args import BloscArgs
from .exceptions import ChunkSizeTypeSizeMismatch, ObjectNumpyArrayRejection, _named

__all__ = [
    "pack_bytes_to_bytes",
    "pack_bytes_to_file",
    "pack_file_to_file",
    "pack_ndarray_to_bytes",
    "pack_ndarray_to_file",
]

_Path = str | os.PathLike[str]
_Mapping = Mapping[str, Any] | None


def pack_file_to_file(
    in_file: _Path,
    out_file: _Path,
    chunk_size: int | str = "1M",
    metadata: Any = None,
    blosc_args: _Mapping = None,
    bloscpack_args: _Mapping = None,
    metadata_args: _Mapping = None,
    *,
    threads: int | None = None,
) -> None:
    """Pack a file into another file, which appears only when it is complete.

    Parameters
    ----------
    in_file
        The file to pack.
    out_file
        The packed file.
    chunk_size
        The size of a chunk in bytes, or a number with one of the suffixes ``BKMGT``.
    metadata
        Any value that JSON can represent, or ``None`` for no metadata.
    blosc_args, bloscpack_args, metadata_args
        A :class:`BloscArgs`, a :class:`BloscpackArgs` and a :class:`MetadataArgs`, or dicts with
        the same keys.
    threads
        The maximum number of threads to use. By default, this is the result of `scibin.threads`.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    OSError
        If a file cannot be read or written.
    """
    size = os.path.getsize(in_file)
    options = _options.packing(
        size, chunk_size, metadata, blosc_args, bloscpack_args, metadata_args, threads
    )
    with _named():
        _scibin.bloscpack_pack_file(in_file, out_file, options)


def pack_bytes_to_file(
    bytes_: bytes,
    out_file: _Path,
    chunk_size: int | str = "1M",
    metadata: Any = None,
    blosc_args: _Mapping = None,
    bloscpack_args: _Mapping = None,
    metadata_args: _Mapping = None,
    *,
    threads: int | None = None,
) -> None:
    """Pack bytes into a file. See :func:`pack_file_to_file`."""
    data = np.frombuffer(bytes_, np.uint8)
    options = _options.packing(
        data.nbytes, chunk_size, metadata, blosc_args, bloscpack_args, metadata_args, threads
    )
    with _named():
        _scibin.bloscpack_pack(data, out_file, options)


def pack_bytes_to_bytes(
    bytes_: bytes,
    chunk_size: int | str = "1M",
    metadata: Any = None,
    blosc_args: _Mapping = None,
    bloscpack_args: _Mapping = None,
    metadata_args: _Mapping = None,
    *,
    threads: int | None = None,
) -> bytes:
    """Pack bytes, and return the packed bytes. See :func:`pack_file_to_file`.

    >>> import scibin.bloscpack as bp
    >>> packed = bp.pack_bytes_to_bytes(b"data", metadata={"unit": "K"})
    >>> bp.unpack_bytes_from_bytes(packed)
    (b'data', {'unit': 'K'})
    """
    data = np.frombuffer(bytes_, np.uint8)
    options = _options.packing(
        data.nbytes, chunk_size, metadata, blosc_args, bloscpack_args, metadata_args, threads
    )
    with _named():
        return _packed(data, options)


def pack_ndarray_to_file(
    ndarray: npt.NDArray[Any],
    filename: _Path,
    chunk_size: int | str = "1M",
    blosc_args: _Mapping = None,
    bloscpack_args: _Mapping = None,
    metadata_args: _Mapping = None,
    *,
    threads: int | None = None,
) -> None:
    """Pack an array into a file. See :func:`pack_file_to_file`.

    The typesize in `blosc_args` is ignored: it is the size of an element, or a power of two that
    divides it if it exceeds 255. An array that is contiguous only in Fortran order is stored in
    that order.

    Raises
    ------
    ObjectNumpyArrayRejection
        If the elements are Python objects.
    ChunkSizeTypeSizeMismatch
        If the array has several chunks, and the chunk size is not a multiple of the size of an
        element.
    """
    data, options = _array(ndarray, chunk_size, blosc_args, bloscpack_args, metadata_args, threads)
    with _named():
        _scibin.bloscpack_pack(data, filename, options)


def pack_ndarray_to_bytes(
    ndarray: npt.NDArray[Any],
    chunk_size: int | str = "1M",
    blosc_args: _Mapping = None,
    bloscpack_args: _Mapping = None,
    metadata_args: _Mapping = None,
    *,
    threads: int | None = None,
) -> bytes:
    """Pack an array, and return the packed bytes. See :func:`pack_ndarray_to_file`."""
    data, options = _array(ndarray, chunk_size, blosc_args, bloscpack_args, metadata_args, threads)
    with _named():
        return _packed(data, options)


def _packed(data: npt.NDArray[np.uint8], options: dict[str, Any]) -> bytes:
    packed = _scibin.bloscpack_pack(data, None, options)
    assert packed is not None, "without a path, the bytes are returned"
    return packed


def _array(
    array: npt.NDArray[Any],
    chunk_size: int | str,
    blosc_args: _Mapping,
    bloscpack_args: _Mapping,
    metadata_args: _Mapping,
    threads: int | None,
) -> tuple[npt.NDArray[np.uint8], dict[str, Any]]:
    """Return the bytes of an array and the options for packing them."""
    dtype = array.dtype
    if dtype.hasobject:
        raise ObjectNumpyArrayRejection(f"elements of the dtype {dtype} are Python objects")
    is_fortran = np.isfortran(array)
    metadata = {
        "dtype": repr(dtype.str if dtype.names is None else dtype.descr),
        "shape": array.shape,
        "order": "F" if is_fortran else "C",
        "container": "numpy",
    }
    _, chunk_bytes = _options.chunking(array.nbytes, chunk_size)
    if dtype.itemsize and chunk_bytes % dtype.itemsize:
        raise ChunkSizeTypeSizeMismatch(
            f"chunk_size is {chunk_bytes}: expected a multiple of the itemsize {dtype.itemsize}"
        )
    args = {**(BloscArgs() if blosc_args is None else blosc_args), "typesize": _typesize(dtype)}
    options = _options.packing(
        array.nbytes, chunk_size, metadata, args, bloscpack_args, metadata_args, threads
    )
    if not array.nbytes:
        return np.empty(0, np.uint8), options
    plain = array.view(np.ndarray)
    flat = (plain.T if is_fortran else np.ascontiguousarray(plain)).reshape(-1)
    return flat.view(np.uint8), options


def _typesize(dtype: np.dtype[Any]) -> int:
    """Return the size of an element, or a power of two that divides it if it exceeds 255."""
    size = dtype.itemsize
    return max(size, 1) if size < 256 else min(size & -size, 128)
