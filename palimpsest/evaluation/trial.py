"""Runs labelled texts through the real path of a policy: a writer decides, its commits are read.

Nothing is decided here. Each pair becomes two candidates of an owner of its own; in labelled
clusters, the texts of each owner become one stream. The log is a temporary file to which nothing is
written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.counting import counted
from palimpsest.contracts.events import AnyEvent, Decided, Settled
from palimpsest.contracts.evidence import Evidence, Neighbour
from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.labelled import LabelledMember, LabelledPair
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.embedder import Embedder, Embedding, Engine, Progress
from palimpsest.streams.intake import RawRow, prepare
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.commit import Commit
from palimpsest.streams.write.inputs import Input
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.writer import Writer

Fate = Literal["exact", "joined", "asked", "kept"]
"""The fate of a newcomer: an exact repeat, joined by a rule, referred to the judge, or kept."""

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of all decisions, fixed so that results do not depend on the day."""
SOURCE = "labels"
_BATCH = 1024
_ROW = RawRow(b"", SOURCE)


class TrialVectors:
    """An engine that embeds no text twice; it keeps one kilobyte per text in memory."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name, self.model, self.dimension = engine.name, engine.model, engine.dimension
        self._known: dict[str, Embedding] = {}

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed texts as the engine does; a known text gets its known embedding."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._engine.embed(new), strict=True))
        return [self._known[text] for text in texts]

    def prepare(self, texts: Iterable[str], progress: Progress) -> None:
        """Embed texts, those of equal length together."""
        new = sorted({*texts} - self._known.keys(), key=lambda text: (len(text), text))
        for start in range(0, len(new), _BATCH):
            progress(f"embedding {counted(len(new), 'text')}", start / len(new))
            self.embed(new[start : start + _BATCH])


@dataclass(frozen=True, slots=True)
class TrialDecision:
    """What a policy did with a newcomer, and the evidence that it recorded for that.

    `decision` is the final one: the first decision, or the one that settled it.
    """

    fate: Fate
    check: str | None
    evidence: Evidence
    joined_to: str | None = None
    decision: str = ""

    @property
    def neighbour(self) -> Neighbour | None:
        """The nearest candidate that it was compared with: for a pair, the other text."""
        return next(iter(self.evidence.neighbours), None)


@dataclass(slots=True)
class Stream:
    """The outcomes of an owner's texts, in order of arrival.

    `decisions` and `memories` are by text; `numbers` gives a text's place by its candidate's id.
    """

    members: Sequence[LabelledMember]
    decisions: list[TrialDecision] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)


class Trial:
    """A policy that decides on labelled texts; a context, because it holds a thread and a file."""

    def __init__(self, policy: Policy, engine: Engine) -> None:
        """Decide by `policy`; its model must be that of `engine`."""
        self.policy = policy
        self._folder = tempfile.TemporaryDirectory(prefix="palimpsest-evaluate-")
        self._embedder = Embedder(engine)
        self._log = Log.create(Path(self._folder.name) / "log.sqlite")
        self._events: list[AnyEvent] = []
        self._writer = Writer(
            self._log,
            Owners(self._log),
            self._take,
            policy,
            lambda: self._embedder,
            lambda: MOMENT,
            lambda _committed: None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._embedder.close()
        self._log.close()
        self._folder.cleanup()

    def pairs(
        self, pairs: Sequence[LabelledPair], progress: Progress, *, orders: int = 2
    ) -> Iterator[tuple[TrialDecision, ...]]:
        """For each pair, the outcome of its second text when it arrives after the first.

        With 2 `orders`, also that of the first text when it arrives after the second.
        """
        size = WINDOW // 4
        for start in range(0, len(pairs), size):
            progress(f"deciding on {counted(len(pairs), 'pair')}", start / len(pairs))
            some = pairs[start : start + size]
            decided = self._decide(
                _input(f"{number}:{order}", str(place), text)
                for number, pair in enumerate(some)
                for order in range(orders)
                for place, text in enumerate((pair.a, pair.b)[:: -1 if order else 1])
            )
            for number in range(0, len(decided), 2 * orders):
                yield tuple(decided[number + 1 : number + 2 * orders : 2])
            self._writer.owners.forget({f"{n}:{order}" for n in range(size) for order in (0, 1)})

    def stream(self, members: Sequence[LabelledMember], done: Callable[[int], object]) -> Stream:
        """The outcomes of the texts of one owner, one after the other."""
        owner = members[0].owner_id
        found = Stream(members)
        for start in range(0, len(members), WINDOW):
            some = list(enumerate(members[start : start + WINDOW], start))
            found.decisions += self._decide(
                _input(owner, str(n), member.text) for n, member in some
            )
            done(len(some))
        entries = self._writer.ledger(owner).entries.values()
        found.numbers = {entry.id: int(entry.fields.id) for entry in entries}
        by_number = {int(entry.fields.id): entry.memory.id for entry in entries}
        found.memories = [by_number[number] for number in range(len(members))]
        self._writer.owners.forget({owner})
        return found

    def _decide(self, inputs: Iterable[Input]) -> list[TrialDecision]:
        self._events.clear()
        self._writer.close_window(self._writer.open_window([*inputs]))
        first = {event.subject: event for event in self._events if isinstance(event, Decided)}
        last = {
            event.subject: event for event in self._events if isinstance(event, Decided | Settled)
        }
        return [_decision(decided, last[subject]) for subject, decided in first.items()]

    def _take(self, commit: Commit) -> list[int]:
        """Keep a commit's events without writing them."""
        self._events += [event for event, _ in commit.events]
        return []


def _input(owner_id: str, identifier: str, text: str) -> Input:
    candidate: dict[str, Any] = {
        "owner_id": owner_id,
        "text": text,
        "id": identifier,
        "source": SOURCE,
    }
    return Input(_ROW, prepare(Candidate(**candidate)))


def _decision(first: Decided, last: Decided | Settled) -> TrialDecision:
    """The first decision with its evidence, and the outcome of the last one if that settled it."""
    join = last.data.join
    check = first.data.evidence.check or (last.data.decision if join else None)
    fate: Fate = "kept"
    if last.data.decision == "pending":
        fate = "asked"
    elif join is not None:
        fate = "exact" if join.face == "repeat" else "joined"
    to = join.to if join else None
    return TrialDecision(fate, check, first.data.evidence, to, last.data.decision)
