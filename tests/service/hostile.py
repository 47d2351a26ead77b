"""A table whose names and labels break whatever does not escape them."""

import numpy as np
from sklearn.datasets import load_breast_cancer

HOSTILE = "size \"<script>alert('x')</script>\n/é日本\\"
HOSTILE_LEVELS = ("la'rge\n<b>{{7*7}}", 'small/é"}')
HOSTILE_CLASSES = ('<b>be"nign\n', "malignant/日本\\")


def hostile_data():
    """Numbers with holes, text, truth values; names and labels that break what is not escaped."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    area = X["mean area"]
    X = X[["worst perimeter", "mean texture", "worst concave points", "mean area"]].copy()
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    X[HOSTILE] = np.where(area > 700, *HOSTILE_LEVELS)
    X["flag"] = area > 500
    return X, np.where(y == 1, *HOSTILE_CLASSES)
