"""Writing new files."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from .. import _scibin
from ._blocks import prepare
from ._file import File

__all__ = ["dumps", "write"]


def write(
    path: str | os.PathLike[str],
    tree: Mapping[Any, Any],
    *,
    compression: str | Mapping[str, str] | None = None,
    align: int | None = None,
    standard: str = "1.6.0",
    overwrite: bool = False,
) -> None:
    """Write a new file.

    The file appears at `path` only when it is complete and has been written to disk. If writing
    fails, an existing file is unchanged.

    Most arrays are not copied in advance. If another thread modifies an array while it is being
    written, the file may contain both old and new elements.

    Parameters
    ----------
    path
        The path of the new file.
    tree
        The root of the tree, which must be a mapping. Values may be dictionaries, lists, tuples,
        sets, strings, numbers, ``None``, bytes, dates, numpy arrays, masked arrays, numpy scalars,
        :class:`Tagged`, and nodes and lazy arrays of other files. Overlapping or adjacent views of
        the same memory can share a block. A collection that occurs several times is written only
        once, and may contain itself. If the tree contains nodes of other files, the blocks of one
        of these files are copied without decoding them, and the blocks of all other files are
        decoded.
    compression
        The compression of new blocks: ``"zlib"``, ``"bzp2"``, ``"lz4"``, ``"lz4f"``, ``"zstd"``,
        ``"blsc"``, ``"blsc-chunked"`` or ``"none"``. For codecs that have levels, a level can be
        added, as in ``"zlib:9"``. To choose the compression for each array, pass a mapping from
        JSON Pointers to such names.
    align
        The alignment of block data in bytes, which is a power of two up to 32,768. Default: 64.
    standard
        The version of the ASDF standard.
    overwrite
        Whether to replace an existing file.

    Raises
    ------
    FileExistsError
        If there is a file at `path` and `overwrite` is false.
    FormatError
        If a node or array of another file cannot be read.
    OSError
        If the file cannot be written.
    TypeError
        If ASDF cannot represent a value. The message usually begins with the JSON Pointer of the
        value.
    ValueError
        If an option has an invalid value.
    KeyError
        If `compression` contains a pointer at which there is no new array.

    Examples
    --------
    >>> import numpy as np, scibin.asdf
    >>> image = np.zeros((256, 256), "f4")
    >>> scibin.asdf.write("image.asdf", {"meta": {"gain": 2.5}, "image": image})
    """
    _check_root(tree)
    one, several = _compressions(compression)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    _scibin.asdf_write(
        os.fspath(path),
        tree,
        prepare,
        compression=one,
        compressions=several,
        align=align,
        standard=standard,
        overwrite=overwrite,
    )


def dumps(
    tree: Mapping[Any, Any],
    *,
    compression: str | Mapping[str, str] | None = None,
    align: int | None = None,
    standard: str = "1.6.0",
) -> bytes:
    """Return a new file as bytes. The arguments have the same meaning as in :func:`write`."""
    _check_root(tree)
    one, several = _compressions(compression)
    return _scibin.asdf_dumps(
        tree, prepare, compression=one, compressions=several, align=align, standard=standard
    )


def _compressions(
    compression: str | Mapping[str, str] | None,
) -> tuple[str | None, dict[str, str] | None]:
    if compression is None or isinstance(compression, str):
        return compression, None
    return None, dict(compression)


def _check_root(tree: object) -> None:
    root = tree.tree if isinstance(tree, File) else tree
    if not isinstance(root, Mapping):
        raise TypeError(f"the root of a tree must be a mapping, not {type(root).__name__}")
