"""Commits are paired by what they do."""

from __future__ import annotations

from collections import Counter

import pytest

from porttool.status_delta import Delta, Told
from porttool.status_pair import evidence, pair

ANN = "Ann <ann@example.invalid>"
BOB = "Bob <bob@example.invalid>"


def delta(text: str, path: str = "a.py") -> Delta:
    """`+x -y` as a delta of whole lines of one file."""
    items = Counter()
    for word in text.split():
        items[path, f"{word[1:]} = a line of some length\n".encode()] += 1 if word[0] == "+" else -1
    return Delta(dict(items))


def commit(oid: str, text: str | Delta, *, author: str = ANN, subject: str = "", date: str = "", **options) -> Told:
    made = text if isinstance(text, Delta) else delta(text)
    return Told(oid, author, (date or oid).encode(), subject or f"subject of {oid}", made, **options)


def matches(sources, targets):
    return [(m.sources, m.targets, m.how) for m in pair(sources, targets).matches]


def test_same_lines_are_one_commit_whatever_the_message():
    """A reworded commit by somebody else is found by its lines."""
    assert matches([commit("s", "+x -y")], [commit("t", "+x -y", author=BOB, subject="other")]) == [
        (("s",), ("t",), "identity")
    ]


def test_other_file_is_another_identity():
    """The same lines in another file are not the same commit; alone they are only similar."""
    [match] = pair([commit("s", delta("+x", "a.py"))], [commit("t", delta("+x", "b.py"))]).matches
    assert match.how == "similar"
    assert match.likeness == 0.9


def test_sign_counts():
    """Adding a line and removing it are different commits."""
    assert matches([commit("s", "+x")], [commit("t", "-x")]) == []


def test_order_of_lines_does_not_count():
    """An identity is a set of lines, so a hunk that slid past an equal line changes nothing."""
    assert delta("+a +b -c").signature == delta("-c +b +a").signature
    assert delta("+a +a").signature != delta("+a").signature


def test_squash_of_neighbours():
    """One target commit that is three source commits together."""
    sources = [commit("s1", "+a"), commit("s2", "+b -z"), commit("s3", "+c"), commit("s4", "+d")]
    assert matches(sources, [commit("t", "+a +b -z +c"), commit("u", "+d")]) == [
        (("s1", "s2", "s3"), ("t",), "squash"),
        (("s4",), ("u",), "identity"),
    ]


def test_squash_where_one_part_undoes_another():
    """A line added and taken out again inside the squash is not in the result."""
    sources = [commit("s1", "+a +tmp"), commit("s2", "-tmp +b")]
    assert matches(sources, [commit("t", "+a +b")]) == [(("s1", "s2"), ("t",), "squash")]


def test_squash_of_commits_that_are_no_neighbours():
    """Autosquashed fixups skip the commits between them."""
    sources = [commit("s1", "+a"), commit("s2", delta("+other", "b.py")), commit("s3", "+c")]
    found = matches(sources, [commit("t", "+a +c")])
    assert found == [(("s1", "s3"), ("t",), "squash")]


def test_subset_of_interleaved_commits():
    """Parts of one file among other parts of it."""
    sources = [commit("s1", "+a"), commit("s2", "+b"), commit("s3", "+c"), commit("s4", "+d")]
    found = matches(sources, [commit("t", "+a +d"), commit("u", "+b +c")])
    assert sorted(found) == [(("s1", "s4"), ("t",), "squash"), (("s2", "s3"), ("u",), "squash")]


def test_split():
    """One source commit that became two target commits."""
    assert matches([commit("s", "+a +b +c")], [commit("t", "+a"), commit("u", "+b +c")]) == [
        (("s",), ("t", "u"), "split")
    ]


def test_resolved_port_is_similar():
    """Most lines the same and the same author: paired, and not called the same."""
    sources = [commit("s", "+a +b +c +d"), commit("s2", "+k +l +m +n")]
    targets = [commit("t", "+a +b +c +e"), commit("t2", "+k +l +m +o")]
    assert matches(sources, targets) == [(("s",), ("t",), "similar"), (("s2",), ("t2",), "similar")]


def test_little_in_common_needs_evidence():
    """A quarter of the lines pairs only where author and date agree."""
    source = commit("s", "+a +b +c +d", date="7")
    assert matches([source], [commit("t", "+a +x +y +z", author=BOB)]) == []
    assert matches([source], [commit("t", "+a +w +y +z")]) == []
    assert matches([source], [commit("t", "+a +x +y +z", date="7")]) == [(("s",), ("t",), "similar")]


def test_a_message_alone_pairs_nothing():
    """Same subject, author and date over different lines: not the same commit."""
    source = commit("s", "+a +b", subject="fix", date="7")
    assert matches([source], [commit("t", "+x +y", subject="fix", date="7")]) == []


def test_a_trailer_alone_pairs_nothing():
    """A copied trailer over different lines does not make a port."""
    assert matches([commit("s", "+a +b")], [commit("t", "+x +y", sources=("s",))]) == []


def test_no_guess_between_equal_mates():
    """Two equally similar targets and no evidence: a tie, no pair."""
    found = pair(
        [commit("s", "+a +b +c +d")],
        [commit("t", "+a +b +c +x", author=BOB), commit("u", "+a +b +c +y", author=BOB)],
    )
    assert found.matches == ()
    assert found.ties[0].targets == ("t", "u")


def test_evidence_decides_between_equal_lines():
    """One change made twice: author and date say which is which."""
    sources = [commit("s1", "+a", date="1"), commit("s2", "+a", date="2")]
    targets = [commit("t2", "+a", date="2"), commit("t1", "+a", date="1")]
    assert matches(sources, targets) == [(("s1",), ("t1",), "identity"), (("s2",), ("t2",), "identity")]


def test_one_change_more_often_on_one_side_is_a_tie():
    """Two equal source commits and one target commit that fits both: no guess."""
    sources = [commit("s1", "+a", subject="x"), commit("s2", "+a", subject="x")]
    found = pair(sources, [commit("t", "+a", author=BOB, subject="y")])
    assert found.matches == ()
    assert found.ties[0].sources == ("s1", "s2")


def test_equal_changes_equally_often_all_have_their_mate():
    """Two and two: each is there, in the order of the branch."""
    sources = [commit("s1", "+a"), commit("s2", "+a")]
    targets = [commit("t1", "+a", author=BOB), commit("t2", "+a", author=BOB)]
    assert matches(sources, targets) == [(("s1",), ("t1",), "identity"), (("s2",), ("t2",), "identity")]


def test_resolved_squash():
    """A squash in which one line was resolved differently holds all its parts."""
    sources = [commit("s1", "+a +b +c +d"), commit("s2", "+e +f +g +h")]
    [match] = pair(sources, [commit("t", "+a +b +c +d +e +f +g +x")]).matches
    assert (match.sources, match.how) == (("s1", "s2"), "similar squash")


def test_empty_commits_pair_by_author_date_and_subject_only():
    """Nothing in them can tell them apart, so everything else has to agree."""
    none = Delta({})
    source = commit("s", none, subject="start CI", date="5")
    assert matches([source], [commit("t", none, subject="start CI", date="5")]) == [(("s",), ("t",), "identity")]
    assert matches([source], [commit("t", none, subject="other", date="6")]) == []


@pytest.mark.parametrize("options", [{"subject": "subject of s"}, {"date": "s"}, {"author": BOB}])
def test_pairs_do_not_depend_on_order(options):
    """The same pairs come out whatever the order in which the branches are told."""
    sources = [commit("s", "+a +b +c"), commit("r", "+k +l +m")]
    targets = [commit("t", "+a +b +x", **options), commit("q", "+k +l +y")]
    told = {(m.sources, m.targets) for m in pair(sources, targets).matches}
    assert told == {(m.sources, m.targets) for m in pair(sources[::-1], targets[::-1]).matches}


def test_evidence_is_named():
    """What agrees is listed, for a reader to check."""
    source = commit("abcdef0", "+a", subject="fix", date="7")
    target = commit("t", "+b", subject="fix", date="7", sources=("abcdef0",))
    assert evidence(source, target) == ("trailer", "subject", "author and date")
    assert evidence(source, commit("t", "+b", author=BOB)) == ()


def port_of(*names: str, text: str = "-lower +strip", **told) -> Told:
    """A resolved port: no line of it is the source's, only its message says what it is."""
    return commit("port", text, subject="Strip it", sources=names, **told)


STRIP = {"subject": "Strip it", "date": "7"}


def test_the_word_of_a_port_wins_over_likeness():
    """A commit of the target alone, by the same author in the same second, is not taken for the resolved port."""
    source = commit("source0", "-text +strip", **STRIP)
    own = commit("own", "-text +lower", subject="Lower it", date="7")
    assert matches([source], [own]) == [(("source0",), ("own",), "similar")]
    for targets in ([own, port_of("source0")], [port_of("source0"), own]):
        assert matches([source], targets) == [(("source0",), ("port",), "named")]


def test_likeness_pairs_nothing_against_a_trailer():
    """Where trailer and author agree and the subject does not, the likeness of another commit is not enough."""
    source = commit("source0", "-text +strip", date="7", subject="other")
    own = commit("own", "-text +lower", date="7")
    assert matches([source], [own, port_of("source0", text="+both")]) == []
    assert matches([source], [own, port_of("source0", text="+both", author=BOB)]) == [
        (("source0",), ("own",), "similar")
    ]


def test_a_split_of_which_one_part_has_the_trailer():
    """Each part does some of what the source does: it is a split, whatever one of them says."""
    source = commit("source0", "+a +b", **STRIP)
    assert matches([source], [port_of("source0", text="+a"), commit("rest", "+b", author=BOB)]) == [
        (("source0",), ("port", "rest"), "split")
    ]


def test_a_port_by_its_word_is_no_other_commits_mate():
    """What names one source of the range is not paired with another one that looks more like it."""
    sources = [commit("source0", "+a +b +c +d", **STRIP), commit("source1", "+k +l +m +n")]
    assert matches(sources, [port_of("source0", text="+k +l +m +o")]) == [(("source0",), ("port",), "named")]
    sources[0] = commit("source0", "+a +b +c +d", subject="reworded on the way")
    assert matches(sources, [port_of("source0", text="+k +l +m +o")]) == []


def test_a_resolved_squash_by_its_word():
    """A squash whose lines are all others holds every source that it names."""
    sources = [commit("source0", "+a", **STRIP), commit("source1", "+b", subject="more")]
    assert matches(sources, [port_of("source0", "source1", text="+x")]) == [
        (("source0", "source1"), ("port",), "named")
    ]


def test_a_squash_that_looks_like_it_does_not_take_a_named_source():
    """Two sources lie in a commit of the target alone; the one that has a port of its own goes there."""
    sources = [commit("source0", "+a +b +c +d", **STRIP), commit("source1", "+e +f +g +h")]
    both = commit("both", "+a +b +c +d +e +f +g +x", author=BOB)
    assert matches(sources, [both])[0][2] == "similar squash"
    found = matches(sources, [both, port_of("source0", text="+z")])
    assert (("source0",), ("port",), "named") in found and all(how != "similar squash" for _, _, how in found)


def test_two_ports_by_their_word():
    """Of two commits that claim one source the one that is clearly nearer has it; else nobody does."""
    source = commit("source0", "+a +b", **STRIP)
    near = commit("near", "+a +x", subject="Strip it", sources=("source0",))
    assert matches([source], [port_of("source0", text="+z"), near]) == [(("source0",), ("near",), "named")]
    other = commit("other", "+z", subject="Strip it", sources=("source0",))
    found = pair([source], [port_of("source0", text="+y"), other])
    assert (found.matches, found.ties[0].reason) == ((), "named by each of them")


def test_about_equally_similar_is_a_tie():
    """A few letters more in common do not tell two candidates apart."""
    source = commit("s", "+a +b +c +d")
    near = commit("t", "+a +b +c +some_other_thing", author=BOB)
    far = commit("u", "+a +b +c +some_other_thing_yet", author=BOB)
    likes = sorted(source.delta.likeness(found.delta) for found in (near, far))
    assert 0.005 < likes[1] - likes[0] < 0.06
    found = pair([source], [near, far])
    assert (found.matches, len(found.ties)) == ((), 1)


def test_what_only_the_way_there_can_tell():
    """A target that carried back differs from its source is the port all the same, where carried on they are equal."""
    source, target = commit("s", "+x -y"), commit("t", "+u -v", author=BOB)
    onward = {"s": delta("+q -r"), "t": delta("+q -r")}
    assert matches([source], [target]) == []
    [match] = pair([source], [target], lambda one: onward[one.oid]).matches
    assert (match.how, match.likeness) == ("identity", 1.0)
    onward["t"] = delta("+m -n")
    assert pair([source], [target], lambda one: onward[one.oid]).matches == ()


def test_the_way_there_is_asked_where_it_can_tell():
    """What is paired by then, or of another size than everything on the other side, is not read again for identity."""
    asked = []

    def onward(one):
        asked.append(one.oid)
        return one.delta

    sources = [commit("s0", "+x"), commit("s1", "+a +b")]
    targets = [commit("t0", "+x"), commit("t1", "+c +d")]
    assert [match.sources for match in pair(sources, targets, onward).matches] == [("s0",)]
    assert set(asked) == {"s1", "t1"}
    asked.clear()
    pair(sources, [commit("t0", "+x")], onward)
    assert "s0" not in asked and "t0" not in asked


def test_likeness_is_the_greater_of_both_ways():
    """A port that somebody adapted is found by what it shares in the names of either side."""
    source, target = commit("s", "+x -y +z"), commit("t", "+u -v +z2", author=BOB)
    onward = {"s": delta("+q -r +z"), "t": delta("+q -r +z2")}
    [match] = pair([source], [target], lambda one: onward[one.oid]).matches
    assert match.how == "similar" and 0.5 < match.likeness < 1
