"""Importing an existing store with its vectors: many owners, and also one large scope."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa

from bench.figure import Measured, Scale
from bench.opened import writer_with
from bench.rows import batched
from bench.scratch import scratch_folder
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest import Palimpsest
from palimpsest.backends.paths import LOG_FILE
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.embedder.tokens import Tokens
from palimpsest.streams.log.log import Log

EACH = 100
"""Rows per owner."""
AT_ONCE = 2_000


class Watched(StubEngine):
    """Counts the texts it embeds: only the samples, if the source's vectors are accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed all texts."""
        self.embedded += len(texts)
        return super().embed(texts)

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """The texts as tokens, without a word that a model would not know."""
        return [Tokens([], truncated=False, unknown=()) for _ in texts]


def importing(scale: Scale) -> list[Measured]:
    """Rows per second from a LanceDB table until they are durable, including reading the source."""
    owners = scale.of(10, 1_000, 1_000)
    alone = scale.of(500, 20_000, 20_000)
    return [
        _measured(f"import of {owners * EACH:,} rows, {owners:,} owners", owners, EACH, 5_000),
        _measured(f"import of one scope of {alone:,}", 1, alone, None),
    ]


def _measured(name: str, owners: int, each: int, reach: float | None) -> Measured:
    with scratch_folder() as place:
        _write(place / "theirs", owners, each)
        engine = Watched()
        folder = place / "store"
        folder.mkdir()
        writer = writer_with(engine, Log.create(folder / LOG_FILE, shared=True))
        with Palimpsest(folder, writer) as store:
            begun = time.perf_counter()
            done = store.import_source(place / "theirs", model_of_vectors=engine.model)
            seconds = time.perf_counter() - begun
    assert done["vectors"]["taken"], done["vectors"]
    note = f"with vectors, projections beside; {engine.embedded} embedded anew"
    beside = {"deciding alone, rows/s": done["rows"] / done["seconds"]}
    return Measured(name, "rows/s", [done["rows"] / seconds], reach, note=note, beside=beside)


def _write(folder: Path, owners: int, each: int) -> None:
    table = None
    for some in batched(_rows(owners, each), AT_ONCE):
        vectors = [one.vector for one in StubEngine().embed([row["content"] for row in some])]
        with_vectors = [row | {"vector": vector} for row, vector in zip(some, vectors, strict=True)]
        batch = pa.Table.from_pylist(with_vectors, _SCHEMA)
        if table is None:
            table = lancedb.connect(folder).create_table("notes", batch)
        else:
            table.add(batch)


_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("user_id", pa.string()),
        ("content", pa.string()),
        ("confidence", pa.float64()),
        ("vector", pa.list_(pa.float16(), StubEngine.dimension)),
    ]
)


def _rows(owners: int, each: int) -> Iterator[dict[str, Any]]:
    texts = sentences()
    for turn in range(each):
        for owner in range(owners):
            yield {
                "id": f"{owner}-{turn}",
                "user_id": f"owner {owner}",
                "content": next(texts),
                "confidence": 0.9,
            }
