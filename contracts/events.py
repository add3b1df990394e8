"""Every event of the log, as CloudEvents 1.0 (docs/design.md, Decisions). Names are wire values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from palimpsest.contracts.event_data import (
    RANKS,
    AccessedData,
    Again,
    BatchJoin,
    BatchStep,
    ComposedData,
    Composition,
    Content,
    DecidedData,
    Decision,
    EmbeddedData,
    ErasedData,
    FaceRule,
    Figures,
    FirstDecision,
    InvalidData,
    Join,
    JoinedData,
    LaterJoin,
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
    Use,
    Vector,
)
from palimpsest.contracts.model import Model, WireTime

__all__ = [
    "EVENT",
    "RANKS",
    "SOURCE",
    "Accessed",
    "AccessedData",
    "Again",
    "AnyEvent",
    "BatchJoin",
    "BatchStep",
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
    "FaceRule",
    "Figures",
    "FirstDecision",
    "Invalid",
    "InvalidData",
    "Join",
    "Joined",
    "JoinedData",
    "LaterJoin",
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
    "Use",
    "Vector",
]

SOURCE = "palimpsest"


class Event(Model):
    """A CloudEvent: `subject` is the id of a candidate or decision, `partitionkey` the owner."""

    specversion: Literal["1.0"] = "1.0"
    id: str
    source: str = SOURCE
    subject: str
    time: WireTime
    partitionkey: str
    datacontenttype: Literal["application/json"] = "application/json"

    @property
    def owner_id(self) -> str:
        """Whose memories it is about; empty for the whole store."""
        return self.partitionkey


class Decided(Event):
    """`subject` is the candidate."""

    type: Literal["palimpsest.decided.v1"] = "palimpsest.decided.v1"
    data: DecidedData


class Settled(Event):
    """`subject` is the candidate."""

    type: Literal["palimpsest.settled.v1"] = "palimpsest.settled.v1"
    data: SettledData


class Joined(Event):
    """`subject` is the newer candidate."""

    type: Literal["palimpsest.joined.v1"] = "palimpsest.joined.v1"
    data: JoinedData


class Redecided(Event):
    """`subject` is the candidate."""

    type: Literal["palimpsest.redecided.v1"] = "palimpsest.redecided.v1"
    data: RedecidedData


class Invalid(Event):
    """`subject` is the digest of the bytes."""

    type: Literal["palimpsest.invalid.v1"] = "palimpsest.invalid.v1"
    data: InvalidData


class Reversed(Event):
    """`subject` is the decision taken out."""

    type: Literal["palimpsest.reversed.v1"] = "palimpsest.reversed.v1"
    data: ReversedData


class Reinstated(Event):
    """`subject` is the decision put back."""

    type: Literal["palimpsest.reinstated.v1"] = "palimpsest.reinstated.v1"
    data: OnDecisionData


class Separated(Event):
    """`subject` is one of the two candidates."""

    type: Literal["palimpsest.separated.v1"] = "palimpsest.separated.v1"
    data: SeparatedData


class Confirmed(Event):
    """`subject` is the decision agreed to."""

    type: Literal["palimpsest.confirmed.v1"] = "palimpsest.confirmed.v1"
    data: OnDecisionData


class Composed(Event):
    """`subject` is the decision whose text was recomposed."""

    type: Literal["palimpsest.composed.v1"] = "palimpsest.composed.v1"
    data: ComposedData


class Retracted(Event):
    """`subject` is the candidate that is not living any more."""

    type: Literal["palimpsest.retracted.v1"] = "palimpsest.retracted.v1"
    data: OnCandidateData


class Restored(Event):
    """`subject` is the candidate that is living again."""

    type: Literal["palimpsest.restored.v1"] = "palimpsest.restored.v1"
    data: OnCandidateData


class Accessed(Event):
    """`subject` is the candidate whose memory was used, or the first of several."""

    type: Literal["palimpsest.accessed.v1"] = "palimpsest.accessed.v1"
    data: AccessedData


class SessionEnded(Event):
    """`subject` is the session."""

    type: Literal["palimpsest.session_ended.v1"] = "palimpsest.session_ended.v1"
    data: OnSessionData


class Compacted(Event):
    """`subject` is the session whose conversation was compacted."""

    type: Literal["palimpsest.compacted.v1"] = "palimpsest.compacted.v1"
    data: OnSessionData


class Ran(Event):
    """`subject` is the step of the batch run."""

    type: Literal["palimpsest.ran.v1"] = "palimpsest.ran.v1"
    data: RanData


class Embedded(Event):
    """`subject` is the candidate."""

    type: Literal["palimpsest.embedded.v1"] = "palimpsest.embedded.v1"
    data: EmbeddedData


class PolicySet(Event):
    """`subject` is the policy's hash; `partitionkey` is empty: it is the store's."""

    type: Literal["palimpsest.policy_set.v1"] = "palimpsest.policy_set.v1"
    data: PolicySetData


class Refused(Event):
    """`subject` is the command's id."""

    type: Literal["palimpsest.refused.v1"] = "palimpsest.refused.v1"
    data: RefusedData


class Erased(Event):
    """`subject` is the owner."""

    type: Literal["palimpsest.erased.v1"] = "palimpsest.erased.v1"
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
    | Erased
)

EVENT: TypeAdapter[AnyEvent] = TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])
