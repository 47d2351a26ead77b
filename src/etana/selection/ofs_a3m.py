"""OFS-A3M: neighbourhoods that end at the first wide gap (Zhou, Hu, Li, Wu 2019).

gamma(B) is the dependency of :mod:`etana.selection.dependency` under the gap relation: row i is joined by its
nearest rows until the next one is farther off by ``gap_factor`` times the mean gap.  S is the selection, m a
threshold, both empty or 0 at first; f is the column that arrives.  The three M's are

1. *maximal relevance*: unless gamma({f}) > m, f is discarded;
2. *maximal dependency*: if gamma(S + f) > gamma(S): S <- S + f, m <- gamma(S) / |S|;
3. *maximal significance*: else, if gamma(S + f) = gamma(S) exactly: R <- S + f, each g of the old S with
   gamma(R - g) = gamma(R) is dropped from R, S <- R, m <- gamma(S) / |S|;
4. else f is discarded.

This is the authors' program.  The publication has m as the mean of gamma({g}) over S, keeps f for
gamma({f}) = m, and lets f go in step 3.

The program draws a random order for step 3, so it has no single answer.  Here ``random_state=None`` goes
through the old S oldest first, and an integer draws one permutation for each pass.

Comparisons are exact, as in the program: on whole numbers a gap may equal the limit, and the last bit of the
variance decides whether it is below.

A constant column has gamma of about a class share, so the program may select it, and from then on every set
that contains it has that same gamma: nearly every column then starts a redundancy pass.  By default
(``constant="skip"``) constants are passed over; ``constant="keep"`` does what the program does.
"""

from typing import Any, ClassVar

import numpy as np

from etana.parameters import number, one_of, seed
from etana.selection.base import Stream, StreamingSelector, Target
from etana.selection.dependency import GAP, Dependency
from etana.selection.ofs_density import pass_order, redundancy_generator

__all__ = ["OFSA3M"]


class OFSA3M(StreamingSelector):
    """Online feature selection with an adapted neighbourhood and three maximal criteria.

    Parameters
    ----------
    gap_factor : float, default=1.5
        A neighbourhood ends at a gap of this many times the mean gap between consecutive distances.
    constant : {"skip", "keep"}, default="skip"
        Pass over constant columns, or treat them as the authors' program does.
    random_state : None, int, Generator or RandomState, default=None
        Order in which old columns are tested for redundancy: oldest first, or drawn anew for each pass.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    selected_ : ndarray of int
        Selected columns, in order of arrival.
    n_features_in_ : int
        Columns seen so far.
    feature_names_in_ : ndarray of str
        Their names, where X has names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana.selection import OFSA3M
    >>> X, y = load_iris(return_X_y=True)
    >>> OFSA3M().fit(X, y).selected_.tolist()
    [0, 2, 3]
    """

    _parameters: ClassVar = {
        "gap_factor": number(above=0, most=1e6),
        "constant": one_of("skip", "keep"),
        "random_state": seed,
    }

    def __init__(
        self,
        gap_factor: float = 1.5,
        *,
        constant: str = "skip",
        random_state: Any = None,
        verbose: int | bool = False,
    ) -> None:
        self.gap_factor = gap_factor
        self.constant = constant
        self.random_state = random_state
        self.verbose = verbose

    def _open(self, target: Target) -> Stream:
        dependency = Dependency(target, GAP, self.gap_factor, takes_constants=self.constant == "keep")
        return A3MStream(dependency, redundancy_generator(self.random_state))


class A3MStream(Stream):
    """OFS-A3M in progress."""

    def __init__(self, dependency: Dependency, generator: np.random.Generator | None) -> None:
        super().__init__()
        self.dependency = dependency
        self.generator = generator
        self.gamma_S = 0.0
        self.threshold = 0.0

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        width = block.shape[1]
        self.dependency.load(block)
        j = self.dependency.next_relevant(0, self.threshold, strict=True)
        while j < width:
            self._consider(j, first + j)
            j = self.dependency.next_relevant(j + 1, self.threshold, strict=True)
        self.dependency.unload()

    def _consider(self, j: int, position: int) -> None:
        old = range(len(self.selected))
        self.dependency.push(j)
        joint = self.dependency.gamma(range(len(old) + 1), floor=self.gamma_S)
        if joint < self.gamma_S:
            self.dependency.keep(old)
            return
        self.selected.append(position)
        if joint == self.gamma_S:
            self._drop_redundant()
        self.gamma_S = joint
        self.threshold = joint / len(self.selected)

    def _drop_redundant(self) -> None:
        newest = len(self.selected) - 1
        left = list(range(newest + 1))
        for g in pass_order(newest, self.generator):
            without = [h for h in left if h != g]
            if self.dependency.gamma(without, floor=self.gamma_S) == self.gamma_S:
                left = without
        if len(left) <= newest:
            self.dependency.keep(left)
            self.selected = [self.selected[h] for h in left]
