"""Old names in Markdown, C, Go, comments and any other text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porttool.edits import splice
from porttool.layout import Layout, Symbol, paths_renaming
from porttool.names import Pair, renaming, split
from porttool.rewrite import text

LAYOUT = Layout(
    paths=paths_renaming(
        {"verl/utils/fs.py": "verl/io/files.py", "verl/trainer/ppo/": "verl/train/", "lxd": "srv/lx"}
    ),
    extra_modules=(Pair(split("arctic_training.rl"), split("arctic_platform.rl")), Pair(("oslo_db",), ("oslodb",))),
    symbols=(Symbol("Worker", "ArcticWorker"), Symbol("Local", "Global", scope=("a.py",))),
    keys=renaming(
        "key",
        {
            "arctic_rl.use_zorro": "remote_backend.zorro_train.enable",
            "arctic_rl": "remote_backend",
            "actor.optim.lr": "actor.opt.rate",
        }.items(),
    ),
)


def translated(source: bytes, layout: Layout = LAYOUT, path: str = "README.md") -> bytes:
    return splice(source, text.scan(source, layout.for_file(path)).edits)


def both_ways(old: str, new: str, layout: Layout = LAYOUT) -> None:
    """`old` becomes `new`, and `new` becomes `old` again."""
    assert translated(old.encode(), layout).decode() == new
    assert translated(new.encode(), layout.inverse()).decode() == old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("see verl/utils/fs.py.", "see verl/io/files.py."),
        ("[x](./verl/utils/fs.py#L10) `verl/utils/fs.py:12`", "[x](./verl/io/files.py#L10) `verl/io/files.py:12`"),
        ('"$HERE/verl/utils/fs.py" ${R}/verl/utils/fs.py', '"$HERE/verl/io/files.py" ${R}/verl/io/files.py'),
        ("https://github.com/o/r/blob/main/verl/trainer/ppo/x.py", "https://github.com/o/r/blob/main/verl/train/x.py"),
        ("**verl/trainer/ppo/** and ../verl/trainer/ppo", "**verl/train/** and ../verl/train"),
        ("tree/main/lxd/x.go lxd/x.go ./lxd/", "tree/main/srv/lx/x.go srv/lx/x.go ./srv/lx/"),
    ],
)
def test_paths(old: str, new: str) -> None:
    """A path of the layout is found at the start of a run, behind a root and inside a longer path."""
    both_ways(old, new)


@pytest.mark.parametrize(
    "source",
    [
        "verl/utils/fs.pyc xverl/utils/fs.py verl/utils/fs.py-old ${X}verl/utils/fs.py",
        "verl/trainer/ppo{a,b} verl/trainer/ppo_extra verl/trainer/ppo$X",
        "lxd the-lxd x/lxd/y lxd.conf",
    ],
)
def test_t44_a_path_that_ends_inside_a_segment_stays(source: str) -> None:
    """Whole segments only: `.../ppo` never hits `.../ppo_extra`, and one bare word is no path."""
    both_ways(source, source)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("verl.utils.fs and verl.utils.fs.copy.", "verl.io.files and verl.io.files.copy."),
        ('mock.patch("verl.utils.fs.copy")', 'mock.patch("verl.io.files.copy")'),
        ("_target_: arctic_training.rl.Client", "_target_: arctic_platform.rl.Client"),
        ("run = verl.utils.fs:main", "run = verl.io.files:main"),
        ("python -m verl.utils.fs x", "python -m verl.io.files x"),
        ("'oslo_db.api' python -m oslo_db.api", "'oslodb.api' python -m oslodb.api"),
        ("使用verl.utils.fs模块", "使用verl.io.files模块"),
    ],
)
def test_t55_dotted_names(old: str, new: str) -> None:
    """Dotted names are renamed in strings, docs and commands."""
    both_ways(old, new)


@pytest.mark.parametrize(
    "source",
    [
        "verl.utils.fsdp_utils verl.utils.fs_x my-verl.utils.fs verl.utils.fs-core x.verl.utils.fs self.verl.utils.fs",
        "arctic_training.rlx docs/verl.utils.fs.rst oslo_db the oslo_db.api prose",
        "éverl.utils.fs",
    ],
)
def test_t44_dotted_names_end_at_a_token(source: str) -> None:
    """`verl.utils.fs` never hits `verl.utils.fsdp_utils`, nor a name glued to other characters."""
    both_ways(source, source)


def test_symbols_are_whole_tokens() -> None:
    """A symbol is renamed in any text as a whole identifier; a scoped one only inside its scope."""
    both_ways(
        "Worker MyWorker Workers _Worker Worker_ (Worker) x.Worker; Worker-x 2Worker Local",
        "ArcticWorker MyWorker Workers _Worker Worker_ (ArcticWorker) x.ArcticWorker; ArcticWorker-x 2Worker Local",
    )
    assert translated(b"Local", path="a.py") == b"Global"


def test_words_of_tokens() -> None:
    """With `words`, a symbol is renamed inside camelCase and snake_case tokens, in the case it is found in."""
    both_ways(
        "lxd_x LxdServer LXD_DIR getLxd flxd Lxdx",
        "incus_x IncusServer INCUS_DIR getIncus flxd Lxdx",
        Layout(symbols=(Symbol("lxd", "incus", words=True),)),
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("`arctic_rl.lr` and arctic_rl.lr", "`remote_backend.lr` and arctic_rl.lr"),
        ("arctic_rl.use_zorro is", "remote_backend.zorro_train.enable is"),
        ("set arctic_rl.lr=1, then", "set remote_backend.lr=1, then"),
        ("${arctic_rl.lr} ${oc.select:arctic_rl.lr,1}", "${remote_backend.lr} ${oc.select:remote_backend.lr,1}"),
        ('OmegaConf.select(c, "arctic_rl.lr")', 'OmegaConf.select(c, "remote_backend.lr")'),
        ("run `python -m t arctic_rl=x`", "run `python -m t remote_backend=x`"),
        ("```bash\nrun arctic_rl=x\n```\n", "```bash\nrun remote_backend=x\n```\n"),
        ("    python -m t \\\n      arctic_rl=x\n", "    python -m t \\\n      remote_backend=x\n"),
        (
            ".. code-block:: bash\n\n   python t +arctic_rl.a=1\n",
            ".. code-block:: bash\n\n   python t +remote_backend.a=1\n",
        ),
        ("actor.optim.lr actor.optim.lr=1e-5", "actor.opt.rate actor.opt.rate=1e-5"),
    ],
)
def test_keys_where_the_context_says_so(old: str, new: str) -> None:
    """Keys are renamed in overrides, references, backticks and config calls."""
    both_ways(old, new)


@pytest.mark.parametrize(
    "source",
    [
        "arctic_rl alone, arctic_rl.lr in prose, `arctic_rl`",
        "foo(arctic_rl=1) arctic_rl = 1\narctic_rl=1\n",
        "```bash\nexport arctic_rl=1\nA=1 arctic_rl=1\n```\n",
        "cfg.arctic_rl.use_zorro x.arctic_rl.lr=1 arctic_rl.use_zorro_x",
    ],
)
def test_t45_same_shaped_words_are_no_keys(source: str) -> None:
    """A word that only looks like a key stays."""
    both_ways(source, source)


def test_keys_off() -> None:
    """With `keys` False only paths, modules and symbols are renamed."""
    source = b"arctic_rl.use_zorro=1 verl.utils.fs"
    found = text.scan(source, LAYOUT.for_file("x"), keys=False)
    assert splice(source, found.edits) == b"arctic_rl.use_zorro=1 verl.io.files"


def test_t45_module_and_key_at_once_is_ambiguous() -> None:
    """A run that a module and a key claim alike is noted with its offset and left alone; the longer one wins else."""
    layout = Layout(
        extra_modules=(Pair(("a", "b"), ("m", "b")), Pair(("c", "d", "e"), ("m", "e"))),
        keys=renaming("key", [("a.b", "k.b"), ("c.d", "k.d")]),
    )
    found = text.scan(b"see a.b.x and c.d.e", layout.for_file("x.md"))
    assert [(note.offset, note.kind) for note in found.notes] == [(4, "ambiguous")]
    assert splice(b"see a.b.x and c.d.e", found.edits) == b"see a.b.x and m.e"


def test_a_span_is_a_border() -> None:
    """Only the span is edited; offsets are those of the whole source."""
    source = b"verl.utils.fs verl.utils.fs verl.utils.fs"
    found = text.scan(source, LAYOUT.for_file("x"), 14, 27)
    assert splice(source, found.edits) == b"verl.utils.fs verl.io.files verl.utils.fs"


@pytest.mark.parametrize(
    "source", [b"x\r\nverl.utils.fs\r\n", b"\xef\xbb\xbfverl.utils.fs", b"caf\xe9 verl.utils.fs \xff"]
)
def test_line_ends_and_odd_bytes_stay(source: bytes) -> None:
    """CRLF, a BOM, bytes that are no UTF-8 and a missing final newline are kept."""
    assert translated(source) == source.replace(b"verl.utils.fs", b"verl.io.files")
    assert translated(translated(source), LAYOUT.inverse()) == source


def test_an_empty_layout_changes_nothing() -> None:
    """A layout without pairs finds nothing in a text full of names."""
    assert text.scan(b"a.b=1 x/y.py a.b Worker ${a.b}", Layout().for_file("x")) == ([], [])


PIECES = st.sampled_from(
    b"verl/utils/fs.py|verl.utils.fs|arctic_rl|use_zorro"
    b"|.|=|/|${|}| |\n|\\\n|python |```bash\n|```|'|\"|`|~|+|@|[|{|(|)|"
    b"lxd|Worker|\xff|\xc3\xa9|\xe4\xbd\xbf|-|:|oslo_db|20s|,|<|>".split(b"|")
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=40))
def test_any_bytes_are_read(pieces: list[bytes]) -> None:
    """No input crashes the scan, and its edits never overlap."""
    source = b"".join(pieces)
    for layout in (LAYOUT, LAYOUT.inverse()):
        splice(source, text.scan(source, layout.for_file("x.md")).edits)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'import "example.com/o/p/lxd/sub"\n', b'import "example.org/q/inner/sub"\n'),
        (b'import "example.com/o/p/lxd"\n', b'import "example.org/q/inner"\n'),
        (b'import "example.com/o/p/lxdx"\n', b'import "example.com/o/p/lxdx"\n'),
        (b'import "mirror/example.com/o/p/lxd"\n', b'import "mirror/example.com/o/p/lxd"\n'),
    ],
)
def test_a_slashed_module_is_a_whole_name_from_its_start(old, new):
    """A Go import path changes at segment boundaries, never behind another segment or inside one."""
    pair = Pair(("example.com", "o", "p", "lxd"), ("example.org", "q", "inner"))
    layout = Layout(extra_imports=(pair,))
    forward = splice(old, text.scan(old, layout.for_file("m.go")).edits)
    assert forward == new
    assert splice(forward, text.scan(forward, layout.inverse().for_file("m.go")).edits) == old


@pytest.mark.parametrize(
    "start, unit",
    [
        (b"", b"verl/utils/fs.py/"),  # one run of path characters
        (b"```bash\nx ", b"arctic_rl=1 "),  # what stands before it in a shell block
        (b"", b"```bash\nx arctic_rl=1\n```\n"),  # in which block is it
    ],
)
def test_every_match_of_a_long_line_is_found(start, unit):
    """Thousands of matches in one line, or in as many blocks, are all found."""
    assert len(text.scan(start + unit * 3_000, LAYOUT.for_file("README.md")).edits) == 3_000
