"""The selectors against the original authors' programs, and against the tables of the paper."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from etana.evaluation import HoldOut, LowestRowKNeighbors, evaluate
from etana.selection import OFSA3M, OSFS, SAOLA, AlphaInvesting, FastOSFS, OFSDensity

METHODS = {
    "alpha_investing": AlphaInvesting(),
    "osfs": OSFS(),
    "fast_osfs": FastOSFS(),
    "saola": SAOLA(),
    "ofs_density": OFSDensity(),
    "ofs_a3m": OFSA3M(),
    "osfs_d": OSFS(test="g2", levels="max"),
    "fast_osfs_d": FastOSFS(test="g2", levels="max"),
    "saola_mi": SAOLA(test="su"),
}
NUMERIC = ["alpha_investing", "osfs", "fast_osfs", "saola", "ofs_density", "ofs_a3m"]
DISCRETE = ["osfs_d", "fast_osfs_d", "saola_mi"]
HEAVY = {"madelon__ofs_density", "madelon__ofs_a3m"}  # 2000 rows: some ten seconds each


def case(name):
    return pytest.param(name, marks=pytest.mark.slow if name in HEAVY else ())


def three_levels(X):
    """Cut each column at half a standard deviation below and above its mean."""
    half = X.std(axis=0, ddof=1) / 2
    low, high = X.mean(axis=0) - half, X.mean(axis=0) + half
    return 2.0 - np.less(X, low) + np.greater(X, high)


# --- the reference programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [case(f"{data}__{m}") for data in ("madelon", "mll", "lung2_1543") for m in NUMERIC])
def test_same_selection_as_the_reference_program(name, load, reference):
    data, method = name.split("__")
    X, y, _, _ = load(data)
    assert METHODS[method].fit(X, y).selected_.tolist() == reference(name)["selected"]


@pytest.mark.parametrize("data", ["mll", "lung2_1543"])
@pytest.mark.parametrize("method", DISCRETE)
def test_same_selection_as_the_reference_program_on_discrete_data(data, method, load, reference):
    X, y, _, _ = load(data)
    selected = METHODS[method].fit(three_levels(X), y + 1).selected_.tolist()
    assert selected == reference(f"{data}_disc3__{method}")["selected"]


@pytest.mark.parametrize(
    ("data", "coding"),
    [("madelon", lambda y: 2 * y - 1), ("mll", lambda y: y + 1), ("lung2_1543", lambda y: y + 1)],
)
def test_alpha_investing_depends_on_the_label_coding_as_the_reference_does(data, coding, load, reference):
    X, y, _, _ = load(data)
    (variant,) = reference(f"{data}__alpha_investing")["variants"]
    assert AlphaInvesting().fit(X, coding(y)).selected_.tolist() == variant["selected"]


@pytest.mark.parametrize("method", [OFSDensity, OFSA3M])
@pytest.mark.parametrize("seed", range(10))
def test_random_orders_follow_the_seed(method, seed, load, reference):
    X, y, _, _ = load("mll")
    name = "ofs_density" if method is OFSDensity else "ofs_a3m"
    expected = reference(f"mll__{name}")["other_orders"][seed]
    assert f"default_rng({seed})" in expected["redundancy_order"]
    assert [method(random_state=seed).fit(X, y).selected_.tolist()] == expected["selected"]


@pytest.mark.parametrize("name", NUMERIC)
def test_cross_validated_selections_and_accuracies(name, load, reference):
    X, y, _, _ = load("lung2_1543")
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    for expected in reference(f"lung2_1543__{name}")["cross_validation"]:
        labels = y + 1 if expected.get("y") == "y + 1" else y
        method = METHODS[name]
        if "redundancy_order" in expected:
            seed = int(expected["redundancy_order"].split("default_rng(")[1].split(")")[0])
            method = OFSDensity(random_state=seed)
        selected, accuracy = [], []
        for train, test in folds:
            columns = method.fit(X[train], labels[train]).selected_
            model = LowestRowKNeighbors(3).fit(X[np.ix_(train, columns)], labels[train])
            selected.append(columns.tolist())
            accuracy.append(round(model.score(X[np.ix_(test, columns)], labels[test]), 4))
        assert selected == expected["selected"]
        assert accuracy == expected.get("accuracy", accuracy)
        assert np.mean(accuracy) == pytest.approx(expected["mean_knn3_accuracy"], abs=1e-4)


# --- known answers on data that is always there ------------------------------------------------------------

BREAST_CANCER = {
    "alpha_investing": [*range(10), 11, 15, 16, 19, 20, 21, 23, 24, 25, 26],
    "osfs": [21, 22, 27],
    "fast_osfs": [20, 21, 23, 27],
    "saola": [21, 27],
    "ofs_density": [2, 20, 22, 27],
    "ofs_a3m": [0, 2, 4, 5, 6, 11, 15, 17, 20, 21, 22, 23, 24, 25, 26, 28, 29],
}


@pytest.mark.parametrize("method", NUMERIC)
def test_breast_cancer_as_printed_in_the_manual_of_the_reference(method):
    X, y = load_breast_cancer(return_X_y=True)
    assert METHODS[method].fit(X, y).selected_.tolist() == BREAST_CANCER[method]


# --- Tables 2 and 3 of the paper -------------------------------------------------------------------------

# (data set, method): number of features, accuracy
PAPER = {
    ("madelon", "alpha_investing"): (4, 0.6050),
    ("madelon", "saola"): (3, 0.5817),
    ("madelon", "fast_osfs"): (3, 0.5417),
    ("madelon", "osfs"): (3, 0.5817),
    ("mll", "alpha_investing"): (7, 0.9333),
    ("mll", "saola"): (28, 0.8667),
    ("mll", "fast_osfs"): (5, 0.8000),
    ("mll", "osfs"): (3, 0.8000),
    ("dexter", "alpha_investing"): (1, 0.5000),
    ("dexter", "saola"): (21, 0.7800),
    ("dexter", "fast_osfs"): (9, 0.7800),
    ("dexter", "osfs"): (6, 0.7967),
}


@pytest.mark.parametrize(("data", "method"), PAPER)
def test_cell_of_the_papers_tables(data, method, load):
    X, y, X_test, y_test = load(data)
    if data == "mll":  # the labels of the original files: 1..3, and -1 and 1
        y, y_test = y + 1, y_test + 1
    else:
        y, y_test = 2 * y - 1, 2 * y_test - 1
    selector = AlphaInvesting(zero_start="stop") if method == "alpha_investing" else METHODS[method]
    result = evaluate(selector, X, y, protocol=HoldOut(X_test, y_test))
    assert (result.n_features, round(result.accuracy, 4)) == PAPER[data, method]


def test_default_alpha_investing_survives_a_first_column_of_zeros(load):
    X, y, X_test, y_test = load("dexter")
    result = evaluate(AlphaInvesting(), X, 2 * y - 1, protocol=HoldOut(X_test, 2 * y_test - 1))
    assert result.n_features > 1
    assert result.accuracy > 0.65
