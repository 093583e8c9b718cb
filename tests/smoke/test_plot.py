"""The PNG of a scenario: of a size to read, both sides visible where they are equal, the first divergence marked."""

import io
import struct

import pytest

from parity.smoke import plot
from parity.smoke.compare import Told
from parity.smoke.windows import Band
from tests.smoke.drawn import astray, differing, matching, run, shown, steps
from tests.smoke.look import SOURCE, TARGET

pytestmark = pytest.mark.skipif(not plot.available(), reason="matplotlib comes with porttool[parity]")
MARK = (179, 18, 29)


def size(png):
    """Width and height of a PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


def count(png, colour):
    """How many pixels are exactly of a colour."""
    from matplotlib.image import imread

    picture = (imread(io.BytesIO(png))[:, :, :3] * 255).round().astype(int)
    return int((picture == colour).all(axis=2).sum())


@pytest.fixture(scope="module")
def parted():
    return plot.png(differing())


@pytest.fixture(scope="module")
def equal():
    return plot.png(matching())


def test_it_is_of_a_size_to_read(parted):
    """1600 pixels wide, and about a thousand high with twelve metrics."""
    width, height = size(parted)
    assert width == 1600 and 850 <= height <= 1100


def test_both_sides_and_the_divergence_are_drawn(parted):
    """Source, target and the mark of the first divergence have their colours."""
    assert count(parted, SOURCE) > 3000 and count(parted, TARGET) > 1500 and count(parted, MARK) > 60


def test_equal_sides_show_both(equal):
    """Where all is equal the target is still seen on the source, and nothing is marked."""
    assert count(equal, SOURCE) > 3000 and count(equal, TARGET) > 1500 and count(equal, MARK) == 0


def test_it_is_the_same_again(equal):
    """Equal runs give an equal file, so that pictures can be kept and compared."""
    assert plot.png(matching()) == equal


def panels_of(one, monkeypatch):
    """What is drawn into each plot."""
    seen = []
    monkeypatch.setattr(plot, "_panel", lambda panel, axes: seen.append((panel, axes)) or real(panel, axes))
    plot.png(one)
    return {panel.metric: axes for panel, axes in seen}


real = plot._panel


def test_axes_have_steps_and_units(monkeypatch):
    """Steps are whole numbers, and a metric's unit is named where it is known."""
    axes = panels_of(differing(), monkeypatch)["entropy"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["step 1", "2", "3", "4", "5", "6"]
    assert "nats a token" in axes.get_title(loc="left")
    assert "from step 3" in axes.get_xlabel()


def test_the_lines_are_the_series(monkeypatch):
    """Both lines hold the values of their side, the target dashed and above, and the mark is at the first step."""
    axes = panels_of(differing(), monkeypatch)["entropy"]
    lines = {line.get_color(): line for line in axes.get_lines() if line.get_marker() == "o"}
    assert list(lines[plot.SOURCE].get_ydata()) == [row["entropy"] for row in steps()]
    assert list(lines[plot.TARGET].get_ydata()) == [row["entropy"] for row in astray()]
    assert lines[plot.TARGET].is_dashed() and not lines[plot.SOURCE].is_dashed()
    assert lines[plot.TARGET].get_zorder() > lines[plot.SOURCE].get_zorder()
    marks = [line for line in axes.get_lines() if line.get_color() == plot.MARK]
    assert [list(line.get_xdata()) for line in marks] == [[3, 3]]


def test_bands_and_windows_are_drawn(monkeypatch):
    """A fixed band is two lines, a rolling mean one a side."""
    one = shown(run(), run("target", astray()), Told(windows=3, bands={"entropy": Band(0.1, 0.5)}))
    axes = panels_of(one, monkeypatch)["entropy"]
    heights = [line.get_ydata()[0] for line in axes.get_lines() if line.get_color() == plot.SOFT]
    assert heights == [0.1, 0.5]
    assert len([line for line in axes.get_lines() if len(line.get_xdata()) == 4]) == 2


def test_odd_names_and_numbers_do_no_harm():
    """A name is never a formula, and a metric without finite numbers is a plot that says so."""
    rows = [{**row, r"$\frac{a": 1.0, "none": float("nan")} for row in steps()]
    one = shown(run(rows=rows), run("target", rows), names=("$x", "\x1b[31m"))
    assert size(plot.png(one))[0] == 1600


def test_a_long_run_is_drawn():
    """A hundred steps and several seeds."""
    left = tuple(run(rows=steps(100, seed), seed=seed) for seed in (1, 2))
    right = tuple(run("target", astray(100, 60, seed), seed=seed) for seed in (1, 2))
    assert size(plot.png(shown(left, right)))[0] == 1600


def test_the_check_of_colours_sees(monkeypatch):
    """A picture whose target is not drawn has none of its colour."""
    monkeypatch.setitem(plot._RIGHT, "color", "white")
    assert count(plot.png(matching()), TARGET) == 0
