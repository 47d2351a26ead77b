"""What goes beyond the paper: cells, choices on training rows, rivals, tables, page and command."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from typer.testing import CliRunner

import etana
from etana.cli import app
from etana.costs import FeatureCosts
from etana.errors import InputError
from etana.evaluation.baselines import Nothing
from etana.evaluation.measuring import Folds, evaluate
from etana.plots import CostCurveDisplay
from reference import reference_folder
from reproduction.cells import Cell
from reproduction.experiments import n_parts, prepare
from reproduction.measurements import by_split, costbench, medical_prices, peers
from reproduction.measurements import plan as beyond
from reproduction.measurements.curves import area, at_features, curve, from_walks, in_folds, prices_of, up_to
from reproduction.measurements.rivals import CostEffectiveBoosting, OptimalTree
from reproduction.measurements.tables import beyond_tables, peer_points
from reproduction.measurements.targets import TARGETS, Target, chosen
from reproduction.store import Result


@pytest.fixture
def data_dir():
    found = reference_folder()
    if found is None:
        pytest.skip("reference data is not at hand")
    return str(found)


def point(part, price, accuracy, n_features, expected, asked, error=0.02, right="", few_rows=False):
    return {
        "part": part,
        "price": price,
        "accuracy": accuracy,
        "n_features": n_features,
        "estimated_accuracy": expected,
        "estimated_n_features": asked,
        "estimated_error": error,
        "folds_right": right,
        "few_rows": few_rows,
    }


def test_cells_are_distinct_and_known():
    cells = beyond.full()
    assert len(set(cells)) == len(cells)
    assert {cell.experiment for cell in cells} == {"target", "costbench", "dollars", "peers"}
    assert {c.dataset for c in cells if c.experiment == "target"} == set(TARGETS)
    assert sum(c.experiment == "costbench" for c in cells) == 27 * len(costbench.METHODS)
    assert all(n_parts(cell) >= 1 and beyond.seconds_expected(cell) > 0 for cell in cells)
    assert any(map(beyond.is_slow, cells))
    assert not any(map(beyond.is_slow, beyond.quick()))


# Curves and choices.


def test_accuracy_is_read_off_a_curve():
    points = [(4.0, 0.9), (2.0, 0.8)]
    assert at_features(points, [0, 1, 2, 3, 4, 50], 0.6).tolist() == [0.6, 0.7, 0.8, 0.85, 0.9, 0.9]
    assert area(points, 0.6, most=4) == pytest.approx((0.7 + 0.8 + 0.85 + 0.9) / 4)
    assert prices_of("0.1+0.01", ()) == [0.1, 0.01]
    assert prices_of(None, (0.5,)) == [0.5]


def test_a_sequential_classifier_is_fitted_once_for_all_prices():
    X, y = load_wine(return_X_y=True)
    made = []

    def make(price):
        made.append(price)
        return etana.SequentialClassifier(feature_costs=price)

    models = list(curve(make, [0.1, 0.01, 0.05], X[::2], y[::2]))
    assert made == [0.01]
    assert [m.price for m in models] == [0.01, 0.05, 0.1]
    assert models[2].model.feature_costs == 0.1
    judged = models[0].model.model_.judgement
    found = from_walks(models[0])
    assert 1 - found.accuracy + 0.01 * found.n_features == pytest.approx(judged.cost)
    assert found.n_features == judged.n_features


def test_an_adaptive_classifier_is_fitted_once_where_nothing_is_chosen():
    X, y = load_iris(return_X_y=True)
    made = []

    def make(price, **given):
        made.append(price)
        return etana.AdaptiveClassifier(feature_costs=price, **given)

    naive = list(curve(lambda price: make(price, m=np.inf, look_ahead=False), [0.1, 0.01], X, y))
    assert made == [0.01]
    assert naive[1].model.feature_costs == 0.1
    judged = naive[0].model.model_.judgement
    assert from_walks(naive[0]).n_features == judged.n_features
    # Where a strength is chosen it is chosen at every price, and folds, which are given it, do as the whole did.
    made.clear()
    chosen_anew = list(curve(make, [0.1, 0.01], X, y))
    assert made == [0.01, 0.1]
    assert from_walks(chosen_anew[0]) is None
    made.clear()
    in_folds(chosen_anew, make, X, y, 0)
    assert made == 3 * [0.01, 0.1]


def test_prices_come_close_to_a_limit_on_features():
    X, y = load_wine(return_X_y=True)

    def make(price):
        return etana.SequentialClassifier(feature_costs=price)

    models = list(curve(make, [0.3, 0.001], X[::2], y[::2]))
    most, fewest = (from_walks(fitted).n_features for fitted in models)
    limit = (most + fewest) / 2
    closer = up_to(limit, models)
    prices = [fitted.price for fitted in closer]
    assert prices == sorted({0.3, 0.001, *prices})
    assert len(prices) == 6
    assert prices[1:-1] != pytest.approx(np.geomspace(0.001, 0.3, 6)[1:-1])  # they gather at the limit
    asked = [from_walks(fitted).n_features for fitted in closer]
    assert asked == sorted(asked, reverse=True)
    edge = next(place for place, n_features in enumerate(asked) if n_features <= limit)
    assert prices[edge] / prices[edge - 1] == pytest.approx(300 ** (1 / 16))
    # No limit between two prices, and a method that is fitted anew for each price: nothing to look for.
    assert up_to(most, models) == up_to(fewest / 2, models) == models
    plain = list(curve(lambda price: etana.ETANAClassifier(feature_costs=price), [0.1, 0.01], X[::2], y[::2]))
    assert up_to(0.5, plain) == plain


def test_estimates_come_from_training_rows():
    X, y = load_breast_cancer(return_X_y=True)

    def make(price):
        return etana.ETANAClassifier(feature_costs=price)

    models = list(curve(make, [0.02, 0.1], X, y))
    inner = [evaluate(make(price), X, y, protocol=Folds(3, seed=4)) for price in (0.02, 0.1)]
    found = in_folds(models, make, X, y, 4)
    assert [(f.accuracy, f.n_features) for f in found] == [(e.accuracy, e.n_features) for e in inner]
    assert from_walks(models[0]) is None


def test_folds_use_the_strength_that_was_chosen():
    X, y = load_iris(return_X_y=True)

    def make(price):
        return etana.AdaptiveClassifier(feature_costs=price)

    (fitted,) = curve(make, [0.05], X, y)
    method = make(0.05).set_params(m=fitted.model.m_, look_ahead=fitted.model.look_ahead_)
    inner = evaluate(method, X, y, protocol=Folds(3, seed=0))
    (found,) = in_folds([fitted], make, X, y, 0)
    assert (found.accuracy, found.n_features) == (inner.accuracy, inner.n_features)


def test_the_choice_looks_at_training_rows_only():
    records = [
        point(0, 0.1, 0.5, 1.0, 0.80, 1.0),
        point(0, 0.01, 0.9, 3.0, 0.85, 2.9),
        point(0, 0.001, 1.0, 4.0, 0.99, 5.0),  # best, but too many features are expected
        point(1, 0.1, 0.7, 1.0, 0.95, 1.0),
        point(1, 0.01, 1.0, 2.0, 0.94, 2.0),  # rows do not tell it from the best: features within the limit are free
        point(1, 0.001, 0.9, 2.5, 0.92, 2.5),  # worse by more than a standard error
    ]
    choice = chosen([Result(Cell("target", "iris", "etana"), "done", 1.0, records=records)], 3.0)
    assert [r["price"] for r in choice.records] == [0.01, 0.01]
    assert (choice.accuracy, choice.n_features) == (pytest.approx(0.95), 2.5)
    assert choice.meets(Target(0.95, 2.5))
    assert not choice.meets(Target(0.96, 2.5))
    assert not choice.meets(Target(0.95, 2.4))
    swapped = [{**r, "accuracy": 1 - r["accuracy"]} for r in records]
    other = chosen([Result(Cell("target", "iris", "etana"), "done", 1.0, records=swapped)], 3.0)
    assert [r["price"] for r in other.records] == [0.01, 0.01]


def test_where_nothing_is_within_the_limit_the_frugal_point_is_taken():
    records = [point(0, 0.1, 0.5, 2.0, 0.6, 2.0), point(0, 0.01, 0.9, 3.0, 0.9, 3.0)]
    result = Result(Cell("target", "iris", "etana"), "done", 1.0, records=records)
    assert chosen([result], 1.0).n_features == 2.0


def picked(few_rows=False, **right):
    """Which method is chosen, when these rows of the folds are decided right."""
    results = [
        Result(Cell("target", "iris", name.replace("_", "-")), "done", 1.0, records=[
            # Where it would ask too much, and is right everywhere: no part in the choice.
            point(0, 0.01, 0.0, 3.0, 1.0, 3.0, right="1" * len(rows), few_rows=few_rows),
            point(0, 0.1, place / 10, 1.0, 0.7, 1.0, right=rows, few_rows=few_rows),
        ])
        for place, (name, rows) in enumerate(right.items())
    ]  # fmt: skip
    return list(right)[round(10 * chosen(results, 2.0).accuracy)]


def test_a_method_replaces_the_default_where_folds_clearly_prefer_it():
    none, one, two, all_ = "0000", "0001", "0011", "1111"
    # One row of four: 0.25, with a standard error of 0.217. Three won and two lost: 0.2, with one of 0.438.
    assert picked(sequential=one, committee=none) == "sequential"
    assert picked(sequential="11100", committee="00011") == "committee"
    assert picked(sequential=one, etana=two, committee=none) == "etana"
    assert picked(sequential=two, committee=two) == "committee"
    # By instance, few rows and many columns decide between naive Bayes, which is the default then, and path counts.
    assert picked(adaptive=all_, naive_instance=none, committee=none) == "adaptive"
    assert picked(adaptive=none, naive_instance=all_, committee=none) == "committee"
    assert picked(True, adaptive=all_, naive_instance=none, committee=none) == "naive_instance"
    assert picked(True, naive_instance=none, committee=one) == "committee"


def test_an_unfinished_curve_leaves_the_choice_open():
    result = Result(Cell("target", "iris", "etana"), "done", 1.0, records=[point(0, 0.1, 0.5, 2.0, 0.9, 2.0)])
    assert chosen([result], 2.0).accuracy == 0.5
    assert chosen([result, Result(Cell("target", "iris", "committee"), "failed", 1.0)], 2.0) is None


def test_target_cells_measure_every_price():
    cell = Cell("target", "iris", "decision-tree", {"prices": "0.2+0.01"})
    records = prepare(cell, None)()
    assert [(r["part"], r["price"]) for r in records] == [(p, c) for p in range(5) for c in (0.01, 0.2)]
    again = prepare(cell, None)()
    assert [r["accuracy"] for r in again] == [r["accuracy"] for r in records]


def test_a_frugal_classifier_is_told_the_limit(monkeypatch):
    monkeypatch.setitem(TARGETS, "iris", Target(0.9, 1.2))
    records = prepare(Cell("target", "iris", "frugal"), None)()
    assert [r["part"] for r in records] == list(range(5))
    assert all(r["estimated_n_features"] <= 1.2 + 1e-6 and r["n_features"] < 1.8 for r in records)
    assert all(r["estimated_accuracy"] > 0.8 and r["accuracy"] > 0.8 for r in records)
    choice = chosen([Result(Cell("target", "iris", "frugal"), "done", 1.0, records=records)], 1.2)
    assert choice.accuracy == pytest.approx(np.mean([r["accuracy"] for r in records]))


def test_mll_is_split_anew(data_dir):
    cells = [Cell("target", "mll", "decision-tree", {"resplit": 1, "prices": "0.01"}, seed) for seed in (1, 2)]
    first, second = (prepare(cell, data_dir)() for cell in cells)
    assert n_parts(cells[0]) == len(first) == 1
    assert 15 * first[0]["accuracy"] == pytest.approx(round(15 * first[0]["accuracy"]))
    told = ("accuracy", "n_features", "estimated_accuracy", "folds_accuracy")
    assert [first[0][name] for name in told] != [second[0][name] for name in told]


# Rivals.


def test_nothing_decides_for_the_cheapest_class():
    y = np.array([0, 0, 0, 1])
    assert Nothing().fit(np.zeros((4, 2)), y).acquire(np.zeros((3, 2))).labels.tolist() == [0, 0, 0]
    walk = Nothing([[0, 1], [9, 0]]).fit(np.zeros((4, 2)), y).acquire(np.zeros((3, 2)))
    assert walk.labels.tolist() == [1, 1, 1]
    assert walk.costs.sum() == walk.n_features.sum() == 0


def test_an_optimal_tree_pays_once_and_with_discount():
    pytest.importorskip("pystreed")
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 400), rng.integers(0, 2, 400), rng.integers(0, 2, 400)])
    y = ((X[:, 0] == 2) & (X[:, 1] == 1)).astype(int)
    prices = FeatureCosts([3.0, 2.0, 5.0], groups=["a", "a", None], discounted=[1.0, 1.0, 5.0])
    model = OptimalTree(prices, [[0, 100], [100, 0]], max_depth=2).fit(X, y)
    walk = model.acquire(X)
    assert (walk.labels == y).all()
    assert set(walk.costs.tolist()) in ({3.0, 4.0}, {2.0, 3.0})  # either column first, the second at its discount
    dear = OptimalTree(FeatureCosts([300.0, 300.0, 300.0]), [[0, 100], [100, 0]]).fit(X, y).acquire(X)
    assert dear.costs.max() == 0
    assert (dear.labels == 0).all()


@pytest.mark.parametrize("each_row", [False, True])
def test_boosting_counts_what_a_row_uses(each_row):
    pytest.importorskip("lightgbm")
    X, y = load_breast_cancer(return_X_y=True)
    walks = [CostEffectiveBoosting(c, each_row, 20).fit(X, y).acquire(X) for c in (0.001, 0.1, 100.0)]
    counts = [walk.n_features.mean() for walk in walks]
    assert counts[0] > counts[1] > counts[2] == 0
    assert (walks[1].labels == y).mean() > 0.9
    model = CostEffectiveBoosting(0.1, each_row, 20).fit(X, y)
    walk, moved = model.acquire(X[:1]), X[:1].copy()
    used = {f for paths, leaf in zip(model._paths, model.booster_.predict(X[:1], pred_leaf=True)[0])
            for f in paths[int(leaf)]}  # fmt: skip
    assert walk.n_features[0] == len(used)
    moved[0, [f for f in range(X.shape[1]) if f not in used]] += 1e6  # what is not used does not matter
    assert model.booster_.predict(moved)[0] == model.booster_.predict(X[:1])[0]


@pytest.mark.parametrize("rival", [OptimalTree(), CostEffectiveBoosting()])
def test_a_missing_package_is_named_with_its_cure(rival, monkeypatch):
    for name in ("pystreed", "lightgbm"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(InputError, match=r"is not installed; pip install 'etana\[bench\]'"):
        rival.fit([[0], [1]], [0, 1])


# Money.


def test_costbench_is_normalised_as_published(data_dir):
    for name, level, known in (("heart", "middle", 15.54), ("flare", "low", 9.70), ("glass", "high", 27.16)):
        records = prepare(Cell("costbench", name, "nothing", {"level": level}), data_dir)()
        assert f"{np.mean([r['cost'] for r in records]):.2f}" == f"{known:.2f}"
        assert len(records) == 20


def test_differences_are_split_by_split():
    cells = [("heart", "low"), ("flare", "low")]
    paid = {(split, *cell, "streed"): 10.0 for split in range(4) for cell in cells}
    own = {0: (11.0, 12.0), 1: (10.0, 9.0), 2: (10.5, 10.5)}  # of the last split nothing is known
    paid |= {(split, *cell, "frugal"): cost for split in own for cell, cost in zip(cells, own[split], strict=True)}
    more, error, n_splits = by_split.paid_more(paid, "frugal", "streed", cells)
    assert n_splits == 3
    assert more == pytest.approx(np.mean([1.5, -0.5, 0.5]))
    assert error == pytest.approx(1 / np.sqrt(3))
    assert by_split.paid_more(paid, "frugal", "adaptive", cells) is None


def test_a_split_by_itself_is_that_of_the_cell(data_dir, tmp_path, monkeypatch, capsys):
    cell = Cell("costbench", "heart", "nothing", {"level": "middle", "splits": 3})
    assert costbench.measure(cell, data_dir, 2)["cost"] == prepare(cell, data_dir)()[2]["cost"]
    path = tmp_path / "paid.csv"
    path.write_text("split,set,level,method,cost\n0,heart,low,nothing,99.0\n")  # what is there is not made again
    options = ["--data-dir", data_dir, "-o", str(path), "--splits", "2", "--methods", "nothing,nothing"]
    monkeypatch.setattr("sys.argv", ["by_split", *options])
    by_split.main()
    lines = path.read_text().splitlines()
    assert lines[1] == "0,heart,low,nothing,99.0"
    assert len(lines) == 1 + 2 * 27
    assert "all cells: nothing less nothing +0.000 ± 0.000 (2 splits)" in capsys.readouterr().out


def test_streed_gives_its_known_figures(data_dir):
    pytest.importorskip("pystreed")
    for name, level in (("heart", "middle"), ("wine", "high")):
        records = prepare(Cell("costbench", name, "streed", {"level": level}), data_dir)()
        known = costbench.STREED[name][costbench.LEVELS.index(level)]
        assert f"{np.mean([r['cost'] for r in records]):.2f}" == f"{known:.2f}"


def test_costs_are_tests_and_mistakes(data_dir):
    for method in ("adaptive", "etana-information", "sequential"):
        (record,) = prepare(Cell("costbench", "hepatitis", method, {"level": "high", "splits": 1}), data_dir)()
        assert record["cost"] == pytest.approx(record["tests"] + record["mistakes"])
        assert record["cost"] < 35.77  # buying nothing


def test_dollars_count_the_panel_and_mistakes(data_dir):
    everything = prepare(Cell("dollars", "bupa", "all-features", {"multiple": 2.0}), data_dir)()
    for record in everything:
        assert record["tests"] == pytest.approx(record["panel"])
        assert record["dollars"] == pytest.approx(record["panel"] * (1 + 2 * (1 - record["accuracy"])))
    for record in prepare(Cell("dollars", "heart", "decision-tree", {"multiple": 2.0}), data_dir)():
        assert 0 < record["tests"] < record["panel"]
    assert set(medical_prices.SETS) <= set(etana.datasets.NAMES)


# Tables, page, command.


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A quick run in a folder, by the command."""
    folder = tmp_path_factory.mktemp("beyond")
    # An adaptive classifier learns for seconds: one experiment has it.
    methods = {"peers": ("adaptive", "etana", "decision-tree"), "target": ("etana", "decision-tree")}
    some = [cell for cell in beyond.quick() if cell.method in methods.get(cell.experiment, ())]
    only = [text for cell in some for text in ("--only", cell.key)]
    command = ["reproduce", "--beyond", "--quick", "--markdown", "-o", str(folder), *only]
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, command)
    assert done.exit_code == 0, (done.output, done.exception)
    return folder, done


def test_the_command_writes_tables_and_page(run):
    folder, done = run
    text = (folder / "beyond.md").read_text()
    for title in ("The table to beat", "The whole curves", "Accuracy for each feature", "Area under accuracy"):
        assert title in done.stdout
        assert f"**{title}" in text
    page = (folder / "beyond.html").read_text()
    assert page.count("<svg") == 2
    assert "DIME" in page
    assert (folder / "beyond.csv").read_text().startswith("table,method,data,ours,paper,difference,remark\n")
    assert not (folder / "index.html").exists()


def test_areas_are_those_of_the_points(run):
    from reproduction.store import ResultStore

    results = {result.cell: result for result in ResultStore(run[0] / "cells")}
    points = peer_points(results)["wine"]
    assert points["GDFS, fixed number"] == [(2, 0.944), (3, 0.972), (5, 0.989), (7, 0.994)]
    assert len(points["AdaptiveClassifier"]) == 2
    (areas,) = [table for table in beyond_tables(results) if table.name == "areas"]
    shown = {label: entries[0].ours for label, entries in areas.rows if entries[0] is not None}
    without = results[Cell("peers", "wine", "etana", {"splits": 2, "prices": "0.1+0.01"})].mean("without")
    assert shown["AdaptiveClassifier"] == area(points["AdaptiveClassifier"], without)


def test_no_results_make_no_tables():
    assert beyond_tables(dict.fromkeys(beyond.full())) == []


def test_the_summary_counts_cells():
    def cell(name, method, cost):
        found = Cell("costbench", name, method, {"level": "low"})
        splits = [{"part": k, "cost": cost + shift, "training_seconds": 0.5} for k, shift in enumerate((-0.1, 0.1))]
        # STreeD's splits differ the other way about.
        records = splits[::-1] if method == "streed" else splits
        return found, Result(found, "done", 1.0, records=[r | {"part": k} for k, r in enumerate(records)])

    costs = {"heart": (10.0, 5.0, 5.2), "iris": (10.0, 8.0, 11.0)}
    results = dict(
        cell(name, method, cost)
        for name, row in costs.items()
        for method, cost in zip(("nothing", "streed", "adaptive"), row)
    )
    (table,) = [t for t in beyond_tables(results) if t.name == "costbench-summary"]
    less = {label: entries.pop(1) for label, entries in table.rows}
    shown = {label: [entry.ours for entry in entries] for label, entries in table.rows}
    assert shown["AdaptiveClassifier"] == [pytest.approx(8.1), 2, 1, 0.5]
    assert shown["STreeD, depth 3"] == [6.5, 0, 0, 0.5]
    # 1.4 and 1.8 in the two splits.
    assert less["AdaptiveClassifier"].words == "+1.60 ± 0.20"
    assert less["STreeD, depth 3"] is None


def test_peers_splits_are_those_of_the_published_rows():
    cell = Cell("peers", "wine", "decision-tree", {"splits": 1, "prices": "0.01"})
    (record,) = prepare(cell, None)()
    assert 36 * record["accuracy"] == pytest.approx(round(36 * record["accuracy"]))  # a fifth of 178 rows
    assert set(peers.PUBLISHED["DIME, penalty stop"]) == set(peers.SETS)


def test_several_classifiers_on_one_picture():
    X, y = load_wine(return_X_y=True)
    models = {
        "fixed": etana.ETANAClassifier().fit(X[::2], y[::2]),
        "sequential": etana.SequentialClassifier().fit(X[::2], y[::2]),
    }
    display = CostCurveDisplay.compare(models, X[1::2], y[1::2], budgets=[0, 0.02], response="cost")
    assert list(display.points) == ["fixed", "sequential"]
    for x, cost in display.points.values():
        assert x[0] == 0
        assert x[1] <= 2
        assert cost[1] < cost[0]
    with pytest.raises(InputError, match="both given"):
        CostCurveDisplay.compare(models, X, y, budgets=[1], factors=[1])
    with pytest.raises(InputError, match="no classifiers"):
        CostCurveDisplay.compare({}, X, y)
    with pytest.raises(InputError, match="has no model"):
        CostCurveDisplay.compare({"other": HistGradientBoostingClassifier()}, X, y)
