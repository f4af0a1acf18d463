"""Read all parts of the files whose paths are on standard input. Run by test_hostile.py.

Ends with an error if reading a file raises anything but a FormatError. A panic is a BaseException,
which is not caught here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import scibin
import scibin.asdf

LIMITS = {"allocation": 64 << 20, "decoded": 64 << 20, "items": 1_000_000}


def arrays(value: Any, seen: set[int]) -> Iterator[scibin.NDArray]:
    if isinstance(value, scibin.NDArray):
        yield value
    elif isinstance(value, (dict, list)) and id(value) not in seen:
        seen.add(id(value))
        for item in value.values() if isinstance(value, dict) else value:
            yield from arrays(item, seen)


def use(path: str, **options: Any) -> int:
    """Read all parts of a file, and return the number of errors."""
    errors = 0

    def attempt(call: Any) -> Any:
        nonlocal errors
        try:
            return call()
        except scibin.FormatError as error:
            str(error)
            errors += 1
            return None

    f = attempt(lambda: scibin.asdf.open(path, limits=LIMITS, **options))
    if f is None:
        return errors
    lazy = attempt(lambda: f.to_dict(arrays="lazy", errors="keep"))
    for array in arrays(lazy, set()):
        attempt(array.read)
        attempt(array.masked)
        attempt(lambda array=array: array.chunks)
        if array.size:
            attempt(lambda array=array: array[(0,) * array.ndim])
        attempt(lambda array=array: array.slice(..., None).read())
    attempt(lambda: f.to_dict(errors="keep", tagged=True))
    attempt(f.to_dict)
    attempt(f.info)
    attempt(lambda: [block.read() for block in f.blocks])
    attempt(f.verify)
    attempt(lambda: [str(found) for found in f.diagnostics])
    try:
        attempt(lambda: scibin.asdf.dumps(f))
    except TypeError:
        # The tree is not a mapping, or ASDF cannot represent a value.
        errors += 1
    f.close()
    return errors


def main() -> None:
    paths = json.load(sys.stdin)
    np.seterr(all="ignore")
    errors = 0
    for path in paths:
        for options in [{}, {"verify": True}, {"strict": True}]:
            try:
                errors += use(path, **options)
            except BaseException as error:
                raise SystemExit(f"{path}: {type(error).__name__}: {error}") from error
    print(json.dumps({"files": len(paths), "errors": errors}))


if __name__ == "__main__":
    main()
