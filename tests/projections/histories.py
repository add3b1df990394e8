"""Histories of several owners, made by the core itself, and the log that holds them."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import (
    Access,
    Admit,
    Confirm,
    EndSession,
    Forget,
    Merge,
    Operation,
    RecordRun,
    Reinstate,
    Restore,
    Retract,
    Separate,
    Settle,
    Undo,
    Unmerge,
    Update,
)
from palimpsest.contracts.events import (
    AnyEvent,
    Composition,
    Content,
    Invalid,
    InvalidData,
    PolicySet,
    PolicySetData,
    Use,
    Vector,
)
from palimpsest.contracts.evidence import (
    Answer,
    FirstAnswer,
    Neighbour,
    RecordedFirstJudge,
    RecordedJudge,
    Verdict,
)
from palimpsest.contracts.identity import candidate_id, digest, invalid_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.base.changes import RowChanges
from palimpsest.projections.base.rows import Rows
from palimpsest.streams.core import text as forms
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.record import judge_event
from palimpsest.streams.core.touched import Touched

JUDGES = (
    RecordedJudge(protocol="python", model="app.alike"),
    RecordedJudge(
        protocol="anthropic",
        platform="bedrock",
        model="judge-1",
        review_model="judge-2",
        address="https://judge.example",
        first=RecordedFirstJudge(
            protocol="systemone",
            model="first-1",
            address="http://127.0.0.1:8089",
            certificate="sha256:labels",
            same=0.9,
        ),
    ),
)
STEPS: tuple[dict[str, Any], ...] = (
    {},
    {
        "calls": 1.0,
        "protocol": "systemone",
        "remote": False,
        "certificate": "sha256:labels",
        "judge": JUDGES[1].hash,
    },
    {
        "calls": 1.0,
        "remote": True,
        "judge": JUDGES[1].hash,
        "first": FirstAnswer(
            answer="same",
            model="first-1",
            probability=0.5,
            calls=1.0,
            cost_usd=0.25,
            protocol="openai-chat",
            remote=True,
        ),
    },
)
"""Answers of one judge, of the first of two, and of the second."""
STANDARD = Policy.model_validate(
    {
        "name": "standard",
        "model": "test",
        "search": "candidates",
        "checks": [
            {"check": "tokens", "threshold": 0.85},
            {"check": "session", "threshold": 0.9},
            {
                "check": "cosine",
                "zones": [
                    {"at_least": 0.92, "action": "auto_reject", "guard": True},
                    {"at_least": 0.7, "action": "pending"},
                ],
            },
        ],
    }
)
"""In the manner of the policy of that name, whatever its thresholds are by now."""
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
DIMENSION = 12
NOUNS = "harbour kettle ladder violin orchard tunnel blanket lantern compass ferry".split()
VARIANTS: list[Callable[[str], str]] = [
    "{}.".format,
    str.upper,
    str.swapcase,
    lambda text: text.replace(" ", "  ", 1),
    lambda text: text.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)}),
    lambda text: f" {text[:3]}\u200b{text[3:]}",
    lambda text: text[:1].swapcase() + text[1:],
]
"""Another text, and the same one folded, by its search form alone, or verbatim."""
VERBS = "keeps sells paints borrows repairs hides carries forgets".split()


class MemoryLog:
    """A log in memory, with gaps between its positions."""

    def __init__(self) -> None:
        self.events: list[Recorded] = []

    def append(self, event: AnyEvent) -> int:
        position = self.head() + 1 + (len(self.events) % 7 == 3)
        self.events.append(Recorded(position, event))
        return position

    def head(self) -> int:
        return self.events[-1].position if self.events else 0

    def owners_since(self, position: int, *, upto: int) -> list[str]:
        return sorted(
            {event.event.owner_id for event in self.events if position < event.position <= upto}
        )

    def of_owner(self, owner_id: str, *, upto: int | None = None) -> Iterator[Recorded]:
        for event in self.events:
            if event.event.owner_id == owner_id and (upto is None or event.position <= upto):
                yield event

    def owners(self) -> Iterator[str]:
        yield from sorted({event.event.owner_id for event in self.events} - {""})

    def find(self, event_id: str) -> Recorded | None:
        return next((event for event in self.events if event.event.id == event_id), None)

    def upto(self, position: int) -> MemoryLog:
        """The same log as it was."""
        earlier = MemoryLog()
        earlier.events = [event for event in self.events if event.position <= position]
        return earlier


def vector_of(text: str) -> Vector:
    """A unit vector that follows from the text, with two windows for every third one."""
    seed = int(digest(text.encode())[:12], 16)
    numbers = np.random.default_rng(seed).normal(size=(3, DIMENSION))
    halves = (numbers / np.linalg.norm(numbers, axis=1, keepdims=True)).astype("<f2")
    data, *windows = [base64.b64encode(half.tobytes()).decode() for half in halves]
    return Vector(
        model="test",
        engine="test",
        dimension=DIMENSION,
        data=data,
        windows=None if seed % 3 else (*windows,),
    )


def content_of(text: str, vector: Vector | None = None) -> Content:
    return forms.content_of(text, fingerprint=text[:16], vector=vector or vector_of(text))


class History:
    """Commands carried out one by one; what they touched goes to `changes`, as it does live."""

    def __init__(self, seed: int = 0) -> None:
        self.log = MemoryLog()
        self.changes = RowChanges()
        self.ledgers: dict[str, Ledger] = {}
        self.random = random.Random(seed)
        self._count = 0
        self._now = START

    def run(self, command: Admit | Operation) -> list[AnyEvent]:
        owner = command.candidate.owner_id if isinstance(command, Admit) else command.owner_id
        ledger = self.ledgers.setdefault(owner, Ledger(owner))
        self._now += timedelta(minutes=self.random.choice([0, 1, 90]))
        done = execute(command, ledger, STANDARD, self._now)
        for event, touched in done:
            self.changes.add(self.log.append(event), event, touched)
        return [event for event, _ in done]

    def take(self) -> Rows:
        rows = self.changes.take()
        assert rows is not None
        return rows

    def fresh(self) -> str:
        self._count += 1
        return str(UUID(int=self._count))

    def admit(
        self,
        owner: str,
        text: str,
        *near: tuple[str, float],
        namespace: str = "default",
        vector: Vector | None = None,
        rewords: tuple[tuple[str, float], ...] = (),
        words: tuple[tuple[str, float], ...] = (),
        **extra: object,
    ) -> str:
        """A candidate, with the neighbours that a search would have found; return its id.

        `near` with their cosines, `words` of those of which only words were compared, with their
        Jaccard scores; `rewords` are forgotten texts that it would have found. `vector` is in place
        of the one that follows from the text.
        """
        producer = self.fresh()
        candidate = Candidate.model_validate(
            {
                "owner_id": owner,
                "source": "test",
                "id": producer,
                "text": text,
                "namespace": namespace,
                **extra,
            }
        )
        one = candidate_id(owner, "test", producer)
        neighbours = (
            *(Neighbour(candidate_id=i, cosine=cosine) for i, cosine in near),
            *(Neighbour(candidate_id=i, jaccard=jaccard) for i, jaccard in words),
        )
        content = content_of(text, vector)
        gone = tuple(Neighbour(candidate_id=i, cosine=cosine) for i, cosine in rewords)
        found = Admit(
            one, candidate.fields(), content, digest(text.encode()), neighbours, forgotten=gone
        )
        self.run(found)
        return one

    def nobody(self) -> None:
        """Events that belong to no owner."""
        policy = PolicySet(
            id=self.fresh(),
            subject=STANDARD.hash,
            time=self._now,
            partitionkey="",
            data=PolicySetData(hash=STANDARD.hash, policy=STANDARD.model_dump(mode="json")),
        )
        raw = f"not json {self._count}".encode()
        data = InvalidData(reason="not_json", detail="no JSON", digest=digest(raw), origin="f")
        invalid = Invalid(
            id=invalid_id(digest(raw)),
            subject=digest(raw),
            time=self._now,
            partitionkey="",
            data=data,
        )
        for event in (policy, invalid):
            self.changes.add(self.log.append(event), event, Touched())

    def judged_by(self, judge: RecordedJudge) -> None:
        """Another judge answers from here on."""
        event = judge_event(judge, self.fresh(), self._now, None)
        self.changes.add(self.log.append(event), event, Touched())

    # -- at random -----------------------------------------------------------------------------

    def steps(self, count: int, owners: int = 3) -> History:
        """Carry out `count` random commands."""
        for _ in range(count):
            self.step(f"owner {self.random.randrange(owners)}'s")
        return self

    def step(self, owner: str) -> None:
        ledger = self.ledgers.setdefault(owner, Ledger(owner))
        entries = list(ledger.entries.values())
        if len(entries) < 4 or self.random.random() < 0.45:
            self._admit_some(owner, ledger)
            return
        if self.random.random() < 0.02:
            self.nobody()
            self.judged_by(self.random.choice(JUDGES))
        a, b = self.random.sample(entries, 2)
        edges = list(ledger.edges.values())
        edge = self.random.choice(edges).id if edges else a.decision_id
        asked: Any = {
            "command_id": self.fresh(),
            "owner_id": owner,
            "actor": "kim",
            "because": "so",
        }
        pending = [entry for entry in entries if entry.pending]
        commands: list[Operation] = [
            Merge(a=a.id, b=b.id, face=self.random.choice([None, a.id, b.id]), **asked),
            Separate(a=a.id, b=b.id, **asked),
            Unmerge(decision_id=edge, **asked),
            Reinstate(decision_id=edge, **asked),
            Confirm(decision_id=self.random.choice([edge, a.decision_id]), **asked),
            Retract(candidate_id=a.id, **asked),
            Restore(candidate_id=a.id, **asked),
            Access(candidate_id=a.id, **asked),
            Access(candidate_id=a.id, uses=self.uses(a, b), **asked),
            EndSession(session_id="s1", **asked),
            RecordRun(
                step="dedupe", due=START, figures={"memories_before": 8, "pairs": 3}, **asked
            ),
        ]
        if self.random.random() < 0.1:
            commands = [self.forgetting(owner, a)]
        elif self.random.random() < 0.15:
            commands = [self.update(owner, a), Undo(decision_id=edge, **asked)]
        if pending:
            entry = self.random.choice(pending)
            commands += [self.verdict(owner, entry.id)] * 8
        self.run(self.random.choice(commands))

    def forgetting(self, owner: str, entry: Entry) -> Forget:
        """A memory forgotten; what says the same mostly waits."""
        name = self.fresh()
        return Forget(
            command_id=name,
            owner_id=owner,
            actor="kim",
            because="so",
            memories=(entry.id,),
            again=self.random.choice(["allow", "ask", "ask", "refuse"]),
            cause=name,
        )

    def update(self, owner: str, entry: Entry) -> Update:
        """Another text of a candidate's memory; now and then one that it had, or others have."""
        text = self.random.choice([f"It is {self._count} now", entry.text, "It is late"])
        candidate = Candidate(
            owner_id=owner,
            source="test",
            id=self.fresh(),
            text=text,
            namespace=entry.fields.namespace,
        )
        return Update(
            command_id=self.fresh(),
            owner_id=owner,
            actor="kim",
            because="so",
            memory=entry.id,
            candidate_id=candidate_id(owner, "test", candidate.id),
            candidate=candidate,
            content=content_of(text),
            merge=self.random.random() < 0.5,
            rank=self.random.choice(["agent", "person"]),
        )

    def uses(self, *entries: Entry) -> tuple[Use, ...]:
        """Uses that were gathered, some of them a while ago."""
        ago = (timedelta(minutes=self.random.choice([0, 3, 90])) for _ in entries)
        return tuple(
            Use(candidate_id=e.id, count=self.random.randint(1, 3), at=e.decided_at + some)
            for e, some in zip(entries, ago, strict=True)
        )

    def verdict(self, owner: str, candidate: str) -> Settle:
        """An answer about one of those who were asked about, and *different* of all before it."""
        entry = self.ledgers[owner].entries[candidate]
        asked = [one.candidate_id for one in entry.asked] or [candidate]
        *before, other = asked[: self.random.randint(1, len(asked))]
        answers: list[Answer] = ["same", "update", "compose", "different", "unavailable"]
        answer = self.random.choice(answers)
        composition = None
        if answer == "compose":
            text = f"{self.ledgers[owner].entries[other].text}; {entry.text}"
            composition = Composition(content=content_of(text), sources=(other, candidate))
        said: list[tuple[str, Answer]] = [*((one, "different") for one in before), (other, answer)]
        verdicts = tuple(
            Verdict(
                neighbour_id=neighbour,
                answer=about,
                reasoning=f"{about}: so the two say",
                model="judge-1",
                input_tokens=self.random.randrange(500),
                output_tokens=10,
                cost_usd=0.001,
                seconds=0.5,
                **STEPS[int(neighbour[-2:], 16) % len(STEPS)],
            )
            for neighbour, about in said
        )
        return Settle(
            command_id=self.fresh(),
            owner_id=owner,
            candidate_id=candidate,
            verdicts=verdicts,
            composition=composition,
        )

    def _admit_some(self, owner: str, ledger: Ledger) -> None:
        living = [entry for entry in ledger.entries.values() if entry.living]
        namespace = self.random.choice(["default", "default", "plans"])
        text = f"The {self.random.choice(NOUNS)} {self.random.choice(VERBS)} no {self._count % 17}"
        near: list[tuple[str, float]] = []
        same = [entry for entry in living if entry.fields.namespace == namespace]
        if same and self.random.random() < 0.6:
            some = self.random.sample(same, min(len(same), 3))
            near = [(e.id, self.random.choice([0.5, 0.72, 0.8, 0.95])) for e in some]
        if same and self.random.random() < 0.15:
            closest = self.random.choice(same)
            text, near = self.random.choice(VARIANTS)(closest.text), [(closest.id, 0.97)]
        gone = [e for e in ledger.entries.values() if e.forgotten and e.distinct.guarded is e]
        gone = [entry for entry in gone if entry.fields.namespace == namespace]
        rewords: tuple[tuple[str, float], ...] = ()
        if gone and self.random.random() < 0.4:
            closest = self.random.choice(gone)
            if self.random.random() < 0.5:
                text = closest.text
            rewords = ((closest.id, self.random.choice([0.5, 0.72, 0.95])),)
        self.admit(
            owner,
            text,
            *near,
            rewords=rewords,
            namespace=namespace,
            topics=self.random.sample(NOUNS, self.random.randrange(3)),
            session_id=self.random.choice([None, "s1", "s2"]),
            occurred_at=self.random.choice([None, "2026-02-03T04:05:06Z"]),
            metadata=self.random.choice([{}, {"page": 3}]),
            confidence=self.random.choice([None, 0.5]),
            intensity=None if self._count % 3 == 0 else self._count % 10 / 10,
        )
