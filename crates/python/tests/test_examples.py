"""Tests that run the examples in the docstrings of the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import scibin

MODULES = [module.name for module in pkgutil.walk_packages(scibin.__path__, "scibin.")]


@pytest.mark.parametrize("name", ["scibin", *MODULES])
def test_examples_of_module(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"np": np})
    assert result.failed == 0
