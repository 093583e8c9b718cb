"""The HTML page: self-contained, parsed back, and nothing in it that runs or loads."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from parity.gate.page import html
from tests.gate.support import DIFFER, LEDGER, LOST, NASTY, case, differing, found, gate, incomparable, probe

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Elements with their attributes, text, and whether every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.balanced = True
        self.feed(text)
        self.balanced &= not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.balanced &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def test_the_answer_comes_first():
    """Verdict and reason stand at the top, in the tone of the verdict."""
    for told, tone in ((gate(), "match"), (differing(), "differ"), (incomparable(), "incomparable")):
        page = Page(html(told))
        assert page.balanced
        answer = next(attributes for tag, attributes in page.elements if "answer" in (attributes.get("class") or ""))
        assert tone in answer["class"]
        assert f"{told.verdict.value}: {told.answer}" in page.text


def test_everything_is_there():
    """Probes, first divergence, table, ledger, what is shared, warnings, and what was not checked."""
    page = Page(html(differing(ledger=LEDGER, warnings=("a rule fitted nothing",), unchecked={"guard": "no base"})))
    for told in ("2 scenarios, 10 keys", "first divergence meta.lr", "app/remote/client.py:12", "the base, main",
                 "closes wire.order", "nobody reads it", "a rule fitted nothing", "not checked no base"):  # fmt: skip
        assert told in page.text, told
    lost = Page(html(differing(ledger=(*LEDGER, LOST)))).text
    assert f"Train from labels ({LOST.incomparable}) - -" in lost


def test_nothing_is_loaded_or_run():
    """No script, no link, no image, no handler, whatever names hold; one file is the whole page."""
    nasty = f"{NASTY}<script>alert(1)</script><img src=x onerror=y>"
    told = found(f"plain/{nasty}", nasty, nasty, cause=nasty)
    text = html(
        gate(probe("wire", case(nasty, DIFFER, told, reason=nasty)), warnings=(nasty,), unchecked={nasty: nasty})
    )
    page = Page(text)
    assert page.balanced
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base"}
    attributes = {name for _, held in page.elements for name in held}
    assert not {name for name in attributes if name.startswith("on") or name in ("src", "srcset")}
    assert "\x1b" not in text and "\u202e" not in text


def test_long_tables_are_counted():
    """A thousand keys are cut with their count."""
    many = [found(f"plain/meta.k{place}") for place in range(1000)]
    assert "and 700 more" in Page(html(gate(probe("wire", case("plain", DIFFER, *many))))).text


def test_a_cause_that_is_not_known():
    """It is said in words, with the first divergence and in the table."""
    assert Page(html(gate(probe("wire", case("plain", DIFFER, found(cause="")))))).text.count("not known") == 2


def test_keys_and_lines_have_room():
    """The columns of keys and lines, and no others, are wide where the page is."""
    told = found(rule="expected", counts=False)
    text = html(gate(probe("wire", case("plain", DIFFER, found(), told))))
    rule = text.partition("@media screen and (min-width: 75rem) {")[2].partition("min-width: 20rem")[0]
    for name, heads in (("found", ("key", "line")), ("declared", ("key", "line"))):
        head = text.partition(f'class="keys {name}"')[2].partition("</thead>")[0]
        columns = re.findall("<th>(.*?)</th>", head)
        wide = [int(place) for place in re.findall(rf"[.]{name} td:nth-child[(](\d+)[)]", rule)]
        assert [columns[place - 1] for place in wide] == list(heads)
