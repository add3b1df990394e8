"""Law: what is told of a memory from its own events is what the whole history tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Decided, Joined, Redecided, Refused, Reversed, Settled
from palimpsest.projections.shown import event_index, related
from palimpsest.projections.shown.timeline import HIDDEN, Timeline, TimelineEntry
from palimpsest.queries import context, memories, show
from palimpsest.queries.undoing import request_for
from palimpsest.queries.why import why_not
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.embedder import Embedder
from tests.laws.asking import OWNERS, Story

STEPS = 50
EXAMPLES = max(10, settings().max_examples // 10)
SAME = range(12)

Then = dict[str, tuple[str, str]]
"""The memory and the face of each candidate of an event, after it."""


class Whole:
    """An owner's history, folded from its beginning."""

    def __init__(self, reader: Reader, owner_id: str) -> None:
        self.ledger = Ledger(owner_id)
        self.steps: list[tuple[TimelineEntry, Then]] = []
        self.cuts: list[tuple[int, list[set[str]]]] = []
        self.texts: dict[int, dict[str, str]] = {}
        self.verdicts: list[tuple[str, str, str, Any]] = []
        timeline = Timeline()
        for recorded in reader.log.of_owner(owner_id):
            entry = timeline.note(recorded)
            before = self._homes(entry)
            evolve(self.ledger, recorded.event)
            after = self._homes(entry)
            if isinstance(recorded.event, Reversed) and (len(before), len(after)) == (1, 2):
                self.cuts.append((recorded.position, after))
            if isinstance(recorded.event, Decided):
                entry.event["text"] = recorded.event.data.content.text
            faces = {one.id: (one.memory.id, one.memory.text) for one in self._of(entry)}
            self.steps.append((entry, faces))

    def _of(self, entry: TimelineEntry) -> Iterator[Entry]:
        known = self.ledger.entries
        return (known[one] for one in sorted(entry.about) if one in known)

    def _homes(self, entry: TimelineEntry) -> list[set[str]]:
        homes = {id(one.memory): one.memory for one in self._of(entry)}
        return [{member.id for member in home.members} for home in homes.values()]

    def history(self, candidate_id: str) -> list[Any]:
        """The events of a memory, each with the face after it."""
        memory = self.ledger.entries[candidate_id].memory
        members, left = {one.id for one in memory.members}, dict[str, int]()
        for position, (a, b) in self.cuts:
            for mine, theirs in ((a, b), (b, a)):
                if memory.id in mine:
                    left.update(dict.fromkeys(theirs, position))
        found = []
        for (event, about), then in self.steps:
            at = event["position"]
            if any(one in members or at <= left.get(one, -1) for one in about):
                best = sorted(
                    then, key=lambda one: (then[one][0] != memory.id, one not in members)
                )
                found.append({**event, "face": then[best[0]][1]} if best else event)
        return found

    def timeline(self, candidate_ids: set[str]) -> list[Any]:
        """The events about some candidates."""
        return [
            {name: value for name, value in event.items() if name != "text"}
            for (event, about), _ in self.steps
            if event["event"] not in HIDDEN and about & candidate_ids
        ]


class Told(Story):
    """A story of which everything is told both ways."""

    def check(self) -> None:
        log, policy = self.house.log, self.house.writer.policy
        reader = Reader(
            log.path.parent, log, policy, lambda: pytest.fail("no model"), clock=lambda: self._now
        )
        for owner_id in OWNERS:
            whole = Whole(reader, owner_id)
            for candidate_id, entry in whole.ledger.entries.items():
                told = memories.history_of(reader, candidate_id)
                assert told["events"] == whole.history(candidate_id)
                assert told["face"] == entry.memory.text
                self.happened["left"] += len(whole.cuts)
                members = {member.id for member in entry.memory.members}
                assert show.show(reader, candidate_id)["timeline"] == whole.timeline(members)
                own = show.show_candidate(reader, candidate_id)
                assert own["timeline"] == whole.timeline({candidate_id})
                self._check_texts(reader, owner_id, own)

    def _check_texts(self, reader: Reader, owner_id: str, shown: Any) -> None:
        """The evidence has the texts that were compared: those of that time, if these are faces."""
        entry = reader.ledger(owner_id).entries[shown["candidate_id"]]
        decided = reader.log.find(entry.asked_by or entry.decision_id)
        assert decided is not None
        policy = reader.log.policies()[shown["evidence"]["policy"]]
        by_face = policy.search == "memories"
        then = Ledger(owner_id)
        for recorded in reader.log.of_owner(owner_id):
            if not by_face or recorded.position < decided.position:
                evolve(then, recorded.event)
        for neighbour in shown["evidence"]["neighbours"]:
            near = then.entries[neighbour["candidate_id"]]
            forgotten = shown["evidence"].get("check") == "forgotten" and near.forgotten
            assert neighbour["text"] == (
                near.memory.text if by_face and not forgotten else near.text
            )
            self.happened["compared"] += 1


def told(seed: int) -> Counter[str]:
    """Tell a story both ways; what happened in it."""
    with TemporaryDirectory() as folder:
        story = Told(Path(folder), seed)
        story.play(STEPS)
        return story.happened


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(min_value=1_000))
def test_a_history_is_told_from_its_own_events(seed: int) -> None:
    told(seed)
