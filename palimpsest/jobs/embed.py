"""Embeds texts that lack a vector, because the model was down or the store moves to another model.

Vectors of another model are recorded beside the old ones, until the store switches to it. They are
computed here and recorded by the store's writer, so the store can be used meanwhile. What is left
to do follows from the ledgers, so the next run continues where a killed one stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypedDict
from uuid import uuid4

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.answers import OTHER_MODEL, PolicyInForce
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import Vector
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import AddVectorsRequest, EmbedRequest, PolicyRequest, TextVector
from palimpsest.streams.core.models import lacking, texts_of
from palimpsest.streams.embedder import Engine, require_local
from palimpsest.streams.log.database import PAGE_BYTES
from palimpsest.streams.write.vectors import recorded_vector

AT_ONCE = 256
"""Number of texts embedded together, from any number of owners."""
OF_REQUEST = 32
"""Texts per request: a vector takes about a kilobyte, and up to 192 kB with its windows."""
SAMPLE = 64
"""Number of texts embedded to estimate the time for all."""
ENVELOPE_BYTES, INDEX_BYTES = 420, 50
"""Bytes of an event's line without its vector, and of its entries in the log's indexes."""

Counting = Callable[[int, int], None]
"""Receives how many texts are done, and how many are left."""


class EmbeddingPlan(TypedDict):
    """What embedding with a model would take: `texts` in all, and those `left` to embed.

    `seconds` is estimated from a sample, and `bytes` is how much the log will grow.
    """

    model: str
    texts: int
    left: int
    seconds: float
    bytes: int


class EmbeddedAhead(TypedDict):
    """How many texts were `embedded`, and how many still lack a vector (`left`)."""

    model: str
    embedded: int
    left: int


class OldVectors(TypedDict):
    """The models whose vectors were dropped from memory; `bytes` of vectors stay in the log."""

    dropped: list[str]
    vectors: int
    bytes: int


class _Text(NamedTuple):
    """A text without a vector of the model, with what a request needs to name it."""

    owner_id: str
    candidate_id: str
    text_id: str | None
    text: str


def plan_embedding(writer: StoreWriter, engine: Engine) -> EmbeddingPlan:
    """Count the distinct texts, and embed a few of them; nothing is recorded.

    Raises UsageError if the engine's model is already in force, or may not get the store's texts.
    """
    _require_usable(writer, engine)
    reader = writer.reader
    texts = sum(
        1 for owner in reader.owners() for one in texts_of(reader.ledger(owner)) if one.text
    )
    left = [*_lacking(writer, engine.model)]
    some = [one.text for one in left[:: max(1, len(left) // SAMPLE)]][:SAMPLE]
    begun = time.perf_counter()
    made = [recorded_vector(one, engine) for one in engine.embed(some)]
    each = (time.perf_counter() - begun) / max(1, len(some))
    size = sum(map(_stored, made)) / max(1, len(made))
    return {
        "model": engine.model,
        "texts": texts,
        "left": len(left),
        "seconds": round(each * len(left), 1),
        "bytes": round(size * len(left)),
    }


def embed_ahead(writer: StoreWriter, engine: Engine, progress: Counting | None) -> EmbeddedAhead:
    """Record a vector of the model for each text without one, until no new text has arrived.

    It also ends if the writer recorded none of a whole pass. Raises UsageError as
    `plan_embedding` does, and RefusedError if the writer refuses.
    """
    _require_usable(writer, engine)
    done, recorded, left = 0, 0, [*_lacking(writer, engine.model)]
    while left:
        total, added = len(left), 0
        for start in range(0, len(left), AT_ONCE):
            some = left[start : start + AT_ONCE]
            added += _record(writer, engine, some)
            done, total = done + len(some), total - len(some)
            if progress is not None:
                progress(done, total)
        recorded, left = recorded + added, [*_lacking(writer, engine.model)]
        if not added:
            break
    return {"model": engine.model, "embedded": recorded, "left": len(left)}


def _record(writer: StoreWriter, engine: Engine, texts: Sequence[_Text]) -> int:
    """Embed texts and let the writer record their vectors; returns how many it recorded."""
    made = engine.embed([one.text for one in texts])
    by_owner: dict[str, list[TextVector]] = {}
    for one, embedding in zip(texts, made, strict=True):
        by_owner.setdefault(one.owner_id, []).append(
            TextVector(
                candidate_id=one.candidate_id,
                text_id=one.text_id,
                vector=recorded_vector(embedding, engine),
            )
        )
    requests = [
        AddVectorsRequest(
            request_id=str(uuid4()),
            owner_id=owner_id,
            vectors=tuple(vectors[start : start + OF_REQUEST]),
        )
        for owner_id, vectors in by_owner.items()
        for start in range(0, len(vectors), OF_REQUEST)
    ]
    added = 0
    for answer in writer.ask_each(requests):
        if isinstance(answer, RefusedError):
            raise answer
        added += answer["added"]
    return added


def _lacking(writer: StoreWriter, model: str) -> Iterator[_Text]:
    for owner_id in writer.reader.owners():
        for candidate_id, text_id, distinct in lacking(writer.reader.ledger(owner_id), model):
            yield _Text(owner_id, candidate_id, text_id, distinct.text)


def _require_usable(writer: StoreWriter, engine: Engine) -> None:
    policy = writer.reader.policy_in_force()
    if policy.model == engine.model and not writer.reader.follows():
        raise UsageError(
            f"{engine.model} is the model in force: `palimpsest embed` without --model embeds what"
            " lacks its vector"
        )
    require_local(engine, policy)


def switch_model(
    writer: StoreWriter, model: str, policy: Policy | None, actor: str | None
) -> PolicyInForce:
    """Compare by another model from here on, under `policy` or the current one's rules.

    Raises UsageError if the policy is for another model, RefusedError if the model is already in
    force (not with a cluster), or any text lacks a vector of it. A cluster's partitions switch one
    by one: if one refuses, because a text has arrived meanwhile, all are asked again.
    """
    present = writer.reader.policy_in_force()
    if model == present.model and not writer.reader.follows():
        raise RefusedError("model_in_force", f"{model} is the model in force already")
    new = policy or present.model_copy(update={"model": model, "certificate": None})
    if new.model != model:
        raise UsageError(
            f"the policy {new.name} is for {new.model}, not for {model}: name one for {model},"
            " such as `palimpsest calibrate` writes"
        )
    # A cluster's partitions decide one by one: if one would refuse, ask none.
    if missing := sum(1 for _ in _lacking(writer, model)):
        raise RefusedError(
            OTHER_MODEL,
            f"a vector of {model} is missing for {counted(missing, 'text')}: run `palimpsest embed"
            f" --model {model}`, again if texts came after it, then switch",
        )
    return writer.ask(policy_request(writer, new, actor))


def policy_request(writer: StoreWriter, policy: Policy, actor: str | None) -> PolicyRequest:
    """The request that puts a policy in force, with the model that it replaces."""
    before, rules = writer.reader.policy_in_force().model, policy.model_dump(mode="json")
    former = before if before != policy.model and writer.reader.log.head() else None
    return PolicyRequest(request_id=str(uuid4()), actor=actor, policy=rules, former=former)


def drop_old_vectors(writer: StoreWriter, actor: str | None, *, dry_run: bool) -> OldVectors:
    """Drop from memory the vectors of models that are not in force; the log keeps them.

    Replays of the log, such as an un-merge or an as-of answer, still find them there.
    """
    present = writer.reader.policy_in_force()
    found: set[str] = set()
    vectors = size = 0
    for owner_id in writer.reader.owners():
        for distinct in texts_of(writer.reader.ledger(owner_id)):
            for model, vector in (distinct.beside or {}).items():
                found.add(model)
                vectors, size = vectors + 1, size + _size(vector)
    if found and not dry_run:
        rules = present.model_dump(mode="json")
        writer.ask(
            PolicyRequest(
                request_id=str(uuid4()), actor=actor, policy=rules, drops=tuple(sorted(found))
            )
        )
    return {"dropped": sorted(found), "vectors": vectors, "bytes": size}


def _stored(vector: Vector) -> float:
    """The bytes that an event with a vector takes in the log's file, whose pages hold whole lines.

    Measured: 2,092 for 384 dimensions.
    """
    line = _size(vector) + ENVELOPE_BYTES
    pages = math.ceil(line / PAGE_BYTES) / max(1, PAGE_BYTES // line)
    return pages * PAGE_BYTES + INDEX_BYTES


def _size(vector: Vector) -> int:
    return len(vector.data) + sum(map(len, vector.windows or ()))


# -- texts that were stored while the model was down ---------------------------------------------


def embed_late(
    writer: StoreWriter,
    owner_id: str | None,
    progress: Callable[[int, int], None] | None,
    *,
    long: bool,
    dry_run: bool,
) -> dict[str, int]:
    """Embed texts that have no vector, owner by owner; RefusedError if the model is down.

    With `long`, it embeds long texts without windows instead. A dry run counts them all as `left`.
    """
    log = writer.reader.log
    if long:
        ledgers = map(writer.reader.ledger, log.owners_with_long_texts())
        waiting = {ledger.owner_id: len(ledger.without_windows()) for ledger in ledgers}
    else:
        waiting = log.verifications.owners_unembedded()
    owners = {owner: n for owner, n in waiting.items() if n and owner_id in (None, owner)}
    done, left = 0, sum(owners.values())
    for owner, texts in () if dry_run else owners.items():
        others, here = left - texts, texts
        while here:
            request = EmbedRequest(request_id=str(uuid4()), owner_id=owner, long=long)
            answer = writer.ask(request)
            done, here = done + answer["embedded"], answer["left"]
            left = others + here
            if progress is not None and done + left:
                progress(done, left)
    return {"embedded": done, "left": left}
