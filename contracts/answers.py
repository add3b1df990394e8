"""What becomes of a request, as the inbox and `memory.answers` carry it: wire format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from palimpsest.contracts.errors import RefusedError, StoreError, UsageError

JsonObject = dict[str, Any]


class Compared(TypedDict):
    """A candidate that was looked at, with its memory, its scores and the guard's findings.

    `text` is its own, `face` what speaks for its memory now.
    """

    candidate_id: str
    memory_id: str
    text: str
    face: str
    cosine: float | None
    jaccard: float | None
    near_identical: bool | None
    cues: list[str]


class SimilarFact(TypedDict):
    """A memory that a newcomer resembles, by its id and its face, and the higher of the scores."""

    id: str
    assertion: str
    similarity: float


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


class Updated(TypedDict):
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
    memories: list[JsonObject]
    events: list[str]


class Undone(TypedDict):
    """What taking an update back did: the `version` of the memory then, and `memories`.

    `candidate_id` is whose text left, where the update had brought it. What had joined that text is
    a memory of its own; it is among `former` where a later update has displaced what it says.
    """

    decision_id: str
    candidate_id: str | None
    version: str
    former: list[str]
    memories: list[JsonObject]
    events: list[str]


class Forgotten(TypedDict):
    """What was forgotten; `forgotten` is the name by which `restore` brings exactly this back.

    `candidates` are all wordings, `again` what becomes of their texts when they come again. `token`
    stood for the memories before, and `waits` are candidates that waited for the judge's word about
    them [`candidate_id`, `memory_id`, `text`].
    """

    forgotten: str
    candidates: list[str]
    again: str
    token: str
    waits: list[JsonObject]
    memories: list[JsonObject]
    events: list[str]


@dataclass(frozen=True, slots=True)
class Done:
    """What a request did, as plain values."""

    result: JsonObject

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
    """A request that met a bug; `error` is the type of what was raised."""

    error: str

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"failed": self.error}


@dataclass(frozen=True, slots=True)
class SoFar:
    """That a long request goes on: so many commands of it were run. Its answer comes later."""

    commands: int

    def to_json(self) -> JsonObject:
        """As it travels."""
        return {"so_far": self.commands}


Answer = Done | Refused | Misused | Failed


def from_json(answer: Mapping[str, Any]) -> Answer:
    """An answer as it came; StoreError for what is none."""
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


def result_or_refusal(answer: Answer) -> JsonObject | RefusedError:
    """What a request did, or why it was refused; anything else is raised.

    UsageError for a request that makes no sense, RuntimeError for one that met a bug.
    """
    match answer:
        case Done():
            return answer.result
        case Refused():
            return RefusedError(answer.reason, answer.detail)
        case Misused():
            raise UsageError(answer.detail)
        case Failed():
            raise RuntimeError(f"whoever was writing met a bug in this: {answer.error}")


def result(answer: Answer) -> JsonObject:
    """As `result_or_refusal`; a refusal is raised, too."""
    done = result_or_refusal(answer)
    if isinstance(done, RefusedError):
        raise done
    return done
