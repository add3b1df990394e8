"""The contents of events: names of decisions, and the `data` of each event (docs/design.md).

Names are wire values. `contracts.events` exports them all, with the events that carry them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta
from pydantic import Field

from palimpsest.contracts.candidate import CandidateFields
from palimpsest.contracts.errors import InvalidReason
from palimpsest.contracts.evidence import Evidence, RecordedJudge, Verdict
from palimpsest.contracts.light import Light
from palimpsest.contracts.model import Timestamp, WireTime

FirstDecision = Literal[
    "stored",
    "hash_exact",
    "recent_capture",
    "token_reject",
    "session_reject",
    "auto_reject",
    "superseded",
    "concatenated",
    "pending",
]
Settlement = Literal[
    "llm_keep",
    "llm_reject",
    "llm_merge",
    "superseded",
    "fallback_keep",
    "fallback_reject",
    "fallback_supersede",
]
BatchJoin = Literal[
    "auto_reject",
    "superseded",
    "concatenated",
    "llm_reject",
    "llm_merge",
    "fallback_reject",
    "fallback_supersede",
]
LaterJoin = Literal["manual_join", BatchJoin]
Decision = Literal[FirstDecision, Settlement, LaterJoin, "invalid"]
FaceRule = Literal["repeat", "keep", "take", "text"]
Rank = Literal["rule", "judge", "agent", "review", "person"]
Speaker = Literal["agent", "person"]
"""Who may change memories on purpose; reviewers and operators are persons."""
Again = Literal["ask", "allow", "refuse"]
"""What happens if a forgotten text arrives again: it waits, is stored as new, or is refused."""
BatchStep = Literal["dedupe", "review", "consolidate"]
"""What runs over an owner's memories: batch rules, the review, or the end of a session."""
AuditLabel = Literal["right", "wrong", "unsure"]
"""An auditor's label of a join; `unsure` counts as wrong."""
Figures = dict[str, int | float]
"""What a run counted, by name; times in milliseconds."""
RANKS: dict[Rank, int] = {"rule": 0, "judge": 1, "agent": 2, "review": 3, "person": 4}


class Vector(Light):
    """A text's embedding: `data` is base64 of little-endian float16, unit length.

    `truncated`: `data` covers only the beginning of the text; `unknown`: words that the model has
    no token for. `windows`: the vectors of the rest of a truncated text, window by window, encoded
    like `data`; older events have none.
    """

    model: str
    engine: str
    dimension: int
    data: str
    truncated: bool = False
    unknown: tuple[str, ...] = ()
    windows: tuple[str, ...] | None = None

    @property
    def covers_text(self) -> bool:
        """Whether the vector and its windows cover the whole text."""
        return self.windows is not None or not self.truncated

    def each(self) -> tuple[Vector, ...]:
        """A vector for each window, in order."""
        if self.windows is None:
            return (self,)
        return tuple(
            Vector(model=self.model, engine=self.engine, dimension=self.dimension, data=data)
            for data in (self.data, *self.windows)
        )


class Verbatim(Light):
    """The hash of a text's verbatim form, by which the core recognises the text."""

    hash: str
    normaliser: str


class Content(Light):
    """All that must vanish on erasure, in one object, so that it can be sealed under a key.

    `hash` is the hash of the form by which a text is found and forgotten, but with invisible
    characters. `verbatim` is absent in older events: it is then computed from the text.
    """

    text: str
    hash: str
    normaliser: str
    fingerprint: str | None = None
    vector: Vector | None = None
    verbatim: Verbatim | None = None


class Join(Light):
    """The edge to the older candidate, the rule that picks the face, and the score of the pair.

    `former`: a person or an agent chose the face, so the text that it displaced is a former
    wording, which no automatic event brings back. `chosen`: a person chose one of the two
    candidates, and its own text speaks even if the two were one memory already. `outright`: a rule
    that does not go by time chose the newer part's face (a `take`), so it speaks even if it
    happened earlier, and a repeat does not undo that. `over`: the join is an update, and this is
    the candidate that spoke until then; `to` may be another, so that the memory stays whole if an
    update in between is undone. `forward`: a judge said that the newer text replaces the one it was
    compared with, even if a person chose that one.
    """

    to: str
    face: FaceRule
    similarity: float | None = None
    former: bool | None = None
    outright: bool | None = None
    over: str | None = None
    forward: bool | None = None
    chosen: bool | None = None


class Composition(Light):
    """A composed text and the candidates that it was made from, oldest first."""

    content: Content
    sources: tuple[str, ...]


class DecidedData(Light):
    """A candidate's first decision.

    `moment` is the time that the text is about, as stated by the producer, and no later than the
    recording; if absent, as in older events, it is the time of recording. `rank`, `actor`,
    `because` and `cause` (the request) are set for an update, whose author said what it joins.
    `withheld` is the forgetting (a request) because of which the candidate waits for a person;
    until then it is not living. `expires_at` is when the candidate becomes hidden, as stated by
    itself or, for its category, by the policy.
    """

    decision: FirstDecision
    candidate: CandidateFields
    content: Content
    join: Join | None = None
    composition: Composition | None = None
    evidence: Evidence
    moment: WireTime | None = None
    rank: Rank | None = None
    actor: str | None = None
    because: str | None = None
    cause: str | None = None
    withheld: str | None = None
    expires_at: WireTime | None = None


class SettledData(Light):
    """The decision on a pending candidate.

    `cause` is the request, or the event if there is no request, that released an answer which had
    been held back.
    """

    decision: Settlement
    candidate_id: str
    join: Join | None = None
    composition: Composition | None = None
    evidence: Evidence
    rank: Rank = "judge"
    actor: str | None = None
    because: str | None = None
    cause: str | None = None


class JoinedData(Light):
    """A join between existing candidates, by a person, an update or a batch rule.

    `cause` is the run, or the request, that made it; the id of the run's `ran` event follows from
    that.
    """

    decision: LaterJoin
    candidate_id: str
    join: Join
    composition: Composition | None = None
    evidence: Evidence | None = None
    rank: Rank
    actor: str | None = None
    because: str | None = None
    cause: str | None = None


class RedecidedData(Light):
    """A candidate's decision without joins that were reversed (docs/design.md, Un-merge).

    `join` is the join that it would have made on arrival, and keeps that place; the one that it did
    make, if any, was `reversed` before. `pending` asks the judge about `evidence.asked`. `cause` is
    the request that it belongs to.
    """

    decision: FirstDecision | Settlement
    candidate_id: str
    consequence_of: str
    join: Join | None = None
    composition: Composition | None = None
    evidence: Evidence
    rank: Rank = "rule"
    actor: str | None = None
    because: str | None = None
    cause: str | None = None


class InvalidData(Light):
    """An input that was rejected; its bytes are in the dead letters under `digest`."""

    reason: InvalidReason
    detail: str
    digest: str
    origin: str


class ReversedData(Light):
    """A reversed join, or a withdrawn separation, which `decision_id` then names.

    `separates` is false if other joins keep the pair in one memory. A review includes the model's
    `verdicts`. A `consequence_of` another reversal separates nothing: nobody said that the two
    differ, they would only not have been compared. `cause` is the request that it belongs to: a
    memory's reversals of one cause take it apart together. A reversal that `withdraws` undoes a
    person's merge or an update as if it had never been stated: earlier statements about the pair
    hold again. An un-merge may do so, too, if other joins hold the two together.
    """

    decision_id: str
    candidate_id: str
    joined_to: str
    separates: bool
    rank: Rank
    actor: str | None = None
    because: str | None = None
    verdicts: tuple[Verdict, ...] | None = None
    consequence_of: str | None = None
    cause: str | None = None
    withdraws: bool | None = None

    @property
    def is_withdrawal(self) -> bool:
        """Whether a person withdrew a merge: un-merging and undoing have a `cause` instead."""
        return bool(self.withdraws) and self.cause is None


class OnDecisionData(Light):
    """A statement about one decision. A review includes the model's `verdicts`.

    `cause` is the request that a reinstatement belongs to.
    """

    decision_id: str
    rank: Rank
    actor: str | None = None
    because: str | None = None
    verdicts: tuple[Verdict, ...] | None = None
    cause: str | None = None


class SeparatedData(Light):
    """A recorded *not the same* between two candidates; the judge's includes its `verdicts`.

    `similarity` is the score of the pair, if it was compared.
    """

    candidate_id: str
    other_id: str
    rank: Rank
    actor: str | None = None
    because: str | None = None
    verdicts: tuple[Verdict, ...] | None = None
    similarity: float | None = None


class ComposedData(Light):
    """A recomposed text for a join whose first text no longer stands."""

    decision_id: str
    composition: Composition
    evidence: Evidence


class OnCandidateData(Light):
    """A statement about one candidate. `cause` is the request that it belongs to.

    For a forgotten candidate, `again` says what happens if its text arrives again; with `earlier`,
    a text that happened before the forgetting is refused. `speaker` is `agent` if an agent forgot
    it; older events have none.
    """

    candidate_id: str
    actor: str | None = None
    because: str | None = None
    cause: str | None = None
    again: Again | None = None
    earlier: Literal["refuse"] | None = None
    speaker: Literal["agent"] | None = None


class ExpirySetData(Light):
    """A candidate's new expiry: hidden from `expires_at` on, or never if absent (a pin).

    `was` is the previous expiry, absent if there was none.
    """

    candidate_id: str
    expires_at: WireTime | None = None
    was: WireTime | None = None
    rank: Rank = "person"
    actor: str | None = None
    because: str | None = None


class NamesSetData(Light):
    """The names that the owner is called by from here on; `was` are the previous ones."""

    names: tuple[str, ...]
    was: tuple[str, ...] = ()
    actor: str | None = None
    because: str | None = None


class Use(Light):
    """How often a memory was used since the last such record, and when it was last used.

    `candidate_id` is any of its members.
    """

    candidate_id: str
    count: Annotated[int, Field(ge=1), Meta(ge=1)] = 1
    at: Timestamp


class AccessedData(OnCandidateData):
    """The use of one candidate's memory, now, or of several memories, gathered in `uses`.

    `others` are the ids of further commands whose uses are included; repeated, they change nothing.
    """

    uses: tuple[Use, ...] | None = None
    others: tuple[str, ...] | None = None


class OnSessionData(Light):
    """A statement about one session of the owner."""

    session_id: str


class EmbeddedData(Light):
    """A vector added to a candidate's text: a late one, one with windows, or another model's.

    With `ahead`, its model is not in force yet: the text also keeps the vector that it has. With
    `text_id`, the text is a composed one: `text_id` is the event that composed it, and the
    candidate is a member of its memory.
    """

    candidate_id: str
    vector: Vector
    ahead: bool | None = None
    text_id: str | None = None


class PolicySetData(Light):
    """The whole policy that is in force from here on.

    `former` is the model of the previous policy if this one has another: from here on texts are
    compared by their vectors of the new model. `drops` are models whose vectors are no longer kept
    in memory; the log still has them.
    """

    hash: str
    policy: dict[str, Any]
    actor: str | None = None
    former: str | None = None
    drops: tuple[str, ...] | None = None

    @property
    def changes_models(self) -> bool:
        """Whether it changes which vectors are compared or kept."""
        return self.former is not None or self.drops is not None


class JudgeSetData(Light):
    """The judge whose answers are recorded from here on; `former` is the previous judge's hash."""

    hash: str
    judge: RecordedJudge
    former: str | None = None


class RanData(Light):
    """A batch run over an owner's memories: its step, when it was due, and its figures.

    `policy` is the hash of the rules that it followed, `session_id` the session that it was about,
    if any. `actor` is the person who asked for it, unless a schedule did.
    """

    step: BatchStep
    due: WireTime
    policy: str
    figures: Figures
    session_id: str | None = None
    actor: str | None = None
    because: str | None = None


class RefusedData(Light):
    """A refused command, with the reason; verdicts that came with it are kept.

    `rank` is that of a refused `settle`, whose verdicts may settle something later and then keep
    this rank and this actor; older events lack it, because all their verdicts were the judge's. `a`
    and `b` are the two candidates of a command about a pair.
    """

    command: str
    reason: str
    detail: str
    candidate_id: str | None = None
    decision_id: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    composition: Composition | None = None
    rank: Rank | None = None
    actor: str | None = None
    because: str | None = None
    a: str | None = None
    b: str | None = None


class UnchangedData(Light):
    """A request that changed nothing: its kind, who made it, and why."""

    request: str
    actor: str | None = None
    because: str | None = None


class AuditOpenedData(Light):
    """An audit of the automatic joins that stood at `position`; the `seed` was drawn after that.

    `joins` is their number and `digest` the digest of their ids, so that a different population is
    noticed. `owners` is a pattern of owners and `since` the earliest decision, if the audit covers
    only some joins. It is meant to certify that at most the share `target` is wrong, at this
    `confidence`. `detection` is the part of 1 - confidence reserved for errors that the auditor
    misses. They are measured by probes, pairs that are known to be wrong: `probes` is their number,
    `probes_wanted` the largest number that was asked for. In a store that follows a cluster,
    `offsets` are the first ones beyond `position`, for each partition of the topic of decisions;
    None for a position that was no longer the last.

    With `recall`, the audit is about the pairs that were *not* joined: from `recall` labels, it
    estimates how many of these pairs say the same. `joins` and `digest` then describe these pairs,
    and the target means nothing.
    """

    position: int
    seed: str
    joins: int
    digest: str
    target: float
    confidence: float
    detection: float = 0.0
    probes: int = 0
    owners: str | None = None
    since: WireTime | None = None
    recall: int | None = None
    probes_wanted: int | None = None
    offsets: tuple[int, ...] | None = None
    actor: str | None = None
    because: str | None = None


class AuditLabelledData(Light):
    """An auditor's label of a `pair`: the decision of a join, or the id of a probe.

    `shown` is the digest of what the auditor saw: a label counts for another audit as long as that
    is the same. The latest label of a pair in an audit counts. A `second` label is that of another
    person, who did not see the first: a pair is wrong if either calls it wrong.
    """

    audit: str
    pair: str
    label: AuditLabel
    shown: str
    second: bool | None = None
    actor: str | None = None
    because: str | None = None


class Stratum(Light):
    """A part of an audit's joins, `by` decision, policy, guard, embedder, judge or the like.

    `bound` limits the share of this part that is wrong; it is a separate statement.
    """

    by: str
    value: str
    joins: int
    labels: int
    errors: int
    bound: float


class CertifiedData(Light):
    """States that at most the share `bound` of an audit's joins is wrong, at its confidence.

    At most `most` joins would be labelled wrong. For the bound, that is divided by `detected`,
    the least share of wrong joins that the auditor is known to find (1 without probes).
    """

    audit: str
    joins: int
    labels: int
    errors: int
    probes: int
    found: int
    most: int
    detected: float
    bound: float
    strata: tuple[Stratum, ...] = ()
    actor: str | None = None
    because: str | None = None


class ErasedData(Light):
    """Candidates whose content was destroyed."""

    candidate_ids: tuple[str, ...]
    actor: str | None = None
    because: str | None = None
