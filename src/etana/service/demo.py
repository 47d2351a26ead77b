"""Two models to try the service with, fitted on data bundled with scikit-learn: ``make serve``."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["make_models"]

_PRICES = {"breast_cancer": 0.005, "wine": 0.02}


def make_models(folder: str | Path) -> list[Path]:
    """Fit the models into a folder, unless they are there; returns their files."""
    import sklearn.datasets

    import etana

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, price in _PRICES.items():
        path = folder / f"{name}.etana"
        if not path.exists():
            data = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
            labels = data.target_names[data.target.to_numpy()]
            etana.save(etana.ETANAClassifier(feature_costs=price, random_state=0).fit(data.data, labels), path)
        files.append(path)
    return files


if __name__ == "__main__":
    for made in make_models(sys.argv[1]):
        print(made)
