"""Early classification of time series: nothing is decided by what has not come yet, and aeon takes it for its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import etana
from etana.early import EarlyClassifier
from etana.errors import InputError

ROOT = Path(__file__).parents[1]


def series(n=120, points=30, begins=10, channels=1, seed=0):
    """Two classes that look alike until a point in time, then differ in the first channel."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = 0.35 * rng.standard_normal((n, channels, points))
    X[:, 0, begins:] += y[:, None]
    return X, np.array(["calm", "storm"])[y]


@pytest.fixture(scope="module")
def early():
    X, y = series()
    return EarlyClassifier(waiting_cost=0.004).fit(X[:, 0], y)


def test_it_waits_for_what_tells_and_not_longer(early):
    X, y = series(seed=1)
    mean, accuracy, earliness = early.score(X[:, 0], y)
    assert accuracy > 0.9
    assert 10 / 30 < earliness < 0.6
    assert mean == pytest.approx(2 * accuracy * (1 - earliness) / (accuracy + 1 - earliness))


def test_what_is_decided_early_is_decided_the_same_later(early):
    """Point by point, as a stream comes in: a decision comes once, and is that of the whole series."""
    X, _ = series(seed=2)
    X = X[:, 0]
    whole, all_final = early.predict(X)
    assert all_final.all()
    when = early.get_state_info()[:, 0]
    for points in range(1, 31):
        labels, final = early.update_predict(X[:, :points])
        assert np.array_equal(final, when <= points)
        assert (labels[final] == whole[final]).all()
        assert (labels[~final] == "-1").all()
    probabilities, final = early.update_predict_proba(X[:, :15])
    assert np.allclose(probabilities[final].sum(axis=1), 1)
    assert (probabilities[~final] == -1).all()


def test_later_points_are_not_looked_at(early):
    X, _ = series(seed=3)
    X = X[:, 0]
    early.predict(X)
    when = early.get_state_info()[:, 0]
    changed = np.where(np.arange(30) < when[:, None], X, 99.0)
    assert np.array_equal(early.predict(changed)[0], early.predict(X)[0])


@pytest.mark.parametrize(
    "classifier",
    [etana.ETANAClassifier(binning="quantile", n_bins=4), etana.SequentialClassifier(LogisticRegression(), cv=3)],
)
def test_channels_steps_and_other_classifiers(classifier):
    X, y = series(channels=3, points=21, begins=4)
    early = EarlyClassifier(classifier, waiting_cost=0.004, step=4).fit(X, y)
    assert early.points_.tolist() == [0, 4, 8, 12, 16, 20]
    _, accuracy, earliness = early.score(X, y)
    assert accuracy > 0.8
    assert earliness < 1
    assert clone(early).get_params()["step"] == 4
    assert isinstance(early.classifier_, type(classifier))


def test_wrong_series_and_classifiers_are_named():
    X, y = series()
    early = EarlyClassifier().fit(X[:, 0, :8], y)
    with pytest.raises(InputError, match="none may be longer"):
        early.predict(X[:, 0])
    with pytest.raises(InputError, match=r"must be \(series, points\)"):
        early.predict(X[0, 0])
    with pytest.raises(InputError, match="asks in no order"):
        EarlyClassifier(etana.AdaptiveClassifier()).fit(X[:, 0], y)
    with pytest.raises(InputError, match="step is 0"):
        EarlyClassifier(step=0).fit(X[:, 0], y)


def test_a_given_order_is_the_order():
    X, y = series()
    X = X[:, 0]
    clf = etana.SequentialClassifier(feature_costs=0.001, selection=[12, 11, 25]).fit(X, y)
    assert clf.feature_order_.tolist() == [12, 11, 25]
    assert clf.score(X, y) > 0.9
    short = etana.SequentialClassifier(feature_costs=0.001, selection=[12, 11, 25], max_features=2).fit(X, y)
    assert short.feature_order_.tolist() == [12, 11]


@pytest.mark.parametrize("order", [[0, 0], [30], [-1], [0.5]])
def test_a_wrong_order_is_named(order):
    X, y = series()
    with pytest.raises(InputError, match="column indices from 0 to 29, each once at most"):
        etana.SequentialClassifier(selection=order).fit(X[:, 0], y)


def test_a_given_order_is_stored(tmp_path):
    X, y = series()
    clf = etana.SequentialClassifier(feature_costs=0.001, selection=[12, 11, 25]).fit(X[:, 0], y)
    etana.save(clf, tmp_path / "m.etana")
    again = etana.load(tmp_path / "m.etana")
    assert list(again.selection) == [12, 11, 25]
    assert np.array_equal(again.predict(X[:, 0]), clf.predict(X[:, 0]))


@pytest.mark.slow
def test_aeon_takes_it_for_one_of_its_own(tmp_path):
    """aeon needs an older NumPy and Numba than the newest that etana is tested with: it gets a folder of its own."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    install = [str(python), "-m", "pip", "install", "-q", "aeon>=1.0,<2", str(ROOT)]
    done = subprocess.run(install, capture_output=True, text=True, timeout=900)
    if done.returncode:
        pytest.skip(f"aeon cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = [str(python), str(ROOT / "tests" / "early_in_aeon.py")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=900, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
