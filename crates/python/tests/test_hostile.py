"""Tests of hostile files, memory and file descriptors."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scibin
import scibin.asdf
from conftest import GOLDEN, corpus

SCRIPT = Path(__file__).with_name("hostile.py")


def hostile_files(folder: Path) -> list[Path]:
    """Return all golden and corpus files, and damaged copies of the golden ones."""
    paths = list((GOLDEN / "asdf").glob("*.asdf"))
    if root := corpus():
        paths += [path for path in (root / "asdf").rglob("*") if path.is_file()]
    chance = random.Random(5)
    for path in sorted((GOLDEN / "asdf").glob("*.asdf")):
        data = path.read_bytes()
        for number in range(20):
            damaged = bytearray(data)
            for _ in range(chance.choice([1, 3, 30])):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            if number % 4 == 0:
                del damaged[chance.randrange(len(damaged)) :]
            copy = folder / f"{path.stem}-{number}.asdf"
            copy.write_bytes(damaged)
            paths.append(copy)
    return paths


def test_hostile_files_raise_only_format_errors(tmp_path: Path) -> None:
    paths = [str(path) for path in hostile_files(tmp_path)]
    limit = 2 << 30
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert json.loads(run.stdout)["files"] == len(paths)


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("memmap", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_memory_and_descriptors_do_not_leak(memmap: bool, compression: str | None) -> None:
    scibin.asdf.write("a.asdf", {"a": np.zeros(1 << 20), "b": [1] * 1000}, compression=compression)

    def use() -> None:
        f = scibin.asdf.open("a.asdf", memmap=memmap)
        assert f["a"].read()[-1] == 0
        assert len(f.to_dict()["b"]) == 1000

    for _ in range(20):
        use()
    memory, descriptors = resident(), len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        use()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert resident() - memory < 16 << 20
