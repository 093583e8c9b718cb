"""Hydra overrides, one word at a time."""

from __future__ import annotations

import pytest

from porttool.edits import splice
from porttool.layout import Fragment, Layout, fragment_end, paths_renaming
from porttool.names import renaming
from porttool.rewrite import overrides

LAYOUT = Layout(
    paths=paths_renaming(
        {
            "verl/config/algo": "verl/config/algorithm/main",
            "verl/config/db/my.yaml": "verl/config/store/sql.yaml",
        }
    ),
    keys=renaming(
        "key",
        {
            "arctic_rl.use_zorro": "remote_backend.zorro_train.enable",
            "arctic_rl": "remote_backend",
            "overrides": "tuning",
        }.items(),
    ),
)


def translated(word: bytes, layout: Layout) -> bytes:
    return splice(word, overrides.scan_word(word, layout.for_file("x.sh"), 0, len(word)).edits)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"arctic_rl.lr=1", b"remote_backend.lr=1"),
        (b"+arctic_rl.lr=1", b"+remote_backend.lr=1"),
        (b"++arctic_rl.use_zorro=True", b"++remote_backend.zorro_train.enable=True"),
        (b"~arctic_rl.lr", b"~remote_backend.lr"),
        (b"~arctic_rl.lr=1", b"~remote_backend.lr=1"),
        (b"arctic_rl=x", b"remote_backend=x"),
        (b"foo@arctic_rl.x=y", b"foo@remote_backend.x=y"),
        (b"+foo@arctic_rl.use_zorro=y", b"+foo@remote_backend.zorro_train.enable=y"),
        (b"arctic_rl.x='[1,2]'", b"remote_backend.x='[1,2]'"),
        (b'"arctic_rl.x=[1, 2]"', b'"remote_backend.x=[1, 2]"'),
        (b'arctic_rl.x="${VAR}"', b'remote_backend.x="${VAR}"'),
        (b"arctic_rl.x={a: 1}", b"remote_backend.x={a: 1}"),
        (b"arctic_rl.x=a,b", b"remote_backend.x=a,b"),
        (b"arctic_rl.x=", b"remote_backend.x="),
        (b"'x=${arctic_rl}'", b"'x=${remote_backend}'"),
        (b"x=${arctic_rl.use_zorro}", b"x=${remote_backend.zorro_train.enable}"),
        (b"arctic_rl.x=$(nproc --all)", b"remote_backend.x=$(nproc --all)"),
        (b"arctic_rl.x=<path>", b"remote_backend.x=<path>"),
        (b"algo=ppo", b"algo=ppo"),
        (b"algo/x=ppo", b"algorithm/main/x=ppo"),
        (b"algo@_global_=ppo", b"algorithm/main@_global_=ppo"),
        (b"db=my", b"store=sql"),
        (b"db=other", b"db=other"),
    ],
)
def test_override_is_renamed_and_comes_back(old: bytes, new: bytes) -> None:
    """Key, group, package and choice are renamed, the value's references too; the inverse gives the word back."""
    assert translated(old, LAYOUT) == new
    assert translated(new, LAYOUT.inverse()) == old


def test_t68_group_with_a_package_is_a_group() -> None:
    """`overrides=best` is a key; in `overrides@_global_=best` the group is renamed and the package is not."""
    assert translated(b"overrides=best", LAYOUT) == b"tuning=best"
    assert translated(b"overrides@_global_=best", LAYOUT) == b"tuning@_global_=best"
    assert translated(b"overrides@arctic_rl=best", LAYOUT) == b"tuning@remote_backend=best"


def test_a_group_the_layout_knows_is_no_key() -> None:
    """`remote_backend=arctic` chooses a file; a pair that nests the key of that name leaves it alone."""
    layout = Layout(
        keys=renaming("key", [("remote_backend", "remote_backend.arctic")]),
        fragments=(
            Fragment(
                fragment_end("verl/config/remote_backend/arctic.yaml#"),
                fragment_end("verl/config/main.yaml#remote_backend.arctic"),
            ),
        ),
    )
    assert translated(b"remote_backend=arctic", layout) == b"remote_backend=arctic"
    assert translated(b"remote_backend.lr=1", layout) == b"remote_backend.arctic.lr=1"


@pytest.mark.parametrize(
    "word", [b"~arctic_rl.20s_labels", b"arctic_rl.x=a=b", b"arctic_rl.x=[1,", b"foo@arctic_rl:a.b=y"]
)
def test_t67_unparsable_override_is_listed_not_guessed(word: bytes) -> None:
    """What Hydra cannot read is left alone and noted, if it mentions a renamed key."""
    found = overrides.scan_word(word, LAYOUT.for_file("x.sh"), 0, len(word))
    assert found.edits == []
    assert [(note.offset, note.kind) for note in found.notes] == [(0, "unparsable")]


@pytest.mark.parametrize(
    "word", [b"~other.20s_labels", b"x=a=b", b"arctic_rl", b"arctic_rl2.x=1", b"--arctic_rl.x=1", b""]
)
def test_other_words_are_silent(word: bytes) -> None:
    """No edit and no note where no key of the layout is named by an override."""
    assert overrides.scan_word(word, LAYOUT.for_file("x.sh"), 0, len(word)) == ([], [])


def test_key_inside_a_dict_value_that_moves_apart_is_noted() -> None:
    """A dict value that holds a key with a place of its own cannot be renamed by one edit."""
    found = overrides.scan_word(b"arctic_rl={use_zorro: 1}", LAYOUT.for_file("x.sh"), 0, 24)
    assert found.edits == []
    assert [note.kind for note in found.notes] == ["key-moved"]


@pytest.mark.parametrize("word", [b"arctic_rl.x=" + b"[" * 3000, b"arctic_rl.x=" + b"a" * 9000])
def test_absurd_values_are_not_parsed(word: bytes) -> None:
    """Values no human wrote are noted without being handed to the parser, which would recurse out."""
    found = overrides.scan_word(word, LAYOUT.for_file("x.sh"), 0, len(word))
    assert [note.kind for note in found.notes] == ["unparsable"]
