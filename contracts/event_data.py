"""What events say: the words of decisions, and the `data` of each event (docs/design.md).

Names are wire values. `contracts.events` has them all, with the events that carry them.
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
"""Who changes memories by intent; reviewers and operators are persons."""
Again = Literal["ask", "allow", "refuse"]
"""What becomes of a forgotten text that comes again: it waits, is stored as new, or is refused."""
BatchStep = Literal["dedupe", "review", "consolidate"]
"""What runs over an owner's memories: batch rules, the review, or the end of a session."""
AuditLabel = Literal["right", "wrong", "unsure"]
"""What an auditor says of a join; `unsure` counts as wrong."""
Figures = dict[str, int | float]
"""What a run counted, by name; times in milliseconds."""
RANKS: dict[Rank, int] = {"rule": 0, "judge": 1, "agent": 2, "review": 3, "person": 4}


class Vector(Light):
    """A text's embedding: `data` is base64 of little-endian float16, unit length.

    `truncated`: in `data` the model saw only the beginning; `unknown`: words it has no token for.
    `windows`: of such a text, what the model made of the rest, window by window, encoded as `data`.
    Older events have none.
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
        """Whether the vector and its windows are of the whole text."""
        return self.windows is not None or not self.truncated

    def each(self) -> tuple[Vector, ...]:
        """The vector of each window alone, the first one's first."""
        if self.windows is None:
            return (self,)
        return tuple(
            Vector(model=self.model, engine=self.engine, dimension=self.dimension, data=data)
            for data in (self.data, *self.windows)
        )


class Verbatim(Light):
    """The hash of a text in its verbatim form, by which the core knows it again."""

    hash: str
    normaliser: str


class Content(Light):
    """All that must vanish on erasure, in one object, so that it can be sealed under a key.

    `hash` is of the form by which a text is found and forgotten. `verbatim` is absent in older
    events: it is computed from the text.
    """

    text: str
    hash: str
    normaliser: str
    fingerprint: str | None = None
    vector: Vector | None = None
    verbatim: Verbatim | None = None


class Join(Light):
    """The edge to the older candidate, who wins the face, and the score of the pair.

    `former`: a person chose the face, so what it displaced is a former wording, which no automatic
    event brings back. `chosen`: of the two candidates that person chose one, whose own text speaks
    also where the two were one memory already. `outright`: a rule that does not go by time chose
    the newer part's face (a `take`), so it speaks although it may have happened earlier, and a
    repeat does not undo that. `over`: it is an update, and this is the candidate that spoke until
    then; `to` need not be the same, so that the memory stays one where an update in between is
    undone. `forward`: a judge said that the newer text replaces the one that it was compared with,
    even where a person chose that.
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

    `moment` is when what it says happened, as its producer said: no later than the recording. Where
    it is absent, as in older events, that is the time of recording. `rank`, `actor`, `because` and
    `cause`, the request, are those of an update: somebody said what it joins. `withheld` is the
    forgetting (a request) because of which the candidate waits for a person, and does not live.
    `expires_at` is from when on it is hidden: as the candidate says, or the policy of its category.
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
    """What became of a pending candidate.

    `cause` is the event that freed an answer which had been held back.
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
    """A join between candidates that were there already, by a person or a batch rule.

    `cause` is the run that made it, where it has an id: the same as of its `ran`.
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
    """A candidate's decision without joins that were taken out (docs/design.md, Un-merge).

    `join` is the one that it would have made, with the place of its arrival; the one that it made,
    if any, was `reversed` before. `pending` opens the question of `evidence.asked`. `cause` is the
    request that it belongs to.
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
    """An input that broke a rule; its bytes are in the dead letters under `digest`."""

    reason: InvalidReason
    detail: str
    digest: str
    origin: str


class ReversedData(Light):
    """A join taken out. `separates` is false where the pair stays one memory by other joins.

    `verdicts` are a model's, where a review says so. A `consequence_of` another reversal separates
    nothing: nobody said that the two differ, they would only not have been compared. `cause` is the
    request that it belongs to: reversals of one cause take one memory apart. One that `withdraws`
    takes a person's merge or an update back as if it had never been said: what was said of the
    pair before it holds again. So may an un-merge, where other joins hold the two together.
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
        """Whether a person withdrew a merge: un-merging and undoing belong to a request."""
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
    """A recorded *not the same* between two candidates; the judge's with its `verdicts`.

    `similarity` is the score of the pair, where it was looked at.
    """

    candidate_id: str
    other_id: str
    rank: Rank
    actor: str | None = None
    because: str | None = None
    verdicts: tuple[Verdict, ...] | None = None
    similarity: float | None = None


class ComposedData(Light):
    """A recomposed text for the join whose first one no longer stands."""

    decision_id: str
    composition: Composition
    evidence: Evidence


class OnCandidateData(Light):
    """A word about one candidate. `cause` is the request that it belongs to.

    One that is forgotten says what becomes of its text when it comes `again`; with `earlier`, what
    happened before is refused. `speaker` is `agent` if an agent forgot it; older events have none.
    """

    candidate_id: str
    actor: str | None = None
    because: str | None = None
    cause: str | None = None
    again: Again | None = None
    earlier: Literal["refuse"] | None = None
    speaker: Literal["agent"] | None = None


class ExpirySetData(Light):
    """Whose expiry somebody set: hidden from `expires_at` on, or never if absent (a pin).

    `was` is the expiry until then, absent if there was none.
    """

    candidate_id: str
    expires_at: WireTime | None = None
    was: WireTime | None = None
    rank: Rank = "person"
    actor: str | None = None
    because: str | None = None


class NamesSetData(Light):
    """By which names the owner is called from here on; `was` is by which until then."""

    names: tuple[str, ...]
    was: tuple[str, ...] = ()
    actor: str | None = None
    because: str | None = None


class Use(Light):
    """How often a memory was used since that was last recorded, and when it was last.

    `candidate_id` is any of its members.
    """

    candidate_id: str
    count: Annotated[int, Field(ge=1), Meta(ge=1)] = 1
    at: Timestamp


class AccessedData(OnCandidateData):
    """That memories were used: that of one candidate, now; or all of `uses`, gathered.

    `others` are the ids of further commands whose uses are among them, and which change nothing
    when they come again.
    """

    uses: tuple[Use, ...] | None = None
    others: tuple[str, ...] | None = None


class OnSessionData(Light):
    """A word about one session of the owner."""

    session_id: str


class EmbeddedData(Light):
    """The vector of a candidate's text: it came late, got its windows, or is of another model.

    With `ahead`, of a model that is not in force yet: the text keeps the one that it has. With
    `text_id`, of the composed text that this event brought; the candidate is of its memory.
    """

    candidate_id: str
    vector: Vector
    ahead: bool | None = None
    text_id: str | None = None


class PolicySetData(Light):
    """The policy in force from here on, whole.

    `former` is the model of the policy before, if this one is of another: from here on texts are
    compared by their vectors of the new model. `drops` are models whose vectors are not kept in
    memory from here on; the log has them.
    """

    hash: str
    policy: dict[str, Any]
    actor: str | None = None
    former: str | None = None
    drops: tuple[str, ...] | None = None

    @property
    def changes_models(self) -> bool:
        """Whether it changes by which vectors texts are compared, or which are kept."""
        return self.former is not None or self.drops is not None


class JudgeSetData(Light):
    """The judge whose answers are recorded from here on; `former` is the hash of the one before."""

    hash: str
    judge: RecordedJudge
    former: str | None = None


class RanData(Light):
    """A batch run over an owner's memories: its step, when it was due, and its figures.

    `policy` is the hash of the rules that it went by, `session_id` the session that it was about,
    where it was about one. `actor` is the person who asked for it, if no schedule did.
    """

    step: BatchStep
    due: WireTime
    policy: str
    figures: Figures
    session_id: str | None = None
    actor: str | None = None
    because: str | None = None


class RefusedData(Light):
    """A command that could not be, with the reason; verdicts that came with it are kept.

    When they settle later, they do so as what they were: of this rank, by this actor. `rank` is
    absent where there are none, and in older events, whose verdicts were all the judge's. `a` and
    `b` are the two candidates of a command about a pair.
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
    """A request, by its kind, that changed nothing; who made it, and why."""

    request: str
    actor: str | None = None
    because: str | None = None


class AuditOpenedData(Light):
    """An audit of the automatic joins that stood at `position`; the `seed` was drawn after that.

    `joins` is their number and `digest` that of their ids, so another population is noticed.
    `owners` is a pattern of owners and `since` the earliest decision, if not all joins were meant.
    Certified is a share of `target` at the `confidence`; `detection` is the part of 1 - confidence
    that is kept for what the auditor misses, with up to `probes` pairs that are known to be wrong.

    With `recall` it is about the pairs that were *not* joined: an estimate, from that many labels,
    of how many of them say the same. `joins` and `digest` are of those pairs then, and the target
    means nothing.
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
    actor: str | None = None
    because: str | None = None


class AuditLabelledData(Light):
    """What an auditor says of a pair: the decision of a join, or the id of a probe.

    `shown` is the digest of what was seen: a label counts for another audit as long as that is the
    same. The latest label of an audit's pair counts. A `second` one is of another person, who was
    shown the pair without the first one's label: what either calls wrong counts as wrong.
    """

    audit: str
    pair: str
    label: AuditLabel
    shown: str
    second: bool | None = None
    actor: str | None = None
    because: str | None = None


class Stratum(Light):
    """A part of the joins of an audit, `by` decision, policy, guard, embedder, judge and the like.

    `bound` is the share of it that may be wrong, a statement of its own.
    """

    by: str
    value: str
    joins: int
    labels: int
    errors: int
    bound: float


class CertifiedData(Light):
    """That at most `bound` of the joins of an audit are wrong, at its confidence.

    `most` is the number that may have been called wrong, before it is divided by `detected`, the
    least share of wrong ones that the auditor is known to find (1 if no probes were mixed in).
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
