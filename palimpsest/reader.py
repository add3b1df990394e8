"""What can be read of an open store: memories, decisions, the log, what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self, get_args

from pydantic import AfterValidator, Field

from palimpsest import exchange, viewing
from palimpsest.calls import Id, Place, Turn, Words, checked
from palimpsest.contracts.candidate import Name, Text
from palimpsest.contracts.events import Decision
from palimpsest.desk import FrontDesk
from palimpsest.streams.log.as_of import AsOf
from palimpsest.streams.log.dead_letters import LetterState

MOST_RECALLED = 100_000
"""Memories of one answer, at most."""
MOST = 2**63 - 1
"""The largest number that DuckDB can limit a query by, and that can be counted to."""


def _known(decision: str) -> str:
    if decision not in get_args(Decision):
        raise ValueError(f"should be one of {', '.join(get_args(Decision))}")
    return decision


Position = Annotated[int, Field(ge=0, le=MOST)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
KnownDecision = Annotated[str, AfterValidator(_known)]
"""A kind of decision, by its name in the log."""


@checked
class Reader:
    """An open store, as far as it is read; what is asked for is caught up with the log first."""

    def __init__(self, folder: Path, desk: FrontDesk) -> None:
        self.folder = folder
        self.turn = Turn()
        self._door = desk

    @property
    def _desk(self) -> FrontDesk:
        self.turn.require()
        return self._door

    @property
    def desk(self) -> FrontDesk:
        """The door to the store, for what works beside the facade."""
        return self._desk

    def close(self) -> None:
        """End the threads and let the files go; later calls raise UsageError.

        In a forked child nothing is done: they are the parent's.
        """
        if self.turn.end():
            self._door.close()

    def __enter__(self) -> Self:
        self.turn.require()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def position(self) -> int:
        """The log's last position: everything that calls have written is durable up to it."""
        return self._desk.log.head()

    def wait_for(self, position: Position, *, timeout: Seconds = 30.0) -> None:
        """Return when what is read here shows the log up to a position that a writer named.

        A store's own calls see what it wrote; this is for another process, which is told of a
        `position`. TransientError where it is not there after `timeout` seconds.
        """
        self._desk.wait_for(position, timeout)

    def recall(
        self,
        owner_id: Name,
        query: Text,
        *,
        k: Annotated[int, Field(ge=1, le=MOST_RECALLED)] = 5,
        namespace: Name | None = None,
        as_of: AsOf | None = None,
        session_id: Name | None = None,
    ) -> list[dict[str, Any]]:
        """The `k` memories nearest to a question, best first: face, score (cosine) and members.

        `as_of` a position of the log, or a time, answers as it was then; UsageError where that lies
        in the future. For a session that asks, memories that only it has said since its
        conversation was last compacted are left out.
        """
        return viewing.recall(
            self._desk,
            owner_id,
            query,
            k=k,
            namespace=namespace,
            as_of=as_of,
            session_id=session_id,
        )

    def status(self, *, as_of: AsOf | None = None) -> dict[str, Any]:
        """Counts, the log's position, how far each projection lags behind it, and it `behind`.

        `as_of` a position of the log, or a time, counts what there was then.
        """
        return viewing.status(self._desk, as_of)

    def behind(self) -> int | None:
        """How many records of the decisions the store is behind the cluster that is named.

        None where none is, where the store follows none, or where no broker tells.
        """
        return self._desk.behind()

    def owners_of_session(self, session_id: Name) -> list[str]:
        """Who has spoken in a session: most often one owner."""
        return viewing.owners_of_session(self._desk, session_id)

    def show(self, memory_id: Id, *, as_of: AsOf | None = None) -> dict[str, Any]:
        """A memory with every member, its join and its evidence; any member's id will do.

        `timeline` is what was said of its members; `as_of` a position or a time, as it was then.
        """
        return viewing.show(self._desk, memory_id, as_of)

    def show_candidate(self, candidate_id: Id, *, as_of: AsOf | None = None) -> dict[str, Any]:
        """A candidate with its decision, its evidence, its timeline and the memory it is in."""
        return viewing.show_candidate(self._desk, candidate_id, as_of)

    def decisions(
        self,
        *,
        owner_id: Name | None = None,
        decision: KnownDecision | None = None,
        since: datetime | None = None,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
        as_of: AsOf | None = None,
    ) -> list[dict[str, Any]]:
        """The latest decisions that match, newest last; `as_of` a position or a time."""
        return viewing.decisions(
            self._desk, owner_id=owner_id, decision=decision, since=since, limit=limit, as_of=as_of
        )

    @property
    def sql_file(self) -> Path:
        """The DuckDB file of views that analysts open, from any process at any time."""
        return viewing.sql_file(self._desk)

    def sql(
        self, query: Words, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> list[dict[str, Any]]:
        """Rows of a query over the analysts' views, as objects by column.

        `parameters` are a list for the query's `?`, or a dict for its `$name`. Of columns with the
        same name, the second is called `name_1`. Raises UsageError for a bad query.
        """
        return viewing.sql(self._desk, query, parameters)

    def export_log(self, file: Place, progress: Callable[[int], None] | None = None) -> int:
        """Write the log as CloudEvents lines, byte for byte; return how many."""
        return exchange.export_log(self._desk, Path(file), progress)

    def dead_letters(self, state: LetterState | None = None) -> list[dict[str, Any]]:
        """What could not be read, without its bytes."""
        return exchange.dead_letters(self._desk, state)

    def dead_letter(self, letter_id: Id) -> tuple[dict[str, Any], bytes]:
        """One of them, with its bytes as they came."""
        return exchange.dead_letter(self._desk, letter_id)
