"""How FrugalClassifier should choose among its candidates: rules tried on rows that no figure is reported on.

    python benchmarks/choice_rules.py --data-dir DATA -o draws
    python benchmarks/choice_rules.py --data-dir DATA -o draws --only heart,pima:80,flare@high --draws 4
    python benchmarks/choice_rules.py -o draws --draws 0                              # the rules alone, no fit

A set is named with the rows that are learnt from (``pima:80``); without, two thirds of its rows are. A feature costs
0.01 and a mistake 1, unless a level stands behind the name (``flare@high``): then prices are those of the set, mistakes
cost what ``costbench`` says, and costs are divided as there. Rows are those of :func:`halves.rows_for_settings`, and of
a set that is in ``costbench`` alone, training rows of its first split.

For each draw the candidates are fitted on the training rows without each fold, and on all of them, and then pay on the
others. A file for each draw keeps what rows paid in each dealing of the folds, so that any rule can be asked afterwards
which candidate it takes, and what that one pays. Where learnt and other rows make up a whole set, rows that flatter a
candidate among the one are missing among the other: to choose looks a little worse there than it is.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
import zlib
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

import etana
import etana.classifiers.frugal
from bench_tools import paid_more
from etana.binning import Binner
from etana.costs import resolve_feature_costs
from etana.learning.judging import NOTHING, Judged, judge
from halves import rows_for_settings
from settings import rows_of

SETS = (
    "heart", "hepatitis", "pima", "bupa", "pima:80", "physionet2012:150", "heart@high", "hepatitis@middle",
    "hepatitis@high", "pima@middle", "pima@high", "flare@high", "glass@high", "car_evaluation@high:400", "noise",
    "noise_rare",
)  # fmt: skip
IN_BENCH = {
    "heart": "heart",
    "hepatitis": "hepatitis",
    "pima": "diabetes",
}  # sets that have halves, and their names there
DEALT = ((5, 2), (10, 1))  # folds, and how often they are dealt
MOST_ROWS, MOST_TEST, NOISE_ROWS = 3000, 1000, 120


class Task(NamedTuple):
    """Rows, what features and mistakes cost, bins, and what costs are divided by."""

    X: Any
    y: np.ndarray
    feature_costs: Any
    mistakes: np.ndarray
    binning: Any
    scale: float

    def classifier(self) -> etana.FrugalClassifier:
        """Whose candidates are judged."""
        return etana.FrugalClassifier(self.feature_costs, self.mistakes, binning=self.binning)

    def paid(self, walk: Any, y: np.ndarray) -> np.ndarray:
        """What each row of a walk pays."""
        return (walk.costs + self.mistakes[y, walk.labels]) / self.scale

    def told(self, walk: Any) -> np.ndarray:
        """What each row is believed to pay where its walk ends."""
        return (walk.costs + (walk.posteriors * self.mistakes[:, walk.labels].T).sum(axis=1)) / self.scale


class Draw(NamedTuple):
    """What a draw says: costs of held-out rows by (folds, candidate), a line for each dealing, what they were believed
    to be, and the mean cost of other rows."""

    classes: np.ndarray
    weights: np.ndarray
    default: str
    paid: dict[tuple[int, str], np.ndarray]
    told: dict[tuple[int, str], np.ndarray]
    tested: dict[str, float]


class Rule(NamedTuple):
    """How to choose: by how many folds, dealt how often, standard errors by which a candidate must be cheaper than the
    default and asking than asking nothing, whether errors are within classes, and the share that beliefs have in the
    costs."""

    folds: int = 5
    repeats: int = 1
    clear: float = 0.5
    earned: float = 0.0
    by_class: bool = False
    believed: float = 0.0


@lru_cache(maxsize=1)
def task_of(title: str, data_dir: str | None) -> Task:
    """The task of a set, with prices of its own where a level is named."""
    name, _, level = title.partition("@")
    if not level:
        X, y = rows_of(name, data_dir, MOST_ROWS)
        codes = np.unique(y, return_inverse=True)[1]
        return Task(X, codes, 0.01, 1 - np.eye(codes.max() + 1), "supervised", 1.0)
    bench = etana.datasets.load_costbench(IN_BENCH.get(name, name), data_dir)
    mistakes, binning, costs = bench.mistakes[level], "supervised", bench.column_costs
    if name in IN_BENCH:
        data = etana.datasets.load(name, data_dir=data_dir)
        (X, y), costs = rows_for_settings(data, MOST_ROWS), data.column_costs
    else:
        X, y = bench.X_train[0].astype(np.float64), bench.y_train[0]
        binning = Binner.from_edges([np.arange(most) + 0.5 for most in X.max(axis=0)])
    n_features = X.shape[1]
    rarer = 1 - np.bincount(y).max() / len(y)
    scale = resolve_feature_costs(costs, n_features).total(np.arange(n_features)) + rarer * float(mistakes.max())
    return Task(X, y, costs, mistakes, binning, scale)


def noise_task(rare: bool, draw: int) -> Task:
    """Columns that say nothing; of ten rows one of a dear class, or equal classes."""
    rng, n = np.random.default_rng(9000 + draw), NOISE_ROWS + 2 * MOST_TEST
    X, y = rng.normal(size=(n, 10)), (rng.random(n) < (0.1 if rare else 0.5)).astype(int)
    y[:2] = 0, 1
    return Task(X, y, 0.01, np.array([[0, 1], [9.0 if rare else 1.0, 0]]), "supervised", 1.0)


def parts_of(name: str, data_dir: str | None, draw: int) -> tuple[Task, np.ndarray, np.ndarray]:
    """A task, its training rows, and rows to pay on."""
    title, _, size = name.partition(":")
    if title.startswith("noise"):
        task = noise_task(title == "noise_rare", draw)
        return task, np.arange(NOISE_ROWS), np.arange(NOISE_ROWS, len(task.y))
    task = task_of(title, data_dir)
    n = len(task.y)
    learnt = int(size) if size else n - math.ceil(n / 3)
    # Another seed for each set: several have the same rows.
    seed, rest = 1000 * draw + zlib.crc32(name.encode()) % 1000, min(n - learnt, MOST_TEST)
    rows = train_test_split(np.arange(n), random_state=seed, stratify=task.y, train_size=learnt, test_size=rest)
    return task, *rows


class Listening:
    """A candidate whose walks are listened to."""

    def __init__(self, clf: Any, heard: list[Any]) -> None:
        self.clf, self.heard = clf, heard

    def fit(self, *rows: Any) -> Listening:
        """Fit it."""
        self.clf.fit(*rows)
        return self

    def acquire(self, table: Any) -> Any:
        """Its walk, which is kept."""
        self.heard.append(self.clf.acquire(table))
        return self.heard[-1]


def drawn(name: str, data_dir: str | None, draw: int) -> Draw:
    """Judge the candidates on training rows, and let each pay on the others."""
    task, learning, held = parts_of(name, data_dir, draw)
    seen: dict[str, Any] = {"paid": {}, "told": {}}

    def remember(rows: Any, makers: Any, default: str, mistakes: np.ndarray, *others: Any) -> Judged:
        _, _, seed, n_jobs, tell, known = others
        seen.update(makers=makers, default=default)
        for n_folds, repeats in DEALT:
            for repeat in range(repeats):
                heard: dict[str, list[Any]] = {key: [] for key in makers}
                ears = {key: lambda key=key, heard=heard: Listening(makers[key](), heard[key]) for key in makers}
                judged = judge(rows, ears, default, mistakes, n_folds, 1, seed + repeat, n_jobs, tell, known)
                keep(judged, n_folds, heard)
        return judged

    def keep(judged: Judged, n_folds: int, heard: dict[str, list[Any]]) -> None:
        places = [np.flatnonzero((judged.folds == fold) & (judged.weights > 0)) for fold in np.unique(judged.folds)]
        order = np.concatenate(places)
        for key, paid in judged.paid.items():
            told = paid / task.scale
            if heard[key]:
                told[order] = np.concatenate([task.told(walk) for walk in heard[key]])
            seen["paid"].setdefault((n_folds, key), []).append(paid / task.scale)
            seen["told"].setdefault((n_folds, key), []).append(told)
        seen["weights"] = judged.weights

    etana.classifiers.frugal.judge = remember
    try:
        task.classifier().fit(task.X[learning], task.y[learning])
    finally:
        etana.classifiers.frugal.judge = judge
    tested = {}
    for key, make in seen["makers"].items():
        walk = make().fit(task.X[learning], task.y[learning]).acquire(task.X[held])
        tested[key] = float(task.paid(walk, task.y[held]).mean())
    paid, told = ({key: np.array(lines) for key, lines in seen[kind].items()} for kind in ("paid", "told"))
    return Draw(task.y[learning], seen["weights"], seen["default"], paid, told, tested)


def save(path: Path, draw: Draw) -> None:
    """Keep a draw."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {f"{kind} {n} {key}": x for kind in ("paid", "told") for (n, key), x in getattr(draw, kind).items()}
    arrays |= {f"tested 0 {key}": np.array(cost) for key, cost in draw.tested.items()}
    np.savez_compressed(path, classes=draw.classes, weights=draw.weights, default=np.array(draw.default), **arrays)


def restore(path: Path) -> Draw:
    """A draw that was kept."""
    found: dict[str, dict[Any, Any]] = defaultdict(dict)
    with np.load(path) as file:
        for key in file.files:
            kind, n, name = (*key.split(" ", 2), "", "")[:3]
            found[kind][(int(n), name) if kind in ("paid", "told") else name] = file[key]
    plain = {name: float(cost) for name, cost in found["tested"].items()}
    classes, weights, default = (found[kind][""] for kind in ("classes", "weights", "default"))
    return Draw(classes, weights, str(default), found["paid"], found["told"], plain)


def error_of(extra: np.ndarray, shares: np.ndarray, classes: np.ndarray | None) -> float:
    """One standard error of a mean; within classes, where these are given."""
    middle = np.full(extra.size, shares @ extra)
    if classes is not None:
        for label in np.unique(classes):
            own = (classes == label) & (shares > 0)
            if own.sum() > 1:
                middle[own] = extra[own].mean()
    return float(np.sqrt((shares**2 * (extra - middle) ** 2).sum()))


def choose(draw: Draw, rule: Rule) -> str:
    """The candidate that a rule takes."""
    costs = {
        key: ((1 - rule.believed) * paid + rule.believed * draw.told[n, key])[: rule.repeats].mean(axis=0)
        for (n, key), paid in draw.paid.items()
        if n == rule.folds
    }
    shares, classes = draw.weights / draw.weights.sum(), draw.classes if rule.by_class else None
    best, least = draw.default, 0.0
    for name in costs:
        extra = costs[name] - costs[draw.default]
        mean = float(shares @ extra)
        if name not in (NOTHING, draw.default) and mean < min(-rule.clear * error_of(extra, shares, classes), least):
            best, least = name, mean
    saved = costs[NOTHING] - costs[best]
    return best if shares @ saved > rule.earned * error_of(saved, shares, classes) else NOTHING


RULES = {
    "clear 0.5, earned 0": Rule(),
    **{f"clear {c:g}": Rule(clear=c) for c in (0.0, 1.0, 1.5, 2.0, math.inf)},
    **{f"earned {e:g}": Rule(earned=e) for e in (-1.0, -0.5, -0.25, 0.5)},
    "folds dealt twice": Rule(repeats=2),
    "ten folds": Rule(folds=10),
    **{f"errors within classes, clear {c:g}": Rule(clear=c, by_class=True) for c in (0.5, 1.0, 2.0)},
    **{f"beliefs {b:g}": Rule(believed=b) for b in (0.25, 0.5)},
}


def summarise(folder: Path) -> None:
    """What each rule and each candidate pays, and how much more than the first rule; one draw of a set says nothing."""
    found: dict[str, list[Draw]] = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        found[path.stem.rpartition("_")[0]].append(restore(path))
    draws = {name: some for name, some in found.items() if len(some) > 1}
    print({name: len(some) for name, some in draws.items()})
    takes = {title: lambda draw, rule=rule: choose(draw, rule) for title, rule in RULES.items()}
    names = dict.fromkeys(name for some in draws.values() for draw in some for name in draw.tested)
    takes |= {f"always {name}": lambda draw, name=name: name if name in draw.tested else draw.default for name in names}
    usual: dict[str, list[float]] | None = None
    for title, take in takes.items():
        costs = {name: [draw.tested[take(draw)] for draw in some] for name, some in draws.items()}
        usual = usual or costs
        print(f"{title}: {np.mean([np.mean(some) for some in costs.values()]):.4f}, {paid_more(costs, usual)}")


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data-dir")
    options.add_argument("-o", "--output", default="draws", help="folder; draws that are there are not made again")
    options.add_argument("--only", default=",".join(SETS))
    options.add_argument("--first", type=int, default=0, help="number of the first draw, which seeds it")
    options.add_argument("--draws", type=int, default=5)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    for number in range(given.first, given.first + given.draws):
        for name in given.only.split(","):
            path = Path(given.output, f"{name}_{number}.npz")
            if not path.exists():
                draw = drawn(name, given.data_dir, number)
                save(path, draw)
                print(name, number, {key: round(cost, 4) for key, cost in draw.tested.items()}, file=sys.stderr)
    summarise(Path(given.output))


if __name__ == "__main__":
    main()
