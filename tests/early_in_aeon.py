"""Run where aeon is installed: its own check of early classifiers, and its methods on its own data."""

import numpy as np
from aeon.classification.early_classification import TEASER
from aeon.classification.early_classification.base import BaseEarlyClassifier
from aeon.datasets import load_unit_test
from aeon.testing.estimator_checking._yield_early_classification_checks import check_early_classifier_output

from etana.early import EarlyClassifier

for kind in ("EqualLengthUnivariate-Classification-numpy3D", "EqualLengthMultivariate-Classification-numpy3D"):
    check_early_classifier_output(EarlyClassifier(waiting_cost=0.001), kind)

X, y = load_unit_test(split="train")
X_test, y_test = load_unit_test(split="test")
teaser = TEASER(random_state=0, classification_points=[12, 18, 24]).fit(X, y)
early = EarlyClassifier(waiting_cost=0.005).fit(X, y)
for name in ("teaser", "early"):
    print(name, [round(float(value), 3) for value in {"teaser": teaser, "early": early}[name].score(X_test, y_test)])

# The same calls on both, as a stream comes in: those that are decided leave, the others wait.
for one in (teaser, early):
    left, decided = X_test, 0
    for points in (12, 18, 24):
        labels, final = one.predict(left[:, :, :points]) if points == 12 else one.update_predict(left[:, :, :points])
        assert labels.shape == final.shape == (len(left),)
        assert np.isin(labels[final], np.unique(y)).all()
        assert len(one.get_state_info()) == len(left)
        decided += int(final.sum())
        left = BaseEarlyClassifier.filter_X(left, final)
        if not len(left):
            break
    assert decided == len(X_test)
