"""Joins beyond the rules, the row that stays of a group, and a person's separations."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.cleaning import within as within_
from palimpsest.cleaning.clean import Cleaned, Keep, Rules, find_duplicates
from palimpsest.cleaning.documents import duplicates_of, summary_of
from palimpsest.cleaning.separated import SeparatedPair
from palimpsest.cleaning.texts import ScopedText
from palimpsest.cleaning.within import WITHIN
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search.exact import cosine
from tests.long import examples
from tests.stub_engine import StubEngine, load_stub

STANDARD = load_policy("standard")
DOG, LARGE = "Ada has a big dog.", "Ada has a large dog."
WORDS = st.lists(
    st.sampled_from("ada ben has owns 2 3 dogs cats big".split()), min_size=3, max_size=6
)


def cleaned(rows: list[str], rules: Rules) -> Cleaned:
    return find_duplicates(map(ScopedText, rows), rules, load_stub, lambda _what, _share: None)


def test_the_row_that_leaves_is_told_by_the_join_that_leads_to_the_one_that_stays() -> None:
    found = cleaned([DOG, LARGE, DOG, "Ben sails"], Rules(STANDARD, keep="newest"))
    assert found.stays == {0: 2, 1: 2}
    assert [(row["row"], row["partner_row"], row["rule"]) for row in duplicates_of(found)] == [
        (1, 3, "hash_exact"),
        (2, 1, "auto_reject"),
    ]


def test_which_row_of_a_group_stays() -> None:
    rows = [
        ScopedText(DOG, moment="2026-01-02"),
        ScopedText(LARGE, moment="2026-01-03"),
        ScopedText(DOG, moment=""),
    ]

    def kept(keep: Keep) -> set[int]:
        found = find_duplicates(rows, Rules(STANDARD, keep=keep), load_stub, lambda *_: None)
        return {*found.stays.values()}

    assert (kept("first"), kept("newest"), kept("longest")) == ({0}, {1}, {1})


def test_without_times_the_last_row_is_the_newest() -> None:
    assert cleaned([DOG, LARGE, DOG], Rules(STANDARD, keep="newest")).stays == {0: 2, 1: 2}


def test_rows_of_two_scopes_are_never_joined() -> None:
    rows = [ScopedText(DOG, scope="a"), ScopedText(DOG, scope="b"), ScopedText(LARGE, scope="b")]
    found = find_duplicates(rows, Rules(STANDARD, within=0.5), load_stub, lambda *_: None)
    assert found.stays == {2: 1}


def test_a_separated_pair_stays_apart_whoever_joins_them() -> None:
    rows = [DOG, LARGE, "Ada has a large dog"]
    pair = SeparatedPair(DOG, LARGE)
    found = cleaned(rows, Rules(STANDARD, within=0.5, separated=[pair]))
    assert {found.stays.get(0, 0), found.stays.get(1, 1)} == {0, 1}
    assert found.held >= 1
    assert len(found.stays) == 1


def test_a_join_by_cosine_that_a_separation_prevents_is_counted() -> None:
    pair = SeparatedPair("Ada has 2 cats now", "Ada has 3 cats now")
    found = cleaned([*pair], Rules(STANDARD, within=0.7, separated=[pair]))
    assert (found.stays, found.held) == ({}, 1)
    third = cleaned([*pair, "Ben sails"], Rules(STANDARD, within=0.7, separated=[pair]))
    assert third.held == 1


def test_a_verbatim_repeat_cannot_be_kept_apart() -> None:
    assert cleaned([DOG, DOG], Rules(STANDARD, separated=[SeparatedPair(DOG, DOG)])).stays == {1: 0}


def test_what_the_guard_would_have_stopped_is_told() -> None:
    found = cleaned(
        ["Ada has 2 cats now", "Ada has 3 cats now", "Ada had 2 cats now"],
        Rules(STANDARD, within=0.7),
    )
    within = summary_of(found, Rules(STANDARD, within=0.7))["within"]
    assert (within["joined"], within["stopped"], within["look_at"]) == (2, 2, 2)
    assert within["cues"]["number"] == 1


@given(st.lists(WORDS, max_size=12), st.sampled_from((0.5, 0.6, 0.75005, 0.8, 0.80005, 1.0)))
@settings(max_examples=examples(200))
def test_who_leaves_by_cosine_is_that_near_to_one_that_stays(
    rows: list[list[str]], within: float
) -> None:
    """No two that stay are that near: each is compared with all that stay before it.

    In blocks of three and chunks of two, as if the tables were large.
    """
    texts = [" ".join(words) for words in rows]
    with patch.multiple(within_, _BLOCK=3, _CHUNK=2):
        found = cleaned(texts, Rules(STANDARD, within=within))
    vector = [StubEngine().embed([text])[0].vector for text in texts]
    for join in found.joins:
        if join.rule == WITHIN:
            assert join.partner not in found.stays
            assert join.score == cosine(vector[join.row], vector[join.partner]) >= within
    stay = [row for row in range(len(texts)) if row not in found.stays]
    for at, row in enumerate(stay):
        assert all(cosine(vector[row], vector[other]) < within for other in stay[:at])


def test_a_policy_that_joins_by_scores_is_decided_by_the_writer() -> None:
    text = "Ada walks two old dogs every single morning along the quiet river"
    rows = [text, f"{text} bank", text.upper(), text]
    found = cleaned(rows, Rules(load_policy("namespaced")))
    assert [(join.row, join.partner, join.rule) for join in found.joins] == [
        (3, 0, "hash_exact"),
        (1, 0, "auto_reject"),
        (2, 0, "folded"),
    ]
    assert {*found.stays} == {1, 2, 3}
