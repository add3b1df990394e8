"""What the end of a session plans, on histories by hand: which memories, in which order."""

from __future__ import annotations

from palimpsest.contracts.policy import Consolidate
from palimpsest.streams.dedupe.consolidate import Plan, plan
from palimpsest.streams.policies import load_policy
from tests.core.spec import PLAIN, TAKE, History, given, say

CHAIN = {
    "a": "g1 g2 g3 g4 a1",
    "b": "g1 g2 g3 g4 c1 c2",
    "c": "g3 g4 c1 c2 g1 x1 x2",
}
"""Of these `a` and `b` are alike, and `b` and `c`, but not `a` and `c`."""


def rule() -> Consolidate:
    found = load_policy("layered").consolidate
    assert found is not None
    return found


def planned(history: History) -> Plan:
    return plan(history.ledger, PLAIN, rule(), "s")


def together(history: History, found: Plan) -> list[set[str]]:
    return [
        {history.name(one.id) for one in (cluster.speaker, *(entry for entry, _ in cluster.others))}
        for cluster in found.clusters
    ]


def test_memories_are_taken_in_the_order_of_their_first_members() -> None:
    """Not in that in which the session stated them: `c` took the face of an older memory."""
    stated = [say(name, CHAIN[name], session_id="s") for name in "ab"]
    late = say("c", CHAIN["c"], {"old": TAKE}, session_id="s")
    history = given(say("old", "words of an earlier day"), *stated, late)
    assert together(history, planned(history)) == [{"b", "c"}]
