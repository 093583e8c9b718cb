"""The envelope behind an exact comparison: drawn, told, and without a part in the verdict."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
from rich.console import Console

from parity.smoke import page_panel
from parity.smoke.as_json import smoke_json
from parity.smoke.compare import Told, compared
from parity.smoke.envelope import measured
from parity.smoke.outcome import Leaves
from parity.smoke.page import html
from parity.smoke.page_shown import behind, how
from parity.smoke.plot import available, png
from parity.smoke.series import leaves
from parity.smoke.setting import setting
from parity.smoke.tables import markdown
from parity.smoke.terminal import terminal
from parity.verdict import Verdict
from porttool.manifest import load
from tests.smoke.drawn import astray, shown, steps
from tests.smoke.drawn import run as drawn
from tests.smoke.runs import noisy, noisy_runs, run, target

BEHIND = Told(backdrop=measured(noisy_runs(6)))


def source_noise():
    """Eight runs of the source whose entropy moves a little."""
    return [drawn(rows=[{**row, "entropy": row["entropy"] * (1 + k / 900)} for row in steps()]) for k in range(8)]


def before(backdrop=None):
    """An exact comparison of drawn runs before the envelope of eight."""
    told = Told(backdrop=measured(source_noise()) if backdrop is None else backdrop)
    return shown(source_noise()[3], drawn("target", astray()), told)


def test_it_tells_where_a_side_leaves():
    """The first step of each metric and side outside of the envelope, also of one that is held to its bits."""
    rng = random.Random(9)
    right = noisy(rng, side="target")
    rows = list(right.steps)
    rows[1] = {**rows[1], **leaves({"entropy": 9.0, "lr": 2e-3})}
    rows[2] = {**rows[2], **leaves({"entropy": 9.0})}
    told = compared([noisy(rng)], [replace(right, steps=tuple(rows))], BEHIND)
    assert set(told.backdrop.leaves) == {Leaves(1, "entropy", "right", 2), Leaves(1, "lr", "right", 2)}
    assert told.backdrop.runs == 6
    low, high = told.backdrop.bands["entropy"]
    assert all(one < two for one, two in zip(low, high, strict=True)) and len(low) == 4
    assert told.backdrop.bands["lr"] == ((None,) * 4, (None,) * 4)


@pytest.mark.parametrize(
    "change", [(3, "entropy", 9.0), (2, "lr", 2e-3), (0, "reward", 1.0), (2, "extra", 1.0), (2, "loss", None)]
)
def test_it_has_no_part_in_the_verdict(change):
    """With and without it every other thing that a comparison says is the same, of equal and of different runs."""
    for right in (target(), target(change)):
        bare, behind_it = compared([run()], [right], Told()), compared([run()], [right], BEHIND)
        assert behind_it.backdrop is not None
        assert replace(behind_it, backdrop=None) == bare


def test_what_is_not_there_leaves_nothing():
    """A metric that a side lacks, or the evidence, or that is no number, is not drawn and leaves nothing."""
    told = compared([run((2, "loss", None), (1, "word", "a"))], [target((2, "extra", 9.0))], BEHIND)
    assert not {"extra", "word"} & set(told.backdrop.bands)
    assert not {one.metric for one in told.backdrop.leaves} & {"extra", "word", "loss"}


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (measured(noisy_runs(5, steps=3)), "the evidence is of 3 steps, the runs of 4"),
        (measured(noisy_runs(5, seed=2)), "the evidence is of seed 2, a run of seed 1"),
        (
            measured([replace(one, provenance={"env.torch": "2"}) for one in noisy_runs(5)]),
            "the evidence is of another environment: env.torch is '2' and '1'",
        ),
        ("the evidence of plain is none", "the evidence of plain is none"),
    ],
)
def test_what_does_not_fit_is_not_drawn(evidence, why):
    """Other steps, seeds or environment, or a file that cannot be read: one line says why, the verdict stands."""
    told = compared([run()], [target()], Told(backdrop=evidence))
    assert (told.verdict, told.backdrop.refused, told.backdrop.bands) == (Verdict.MATCH, why, {})
    assert told.backdrop.runs == 0


def test_none_is_told_where_none_is():
    """Without evidence, held to an envelope, or where nothing can be compared, there is no backdrop."""
    rng = random.Random(9)
    evidence = BEHIND.backdrop
    assert compared([run()], [target()], Told()).backdrop is None
    assert compared([noisy(rng)], [noisy(rng, side="target")], Told(evidence, backdrop=evidence)).backdrop is None
    assert compared([run()], [target(crashed="it broke")], BEHIND).backdrop is None
    assert behind(shown()) == ("", [])


def test_a_seed_is_named_where_there_are_several():
    """Evidence over seeds stands behind runs of any; who leaves it is told with its seed."""
    rng = random.Random(4)
    evidence = measured([noisy(rng, seed=seed) for seed in range(8)])
    left, right = ([noisy(rng, seed=seed, side=side) for seed in (1, 2)] for side in ("source", "target"))
    right[1] = noisy(rng, seed=2, side="target", shift=3.0)
    told = compared(left, right, Told(backdrop=evidence))
    assert told.backdrop.leaves == (Leaves(2, "entropy", "right", 1),)
    lines = page_panel.backdrop_lines(told, ("source", "target"))
    assert lines == ["entropy leaves the envelope at step 1 (target, seed 2)"]


def terminal_of(one):
    out = Console(file=io.StringIO(), width=160)
    terminal([one], out)
    return out.file.getvalue()


def test_every_view_tells_it():
    """Terminal, page, Markdown and JSON say at which step the entropy leaves the envelope; the page draws the band."""
    one = before()
    line = "entropy leaves the envelope at step 3 (target)"
    assert one.verdict is Verdict.DIFFER
    for made in (terminal_of(one), html([one]), markdown([one])):
        assert line in made
        assert "the envelope of 8 runs of the source (it decides nothing)" in made
    assert 'class="band"' in html([one]) and 'class="band"' not in html([shown()])
    assert "The envelope behind the lines decides nothing" in how(one.compared)
    told = smoke_json([one])["provenance"]["scenarios"]["plain"]["envelope"]
    assert (told["runs"], told["not_drawn"]) == (8, None)
    assert {"metric": "entropy", "side": "right", "seed": 1, "step": 3} in told["leaves"]


def test_every_view_tells_why_it_is_not_drawn():
    """The reason stands where the envelope would."""
    one = before(backdrop=measured([drawn(rows=steps(3)) for _ in range(5)]))
    line = "envelope of equal code is not drawn: the evidence is of 3 steps, the runs of 6"
    for made in (terminal_of(one), html([one]), markdown([one])):
        assert line in made
    assert 'class="band"' not in html([one]) and how(one.compared).endswith("bit for bit.")
    assert smoke_json([one])["provenance"]["scenarios"]["plain"]["envelope"]["not_drawn"].startswith("the evidence is")


def test_a_panel_has_the_band_and_the_first_divergence():
    """The band is the backdrop's; the mark stays at the first bit that differs."""
    held = {panel.metric: panel for panel in page_panel.panels(before().compared, ("source", "target"))}
    entropy = held["entropy"]
    assert all(low < high for low, high in entropy.band) and len(entropy.band) == 6
    assert entropy.first == 1
    assert entropy.told.endswith("; leaves the envelope at step 3 (target)")


@pytest.mark.skipif(not available(), reason="needs matplotlib")
def test_the_picture_is_drawn():
    """A PNG with a band and a line more below its plots."""
    assert png(before()).startswith(b"\x89PNG")


def test_a_setting_finds_it(trained):
    """The file beside the manifest is the backdrop; one that cannot be read is told, and is no fault."""
    of = setting(load(trained.project.manifest))
    [scenario] = of.chosen([])
    assert of.told(scenario, 3).backdrop == ""
    file = of.evidence_file("plain")
    file.parent.mkdir()
    file.write_text("{}")
    assert of.told(scenario, 3).backdrop.startswith("the evidence of plain is none: this is not an envelope")
