"""The case format is read and written as its README says."""

from __future__ import annotations

import pytest

from tests.support.cases import Ran, check_case, read_cases, render_block, update_file

DOCUMENT = """# Title

Prose.

```yaml layout
paths: {a.py: b.py}
```

```old a.py crlf
x
y
```

```new b.py crlf no-eol
x
```

```both c.md
```

## Second

````old d.md
```
````

```one-way
d.md:1
```

```notes
ambiguous d.md:1
```
"""


@pytest.fixture
def document(tmp_path):
    file = tmp_path / "topic.md"
    file.write_text(DOCUMENT)
    return file


def test_blocks_become_bytes(document):
    """Flags change bytes; an empty block is an empty file; a longer fence may hold a shorter one."""
    first, second = read_cases(document)
    assert first.side("old") == {"a.py": (0o100644, b"x\r\ny\r\n"), "c.md": (0o100644, b"")}
    assert first.side("new") == {"b.py": (0o100644, b"x"), "c.md": (0o100644, b"")}
    assert second.side("old") == {"d.md": (0o100644, b"```\n")}
    assert (second.one_way, second.notes) == (["d.md:1"], ["ambiguous d.md:1"])
    assert second.read_layout() == first.read_layout()


@pytest.mark.parametrize(
    ("mode", "content"),
    [
        (0o100644, b"plain\n"),
        (0o100644, b""),
        (0o100644, b"\n"),
        (0o100644, b"a\r\nb\r\n"),
        (0o100755, b"no end"),
        (0o120000, b"../target"),
        (0o100644, b"caf\xe9\n"),
        (0o100644, b"```py\n```\n"),
    ],
)
def test_rendered_block_reads_back(tmp_path, mode, content):
    """What --update-cases writes is read back as the same bytes."""
    file = tmp_path / "t.md"
    file.write_text("\n".join(["# t", *render_block("old", "p", mode, content), ""]), encoding="utf-8")
    assert read_cases(file)[0].side("old") == {"p": (mode, content)}


def test_update_rewrites_only_new_blocks(document):
    """--update-cases replaces, adds and removes `new` blocks and leaves all other lines alone."""

    def run(case):
        files = {"b.py": (0o100644, b"z\n"), "c.md": (0o100644, b""), "e": (0o100644, b"e\n")}
        return Ran(files if case.title == "Title" else {"d.md": (0o100644, b"```\n")}, [], [], {})

    update_file(document, run)
    first, second = read_cases(document)
    assert first.side("new") == {"b.py": (0o100644, b"z\n"), "c.md": (0o100644, b""), "e": (0o100644, b"e\n")}
    assert first.side("old") == {"a.py": (0o100644, b"x\r\ny\r\n"), "c.md": (0o100644, b"")}
    assert second.side("new") == {"d.md": (0o100644, b"```\n")}
    before = document.read_text()
    update_file(document, run)
    assert document.read_text() == before


def test_unclosed_block_is_an_error(tmp_path):
    """A block that never ends is refused, not read to the end of the file."""
    file = tmp_path / "t.md"
    file.write_text("# t\n```old a\nx\n")
    with pytest.raises(AssertionError, match="never closed"):
        read_cases(file)


def test_a_case_that_does_not_hold_fails(document, monkeypatch):
    """A wrong byte, a missing file, an unexpected note or a lost way back: each fails the case."""
    case = read_cases(document)[0]
    right = Ran(case.side("new"), [], [], case.side("old"))
    wrong = [
        Ran({**right.files, "b.py": (0o100644, b"y")}, [], [], right.back),
        Ran({"b.py": right.files["b.py"]}, [], [], right.back),
        Ran(right.files, ["a.py:1"], [], right.back),
        Ran(right.files, [], ["ambiguous a.py:1"], right.back),
        Ran(right.files, [], [], {}),
    ]
    monkeypatch.setattr("tests.support.cases.run_case", lambda case: right)
    check_case(case)
    for ran in wrong:
        monkeypatch.setattr("tests.support.cases.run_case", lambda case, ran=ran: ran)
        with pytest.raises(AssertionError):
            check_case(case)
