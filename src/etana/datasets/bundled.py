"""Data sets that scikit-learn brings along, in the shape of the others; neither pandas nor a download is needed."""

from __future__ import annotations

import numpy as np

from etana.datasets.dataset import Dataset

__all__ = ["BUNDLED", "bundled"]

BUNDLED = ("breast_cancer", "wine", "iris", "digits")


def bundled(name: str) -> Dataset:
    """One of :data:`BUNDLED`, with names of features and classes."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    return Dataset(
        name=name,
        title=name.replace("_", " "),
        description=bunch.DESCR,
        source="bundled with scikit-learn",
        licence="see the description",
        X=bunch.data,
        y=bunch.target.astype(np.int64),
        X_test=None,
        y_test=None,
        class_names=[str(label) for label in bunch.target_names],
        differs=None,
        _names=[str(feature) for feature in bunch.feature_names],
    )
