"""The operations of a server, from its OpenAPI document, by `infra/client.py`.

Arguments that are None are not sent, so the server's defaults hold.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from .exchange import Answer, ClientRequest


class Added(TypedDict):
    """The outcome of an offered memory. `known`: it was offered before, with the same id.

    `windows`: the number of parts in which a text longer than the model's input is embedded.
    `frame`: earlier memories, newest first, that differ from the new one in one value only, or
    whose change it reports. If it replaces one of them, use `update`.
    """

    result: Literal["decided", "known", "invalid", "published"]
    candidate_id: str | None
    decision: str | None
    decision_id: str | None
    joined_to: str | None
    memory_id: str | None
    reason: str | None
    detail: str | None
    similar_facts: list[dict[str, Any]] | None
    windows: int | None
    frame: list[dict[str, Any]] | None


class AddedMany(TypedDict):
    """The outcome of each memory, in order."""

    memories: list[Added]


class AddedMessages(TypedDict):
    """The outcome of each memory of a conversation, in order."""

    memories: list[FromMessage]


class Agreed(TypedDict):
    """The confirmed decision and its memory."""

    decision_id: str
    memories: list[MemoryPicture]


class Apart(TypedDict):
    """The memories of a pair after it was separated, or a statement about it was withdrawn."""

    memories: list[MemoryPicture]
    undo: NotRequired[str]


class CandidateTold(TypedDict):
    """A candidate that a selection matches, with what a person needs to check it."""

    candidate_id: str
    owner_id: str
    source: str
    decision: str
    decided_at: str
    text: str


class Change(TypedDict):
    """An event of the feed `changes`; `owner_id` is empty if it concerns the whole store."""

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
    owner_id: str


class ChangedMemory(TypedDict):
    """A memory that some events have changed, as `list` shows it."""

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
    owner_id: str


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


class Decision(TypedDict):
    """An actual or hypothetical decision on a candidate, and the candidate that it joins."""

    decision: str
    joined_to: str | None


class Displaced(TypedDict):
    """The face that an update displaced: its candidate, and the text, which may be composed."""

    candidate_id: str
    text: str


class Explanation(TypedDict):
    """Why each candidate is in the memory that it is in."""

    memory_id: str
    owner_id: str
    namespace: str
    face: str
    candidates: list[Placed]


class FedDecision(TypedDict):
    """A decision from the log, without texts; an agent gets no `position`."""

    position: NotRequired[int]
    decision_id: str
    candidate_id: str | None
    joined_to: str | None
    memory_id: str | None
    namespace: str | None
    decision: str
    similarity: float | None
    standing: bool | None
    decided_at: str


class Feed(TypedDict):
    """Decisions in the order of the log; `next` is the `after` of the next request."""

    decisions: list[FedDecision]
    next: int | str


class Forgotten(TypedDict):
    """What was forgotten; pass the id `forgotten` to `restore` to bring exactly this back.

    `candidates` are all wordings; `again` says what happens if their texts arrive again. `token`
    identifies the memories' state before the forgetting, and `waits` lists the candidates that were
    waiting for a verdict about them.
    """

    undo: NotRequired[str]
    forgotten: str
    candidates: list[str]
    again: str
    token: str
    waits: list[Waits]
    memories: list[MemoryPicture]
    events: list[str]


class ForgottenAll(TypedDict):
    """The candidates that were or would be forgotten; `token` is for the second call.

    `forgotten` is the name by which exactly these can be restored.
    """

    done: bool
    token: str | None
    forgotten: str | None
    candidates: list[str]


class Found(TypedDict):
    """The memory that an id belongs to today; `moved` if that memory has another id."""

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
    id: str
    moved: bool
    state: Literal["living", "pending", "retracted", "expired"]
    owner_id: str
    needs_composition: bool


class FoundMemories(TypedDict):
    """The memories nearest to a question, best first.

    `weaker` counts those that were left out because they scored less than `min_score`.
    """

    memories: list[Recalled]
    weaker: int
    min_score: float | None


class FromMessage(TypedDict):
    """The outcome of a memory from a conversation, with its text and the message it is from.

    `message` is the message's own id, or its number from 1. Until a cluster has decided, `text` and
    `message` are missing.
    """

    result: Literal["decided", "known", "invalid", "published"]
    candidate_id: str | None
    decision: str | None
    decision_id: str | None
    joined_to: str | None
    memory_id: str | None
    reason: str | None
    detail: str | None
    similar_facts: list[dict[str, Any]] | None
    windows: int | None
    frame: list[dict[str, Any]] | None
    text: NotRequired[str]
    message: NotRequired[str | int | None]


class GoneMemory(TypedDict):
    """A memory that `list` no longer shows: forgotten, joined to another one, or displaced."""

    owner_id: str
    memory_id: str


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
    state: Literal["living", "pending", "retracted", "expired"]
    owner_id: str
    namespace: str
    face: str
    version: str
    events: list[Happened]


class Hit(TypedDict):
    """A memory that matches the query, and why.

    `word`: its face mentions the query; `alias`: another of its wordings, given as `text`, does;
    `cosine`: it is near in meaning, with its `score`, but may be unrelated. `version` identifies
    its current state. `expires_at` is present if it will expire, or has expired.
    """

    memory_id: str
    urn: str
    namespace: str
    face: str
    why: Literal["word", "alias", "cosine"]
    text: str
    candidate_id: str | None
    members: list[str]
    version: str
    score: NotRequired[float]
    expires_at: NotRequired[str]


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


class Merged(TypedDict):
    """The outcome of stating that two candidates are the same: the join and their memory."""

    undo: NotRequired[str]
    decision_id: str
    memories: list[MemoryPicture]


class Names(TypedDict):
    """The names that an owner is called by."""

    owner_id: str
    names: list[str]


class NewExpiry(TypedDict):
    """A candidate's new expiry; None means never."""

    undo: NotRequired[str]
    event_id: str
    candidate_id: str
    expires_at: str | None
    memories: list[MemoryPicture]


class NewMemory(TypedDict):
    """A new memory. `id` is the producer's own: if it is offered again, nothing changes."""

    text: str
    namespace: NotRequired[str | None]
    id: NotRequired[str | None]
    session_id: NotRequired[str | None]
    occurred_at: NotRequired[datetime | str | None]
    category: NotRequired[str | None]
    kind: NotRequired[Literal["fact", "perception"] | None]
    confidence: NotRequired[float | None]
    importance: NotRequired[float | None]
    intensity: NotRequired[float | None]
    topics: NotRequired[list[str] | None]
    metadata: NotRequired[dict[str, Any] | None]
    ttl: NotRequired[float | str | None]
    expires_at: NotRequired[datetime | str | None]


class NotDone(TypedDict):
    """A refused part of a request, by the id of a decision or candidate.

    `reason` is a stable word, `detail` a sentence.
    """

    decision_id: str
    reason: str
    detail: str


class OwnJoinSelection(TypedDict):
    """Selects joins of the owner, also by their policy's hash or an upper limit of the score."""

    source: NotRequired[str | None]
    since: NotRequired[datetime | str | None]
    until: NotRequired[datetime | str | None]
    decision: NotRequired[
        Literal[
            "stored",
            "hash_exact",
            "recent_capture",
            "token_reject",
            "session_reject",
            "auto_reject",
            "superseded",
            "concatenated",
            "pending",
            "llm_keep",
            "llm_reject",
            "llm_merge",
            "fallback_keep",
            "fallback_reject",
            "fallback_supersede",
            "manual_join",
            "invalid",
        ]
        | None
    ]
    candidate_id: NotRequired[str | None]
    cause: NotRequired[str | None]
    policy: NotRequired[str | None]
    below: NotRequired[float | None]
    folded: NotRequired[Literal[True] | None]


class OwnSelection(TypedDict):
    """Selects candidates of the owner that match all given criteria."""

    source: NotRequired[str | None]
    since: NotRequired[datetime | str | None]
    until: NotRequired[datetime | str | None]
    decision: NotRequired[
        Literal[
            "stored",
            "hash_exact",
            "recent_capture",
            "token_reject",
            "session_reject",
            "auto_reject",
            "superseded",
            "concatenated",
            "pending",
            "llm_keep",
            "llm_reject",
            "llm_merge",
            "fallback_keep",
            "fallback_reject",
            "fallback_supersede",
            "manual_join",
            "invalid",
        ]
        | None
    ]
    candidate_id: NotRequired[str | None]
    cause: NotRequired[str | None]


class Page(TypedDict):
    """A page of an owner's memories, for pagination by `next`; None on the last page.

    `total` is the current number of memories on all pages.
    """

    memories: list[Shown]
    next: str | None
    total: int


class PairSide(TypedDict):
    """A candidate of a pair."""

    candidate_id: str
    memory_id: str
    owner_id: str
    text: str


class Placed(TypedDict):
    """How a candidate came to its memory: its decision, and the path to the candidate it joined.

    If it joined none, `compared_with` is the nearest neighbour that was considered, if any.
    """

    candidate_id: str
    text: str
    decision: str
    decision_id: str
    decided_at: str
    joined_to: str | None
    compared_with: str | None
    other_text: str | None
    steps: list[Step]


class Plan(TypedDict):
    """The hits: first the memories that mention the query, then those near in meaning.

    `position` is where the log ended when the plan was made; a server does not show it to agents.

    The `token` is valid for each of these memories until its members or face change.
    """

    owner_id: str
    query: str
    position: NotRequired[int]
    token: str
    hits: list[Hit]


class PutBack(TypedDict):
    """The outcome of taking a reversal back: the joins `reinstated`, and those `taken_back`.

    The latter had been made because of the reversal; `confirmed` names those among them that a
    review had confirmed. `events` are the ids of the recorded events; a dry run has none.
    """

    undo: NotRequired[str]
    decision_id: str
    reinstated: list[str]
    taken_back: list[str]
    confirmed: list[str]
    refused: list[NotDone]
    memories: list[MemoryPicture]
    events: NotRequired[list[str]]


class Reason(TypedDict):
    """Why two candidates are not in one memory: `reason` is a word, `detail` a sentence.

    `score` fell short of `at_least` by `short_by`. `rank` is the older text's place among the texts
    of the scope on arrival, of which the policy looks at the first `top`; if the judge was not
    asked, `top` is the number of texts that it is asked about. `words` are the parts of the older
    and the newer text whose difference is not an edit that the guard licenses.
    """

    reason: str
    detail: str
    check: NotRequired[str]
    score: NotRequired[float]
    at_least: NotRequired[float]
    short_by: NotRequired[float]
    rank: NotRequired[int]
    top: NotRequired[int]
    cues: NotRequired[list[str]]
    words: NotRequired[list[str]]
    event_id: NotRequired[str]
    at: NotRequired[str]
    by: NotRequired[str]
    actor: NotRequired[str | None]
    because: NotRequired[str | None]
    model: NotRequired[str | None]


class Recalled(TypedDict):
    """A memory that was recalled, with the cosine of its nearest wording.

    `folded` are indistinguishable memories, whose wordings are among its `members`. `frame`, if
    present, are other hits that may replace this one or be replaced by it, newest first: the texts
    differ in one value only, or the newer reports a change. `unsettled` are these, and the memories
    that the judge has yet to compare with it.
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
    score: float
    folded: list[str]
    unsettled: list[str]
    frame: NotRequired[list[str]]


class Reinstatements(TypedDict):
    """The reinstated joins, and the ids of the recorded events (`events`).

    A dry run records nothing, and describes each join (`joins`).
    """

    undo: NotRequired[str]
    refused: list[NotDone]
    owners: int
    asks: NotRequired[int]
    reinstated: list[str]
    events: NotRequired[list[str]]
    joins: NotRequired[list[JoinTold]]


class Restorations(TypedDict):
    """The restored candidates and, if a forgetting was restored, also their `memories`.

    A dry run with a selection describes each candidate (`candidates`).
    """

    undo: NotRequired[str]
    refused: list[NotDone]
    owners: int
    asks: NotRequired[int]
    restored: list[str]
    candidates: NotRequired[list[CandidateTold]]
    memories: NotRequired[list[MemoryPicture]]


class Retractions(TypedDict):
    """The retracted candidates, and their `cause`; a dry run describes each of them.

    `again` is set if the text is forgotten again, and says what happens if it arrives once more; it
    does not return to the review queue, even if it had waited there.
    """

    undo: NotRequired[str]
    refused: list[NotDone]
    owners: int
    asks: NotRequired[int]
    retracted: list[str]
    again: NotRequired[Literal["ask", "allow", "refuse"]]
    cause: NotRequired[str]
    candidates: NotRequired[list[CandidateTold]]


class Reversals(TypedDict):
    """The reversed joins, and their `cause`; a dry run describes each of them (`joins`)."""

    undo: NotRequired[str]
    refused: list[NotDone]
    owners: int
    asks: NotRequired[int]
    reversed: list[str]
    cause: NotRequired[str]
    joins: NotRequired[list[JoinTold]]


class SaidMessage(TypedDict):
    """The schema `SaidMessage` of the server."""

    role: NotRequired[str]
    content: NotRequired[Any]
    id: NotRequired[str | None]
    at: NotRequired[datetime | str | None]


class Session(TypedDict):
    """A session that ended or was compacted, with the figures of its consolidation, if any."""

    session_id: str
    merged_groups: NotRequired[int]
    superseded_count: NotRequired[int]
    compression_ratio: NotRequired[float]
    avg_similarity: NotRequired[float]


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


class SimilarFact(TypedDict):
    """A memory that a newcomer resembles: its id, its face and the higher of the two scores."""

    id: str
    assertion: str
    similarity: float


class Step(TypedDict):
    """A check of a decision's path: what it found, its thresholds, and what that means.

    `share` is the score from 0 to 1, if there is one, and `marks` are the thresholds as numbers.
    """

    name: str
    found: str
    thresholds: list[str]
    outcome: str
    share: float | None
    marks: list[float]


class Support(TypedDict):
    """Another standing join of a member, besides the one that brought it in."""

    joined_to: str
    decision: str
    decision_id: str


class TakenBack(TypedDict):
    """The answer to an undo or a redo by id: that of the request that the id stands for.

    The keys are those of `Undone`, `Unmerged`, `PutBack`, `Apart`, `NewExpiry`, `Restorations`,
    `Retractions` or `Reinstatements`. The server adds a `token` to a dry run, for the call that
    acts.
    """

    token: NotRequired[str]
    decision_id: NotRequired[str]
    event_id: NotRequired[str]
    candidate_id: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    version: NotRequired[str]
    former: NotRequired[list[str]]
    memories: NotRequired[list[MemoryPicture]]
    events: NotRequired[list[str]]
    undo: NotRequired[str]
    reversed: NotRequired[list[str]]
    refused: NotRequired[list[NotDone]]
    cause: NotRequired[str]
    consequences: NotRequired[list[ConsequenceTold]]
    overtaken: NotRequired[list[str]]
    carried_out: NotRequired[list[str]]
    reinstated: NotRequired[list[str]]
    taken_back: NotRequired[list[str]]
    confirmed: NotRequired[list[str]]
    restored: NotRequired[list[str]]
    retracted: NotRequired[list[str]]
    again: NotRequired[Literal["ask", "allow", "refuse"]]
    owners: NotRequired[int]
    asks: NotRequired[int]
    joins: NotRequired[list[JoinTold]]
    candidates: NotRequired[list[CandidateTold]]


class Triangle(TypedDict):
    """`joined` is in the memory of `one`, and near `other`, which a person separated from `one`."""

    owner_id: str
    one: str
    other: str
    joined: str
    similarity: float
    one_text: str
    other_text: str
    joined_text: str


class Unmerged(TypedDict):
    """The reversed joins, the refusals, and the resulting memories.

    A dry run also lists the later decisions that rested on these joins (`consequences`), and those
    that a later statement has overridden (`overtaken`). So does a request that carries out the
    consequences; `carried_out` are the ids of the events that did so. `cause` names everything that
    was reversed; a dry run has none.
    """

    undo: NotRequired[str]
    reversed: list[str]
    refused: list[NotDone]
    memories: list[MemoryPicture]
    cause: NotRequired[str]
    consequences: NotRequired[list[ConsequenceTold]]
    overtaken: NotRequired[list[str]]
    carried_out: NotRequired[list[str]]


class Updated(TypedDict):
    """The outcome of an update. `changed` is false if the memory already had this text.

    `candidate_id` is the candidate with the new text; `decision_id` is what `undo` names. `merged`
    is the memory that already had the text, if it was joined to this one. `was` and `version` are
    the memory's versions before and after; `memories` shows the memory, and `events` are the ids of
    the recorded events.
    """

    undo: NotRequired[str]
    changed: bool
    decision_id: str | None
    candidate_id: str
    displaced: Displaced | None
    merged: str | None
    was: str
    version: str
    memories: list[MemoryPicture]
    events: list[str]


class Waits(TypedDict):
    """A candidate that waits for the judge."""

    candidate_id: str
    memory_id: str
    text: str


class WhyNot(TypedDict):
    """Whether two candidates are in one memory, and if not, why: the decisive reason comes first.

    `steps` is the path of the decision on the newer one, as far as it concerns the older one.
    """

    older: PairSide
    newer: PairSide
    together: bool
    reasons: list[Reason]
    steps: list[Step]


class Wording(TypedDict):
    """A text of a memory, the earliest living candidate that has it, and that one's origin.

    `decision` brought the candidate into the memory: its join, else its own first decision.
    """

    candidate_id: str
    text: str
    relation: Literal["same", "former"]
    source: str
    session_id: str | None
    occurred_at: str | None
    decision: str
    decision_id: str


class Calls:
    """Each operation, as a call that blocks."""

    def _call(self, wanted: ClientRequest[Answer]) -> Answer:
        """Send it and return the answer; raises the server's problem."""
        raise NotImplementedError

    def add_memory(
        self,
        owner: str,
        *,
        text: str,
        namespace: str | None = None,
        id: str | None = None,
        session_id: str | None = None,
        occurred_at: datetime | str | None = None,
        category: str | None = None,
        kind: Literal["fact", "perception"] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        intensity: float | None = None,
        topics: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        ttl: float | str | None = None,
        expires_at: datetime | str | None = None,
        key: str | None = None,
    ) -> Added:
        """Add a memory; the answer has the decision.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories",
                ids={"owner": owner},
                body={
                    "text": text,
                    "namespace": namespace,
                    "id": id,
                    "session_id": session_id,
                    "occurred_at": occurred_at,
                    "category": category,
                    "kind": kind,
                    "confidence": confidence,
                    "importance": importance,
                    "intensity": intensity,
                    "topics": topics,
                    "metadata": metadata,
                    "ttl": ttl,
                    "expires_at": expires_at,
                },
                key=key,
                writes=True,
            )
        )

    def list_memories(
        self,
        owner: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        former: bool | None = None,
        namespace: str | None = None,
        category: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        show_expired: bool | None = None,
    ) -> Page:
        """A page of the owner's memories, the latest first.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories",
                ids={"owner": owner},
                query={
                    "limit": limit,
                    "after": after,
                    "former": former,
                    "namespace": namespace,
                    "category": category,
                    "since": since,
                    "until": until,
                    "show_expired": show_expired,
                },
            )
        )

    def add_memories(
        self, owner: str, *, memories: list[NewMemory], key: str | None = None
    ) -> AddedMany:
        """Add several memories, decided on in order.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/batch",
                ids={"owner": owner},
                body={"memories": memories},
                key=key,
                writes=True,
            )
        )

    def add_messages(
        self,
        owner: str,
        *,
        messages: list[SaidMessage],
        infer: bool | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        key: str | None = None,
    ) -> AddedMessages:
        """Add the memories of a conversation, or each of its messages as it is.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/messages",
                ids={"owner": owner},
                body={
                    "messages": messages,
                    "infer": infer,
                    "namespace": namespace,
                    "session_id": session_id,
                },
                key=key,
                writes=True,
            )
        )

    def search_memories(
        self,
        owner: str,
        *,
        query: str,
        k: int | None = None,
        namespace: str | None = None,
        category: str | None = None,
        metadata: dict[str, Any] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        show_expired: bool | None = None,
        session_id: str | None = None,
        exclude_session: bool | None = None,
        min_confidence: float | None = None,
        hybrid: bool | None = None,
        min_score: float | Literal["model"] | None = None,
        max_tokens: int | None = None,
        former: bool | None = None,
        fold: bool | None = None,
        as_of: int | datetime | str | None = None,
    ) -> FoundMemories:
        """The memories nearest to a question, best first.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/search",
                ids={"owner": owner},
                body={
                    "query": query,
                    "k": k,
                    "namespace": namespace,
                    "category": category,
                    "metadata": metadata,
                    "since": since,
                    "until": until,
                    "show_expired": show_expired,
                    "session_id": session_id,
                    "exclude_session": exclude_session,
                    "min_confidence": min_confidence,
                    "hybrid": hybrid,
                    "min_score": min_score,
                    "max_tokens": max_tokens,
                    "former": former,
                    "fold": fold,
                    "as_of": as_of,
                },
            )
        )

    def find_memories(
        self,
        owner: str,
        *,
        query: str,
        by: list[Literal["words", "meaning"]] | None = None,
        k: int | None = None,
        namespace: str | None = None,
        show_expired: bool | None = None,
    ) -> Plan:
        """Find memories by whole words, then suggest some by meaning. The plan has a token.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/find",
                ids={"owner": owner},
                body={
                    "query": query,
                    "by": by,
                    "k": k,
                    "namespace": namespace,
                    "show_expired": show_expired,
                },
            )
        )

    def check_memory(
        self,
        owner: str,
        *,
        text: str,
        namespace: str | None = None,
        id: str | None = None,
        session_id: str | None = None,
        occurred_at: datetime | str | None = None,
        category: str | None = None,
        kind: Literal["fact", "perception"] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        intensity: float | None = None,
        topics: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        ttl: float | str | None = None,
        expires_at: datetime | str | None = None,
    ) -> Checked:
        """Show the decision on a memory without adding it.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/check",
                ids={"owner": owner},
                body={
                    "text": text,
                    "namespace": namespace,
                    "id": id,
                    "session_id": session_id,
                    "occurred_at": occurred_at,
                    "category": category,
                    "kind": kind,
                    "confidence": confidence,
                    "importance": importance,
                    "intensity": intensity,
                    "topics": topics,
                    "metadata": metadata,
                    "ttl": ttl,
                    "expires_at": expires_at,
                },
            )
        )

    def list_some_memories(
        self,
        owner: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        former: bool | None = None,
        namespace: str | None = None,
        category: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        show_expired: bool | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Page:
        """A page of the memories whose metadata has the given values.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/list",
                ids={"owner": owner},
                body={
                    "limit": limit,
                    "after": after,
                    "former": former,
                    "namespace": namespace,
                    "category": category,
                    "since": since,
                    "until": until,
                    "show_expired": show_expired,
                    "metadata": metadata,
                },
            )
        )

    def get_memory(self, owner: str, memory: str) -> Found:
        """The current memory, by any id that it or its candidates ever had.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories/{memory}",
                ids={"owner": owner, "memory": memory},
            )
        )

    def update_memory(
        self,
        owner: str,
        memory: str,
        *,
        text: str,
        because: str | None = None,
        expect: str | None = None,
        merge: bool | None = None,
        session_id: str | None = None,
        occurred_at: datetime | str | None = None,
        metadata: dict[str, Any] | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Updated:
        """Change a memory's text; fails if `expect` is no longer its version.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "PATCH",
                "/v1/owners/{owner}/memories/{memory}",
                ids={"owner": owner, "memory": memory},
                body={
                    "because": because,
                    "text": text,
                    "expect": expect,
                    "merge": merge,
                    "session_id": session_id,
                    "occurred_at": occurred_at,
                    "metadata": metadata,
                    "dry_run": dry_run,
                },
                key=key,
                writes=True,
            )
        )

    def forget_memory(
        self,
        owner: str,
        memory: str,
        *,
        expect: str | None = None,
        dry_run: bool | None = None,
        because: str | None = None,
        key: str | None = None,
    ) -> Forgotten:
        """Forget a memory with all its wordings, reversibly; fails if `expect` is no longer its version.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "DELETE",
                "/v1/owners/{owner}/memories/{memory}",
                ids={"owner": owner, "memory": memory},
                query={"expect": expect, "dry_run": dry_run},
                body={"because": because},
                key=key,
                writes=True,
            )
        )

    def show_history(self, owner: str, memory: str) -> History:
        """Every event of a memory, in order.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories/{memory}/history",
                ids={"owner": owner, "memory": memory},
            )
        )

    def show_memory(
        self, owner: str, memory: str, *, as_of: int | datetime | str | None = None
    ) -> ShownMemory:
        """A memory with every member, its join and its evidence.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories/{memory}/joins",
                ids={"owner": owner, "memory": memory},
                query={"as_of": as_of},
            )
        )

    def explain(self, owner: str, some_id: str) -> Explanation:
        """Why a candidate, or each member of a memory, is where it is: the path of its decision.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET", "/v1/owners/{owner}/why/{some_id}", ids={"owner": owner, "some_id": some_id}
            )
        )

    def explain_pair(self, owner: str, some_id: str, other_id: str) -> WhyNot:
        """Why two candidates are not in one memory, the decisive reason first.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/why/{some_id}/{other_id}",
                ids={"owner": owner, "some_id": some_id, "other_id": other_id},
            )
        )

    def list_triangles(
        self, owner: str, *, at_least: float | None = None, limit: int | None = None
    ) -> list[Triangle]:
        """Pairs that a person separated, with a third that is joined to one and near the other.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/triangles",
                ids={"owner": owner},
                query={"at_least": at_least, "limit": limit},
            )
        )

    def forget_found_memories(
        self,
        owner: str,
        *,
        token: str,
        memory_ids: list[str],
        because: str | None = None,
        again: Literal["ask", "allow", "refuse"] | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Forgotten:
        """Forget exactly what a plan of `find` shows; fails with `moved_on` if that has changed.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/forget",
                ids={"owner": owner},
                body={
                    "token": token,
                    "because": because,
                    "memory_ids": memory_ids,
                    "again": again,
                    "dry_run": dry_run,
                },
                key=key,
                writes=True,
            )
        )

    def forget_all_memories(
        self,
        owner: str,
        *,
        token: str | None = None,
        because: str | None = None,
        key: str | None = None,
    ) -> ForgottenAll:
        """Forget all of the owner's memories; without a `token`, only show them and the token.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/forget-all",
                ids={"owner": owner},
                body={"token": token, "because": because},
                key=key,
                writes=True,
            )
        )

    def undo(
        self,
        owner: str,
        *,
        id: str,
        token: str | None = None,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> TakenBack:
        """Undo what an id names: a join, a change, a forgetting, a statement or a whole request; a dry run has a token.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/undo",
                ids={"owner": owner},
                body={"id": id, "token": token, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    def redo(
        self,
        owner: str,
        *,
        id: str,
        token: str | None = None,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> TakenBack:
        """Do again what was undone, named by the id that was undone; a dry run has a token.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/redo",
                ids={"owner": owner},
                body={"id": id, "token": token, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    def unmerge(
        self,
        owner: str,
        *,
        because: str | None = None,
        decision_id: str | None = None,
        candidate_id: str | None = None,
        memory_id: str | None = None,
        dry_run: bool | None = None,
        with_consequences: bool | None = None,
        key: str | None = None,
    ) -> Unmerged:
        """Remove a join; `dry_run` shows the result, and the decisions that depend on the join.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/unmerge",
                ids={"owner": owner},
                body={
                    "because": because,
                    "decision_id": decision_id,
                    "candidate_id": candidate_id,
                    "memory_id": memory_id,
                    "dry_run": dry_run,
                    "with_consequences": with_consequences,
                },
                key=key,
                writes=True,
            )
        )

    def reinstate(
        self,
        owner: str,
        *,
        decision_id: str,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> PutBack:
        """Take a reversal back, and undo everything that was done because of it.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/reinstate",
                ids={"owner": owner},
                body={"because": because, "decision_id": decision_id, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    def end_session(self, owner: str, *, session_id: str, key: str | None = None) -> Session:
        """Report that a conversation ended: its memories are consolidated if the policy says so.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/sessions/end",
                ids={"owner": owner},
                body={"session_id": session_id},
                key=key,
                writes=True,
            )
        )

    def compact_session(self, owner: str, *, session_id: str, key: str | None = None) -> Session:
        """Report that a conversation was compacted: `exclude_session` covers only later memories.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/sessions/compacted",
                ids={"owner": owner},
                body={"session_id": session_id},
                key=key,
                writes=True,
            )
        )

    def merge(
        self,
        owner: str,
        *,
        a: str,
        b: str,
        because: str | None = None,
        face: str | None = None,
        key: str | None = None,
    ) -> Merged:
        """Declare two candidates the same.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/merge",
                ids={"owner": owner},
                body={"because": because, "a": a, "b": b, "face": face},
                key=key,
                writes=True,
            )
        )

    def separate(
        self, owner: str, *, a: str, b: str, because: str | None = None, key: str | None = None
    ) -> Apart:
        """Declare two candidates different.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/separate",
                ids={"owner": owner},
                body={"because": because, "a": a, "b": b},
                key=key,
                writes=True,
            )
        )

    def withdraw(
        self, owner: str, *, a: str, b: str, because: str | None = None, key: str | None = None
    ) -> Apart:
        """Take back the latest statement about a pair, a merge or a separation.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/withdraw",
                ids={"owner": owner},
                body={"because": because, "a": a, "b": b},
                key=key,
                writes=True,
            )
        )

    def pin(
        self,
        owner: str,
        *,
        id: str,
        until: datetime | str | None = None,
        because: str | None = None,
        key: str | None = None,
    ) -> NewExpiry:
        """Keep a memory that expires, or has expired, for ever or until a time.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/pin",
                ids={"owner": owner},
                body={"id": id, "until": until, "because": because},
                key=key,
                writes=True,
            )
        )

    def renew(
        self,
        owner: str,
        *,
        expires_at: datetime | str,
        candidate_id: str,
        because: str | None = None,
        key: str | None = None,
    ) -> NewExpiry:
        """Change when a memory expires; one that never does can only be changed by a person.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/renew",
                ids={"owner": owner},
                body={"expires_at": expires_at, "because": because, "candidate_id": candidate_id},
                key=key,
                writes=True,
            )
        )

    def names(self, owner: str) -> Names:
        """The names that texts call the owner by.

        Needs the role `agent`.
        """
        return self._call(ClientRequest("GET", "/v1/owners/{owner}/names", ids={"owner": owner}))

    def set_names(
        self, owner: str, *, names: list[str], because: str | None = None, key: str | None = None
    ) -> Names:
        """Declare the names that texts call the owner by; texts that differ only in these may be joined.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/names",
                ids={"owner": owner},
                body={"because": because, "names": names},
                key=key,
                writes=True,
            )
        )

    def confirm(
        self, owner: str, *, decision_id: str, because: str | None = None, key: str | None = None
    ) -> Agreed:
        """Confirm a decision.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/confirm",
                ids={"owner": owner},
                body={"because": because, "decision_id": decision_id},
                key=key,
                writes=True,
            )
        )

    def reverse(
        self,
        owner: str,
        *,
        selection: OwnJoinSelection,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Reversals:
        """Remove all joins of a selection, except verbatim repeats.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/reverse",
                ids={"owner": owner},
                body={"selection": selection, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    def reinstate_many(
        self,
        owner: str,
        *,
        selection: OwnJoinSelection,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Reinstatements:
        """Take back the reversals of all joins of a selection.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/reinstate-many",
                ids={"owner": owner},
                body={"selection": selection, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    def retract(
        self,
        owner: str,
        *,
        selection: OwnSelection,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Retractions:
        """Hide the candidates of a selection from searches; joins are kept.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/retract",
                ids={"owner": owner},
                body={"selection": selection, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    def restore(
        self,
        owner: str,
        *,
        selection: OwnSelection | None = None,
        because: str | None = None,
        forgotten: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Restorations:
        """Restore all that was forgotten together, or the candidates of a selection.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/restore",
                ids={"owner": owner},
                body={
                    "selection": selection,
                    "because": because,
                    "forgotten": forgotten,
                    "dry_run": dry_run,
                },
                key=key,
                writes=True,
            )
        )

    def show_status(self) -> dict[str, Any]:
        """Counts of the whole store, the log's position, and how far each projection lags.

        Needs the role `operator`.
        """
        return self._call(ClientRequest("GET", "/v1/status"))

    def list_changes(
        self,
        owner: str,
        *,
        after: int | str | None = None,
        limit: int | None = None,
        wait: float | None = None,
    ) -> Changes:
        """The owner's events after the `next` of a page, oldest first, with the memories that they changed; `wait` for more.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/changes",
                ids={"owner": owner},
                query={"after": after, "limit": limit, "wait": wait},
            )
        )

    def list_all_changes(
        self, *, after: int | str | None = None, limit: int | None = None, wait: float | None = None
    ) -> Changes:
        """The events of all owners that the token is for, as `list_changes` shows them.

        Needs the role `operator`.
        """
        return self._call(
            ClientRequest(
                "GET", "/v1/changes", query={"after": after, "limit": limit, "wait": wait}
            )
        )

    def list_decisions(
        self,
        owner: str,
        *,
        after: int | str | None = None,
        limit: int | None = None,
        wait: float | None = None,
    ) -> Feed:
        """The owner's decisions after the `next` of a page, oldest first; `wait` for more.

        Needs the role `agent`.
        """
        return self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/decisions",
                ids={"owner": owner},
                query={"after": after, "limit": limit, "wait": wait},
            )
        )


class AsyncCalls:
    """Each operation, as a coroutine."""

    async def _call(self, wanted: ClientRequest[Answer]) -> Answer:
        """Send it and return the answer; raises the server's problem."""
        raise NotImplementedError

    async def add_memory(
        self,
        owner: str,
        *,
        text: str,
        namespace: str | None = None,
        id: str | None = None,
        session_id: str | None = None,
        occurred_at: datetime | str | None = None,
        category: str | None = None,
        kind: Literal["fact", "perception"] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        intensity: float | None = None,
        topics: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        ttl: float | str | None = None,
        expires_at: datetime | str | None = None,
        key: str | None = None,
    ) -> Added:
        """Add a memory; the answer has the decision.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories",
                ids={"owner": owner},
                body={
                    "text": text,
                    "namespace": namespace,
                    "id": id,
                    "session_id": session_id,
                    "occurred_at": occurred_at,
                    "category": category,
                    "kind": kind,
                    "confidence": confidence,
                    "importance": importance,
                    "intensity": intensity,
                    "topics": topics,
                    "metadata": metadata,
                    "ttl": ttl,
                    "expires_at": expires_at,
                },
                key=key,
                writes=True,
            )
        )

    async def list_memories(
        self,
        owner: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        former: bool | None = None,
        namespace: str | None = None,
        category: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        show_expired: bool | None = None,
    ) -> Page:
        """A page of the owner's memories, the latest first.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories",
                ids={"owner": owner},
                query={
                    "limit": limit,
                    "after": after,
                    "former": former,
                    "namespace": namespace,
                    "category": category,
                    "since": since,
                    "until": until,
                    "show_expired": show_expired,
                },
            )
        )

    async def add_memories(
        self, owner: str, *, memories: list[NewMemory], key: str | None = None
    ) -> AddedMany:
        """Add several memories, decided on in order.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/batch",
                ids={"owner": owner},
                body={"memories": memories},
                key=key,
                writes=True,
            )
        )

    async def add_messages(
        self,
        owner: str,
        *,
        messages: list[SaidMessage],
        infer: bool | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        key: str | None = None,
    ) -> AddedMessages:
        """Add the memories of a conversation, or each of its messages as it is.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/messages",
                ids={"owner": owner},
                body={
                    "messages": messages,
                    "infer": infer,
                    "namespace": namespace,
                    "session_id": session_id,
                },
                key=key,
                writes=True,
            )
        )

    async def search_memories(
        self,
        owner: str,
        *,
        query: str,
        k: int | None = None,
        namespace: str | None = None,
        category: str | None = None,
        metadata: dict[str, Any] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        show_expired: bool | None = None,
        session_id: str | None = None,
        exclude_session: bool | None = None,
        min_confidence: float | None = None,
        hybrid: bool | None = None,
        min_score: float | Literal["model"] | None = None,
        max_tokens: int | None = None,
        former: bool | None = None,
        fold: bool | None = None,
        as_of: int | datetime | str | None = None,
    ) -> FoundMemories:
        """The memories nearest to a question, best first.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/search",
                ids={"owner": owner},
                body={
                    "query": query,
                    "k": k,
                    "namespace": namespace,
                    "category": category,
                    "metadata": metadata,
                    "since": since,
                    "until": until,
                    "show_expired": show_expired,
                    "session_id": session_id,
                    "exclude_session": exclude_session,
                    "min_confidence": min_confidence,
                    "hybrid": hybrid,
                    "min_score": min_score,
                    "max_tokens": max_tokens,
                    "former": former,
                    "fold": fold,
                    "as_of": as_of,
                },
            )
        )

    async def find_memories(
        self,
        owner: str,
        *,
        query: str,
        by: list[Literal["words", "meaning"]] | None = None,
        k: int | None = None,
        namespace: str | None = None,
        show_expired: bool | None = None,
    ) -> Plan:
        """Find memories by whole words, then suggest some by meaning. The plan has a token.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/find",
                ids={"owner": owner},
                body={
                    "query": query,
                    "by": by,
                    "k": k,
                    "namespace": namespace,
                    "show_expired": show_expired,
                },
            )
        )

    async def check_memory(
        self,
        owner: str,
        *,
        text: str,
        namespace: str | None = None,
        id: str | None = None,
        session_id: str | None = None,
        occurred_at: datetime | str | None = None,
        category: str | None = None,
        kind: Literal["fact", "perception"] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        intensity: float | None = None,
        topics: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        ttl: float | str | None = None,
        expires_at: datetime | str | None = None,
    ) -> Checked:
        """Show the decision on a memory without adding it.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/check",
                ids={"owner": owner},
                body={
                    "text": text,
                    "namespace": namespace,
                    "id": id,
                    "session_id": session_id,
                    "occurred_at": occurred_at,
                    "category": category,
                    "kind": kind,
                    "confidence": confidence,
                    "importance": importance,
                    "intensity": intensity,
                    "topics": topics,
                    "metadata": metadata,
                    "ttl": ttl,
                    "expires_at": expires_at,
                },
            )
        )

    async def list_some_memories(
        self,
        owner: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        former: bool | None = None,
        namespace: str | None = None,
        category: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        show_expired: bool | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Page:
        """A page of the memories whose metadata has the given values.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/list",
                ids={"owner": owner},
                body={
                    "limit": limit,
                    "after": after,
                    "former": former,
                    "namespace": namespace,
                    "category": category,
                    "since": since,
                    "until": until,
                    "show_expired": show_expired,
                    "metadata": metadata,
                },
            )
        )

    async def get_memory(self, owner: str, memory: str) -> Found:
        """The current memory, by any id that it or its candidates ever had.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories/{memory}",
                ids={"owner": owner, "memory": memory},
            )
        )

    async def update_memory(
        self,
        owner: str,
        memory: str,
        *,
        text: str,
        because: str | None = None,
        expect: str | None = None,
        merge: bool | None = None,
        session_id: str | None = None,
        occurred_at: datetime | str | None = None,
        metadata: dict[str, Any] | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Updated:
        """Change a memory's text; fails if `expect` is no longer its version.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "PATCH",
                "/v1/owners/{owner}/memories/{memory}",
                ids={"owner": owner, "memory": memory},
                body={
                    "because": because,
                    "text": text,
                    "expect": expect,
                    "merge": merge,
                    "session_id": session_id,
                    "occurred_at": occurred_at,
                    "metadata": metadata,
                    "dry_run": dry_run,
                },
                key=key,
                writes=True,
            )
        )

    async def forget_memory(
        self,
        owner: str,
        memory: str,
        *,
        expect: str | None = None,
        dry_run: bool | None = None,
        because: str | None = None,
        key: str | None = None,
    ) -> Forgotten:
        """Forget a memory with all its wordings, reversibly; fails if `expect` is no longer its version.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "DELETE",
                "/v1/owners/{owner}/memories/{memory}",
                ids={"owner": owner, "memory": memory},
                query={"expect": expect, "dry_run": dry_run},
                body={"because": because},
                key=key,
                writes=True,
            )
        )

    async def show_history(self, owner: str, memory: str) -> History:
        """Every event of a memory, in order.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories/{memory}/history",
                ids={"owner": owner, "memory": memory},
            )
        )

    async def show_memory(
        self, owner: str, memory: str, *, as_of: int | datetime | str | None = None
    ) -> ShownMemory:
        """A memory with every member, its join and its evidence.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/memories/{memory}/joins",
                ids={"owner": owner, "memory": memory},
                query={"as_of": as_of},
            )
        )

    async def explain(self, owner: str, some_id: str) -> Explanation:
        """Why a candidate, or each member of a memory, is where it is: the path of its decision.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET", "/v1/owners/{owner}/why/{some_id}", ids={"owner": owner, "some_id": some_id}
            )
        )

    async def explain_pair(self, owner: str, some_id: str, other_id: str) -> WhyNot:
        """Why two candidates are not in one memory, the decisive reason first.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/why/{some_id}/{other_id}",
                ids={"owner": owner, "some_id": some_id, "other_id": other_id},
            )
        )

    async def list_triangles(
        self, owner: str, *, at_least: float | None = None, limit: int | None = None
    ) -> list[Triangle]:
        """Pairs that a person separated, with a third that is joined to one and near the other.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/triangles",
                ids={"owner": owner},
                query={"at_least": at_least, "limit": limit},
            )
        )

    async def forget_found_memories(
        self,
        owner: str,
        *,
        token: str,
        memory_ids: list[str],
        because: str | None = None,
        again: Literal["ask", "allow", "refuse"] | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Forgotten:
        """Forget exactly what a plan of `find` shows; fails with `moved_on` if that has changed.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/forget",
                ids={"owner": owner},
                body={
                    "token": token,
                    "because": because,
                    "memory_ids": memory_ids,
                    "again": again,
                    "dry_run": dry_run,
                },
                key=key,
                writes=True,
            )
        )

    async def forget_all_memories(
        self,
        owner: str,
        *,
        token: str | None = None,
        because: str | None = None,
        key: str | None = None,
    ) -> ForgottenAll:
        """Forget all of the owner's memories; without a `token`, only show them and the token.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/memories/forget-all",
                ids={"owner": owner},
                body={"token": token, "because": because},
                key=key,
                writes=True,
            )
        )

    async def undo(
        self,
        owner: str,
        *,
        id: str,
        token: str | None = None,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> TakenBack:
        """Undo what an id names: a join, a change, a forgetting, a statement or a whole request; a dry run has a token.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/undo",
                ids={"owner": owner},
                body={"id": id, "token": token, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    async def redo(
        self,
        owner: str,
        *,
        id: str,
        token: str | None = None,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> TakenBack:
        """Do again what was undone, named by the id that was undone; a dry run has a token.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/redo",
                ids={"owner": owner},
                body={"id": id, "token": token, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    async def unmerge(
        self,
        owner: str,
        *,
        because: str | None = None,
        decision_id: str | None = None,
        candidate_id: str | None = None,
        memory_id: str | None = None,
        dry_run: bool | None = None,
        with_consequences: bool | None = None,
        key: str | None = None,
    ) -> Unmerged:
        """Remove a join; `dry_run` shows the result, and the decisions that depend on the join.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/unmerge",
                ids={"owner": owner},
                body={
                    "because": because,
                    "decision_id": decision_id,
                    "candidate_id": candidate_id,
                    "memory_id": memory_id,
                    "dry_run": dry_run,
                    "with_consequences": with_consequences,
                },
                key=key,
                writes=True,
            )
        )

    async def reinstate(
        self,
        owner: str,
        *,
        decision_id: str,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> PutBack:
        """Take a reversal back, and undo everything that was done because of it.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/reinstate",
                ids={"owner": owner},
                body={"because": because, "decision_id": decision_id, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    async def end_session(self, owner: str, *, session_id: str, key: str | None = None) -> Session:
        """Report that a conversation ended: its memories are consolidated if the policy says so.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/sessions/end",
                ids={"owner": owner},
                body={"session_id": session_id},
                key=key,
                writes=True,
            )
        )

    async def compact_session(
        self, owner: str, *, session_id: str, key: str | None = None
    ) -> Session:
        """Report that a conversation was compacted: `exclude_session` covers only later memories.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/sessions/compacted",
                ids={"owner": owner},
                body={"session_id": session_id},
                key=key,
                writes=True,
            )
        )

    async def merge(
        self,
        owner: str,
        *,
        a: str,
        b: str,
        because: str | None = None,
        face: str | None = None,
        key: str | None = None,
    ) -> Merged:
        """Declare two candidates the same.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/merge",
                ids={"owner": owner},
                body={"because": because, "a": a, "b": b, "face": face},
                key=key,
                writes=True,
            )
        )

    async def separate(
        self, owner: str, *, a: str, b: str, because: str | None = None, key: str | None = None
    ) -> Apart:
        """Declare two candidates different.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/separate",
                ids={"owner": owner},
                body={"because": because, "a": a, "b": b},
                key=key,
                writes=True,
            )
        )

    async def withdraw(
        self, owner: str, *, a: str, b: str, because: str | None = None, key: str | None = None
    ) -> Apart:
        """Take back the latest statement about a pair, a merge or a separation.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/withdraw",
                ids={"owner": owner},
                body={"because": because, "a": a, "b": b},
                key=key,
                writes=True,
            )
        )

    async def pin(
        self,
        owner: str,
        *,
        id: str,
        until: datetime | str | None = None,
        because: str | None = None,
        key: str | None = None,
    ) -> NewExpiry:
        """Keep a memory that expires, or has expired, for ever or until a time.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/pin",
                ids={"owner": owner},
                body={"id": id, "until": until, "because": because},
                key=key,
                writes=True,
            )
        )

    async def renew(
        self,
        owner: str,
        *,
        expires_at: datetime | str,
        candidate_id: str,
        because: str | None = None,
        key: str | None = None,
    ) -> NewExpiry:
        """Change when a memory expires; one that never does can only be changed by a person.

        Needs the role `agent`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/renew",
                ids={"owner": owner},
                body={"expires_at": expires_at, "because": because, "candidate_id": candidate_id},
                key=key,
                writes=True,
            )
        )

    async def names(self, owner: str) -> Names:
        """The names that texts call the owner by.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest("GET", "/v1/owners/{owner}/names", ids={"owner": owner})
        )

    async def set_names(
        self, owner: str, *, names: list[str], because: str | None = None, key: str | None = None
    ) -> Names:
        """Declare the names that texts call the owner by; texts that differ only in these may be joined.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/names",
                ids={"owner": owner},
                body={"because": because, "names": names},
                key=key,
                writes=True,
            )
        )

    async def confirm(
        self, owner: str, *, decision_id: str, because: str | None = None, key: str | None = None
    ) -> Agreed:
        """Confirm a decision.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/confirm",
                ids={"owner": owner},
                body={"because": because, "decision_id": decision_id},
                key=key,
                writes=True,
            )
        )

    async def reverse(
        self,
        owner: str,
        *,
        selection: OwnJoinSelection,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Reversals:
        """Remove all joins of a selection, except verbatim repeats.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/reverse",
                ids={"owner": owner},
                body={"selection": selection, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    async def reinstate_many(
        self,
        owner: str,
        *,
        selection: OwnJoinSelection,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Reinstatements:
        """Take back the reversals of all joins of a selection.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/reinstate-many",
                ids={"owner": owner},
                body={"selection": selection, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    async def retract(
        self,
        owner: str,
        *,
        selection: OwnSelection,
        because: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Retractions:
        """Hide the candidates of a selection from searches; joins are kept.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/retract",
                ids={"owner": owner},
                body={"selection": selection, "because": because, "dry_run": dry_run},
                key=key,
                writes=True,
            )
        )

    async def restore(
        self,
        owner: str,
        *,
        selection: OwnSelection | None = None,
        because: str | None = None,
        forgotten: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
    ) -> Restorations:
        """Restore all that was forgotten together, or the candidates of a selection.

        Needs the role `reviewer`. Repeated with the same `key`, it is done once.
        """
        return await self._call(
            ClientRequest(
                "POST",
                "/v1/owners/{owner}/restore",
                ids={"owner": owner},
                body={
                    "selection": selection,
                    "because": because,
                    "forgotten": forgotten,
                    "dry_run": dry_run,
                },
                key=key,
                writes=True,
            )
        )

    async def show_status(self) -> dict[str, Any]:
        """Counts of the whole store, the log's position, and how far each projection lags.

        Needs the role `operator`.
        """
        return await self._call(ClientRequest("GET", "/v1/status"))

    async def list_changes(
        self,
        owner: str,
        *,
        after: int | str | None = None,
        limit: int | None = None,
        wait: float | None = None,
    ) -> Changes:
        """The owner's events after the `next` of a page, oldest first, with the memories that they changed; `wait` for more.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/changes",
                ids={"owner": owner},
                query={"after": after, "limit": limit, "wait": wait},
            )
        )

    async def list_all_changes(
        self, *, after: int | str | None = None, limit: int | None = None, wait: float | None = None
    ) -> Changes:
        """The events of all owners that the token is for, as `list_changes` shows them.

        Needs the role `operator`.
        """
        return await self._call(
            ClientRequest(
                "GET", "/v1/changes", query={"after": after, "limit": limit, "wait": wait}
            )
        )

    async def list_decisions(
        self,
        owner: str,
        *,
        after: int | str | None = None,
        limit: int | None = None,
        wait: float | None = None,
    ) -> Feed:
        """The owner's decisions after the `next` of a page, oldest first; `wait` for more.

        Needs the role `agent`.
        """
        return await self._call(
            ClientRequest(
                "GET",
                "/v1/owners/{owner}/decisions",
                ids={"owner": owner},
                query={"after": after, "limit": limit, "wait": wait},
            )
        )
