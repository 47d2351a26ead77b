"""When the policy stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from etana.errors import InputError
from etana.plots._canvas import (
    CLASS_COLOURS,
    INK,
    MAIN,
    MUTED,
    PALE,
    drawing_axes,
    label,
    label_bars,
    matplotlib,
    one_of,
    quiet_axes,
    strip_below,
)
from etana.plots._outcome import model_of
from etana.policies.stopping import OrderStopping
from etana.typing import ArrayLike, Axes, Figure, Fitted

__all__ = ["PolicyDisplay"]

PolicyKind: TypeAlias = Literal["auto", "interval", "simplex", "stages"]

_RARE = 0.005  # stages that fewer rows reach are not worth a picture
_MOST_STAGES = 40
_MOST_STAGES_WITH_TEXT = 12
_LOG_ODDS = np.linspace(-13.0, 13.0, 2601)
_ODDS_TICKS = np.array([0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999])
_PIXELS = 220
_SURE = (0.9, 0.99)
_HEIGHT = np.sqrt(3) / 2


class PolicyDisplay:
    """Picture of a policy.

    For two classes, the beliefs that go on asking, stage by stage. For three, what happens at every belief of the
    simplex, at a few stages. For any number, the chance of reaching each stage and of stopping there.

    Parameters
    ----------
    policy : StoppingPolicy or RegressionStopping
        When a fixed order stops.
    classes : array (N,)
    priors : array (N,), optional
        Where cases begin.

    Attributes
    ----------
    reach : array
        Chance, under the model, that at least k features are asked, k = 0, 1, ..., as far as the picture goes.
    stop : array
        Chance that exactly k features are asked.
    ax_, figure_ : matplotlib Axes and Figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from etana import ETANAClassifier
    >>> from etana.plots import PolicyDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = PolicyDisplay.from_estimator(ETANAClassifier(feature_costs=0.02).fit(X, y))
    >>> float(display.reach[0])
    1.0
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, policy: OrderStopping, classes: ArrayLike, priors: ArrayLike | None = None) -> None:
        self.policy = policy
        self.classes = np.asarray(classes)
        self.priors = None if priors is None else np.asarray(priors)
        reach = np.asarray(policy.expectation.reach)
        stop = reach - np.append(reach[1:], 0.0)
        last = min(int(np.flatnonzero(reach >= _RARE).max(initial=0)), _MOST_STAGES)
        self.reach, self.stop = reach[: last + 1], stop[: last + 1]

    @classmethod
    def from_estimator(
        cls,
        estimator: Fitted,
        *,
        kind: PolicyKind = "auto",
        stages: Sequence[int] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the policy of a fitted classifier; see :meth:`plot`."""
        model = model_of(estimator)
        if model.policy.stages is None:
            raise InputError(
                f"{type(estimator).__name__} has no fixed order, so that its stops cannot be drawn by stage; draw its "
                "graph: etana.plots.GraphDisplay"
            )
        return cls(model.policy.stages, model.classes, model.priors).plot(ax, kind=kind, stages=stages)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: PolicyKind = "auto",
        stages: Sequence[int] | None = None,
        magnify: float = 3.0,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"auto", "interval", "simplex", "stages"}
            ``"interval"`` is for two classes, ``"simplex"`` for three, ``"stages"`` for any number; ``"auto"``
            takes the first that fits.
        stages : sequence of int, optional
            Stages of the simplex picture; the first four that are reached, if not given.
        magnify : float
            Policies stop near the corners of the simplex. Probabilities are drawn raised to the power 1 / magnify
            (and made to sum to one), which gives the corners more room; 1 leaves them as they are. Dotted lines
            are where the most likely class has 90 % and 99 %.
        """
        one_of("kind", kind, ("auto", "interval", "simplex", "stages"))
        n = self.classes.size
        if kind == "auto":
            kind = "interval" if n == 2 else "simplex" if n == 3 else "stages"
        if (kind, n) not in (("interval", 2), ("simplex", 3)) and kind != "stages":
            raise InputError(f"kind is {kind!r}, but there are {n} classes; use kind='stages' or 'auto'")
        if stages is None:
            stages = range(max(min(4, self.reach.size, self.policy.horizon), 1))
        ax = drawing_axes(self, ax)
        if kind == "interval":
            self._draw_interval(ax)
        elif kind == "simplex":
            self._draw_simplex(ax, [int(k) for k in stages], magnify)
        else:
            self._draw_stages(ax)
        return self

    def interval(self, stage: int) -> tuple[float, float]:
        """Least and greatest belief in the second class that go on at a stage; NaN if none does. Two classes only."""
        x = 1.0 / (1.0 + np.exp(-_LOG_ODDS))
        going = x[~self.policy.stops(stage, np.column_stack([1.0 - x, x]))]
        return (float(going[0]), float(going[-1])) if going.size else (np.nan, np.nan)

    def _draw_interval(self, ax: Any) -> None:
        n_stages = self.reach.size
        bands = np.array([self._log_odds(k) for k in range(n_stages)])
        low, high = bands.T
        end = np.abs(_LOG_ODDS).max()
        first, second = self.policy.decide(np.eye(2))
        for bottom, top, colour in (
            (-end, low, CLASS_COLOURS[first]),
            (low, high, PALE),
            (high, end, CLASS_COLOURS[second]),
        ):
            ax.bar(np.arange(n_stages), top - bottom, bottom=bottom, width=0.9, color=colour, linewidth=0)
        self._odds_axis(ax, bands)
        names = [label(c, 16) for c in self.classes]
        ax.set_ylabel(f"belief in {names[1]}")
        ax.set_xlim(-0.6, n_stages - 0.4)
        ax.set_xlabel("features asked so far")
        ax.xaxis.get_major_locator().set_params(integer=True)
        decisions = {f"decide {names[k]}": CLASS_COLOURS[k] for k in dict.fromkeys((first, second))}
        _legend(ax, {**decisions, "ask on": PALE})
        quiet_axes(ax, None)
        strip = strip_below(ax, 100 * self.reach, np.arange(n_stages), 0.9, "reached")
        if n_stages <= _MOST_STAGES_WITH_TEXT:
            label_bars(strip, [f"{share:.0%}" for share in self.reach])

    def _log_odds(self, stage: int) -> tuple[float, float]:
        """The interval of a stage as log-odds; where none goes on, the point where both decisions cost the same."""
        low, high = self.interval(stage)
        if np.isnan(low):
            regrets = self.policy.regrets
            low = high = regrets[0, 1] / max(regrets[0, 1] + regrets[1, 0], 1e-300)
        ends = np.clip([low, high], 1e-6, 1 - 1e-6)
        return tuple(np.log(ends / (1 - ends)).tolist())

    def _odds_axis(self, ax: Any, bands: np.ndarray) -> None:
        """An axis in log-odds, labelled in per cent, wide enough for all bands."""
        widest = max(float(np.abs(bands).max()) + 1.4, 3.0)
        ticks = np.log(_ODDS_TICKS / (1 - _ODDS_TICKS))
        shown = np.abs(ticks) < widest
        ax.set_yticks(ticks[shown], [f"{100 * p:g}%" for p in _ODDS_TICKS[shown]])
        ax.set_ylim(-widest, widest)

    def _draw_simplex(self, ax: Any, stages: list[int], magnify: float) -> None:
        n_columns = min(len(stages), 2)
        for place, stage in enumerate(stages):
            row, column = divmod(place, n_columns)
            self._draw_triangle(ax, stage, magnify, 1.25 * column, -1.2 * row)
        ax.set_aspect("equal")
        ax.set_xlim(-0.08, 1.25 * n_columns - 0.17)
        ax.set_ylim(-1.2 * ((len(stages) - 1) // n_columns) - 0.08, _HEIGHT + 0.26)
        ax.set_axis_off()
        colours = {f"decide {label(c, 16)}": CLASS_COLOURS[i] for i, c in enumerate(self.classes)}
        _legend(ax, {**colours, "ask on": PALE}, n_columns=2)

    def regions(self, stage: int, resolution: int = _PIXELS, magnify: float = 1.0) -> np.ndarray:
        """What happens on the simplex at a stage, as an image (rows from the bottom up). Three classes only.

        The class decided, 3 where the next feature is asked, -1 outside the triangle. Classes are at the left, the
        right and the top corner.
        """
        beliefs = _pixel_beliefs(resolution, magnify).reshape(-1, 3)
        inside = ~np.isnan(beliefs[:, 0])
        out = np.full(len(beliefs), -1)
        out[inside] = np.where(
            self.policy.stops(stage, beliefs[inside]), self.policy.decide(beliefs[inside]), self.classes.size
        )
        return out.reshape(resolution, resolution)

    def _draw_triangle(self, ax: Any, stage: int, magnify: float, dx: float, dy: float) -> None:
        patches, colours = matplotlib().patches, matplotlib().colors
        palette = [colours.to_rgb(c) for c in (*CLASS_COLOURS[:3], PALE, "white")]
        image = np.array(palette)[self.regions(stage, magnify=magnify)]
        corners = np.array([[dx, dy], [dx + 1, dy], [dx + 0.5, dy + _HEIGHT]])
        outline = patches.Polygon(corners, closed=True, fill=False, edgecolor=INK, linewidth=1.0)
        ax.add_patch(outline)
        drawn = ax.imshow(image, origin="lower", extent=(dx, dx + 1, dy, dy + _HEIGHT), interpolation="none")
        drawn.set_clip_path(outline)
        sure = _pixel_beliefs(_PIXELS, magnify).max(axis=2)
        across = (np.arange(_PIXELS) + 0.5) / _PIXELS
        ax.contour(dx + across, dy + _HEIGHT * across, sure, _SURE, colors=INK, linewidths=0.7, linestyles="dotted")
        share = self.reach[stage] if stage < self.reach.size else 0.0
        title = "before the first" if stage == 0 else f"after {stage}"
        ax.text(dx + 0.5, dy + _HEIGHT + 0.13, title, ha="center", color=INK)
        ax.text(dx + 0.5, dy + _HEIGHT + 0.04, f"{share:.0%} get here", ha="center", color=MUTED, fontsize="small")
        if stage == 0 and self.priors is not None:
            prior = self.priors ** (1 / magnify)
            x, y = prior @ corners / prior.sum()
            ax.plot(x, y, marker="o", markersize=5, color=INK)

    def _draw_stages(self, ax: Any) -> None:
        k = np.arange(self.reach.size)
        ax.bar(k, 100 * self.stop, width=0.85, color=MAIN, label="stops there")
        ax.plot(k, 100 * self.reach, marker="o", markersize=3.5, color=CLASS_COLOURS[1], label="gets there")
        ax.set_ylim(0, 105)
        ax.set_xlabel("features asked")
        ax.set_ylabel("chance under the model (%)")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(frameon=False, fontsize="small")
        quiet_axes(ax)


def _pixel_beliefs(resolution: int, magnify: float) -> np.ndarray:
    """Belief at each pixel of a triangle, (resolution, resolution, 3); NaN outside."""
    across = (np.arange(resolution) + 0.5) / resolution
    x, height = np.meshgrid(across, across)
    drawn = np.stack([1 - x - height / 2, x - height / 2, height], axis=-1)
    drawn[(drawn < 0).any(axis=-1)] = np.nan
    beliefs = drawn**magnify
    return beliefs / beliefs.sum(axis=-1, keepdims=True)


def _legend(ax: Any, colours: dict[str, str], n_columns: int = 3) -> None:
    patches = matplotlib().patches
    handles = [patches.Patch(facecolor=c, edgecolor=MUTED, linewidth=0.5, label=name) for name, c in colours.items()]
    ax.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns,
        frameon=False, fontsize="small", borderaxespad=0.2, columnspacing=1.2, handlelength=1.2,
    )  # fmt: skip
