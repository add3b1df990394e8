"""Joins of batch runs: automatic, between candidates that are there, at their own place."""

from __future__ import annotations

import pytest

from palimpsest.contracts.events import Rank
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    combine,
    given,
    judge,
    merge,
    restore,
    retract,
    say,
    separate,
    unmerge,
)

APART = (say("a", "Tea"), say("b", "Chai"), say("c", "Mate"))


def test_the_older_part_keeps_the_face_or_the_newer_takes_it() -> None:
    given(*APART).when(combine("b", "a")).then("b llm_reject a").shows({"Tea": "a b", "Mate": "c"})
    history = given(*APART).when(combine("a", "b", "superseded")).then("b superseded a")
    history.shows({"Chai": "a b", "Mate": "c"})


def test_a_composed_text_speaks_for_its_sources_and_falls_with_one_of_them() -> None:
    history = given(*APART, combine("a", "b", "llm_merge", text="Tea or chai", sources="a b"))
    history.then("b llm_merge a").shows({"Tea or chai": "a b", "Mate": "c"})
    history.when(unmerge("b")).then("reversed b a").shows({"Tea": "a", "Chai": "b", "Mate": "c"})


@pytest.mark.parametrize("sources", ["a z", "c"])
def test_a_text_that_nobody_can_keep_joins_nothing(sources: str) -> None:
    text = "Mate" if sources == "c" else "Tea or chai"
    history = given(*APART, say("d", "Tea or chai"), combine("a", "b", text=text, sources=sources))
    history.then(*(["b llm_reject a"] if sources == "c" else ["refused unusable_text"]))


def test_the_latest_join_says_who_speaks() -> None:
    """A batch's place is its own position, whoever arrived when."""
    history = given(*APART, combine("b", "c", "superseded"), combine("a", "b", "superseded"))
    history.shows({"Mate": "a b c"})


def test_the_score_is_that_of_the_pair_in_the_evidence() -> None:
    history = given(*APART, combine("a", "b", cosine=0.9123))
    assert history.join("b").similarity == 0.9123


@pytest.mark.parametrize("rank", ["rule", "judge", "review", "person"])
def test_it_yields_to_every_separation_also_of_members(rank: Rank) -> None:
    history = given(*APART, separate("a", "b", rank=rank)).when(combine("a", "b"))
    history.then("refused separated")
    history.when(combine("a", "c")).then("c llm_reject a").when(combine("b", "c"))
    history.then("refused separated").shows({"Tea": "a c", "Chai": "b"})


def test_a_merge_that_was_taken_back_is_not_made_again() -> None:
    history = given(*APART, combine("a", "b"), unmerge("b")).when(combine("a", "b"))
    history.then("refused separated")
    history.when(merge("a", "b")).then("b manual_join a")


def test_it_joins_two_living_memories_or_nothing() -> None:
    history = given(*APART, combine("a", "b")).when(combine("a", "b")).then("refused one_memory")
    history.when(retract("c")).when(combine("a", "c")).then("refused not_living")
    history.when(restore("c")).when(combine("a", "c")).then("c llm_reject a")
    history.when(combine("a", "a")).then("refused same_candidate")
    history.when(combine("a", "z")).then("refused unknown_candidate")
    history.do(say("w", "Rum", namespace="work")).when(combine("a", "w"))
    history.then("refused two_namespaces")


def test_an_open_question_is_left_to_the_judge() -> None:
    """Its answer comes late, but at its candidate's place; the latest join keeps b's part."""
    history = given(*APART, say("d", "Maté", {"c": ASK})).when(combine("c", "d"))
    history.then("refused pending")
    history.when(combine("a", "d")).then("d llm_reject a").when(combine("b", "c"))
    history.then("c llm_reject b").when(combine("a", "b")).then("refused pending")
    history.when(judge("d", c="same")).then("d llm_reject c").shows({"Chai": "a b c d"})


def test_twice_is_once() -> None:
    given(*APART, combine("a", "b")).again().then()


def test_what_came_after_goes_with_its_own_part() -> None:
    history = given(*APART, combine("a", "b"), say("x", "Chai, hot", {"b": KEEP}))
    history.when(unmerge("b")).shows({"Tea": "a", "Chai": "b x", "Mate": "c"})


def speaks(history: History) -> str:
    """The face of the candidate `a`'s memory."""
    return history.ledger.entries[history.id("a")].memory.face.text


def test_a_rule_that_does_not_go_by_time_lets_the_newer_speak_whatever_happened_first() -> None:
    earlier = "2020-01-01T00:00:00Z"
    told = (say("a", "Tea"), say("b", "Chai", occurred_at=earlier))
    joined = given(*told, combine("a", "b", "superseded"))
    assert speaks(joined) == "Tea", "by time: it happened earlier"
    outright = given(*told, combine("a", "b", "superseded", outright=True))
    assert speaks(outright) == "Chai"
    again = outright.do(say("c", "tea", occurred_at="2030-01-01T00:00:00Z"))
    assert speaks(again) == "Chai", "a repeat of what lost does not undo it"


def test_what_a_person_chose_survives_such_a_rule_and_only_one_that_says_otherwise_waits() -> None:
    told = (say("a", "Tea"), say("b", "Chai"), say("c", "Mate"), merge("a", "b", face="b"))
    chosen = given(*told, combine("b", "c", "superseded", outright=True))
    face = chosen.ledger.entries[chosen.id("c")].memory.face
    assert (face.text, len(face.contradicts)) == ("Chai", 1)
    told = (say("c", "Mate"), say("a", "Tea"), say("b", "Chai"), merge("a", "b", face="b"))
    agrees = given(*told, combine("c", "b", "superseded", outright=True))
    face = agrees.ledger.entries[agrees.id("c")].memory.face
    assert (face.text, face.contradicts) == ("Chai", ())


@pytest.mark.parametrize("first", [True, False], ids=["older", "newer"])
def test_what_contradicts_a_chosen_face_waits_on_in_the_memory_that_it_joins(first: bool) -> None:
    """Whether the chosen face is of the older part or of the newer one."""
    other = say("a", "Tea")
    chosen = (say("x", "Chai"), say("y", "Mate"), merge("x", "y", "x"))
    against = say("z", "Milk", {"x": TAKE})
    history = given(*((*chosen, against, other) if first else (other, *chosen, against)))
    face = history.do(combine("a", "x")).memory("a").face
    assert (face.text, face.contradicts) == ("Chai", (history.join("z").id,))
