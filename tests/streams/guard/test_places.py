"""Where cues stand: which words of a pair are coloured, and that nothing else ever is."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.contracts.evidence import Cue
from palimpsest.streams.guard import compare, read
from palimpsest.streams.guard.places import cue_places
from palimpsest.streams.guard.text.words import places, split
from tests.tables import each

UNKNOWN = {"🍕", "🍣"}
PAIRS = [
    ("Ada has 2 cats.", "Ada has three cats.", {"number": (["2"], ["three"])}),
    ("5 km, 2 dogs", "2 km, 5 dogs", {"number": (["5 km", "2"], ["2 km", "5"])}),
    ("issue # 2 is open", "issue 3 is open", {"number": (["2"], ["3"])}),
    ("the third stone", "the fourth stone", {"number": (["third"], ["fourth"])}),
    ("She runs 5 km", "She runs 5 miles", {"unit": (["5 km"], ["5 miles"])}),
    ("born March 10th, 1867 there", "born there", {"date": (["March 10th, 1867"], [])}),
    ("uses v2.1 now", "uses version 2.2 now", {"version": (["v2.1"], ["version 2.2"])}),
    ("Ada likes tea", "Ada doesn’t like tea", {"negation": ([], ["doesn’t"])}),
    ("she no longer sings", "she sings", {"negation": (["no"], [])}),
    ("it is useful to her", "it is useless to her", {"negation": ([], ["useless"])}),
    ("never eats meat", "never eats fish, not meat", {"negation": ([], ["not"])}),
    ("tea is hot", "tea is cold", {"antonym": (["hot"], ["cold"])}),
    ("He met Ada there", "He met Grace there", {"name": (["Ada"], ["Grace"])}),
    ("the dog bit Rex", "Rex bit the dog", {"swapped_order": (["bit", "Rex"], ["bit", "dog"])}),
    ("He left IT then", "He left it then", {"case": (["IT"], ["it"])}),
    ("runs Go 1.3 there", "runs Go 1.30 there", {"number": (["1.3"], ["1.30"])}),
    ("I love 🍕", "I love 🍣", {"unknown_token": (["🍕"], ["🍣"])}),
    ("он любит чай", "он не любит чай", {"unknown_token": ([], ["не"])}),
    ("ﬁve ½ cafe\u0301 2 cats", "ﬁve ½ cafe\u0301 3 cats", {"number": (["2"], ["3"])}),
]


def shown(text: str, found: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in found]


@each(("old", "new", "wanted"), PAIRS)
def test_each_cue_is_where_it_was_seen(
    old: str, new: str, wanted: dict[str, tuple[list[str], list[str]]]
) -> None:
    unknown = tuple(sorted(UNKNOWN & {*old})), tuple(sorted(UNKNOWN & {*new}))
    cues = compare(read(old, unknown=unknown[0]), read(new, unknown=unknown[1])).cues
    for cue, (before, after) in wanted.items():
        assert cue in cues
        left, right = cue_places(old, new, [Cue(cue)], unknown=unknown)
        assert shown(old, [(one.start, one.end) for one in left]) == before
        assert shown(new, [(one.start, one.end) for one in right]) == after
        if cue != "swapped_order":  # of the same words either may be the one that moved
            turned = cue_places(new, old, [Cue(cue)], unknown=(unknown[1], unknown[0]))
            assert turned == (right, left)


def test_a_text_in_capitals_has_no_names() -> None:
    assert cue_places("BO LEFT OSLO", "Rex left Rome", [Cue.NAME])[0] == []


def test_a_word_is_unknown_by_a_part_of_it_and_as_a_part() -> None:
    def unknown_places(word: str) -> list[tuple[int, int]]:
        left, _ = cue_places("Has tea", "Has it", [Cue.UNKNOWN_TOKEN], unknown=((word,), ()))
        return [(one.start, one.end) for one in left]

    assert unknown_places("TEA") == unknown_places("te") == unknown_places("teapot") == [(4, 7)]
    assert unknown_places("pot") == []


def test_only_the_cues_that_are_asked_for_are_shown() -> None:
    old, new = "Ada has 2 cats in Bonn", "Ada has 3 cats in Rome"
    left, _ = cue_places(old, new, [Cue.NAME, Cue.TRUNCATED])
    assert [(old[one.start : one.end], one.cue) for one in left] == [("Bonn", Cue.NAME)]


WORDS = (
    "Ada has not 2 three cats in March, 10 km v2.1 doesn't hot cold unhappy happy . ½ é не 🍕 no"
    " longer"
)
TEXTS = st.one_of(
    st.text(max_size=40), st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)
)


@given(TEXTS, TEXTS)
def test_every_cue_but_those_of_the_whole_text_has_a_place(old: str, new: str) -> None:
    cues = compare(read(old), read(new)).cues
    found = cue_places(old, new, cues)
    for text, here in zip((old, new), found, strict=True):
        assert all(0 <= one.start < one.end <= len(text) for one in here)
    if places(old) is not None and places(new) is not None:
        shown = {one.cue for here in found for one in here}
        assert {Cue.UNKNOWN_TOKEN, *shown} == {Cue.UNKNOWN_TOKEN, *cues}


@given(TEXTS)
def test_each_written_word_comes_from_its_place(text: str) -> None:
    found = places(text)
    if found is None:
        return
    assert len(found) == len(split(text))
    for (start, end), word in zip(found, split(text), strict=True):
        folded = unicodedata.normalize("NFKC", text[start:end])
        assert word.replace("'", "") in "".join(c for c in folded if c not in "’‘`´'")


@given(TEXTS)
def test_a_text_shows_nothing_beside_itself(text: str) -> None:
    assert cue_places(text, text, [*Cue]) == ([], [])
