"""What became of a commit answers only what it is asked."""

from __future__ import annotations

from porttool.translate import Translator
from tests.porttool.rig import Rig


def test_what_does_not_come_back_is_found_when_asked(repo, monkeypatch):
    """Porting a commit goes no way back; the outcome answers what of it could not, and then goes."""
    rig = Rig(repo, {"old/a.txt": "a\n", "keep/x": "x\n"})
    one = rig.change({"keep/x": "x\n`new/place/a.txt`\n"})
    asked = []
    check = Translator._check
    monkeypatch.setattr(Translator, "_check", lambda self, *told: asked.append(told[0]) or check(self, *told))
    [applied] = rig.apply(one).applied
    assert asked == []
    assert [(culprit.path, culprit.line) for culprit in applied.one_way] == [("keep/x", 2)]
    assert set(asked) == {"keep/x"}
