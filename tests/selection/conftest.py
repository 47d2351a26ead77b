"""Shorter names for what the tests of selectors read."""

import pytest

from reference import Reference


@pytest.fixture(scope="session")
def load():
    """``load("mll")`` gives X, y and X_test, y_test (None where there is no test part)."""
    return Reference.find().split


@pytest.fixture(scope="session")
def reference():
    """``reference("mll__saola")`` is the reference program's answer, as a dictionary."""
    found = Reference.find()
    return lambda name: found.oracle(f"selectors/{name}")
