"""What was said after admission of some candidates, as one timeline. Pure; from the log alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from palimpsest.contracts.events import (
    Accessed,
    AnyEvent,
    Decided,
    Embedded,
    Joined,
    Redecided,
    Refused,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.words import kind_of

Pair = tuple[str | None, str | None]
"""The candidate that an event is about, and the other one where it is about two."""
SHOWN = (
    "decision",
    "rank",
    "actor",
    "because",
    "cause",
    "consequence_of",
    "command",
    "reason",
    "detail",
)
"""What an event says of itself, beside whom it is about and when it was."""


class Timeline:
    """Notes an owner's events in order; `of` tells those that are about some candidates."""

    def __init__(self) -> None:
        self._told: list[dict[str, Any]] = []
        self._pairs: dict[str, Pair] = {}
        self._admitted: dict[str, str] = {}
        self._questions: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._reversals: dict[str, str] = {}
        self._retractions: dict[str, str] = {}

    def note(self, recorded: Recorded) -> None:
        """Take in the next event; admissions and uses are no words on anything."""
        event = recorded.event
        if not isinstance(event, Decided | Accessed | Embedded):
            self._tell(recorded.position, event)
        self._remember(event)

    def of(self, candidates: Collection[str]) -> list[dict[str, Any]]:
        """The events about any of these candidates, or about a pair with one, in order."""
        return [
            told
            for told in self._told
            if told.get("candidate_id") in candidates or told.get("other_id") in candidates
        ]

    def _tell(self, position: int, event: AnyEvent) -> None:
        candidate_id, other_id = self._about(event)
        verdicts = _verdicts(event)
        told = {
            "position": position,
            "event": kind_of(event),
            "event_id": event.id,
            "decided_at": event.time.isoformat(),
            "candidate_id": candidate_id,
            "other_id": other_id,
            "decision_id": getattr(event.data, "decision_id", None),
            "answers": self._answered(event, candidate_id or ""),
            **{name: getattr(event.data, name, None) for name in SHOWN},
            "reasoning": next((v.reasoning for v in verdicts if v.reasoning), None),
        }
        self._told.append({name: value for name, value in told.items() if value is not None})

    def _about(self, event: AnyEvent) -> Pair:
        """The candidate that an event is about and, of a pair, the older one."""
        data = event.data
        match event:
            case Settled() | Joined() | Redecided():
                return _joined(event)
            case Reversed():
                return event.data.candidate_id, event.data.joined_to
            case Separated():
                return event.data.candidate_id, event.data.other_id
            case Refused() if event.data.b is not None:
                return event.data.b, event.data.a
            case _:
                pair = self._pairs.get(getattr(data, "decision_id", None) or "", (None, None))
                return getattr(data, "candidate_id", None) or pair[0], pair[1]

    def _answered(self, event: AnyEvent, candidate_id: str) -> str | None:
        decision_id: str | None = getattr(event.data, "decision_id", None)
        match event:
            case Settled():
                return self._question(candidate_id)
            case Redecided():
                gone = event.data.consequence_of
                return self._reversals.get(gone, gone)
            case Reinstated():
                return self._reversals.get(event.data.decision_id)
            case Separated():
                asked = self._questions.get(candidate_id, ("", ()))
                return asked[0] if event.data.other_id in asked[1] else None
            case Restored():
                return self._retractions.get(candidate_id)
            case Refused():
                question = self._question(candidate_id)
                return question or decision_id or self._admitted.get(candidate_id)
            case Retracted():
                return self._admitted.get(candidate_id)
            case _:
                return decision_id

    def _question(self, candidate_id: str) -> str | None:
        asked = self._questions.get(candidate_id)
        return asked[0] if asked else None

    def _remember(self, event: AnyEvent) -> None:
        match event:
            case Decided() | Redecided():
                candidate_id = event.subject
                if isinstance(event, Decided):
                    self._admitted[candidate_id] = event.id
                if event.data.decision == "pending":
                    self._questions[candidate_id] = event.id, event.data.evidence.asked
            case Reversed():
                self._reversals[event.data.decision_id] = event.id
            case Retracted():
                self._retractions[event.data.candidate_id] = event.id
            case _:
                pass
        if isinstance(event, Decided | Settled | Joined | Redecided):
            self._pairs[event.id] = _joined(event)


def _joined(event: Decided | Settled | Joined | Redecided) -> Pair:
    join = event.data.join
    return event.subject, join.to if join is not None else None


def _verdicts(event: AnyEvent) -> Iterable[Any]:
    evidence = getattr(event.data, "evidence", None)
    return (evidence.verdicts if evidence else getattr(event.data, "verdicts", None)) or ()
