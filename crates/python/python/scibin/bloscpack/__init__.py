"""Reading and writing Bloscpack files.

This module has the same names as the `bloscpack` package, so only the import changes:

>>> import scibin.bloscpack as bp
>>> packed = bp.pack_bytes_to_bytes(b"some data")
>>> bp.unpack_bytes_from_bytes(packed)
(b'some data', None)

Among others, :func:`open`, :func:`verify`, :func:`recover` and the argument `threads` are
additions. Functions whose names end in ``_file`` or ``_str`` but do not contain ``_to_`` or
``_from_`` are deprecated, as in `bloscpack`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from . import append, args, exceptions
from ._file import (
    Chunk,
    Diagnostic,
    File,
    Loss,
    RecoverReport,
    Report,
    open,
    recover,
    unpack_bytes_from_bytes,
    unpack_bytes_from_file,
    unpack_file_from_file,
    unpack_ndarray_from_bytes,
    unpack_ndarray_from_file,
    verify,
)
from ._pack import (
    pack_bytes_to_bytes,
    pack_bytes_to_file,
    pack_file_to_file,
    pack_ndarray_to_bytes,
    pack_ndarray_to_file,
)
from .args import BloscArgs, BloscpackArgs, MetadataArgs

__all__ = [
    "BloscArgs",
    "BloscpackArgs",
    "Chunk",
    "Diagnostic",
    "File",
    "Loss",
    "MetadataArgs",
    "RecoverReport",
    "Report",
    "append",
    "args",
    "exceptions",
    "open",
    "pack_bytes_file",
    "pack_bytes_to_bytes",
    "pack_bytes_to_file",
    "pack_file",
    "pack_file_to_file",
    "pack_ndarray_file",
    "pack_ndarray_str",
    "pack_ndarray_to_bytes",
    "pack_ndarray_to_file",
    "recover",
    "unpack_bytes_file",
    "unpack_bytes_from_bytes",
    "unpack_bytes_from_file",
    "unpack_file",
    "unpack_file_from_file",
    "unpack_ndarray_file",
    "unpack_ndarray_from_bytes",
    "unpack_ndarray_from_file",
    "unpack_ndarray_str",
    "verify",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _deprecated(name: str, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that issues a deprecation warning and then calls another function."""

    @functools.wraps(function)
    def alias(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        message = f"{name} is deprecated: use {function.__name__} instead"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    alias.__name__ = alias.__qualname__ = name
    alias.__doc__ = f"Use :func:`{function.__name__}` instead."
    return alias


pack_file = _deprecated("pack_file", pack_file_to_file)
unpack_file = _deprecated("unpack_file", unpack_file_from_file)
pack_bytes_file = _deprecated("pack_bytes_file", pack_bytes_to_file)
unpack_bytes_file = _deprecated("unpack_bytes_file", unpack_bytes_from_file)
pack_ndarray_file = _deprecated("pack_ndarray_file", pack_ndarray_to_file)
unpack_ndarray_file = _deprecated("unpack_ndarray_file", unpack_ndarray_from_file)
pack_ndarray_str = _deprecated("pack_ndarray_str", pack_ndarray_to_bytes)
unpack_ndarray_str = _deprecated("unpack_ndarray_str", unpack_ndarray_from_bytes)
