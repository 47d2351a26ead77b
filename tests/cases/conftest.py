"""Every family of classifiers, fitted on the patients of one clinic."""

import pytest

from clinic import FAMILIES, patients


@pytest.fixture(scope="session")
def rows():
    return patients()


@pytest.fixture(scope="session")
def fitted(rows):
    return {name: clf.fit(*rows) for name, clf in FAMILIES.items()}


@pytest.fixture(params=FAMILIES)
def clf(request, fitted):
    return fitted[request.param]
