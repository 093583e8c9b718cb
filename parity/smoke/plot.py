"""A scenario as one PNG: a small plot a metric, both sides, envelope, windows, first divergence."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parity.smoke.page_panel import Panel, labels, panels, step_ticks, ticks
from parity.smoke.page_shown import Shown, how
from porttool.errors import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOURCE, TARGET, BAND, MARK, SOFT = "#0b5cad", "#e66a00", "#d9dde2", "#b3121d", "#57606a"
_DPI = 100
_COLUMNS = 4
_DOTTED = 30  # steps up to which each point has a dot


def available() -> bool:
    """Whether pictures can be drawn here: matplotlib comes with `porttool[parity]`."""
    return importlib.util.find_spec("matplotlib") is not None


def png(one: Shown) -> bytes:
    """The picture of a scenario, 1600 pixels wide. Needs matplotlib."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = panels(one.compared, one.sides)
    columns = min(_COLUMNS, max(len(drawn), 1))
    rows = max(-(-len(drawn) // columns), 1)
    # A name is text, never a formula; and nothing of the reader's own settings may change the picture.
    with rc_context({"text.parse_math": False, "font.family": "DejaVu Sans", "axes.unicode_minus": False}):
        figure = Figure(figsize=(16, max(2.9 * rows + 1.2, 5)), dpi=_DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        FigureCanvasAgg(figure)
        _heading(one, figure)
        for place, panel in enumerate(drawn, 1):
            _panel(panel, figure.add_subplot(rows, columns, place))
        _legend(one, drawn, figure)
        made = io.BytesIO()
        figure.savefig(made, format="png", metadata={"Software": "porttool", "Title": _plain(one.scenario)})
    return made.getvalue()


def _heading(one: Shown, figure: Figure) -> None:
    told = one.compared
    reason = _plain(told.reason)
    reason = reason if len(reason) <= 150 else f"{reason[:147]}..."
    figure.suptitle(
        f"{_plain(one.scenario)}: {told.verdict.value}\n{reason}\n{how(told)}", fontsize=12, x=0.01, ha="left"
    )


def _panel(panel: Panel, axes: Axes) -> None:
    unit = f"  ({panel.unit})" if panel.unit else ""
    axes.set_title(f"{_plain(panel.metric)}{unit}", fontsize=10, loc="left")
    axes.set_xlabel(_below(panel.told), fontsize=8, color=SOFT, loc="left")
    span = panel.span()
    if span is None:
        axes.text(0.5, 0.5, "no numbers", ha="center", va="center", transform=axes.transAxes, color=SOFT)
        axes.set_axis_off()
        return
    _axes(panel, axes, span)
    held = [(step, pair) for step, pair in enumerate(panel.band, 1) if pair]
    if held:
        at, edges = zip(*held, strict=True)
        axes.fill_between(
            at, [low for low, _ in edges], [high for _, high in edges], color=BAND, linewidth=0, zorder=1
        )
    for edge in panel.limits or ():
        axes.axhline(edge, **_LIMIT)
    for mean in panel.means:
        axes.plot(*_xy(mean.points), color=SOURCE if mean.side == "left" else TARGET, **_MEAN)
    for trace in panel.traces:
        style: dict[str, Any] = _LEFT if trace.side == "left" else _RIGHT
        if panel.steps > _DOTTED:
            style = {**style, "marker": "", "linewidth": style["linewidth"] / 1.6}
        for stroke in trace.strokes():
            axes.plot(*_xy(stroke), **style)
    if panel.first is not None:
        axes.axvline(panel.first, **_FIRST)
        late = panel.first > panel.steps / 2
        axes.annotate(
            f"step {panel.first}",
            (panel.first, 1),
            (-4 if late else 4, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if late else "left",
            va="top",
            color=MARK,
            fontsize=8.5,
            fontweight="bold",
            zorder=6,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
        )


# The target lies on top, dashed and narrower, so that equal lines show both.
_LEFT: dict[str, Any] = {"color": SOURCE, "linewidth": 3.6, "marker": "o", "markersize": 6, "zorder": 3}
_RIGHT: dict[str, Any] = {
    "color": TARGET,
    "linewidth": 1.8,
    "linestyle": (0, (4, 2.5)),
    "marker": "o",
    "markersize": 4,
    "markerfacecolor": "white",
    "zorder": 4,
}
_MEAN: dict[str, Any] = {"linewidth": 1, "linestyle": (0, (1, 2)), "alpha": 0.75, "zorder": 2}
_FIRST: dict[str, Any] = {"color": MARK, "linewidth": 1.4, "linestyle": (0, (2, 2)), "zorder": 5}
_LIMIT: dict[str, Any] = {"color": SOFT, "linewidth": 1, "linestyle": (0, (1, 3)), "zorder": 1}


def _axes(panel: Panel, axes: Axes, span: tuple[float, float]) -> None:
    axes.set_ylim(*span)
    air = max((panel.steps - 1) * 0.03, 0.3)
    axes.set_xlim(1 - air, panel.steps + air)
    at = ticks(*span, whole=panel.whole)
    axes.set_yticks(at, labels(at), fontsize=8)
    steps = step_ticks(panel.steps)
    axes.set_xticks(steps, [f"step {steps[0]}", *map(str, steps[1:])], fontsize=8)
    axes.grid(axis="y", color="#d0d7de", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _legend(one: Shown, drawn: list[Panel], figure: Figure) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown: list[Any] = [
        Line2D([], [], label=_plain(one.names[0]), **_LEFT),
        Line2D([], [], label=_plain(one.names[1]), **_RIGHT),
    ]
    window = next((panel.window for panel in drawn if panel.means), 0)
    if window:
        shown.append(Line2D([], [], label=f"mean of {window} steps", color=SOFT, **_MEAN))
    if any(any(panel.band) for panel in drawn):
        shown.append(Patch(color=BAND, label="envelope of the source's own runs"))
    if any(panel.limits for panel in drawn):
        shown.append(Line2D([], [], label="band of the manifest", **_LIMIT))
    if any(panel.first is not None for panel in drawn):
        shown.append(Line2D([], [], label="first divergence", **_FIRST))
    place: dict[str, Any] = {"loc": "outside lower left", "ncols": len(shown), "frameon": False}
    figure.legend(handles=shown, fontsize=10, handlelength=4, **place)


def _xy(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [step for step, _ in points], [value for _, value in points]


def _below(told: str) -> str:
    """The line below a plot, broken where a new thing is told."""
    return ";\n".join(map(_plain, told.split("; ")))


def _plain(text: str) -> str:
    return visible(text)
