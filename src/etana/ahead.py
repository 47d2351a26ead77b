"""Loops compiled ahead of a first fit, by small fits of every kind.

    python -m etana.ahead           # into the place where compiled loops are kept anyway
    python -m etana.ahead FOLDER    # into a folder: what a wheel brings along

Two classes and three, few columns and more, with missing values and without, numbers in double and in single precision:
fitted, asked and given other prices by every classifier. What is rarer is compiled when it is first used.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["compile_into", "small_fits"]

_ROWS = 60


def small_fits() -> None:
    """Fit, classify, ask and price again: what is not yet compiled for it is."""
    import numpy as np

    import etana
    from etana.datasets.bundled import bundled

    heart = etana.datasets.load("heart")
    two = heart.X[:_ROWS].astype(np.float64), heart.y[:_ROWS]
    three = bundled("iris").X[::2].copy(), bundled("iris").y[::2]
    # More columns than can be gone through answer by answer: other solvers.
    wide, wide_of_two = bundled("wine"), bundled("breast_cancer")
    for X, y in (two, three):
        for kind in (etana.ETANAClassifier, etana.AdaptiveClassifier):
            _use(kind(), X, y)
            kind().fit(X.astype(np.float32), y).predict(X.astype(np.float32))
        _use(etana.FETANAClassifier(batch=64, max_iterations=5), X, y)
    for clf in (etana.SequentialClassifier(), etana.CommitteeClassifier(), etana.FrugalClassifier()):
        _use(clf, *two)
    for data in (wide, wide_of_two):
        _use(etana.ETANAClassifier(), data.X, data.y)
        _use(etana.FrugalClassifier(), data.X, data.y)  # more than 500 rows of one of them: with boosted trees
    _use(etana.FrugalClassifier(effort="fast"), wide.X, wide.y)


def _use(clf: Any, X: Any, y: Any) -> None:
    """A fit, and what comes after it: as a classifier, and as a model from a file."""
    import numpy as np

    from etana.modelfile import load_model, save
    from etana.report.summary import rivals_of

    clf.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.etana"
        save(clf, path)
        model = load_model(path)
    by_column = np.asfortranarray(X)  # as from a file, or from a data frame
    model.acquire(by_column)
    rivals_of(model, by_column, y)  # what a report compares with
    clf.predict_proba(X)
    case = clf.start()
    while case.next_feature is not None:
        case.explain()
        case.observe(X[0, case.next_feature])
    for price in (0.02, 0.0):
        clf.with_costs(feature_costs=price).acquire(X)


def compile_into(folder: str | Path) -> list[Path]:
    """Compile into a folder, whatever else is compiled already; returns the files.

    To be called before anything of etana is imported: where loops are kept is settled with the first of them.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as kept:
        os.environ["NUMBA_CACHE_DIR"] = kept
        from etana.kernels.compiling import knows_numba

        if not knows_numba():
            raise SystemExit("this version of Numba keeps compiled loops in a way that does not let them travel")
        small_fits()
        return [Path(shutil.move(path, folder / path.name)) for path in sorted(Path(kept).rglob("*.nbc"))]


def main() -> None:
    """Compile, and say what was done."""
    begun = time.process_time()
    if len(sys.argv) > 1:
        n_loops = len(compile_into(sys.argv[1]))
        print(f"etana: {n_loops} compiled loops in {sys.argv[1]}, {time.process_time() - begun:.0f} processor seconds")
    else:
        small_fits()
        print(f"etana: loops are compiled, {time.process_time() - begun:.0f} processor seconds")


if __name__ == "__main__":
    main()
