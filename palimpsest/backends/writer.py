"""The interface for writing to a store, whether this process, another one or a cluster writes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from palimpsest.backends.reader import Reader
from palimpsest.contracts.answers import A_co, Answer
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.requests import Request
from palimpsest.streams.intake.parsing import NO_RENAMES
from palimpsest.streams.write.inputs import Input, Outcome, Submission


class StoreWriter(Protocol):
    """An `EmbeddedWriter` or a `ClusterWriter`, with the reader of the same store."""

    reader: Reader

    def submit(
        self, inputs: Sequence[Input], renames: Mapping[str, str] = NO_RENAMES, /
    ) -> list[Outcome]:
        """Decide on a few inputs; `renames` (theirs to ours) are those they were read with."""

    def name(self, submission: Submission, owner_id: str, /) -> Future[Answer] | None:
        """Record a submission before its rows, without waiting for the answer.

        The answer is a refusal if the id is taken. None if `submit` records the submission itself.
        """

    def stream(
        self, inputs: Iterator[Input], renames: dict[str, str], /
    ) -> Generator[Sequence[Outcome], None, None]:
        """Decide on many inputs, window by window."""

    def retry(self, raw: bytes, origin: str, renames: Mapping[str, str], /) -> Outcome:
        """Decide on the bytes of a dead letter that came from `origin`."""

    def ask(self, request: Request[A_co]) -> A_co:
        """Execute a request; RefusedError if it is impossible."""

    def ask_each(self, requests: Sequence[Request[A_co]]) -> list[A_co | RefusedError]:
        """Execute requests that do not depend on each other; many share a commit."""

    def leave_uses(self, owner_id: str, event: bytes) -> None:
        """Leave an owner's gathered uses, as an event, for whoever records them."""

    def serve_left(self) -> None:
        """Serve what other processes left in the inbox."""

    def behind(self) -> int | None:
        """How many records the store is behind a cluster's decisions; None if that is unknown."""

    def close(self) -> None:
        """End the threads and close the files."""
