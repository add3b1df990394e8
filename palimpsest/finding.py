"""`find`: which memories are meant, exactly by words and names; meaning only proposes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal, NotRequired, TypedDict

import orjson

from palimpsest.contracts.shown import Recalled
from palimpsest.contracts.urn import Urn
from palimpsest.local_gateway import LocalGateway
from palimpsest.projections.filters import Filter
from palimpsest.projections.hits import Asked
from palimpsest.projections.mentioned import Mentioned
from palimpsest.recalling import recall
from palimpsest.streams.core.ledger import Ledger

By = Literal["words", "meaning"]


class Hit(TypedDict):
    """A memory that may be meant, and why.

    `word`: its face mentions the query; `alias`: another of its wordings does, which is `text`;
    `cosine`: it is near in meaning, with its `score`.
    """

    memory_id: str
    urn: str
    namespace: str
    face: str
    why: Literal["word", "alias", "cosine"]
    text: str
    candidate_id: str | None
    members: list[str]
    score: NotRequired[float]


class Plan(TypedDict):
    """What was found, first what mentions the query. `position` is the log's when it was asked.

    The `token` stands for these memories as they are: another member, or another face, is another
    token, whatever else the log got meanwhile.
    """

    owner_id: str
    query: str
    position: int
    token: str
    hits: list[Hit]


def find(
    gateway: LocalGateway,
    owner_id: str,
    query: str,
    *,
    by: Sequence[By],
    k: int,
    namespace: str | None,
) -> Plan:
    """The memories that mention the query, all of them; then the `k` nearest by meaning."""
    ledger = gateway.ledger(owner_id, however_large=True)
    assert ledger is not None, "asked for however large"
    position = gateway.log.head()
    hits: list[Hit] = []
    if "words" in by:
        index = gateway.mention_indexes.of(ledger)
        hits = [_mentioning(owner_id, one) for one in index.find(query, namespace)]
    if "meaning" in by:
        known = {hit["memory_id"] for hit in hits}
        wanted = Asked(k, Filter(namespace), without=frozenset(known))
        near = recall(gateway, owner_id, query, wanted, fold=False)
        hits += [_near(ledger, one) for one in near]
    return Plan(owner_id=owner_id, query=query, position=position, token=token_of(hits), hits=hits)


def token_of(hits: Iterable[Hit]) -> str:
    """32 hex digits that stand for the memories of a plan, with their members and faces."""
    told = sorted([hit["memory_id"], hit["face"], *sorted(hit["members"])] for hit in hits)
    return hashlib.sha256(orjson.dumps(told)).hexdigest()[:32]


def _mentioning(owner_id: str, found: Mentioned) -> Hit:
    memory = found.memory
    return Hit(
        memory_id=memory.id,
        urn=str(Urn(owner_id, memory.namespace, memory.id)),
        namespace=memory.namespace,
        face=memory.face.text,
        why=found.why,
        text=found.text,
        candidate_id=found.candidate_id,
        members=[entry.id for entry in memory.members],
    )


def _near(ledger: Ledger, found: Recalled) -> Hit:
    memory = ledger.entries[found["memory_id"]].memory
    speaker = memory.face.speaker.id if memory.face.composition is None else None
    return Hit(
        memory_id=memory.id,
        urn=found["urn"],
        namespace=memory.namespace,
        face=memory.face.text,
        why="cosine",
        text=memory.face.text,
        candidate_id=speaker,
        members=[entry.id for entry in memory.members],
        score=found["score"],
    )
