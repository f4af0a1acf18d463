"""Arrays in one or many files as Dask arrays.

A task contains paths and slices, never data or open files, so it can run on any machine that can
read the files. A task of `open` reads a tile of about 64 MiB. A task of `stack` reads the array of
a single file, or the arrays of several small files.

The tiles of `open` consist of whole rows. However, rows of more than 128 MiB are divided. For
``lz4`` or ``blsc`` data, the number of rows also depends on the size of the decoded chunks. If
chunks do not end at tile boundaries, two neighbouring tiles both decode the chunk at their
boundary. An array that is compressed as a single stream (``zlib``, ``bzp2``, ``zstd`` or ``lz4f``)
is a single tile.

>>> import scibin.asdf, scibin.dask
>>> for i in range(3):
...     scibin.asdf.write(f"{i}.asdf", {"image": np.full((4, 4), i, "float32")})
>>> images = scibin.dask.stack([f"{i}.asdf" for i in range(3)], "image")
>>> images.shape, float(images.mean().compute())
((3, 4, 4), 1.0)
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, overload

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize
from dask.delayed import delayed

from ._tiles import TARGET, ArrayPath, Template, rows_per_tile, use_one_thread_on_workers

__all__ = ["Stack", "open", "stack"]

_log = logging.getLogger(__name__)

Path = str | os.PathLike[str]


@overload
def open(path: Path, pointer: str, *, chunks: Any = "auto") -> da.Array: ...
@overload
def open(
    path: list[Path] | tuple[Path, ...], pointer: str, *, chunks: Any = "auto"
) -> list[da.Array]: ...
def open(
    path: Path | list[Path] | tuple[Path, ...], pointer: str, *, chunks: Any = "auto"
) -> da.Array | list[da.Array]:
    """Return an array in an ASDF file as a Dask array.

    Reads the tree and the layout of the array, but no elements. They are read when the result is
    computed.

    Parameters
    ----------
    path
        A path or URL that the workers can also open. For a list of paths, a list of arrays is
        returned, which may differ in shape and type.
    pointer
        The JSON Pointer of the array, such as ``"/image/data"``.
    chunks
        The shapes of the tiles in any form that Dask accepts. ``"auto"`` divides the first axis
        into tiles of about 64 MiB, each of which can be read without the others. An array that is
        compressed as a single stream is one tile.

    Raises
    ------
    KeyError
        If there is no value at the pointer.
    TypeError
        If the value at the pointer is not an array.
    FormatError
        If the file is damaged. Damaged data is detected only when it is read.
    OSError
        If the file cannot be opened or read.
    """
    if not isinstance(path, (str, os.PathLike)):
        return [open(one, pointer, chunks=chunks) for one in path]
    array = ArrayPath(os.fspath(path), pointer)
    template = array.template()
    if isinstance(chunks, str) and chunks == "auto":
        chunks = _chunks(template)
    else:
        chunks = da.core.normalize_chunks(chunks, template.shape, dtype=template.dtype)
    tiles: da.Array = da.map_blocks(
        _read_tile,
        array,
        template.dtype,
        chunks=chunks,
        dtype=template.dtype,
        meta=np.empty((0,) * len(template.shape), template.dtype),
        name=f"scibin-{tokenize(array, template, chunks)}",
    )
    return tiles


def _chunks(template: Template) -> tuple[tuple[int, ...], ...]:
    """Return the lengths of the tiles along each axis."""
    if not template.shape:
        return ()
    rows = rows_per_tile(template, TARGET)
    rest: tuple[int | str, ...] = template.shape[1:]
    unit = template.unit_nbytes
    if unit and rest and rows == 1 and template.nbytes // template.shape[0] > 2 * TARGET:
        # A tile of compressed chunks must be contiguous, so that no other tile decodes its chunks.
        rest = ("auto",) * len(rest) if unit == 1 else ("auto", *rest[1:])
    chunks = da.core.normalize_chunks(
        (rows, *rest), template.shape, limit=TARGET, dtype=template.dtype
    )
    return tuple(tuple(map(int, axis)) for axis in chunks)


def _read_tile(array: ArrayPath, dtype: np.dtype[Any], block_info: Any = None) -> npt.NDArray[Any]:
    use_one_thread_on_workers()
    location = block_info[None]["array-location"]
    return array.read(*(slice(start, stop) for start, stop in location)).astype(dtype, copy=False)


@dataclass(frozen=True)
class Stack:
    """The result of `stack` with ``return_failed=True``.

    Attributes
    ----------
    array
        The stacked arrays.
    failed
        A delayed list of the paths of the files whose arrays were replaced with NaN. Compute it
        together with the values derived from the array, as in ``dask.compute(mean, stack.failed)``,
        so that nothing is read twice.
    """

    array: da.Array
    failed: Any


@overload
def stack(
    paths: Iterable[Path],
    pointer: str,
    *,
    files_per_task: int | Literal["auto"] = "auto",
    check: Literal["first", "all"] = "first",
    errors: Literal["raise", "nan"] = "raise",
    return_failed: Literal[False] = False,
) -> da.Array: ...
@overload
def stack(
    paths: Iterable[Path],
    pointer: str,
    *,
    files_per_task: int | Literal["auto"] = "auto",
    check: Literal["first", "all"] = "first",
    errors: Literal["raise", "nan"] = "raise",
    return_failed: Literal[True],
) -> Stack: ...
def stack(
    paths: Iterable[Path],
    pointer: str,
    *,
    files_per_task: int | Literal["auto"] = "auto",
    check: Literal["first", "all"] = "first",
    errors: Literal["raise", "nan"] = "raise",
    return_failed: bool = False,
) -> da.Array | Stack:
    """Stack the arrays of many ASDF files along a new first axis.

    Parameters
    ----------
    paths
        Paths or URLs that the workers can also open.
    pointer
        The JSON Pointer of the array in each file.
    files_per_task
        The number of files that a single task reads. With ``"auto"``, a task reads at most about
        64 MiB or a single file, and fewer files if the stack is small.
    check
        When to check that all arrays have the shape and type of the first one. With ``"all"`` and
        ``errors="raise"``, this function opens all files and checks them. Otherwise, an array that
        differs is detected by the task that reads it.
    errors
        If an array cannot be read or differs from the first one, ``"raise"`` raises an exception,
        and ``"nan"`` fills the array with NaN and logs a warning. With ``"nan"``, if the arrays do
        not contain floating-point or complex numbers, the result is ``float64`` and a warning is
        issued.
    return_failed
        Whether to return a `Stack`, which also contains the paths of the files whose arrays were
        replaced with NaN.

    Raises
    ------
    ValueError
        If there are no files, if an argument is invalid, or, with ``errors="nan"``, if none of the
        arrays can be opened. With ``errors="raise"`` and ``check="all"``, also if an array differs
        from the first one; the message then begins with the path.
    FormatError, OSError, KeyError, TypeError
        With ``errors="raise"``, if the array in the first file cannot be opened, or with
        ``check="all"``, the array in any file.
    """
    names = [os.fspath(path) for path in paths]
    if not names:
        raise ValueError("no files to stack")
    if check not in ("first", "all") or errors not in ("raise", "nan"):
        raise ValueError("expected check='first' or 'all', and errors='raise' or 'nan'")
    template = _template(names, pointer, check, errors)
    dtype = template.dtype
    if errors == "nan" and dtype.kind not in "fc":
        dtype = np.dtype("float64")
        warnings.warn(f"{template.dtype} has no NaN: the result is float64", stacklevel=2)
    if files_per_task == "auto":
        files_per_task = max(TARGET // max(template.nbytes, 1), 1)
        # Also divide small stacks, so that all workers have something to do.
        files_per_task = min(files_per_task, max(-(-len(names) // 16), 1))
    sizes = da.core.normalize_chunks((files_per_task,), (len(names),))[0]
    groups = da.from_array(np.array(names, dtype=object), chunks=(sizes,))
    task = _Group(pointer, template, dtype, errors)
    read = groups.map_blocks(
        task.read, dtype=object, meta=np.empty((0,), object), chunks=((1,) * len(sizes),)
    )
    array = read.map_blocks(
        _values,
        chunks=(sizes, *((count,) for count in template.shape)),
        new_axis=tuple(range(1, 1 + len(template.shape))),
        dtype=dtype,
        meta=np.empty((0,) * (1 + len(template.shape)), dtype),
    )
    return array if not return_failed else Stack(array, delayed(_failed)(list(read.to_delayed())))


def _template(names: list[str], pointer: str, check: str, errors: str) -> Template:
    """Return the shape and type of the first array, or of the first one that can be opened."""
    first = None
    for name in names:
        try:
            first = ArrayPath(name, pointer).template()
            break
        except Exception:
            if errors == "raise":
                raise
    if first is None:
        raise ValueError(f"none of the {len(names)} files can be read")
    if check == "all" and errors == "raise":
        with ThreadPoolExecutor() as pool:
            templates = pool.map(lambda name: ArrayPath(name, pointer).template(), names)
            for name, template in zip(names, templates, strict=True):
                first.check(template, name)
    return first


@dataclass(frozen=True)
class _Read:
    """The result of a task."""

    values: npt.NDArray[Any]
    failed: list[str]


@dataclass(frozen=True)
class _Group:
    """A task that reads some of the files."""

    pointer: str
    template: Template
    dtype: np.dtype[Any]
    errors: str

    def read(self, names: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Read the arrays of the files into one array."""
        use_one_thread_on_workers()
        values = np.empty((len(names), *self.template.shape), self.dtype)
        failed = []
        for at, name in enumerate(names):
            try:
                found = ArrayPath(name, self.pointer).read()
                self.template.check(found, name)
                values[at] = found
            except Exception as error:
                if self.errors == "raise":
                    if name not in str(error):
                        error.add_note(f"while reading {name}")
                    raise
                values[at] = np.nan
                failed.append(name)
        if failed:
            _log.warning(
                "%d of %d files cannot be read: %s", len(failed), len(names), ", ".join(failed)
            )
        result = np.empty(1, object)
        result[0] = _Read(values, failed)
        return result


def _values(read: npt.NDArray[Any]) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = read[0].values
    return values


def _failed(groups: list[npt.NDArray[Any]]) -> list[str]:
    return [name for group in groups for name in group[0].failed]
