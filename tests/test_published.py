"""ETANAClassifier.as_published against the outputs of the authors' program."""

import pytest

from etana import ETANAClassifier


@pytest.mark.parametrize(
    "name", ["madelon_V2", "madelon_V3", "madelon_V5", "mll_V2", "mll_V3", "mll_V5", "mll_V3_c0.001"]
)
def test_same_order_labels_and_counts(reference, name):
    oracle = reference.oracle(f"etana/{name}")
    z = reference.data(oracle["dataset"])
    settings = oracle["settings"]
    clf = ETANAClassifier.as_published(n_bins=settings["n_bins"], feature_costs=settings["feature_cost"])
    clf.fit(z["X"].astype(float), z["y"])
    walk = clf.acquire(z["X_test"].astype(float))
    assert clf.feature_order_[:50].tolist() == oracle["order_first_50"]
    assert walk.labels.tolist() == oracle["predictions"]
    assert walk.n_features.tolist() == oracle["n_features"]


def test_the_papers_mll_row(reference):
    """Accuracy 1.00 with 5.07 features, to the digit."""
    z = reference.data("mll")
    clf = ETANAClassifier.as_published(n_bins=3, feature_costs=0.01).fit(z["X"], z["y"])
    walk = clf.acquire(z["X_test"])
    assert (walk.labels == z["y_test"]).mean() == 1.0
    assert round(float(walk.n_features.mean()), 2) == 5.07


def test_settings_of_the_authors_program():
    clf = ETANAClassifier.as_published(n_bins=4, feature_costs=0.02)
    chosen = clf.get_params()
    assert chosen["ordering"] == "variance"
    assert chosen["priors"] == "uniform"
    assert chosen["binning"] == "published"
    assert (chosen["n_bins"], chosen["feature_costs"]) == (4, 0.02)
    assert (chosen["solver"].resolution, chosen["solver"].lookup) == (10, "nearest")
