"""`python -m bench.peer_calls --data DIR`: an agent's single calls beside other systems'.

`make bench-peers DATA=DIR` runs it in an environment of its own, in which the others are installed.
All use the same engine in the same process, in turns, text by text, on the same real texts; what is
measured is processor time, of all threads. The texts are those of one owner, who has said some.

What a call leaves behind when it returns differs. Ours is on the disk (SQLite, synchronous). mem0
commits to SQLite twice, its history and Qdrant's local file; Chroma commits to SQLite and writes
its index later; LangGraph's store in memory keeps nothing. The others store what they are given:
none of them looks for what says the same. `embedding alone` is what no call with this engine can do
without. SemHash is measured on a whole batch, with the same engine: it comes with a static one,
which takes nearly no time.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from palimpsest import Palimpsest, clean
from palimpsest.streams.embedder import Engine, load_engine

OWNER = "owner"
FOUND = 10
DIMENSION = 384
STREAMS = ("synthetic_persona_chat", "multi_extractor", "generative_agents")
FULL, FAST = "standard", "standard-int8"


class Peer(Protocol):
    """A system that stores the texts of one owner and finds those that are near another."""

    def add(self, text: str) -> object:
        """Store a text."""

    def search(self, text: str) -> Sequence[object]:
        """The nearest texts."""


class Ours:
    """The facade."""

    def __init__(self, folder: Path, policy: str, closing: ExitStack) -> None:
        self._store = closing.enter_context(Palimpsest.open(folder / policy, policy=policy))

    def add(self, text: str) -> object:
        """Returns when the decision is durable."""
        return self._store.submit({"owner_id": OWNER, "text": text})

    def search(self, text: str) -> Sequence[object]:
        """The nearest memories."""
        return self._store.recall(OWNER, text, k=FOUND)


class Mem0:
    """`mem0.Memory` with Qdrant's local files, and without a model that extracts."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        from mem0 import Memory
        from mem0.embeddings.openai import OpenAIEmbedding

        embedding: Any = OpenAIEmbedding
        embedding.embed = lambda _self, text, _action=None: _vector(engine, text)
        embedding.embed_batch = lambda _self, texts, _action=None: [
            _vector(engine, text) for text in texts
        ]
        stored = {"collection_name": "mem0", "path": str(folder / "qdrant"), "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {**stored, "embedding_model_dims": DIMENSION},
                },
                "history_db_path": str(folder / "history.db"),
                "embedder": {
                    "provider": "openai",
                    "config": {"embedding_dims": DIMENSION, "api_key": "none"},
                },
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
            }
        )

    def add(self, text: str) -> object:
        """As it is: nothing is extracted."""
        return self._memory.add(text, user_id=OWNER, infer=False)

    def search(self, text: str) -> Sequence[object]:
        """The nearest memories."""
        found = self._memory.search(text, filters={"user_id": OWNER}, top_k=FOUND, threshold=0.0)
        return list(found["results"])


class Chroma:
    """A persistent collection, as its own users make it."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        import chromadb

        self._engine = engine
        self._count = 0
        self._collection = chromadb.PersistentClient(str(folder / "chroma")).create_collection(
            "notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, text: str) -> object:
        """With its owner among the metadata."""
        self._count += 1
        return self._collection.add(
            ids=[str(self._count)],
            documents=[text],
            embeddings=[_vector(self._engine, text)],
            metadatas=[{"user_id": OWNER}],
        )

    def search(self, text: str) -> Sequence[object]:
        """The nearest documents of the owner."""
        found = self._collection.query(
            query_embeddings=[_vector(self._engine, text)],
            n_results=FOUND,
            where={"user_id": OWNER},
        )
        return list(found["ids"][0])


class LangGraph:
    """`InMemoryStore` with its index."""

    def __init__(self, engine: Engine) -> None:
        from langgraph.store.memory import InMemoryStore

        self._count = 0
        self._store = InMemoryStore(
            index={
                "dims": DIMENSION,
                "embed": lambda texts: [_vector(engine, text) for text in texts],
            }
        )

    def add(self, text: str) -> object:
        """In the owner's namespace."""
        self._count += 1
        self._store.put((OWNER,), str(self._count), {"text": text})
        return None

    def search(self, text: str) -> Sequence[object]:
        """The nearest of the owner's namespace."""
        return list(self._store.search((OWNER,), query=text, limit=FOUND))


class Alone:
    """The embedding that every call here begins with, and nothing else."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, text: str) -> object:
        """Embed a text."""
        return self._engine.embed([text])

    def search(self, text: str) -> Sequence[object]:
        """Embed a text."""
        return self._engine.embed([text])


class Encoder:
    """The engine as SemHash asks it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def encode(self, texts: Sequence[str], **_options: Any) -> NDArray[np.float32]:
        """The vectors (n, dimension) of n texts."""
        return np.stack([one.vector for one in self._engine.embed(texts)]).astype(np.float32)


def _vector(engine: Engine, text: str) -> list[float]:
    vector: list[float] = engine.embed([text])[0].vector.astype("f4").tolist()
    return vector


@dataclass(frozen=True, slots=True)
class Ratio:
    """A call of ours divided by a peer's: the medians of milliseconds, and what to reach."""

    ours: str
    call: str
    peer: str
    ours_ms: float
    peer_ms: float
    reach: float

    @property
    def ratio(self) -> float:
        """Ours by the peer's."""
        return self.ours_ms / self.peer_ms


REACH = (
    (FULL, "add", "mem0", 0.75),
    (FAST, "add", "mem0", 0.45),
    (FULL, "search", "mem0", 0.3),
    (FAST, "search", "mem0", 0.15),
    (FULL, "search", "Chroma", 0.6),
    (FAST, "search", "Chroma", 0.3),
)
"""Our policy, the call, the peer, and the ratio to reach."""


def measure(texts: Sequence[str], held: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Milliseconds of processor time of every call, by system and call; `held` texts come first.

    Each system has a recall and an add of one text in turn, before the next has its turn.
    """
    taken: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="bench-peers-")))
        engine = load_engine()
        peers: dict[str, Peer] = {
            FULL: Ours(folder, FULL, closing),
            FAST: Ours(folder, FAST, closing),
            "mem0": Mem0(folder, engine),
            "Chroma": Chroma(folder, engine),
            "LangGraph, in memory": LangGraph(engine),
            "embedding alone": Alone(engine),
        }
        for number, text in enumerate(texts[:held]):
            for peer in peers.values():
                peer.add(text)
                if number >= held - rounds // 4:
                    peer.search(text)  # until all is warm
        for text in texts[held : held + rounds]:
            for name, peer in peers.items():
                calls = taken.setdefault(name, {"search": [], "add": []})
                calls["search"].append(_busy_ms(peer.search, text))
                calls["add"].append(_busy_ms(peer.add, text))
    return taken


def clean_all(texts: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of processor time that each takes for all texts, in turns."""
    from semhash import SemHash

    engine = load_engine()
    calls: dict[str, Callable[[], object]] = {
        "embedding alone": lambda: engine.embed(texts),
        "palimpsest.clean, by rule": lambda: clean(texts, engine=engine),
        "palimpsest.clean, within .9": lambda: clean(texts, within=0.9, engine=engine),
        "SemHash .9": lambda: SemHash.from_records(texts, model=Encoder(engine)).self_deduplicate(),
    }
    taken: dict[str, list[float]] = {}
    for _ in range(3):
        for name, call in calls.items():
            begun = time.process_time()
            call()
            taken.setdefault(name, []).append(time.process_time() - begun)
    return taken


def _busy_ms(call: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    call(text)
    return (time.process_time() - begun) * 1e3


def ratios(taken: dict[str, dict[str, list[float]]]) -> list[Ratio]:
    """Ours by the peers'."""
    return [
        Ratio(ours, call, peer, median(taken[ours][call]), median(taken[peer][call]), reach)
        for ours, call, peer, reach in REACH
    ]


def texts_of(data: Path) -> list[str]:
    """Distinct real texts in a fixed random order."""
    found = dict[str, None]()
    for stream in STREAMS:
        with (data / "streams" / f"{stream}.jsonl").open("rb") as lines:
            found |= dict.fromkeys(orjson.loads(line)["text"] for line in lines)
    texts = [*found]
    random.Random(1).shuffle(texts)
    return texts


def main() -> None:
    """Measure, and print a line for each system and each ratio."""
    parser = argparse.ArgumentParser(prog="python -m bench.peer_calls", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with streams/")
    parser.add_argument("--held", type=int, default=1_000, help="memories of the owner")
    parser.add_argument("--rounds", type=int, default=100, help="calls of each kind")
    parser.add_argument("--batch", type=int, default=1_000, help="texts to clean at once")
    asked = parser.parse_args()
    texts = texts_of(asked.data)
    taken = measure(texts, asked.held, asked.rounds)
    for name, calls in taken.items():
        medians = ", ".join(f"{call} {median(ms):.1f} ms" for call, ms in calls.items())
        sys.stdout.write(f"{name}: {medians}\n")
    for one in ratios(taken):
        says = "holds" if one.ratio <= one.reach else "short"
        sys.stdout.write(
            f"{one.ours} {one.call} ÷ {one.peer}: {one.ratio:.2f} (to reach {one.reach}): {says}\n"
        )
    for name, seconds in clean_all(texts[: asked.batch]).items():
        sys.stdout.write(f"{name}: {median(seconds):.2f} s for {asked.batch} texts\n")


if __name__ == "__main__":
    os.environ |= {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}
    main()
