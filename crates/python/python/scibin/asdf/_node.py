"""The nodes of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .. import _scibin
from .._array import NDArray
from ._tagged import Tagged

if TYPE_CHECKING:
    from ._file import File

__all__ = ["ArrayNode", "MappingNode", "Node", "ScalarNode", "SequenceNode"]


class Node:
    """A node in the tree of a file.

    Nodes refer to the parsed tree, so they are cheap even in a large file. A mapping is a
    `collections.abc.Mapping`, and a sequence is a `collections.abc.Sequence`. Their scalar items
    are plain Python objects. To get any value as a node with its tag, call ``file.node(pointer)``.
    """

    __slots__ = ("__weakref__", "_file", "_raw")

    def __init__(self, file: File, raw: _scibin.AsdfNode) -> None:
        self._file = file
        self._raw = raw

    @property
    def tag(self) -> str | None:
        """The complete tag of the node, or ``None``."""
        return self._raw.tag

    @property
    def pointer(self) -> str | None:
        """The JSON Pointer of the node, or ``None`` if it is part of a key or longer than 1 KiB."""
        return self._raw.pointer

    @property
    def line(self) -> int:
        """The line of the file on which the content of the node begins, counted from 1."""
        return self._raw.position[0]

    @property
    def column(self) -> int:
        """The column in characters at which the content begins, counted from 1."""
        return self._raw.position[1]

    @property
    def value(self) -> Any:
        """The value that indexing returns: a plain object, a lazy array, or the node itself."""
        return self

    def node(self, pointer: str) -> Node:
        """Return the node at a JSON Pointer relative to this node, even a scalar or an array.

        Raises
        ------
        KeyError
            If there is no such node.
        """
        return _node(self._file, self._raw.find(_absolute(pointer)))

    def to_dict(
        self,
        *,
        arrays: Literal["numpy", "lazy"] = "numpy",
        errors: Literal["raise", "keep"] = "raise",
        tagged: bool = False,
    ) -> Any:
        """Convert the node and everything below it into plain objects.

        A node that occurs several times becomes a single object.

        Parameters
        ----------
        arrays
            ``"numpy"`` reads all arrays. Arrays with a mask become masked arrays. ``"lazy"``
            returns :class:`scibin.NDArray` instead.
        errors
            If an array cannot be read, ``"raise"`` raises the exception, and ``"keep"`` returns the
            exception in place of the array.
        tagged
            Whether to convert a node whose tag a plain object cannot represent to :class:`Tagged`.

        Raises
        ------
        FormatError
            If a node does not conform to its tag, a key is a collection, or an array cannot be
            decoded.
        """
        if arrays not in ("numpy", "lazy"):
            raise ValueError(f"arrays={arrays!r}: expected 'numpy' or 'lazy'")
        if errors not in ("raise", "keep"):
            raise ValueError(f"errors={errors!r}: expected 'raise' or 'keep'")

        def lazy(raw: _scibin.AsdfNode) -> object:
            return _array(self._file, raw)

        def read(raw: _scibin.AsdfNode) -> object:
            array = _array(self._file, raw)
            return array.masked() if array.is_masked else array.read()

        return self._raw.to_python(
            read if arrays == "numpy" else lazy,
            keep_errors=errors == "keep",
            tagged=Tagged if tagged else None,
        )

    def to_object(self) -> Any:
        """Convert the node into an object of another package, such as a WCS.

        The ``asdf`` package and its installed extensions convert only this node and everything
        below it. They may run code that depends on the file, so use this only for files that you
        trust.

        Raises
        ------
        ImportError
            If the ``asdf`` package is not installed.
        """
        from ._objects import to_object

        return to_object(self, self._file.standard)

    def __repr__(self) -> str:
        tag = f" {self.tag}" if self.tag else ""
        return f"<{type(self).__name__} {self.pointer or '/'}{tag}>"


class MappingNode(Node, Mapping[Any, Any]):
    """A mapping, including an ordered mapping (``!!omap``)."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        raw = self._raw.get(key)
        if raw is None:
            if not (isinstance(key, str) and "/" in key):
                raise KeyError(key)
            raw = self._raw.find(_absolute(key))
        return _value(self._file, raw)

    def __contains__(self, key: object) -> bool:
        return self._raw.get(key) is not None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._raw.keys())

    def __len__(self) -> int:
        return len(self._raw)


class SequenceNode(Node, Sequence[Any]):
    """A sequence. ``numpy.asarray`` converts a sequence of numbers into an array."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int | str) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | str | slice) -> Any:
        if isinstance(index, str):
            return self.node(index).value
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        raw = self._raw.at(at) if at >= 0 else None
        if raw is None:
            raise IndexError(f"index {index} in a sequence of {len(self)}")
        return _value(self._file, raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (SequenceNode, list, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("reading a sequence from a file always creates a copy")
        return np.array(self.to_dict(), dtype=dtype)


class ScalarNode(Node):
    """A scalar with its tag."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """The scalar as a plain Python object."""
        return self._raw.scalar()

    @property
    def text(self) -> str | None:
        """The text of the scalar, with quotes removed and escapes decoded."""
        return self._raw.text


class ArrayNode(Node):
    """An array."""

    __slots__ = ()

    @property
    def value(self) -> NDArray:
        """The lazy array. No elements have been read yet."""
        return _array(self._file, self._raw)


@dataclass(frozen=True)
class _ArrayAddress:
    """The location of an array: a file, which is pickled as its path or source, and a pointer."""

    file: File
    pointer: str

    def open_array(self) -> NDArray:
        return _array(self.file, self.file.node(self.pointer)._raw)

    def node(self) -> _scibin.AsdfNode:
        return self.file.node(self.pointer)._raw


def plain(value: Any) -> Any:
    """Convert a node, a file or a lazy array to plain objects with tags.

    The extension calls this for nodes whose blocks it cannot copy.
    """
    if isinstance(value, NDArray):
        return value.masked() if value.is_masked else value.read()
    return value.to_dict(tagged=True)


def _absolute(pointer: str) -> str:
    return pointer if not pointer or pointer.startswith("/") else f"/{pointer}"


def _array(file: File, raw: _scibin.AsdfNode) -> NDArray:
    pointer = raw.pointer
    address = None if pointer is None else _ArrayAddress(file, pointer)
    return NDArray(raw.array(), address=address, memmap=file.memmap, tag=raw.tag)


def _value(file: File, raw: _scibin.AsdfNode) -> Any:
    """Return the value that indexing returns for a node."""
    form = raw.form
    if form == "scalar":
        return raw.scalar()
    if form in ("set", "pairs"):
        return Node(file, raw).to_dict()
    return _node(file, raw).value


def _node(file: File, raw: _scibin.AsdfNode) -> Node:
    form = raw.form
    if form == "mapping":
        return MappingNode(file, raw)
    if form == "sequence":
        return SequenceNode(file, raw)
    return (ArrayNode if form == "array" else ScalarNode if form == "scalar" else _PlainNode)(
        file, raw
    )


class _PlainNode(Node):
    """A set or a list of pairs, neither of which has a lazy form."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        return self.to_dict()
