"""ASDF files as xarray datasets: ``xarray.open_dataset(path, engine="scibin")``.

The arrays in a mapping of the tree become variables. Strings, booleans, integers and floats become
attributes. Arrays are read when they are needed, even by workers in other processes.

>>> import scibin.asdf, xarray
>>> scibin.asdf.write("a.asdf", {"exposure": 30.0, "image": np.arange(6.0).reshape(2, 3)})
>>> dataset = xarray.open_dataset("a.asdf", engine="scibin")
>>> dataset.image.dims, dataset.attrs["exposure"]
(('image_0', 'image_1'), 30.0)
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import asdf
from ._array import NDArray

__all__ = ["ScibinBackend"]

_MAGIC = b"#ASDF"


class ScibinBackend(BackendEntrypoint):
    """The ``scibin`` engine, which opens ASDF files."""

    description = "Open ASDF files (.asdf) lazily with scibin"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "group", "dims")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str = "",
        dims: Mapping[str, Iterable[str]] | None = None,
    ) -> Dataset:
        """Open the arrays in a mapping as a dataset.

        Parameters
        ----------
        filename_or_obj
            A path, a URL, bytes, or a source, as for `scibin.asdf.open`.
        drop_variables
            The names of arrays to leave out.
        group
            The JSON Pointer of the mapping. Default: the root of the tree.
        dims
            The names of the dimensions, by the name of the array. By default, the dimensions of an
            array `NAME` are called `NAME_0`, `NAME_1` and so on.

        Notes
        -----
        Arrays of records are left out, because xarray has no such type. Masked elements of
        floating-point arrays become NaN. Masked elements of other arrays keep their stored values.
        """
        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        file = asdf.open(filename_or_obj)
        try:
            entries = file[group] if group.strip("/") else file.tree
            if not isinstance(entries, Mapping):
                raise TypeError(f"{group or '/'} is not a mapping")
            variables: dict[str, Variable] = {}
            attributes: dict[str, Any] = {}
            for key in entries:
                value = entries[key]
                name = str(key)
                if isinstance(value, NDArray):
                    if name not in dropped and value.dtype.names is None:
                        variables[name] = _variable(name, value, (dims or {}).get(name))
                elif isinstance(value, (str, int, float, bool)):
                    attributes[name] = value
        except BaseException:
            file.close()
            raise
        dataset = Dataset(variables, attrs=attributes)
        dataset.set_close(file.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return True if the first bytes of the file at a path are those of an ASDF file."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        try:
            with builtins.open(filename_or_obj, "rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
        except OSError:
            return False


def _variable(name: str, array: NDArray, dims: Iterable[str] | None) -> Variable:
    dims = [f"{name}_{axis}" for axis in range(array.ndim)] if dims is None else list(dims)
    variable = Variable(dims, indexing.LazilyIndexedArray(_LazyArray(array)))
    if array.chunks[:1] > (1,):
        variable.encoding["preferred_chunks"] = dict(zip(dims, array.chunks, strict=True))
    return variable


class _LazyArray(BackendArray):
    """A lazy array that xarray can index and pickle."""

    def __init__(self, array: NDArray) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, index: tuple[Any, ...]) -> npt.NDArray[Any]:
        part = self.array.slice(*index)
        if part.is_masked and part.dtype.kind == "f":
            return np.asarray(part.masked().filled(np.nan))
        return part.read()
