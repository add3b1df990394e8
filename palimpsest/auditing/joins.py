"""The automatic joins that stand at a position of the log, and the texts they were decided on.

An owner is folded up to the position, so the answer is the same at any later time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase

from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    FaceRule,
    Joined,
    Redecided,
    Settled,
)
from palimpsest.contracts.evidence import Evidence, deciding
from palimpsest.contracts.identity import digest, token_of
from palimpsest.evaluation.automatic import standing
from palimpsest.evaluation.evaluate import ENGLISH, OTHER
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.faces import standing_text
from palimpsest.streams.core.ledger import Edge, Entry, Ledger
from palimpsest.streams.embedder import Progress
from palimpsest.streams.garbage import collector_at_rest
from palimpsest.streams.guard import kept_reading
from palimpsest.streams.log.log import Log

Made = dict[str, str]
"""What made a join: its value for each kind of stratum."""


@dataclass(frozen=True, slots=True)
class AuditedJoin:
    """A join by its decision. `shown` is the digest of its texts, `made` says what made it."""

    id: str
    owner_id: str
    face: FaceRule
    shown: str
    made: Made


@dataclass(frozen=True, slots=True)
class AuditScope:
    """The audited joins: those of owners that match a pattern, decided at a time or later."""

    owners: str | None = None
    since: datetime | None = None

    def has(self, owner_id: str) -> bool:
        """Whether an owner matches."""
        return self.owners is None or fnmatchcase(owner_id, self.owners)

    def __str__(self) -> str:
        """The owners and the time in words, empty for all joins."""
        of = "" if self.owners is None else f" of owners like {self.owners!r}"
        return of if self.since is None else f"{of} from {self.since.isoformat()} on"


@dataclass(frozen=True, slots=True)
class PairTexts:
    """The two texts of a pair by arrival, and the text composed of both, if there is one.

    A text that was forgotten or erased since is None.
    """

    older: str | None
    newer: str | None
    composed: str | None = None


@dataclass(slots=True)
class _Folded:
    """An owner's ledger, the evidence of its joins, and the nearest text to each unjoined one."""

    ledger: Ledger
    evidence: dict[str, Evidence] = field(default_factory=dict)
    nearest: dict[str, tuple[str, float]] = field(default_factory=dict)


class Sealed:
    """The log up to a position, owner by owner; it keeps the ledger of the last owner."""

    def __init__(
        self, log: Log, position: int, scope: AuditScope, offsets: tuple[int, ...] | None = None
    ) -> None:
        self.position = position
        self.offsets = offsets
        self.scope = scope
        self._log = log
        self._last: _Folded | None = None

    def owners(self) -> list[str]:
        """The owners of the scope."""
        return [owner for owner in self._log.owners() if self.scope.has(owner)]

    def ledger(self, owner_id: str) -> Ledger:
        """An owner's ledger as of the position; valid until another owner's is requested."""
        return self._folded(owner_id).ledger

    def nearest(self, owner_id: str) -> dict[str, tuple[str, float]]:
        """For each candidate that joined no other on arrival, the nearest one and its cosine."""
        return self._folded(owner_id).nearest

    def joins(self, progress: Progress) -> dict[str, AuditedJoin]:
        """All standing automatic joins of the scope, by their decisions."""
        owners, found = self.owners(), dict[str, AuditedJoin]()
        for number, owner in enumerate(owners):
            progress("reading the joins", number / len(owners))
            found |= {join.id: join for join in self.joins_of(owner, self.scope.since)}
        return found

    def joins_of(self, owner_id: str, since: datetime | None) -> list[AuditedJoin]:
        """The joins of an owner that were decided at a time or later."""
        folded = self._folded(owner_id)
        return [
            _audited(owner_id, edge, folded.evidence.get(edge.id))
            for edge in standing(folded.ledger)
            if since is None or edge.decided_at >= since
        ]

    def texts(self, join: AuditedJoin, now: Ledger) -> PairTexts:
        """The texts of a join as they were; None for those that are gone from the ledger `now`."""
        edge = self.ledger(join.owner_id).edges[join.id]

        def kept(entry: Entry) -> str | None:
            known = now.entries[entry.id]
            return entry.text if known.forgotten is None and known.text else None

        older, newer = kept(edge.older), kept(edge.newer)
        gone = older is None or newer is None
        return PairTexts(older, newer, None if gone else composed_text(edge))

    def _folded(self, owner_id: str) -> _Folded:
        if self._last is None or self._last.ledger.owner_id != owner_id:
            if self._last is not None:
                self._last.ledger.dissolve()
            self._last = folded = _Folded(Ledger(owner_id))
            with collector_at_rest():
                for recorded in self._log.of_owner(owner_id, upto=self.position):
                    evolve(folded.ledger, recorded.event)
                    folded.evidence |= _evidence(recorded.event)
                    folded.nearest |= _nearest(recorded.event)
        return self._last


def population_digest(joins: Iterable[str]) -> str:
    """The digest of the ids of all joins, in any order."""
    return digest("\n".join(sorted(joins)).encode())


def composed_text(edge: Edge) -> str | None:
    """The text that was composed for a join, if all its sources are living members."""
    found = standing_text(edge, {entry.id: entry for entry in edge.newer.memory.members})
    return None if found is None else found[1].content.text


def _audited(owner_id: str, edge: Edge, evidence: Evidence | None) -> AuditedJoin:
    composed = composed_text(edge) if edge.face == "text" else None
    texts = [edge.older.distinct.hash, edge.newer.distinct.hash, *([composed] if composed else ())]
    return AuditedJoin(
        edge.id, owner_id, edge.face, token_of([[edge.id], texts]), _made(edge, evidence)
    )


def _made(edge: Edge, evidence: Evidence | None) -> Made:
    vector, verdicts = edge.newer.distinct.vector, evidence.verdicts if evidence else ()
    verdict = deciding(verdicts, edge.older.id) if edge.rank == "judge" else None
    texts = edge.older.text, edge.newer.text
    english = all(kept_reading(text).is_english for text in texts)
    values = {
        "decision": edge.decision,
        "policy": edge.policy,
        "guard": evidence.guard if evidence else None,
        "embedder": vector.model if vector else None,
        "judge": verdict.model if verdict else None,
        "prompt": verdict.prompt if verdict else None,
        "language": ENGLISH if english else OTHER,
    }
    return {kind: value for kind, value in values.items() if value is not None}


def _evidence(event: AnyEvent) -> dict[str, Evidence]:
    """The evidence of joins, by decision."""
    if isinstance(event, Decided | Settled | Joined | Redecided) and event.data.join is not None:
        return {event.id: event.data.evidence} if event.data.evidence is not None else {}
    return {}


def _nearest(event: AnyEvent) -> dict[str, tuple[str, float]]:
    """The nearest text found for a newcomer, if it joined no other and the log has it."""
    if not isinstance(event, Decided) or event.data.join is not None or event.data.withheld:
        return {}
    evidence = event.data.evidence
    met = [evidence.nearest] if evidence.nearest is not None else evidence.neighbours
    scored = [(one.cosine, one.candidate_id) for one in met if one.cosine is not None]
    if not scored:
        return {}
    score, candidate_id = max(scored, key=lambda found: found[0])
    return {event.subject: (candidate_id, score)}
