"""`recall`: the memories nearest to a query, from a ledger, or from LanceDB for large owners."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import cast

import numpy as np

from palimpsest.backends.reader import Reader
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.shown import Hits, Recalled
from palimpsest.projections.lancedb.files import is_kept
from palimpsest.projections.lancedb.store import FOLDER as LANCE_FOLDER
from palimpsest.projections.lancedb.store import read_state
from palimpsest.projections.recall.by_words import ranked_by_words
from palimpsest.projections.recall.collapse import Folding
from palimpsest.projections.recall.from_lance import recall as recall_stored
from palimpsest.projections.recall.from_ledger import Query, Recollection
from palimpsest.projections.recall.hits import Ranked, RecallOptions, hits
from palimpsest.projections.recall.mentions import MentionIndex, identifiers
from palimpsest.projections.recall.sayings import Sayings
from palimpsest.projections.recall.session import own_memories
from palimpsest.projections.shown.memory import Weighing
from palimpsest.queries.show import rules_at
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.mentions import mentions
from palimpsest.streams.core.worth import NONE_UNRECORDED
from palimpsest.streams.embedder import require_local
from palimpsest.streams.embedder.scores import MIN_SCORES, NAME_SHARES
from palimpsest.streams.guard import mentioned_name
from palimpsest.streams.log.as_of import AsOf, position_as_of
from palimpsest.streams.write.owners import fold_owner

_log = logging.getLogger(__name__)

BYTES_PER_TOKEN = 4
"""The approximate length of a language model's token in English."""


def recall(
    reader: Reader,
    owner_id: str,
    question: str,
    wanted: RecallOptions,
    *,
    as_of: AsOf | None = None,
    min_confidence: float | None = None,
    fold: bool = True,
    unrecorded: Mapping[str, datetime] = NONE_UNRECORDED,
) -> Hits:
    """The nearest memories now, or as of a position or time by folding the log.

    They come from the owner's ledger, or, for a large owner, from LanceDB, if it is installed and
    has enough of the owner's memories. While the model is down, memories are
    found by words, as texts without a vector always are. With `fold`, indistinguishable memories
    are shown once. `unrecorded` has, by memory id, the time of a use that is not in the log yet.
    Decay is computed with these uses, too, unless `as_of` is given.
    """
    policy, at = rules_at(reader, as_of)
    unrecorded = unrecorded if as_of is None else NONE_UNRECORDED
    least = policy.recall.min_confidence if min_confidence is None else min_confidence
    weighs = policy.decay is not None or least is not None
    wanted = replace(
        wanted,
        weighing=Weighing(policy, at, least, unrecorded) if weighs else None,
        folding=Folding(policy) if fold else None,
        filter=replace(wanted.filter, at=at),
        verbatim=question,
        min_score=MIN_SCORES.get(policy.model) if wanted.min_score == "model" else wanted.min_score,
    )
    in_force = policy if as_of is None else reader.policy_in_force()
    asked = _RecallQuery(reader, question, policy, in_force)
    vector = asked.vector
    if as_of is not None:
        position = position_as_of(reader.log, as_of, owner_id)
        ledger = fold_owner(reader.log, owner_id, position)
        then = None if vector is None else Recollection(ledger, vector.shape[-1])
        return _of_ledger(reader, ledger, then, asked, wanted, MentionIndex(ledger))
    if vector is None:
        return _of_ledger(reader, reader.ledger(owner_id), None, asked, wanted)
    exactly = weighs or bool(wanted.hybrid)
    found = None if exactly else _quickly(reader, owner_id, asked, vector, wanted)
    if found is not None:
        return found
    ledger = reader.ledger(owner_id)
    kept = reader.recollections.of(ledger, vector, however_large=True)
    kept = kept or Recollection(ledger, vector.shape[-1])
    index = reader.mention_indexes.of(ledger)
    return _of_ledger(reader, ledger, kept, asked, wanted, index)


class _RecallQuery:
    """A question, and its vector by the policy's model; None if the model is down."""

    def __init__(self, reader: Reader, text: str, policy: Policy, in_force: Policy) -> None:
        self.text = text
        self.model = policy.model
        self._reader = reader
        self._policies = policy, in_force
        self.vector = _vector_of(reader, text, policy, in_force)

    def vector_without(self, names: tuple[str, ...]) -> Query | None:
        """The vector without what the owner's name adds to it, if the question mentions one."""
        share, name = NAME_SHARES.get(self.model), mentioned_name(self.text, names)
        if self.vector is None or share is None or name is None:
            return self.vector
        named = _vector_of(self._reader, name, *self._policies, again=True)
        return self.vector if named is None else self.vector - np.float32(share) * named[0]


def _quickly(
    reader: Reader,
    owner_id: str,
    asked: _RecallQuery,
    vector: Query,
    wanted: RecallOptions,
) -> Hits | None:
    """From the ledger if it is small or in memory, else from LanceDB; None if neither can answer.

    LanceDB cannot find texts without a vector.
    """
    ledger = reader.ledger_if_small(owner_id)
    kept = None if ledger is None else reader.recollections.of(ledger, vector)
    if ledger is not None and kept is not None:
        index = reader.mention_indexes.of(ledger)
        return _of_ledger(reader, ledger, kept, asked, wanted, index)
    if not is_kept(reader.projections) or reader.log.verifications.unembedded(owner_id):
        return None
    reader.refresh()
    if read_state(reader.projections / LANCE_FOLDER)["models"]["in_force"][1] not in {
        None,
        asked.model,
    }:
        return None  # its rows still have another model's vectors
    own = [*wanted.without]
    if wanted.session_id is not None:
        compacted = reader.log.compacted_at(owner_id, wanted.session_id)
        own += own_memories(reader.projections, owner_id, wanted.session_id, compacted)
    found = recall_stored(reader.projections, reader.log, owner_id, vector, wanted, without=own)
    return None if found is None else _bounded(asked.text, found, wanted)


def _of_ledger(
    reader: Reader,
    ledger: Ledger,
    recollection: Recollection | None,
    asked: _RecallQuery,
    wanted: RecallOptions,
    index: MentionIndex | None = None,
) -> Hits:
    """The hits by meaning, merged with hits by words among texts that have no vector."""
    names = reader.names_for_order(ledger)
    question, vector = asked.text, asked.vector_without(names)
    words: list[Ranked] = []
    if vector is None or ledger.unembedded:
        words = ranked_by_words(ledger, question, unembedded=vector is not None)
    if vector is None or recollection is None:
        return _bounded(
            question, hits(ledger, words, wanted, Sayings(names)), replace(wanted, min_score=None)
        )
    mentioning: dict[str, int] = {}
    if index is not None and wanted.hybrid is not False:
        mentioning = index.of_identifiers(question)
    found = recollection.recall(vector, wanted, names, words, mentioning)
    matching = {*mentioning, *(ranked.memory.id for ranked in words)}
    return _bounded(question, found, wanted, matching)


def _bounded(
    question: str,
    found: list[Recalled],
    wanted: RecallOptions,
    matching: Set[str] = frozenset(),
) -> Hits:
    """The hits that reach `min_score` or match by words, as far as `max_tokens` allows.

    Hits with an id in `matching` match by words; so do hits with an identifier of the question,
    unless `hybrid` is off. If one hit of a frame passes, all do: otherwise a stale value could be
    shown without the newer one. The first hit may have any length.
    """
    least, weaker = cast("float | None", wanted.min_score), 0
    if least is not None:
        names = [] if wanted.hybrid is False else identifiers(question)
        passing = {
            hit["memory_id"]
            for hit in found
            if hit["score"] >= least
            or {hit["memory_id"], *hit["folded"]} & matching
            or _has_one(hit, names)
        }
        near = [hit for hit in found if {hit["memory_id"], *hit.get("frame", ())} & passing]
        found, weaker = near, len(found) - len(near)
    if wanted.max_tokens is not None:
        tokens = accumulate(len(hit["face"].encode()) / BYTES_PER_TOKEN for hit in found)
        found = [
            hit
            for place, (hit, total) in enumerate(zip(found, tokens, strict=True))
            if place == 0 or total <= wanted.max_tokens
        ]
    kept = Hits(found)
    kept.weaker, kept.min_score = weaker, least
    return kept


def _has_one(hit: Recalled, names: Collection[str]) -> bool:
    """Whether the face or a wording of a hit has one of the identifiers."""
    texts = {hit["face"], *(member["text"] for member in hit["members"])}
    return any(mentions(name, text) for name in names for text in texts)


def _vector_of(
    reader: Reader, text: str, policy: Policy, in_force: Policy, *, again: bool = False
) -> Query | None:
    """The vector of a text by the policy's model; None if the policy continues without the model.

    `again`: the text is a name that will be embedded again, so its vector is cached.
    """
    try:
        embedder = reader.embedder_of(policy.model)
        require_local(embedder.engine, in_force)
        made = embedder.embed_once(text) if again else embedder.embed_now(text)
    except Exception as error:
        if policy.embedder_fails == "stop" or isinstance(error, UsageError):
            raise
        _log.warning("the embedder is down, memories are recalled by words: %s", error)
        return None
    windows = () if made.windows is None else made.windows
    return np.vstack([made.vector, *windows]).astype(np.float32)
