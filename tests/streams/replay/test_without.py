"""What people and the verifier said after a join, in the history without it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from palimpsest.contracts.commands import Admit, Redecide
from palimpsest.contracts.events import Rank, Reversed
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import UnmergeRequest
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.replay.consequences import ConsequencePlan, commands, describe, plan
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    combine,
    compose,
    given,
    judge,
    merge,
    policy,
    retract,
    say,
    separate,
    unmerge,
    withdraw,
)


def without(history: History, newer: str, **near: Mapping[str, float]) -> ConsequencePlan:
    """The plan for taking the latest join of this newer candidate out.

    `near` is whom candidates are near to in the history without it; the others are to nobody.
    """
    names = {history.id(name): seen for name, seen in near.items()}

    def search(_ledger: Ledger, admit: Admit, _policy: Policy) -> tuple[Neighbour, ...]:
        seen = names.get(admit.candidate_id, {}).items()
        return tuple(Neighbour(candidate_id=history.id(one), cosine=score) for one, score in seen)

    events = [*history.log]
    join = history.join(newer).id
    history.do(unmerge(newer))
    return plan(history.ledger, events, [join], {history.policy.hash: history.policy}, search)


def test_a_text_that_was_composed_anew_is_nobodys_word() -> None:
    """Without the join no text was lost: so none is composed anew, and nothing is overtaken."""
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes it green", {"a": ASK}),
        judge("b", a="compose", text="Likes green tea", sources="a b"),
        say("c", "Likes it hot", {"b": ASK}),
        judge("c", b="compose", text="Likes hot green tea", sources="a b c"),
        retract("a"),
        policy=policy(search="memories"),
    )
    history.when(compose("c", "Likes it hot and green", "b c")).then("composed c b")
    found = without(history, "b")
    assert [consequence.candidate.id for consequence in found.consequences] == [history.id("c")]
    assert found.overtaken == ()


def test_what_is_answered_there_too_is_no_consequence_though_its_score_was_another() -> None:
    """Only d spoke when the judge was asked; when c came, b did, and there a would have."""
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes green tea", {"a": TAKE}),
        say("c", "Likes mate", {"a": ASK}),
        say("d", "Likes all tea", {"a": TAKE}),
        judge("c", a="different"),
        policy=policy(search="memories"),
    )
    assert without(history, "b", c={"a": ASK - 0.05}, d={"a": TAKE}).consequences == ()


@pytest.mark.parametrize("rank", ["judge", "person"])
def test_an_answer_that_is_carried_out_again_keeps_its_rank(rank: Rank) -> None:
    """Alone, b would have been asked about as well: so c is decided again, by the same answer."""
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes green tea", {"a": KEEP}),
        say("c", "Likes all tea", {"a": ASK}),
        judge("c", a="same", rank=rank),
        policy=policy(search="memories"),
    )
    found = without(history, "b", c={"a": ASK, "b": ASK - 0.05})
    request = UnmergeRequest(request_id=history.fresh(), decision_id=history.join("b").id)
    asked_for = commands(history.ledger, request, [history.join("b").id], found)
    [again] = [one for one in asked_for if isinstance(one, Redecide)]
    assert (again.decision, again.rank) == ("llm_reject", rank)


@pytest.mark.parametrize(("near", "was"), [({"a": ASK}, "pending"), ({}, "stored")])
def test_a_consequence_says_whether_who_is_alone_waits(near: dict[str, float], was: str) -> None:
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes green tea", {"a": TAKE}),
        say("c", "Likes all tea", near),
        policy=policy(search="memories"),
    )
    [found] = without(history, "b", c={"a": KEEP}).consequences
    told = describe(found)
    assert told["was"] == {"decision": was, "joined_to": None}
    assert told["would_be"] == {"decision": "auto_reject", "joined_to": history.id("a")}


def test_who_withdraws_a_statement_takes_it_back_in_the_history_without_a_join_too() -> None:
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes green tea", {"a": TAKE}),
        say("c", "Likes mate"),
        separate("c", "a"),
        withdraw("c", "a"),
        merge("c", "a"),
        policy=policy(search="memories"),
    )
    assert without(history, "b").overtaken == ()


def test_two_that_a_person_took_apart_stay_so_though_they_were_never_one_there() -> None:
    """There c is near nobody and d is near c: a run's join of d and b would bring c to b."""
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes green tea", {"a": TAKE}),
        say("c", "Likes mate", {"b": TAKE}),
        unmerge("c"),
        say("d", "Likes hot mate"),
        combine("b", "d"),
        policy=policy(search="memories"),
    )
    (apart,) = (event for event in history.log if isinstance(event, Reversed))
    assert without(history, "b", d={"c": TAKE}).overtaken == (apart.id, history.join("d").id)
