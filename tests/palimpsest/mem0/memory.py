"""A store of mem0's own `Memory`, written and read where mem0 is installed.

`python memory.py write|read|collect|collected FOLDER qdrant|chroma < rows.json`: `write` adds rows,
`read` prints what mem0 finds, `collect` writes a collection with Chroma only, and `collected`
prints its documents, and those that Chroma finds by the vector of a text. No model is used: a
text's vector is a bag of its hashed words, as in tests/stub_engine.py.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from mem0 import Memory
from mem0.embeddings.openai import OpenAIEmbedding

DIMENSION = 384
BATCH = 200


def vector_of(text: str) -> list[float]:
    """The share of each word."""
    vector = [0.0] * DIMENSION
    for word in text.casefold().split() or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4], "little") % DIMENSION] += 1.0
    length = sum(one * one for one in vector) ** 0.5
    return [one / length for one in vector]


def _embed(_self: Any, text: str, _action: object = None) -> list[float]:
    return vector_of(text)


def _embed_batch(_self: Any, texts: list[str], _action: object = None) -> list[list[float]]:
    return [vector_of(text) for text in texts]


def opened(folder: Path, kind: str, of: Any = Memory) -> Any:
    """mem0's memory over a folder; `of` is its class."""
    vars_of: Any = OpenAIEmbedding
    vars_of.embed, vars_of.embed_batch = _embed, _embed_batch
    config: dict[str, Any] = {"collection_name": "mem0", "path": str(folder / kind)}
    if kind == "qdrant":
        config |= {"on_disk": True, "embedding_model_dims": DIMENSION}
    return of.from_config(
        {
            "vector_store": {"provider": kind, "config": config},
            "history_db_path": str(folder / "history.db"),
            "embedder": {
                "provider": "openai",
                "config": {"embedding_dims": DIMENSION, "api_key": "none"},
            },
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
        }
    )


def write(folder: Path, kind: str, rows: list[dict[str, Any]]) -> None:
    """Add rows; the second is updated by adding a full stop, the last is deleted.

    For Chroma the rows between are added in batches: mem0 takes a tenth of a second for each row.
    """
    memory = opened(folder, kind)
    batched = rows[2:-1] if kind == "chroma" else []
    added = []
    for row in [row for row in rows if row not in batched]:
        [one] = memory.add(
            row["content"],
            user_id=row["user_id"],
            run_id=row["run_id"],
            metadata={"colour": row["colour"], "number": row["number"]},
            infer=False,
        )["results"]
        added.append(one["id"])
    for start in range(0, len(batched), BATCH):
        some = batched[start : start + BATCH]
        memory.vector_store.insert(
            vectors=[vector_of(row["content"]) for row in some],
            ids=[row["memory_id"] for row in some],
            payloads=[_payload(row) for row in some],
        )
    memory.update(added[1], text=f"{rows[1]['content']}.")
    memory.delete(added[-1])
    memory.vector_store.client.close() if kind == "qdrant" else None


def _payload(row: dict[str, Any]) -> dict[str, Any]:
    text = row["content"]
    names = ("user_id", "run_id", "created_at", "colour", "number")
    return {
        "data": text,
        "hash": hashlib.md5(text.encode()).hexdigest(),
        "text_lemmatized": text,
        **{name: row[name] for name in names},
    }


def read(folder: Path, kind: str, owners: list[str]) -> None:
    """Print every memory of some owners, and the first result of a search for it, by id."""
    memory = opened(folder, kind)
    found = {}
    for owner in owners:
        for result in memory.get_all(filters={"user_id": owner}, top_k=5_000)["results"]:
            found[result["id"]] = result["memory"]
    some = [*found.items()][:20]
    hits = [
        memory.search(text, filters={"user_id": owner}, top_k=1, threshold=0.0)["results"]
        for owner in owners[:1]
        for _, text in some
    ]
    print(json.dumps({"memories": found, "hits": [hit[0]["memory"] for hit in hits if hit]}))
    memory.vector_store.client.close() if kind == "qdrant" else None


def collect(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Write a collection as Chroma's own users do: documents with metadata."""
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    collection = client.create_collection("notes", embedding_function=None)
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        collection.add(
            ids=[row["memory_id"] for row in some],
            documents=[row["content"] for row in some],
            embeddings=[vector_of(row["content"]) for row in some],
            metadatas=[
                {"user_id": row["user_id"], "confidence": row["confidence"], "warm": True}
                for row in some
            ],
        )
    collection.update(ids=[rows[0]["memory_id"]], metadatas=[{"page": 3}])
    collection.delete(ids=[rows[-1]["memory_id"]])


def collected(folder: Path, texts: list[str]) -> None:
    """Print every document by its id, and the nearest document of each text."""
    import chromadb

    collection = chromadb.PersistentClient(str(folder)).get_collection("notes")
    found = collection.get()
    near = collection.query(query_embeddings=[vector_of(text) for text in texts], n_results=1)
    documents = dict(zip(found["ids"], found["documents"], strict=True))
    metadatas = dict(zip(found["ids"], found["metadatas"], strict=True))
    hits = [
        (ids[0], round(far[0], 2)) for ids, far in zip(near["ids"], near["distances"], strict=True)
    ]
    print(json.dumps({"documents": documents, "metadatas": metadatas, "hits": hits}))


def main(what: str, folder: str, kind: str) -> None:
    """Run one of the actions, with the rows or owners from standard input."""
    given = json.load(sys.stdin)
    match what:
        case "write":
            write(Path(folder), kind, given)
        case "read":
            read(Path(folder), kind, given)
        case "collected":
            collected(Path(folder), given)
        case _:
            collect(Path(folder), given)


if __name__ == "__main__":
    main(*sys.argv[1:])
