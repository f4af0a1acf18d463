"""Values with a tag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Tagged"]


@dataclass
class Tagged:
    """A value with a tag that says what it means.

    Attributes
    ----------
    tag
        The tag in full, such as ``tag:stsci.edu:asdf/unit/unit-1.0.0``.
    value
        A plain value, such as a string, a list or a dictionary.
    """

    tag: str
    value: Any
