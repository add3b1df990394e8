"""A batch run: the pairs it compares, the requests it proposes, and its counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from palimpsest.contracts.answers import Pairing
from palimpsest.contracts.events import BatchJoin
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import CombineRequest, SeparateRequest
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.core.local_only import face_is_local
from palimpsest.streams.core.moment import face_moment
from palimpsest.streams.judge.pairs import FAILED, Side

Proposal = CombineRequest | SeparateRequest
Progress = Callable[[str, float | None], None]
"""Receives a description of the work, and the share that is done (0-1; None if unknown)."""
CHECK = "dedupe"
"""The name of the check in the evidence of a batch run's joins."""


@dataclass(frozen=True, slots=True)
class ToCompose:
    """A text that a run lacks: the faces that the judge must compose it from, oldest first."""

    sides: tuple[Side, ...]
    sources: tuple[str, ...]


@dataclass(slots=True)
class Run:
    """The counts of one run.

    `pairs` counts the computed cosines, `all_pairs` all pairs of each scope. `asked` counts the
    judge's answers, `left` the pairs or clusters that wait for the next run, and `why_left` the
    reasons of answers that settle nothing. `merged` are memories that take no further part.
    `lacking` has texts that a rule needs to continue. `composed` has the hashes of composed texts,
    by owner and namespace. `seen` is the number of the owner's events: the same run over the same
    events sends requests with the same ids.
    """

    progress: Progress
    memories: int = 0
    pairs: int = 0
    all_pairs: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    why_left: Counter[str] = field(default_factory=Counter)
    left: int = 0
    seen: int = 0
    lacking: list[ToCompose] = field(default_factory=list)
    joins: list[Pairing] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    composed: set[tuple[str, str, str]] = field(default_factory=set)

    def request_id(self, near: Near) -> str:
        """The id of the request about a pair; it changes with the owner's events."""
        return event_id(near.older.id, f"{CHECK}:{near.newer.id}:{self.seen}")

    def count(self, verdict: Verdict) -> None:
        """Count an answer of the judge."""
        self.asked[verdict.answer] += 1
        if verdict.answer in FAILED:
            self.why_left[verdict.reasoning or verdict.answer] += 1

    @property
    def unanswered(self) -> int:
        """The number of pairs without an answer, which wait for the next run."""
        return self.asked["unavailable"]


def spoken(ledger: Ledger, entry: Entry, policy: Policy) -> Side:
    """The face of a memory in the form for the judge; `entry` speaks for the memory."""
    face = entry.memory.face
    local = face_is_local(ledger, face, policy)
    return Side(entry.id, face.text, face_moment(entry.memory), local)


def spoke_at(entry: Entry) -> tuple[datetime, int]:
    """A sort key: the moment of a memory's face, ties by arrival; `entry` speaks for the memory."""
    return face_moment(entry.memory), entry.place


@dataclass(frozen=True, slots=True)
class Near:
    """Two near memories: the candidates that speak for them, and what was `seen` of the pair.

    `older` arrived first, whichever happened first. `guard` is the hash of the guard that compared
    them.
    """

    older: Entry
    newer: Entry
    seen: Neighbour
    guard: str | None = None

    @property
    def score(self) -> float:
        """The cosine of their faces."""
        return self.seen.cosine or 0.0

    @property
    def in_time(self) -> tuple[Entry, Entry]:
        """The two by the moments of their faces, ties by arrival: the order in prompts."""
        first, second = sorted((self.older, self.newer), key=spoke_at)
        return first, second

    @property
    def replacing(self) -> Literal["keep", "take"]:
        """Whose face wins if the newer text replaces the older: the face that happened later."""
        return "take" if self.in_time[1] is self.newer else "keep"

    @property
    def memories(self) -> tuple[Memory, Memory]:
        """The two memories."""
        return self.older.memory, self.newer.memory


def joined(
    request_id: str,
    near: Near,
    decision: BatchJoin,
    policy: str,
    verdict: Verdict | None,
    face: Literal["keep", "take"],
    rank: Literal["rule", "judge"],
) -> CombineRequest:
    """The request that joins two memories: the older one's face wins (`keep`), or the newer's."""
    evidence = Evidence(
        policy=policy,
        check=CHECK,
        neighbours=(near.seen,),
        asked=(near.older.id,) if verdict else (),
        verdicts=(verdict,) if verdict else (),
        guard=near.guard if near.seen.near_identical is not None else None,
    )
    return CombineRequest(
        request_id=request_id,
        a=near.older.id,
        b=near.newer.id,
        decision=decision,
        face=face,
        evidence=evidence,
        rank=rank,
    )


def parted(request_id: str, near: Near, verdict: Verdict) -> SeparateRequest:
    """The request that records the judge's *different*, so that the pair is not compared again."""
    return SeparateRequest(
        request_id=request_id,
        a=near.older.id,
        b=near.newer.id,
        rank="judge",
        verdicts=(verdict,),
        similarity=near.score,
        because=CHECK,
    )


def pairing(near: Near, decision: str, verdict: Verdict | None = None) -> Pairing:
    """A join in the form for people."""
    return Pairing(
        owner_id=near.older.fields.owner_id,
        decision=decision,
        similarity=near.score,
        older=near.older.id,
        newer=near.newer.id,
        older_text=near.older.memory.text,
        newer_text=near.newer.memory.text,
        reasoning=verdict.reasoning if verdict else None,
    )
