"""What a person asks for, before it is expanded to one command per owner and join.

They travel through the inbox (embedded) or `memory.commands` (cluster): they are wire format.
"""

from __future__ import annotations

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
from palimpsest.contracts.candidate import Metadata, Name, Text
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
from palimpsest.contracts.model import Strict, Timestamp
from palimpsest.contracts.names import OwnerNames

CandidateId = Annotated[
    str,
    Field(description="The id of a candidate or a memory, whole or its beginning."),
]
MemoryId = Annotated[
    str,
    Field(description="A memory's id, or its beginning; former ones work."),
]
DecisionId = Annotated[str, Field(description="The `decision_id` of an answer.")]
Expect = Annotated[
    str | None,
    Field(description="The `version` that you saw: fails (`moved_on`) if it changed."),
]
DryRun = Annotated[bool, Field(description="Only show the result; write nothing.")]


def _uuid(value: str) -> str:
    """The ids of all that a request causes are uuid5 of its own, so its own must be one."""
    try:
        return str(UUID(value))
    except ValueError:
        raise ValueError("must be a UUID, such as uuid4() makes") from None


def require_one(**alternatives: object) -> None:
    """ValueError unless exactly one of these is given: the others are None."""
    if [*alternatives.values()].count(None) != len(alternatives) - 1:
        *most, last = alternatives
        raise ValueError(f"name exactly one of {', '.join(most)} and {last}")


class Request(Strict, Generic[A_co]):
    """Who asks, and why. `request_id` is a UUID, fresh for each invocation.

    Asked again, a request is answered as it was, and does nothing; asked for something else under
    its id, it is refused (`id_conflict`). `asked` stands for what was asked, where a caller's words
    say more than the request: 32 hex digits. `A_co` is the type of its answer.
    """

    request_id: Annotated[str, AfterValidator(_uuid)]
    actor: str | None = None
    because: str | None = Field(None, description="The reason, in the user's words.")
    asked: str | None = None

    if TYPE_CHECKING:
        request: str
        """Each kind's own, where the frozen schema has it."""
    else:

        @classmethod
        def __class_getitem__(cls, answer: Any) -> GenericAlias:
            """No model of its own for each answer: pydantic would take a tenth of our start."""
            return GenericAlias(cls, (answer,))


class JudgedRequest(Request[A_co]):
    """A request that a judge's verdicts may come with; `judge` is who gave them."""

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

    `evidence` names the policy, the pair's scores and the verdicts. Where `face` is `text`,
    `composed` is the text made of the `sources`, oldest first.
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
    """`palimpsest separate A B`; a batch run's and a review's words have their own ranks.

    `similarity` is the score of the pair, where it was looked at.
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
    """`palimpsest reinstate D`: with all that was done because of the reversal."""

    request: Literal["reinstate"] = "reinstate"
    decision_id: DecisionId
    rank: Speaker = "person"
    dry_run: DryRun = False


class WithdrawRequest(Request[Apart]):
    """`palimpsest withdraw A B`: what people said of two, that they are not the same, or are."""

    request: Literal["withdraw"] = "withdraw"
    a: CandidateId
    b: CandidateId


class UnmergeRequest(JudgedRequest[Unmerged]):
    """`palimpsest unmerge`: by exactly one of decision, candidate or memory.

    A review that does not agree with a decision asks for it with its own `rank` and `verdicts`.
    `with_consequences`: the owner's later decisions that would have been others without these joins
    are carried out as they would have been.
    """

    request: Literal["unmerge"] = "unmerge"
    decision_id: str | None = Field(None, description="The join of this decision.")
    candidate_id: str | None = Field(None, description="The join that brought this candidate in.")
    memory_id: str | None = Field(
        None, description="A memory: all of its joins except verbatim repeats."
    )
    dry_run: DryRun = False
    with_consequences: bool = Field(
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


class Selection(Strict):
    """Which candidates (or their decisions) a bulk request means; all that is given must hold.

    `since` and `until` are compared with `decided_at`: `since` inclusive, `until` exclusive.
    `cause` means what one request took out or retracted, to bring it back: it is in the answers of
    `reverse`, `unmerge` and `retract`, and in the analysts' views.
    """

    owner_id: Name | None = None
    source: Name | None = None
    since: Timestamp | None = None
    until: Timestamp | None = None
    decision: Decision | None = None
    candidate_id: str | None = None
    cause: str | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("say which: an empty selection would mean everything")
        return self


class JoinSelection(Selection):
    """Which joins: also by the hash of the policy that made them, or scores below a bound.

    `folded` means exact repeats whose texts differ verbatim in more than the case of a sentence's
    start (docs/exact.md).
    """

    policy: str | None = None
    below: Annotated[float, Field(ge=0, le=1)] | None = None
    folded: Literal[True] | None = None


class TakingOut(Request[A_co]):
    """Takes out what a selection means; of what is out already it takes nothing."""

    selection: Selection
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _without_cause(self) -> Self:
        if self.selection.cause is not None:
            raise ValueError("a cause names what is out already, for reinstating and restoring")
        return self


class ReverseRequest(TakingOut[Reversals]):
    """`palimpsest reverse --source X --since T …`: un-merge in bulk."""

    request: Literal["reverse"] = "reverse"
    selection: JoinSelection


class ReinstateManyRequest(Request[Reinstatements]):
    """`palimpsest reinstate --source X …`: take reversals back in bulk, as `ReinstateRequest` does.

    The selection means joins as that of `ReverseRequest` does. The same one brings them back, and
    with them what was taken out of these joins before; with a `cause` it is that request's alone.
    """

    request: Literal["reinstate_many"] = "reinstate_many"
    selection: JoinSelection
    dry_run: DryRun = False


class UpdateRequest(Request[Updated]):
    """`palimpsest update MEMORY TEXT`: the memory says another text from now on.

    `memory_id` is any member's; with `owner_id` it has to be that owner's. With `expect`, a version
    of the memory or the candidate that speaks for it, it is refused where the memory has moved on.
    `merge`: where the text lives in another memory, make one of the two. What is not said of the
    new text, such as its `metadata`, is as it was of the old one. `source` is the candidate's.
    """

    request: Literal["update"] = "update"
    memory_id: MemoryId
    text: Text = Field(description="The whole new text of the memory.")
    owner_id: Name | None = None
    expect: Expect = None
    merge: bool = Field(
        False, description="If another memory already has this text, join the two memories."
    )
    rank: Speaker = "person"
    source: Name = "update"
    session_id: Name | None = Field(None, description="The conversation in which it was said.")
    occurred_at: Timestamp | None = Field(
        None, description="Since when, if not from now on, with a zone."
    )
    metadata: Metadata | None = Field(
        None, description="The new metadata; if left out, it is copied from the old text."
    )
    dry_run: DryRun = False


class UndoRequest(Request[Undone]):
    """`palimpsest undo ID`: an update is taken back, by its decision or by a candidate.

    The candidate is that of the update; any other means the last update of its memory.
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
    """An `undo` or `redo` for which no request was found: when it comes again, it is refused so."""

    request: Literal["refuse"] = "refuse"
    named: str
    owner_id: Name | None = None
    reason: str
    detail: str


class ForgetRequest(Request[Forgotten]):
    """`palimpsest forget ID…`: memories of one owner are forgotten with all their wordings.

    `expect` is the version of all of them together, such as a plan's token. `again` is what becomes
    of a text that comes again: by default a person is asked (`ask`); where an agent forgets, it is
    stored (`allow`), but refused if it says that it happened before. The `request_id` names the
    forgetting. An owner without memories is named by `owner_id` alone, with no `memory_ids`.
    """

    request: Literal["forget"] = "forget"
    memory_ids: tuple[str, ...] = Field(
        description="The memories to forget: all that were found, or some of them."
    )
    owner_id: Name | None = None
    expect: Expect = None
    again: Again | None = Field(
        None,
        description="If the text comes again: `allow` stores it as new, `refuse` refuses it,"
        " `ask` lets it wait for a person.",
    )
    rank: Speaker = "person"
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _of_an_owner(self) -> Self:
        if not self.memory_ids and self.owner_id is None:
            raise ValueError("name memories, or the owner who has none")
        return self


class RetractRequest(TakingOut[Retractions]):
    """`palimpsest retract`: candidates leave life and search, their joins stay."""

    request: Literal["retract"] = "retract"


class RestoreRequest(Request[Restorations]):
    """`palimpsest restore`: what was retracted comes back, or all of what was `forgotten` at once.

    A forgetting is named by its request.
    """

    request: Literal["restore"] = "restore"
    selection: Selection | None = Field(None, description="Which candidates come back.")
    forgotten: str | None = Field(
        None, description="The name of a forgetting, as the answer that forgot has it."
    )
    dry_run: DryRun = False

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        require_one(selection=self.selection, forgotten=self.forgotten)
        return self


class SetExpiryRequest(Request[NewExpiry]):
    """Have a candidate expire at another time; without one it never does (`palimpsest pin ID`)."""

    request: Literal["set_expiry"] = "set_expiry"
    candidate_id: CandidateId
    expires_at: Timestamp | None = Field(
        None, description="From when on it is hidden; without it, it never expires."
    )
    rank: Speaker = "person"


class SetNamesRequest(Request[Names]):
    """`palimpsest names`: by which names an owner is called, in place of those until then."""

    request: Literal["set_names"] = "set_names"
    owner_id: Name
    names: OwnerNames = Field(
        description="Two or more, such as Ada, the user and I; an empty list takes them back."
    )


class SettleRequest(JudgedRequest[Concluded]):
    """The judge's verdicts on a pending candidate; `composed` is the text where one was asked.

    `sources` are the candidates that it was made of, oldest first; else those of the face that the
    neighbour's memory has when the request is carried out, and the pending one.
    """

    request: Literal["settle"] = "settle"
    candidate_id: str
    verdicts: Annotated[tuple[Verdict, ...], Field(min_length=1)]
    composed: str | None = None
    sources: tuple[str, ...] = ()


class ComposeRequest(JudgedRequest[Recomposed]):
    """A text recomposed from the named sources, for a memory that needs one.

    `verdicts` say what it cost.
    """

    request: Literal["compose"] = "compose"
    decision_id: str
    text: str
    sources: Annotated[tuple[str, ...], Field(min_length=1)]
    verdicts: tuple[Verdict, ...] = ()


class ComposedText(Strict):
    """What the judge composed of the `sources`, oldest first; no text where nothing was usable."""

    sources: tuple[str, ...]
    text: str | None = None
    verdict: Verdict


class RunRequest(JudgedRequest[RunReport]):
    """A batch run over one owner's memories: `palimpsest dedupe`, or a schedule.

    Owner, step and `due` name the run: however many ask for it, it is done once. `force` leaves the
    policy's conditions aside. `figures` are those of a run whose joins were requested one by one,
    because a judge took part in it; then only its record is asked for. `composed` has the texts
    for pairs that the rule `pairs` has composed; a dry run's answer has those to make, and the
    number of the owner's `events`: with another number than the one to `expect` a run is refused.
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
    """The id of a submission to a cluster, and `asked` of it, before its rows are published."""

    request: Literal["submit"] = "submit"
    owner_id: Name


class SessionRequest(Request[Session]):
    """A session ended, or its conversation was compacted."""

    request: Literal["end_session", "compact"]
    owner_id: Name
    session_id: Name = Field(description="The conversation's id, as its memories have it.")


class EmbedRequest(Request[LateVectors]):
    """`palimpsest embed`: vectors for texts of an owner that were stored while the model was down.

    With `long`, windows for those longer than the model's input that were stored before there were
    any. A part of them; the answer says how many are `left`.
    """

    request: Literal["embed"] = "embed"
    owner_id: Name
    long: bool = False


class TextVector(Strict):
    """A text's vector: the text by a candidate, or a composed one by the event that brought it."""

    candidate_id: str
    text_id: str | None = None
    vector: Vector


class AddVectorsRequest(Request[AddedVectors]):
    """`palimpsest embed --model`: vectors of another model for some of an owner's texts."""

    request: Literal["add_vectors"] = "add_vectors"
    owner_id: Name
    vectors: tuple[TextVector, ...]


class CheckRequest(Request[Checked]):
    """`palimpsest check`: what would become of a candidate; nothing is written.

    `row` is the candidate as a producer would send it, in JSON; `source` that of a bare row.
    """

    request: Literal["check"] = "check"
    owner_id: Name
    row: str
    source: Name


class PolicyRequest(Request[PolicyInForce]):
    """`palimpsest policy set`: the whole policy, in force from then on.

    If it is of another embedding model, texts are compared by that from then on; it is refused
    while any text lacks a vector of it. `former` is the one before: a cluster's partition that has
    no events does not know. `drops` are models whose vectors nothing reads any more.
    """

    request: Literal["set_policy"] = "set_policy"
    policy: dict[str, object]
    former: Name | None = None
    drops: tuple[Name, ...] = ()


class OpenAuditRequest(Request[Audited]):
    """`palimpsest audit open`: the joins that stand at a position, and a seed drawn after it."""

    request: Literal["open_audit"] = "open_audit"
    opened: AuditOpenedData


class LabelAuditRequest(Request[Audited]):
    """`palimpsest audit label`: what an auditor says of one pair."""

    request: Literal["label_audit"] = "label_audit"
    labelled: AuditLabelledData


class CertifyRequest(Request[Audited]):
    """`palimpsest audit certify`: what the labels of an audit prove."""

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
"""A request that is one command of one owner, of the same kind and with the same fields.

The writer adds what it lacks: the owner, as the log knows it, and the vector of a composed text."""


def target_of(request: OneCommand) -> str:
    """What a request's one command is about: its id follows from this and the request's id."""
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
    """The fields that a command has from its request."""

    command_id: str
    owner_id: str
    actor: str | None
    because: str | None


def command_head(request: Request, owner_id: str, target: str) -> CommandHead:
    """The head of a request's command about one target; always the same, also if it is repeated."""
    return {
        "command_id": event_id(request.request_id, target),
        "owner_id": owner_id,
        "actor": request.actor,
        "because": request.because,
    }


def is_dry_run(request: Request) -> bool:
    """Whether nothing is to be written; many kinds have no dry run."""
    return bool(getattr(request, "dry_run", False))
