"""Lazy arrays, which all formats share."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import _scibin
from ._errors import FormatError

__all__ = ["Address", "BasicIndex", "NDArray"]

BasicIndex = int | slice | EllipsisType | None
"""An item of an index that selects elements at regular intervals."""


class Address(Protocol):
    """The location of an array, from which it can be opened again, even in another process."""

    def open_array(self) -> NDArray:
        """Open the whole array."""
        ...

    def node(self) -> object:
        """Return the extension's node of the array, or ``None`` if the format has no tree."""
        ...


class NDArray:
    """An array in a file, whose elements are read when they are needed.

    Usually, only the selected elements are read, or the compressed chunks that contain them. Data
    compressed as a single stream is decoded as a whole, and a compressed array in a Dudley file is
    decoded when it is opened.

    Indexing follows numpy's basic indexing (integers, slices, ``...`` and ``None``) and returns a
    new array that is writable and aligned, or a read-only array if the file was opened with
    ``memmap=True``. With any other index, the whole array is read, and numpy then indexes it.
    Indexing with the name of a field returns a lazy array of the field. ``numpy.asarray(array)``,
    ``array[...]`` and :meth:`read` read all elements.

    Results have the byte order of the file. :meth:`read` converts the elements while reading if
    `out` has the byte order of the machine.

    Arrays can usually be pickled, but not if their file was opened from bytes. A pickle does not
    contain data, but only the path (or source) of the file and the location of the array in the
    file. After the file has been closed, reading raises `ValueError`.

    Any number of threads may use an array at the same time.

    Examples
    --------
    >>> import numpy as np, scibin.asdf
    >>> data = scibin.asdf.dumps({"image": np.arange(12).reshape(3, 4)})
    >>> image = scibin.asdf.loads(data)["image"]
    >>> image.shape, image.dtype
    ((3, 4), dtype('int64'))
    >>> image[1:, ::2]
    array([[ 4,  6],
           [ 8, 10]])
    """

    __slots__ = ("__weakref__", "_address", "_dtype", "_memmap", "_raw", "_shape", "_steps", "_tag")

    def __init__(
        self,
        raw: _scibin.Array,
        *,
        address: Address | None = None,
        memmap: bool = False,
        tag: str | None = None,
        steps: tuple[tuple[BasicIndex, ...] | str, ...] = (),
    ) -> None:
        self._raw = raw
        self._address = address
        self._memmap = memmap
        self._tag = tag
        self._steps = steps
        self._shape: tuple[int, ...] = raw.shape
        self._dtype = _dtype(raw.descr)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions, outermost first."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements, in the byte order of the file."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for count in self._shape:
            size *= count
        return size

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.size * self._dtype.itemsize

    @property
    def is_masked(self) -> bool:
        """Whether the array has a mask, even if it masks no elements."""
        return self._raw.is_masked

    @property
    def tag(self) -> str | None:
        """The tag of the array's node, if the format has tags."""
        return self._tag

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the smallest group of rows that can be read on its own.

        This is one row of raw data, or the rows in a chunk of compressed data. If individual rows
        or chunks cannot be read, as in data compressed as a single stream, this is the whole array.
        May read the lengths of all chunks.
        """
        if not self._shape:
            return ()
        return (self._raw.rows_per_chunk(), *self._shape[1:])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self.field(index)
        items = index if isinstance(index, tuple) else (index,)
        if not all(map(_is_basic, items)):
            return self.read()[index]
        values = self.slice(*items).read()
        has_ellipsis = any(item is Ellipsis for item in items)
        return values if values.ndim or has_ellipsis else values[()]

    def slice(self, *index: BasicIndex) -> NDArray:
        """Select elements without reading them.

        Parameters
        ----------
        *index
            Integers, slices, ``...`` and ``None``, as in numpy's basic indexing.

        Raises
        ------
        IndexError
            If an integer is out of range, or if there are more items than axes.
        """
        plain = tuple(_plain(item) for item in index)
        return self._part(self._raw.slice(plain), plain)

    def field(self, name: str) -> NDArray:
        """Select a field of an array of records without reading it.

        Raises
        ------
        KeyError
            If there is no such field.
        """
        if self._dtype.names is None:
            raise KeyError(f"{name}: the elements are {self._dtype}, not records")
        return self._part(self._raw.field(name), name)

    def _part(self, raw: _scibin.Array, step: tuple[BasicIndex, ...] | str) -> NDArray:
        return NDArray(
            raw,
            address=self._address,
            memmap=self._memmap,
            tag=self._tag,
            steps=(*self._steps, step),
        )

    def read(self, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Read all elements. The mask is ignored.

        Parameters
        ----------
        out
            A writable, C-contiguous array to read into. It must have the same shape and dtype as
            this array, in the byte order of the file or of the machine. Without `out`, a new array
            is returned. If the file was opened with ``memmap=True``, this array is read-only, and
            it is a view of the file if the data is stored there as raw bytes.

        Raises
        ------
        FormatError
            If the data cannot be decoded.
        ChecksumMismatch
            If the data does not match its checksum.
        LimitError
            If the array is larger than the limits of the file allow.
        OSError
            If the file cannot be read.
        ValueError
            If the file was closed, or `out` is not suitable.
        """
        if out is None:
            return self._view() if self._memmap else self._fill(self._empty(), native=False)
        if out.shape != self._shape:
            raise ValueError(f"out has the shape {out.shape}: expected {self._shape}")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError("out is not a writable C-contiguous array")
        if out.dtype == self._dtype:
            return self._fill(out, native=False)
        if out.dtype == self._dtype.newbyteorder("="):
            return self._fill(out, native=True)
        raise ValueError(f"out has the dtype {out.dtype}: expected {self._dtype}")

    def _empty(self) -> npt.NDArray[Any]:
        self._raw.check_size()
        try:
            return np.empty(self._shape, self._dtype)
        except ValueError as error:
            raise FormatError(
                f"numpy cannot create an array of shape {self._shape}: {error}"
            ) from None

    def _fill(self, out: npt.NDArray[Any], *, native: bool) -> npt.NDArray[Any]:
        if out.nbytes:
            # Reshape the array first, because numpy cannot view a 0-d array as another type.
            self._raw.read_into(out.reshape(-1).view(np.uint8), native)
        return out

    def _view(self) -> npt.NDArray[Any]:
        if not self.nbytes:
            return self._empty()
        memory, offset, strides = self._raw.shared()
        return np.ndarray(self._shape, self._dtype, np.asarray(memory), offset, strides)

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Read the mask, in which True marks masked elements. ``None`` if the array has no mask."""
        mask = self._raw.mask()
        return None if mask is None else mask.reshape(self._shape)

    def masked(self) -> np.ma.MaskedArray[Any, Any]:
        """Read all elements with their mask. Masked elements keep their stored values."""
        mask = self.mask()
        return np.ma.MaskedArray(self.read(), np.ma.nomask if mask is None else mask)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False and not self._memmap:
            raise ValueError("reading an array from a file always creates a copy")
        values = self.read()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            return values.astype(dtype)
        return values.copy() if copy and self._memmap else values

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an array without dimensions")
        return self._shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __repr__(self) -> str:
        masked = ", masked" if self.is_masked else ""
        return f"<NDArray {self._dtype} {self._shape}{masked}>"

    def _node(self) -> object:
        """Return the node of the array, or ``None`` if this is only a part of an array."""
        return None if self._steps or self._address is None else self._address.node()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._address is None:
            raise TypeError("cannot pickle an array without a JSON Pointer of at most 1 KiB")
        return _reopen, (self._address, self._steps)


def _reopen(address: Address, steps: tuple[tuple[BasicIndex, ...] | str, ...]) -> NDArray:
    """Open an array that was pickled."""
    array = address.open_array()
    for step in steps:
        array = array.field(step) if isinstance(step, str) else array.slice(*step)
    return array


def _is_basic(item: object) -> bool:
    """Return True if an item of an index selects elements at regular intervals."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _plain(item: BasicIndex) -> BasicIndex:
    """Replace numpy integers with Python integers, so that items can be pickled and compared."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        bounds = (item.start, item.stop, item.step)
        return slice(*(None if bound is None else operator.index(bound) for bound in bounds))
    return operator.index(item)


def _parse_dtype(descr: str) -> np.dtype[Any]:
    """Convert the literal of a dtype, as in the header of a ``.npy`` file."""
    try:
        literal: Any = ast.literal_eval(descr)
        convert = np.dtype if isinstance(literal, dict) else np.lib.format.descr_to_dtype
        dtype: np.dtype[Any] = convert(literal)
        return dtype
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FormatError(f"numpy has no such type: {error}", code="array") from None


_dtype = functools.lru_cache(maxsize=1024)(_parse_dtype)
