"""Formatting an outline of a tree as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _scibin
from .._array import NDArray
from .._errors import FormatError

__all__ = ["outline"]

_LONGEST = 60
"""The maximum number of characters of a value to show."""


def outline(root: _scibin.AsdfNode | None, max_rows: int) -> list[str]:
    """Return the lines of an outline, at most `max_rows`."""
    lines: list[str] = []
    if root is None:
        return lines
    # The iterators over the children that are still to be shown, outermost first. The children of a
    # node are shown below it only once, so a cycle does not lead to endless output.
    stack: list[Iterator[tuple[Any, _scibin.AsdfNode]]] = [_children(root)]
    seen = {root.position}
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
            continue
        if len(lines) + 1 >= max_rows:
            lines.append("...")
            break
        key, node = child
        lines.append("  " * (len(stack) - 1) + f"{key}{_summary(node)}")
        if node.form in ("mapping", "sequence") and node.position not in seen:
            seen.add(node.position)
            if not _is_short(node):
                stack.append(_children(node))
    return lines


def _children(node: _scibin.AsdfNode) -> Iterator[tuple[Any, _scibin.AsdfNode]]:
    if node.form == "mapping":
        for key in node.keys():  # noqa: SIM118, a node is not a mapping
            value = node.get(key)
            if value is not None:
                yield key, value
    elif node.form == "sequence":
        for index in range(len(node)):
            item = node.at(index)
            if item is not None:
                yield f"[{index}]", item


def _is_short(node: _scibin.AsdfNode) -> bool:
    """Return True if a node is a list of scalars, which is shown on a single line."""
    return node.form == "sequence" and all(item.form == "scalar" for _, item in _children(node))


def _summary(node: _scibin.AsdfNode) -> str:
    tag = f" {node.tag}" if node.tag and "asdf/core/" not in node.tag else ""
    form = node.form
    if form == "array":
        try:
            array = NDArray(node.array())
        except (FormatError, OSError) as error:
            return f": {error}"
        return f": {array.dtype} {array.shape}{tag}"
    if form == "scalar":
        return f": {_shortened(repr(node.scalar()))}{tag}"
    if form == "sequence" and _is_short(node):
        texts = ", ".join(item.text or "" for _, item in _children(node))
        return f": [{_shortened(texts)}]{tag}"
    return tag


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
