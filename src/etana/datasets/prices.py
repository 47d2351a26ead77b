"""What the features of the medical sets cost, in Canadian dollars.

The prices are those of Turney (1995), JAIR 2:369-409, from the fee schedule of the Ontario Health Insurance Program.
Tests of one group share a fee (one blood draw, one exercise test): the first pays its full price, every further one
its discounted price. A delayed result is not at hand in the moment of asking.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from etana.costs import FeatureCosts

__all__ = ["PRICES", "Prices"]


@dataclass(frozen=True)
class Prices:
    """Price of each feature by name, in column order; groups, discounted prices and delays where there are any."""

    full: dict[str, float]
    groups: dict[str, str] = field(default_factory=dict)
    discounted: dict[str, float] = field(default_factory=dict)
    delayed: tuple[str, ...] | None = None  # None: not known

    def by_name(self) -> FeatureCosts:
        """Prices for data with column names."""
        if not self.groups:
            return FeatureCosts(dict(self.full))
        return FeatureCosts(dict(self.full), groups=dict(self.groups), discounted=dict(self.discounted))

    def by_column(self) -> FeatureCosts:
        """Prices for an array without names."""
        full = list(self.full.values())
        if not self.groups:
            return FeatureCosts(full)
        groups = [self.groups.get(name) for name in self.full]
        return FeatureCosts(full, groups=groups, discounted=[self.discounted.get(n, p) for n, p in self.full.items()])


def _dollar(names: str) -> dict[str, float]:
    """Features that cost next to nothing: a question, a look, a tape measure."""
    return dict.fromkeys(names.split(), 1.0)


PRICES = {
    "heart": Prices(
        _dollar("age sex cp trestbps")
        | {"chol": 7.27, "fbs": 5.20, "restecg": 15.50, "thalach": 102.90, "exang": 87.30, "oldpeak": 87.30}
        | {"slope": 87.30, "ca": 100.90, "thal": 102.90},
        groups={"chol": "A", "fbs": "A", "thalach": "B", "thal": "B", "exang": "C", "oldpeak": "C", "slope": "C"},
        discounted={"chol": 5.17, "fbs": 3.10} | _dollar("thalach thal exang oldpeak slope"),
        delayed=("chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal"),
    ),
    "hepatitis": Prices(
        _dollar("age sex steroid antivirals fatigue malaise anorexia liver_big liver_firm spleen_palpable spiders")
        | _dollar("ascites varices")
        | {"bilirubin": 7.27, "alk_phosphate": 7.27, "sgot": 7.27, "albumin": 7.27, "protime": 8.30, "histology": 1.0},
        groups=dict.fromkeys(("bilirubin", "alk_phosphate", "sgot", "albumin", "protime"), "A"),
        discounted={"bilirubin": 5.17, "alk_phosphate": 5.17, "sgot": 5.17, "albumin": 5.17, "protime": 6.20},
        delayed=("bilirubin", "alk_phosphate", "sgot", "albumin", "protime"),
    ),
    "thyroid": Prices(
        _dollar("age sex on_thyroxine query_on_thyroxine on_antithyroid_medication sick pregnant thyroid_surgery")
        | _dollar("I131_treatment query_hypothyroid query_hyperthyroid lithium goitre tumor hypopituitary psych")
        | {"TSH": 22.78, "T3": 11.41, "TT4": 14.51, "T4U": 11.41, "FTI": 25.92}
    ),
    "pima": Prices(
        {"times_pregnant": 1.0, "glucose_tol": 17.61, "diastolic_bp": 1.0, "triceps": 1.0, "insulin": 22.78}
        | _dollar("mass_index pedigree age"),
        groups={"glucose_tol": "A", "insulin": "A"},
        discounted={"glucose_tol": 15.51, "insulin": 20.68},
        delayed=("glucose_tol", "insulin"),
    ),
    "bupa": Prices(
        {"mcv": 7.27, "alkphos": 7.27, "sgpt": 7.27, "sgot": 7.27, "gammagt": 9.86},
        groups=dict.fromkeys(("mcv", "alkphos", "sgpt", "sgot", "gammagt"), "A"),
        discounted={"mcv": 5.17, "alkphos": 5.17, "sgpt": 5.17, "sgot": 5.17, "gammagt": 7.76},
        delayed=("mcv", "alkphos", "sgpt", "sgot", "gammagt"),
    ),
}
