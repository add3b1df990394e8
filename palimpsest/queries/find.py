"""`find`: memories by exact words; semantic matches are only suggested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.shown import Recalled
from palimpsest.contracts.urn import Urn
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.projections.shown.memory import iso_time
from palimpsest.queries.recall import recall
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.version import token_of_each, version_of

By = Literal["words", "meaning"]
Why = Literal["word", "alias", "cosine"]


class Hit(TypedDict):
    """A memory that matches the query, and why.

    `word`: its face mentions the query; `alias`: another of its wordings, given as `text`, does;
    `cosine`: it is near in meaning, with its `score`, but may be unrelated. `version` identifies
    its current state. `expires_at` is present if it will expire, or has expired.
    """

    memory_id: str
    urn: str
    namespace: str
    face: str
    why: Why
    text: str
    candidate_id: str | None
    members: list[str]
    version: str
    score: NotRequired[float]
    expires_at: NotRequired[str]


class Plan(TypedDict):
    """The hits: first the memories that mention the query, then those near in meaning.

    `position` is where the log ended when the plan was made; a server does not show it to agents.

    The `token` is valid for each of these memories until its members or face change.
    """

    owner_id: str
    query: str
    position: NotRequired[int]
    token: str
    hits: list[Hit]


def find(
    reader: Reader,
    owner_id: str,
    query: str,
    *,
    by: Sequence[By],
    k: int,
    namespace: str | None,
    show_expired: bool = False,
) -> Plan:
    """All memories that mention the query, then the `k` nearest by meaning."""
    ledger = reader.ledger(owner_id)
    wanted = Filter(namespace, show_expired=show_expired, at=reader.clock())
    position = reader.log.head()
    hits: list[Hit] = []
    if "words" in by:
        index = reader.mention_indexes.of(ledger)
        mentions = index.find(query, namespace)
        hits = [
            _hit(owner_id, one.memory, one.text, one.candidate_id, one.why)
            for one in mentions
            if not wanted.hides(one.memory)
        ]
    if "meaning" in by:
        known = {hit["memory_id"] for hit in hits}
        options = RecallOptions(k, wanted, former=True, without=frozenset(known))
        near = recall(reader, owner_id, query, options, fold=False)
        hits += [_near(ledger, memory) for memory in near]
    return Plan(
        owner_id=owner_id,
        query=query,
        position=position,
        token=token_of_each(hit["version"] for hit in hits),
        hits=hits,
    )


NO_PLAN = "expected a plan, the answer of `find`, with its `hits` and its `token`"
NO_WORDS = (
    "nothing in the plan matched by words: pass the ids of the memories that you mean, and the"
    " plan's token as `expect`"
)


def meant(what: Mapping[str, Any] | str | Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The ids to act on, and the token: a plan's memories that matched by words, or the ids given.

    Raises UsageError if this is not a plan, names no memory, or matched none by words.
    """
    token = None
    match what:
        case str():
            ids: tuple[str, ...] = (what,)
        case Mapping():
            token, hits = what.get("token"), what.get("hits")
            if not isinstance(token, str) or not isinstance(hits, list):
                raise UsageError(NO_PLAN)
            ids = tuple(_matched_by_words(hits))
            if hits and not ids:
                raise UsageError(NO_WORDS)
        case _:
            ids = tuple(what)
    if not ids:
        raise UsageError("no memory is named: the plan has no hits, or there are no ids")
    return ids, token


def _matched_by_words(hits: Iterable[Any]) -> Iterator[str]:
    for hit in hits:
        match hit:
            case {"why": "cosine", "memory_id": str()}:
                continue
            case {"memory_id": str(memory_id)}:
                yield memory_id
            case _:
                raise UsageError(NO_PLAN)


def _near(ledger: Ledger, found: Recalled) -> Hit:
    memory = ledger.entries[found["memory_id"]].memory
    speaker = memory.face.speaker.id if memory.face.composition is None else None
    hit = _hit(ledger.owner_id, memory, memory.text, speaker, "cosine")
    hit["score"] = found["score"]
    return hit


def _hit(owner_id: str, memory: Memory, text: str, candidate_id: str | None, why: Why) -> Hit:
    hit = Hit(
        memory_id=memory.id,
        urn=str(Urn(owner_id, memory.namespace, memory.id)),
        namespace=memory.namespace,
        face=memory.text,
        why=why,
        text=text,
        candidate_id=candidate_id,
        members=[entry.id for entry in memory.members],
        version=version_of(memory),
    )
    if memory.expires_at is not None:
        hit["expires_at"] = iso_time(memory.expires_at)
    return hit
