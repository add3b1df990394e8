"""A policy's checks, run in the policy's order (docs/design.md, Policies and cues)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import assert_never

from palimpsest.contracts.commands import Admit, Update
from palimpsest.contracts.events import FaceRule, FirstDecision
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import (
    CosineCheck,
    Policy,
    RecentCheck,
    SessionCheck,
    TokenCheck,
    Zone,
)
from palimpsest.streams.core.ledger import Distinct, Entry, Ledger
from palimpsest.streams.core.neighbour_lookup import NeighbourLookup, reading_of
from palimpsest.streams.guard import passes, tables_of


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision to join, the neighbour to join, and the rule that picks the face."""

    decision: FirstDecision
    neighbour: Neighbour
    face: FaceRule
    similarity: float
    check: str


@dataclass(slots=True)
class CheckOutcome:
    """What the checks found: a choice, and the neighbours that only a judge can tell apart."""

    choice: Choice | None = None
    gray: list[Neighbour] = field(default_factory=list)


def run_checks(
    ledger: Ledger, admit: Admit, policy: Policy, lookup: NeighbourLookup
) -> CheckOutcome:
    """The first check that joins decides; neighbours that the guard stops on the way are gray."""
    outcome = CheckOutcome()
    if not admit.neighbours:
        return outcome
    for check in policy.active:
        match check:
            case RecentCheck():
                continue
            case TokenCheck():
                outcome.choice = _by_tokens(check, lookup, outcome.gray)
            case SessionCheck():
                outcome.choice = _by_session(check, ledger, admit, lookup, outcome.gray)
            case CosineCheck():
                looked_at = policy.judge.unavailable != "keep"
                outcome.choice = _by_cosine(check, admit, lookup, outcome.gray, looked_at=looked_at)
            case _:
                assert_never(check)
        if outcome.choice is not None:
            break
    return outcome


def _stopped(
    neighbour: Neighbour,
    lookup: NeighbourLookup,
    gray: list[Neighbour],
    at_least: float | None = None,
    *,
    guarded: bool,
) -> bool:
    if not guarded or lookup.passes(neighbour, at_least):
        return False
    gray.append(neighbour)
    return True


def _by_tokens(check: TokenCheck, lookup: NeighbourLookup, gray: list[Neighbour]) -> Choice | None:
    for neighbour in lookup.by_jaccard(check.top):
        score = neighbour.jaccard or 0.0
        if not check.is_reached(score):
            break
        if not _stopped(neighbour, lookup, gray, guarded=check.guard):
            return Choice("token_reject", neighbour, "keep", score, "tokens")
    return None


def _by_session(
    check: SessionCheck,
    ledger: Ledger,
    admit: Admit,
    lookup: NeighbourLookup,
    gray: list[Neighbour],
) -> Choice | None:
    """The best text of the session that may be joined; never one the model cannot tell apart."""
    recent: set[str] | None = None
    for neighbour in lookup.by_cosine(check.nearest or len(admit.neighbours)):
        score = neighbour.cosine or 0.0
        if score < check.threshold:
            break
        distinct = lookup.entry(neighbour).distinct
        if check.nearest is None:
            if recent is None:
                recent = {entry.distinct.hash for entry in session_texts(ledger, admit, check.last)}
            in_the_session = distinct.hash in recent
        else:
            in_the_session = in_session(distinct, admit.candidate.session_id)
        if not in_the_session:
            continue
        if not check.guard and lookup.blind(neighbour, check.threshold):
            gray.append(neighbour)
        elif not _stopped(neighbour, lookup, gray, check.threshold, guarded=check.guard):
            return Choice("session_reject", neighbour, "keep", score, "session")
    return None


def in_session(distinct: Distinct, session: str | None) -> bool:
    """Whether a current candidate of a session has this text; None means no session."""
    spoken = (e.fields.session_id for e in distinct.members if e.living and not e.expired)
    return session is not None and session in spoken


def session_texts(ledger: Ledger, admit: Admit, last: int) -> list[Entry]:
    """The current ones among the session's `last` candidates in the newcomer's scope, in order."""
    session = admit.candidate.session_id
    scope = ledger.scopes.get(admit.candidate.namespace)
    if session is None or scope is None:
        return []
    return [e for e in scope.sessions.get(session, [])[-last:] if e.living and not e.expired]


def nearest_of(policy: Policy, admit: Admit, lookup: NeighbourLookup) -> list[Neighbour]:
    """The neighbours that the cosine check compares, nearest first."""
    check = _cosine_check(policy, admit)
    return [] if check is None else lookup.by_cosine(check.top)


def in_zones(policy: Policy, admit: Admit, lookup: NeighbourLookup) -> list[Neighbour]:
    """The neighbours that are in a zone of the cosine check, nearest first."""
    check = _cosine_check(policy, admit)
    zones = () if check is None else check.zones_of(admit.candidate.namespace)
    return [n for n in nearest_of(policy, admit, lookup) if _zone(zones, n.cosine or 0.0)]


def _cosine_check(policy: Policy, admit: Admit) -> CosineCheck | None:
    """The policy's first cosine check; None if the text is too short for it."""
    for check in policy.active:
        if isinstance(check, CosineCheck):
            return check if len(admit.content.text) >= check.min_characters else None
    return None


def _by_cosine(
    check: CosineCheck,
    admit: Admit,
    lookup: NeighbourLookup,
    gray: list[Neighbour],
    *,
    looked_at: bool,
) -> Choice | None:
    """The best neighbour's zone decides; a pair the model cannot tell apart is gray in every zone.

    `looked_at`: the guard also looks at gray pairs, because the judge's fallback may join them.
    """
    if len(admit.content.text) < check.min_characters:
        return None
    zones = check.zones_of(admit.candidate.namespace)
    for neighbour in lookup.by_cosine(check.top):
        score = neighbour.cosine or 0.0
        zone = _zone(zones, score)
        joins = zone is not None and zone.action != "pending"
        if not joins and _is_near_identical(check, neighbour, lookup):
            return Choice("auto_reject", neighbour, "keep", score, "cosine")
        if zone is None:
            continue
        blind = (looked_at or joins) and lookup.blind(neighbour, zone.at_least)
        if blind or zone.action == "pending":
            gray.append(neighbour)
        elif not _stopped(neighbour, lookup, gray, zone.at_least, guarded=zone.guard):
            face: FaceRule = "take" if zone.action == "superseded" else "keep"
            return Choice(zone.action, neighbour, face, score, "cosine")
    for neighbour in lookup.beyond(check.top):
        if _is_near_identical(check, neighbour, lookup):
            return Choice("auto_reject", neighbour, "keep", neighbour.cosine or 0.0, "cosine")
    return None


def _is_near_identical(check: CosineCheck, neighbour: Neighbour, lookup: NeighbourLookup) -> bool:
    """Whether the guard finds a neighbour near-identical, at a cosine at which that is enough."""
    return (
        _proves(check, neighbour.cosine or 0.0)
        and lookup.says_the_same(neighbour)
        and lookup.passes(neighbour, check.near_identical)
    )


def _proves(check: CosineCheck, score: float) -> bool:
    """Whether the guard's acceptance is enough at this cosine."""
    return check.near_identical is not None and score >= check.near_identical


def _zone(zones: tuple[Zone, ...], score: float) -> Zone | None:
    for zone in zones:
        if score >= zone.at_least:
            return zone
    return None


def in_reach(
    policy: Policy, ledger: Ledger, newcomer: Admit | Update, neighbour: Neighbour
) -> bool:
    """Whether a check would join the pair or ask the judge about it, whatever the guard says."""
    for check in policy.active:
        match check:
            case TokenCheck() if check.is_reached(neighbour.jaccard or 0.0):
                return True
            case CosineCheck() if len(newcomer.content.text) >= check.min_characters:
                score = neighbour.cosine or 0.0
                if _zone(check.zones_of(newcomer.candidate.namespace), score):
                    return True
                other = ledger.entries[neighbour.candidate_id]
                content, tables = newcomer.content, tables_of(policy.languages)
                if _proves(check, score) and passes(
                    reading_of(other.text, other.distinct.vector, ledger.names, tables),
                    reading_of(content.text, content.vector, ledger.names, tables),
                ):
                    return True
            case _:
                pass
    return False


def exact_decision(policy: Policy, ledger: Ledger, target: Entry, now: datetime) -> FirstDecision:
    """`recent_capture` for a repeat within the window of the policy's check, else `hash_exact`."""
    for check in policy.active:
        if isinstance(check, RecentCheck) and _is_recent(check, ledger, target, now):
            return "recent_capture"
    return "hash_exact"


def _is_recent(check: RecentCheck, ledger: Ledger, target: Entry, now: datetime) -> bool:
    if check.capacity is not None and ledger.texts - target.text_number >= check.capacity:
        return False
    return (now - target.decided_at) / timedelta(seconds=1) <= check.seconds
