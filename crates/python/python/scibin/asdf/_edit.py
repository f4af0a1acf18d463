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
    """What an edit has changed, or would change.

    Attributes
    ----------
    method
        ``"unchanged"``; ``"patched"``, a single write within one page; ``"in place"``, under a
        journal; or ``"new file"``, which replaces the old one.
    size
        The size of the edited file in bytes.
    blocks
        The number of blocks in the edited file.
    unused_blocks
        The numbers of the blocks that no array uses any more, but that keep their space, because
        the file was changed in place.
    rolled_back
        Whether an earlier change that was interrupted has been rolled back.
    """

    method: Literal["unchanged", "patched", "in place", "new file"]
    size: int
    blocks: int
    unused_blocks: list[int]
    rolled_back: bool


class Editor:
    """A file that is open for editing. Use it in a ``with`` block; see :func:`edit`."""

    def __init__(
        self, path: str | os.PathLike[str], *, in_place: bool = False, dry_run: bool = False
    ) -> None:
        self._path = os.fspath(path)
        self._dry_run = dry_run
        self._report: EditReport | None = None
        self._raw = _scibin.AsdfEditor(self._path, in_place=in_place)

    @property
    def report(self) -> EditReport | None:
        """The result, once the ``with`` block has ended without an exception."""
        return self._report

    @property
    def text(self) -> str:
        """The YAML text of the tree with all edits so far."""
        return self._raw.text()

    def __setitem__(self, pointer: str, value: Any) -> None:
        """Set the value at a JSON Pointer. Missing parents are created; ``-`` appends to a list."""
        self._raw.set(_absolute(pointer), value, prepare)

    def __delitem__(self, pointer: str) -> None:
        """Remove the entry or the item at a JSON Pointer."""
        self._raw.remove(_absolute(pointer))

    def rename(self, pointer: str, key: str) -> None:
        """Change the key of the entry at a JSON Pointer."""
        self._raw.rename(_absolute(pointer), key)

    def commit(self) -> EditReport:
        """Write the changes, and close the file. When this returns, they are on disk."""
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


def edit(path: str | os.PathLike[str], *, in_place: bool = False, dry_run: bool = False) -> Editor:
    """Edit a file: its tree and its arrays.

    The changes are written in one step at the end of the ``with`` block, and none of them after an
    exception. Comments and the notation of the rest of the tree are kept. Other programs see either
    the old or the new file. The file is locked in the meantime.

    Parameters
    ----------
    path
        The path of the file.
    in_place
        Whether to change the existing file, under a journal, instead of replacing it with a new
        one: for files too large to copy. Other programs may see it while it is being changed.
    dry_run
        Whether to leave the file as it is, and only report what would be done.

    Raises
    ------
    OSError
        If the file cannot be read or written; `BlockingIOError` if another process is editing it.
    FormatError
        If the file is not valid enough to be edited.
    KeyError
        If a pointer leads nowhere.
    TypeError
        If ASDF has no form for a value.

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
    return Editor(path, in_place=in_place, dry_run=dry_run)
