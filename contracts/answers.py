"""Answers to requests, in the wire format of the inbox and of `memory.answers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, NotRequired, TypedDict

from typing_extensions import TypeVar

from palimpsest.contracts.errors import RefusedError, StoreError, UsageError
from palimpsest.contracts.event_data import Again, Figures

JsonObject = dict[str, Any]

A_co = TypeVar("A_co", covariant=True, default=Any)
"""The type of the answer to a request (`palimpsest.contracts.requests`)."""


class MemberPicture(TypedDict):
    """A member of a memory."""

    candidate_id: str
    text: str
    living: bool


class MemoryPicture(TypedDict):
    """A memory with its face, its version and its members in order of arrival.

    `expires_at` is absent if it never expires.
    """

    memory_id: str
    owner_id: str
    namespace: str
    face: str
    version: str
    needs_composition: bool
    living: bool
    expires_at: NotRequired[str]
    members: list[MemberPicture]


class Compared(TypedDict):
    """A candidate that was compared, with its memory, its scores and the guard's findings.

    `text` is the candidate's own; `face` and `version` are its memory's current ones. `covered` is
    set if either text is longer than the model's input: every window of either text is scored by
    its cosine with the nearest window of the other, and `covered` is the lowest of these scores.
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
    """A memory that a newcomer resembles: its id, its face and the higher of the two scores."""

    id: str
    assertion: str
    similarity: float


class FrameFact(TypedDict):
    """An earlier memory that a newcomer may replace: its id and its face.

    The two texts differ in one value only, or the newcomer reports a change.
    """

    id: str
    assertion: str


class Checked(TypedDict):
    """What would be decided on a candidate if it were submitted now.

    `decision` is the decision that would be recorded; for a `known` candidate, the recorded one.
    `check` is the check that decided. `neighbour` is the candidate that it would join, with the
    `similarity` of the two; for a `pending` candidate, the first neighbour that the judge would be
    asked about (`asked` lists all). `neighbours` are all that were compared, nearest first;
    `similar_facts` are as in `submit`. `reason` and `detail` say why a row is `invalid`, or why the
    candidate would not be recalled: its text was `forgotten`, or it has `expired`.
    `duration_ms` is the time from the row to the decision.
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
    """The face that an update displaced: its candidate, and the text, which may be composed."""

    candidate_id: str
    text: str


class Undoable(TypedDict):
    """An answer with the id to pass to `undo` in order to take the request back (docs/undo.md).

    `undo` is missing in a dry run, if nothing was done, or if no single request can undo it.
    """

    undo: NotRequired[str]


class Updated(Undoable):
    """The outcome of an update. `changed` is false if the memory already had this text.

    `candidate_id` is the candidate with the new text; `decision_id` is what `undo` names. `merged`
    is the memory that already had the text, if it was joined to this one. `was` and `version` are
    the memory's versions before and after; `memories` shows the memory, and `events` are the ids of
    the recorded events.
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
    """The outcome of undoing an update: the memory's new `version`, and the resulting `memories`.

    `candidate_id` is the candidate that the update had added, now retracted. Candidates that had
    joined it become a memory of their own, listed in `former` if a later update has displaced its
    text.
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
    """What was forgotten; pass the id `forgotten` to `restore` to bring exactly this back.

    `candidates` are all wordings; `again` says what happens if their texts arrive again. `token`
    identifies the memories' state before the forgetting, and `waits` lists the candidates that were
    waiting for a verdict about them.
    """

    forgotten: str
    candidates: list[str]
    again: str
    token: str
    waits: list[Waits]
    memories: list[MemoryPicture]
    events: list[str]


class NotDone(TypedDict):
    """A refused part of a request, by the id of a decision or candidate.

    `reason` is a stable word, `detail` a sentence.
    """

    decision_id: str
    reason: str
    detail: str


class Merged(Undoable):
    """The outcome of stating that two candidates are the same: the join and their memory."""

    decision_id: str
    memories: list[MemoryPicture]


class Concluded(TypedDict):
    """The outcome of a join by a batch run, or of verdicts: the event, if any, and the memory."""

    decision_id: str | None
    memories: list[MemoryPicture]


class Recomposed(TypedDict):
    """The memory that got a recomposed text."""

    memories: list[MemoryPicture]


class NewExpiry(Undoable):
    """A candidate's new expiry; None means never."""

    event_id: str
    candidate_id: str
    expires_at: str | None
    memories: list[MemoryPicture]


class Names(TypedDict):
    """The names that an owner is called by."""

    owner_id: str
    names: list[str]


class Accessed(TypedDict):
    """The candidate whose memory was used."""

    candidate_id: str


class Apart(TypedDict):
    """The memories of a pair after it was separated, or a statement about it was withdrawn."""

    memories: list[MemoryPicture]
    undo: NotRequired[str]


class Named(TypedDict):
    """The owner of a submission whose rows may now be published."""

    owner_id: str


class Session(TypedDict):
    """A session that ended or was compacted, with the figures of its consolidation, if any."""

    session_id: str
    merged_groups: NotRequired[int]
    superseded_count: NotRequired[int]
    compression_ratio: NotRequired[float]
    avg_similarity: NotRequired[float]


class Agreed(TypedDict):
    """The confirmed decision and its memory."""

    decision_id: str
    memories: list[MemoryPicture]


class Decision(TypedDict):
    """An actual or hypothetical decision on a candidate, and the candidate that it joins."""

    decision: str
    joined_to: str | None


class ConsequenceTold(TypedDict):
    """A later decision that would turn out differently: what it `was`, and what it `would_be`.

    `decision_id` is set if the decision was a join; `asks` are the neighbours that the judge would
    be asked about.
    """

    candidate_id: str
    text: str
    decision_id: str | None
    was: Decision
    would_be: Decision
    asks: list[str]


class Unmerged(Undoable):
    """The reversed joins, the refusals, and the resulting memories.

    A dry run also lists the later decisions that rested on these joins (`consequences`), and those
    that a later statement has overridden (`overtaken`). So does a request that carries out the
    consequences; `carried_out` are the ids of the events that did so. `cause` names everything that
    was reversed; a dry run has none.
    """

    reversed: list[str]
    refused: list[NotDone]
    memories: list[MemoryPicture]
    cause: NotRequired[str]
    consequences: NotRequired[list[ConsequenceTold]]
    overtaken: NotRequired[list[str]]
    carried_out: NotRequired[list[str]]


class PutBack(Undoable):
    """The outcome of taking a reversal back: the joins `reinstated`, and those `taken_back`.

    The latter had been made because of the reversal; `confirmed` names those among them that a
    review had confirmed. `events` are the ids of the recorded events; a dry run has none.
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
    """The refusals of a bulk request, and the number of owners that it affected.

    A dry run adds the number of questions that would be open again (`asks`).
    """

    refused: list[NotDone]
    owners: int
    asks: NotRequired[int]


class Reversals(InBulk):
    """The reversed joins, and their `cause`; a dry run describes each of them (`joins`)."""

    reversed: list[str]
    cause: NotRequired[str]
    joins: NotRequired[list[JoinTold]]


class Reinstatements(InBulk):
    """The reinstated joins, and the ids of the recorded events (`events`).

    A dry run records nothing, and describes each join (`joins`).
    """

    reinstated: list[str]
    events: NotRequired[list[str]]
    joins: NotRequired[list[JoinTold]]


class Retractions(InBulk):
    """The retracted candidates, and their `cause`; a dry run describes each of them.

    `again` is set if the text is forgotten again, and says what happens if it arrives once more; it
    does not return to the review queue, even if it had waited there.
    """

    retracted: list[str]
    again: NotRequired[Again]
    cause: NotRequired[str]
    candidates: NotRequired[list[CandidateTold]]


class Restorations(InBulk):
    """The restored candidates and, if a forgetting was restored, also their `memories`.

    A dry run with a selection describes each candidate (`candidates`).
    """

    restored: list[str]
    candidates: NotRequired[list[CandidateTold]]
    memories: NotRequired[list[MemoryPicture]]


class TakenBack(TypedDict, total=False):
    """The answer to an undo or a redo by id: that of the request that the id stands for.

    The keys are those of `Undone`, `Unmerged`, `PutBack`, `Apart`, `NewExpiry`, `Restorations`,
    `Retractions` or `Reinstatements`. The server adds a `token` to a dry run, for the call that
    acts.
    """

    token: str
    decision_id: str
    event_id: str
    candidate_id: str | None
    expires_at: str | None
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
    again: Again
    owners: int
    asks: int
    joins: list[JoinTold]
    candidates: list[CandidateTold]


class Why(TypedDict):
    """Why a run was skipped; `reason` is a stable word, `detail` a sentence."""

    reason: str
    detail: str


class Pairing(TypedDict):
    """A join of a batch run as it is shown to a person; `older` and `newer` are candidates.

    `composed` is the resulting face if the judge composed one; `face` is set if a rule chose it.
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
    """A source of a text that is to be composed; `moment` is when it happened.

    A `local` text is not sent to a remote service.
    """

    candidate_id: str
    text: str
    moment: str
    local: bool


class TextToCompose(TypedDict):
    """A text that the judge has to compose of `sides`, oldest first, before a run can go on."""

    sides: list[TextSide]
    sources: list[str]


class RunReport(TypedDict):
    """The outcome of a batch run on one owner's memories, or why it was `skipped`.

    `ran` is the event that records the run. `done_before` is true if the run was
    recorded already. A dry run lists the texts `to_compose`, and counts the owner's `events`.
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
    """How many texts were embedded late, and how many remain."""

    embedded: int
    left: int


class AddedVectors(TypedDict):
    """The number of recorded vectors, and the last of the recorded events, if any."""

    added: int
    events: list[str]


class Audited(TypedDict):
    """The audit that a request opened, labelled or certified, and the recorded event."""

    audit: str
    events: list[str]


class PolicyInForce(TypedDict):
    """The policy that was put in force: its name, its hash, and its rule for exact repeats."""

    policy: str
    hash: str
    exact: str | None


@dataclass(frozen=True, slots=True)
class Done(Generic[A_co]):
    """What a request did, as plain values."""

    result: A_co

    def to_json(self) -> JsonObject:
        """The wire format."""
        return {"done": self.result}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that could not be carried out; `reason` is a stable word, `detail` a sentence."""

    reason: str
    detail: str

    def to_json(self) -> JsonObject:
        """The wire format."""
        return {"refused": {"reason": self.reason, "detail": self.detail}}


@dataclass(frozen=True, slots=True)
class Misused:
    """A request that makes no sense as written."""

    detail: str

    def to_json(self) -> JsonObject:
        """The wire format."""
        return {"usage": self.detail}


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that hit a bug; `error` is the type of the exception."""

    error: str

    def to_json(self) -> JsonObject:
        """The wire format."""
        return {"failed": self.error}


@dataclass(frozen=True, slots=True)
class SoFar:
    """The progress of a long request: the number of commands run. Its answer comes later."""

    commands: int

    def to_json(self) -> JsonObject:
        """The wire format."""
        return {"so_far": self.commands}


Answer = Done[A_co] | Refused | Misused | Failed


def from_json(answer: Mapping[str, Any]) -> Answer:
    """Parse an answer. Raises StoreError if it is malformed."""
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
    """What a request did, or why it was refused.

    Raises UsageError for a request that makes no sense, RuntimeError for one that hit a bug.
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
    """Like `result_or_refusal`, but a refusal is raised, too."""
    done = result_or_refusal(answer)
    if isinstance(done, RefusedError):
        raise done
    return done


OTHER_MODEL = "other_model"
"""The reason for refusing a switch to another embedding model: a text lacks its vector."""

EMBEDDER_DOWN = "embedder_down"
"""The reason for refusing a request that needs a vector while the model is down: sent again once
the model is back, it is carried out."""

MODEL_UNUSABLE = "model_unusable"
"""The reason for refusing a request that needs a vector of a model that cannot be used: until
somebody mends that, a repeat fails, too."""

WITHOUT_MODEL = frozenset({EMBEDDER_DOWN, MODEL_UNUSABLE})
"""The reasons of refusals that are not recorded, because the request itself is right."""


def merged(answers: Sequence[Answer]) -> Answer:
    """Combine the answers of a cluster's partitions.

    If a partition hit a bug, did not understand the request or has no model (`WITHOUT_MODEL`), that
    is the answer. So is a refused switch of models (`OTHER_MODEL`), with a note if other partitions
    have switched. Other refusals count only if all partitions refused: then the answer is the first
    that is not about an unknown id or a wrong partition, else the first.
    """
    done = [answer.result for answer in answers if isinstance(answer, Done)]
    for answer in answers:
        if isinstance(answer, Failed | Misused):
            return answer
        if isinstance(answer, Refused) and answer.reason in WITHOUT_MODEL:
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
        " former model until they do: repeat the switch to continue with them"
    )


def _is_unknown(answer: Answer) -> bool:
    return isinstance(answer, Refused) and (
        answer.reason.startswith("unknown_") or answer.reason == "wrong_partition"
    )


def _together(done: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Concatenate lists and add numbers, also within `left_out`; all other values are equal."""
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
