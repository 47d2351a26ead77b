"""Fixtures for all tests: reference data where there is any; data bundled with scikit-learn serves everywhere."""

import os

import pytest
from hypothesis import settings

from reference import Reference

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def reference():
    """Reference data and oracle files; skips where there are none."""
    return Reference.find()
