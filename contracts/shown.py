"""The types of what reads return; times are ISO 8601 in UTC (docs/python.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

Relation = Literal["same", "former"]
"""Whether a wording says the same as the face, or was displaced by it."""

State = Literal["living", "pending", "retracted", "expired"]
"""`pending`: every living member waits for the judge; `retracted`: no member is living;
`expired`: all living members have expired."""


class Wording(TypedDict):
    """A text of a memory, the earliest living candidate that has it, and that one's origin.

    `decision` brought the candidate into the memory: its join, else its own first decision.
    """

    candidate_id: str
    text: str
    relation: Relation
    source: str
    session_id: str | None
    occurred_at: str | None
    decision: str
    decision_id: str


class Shown(TypedDict):
    """A memory with its face and its distinct wordings.

    `intensity` is the highest of its living members, `metadata` that of the one that happened last.
    `version` identifies its current state: a write whose `expect` differs is refused.
    `confidence` and `importance`, decayed, are present if the policy decays one of them or leaves
    out memories of low confidence. `expires_at` is present if the memory expires or has expired.
    """

    memory_id: str
    urn: str
    face: str
    namespace: str
    members: list[Wording]
    intensity: float | None
    metadata: dict[str, Any]
    created_at: str
    updated_at: str
    occurred_at: str | None
    version: str
    confidence: NotRequired[float | None]
    importance: NotRequired[float | None]
    expires_at: NotRequired[str]


class Recalled(Shown):
    """A memory that was recalled, with the cosine of its nearest wording.

    `folded` are indistinguishable memories, whose wordings are among its `members`. `frame`, if
    present, are other hits that may replace this one or be replaced by it, newest first: the texts
    differ in one value only, or the newer reports a change. `unsettled` are these, and the memories
    that the judge has yet to compare with it.
    """

    score: float
    folded: list[str]
    unsettled: list[str]
    frame: NotRequired[list[str]]


class Hits(list[Recalled]):
    """The memories that a recall found, best first.

    `weaker` counts those left out because they scored below `min_score`.
    """

    weaker: int = 0
    min_score: float | None = None


class Page(TypedDict):
    """A page of an owner's memories, for pagination by `next`; None on the last page.

    `total` is the current number of memories on all pages.
    """

    memories: list[Shown]
    next: str | None
    total: int


class Found(Shown):
    """The memory that an id belongs to today; `moved` if that memory has another id."""

    id: str
    moved: bool
    state: State
    owner_id: str
    needs_composition: bool


class Happened(TypedDict):
    """An event, and what it `did` in words.

    `candidate_id` is the candidate it is about, and `other_id` the second one if it is about a
    pair. `answers` is the event that it answers. In a history, `face` is the memory's face after
    the event, `text` that of an admitted candidate, and `undo` the id with which the caller can
    undo it. Agents of a server do not see `position`, because it counts the events of all owners.
    """

    position: NotRequired[int]
    event: str
    event_id: str
    decided_at: str
    did: str
    candidate_id: NotRequired[str]
    other_id: NotRequired[str]
    decision_id: NotRequired[str]
    answers: NotRequired[str]
    decision: NotRequired[str]
    rank: NotRequired[str]
    actor: NotRequired[str]
    because: NotRequired[str]
    cause: NotRequired[str]
    consequence_of: NotRequired[str]
    command: NotRequired[str]
    reason: NotRequired[str]
    detail: NotRequired[str]
    reasoning: NotRequired[str]
    text: NotRequired[str]
    face: NotRequired[str]
    undo: NotRequired[str]


class History(TypedDict):
    """Every event of a memory, in order: of its members, and of former members until they left."""

    id: str
    memory_id: str
    urn: str
    moved: bool
    state: State
    owner_id: str
    namespace: str
    face: str
    version: str
    events: list[Happened]


class Change(Happened):
    """An event of the feed `changes`; `owner_id` is empty if it concerns the whole store."""

    owner_id: str


class ChangedMemory(Shown):
    """A memory that some events have changed, as `list` shows it."""

    owner_id: str


class GoneMemory(TypedDict):
    """A memory that `list` no longer shows: forgotten, joined to another one, or displaced."""

    owner_id: str
    memory_id: str


class Changes(TypedDict):
    """A page of the feed `changes`: its events, oldest first, and what they did to memories.

    `memories` and `gone` are as of the end of the page. Replace or add each of `memories` by its
    id, and remove those in `gone`: the result is what `list` shows at that point, except for
    memories that have expired since and for fields that are computed on reading (`confidence` and
    `importance`). `next` is the `after` of the next page: a position, or for agents an event's id.
    """

    changes: list[Change]
    memories: list[ChangedMemory]
    gone: list[GoneMemory]
    next: int | str


class Support(TypedDict):
    """Another standing join of a member, besides the one that brought it in."""

    joined_to: str
    decision: str
    decision_id: str


class ShownMember(TypedDict):
    """A member of a memory, with the join that brought it in and that join's evidence."""

    candidate_id: str
    text: str
    joined_to: str | None
    decision: str
    decision_id: str
    similarity: float | None
    reversed: bool
    decided_at: str
    source: str
    session_id: str | None
    living: bool
    pending: bool
    check: str | None
    cues: list[str]
    covered: float | None
    reasoning: str | None
    supports: list[Support]
    expires_at: str | None


class ShownMemory(TypedDict):
    """A memory with every member, and the events about them."""

    memory_id: str
    urn: str
    owner_id: str
    namespace: str
    face: str
    version: str
    living: bool
    needs_composition: bool
    metadata: dict[str, Any]
    intensity: float | None
    confidence: float | None
    importance: float | None
    accesses: int
    last_accessed: str | None
    expires_at: str | None
    members: list[ShownMember]
    timeline: list[Happened]


class ShownJoin(TypedDict):
    """A join of a candidate, standing or reversed."""

    decision_id: str
    decision: str
    joined_to: str
    similarity: float | None
    standing: bool


class ShownCandidate(TypedDict):
    """A candidate with its fields, its decision, its joins and its memory.

    `evidence` is a JSON object (docs/commands.md), or None if the decision has none.
    """

    owner_id: str
    source: str
    id: str
    namespace: str
    session_id: str | None
    occurred_at: str | None
    category: str | None
    kind: str
    confidence: float | None
    importance: float | None
    intensity: float | None
    topics: list[str]
    metadata: dict[str, Any]
    candidate_id: str
    urn: str
    hash_tag: str
    text: str
    memory_id: str
    face: str
    version: str
    decision: str
    decision_id: str
    decided_at: str
    living: bool
    pending: bool
    evidence: Any
    joins: list[ShownJoin]
    timeline: list[Happened]


class DecisionRow(TypedDict):
    """A row of the view `decisions`; `decided_at` has a time zone."""

    decision_id: str
    candidate_id: str | None
    joined_to: str | None
    memory_id: str | None
    owner_id: str | None
    namespace: str | None
    decision: str
    similarity: float | None
    standing: bool | None
    decided_at: datetime
    position: int
    review_status: str
    policy: str | None
    check: str | None
    cues: list[str] | None
    face_rule: str | None
    rank: str | None
    nearest_id: str | None
    nearest_similarity: float | None
    asked: list[str] | None
    neighbours: list[dict[str, Any]] | None
    llm_answer: str | None
    llm_reasoning: str | None
    actor: str | None
    because: str | None
    source: str | None
    session_id: str | None
    reason: str | None
    detail: str | None
    digest: str | None
    event: str
    cause: str | None
    consequence_of: str | None
    differs: list[str] | None
    folded: bool | None
