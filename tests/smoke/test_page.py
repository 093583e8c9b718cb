"""The page of a smoke run: verdict first, everything compared, every plot readable without colour or a mouse."""

import errno
import re
from dataclasses import replace

import pytest

from parity.smoke import page as module
from parity.smoke import plot
from parity.smoke.compare import Told
from parity.smoke.envelope import measured
from parity.smoke.page import file_name, html, sections, write
from parity.smoke.page_panel import Panel, Trace, apart, chosen, labels, number, panels, step_ticks, ticks
from parity.smoke.page_shown import Cause, answer
from parity.smoke.page_svg import drawing, legend
from parity.smoke.windows import Band
from porttool.errors import EnvironmentFault
from tests.smoke.drawn import astray, differing, matching, run, shown, steps
from tests.smoke.look import fetched, parsed, plots

SIDES = ("source", "target")


def text_of(made):
    """What a reader sees, in its order."""
    return " ".join(re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(style|desc|title).*?</\1>", " ", made)).split())


def noisy(k, side="source", rows=None):
    """A run whose entropy is a little other than that of the next."""
    rows = [dict(row) for row in rows or steps()]
    for row in rows:
        row["entropy"] *= 1 + (k * 37 % 11 - 5) / 500
    return run(side, rows)


def within(rows=None, **more):
    """A comparison against the envelope of eight runs of the source."""
    return shown(noisy(3), noisy(4, "target", rows), Told(measured([noisy(k) for k in range(8)]), 3), **more)


def test_the_verdict_stands_first():
    """The first words are the answer, also of nothing and of several."""
    assert text_of(html([matching()])).startswith("Convergence smoke MATCH: plain: 6 steps")
    both = html([matching(), differing()])
    assert text_of(both).startswith("Convergence smoke DIFFER in 1 of 2 scenarios: plain: step[3].loss")
    assert '<p class="answer differ">' in both
    assert text_of(html([])).startswith("Convergence smoke INCOMPARABLE: nothing was run")


def test_everything_is_on_it():
    """First divergence, cause, commits, the three tables, the largest differences, how to run it again."""
    causes = (Cause("0123456789abcdef", "align log-probs", "opens the gap: entropy at step 3"),)
    told = text_of(html([differing(causes=causes, command="porttool smoke --scenario plain")]))
    for part in (
        "First divergence where step[3].loss",
        "likely cause the terms of the loss",
        "0123456789ab align log-probs opens the gap",
        "Differences metric equal steps differs from step",
        "Per step step side equal score",
        "Windows metric steps mean source",
        "Validation metric source target equal",
        "Everything that is wrong",
        "porttool smoke --scenario plain",
    ):
        assert part in told, part


def test_it_says_what_was_compared():
    """Refs, commits, seeds, steps, time, and the environment that both sides share."""
    told = text_of(html([matching()]))
    assert "ref main-source main-target" in told and f"commit {'73' * 20} {'74' * 20}" in told
    assert "6 steps, seed 1; 6 of 6 steps equal bit for bit" in told
    assert "source 9 s, target 9 s" in told
    assert "Environment of both env.device cpu env.torch 2.9.0 env.verl 0.7.1" in told


def test_a_crash_shows_its_last_lines():
    """A side that died is not hidden behind a verdict."""
    one = shown(run(), run("target", steps()[:2], crashed="Traceback\nKeyError: 'arctic'"))
    told = text_of(html([one]))
    assert "INCOMPARABLE" in told and "target, seed 1 ended early" in told and "KeyError: &#x27;arctic&#x27;" in told
    assert plots(html([one]))[0]["right"] and len(plots(html([one]))[0]["right"]) == 2


def test_it_nests_and_fetches_nothing():
    """The page is well formed, self-contained, and each id is there once."""
    made = html([matching(), differing(), within()])
    seen = parsed(made)
    ids = [told["id"] for _, told in seen if "id" in told]
    assert len(ids) == len(set(ids)) and fetched(made) == []
    links = [told["href"].removeprefix("#") for tag, told in seen if tag == "a"]
    assert len(links) == 3 and set(links) <= set(ids)


def test_names_are_text():
    """Metrics, refs and messages with markup in them stay text."""
    evil = '<script>x</script>"&'
    rows = [{**row, evil: 1.0} for row in steps()]
    one = shown(run(rows=rows, ref=evil), run("target", [{**row, evil: 2.0} for row in steps()]), names=(evil, "b"))
    made = html([replace(one, causes=(Cause(evil, evil, evil),), command=evil)])
    assert "script" not in {tag for tag, _ in parsed(made)} and "&lt;script&gt;" in made


def test_it_is_light():
    """Two scenarios of six steps and fifty metrics stay below 300 kB, and so do runs of a hundred steps."""
    rows = [{**row, **{f"actor/{k}": k / 7 for k in range(40)}} for row in steps()]
    moved = [{**row, **{f"actor/{k}": k / 7 + 1 for k in range(40)}} for row in astray()]
    one = shown(run(rows=rows), run("target", moved))
    assert len(html([one, one]).encode()) < 300_000
    long = shown(run(rows=steps(100)), run("target", astray(100, 40)))
    assert len(html([long, long]).encode()) < 300_000


def test_a_plot_says_what_it_shows_without_colour():
    """Each plot has a title, a description, the values of each step, and names in its legend."""
    seen = parsed(html([differing()]))
    svgs = [told for tag, told in seen if tag == "svg" and told["class"] == "panel"]
    assert len(svgs) == 11 and all(told["role"] == "img" and told["aria-labelledby"] for told in svgs)
    made = html([differing()])
    assert "entropy over 6 steps: source and target. differs in 4 of 6 steps, from step 3" in made
    assert re.search(r"<title>step 3: source 0\.193\d+; target 0\.243\d+</title>", made)
    assert re.search(r"\.right \{[^}]*stroke-dasharray: 6 5", made)
    assert "aria-label" in legend(SIDES, panels(differing().compared, SIDES))


def test_the_first_divergence_is_marked():
    """A line and a label stand at the first step that differs; nowhere else."""
    made = {panel.metric: drawing(panel, "x", SIDES) for panel in panels(differing().compared, SIDES)}
    marked = {name for name, svg in made.items() if 'class="first"' in svg}
    assert marked == {"loss", "ppo_kl", "entropy"}
    line = re.search(r'class="first" x1="([\d.]+)"', made["entropy"])
    points = plots(made["entropy"])[0]["right"]
    assert float(line[1]) == points[2][0] and ">step 3</text>" in made["entropy"]
    assert not any('class="first"' in drawing(panel, "x", SIDES) for panel in panels(matching().compared, SIDES))


def test_more_is_higher_and_the_target_on_top():
    """A larger value stands higher, a later step further right, and the target is drawn over the source."""
    made = drawing(Panel("x", (Trace("right", "t", (1.0, 2.0)), Trace("left", "s", (1.0, 3.0)))), "x", SIDES)
    drawn = plots(made)[0]
    assert drawn["left"][0] == drawn["right"][0]
    assert drawn["left"][1][1] < drawn["right"][1][1] < drawn["left"][0][1]
    assert drawn["left"][0][0] < drawn["left"][1][0] and drawn["left"][1][0] == drawn["right"][1][0]
    assert made.index('<polyline class="left"') < made.index('<polyline class="right"')


def test_an_envelope_is_drawn():
    """The band of the source's own runs is an area; what leaves it is marked, what stays is not."""
    inside = {panel.metric: panel for panel in panels(within().compared, SIDES)}["entropy"]
    outside = {panel.metric: panel for panel in panels(within(astray()).compared, SIDES)}["entropy"]
    assert inside.first is None and "within the envelope in all 6 steps" in inside.told
    assert outside.first == 3 and "leaves the envelope in 4 of 6 steps, from step 3" in outside.told
    polygon = re.search(r'<polygon class="band" points="([^"]*)"', drawing(inside, "x", SIDES))
    assert len(polygon[1].split()) == 12
    assert all(low <= trace.values[k] <= high for k, (low, high) in enumerate(inside.band) for trace in inside.traces)
    assert "envelope" in legend(SIDES, [inside]) and "Envelope: every metric" in html([within()])


def test_fixed_bands_are_drawn():
    """A band of the manifest is two lines, within the plot even where the series never comes near."""
    one = shown(told=Told(bands={"entropy": Band(0.1, 0.9, "as declared")}))
    panel = next(panel for panel in panels(one.compared, SIDES) if panel.metric == "entropy")
    assert panel.limits == (0.1, 0.9) and drawing(panel, "x", SIDES).count('class="limit"') == 2
    low, high = panel.span()
    assert low <= 0.1 and high >= 0.9
    assert "as declared" in html([one])


def test_windows_are_drawn_at_their_middle():
    """A rolling mean stands above the middle of its window."""
    panel = next(panel for panel in panels(differing().compared, SIDES) if panel.metric == "entropy")
    left = next(mean for mean in panel.means if mean.side == "left")
    assert panel.window == 3 and [at for at, _ in left.points] == [2, 3, 4, 5]
    assert left.points[0][1] == pytest.approx(sum(row["entropy"] for row in steps()[:3]) / 3)


def test_gaps_and_odd_numbers_are_not_drawn_through():
    """A step without the metric, or without a finite number, breaks the line and does not set the scale."""
    trace = Trace("left", "source", (1.0, None, 2.0, float("nan"), float("inf"), 3.0))
    assert trace.strokes() == [[(1, 1.0)], [(3, 2.0)], [(6, 3.0)]]
    assert Panel("x", (trace,)).span() == pytest.approx((0.84, 3.16))
    assert "no numbers" in drawing(Panel("x", (Trace("left", "s", (None, None)),)), "x", SIDES)


def test_a_single_step_is_drawn():
    """One step stands in the middle, with a dot for each side."""
    made = html([shown(run(rows=steps(1)), run("target", steps(1)))])
    assert len(plots(made)[0]["left"]) == 1 and '<circle class="right"' in made


def test_another_trainer_has_its_own_metrics():
    """Of a trainer that has few of the known metrics all are shown."""
    rows = [{"loss": 1 / k, "accuracy": k / 9, "throughput": 3.0} for k in range(1, 5)]
    assert chosen(shown(run(rows=rows), run("target", rows)).compared) == ["loss", "accuracy", "throughput"]
    assert "clip_share" not in chosen(matching().compared)


def test_there_is_room_for_what_parts_first():
    """Beyond the known metrics those are shown that differ first; the others are counted."""
    rows = [{**row, **{f"other/{k}": 1.0 for k in range(9)}} for row in steps()]
    moved = [dict(row) for row in rows]
    moved[4]["other/2"] = moved[2]["other/7"] = 5.0
    names = chosen(shown(run(rows=rows), run("target", moved)).compared)
    assert len(names) == 12 and names[-1] == "other/7" and "entropy" in names
    assert "other metrics left out" in html([shown(run(rows=rows), run("target", moved))])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        (0.17, 0.42, ["0.2", "0.3", "0.4"]),
        (-1.6e-7, 2.16e-6, ["0", "1e-6", "2e-6"]),
        (900, 1300, ["900", "1000", "1100", "1200", "1300"]),
        (-0.00016, 0.00216, ["0.000", "0.001", "0.002"]),
        (2.0e7, 2.4e7, ["2.0e7", "2.1e7", "2.2e7", "2.3e7", "2.4e7"]),
    ],
)
def test_axes_have_round_numbers(low, high, expected):
    """Few round numbers, written alike and with no digit too many."""
    assert labels(ticks(low, high)) == expected


def test_whole_numbers_have_whole_ticks():
    """A count is never marked at one half; steps are whole and begin with the first."""
    assert ticks(0.9, 1.1, whole=True) == [1] and ticks(0, 40, whole=True) == [0, 10, 20, 30, 40]
    assert step_ticks(6) == [1, 2, 3, 4, 5, 6] and step_ticks(1) == [1]
    assert step_ticks(100) == [1, 20, 40, 60, 80, 100]


def test_numbers_are_written_short():
    """Six digits, more only to tell different values apart."""
    assert number(2e-6) == "2e-6" and number(None) == "-" and number(float("nan")) == "nan"
    assert apart(1 / 3, 1 / 3) == ["0.333333", "0.333333"]
    assert apart(float("nan"), float("nan")) == ["nan", "nan"]
    assert len(set(apart(0.1, 0.1 + 2**-56))) == 2


def test_several_failing_scenarios_are_named():
    """The answer to many scenarios is which of them; each says why in its own place."""
    assert answer([differing(), differing(), matching()]) == "DIFFER in 2 of 3 scenarios: plain, plain"


def test_files_are_written_whole(tmp_path, monkeypatch):
    """Without matplotlib page and tables are written, and the page says so; on a full disk the old stay alone."""
    monkeypatch.setattr(plot, "available", lambda: False)
    files = write([matching()], tmp_path / "new")
    assert [file.name for file in files] == ["index.html", "tables.md"]
    assert "matplotlib is not installed" in files[0].read_text()
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["index.html", "tables.md"]
    monkeypatch.setattr("os.fsync", _full)
    with pytest.raises(EnvironmentFault, match="No space left"):
        write([differing()], tmp_path / "new")
    assert "MATCH" in files[0].read_text()
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["index.html", "tables.md"]


def _full(_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_pictures_are_written(tmp_path, monkeypatch):
    """A PNG for each scenario that has series, named for it, whatever it is called."""
    monkeypatch.setattr(plot, "available", lambda: True)
    monkeypatch.setattr(plot, "png", lambda one: one.scenario.encode())
    odd = replace(matching(), compared=replace(matching().compared, scenario="../zorro on"))
    nothing = shown(run(rows=[], crashed="x"), run("target", rows=[], crashed="x"))
    files = write([matching(), odd, nothing], tmp_path)
    assert [file.name for file in files[2:]] == ["plain.png", "_zorro_on.png"]
    assert file_name("...") == "scenario"


def test_another_page_can_show_it():
    """The parts come alone for the page of a gate, with ids of their own."""
    made = "".join(sections([matching()], "gate"))
    assert 'id="gate-0"' in made and "smoke-0" not in made
    assert module.sections([]) == []
