"""Shell scripts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porttool.edits import splice
from porttool.layout import Layout, paths_renaming
from porttool.names import Pair, renaming, split
from porttool.rewrite import shell

LAYOUT = Layout(
    paths=paths_renaming({"verl/utils/fs.py": "verl/io/files.py"}),
    extra_modules=(Pair(split("arctic_training.rl"), split("arctic_platform.rl")),),
    keys=renaming(
        "key",
        {"arctic_rl.use_zorro": "remote_backend.zorro_train.enable", "arctic_rl": "remote_backend"}.items(),
    ),
)


def both_ways(old: str, new: str, layout: Layout = LAYOUT) -> None:
    """`old` becomes `new`, and `new` becomes `old` again."""
    source, wanted = old.encode(), new.encode()
    assert splice(source, shell.scan(source, layout.for_file("run.sh")).edits).decode() == new
    back = shell.scan(wanted, layout.inverse().for_file("run.sh"))
    assert splice(wanted, back.edits).decode() == old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("python -m x.y arctic_rl.lr=1\n", "python -m x.y remote_backend.lr=1\n"),
        ("run arctic_rl.use_zorro=True", "run remote_backend.zorro_train.enable=True"),
        (
            "run +arctic_rl.lr=1 ++arctic_rl.b=2 ~arctic_rl.c\n",
            "run +remote_backend.lr=1 ++remote_backend.b=2 ~remote_backend.c\n",
        ),
        ("run \\\n  arctic_rl.lr=1 \\\n  x=1\n", "run \\\n  remote_backend.lr=1 \\\n  x=1\n"),
        ("ARGS+=(arctic_rl.lr=1 arctic_rl=x)\n", "ARGS+=(remote_backend.lr=1 remote_backend=x)\n"),
        ('run arctic_rl.name="${VAR}"\n', 'run remote_backend.name="${VAR}"\n'),
        (
            "run \"arctic_rl.name=$X\" 'arctic_rl.y=[1,2]'\n",
            "run \"remote_backend.name=$X\" 'remote_backend.y=[1,2]'\n",
        ),
        ("run 'x=${arctic_rl.lr}'\n", "run 'x=${remote_backend.lr}'\n"),
        ("run a.b='${arctic_rl}'\n", "run a.b='${remote_backend}'\n"),
        ('run a.b="\\${arctic_rl}"\n', 'run a.b="\\${remote_backend}"\n'),
        ('X="a.b=1 arctic_rl.lr=2"\n', 'X="a.b=1 remote_backend.lr=2"\n'),
        (
            "run arctic_rl.n=$((1 + 2)) arctic_rl.m=$(nproc)\n",
            "run remote_backend.n=$((1 + 2)) remote_backend.m=$(nproc)\n",
        ),
        (
            "python -m verl.utils.fs verl/utils/fs.py # verl.utils.fs\n",
            "python -m verl.io.files verl/io/files.py # verl.io.files\n",
        ),
        (
            "cat <<EOF\npython -m t arctic_rl.lr=1 $arctic_rl\nEOF\n",
            "cat <<EOF\npython -m t remote_backend.lr=1 $arctic_rl\nEOF\n",
        ),
        ("env A=1 python x arctic_rl=a\n", "env A=1 python x remote_backend=a\n"),
        ('bash run.sh arctic_rl=a "arctic_rl=b"\n', 'bash run.sh remote_backend=a "remote_backend=b"\n'),
        (
            "# run arctic_rl.lr=1 or `python t arctic_rl=a`\n",
            "# run remote_backend.lr=1 or `python t remote_backend=a`\n",
        ),
        ("run arctic_rl.lr=1\r\nrun arctic_rl.lr=2", "run remote_backend.lr=1\r\nrun remote_backend.lr=2"),
    ],
)
def test_overrides_are_renamed_and_come_back(old: str, new: str) -> None:
    """Overrides in every shell position are renamed in place, and the inverse gives the script back."""
    both_ways(old, new)


@pytest.mark.parametrize(
    "script",
    [
        "arctic_rl=1\n",
        "arctic_rl=1 python -m x\n",
        "export arctic_rl=1\n",
        "python x; arctic_rl=1\n",
        "env arctic_rl=1 python x\n",
        "make arctic_rl=1\n",
        "docker run -e arctic_rl=1 image\n",
        "echo $arctic_rl ${arctic_rl} ${arctic_rl:-x}\n",
        "run arctic_rl2.x=1 my_arctic_rl.x=1 a.arctic_rl.x=1\n",
        "python -m verl.utils.fsdp_utils verl/utils/fs.pyc\n",
        'run "$X/arctic_rl=1',
        "if then (((\n",
    ],
)
def test_assignments_and_variables_stay(script: str) -> None:
    """A shell variable that has the name of a key is not a key, however the script looks."""
    both_ways(script, script)


def test_t67_unparsable_override_is_listed_not_guessed() -> None:
    """An override that Hydra itself cannot read is left alone and noted with its offset."""
    source = b"run ~arctic_rl.20s_labels\n"
    found = shell.scan(source, LAYOUT.for_file("run.sh"))
    assert found.edits == []
    assert [(note.offset, note.kind) for note in found.notes] == [(4, "unparsable")]


PIECES = st.sampled_from(
    b"arctic_rl|use_zorro"
    b"|.|=|'|${|$(|)|}| |\n|\\\n|python -m |<<EOF\n|EOF\n|\"|`|~|+|@|[|{|(|export |env |;|&|#|\xff|A".split(
        b"|"
    )
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=40))
def test_any_bytes_are_read(pieces: list[bytes]) -> None:
    """No input crashes the scan, and its edits never overlap."""
    source = b"".join(pieces)
    for layout in (LAYOUT, LAYOUT.inverse()):
        splice(source, shell.scan(source, layout.for_file("run.sh")).edits)
