"""From a model to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from etana.errors import InputError
from etana.exporting.plan import MOST_NODES, Plan, plan_of
from etana.exporting.targets import TARGETS, Wishes, target_of
from etana.files import check_target, replacing
from etana.model import Model
from etana.parameters import check_parameters

__all__ = ["export", "export_model"]


def export(
    clf: Any, path: Any, *, max_nodes: int = MOST_NODES, rows: Any = None, real: str = "double", table: str = "data",
    max_cost: float | None = None, title: str | None = None,
) -> list[Path]:  # fmt: skip
    """Write a fitted classifier's policy as a program, a statement or a page, whichever the path ends in.

    Parameters
    ----------
    clf : classifier or Model
        Fitted. A policy over bins can be written; one over any scikit-learn estimator cannot.
    path : path
        Ends in ``.c`` (a header is written beside it), ``.js`` (types in a ``.d.ts``), ``.sql``, ``.py``, ``.json`` or
        ``.html``.
    max_nodes : int
        States of a policy that chooses for each instance; an instance that leaves them is decided with what is known.
    rows : table, optional
        Rows whose states are to be among these; an error if there is no room for them.
    real : {"double", "float"}
        The type of numbers in C. Only with double every decision is that of the model.
    table : str
        What the SQL statement selects from.
    max_cost : float, optional
        Budget of the SQL statement; the other targets take one when they are called.
    title : str, optional
        Heading of the page; the name of the file if none is given.

    Returns
    -------
    list of Path
        The files that were written.
    """
    model = clf if isinstance(clf, Model) else _model_of(clf)
    wishes = Wishes(Path(path).stem, max_nodes, rows, real, table, max_cost, title)
    return export_model(model, path, wishes)[0]


def export_model(model: Model, path: Any, wishes: Wishes) -> tuple[list[Path], Plan]:
    """The same for a model, and the tables that it was written from."""
    write, target = TARGETS[target_of(path)], Path(path)
    check_parameters(wishes)
    check_target(target)
    plan = plan_of(model, wishes.max_nodes, wishes.rows)
    texts = write(plan, wishes)
    written = [target.with_suffix(suffix) for suffix in texts]
    for file, text in zip(written, texts.values(), strict=True):
        with replacing(file) as out:
            out.write(text.encode("utf-8"))
    return written, plan


def _model_of(clf: Any) -> Model:
    model = getattr(clf, "model_", None)
    if not isinstance(model, Model):
        raise InputError(
            f"{clf!r} is no fitted classifier of etana; fit it first, or pass clf.model_ or what etana.load gives"
        )
    return model
