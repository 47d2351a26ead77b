"""The table of models: names, reloads, and files that cannot be used."""

import os
import shutil
import threading

import numpy as np
import pytest
from sklearn.datasets import load_wine

import etana
from etana.errors import InputError, ModelFileError
from etana.service.errors import NotFound
from etana.service.models import Models, json_label


@pytest.fixture
def models(folder, tmp_path):
    """A folder of its own with two models, and the table of them."""
    for name in ("wine", "breast_cancer"):
        shutil.copy(folder / f"{name}.etana", tmp_path)
    return tmp_path, Models([tmp_path])


def test_names_are_those_of_the_files_or_given(folder):
    assert Models([folder]).names == ["breast_cancer", "digits", "hostile", "wine"]
    assert Models([f"a={folder / 'wine.etana'}", folder / "digits.etana"]).names == ["a", "digits"]


def test_a_path_with_an_equals_sign_is_a_path(folder, tmp_path):
    shutil.copy(folder / "wine.etana", tmp_path / "a=b.etana")
    with pytest.raises(InputError, match="cannot name a model"):
        Models([tmp_path / "a=b.etana"])
    assert Models([f"w={tmp_path / 'a=b.etana'}"]).names == ["w"]


def test_what_cannot_be_served_is_refused_at_the_start(folder, tmp_path):
    with pytest.raises(InputError, match="no model to serve"):
        Models([tmp_path])
    with pytest.raises(InputError, match="two models have the name 'wine'"):
        Models([folder, folder / "wine.etana"])
    with pytest.raises(ModelFileError, match=r"nix\.etana cannot be read"):
        Models([tmp_path / "nix.etana"])
    (tmp_path / "bad.etana").write_bytes((folder / "wine.etana").read_bytes()[:-1])
    with pytest.raises(ModelFileError, match="damaged"):
        Models([tmp_path])


def test_a_model_is_found_by_name(models):
    table = models[1]
    assert table.get("wine").name == "wine"
    with pytest.raises(NotFound, match="there is breast_cancer, wine"):
        table.get("x" * 1000)
    with pytest.raises(InputError, match="several models"):
        table.get()
    assert Models([f"only={models[0] / 'wine.etana'}"]).get().name == "only"


def test_a_reload_takes_what_is_new_and_keeps_what_is_not(models, folder):
    where, table = models
    wine, cancer = table.get("wine"), table.get("breast_cancer")
    X, y = load_wine(return_X_y=True, as_frame=True)
    etana.save(
        etana.ETANAClassifier(feature_costs=0.5, ordering="error", temperature=1.0).fit(X, y), where / "wine.etana"
    )
    shutil.copy(folder / "digits.etana", where)
    assert table.reload() == []
    assert table.names == ["breast_cancer", "digits", "wine"]
    assert table.get("wine").digest != wine.digest
    assert table.get("breast_cancer") is cancer
    os.unlink(where / "breast_cancer.etana")
    assert table.reload() == []
    assert table.names == ["digits", "wine"]
    assert (table.failures, table.reloads) == (0, 2)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "folder", "newer"])
def test_a_bad_new_file_keeps_the_old_model(models, damage, caplog):
    where, table = models
    old = table.get("wine")
    path = where / "wine.etana"
    raw = path.read_bytes()
    os.unlink(path)
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(
            {
                "cut": raw[:-8],
                # Another digest in the header, so that the file does not pass for the one that is served.
                "flip": raw.replace(old.digest.encode(), b"0" * 64),
                "empty": b"",
                "text": b"label,price\n1,2\n",
                "newer": raw.replace(b'"etana_format":"2"', b'"etana_format":"9"'),
            }[damage]
        )
    problems = table.reload()
    assert len(problems) == 1
    assert "wine" in problems[0]
    assert table.failures == 1
    assert table.get("wine") is old
    assert table.get("breast_cancer")
    assert "the old model stays" in caplog.text


def test_a_folder_that_is_gone_keeps_the_old_models(models):
    where, table = models
    shutil.rmtree(where)
    table.reload()
    assert table.names == ["breast_cancer", "wine"]


def test_reloads_at_once_leave_one_table(models):
    table = models[1]
    threads = [threading.Thread(target=table.reload) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert table.names == ["breast_cancer", "wine"]
    assert table.reloads == 8


def test_half_a_surrogate_pair_is_refused(tmp_path):
    clf = etana.ETANAClassifier(feature_costs=0.01, ordering="error", temperature=1.0).fit(
        [[0.0], [1.0]] * 20, np.array(["a\ud800", "b"] * 20)
    )
    etana.save(clf, tmp_path / "odd.etana")
    with pytest.raises(ModelFileError, match="no valid Unicode"):
        Models([tmp_path])


@pytest.mark.parametrize(
    ("label", "written"),
    [
        (np.int64(3), 3),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.bytes_(b"a\xff"), "a\\xff"),
        (float("inf"), "inf"),
    ],
)
def test_labels_are_fit_for_json(label, written):
    assert json_label(label) == written
    assert type(json_label(label)) is type(written)
