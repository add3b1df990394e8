"""Requests, before they are expanded to one command per owner and join.

They are wire format: they travel through the inbox (embedded) or `memory.commands` (cluster).
"""

from __future__ import annotations

from datetime import datetime
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypedDict
from uuid import UUID

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from palimpsest.contracts.answers import (
    A_co,
    Accessed,
    AddedVectors,
    Agreed,
    Apart,
    Audited,
    Checked,
    Concluded,
    Forgotten,
    LateVectors,
    Merged,
    Named,
    Names,
    NewExpiry,
    PolicyInForce,
    PutBack,
    Recomposed,
    Reinstatements,
    Restorations,
    Retractions,
    Reversals,
    RunReport,
    Session,
    TakenBack,
    Undone,
    Unmerged,
    Updated,
)
from palimpsest.contracts.arguments import Constructed
from palimpsest.contracts.candidate import Metadata, Name, Share, Text, not_blank
from palimpsest.contracts.events import (
    Again,
    AuditLabelledData,
    AuditOpenedData,
    BatchJoin,
    BatchStep,
    CertifiedData,
    Decision,
    Figures,
    Rank,
    Speaker,
    Vector,
)
from palimpsest.contracts.evidence import Evidence, RecordedJudge, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.model import Flag, Strict, Timestamp
from palimpsest.contracts.names import OwnerNames

CandidateId = Annotated[
    str,
    Field(description="A candidate's or a memory's id."),
]
MemoryId = Annotated[
    str,
    Field(description="A memory's id."),
]
DecisionId = Annotated[str, Field(description="The `decision_id` of an answer.")]
Expect = Annotated[
    str | None,
    Field(description="The `version` you saw; fails if it changed."),
]
BECAUSE = Field(description="The user's reason.")
DryRun = Annotated[Flag, Field(description="Only show the result.")]


def _uuid(value: str) -> str:
    """A UUID in its usual form: the ids of all that a request causes are a uuid5 of its own id."""
    try:
        return str(UUID(value))
    except ValueError:
        raise ValueError("must be a UUID, such as uuid4() makes") from None


def require_one(**alternatives: object) -> None:
    """Raise ValueError unless exactly one of these is not None."""
    if [*alternatives.values()].count(None) != len(alternatives) - 1:
        *most, last = alternatives
        raise ValueError(f"name exactly one of {', '.join(most)} and {last}")


class Request(Strict, Generic[A_co]):
    """Who asks, and why. `request_id` is a UUID, fresh for each invocation.

    Requests are idempotent: a repeated one gets its first answer and does nothing; another request
    under the same id is refused (`id_conflict`). `asked`, 32 hex digits, identifies what the caller
    asked for, if the request alone does not. `A_co` is the type of the answer.
    """

    request_id: Annotated[str, AfterValidator(_uuid)]
    actor: str | None = None
    because: Annotated[str | None, BECAUSE] = None
    asked: str | None = None

    if TYPE_CHECKING:
        request: str
        """Declared by each kind of request, at the place that it has in the frozen schema."""
    else:

        @classmethod
        def __class_getitem__(cls, answer: Any) -> GenericAlias:
            """Make no model for each type of answer: that would be a tenth of our start-up time."""
            return GenericAlias(cls, (answer,))


class JudgedRequest(Request[A_co]):
    """A request that may carry a judge's verdicts; `judge` is the judge that gave them."""

    judge: RecordedJudge | None = None


class MergeRequest(Request[Merged]):
    """`palimpsest merge A B [--face A|B]`."""

    request: Literal["merge"] = "merge"
    a: CandidateId
    b: CandidateId
    face: str | None = Field(
        None, description="The one of the two whose text becomes the memory's."
    )


class CombineRequest(JudgedRequest[Concluded]):
    """One join of a batch run: `a` and `b` are the same, by a rule or by the judge's verdict.

    `evidence` names the policy, the pair's scores and the verdicts. If `face` is `text`, `composed`
    is the text made of the `sources`, oldest first.
    """

    request: Literal["combine"] = "combine"
    a: str
    b: str
    decision: BatchJoin
    face: Literal["keep", "take", "text"]
    composed: str | None = None
    sources: tuple[str, ...] = ()
    evidence: Evidence
    rank: Literal["rule", "judge"] = "rule"


class SeparateRequest(JudgedRequest[Apart]):
    """`palimpsest separate A B`; a batch run or a review states it with its own rank.

    `similarity` is the score of the pair, if it was compared.
    """

    request: Literal["separate"] = "separate"
    a: CandidateId
    b: CandidateId
    rank: Rank = "person"
    verdicts: tuple[Verdict, ...] | None = None
    similarity: float | None = None


class ConfirmRequest(JudgedRequest[Agreed]):
    """`palimpsest confirm D`, or a review that agrees with a decision."""

    request: Literal["confirm"] = "confirm"
    decision_id: DecisionId
    rank: Rank = "person"
    verdicts: tuple[Verdict, ...] | None = None


class ReinstateRequest(Request[PutBack]):
    """`palimpsest reinstate D`: also takes back what was done because of the reversal."""

    request: Literal["reinstate"] = "reinstate"
    decision_id: DecisionId
    rank: Speaker = "person"
    dry_run: DryRun = False


class WithdrawRequest(Request[Apart]):
    """`palimpsest withdraw A B`: withdraw people's statement that two are the same, or are not."""

    request: Literal["withdraw"] = "withdraw"
    a: CandidateId
    b: CandidateId


class UnmergeRequest(JudgedRequest[Unmerged]):
    """`palimpsest unmerge`: by exactly one of decision, candidate or memory.

    A review that disagrees with a decision asks for it with its own `rank` and `verdicts`.
    `with_consequences`: the owner's later decisions that would have been different without these
    joins are changed to what they would have been.
    """

    request: Literal["unmerge"] = "unmerge"
    decision_id: str | None = Field(None, description="The join of this decision.")
    candidate_id: str | None = Field(None, description="The join that brought this candidate in.")
    memory_id: str | None = Field(
        None, description="All joins of this memory but verbatim repeats."
    )
    dry_run: DryRun = False
    with_consequences: Flag = Field(
        False, description="Also change later decisions that rested on it."
    )
    rank: Rank = "person"
    verdicts: tuple[Verdict, ...] | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        require_one(
            decision_id=self.decision_id, candidate_id=self.candidate_id, memory_id=self.memory_id
        )
        return self


def _not_blank(some_id: str | None) -> str | None:
    return some_id if some_id is None else not_blank(some_id)


FromSource = Annotated[Name | None, Field(description="Of candidates from this source.")]
DecidedSince = Annotated[Timestamp | None, Field(description="Decided at this time or later.")]
DecidedUntil = Annotated[Timestamp | None, Field(description="Decided before this time.")]
OfKind = Annotated[Decision | None, Field(description="With this kind of decision.")]
Below = Annotated[Share | None, Field(description="With a lower similarity.")]
Folded = Annotated[
    Literal[True] | None,
    Field(description="Exact repeats that differ in more than a sentence's first letter."),
]
OF_CANDIDATE = Field(description="Only this candidate.")
OF_POLICY = Field(description="Joined under the policy with this hash.")
OF_CAUSE = Field(description="Reversed or retracted by the request that has this `cause`.")


def require_criterion(selection: Strict, since: datetime | None, until: datetime | None) -> None:
    """Raise ValueError if a selection would match everything, or its period nothing."""
    if not selection.model_dump(exclude_none=True):
        raise ValueError("an empty selection would match everything: name at least one criterion")
    if since is not None and until is not None and since >= until:
        raise ValueError("nothing was decided between: `since` must be before `until`")


class Selection(Strict, metaclass=Constructed):
    """The candidates (or their decisions) that match all of the given criteria.

    `since` and `until` are compared with `decided_at`: `since` inclusive, `until` exclusive.
    `cause` selects what one request reversed or retracted, in order to bring it back; the answers
    of `reverse`, `unmerge` and `retract` have it, and so do the analysts' views.
    """

    owner_id: Name | None = None
    source: FromSource = None
    since: DecidedSince = None
    until: DecidedUntil = None
    decision: OfKind = None
    candidate_id: Annotated[str | None, AfterValidator(_not_blank), OF_CANDIDATE] = None
    cause: Annotated[str | None, AfterValidator(_not_blank), OF_CAUSE] = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        require_criterion(self, self.since, self.until)
        return self


class JoinSelection(Selection):
    """A selection of joins, also by the hash of the policy that made them or by score.

    `below` selects scores below it. `folded` selects exact repeats whose texts differ in more than
    the case at the start of a sentence (docs/exact.md).
    """

    policy: Annotated[str | None, OF_POLICY] = None
    below: Below = None
    folded: Folded = None


class TakingOut(Request[A_co]):
    """Reverses or retracts everything that the selection matches and that still stands."""

    selection: Selection
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _without_cause(self) -> Self:
        if self.selection.cause is not None:
            raise ValueError(
                "`cause` selects what is reversed or retracted already: reinstate or restore it"
            )
        return self


class ReverseRequest(TakingOut[Reversals]):
    """`palimpsest reverse --source X --since T …`: un-merge in bulk."""

    request: Literal["reverse"] = "reverse"
    selection: JoinSelection


class ReinstateManyRequest(Request[Reinstatements]):
    """`palimpsest reinstate --source X …`: take reversals back in bulk, as `ReinstateRequest` does.

    The selection matches joins as in `ReverseRequest`. The same selection brings back what that
    request reversed, and any of these joins that were reversed earlier; a `cause` limits it to the
    joins that a single request reversed.
    """

    request: Literal["reinstate_many"] = "reinstate_many"
    selection: JoinSelection
    dry_run: DryRun = False


class UpdateRequest(Request[Updated]):
    """`palimpsest update MEMORY TEXT`: change the text of a memory.

    `memory_id` is the id of any member; if `owner_id` is given, it must be that owner's. `expect`
    is a version of the memory, or the candidate that speaks for it: the update is refused if the
    memory has changed since. `merge`: if another memory already has the text, join the two. The
    new text keeps the other fields of the old one, and its `metadata` if you give none, but not its
    `session_id` and `occurred_at`. `source` is the new candidate's.
    """

    request: Literal["update"] = "update"
    memory_id: MemoryId
    text: Text = Field(description="The whole new text.")
    owner_id: Name | None = None
    expect: Expect = None
    merge: Flag = Field(False, description="If another memory has this text, join the two.")
    rank: Speaker = "person"
    source: Name = "update"
    session_id: Name | None = Field(None, description="The conversation it is from.")
    occurred_at: Timestamp | None = Field(None, description="Since when, if not now, with a zone.")
    metadata: Metadata | None = Field(None, description="Replaces the old metadata.")
    dry_run: DryRun = False


class UndoRequest(Request[Undone]):
    """`palimpsest undo ID`: undo an update, named by its decision or by a candidate.

    A candidate that no update brought in stands for the last update of its memory.
    """

    request: Literal["undo"] = "undo"
    decision_id: str | None = None
    candidate_id: str | None = None
    owner_id: Name | None = None
    rank: Speaker = "person"
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        require_one(decision_id=self.decision_id, candidate_id=self.candidate_id)
        return self


class RefuseRequest(Request[TakenBack]):
    """An `undo` or `redo` that no request can carry out: recorded, so a repeat is refused alike."""

    request: Literal["refuse"] = "refuse"
    named: str
    owner_id: Name | None = None
    reason: str
    detail: str


class ForgetRequest(Request[Forgotten]):
    """`palimpsest forget ID…`: forget memories of one owner with all their wordings.

    `expect` is their version, together, or a plan's token, which covers each of them. `again` says
    what happens to a text that arrives again: by default a person is asked (`ask`). If an agent
    forgets, the default is to store the text (`allow`), but to refuse it if it says that it
    happened before the forgetting. The `request_id` names the forgetting. For an owner without
    memories, give `owner_id` and no `memory_ids`.
    """

    request: Literal["forget"] = "forget"
    memory_ids: tuple[str, ...] = Field(description="The memories to forget.")
    owner_id: Name | None = None
    expect: Expect = None
    again: Again | None = Field(
        None,
        description="If the text comes again: `allow` stores it, `ask` asks a person.",
    )
    rank: Speaker = "person"
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _of_an_owner(self) -> Self:
        if not self.memory_ids and self.owner_id is None:
            raise ValueError("name memories, or the owner if it has none")
        return self


class RetractRequest(TakingOut[Retractions]):
    """`palimpsest retract`: hide candidates from recall and search; their joins stay.

    With `again`, the one candidate is forgotten, and `forgotten` of `RestoreRequest` names this
    request: undoing a restoration puts the forgetting back that it ended.
    """

    request: Literal["retract"] = "retract"
    again: Again | None = None
    earlier: Literal["refuse"] | None = None

    @model_validator(mode="after")
    def _forgets_one(self) -> Self:
        if self.again is not None and self.selection.candidate_id is None:
            raise ValueError("`again` needs a selection of one candidate")
        return self


class RestoreRequest(Request[Restorations]):
    """`palimpsest restore`: restore retracted candidates, or all that a single request forgot.

    `forgotten` is the id of that request.
    """

    request: Literal["restore"] = "restore"
    selection: Selection | None = Field(None, description="Which candidates come back.")
    forgotten: str | None = Field(
        None, description="The `forgotten` of the answer that forgot them."
    )
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        require_one(selection=self.selection, forgotten=self.forgotten)
        return self


class SetExpiryRequest(Request[NewExpiry]):
    """Change when a candidate expires; without a time it never does (`palimpsest pin ID`)."""

    request: Literal["set_expiry"] = "set_expiry"
    candidate_id: CandidateId
    expires_at: Timestamp | None = Field(
        None, description="When it expires; without a time, it never does."
    )
    rank: Speaker = "person"


class SetNamesRequest(Request[Names]):
    """`palimpsest names`: replace the names that an owner is called by."""

    request: Literal["set_names"] = "set_names"
    owner_id: Name
    names: OwnerNames = Field(
        description="Two or more, such as Ada, the user and I; an empty list removes them."
    )


class SettleRequest(JudgedRequest[Concluded], metaclass=Constructed):
    """The judge's verdicts on a pending candidate; `composed` is the composed text, if any.

    `sources` are the candidates that it was made of, oldest first. By default they are those of the
    face of the neighbour's memory at the time of the request, and the pending candidate.
    """

    request: Literal["settle"] = "settle"
    candidate_id: str
    verdicts: Annotated[tuple[Verdict, ...], Field(min_length=1)]
    composed: str | None = None
    sources: tuple[str, ...] = ()


class ComposeRequest(JudgedRequest[Recomposed]):
    """A text recomposed from the given sources, for a memory that needs one.

    The `verdicts` record what it cost.
    """

    request: Literal["compose"] = "compose"
    decision_id: str
    text: str
    sources: Annotated[tuple[str, ...], Field(min_length=1)]
    verdicts: tuple[Verdict, ...] = ()


class ComposedText(Strict):
    """What the judge composed of the `sources`, oldest first; no text if nothing was usable."""

    sources: tuple[str, ...]
    text: str | None = None
    verdict: Verdict


class RunRequest(JudgedRequest[RunReport]):
    """A batch run over one owner's memories: `palimpsest dedupe`, or a schedule.

    Owner, step and `due` identify the run: it is done once, however often it is requested. `force`
    ignores the policy's conditions. `figures` are given for a run whose joins were requested one by
    one because a judge took part; such a request only records the run. `composed` are the texts
    for pairs that the rule `pairs` wants composed; a dry run's answer lists those that are needed,
    with the number of the owner's `events`. The run is refused if that number is not `expect`.
    """

    request: Literal["run"] = "run"
    owner_id: Name
    step: BatchStep
    due: Timestamp
    force: bool = False
    dry_run: bool = False
    figures: Figures | None = None
    composed: tuple[ComposedText, ...] = ()
    expect: int | None = None


class AccessRequest(Request[Accessed]):
    """A memory was used; `candidate_id` is any of its members."""

    request: Literal["access"] = "access"
    candidate_id: str


class SubmitRequest(Request[Named]):
    """Reserves the id of a submission to a cluster, with its `asked`, before rows are published."""

    request: Literal["submit"] = "submit"
    owner_id: Name


class SessionRequest(Request[Session]):
    """A session ended, or its conversation was compacted."""

    request: Literal["end_session", "compact"]
    owner_id: Name
    session_id: Name = Field(description="Its memories' session_id.")


class EmbedRequest(Request[LateVectors]):
    """`palimpsest embed`: vectors for texts of an owner that were stored while the model was down.

    With `long`, windows for texts that are longer than the model's input and were stored before
    windows existed. One request embeds some of them; the answer says how many are `left`.
    """

    request: Literal["embed"] = "embed"
    owner_id: Name
    long: bool = False


class TextVector(Strict):
    """A vector of a candidate's text or, with `text_id`, of the text that this event composed."""

    candidate_id: str
    text_id: str | None = None
    vector: Vector


class AddVectorsRequest(Request[AddedVectors]):
    """`palimpsest embed --model`: another model's vectors for some of an owner's texts."""

    request: Literal["add_vectors"] = "add_vectors"
    owner_id: Name
    vectors: tuple[TextVector, ...]


class CheckRequest(Request[Checked]):
    """`palimpsest check`: what would be decided on a candidate; nothing is written.

    `row` is the candidate as a producer would send it, in JSON; `source` applies to a bare row.
    """

    request: Literal["check"] = "check"
    owner_id: Name
    row: str
    source: Name


class PolicyRequest(Request[PolicyInForce]):
    """`palimpsest policy set`: put a whole policy in force.

    If it names another embedding model, texts are compared by that model from then on; the request
    is refused while any text lacks a vector of it. `former` is the previous model, which a
    partition without events does not know. `drops` are models whose vectors are no longer read.
    """

    request: Literal["set_policy"] = "set_policy"
    policy: dict[str, object]
    former: Name | None = None
    drops: tuple[Name, ...] = ()


class OpenAuditRequest(Request[Audited]):
    """`palimpsest audit open`: audit the joins standing at a position, sealed before the seed."""

    request: Literal["open_audit"] = "open_audit"
    opened: AuditOpenedData


class LabelAuditRequest(Request[Audited]):
    """`palimpsest audit label`: an auditor's label of one pair."""

    request: Literal["label_audit"] = "label_audit"
    labelled: AuditLabelledData


class CertifyRequest(Request[Audited]):
    """`palimpsest audit certify`: record what the labels of an audit prove."""

    request: Literal["certify"] = "certify"
    certified: CertifiedData


AnyRequest = Annotated[
    MergeRequest
    | CombineRequest
    | SeparateRequest
    | ConfirmRequest
    | ReinstateRequest
    | WithdrawRequest
    | UnmergeRequest
    | ReverseRequest
    | ReinstateManyRequest
    | UpdateRequest
    | UndoRequest
    | RefuseRequest
    | ForgetRequest
    | RetractRequest
    | RestoreRequest
    | SetExpiryRequest
    | SetNamesRequest
    | SettleRequest
    | ComposeRequest
    | RunRequest
    | AccessRequest
    | SubmitRequest
    | SessionRequest
    | EmbedRequest
    | AddVectorsRequest
    | CheckRequest
    | PolicyRequest
    | OpenAuditRequest
    | LabelAuditRequest
    | CertifyRequest,
    Field(discriminator="request"),
]
REQUEST: TypeAdapter[AnyRequest] = TypeAdapter(AnyRequest)

OneCommand = (
    MergeRequest
    | CombineRequest
    | SeparateRequest
    | WithdrawRequest
    | ConfirmRequest
    | SetExpiryRequest
    | SetNamesRequest
    | SettleRequest
    | ComposeRequest
    | AccessRequest
    | SessionRequest
)
"""A request that becomes one command of one owner, of the same kind and with the same fields.

The writer adds the owner, as the log knows it, and the vector of a composed text."""


def target_of(request: OneCommand) -> str:
    """The target of a request's one command; with the request's id, it gives the command's id."""
    match request:
        case MergeRequest() | CombineRequest() | SeparateRequest() | WithdrawRequest():
            return "pair"
        case ConfirmRequest() | ComposeRequest():
            return request.decision_id
        case SetExpiryRequest() | SettleRequest() | AccessRequest():
            return request.candidate_id
        case SessionRequest():
            return request.session_id
        case SetNamesRequest():
            return request.owner_id


class CommandHead(TypedDict):
    """The fields that a command takes from its request."""

    command_id: str
    owner_id: str
    actor: str | None
    because: str | None


def command_head(request: Request, owner_id: str, target: str) -> CommandHead:
    """The head of a request's command about one target; a repeated request gets the same one."""
    return {
        "command_id": event_id(request.request_id, target),
        "owner_id": owner_id,
        "actor": request.actor,
        "because": request.because,
    }


def is_dry_run(request: Request) -> bool:
    """Whether nothing is to be written; many kinds of request have no dry run."""
    return bool(getattr(request, "dry_run", False))
