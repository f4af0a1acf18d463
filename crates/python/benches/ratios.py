"""Compares scibin with the packages that it replaces, taking turns in one run, and prints ratios.

    python benches/ratios.py [--rounds N]

A ratio is the median time of the other package divided by ours, so above 1 we are faster. Neither
side verifies the checksums of ASDF blocks. This needs the packages asdf, asdf-compression (for
lz4), dask and distributed. The row for bloscpack is left out if that package is missing. The last
row runs on two Dask processes.
"""

from __future__ import annotations

import argparse
import collections
import collections.abc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asdf
import numpy as np

import scibin.asdf

# The minimum length of a turn in seconds. A short call is repeated for this time, because the other
# package has displaced our data from the caches, which would slow down a single call.
TURN = 0.05

Row = tuple[str, float, Callable[[], object], Callable[[], object]]


def rows(folder: Path) -> Iterator[Row]:
    """Yield the rows: the name, the goal, our function, and the other package's function."""
    image = np.random.default_rng(0).normal(size=(256, 256)).astype("float32")
    scibin.asdf.write(folder / "image.asdf", {"image": image})
    yield (
        "open a file and read an array of 256 KiB",
        10,
        lambda: _read(folder / "image.asdf"),
        lambda: _read_asdf(folder / "image.asdf"),
    )
    leaves = {f"key{i}": {"value": i, "name": f"n{i}", "x": i / 7} for i in range(3333)}
    scibin.asdf.write(folder / "tree.asdf", leaves)
    yield (
        "a tree of 10,000 leaves as plain objects",
        15,
        lambda: scibin.asdf.open(folder / "tree.asdf").to_dict(),
        lambda: _tree_asdf(folder / "tree.asdf"),
    )
    yield (
        "one value of that tree",
        20,
        lambda: scibin.asdf.open(folder / "tree.asdf")["key3000/x"],
        lambda: _value_asdf(folder / "tree.asdf"),
    )
    steps = np.random.default_rng(1).integers(-4, 5, 1 << 20)
    smooth = np.cumsum(steps)
    large = np.tile(smooth, 16)
    for codec, goal in [("lz4", 4.0), ("zlib", 1.5)]:
        path = folder / f"{codec}.asdf"
        scibin.asdf.write(path, {"image": large}, compression=codec)
        yield (
            f"read {large.nbytes >> 20} MiB compressed with {codec}",
            goal,
            lambda path=path: _read(path, verify=False),
            lambda path=path: _read_asdf(path),
        )
    original = _bloscpack()
    if original is not None:
        from scibin import bloscpack

        path = folder / "array.blp"
        bloscpack.pack_ndarray_to_file(large, str(path))
        yield (
            f"unpack {large.nbytes >> 20} MiB",
            1.5,
            lambda: bloscpack.unpack_ndarray_from_file(str(path)),
            lambda: original.unpack_ndarray_from_file(str(path)),
        )


def _bloscpack() -> Any:
    """Import the original program, which needs a name that Python 3.10 removed."""
    collections.MutableMapping = collections.abc.MutableMapping  # type: ignore[attr-defined]
    try:
        import bloscpack
    except ImportError:
        return None
    return bloscpack


def _read(path: Path, *, verify: bool | None = None) -> object:
    with scibin.asdf.open(path, verify=verify) as file:
        return file["image"].read()


def _read_asdf(path: Path) -> object:
    with asdf.open(path) as file:
        return np.array(file["image"])


def _tree_asdf(path: Path) -> object:
    with asdf.open(path) as file:
        return dict(file.tree)


def _value_asdf(path: Path) -> object:
    with asdf.open(path) as file:
        return file["key3000"]["x"]


def cluster(folder: Path) -> Row:
    """Return the row that computes the mean image of 1,000 files on two processes."""
    from scibin.dask import stack

    paths = [folder / f"{i:04}.asdf" for i in range(1000)]
    for i, path in enumerate(paths):
        scibin.asdf.write(path, {"image": np.full((256, 256), i, "float32")})
    groups = [paths[i : i + 20] for i in range(0, len(paths), 20)]

    def ours() -> object:
        stacked = stack(paths, "image", files_per_task=20)
        return stacked.mean(axis=0, dtype="float64").compute()

    def theirs() -> object:
        import dask

        sums = dask.compute(*(dask.delayed(_sum_asdf)(group) for group in groups))
        return sum(sums) / len(paths)

    np.testing.assert_allclose(ours(), theirs(), rtol=1e-6)
    return "mean image of 1,000 files on two processes", 1.0, ours, theirs


def _sum_asdf(paths: list[Path]) -> object:
    total = np.zeros((256, 256))
    for path in paths:
        total += _read_asdf(path)
    return total


def measure(row: Row, rounds: int) -> str:
    """Measure both functions of a row, and return its line of the table."""
    name, goal, ours, theirs = row
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        for call, spent in zip((ours, theirs), times, strict=True):
            spent.append(_seconds(call))
    # The first round imports modules and fills caches.
    mine, other = (statistics.median(spent[1:]) for spent in times)
    mark = "" if other / mine >= goal else "  below the goal"
    return f"{name:<48} {mine * 1e3:>9.2f} {other * 1e3:>9.2f} {other / mine:>7.1f} {goal:>6}{mark}"


def _seconds(call: Callable[[], object]) -> float:
    """Return the mean time of a call, which is repeated for as long as `TURN`."""
    calls, begin = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - begin < TURN:
        call()
        calls += 1
    return (time.perf_counter() - begin) / calls


def main() -> None:
    """Measure all rows, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(f"{'':<48} {'ours, ms':>9} {'other, ms':>9} {'ratio':>7} {'goal':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in rows(folder):
            print(measure(row, rounds), flush=True)
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as workers,
            Client(workers),
        ):
            print(measure(cluster(folder), rounds))


if __name__ == "__main__":
    main()
