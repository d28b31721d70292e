"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import rubrica

SRC = Path(rubrica.__file__).parents[1]
MODULES = [
    ".".join(file.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted((SRC / "rubrica").rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
