"""The shell of every page: nothing in it is markup by accident, nothing is fetched or run."""

import re

import pytest

from parity import webpage
from parity.webpage import Html, code, element, escape, figure, items, link, page, section, table, terms
from tests.smoke.look import fetched, parsed

EVIL = '<script>alert("x")</script> & \x1b[31m\u202e \udcff'


def test_text_is_escaped_everywhere():
    """Whatever a name holds, in any place, it is text: no element, no attribute, nothing a terminal acts on."""
    parts = [
        section(EVIL, EVIL, element("p", EVIL, title=EVIL), ident="a"),
        table((EVIL,), [(EVIL,)], caption=EVIL, numbers={0}, marked={0}),
        figure(element("svg"), EVIL),
        items([EVIL]),
        code(EVIL),
        terms([(EVIL, EVIL)]),
        link("a", EVIL),
    ]
    made = page(EVIL, parts, answer=EVIL, about=EVIL)
    assert "<script" not in made and "\x1b" not in made and "\u202e" not in made
    made.encode("utf-8")
    assert "script" not in {tag for tag, _ in parsed(made)}


def test_markup_is_not_escaped_twice():
    """What is markup already stays it, and only an Html is."""
    inner = element("b", "a & b")
    assert element("p", inner) == "<p><b>a &amp; b</b></p>"
    assert escape(inner) is inner
    assert escape("<b>") == "&lt;b&gt;" and isinstance(escape("x"), Html)


def test_nothing_is_fetched_and_nothing_is_run():
    """The page needs no other file and no script, and forbids both."""
    made = page("x", [section("y", "z")])
    assert fetched(made) == [] and not re.search(r"https?://|<script|@import|url\(", made)
    policy = next(told["content"] for tag, told in parsed(made) if told.get("http-equiv"))
    assert policy.startswith("default-src 'none'") and "script-src" not in policy


def test_the_answer_stands_first():
    """Title and answer, then the sections in their order."""
    made = page("Smoke", [section("one"), section("two")], answer="DIFFER: x", tone="differ")
    order = [made.index(text) for text in ("<h1>Smoke", "DIFFER: x", "<h2>one", "<h2>two")]
    assert order == sorted(order)
    assert '<p class="answer differ">' in made


def test_a_table_prints():
    """Its head is a head, which is repeated on each sheet; numbers and marked rows carry their class."""
    made = table(("a", "b"), [("x", "1"), ("y", "2")], numbers={1}, marked={1})
    assert '<thead><tr><th>a</th><th class="number">b</th></tr></thead>' in made
    assert '<tr><td>x</td><td class="number">1</td></tr>' in made
    assert '<tr class="marked"><td>y</td>' in made
    style = page("x", [], style="b { color: red }")
    assert "@page { size: A4" in style and "table-header-group" in style and "b { color: red }" in style


def test_a_section_can_be_linked():
    """A link leads to the section of its name."""
    assert '<section class="match" id="here">' in section("x", tone="match", ident="here")
    assert link("here", "x") == '<a href="#here">x</a>'


def test_lines_keep_their_ends():
    """Several lines become a block, one a span."""
    assert code("a\nb") == "<pre>a\nb</pre>"
    assert code("a") == "<code>a</code>"


def test_the_module_hides_none_of_the_standard_library():
    """A process that has the folder on its path still finds the standard library's modules."""
    import sys

    assert webpage.__name__.rpartition(".")[2] not in sys.stdlib_module_names


@pytest.mark.parametrize("broken", ["<p><b></p></b>", "<div><p></div>"])
def test_the_check_of_nesting_sees(broken):
    """The reader these tests use finds elements that do not nest."""
    with pytest.raises(AssertionError):
        parsed(broken)
