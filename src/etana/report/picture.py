"""Pictures of a report: displays drawn as SVG that stands in the page itself."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from etana.plots._canvas import INK, MUTED, clean, matplotlib
from etana.report.page import text

__all__ = ["draw_svg", "figure", "inline_svg"]

_FONT = 9
_STYLE = {
    "svg.fonttype": "none",  # text stays text: searchable, sharp, and small
    "font.family": "DejaVu Sans",
    "font.size": _FONT,
    "axes.labelsize": _FONT,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "legend.fontsize": _FONT - 1,
}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def figure(
    name: str, draw: Callable[[Any], Any], heading: str, caption: str, alt: str, size: tuple[float, float] = (4.6, 3.4)
) -> str:
    """A picture as inline SVG: ``draw`` is given axes; ``name`` keeps its ids apart from those of other pictures."""
    words = f"<figcaption><b>{text(heading)}</b>{text(caption)}</figcaption>"
    return f"<figure>{words}\n{inline_svg(draw_svg(name, draw, size), name, clean(alt))}</figure>"


def draw_svg(name: str, draw: Callable[[Any], Any], size: tuple[float, float], **options: Any) -> bytes:
    """A picture as an SVG file; ``draw`` is given axes, ``options`` are for ``savefig``."""
    with _style(name), warnings.catch_warnings():
        # A browser has glyphs that matplotlib's own font has not.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        canvas = _empty(size)
        draw(canvas.subplots())
        stream = io.BytesIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        canvas.savefig(stream, format="svg", metadata=nothing, **options)
    return stream.getvalue()


def _style(name: str) -> Any:
    """Settings for a picture that does not depend on the user's, nor on chance."""
    matplotlib()
    from matplotlib import style

    return style.context(["default", {**_STYLE, "svg.hashsalt": f"etana-{name}"}])


def _empty(size: tuple[float, float]) -> Any:
    """A figure that pyplot does not know, so that none stays open."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def inline_svg(svg: bytes, name: str, alt: str) -> str:
    """SVG for the body of a page: no namespaces, metadata or sheet of its own, ids that no other picture has."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for node in root.iter():
        node.tag = _local(node.tag)
        given = {_local(key): value for key, value in node.attrib.items()}
        node.attrib.clear()
        node.attrib.update({key: _own_ids(key, value, name) for key, value in given.items()})
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib.update({"role": "img", "aria-label": alt})
    return ElementTree.tostring(root, encoding="unicode")


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _own_ids(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    return _REFERENCE.sub(rf"url(#{name}-\1)", value)
