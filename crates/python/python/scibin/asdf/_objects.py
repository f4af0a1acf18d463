"""Converting objects of other packages, using the ``asdf`` package and its extensions.

To convert a node, the node and its blocks are written to an ASDF file in memory, which ``asdf``
reads. To convert an object, ``asdf`` writes the object to a file in memory, which is then read.
Only public interfaces are used.
"""

from __future__ import annotations

import io
from typing import Any

from ._file import loads
from ._write import dumps

__all__ = ["from_object", "to_object"]

_KEY = "object"


def to_object(value: object, standard: str | None) -> Any:
    """Convert a node or a lazy array into the object that ``asdf`` creates from it."""
    data = dumps({_KEY: value}, standard=standard or "1.6.0")
    with _asdf().open(io.BytesIO(data), lazy_load=False, memmap=False) as file:
        return file[_KEY]


def from_object(value: object) -> Any:
    """Convert an object into plain values with tags."""
    buffer = io.BytesIO()
    _asdf().AsdfFile({_KEY: value}).write_to(buffer)
    with loads(buffer.getvalue()) as file:
        return file.node(_KEY).to_dict(tagged=True)


def _asdf() -> Any:
    try:
        import asdf
    except ImportError:
        raise ImportError(
            "objects of other packages need the package asdf: `pip install scibin[asdf]`"
        ) from None
    return asdf
