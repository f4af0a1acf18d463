"""Values with a tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Tagged"]


@dataclass
class Tagged:
    """A value with a tag that states its meaning.

    Attributes
    ----------
    tag
        The complete tag, such as ``tag:stsci.edu:asdf/unit/unit-1.0.0``.
    value
        A plain value, such as a string, a list or a dictionary.
    """

    tag: str
    value: Any

    @classmethod
    def from_object(cls, value: object) -> Tagged:
        """Convert an object of another package, such as a WCS, using the ``asdf`` package.

        The result can be part of a tree that is written. Its arrays are numpy arrays.

        Raises
        ------
        ImportError
            If the ``asdf`` package is not installed.
        TypeError
            If ``asdf`` writes the object without a tag. If ``asdf`` cannot write the object at all,
            its own exception is raised instead.
        """
        from ._objects import from_object

        tagged = from_object(value)
        if not isinstance(tagged, cls):
            raise TypeError(f"no extension of asdf has a tag for {type(value).__name__}")
        return tagged
