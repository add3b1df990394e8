"""`find`: which memories are meant, exactly by words and names; meaning only proposes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.shown import Recalled
from palimpsest.contracts.urn import Urn
from palimpsest.local_gateway import LocalGateway
from palimpsest.projections.filters import Filter
from palimpsest.projections.hits import RecallOptions
from palimpsest.projections.mentioned import Mentioned
from palimpsest.recalling import recall
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.version import versions_of

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
        wanted = RecallOptions(k, Filter(namespace), former=True, without=frozenset(known))
        near = recall(gateway, owner_id, query, wanted, fold=False)
        hits += [_near(ledger, one) for one in near]
    return Plan(
        owner_id=owner_id, query=query, position=position, token=_token(ledger, hits), hits=hits
    )


NO_PLAN = "a plan is what `find` returns: with its `hits` and its `token`"


def meant(what: Mapping[str, Any] | str | Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The ids of memories that a plan has, and its token; or the ids that are named.

    UsageError for what is no plan, and where nothing is named.
    """
    token = None
    match what:
        case str():
            ids: tuple[str, ...] = (what,)
        case Mapping():
            token, hits = what.get("token"), what.get("hits")
            if not isinstance(token, str) or not isinstance(hits, list):
                raise UsageError(NO_PLAN)
            named = [hit.get("memory_id") if isinstance(hit, Mapping) else None for hit in hits]
            ids = tuple(one for one in named if isinstance(one, str))
            if len(ids) != len(hits):
                raise UsageError(NO_PLAN)
        case _:
            ids = tuple(what)
    if not ids:
        raise UsageError("nothing is named: a plan without hits, or no ids")
    return ids, token


def _token(ledger: Ledger, hits: Iterable[Hit]) -> str:
    """The version of all the memories of a plan together."""
    return versions_of(ledger.entries[hit["memory_id"]].memory for hit in hits)


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
