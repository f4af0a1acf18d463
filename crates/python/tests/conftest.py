"""Fixtures that the tests share: the folders of test files, and a folder for each test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[2] / "testdata"
"""The folder of golden files in the repository."""


def corpus() -> Path | None:
    """Return the folder of third-party files, if it is installed."""
    named = os.environ.get("SCIBIN_CORPUS")
    folder = Path(named) if named else GOLDEN.parents[2] / "shared/corpus"
    return folder if folder.is_dir() else None


@pytest.fixture(autouse=True)
def _in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
