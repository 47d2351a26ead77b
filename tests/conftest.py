"""Fixtures for all tests: reference data where there is any; data bundled with scikit-learn serves everywhere."""

import pytest

from reference import Reference


@pytest.fixture(scope="session")
def reference():
    """Reference data and oracle files; skips where there are none."""
    return Reference.find()
