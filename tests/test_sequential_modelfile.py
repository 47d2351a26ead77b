"""Model files of sequential classifiers: nothing changes on the way, and nothing runs that is not trusted."""

import importlib
import io
import os
import subprocess
import sys
import zipfile
from copy import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from threadpoolctl import threadpool_limits

from etana import FeatureCosts, SequentialClassifier
from etana.beliefs.prefixes.linear import Linear
from etana.beliefs.prefixes.neighbours import Neighbours
from etana.beliefs.prefixes.travel import Pool
from etana.classifiers import prefixed
from etana.errors import InputError, ModelFileError
from etana.modelfile import container, load, load_model, read_metadata, save
from etana.modelfile.foreign import pack
from modelfile_samples import crafted, frame, note, put

GROUPS = FeatureCosts(0.01, groups=list("aabbcc"), discounted=0.001)
HARSH = np.asfortranarray([[0, 3.0, 1], [0.5, 0, 2], [1, 1, 0]])
OWN = {
    "two classes": (SequentialClassifier(feature_costs=0.005), load_breast_cancer),
    "three classes": (SequentialClassifier(feature_costs=np.linspace(0.001, 0.02, 13)), load_wine),
    "costs of mistakes": (SequentialClassifier(misclassification_costs=HARSH, random_state=4), load_wine),
    "nested": (SequentialClassifier(nested=True, cv=2, max_features=4, screen=8), load_wine),
    "a part of the rows": (SequentialClassifier(max_rows=200, max_features=3), load_digits),
    "free": (SequentialClassifier(feature_costs=0.0, max_features=3), load_iris),
    "too dear": (SequentialClassifier(feature_costs=5.0), load_iris),
    "nothing to ask": (SequentialClassifier(max_features=0), load_iris),
}
TREE, LEAVES = "sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
ESTIMATORS = {
    "linear": (make_pipeline(StandardScaler(), LogisticRegression()), []),
    "bayes": (GaussianNB(), []),
    "forest": (RandomForestClassifier(5, random_state=0), [TREE]),
    "boosting": (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5), [LEAVES]),
    "neighbours": (
        KNeighborsClassifier(5),
        ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"],
    ),
}


def strange(X):
    """Rows that training rows are not like."""
    rng = np.random.default_rng(5)
    rows = X[rng.integers(len(X), size=300)] + rng.normal(0, 1, (300, X.shape[1])) * X.std(axis=0)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    rows[0], rows[1] = np.inf, -1e300
    return rows


def same(a, b):
    for name in ("labels", "n_features", "costs", "posteriors"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
        assert getattr(a, name).dtype == getattr(b, name).dtype
    assert [a.features(i).tolist() for i in range(len(a))] == [b.features(i).tolist() for i in range(len(b))]


def round_trip(clf, path, X, trusted=()):
    """Save and load; classifier, bare model, cases, announcements and new prices agree."""
    save(clf, path)
    again, model = load(path, trusted=trusted), load_model(path, trusted=trusted)
    assert type(again) is SequentialClassifier
    assert sorted(vars(again)) == sorted(vars(clf))
    for budget in (None, 0.015):
        walk = clf.acquire(X, budget)
        same(walk, again.acquire(X, budget))
        same(walk, model.acquire(X, budget))
    assert again.feature_order_.tolist() == clf.feature_order_.tolist()
    for one in (again.model_, model):
        assert (one.expected_cost, one.expected_n_features) == (
            clf.model_.expected_cost,
            clf.model_.expected_n_features,
        )
        assert one.judgement == clf.model_.judgement
        assert one.judgement.cost == clf.expected_cost_
        for name in ("reach", "class_cost", "class_n_features"):
            assert getattr(one.expectation, name).tolist() == getattr(clf.expectation_, name).tolist()
        assert one.questions() == clf.model_.questions()
        assert one.full_price == clf.model_.full_price
    a, b = clf.start(), model.start()
    while a.next_feature is not None:
        assert (a.next_feature, a.next_column, a.next_price) == (b.next_feature, b.next_column, b.next_price)
        assert (a.expected_cost, a.explain()) == (b.expected_cost, b.explain())
        a.observe(None)
        b.observe(None)
    assert (a.label, b.stopped_by) == (b.label, a.stopped_by)
    other = {"misclassification_costs": 3 * (1 - np.eye(clf.classes_.size))}
    same(clf.with_costs(0.002, **other).acquire(X), again.with_costs(0.002, **other).acquire(X))
    return again


@pytest.mark.parametrize("name", OWN)
def test_without_an_estimator(name, tmp_path):
    clf, data = OWN[name]
    X, y = data(return_X_y=True)
    again = round_trip(clf.fit(X, y), tmp_path / "m", strange(X))
    before = (tmp_path / "m").read_bytes()
    save(again, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert again.estimator is None
    assert len(before) < 2_000_000


def test_neighbours_and_logistic_regression(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = SequentialClassifier(feature_costs=0.002, max_features=4).fit(X, y)
    assert isinstance(clf.model_.beliefs.member, Pool)
    again = round_trip(clf, tmp_path / "m", strange(X))
    assert [type(member) for member in again.model_.beliefs.member.members] == [Neighbours, Linear]


def test_frames_with_labels_and_missing_values(tmp_path):
    table, y = frame()
    clf = SequentialClassifier(feature_costs=GROUPS, nested=True, cv=2).fit(table, y)
    assert clf.feature_order_.size == 6
    again = round_trip(clf, tmp_path / "m", table)
    assert again.feature_names_in_.tolist() == table.columns.tolist()
    levels = again.model_.levels
    assert [[type(v) for v in levels[k]] for k in sorted(levels)] == [
        [str] * 4, [bool] * 2, [int] * 3, [float] * 2,
    ]  # fmt: skip
    assert again.model_.range_of(1) is None
    number = int(next(k for k in clf.feature_order_ if k not in levels))
    assert again.model_.range_of(number) == clf.model_.range_of(number)
    with pytest.raises(InputError, match="give the same columns"):
        load_model(tmp_path / "m").acquire(table.iloc[:, :3])


def test_sparse_and_labels_of_text(tmp_path):
    X, y = load_digits(return_X_y=True)
    clf = SequentialClassifier(max_rows=300, max_features=3).fit(sparse.csr_array(X), np.array(list("abcdefghij"))[y])
    again = round_trip(clf, tmp_path / "m", sparse.csr_array(X[:200]))
    assert again.predict(X[:3]).dtype == clf.classes_.dtype


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_of_scikit_learn(name, tmp_path):
    estimator, trusted = ESTIMATORS[name]
    X, y = load_wine(return_X_y=True)
    path = tmp_path / "m"
    with threadpool_limits(1):
        clf = SequentialClassifier(estimator, max_features=3, cv=2).fit(X, y)
        again = round_trip(clf, path, X + 0.01, trusted)
        assert repr(again.estimator) == repr(estimator)
        assert again.fit(X, y).expected_cost_ == clf.expected_cost_
    if not trusted:
        return
    for reader in (load, load_model):
        with pytest.raises(ModelFileError) as caught:
            reader(path, trusted=["os.system"])
        message = str(caught.value)
        assert message.startswith(f"{path} holds estimators made of types that are not trusted: {', '.join(trusted)};")
        assert f"load it with trusted={trusted!r}" in message


def test_rows_of_one_class_have_no_estimator(tmp_path):
    X, y = load_wine(return_X_y=True)
    clf = SequentialClassifier(GaussianNB(), nested=True, cv=2, max_features=2).fit(X[:30], y[:30])
    assert clf.model_.beliefs.member.fitted == [None, None]
    round_trip(clf, tmp_path / "m", X)


INTRUDER = """
import pathlib
from sklearn.naive_bayes import GaussianNB
with pathlib.Path(__file__).with_name("marks").open("a") as file:
    file.write("x")
class Own(GaussianNB): pass
def own(X): return X
"""


@pytest.fixture
def intruder(tmp_path, monkeypatch):
    """A module that leaves a mark whenever it is imported."""
    (tmp_path / "intruder_module.py").write_text(INTRUDER)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("intruder_module")
    sys.modules.pop("intruder_module", None)


def test_no_code_runs_that_is_not_trusted(intruder, tmp_path):
    X, y = load_wine(return_X_y=True)
    marks = tmp_path / "marks"
    for k, estimator in enumerate((intruder.Own(), make_pipeline(FunctionTransformer(intruder.own), GaussianNB()))):
        clf = SequentialClassifier(estimator, max_features=2, cv=2).fit(X, y)
        save(clf, tmp_path / "m")
        labels = clf.predict(X).tolist()
        del sys.modules["intruder_module"]
        before = marks.read_text()
        name = ("intruder_module.Own", "intruder_module.own")[k]
        for reader in (load, load_model):
            with pytest.raises(ModelFileError, match=f"not trusted: {name}"):
                reader(tmp_path / "m")
        read_metadata(tmp_path / "m")
        assert "intruder_module" not in sys.modules
        assert marks.read_text() == before
        assert load(tmp_path / "m", trusted=[name]).predict(X).tolist() == labels
        assert marks.read_text() == before + "x"


FITTED, PARAMETER = "beliefs.member.fitted", "parameters.estimator."
MEMBER = ("beliefs", "values", "member")


def packed(content):
    def change(_, arrays):
        arrays[FITTED] = np.frombuffer(content, dtype=np.uint8)

    return change


def squeezed(_, arrays):
    """The same archive, compressed."""
    out = io.BytesIO()
    given = zipfile.ZipFile(io.BytesIO(arrays[FITTED].tobytes()))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in given.namelist():
            archive.writestr(name, given.read(name))
    arrays[FITTED] = np.frombuffer(out.getvalue(), dtype=np.uint8)


def of(thing):
    return packed(pack(thing).tobytes())


WINE = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def bayes(tmp_path_factory):
    """A classifier over an estimator of three stages, and the bytes of its file."""
    path = tmp_path_factory.mktemp("bayes") / "m"
    clf = SequentialClassifier(GaussianNB(), max_features=3, cv=2).fit(*WINE)
    save(clf, path)
    return clf, path.read_bytes()


WIDE, ALIEN = GaussianNB().fit(*WINE), GaussianNB().fit(WINE[0][:, :1], WINE[1] + 7)
TEXTS = GaussianNB().fit(WINE[0][:, :1], WINE[1].astype(str))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (packed(b""), "cannot be read by skops"),
        (packed(b"\x80\x04\x95 no archive"), "cannot be read by skops"),
        (squeezed, "archive is compressed"),
        (of([None, None]), "not a list of 3"),
        (of(WIDE), "not a list of 3"),
        (of([WIDE, None, None]), "does not take the 1 columns"),
        (of([ALIEN, None, None]), "classes that are not there"),
        (of([TEXTS, None, None]), "no fitted classifier"),
        (of([GaussianNB(), None, None]), "no fitted classifier"),
        (of([StandardScaler(), None, None]), "no fitted classifier"),
        (of([1, 2, 3]), "no fitted classifier"),
        (note(*MEMBER, "values", "keep_missing", value=1), "keep_missing is 1"),
        (note(*MEMBER, "values", "keep_missing", value=True), "takes no missing values"),
        (note(*MEMBER, "class", value="Neighbours"), "'beliefs.member.codes' is missing"),
        (note(*MEMBER, "class", value="Foreign"), "'Foreign' is not known"),
        (lambda content, arrays: arrays.pop(FITTED), "'beliefs.member.fitted' is missing"),
        (lambda content, arrays: arrays.pop(PARAMETER), "'parameters.estimator.' is missing"),
        (lambda content, arrays: arrays.update({PARAMETER: pack(3)}), "estimator is 3; it must be"),
        (put("learnt.codes", 0, 3), "class that is not there"),
        (put("beliefs.member.priors", 0, 3.0), "no probabilities"),
    ],
)
def test_estimators_that_make_no_sense(bayes, tmp_path, change, words):
    path = tmp_path / "m"
    crafted(bayes[1], path, change)
    with pytest.raises(ModelFileError, match=f"holds no valid model.*{words}.*; restore it"):
        load(path)


def test_without_skops(bayes, tmp_path, monkeypatch):
    X, y = WINE
    clf, _ = bayes
    save(clf, tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for work in (lambda: save(clf, tmp_path / "m"), lambda: save(clf, tmp_path / "n"), lambda: load(tmp_path / "m")):
        with pytest.raises(ModelFileError, match=r"needs skops.*pip install 'etana\[skops\]'"):
            work()
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m").read_bytes() == before
    plain = SequentialClassifier(max_features=2).fit(X, y)
    save(plain, tmp_path / "n")
    same(load(tmp_path / "n").acquire(X), plain.acquire(X))


def test_large_walks_are_left_out(tmp_path, monkeypatch):
    X, y = WINE
    monkeypatch.setattr(prefixed, "_LARGEST_WALKS", 1000)
    for estimator in (None, GaussianNB()):
        clf = SequentialClassifier(estimator, max_features=2, cv=2).fit(X, y)
        save(clf, tmp_path / "m")
        again = load(tmp_path / "m")
        same(clf.acquire(X), again.acquire(X))
        _, arrays = container.read(str(tmp_path / "m"), lambda name: True)
        assert not [name for name in arrays if name.startswith("learnt.")]
        with pytest.raises(InputError, match=r"does not hold the training walks.*fit again"):
            again.with_costs(0.1)
        save(again, tmp_path / "n")
        same(clf.acquire(X), load(tmp_path / "n").acquire(X))


def test_what_cannot_be_stored(tmp_path):
    X, y = WINE

    class Local(GaussianNB):
        pass

    for clf, words in (
        (
            SequentialClassifier(max_features=1).fit(X, y).set_params(estimator=StandardScaler()),
            "estimator is Standard",
        ),
        (SequentialClassifier(max_features=1).fit(X, y).set_params(cv=1), "cv is 1; it must be"),
        (SequentialClassifier(random_state=np.random.default_rng(0), max_features=1).fit(X, y), "whole number"),
        (SequentialClassifier(Local(), max_features=1, cv=2).fit(X, y), "skops.*has no attribute 'Local'"),
    ):
        with pytest.raises(ModelFileError, match=f"this SequentialClassifier cannot be stored.*{words}"):
            save(clf, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_parameters_that_were_set_after_the_fit(bayes, tmp_path):
    """A file holds the parameters as they are, and the answers of the fit as it was."""
    X, y = WINE
    plain = SequentialClassifier(max_features=1).fit(X, y)
    for clf, estimator in ((plain, GaussianNB()), (bayes[0], None)):
        changed = copy(clf).set_params(estimator=estimator)
        save(changed, tmp_path / "m")
        again = load(tmp_path / "m")
        assert repr(again.estimator) == repr(estimator)
        same(clf.acquire(X), again.acquire(X))


def test_trust_is_a_list(tmp_path):
    for wrong in (TREE, [1]):
        with pytest.raises(InputError, match="must be a list of names of types"):
            load(tmp_path / "m", trusted=wrong)


def test_what_a_file_says_of_itself(tmp_path):
    table, y = frame()
    clf = SequentialClassifier(feature_costs=0.02, max_features=3).fit(table, y)
    save(clf, tmp_path / "m")
    found = read_metadata(tmp_path / "m")
    assert found["estimator"] == "SequentialClassifier"
    assert (found["beliefs"], found["policy"], found["lower_bound"]) == ("Prefixed", "RegressionStopping", None)
    assert found["expected_n_features"] == clf.model_.expected_n_features
    assert found["parameters"]["max_features"] == 3
    assert found["classes"] == clf.classes_.tolist()
    assert found["feature_names"] == list(clf.feature_names_in_)


def test_classification_needs_no_scikit_learn(tmp_path):
    save(SequentialClassifier(max_features=3).fit(*WINE), tmp_path / "m")
    code = (
        "import sys; from etana.modelfile import load_model; import numpy as np; m = load_model(sys.argv[1]); "
        "m.acquire(np.zeros((3, 13))); m.start().explain(); "
        "sys.exit(len({'sklearn', 'joblib', 'skops', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=False).returncode == 0


def test_files_of_estimators_that_were_changed_by_hand(bayes, tmp_path, monkeypatch):
    """Bits of an archive: an error, or a classifier; never anything else."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    path = tmp_path / "m"
    data, rng = bayes[1], np.random.default_rng(3)

    def flip(_, arrays):
        array = arrays[FITTED].copy()
        array[int(rng.integers(array.size))] ^= 1 << int(rng.integers(8))
        arrays[FITTED] = array

    refused = 0
    for _ in range(150):
        crafted(data, path, flip)
        try:
            assert isinstance(load(path), SequentialClassifier)
        except ModelFileError:
            refused += 1
    assert refused > 50
