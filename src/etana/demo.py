"""The demonstration: data bundled with scikit-learn, and what etana saves on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from etana.classifiers import ETANAClassifier

__all__ = ["Row", "demonstrate"]

_TEST_SHARE = 0.4


@dataclass(frozen=True)
class Row:
    """One line of the demonstration's table: on test rows, and as the model expects.

    ``gap`` is the expected cost above what no policy for the model can beat.
    """

    data: str
    method: str
    accuracy: float
    n_features: float
    cost: float
    expected_cost: float
    gap: float


def demonstrate(name: str, feature_cost: float, seed: int = 0) -> tuple[list[Row], ETANAClassifier]:
    """Fit on part of a bundled data set and compare with naive Bayes on all features, on the other part.

    Cost is what an instance costs: its features, and 1 if the decision is wrong.
    """
    import sklearn.datasets
    from sklearn.model_selection import train_test_split

    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=_TEST_SHARE, stratify=y, random_state=seed)
    clf = ETANAClassifier(feature_costs=feature_cost, random_state=seed).fit(X_train, y_train)
    # Naive Bayes on all features is the same model with free features: it asks for everything.
    everything = clf.with_costs(feature_costs=0.0)
    walk, full = clf.acquire(X_test), everything.acquire(X_test)
    bound = clf.policy_.lower_bound
    panel = X.shape[1] * feature_cost
    rows = []
    for method, labels, asked, spent, expected in (
        ("etana", walk.labels, walk.n_features, walk.costs, clf.expected_cost_),
        ("naive Bayes", full.labels, full.n_features, panel, everything.expected_cost_ + panel),
    ):
        wrong = labels != np.asarray(y_test)
        cost = float(np.mean(spent + wrong))
        rows.append(Row(name, method, float(1 - wrong.mean()), float(asked.mean()), cost, expected, expected - bound))
    return rows, clf
