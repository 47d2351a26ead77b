"""Rows that come as a plain array go a short way: it checks and says what the long one does."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError

from etana import ETANAClassifier


@pytest.mark.parametrize("wrong", [lambda X: X[:, :5], lambda X: np.hstack([X, X]), lambda X: X[0], lambda X: X + 1j])
def test_the_short_way_of_an_array_refuses_what_a_list_is_refused(wrong):
    """Rows that come as a plain array are not handed to scikit-learn's checks; they are told the same."""
    X, y = load_wine(return_X_y=True)
    clf = ETANAClassifier().fit(X, y)
    told = []
    for rows in (wrong(X[:2]), wrong(X[:2]).tolist()):
        with pytest.raises(ValueError) as error:
            clf.predict(rows)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_an_array_for_a_classifier_with_names_is_still_warned_of():
    X, y = load_wine(return_X_y=True, as_frame=True)
    clf = ETANAClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(X.to_numpy()[:1])


def test_a_classifier_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        ETANAClassifier().predict(np.zeros((1, 3)))
