"""Training rows that share the answers so far, shrunk towards naive Bayes.

After a path of answers

    P(F = v | T_i, path) = (n_iv(path) + m P(v | T_i)) / (n_i(path) + m)

with n counting the training rows that gave the same answers. m infinite is naive Bayes, and needs no rows; m = 0 is a
decision tree. Evidence is what is learnt here that naive Bayes cannot know: how features depend on each other, as far
as there are rows that tell.

Only *candidates* tell anything: columns with at least two bins. Under naive Bayes no column can tell more about the
class, at any belief, than its *radius* max_i KL(P_i || Q), where Q is the mean of the P_i over the classes. Where there
are more candidates than can be held (``most``), those with the largest radius per price are kept, and ``left_out`` is
the largest radius per price among the rest: under naive Bayes no column that was left out is ever worth more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from etana.beliefs.base import BinnedBeliefs, BinnedKnowledge, Knowledge
from etana.binning import Binner
from etana.errors import InputError
from etana.kernels import choice as kernel
from etana.kernels.choice import Evidence
from etana.kernels.walk import Bins
from etana.likelihood import Counts, reorder_cells, tempered
from etana.table import Table

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["PathCounts", "PathKnowledge"]

_MOST_CODES = 2**27  # codes of training rows that are held at most
_LISTED, _SPARSE = 64, 0.2  # candidates, and the share of unusual codes, from and to which rows are listed
_MOST_APART = 2**20  # divergences of classes that are held at most
_WIDE_CODES, _WIDE = 2**25, 256  # codes beyond which a table is wide, and candidates that are kept of a wide one


class Unusual(NamedTuple):
    """Rows listed by the candidates of which they have another code than the usual one; see
    :class:`etana.kernels.choice.Evidence`."""

    usual: np.ndarray
    starts: np.ndarray
    others: np.ndarray

    @classmethod
    def none(cls, n_candidates: int) -> Unusual:
        """No lists."""
        return cls(np.zeros(n_candidates, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))

    @classmethod
    def of(cls, codes: np.ndarray, weights: np.ndarray) -> Unusual | None:
        """Lists of many candidates few codes of which are unusual, as of words; None where they would not help.

        Weights are whole and no value is missing, so that what is left of a sum is what would have been counted.
        """
        if len(codes) < _LISTED or not codes.size or codes.min() < 0 or (weights != np.floor(weights)).any():
            return None
        usual = np.array([np.bincount(row).argmax() for row in codes], dtype=np.int64)
        rows, others = np.nonzero((codes != usual[:, None].astype(codes.dtype)).T)
        if others.size > _SPARSE * codes.size:
            return None
        return cls(usual, np.searchsorted(rows, np.arange(codes.shape[1] + 1)), others.astype(np.int32))


@dataclass(frozen=True)
class PathCounts(BinnedBeliefs):
    """Likelihoods of the candidates, and the training rows as codes.

    Attributes
    ----------
    binner : Binner
    priors : array (N,)
    candidates : array (C,)
        Their columns, ascending.
    table : array (cells, N)
        P(v | T_i) of the candidates, one after the other.
    codes : array (C, n)
        Training rows, in the smallest type that holds them; -1 where a value is no evidence. Without rows (n = 0) every
        belief is naive Bayes.
    classes, weights : arrays (n,)
    m : float
        Strength of the shrinkage.
    temperature : float
        Of the likelihoods; see :func:`etana.likelihood.tempered`.
    left_out : float
        Bound on the information per price of columns that are no candidates; 0 if all that tell anything are.
    """

    binner: Binner
    priors: np.ndarray
    candidates: np.ndarray
    table: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    m: float = np.inf
    left_out: float = 0.0
    temperature: float = 1.0
    unusual: Unusual | None = field(default=None, repr=False, compare=False)

    @classmethod
    def learn(
        cls, binner: Binner, counts: Counts, rows: tuple[Table, np.ndarray, np.ndarray], priors: np.ndarray,
        per: np.ndarray, most: int | None = None,
    ) -> PathCounts:  # fmt: skip
        """From training rows (table, classes, weights) that are counted; ``per`` (K,) is what a column's information is
        divided by where not all can be candidates, and must be above 0. ``most`` is how many can; None: as many as a
        table of this size allows."""
        table, classes, weights = rows
        likelihoods = counts.likelihoods()
        several = np.flatnonzero(np.diff(counts.offsets) > 1)
        radius = _radius(*reorder_cells(likelihoods, counts.offsets, several)).max(axis=1, initial=0.0)
        several, radius = several[radius > 0], radius[radius > 0]
        # By the largest bound over the classes: no belief can make a column worth more than that.
        rate = radius / per[several]
        if most is None:
            # Each is looked at in every state: of very many the first say as much as all.
            wide = table.n_rows * several.size > _WIDE_CODES
            most = min(max(_MOST_CODES // max(table.n_rows, 1), 1), _WIDE if wide else several.size)
        order = np.argsort(-rate, kind="stable")
        ranked = several[order]
        candidates = np.sort(ranked[:most])
        codes = binner.encode(table, candidates)
        for place, column in enumerate(candidates.tolist()):
            if column in counts.labels:
                # Rows with a rare label say nothing of others that have it: pooled, naive Bayes speaks for it alone.
                rare = np.append(counts.rare_labels(column), False)
                codes[place, rare[codes[place]]] = -1
        # Codes are what takes room: a byte for most columns. A negative bound asks for a signed type, for -1.
        small = np.min_scalar_type(-int(codes.max(initial=0)) - 1)
        cells, _ = reorder_cells(likelihoods, counts.offsets, candidates)
        # Columns are ranked, so the first that found no room bounds all others.
        left_out = float(rate[order[most]]) if ranked.size > most else 0.0
        codes, weights = codes.astype(small), np.asarray(weights, dtype=np.float64)
        return cls(
            binner, priors, candidates, cells, codes, classes.astype(np.int64), weights, left_out=left_out,
            unusual=Unusual.of(codes, weights),
        )  # fmt: skip

    @property
    def columns(self) -> np.ndarray:
        """Columns of the candidates."""
        return self.candidates

    @property
    def words(self) -> str:
        """What these are."""
        if self.m == np.inf:
            return "naive Bayes"
        return f"training rows that share the answers, shrunk towards naive Bayes (m = {self.m:g})"

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where the cells of each candidate begin, (C + 1,)."""
        return _offsets(self.binner, self.candidates)

    @cached_property
    def bins(self) -> Bins:
        """Edges of the candidates, as the kernels take them."""
        return Bins(*self.binner.edges_of(self.candidates))

    def with_strength(self, m: float) -> PathCounts:
        """The same rows, shrunk with another strength."""
        new = replace(self, m=float(m))
        vars(new)["_told"] = self._told
        return new

    def at_temperature(self, temperature: float) -> PathCounts:
        """The same rows, naive Bayes believed less."""
        return self if temperature == self.temperature else replace(self, temperature=float(temperature))

    def without_rows(self) -> PathCounts:
        """Naive Bayes only."""
        none = self.codes[:, :0], self.classes[:0], self.weights[:0]
        return replace(self, codes=none[0], classes=none[1], weights=none[2], unusual=None)

    @cached_property
    def evidence(self) -> Evidence:
        """All of it, as the kernels take it."""
        return self._told._replace(m=self.m)

    @cached_property
    def _told(self) -> Evidence:
        """The same at any strength: worked out once for all of them."""
        # v log v goes to 0 with v: cells without probability add nothing to the entropy.
        table = tempered(self.table, self.offsets, self.priors, self.temperature)
        logs = np.log(np.maximum(table, 1e-300))
        negentropy = _sums(np.where(table > 0, table * logs, 0.0), self.offsets)
        usual, starts, others = self.unusual or Unusual.none(len(self.codes))
        by_row = self.codes.T if self.unusual is None else self.codes.T[:0]
        gaps = np.any(self.codes < 0, axis=1)
        return Evidence(
            self.codes, self.classes, self.weights, self.offsets, table, negentropy, np.ascontiguousarray(table.T),
            np.ascontiguousarray(_radius(table, self.offsets).T), _apart(table, logs, negentropy, self.offsets),
            np.ascontiguousarray(by_row), gaps if gaps.any() else gaps[:0], usual, starts, others, np.inf,
        )  # fmt: skip

    def candidate(self, column: int) -> int:
        """The number of a column among the candidates; -1 if it is none."""
        place = int(np.searchsorted(self.candidates, column))
        return place if place < self.candidates.size and self.candidates[place] == column else -1

    def begin(self, n_rows: int) -> Knowledge:
        """Rows at the priors, which share nothing yet with any training row: with all of them."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.priors)
        # With m infinite no row is ever looked at, and none is carried along.
        every = np.arange(self.classes.size if self.m < np.inf else 0)
        return PathKnowledge(self, (), np.tile(logs - logs.max(), (n_rows, 1)), (every,) * n_rows, ((),) * n_rows)

    def examples(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The training rows, where there are any."""
        return (self.candidates, self.codes) if self.codes.size else None

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Training rows are part of it, as codes, unless these beliefs are naive Bayes."""
        # Who stores naive Bayes stores no rows.
        kept = self if self.m < np.inf else self.without_rows()
        arrays = {
            "priors": kept.priors, "candidates": kept.candidates, "table": kept.table, "codes": kept.codes,
            "classes": kept.classes, "weights": kept.weights,
        }  # fmt: skip
        values = {"binner": kept.binner, "m": kept.m, "left_out": kept.left_out, "temperature": kept.temperature}
        return arrays, values

    @classmethod
    def restore(cls, stored: State, n_classes: int) -> PathCounts:
        """The beliefs whose :meth:`state` this is."""
        binner = stored.binner("binner")
        candidates = stored.array("candidates", (None,), np.int64)
        if (np.diff(candidates) <= 0).any() or (candidates < 0).any() or (candidates >= binner.n_features).any():
            raise InputError("the candidates are no columns in ascending order")
        offsets = _offsets(binner, candidates)
        if (np.diff(offsets) < 2).any():
            raise InputError("a candidate has fewer than two values")
        table = stored.likelihoods("table", offsets, n_classes)
        classes = stored.classes("classes", (None,), n_classes)
        weights = stored.within("weights", classes.shape, 0.0, np.finfo(float).max)
        codes = stored.integers("codes", (candidates.size, classes.size))
        if (codes < -1).any() or (codes >= np.diff(offsets)[:, None]).any():
            raise InputError("a training row has a code that its column does not have")
        m, left_out = stored.number("m", 0.0, np.inf, finite=False), stored.number("left_out", 0.0)
        # Sums of weights are denominators of the likelihoods on a path.
        if m < np.inf and not np.isfinite(weights.sum() + m):
            raise InputError("the weights of the training rows are too large")
        heat = stored.number("temperature", 1.0)
        return cls(
            binner, stored.priors(n_classes), candidates, table, codes, classes, weights, m, left_out, heat,
            Unusual.of(codes, weights),
        )  # fmt: skip


@dataclass(frozen=True)
class PathKnowledge(BinnedKnowledge):
    """Log beliefs (n, N), largest 0, and for each row the training rows that share its path, and its codes there."""

    beliefs: PathCounts
    known: tuple[int, ...]
    logs: np.ndarray
    rows: tuple[np.ndarray, ...]
    codes: tuple[tuple[int, ...], ...]

    def answered(self, column: int, codes: np.ndarray) -> Knowledge:
        """The same for answers that are coded already; -1 is no evidence."""
        feature, logs = self.beliefs.candidate(column), self.logs.copy()
        known = (*self.known, column)
        paths = tuple((*path, code) for path, code in zip(self.codes, codes.tolist(), strict=True))
        # A column that is no candidate tells nothing: it becomes known, and belief and rows stay.
        if feature < 0:
            return replace(self, known=known, codes=paths)
        likelihoods = self.likelihoods(column)
        # As the decision graph does, to the last bit.
        kernel.take_logarithms(likelihoods)
        rows = []
        for r, code in enumerate(codes.tolist()):
            if code >= 0:
                kernel.answer(logs[r], likelihoods[r, code])
            left = np.empty_like(self.rows[r])
            # Rows whose value is missing go on together too: they share that answer.
            count = kernel.narrow(self.beliefs.codes[feature], code, self.rows[r], self.rows[r].size, left)
            rows.append(left[:count])
        return PathKnowledge(self.beliefs, known, logs, tuple(rows), paths)

    def take(self, rows: np.ndarray) -> Knowledge:
        """Some of the rows."""
        index = np.arange(len(self.logs))[rows]
        sharing = tuple(self.rows[i] for i in index.tolist())
        codes = tuple(self.codes[i] for i in index.tolist())
        return PathKnowledge(self.beliefs, self.known, self.logs[index], sharing, codes)

    def likelihoods(self, column: int) -> np.ndarray:
        """P(v | class, path) of each row, (n, V, N)."""
        evidence, feature = self.beliefs.evidence, self.beliefs.candidate(column)
        if feature < 0:
            return np.ones((len(self.logs), 1, self.logs.shape[1]))
        n_values = int(evidence.offsets[feature + 1] - evidence.offsets[feature])
        out = np.empty((len(self.logs), n_values + 1, self.logs.shape[1]))
        for r, rows in enumerate(self.rows):
            kernel.path_likelihoods(feature, rows, rows.size, evidence, out[r])
        return np.ascontiguousarray(out[:, :n_values])


def _offsets(binner: Binner, columns: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(np.diff(binner.cell_offsets)[columns], dtype=np.int64)))


def _sums(cells: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    if offsets.size == 1:
        return np.empty((0, cells.shape[1]))
    return np.add.reduceat(cells, offsets[:-1], axis=0)


def _apart(table: np.ndarray, logs: np.ndarray, negentropy: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """KL(P_i || P_t) of each feature at [t, i]; of no feature where that would be very many numbers."""
    n_classes = table.shape[1]
    if n_classes * negentropy.size > _MOST_APART:
        return np.empty((n_classes, n_classes, 0))
    return np.stack([(negentropy - _sums(table * logs[:, [t]], offsets)).T for t in range(n_classes)])


def _radius(table: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """KL(P_i || Q) of each feature and class, Q the mean over the classes."""
    # Any Q gives a bound; the mean over the classes lies among the P_i, and needs no search.
    mean = table.mean(axis=1, keepdims=True)
    ratio = np.divide(table, mean, out=np.ones_like(table), where=(mean > 0) & (table > 0))
    return np.maximum(_sums(table * np.log(ratio), offsets), 0.0)
