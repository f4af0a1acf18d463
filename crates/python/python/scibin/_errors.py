"""The exceptions of the package, including those that the extension raises."""

from __future__ import annotations

from typing import Any

__all__ = ["ChecksumMismatch", "FormatError", "LimitError"]


class FormatError(ValueError):
    """A file does not conform to its format.

    Attributes
    ----------
    path : str or None
        The path of the file.
    offset : int or None
        The offset of the error in the file, in bytes.
    line, column : int or None
        The position in the text of the file, counted from 1.
    block : int or None
        The index of the affected block or chunk.
    pointer : str or None
        The JSON Pointer of the affected node.
    code : str or None
        A word that identifies the kind of error for programs, such as ``"checksum"``.
    """

    path: str | None
    offset: int | None
    line: int | None
    column: int | None
    block: int | None
    pointer: str | None
    code: str | None

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        offset: int | None = None,
        line: int | None = None,
        column: int | None = None,
        block: int | None = None,
        pointer: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset
        self.line = line
        self.column = column
        self.block = block
        self.pointer = pointer
        self.code = code

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.path is None else f"{self.path}: {message}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__.copy()


class ChecksumMismatch(FormatError, RuntimeError):  # noqa: N818, the name in bloscpack
    """The data of a file does not match its checksum."""


class LimitError(FormatError):
    """A file requires more memory or work than the caller's limits allow."""
