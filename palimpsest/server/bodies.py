"""Input and output models of the HTTP API and the tools; OpenAPI is generated from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NotRequired,
    Self,
    TypedDict,
    get_args,
)

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic.fields import FieldInfo

from palimpsest.contracts.candidate import (
    Duration,
    Kind,
    Metadata,
    Name,
    Share,
    Text,
    not_blank,
)
from palimpsest.contracts.limits import LONGEST_REASON, MOST, NETWORK
from palimpsest.contracts.model import REAL, WHOLE, Flag, Strict, Timestamp
from palimpsest.contracts.requests import (
    BECAUSE,
    OF_CANDIDATE,
    OF_CAUSE,
    OF_POLICY,
    Below,
    DecidedSince,
    DecidedUntil,
    DryRun,
    Folded,
    FromSource,
    JoinSelection,
    OfKind,
    Selection,
    require_criterion,
)
from palimpsest.contracts.shown import Recalled
from palimpsest.queries.find import By
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.extract.conversation import timed

MOST_AT_ONCE = 100
MOST_NAMED = 10_000
"""Maximum number of ids in a request: this many still fit into its body."""
LONGEST_TOKEN = 9 * MOST_NAMED
"""Maximum length of a token, which has a part for each memory that it covers."""
LONGEST_WAIT = 30.0

Some = Annotated[int, Field(ge=1, le=NETWORK.found), WHOLE]
Score = Annotated[float, Field(ge=-1, le=1), REAL]
Because = Annotated[str, Field(max_length=LONGEST_REASON)]
OF_ID = (Field(min_length=1, max_length=600), AfterValidator(not_blank))
"""Bounds of an id."""
SomeId = Annotated[str, *OF_ID]
Token = Annotated[str, Field(min_length=1, max_length=LONGEST_TOKEN)]
Position = Annotated[int, Field(ge=0, le=MOST), WHOLE]

When = Annotated[Position | Timestamp | None, Field(union_mode="left_to_right")]
"""A position of the log (digits only), or a time."""


COMPARTMENT = "A compartment; joins never cross one."
OF_SESSION = "The conversation it is from."
NAMESPACE = "Of this compartment."
CATEGORY = "Of this category."
METADATA = "With these metadata."
SINCE = "From this time on."
UNTIL = "Before this time."
AS_OF = "A position of the log, or a time: answers as of then."
FORMER = "Also texts that updates replaced."
EXPIRED = "Also expired ones."


def _undescribed(schema: dict[str, Any]) -> None:
    """Drop what models know about messages: a model pays for every byte of a list of tools."""
    del schema["description"], schema["properties"]["role"]["default"]
    schema["properties"]["content"] = {}


class NewMemory(Strict):
    """A new memory. `id` is the producer's own: if it is offered again, nothing changes."""

    text: Text = Field(description="One fact, in a sentence that is clear by itself.")
    namespace: Name | None = Field(None, description=COMPARTMENT)
    id: Name | None = Field(None, description="Your own id: adding it again changes nothing.")
    session_id: Name | None = Field(None, description=OF_SESSION)
    occurred_at: Timestamp | None = Field(
        None, description="When it happened, if not now, with a zone."
    )
    category: Name | None = Field(None, description="One word for its kind; searches filter by it.")
    kind: Kind | None = Field(
        None, description="`fact` (default), or `perception`: how somebody felt."
    )
    confidence: Share | None = Field(None, description="How sure it is, 0 to 1.")
    importance: Share | None = Field(None, description="How much it matters, 0 to 1.")
    intensity: Share | None = Field(None, description="How strongly it was felt, 0 to 1.")
    topics: Annotated[tuple[Name, ...], Field(max_length=100)] | None = Field(
        None, description="Its subjects, one word each."
    )
    metadata: Metadata | None = Field(None, description="Your own fields; searches filter by them.")
    ttl: Duration | None = Field(
        None, description="For how long it holds: 90m, 12h, 7d, 2w, or seconds."
    )
    expires_at: Timestamp | None = Field(None, description="Until when it holds, with a zone.")

    def fields(self) -> dict[str, Any]:
        """The fields in the form of a candidate's."""
        return self.model_dump(mode="json", exclude_none=True)


class NewMemories(Strict):
    """Several memories, decided on in order."""

    memories: Annotated[tuple[NewMemory, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]


class SaidMessage(BaseModel):
    """A message as chats have them; other fields, such as tool calls, are ignored."""

    model_config = ConfigDict(
        frozen=True, hide_input_in_errors=True, json_schema_extra=_undescribed
    )

    role: Annotated[str, Field(min_length=1, max_length=64)] = "user"
    content: str | tuple[Any, ...] | None = None
    id: Name | None = None
    at: Timestamp | None = None

    _timed = model_validator(mode="before")(timed)


class Conversation(Strict):
    """What was said in a conversation, in order; all of it is remembered, or nothing."""

    messages: Annotated[tuple[SaidMessage, ...], Field(min_length=1, max_length=WINDOW)] = Field(
        description="In order; `content` is text or parts, `at` its time, with a zone."
    )
    infer: Flag | None = Field(
        None,
        description="Extract memories with the judge's model, or store each message as it is; by"
        " default it depends on whether the server has a judge.",
    )
    namespace: Name | None = Field(None, description=COMPARTMENT)
    session_id: Name | None = Field(None, description=OF_SESSION)


class SearchQuery(Strict):
    """A search query, in any words."""

    query: Text = Field(description="A question, or any words.")
    k: Some = Field(5, description="How many at most.")
    namespace: Name | None = Field(None, description=NAMESPACE)
    category: Name | None = Field(None, description=CATEGORY)
    metadata: Metadata | None = Field(None, description=METADATA)
    since: Timestamp | None = Field(None, description=SINCE)
    until: Timestamp | None = Field(None, description=UNTIL)
    show_expired: Flag = Field(False, description=EXPIRED)
    session_id: Name | None = Field(None, description="The conversation that asks.")
    exclude_session: Flag = Field(False, description="Leave out what only `session_id` has said.")
    min_confidence: Share | None = Field(None, description="Lowest confidence, 0 to 1.")
    hybrid: Flag | None = Field(
        None,
        description="Move memories up that mention an identifier of the query, such as INC-7;"
        " the default unless the owner is very large.",
    )
    min_score: Score | Literal["model"] | None = Field(
        None,
        description="Leave out those with a lower score. `model`: the score below which they are"
        " hardly related by the model in force, if it is known.",
    )
    max_tokens: Annotated[int, Field(ge=1), WHOLE] | None = Field(
        None, description="About how many tokens of text to return."
    )

    @model_validator(mode="after")
    def _session_to_exclude(self) -> Self:
        if self.exclude_session and self.session_id is None:
            raise ValueError("exclude_session needs the session_id of the conversation")
        return self

    def fields(self) -> dict[str, Any]:
        """The keywords of `recall`, which leaves out what the session `session_id` has stated."""
        fields = self.model_dump(exclude={"query", "exclude_session"})
        return fields if self.exclude_session else {**fields, "session_id": None}


class Search(SearchQuery):
    """A search query. `as_of`, for reviewers and operators, is a position of the log or a time."""

    former: Flag = Field(False, description=FORMER)
    fold: Flag = Field(
        True,
        description="Show indistinguishable memories once: the hit lists the others as `folded`.",
    )
    as_of: When = Field(None, description=AS_OF)


class Find(Strict):
    """A query by whole words or by meaning."""

    query: Text = Field(
        description="Words that the memories contain, such as a name; all match whole."
    )
    by: Annotated[tuple[By, ...], Field(min_length=1, max_length=2)] = Field(
        ("words", "meaning"),
        description="One of the two, or both.",
    )
    k: Some = Field(5, description="How many by meaning; all by words.")
    namespace: Name | None = Field(None, description=NAMESPACE)
    show_expired: Flag = Field(False, description=EXPIRED)


class ListQuery(Strict):
    """Which memories to list. `after` is the `next` of the previous page."""

    limit: Annotated[int, Field(ge=1, le=NETWORK.listed), WHOLE] = Field(
        50, description="How many at most."
    )
    after: SomeId | None = Field(None, description="The `next` of the page before.")
    former: Flag = Field(False, description=FORMER)
    namespace: Name | None = Field(None, description=NAMESPACE)
    category: Name | None = Field(None, description=CATEGORY)
    since: Timestamp | None = Field(None, description=SINCE)
    until: Timestamp | None = Field(None, description=UNTIL)
    show_expired: Flag = Field(False, description=EXPIRED)

    def fields(self) -> dict[str, Any]:
        """The fields that are set."""
        return self.model_dump(exclude_none=True)


class ListBody(ListQuery):
    """Like the query of a list, with values that a memory's metadata must have."""

    metadata: Metadata | None = Field(None, description=METADATA)


class OfPlan(Strict):
    """The token of a plan that showed some memories."""

    token: Token = Field(description="The token of `find_memories`.")


class ForgetAll(Strict):
    """Without a `token`, only shows what would be forgotten."""

    token: SomeId | None = Field(None, description="The token of a call without one.")
    because: Annotated[Because | None, BECAUSE] = None


class TakeBody(Strict):
    """What to undo or redo. With a dry run's `token`, the call fails if the result differs."""

    id: SomeId = Field(
        description="An answer's `undo`, `decision_id` or `event_id`, or a memory's id for its"
        " last change."
    )
    token: SomeId | None = Field(None, description="The token of a dry run.")
    because: Annotated[Because | None, BECAUSE] = None
    dry_run: DryRun = False


class OwnSelection(Strict):
    """Selects candidates of the owner that match all given criteria."""

    kind: ClassVar[type[Selection]] = Selection

    source: FromSource = None
    since: DecidedSince = None
    until: DecidedUntil = None
    decision: OfKind = None
    candidate_id: Annotated[SomeId | None, OF_CANDIDATE] = None
    cause: Annotated[SomeId | None, OF_CAUSE] = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        require_criterion(self, self.since, self.until)
        return self

    def of(self, owner_id: str, candidate_id: str | None) -> Selection:
        """The selection among an owner's candidates, with the full id of its candidate."""
        given = self.model_dump() | {"owner_id": owner_id, "candidate_id": candidate_id}
        return self.kind.model_validate(given)


class OwnJoinSelection(OwnSelection):
    """Selects joins of the owner, also by their policy's hash or an upper limit of the score."""

    kind: ClassVar[type[Selection]] = JoinSelection

    policy: Annotated[SomeId | None, OF_POLICY] = None
    below: Below = None
    folded: Folded = None


OF_THE_DOOR = frozenset(
    "request request_id actor asked rank owner_id source verdicts judge similarity".split()
)
"""Fields of a request that the door fills in, such as its id, the owner and the actor."""

BOUNDS: Mapping[str, Any] = {
    "because": Because,
    "candidate_id": SomeId,
    "expect": Token,
    "memory_ids": Annotated[tuple[SomeId, ...], Field(min_length=1, max_length=MOST_NAMED)],
}
"""Bounds for callers over a network; requests in logs are read without them."""


def parameters(
    name: str,
    *kinds: type[BaseModel],
    without: Iterable[str] = (),
) -> type[Strict]:
    """The fields that a caller gives, with their descriptions and the bounds for a network."""
    hidden = {*OF_THE_DOOR, *without}
    fields: dict[str, Any] = {}
    for kind in kinds:
        for field, declared in kind.model_fields.items():
            if field not in hidden and field not in fields:
                fields[field] = _bounded(field, declared)
    return create_model(name, __base__=Strict, **fields)


def _bounded(name: str, declared: FieldInfo) -> tuple[Any, FieldInfo]:
    kind = declared.annotation
    is_text = {*(get_args(kind) or (kind,))} <= {str, NoneType} and not declared.metadata
    bound = BOUNDS.get(name, SomeId if is_text else None)
    if bound is None:
        return kind, copy(declared)
    optional = bound | None if NoneType in get_args(kind) else bound
    default = ... if declared.is_required() else None
    return optional, FieldInfo(default=default, description=declared.description)


class ForgottenAll(TypedDict):
    """The candidates that were or would be forgotten; `token` is for the second call.

    `forgotten` is the name by which exactly these can be restored.
    """

    done: bool
    token: str | None
    forgotten: str | None
    candidates: list[str]


class FeedQuery(Strict):
    """What comes after a page's `next`; if there is nothing yet, waits up to `wait` seconds.

    Reviewers and operators may give a position of the log.
    """

    after: Annotated[Position | SomeId, Field(union_mode="left_to_right")] = 0
    limit: Annotated[int, Field(ge=1, le=NETWORK.listed), WHOLE] = 50
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False), REAL] = 0.0


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


class FromMessage(Added):
    """The outcome of a memory from a conversation, with its text and the message it is from.

    `message` is the message's own id, or its number from 1. Until a cluster has decided, `text` and
    `message` are missing.
    """

    text: NotRequired[str]
    message: NotRequired[str | int | None]


class AddedMessages(TypedDict):
    """The outcome of each memory of a conversation, in order."""

    memories: list[FromMessage]


class FoundMemories(TypedDict):
    """The memories nearest to a question, best first.

    `weaker` counts those that were left out because they scored less than `min_score`.
    """

    memories: list[Recalled]
    weaker: int
    min_score: float | None


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
