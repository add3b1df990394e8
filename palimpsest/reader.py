"""What can be read of an open store: memories, decisions, the log, what could not be read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from palimpsest import exchange, viewing
from palimpsest.desk import FrontDesk
from streams.embedded.as_of import AsOf


class Reader:
    """An open store, as far as it is read; what is asked for is caught up with the log first."""

    def __init__(self, folder: Path, desk: FrontDesk) -> None:
        self.folder = folder
        self._desk = desk

    @property
    def desk(self) -> FrontDesk:
        """The door to the store, for what works beside the facade."""
        return self._desk

    def close(self) -> None:
        """End the threads and let the files go."""
        self._desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def recall(
        self,
        owner_id: str,
        query: str,
        *,
        k: int = 5,
        namespace: str | None = None,
        as_of: AsOf | None = None,
        session_id: str | None = None,
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

    def owners_of_session(self, session_id: str) -> list[str]:
        """Who has spoken in a session: most often one owner."""
        return viewing.owners_of_session(self._desk, session_id)

    def show(self, memory_id: str, *, as_of: AsOf | None = None) -> dict[str, Any]:
        """A memory with every member, its join and its evidence; any member's id will do.

        `timeline` is what was said of its members; `as_of` a position or a time, as it was then.
        """
        return viewing.show(self._desk, memory_id, as_of)

    def show_candidate(self, candidate_id: str, *, as_of: AsOf | None = None) -> dict[str, Any]:
        """A candidate with its decision, its evidence, its timeline and the memory it is in."""
        return viewing.show_candidate(self._desk, candidate_id, as_of)

    def decisions(
        self,
        *,
        owner_id: str | None = None,
        decision: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
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

    def sql(self, query: str) -> list[dict[str, Any]]:
        """Rows of a query over the analysts' views. Raises UsageError for a bad query."""
        return viewing.sql(self._desk, query)

    def export_log(self, file: Path, progress: Callable[[int], None] | None = None) -> int:
        """Write the log as CloudEvents lines, byte for byte; return how many."""
        return exchange.export_log(self._desk, file, progress)

    def dead_letters(self, state: str | None = None) -> list[dict[str, Any]]:
        """What could not be read, without its bytes."""
        return exchange.dead_letters(self._desk, state)

    def dead_letter(self, letter_id: str) -> tuple[dict[str, Any], bytes]:
        """One of them, with its bytes as they came."""
        return exchange.dead_letter(self._desk, letter_id)
