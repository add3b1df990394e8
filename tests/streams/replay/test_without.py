"""What people and the verifier said after a join, in the history without it."""

from __future__ import annotations

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.replay.consequences import Plan, plan
from tests.core.spec import ASK, History, compose, given, judge, policy, retract, say, unmerge


def without(history: History, newer: str) -> Plan:
    """The plan for taking the latest join of this newer candidate out; nobody is near anybody."""

    def search(_ledger: Ledger, _admit: Admit, _policy: Policy) -> tuple[Neighbour, ...]:
        return ()

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
    assert [one.candidate.id for one in found.consequences] == [history.id("c")]
    assert found.overtaken == ()
