"""Classifiers that need rows, fitted on parts: the sample, the choice made on it, and the counts of all rows."""

from __future__ import annotations

import warnings

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import etana
import etana.distributed as distributed
from etana import AdaptiveClassifier, CommitteeClassifier, ETANAClassifier, FrugalClassifier, SequentialClassifier
from etana.distributed.sampling import Drawn, Quotas, join_tables
from etana.errors import InputError, SampleWarning
from etana.table import read_table


def cut(X, y, n, *more):
    return [(X[r], y[r], *(m[r] for m in more)) for r in np.array_split(np.arange(len(y)), n)]


def made(n, seed=0, k=6):
    """Two classes, columns that tell more and more."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, k)) + y[:, None] * np.linspace(0, 1.5, k), y


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :8], y


class Reads:
    """Blocks that count how often they are read."""

    def __init__(self, blocks):
        self.times = [0] * len(blocks)
        self.readers = [self._reader(i, block) for i, block in enumerate(blocks)]

    def _reader(self, i, block):
        def read():
            self.times[i] += 1
            return block

        return read


ALL = {
    "fast": FrugalClassifier(effort="fast", random_state=3),
    "exportable": FrugalClassifier(exportable=True),
    "dear": FrugalClassifier(effort="fast", feature_costs=2.0),
    "uniform": FrugalClassifier(effort="fast", binning="uniform"),
    "adaptive": AdaptiveClassifier(m=10.0, look_ahead=False),
    "naive": AdaptiveClassifier(m=np.inf, look_ahead=False, binning="uniform", missing="bin"),
    "ahead": AdaptiveClassifier(look_ahead=2, m=20.0),
    "sequential": SequentialClassifier(max_features=3),
    "committee": CommitteeClassifier(max_features=3, splits=False),
}


def same_but_for_the_time(comparison):
    return [row._replace(seconds=0.0) for row in comparison]


@pytest.mark.parametrize("name", ALL)
def test_a_sample_of_all_rows_gives_the_fit_in_memory(name, tumours, same_model):
    """And each block is read twice, whatever is chosen."""
    X, y = tumours
    reads = Reads(cut(X, y, 5))
    parts, whole = distributed.fit(ALL[name], reads.readers), clone(ALL[name]).fit(X, y)
    assert reads.times == [2] * 5
    if hasattr(whole, "comparison_"):
        assert same_but_for_the_time(parts.comparison_) == same_but_for_the_time(whole.comparison_)
        assert type(parts.best_) is type(whole.best_)
        parts.comparison_ = whole.comparison_
    assert (parts.expected_cost_, parts.expected_cost_error_) == (whole.expected_cost_, whole.expected_cost_error_)
    same_model(parts, whole)
    assert parts.fitted_rows_.words == "fitted on all 569 rows"
    dearer = {"feature_costs": 0.03}
    assert parts.with_costs(**dearer).expected_cost_ == whole.with_costs(**dearer).expected_cost_


def test_text_weights_and_missing_values_as_in_memory(same_model):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4].copy()
    X["text"] = np.where(X["alcohol"] > 13, "strong", "weak")
    X["flag"] = X["ash"] > 2.4
    X.loc[::5, ["text", "alcohol"]] = None
    X.loc[:60, "text"] = None  # nothing but missing values in the first parts
    labels, weights = y.map({0: "zero", 1: "o", 2: "two and more"}), np.arange(len(y)) % 3 * 1.0
    clf = AdaptiveClassifier(m=10.0, look_ahead=False)
    frame = dd.from_pandas(X.assign(target=labels, w=weights), npartitions=4)
    parts = distributed.fit(clf, frame.drop(columns="w"), "target", sample_weight=frame["w"])
    same_model(parts, clone(clf).fit(X, labels, sample_weight=weights))


def test_sparse_parts_as_in_memory(tumours, same_model):
    X, y = np.where(tumours[0] > np.median(tumours[0], axis=0), tumours[0], 0.0), tumours[1]
    clf = FrugalClassifier(effort="fast")
    blocks = [dask.delayed((sp.csr_matrix(a), b)) for a, b in cut(X, y, 4)]
    parts, whole = distributed.fit(clf, blocks), clone(clf).fit(sp.csr_matrix(X), y)
    parts.comparison_ = whole.comparison_
    same_model(parts, whole)


@pytest.mark.parametrize("clf", [FrugalClassifier(effort="fast"), AdaptiveClassifier(m=20.0, look_ahead=False)])
def test_counts_are_those_of_all_rows(clf):
    """Bit for bit what a fit of all rows with the same bins counts, though the sample is a tenth of them."""
    X, y = made(6000)
    parts = distributed.fit(clf, cut(X, y, 7), sample_size=600)
    best = getattr(parts, "best_", parts)
    given = ETANAClassifier(binning=best.binner_, temperature=1.0).fit(X, y)
    assert best.counts_.cells.tobytes() == given.counts_.cells.tobytes()
    assert best.counts_.classes.tobytes() == given.counts_.classes.tobytes()
    # The bins are those of all rows, too: 6,000 fit into the sketch.
    assert best.binner_.edges.tobytes() == ETANAClassifier(temperature=1.0).fit(X, y).binner_.edges.tobytes()
    assert parts.fitted_rows_ == distributed.FittedRows(6000, 600, True)
    assert "600 of 6,000 rows" in parts.fitted_rows_.words
    assert "counts are those of all rows" in parts.fitted_rows_.words
    assert parts.model_.beliefs is best.model_.beliefs


def test_what_is_chosen_by_the_sample_stays_when_all_rows_are_counted():
    X, y = made(6000)
    clf = FrugalClassifier(effort="fast")
    parts = distributed.fit(clf, cut(X, y, 7), sample_size=600)
    source = distributed.fit(clf, cut(X, y, 7), sample_size=599)
    assert [row.name for row in parts.comparison_ if row.chosen] == [
        row.name for row in source.comparison_ if row.chosen
    ]
    assert parts.expected_cost_ != source.expected_cost_  # of other rows that were held out
    walk = parts.acquire(made(20_000, seed=1)[0])
    paid = walk.costs + (walk.labels != made(20_000, seed=1)[1])
    assert abs(paid.mean() - parts.expected_cost_) < 4 * parts.expected_cost_error_
    again = parts.with_costs(feature_costs=0.05)
    assert again.acquire(X[:500]).n_features.mean() < parts.acquire(X[:500]).n_features.mean()
    assert getattr(again.best_, "counts_", parts.best_.counts_).classes.sum() == 6000


@pytest.mark.parametrize(
    "clf", [CommitteeClassifier(max_features=2, splits=False), SequentialClassifier(max_features=2)]
)
def test_what_does_not_add_up_says_so(clf):
    X, y = made(2000)
    with pytest.warns(SampleWarning, match="fitted on 300 of 2,000 rows.*cannot be added up.*sample_size="):
        parts = distributed.fit(clf, cut(X, y, 3), sample_size=300)
    assert parts.fitted_rows_ == distributed.FittedRows(2000, 300, False)
    assert parts.score(X, y) > 0.7


def test_a_rare_class_is_in_the_sample_and_keeps_its_share():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 3)), np.zeros(20_000, dtype=int)
    y[rng.choice(20_000, 150, replace=False)] = 1
    y[17_777] = 2
    X[:, 0] += 3 * (y == 1)
    clf = AdaptiveClassifier(m=10.0, look_ahead=False, feature_costs=0.001)
    parts = distributed.fit(clf, cut(X, y, 9), sample_size=1000)
    assert parts.classes_.tolist() == [0, 1, 2]
    beliefs = parts.model_.beliefs
    n = np.bincount(beliefs.classes, minlength=3)
    assert n[1:].tolist() == [100, 1]
    assert 980 <= n[0] <= 1000
    shares = np.bincount(beliefs.classes, beliefs.weights) / beliefs.weights.sum()
    np.testing.assert_allclose(shares, np.bincount(y) / y.size, rtol=0.01)
    np.testing.assert_allclose(beliefs.priors, np.bincount(y) / y.size, rtol=1e-12)


def test_an_estimator_without_weights_gets_none():
    """Its rare classes have their share of rows, and one at least."""
    X, y = made(5000)
    y[:20] = 2
    blind = SequentialClassifier(KNeighborsClassifier(), max_features=1)
    sees = SequentialClassifier(LogisticRegression(), max_features=1)
    with pytest.warns(SampleWarning):
        one, other = (distributed.fit(clf, cut(X, y, 3), sample_size=500) for clf in (blind, sees))
    assert one.fitted_rows_.n_sampled < other.fitted_rows_.n_sampled
    assert one.classes_.tolist() == [0, 1, 2]


def sample_of(blocks, size, seed):
    clf = AdaptiveClassifier(
        m=1.0, look_ahead=False, random_state=seed, binning=etana.Binner.from_edges([np.arange(0.5, 3000)])
    )
    return distributed.fit(clf, blocks, sample_size=size).model_.beliefs.codes[0]


def test_the_seed_draws_the_sample():
    """Rows are told apart by a column of their numbers; on threads and one after the other the sample is the same."""
    numbers, y = np.random.default_rng(1).permutation(3000)[:, None] * 1.0, np.arange(3000) % 2
    blocks = cut(numbers, y, 6)
    one = sample_of(blocks, 400, 1)
    assert one.size == 400
    assert np.unique(one).size == 400
    assert (sample_of([dask.delayed(block) for block in blocks], 400, 1) == one).all()
    assert (sample_of(blocks, 400, None) == sample_of(blocks, 400, 0)).all()
    assert not np.array_equal(sample_of(blocks, 400, 2), one)
    # In the order of the rows, and from all parts.
    places = np.argsort(numbers[:, 0])[one]
    assert (np.diff(places) > 0).all()
    assert np.bincount(places // 500, minlength=6).min() > 30


def test_equal_rows_are_drawn_one_by_one():
    """Many rows that are alike do not stand or fall together."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (8000, 1)) * 1.0, rng.integers(0, 2, 8000)
    parts = distributed.fit(AdaptiveClassifier(m=1.0, look_ahead=False, binning=etana.Binner.from_edges([[0.5]])),
                            cut(X, y, 4), sample_size=1000)  # fmt: skip
    assert abs(parts.model_.beliefs.codes[0].mean() - X.mean()) < 0.06


@pytest.mark.parametrize("members", [[10**8, 0, 3, 10**4], [5, 6], [10**7] * 40, [1, 10**6], [10**6] + [500] * 300])
def test_quotas_are_shares_and_enough(members):
    members = np.array(members)
    quotas = Quotas.of(members, 2000)
    assert (quotas.rows <= members).all()
    assert (quotas.rows >= np.minimum(members, 1)).all()
    if members.sum() <= 2000:
        assert (quotas.rows == members).all()
        return
    assert quotas.rows.sum() <= 3000
    share = quotas.rows * quotas.factors
    np.testing.assert_allclose(share, members * 2000 / members.sum(), atol=0.5)
    below = quotas.draw(members, 0).below
    assert (below[quotas.rows == members] > 1).all()
    few = quotas.rows < members
    # The expected number below the key is well above the quota, and the rows that travel are few.
    assert (below[few] * members[few] > quotas.rows[few] + 5 * np.sqrt(quotas.rows[few])).all()
    assert (below[few] * members[few] < 2 * quotas.rows[few] + 100).all()


def test_few_rows_travel():
    """A part keeps little more than its share of the sample."""
    X, y = made(40_000, k=2)
    draw = Quotas.of(np.bincount(y), 1000).draw(np.bincount(y), 0)
    kept = [
        draw.of(draw.keys_of(i).random(len(b)), read_table(a), b, np.ones(len(b)))
        for i, (a, b) in enumerate(cut(X, y, 8))
    ]
    assert 1000 <= sum(part.codes.size for part in kept) < 1600
    assert Drawn.merge(kept).chosen(Quotas.of(np.bincount(y), 1000), [])[0].n_rows in (999, 1000, 1001)


def test_tables_are_joined_whatever_they_hold():
    text = pd.DataFrame({"a": ["x", None], "b": [1.0, 2.0]})
    bare = pd.DataFrame({"a": [np.nan, np.nan], "b": [3.0, np.nan]})
    joined = join_tables([read_table(bare), read_table(text)], [0])
    assert joined.names == ["a", "b"]
    assert joined.levels(0).tolist() == ["x"]
    np.testing.assert_array_equal(joined.block([1])[:, 0], [3.0, np.nan, 1.0, 2.0])
    float32 = np.ones((2, 3), dtype=np.float32)
    assert join_tables([read_table(float32), read_table(float32)]).dense.dtype == np.float32


def test_columns_that_number_the_rows_are_found_in_all_of_them(tumours):
    X, y = tumours
    X = np.column_stack([X, np.arange(len(y))])
    with pytest.warns(etana.errors.IdentifierWarning, match="left out as numbers of rows: 8"):
        clf = distributed.fit(AdaptiveClassifier(m=10.0, look_ahead=False), cut(X, y, 4), sample_size=100)
    assert clf.identifiers == "auto"
    assert clf.counts_.silent == (8,)
    assert 8 not in clf.model_.beliefs.candidates


def never():
    raise AssertionError("a part was read")


WRONG = [
    (lambda: (FrugalClassifier(effort="much"), [never]), {}, "effort is 'much'"),
    (lambda: (FrugalClassifier(), [never]), {"sample_size": 1}, "sample_size is 1; it must be a whole number >= 2"),
    (lambda: (LogisticRegression(), [never]), {}, "clf is of type LogisticRegression; it must be an ETANAClassifier"),
    (lambda: (AdaptiveClassifier(binning=etana.Binner()), [never]), {}, "was not fitted"),
    (lambda: (FrugalClassifier(), cut(*made(50), 2)), {"classes": [0, 1, 7]}, "classes has 7, which no row has"),
    (lambda: (FrugalClassifier(), cut(*made(50), 2)), {"classes": [0, 3]}, "label 1, which is not among"),
    (lambda: (FrugalClassifier(feature_costs=[1.0]), cut(*made(50), 2)), {}, "feature_costs"),
]


@pytest.mark.parametrize(("make", "more", "message"), WRONG)
def test_errors_say_what_to_do(make, more, message):
    with pytest.raises(InputError, match=message):
        distributed.fit(*make(), **more)


def test_no_warning_where_nothing_was_left_out():
    X, y = made(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SampleWarning)
        distributed.fit(SequentialClassifier(max_features=1), da.from_array(X, chunks=(100, -1)), y)
