"""Draw the pictures of the documentation: ``python docs/draw.py FOLDER``."""

import doctest
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "etana"

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from etana import ETANAClassifier
from etana.plots import CostCurveDisplay, PolicyDisplay


def main(folder: Path) -> None:
    """Write one SVG file per picture."""
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_breast_cancer(return_X_y=True)
    clf = ETANAClassifier(feature_costs=0.01).fit(X[::2], y[::2])
    save(PolicyDisplay.from_estimator(clf), folder / "interval.svg")
    save(CostCurveDisplay.from_estimator(clf, X[1::2], y[1::2]), folder / "curve.svg")
    X, y = load_wine(return_X_y=True)
    save(PolicyDisplay.from_estimator(ETANAClassifier(feature_costs=0.02).fit(X, y)), folder / "simplex.svg")
    X, y = load_digits(return_X_y=True)
    save(PolicyDisplay.from_estimator(ETANAClassifier(feature_costs=0.01).fit(X, y)), folder / "reach.svg")
    draw_gallery(Path(__file__).with_name("gallery.md"), folder)


def draw_gallery(page: Path, folder: Path) -> None:
    """Run the examples of the gallery; each of its pictures is of what ``display`` is where it stands."""
    names: dict = {}
    parts = re.split(r"^!\[[^\]]*\]\(_pictures/([\w-]+\.svg)\)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for text, picture in zip(parts[::2], parts[1::2]):
        for example in doctest.DocTestParser().get_examples(text):
            exec(example.source, names)
        save(names["display"], folder / picture)


def save(display, path: Path) -> None:
    """Write a display's figure without a date, so that the same pictures are the same bytes."""
    display.figure_.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(display.figure_)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
