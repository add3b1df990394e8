"""What candidates in memory have in common is there once: there are as many as the log has."""

from __future__ import annotations

from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from tests.streams.core.spec import given, say


def test_candidates_that_are_read_from_lines_share_what_they_have_in_common() -> None:
    told = given(say("a", "Tea"), say("b", "Milk"), say("c", "Tea")).log
    ledger = Ledger(told[0].partitionkey)
    for event in told:
        evolve(ledger, decode(encode(event)))
    one, other, _again = ledger.entries.values()
    for name in ("owner_id", "source", "namespace", "session_id", "metadata"):
        assert getattr(one.fields, name) is getattr(other.fields, name)
    assert one.answers is other.answers
    assert (other.edges, other.apart, one.apart) == ((), (), ())
    assert other.memory._face is None
    assert other.memory.face.speaker is other
