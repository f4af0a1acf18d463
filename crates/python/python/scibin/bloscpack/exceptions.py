"""The exceptions of `scibin.bloscpack`, which have the names of the original program.

Exceptions that report a damaged or foreign file are subclasses of :class:`scibin.FormatError`.
Exceptions that report an invalid call are subclasses of `ValueError`. All of them also keep their
original base classes, such as `RuntimeError`, so that existing ``except`` clauses work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._errors import ChecksumMismatch, FormatError

__all__ = [
    "ChecksumLengthMismatch",
    "ChecksumMismatch",
    "ChunkSizeTypeSizeMismatch",
    "ChunkingException",
    "FileNotFound",
    "FormatVersionMismatch",
    "MetadataSectionTooSmall",
    "NoChangeInMetadata",
    "NoMetadataFound",
    "NoSuchChecksum",
    "NoSuchCodec",
    "NoSuchSerializer",
    "NonUniformTypesize",
    "NotANumpyArray",
    "NotEnoughSpace",
    "ObjectNumpyArrayRejection",
]


class FileNotFound(OSError):  # noqa: N818, as all names here
    """A file does not exist. Functions raise Python's own `FileNotFoundError` instead."""


class NoSuchChecksum(ValueError):  # noqa: N818
    """There is no checksum with this name."""


class NoSuchCodec(ValueError):  # noqa: N818
    """There is no metadata codec with this name."""


class NoSuchSerializer(ValueError):  # noqa: N818
    """There is no metadata format with this name."""


class ChunkingException(ValueError):  # noqa: N818
    """The data has more chunks than the format allows."""


class ChunkSizeTypeSizeMismatch(ValueError):  # noqa: N818
    """The chunk size is not a multiple of the size of an element."""


class FormatVersionMismatch(FormatError, RuntimeError):  # noqa: N818
    """The file has an unknown version of the format."""


class ChecksumLengthMismatch(ValueError, RuntimeError):  # noqa: N818
    """The new checksum is longer or shorter than the old one."""


class NoMetadataFound(ValueError, RuntimeError):  # noqa: N818
    """The file has no metadata."""


class NoChangeInMetadata(ValueError, RuntimeError):  # noqa: N818
    """The new metadata is equal to the old metadata."""


class MetadataSectionTooSmall(ValueError, RuntimeError):  # noqa: N818
    """The metadata does not fit into the space that `max_meta_size` reserves."""


class NonUniformTypesize(FormatError, RuntimeError):  # noqa: N818
    """The chunks of the file have different typesizes."""


class NotEnoughSpace(ValueError, RuntimeError):  # noqa: N818
    """The table of offsets has too few spare entries for the chunks to append."""


class NotANumpyArray(FormatError, RuntimeError):  # noqa: N818
    """The file does not contain an array."""


class ObjectNumpyArrayRejection(ValueError, RuntimeError):  # noqa: N818
    """The elements of an array are Python objects, which cannot be packed."""


_FILES: dict[str, type[FormatError]] = {
    "not-numpy": NotANumpyArray,
    "version": FormatVersionMismatch,
}
_CALLS: dict[str, type[ValueError]] = {
    "metadata-space": MetadataSectionTooSmall,
    "space": NotEnoughSpace,
}


@contextmanager
def _named() -> Iterator[None]:
    """Replace errors of the extension with the corresponding exceptions of `bloscpack`."""
    try:
        yield
    except FormatError as error:
        code = error.code or ""
        if code in _CALLS:
            raise _CALLS[code](str(error)) from None
        if code not in _FILES:
            raise
        named = _FILES[code](*error.args)
        named.__dict__.update(error.__dict__)
        raise named from None
