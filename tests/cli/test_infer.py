"""`porttool infer` prints a draft and writes a manifest that loads."""

from __future__ import annotations

import json

import pytest

from porttool.manifest import load


@pytest.fixture
def moved(repo):
    """A repository whose second commit moves a module."""
    body = "def f():\n    return 1\n\n\ndef g(x):\n    return x + 2\n"
    repo.commit({"a/__init__.py": "", "a/b.py": body, "x.py": "import a.b\nfrom a.b import f\n"})
    repo.commit({"a/b.py": None, "c/d.py": body, "x.py": "import c.d\nfrom c.d import f\n"})
    return repo


def test_screen(run, moved):
    """The first line counts the pairs; then comes a layout with the evidence of each."""
    code, out, err = run("infer", "main~1", "main", cwd=moved.path)
    assert code == 0
    assert out.splitlines()[0] == (
        "1 pair proven (1 path, 0 module, 0 symbol, 0 key, 0 fragment); 0 left undecided"
    )
    assert "    a/b.py: c/d.py" in out
    assert err == "reading both trees\ncomparing\n"


def test_json(run, moved):
    """JSON on stdout, with evidence and confidence."""
    code, out, _ = run("infer", "main~1", "main", "--json", "--repo", moved.path)
    told = json.loads(out)
    assert code == 0
    assert [(pair["kind"], pair["old"], pair["new"]) for pair in told["pairs"]] == [("path", "a/b.py", "c/d.py")]
    assert told["pairs"][0]["examples"]


def test_written_manifest_loads(run, moved, tmp_path):
    """--write gives a manifest that the loader takes; an existing file is never overwritten."""
    file = tmp_path / "m.yaml"
    assert run("infer", "main~1", "main", "--write", file, cwd=moved.path).code == 0
    manifest = load(file)
    assert manifest.layout.path("a/b.py") == "c/d.py"
    assert manifest.source.ref == "main~1"
    assert manifest.repo(manifest.source) == str(moved.path)
    before = file.read_bytes()
    code, out, err = run("infer", "main~1", "main", "--write", file, cwd=moved.path)
    assert (code, out) == (2, "")
    assert "the file exists already" in err
    assert file.read_bytes() == before


def test_unwritable(run, moved):
    """A file that cannot be written is a fault of the machine."""
    code, _, err = run("infer", "main~1", "main", "--write", "/dev/null/m.yaml", cwd=moved.path)
    assert code == 3
    assert "cannot write" in err


@pytest.mark.parametrize(
    ("words", "code"), [(["nosuch", "main"], 3), (["--", "-x", "main"], 2), (["main~9", "main"], 3)]
)
def test_refs_that_are_not_there(run, moved, words, code):
    """A rev that does not resolve, or could be an option, is one three-line error."""
    ran = run("infer", *words, cwd=moved.path)
    assert ran.code == code
    assert "error: " in ran.err


def test_outside_a_repository(run, tmp_path):
    """A folder that is no repository says so."""
    code, _, err = run("infer", "a", "b", cwd=tmp_path)
    assert code == 3
    assert err.startswith("error: not a git repository") or "no repository" in err
