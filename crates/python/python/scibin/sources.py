"""Sources of bytes other than local files.

A source is an object with a length and a method ``read_at(offset, length)``, which returns exactly
``length`` bytes. The method may be called from several threads at the same time. Two attributes are
optional: ``gap``, the maximum number of unneeded bytes to read in order to save a request, and
``piece``, the number of bytes to request at a time when reading a long range.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["FsspecSource", "ObstoreSource", "Source", "is_url"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")


@runtime_checkable
class Source(Protocol):
    """An object that reads bytes by position."""

    def read_at(self, offset: int, length: int) -> ReadableBuffer:
        """Return `length` bytes that start at `offset`."""
        ...

    def __len__(self) -> int: ...


class _Remote:
    """A file in a remote store, which is read by requesting ranges of bytes."""

    gap = 1 << 20
    piece = 16 << 20

    def __init__(self, store: Any, path: str, size: int) -> None:
        self.store = store
        self.path = path
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r}, {self.path!r})"


class FsspecSource(_Remote):
    """A file in an fsspec file system.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        The file system.
    path
        The path in the file system.
    size
        The length of the file in bytes. By default, the length is requested.
    """

    def __init__(self, fs: Any, path: str, size: int | None = None) -> None:
        super().__init__(fs, path, int(fs.size(path)) if size is None else size)

    @classmethod
    def from_url(cls, url: str, **options: Any) -> FsspecSource:
        """Open a URL such as ``s3://bucket/image.asdf``, with options for its file system."""
        try:
            import fsspec
        except ImportError:
            raise ImportError(
                "opening a URL needs the package fsspec: `pip install scibin[fsspec]`"
            ) from None
        fs, path = fsspec.core.url_to_fs(url, **options)
        return cls(fs, path)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes that start at `offset`."""
        data: bytes = self.store.cat_file(self.path, start=offset, end=offset + length)
        return data


class ObstoreSource(_Remote):
    """A file in an obstore store.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        The store.
    path
        The path in the store.
    size
        The length of the file in bytes. By default, the length is requested.
    """

    def __init__(self, store: Any, path: str, size: int | None = None) -> None:
        import obstore

        super().__init__(store, path, obstore.head(store, path)["size"] if size is None else size)

    def read_at(self, offset: int, length: int) -> ReadableBuffer:
        """Return `length` bytes that start at `offset`."""
        import obstore

        data: ReadableBuffer = obstore.get_range(self.store, self.path, start=offset, length=length)
        return data


def is_url(text: str) -> bool:
    """Return True if a string begins with a scheme, such as ``s3://`` or ``simplecache::``."""
    return _URL.match(text) is not None
