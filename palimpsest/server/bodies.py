"""What the HTTP door and the tools understand, and what they answer: OpenAPI is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Self, TypedDict

from pydantic import Field, model_validator

from palimpsest.contracts.candidate import Kind, Metadata, Name, Share, Text
from palimpsest.contracts.events import Again
from palimpsest.contracts.limits import NETWORK
from palimpsest.contracts.model import Strict, Timestamp
from palimpsest.contracts.requests import require_one
from palimpsest.contracts.shown import Recalled
from palimpsest.queries.find import By

MOST_AT_ONCE = 100
MOST_NAMED = 10_000
"""This many ids still fit into a request body."""
LONGEST_TOKEN = 9 * MOST_NAMED
"""Maximum length of a token: it has a part for each memory that it covers."""
LONGEST_WAIT = 30.0

Some = Annotated[int, Field(ge=1, le=NETWORK.found)]
Because = Annotated[str, Field(max_length=2000)]
SomeId = Annotated[str, Field(min_length=1, max_length=600)]
Position = Annotated[int, Field(ge=0, le=2**63 - 1)]

When = Annotated[Position | Timestamp | None, Field(union_mode="left_to_right")]
"""A position of the log, which has digits alone, or a time."""


NAMESPACE = "Only memories of this compartment; all if it is left out."
CATEGORY = "Only memories of this category."
METADATA = "Only memories whose metadata have all of these values."
SINCE = "Only what happened at this time or later: ISO 8601 with a zone."
UNTIL = "Only what happened before this time: ISO 8601 with a zone."
BECAUSE = "Why, in the user's words: it is recorded and shown in the history."
EXPECT = "The `version` that you have seen: refused (`moved_on`) if the memory has changed since."
DRY_RUN = "Only show what would be; nothing is written."


class NewMemory(Strict):
    """A memory as it is offered. `id` is the producer's own: offered again with it, it is known."""

    text: Text = Field(
        description="One fact, in a sentence that is understood without the conversation."
    )
    namespace: Name | None = Field(
        None, description="A compartment of the owner's memories: nothing joins across two."
    )
    id: Name | None = Field(
        None, description="Your own id of this memory: added again with it, nothing happens."
    )
    session_id: Name | None = Field(None, description="The conversation in which it was said.")
    occurred_at: Timestamp | None = Field(
        None, description="When it happened or was said, if not now: ISO 8601 with a zone."
    )
    category: Name | None = Field(None, description="One word for its kind; searches filter by it.")
    kind: Kind | None = Field(
        None, description="`fact`, which is the default, or `perception`: how somebody felt."
    )
    confidence: Share | None = Field(None, description="How sure it is, from 0 to 1.")
    importance: Share | None = Field(None, description="How much it matters, from 0 to 1.")
    intensity: Share | None = Field(None, description="How strongly it was felt, from 0 to 1.")
    topics: Annotated[tuple[Name, ...], Field(max_length=100)] | None = Field(
        None, description="What it is about, in a word each."
    )
    metadata: Metadata | None = Field(
        None, description="Further fields of your own; searches filter by their values."
    )

    def fields(self) -> dict[str, Any]:
        """What was said, as a candidate has it."""
        return self.model_dump(mode="json", exclude_none=True)


class NewMemories(Strict):
    """Several memories, decided on in their order."""

    memories: Annotated[tuple[NewMemory, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]


class SearchQuery(Strict):
    """What to look for, in any words."""

    query: Text = Field(description="A question or a description, in any words.")
    k: Some = Field(5, description="How many memories to return at most.")
    namespace: Name | None = Field(None, description=NAMESPACE)
    category: Name | None = Field(None, description=CATEGORY)
    metadata: Metadata | None = Field(None, description=METADATA)
    since: Timestamp | None = Field(None, description=SINCE)
    until: Timestamp | None = Field(None, description=UNTIL)
    session_id: Name | None = Field(
        None,
        description="The conversation that asks. It hides nothing, unless `exclude_session` is"
        " true.",
    )
    exclude_session: bool = Field(
        False,
        description="Leave out memories that only the conversation `session_id` has stated, since"
        " it still has them before its eyes.",
    )
    min_confidence: Share | None = Field(
        None, description="Leave out memories that are less sure by now, from 0 to 1."
    )

    @model_validator(mode="after")
    def _session_to_exclude(self) -> Self:
        if self.exclude_session and self.session_id is None:
            raise ValueError("exclude_session needs the session_id of the conversation")
        return self

    def fields(self) -> dict[str, Any]:
        """The question's keywords; recall leaves out what its `session_id` has stated."""
        fields = self.model_dump(exclude={"query", "exclude_session"})
        return fields if self.exclude_session else {**fields, "session_id": None}


class Search(SearchQuery):
    """A question. `as_of` is a position of the log or a time, for reviewers and operators."""

    former: bool = False
    as_of: When = None


class Find(Strict):
    """What is meant, by whole words or by meaning."""

    query: Text = Field(
        description="Words that the meant memories contain, such as a name: all must match whole."
    )
    by: Annotated[tuple[By, ...], Field(min_length=1, max_length=2)] = Field(
        ("words", "meaning"),
        description="`words`: all that contain the query; `meaning`: the `k` nearest others.",
    )
    k: Some = Field(5, description="How many to show by meaning; by words all are shown.")
    namespace: Name | None = Field(None, description=NAMESPACE)


class ListQuery(Strict):
    """Which memories, and where the page begins: `after` is the `next` of the page before it."""

    limit: Annotated[int, Field(ge=1, le=NETWORK.listed)] = Field(
        50, description="How many memories a page has at most."
    )
    after: SomeId | None = Field(None, description="The `next` of the page before; none at first.")
    former: bool = Field(
        False, description="Show wordings, too, that an update has replaced and no longer hold."
    )
    namespace: Name | None = Field(None, description=NAMESPACE)
    category: Name | None = Field(None, description=CATEGORY)
    since: Timestamp | None = Field(None, description=SINCE)
    until: Timestamp | None = Field(None, description=UNTIL)

    def fields(self) -> dict[str, Any]:
        """What is asked for, without what is not."""
        return self.model_dump(exclude_none=True)


class ListBody(ListQuery):
    """As the query of a list, and values that a memory's metadata has to have."""

    metadata: Metadata | None = Field(None, description=METADATA)


class OneSession(Strict):
    """A conversation of the owner's."""

    session_id: Name = Field(description="The conversation, as its memories name it.")


class Update(Strict):
    """What a memory says from now on. `expect` is the version that the change is meant for."""

    text: Text = Field(description="What the memory says from now on, whole.")
    expect: SomeId | None = Field(None, description=EXPECT)
    merge: bool = Field(
        False, description="If another memory has this text already, make the two one memory."
    )
    session_id: Name | None = Field(None, description="The conversation in which it was said.")
    occurred_at: Timestamp | None = Field(
        None, description="Since when it is so, if not from now on: ISO 8601 with a zone."
    )
    metadata: Metadata | None = Field(
        None, description="The fields from now on; if left out, those of the former text."
    )
    because: Because | None = Field(None, description=BECAUSE)
    dry_run: bool = Field(False, description=DRY_RUN)

    def fields(self) -> dict[str, Any]:
        """The keywords of an update."""
        return self.model_dump(exclude={"text"})


class TakeBack(Strict):
    """An update that is taken back, by its decision or candidate; or the last one of a memory."""

    id: SomeId
    because: Because | None = None
    dry_run: bool = False


class ForgetQuery(Strict):
    """In which state a memory is forgotten: as a version, or a token that covers it."""

    expect: Annotated[str, Field(min_length=1, max_length=LONGEST_TOKEN)] | None = Field(
        None, description=EXPECT
    )
    dry_run: bool = Field(False, description=DRY_RUN)


class Reason(Strict):
    """Why."""

    because: Because | None = Field(None, description=BECAUSE)


class Forget(ForgetQuery, Reason):
    """Why a memory is forgotten, and in which state."""


class ForgetFound(Strict):
    """Memories that `find` showed, some or all, with the token of its plan."""

    memory_ids: Annotated[tuple[SomeId, ...], Field(min_length=1, max_length=MOST_NAMED)] = Field(
        description="The memories that are meant: all that were found, or some of them."
    )
    token: Annotated[str, Field(min_length=1, max_length=LONGEST_TOKEN)] = Field(
        description="The token of `find_memories`, which showed these memories."
    )
    again: Again | None = Field(
        None,
        description="If the text is said again: `allow` stores it as new, `refuse` refuses it,"
        " `ask` lets it wait for a person.",
    )
    because: Because | None = Field(None, description=BECAUSE)
    dry_run: bool = Field(False, description=DRY_RUN)

    def fields(self) -> dict[str, Any]:
        """The keywords of a forgetting."""
        return self.model_dump(exclude={"memory_ids"})


class ForgetAll(Strict):
    """Without the `token` of what would be forgotten, only shows that."""

    token: SomeId | None = Field(
        None, description="The token of a first call without one, which shows what would be."
    )
    because: Because | None = Field(None, description=BECAUSE)


class Restore(Strict):
    """What was forgotten at once, by the name that forgetting gave."""

    forgotten: SomeId
    because: Because | None = None


class ForgottenAll(TypedDict):
    """The candidates that were forgotten, or would be: then `token` is what to ask with.

    `forgotten` is the name by which exactly these are brought back.
    """

    done: bool
    token: str | None
    forgotten: str | None
    candidates: list[str]


class Undo(Strict):
    """A join that is taken out, by exactly one of its ids."""

    decision_id: SomeId | None = None
    candidate_id: SomeId | None = None
    memory_id: SomeId | None = None
    dry_run: bool = False
    with_consequences: bool = False
    because: Because | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        require_one(
            decision_id=self.decision_id, candidate_id=self.candidate_id, memory_id=self.memory_id
        )
        return self

    def target(self) -> dict[str, str]:
        """The id by its name."""
        return self.model_dump(
            include={"decision_id", "candidate_id", "memory_id"}, exclude_none=True
        )


class Reinstate(Strict):
    """A reversal that is taken back."""

    decision_id: SomeId
    dry_run: bool = False
    because: Because | None = None


class Pair(Strict):
    """Two candidates, and why."""

    a: SomeId
    b: SomeId
    because: Because | None = None


class Merge(Pair):
    """Two candidates that are the same; `face` is the one whose side speaks."""

    face: SomeId | None = None


class Confirm(Strict):
    """A decision that a person agrees with."""

    decision_id: SomeId
    because: Because | None = None


class ShowQuery(Strict):
    """As of when; for reviewers and operators."""

    as_of: When = None


class FeedQuery(Strict):
    """Decisions after a page's `next`; if there are none yet, `wait` seconds for one.

    Reviewers and operators may name a position of the log.
    """

    after: Annotated[Position | SomeId, Field(union_mode="left_to_right")] = 0
    limit: Annotated[int, Field(ge=1, le=NETWORK.listed)] = 50
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False)] = 0.0


class Added(TypedDict):
    """What became of a memory that was offered. `known`: it was offered before, by the same id.

    `windows`: the parts in which a text longer than the model's input is embedded, else null.
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


class AddedMany(TypedDict):
    """The outcome of each memory, in their order."""

    memories: list[Added]


class FoundMemories(TypedDict):
    """The memories nearest to a question, best first."""

    memories: list[Recalled]


class DecisionRow(TypedDict):
    """A decision as the log has it, without texts; an agent gets no `position`."""

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
    """Decisions in the order of the log; `next` is where to go on: the next request's `after`."""

    decisions: list[DecisionRow]
    next: int | str
