"""A manifest loads as written, or is refused at its `file:line` with the nearest known key."""

from __future__ import annotations

import pytest

from porttool.errors import EXIT_USAGE, LayoutError, ManifestError, PortError
from porttool.layout import Layout
from porttool.manifest import NewPatch, Pick, Policy, Range, is_url, load, load_layout, project_root
from porttool.names import Pair

EXAMPLE = """\
version: 1
source: {repo: build/verl, ref: recipe/rl-correctness}
target: {repo: build/verl, ref: arctic_rl_share_v0.7.1, branch: port/rl_correctness}
layout:
  roots: [.]
  paths: {verl/trainer/ppo/arctic_rl_client.py: verl/workers/remote_client/arctic_rl.py}
  modules: {arctic_training.rl: arctic_platform.rl}
  symbols: {ActorRolloutRefWorker: {to: ArcticRLActorRolloutRefWorker, in: [verl/workers/arctic_workers.py]}}
  keys: {arctic_rl.use_zorro: remote_backend.zorro_train.enable, arctic_rl: remote_backend}
  fragments: {"verl/trainer/config/ppo_trainer.yaml#arctic_rl": "verl/trainer/config/remote_backend/arctic.yaml#"}
protected: [verl/remote_backend/base.py, verl/remote_backend/trainer.py, verl/remote_backend/worker_utils.py]
commits:
  - {new: patches/0001-adapter.patch}
  - {pick: [1234567], upstream: [d597a2fd]}
  - {pick: [12345e6789, 0123456], upstream: [303eb275, 8356f215], subject: ds_config format + ds_config passthru}
  - {pick: [abcdef0], upstream: [da16e078], adapted: {verl/workers/remote_client/arctic_rl.py: why it had to differ}}
policy: {merges: refuse, empty: skip, committer: author-date, style: {width: 119}}
parity: {scenarios: [toy], rules: {"*": exact}}
"""

SHORT = """\
version: 1
source: {repo: r, ref: main}
target: {repo: r, ref: main}
layout: {}
"""


@pytest.fixture
def written(tmp_path):
    """Writes a manifest and gives its path."""

    def write(text: str | bytes):
        path = tmp_path / "manifests" / "m.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture
def refused(written):
    """Loads a text that must be refused; gives the error with its place reduced to the line."""

    def load_refused(text: str | bytes) -> tuple[PortError, str]:
        path = written(text)
        with pytest.raises((ManifestError, LayoutError)) as caught:
            load(path)
        assert caught.value.exit_code == EXIT_USAGE
        name, _, line = caught.value.where.rpartition(":")
        assert name == str(path), caught.value
        return caught.value, line

    return load_refused


def test_the_example_loads(written):
    """The example of the design loads as it stands, ids filled in; ids that look like numbers keep their digits."""
    path = written(EXAMPLE)
    manifest = load(path)
    assert manifest.target.branch == "port/rl_correctness"
    new, first, joined, adapted = manifest.commits
    assert isinstance(new, NewPatch)
    assert new.file == path.parent / "patches" / "0001-adapter.patch"
    assert isinstance(first, Pick) and first.pick == ("1234567",)
    assert isinstance(joined, Pick) and joined.pick == ("12345e6789", "0123456")
    assert joined.subject == "ds_config format + ds_config passthru"
    assert isinstance(adapted, Pick)
    assert adapted.adapted == {"verl/workers/remote_client/arctic_rl.py": "why it had to differ"}
    assert manifest.layout.extra_modules[0].new == ("arctic_platform", "rl")
    assert manifest.layout.keys.map(("arctic_rl", "x")) == ("remote_backend", "x")
    assert manifest.parity == {"scenarios": ["toy"], "rules": {"*": "exact"}}
    assert manifest.resolutions == path.parent / "m.resolutions"


def test_every_place_has_its_line(written):
    """`where` gives the line of what was written, or of the nearest thing around it."""
    path = written(EXAMPLE)
    manifest = load(path)
    assert manifest.where("commits", 2, "pick", 1) == f"{path}:15"
    assert manifest.where("layout", "modules", "arctic_training.rl") == f"{path}:7"
    assert manifest.where("policy", "signatures") == f"{path}:17"
    assert manifest.commits[3].where == f"{path}:16"
    assert manifest.layout.fragments[0].where == f"{path}:10"


def test_defaults(written):
    """What is left out takes the documented default."""
    manifest = load(written(SHORT))
    assert manifest.policy == Policy("refuse", "skip", "author-date", "record", 119)
    assert (manifest.commits, manifest.protected, manifest.skip, manifest.parity) == ((), (), {}, {})
    assert manifest.target.branch == ""
    assert manifest.layout == Layout()


def test_long_forms(written):
    """Pairs may be written out, with one_way, scopes, words, siblings and leads."""
    layout = load_layout(b"""
        paths: {a/: b/, "x/*.py": {to: "y/*.py", one_way: true}}
        modules: {m.n: {to: o.p, one_way: true}}
        keys: {k: {to: l.k}}
        symbols: {lxd: {to: incus, words: true, one_way: true}}
        mounts: {"conf/*.yaml": actor}
        keep: [manifests/, "*.csv"]
        fragments:
          "a.py::C.f": {to: "b.py::g", old_after: "", new_after: e, old_lead: "\\n", new_lead: "\\n\\n"}
        """)
    assert [pair.one_way for pair in layout.paths] == [False, True]
    assert layout.extra_modules == (Pair(("m", "n"), ("o", "p"), True, "layout:3"),)
    assert layout.symbols[0].words and layout.symbols[0].one_way
    assert layout.mounts == (("conf/*.yaml", ("actor",)),)
    assert layout.keep == ("manifests/", "*.csv")
    old, new = layout.fragments[0].old, layout.fragments[0].new
    assert (old.after, new.after, old.lead, new.lead) == ("", "e", "\n", "\n\n")


def test_slashed_modules(written):
    """A Go module is named by its import path; dotted and slashed pairs may stand side by side."""
    text = "modules: {github.com/o/old: github.com/o/new-1, m.n: o.p}"
    layout = load(written(SHORT.replace("layout: {}", "layout:\n  " + text))).layout
    (slashed,), (dotted,) = layout.extra_imports, layout.extra_modules
    assert (slashed.old, slashed.new) == (("github.com", "o", "old"), ("github.com", "o", "new-1"))
    assert (dotted.old, dotted.new) == (("m", "n"), ("o", "p"))


def test_commits_as_a_range(written):
    """`commits` may be one range, and a range may stand between other commits."""
    manifest = load(written(SHORT + "commits: {range: upstream/v0.7.1..main}\nskip: {abcdef0: only for the lab}\n"))
    assert [item.range for item in manifest.commits if isinstance(item, Range)] == ["upstream/v0.7.1..main"]
    assert manifest.skip == {"abcdef0": "only for the lab"}
    mixed = load(written(SHORT + "commits: [{new: p.patch, why: they asked}, {range: a..b, why: the rest}]\n"))
    assert [item.why for item in mixed.commits] == ["they asked", "the rest"]


@pytest.mark.parametrize("committer", ["now", "author-date", "Port Bot <bot@example.invalid>", "<x@y>"])
def test_committers(written, committer):
    """The committer is a word or an identity."""
    assert load(written(SHORT + f"policy: {{committer: {committer}}}\n")).policy.committer == committer


# Each row: what is written after the short manifest, the line, what the message says, what the hint says.
BAD = {
    "unknown key": ("polcy: {}\n", 5, "polcy is not a known key", "did you mean 'policy'?"),
    "unknown key deep": ("policy:\n  style: {widht: 3}\n", 6, "policy.style.widht is not a known key", "width"),
    "unknown key far from any": ("zzzz: 1\n", 5, "zzzz is not a known key", "known: commits"),
    "unknown key of a commit": ("commits:\n- {pick: [abcdef0], upsteam: [abcdef0]}\n", 6, "upsteam", "'upstream'"),
    "unknown kind of commit": ("commits: [{pcik: [abcdef0]}]\n", 5, "pcik is not a known key", "'pick'"),
    "no kind of commit": ("commits: [{why: because}]\n", 5, "needs one of 'pick', 'new', 'range'", ""),
    "two kinds of commit": ("commits: [{pick: [abcdef0], new: a.patch}]\n", 5, "both 'pick' and 'new'", "two commits"),
    "wrong type list": ("protected: a.py\n", 5, "protected must be a list, not text (a.py)", ""),
    "wrong type mapping": ("policy: [x]\n", 5, "policy must be a mapping", ""),
    "wrong type number": ("policy: {style: {width: wide}}\n", 5, "must be a whole number", ""),
    "wrong type flag": ("skip: {abcdef0: 12}\n", 5, "must be text, not a number (12)", ""),
    "nothing written": ("policy:\n", 5, "policy must be a mapping", ""),
    "number out of range": ("policy: {style: {width: 3}}\n", 5, "40 to 1000", ""),
    "duplicate key": ("policy: {}\nprotected: []\npolicy: {}\n", 7, "is written twice; the first is on line 5", ""),
    "unknown policy word": ("policy: {merges: flaten}\n", 5, "merges is 'flaten'", "known: evil, first-parent"),
    "mistyped policy word": ("policy: {empty: skp}\n", 5, "empty is 'skp'", "did you mean 'skip'?"),
    "bad committer": ("policy: {committer: Bot}\n", 5, "which is not one of author-date, now or `Name <mail>`", ""),
    "protected escapes": ("protected: [../other/x.py]\n", 5, "not a path or glob inside the repository", ""),
    "protected absolute": ("protected:\n- ok.py\n- /etc/passwd\n", 7, "'/etc/passwd'", ""),
    "patch escapes": ("commits: [{new: ../x.patch}]\n", 5, "a .patch file beside the manifest", ""),
    "short id": ("commits: [{pick: [d597]}]\n", 5, "7 to 40 hex digits", ""),
    "long id": (f"commits: [{{pick: [{'a' * 41}]}}]\n", 5, "7 to 40 hex digits", ""),
    "rev like an option": ("commits: [{pick: [--all]}]\n", 5, "'--all'", ""),
    "bad upstream": ("commits: [{pick: [abcdef0], upstream: [main]}]\n", 5, "an object id", ""),
    "empty pick": ("commits: [{pick: []}]\n", 5, "commits[0].pick must not be empty", ""),
    "picked twice": ("commits: [{pick: [abcdef0, abcdef0]}]\n", 5, "picked twice", ""),
    "range with three dots": ("commits: {range: a...b}\n", 5, "a range `a..b`", ""),
    "range like an option": ("commits: {range: --x..b}\n", 5, "a range `a..b`", ""),
    "subject of two lines": ('commits: [{pick: [abcdef0], subject: "a\\nb"}]\n', 5, "one line of text", ""),
    "python object": ("parity: {x: !!python/object/apply:os.system [echo]}\n", 5, "has the tag", "plain YAML"),
    "own tag": ("policy: !Policy {}\n", 5, "has the tag '!Policy'", "plain YAML"),
    "alias of itself": ("parity: &a {x: *a}\n", 5, "holds an alias of itself", ""),
    "undefined alias": ("policy: *nobody\n", 5, "not valid YAML", "porttool schema"),
    "key that is a list": ("policy: {[a]: b}\n", 5, "has a key that is not text", ""),
    "not YAML": ("policy: {a\n", 6, "not valid YAML", "porttool schema"),
    "two documents": ("---\nversion: 1\n", 5, "not valid YAML", ""),
    "impossible date": ("parity: {day: 2024-13-45}\n", 5, "cannot be read", ""),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_with_line_and_hint(refused, case):
    """Each mistake is one error with the line it was made on."""
    added, line, message, hint = BAD[case]
    error, at = refused(SHORT + added)
    assert message in error.message
    assert hint in error.hint
    assert int(at) == line
    assert len(str(error).splitlines()) <= 3


# Each row: the layout as written, and what the message says.
BAD_LAYOUT = {
    "path escapes": ("paths: {a.py: ../b.py}", "not a path inside the repository"),
    "path absolute": ("paths: {/a.py: b.py}", "not a path inside the repository"),
    "path with a dot segment": ("paths: {./a.py: b.py}", "not a path inside the repository"),
    "path into .GIT": ("paths: {a.py: x/.GIT/hooks/post-commit}", "not a path inside the repository"),
    "path into .git by its short name": ("paths: {a.py: git~1/config}", "not a path inside the repository"),
    "path into .git": ("paths: {a.py: .git/hooks/post-commit}", "not a path inside the repository"),
    "path with a backslash": ("paths: {'a\\b': c}", "not a path inside the repository"),
    "two paths to one": ("paths: {a.py: c.py, b.py: c.py}", "'c.py' is the target of both 'a.py' and 'b.py'"),
    "two modules to one": ("modules: {a.x: c, b.x: c}", "is the target of both"),
    "two keys to one": ("keys: {a: c, b: c}", "is the target of both"),
    "two symbols to one": ("symbols: {A: C, B: C}", "is the target of both"),
    "one path twice": ("paths: {a/: b, a: c}", "is mapped to both"),
    "star on one side": ("paths: {'a/*.py': b.py}", "needs the same `*` on both sides"),
    "two stars": ("paths: {'*/*.py': '*/*.py'}", "needs the same `*` on both sides"),
    "two fragments to one": ("fragments: {'a.yaml#x': 'c.yaml#', 'b.yaml#x': 'c.yaml#'}", "is declared twice"),
    "fragment of two kinds": ("fragments: {'a.yaml#x': 'b.py::f'}", "yaml on one side and python on the other"),
    "fragment escapes": ("fragments: {'../a.yaml#x': 'b.yaml#'}", "which is not a fragment"),
    "not a fragment": ("fragments: {'a.yaml': 'b.yaml#'}", "which is not a fragment"),
    "not a module": ("modules: {a-b: c}", "a dotted module name"),
    "not a slashed module": ("modules: {a//b: c/d}", "a dotted module name, or one with slashes"),
    "slashed module escapes": ("modules: {a/b: c/../d}", "a dotted module name, or one with slashes"),
    "module of two kinds": ("modules: {a/b: c}", "has slashes on one side only"),
    "not a symbol": ("symbols: {a.b: c}", "one identifier"),
    "not a key": ("keys: {a..b: c}", "a dotted config key"),
    "scope escapes": ("symbols: {A: {to: B, in: [../x.py]}}", "a path or glob inside the repository"),
    "words and part": ("symbols: {A: {to: B, words: true, part: true}}", "both by `words` and by `part`"),
    "no `to`": ("keys: {a: {one_way: true}}", "to is missing"),
    "flag that is a word": ("keys: {a: {to: b, one_way: maybe}}", "must be true or false, not text (maybe)"),
    "empty roots": ("roots: []", "must not be empty"),
    "root escapes": ("roots: [..]", "a folder inside the repository"),
    "misspelt section": ("symbol: {A: B}", "symbol is not a known key"),
}


@pytest.mark.parametrize("case", BAD_LAYOUT)
def test_layout_refused(refused, case):
    """Each mistake in a layout is refused on its line, before anything is read from a repository."""
    written, message = BAD_LAYOUT[case]
    error, line = refused(SHORT.replace("layout: {}", "layout:\n  " + written))
    assert message in error.message
    assert line == "5"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ref: main}\ntarget", "ref: -main}\ntarget", "may not begin with `-`"),
        ("ref: main}\ntarget", "ref: --upload-pack=touch}\ntarget", "may not begin with `-`"),
        ("ref: main}\ntarget", "ref: 'a b'}\ntarget", "a ref, tag or commit"),
        ("ref: main}\ntarget", "}\ntarget", "source.ref is missing"),
        ("ref: main}\nlayout", "ref: main, branch: -b}\nlayout", "may not begin with `-`"),
        ("ref: main}\nlayout", "ref: main, branch: a..b}\nlayout", "a branch name as git allows it"),
        ("ref: main}\nlayout", "ref: main, branch: x.lock}\nlayout", "a branch name as git allows it"),
        ("ref: main}\nlayout", "ref: main, branch: x.lock/y}\nlayout", "a branch name as git allows it"),
        ("ref: main}\nlayout", "ref: main, branch: HEAD}\nlayout", "a branch name as git allows it"),
        ("repo: r, ref: main}\ntarget", "repo: 'ext::sh -c id', ref: main}\ntarget", "a path or a URL"),
        ("repo: r, ref: main}\ntarget", "repo: --upload-pack=x, ref: main}\ntarget", "a path or a URL"),
        ("repo: r, ref: main}\ntarget", "repo: 'ssh://-oProxyCommand=x/y', ref: main}\ntarget", "a path or a URL"),
        ("version: 1", "version: 2", "version must be 1, not a number (2)"),
        ("version: 1", "version: one", "version must be 1, not text (one)"),
        ("version: 1\n", "", "version is missing"),
        ("layout: {}\n", "", "layout is missing"),
    ],
)
def test_ends_refused(refused, old, new, message):
    """Refs, branches and repositories that git could take for an option or a command are refused."""
    assert old in SHORT
    assert message in refused(SHORT.replace(old, new, 1))[0].message


def test_aliases_that_multiply(refused):
    """A few lines of aliases may stand for billions of values: refused, not expanded."""
    nine = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 10))
    error, _ = refused(SHORT + "parity:\n  l0: &l0 [x]\n" + nine)
    assert "aliases of the file stand for too much" in error.message


def test_empty_and_binary_files(refused):
    """A file that holds nothing, or no text, says so on its line."""
    assert "empty" in refused("# only a comment\n")[0].message
    error, line = refused(b"version: 1\nsource: \xff\n")
    assert "UTF-8" in error.message
    assert line == "2"


def test_a_missing_file_is_a_manifest_error(tmp_path):
    """A path that leads nowhere is the user's mistake, not a traceback."""
    with pytest.raises(ManifestError, match="cannot read the manifest: No such file"):
        load(tmp_path / "none.yaml")


def test_a_list_at_the_top(refused):
    """A manifest that is no mapping says what it should be."""
    assert "the manifest must be a mapping" in refused("- a\n")[0].message


def test_repo_paths_are_read_from_the_top(written):
    """A repository path is taken from the project's top, wherever porttool runs; a URL stays as written."""
    path = written(EXAMPLE)
    assert load(path).root == path.parent
    (path.parent.parent / "pyproject.toml").write_text("")
    manifest = load(path)
    assert manifest.root == path.parent.parent
    assert manifest.repo(manifest.source) == str(path.parent.parent / "build" / "verl")
    url = "https://example.invalid/o/r.git"
    assert load(written(SHORT.replace("repo: r,", f"repo: '{url}',", 1))).repo(manifest.source) != url
    other = load(written(SHORT.replace("repo: r,", f"repo: '{url}',", 1)))
    assert other.repo(other.source) == url


@pytest.mark.parametrize("repo", ["https://h/r", "ssh://git@h/r", "file:///r", "git@h:o/r.git", "host.name:o/r"])
def test_urls(repo):
    """URLs and scp-like addresses are URLs."""
    assert is_url(repo)


@pytest.mark.parametrize("repo", ["build/verl", "/abs/x", "../fork", "./a:b", "~/r", "."])
def test_paths(repo):
    """Everything else is a path."""
    assert not is_url(repo)


def test_project_root_stops_at_git(tmp_path):
    """A folder with a .git is a project's top."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert project_root(tmp_path / "a" / "b" / "m.yaml") == tmp_path
