"""A text lives in one memory, whether a candidate says it or one was composed (law L6)."""

from __future__ import annotations

import pytest

from palimpsest.contracts.events import Again
from tests.streams.core.spec import (
    ASK,
    TAKE,
    Step,
    combine,
    forget,
    given,
    judge,
    merge,
    redecide,
    reinstate,
    restore,
    retract,
    say,
    separate,
    undo,
    unmerge,
    update,
    withdraw,
)

GREEN = "Likes green tea"
HOT = "Likes hot green tea"
COMPOSED: tuple[Step, ...] = (
    say("a", "Likes tea"),
    say("b", "Likes it green", {"a": ASK}),
    judge("b", a="compose", text=GREEN, sources="a b"),
)
BACK: tuple[Step, ...] = (restore("a"), restore("b"))
WAITS: tuple[Step, ...] = (*COMPOSED, forget("a", again="ask"), say("c", GREEN))
"""The composed text is forgotten, and waits as it comes again."""
GONE: tuple[Step, ...] = (*COMPOSED, forget("a"), say("c", GREEN), retract("c"), *BACK)
"""The composed text is back, and who said it meanwhile is retracted."""
DORMANT: tuple[Step, ...] = (
    *(say("a", "Likes tea"), say("b", "Likes it green"), say("c", "Likes it hot", {"b": ASK})),
    judge("c", b="compose", text=HOT, sources="a b c"),
    *(forget("c"), say("d", HOT), restore("b"), restore("c")),
)
"""A text was composed of candidates that are not together, and lives elsewhere."""


def test_what_waits_joins_the_memory_that_speaks_its_text() -> None:
    history = given(*WAITS, *BACK, restore("c"))
    history.then("c manual_join b", "restored c").shows({GREEN: "a b c"})


def test_a_memory_that_speaks_it_again_joins_who_waited() -> None:
    history = given(*WAITS, restore("c"), *BACK)
    history.then("c manual_join b", "restored b").shows({GREEN: "a b c"})


def test_two_join_who_have_its_text_and_that_of_its_memory() -> None:
    came = (say("c", GREEN), say("d", "Likes it green"))
    history = given(*COMPOSED, forget("a"), *came, restore("a"), restore("b"))
    history.then("d manual_join b", "c manual_join b", "restored b").shows({GREEN: "a b c d"})
    apart = given(*COMPOSED, forget("a"), *came, separate("c", "d"), restore("a"), restore("b"))
    apart.then("refused separated")


def test_both_come_back_again_after_their_join_was_taken_back() -> None:
    history = given(*WAITS, *BACK, restore("c"), forget("a"), withdraw("b", "c"))
    history.when(*BACK, restore("c")).then("c manual_join b", "restored c")
    history.shows({GREEN: "a b c"})


def test_who_was_separated_from_the_memory_that_speaks_it_does_not_come_back() -> None:
    history = given(*WAITS, *BACK, separate("a", "c"), restore("c"))
    history.then("refused separated").shows({GREEN: "a b"})


def test_a_retracted_repeat_does_not_come_back_beside_it() -> None:
    given(*GONE, restore("c")).then("refused same_text").shows({GREEN: "a b"})


@pytest.mark.parametrize("before", [GONE, (*WAITS, *BACK)], ids=["retracted", "waiting"])
def test_a_repeat_joins_the_memory_that_speaks_it(before: tuple[Step, ...]) -> None:
    given(*before, say("d", GREEN)).then("d hash_exact b").shows({GREEN: "a b d"})


def test_an_update_to_it_is_a_merge_with_the_memory_that_speaks_it() -> None:
    history = given(*GONE, say("x", "Mate"), update("x", "y", GREEN))
    history.then("refused lives_elsewhere")
    history.when(update("x", "y", GREEN, merges=True)).shows({GREEN: "a b x"})


def test_an_update_that_was_undone_does_not_come_back_beside_it() -> None:
    history = given(*COMPOSED, forget("a"), say("x", "Mate"), update("x", "y", GREEN), undo("y"))
    history.when(*BACK, reinstate("y", "x")).then("refused same_text")
    history.when(restore("y")).then("refused same_text").shows({GREEN: "a b", "Mate": "x"})


@pytest.mark.parametrize(
    "unites",
    [merge("a", "c", face="c"), combine("a", "c", "superseded")],
    ids=["a person", "a batch run"],
)
def test_no_join_has_it_speak_beside_who_says_it(unites: Step) -> None:
    apart = {"Likes tea": "a", "Likes it hot*": "b c", HOT: "d"}
    given(*DORMANT, unites).then("refused same_text").shows(apart)
    given(*DORMANT, merge("c", "d", face="d"), unites).shows({HOT: "a b c d"})


def test_nor_has_a_decision_that_is_made_anew() -> None:
    history = given(*DORMANT, say("e", "Likes it very hot"), merge("c", "e"))
    history.when(redecide("e", "auto_reject", "a", after="c")).then("refused same_text")
    history.shows({"Likes tea": "a", "Likes it hot*": "b c e", HOT: "d"})


def test_an_answer_that_would_is_held_until_nobody_says_it() -> None:
    asked = (*DORMANT, say("e", "Likes it very hot", {"a": ASK}), merge("c", "e"))
    history = given(*asked, judge("e", a="same")).then("refused same_text")
    history.shows({"Likes tea": "a", "Likes it hot*": "b c e", HOT: "d"})
    history.when(retract("d")).then("retracted d", "e llm_reject a").shows({HOT: "a b c e"})


def test_a_repeat_of_a_source_does_not_bring_it_back_beside_who_says_it() -> None:
    hates = (*COMPOSED, say("c", "Hates tea", {"a": TAKE}))
    given(*hates, say("e", "Likes tea")).then("e hash_exact a").shows({GREEN: "a b c e"})
    elsewhere = (forget("a"), say("d", GREEN), restore("c"), restore("b"), restore("a"))
    history = given(*hates, *elsewhere, say("e", "Likes tea")).then("e hash_exact a")
    history.shows({"Hates tea": "a b c e", GREEN: "d"})
    history.when(unmerge("e")).then("refused same_text")


@pytest.mark.parametrize(("again", "then"), [("refuse", "refused forgotten"), ("ask", "d pending")])
def test_it_was_forgotten_too_where_who_repeated_it_was_retracted_before(
    again: Again, then: str
) -> None:
    repeated = (*COMPOSED, say("c", GREEN), retract("c"), forget("a", again=again))
    given(*repeated, say("d", GREEN)).then(then).shows({})
