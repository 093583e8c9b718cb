"""A panel as inline SVG: readable without colour, with a title and a description, values on hover."""

from __future__ import annotations

from collections.abc import Sequence

from parity.smoke.page_panel import Panel, Trace, apart, labels, number, step_ticks, ticks
from parity.webpage import Html, element

WIDTH, HEIGHT = 380, 206
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 34, 26
_HOVERED = 60  # steps; in a longer run the table says more than a pointer can reach
_DOTTED = 30  # steps up to which each point has a dot

# Source: blue, solid, wide; target: orange, dashed, narrow and on top, so that equal lines show both.
STYLE = """\
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(21rem, 1fr)); gap: .4rem 1rem; }
.panels figure { margin: .3rem 0; min-width: 0; }
svg.panel { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); overflow: visible; }
svg .name { font-weight: 600; font-size: 12.5px; } svg .soft { fill: var(--soft); }
svg .frame { fill: none; stroke: var(--line); } svg .grid { stroke: var(--line); stroke-width: .6; }
svg .band { fill: var(--band); } svg .limit { stroke: var(--soft); stroke-dasharray: 1 3; }
svg .left { fill: none; stroke: var(--source); stroke-width: 4; }
svg .right { fill: none; stroke: var(--target); stroke-width: 2; stroke-dasharray: 6 5; }
svg .mean { stroke-width: 1; stroke-dasharray: 1 2; opacity: .75; }
svg circle.left { fill: var(--source); stroke: none; } svg circle.right { fill: var(--paper); stroke-dasharray: none; }
svg .first { stroke: var(--bad); stroke-width: 1.4; stroke-dasharray: 2 2; }
svg .mark { fill: var(--bad); font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
svg .over { fill: transparent; } svg .over:hover { fill: var(--soft); fill-opacity: .12; }
@media print { .panels { grid-template-columns: 1fr 1fr; } }
"""


class _Place:
    """Where a step and a value are in the drawing."""

    def __init__(self, steps: int, low: float, high: float) -> None:
        self.steps, self.low, self.high = steps, low, high
        # A single step stands in the middle.
        self.pitch = (WIDTH - _LEFT - _RIGHT) / max(steps - 1, 1)

    def x(self, step: float) -> str:
        middle = (WIDTH - _RIGHT + _LEFT) / 2
        return _short(_LEFT + (step - 1) * self.pitch if self.steps > 1 else middle)

    def y(self, value: float) -> str:
        part = (value - self.low) / (self.high - self.low)
        return _short(HEIGHT - _BOTTOM - part * (HEIGHT - _TOP - _BOTTOM))

    def points(self, stroke: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(step)},{self.y(value)}" for step, value in stroke)


def drawing(panel: Panel, ident: str, sides: tuple[str, str]) -> Html:
    """The SVG of a panel. `ident` is unique in the page; `sides` are the names a reader knows the sides by."""
    what = f"{panel.metric} over {panel.steps} steps: {sides[0]} and {sides[1]}. {panel.told}"
    parts = [
        element("title", f"{panel.metric}: {panel.told}", id=f"{ident}-t"),
        element("desc", what, id=f"{ident}-d"),
        element("text", *_heading(panel), x="6", y="14"),
    ]
    span = panel.span()
    if span is None:
        parts.append(_text("no numbers", WIDTH / 2, HEIGHT / 2, "soft", anchor="middle"))
    else:
        place = _Place(panel.steps, *span)
        parts += [*_axes(panel, place), *_allowed(panel, place), *_lines(panel, place), *_divergence(panel, place)]
        parts += _hover(panel, place, sides)
    size = f"0 0 {WIDTH} {HEIGHT}"
    named = {"role": "img", "aria_labelledby": f"{ident}-t {ident}-d", "class_": "panel"}
    return element("svg", Html("\n".join(parts)), viewBox=size, width=f"{WIDTH}", height=f"{HEIGHT}", **named)


def _heading(panel: Panel) -> list[Html]:
    named = element("tspan", panel.metric, class_="name")
    return [named, element("tspan", panel.unit, class_="soft", dx="6")] if panel.unit else [named]


def legend(sides: tuple[str, str], panels: Sequence[Panel]) -> Html:
    """What the lines are, as one small drawing."""
    window = next((panel.window for panel in panels if panel.means), 0)
    envelope, limits = any(any(panel.band) for panel in panels), any(panel.limits for panel in panels)
    parted = any(panel.first is not None for panel in panels)
    keys = [("left", sides[0]), ("right", sides[1])]
    keys += [("left mean", f"mean of {window} steps")] if window else []
    keys += [("band", "envelope of the source's own runs")] if envelope else []
    keys += [("limit", "band of the manifest")] if limits else []
    keys += [("first", "first divergence")] if parted else []
    parts: list[Html] = []
    at = 4.0
    for kind, told in keys:
        shape = {"x1": _short(at), "x2": _short(at + 30), "y1": "9", "y2": "9"}
        box = {"x": _short(at), "y": "4", "width": "30", "height": "10"}
        parts.append(element("rect", **box, class_=kind) if kind == "band" else element("line", **shape, class_=kind))
        parts.append(_text(told, at + 36, 13))
        at += 60 + 6.6 * len(told)
    size = {"viewBox": f"0 0 {_short(at)} 18", "width": _short(at), "height": "18", "class_": "panel legend"}
    return element("svg", *parts, role="img", aria_label=f"Lines: {', '.join(told for _, told in keys)}", **size)


def _axes(panel: Panel, place: _Place) -> list[Html]:
    right, bottom = _short(WIDTH - _RIGHT), HEIGHT - _BOTTOM
    found = []
    at = ticks(place.low, place.high, whole=panel.whole)
    for value, label in zip(at, labels(at), strict=True):
        y = place.y(value)
        found.append(element("line", class_="grid", x1=f"{_LEFT}", x2=right, y1=y, y2=y))
        found.append(_text(label, _LEFT - 6, float(y) + 4, anchor="end"))
    for step in step_ticks(place.steps):
        found.append(_text(str(step), float(place.x(step)), bottom + 15, anchor="middle"))
    found.append(_text("step", 6, bottom + 15, "soft"))
    box = {"x": f"{_LEFT}", "y": f"{_TOP}", "width": _short(WIDTH - _LEFT - _RIGHT), "height": _short(bottom - _TOP)}
    return [*found, element("rect", **box, class_="frame")]


def _allowed(panel: Panel, place: _Place) -> list[Html]:
    """The envelope as an area, fixed limits as two lines."""
    held = [(step, pair) for step, pair in enumerate(panel.band, 1) if pair]
    found = []
    if held:
        there = place.points([(step, pair[1]) for step, pair in held])
        back = place.points([(step, pair[0]) for step, pair in reversed(held)])
        found.append(element("polygon", class_="band", points=f"{there} {back}"))
    for edge in panel.limits or ():
        y, right = place.y(edge), _short(WIDTH - _RIGHT)
        found.append(element("line", class_="limit", x1=f"{_LEFT}", x2=right, y1=y, y2=y))
    return found


def _lines(panel: Panel, place: _Place) -> list[Html]:
    found = []
    for mean in panel.means:
        found.append(element("polyline", class_=f"{mean.side} mean", points=place.points(mean.points)))
    for trace in sorted(panel.traces, key=lambda trace: trace.side):
        for stroke in trace.strokes():
            found.append(element("polyline", class_=trace.side, points=place.points(stroke)))
        if panel.steps <= _DOTTED:
            found += _dots(trace, place)
    return found


def _dots(trace: Trace, place: _Place) -> list[Html]:
    radius = "3.4" if trace.side == "left" else "2.4"
    return [element("circle", class_=trace.side, cx=place.x(k), cy=place.y(v), r=radius) for k, v in trace.points()]


def _divergence(panel: Panel, place: _Place) -> list[Html]:
    if panel.first is None:
        return []
    x = place.x(panel.first)
    late = panel.first > place.steps / 2
    mark = _text(f"step {panel.first}", float(x) + (-5 if late else 5), _TOP + 12, "mark", "end" if late else "start")
    return [element("line", class_="first", x1=x, x2=x, y1=f"{_TOP}", y2=f"{HEIGHT - _BOTTOM}"), mark]


def _hover(panel: Panel, place: _Place, sides: tuple[str, str]) -> list[Html]:
    """A strip a step that names the values below the pointer."""
    if panel.steps > _HOVERED:
        return []
    found = []
    for step in range(1, panel.steps + 1):
        held = [trace.values[step - 1] if step <= len(trace.values) else None for trace in panel.traces]
        shown = zip(panel.traces, apart(*held), strict=True)
        told = "; ".join(f"{sides[trace.side == 'right']} {value}" for trace, value in shown)
        allowed = panel.band[step - 1] if step <= len(panel.band) else None
        told += f"; envelope {number(allowed[0])} to {number(allowed[1])}" if allowed else ""
        x = _short(float(place.x(step)) - place.pitch / 2)
        box = {"x": x, "y": f"{_TOP}", "width": _short(place.pitch), "height": _short(HEIGHT - _TOP - _BOTTOM)}
        found.append(element("rect", element("title", f"step {step}: {told}"), **box, class_="over"))
    return found


def _text(told: str, x: float, y: float, kind: str = "", anchor: str = "start") -> Html:
    more = {"class_": kind} if kind else {}
    more |= {"text_anchor": anchor} if anchor != "start" else {}
    return element("text", told, x=_short(x), y=_short(y), **more)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
