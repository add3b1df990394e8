"""An owner's world in small: texts on a grid, exact retrieval by brute force, and the log.

A text is one of `POINTS` windows over a row of words, with or without a sign at its end, and now
and then in another spelling; its vector is a window over a row of dimensions. So every cosine is a
multiple of 1/16 and every Jaccard one of four values, and a drawn threshold is hit exactly.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import uuid5

import numpy as np
from msgspec import structs

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import Admit, EndSession, Operation, RecordRun
from palimpsest.contracts.events import AnyEvent, Content, Vector
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.identity import NAMESPACE, candidate_id, digest, event_id
from palimpsest.contracts.policy import PairsDedupe, Policy
from palimpsest.streams.core import text
from palimpsest.streams.core.decide import execute
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.expiry import advance
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.dedupe.by_pairs import by_pairs, combine_command
from palimpsest.streams.dedupe.run import Run
from palimpsest.streams.guard import tokens
from palimpsest.streams.search import cosine
from palimpsest.streams.search.scope_index import vector_of as numbers_of
from palimpsest.streams.write.handlers.session_end import consolidate
from palimpsest.streams.write.recompose import recompose
from tests.projections import oracle

POINTS = 12
WIDTH = 16
DIMENSION = POINTS + WIDTH
WORDS = (
    "amber birch cedar daisy elder fern grape hazel iris juniper kelp lilac mint nettle oak".split()
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

SPELLINGS: dict[str, Callable[[str], str]] = {
    "start": lambda words: words[:1].upper() + words[1:],
    "upper": str.upper,
    "wide": lambda words: chr(ord(words[0]) + 0xFEE0) + words[1:],
    "space": lambda words: words.replace(" ", "  ", 1),
    "hidden": lambda words: f"{words[:2]}\u200b{words[2:]}",
    "ends": lambda words: f"\t{words}\n",
}
"""Other ways to write a text: nobody sees the last two, which are verbatim the same."""

Command = Admit | Operation
Retrieve = Callable[[Ledger, Admit], tuple[Neighbour, ...]]


def text_at(point: int, sign: str = "") -> str:
    """The text of a point of the grid; `upper:?` is with the sign `?`, in capitals."""
    spelling, _, sign = sign.rpartition(":")
    words = " ".join(WORDS[point : point + 4]) + sign
    return SPELLINGS[spelling](words) if spelling else words


@cache
def vector_at(point: int) -> Vector:
    """The vector of a point, of unit length: 16 numbers of a quarter."""
    numbers = np.zeros(DIMENSION, dtype="<f2")
    numbers[point : point + WIDTH] = 0.25
    data = base64.b64encode(numbers.tobytes()).decode()
    return Vector(model="grid", engine="grid", dimension=DIMENSION, data=data)


def vector_of(words: str) -> Vector:
    """The vector of a text; of one that a rule puts together, that of its first point."""
    return vector_at(WORDS.index(oracle.search_form(words).split(maxsplit=1)[0]))


def content_of(words: str) -> Content:
    """What is recorded of a text that a rule puts together."""
    return text.content_of(words, vector=vector_of(words))


@cache
def content_at(point: int, sign: str = "") -> Content:
    """What is recorded of the text of a point."""
    words = text_at(point, sign)
    return text.content_of(words, fingerprint=digest(words.encode()), vector=vector_at(point))


def admit_at(
    owner_id: str,
    name: str,
    point: int,
    sign: str = "",
    *,
    namespace: str = "default",
    session_id: str | None = None,
    category: str | None = None,
    hours_ago: int | None = None,
    importance: float | None = None,
    ttl: float | None = None,
) -> Admit:
    """A candidate without its neighbours, which the world retrieves when its turn comes."""
    candidate = Candidate(
        owner_id=owner_id,
        source="grid",
        id=name,
        text=text_at(point, sign),
        namespace=namespace,
        session_id=session_id,
        category=category,
        importance=importance,
        occurred_at=None if hours_ago is None else BEGIN - timedelta(hours=hours_ago),
        ttl=ttl,
    )
    return Admit(
        candidate_id=candidate_id(owner_id, "grid", name),
        candidate=candidate.fields(),
        content=content_at(point, sign),
        digest=digest(f"{name}{point}{sign}".encode()),
    )


SUBJECTS = ("Ada", "The user", "I", "Bob")
PREDICATES = (
    ("lives in Rome", "live in Rome"),
    ("has two cats", "have two cats"),
    ("moved to Kent", "moved to Kent"),
    ("met Ada in Rome", "met Ada in Rome"),
)
"""What is said of somebody, and how it is said after *I*; the last is never read by a name."""


def sentence(subject: int, predicate: int) -> str:
    """What a subject is said to do."""
    return f"{SUBJECTS[subject]} {PREDICATES[predicate][SUBJECTS[subject] == 'I']}."


def admit_sentence(owner_id: str, name: str, subject: int, predicate: int) -> Admit:
    """A candidate with a sentence; those of one predicate have one vector."""
    words = sentence(subject, predicate)
    candidate = Candidate(owner_id=owner_id, source="grid", id=name, text=words)
    fingerprint = digest(words.encode())
    content = text.content_of(words, fingerprint=fingerprint, vector=vector_at(3 * predicate))
    return Admit(
        candidate_id=candidate_id(owner_id, "grid", name),
        candidate=candidate.fields(),
        content=content,
        digest=digest(f"{name}{words}".encode()),
    )


def by_brute_force(policy: Policy) -> Retrieve:
    """Everyone in the scope, exactly: distinct current candidates, or faces of such memories."""

    def sees(ours: Vector | None, theirs: Vector | None) -> bool:
        return policy.compares_words or (ours is not None and theirs is not None)

    def retrieve(ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
        own = admit.content.vector
        if policy.search == "memories":
            memories = (m for m in ledger.memories() if m.namespace == admit.candidate.namespace)
            faces = [(m.face.speaker, m.face.text, m.face.vector) for m in memories if m.current]
            return tuple(_compared(admit, *face) for face in faces if sees(own, face[2]))
        rows = ledger.scope(admit.candidate.namespace).rows
        living = ((d.current, d.vector) for d in rows if sees(own, d.vector))
        found = (_compared(admit, e, e.text, vector) for e, vector in living if e is not None)
        return with_framed(policy, ledger, admit, found)

    return retrieve


def with_framed(
    policy: Policy, ledger: Ledger, admit: Admit, found: Iterable[Neighbour]
) -> tuple[Neighbour, ...]:
    """These, and those that were said last of what stands for a frame here: texts as long."""
    near = {neighbour.candidate_id: neighbour for neighbour in found}
    rows = ledger.scope(admit.candidate.namespace).rows
    living = [(distinct, e) for distinct in rows if (e := distinct.current) is not None]
    living.sort(key=lambda row: row[0].members[-1].place, reverse=True)
    length = len(admit.content.text)
    mates = [entry.id for _, entry in living if len(entry.text) % 3 == length % 3]
    for mate in mates[: policy.judge.frames]:
        neighbour = near.get(mate, Neighbour(candidate_id=mate))
        only = mate < admit.candidate_id
        near[mate] = structs.replace(neighbour, frame="only" if only else "also")
    return tuple(near.values())


def forgotten(policy: Policy, ledger: Ledger, admit: Admit) -> tuple[Neighbour, ...]:
    """Everyone in the scope whose text was forgotten and waits, its rewordings, too."""
    scope = ledger.scope(admit.candidate.namespace)
    asking = (one for distinct in scope.by_hash.values() if (one := distinct.guarded) is not None)
    gone = [one for one in asking if one.forgotten and one.forgotten.order]
    own = admit.content.vector
    return tuple(
        _compared(admit, one, one.text, one.distinct.vector)
        for one in gone
        if policy.compares_words or (own is not None and one.distinct.vector is not None)
    )


def _compared(admit: Admit, entry: Entry, text: str, vector: Vector | None) -> Neighbour:
    own = admit.content.vector
    return Neighbour(
        candidate_id=entry.id,
        cosine=None if own is None or vector is None else cosine_of(own, vector),
        jaccard=jaccard_of(admit.content.text, text),
    )


@cache
def cosine_of(ours: Vector, theirs: Vector) -> float:
    """The exact cosine of two recorded vectors."""
    return cosine(numbers_of(ours), numbers_of(theirs))


@cache
def jaccard_of(ours: str, theirs: str) -> float:
    """The Jaccard score of two texts' words."""
    a, b = tokens(ours), tokens(theirs)
    return round(len(a & b) / len(a | b), 4)


class World:
    """One owner: commands in, events out, the ledger folded as they come."""

    def __init__(
        self, policy: Policy, owner_id: str = "ada", retrieve: Retrieve | None = None
    ) -> None:
        self.policy = policy
        self.ledger = Ledger(owner_id)
        self.log: list[AnyEvent] = []
        self.now = BEGIN
        self._retrieve = retrieve or by_brute_force(policy)
        self._given_out = 0

    def fresh(self) -> str:
        """A command id that no world of this owner gives out at another moment of its log."""
        self._given_out += 1
        return str(uuid5(NAMESPACE, f"{self.ledger.owner_id}:{len(self.log)}:{self._given_out}"))

    def run(self, command: Command, seconds: int = 1) -> list[AnyEvent]:
        """Carry a command out after some seconds; the end of a session with its joins."""
        self.advance(seconds)
        joins = self._of_a_run(command)
        ready = self.ready(command)
        done = execute(ready, *self.at_present())
        done += recompose(ready, *self.at_present(), content_of)
        events = [event for event, _ in done]
        self.log += events
        if joins:
            return joins + events
        if isinstance(command, EndSession) and events:
            for join in consolidate(command, *self.at_present()):
                events += self.run(join, 0)
        return events

    def _of_a_run(self, command: Command) -> list[AnyEvent]:
        """The joins of a batch run that asks no judge, before it is recorded."""
        rule = self.policy.dedupe
        if not isinstance(command, RecordRun) or not isinstance(rule, PairsDedupe):
            return []
        if event_id(command.command_id, "0") in self.ledger.events:
            return []
        made: list[AnyEvent] = []
        for planned in by_pairs(self.ledger, self.policy, rule, Run(lambda *_: None)):
            made += self.run(
                combine_command(self.ledger, self.policy, planned, command.command_id, content_of),
                0,
            )
        return made

    def advance(self, seconds: int) -> None:
        """Let some seconds pass."""
        self.now += timedelta(seconds=seconds)

    def ready(self, command: Command) -> Command:
        """The command as the runtime hands it over: a newcomer with its neighbours found."""
        if not isinstance(command, Admit) or command.candidate_id in self.ledger.entries:
            return command
        advance(self.ledger, self.ledger.at(self.now))
        neighbours = self._retrieve(self.ledger, command)
        return Admit(
            candidate_id=command.candidate_id,
            candidate=command.candidate,
            content=command.content,
            digest=command.digest,
            neighbours=neighbours,
            forgotten=forgotten(self.policy, self.ledger, command),
        )

    def at_present(self) -> tuple[Ledger, Policy, datetime]:
        """What `decide` and `execute` want to know beside the command."""
        return self.ledger, self.policy, self.now


def fold(owner_id: str, log: list[AnyEvent]) -> Ledger:
    """The ledger of an owner's log."""
    ledger = Ledger(owner_id)
    for event in log:
        evolve(ledger, event)
    return ledger


@dataclass(frozen=True)
class Seen:
    """A memory as a person sees it; what "equal" means in the laws."""

    memory_id: str
    members: tuple[tuple[str, bool], ...]
    face: str
    vector: Vector | None
    needs_composition: bool


Picture = dict[str, Seen]


def seen(memory: Memory) -> Seen:
    """One memory."""
    return Seen(
        memory_id=memory.id,
        members=tuple((entry.id, entry.living) for entry in memory.members),
        face=memory.face.text,
        vector=memory.face.vector,
        needs_composition=memory.face.needs_composition,
    )


def picture(ledger: Ledger) -> Picture:
    """Members, faces, ids and vectors of all memories."""
    return {memory.id: seen(memory) for memory in ledger.memories()}
