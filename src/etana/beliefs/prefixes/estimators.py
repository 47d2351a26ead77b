"""Any scikit-learn classifier, fitted on each prefix of the order. Knows nothing of scikit-learn itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from etana.beliefs.prefixes.encoding import Feature
from etana.beliefs.prefixes.travel import PrefixMember, Traveller
from etana.errors import InputError

if TYPE_CHECKING:
    from etana.modelfile.state import State

__all__ = ["Estimators", "ForeignObject", "posteriors_of"]


class ForeignObject(NamedTuple):
    """An object of another library inside a :meth:`~PrefixMember.state`."""

    thing: Any


@dataclass(frozen=True)
class Estimators(PrefixMember):
    """A fitted classifier for each prefix; None stands for the prior."""

    features: list[Feature]
    fitted: list[Any]
    prior: np.ndarray
    keep_missing: bool
    by_block: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """What it is."""
        return "a scikit-learn classifier"

    def depart(self, n_rows: int) -> Traveller:
        """Rows without columns."""
        return _Columns(self, 0, np.empty((n_rows, 0)))

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The classifiers are not etana's own to write."""
        return {"priors": self.prior}, {"keep_missing": self.keep_missing, "fitted": ForeignObject(self.fitted)}

    @classmethod
    def restore(cls, stored: State, features: list[Feature], n_classes: int) -> Estimators:
        """The classifiers whose :meth:`state` this is, as far as they are trusted."""
        keep, fitted = stored.flag("keep_missing"), stored.foreign("fitted")
        widths = np.cumsum([f.width for f in features]).tolist()
        if not isinstance(fitted, list) or len(fitted) != len(widths):
            raise InputError(f"its estimators are not a list of {len(widths)}")
        for one, width in zip(fitted, widths, strict=True):
            if one is not None:
                _check_fitted(one, width, n_classes, keep)
        return cls(features, fitted, stored.priors(n_classes), keep)


@dataclass(frozen=True)
class _Columns(Traveller):
    estimators: Estimators
    stage: int
    columns: np.ndarray

    def take(self, rows: np.ndarray) -> Traveller:
        return _Columns(self.estimators, self.stage, self.columns[rows])

    def after(self, values: np.ndarray) -> tuple[Traveller, np.ndarray]:
        of, k = self.estimators, self.stage
        # Raw columns are kept, for the next estimator wants all of them and none of the inner state of this one.
        columns = np.concatenate([self.columns, of.features[k].raw(values, of.keep_missing)], axis=1)
        return _Columns(of, k + 1, columns), posteriors_of(of.fitted[k], columns, of.prior)


def posteriors_of(fitted: Any, X: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Posteriors (m, N); a class that the estimator never saw has none, and no estimator means the prior."""
    # Many estimators refuse a table without rows.
    if fitted is None or not len(X):
        return np.tile(prior, (len(X), 1))
    out = np.zeros((len(X), prior.size))
    # Training codes may lack a class that the whole table has; its column stays 0 until the calibration's floor.
    out[:, np.asarray(fitted.classes_, dtype=np.int64)] = fitted.predict_proba(X)
    return out


def _check_fitted(estimator: Any, width: int, n: int, keep_missing: bool) -> None:
    """Refuse an estimator that cannot have been fitted on a prefix of this width."""
    classes = np.asarray(getattr(estimator, "classes_", None))
    if not hasattr(estimator, "predict_proba") or classes.ndim != 1 or classes.dtype.kind not in "iu":
        raise InputError(f"one of its estimators is a {type(estimator).__name__} that is no fitted classifier")
    if np.unique(classes).size != classes.size or not classes.size or classes.min() < 0 or classes.max() >= n:
        raise InputError("one of its estimators has classes that are not there")
    # Compiled code behind an estimator reads as many columns as it was fitted on, whether they are there or not.
    if getattr(estimator, "n_features_in_", width) != width:
        raise InputError(f"one of its estimators does not take the {width} columns that it is given")
    if keep_missing and not estimator.__sklearn_tags__().input_tags.allow_nan:
        raise InputError("one of its estimators takes no missing values, and would be given them")
