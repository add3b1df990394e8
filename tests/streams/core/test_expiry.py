"""Expiry in the core: hidden from newcomers by the moment of their event (docs/expiry.md)."""

from __future__ import annotations

import gc

import pytest

from palimpsest.contracts.events import Decided
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.dedupe.due import count_current
from palimpsest.streams.dedupe.near import comparable
from palimpsest.streams.dedupe.run import Run
from tests.streams.core.spec import (
    ASK,
    KEEP,
    PLAIN,
    SECOND,
    History,
    given,
    judge,
    merge,
    pin,
    policy,
    retract,
    say,
    set_expiry,
    unmerge,
)

BUS = say("a", "The bus is late", ttl=10)
FACES = policy(search="memories")


def test_a_candidate_says_when_it_expires_and_its_event_records_the_moment() -> None:
    history = given(BUS, say("b", "Likes tea", expires_at="2026-02-01"))
    first, second = history.log
    assert isinstance(first, Decided)
    assert isinstance(second, Decided)
    assert first.data.expires_at == first.time + 10 * SECOND
    assert second.data.expires_at is not None
    assert second.data.expires_at.isoformat() == "2026-02-01T00:00:00+00:00"


def test_a_category_expires_as_the_policy_says_unless_a_candidate_does() -> None:
    rules = PLAIN.model_copy(update={"expiry": {"chat": 5.0}})
    history = given(
        say("a", "Hello", category="chat"),
        say("b", "Hi there", category="chat", ttl=7),
        say("c", "Likes tea", category="taste"),
        policy=rules,
    )
    entries = history.ledger.entries.values()
    left = [
        entry.expires_at and (entry.expires_at - entry.decided_at) / SECOND for entry in entries
    ]
    assert left == [5.0, 7.0, None]


def test_a_newcomer_is_compared_until_the_moment_at_which_one_expires() -> None:
    before = given(BUS).when(say("b", "The bus comes late", {"a": KEEP}, after=8))
    before.then("b auto_reject a")
    given(BUS).when(say("b", "The bus comes late", {"a": KEEP}, after=9)).then("b stored")


def test_a_repeat_of_what_has_expired_is_a_memory_of_its_own() -> None:
    history = given(BUS, say("b", "The bus is late", after=20))
    history.then("b stored").do(say("c", "The bus is late")).then("c hash_exact b")
    history.shows({"The bus is late": "b c"})  # the newer of two that say the same


def test_a_repeat_before_that_prolongs_the_memory() -> None:
    history = given(BUS, say("b", "The bus is late", ttl=60, after=5))
    history.then("b hash_exact a").do(say("c", "The bus is late", after=30)).then("c hash_exact b")
    memory = history.memory("a")
    assert memory.expires_at is None
    assert [entry.expired for entry in memory.members] == [True, False, False]


def test_a_repeat_of_the_retracted_joins_it_unless_that_has_expired() -> None:
    gone = given(BUS, retract("a"))
    gone.do(say("b", "The bus is late")).then("b hash_exact a")
    given(BUS, retract("a"), say("b", "The bus is late", after=20)).then("b stored")


def test_a_memory_expires_with_its_last_living_member_and_each_part_with_its_own() -> None:
    history = given(BUS, say("b", "The bus comes late", {"a": KEEP}, ttl=100))
    memory = history.memory("a")
    begun = [entry.decided_at for entry in memory.members]
    assert memory.expires_at == begun[1] + 100 * SECOND
    history.do(retract("b"))
    assert memory.expires_at == begun[0] + 10 * SECOND
    again = given(BUS, say("b", "The bus comes late", {"a": KEEP}, ttl=100), unmerge("b"))
    ends = [again.memory(name).expires_at for name in "ab"]
    assert ends == [begun[0] + 10 * SECOND, begun[1] + 100 * SECOND]


def test_faces_are_compared_while_their_memory_has_not_expired() -> None:
    history = given(BUS, say("b", "The bus comes late", {"a": KEEP}, ttl=100), policy=FACES)
    history.do(say("c", "The bus is so late", {"a": KEEP}, after=50)).then("c auto_reject a")
    history.do(retract("c"), say("d", "The bus is too late", {"a": KEEP}, after=100))
    history.then("d stored")


def test_a_question_stays_open_and_its_answer_joins_what_has_expired_since() -> None:
    history = given(BUS, say("b", "A late bus", {"a": ASK}), say("c", "Tea", after=50))
    assert history.ledger.entries[history.id("b")].open == (history.id("a"),)
    history.do(judge("b", a="same")).then("b llm_reject a")


def test_a_pin_brings_back_and_a_person_says_so() -> None:
    history = given(BUS, say("x", "Tea", after=50))
    history.do(pin("a", rank="agent")).then("refused outranked")
    history.do(pin("a")).then("expiry_set a")
    assert history.memory("a").expires_at is None
    history.do(say("b", "The bus is late")).then("b hash_exact a")
    history.do(pin("a")).then("refused unchanged")
    history.do(set_expiry("a", 5, rank="agent")).then("refused outranked")
    assert history.detail() == "only a person may decide whether a memory expires at all"
    history.do(set_expiry("a", 5), say("c", "A late bus", {"a": KEEP}, after=5)).then("c stored")


def test_nothing_comes_back_whose_text_was_said_again() -> None:
    history = given(BUS, say("b", "The bus is late", after=20), pin("a"))
    history.then("refused same_text").do(retract("b"), pin("a")).then("refused same_text")
    later = given(BUS, say("b", "The bus is late", ttl=5, after=20), pin("a", after=30))
    later.then("expiry_set a").do(say("c", "The bus is late")).then("c hash_exact a")
    later.do(pin("b")).then("refused same_text")


def test_a_person_may_merge_what_has_expired_with_who_says_it_again() -> None:
    history = given(BUS, say("b", "The bus is late", after=20), merge("a", "b"))
    history.then("b manual_join a").do(say("c", "The bus is late")).then("c hash_exact b")


def test_looking_at_a_later_moment_changes_no_decision() -> None:
    history = given(BUS)
    advance(history.ledger, history.now + 20 * SECOND)
    history.do(say("b", "The bus is late")).then("b hash_exact a")
    assert history.log[-1].time == history.log[0].time + SECOND
    advance(history.ledger, history.now + 20 * SECOND)
    history.do(say("c", "The bus comes late", {"a": KEEP})).then("c auto_reject a")


def test_a_batch_run_passes_over_what_has_expired() -> None:
    history = given(BUS, say("b", "Tea"))
    assert [len(_compared(history)), count_current(history.ledger)] == [2, 2]
    history.do(say("c", "Chai", after=20))
    assert [len(_compared(history)), count_current(history.ledger)] == [2, 2]
    assert history.memory("a") not in _compared(history)


def _compared(history: History) -> list[Memory]:
    [memories] = comparable(history.ledger, PLAIN, "default", 0, Run(lambda *_: None))
    return memories


@pytest.mark.usefixtures("set_aside")
def test_a_dissolved_ledger_leaves_the_collector_no_text_that_was_said_again() -> None:
    log = given(BUS, say("b", "The bus is late", after=20)).log
    ledger = Ledger("ada")
    for event in log:
        evolve(ledger, event)
    while gc.collect():
        pass
    gc.disable()
    try:
        ledger.dissolve()
        del ledger, event
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert not [one for one in gc.garbage if isinstance(one, Entry)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
