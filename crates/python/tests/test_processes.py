"""Tests of forks, other processes, and threads."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import scibin
import scibin.asdf

SECONDS = 60
"""The time in seconds after which a step is considered to hang."""


@pytest.fixture
def lz4_file() -> Path:
    """Write a file with a block of several chunks, which are decoded on all threads."""
    path = Path("lz4.asdf").absolute()
    scibin.asdf.write(path, {"a": np.arange(4 << 20, dtype="f4")}, compression="lz4")
    return path


def total(path: Path) -> float:
    return float(scibin.asdf.open(path)["a"].read().sum(dtype="f8"))


EXPECTED = float(np.arange(4 << 20, dtype="f4").sum(dtype="f8"))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_finish_after_the_parent_has_used_its_threads(method: str, lz4_file: Path) -> None:
    assert total(lz4_file) == EXPECTED
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        futures = [pool.submit(total, lz4_file) for _ in range(4)]
        assert [future.result(SECONDS) for future in futures] == [EXPECTED] * 4


@pytest.mark.parametrize(
    "use",
    [
        "f['a'].read()",
        "f['raw'].read()",
        "f['raw'][::2]",
        "f.verify()",
        "f.to_dict()",
        "f.blocks[0].read()",
        "scibin.asdf.dumps({'a': np.zeros(1 << 21)}, compression='zlib')",
        "scibin.asdf.dumps(f)",
        "scibin.asdf.open('small.asdf', verify=True)['small'].read()",
    ],
)
def test_no_call_uses_threads_lost_in_a_fork(use: str) -> None:
    """Use a feature, fork, and use it again in both processes, which must finish."""
    script = f"""
import os, sys, numpy as np, scibin.asdf
tree = {{"a": np.arange(4 << 20, dtype="f4"), "raw": np.arange(4 << 20, dtype=">f4")}}
f = scibin.asdf.loads(scibin.asdf.dumps(tree, compression={{"a": "lz4"}}))
scibin.asdf.write("small.asdf", {{"pad": np.zeros(1 << 17), "small": np.arange(1 << 15)}})
{use}
child = os.fork()
{use}
if child == 0:
    os._exit(0)
status = os.waitpid(child, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=SECONDS)


def test_threads_share_a_file(lz4_file: Path) -> None:
    f = scibin.asdf.open(lz4_file)

    def part(start: int) -> float:
        return float(f["a"][start : start + (1 << 18)].sum(dtype="f8"))

    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(part, range(0, 4 << 20, 1 << 18), timeout=SECONDS))
    assert sum(parts) == EXPECTED


def test_other_threads_run_while_a_block_is_decoded() -> None:
    noise = np.random.default_rng(1).integers(0, 255, 8 << 20, "u1")
    data = scibin.asdf.dumps({"a": noise}, compression="bzp2")
    f = scibin.asdf.loads(data)
    longest, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    f["a"].read()
    took = time.perf_counter() - start
    done.set()
    watcher.join()
    assert longest < took / 2


def test_threads_with_one_decoding_thread_each_do_not_wait_for_each_other() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (2, 2 << 20), "u1")
    data = scibin.asdf.dumps({"a": noise[0], "b": noise[1]}, compression="zlib")
    barrier, waited = threading.Barrier(2, timeout=SECONDS), threading.local()

    class Both:
        together = False

        def __len__(self) -> int:
            return len(data)

        def read_at(self, offset: int, length: int) -> memoryview:
            if self.together and not hasattr(waited, "once"):
                waited.once = True
                barrier.wait()
            return memoryview(data)[offset : offset + length]

    source = Both()
    f = scibin.asdf.open(source)
    arrays = [f["a"], f["b"]]
    source.together = True
    before = scibin.threads()
    try:
        scibin.set_threads(1)
        with ThreadPoolExecutor(2) as pool:
            sums = list(pool.map(lambda array: int(array.read().sum()), arrays, timeout=SECONDS))
    finally:
        scibin.set_threads(before)
    assert sums == noise.sum(axis=1).tolist()


def test_the_number_of_threads_can_be_set() -> None:
    before = scibin.threads()
    try:
        scibin.set_threads(3)
        assert scibin.threads() == 3
        with pytest.raises(ValueError, match="positive"):
            scibin.set_threads(0)
    finally:
        scibin.set_threads(before)
    code = "import scibin; print(scibin.threads())"
    for value, output in [("2", "2"), ("", str(len(os.sched_getaffinity(0))))]:
        environment = os.environ | {"SCIBIN_THREADS": value}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
        assert run.stdout.decode().strip() == output
    environment = os.environ | {"SCIBIN_THREADS": "many"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert b"ValueError: SCIBIN_THREADS" in run.stderr


def test_arrays_can_be_pickled_for_a_pool_of_processes(lz4_file: Path) -> None:
    array = scibin.asdf.open(lz4_file)["a"].slice(slice(10, 20))
    assert len(pickle.dumps(array)) < 1000
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        np.testing.assert_array_equal(
            pool.submit(np.asarray, array).result(SECONDS), np.arange(10, 20)
        )
