"""Every event of the log, as CloudEvents 1.0 (docs/design.md, Decisions). Names are wire values."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter

from palimpsest.contracts.event_data import (
    RANKS,
    AccessedData,
    Again,
    AuditLabel,
    AuditLabelledData,
    AuditOpenedData,
    BatchJoin,
    BatchStep,
    CertifiedData,
    ComposedData,
    Composition,
    Content,
    DecidedData,
    Decision,
    EmbeddedData,
    ErasedData,
    ExpirySetData,
    FaceRule,
    Figures,
    FirstDecision,
    InvalidData,
    Join,
    JoinedData,
    JudgeSetData,
    LaterJoin,
    NamesSetData,
    OnCandidateData,
    OnDecisionData,
    OnSessionData,
    PolicySetData,
    RanData,
    Rank,
    RedecidedData,
    RefusedData,
    ReversedData,
    SeparatedData,
    SettledData,
    Settlement,
    Speaker,
    Stratum,
    UnchangedData,
    Use,
    Vector,
    Verbatim,
)
from palimpsest.contracts.light import Light, Tagged
from palimpsest.contracts.model import WireTime

__all__ = [
    "EVENT",
    "RANKS",
    "SOURCE",
    "Accessed",
    "AccessedData",
    "Again",
    "AnyEvent",
    "AuditLabel",
    "AuditLabelled",
    "AuditLabelledData",
    "AuditOpened",
    "AuditOpenedData",
    "BatchJoin",
    "BatchStep",
    "Certified",
    "CertifiedData",
    "Compacted",
    "Composed",
    "ComposedData",
    "Composition",
    "Confirmed",
    "Content",
    "Decided",
    "DecidedData",
    "Decision",
    "Embedded",
    "EmbeddedData",
    "Erased",
    "ErasedData",
    "Event",
    "ExpirySet",
    "ExpirySetData",
    "FaceRule",
    "Figures",
    "FirstDecision",
    "Invalid",
    "InvalidData",
    "Join",
    "Joined",
    "JoinedData",
    "JudgeSet",
    "JudgeSetData",
    "LaterJoin",
    "NamesSet",
    "NamesSetData",
    "OnCandidateData",
    "OnDecisionData",
    "OnSessionData",
    "PolicySet",
    "PolicySetData",
    "Ran",
    "RanData",
    "Rank",
    "Redecided",
    "RedecidedData",
    "Refused",
    "RefusedData",
    "Reinstated",
    "Restored",
    "Retracted",
    "Reversed",
    "ReversedData",
    "Separated",
    "SeparatedData",
    "SessionEnded",
    "Settled",
    "SettledData",
    "Settlement",
    "Speaker",
    "Stratum",
    "Unchanged",
    "UnchangedData",
    "Use",
    "Vector",
    "Verbatim",
]

SOURCE = "palimpsest"


class Event(Light):
    """A CloudEvent: `subject` is the id of a candidate or decision, `partitionkey` the owner.

    The first event of a request has the request's id, the digest of what was asked, and the answer
    as JSON (`streams/write/answered.py`); further parts of a long answer follow in separate events.

    `requires` is the first version of Palimpsest that understands the event, if an older one would
    not know it or would fold it differently (CONTRIBUTING.md).
    """

    specversion: Literal["1.0"] = "1.0"
    id: str
    source: str = SOURCE
    subject: str
    time: WireTime
    partitionkey: str
    datacontenttype: Literal["application/json"] = "application/json"
    requestid: str | None = None
    requestdigest: str | None = None
    requestanswer: str | None = None
    requires: str | None = None
    type: ClassVar[str]

    @property
    def owner_id(self) -> str:
        """The owner of the memories it is about; empty for the whole store."""
        return self.partitionkey


class Decided(Event, tag="palimpsest.decided.v1"):
    """`subject` is the candidate."""

    data: DecidedData


class Settled(Event, tag="palimpsest.settled.v1"):
    """`subject` is the candidate."""

    data: SettledData


class Joined(Event, tag="palimpsest.joined.v1"):
    """`subject` is the newer candidate."""

    data: JoinedData


class Redecided(Event, tag="palimpsest.redecided.v1"):
    """`subject` is the candidate."""

    data: RedecidedData


class Invalid(Event, tag="palimpsest.invalid.v1"):
    """`subject` is the digest of the bytes."""

    data: InvalidData


class Reversed(Event, tag="palimpsest.reversed.v1"):
    """`subject` is the reversed decision."""

    data: ReversedData


class Reinstated(Event, tag="palimpsest.reinstated.v1"):
    """`subject` is the reinstated decision."""

    data: OnDecisionData


class Separated(Event, tag="palimpsest.separated.v1"):
    """`subject` is one of the two candidates."""

    data: SeparatedData


class Confirmed(Event, tag="palimpsest.confirmed.v1"):
    """`subject` is the confirmed decision."""

    data: OnDecisionData


class Composed(Event, tag="palimpsest.composed.v1"):
    """`subject` is the decision whose text was recomposed."""

    data: ComposedData


class Retracted(Event, tag="palimpsest.retracted.v1"):
    """`subject` is the candidate that is no longer living."""

    data: OnCandidateData


class Restored(Event, tag="palimpsest.restored.v1"):
    """`subject` is the candidate that is living again."""

    data: OnCandidateData


class ExpirySet(Event, tag="palimpsest.expiry_set.v1"):
    """`subject` is the candidate whose expiry changes, or which is pinned and never expires."""

    data: ExpirySetData


class NamesSet(Event, tag="palimpsest.names_set.v1"):
    """`subject` is the owner, who is called by these names from here on."""

    data: NamesSetData


class Accessed(Event, tag="palimpsest.accessed.v1"):
    """`subject` is the candidate whose memory was used, or the first of several."""

    data: AccessedData


class SessionEnded(Event, tag="palimpsest.session_ended.v1"):
    """`subject` is the session."""

    data: OnSessionData


class Compacted(Event, tag="palimpsest.compacted.v1"):
    """`subject` is the session whose conversation was compacted."""

    data: OnSessionData


class Ran(Event, tag="palimpsest.ran.v1"):
    """`subject` is the step of the batch run."""

    data: RanData


class Embedded(Event, tag="palimpsest.embedded.v1"):
    """`subject` is the candidate."""

    data: EmbeddedData


class PolicySet(Event, tag="palimpsest.policy_set.v1"):
    """`subject` is the policy's hash; `partitionkey` is empty: it is about the whole store."""

    data: PolicySetData


class JudgeSet(Event, tag="palimpsest.judge_set.v1"):
    """`subject` is the judge's hash; `partitionkey` is empty: it is about the whole store."""

    data: JudgeSetData


class Refused(Event, tag="palimpsest.refused.v1"):
    """`subject` is the command's id."""

    data: RefusedData


class Unchanged(Event, tag="palimpsest.unchanged.v1"):
    """`subject` is the id of a request that changed nothing, or nothing further."""

    data: UnchangedData


class AuditOpened(Event, tag="palimpsest.audit_opened.v1"):
    """`subject` is the event's own id, which names the audit; `partitionkey` is empty."""

    data: AuditOpenedData


class AuditLabelled(Event, tag="palimpsest.audit_labelled.v1"):
    """`subject` is the decision or probe that was labelled; `partitionkey` is empty."""

    data: AuditLabelledData


class Certified(Event, tag="palimpsest.certified.v1"):
    """`subject` is the audit; `partitionkey` is empty."""

    data: CertifiedData


class Erased(Event, tag="palimpsest.erased.v1"):
    """`subject` is the owner."""

    data: ErasedData


AnyEvent = (
    Decided
    | Settled
    | Joined
    | Redecided
    | Invalid
    | Reversed
    | Reinstated
    | Separated
    | Confirmed
    | Composed
    | Retracted
    | Restored
    | Accessed
    | SessionEnded
    | Compacted
    | Ran
    | Embedded
    | PolicySet
    | Refused
    | Unchanged
    | AuditOpened
    | AuditLabelled
    | Certified
    | Erased
    | ExpirySet
    | NamesSet
    | JudgeSet
)

EVENT: TypeAdapter[AnyEvent] = TypeAdapter(
    Annotated[AnyEvent, Tagged], config=ConfigDict(allow_inf_nan=False, defer_build=True)
)
"""Validates events from any source and reports what is wrong; built at first use."""
