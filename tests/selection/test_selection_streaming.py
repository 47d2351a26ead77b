"""Columns that arrive in pieces, and input of every awkward shape."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from etana.errors import InputError
from etana.selection import OFSA3M, OSFS, SAOLA, AlphaInvesting, FastOSFS, OFSDensity
from etana.selection.base import BLOCK_ENTRIES

NUMERIC = [
    AlphaInvesting(),
    AlphaInvesting(start="intercept"),
    AlphaInvesting(zero_start="stop"),
    OSFS(),
    FastOSFS(),
    SAOLA(),
    OFSDensity(),
    OFSDensity(random_state=3),
    OFSA3M(),
    OFSA3M(constant="keep", random_state=3),
]
DISCRETE = [
    OSFS(test="g2"),
    OSFS(test="chi2"),
    FastOSFS(test="g2"),
    FastOSFS(test="chi2"),
    SAOLA(test="su"),
    SAOLA(test="su", threshold=0.05),
]
EVERY = pytest.mark.parametrize("selector", NUMERIC + DISCRETE, ids=str)


@pytest.fixture(scope="module")
def digits():
    """Whole numbers, many zeros, constant columns, ten classes, 300 rows."""
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def select(selector, X, y):
    return clone(selector).fit(X, y).selected_.tolist()


# --- blocks ------------------------------------------------------------------------------------------------


@EVERY
@settings(max_examples=4, deadline=None)
@given(cuts=st.lists(st.integers(1, 63), max_size=6, unique=True))
def test_blocks_of_any_width_give_what_one_fit_gives(selector, digits, cuts):
    X, y = digits
    streamed = clone(selector)
    for block in np.split(X, sorted(cuts), axis=1):
        streamed.partial_fit_features(block, y)
    assert streamed.selected_.tolist() == select(selector, X, y)
    assert streamed.n_features_in_ == 64


@pytest.mark.parametrize("selector", NUMERIC, ids=str)
def test_one_column_at_a_time(selector):
    X, y = load_breast_cancer(return_X_y=True)
    streamed = clone(selector)
    for j in range(X.shape[1]):
        streamed.partial_fit_features(X[:, [j]], y)
    assert streamed.selected_.tolist() == select(selector, X, y)


@pytest.mark.parametrize("selector", NUMERIC, ids=str)
def test_more_columns_than_fit_one_block(selector):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 12)
    X = rng.normal(size=(12, BLOCK_ENTRIES // 12 + 50))
    streamed = clone(selector).partial_fit_features(X[:, :7], y).partial_fit_features(X[:, 7:], y)
    assert streamed.selected_.tolist() == select(selector, X, y)


@EVERY
def test_only_selected_columns_are_kept(selector, digits):
    """What a stream holds grows with the selection, not with the columns that passed."""
    X, y = digits
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(X, (1, 40)), axis=0)  # 2560 columns that mean nothing
    selector = clone(selector).fit(X, y)
    before = len(selector.selected_), stored(selector._stream)
    selector.partial_fit_features(shuffled, y)
    grown = len(selector.selected_) - before[0]
    assert stored(selector._stream) <= 2 * before[1] + 40 * 8 * 300 * max(grown, 1)


def stored(thing, seen=None):
    """Bytes of the arrays that an object holds."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, list | tuple):
        return sum(stored(item, seen) for item in thing)
    return sum(stored(item, seen) for item in vars(thing).values()) if hasattr(thing, "__dict__") else 0


def test_names_are_gathered_over_blocks():
    X, y = load_iris(return_X_y=True, as_frame=True)
    streamed = FastOSFS().partial_fit_features(X.iloc[:, :1], y).partial_fit_features(X.iloc[:, 1:], y)
    whole = FastOSFS().fit(X, y)
    assert streamed.feature_names_in_.tolist() == X.columns.tolist()
    assert streamed.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()


def test_blocks_must_agree_in_rows_and_in_having_names():
    X, y = load_iris(return_X_y=True)
    streamed = OSFS().partial_fit_features(X, y)
    with pytest.raises(InputError, match="same rows in the same order"):
        streamed.partial_fit_features(X, y[::-1])
    with pytest.raises(InputError, match="same rows in the same order"):
        streamed.partial_fit_features(X[:100], y[:100])
    with pytest.raises(InputError, match="with feature names"):
        streamed.partial_fit_features(pd.DataFrame(X, columns=list("abcd")), y)
    assert streamed.n_features_in_ == 4


def test_fit_starts_anew():
    X, y = load_iris(return_X_y=True)
    selector = SAOLA().partial_fit_features(X, y).fit(X[:, :2], y)
    assert selector.n_features_in_ == 2


# --- input -----------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_input_gives_what_dense_input_gives(selector, form, digits):
    X, y = digits
    assert select(selector, form(X), y) == select(selector, X, y)


# A constant is a regressor where there is no intercept, and a feature for constant="keep".
BLIND_TO_CONSTANTS = [AlphaInvesting(start="intercept"), OSFS(), FastOSFS(), SAOLA(), OFSDensity(), OFSA3M()]


@pytest.mark.parametrize("selector", BLIND_TO_CONSTANTS[1:] + DISCRETE, ids=str)
def test_constant_columns_change_nothing(selector, digits):
    X, y = digits
    X = X[:, X.std(axis=0) > 0]
    wider = np.column_stack([np.full(300, 7.0), X[:, :20], np.zeros(300), X[:, 20:], np.full(300, -3.0)])
    place = np.concatenate([np.arange(1, 21), np.arange(22, 22 + X.shape[1] - 20)])
    assert select(selector, wider, y) == place[select(selector, X, y)].tolist()


@pytest.mark.parametrize("selector", BLIND_TO_CONSTANTS, ids=str)
def test_a_constant_that_is_no_binary_fraction_is_constant(selector):
    X, y = load_iris(return_X_y=True)
    constant = np.full((150, 1), 0.1)
    selected = select(selector, np.hstack([X, constant]), y)
    assert 4 not in selected


# Not for the neighbourhood methods: a copy doubles a column's weight, which makes it another distance.
@pytest.mark.parametrize("selector", NUMERIC[:6], ids=str)
def test_of_duplicated_columns_one_is_selected_where_the_column_was(selector):
    X, y = load_breast_cancer(return_X_y=True)
    selected = np.array(select(selector, np.repeat(X, 2, axis=1), y))
    assert len(set(selected // 2)) == len(selected) > 0
    if not isinstance(selector, AlphaInvesting):  # its price of a column depends on the position
        assert (selected // 2).tolist() == select(selector, X, y)


@pytest.mark.parametrize("selector", [OFSDensity(), OFSA3M()], ids=str)
def test_duplicated_columns_are_taken_in_stride(selector):
    X, y = load_breast_cancer(return_X_y=True)
    assert select(selector, np.repeat(X, 2, axis=1), y)


@pytest.mark.parametrize("cls", [OSFS, FastOSFS])
def test_a_duplicated_column_does_not_push_out_its_neighbours(cls):
    """An unguarded inverse would call every column redundant given two equal ones."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    a, b = (rng.normal(size=400) + y for _ in range(2))
    selected = cls().fit(np.column_stack([a, b, b]), y).selected_.tolist()
    assert selected in ([0, 1], [0, 2])


@EVERY
def test_one_feature(selector):
    x = np.tile([[1.0], [1.0], [2.0], [1.0], [2.0], [3.0], [3.0], [2.0], [3.0], [3.0]], (4, 1))
    y = np.tile([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], 4)
    assert select(selector, x, y) == [0]


@EVERY
def test_two_rows(selector):
    """Nothing can be tested with two rows; no test is claimed, and nothing fails."""
    selected = select(selector, np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 1.0]]), [0, 1])
    assert set(selected) <= {0, 1, 2}


@pytest.mark.parametrize("cls", [OSFS, FastOSFS])
@pytest.mark.parametrize("test", ["fisher_z", "g2"])
def test_fewer_features_than_the_conditioning_limit(cls, test, digits):
    X, y = digits
    X, y = X[:, 20:23], y % 2
    assert select(cls(test=test, max_conditioning=3), X, y) == select(cls(test=test, max_conditioning=9), X, y)


@EVERY
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_and_infinite_values_are_refused(selector, value):
    X, y = load_iris(return_X_y=True)
    X[3, 1] = value
    with pytest.raises(ValueError, match="Input X contains"):
        clone(selector).fit(X, y)


@EVERY
def test_one_class_is_refused(selector):
    with pytest.raises(InputError, match="one class only"):
        clone(selector).fit(np.eye(4), np.ones(4))


@pytest.mark.parametrize("selector", DISCRETE, ids=str)
def test_counting_tests_refuse_fractions_and_name_the_column(selector):
    X, y = load_iris(return_X_y=True)
    X[:, :2] = np.round(X[:, :2])
    with pytest.raises(InputError, match="column 2 holds values that are not whole numbers"):
        clone(selector).fit(X, y)
    with pytest.raises(InputError, match="column 2 holds values"):
        clone(selector).fit(sparse.csr_array(X), y)
    # a refused block leaves the stream as it was
    streamed = clone(selector).partial_fit_features(X[:, :2], y)
    with pytest.raises(InputError, match="column 2 holds values"):
        streamed.partial_fit_features(X[:, 2:], y)
    streamed.partial_fit_features(np.round(X[:, 2:]), y)
    assert streamed.n_features_in_ == 4
    assert streamed.selected_.tolist() == select(selector, np.round(X), y)


def test_levels_up_to_the_greatest_value_start_at_one(digits):
    X, y = digits
    for form in (X, sparse.csr_array(X)):
        with pytest.raises(InputError, match="column 0 holds values below 1"):
            OSFS(test="g2", levels="max").fit(form, y)
    assert OSFS(test="g2", levels="max").fit(sparse.csr_array(X + 1), y).n_features_in_ == 64


@EVERY
def test_labels_of_any_kind(selector, digits):
    X, y = digits
    names = np.array([f"class {label}" for label in y])
    # names are coded 1 .. K in sorted order
    assert select(selector, X, names) == select(selector, X, y + 1)


def test_nothing_selected_is_said_by_scikit_learn():
    rng = np.random.default_rng(1)
    selector = SAOLA(alpha=1e-9).fit(rng.normal(size=(50, 3)), np.repeat([0, 1], 25))
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(np.ones((2, 3))).shape == (2, 0)


# --- what each is invariant to ---------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [s for s in NUMERIC if not isinstance(s, AlphaInvesting)], ids=str)
def test_scale_and_shift_of_a_column_change_nothing(selector):
    X, y = load_breast_cancer(return_X_y=True)
    powers = 2.0 ** np.random.default_rng(0).integers(-6, 6, 30)  # exact in floating point
    assert select(selector, X * powers, y) == select(selector, X, y)


@pytest.mark.parametrize("selector", NUMERIC + DISCRETE, ids=str)
def test_class_coding(selector, digits):
    X, y = digits
    same = select(selector, X, y) == select(selector, X, 3 * y + 7)
    assert same or isinstance(selector, AlphaInvesting)
    if isinstance(selector, OFSDensity | OFSA3M) or selector in DISCRETE:
        assert select(selector, X, y) == select(selector, X, (y + 5) % 10)


@pytest.mark.parametrize("cls", [OFSDensity, OFSA3M])
def test_the_order_of_redundancy_checks(cls, digits):
    X, y = digits
    assert select(cls(random_state=1), X, y) == select(cls(random_state=1), X, y)
    generator = np.random.default_rng(1)
    assert select(cls(random_state=1), X, y) == cls(random_state=generator).fit(X, y).selected_.tolist()
    assert cls(random_state=np.random.RandomState(0)).fit(X, y).selected_.size > 0


# --- named options ---------------------------------------------------------------------------------------


def test_alpha_investing_starts():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([np.zeros(569), X])
    assert select(AlphaInvesting(zero_start="stop"), X, y) == [0]
    skipping = select(AlphaInvesting(), X, y)
    assert skipping[0] == 1
    assert len(skipping) > 10
    # with an intercept the first feature must earn its place, and y + 1 is y
    noise = np.random.default_rng(0).normal(size=(569, 1))
    tested = AlphaInvesting(start="intercept")
    assert 0 not in select(tested, np.hstack([noise, X]), y)
    assert select(tested, X, y) == select(tested, X, y + 1)


def test_alpha_investing_is_least_squares():
    """The recursion of the definition, with a fresh regression for every column."""
    X, y = load_breast_cancer(return_X_y=True)

    def rss(columns):
        design = X[:, columns]
        return np.sum((y - design @ np.linalg.lstsq(design, y)[0]) ** 2)

    selected, wealth = [0], 0.5
    error = rss(selected)
    for j in range(1, 30):
        alpha = wealth / (2 * (j + 1))
        new = rss([*selected, j])
        if np.exp((new - error) / (2 * error / len(y))) < alpha:
            selected, error, wealth = [*selected, j], new, wealth + 0.5 - alpha
        else:
            wealth -= alpha
    fitted = AlphaInvesting().fit(X, y)
    assert fitted.selected_.tolist() == selected
    assert fitted.wealth_ == pytest.approx(wealth)


def test_alpha_investing_stops_when_nothing_is_left_to_explain():
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, 2.0], 20)
    X = np.column_stack([y, rng.normal(size=(40, 30)), y])
    assert select(AlphaInvesting(), X, y) == [0]


def test_a3m_takes_constants_only_when_told():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([np.ones(150), X])
    assert 0 not in select(OFSA3M(), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = OFSA3M(constant="keep").partial_fit_features(X[:, :1], y)
    assert kept.selected_.tolist() == [0]


def test_density_ties_are_ties_on_whole_numbers(digits):
    """d_j / j = d_{j-1} / (j-1) must not be decided by rounding: a scale of 1/3 changes nothing."""
    X, y = digits
    assert select(OFSDensity(), X, y) == select(OFSDensity(), X / 3, y)
