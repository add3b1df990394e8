"""Describes the effect of an event in plain words, without memories' texts. Pure."""

from __future__ import annotations

from typing import Literal, assert_never

from palimpsest.contracts.counting import counted
from palimpsest.contracts.events import (
    Accessed,
    AnyEvent,
    AuditLabelled,
    AuditOpened,
    Certified,
    Compacted,
    Composed,
    Confirmed,
    Decided,
    Embedded,
    Erased,
    ExpirySet,
    FaceRule,
    Invalid,
    Join,
    Joined,
    JudgeSet,
    NamesSet,
    PolicySet,
    Ran,
    Rank,
    Redecided,
    Refused,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Separated,
    SessionEnded,
    Settled,
    Unchanged,
)

TakenBack = Literal["separation", "update"]

_WHO: dict[Rank, str] = {"person": "a person", "agent": "an agent"}
_SPEAKS: dict[FaceRule, str] = {
    "repeat": "as an exact repeat",
    "keep": "whose wording stays the face",
    "take": "and takes the face, unless it happened earlier",
    "text": "and a text composed of both is the face",
}


def did(event: AnyEvent, back: TakenBack | None = None) -> str:
    """The effect of an event, on its candidate if it has one.

    `back` is what a reversal takes back, if that is not an ordinary join.
    """
    match event:
        case Decided():
            data = event.data
            if data.join is None and data.decision == "pending":
                near = counted(len(data.evidence.asked), "near candidate")
                return f"came in; the judge is asked about {near}"
            return f"came in: {_became(data.join, _WHO.get(data.rank or 'person', 'a person'))}"
        case Settled():
            return _settled(event)
        case Joined():
            by = _WHO.get(event.data.rank, "a batch run")
            return f"{by} joined it to another candidate, {_speaks(event.data.join, by)}"
        case Redecided():
            return f"decided again without a join that was taken out: {_became(event.data.join)}"
        case Reversed() if back == "separation":
            return "the separation was withdrawn"
        case Reversed(data=cut) if cut.withdraws and back == "update":
            return "the update was undone"
        case Reversed(data=cut) if cut.is_withdrawal:
            return "the merge was withdrawn"
        case Reversed():
            still = "" if event.data.separates else "; other joins still hold the two together"
            again = " as a consequence of another reversal" if event.data.consequence_of else ""
            return f"the join was taken out{again}{'' if again else still}"
        case Reinstated():
            return "the join that had been taken out stands again"
        case Separated():
            return "the two were separated"
        case Confirmed():
            return "the decision was confirmed"
        case Composed():
            return "the text was recomposed from the remaining sources"
        case Retracted():
            return "hidden from recall and search; its joins stay"
        case Restored():
            return "restored to recall and search"
        case ExpirySet(data=expiry):
            if expiry.expires_at is None:
                return "pinned: it does not expire"
            return f"expires at {expiry.expires_at.isoformat()}"
        case NamesSet():
            return f"the owner is called {', '.join(event.data.names) or 'by no names'}"
        case Accessed():
            return "the memory was used"
        case Embedded():
            return "its text was embedded later"
        case Refused():
            return f"refused: {event.data.command}, because of {event.data.reason}"
        case Unchanged():
            return f"nothing changed: {event.data.request}"
        case Erased():
            return "its text was destroyed; its id and its joins stay"
        case Invalid():
            return "a row was not stored, because it breaks a rule"
        case SessionEnded():
            return "a session ended"
        case Compacted():
            return "the conversation of a session was compacted"
        case Ran():
            return "a batch run ended"
        case PolicySet():
            return "a policy was put in force"
        case JudgeSet():
            return "a judge was put in force"
        case AuditOpened():
            return "an audit was opened"
        case AuditLabelled():
            return "a pair of an audit was labelled"
        case Certified():
            return "an audit was certified"
        case _:
            assert_never(event)


def _became(join: Join | None, who: str = "a person") -> str:
    if join is None:
        return "a memory of its own"
    return f"joined another candidate, {_speaks(join, who)}"


def _settled(event: Settled) -> str:
    data = event.data
    if data.join is not None:
        return f"its question was answered: joined another candidate, {_speaks(data.join)}"
    if data.decision == "fallback_keep":
        return "its question was closed without an answer: kept apart"
    return "its question was answered: kept apart"


def _speaks(join: Join, who: str = "a person") -> str:
    if join.former:
        speaker = "the newer" if join.face == "take" else "the older"
        return f"and {who} chose {speaker} wording as the face"
    return "and takes the face" if join.outright else _SPEAKS[join.face]
