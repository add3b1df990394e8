"""What becomes of a request, as the inbox and `memory.answers` carry it: wire format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, NotRequired, TypedDict

from typing_extensions import TypeVar

from palimpsest.contracts.errors import RefusedError, StoreError, UsageError
from palimpsest.contracts.event_data import Figures

JsonObject = dict[str, Any]

A_co = TypeVar("A_co", covariant=True, default=Any)
"""The answer to a request, by its kind (`palimpsest.contracts.requests`)."""


class MemberPicture(TypedDict):
    """A member of a memory."""

    candidate_id: str
    text: str
    living: bool


class MemoryPicture(TypedDict):
    """A memory, its face, its version and its members by arrival."""

    memory_id: str
    owner_id: str
    namespace: str
    face: str
    version: str
    needs_composition: bool
    living: bool
    members: list[MemberPicture]


class Compared(TypedDict):
    """A candidate that was looked at, with its memory, its scores and the guard's findings.

    `text` is its own, `face` what speaks for its memory now, and `version` that memory's.
    `covered`, if one of the two texts is longer than the model's input, is the lowest cosine of any
    window of either with its nearest in the other.
    """

    candidate_id: str
    memory_id: str
    version: str
    text: str
    face: str
    cosine: float | None
    jaccard: float | None
    near_identical: bool | None
    cues: list[str]
    covered: float | None


class SimilarFact(TypedDict):
    """A memory that a newcomer resembles, by its id and its face, and the higher of the scores."""

    id: str
    assertion: str
    similarity: float


class FrameFact(TypedDict):
    """An earlier memory that a newcomer may replace: its id and its face.

    They say the same up to one value, or the newcomer tells of a change.
    """

    id: str
    assertion: str


class Checked(TypedDict):
    """What would become of a candidate if it were submitted now.

    `decision` is the one that would be recorded; of a `known` candidate, the recorded one. `check`
    is what decided, and `neighbour` the candidate that it would join, with the `similarity` of the
    two; of a `pending` one, the first that the judge would be asked about (`asked` are all).
    `neighbours` are those that were looked at, nearest first; `similar_facts` as in `submit`. Of an
    `invalid` row, `reason` and `detail` say why. `duration_ms` is from the row to the decision.
    """

    result: Literal["decided", "known", "invalid"]
    decision: str
    check: str | None
    similarity: float | None
    neighbour: Compared | None
    neighbours: list[Compared]
    asked: list[str]
    similar_facts: list[SimilarFact] | None
    policy: str
    candidate_id: str | None
    memory_id: str | None
    reason: str | None
    detail: str | None
    duration_ms: float


class Displaced(TypedDict):
    """What spoke for a memory until an update: a candidate, and its text or the composed one."""

    candidate_id: str
    text: str


class Undoable(TypedDict):
    """`undo` is the id by which `undo` takes back what a request did (docs/undo.md).

    It is missing of a dry run, if nothing was done, and if no one request takes it back.
    """

    undo: NotRequired[str]


class Updated(Undoable):
    """What an update did. Nothing `changed` where the memory said so already.

    `candidate_id` brought the text; `decision_id` is what `undo` names. `merged` is the memory in
    which the text lived, where the two are one now. `was` and `version` are the versions of the
    memory before and after; `memories` shows it, and `events` are the ids of what was recorded.
    """

    changed: bool
    decision_id: str | None
    candidate_id: str
    displaced: Displaced | None
    merged: str | None
    was: str
    version: str
    memories: list[MemoryPicture]
    events: list[str]


class Undone(Undoable):
    """What taking an update back did: the `version` of the memory then, and `memories`.

    `candidate_id` is whose text left, where the update had brought it. What had joined that text is
    a memory of its own; it is among `former` where a later update has displaced what it says.
    """

    decision_id: str
    candidate_id: str | None
    version: str
    former: list[str]
    memories: list[MemoryPicture]
    events: list[str]


class Waits(TypedDict):
    """A candidate that waits for the judge."""

    candidate_id: str
    memory_id: str
    text: str


class Forgotten(Undoable):
    """What was forgotten; `forgotten` is the name by which `restore` brings exactly this back.

    `candidates` are all wordings, `again` what becomes of their texts when they come again. `token`
    stood for the memories before, and `waits` are candidates that waited for a verdict about them.
    """

    forgotten: str
    candidates: list[str]
    again: str
    token: str
    waits: list[Waits]
    memories: list[MemoryPicture]
    events: list[str]


class NotDone(TypedDict):
    """What a request could not do, by the id of the decision or candidate; `reason` is a word."""

    decision_id: str
    reason: str
    detail: str


class Merged(Undoable):
    """What saying that two are the same did: the join, and the memory that they are."""

    decision_id: str
    memories: list[MemoryPicture]


class Concluded(TypedDict):
    """What a batch run's join or the judge's verdicts led to: its event, if any, and the memory."""

    decision_id: str | None
    memories: list[MemoryPicture]


class Recomposed(TypedDict):
    """The memory that got a recomposed text."""

    memories: list[MemoryPicture]


class NewExpiry(Undoable):
    """When a candidate expires now, None for never."""

    event_id: str
    candidate_id: str
    expires_at: str | None
    memories: list[MemoryPicture]


class Names(TypedDict):
    """By which names an owner is called."""

    owner_id: str
    names: list[str]


class Accessed(TypedDict):
    """The candidate whose memory was used."""

    candidate_id: str


class Apart(TypedDict):
    """The memories of two that are not the same, or of which that was taken back."""

    memories: list[MemoryPicture]
    undo: NotRequired[str]


class Named(TypedDict):
    """The owner of a submission whose rows may be published now."""

    owner_id: str


class Session(TypedDict):
    """A session that ended or was compacted, with the figures of its consolidation, if any."""

    session_id: str
    merged_groups: NotRequired[int]
    superseded_count: NotRequired[int]
    compression_ratio: NotRequired[float]
    avg_similarity: NotRequired[float]


class Agreed(TypedDict):
    """What was confirmed, and the memory that it made."""

    decision_id: str
    memories: list[MemoryPicture]


class Decision(TypedDict):
    """What was decided on a candidate, or would be, and whom it joined."""

    decision: str
    joined_to: str | None


class ConsequenceTold(TypedDict):
    """A later decision that would be another: what it `was`, and what it `would_be`.

    `decision_id` is that of the join that it was, where it was one; `asks` are the neighbours that
    the judge would be asked about.
    """

    candidate_id: str
    text: str
    decision_id: str | None
    was: Decision
    would_be: Decision
    asks: list[str]


class Unmerged(Undoable):
    """The joins that were taken out, what could not be, and the memories that there are then.

    A dry run has the later decisions that rested on them (`consequences`), and those that somebody
    said otherwise of since (`overtaken`); so has a request that carries them out, with the ids of
    the events that did (`carried_out`). `cause` names all that was taken out, save of a dry run.
    """

    reversed: list[str]
    refused: list[NotDone]
    memories: list[MemoryPicture]
    cause: NotRequired[str]
    consequences: NotRequired[list[ConsequenceTold]]
    overtaken: NotRequired[list[str]]
    carried_out: NotRequired[list[str]]


class PutBack(Undoable):
    """What taking a reversal back did: joins that are back, and those made because of it, out.

    `confirmed` are those of `taken_back` that a review had confirmed, and `events` the ids of what
    was recorded, save of a dry run.
    """

    decision_id: str
    reinstated: list[str]
    taken_back: list[str]
    confirmed: list[str]
    refused: list[NotDone]
    memories: list[MemoryPicture]
    events: NotRequired[list[str]]


class JoinTold(TypedDict):
    """A join that a selection matches, with what a person needs to check it."""

    decision_id: str
    owner_id: str
    source: str
    decision: str
    decided_at: str
    similarity: float | None
    older: str
    newer: str
    older_text: str
    newer_text: str


class CandidateTold(TypedDict):
    """A candidate that a selection matches, with what a person needs to check it."""

    candidate_id: str
    owner_id: str
    source: str
    decision: str
    decided_at: str
    text: str


class InBulk(Undoable):
    """What could not be done of a request about many, and of how many owners it was.

    A dry run has how many questions would be open again (`asks`).
    """

    refused: list[NotDone]
    owners: int
    asks: NotRequired[int]


class Reversals(InBulk):
    """The joins that were taken out, and their `cause`; a dry run describes each (`joins`)."""

    reversed: list[str]
    cause: NotRequired[str]
    joins: NotRequired[list[JoinTold]]


class Reinstatements(InBulk):
    """The joins that are back, and the ids of what was recorded (`events`).

    A dry run records nothing, and describes each join (`joins`).
    """

    reinstated: list[str]
    events: NotRequired[list[str]]
    joins: NotRequired[list[JoinTold]]


class Retractions(InBulk):
    """The candidates that were retracted, and their `cause`; a dry run describes each."""

    retracted: list[str]
    cause: NotRequired[str]
    candidates: NotRequired[list[CandidateTold]]


class Restorations(InBulk):
    """The candidates that are back; of what was forgotten at once, also their `memories`.

    A dry run of a selection describes each (`candidates`).
    """

    restored: list[str]
    candidates: NotRequired[list[CandidateTold]]
    memories: NotRequired[list[MemoryPicture]]


class TakenBack(TypedDict, total=False):
    """The answer of an undo or a redo by an id: that of the request that the id stands for.

    The keys are those of `Undone`, `Unmerged`, `PutBack`, `Apart`, `Restorations`, `Retractions` or
    `Reinstatements`.
    """

    decision_id: str
    candidate_id: str | None
    version: str
    former: list[str]
    memories: list[MemoryPicture]
    events: list[str]
    undo: str
    reversed: list[str]
    refused: list[NotDone]
    cause: str
    consequences: list[ConsequenceTold]
    overtaken: list[str]
    carried_out: list[str]
    reinstated: list[str]
    taken_back: list[str]
    confirmed: list[str]
    restored: list[str]
    retracted: list[str]
    owners: int
    asks: int
    joins: list[JoinTold]
    candidates: list[CandidateTold]


class Why(TypedDict):
    """Why a run was skipped; `reason` is a word."""

    reason: str
    detail: str


class Pairing(TypedDict):
    """A join of a batch run as it is shown to a person; `older` and `newer` are candidates.

    `composed` is the resulting face, if the judge composed one; `face`, if a rule said who stays.
    """

    owner_id: str
    decision: str
    similarity: float | None
    older: str
    newer: str
    older_text: str
    newer_text: str
    reasoning: str | None
    composed: NotRequired[str]
    face: NotRequired[str]


class RunJoin(Pairing):
    """A join that a run made, or would make."""

    decision_id: str


class TextSide(TypedDict):
    """A text that a composed one is to be made of; `moment` is when it happened.

    A `local` text is not sent to a remote service.
    """

    candidate_id: str
    text: str
    moment: str
    local: bool


class TextToCompose(TypedDict):
    """A text that the judge has to compose before a run can go on, of `sides`, oldest first."""

    sides: list[TextSide]
    sources: list[str]


class RunReport(TypedDict):
    """What a batch run did to one owner's memories, or why it was `skipped`.

    `ran` is the event that records it, `done_before` that another request had asked for it. A dry
    run has the texts `to_compose`, and how many `events` the owner has.
    """

    owner_id: str
    step: str
    skipped: NotRequired[Why]
    ran: NotRequired[str]
    figures: NotRequired[Figures]
    warnings: NotRequired[list[str]]
    joined: NotRequired[list[RunJoin]]
    done_before: NotRequired[bool]
    to_compose: NotRequired[list[TextToCompose]]
    events: NotRequired[int]


class LateVectors(TypedDict):
    """How many texts were embedded late, and how many are left."""

    embedded: int
    left: int


class AddedVectors(TypedDict):
    """How many vectors were recorded, and the last of the recorded events, if any."""

    added: int
    events: list[str]


class Audited(TypedDict):
    """The audit that a request opened, labelled a pair of or certified, and the recorded event."""

    audit: str
    events: list[str]


class PolicyInForce(TypedDict):
    """The policy that was put in force: its name, its hash, and its rule of exact repeats."""

    policy: str
    hash: str
    exact: str | None


@dataclass(frozen=True, slots=True)
class Done(Generic[A_co]):
    """What a request did, as plain values."""

    result: A_co

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"done": self.result}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that could not be carried out; `reason` is a stable word, `detail` a sentence."""

    reason: str
    detail: str

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"refused": {"reason": self.reason, "detail": self.detail}}


@dataclass(frozen=True, slots=True)
class Misused:
    """A request that makes no sense as it was written."""

    detail: str

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"usage": self.detail}


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that hit a bug; `error` is the type of the exception."""

    error: str

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"failed": self.error}


@dataclass(frozen=True, slots=True)
class SoFar:
    """The progress of a long request: how many commands were run. Its answer comes later."""

    commands: int

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"so_far": self.commands}


Answer = Done[A_co] | Refused | Misused | Failed


def from_json(answer: Mapping[str, Any]) -> Answer:
    """Parse an answer; StoreError if it is malformed."""
    match answer:
        case {"failed": str(error)}:
            return Failed(error)
        case {"refused": {"reason": str(reason), "detail": str(detail)}}:
            return Refused(reason, detail)
        case {"usage": str(detail)}:
            return Misused(detail)
        case {"done": dict(result)}:
            return Done(result)
        case _:
            raise StoreError("the writer's answer cannot be read")


def result_or_refusal(answer: Answer[A_co]) -> A_co | RefusedError:
    """What a request did, or why it was refused; anything else is raised.

    UsageError for a wrong request, RuntimeError for one that hit a bug.
    """
    match answer:
        case Done():
            return answer.result
        case Refused():
            return RefusedError(answer.reason, answer.detail)
        case Misused():
            raise UsageError(answer.detail)
        case Failed():
            raise RuntimeError(f"the writing process failed on this request: {answer.error}")


def result(answer: Answer[A_co]) -> A_co:
    """As `result_or_refusal`; a refusal is raised, too."""
    done = result_or_refusal(answer)
    if isinstance(done, RefusedError):
        raise done
    return done


OTHER_MODEL = "other_model"
"""Why a switch to another embedding model is refused: a text has no vector of it."""


def merged(answers: Sequence[Answer]) -> Answer:
    """What the partitions of a cluster did, together; a refusal only if none did anything.

    If one of them hit a bug or did not understand it, that is the answer, and if one lacks vectors
    of the model that all were to switch to: it says if others have switched. Of several refusals it
    is the first that is not about an unknown id.
    """
    done = [answer.result for answer in answers if isinstance(answer, Done)]
    for answer in answers:
        if isinstance(answer, Failed | Misused):
            return answer
        if isinstance(answer, Refused) and answer.reason == OTHER_MODEL:
            return replace(answer, detail=f"{answer.detail}{_switched(len(done), len(answers))}")
    if done:
        return Done(_together(done))
    return next((answer for answer in answers if not _is_unknown(answer)), answers[0])


def _switched(done: int, partitions: int) -> str:
    if not done:
        return ""
    return (
        f". {done:,} of {partitions:,} partitions have switched, and the others compare by the"
        " former model until they do: the same switch again goes on with them"
    )


def _is_unknown(answer: Answer) -> bool:
    return isinstance(answer, Refused) and (
        answer.reason.startswith("unknown_") or answer.reason == "wrong_partition"
    )


def _together(done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Lists one after the other, numbers added, also within `left_out`; all else is the same."""
    total = dict(done[0])
    for answer in done[1:]:
        for name, value in answer.items():
            if isinstance(value, dict):
                total[name] = _together([total.get(name, {}), value])
            elif isinstance(value, list | int) and not isinstance(value, bool):
                total[name] = total.get(name, type(value)()) + value
            else:
                total.setdefault(name, value)
    return total
