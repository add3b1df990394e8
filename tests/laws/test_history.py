"""Law: what is told of a memory from its own events is what the whole history tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest.backends.reader import Reader
from palimpsest.contracts.events import AnyEvent, Decided, Retracted, Reversed
from palimpsest.projections.shown.event_index import EventIndex
from palimpsest.projections.shown.related import fold_related
from palimpsest.projections.shown.timeline import HIDDEN, Timeline, TimelineEntry, pair_of
from palimpsest.queries import memories, show
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.write.owners import fold_owner
from tests.laws.asking import OWNERS, Story

STEPS = 50
EXAMPLES = max(6, settings().max_examples // 10)
SAME = range(6)

Then = dict[str, tuple[str, str]]
"""The memory and the face of each candidate of an event, after it."""


class Whole:
    """An owner's history, folded from its beginning."""

    def __init__(self, reader: Reader, owner_id: str) -> None:
        self.ledger = Ledger(owner_id)
        self.steps: list[tuple[TimelineEntry, Then]] = []
        self.cuts: list[tuple[int, list[set[str]]]] = []
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
                best = sorted(then, key=lambda one: (then[one][0] != memory.id, one not in members))
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
                for event in told["events"]:
                    event.pop("undo", None)
                assert told["events"] == whole.history(candidate_id)
                assert told["face"] == entry.memory.text
                self.happened["left"] += len(whole.cuts)
                members = {member.id for member in entry.memory.members}
                assert show.show(reader, candidate_id)["timeline"] == whole.timeline(members)
                own = show.show_candidate(reader, candidate_id)
                assert own["timeline"] == whole.timeline({candidate_id})
                self._check_texts(reader, whole, own)

    def _check_texts(self, reader: Reader, whole: Whole, shown: Any) -> None:
        """The evidence has the texts that were compared: those of that time, if these are faces."""
        entry = whole.ledger.entries[shown["candidate_id"]]
        decided = reader.log.find(entry.asked_by or entry.decision_id)
        assert decided is not None
        policy = reader.log.policies()[shown["evidence"]["policy"]]
        by_face = policy.search == "memories"
        then = whole.ledger
        if by_face and shown["evidence"]["neighbours"]:
            then = fold_owner(reader.log, then.owner_id, decided.position - 1)
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


def test_the_stories_have_what_is_told() -> None:
    happened = sum((told(seed) for seed in SAME), Counter[str]())
    least = {"left": 20, "compared": 50, "update done": 2, "reinstate done": 1, "forget done": 1}
    assert {name: happened[name] for name, count in least.items() if happened[name] < count} == {}


def forgets_the_older(patch: pytest.MonkeyPatch) -> None:
    """An event about a pair is found by the newer candidate alone."""
    patch.setattr(
        "palimpsest.projections.shown.event_index.candidates_of",
        lambda event, of_decision: frozenset([pair_of(event, of_decision)[0]]),
    )


def leaves_out_the_context(patch: pytest.MonkeyPatch) -> None:
    """What an event answers is looked for among the events about the same candidates."""

    def without(reader: Reader, owner_id: str, names: set[str], upto: int | None = None) -> Any:
        return reader.events_about(owner_id, names, upto)

    patch.setattr(memories, "with_context", without)
    patch.setattr(show, "with_context", without)


def relates_members_only(patch: pytest.MonkeyPatch) -> None:
    """A memory is folded from the events of those who are in it now."""

    def only(entries: Iterable[Entry]) -> set[str]:
        return {member.id for entry in entries for member in entry.memory.members}

    for module in (memories, show):
        patch.setattr(module, "related", only)


def hides_nobody(patch: pytest.MonkeyPatch) -> None:
    """A face stays when its candidate is hidden."""

    def folded(ledger: Ledger, event: AnyEvent, names: set[str]) -> None:
        if not isinstance(event, Retracted):
            fold_related(ledger, event, names)

    patch.setattr(memories, "fold_related", folded)


def reads_to_the_end(patch: pytest.MonkeyPatch) -> None:
    """What was compared is as it is now."""
    real = EventIndex.of
    patch.setattr(EventIndex, "of", lambda index, names, _upto: real(index, names, 1 << 60))


@pytest.mark.parametrize(
    "broken",
    [
        forgets_the_older,
        leaves_out_the_context,
        relates_members_only,
        hides_nobody,
        reads_to_the_end,
    ],
)
def test_a_break_is_noticed(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        sum(map(told, SAME), Counter[str]())
