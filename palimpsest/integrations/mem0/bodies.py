"""Bodies and queries of mem0's client, for the door `/mem0`."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from palimpsest.contracts.candidate import Metadata, Name, Text, end_of
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.limits import NETWORK
from palimpsest.contracts.model import REAL, WHOLE, Flag, Model, Strict, Timestamp
from palimpsest.integrations.mem0.filters import SAID_BY
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.extract.conversation import INSTRUCTING, text_of
from palimpsest.streams.extract.extract import states

Seconds = Annotated[float, Field(ge=0, le=253_402_300_799), REAL]
"""Seconds since 1970, up to the year 9999."""


def time_of(timestamp: float | datetime | None) -> dict[str, str | None]:
    """The time of an event, as a candidate's field."""
    if isinstance(timestamp, float | int):
        timestamp = datetime.fromtimestamp(timestamp, UTC)
    return {"occurred_at": None if timestamp is None else timestamp.isoformat()}


class MessageBody(Model):
    """A message of a conversation; arguments of tool calls and images are not texts."""

    role: str = "user"
    name: str | None = None
    content: str | dict[str, Any] | list[str | dict[str, Any]] | None = None

    def text(self) -> str:
        """The text of all its parts; empty if it has none, such as a tool call."""
        return text_of(self.content)

    def by_another(self) -> dict[str, str]:
        """The speaker's role, unless that is the user."""
        return {} if self.role == "user" else {"role": self.role}


IGNORED = frozenset(
    "custom_instructions agent_custom_instructions custom_categories structured_data_schema"
    " includes excludes async_mode rerank fields keyword_search latest_only version"
    " output_format source prompt".split()
)
"""Options of mem0 that have no meaning here."""


CLEARED = frozenset({"expiration_date"})
"""Fields that a null clears."""


def ending(last_day: date | None) -> datetime | None:
    """The end of the last day, in UTC; None without one. UsageError after the year 9999."""
    ends = end_of(None if last_day is None else f"{last_day:%Y-%m-%d}")
    if isinstance(ends, str):
        raise UsageError("expiration_date is too late: leave it out")
    return cast("datetime | None", ends)


class Arguments(Strict):
    """Arguments of a call. Unknown ones are refused, unless they are null or ignored here."""

    @model_validator(mode="before")
    @classmethod
    def _without_what_means_nothing(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        said = (name for name, value in given.items() if value is not None or name in CLEARED)
        return {name: given[name] for name in said if name not in IGNORED}


class Who(Arguments):
    """The user, and other participants with an id in mem0."""

    user_id: Name | None = None
    agent_id: Name | None = None
    app_id: Name | None = None
    run_id: Name | None = None

    def named(self) -> dict[str, str]:
        """The ids that were given."""
        return self.model_dump(include={"user_id", *SAID_BY}, exclude_none=True)


class Add(Who):
    """Messages to remember; the client sends ids at the top level, or in `filters`."""

    messages: list[MessageBody]
    filters: Who = Who()
    metadata: Metadata = {}
    infer: Flag = True
    timestamp: Seconds | None = None
    expiration_date: date | None = None

    def when(self) -> dict[str, str | None]:
        """The time of the event and the expiry, as a candidate's fields."""
        last = (
            {} if self.expiration_date is None else {"expiration_date": f"{self.expiration_date}"}
        )
        return {**time_of(self.timestamp), **last}

    def wanted(self) -> list[MessageBody]:
        """The messages to remember: the user's that are more than questions and courtesies.

        With `infer=False`, they are all texts but the instructions to the model.
        UsageError if there are more than fit into one commit: then only some might be kept.
        """
        found = [
            message for message in self.messages if message.text().strip() and self._wants(message)
        ]
        if len(found) > WINDOW:
            raise UsageError(f"a call remembers at most {WINDOW} messages")
        return found

    def _wants(self, message: MessageBody) -> bool:
        if not self.infer:
            return message.role not in INSTRUCTING
        return message.role == "user" and states(message.text())


class SearchBody(Arguments):
    """A question about one user's memories."""

    query: Text
    filters: dict[str, Any] = {}
    metadata: Metadata = {}
    top_k: Annotated[int, Field(ge=1, le=NETWORK.found), WHOLE] = 10
    threshold: Annotated[float, Field(ge=-1, le=1), REAL] = -1.0
    show_expired: Flag = False


class GetAll(Arguments):
    """The filters that select which of a user's memories are listed."""

    filters: dict[str, Any] = {}
    start_date: str | None = None
    end_date: str | None = None
    show_expired: Flag = False

    def times(self) -> dict[str, Any]:
        """The dates as a filter."""
        dates = {"gte": self.start_date, "lte": self.end_date}
        given = {name: day for name, day in dates.items() if day is not None}
        return {"created_at": given} if given else {}


class PageBody(Strict):
    """Which page is returned."""

    page: Annotated[int, Field(ge=1), WHOLE] = 1
    page_size: Annotated[int, Field(ge=1, le=NETWORK.listed), WHOLE] = 100


class UpdateMemory(Arguments):
    """Changes of a memory; a null `expiration_date` clears the expiry."""

    text: Text | None = None
    metadata: Metadata | None = None
    timestamp: Seconds | Timestamp | None = None
    expiration_date: date | None = None
