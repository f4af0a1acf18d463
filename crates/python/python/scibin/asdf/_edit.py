"""Editing existing files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from .. import _scibin
from ._blocks import prepare
from ._node import _absolute

__all__ = ["EditReport", "Editor", "edit"]


@dataclass(frozen=True)
class EditReport:
    """The result of an edit, or the expected result of a dry run.

    Attributes
    ----------
    method
        How the file was changed: ``"unchanged"``; ``"patched"``, with a single write within one
        page; ``"in place"``, with a journal; or ``"new file"``, by replacing the old file.
    size
        The size of the edited file in bytes.
    blocks
        The number of blocks in the edited file.
    unused_blocks
        The indices of blocks that no array uses any more, but that still take up space because the
        file was changed in place.
    rolled_back
        Whether an interrupted earlier change was rolled back first.
    """

    method: Literal["unchanged", "patched", "in place", "new file"]
    size: int
    blocks: int
    unused_blocks: list[int]
    rolled_back: bool


class Editor:
    """A file that is open for editing. Use it in a ``with`` block; see :func:`edit`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        in_place: bool = False,
        dry_run: bool = False,
        compression: str | None = None,
    ) -> None:
        self._path = os.fspath(path)
        self._dry_run = dry_run
        self._report: EditReport | None = None
        self._raw = _scibin.AsdfEditor(self._path, in_place=in_place, compression=compression)

    @property
    def report(self) -> EditReport | None:
        """The result of :meth:`commit`, or ``None`` if it has not been called yet."""
        return self._report

    @property
    def text(self) -> str:
        """The YAML text of the tree with all edits so far."""
        return self._raw.text()

    def __setitem__(self, pointer: str, value: Any) -> None:
        """Set the value at a JSON Pointer. Creates missing parents. ``-`` appends to a list."""
        self._raw.set(_absolute(pointer), value, prepare)

    def __delitem__(self, pointer: str) -> None:
        """Remove the entry or item at a JSON Pointer."""
        self._raw.remove(_absolute(pointer))

    def rename(self, pointer: str, key: str) -> None:
        """Change the key of the entry at a JSON Pointer."""
        self._raw.rename(_absolute(pointer), key)

    def commit(self) -> EditReport:
        """Write the changes to disk, and close the file. In a dry run, write nothing."""
        report = self._raw.plan() if self._dry_run else self._raw.commit()
        self._report = EditReport(**report)
        self._raw.close()
        return self._report

    def close(self) -> None:
        """Close the file without changing it."""
        self._raw.close()

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None and self._report is None:
            self.commit()
        else:
            self.close()

    def __repr__(self) -> str:
        return f"<Editor {self._path}>"


def edit(
    path: str | os.PathLike[str],
    *,
    in_place: bool = False,
    dry_run: bool = False,
    compression: str | None = None,
) -> Editor:
    """Edit the tree and the arrays of a file.

    All changes are written at the end of the ``with`` block. If an exception is raised, none of
    them is written. Comments, and the notation of everything that is not changed, are kept. Other
    programs see either the old or the new file. The file is locked during the edit.

    Parameters
    ----------
    path
        The path of the file.
    in_place
        Whether to change the existing file, using a journal, instead of replacing it with a new
        one. This is meant for files too large to copy. Other programs may see a file that is only
        partly changed.
    dry_run
        Whether to leave the file unchanged, and only report what would be done.
    compression
        The codec that compresses new arrays, such as ``"zlib"`` or ``"lz4"``. Existing arrays
        keep their compression.

    Raises
    ------
    OSError
        If the file cannot be read or written. This is a `BlockingIOError` if another process is
        editing the file.
    FormatError
        If the file is too damaged to be edited.
    KeyError
        If there is no value at a pointer.
    TypeError
        If ASDF cannot represent a value.
    ValueError
        If the change cannot be written, for example because another program has changed the file.

    Examples
    --------
    >>> import numpy as np, scibin.asdf
    >>> scibin.asdf.write("edited.asdf", {"meta": {"gain": 1.0}, "old": 1})
    >>> with scibin.asdf.edit("edited.asdf") as f:
    ...     f["meta/gain"] = 2.5
    ...     f["image"] = np.zeros(3)
    ...     del f["old"]
    >>> f.report.method
    'new file'
    """
    return Editor(path, in_place=in_place, dry_run=dry_run, compression=compression)
