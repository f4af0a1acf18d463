"""Locating arrays by path and pointer, and dividing them into tiles that tasks read.

A task contains the locations of arrays and the slices to read, but no data. It opens the file on
the worker on which it runs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import asdf
from ._array import NDArray
from ._scibin import set_threads

__all__ = ["TARGET", "ArrayPath", "Template", "rows_per_tile", "use_one_thread_on_workers"]

TARGET = 64 << 20
"""The preferred size of a tile in bytes."""


@dataclass(frozen=True)
class ArrayPath:
    """The location of an array."""

    path: str
    pointer: str

    def read(self, *index: slice) -> npt.NDArray[Any]:
        """Read a part of the array. Masked elements keep their stored values."""
        with asdf.open(self.path) as file:
            return _array(file, self.pointer).slice(*index).read()

    def template(self) -> Template:
        """Return the shape and type of the array, without reading elements."""
        with asdf.open(self.path) as file:
            array = _array(file, self.pointer)
            dtype = array.dtype.newbyteorder("=")
            return Template(array.shape, dtype, array.chunks[:1], array._raw.unit_nbytes())


@dataclass(frozen=True)
class Template:
    """The shape and type of an array, and the parts of it that must be decoded together.

    ``unit`` is the number of rows that must be decoded together. ``unit_nbytes`` is the number of
    bytes: 1 if the data is raw, or ``None`` if all the data must be decoded together.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    unit: tuple[int, ...] = ()
    unit_nbytes: int | None = None

    def check(self, values: NDArray | npt.NDArray[Any] | Template, path: str) -> None:
        """Raise `ValueError` if an array does not have this shape and type."""
        found = values.shape, values.dtype.newbyteorder("=")
        if found != (self.shape, self.dtype):
            raise ValueError(
                f"{path}: the array is {found[1]} {found[0]}, but the first one is "
                f"{self.dtype} {self.shape}"
            )

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def _array(file: asdf.File, pointer: str) -> NDArray:
    value = file[pointer]
    if not isinstance(value, NDArray):
        raise TypeError(f"{file.path}: {pointer} is {type(value).__name__}, not an array")
    return value


def rows_per_tile(template: Template, target: int) -> int:
    """Return the number of rows in a tile of about `target` bytes.

    The number is a multiple of the rows that must be decoded together, unless the array is shorter.
    """
    if not template.shape:
        return 1
    rows = max(template.shape[0], 1)
    (unit,) = template.unit
    row = max(template.nbytes // rows, 1)
    return min(max(target // row // unit, 1) * unit, rows)


_processes: set[int] = set()
"""The IDs of processes in which the number of threads has been set, or left unchanged."""


def use_one_thread_on_workers() -> None:
    """Use one thread per task on a Dask worker that runs several tasks at a time."""
    process = os.getpid()
    if process in _processes:
        return
    _processes.add(process)
    try:
        from distributed import get_worker

        if get_worker().state.nthreads > 1:
            set_threads(1)
    except (ImportError, ValueError):
        # This process is not a Dask worker.
        pass
