"""Tests that run the examples on the pages in `docs`."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_the_output_shown_on_the_page(page: Path) -> None:
    assert importlib.util.find_spec("scibin") is not None
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 0
    assert failed == 0
