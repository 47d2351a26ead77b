"""Fixtures for all tests: reference data where there is any; data bundled with scikit-learn serves everywhere."""

import os
import sys

import pytest
from hypothesis import settings

import etana
from reference import Reference

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Figures that a test or an example leaves open do not pile up."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def reference():
    """Reference data and oracle files; skips where there are none."""
    return Reference.find()


@pytest.fixture
def same_model(tmp_path):
    """Whether two classifiers are the same to the last byte of their files."""

    def check(one, other):
        etana.save(one, tmp_path / "one.etana")
        etana.save(other, tmp_path / "other.etana")
        assert (tmp_path / "one.etana").read_bytes() == (tmp_path / "other.etana").read_bytes()

    return check
