"""What the HTTP door and the tools understand, and what they answer: OpenAPI is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import Field, model_validator

from palimpsest.contracts.candidate import Kind, Metadata, Name, Share, Text
from palimpsest.contracts.events import Again
from palimpsest.contracts.model import Strict, Timestamp
from palimpsest.contracts.shown import Recalled
from palimpsest.finding import By

MOST_FOUND = 100
MOST_AT_ONCE = 100
MOST_PAGE = 200
MOST_NAMED = 10_000
"""So many ids are under the bound of a body."""
LONGEST_WAIT = 30.0

Some = Annotated[int, Field(ge=1, le=MOST_FOUND)]
Because = Annotated[str, Field(max_length=2000)]
SomeId = Annotated[str, Field(min_length=1, max_length=600)]
Position = Annotated[int, Field(ge=0, le=2**63 - 1)]

When = Annotated[Position | Timestamp | None, Field(union_mode="left_to_right")]
"""A position of the log, which has digits alone, or a time."""


class NewMemory(Strict):
    """A memory as it is offered. `id` is the producer's own: offered again with it, it is known."""

    text: Text
    namespace: Name | None = None
    id: Name | None = None
    session_id: Name | None = None
    occurred_at: Timestamp | None = None
    category: Name | None = None
    kind: Kind | None = None
    confidence: Share | None = None
    importance: Share | None = None
    intensity: Share | None = None
    topics: Annotated[tuple[Name, ...], Field(max_length=100)] | None = None
    metadata: Metadata | None = None

    def fields(self) -> dict[str, Any]:
        """What was said, as a candidate has it."""
        return self.model_dump(mode="json", exclude_none=True)


class NewMemories(Strict):
    """Several memories, decided on in their order."""

    memories: Annotated[tuple[NewMemory, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]


class SearchQuery(Strict):
    """What to look for, in any words."""

    query: Text
    k: Some = 5
    namespace: Name | None = None
    category: Name | None = None
    metadata: Metadata | None = None
    since: Timestamp | None = None
    until: Timestamp | None = None
    session_id: Name | None = None
    min_confidence: Share | None = None

    def fields(self) -> dict[str, Any]:
        """The question's keywords."""
        return self.model_dump(exclude={"query"})


class Search(SearchQuery):
    """A question. `as_of` is a position of the log or a time, for reviewers and operators."""

    former: bool = False
    as_of: When = None


class Find(Strict):
    """What is meant, by whole words or by meaning."""

    query: Text
    by: Annotated[tuple[By, ...], Field(min_length=1, max_length=2)] = ("words", "meaning")
    k: Some = 5
    namespace: Name | None = None


class ListQuery(Strict):
    """Which memories, and where the page begins: `after` is the `next` of the page before it."""

    limit: Annotated[int, Field(ge=1, le=MOST_PAGE)] = 50
    after: SomeId | None = None
    former: bool = False
    namespace: Name | None = None
    category: Name | None = None
    since: Timestamp | None = None
    until: Timestamp | None = None

    def fields(self) -> dict[str, Any]:
        """What is asked for, without what is not."""
        return self.model_dump(exclude_none=True)


class ListBody(ListQuery):
    """As the query of a list, and values that a memory's metadata has to have."""

    metadata: Metadata | None = None


class Update(Strict):
    """What a memory says from now on. `expect` is the version that the change is meant for."""

    text: Text
    expect: SomeId | None = None
    merge: bool = False
    session_id: Name | None = None
    occurred_at: Timestamp | None = None
    metadata: Metadata | None = None
    because: Because | None = None
    dry_run: bool = False

    def fields(self) -> dict[str, Any]:
        """The keywords of an update."""
        return self.model_dump(exclude={"text"})


class TakeBack(Strict):
    """An update that is taken back, by its decision or candidate; or the last one of a memory."""

    id: SomeId
    because: Because | None = None
    dry_run: bool = False


class Why(Strict):
    """Why."""

    because: Because | None = None


class ForgetFound(Strict):
    """Memories that `find` showed, with the token of its plan: another memory by now is refused."""

    memory_ids: Annotated[tuple[SomeId, ...], Field(min_length=1, max_length=MOST_NAMED)]
    token: SomeId
    again: Again | None = None
    because: Because | None = None

    def fields(self) -> dict[str, Any]:
        """The keywords of a forgetting."""
        return self.model_dump(exclude={"memory_ids"})


class ForgetAll(Strict):
    """Without the `token` of what would be forgotten, only shows that."""

    token: SomeId | None = None
    because: Because | None = None


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
        if len(self.target()) != 1:
            raise ValueError("name exactly one of decision_id, candidate_id and memory_id")
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
    """Decisions after a position; where there is none, wait so many seconds for one."""

    after: Position = 0
    limit: Annotated[int, Field(ge=1, le=MOST_PAGE)] = 50
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False)] = 0.0


class Added(TypedDict):
    """What became of a memory that was offered. `known`: it was offered before, by the same id."""

    result: Literal["decided", "known", "invalid", "published"]
    candidate_id: str | None
    decision: str | None
    decision_id: str | None
    joined_to: str | None
    memory_id: str | None
    reason: str | None
    detail: str | None
    similar_facts: list[dict[str, Any]] | None


class AddedMany(TypedDict):
    """The outcome of each memory, in their order."""

    memories: list[Added]


class FoundMemories(TypedDict):
    """The memories nearest to a question, best first."""

    memories: list[Recalled]


class DecisionRow(TypedDict):
    """A decision as the log has it, without texts."""

    position: int
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
    next: int
