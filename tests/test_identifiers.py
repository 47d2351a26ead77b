"""Labels and numbers that tell rows apart are no evidence about new rows."""

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import etana
from etana import AdaptiveClassifier, ETANAClassifier, SequentialClassifier, distributed
from etana.errors import IdentifierWarning, InputError, TableWarning
from etana.learning.identifiers import find_identifiers
from etana.likelihood import Counts
from etana.table import read_table

BINNED = [ETANAClassifier(), AdaptiveClassifier(), AdaptiveClassifier(m=5.0, look_ahead=False)]
ALL = [*BINNED, SequentialClassifier()]


def kind(estimator):
    return type(estimator).__name__


def patients(n=300, repeats=1, seed=0):
    rng = np.random.default_rng(seed)
    number = np.repeat([f"patient {i}" for i in range(n // repeats)], repeats)
    return pd.DataFrame({"number": rng.permutation(number), "noise": rng.normal(size=n)}), rng.integers(0, 2, n)


@pytest.mark.parametrize("repeats", [1, 2, 3])
@pytest.mark.parametrize("estimator", BINNED, ids=kind)
def test_unique_labels_are_never_asked_for(estimator, repeats):
    X, y = patients(repeats=repeats)
    # Where two rows or more share each label, it is not for a warning to say that they tell nothing.
    with pytest.warns(TableWarning, match="'number': text that is different") if repeats == 1 else nullcontext():
        clf = estimator.fit(X, y)
    asked = clf.acquire(X)
    assert all(0 not in asked.features(i) for i in range(len(X)))
    assert clf.expected_cost_ > 0.4


def sorted_by_class(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    return pd.DataFrame({"id": np.arange(n), "pulse": y + rng.normal(size=n), "noise": rng.normal(size=n)}), y


@pytest.mark.parametrize("estimator", ALL, ids=kind)
def test_numbers_of_rows_are_left_out_with_a_warning(estimator, tmp_path):
    X, y = sorted_by_class()
    with pytest.warns(IdentifierWarning, match=r"left out as numbers of rows: 'id'\. .*identifiers=\[\] leaves no"):
        clf = estimator.fit(X, y)
    assert all(0 not in clf.acquire(X).features(i) for i in range(len(X)))
    assert clf.acquire(X).n_features.mean() > 0.5
    etana.save(clf, tmp_path / "m.etana")
    loaded = etana.load(tmp_path / "m.etana")
    assert (loaded.predict(X) == clf.predict(X)).all()
    if isinstance(clf, ETANAClassifier):
        assert 0 not in loaded.with_costs(feature_costs={"id": 0.001, "pulse": 0.1, "noise": 0.1}).feature_order_


@pytest.mark.parametrize("estimator", ALL, ids=kind)
def test_who_says_so_keeps_them(estimator):
    X, y = sorted_by_class()
    clf = type(estimator)(**{**estimator.get_params(deep=False), "identifiers": []}).fit(X, y)
    assert clf.acquire(X).features(0).tolist() == [0]
    named = type(estimator)(**{**estimator.get_params(deep=False), "identifiers": ["id", 2]}).fit(X, y)
    assert {int(k) for i in range(200) for k in named.acquire(X).features(i)} == {1}


def test_a_price_is_no_such_word():
    X, y = sorted_by_class()
    with pytest.warns(IdentifierWarning):
        clf = ETANAClassifier({"id": 0.001, "pulse": 0.02, "noise": 0.02}).fit(X, y)
    assert 0 not in clf.feature_order_


def found(X):
    return find_identifiers(read_table(X)).tolist()


def test_what_counts_as_a_number_of_rows():
    rng = np.random.default_rng(0)
    n = 60
    rising, mixed = np.arange(n) * 3 + rng.integers(0, 3, n), rng.permutation(n)
    X = np.column_stack([rising, -rising, mixed, np.sort(rng.normal(size=n)), np.arange(n) // 2, np.ones(n)])
    assert found(X) == [0, 1]
    assert found(X[:19]) == []
    assert found(sp.csr_array(X)) == [0, 1]
    assert found(np.where(np.arange(n)[:, None] == 5, np.nan, X)) == []
    shuffled = rng.permutation(n)
    assert found(X[shuffled]) == []
    names = ["patient_id", "PatientID", "paid", "index", "Unnamed: 0", "valid"]
    frame = pd.DataFrame(dict.fromkeys(names, mixed + 1))
    assert found(frame) == [0, 1, 3, 4]
    assert found(frame // 2) == []


def test_wrong_identifiers_are_refused():
    X, y = sorted_by_class()
    for given, text in (
        (["ID"], "identifiers has 'ID'; it must be one of"),
        ([3], "index from 0 to 2"),
        ("all", "auto"),
    ):
        with pytest.raises(InputError, match=text):
            ETANAClassifier(identifiers=given).fit(X, y)


def test_common_labels_stay_and_rare_ones_are_pooled():
    """Two towns that tell, and sixty hamlets of a row each."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 260)
    town = np.where(rng.random(260) < 0.85, np.where(y == 1, "north", "south"), np.where(y == 1, "south", "north"))
    town = town.astype(object)
    town[:60] = [f"hamlet {i}" for i in range(60)]
    clf = ETANAClassifier(0.01).fit(pd.DataFrame({"town": town}), y)
    likely = clf.model_.beliefs.of_column(0)
    levels = clf.binner_.levels[0].tolist()
    np.testing.assert_allclose(likely.sum(axis=0), 1.0)
    hamlets = [k for k, level in enumerate(levels) if level.startswith("hamlet")]
    ratio = likely[hamlets, 0] / likely[hamlets, 1]
    np.testing.assert_allclose(ratio, ratio[0])
    assert abs(np.log(ratio[0])) < 0.5
    north, south = levels.index("north"), levels.index("south")
    seen = clf.counts_.cells
    totals = np.array([seen[:, i].sum() for i in range(2)])
    for level in (north, south):
        np.testing.assert_allclose(likely[level], (seen[level] + 1) / (totals + 3))  # two towns, one pool


def leave_one_out_by_hand(codes, y, own):
    """Log likelihood of the classes, row by row, of which the row itself knows nothing."""
    total = 0.0
    for r in range(len(y)):
        others = np.arange(len(y)) != r
        prior = (y[others] == y[r]).mean()
        same = others & ((codes == codes[r]) if own[codes[r]] else ~own[codes])
        total += np.log(((y[same] == y[r]).sum() + prior) / (same.sum() + 1))
    return total


def test_the_pool_is_the_one_that_left_out_rows_find_likeliest():
    rng = np.random.default_rng(3)
    for _ in range(8):
        codes = rng.integers(0, 8, 60) ** 2 // 6
        codes = np.unique(codes, return_inverse=True)[1]
        y = (rng.random(60) < 0.2 + 0.6 * (codes % 2)).astype(int)
        cells = np.zeros((codes.max() + 1, 2))
        np.add.at(cells, (codes, y), 1.0)
        counts = Counts(cells, np.array([0, len(cells)]), cells.sum(axis=0), labels=(0,))
        sizes = cells.sum(axis=1)
        tried = {
            t: leave_one_out_by_hand(codes, y, sizes > t) for t in (1, *np.unique(sizes[(sizes > 1) & (sizes <= 20)]))
        }
        best = max(tried.values())
        want = max(t for t, value in tried.items() if value >= best - 1e-9)
        rare = sizes <= want
        # A label of several rows needs another to be pooled with.
        assert counts.rare_labels(0).tolist() == (rare & ((rare.sum() > 1) | (sizes <= 1))).tolist()


def test_a_rare_label_without_another_to_share_a_pool_stays_itself():
    """A yes that fifteen of a hundred rows have: those who share it say what comes next, as those who share a no."""
    rng = np.random.default_rng(1)
    rare = np.repeat([1, 0], [15, 85])
    y = (rng.random(100) < 0.3 + 0.5 * rare).astype(int)
    other = np.where(rare == 1, y, rng.integers(0, 2, 100))
    frame = pd.DataFrame({"rare": rare, "other": other}).replace({0: "no", 1: "yes"})
    clf = AdaptiveClassifier(0.01, m=5.0, temperature=1.0, identifiers=[]).fit(frame, y)
    found = clf.model_.beliefs.begin(1).after(0, np.array([1.0])).likelihoods(1)[0]
    size = np.bincount(y)
    naive = np.array([np.bincount(y[other == v], minlength=2) + 1 for v in (0, 1)]) / (size + 2)
    sharing = np.bincount(y[rare == 1])
    np.testing.assert_allclose(found, (np.diag(sharing) + 5 * naive) / (sharing + 5))


def test_parts_leave_out_what_is_named():
    X, y = sorted_by_class()
    parts = [(X[i::2], y[i::2]) for i in range(2)]
    clf = distributed.fit(ETANAClassifier(identifiers=["id"]), parts)
    assert clf.feature_order_.tolist() == [1]
    text, labels = patients()
    with pytest.warns(TableWarning, match="'number': text that is different in most rows"):
        clf = distributed.fit(ETANAClassifier(), [(text[i::2], labels[i::2]) for i in range(2)])
    assert 0 not in clf.feature_order_


def test_blocks_of_a_stream():
    X, y = sorted_by_class()
    with pytest.warns(IdentifierWarning):
        clf = ETANAClassifier().partial_fit(X[::2], y[::2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.partial_fit(X[1::2], y[1::2])
    assert clf.feature_order_.tolist() == [1]


def test_infinities_are_no_numbers_of_rows():
    X = np.column_stack([np.full(40, np.inf), np.r_[-np.inf, np.arange(38), np.inf]])
    assert found(X) == []
