"""Appending to files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _scibin
from . import _options
from .args import BloscArgs
from .exceptions import _named

__all__ = ["append"]


def append(
    orig_file: str | os.PathLike[str],
    new_file: str | os.PathLike[str],
    blosc_args: Mapping[str, Any] | None = None,
    *,
    in_place: bool = False,
    rows: bool = False,
    threads: int | None = None,
) -> None:
    """Append the content of a file to a packed file.

    If the process is killed, the packed file contains either the old or the new data. With
    ``in_place=True``, it may be partly changed, but this package then still reads the old data.

    Parameters
    ----------
    orig_file
        The packed file.
    new_file
        The file whose content is to be appended.
    blosc_args
        A :class:`BloscArgs`, or a dict with some of its keys. Options that are missing or
        ``None`` are taken from the last nonempty chunk. However, the default level is 7, and if
        that chunk was compressed with lz4hc, the default compressor is lz4.
    in_place
        Whether to change the file in place, using a journal, instead of replacing it with a new
        one. This is meant for files too large to copy.
    rows
        Whether to append rows to an array, which changes the length of the first dimension.
        Otherwise, appending to an array raises `ValueError`.
    threads
        The maximum number of threads to use.

    Raises
    ------
    NotEnoughSpace
        If the table of offsets has too few spare entries for the new chunks.
    FormatError
        If the packed file is damaged.
    BlockingIOError
        If another process is changing the packed file.
    OSError
        If a file cannot be read or written.
    ValueError
        If an argument is invalid, or the data cannot be appended to an array.
    """
    options: dict[str, Any] = {"in_place": in_place, "axis0": rows}
    if blosc_args is not None:
        defaults = BloscArgs()
        given = {key: value for key, value in blosc_args.items() if value is not None}
        converted = _options.compression({**defaults, **given})
        names = {
            "typesize": "typesize",
            "clevel": "level",
            "shuffle": "shuffle",
            "cname": "compressor",
        }
        options |= {names[key]: converted[names[key]] for key in given}
    if threads is not None:
        _options.check_range("threads", threads, 1, 1 << 16)
        options["threads"] = threads
    with _named():
        _scibin.bloscpack_append(orig_file, new_file, options)
