"""What notebooks show of a batch and of a case."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import etana

NAME, CLASS = "<b>bp</b> & co", "<script>sick</script>"


class Strict(HTMLParser):
    """Text and tags; every tag that opens must close."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    sick = rng.integers(0, 2, 80)
    X = pd.DataFrame({NAME: 130 + 40 * sick + rng.normal(size=80), "age": 50 + 5 * sick + 5 * rng.normal(size=80)})
    return etana.ETANAClassifier(feature_costs=0.02, temperature=1.0).fit(X, np.where(sick == 1, CLASS, "well")), X


def test_a_batch(fitted):
    clf, X = fitted
    walk = clf.acquire(X)
    page = Strict(walk._repr_html_())
    assert page.tags.count("tr") == 11
    assert "script" not in page.tags
    assert "80 rows (means: features 1, cost 0.02)" in "".join(page.text)
    assert {CLASS, NAME, "well", "0.02"} <= set(page.text)
    assert "and 70 more rows" in page.text
    assert "more" not in "".join(Strict(clf.acquire(X[:10])._repr_html_()).text)
    assert "of no rows" in clf.acquire(X[:0])._repr_html_()


def test_columns_without_names():
    X = np.arange(40.0)[:, None] * [1, 0] + [[0, 1]]
    walk = etana.ETANAClassifier(identifiers=[], temperature=1.0).fit(X, X[:, 0] > 20).acquire(X)
    assert walk.names is None
    assert Strict(walk._repr_html_()).text[-1] == "and 30 more rows"


def test_a_case_from_question_to_decision(fitted):
    clf, _ = fitted
    case = clf.start()
    page = Strict(case._repr_html_())
    assert "asks for" in "".join(page.text)
    assert NAME in page.text
    assert "script" not in page.tags
    classes = [text for text in page.text if text in (CLASS, "well")]
    assert classes == [CLASS, "well"]  # the order of the classes, whichever is likelier
    case.observe(131.0)
    after = Strict(case._repr_html_())
    assert "decides 'well'" in "".join(after.text)
    assert "1 feature asked, 0.02 spent" in "".join(after.text)
    assert [text for text in after.text if text in (CLASS, "well")] == [CLASS, "well"]
    assert {"131.0", "asked"} <= set(after.text)
    shares = [float(share) for share in re.findall(r"width: ([\d.]+)em", case._repr_html_())]
    assert shares == pytest.approx((10 * case.posterior).tolist(), abs=0.006)


def test_plural_forms(fitted):
    clf, _ = fitted
    assert "after 0 features" in repr(clf.start())
    assert "after 1 feature, cost 0.02" in repr(clf.start().observe(131.0))


def test_a_model_is_said_in_a_line(fitted):
    clf, _ = fitted
    assert repr(clf.model_) == f"Model(NaiveBayes, FixedOrder, 2 features, classes ['{CLASS}', 'well'])"
