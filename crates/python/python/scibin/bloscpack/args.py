"""Arguments for packing, which are mutable mappings whose items are also attributes."""

from __future__ import annotations

import pprint
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, ClassVar, TypeVar

__all__ = ["BloscArgs", "BloscpackArgs", "MetadataArgs"]

_Self = TypeVar("_Self", bound="_Args")


def _ten_times(number: int) -> int:
    return 10 * number


class _Args(MutableMapping[str, Any]):
    """A mapping with a fixed set of keys."""

    _keys: ClassVar[tuple[str, ...]] = ()

    @property
    def attributes(self) -> list[str]:
        """The keys, in order."""
        return list(self._keys)

    def _check(self, key: str) -> str:
        if key not in self._keys:
            raise KeyError(f"{key} not in {type(self).__name__}")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._check(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._check(key), value)

    def __delitem__(self, key: str) -> None:
        name = type(self).__name__
        raise NotImplementedError(f"{name} does not support __delitem__ or derivatives")

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __str__(self) -> str:
        return pprint.pformat(dict(self))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in self.items())
        return f"{type(self).__name__}({arguments})"

    def copy(self: _Self) -> _Self:
        """Return a copy."""
        return type(self)(**self)


class BloscArgs(_Args):
    """Arguments for the compression of chunks.

    Parameters
    ----------
    typesize
        The size of an element in bytes, from 1 to 255. For an array, this is ignored, and derived
        from the size of its elements.
    clevel
        The compression level, from 0 (not compressed) to 9 (smallest).
    shuffle
        Whether to shuffle the bytes of the elements. The value 2 shuffles their bits.
    cname
        The compressor: ``"blosclz"``, ``"lz4"``, ``"lz4hc"``, ``"snappy"``, ``"zlib"`` or
        ``"zstd"``.

    Examples
    --------
    >>> args = BloscArgs(cname="zstd")
    >>> args["clevel"] = 3
    >>> args
    BloscArgs(typesize=8, clevel=3, shuffle=True, cname='zstd')
    """

    _keys = ("typesize", "clevel", "shuffle", "cname")

    def __init__(
        self,
        typesize: int = 8,
        clevel: int = 7,
        shuffle: bool | int = True,
        cname: str = "blosclz",
    ) -> None:
        self.typesize = typesize
        self.clevel = clevel
        self.shuffle = shuffle
        self.cname = cname


class BloscpackArgs(_Args):
    """Arguments for the file.

    Parameters
    ----------
    offsets
        Whether to write a table with the offsets of the chunks.
    checksum
        The checksum of the chunks: ``"None"`` (or ``None``), ``"adler32"``, ``"crc32"``, ``"md5"``,
        ``"sha1"``, ``"sha224"``, ``"sha256"``, ``"sha384"`` or ``"sha512"``.
    max_app_chunks
        The number of chunks that can be appended later if there is a table of offsets, or a
        function that computes this from the number of chunks.
    """

    _keys = ("offsets", "checksum", "max_app_chunks")

    def __init__(
        self,
        offsets: bool = True,
        checksum: str | None = "adler32",
        max_app_chunks: int | Callable[[int], int] = _ten_times,
    ) -> None:
        self.offsets = offsets
        self.checksum = "None" if checksum is None else checksum
        self.max_app_chunks = max_app_chunks


class MetadataArgs(_Args):
    """Arguments for the metadata.

    Parameters
    ----------
    magic_format
        The format of the metadata, which is always ``b"JSON"``.
    meta_checksum
        The checksum of the metadata, with the same names as in :class:`BloscpackArgs`.
    meta_codec
        ``"zlib"``, which is used only if it makes the metadata smaller, or ``"None"``.
    meta_level
        The compression level, from 0 to 9.
    max_meta_size
        The space to reserve for the metadata in bytes, or a function that computes this from the
        size of the text.
    """

    _keys = ("magic_format", "meta_checksum", "meta_codec", "meta_level", "max_meta_size")

    def __init__(
        self,
        magic_format: bytes = b"JSON",
        meta_checksum: str = "adler32",
        meta_codec: str = "zlib",
        meta_level: int = 6,
        max_meta_size: int | Callable[[int], int] = _ten_times,
    ) -> None:
        self.magic_format = magic_format
        self.meta_checksum = meta_checksum
        self.meta_codec = meta_codec
        self.meta_level = meta_level
        self.max_meta_size = max_meta_size
