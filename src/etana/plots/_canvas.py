"""What all pictures share: matplotlib on demand, colours, safe text, and axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from etana.errors import InputError
from etana.typing import Axes

__all__ = [
    "CLASS_COLOURS",
    "GRID",
    "INK",
    "MAIN",
    "MUTED",
    "PALE",
    "class_colour",
    "class_ticks",
    "clean",
    "counted",
    "drawing_axes",
    "label",
    "label_bars",
    "matplotlib",
    "name_columns",
    "one_of",
    "quiet_axes",
    "strip_below",
    "write_cells",
]

INK, MUTED, GRID, PALE = "#1b2730", "#56636d", "#d8dee3", "#eef1f4"
MAIN = "#0072b2"
# Okabe and Ito's palette, which people with any common colour blindness can tell apart, without its pale yellow.
CLASS_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#4d4d4d")
_ELLIPSIS = "…"
_MOST_TICKS = 24
_MOST_LETTERS = 30  # that fit along an axis


def matplotlib() -> Any:
    """The package, imported when a picture is first drawn."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            "pictures need matplotlib, which is not installed; install the extra 'plot': pip install 'etana[plot]'"
        ) from None
    return matplotlib


def drawing_axes(display: Any, ax: Axes | None) -> Any:
    """The axes given, or new ones; kept on the display as ``ax_``, their figure as ``figure_``."""
    matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    display.ax_, display.figure_ = ax, ax.figure
    return ax


def clean(value: Any, limit: int | None = None) -> str:
    """A name as one line of printable text, shortened in the middle to ``limit`` characters."""
    value = value.item() if isinstance(value, np.generic) else value
    text = "".join(c if c.isprintable() else " " for c in str(value)).strip()
    if limit is not None and len(text) > limit:
        head = (limit - 1) * 2 // 3
        text = text[:head] + _ELLIPSIS + text[len(text) - (limit - 1 - head) :]
    return text


def label(value: Any, limit: int | None = None) -> str:
    """A name for a picture: no dollar starts a formula, and no underscore hides it from a legend."""
    text = clean(value, limit).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def class_colour(index: int, n_classes: int) -> str | None:
    """The colour of a class; None if there are more classes than colours that can be told apart."""
    return CLASS_COLOURS[index] if n_classes <= len(CLASS_COLOURS) else None


def class_ticks(classes: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Positions and names for an axis of classes; of very many only some are named."""
    n = classes.size
    ticks = np.arange(0, n, max(-(-n // _MOST_TICKS), 1))
    return ticks, [label(classes[k], 16 if n <= 4 else 10) for k in ticks]


def name_columns(ax: Any, classes: np.ndarray) -> None:
    """Name the classes along the x-axis, at a slant where they would touch."""
    ticks, names = class_ticks(classes)
    ax.set_xticks(ticks, names)
    if max(map(len, names)) * len(names) > _MOST_LETTERS:
        for name in ax.get_xticklabels():
            name.set(rotation=45, ha="right", rotation_mode="anchor")


def counted(number: int, noun: str) -> str:
    """``1 row``, ``2 rows``, ``2 classes``."""
    plural = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a parameter that is not one of a few words."""
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")


def quiet_axes(ax: Any, grid: str | None = "y") -> None:
    """Fewer lines: two spines, and a pale grid behind the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.tick_params(colors=MUTED, labelcolor=INK)
    if grid is not None:
        ax.grid(axis=grid, color=GRID, linewidth=0.7)
        ax.set_axisbelow(True)


def strip_below(ax: Any, heights: np.ndarray, centres: np.ndarray, widths: Any, ylabel: str) -> Any:
    """A low bar chart under the axes that shares their x-axis and carries their ticks and label."""
    strip = ax.inset_axes((0.0, -0.32, 1.0, 0.24), sharex=ax)
    strip.bar(centres, heights, width=widths, color="#9aa7b1")
    strip.set_ylim(0, max(float(np.max(heights)), 1e-12) * 1.05)
    strip.set_yticks([])
    strip.set_ylabel(ylabel, rotation=0, ha="right", va="center", color=INK)
    strip.set_xlabel(ax.get_xlabel())
    ax.set_xlabel("")
    ax.tick_params(axis="x", labelbottom=False)
    quiet_axes(strip, grid=None)
    strip.spines["left"].set_visible(False)
    return strip


def label_bars(strip: Any, texts: list[str]) -> None:
    """A text above each bar, and room for it."""
    top = strip.get_ylim()[1]
    for bar, text in zip(strip.patches, texts, strict=True):
        middle = bar.get_x() + bar.get_width() / 2
        strip.text(middle, bar.get_height() + 0.06 * top, text, ha="center", va="bottom", fontsize=7.5, color=INK)
    strip.set_ylim(0, 1.5 * top)


def write_cells(ax: Any, mesh: Any, texts: Any, size: float) -> None:
    """Text in the cells of a ``pcolormesh``, dark on pale cells and white on dark ones."""
    shade = mesh.norm(np.asarray(mesh.get_array(), dtype=np.float64)).reshape(np.shape(texts))
    colours = mesh.cmap(np.ma.filled(shade, 0.0))
    brightness = colours[..., :3] @ np.array([0.299, 0.587, 0.114])
    for (row, column), text in np.ndenumerate(np.asarray(texts, dtype=object)):
        ink = INK if brightness[row, column] > 0.55 else "white"
        drawn = ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=size, linespacing=1.1)
        drawn.set_in_layout(False)  # it lies inside the axes, and measuring it takes time
