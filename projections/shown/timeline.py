"""The events about some candidates as a timeline, from the log alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, cast

from palimpsest.contracts.events import (
    Accessed,
    AnyEvent,
    Decided,
    Erased,
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
from palimpsest.contracts.evidence import Verdict, deciding
from palimpsest.contracts.shown import Happened
from palimpsest.contracts.wire import Recorded
from palimpsest.projections.duckdb.statements import kind_of
from palimpsest.projections.shown.sentences import TakenBack, did

Pair = tuple[str | None, str | None]
"""The candidate of an event, and the other one if it is about a pair."""
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
"""Fields of an event that are shown, besides its candidates and its time."""
HIDDEN = frozenset({"decided", "accessed", "embedded"})
"""Events omitted from timelines."""


class TimelineEntry(NamedTuple):
    """An event for display, and all candidates that it is about."""

    event: Happened
    about: frozenset[str]


class Timeline:
    """Notes an owner's events in order; `of` returns those about some candidates."""

    def __init__(self) -> None:
        self._entries: list[TimelineEntry] = []
        self._pairs: dict[str, Pair] = {}
        self._admitted: dict[str, str] = {}
        self._questions: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._reversals: dict[str, str] = {}
        self._retractions: dict[str, str] = {}
        self._back: dict[str, TakenBack] = {}

    def note(self, recorded: Recorded) -> TimelineEntry:
        """Add the next event; returns its entry."""
        entry = self._entry(recorded.position, recorded.event)
        self._entries.append(entry)
        self._remember(recorded.event)
        return entry

    def of(self, candidates: Collection[str]) -> list[Happened]:
        """The events about any of these candidates, or about a pair with one of them, in order.

        Admissions, uses and later vectors are left out.
        """
        return [
            event
            for event, about in self._entries
            if event["event"] not in HIDDEN and not about.isdisjoint(candidates)
        ]

    def _entry(self, position: int, event: AnyEvent) -> TimelineEntry:
        candidate_id, other_id = pair_of(event, self._pair_of)
        verdict = deciding(_verdicts(event), other_id)
        fields = {
            "position": position,
            "event": kind_of(event),
            "event_id": event.id,
            "decided_at": event.time.isoformat(),
            "did": did(event, self._back.get(getattr(event.data, "decision_id", None) or "")),
            "candidate_id": candidate_id,
            "other_id": other_id,
            "decision_id": getattr(event.data, "decision_id", None),
            "answers": self._answered(event, candidate_id or ""),
            **{name: getattr(event.data, name, None) for name in SHOWN},
            "reasoning": verdict.reasoning if verdict is not None else None,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        return TimelineEntry(cast("Happened", known), candidates_of(event, self._pair_of))

    def _pair_of(self, decision_id: str) -> Pair:
        return self._pairs.get(decision_id, (None, None))

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
                return decision_id or question or self._admitted.get(candidate_id)
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
            case Separated():
                self._back[event.id] = "separation"
            case _:
                pass
        if isinstance(event, Decided | Settled | Joined | Redecided):
            self._pairs[event.id] = _joined(event)
            if event.data.join is not None and event.data.join.over is not None:
                self._back[event.id] = "update"


def pair_of(event: AnyEvent, of_decision: Callable[[str], Pair]) -> Pair:
    """The candidate of an event; for a pair, also the older one.

    `of_decision` has those of earlier decisions, which some events name alone.
    """
    data = event.data
    match event:
        case Decided() | Settled() | Joined() | Redecided():
            return _joined(event)
        case Reversed():
            return event.data.candidate_id, event.data.joined_to
        case Separated():
            return event.data.candidate_id, event.data.other_id
        case Refused() if event.data.b is not None:
            return event.data.b, event.data.a
        case Refused() if event.data.verdicts and event.data.candidate_id is not None:
            return event.data.candidate_id, event.data.verdicts[0].neighbour_id
        case _:
            pair = of_decision(getattr(data, "decision_id", None) or "")
            return getattr(data, "candidate_id", None) or pair[0], pair[1]


def candidates_of(event: AnyEvent, of_decision: Callable[[str], Pair]) -> frozenset[str]:
    """All candidates that an event is about."""
    about = (*pair_of(event, of_decision), *_several(event))
    return frozenset(candidate_id for candidate_id in about if candidate_id is not None)


def _joined(event: Decided | Settled | Joined | Redecided) -> Pair:
    join = event.data.join
    return event.subject, join.to if join is not None else None


def _several(event: AnyEvent) -> Iterable[str]:
    """The candidates that an event lists; none for most kinds of events."""
    match event:
        case Accessed():
            return [use.candidate_id for use in event.data.uses or ()]
        case Erased():
            return event.data.candidate_ids
        case _:
            return ()


def _verdicts(event: AnyEvent) -> Sequence[Verdict]:
    evidence = getattr(event.data, "evidence", None)
    return (evidence.verdicts if evidence else getattr(event.data, "verdicts", None)) or ()
