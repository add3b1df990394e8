"""Embeddings of benchmark texts, kept between runs in one SQLite file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from bench.rows import batched
from palimpsest.streams.embedder import Embedding, Engine

_BATCH = 1024
_TABLE = """
create table if not exists embedded (
    model text, digest blob, vector blob, windows blob, truncated integer, unknown text,
    primary key (model, digest)
) without rowid
"""


class KeptVectors:
    """An engine that embeds each text once per model and engine, on the thread that made it.

    An interrupted run continues where it stopped.
    """

    def __init__(self, file: Path, engine: Engine) -> None:
        """Keep embeddings of `engine` in `file`, which is created if it is missing."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self._kept = sqlite3.connect(file)
        self._kept.execute(_TABLE)
        self._engine = engine
        self.name, self.model, self.dimension = engine.name, engine.model, engine.dimension
        self._key = f"{engine.model}/{engine.name}"

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed texts as the engine does."""
        found = self.of(texts)
        return [found[text] for text in texts]

    def of(
        self, texts: Collection[str], progress: Callable[[int], None] = lambda _: None
    ) -> dict[str, Embedding]:
        """The embedding of each text; `progress` is called with the number of newly ready ones."""
        found = {text: kept for text in texts if (kept := self._look_up(text))}
        progress(len(found))
        for batch in batched(sorted(set(texts) - found.keys(), key=len), _BATCH):
            made = dict(zip(batch, self._engine.embed(batch), strict=True))
            self._keep(made)
            found |= made
            progress(len(batch))
        return found

    def close(self) -> None:
        """Close the file."""
        self._kept.close()

    def _look_up(self, text: str) -> Embedding | None:
        row = self._kept.execute(
            "select vector, windows, truncated, unknown from embedded"
            " where model = ? and digest = ?",
            (self._key, _digest(text)),
        ).fetchone()
        if row is None:
            return None
        data, rest, truncated, unknown = row
        vector = np.frombuffer(data, np.float16)
        windows = None if rest is None else np.frombuffer(rest, np.float16).reshape(-1, len(vector))
        return Embedding(vector, bool(truncated), (*json.loads(unknown),), windows=windows)

    def _keep(self, made: dict[str, Embedding]) -> None:
        rows = [
            (
                self._key,
                _digest(text),
                e.vector.tobytes(),
                None if e.windows is None else e.windows.tobytes(),
                e.truncated,
                json.dumps(e.unknown),
            )
            for text, e in made.items()
        ]
        with self._kept:
            self._kept.executemany(
                "insert or replace into embedded values (?, ?, ?, ?, ?, ?)", rows
            )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
