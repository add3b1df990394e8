"""`python -m bench.peer_calls --data DIR`: an agent's single calls compared with other systems'.

`make bench-peers DATA=DIR` runs it in a separate environment with the other systems installed. Each
system runs in its own process, as an agent would run it, with the same engine and the same real
texts of one owner. The systems take turns of ten calls each, so that the processor's caches affect
all of them alike. It measures how long a call takes, which needs an otherwise idle machine, and the
processor time of all threads. An add's processor time is counted until the process is idle again,
to include work left to other threads.

What is on disk when a call returns is not the same. Our store has all of it (SQLite, synchronous).
mem0 commits to SQLite twice, for its history and for Qdrant's local file; Chroma commits to SQLite
and writes its index later; LangGraph's in-memory store keeps nothing. The other systems store texts
as given, and look for no duplicates. `embedding alone` is the part that every call with this engine
needs. SemHash is measured on a whole batch, with the same engine; its own static engine takes
nearly no time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.rows import read_rows
from palimpsest import Palimpsest, clean
from palimpsest.streams.embedder import Engine, load_engine

OWNER = "owner"
FOUND = 10
DIMENSION = 384
STREAMS = ("synthetic_persona_chat", "multi_extractor", "generative_agents")
FULL, FAST = "standard", "standard-int8"
SYSTEMS = (FULL, FAST, "mem0", "Chroma", "LangGraph, in memory", "embedding alone")
Call = Literal["search", "add"]
Taken = tuple[float, float]
"""Milliseconds until a call returned, and its milliseconds of processor time."""
SETTLED_SECONDS = 0.2
IDLE_SECONDS = 0.001
"""A process that uses less processor time than this in `SETTLED_SECONDS` is idle."""


class Peer(Protocol):
    """A system that stores the texts of one owner and finds those near another text."""

    def add(self, text: str) -> object:
        """Store a text."""

    def search(self, text: str) -> Sequence[object]:
        """The nearest texts."""


class Ours:
    """The facade."""

    def __init__(self, folder: Path, policy: str, closing: ExitStack) -> None:
        self._store = closing.enter_context(Palimpsest.open(folder / policy, policy=policy))

    def add(self, text: str) -> object:
        """Submit a text; returns when the decision is durable."""
        return self._store.submit({"owner_id": OWNER, "text": text})

    def search(self, text: str) -> Sequence[object]:
        """The nearest memories."""
        return self._store.recall(OWNER, text, k=FOUND)


class Mem0:
    """`mem0.Memory` with Qdrant's local files, and without an extracting model."""

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
        """Add a text as it is: nothing is extracted."""
        return self._memory.add(text, user_id=OWNER, infer=False)

    def search(self, text: str) -> Sequence[object]:
        """The nearest memories."""
        found = self._memory.search(text, filters={"user_id": OWNER}, top_k=FOUND, threshold=0.0)
        return list(found["results"])


class Chroma:
    """A persistent collection, set up as Chroma's users do."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        import chromadb

        self._engine = engine
        self._count = 0
        self._collection = chromadb.PersistentClient(str(folder / "chroma")).create_collection(
            "notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, text: str) -> object:
        """Add a text with its owner in the metadata."""
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
        """Put a text into the owner's namespace."""
        self._count += 1
        self._store.put((OWNER,), str(self._count), {"text": text})
        return None

    def search(self, text: str) -> Sequence[object]:
        """The nearest texts of the owner's namespace."""
        return list(self._store.search((OWNER,), query=text, limit=FOUND))


class Alone:
    """Only the embedding with which every call begins."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, text: str) -> object:
        """Embed a text."""
        return self._engine.embed([text])

    def search(self, text: str) -> Sequence[object]:
        """Embed a text."""
        return self._engine.embed([text])


class Encoder:
    """The engine, with the interface that SemHash expects."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def encode(self, texts: Sequence[str], **_options: Any) -> NDArray[np.float32]:
        """The vectors (n, dimension) of n texts."""
        return np.stack([one.vector for one in self._engine.embed(texts)]).astype(np.float32)


def _vector(engine: Engine, text: str) -> list[float]:
    vector: list[float] = engine.embed([text])[0].vector.astype("f4").tolist()
    return vector


REACH: tuple[tuple[str, Call, str, float], ...] = (
    (FULL, "add", "mem0", 0.75),
    (FAST, "add", "mem0", 0.45),
    (FULL, "search", "mem0", 0.3),
    (FAST, "search", "mem0", 0.15),
    (FULL, "search", "Chroma", 0.6),
    (FAST, "search", "Chroma", 0.3),
)
"""Targets: our policy, the call, the peer, and the highest ratio of their times."""


BLOCK = 10
"""Calls of a system before the next has its turn."""


def open_system(name: str, folder: Path, closing: ExitStack) -> Peer:
    """Open one of `SYSTEMS`, empty."""
    if name in (FULL, FAST):
        return Ours(folder, name, closing)
    engine = load_engine()
    systems: dict[str, Callable[[], Peer]] = {
        "mem0": lambda: Mem0(folder, engine),
        "Chroma": lambda: Chroma(folder, engine),
        "LangGraph, in memory": lambda: LangGraph(engine),
        "embedding alone": lambda: Alone(engine),
    }
    return systems[name]()


def serve(name: str, asked: Connection) -> None:
    """Time each requested block of calls in this process, until None is received."""
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="bench-peers-"))
        peer = open_system(name, Path(folder), closing)
        calls: dict[Call, Callable[[str], object]] = {"search": peer.search, "add": peer.add}
        while block := asked.recv():
            call, texts = block
            asked.send(_time(calls[call], texts, idle=call == "add"))


def measure(texts: Sequence[str], held: int, rounds: int) -> dict[str, dict[Call, list[Taken]]]:
    """The mean time of a call in each block, by system and call.

    `held` texts are stored before. Each text is searched for, and then added. EOFError if a
    system's process ends early.
    """
    taken: dict[str, dict[Call, list[Taken]]] = {}
    spawn = multiprocessing.get_context("spawn")
    ends: dict[str, Connection] = {}
    processes = []
    for name in SYSTEMS:
        ends[name], other = spawn.Pipe()
        processes.append(spawn.Process(target=serve, args=(name, other), daemon=True))
        processes[-1].start()
        other.close()  # only the process holds it, so that its death ends a `recv`

    def run(name: str, call: Call, block: Sequence[str]) -> Taken:
        ends[name].send((call, block))
        found: Taken = ends[name].recv()
        return found

    for name in SYSTEMS:
        if held:
            run(name, "add", texts[:held])
            run(name, "search", texts[:held][-rounds:])  # until everything is warm
    for start in range(held, held + rounds, BLOCK):
        block = texts[start : start + BLOCK]
        for name in SYSTEMS:
            calls = taken.setdefault(name, {"search": [], "add": []})
            run(name, "search", block[:2])
            for call, found in calls.items():
                found.append(run(name, call, block))
    for end in ends.values():
        end.send(None)
    for process in processes:
        process.join()
    return taken


def clean_all(texts: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of processor time that each system takes for all texts, in turns."""
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


def _time(call: Callable[[str], object], texts: Sequence[str], *, idle: bool) -> Taken:
    """The mean of the calls; with `idle`, including the work they leave to other threads."""
    begun, started = time.process_time(), time.perf_counter()
    for text in texts:
        call(text)
    waited = time.perf_counter() - started
    if idle:
        before = begun
        while time.process_time() > before + IDLE_SECONDS:
            before = time.process_time()
            time.sleep(SETTLED_SECONDS)
    each = 1e3 / len(texts)
    return waited * each, (time.process_time() - begun) * each


def medians(blocks: Sequence[Taken]) -> Taken:
    """The medians of the calls' durations and of their processor times."""
    waited, busy = zip(*blocks, strict=True)
    return median(waited), median(busy)


def texts_of(data: Path) -> list[str]:
    """Distinct real texts in a fixed random order."""
    files = (data / "streams" / f"{stream}.jsonl" for stream in STREAMS)
    texts = [*dict.fromkeys(row["text"] for file in files for row in read_rows(file))]
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
    if len(texts) < asked.held + asked.rounds:
        parser.error(f"--held and --rounds need more than the {len(texts):,} texts in --data")
    taken = measure(texts, asked.held, asked.rounds)
    for name, calls in taken.items():
        found = (f"{call} {_shown(medians(blocks))} ms" for call, blocks in calls.items())
        sys.stdout.write(f"{name}: {', '.join(found)}\n")
    for ours, call, peer, reach in REACH:
        pairs = zip(medians(taken[ours][call]), medians(taken[peer][call]), strict=True)
        waited, busy = (one / other for one, other in pairs)
        says = "holds" if waited <= reach else "short"
        sys.stdout.write(
            f"{ours} {call} ÷ {peer}: {waited:.2f} ({busy:.2f}), at most {reach}: {says}\n"
        )
    for name, seconds in clean_all(texts[: asked.batch]).items():
        sys.stdout.write(f"{name}: {median(seconds):.2f} s for {asked.batch} texts\n")


def _shown(taken: Taken) -> str:
    waited, busy = taken
    return f"{waited:.1f} ({busy:.1f} of a processor)"


if __name__ == "__main__":
    os.environ |= {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}
    main()
