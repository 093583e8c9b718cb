"""A word that is mistyped is answered with the nearest known one, in three lines, whatever kind of word it is."""

from __future__ import annotations

import pytest

from porttool.arguments import Parser
from porttool.cli import VERBS, load_verb
from tests.cli.test_parity import PARITY
from tests.support.projects import new_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = new_project(tmp_path)
    made.manifest.write_text(made.manifest.read_text() + PARITY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("parity.probes.run.stack", lambda: None)
    return made


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["aplly"], "did you mean 'apply'?"),
        (["--vresion"], "did you mean '--version'?"),
        (["plan", "manifests/n.yaml"], "did you mean 'm.yaml'?"),
        (["gate", "--tier", "satic"], "did you mean 'static'?"),
        (["diff-meta", "--scenario", "plian"], "did you mean 'plain'?"),
        (["diff-meta", "--left", "recpie"], "did you mean 'recipe'?"),
        (["infer", "recpie", "main", "--repo", "repo"], "did you mean 'recipe'?"),
        (["resolution", "lst"], "did you mean 'list'?"),
        (["completion", "bahs"], "did you mean 'bash'?"),
    ],
)
def test_the_nearest_word(run, project, words, told):
    """Verbs, options, files, choices, scenarios, refs and steps."""
    code, out, err = run(*words)
    assert code in (2, 3) and out == ""
    assert err.splitlines()[-1] == f"hint: {told}"
    assert err.splitlines()[-3].startswith("error: ") and err.splitlines()[-2].startswith("  at: ")


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_of_each_verb(run, project, verb):
    """Any option with a letter too many finds its way back."""
    module = load_verb(verb)
    parser = Parser(f"porttool {verb}", VERBS[verb], module.EXAMPLE)
    module.arguments(parser)
    option = next(option for option in parser.options() if option != "--help")
    step = [next(iter(parser.steps()))] if parser.steps() else []
    code, _, err = run(verb, *step, f"{option}s")
    assert code == 2
    assert "hint: " in err and len(err.strip().splitlines()) == 3


def test_where_there_is_no_manifest(run, tmp_path, monkeypatch):
    """A project without one is told how to start."""
    monkeypatch.chdir(tmp_path)
    for words in (["plan"], ["plan", "manifests/x.yaml"]):
        code, _, err = run(*words)
        assert code == 2 and "start one with `porttool init`" in err


def test_a_package_that_is_mistyped_is_not_to_be_installed():
    """What is nearly installed is named; what is not is to be installed."""
    from parity.capture import driver_stack
    from porttool.errors import EnvironmentFault

    for name, told in (("pytst", "did you mean 'pytest'?"), ("zzz-no-such", "pip install zzz-no-such")):
        with pytest.raises(EnvironmentFault) as caught:
            driver_stack([name])
        assert caught.value.hint == told
