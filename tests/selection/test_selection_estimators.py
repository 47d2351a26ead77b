"""The scikit-learn contract, for every selector and for the neighbour classifier."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import etana.selection
from etana.errors import InputError
from etana.evaluation import LowestRowKNeighbors
from etana.selection import OFSA3M, OSFS, SAOLA, AlphaInvesting, FastOSFS, OFSDensity

ALL = [AlphaInvesting, OSFS, FastOSFS, SAOLA, OFSDensity, OFSA3M]

# check name -> why it cannot pass; none is needed
EXPECTED_FAILURES: dict[type, dict[str, str]] = {}


@pytest.fixture(params=ALL, ids=lambda cls: cls.__name__)
def selector(request):
    return request.param()


# Random columns have no relation to their random classes, and an honest selector then selects none of them.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [cls() for cls in ALL] + [LowestRowKNeighbors()],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator), {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_public_names():
    assert set(etana.selection.__all__) == {cls.__name__ for cls in ALL}


def test_a_pipeline_selects_and_classifies(selector):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(selector, KNeighborsClassifier(3)).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model[-1].n_features_in_ == len(model[0].selected_)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_data_frames_are_kept(selector, frame):
    data = load_iris()
    names = [name.replace(" ", "_") for name in data.feature_names]
    X = frame(dict(zip(names, data.data.T)))
    selector.fit(X, data.target)
    assert selector.feature_names_in_.tolist() == names
    assert selector.get_feature_names_out().tolist() == [names[j] for j in selector.selected_]


def test_set_output_gives_data_frames(selector):
    X, y = load_iris(return_X_y=True, as_frame=True)
    out = selector.set_output(transform="pandas").fit(X, y).transform(X)
    assert out.columns.tolist() == X.columns[selector.selected_].tolist()


def test_transform_takes_the_selected_columns(selector):
    X, y = load_iris(return_X_y=True)
    out = selector.fit_transform(X, y)
    assert np.array_equal(out, X[:, selector.selected_])
    assert np.array_equal(selector.get_support(indices=True), selector.selected_)
    assert selector.inverse_transform(out).shape == X.shape


def test_a_stream_survives_pickling(selector):
    X, y = load_breast_cancer(return_X_y=True)
    whole = clone(selector).fit(X, y)
    part = pickle.loads(pickle.dumps(selector.partial_fit_features(X[:, :11], y)))
    part.partial_fit_features(X[:, 11:], y)
    assert np.array_equal(part.selected_, whole.selected_)


def test_verbose_shows_progress_and_changes_nothing(selector, capsys):
    X, y = load_iris(return_X_y=True)
    loud = clone(selector).set_params(verbose=True).fit(X, y)
    assert type(selector).__name__ in capsys.readouterr().err
    assert np.array_equal(loud.selected_, selector.fit(X, y).selected_)


@pytest.mark.parametrize(
    ("cls", "bad"),
    [
        (AlphaInvesting, {"wealth": 0}),
        (AlphaInvesting, {"payout": "much"}),
        (AlphaInvesting, {"start": "middle"}),
        (AlphaInvesting, {"zero_start": None}),
        (OSFS, {"alpha": 1.0}),
        (OSFS, {"test": "t"}),
        (OSFS, {"max_conditioning": 0}),
        (FastOSFS, {"levels": "all"}),
        (FastOSFS, {"max_conditioning": 2.5}),
        (SAOLA, {"alpha": -1}),
        (SAOLA, {"test": "g2"}),
        (SAOLA, {"threshold": 1.0}),
        (OFSDensity, {"tolerance": -0.1}),
        (OFSDensity, {"tie_tolerance": True}),
        (OFSA3M, {"gap_factor": 0}),
        (OFSA3M, {"constant": "drop"}),
    ],
)
def test_a_bad_parameter_is_named_with_what_is_allowed(cls, bad):
    X, y = load_iris(return_X_y=True)
    (name,) = bad
    with pytest.raises(InputError, match=rf"{name} is .*; it must be"):
        cls(**bad).fit(X, y)
