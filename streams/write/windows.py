"""Windows of inputs, and the texts being embedded, which several windows may need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from palimpsest.streams.core.exact import verbatim_target
from palimpsest.streams.core.text import identity_of
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.intake import Prepared
from palimpsest.streams.write.inputs import Input
from palimpsest.streams.write.owners import Owners

WINDOW_BYTES = 256 * 1024
"""A window ends at this size, however few inputs it has: everyone else waits while it is decided
on, and 100 nearly equal texts of 10 kB took seconds."""


@dataclass(slots=True)
class Window:
    """Inputs that are decided on and committed together; `texts` are being embedded."""

    inputs: Sequence[Input]
    texts: Sequence[str]
    embeddings: Future[list[Embedding]] | None

    def embedded(self) -> dict[str, Embedding]:
        """The texts with their embeddings; waits for them, and raises any error."""
        found = self.embeddings.result() if self.embeddings else []
        return dict(zip(self.texts, found, strict=True))


class PendingTexts:
    """Texts of open windows: counts their candidates by owner, namespace and verbatim text."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str, str], int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def new_texts(self, inputs: Sequence[Input], owners: Owners) -> Iterator[str]:
        """The texts that are neither known nor being embedded; counts all candidates as waiting."""
        prepared = [item.meaning for item in inputs if isinstance(item.meaning, Prepared)]
        for first in [*filter(self._is_first, prepared)]:
            candidate = first.candidate
            ledger = owners.get(candidate.owner_id).ledger
            if first.candidate_id in ledger.entries:
                continue
            if verbatim_target(ledger, candidate.namespace, first.content) is None:
                yield candidate.text

    def _is_first(self, prepared: Prepared) -> bool:
        key = _key(prepared)
        waiting = self._waiting.get(key, 0)
        self._waiting[key] = waiting + 1
        return not waiting

    def note_arrived(self, inputs: Sequence[Input]) -> None:
        """Remove a window's candidates: they were decided on, or never will be."""
        for item in inputs:
            if isinstance(item.meaning, Prepared):
                key = _key(item.meaning)
                self._waiting[key] -= 1
                if not self._waiting[key]:
                    del self._waiting[key]


def _key(prepared: Prepared) -> tuple[str, str, str]:
    candidate = prepared.candidate
    return candidate.owner_id, candidate.namespace, identity_of(prepared.content)
