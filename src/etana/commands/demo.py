"""``etana demo``: data bundled with scikit-learn, and what etana saves on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table as Grid

if TYPE_CHECKING:
    from etana.classifiers.fixed import ETANAClassifier

__all__ = ["DemoRow", "demonstrate", "show_demo"]

_BUNDLED = ("breast_cancer", "wine", "iris", "digits")
_TEST_SHARE = 0.4


@dataclass(frozen=True)
class DemoRow:
    """One line of the demonstration's table: on test rows, and as the model expects.

    ``gap`` is the expected cost above what no policy for the model can beat.
    """

    data: str
    method: str
    accuracy: float
    n_features: float
    cost: float
    expected_cost: float
    gap: float


def demonstrate(name: str, feature_cost: float, seed: int = 0) -> tuple[list[DemoRow], ETANAClassifier]:
    """Fit on part of a bundled data set and compare with naive Bayes on all features, on the other part.

    Cost is what an instance costs: its features, and 1 if the decision is wrong.
    """
    # Here and not above, so that the demonstration says what it does before the second that they take to load.
    import sklearn.datasets
    from sklearn.model_selection import train_test_split

    from etana.classifiers.fixed import ETANAClassifier

    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=_TEST_SHARE, stratify=y, random_state=seed)
    clf = ETANAClassifier(feature_costs=feature_cost, random_state=seed).fit(X_train, y_train)
    # Naive Bayes on all features is the same model with free features: it asks for everything.
    everything = clf.with_costs(feature_costs=0.0)
    walk, full = clf.acquire(X_test), everything.acquire(X_test)
    bound = clf.policy_.lower_bound
    panel = X.shape[1] * feature_cost
    rows = []
    for method, labels, asked, spent, expected in (
        ("etana", walk.labels, walk.n_features, walk.costs, clf.expected_cost_),
        ("naive Bayes", full.labels, full.n_features, panel, everything.expected_cost_ + panel),
    ):
        wrong = labels != np.asarray(y_test)
        cost = float(np.mean(spent + wrong))
        accuracy = float(1 - wrong.mean())
        rows.append(DemoRow(name, method, accuracy, float(asked.mean()), cost, expected, expected - bound))
    return rows, clf


def show_demo(cost: float, seed: int) -> None:
    """Fit on bundled data sets and print what is saved."""
    console = Console()
    console.print(
        f"A feature costs {cost:g}, a mistake costs 1. etana asks for one feature at a time and stops when the "
        "next would cost more than it saves.\n[dim](The first run compiles its loops, which takes about half a "
        "minute; they are kept on disk.)[/dim]"
    )
    table = Grid(
        title="etana, and the same naive Bayes on all features, on test rows",
        caption="cost: features and mistakes of a test row; by model: the same as the model expects it; "
        "gap: the latter less what no policy can beat",
    )
    table.add_column("data", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for heading in ("accuracy", "asked", "cost", "by model", "gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    beginnings = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("starting")
        for name in _BUNDLED:
            progress.update(task, description=f"fitting and classifying {name}")
            rows, clf = demonstrate(name, cost, seed)
            for row in rows:
                etana = row.method == "etana"
                table.add_row(
                    row.data if etana else "", row.method, f"{row.accuracy:.3f}", f"{row.n_features:.2f}",
                    f"{row.cost:.4f}", f"{row.expected_cost:.4f}", f"{row.gap:.4f}", end_section=not etana,
                )  # fmt: skip
            beginnings.append(clf.start().explain())
    console.print(table)
    console.print(f"[bold]How a case begins[/bold] ({_BUNDLED[0]}):")
    console.print(beginnings[0], markup=False, highlight=False)
