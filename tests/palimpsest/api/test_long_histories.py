"""What a call reads of an owner's history is what concerns it, however long the history is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from palimpsest import Palimpsest, Selection
from palimpsest.contracts import wire
from palimpsest.queries.undoing import offered

MORE = 150
TEXTS = (
    "The ferry to the island leaves at noon",
    "Bea keeps three hens behind the shed",
    "The lamp in the hall is broken",
    "The key is under the mat",
)


class Reads:
    """Counts the events that are read from the log."""

    def __init__(self) -> None:
        self.events = 0

    def of(self, call: Callable[[], object]) -> int:
        """How many a call reads."""
        before = self.events
        call()
        return self.events - before


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """A count of the events that are decoded from now on."""
    found, real = Reads(), wire.decode

    def decode(line: bytes, position: int) -> Any:
        found.events += 1
        return real(line, position)

    monkeypatch.setattr("palimpsest.streams.log.log.decode", decode)
    return found


def add(store: Palimpsest, text: str) -> str:
    """The id of a new candidate of the owner."""
    [outcome] = store.submit({"owner_id": "ada", "text": text})
    assert outcome.candidate_id is not None
    return outcome.candidate_id


def calls(store: Palimpsest) -> dict[str, Callable[[], object]]:
    """Calls about memories to which all kinds of things were done."""
    one, other, lamp, key = (add(store, text) for text in TEXTS)
    joined = store.merge(one, other)["decision_id"]
    store.unmerge(decision_id=joined)
    back = store.reinstate(joined)["events"][-1]
    gone = store.forget(lamp)["forgotten"]
    changed = store.update(key, "The key is in the drawer")["decision_id"]
    assert changed is not None
    store.retract(Selection(candidate_id=other))
    store.restore(Selection(candidate_id=other))
    restored = store.history(other)["events"][-1]
    assert restored["event"] == "restored"
    return {
        "history": lambda: store.history(one),
        "show": lambda: store.show(one),
        "show_candidate": lambda: store.show_candidate(other),
        "why_not": lambda: store.why_not(one, key),
        "undo a forgetting": lambda: store.undo(gone, dry_run=True),
        "undo an update": lambda: store.undo(changed, dry_run=True),
        "undo a join": lambda: store.undo(joined, dry_run=True),
        "undo a reinstatement": lambda: store.undo(back, dry_run=True),
        "undo a restoration": lambda: store.undo(restored["event_id"], dry_run=True),
        "unmerge": lambda: store.unmerge(decision_id=joined, dry_run=True),
        "forget": lambda: store.forget(one, dry_run=True),
    }


def test_a_longer_history_is_not_read_for_what_it_does_not_concern(
    memories: Palimpsest, reads: Reads
) -> None:
    """Each of these calls took half a second for an owner with 20,000 events."""
    of = calls(memories)
    before = {name: [reads.of(call), reads.of(call)][1] for name, call in of.items()}
    memories.submit([{"owner_id": "ada", "text": f"qa{n} qb{n} qc{n}"} for n in range(MORE)])
    memories.history(add(memories, "What came since is read once"))
    after = {name: reads.of(call) for name, call in of.items()}
    assert after == before


def test_what_undoes_many_events_is_looked_up_once(memories: Palimpsest, reads: Reads) -> None:
    repeats = 30
    ids = [add(memories, TEXTS[0]) for _ in range(repeats)]
    memories.forget(ids[0])
    history = memories.history(ids[0])
    assert len([one for one in history["events"] if one["event"] == "retracted"]) == repeats
    assert reads.of(lambda: offered(memories.reader, history, "ada", "ada")) < repeats
