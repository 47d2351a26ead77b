"""OFS-Density: neighbourhoods as dense as they can be (Zhou, Hu, Li, Wu 2019).

gamma(B) is the dependency of :mod:`etana.selection.dependency` under the density relation: row i is joined
by its nearest rows as long as d_j / j, the distance per neighbour, does not grow.  S is the selection, m the
mean of gamma({g}) over S, both empty or 0 at first; f is the column that arrives.

1. *Relevance*: unless gamma({f}) >= m, f is discarded.
2. If gamma(S + f) > gamma(S): S <- S + f.
3. Else, if |gamma(S + f) - gamma(S)| <= tolerance gamma(S): R <- S + f, and each g of the old S is dropped
   from R if gamma(R) - gamma(R - g) <= 0.  If then gamma(R) >= gamma(S), S <- R; otherwise the drops are
   undone and S <- S + f, with gamma(S) and m left as they were.
4. Else f is discarded.

This is the authors' program.  The publication stops a neighbourhood at the first *decrease* of d_j / j, uses
plain Euclidean distance, lets f go in step 3 and does not undo.

The program draws a random order for step 3, so it has no single answer.  Here ``random_state=None`` goes
through the old S oldest first, and an integer draws one permutation for each pass.

On whole numbers d_j / j = d_{j-1} / (j-1) happens often, and rounding decides in the program.  Here the two
count as equal within ``tie_tolerance``; 0 compares as the program does.
"""

from typing import Any, ClassVar

import numpy as np

from etana.parameters import number, seed
from etana.selection.base import Stream, StreamingSelector, Target
from etana.selection.dependency import DENSITY, Dependency

__all__ = ["OFSDensity", "pass_order", "redundancy_generator"]


class OFSDensity(StreamingSelector):
    """Online feature selection with an adaptive density neighbourhood.

    Parameters
    ----------
    tolerance : float, default=0.05
        Relative change of gamma up to which a column that does not raise it may still enter.
    tie_tolerance : float, default=1e-10
        Relative difference up to which two distances per neighbour are equal; 0 leaves it to rounding, as
        the authors' program does.
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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from etana.selection import OFSDensity
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OFSDensity().fit(X, y).selected_.tolist()
    [2, 20, 22, 27]
    """

    _parameters: ClassVar = {
        "tolerance": number(0, 1),
        "tie_tolerance": number(0, 0.01),
        "random_state": seed,
    }

    def __init__(
        self,
        tolerance: float = 0.05,
        *,
        tie_tolerance: float = 1e-10,
        random_state: Any = None,
        verbose: int | bool = False,
    ) -> None:
        self.tolerance = tolerance
        self.tie_tolerance = tie_tolerance
        self.random_state = random_state
        self.verbose = verbose

    def _open(self, target: Target) -> Stream:
        dependency = Dependency(target, DENSITY, self.tie_tolerance)
        return DensityStream(dependency, self.tolerance, redundancy_generator(self.random_state))


class DensityStream(Stream):
    """OFS-Density in progress."""

    def __init__(self, dependency: Dependency, tolerance: float, generator: np.random.Generator | None) -> None:
        super().__init__()
        self.dependency = dependency
        self.tolerance = tolerance
        self.generator = generator
        self.singles: list[float] = []  # gamma of each selected column alone
        self.mean_single = 0.0
        self.gamma_S = 0.0

    def arrive(self, block: np.ndarray, first: int) -> None:
        """Take the columns of ``block``."""
        width = block.shape[1]
        self.dependency.load(block)
        j = self.dependency.next_relevant(0, self.mean_single, strict=False)
        while j < width:
            self._consider(j, first + j)
            j = self.dependency.next_relevant(j + 1, self.mean_single, strict=False)
        self.dependency.unload()

    def _consider(self, j: int, position: int) -> None:
        old = range(len(self.selected))
        self.dependency.push(j)
        least = (1.0 - self.tolerance) * self.gamma_S
        joint = self.dependency.gamma(range(len(old) + 1), floor=least)
        rises = joint > self.gamma_S
        about_equal = self.gamma_S > 0.0 and abs(joint - self.gamma_S) / self.gamma_S <= self.tolerance
        if not rises and not about_equal:
            self.dependency.keep(old)
            return
        self.singles.append(self.dependency.gamma([len(old)]))
        self.selected.append(position)
        if rises:
            self._settle(list(range(len(self.selected))), joint)
        else:
            self._drop_redundant(joint)

    def _drop_redundant(self, gamma_R: float) -> None:
        newest = len(self.selected) - 1
        left = list(range(newest + 1))
        for g in pass_order(newest, self.generator):
            without = [h for h in left if h != g]
            gamma_without = self.dependency.gamma(without, floor=gamma_R)
            if gamma_R - gamma_without <= 0.0:
                left, gamma_R = without, gamma_without
        if gamma_R >= self.gamma_S:
            self._settle(left, gamma_R)

    def _settle(self, left: list[int], gamma_S: float) -> None:
        self.dependency.keep(left)
        self.singles = [self.singles[h] for h in left]
        self.selected = [self.selected[h] for h in left]
        self.gamma_S = gamma_S
        self.mean_single = sum(self.singles) / len(self.singles)


def redundancy_generator(random_state: Any) -> np.random.Generator | None:
    """Where the orders of redundancy passes come from; None stands for oldest first."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    return np.random.default_rng(random_state)


def pass_order(n_old: int, generator: np.random.Generator | None) -> list[int]:
    """Order in which one redundancy pass goes through the old columns."""
    if generator is None:
        return list(range(n_old))
    return [int(g) for g in generator.permutation(n_old)]
