"""Vectors of some of a table's texts: each embedded once, in order of length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from palimpsest.contracts.counting import counted
from palimpsest.streams.embedder import Embedding, Engine, Progress

AT_ONCE = 1_024


class TextVectors:
    """Embeds texts by number; the engine is loaded when the first text needs one."""

    def __init__(self, texts: Sequence[str], load: Callable[[], Engine], progress: Progress):
        self._texts = texts
        self._load = load
        self._progress = progress
        self._known: dict[int, Embedding] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, number: int) -> Embedding:
        """The embedding of a text that was prepared."""
        return self._known[number]

    def prepare(self, numbers: Iterable[int]) -> None:
        """Embed the texts that have no vector yet. ModelError if the model is missing."""
        new = sorted({*numbers} - self._known.keys(), key=lambda n: (len(self._texts[n]), n))
        engine = self._load() if new else None
        for start in range(0, len(new), AT_ONCE):
            assert engine is not None, "there is something to embed"
            self._progress(f"embedding {counted(len(new), 'text')}", start / len(new))
            some = new[start : start + AT_ONCE]
            embedded = engine.embed([self._texts[n] for n in some])
            self._known.update(zip(some, embedded, strict=True))
