"""Candidates, judged by what rows pay that they had not seen.

Training rows are dealt into folds, once or several times. Every candidate is fitted without each fold, and takes the
fold's rows through; what these pay, features and mistakes, is its cost. All candidates see the same folds, so that
differences are between the same rows. Candidates that keep walks of rows which they had not seen may be judged by
these, without another fit and by what all rows taught them, not a part.

*The choice.* One candidate is the default. Another takes its place only if it is cheaper by more than half a standard
error of the difference: with few rows what looks like a winner is often chance. Asking nothing is always a candidate,
and wins unless asking is cheaper.

*What is announced.* The cost of the winner is too low: it was picked for it. So the choice is made again without each
fold, by the rows of the other folds, and what that choice pays on the fold is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from etana.judgement import Judgement
from etana.learning.folds import TrainingRows, deal_folds, in_folds, row_keys

__all__ = ["NOTHING", "Candidate", "Judged", "Known", "judge"]

NOTHING = "ask nothing"
_CLEAR = 0.5  # standard errors


class Candidate(NamedTuple):
    """A row of the comparison. Entries can be had by name, too: ``row["cost"]``."""

    name: str
    cost: float
    standard_error: float
    features: float
    accuracy: float
    seconds: float
    chosen: bool

    def __getitem__(self, key: Any) -> Any:
        """An entry, by name or by place."""
        return getattr(self, key) if isinstance(key, str) else tuple.__getitem__(self, key)


class Known(NamedTuple):
    """What rows paid and were asked, and whether they were decided right, by a candidate that had not seen them; and
    the processor seconds of its fit."""

    paid: np.ndarray
    asked: np.ndarray
    right: np.ndarray
    seconds: float


@dataclass(frozen=True)
class Judged:
    """What held-out rows paid.

    Attributes
    ----------
    paid : dict from name to array (n,)
        By each candidate, mean over the repeats.
    asked, right : the same
    weights : array (n,)
        0 for rows that were not held out.
    folds : array (n,)
        Of the first repeat.
    seconds : dict from name to float
        Processor seconds of the fits.
    default : str
    """

    paid: dict[str, np.ndarray]
    asked: dict[str, np.ndarray]
    right: dict[str, np.ndarray]
    weights: np.ndarray
    folds: np.ndarray
    seconds: dict[str, float]
    default: str

    def choose(self, weights: np.ndarray | None = None) -> str:
        """The candidate to keep, by rows of these weights."""
        weights = self.weights if weights is None else weights
        best, least = self.default, 0.0
        for name, paid in self.paid.items():
            if name == NOTHING:
                continue
            mean, error = _mean(paid - self.paid[self.default], weights)
            if mean < min(-_CLEAR * error, least):
                best, least = name, mean
        # What asks has to earn it.
        return NOTHING if _mean(self.paid[NOTHING] - self.paid[best], weights)[0] <= 0 else best

    @property
    def asking(self) -> str:
        """The candidate to keep if something is to be asked."""
        chosen = self.choose()
        if chosen != NOTHING:
            return chosen
        return min(
            (name for name in self.paid if name != NOTHING), key=lambda name: _mean(self.paid[name], self.weights)[0]
        )

    def judgement(self) -> Judgement:
        """What the choice pays on rows that had no part in it."""
        cost, asked, right = (np.empty(self.folds.size) for _ in range(3))
        for fold in np.unique(self.folds):
            own = self.folds == fold
            others = np.where(own, 0.0, self.weights)
            name = self.choose(others) if others.any() else self.choose()
            cost[own], asked[own], right[own] = self.paid[name][own], self.asked[name][own], self.right[name][own]
        mean, error = _mean(cost, self.weights)
        n_features, accuracy, nothing = (_mean(x, self.weights)[0] for x in (asked, right, self.paid[NOTHING]))
        return Judgement(mean, error, n_features, accuracy, nothing)

    def comparison(self) -> list[Candidate]:
        """A row for each candidate, the cheapest first."""
        chosen, rows = self.choose(), []
        for name, paid in self.paid.items():
            cost, error = _mean(paid, self.weights)
            asked, right = (_mean(numbers[name], self.weights)[0] for numbers in (self.asked, self.right))
            rows.append(Candidate(name, cost, error, asked, right, self.seconds[name], name == chosen))
        return sorted(rows, key=lambda row: row.cost)


def _mean(numbers: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    shares = weights / weights.sum()
    mean = float(shares @ numbers)
    return mean, float(np.sqrt((shares**2 * (numbers - mean) ** 2).sum()))


def judge(
    rows: TrainingRows, candidates: Mapping[str, Callable[[], Any]], default: str, mistakes: np.ndarray, n_folds: int,
    repeats: int, seed: int, n_jobs: int | None, tell: Callable[[str], object],
    known: Mapping[str, Known] = MappingProxyType({}),
) -> Judged:  # fmt: skip
    """Take every row through every candidate that had not seen it, unless it is known already what they paid there."""
    n = rows.classes.size
    # The only row of a class is never held out: without it the class would not be known. Nor is one that counts for
    # nothing, and is there for its class.
    counting = rows.weights > 0
    alone = (np.bincount(rows.classes[counting], minlength=len(mistakes))[rows.classes] < 2) | ~counting
    parts = list(_parts(rows, n_folds, repeats, seed, alone))
    names = [name for name in candidates if name != NOTHING and name not in known]
    jobs = [(name, part) for part in range(len(parts)) for name in names]

    def one(name: str, part: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        learning, held = parts[part]
        started = time.process_time()
        clf = candidates[name]().fit(*rows.take(learning))
        seconds = time.process_time() - started
        walk = clf.acquire(rows.table.rows(held))
        truth = rows.classes[held]
        return walk.costs + mistakes[truth, walk.labels], walk.n_features, walk.labels == truth, seconds

    totals = {name: np.zeros((3, n)) for name in names}
    seconds = dict.fromkeys(names, 0.0)
    # Kernels release the lock, and threads share the table.
    done = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(delayed(one)(*job) for job in jobs)
    for (name, part), (*figures, took) in zip(jobs, done, strict=True):
        totals[name][:, parts[part][1]] += np.array(figures, dtype=np.float64) / repeats
        seconds[name] += took
        tell(name)
    totals |= {name: np.array(figures[:3]) for name, figures in known.items()}
    seconds |= {name: figures.seconds for name, figures in known.items()}
    totals[NOTHING] = _nothing(rows, parts, mistakes) / repeats
    weights = np.where(alone, 0.0, rows.weights)
    if not weights.any():
        weights = rows.weights
    folds = deal_folds(rows.classes, min(n_folds, n), row_keys(rows.table, seed))
    paid, asked, right = ({name: total[i] for name, total in totals.items()} for i in range(3))
    return Judged(paid, asked, right, weights, folds, seconds | {NOTHING: 0.0}, default)


def _parts(
    rows: TrainingRows, n_folds: int, repeats: int, seed: int, alone: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """TrainingRows to learn from and rows held out."""
    for repeat in range(repeats):
        folds = deal_folds(rows.classes, min(n_folds, rows.classes.size), row_keys(rows.table, seed + repeat))
        for learning, held in in_folds(folds):
            held = held[~alone[held]]
            if held.size:
                yield np.union1d(learning, np.flatnonzero(alone)), held


def _nothing(rows: TrainingRows, parts: list[tuple[np.ndarray, np.ndarray]], mistakes: np.ndarray) -> np.ndarray:
    """What each row pays, is asked and whether it is right, if the best decision without any feature is taken."""
    out = np.zeros((3, rows.classes.size))
    for learning, held in parts:
        shares = np.bincount(rows.classes[learning], rows.weights[learning], minlength=len(mistakes))
        decided = int((shares @ mistakes).argmin())
        out[0, held] += mistakes[rows.classes[held], decided]
        out[2, held] += rows.classes[held] == decided
    return out
