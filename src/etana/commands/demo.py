"""``etana demo``: data bundled with scikit-learn, and what etana saves on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table as Grid

if TYPE_CHECKING:
    from etana.classifiers.frugal import FrugalClassifier

__all__ = ["DemoRow", "demonstrate", "show_demo"]

_TEST_SHARE = 0.4


@dataclass(frozen=True)
class DemoRow:
    """One line of the demonstration's table: on test rows, and as was announced from the training rows."""

    data: str
    method: str
    accuracy: float
    n_features: float
    cost: float
    announced: float


def demonstrate(name: str, feature_cost: float, seed: int = 0) -> tuple[list[DemoRow], FrugalClassifier]:
    """Fit on part of a bundled data set and compare on the other part with the paper's method, and with all features.

    Cost is what an instance costs: its features, and 1 if the decision is wrong.
    """
    # Here and not above, so that the demonstration says what it does before the second that they take to load.
    from sklearn.model_selection import train_test_split

    from etana.classifiers.fixed import ETANAClassifier
    from etana.classifiers.frugal import FrugalClassifier
    from etana.datasets.bundled import bundled
    from etana.table import Table

    data = bundled(name)
    # A table and not a data frame: names without pandas, which need not be installed.
    X, y = Table(dense=data.X, names=data.names), data.y
    train, test = train_test_split(np.arange(X.n_rows), test_size=_TEST_SHARE, stratify=y, random_state=seed)
    X_train, X_test, y_train, y_test = X.rows(train), X.rows(test), y[train], y[test]
    clf = FrugalClassifier(feature_costs=feature_cost, random_state=seed).fit(X_train, y_train)
    paper = ETANAClassifier(feature_costs=feature_cost, random_state=seed).fit(X_train, y_train)
    # Naive Bayes on all features is the paper's model with free features: it asks for everything.
    everything = paper.with_costs(feature_costs=0.0)
    panel = X.n_features * feature_cost
    rows = []
    for method, asking, extra in (
        ("etana", clf, 0.0),
        ("the paper's", paper, 0.0),
        ("all features", everything, panel),
    ):
        walk = asking.acquire(X_test)
        wrong = walk.labels != y_test
        cost = float(np.mean(walk.costs + wrong)) + extra
        announced = asking.expected_cost_ + extra
        # Features that tell nothing are bought with all the others, though nobody asks for them.
        asked = float(X.n_features) if asking is everything else float(walk.n_features.mean())
        rows.append(DemoRow(name, method, float(1 - wrong.mean()), asked, cost, announced))
    return rows, clf


def show_demo(cost: float, seed: int) -> None:
    """Fit on bundled data sets and print what is saved."""
    from etana.datasets.bundled import BUNDLED

    console = Console()
    console.print(
        f"A feature costs {cost:g}, a mistake costs 1. etana asks for one feature at a time and stops when the "
        "next would cost more than it saves."
    )
    table = Grid(
        title="etana, the paper's method, and naive Bayes on all features, on test rows",
        caption="cost: features and mistakes of a test row; announced: the same, from training rows that were held out",
    )
    table.add_column("data", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for heading in ("accuracy", "asked", "cost", "announced"):
        table.add_column(heading, justify="right", no_wrap=True)
    beginnings = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("starting")
        for name in BUNDLED:
            progress.update(task, description=f"fitting and classifying {name}")
            rows, clf = demonstrate(name, cost, seed)
            for row in rows:
                table.add_row(
                    row.data if row is rows[0] else "", row.method, f"{row.accuracy:.3f}", f"{row.n_features:.2f}",
                    f"{row.cost:.4f}", f"{row.announced:.4f}", end_section=row is rows[-1],
                )  # fmt: skip
            beginnings.append(clf.start().explain())
    console.print(table)
    console.print(f"[bold]How a case begins[/bold] ({BUNDLED[0]}):")
    console.print(beginnings[0], markup=False, highlight=False)
