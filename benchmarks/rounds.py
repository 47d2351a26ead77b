"""What ordering tests together saves, on the medical sets whose results have to be waited for.

    python benchmarks/rounds.py --data-dir DATA [--sets heart pima] [--rounds 20 100] [--mistake 5000]

Of each set five stratified folds are tested, with the prices of the set, a mistake at ``--mistake`` dollars, and a
price for each round of waiting. *One by one* every delayed test waits for a round of its own, and the policy knows it;
*panels* are what :meth:`etana.Case.panel` orders. Costs are means over test rows: tests, waiting and mistakes; *saved*
is the mean of the paired differences with its standard error, and what is saved on tests and waiting alone.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np

from etana import AdaptiveClassifier, ETANAClassifier, datasets
from etana.case import run_case, without_warnings

SETS = ("heart", "hepatitis", "bupa", "pima")
METHODS = {"etana": ETANAClassifier, "adaptive": AdaptiveClassifier}


class Outcome(NamedTuple):
    """Of each test row: what was paid for tests and waiting, what for a mistake, tests asked, and rounds of waiting."""

    paid: np.ndarray
    lost: np.ndarray
    asked: np.ndarray
    rounds: np.ndarray

    @property
    def cost(self) -> np.ndarray:
        return self.paid + self.lost

    @property
    def words(self) -> str:
        return f"{self.cost.mean():7.1f} ({self.asked.mean():.1f} tests, {self.rounds.mean():.2f} rounds)"


def one_by_one(clf: Any, X: Any, lost: np.ndarray, delayed: set[int]) -> Outcome:
    """Every test by itself."""
    walk = clf.acquire(X)
    rounds = [len(delayed & set(walk.features(i).tolist())) for i in range(len(walk))]
    wrong = lost[np.arange(len(walk)), np.searchsorted(clf.classes_, walk.labels)]
    return Outcome(walk.costs, wrong, walk.n_features, np.array(rounds))


def in_panels(clf: Any, X: Any, lost: np.ndarray, price: float) -> Outcome:
    """What is worth ordering together, together."""
    found = []
    full = clf.model_.prices
    for i, (_, row) in enumerate(X.iterrows()):
        with without_warnings():
            case = run_case(clf.start(), lambda name, row=row: row[name])
        wrong = lost[i, int(np.searchsorted(clf.classes_, case.label))]
        bought: list[int] = []
        spared = 0.0
        for entry in case.history:
            column = clf.model_.column_of(entry.feature)
            spared += full.price_of(column, bought) - entry.price
            bought.append(column)
        waits = sum(full.waiting.delayed[k] for k in bought)
        found.append((case.cost, wrong, case.n_asked, waits - round(spared / price)))
    return Outcome(*np.array(found).T)


def measure(X: Any, y: np.ndarray, prices: Any, delayed: list[str], price: float, mistake: float, method: str) -> Any:
    """Both ways over five folds."""
    from sklearn.model_selection import StratifiedKFold

    found = []
    waiting = {k for k, name in enumerate(X.columns) if name in delayed}
    matrix = mistake * (1.0 - np.eye(np.unique(y).size))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        clf = METHODS[method](prices.with_round(price, delayed), matrix).fit(X.iloc[train], y[train])
        lost = matrix[np.searchsorted(clf.classes_, y[test])]
        part = X.iloc[test]
        found.append([one_by_one(clf, part, lost, waiting), in_panels(clf, part, lost, price)])
    return [Outcome(*map(np.concatenate, zip(*way, strict=True))) for way in zip(*found, strict=True)]


def main() -> None:
    """A line for each set, method and price of a round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--rounds", nargs="+", type=float, default=[20.0, 100.0])
    parser.add_argument("--mistake", type=float, default=5000.0)
    given = parser.parse_args()
    warnings.simplefilter("error")
    for name in given.sets:
        data = datasets.load(name, data_dir=given.data_dir)
        report(name, data.as_frame(), data.y, data.feature_costs, data.delayed, given.rounds, given.mistake)


def report(
    name: str, X: Any, y: np.ndarray, prices: Any, delayed: list[str], rounds: list[float], mistake: float
) -> None:
    """Lines of one set."""
    for method in METHODS:
        for price in rounds:
            alone, together = measure(X, y, prices, delayed, price, mistake, method)
            less, fees = alone.cost - together.cost, (alone.paid - together.paid).mean()
            error = less.std() / np.sqrt(less.size)
            print(
                f"{name:<10} {method:<9} round {price:>5g}: one by one {alone.words}, panels {together.words}, saved "
                f"{less.mean():6.1f} +- {error:.1f}, fees {fees:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
