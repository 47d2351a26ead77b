"""Examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import etana
import reproduction

MODULES = sorted(
    module.name
    for package in (etana, reproduction)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)


@pytest.mark.parametrize("name", [m for m in MODULES if ".kernels" not in m])
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples]
    assert len(tests) > 15
