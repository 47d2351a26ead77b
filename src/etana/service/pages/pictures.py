"""The policy of a model as a picture, drawn once for each model file.

Where every case is asked in one order, two classes give intervals of beliefs, stage by stage, three give the simplex,
more give the chance of reaching each stage. Otherwise the questions are drawn as a graph. Pictures are files of their
own, which browsers show as images: nothing in them can run.
"""

from __future__ import annotations

import importlib.util
import re
import threading

from etana.model import Model
from etana.reading import branches
from etana.service.models import Models, Served

__all__ = ["HEADERS", "Pictures"]

# A picture styles itself inline, which the pages' own policy forbids.
HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}
_FONT = re.compile(rb"'DejaVu Sans'")
_STACK = b"system-ui, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_WORDS = {
    2: "For each number of features asked so far, the beliefs at which the model goes on asking (pale), and those at "
    "which it decides. Below: how many cases get that far.",
    3: "Each triangle holds all beliefs in three classes, a class at each corner: pale where the model goes on asking, "
    "coloured where it decides. Dotted lines: 90 % and 99 % sure.",
}
_DEPTH, _LEAST = 3, 0.01  # of a decision graph that is drawn
_GRAPH = (
    "The questions as a graph: from each, the answers lead to the next question or to a decision. A card is an order "
    "of questions: how many of all cases are asked each, and how sure the model must be to decide instead."
)
_OTHER_WORDS = "The chance that a case gets to each number of features, and that it is decided there."


class Pictures:
    """Pictures by the digest of the model; those of models that are gone are forgotten."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._drawn: dict[str, bytes] = {}
        self._lock = threading.Lock()  # matplotlib's settings are shared by all threads

    def words(self, served: Served) -> str:
        """What the picture of a model shows."""
        return _GRAPH if served.model.order is None else _WORDS.get(len(served.labels), _OTHER_WORDS)

    def available(self) -> bool:
        """Whether pictures can be drawn here."""
        return importlib.util.find_spec("matplotlib") is not None

    def svg(self, served: Served) -> bytes:
        """The picture."""
        with self._lock:
            if served.digest not in self._drawn:
                current = {s.digest for s in self._models}
                self._drawn = {digest: svg for digest, svg in self._drawn.items() if digest in current}
                self._drawn[served.digest] = _draw(served.model)
            return self._drawn[served.digest]


def _draw(model: Model) -> bytes:
    from etana.plots import GraphDisplay, PolicyDisplay
    from etana.report.picture import draw_svg

    stages = model.policy.stages
    if stages is None:
        graph = GraphDisplay(branches(model, _DEPTH, _LEAST), model.classes, model.names)
        return _FONT.sub(_STACK, draw_svg("policy", graph.plot, graph.size, bbox_inches="tight"))
    display = PolicyDisplay(stages, model.classes, model.priors)
    size = {2: (6.4, 4.0), 3: (6.0, 5.6)}.get(len(model.classes), (6.4, 3.6))
    return _FONT.sub(_STACK, draw_svg("policy", display.plot, size, bbox_inches="tight"))
