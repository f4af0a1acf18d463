"""Choosing the blocks in which new arrays are stored.

Overlapping or adjacent views of the same memory can share a block, each with its own offset and
strides. The block contains the bytes from the first to the last element of these arrays, but not
the rest of the base array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._array import NDArray

__all__ = ["prepare"]

_Stored = tuple[Any, str, tuple[int, ...], tuple[int, ...], int]
_Prepared = tuple[Any, str, tuple[int, ...], tuple[int, ...], int, Any]

_PLAIN: tuple[type, ...] = (np.ndarray, np.memmap, np.recarray, np.ma.MaskedArray)
"""The array classes that are accepted. Arrays of other classes, such as an astropy Quantity, may
contain information besides their elements."""


@dataclass(frozen=True)
class _View:
    """An array, the address of its first byte, and the address after its last byte."""

    array: npt.NDArray[Any]
    start: int
    end: int


def prepare(arrays: list[Any]) -> list[_Prepared | TypeError]:
    """Return the block, dtype, shape, strides, offset and mask of each array.

    A block is an array of bytes, and arrays that share a block share this object. For an array that
    cannot be written, the list contains an exception, which the extension raises together with the
    pointer of the array.
    """
    prepared: list[_Prepared | TypeError | None] = [None] * len(arrays)
    views: dict[int, _View] = {}
    masks: dict[int, npt.NDArray[np.bool_] | None] = {}
    for at, array in enumerate(arrays):
        try:
            values, masks[at] = _split(array)
        except TypeError as error:
            prepared[at] = error
        else:
            views[at] = _view(values)
    for at, stored in _share(views).items():
        mask = masks[at]
        prepared[at] = (*stored, None if mask is None else (*_pack(mask), None))
    return [entry for entry in prepared if entry is not None]


def _split(array: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Return the elements and the mask of an array."""
    if isinstance(array, NDArray):
        array = array.masked() if array.is_masked else array.read()
    if type(array) not in _PLAIN:
        name = f"{type(array).__module__}.{type(array).__qualname__}"
        raise TypeError(
            f"an array of the class {name} may contain more than its elements: "
            "convert it with numpy.asarray or Tagged.from_object"
        )
    mask = None
    if isinstance(array, np.ma.MaskedArray):
        if array.mask is not np.ma.nomask:
            mask = np.ma.getmaskarray(array)
            if mask.dtype != np.bool_:
                raise TypeError("ASDF cannot represent a mask for individual fields of records")
        array = array.data
    values = np.asarray(array)
    if values.dtype.hasobject:
        raise TypeError(f"ASDF cannot represent elements of the type {values.dtype}")
    return values, mask


def _view(array: npt.NDArray[Any]) -> _View:
    start = end = array.__array_interface__["data"][0]
    if array.size:
        end += array.itemsize
        for count, stride in zip(array.shape, array.strides, strict=True):
            reach = (count - 1) * stride
            start, end = (start + reach, end) if reach < 0 else (start, end + reach)
    return _View(array, start, end)


def _base(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Follow the bases of a view, and return the last one that is an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _share(views: dict[int, _View]) -> dict[int, _Stored]:
    """Return the block, dtype, shape, strides and offset of each view."""
    groups: dict[int, list[int]] = {}
    for at, view in views.items():
        groups.setdefault(id(_base(view.array)), []).append(at)
    stored: dict[int, _Stored] = {}
    for group in groups.values():
        memory = _memory(_base(views[group[0]].array))
        for cluster in _clusters(views, group):
            start = min(views[at].start for at in cluster)
            end = max(views[at].end for at in cluster)
            total = sum(views[at].array.nbytes for at in cluster)
            if memory is None or end - start > total:
                stored.update((at, _pack(views[at].array)) for at in cluster)
                continue
            block = memory.array[start - memory.start : end - memory.start]
            for at in cluster:
                array = views[at].array
                first = array.__array_interface__["data"][0]
                offset = first - start if array.size else 0
                stored[at] = (block, _descr(array.dtype), array.shape, array.strides, offset)
    return stored


def _clusters(views: dict[int, _View], group: list[int]) -> list[list[int]]:
    """Divide views of the same memory into groups of views that overlap or touch."""
    clusters: list[list[int]] = []
    end = -1
    for at in sorted(group, key=lambda at: views[at].start):
        if clusters and views[at].start <= end:
            clusters[-1].append(at)
        else:
            clusters.append([at])
        end = max(end, views[at].end)
    return clusters


def _memory(base: npt.NDArray[Any]) -> _View | None:
    """Return the bytes of a base array, or ``None`` if they cannot be shared.

    This is the case if the array is empty, not contiguous, or contains Python objects.
    """
    if not base.flags.forc or base.dtype.hasobject or not base.nbytes:
        return None
    view = _view(base)
    return replace(view, array=base.reshape(-1, order="A").view(np.ndarray).view(np.uint8))


def _pack(array: npt.NDArray[Any]) -> _Stored:
    """Return a separate block for an array, and its dtype, shape, strides and offset.

    The array is copied unless it is in C order.
    """
    packed = np.require(array, requirements="C").reshape(array.shape)
    data = packed.reshape(-1).view(np.uint8) if packed.nbytes else np.empty(0, np.uint8)
    return data, _descr(array.dtype), array.shape, packed.strides, 0


def _descr(dtype: np.dtype[Any]) -> str:
    """Return a dtype as a string that the extension can parse."""
    if dtype.names is None:
        return dtype.str
    try:
        return repr(np.lib.format.dtype_to_descr(dtype))
    except ValueError:
        # The fields overlap, or are not in the order of their offsets.
        fields: Any = dtype.fields
        return repr(
            {
                "names": list(dtype.names),
                "formats": [_literal(fields[name][0]) for name in dtype.names],
                "offsets": [fields[name][1] for name in dtype.names],
                "itemsize": dtype.itemsize,
            }
        )


def _literal(dtype: np.dtype[Any]) -> Any:
    base = dtype.base
    literal = base.str if base.names is None else np.lib.format.dtype_to_descr(base)
    return (literal, dtype.shape) if dtype.shape else literal
