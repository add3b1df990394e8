"""What a person's answer about a pair says in the log, and what takes exactly that back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from palimpsest.contracts.errors import RefusedError
from palimpsest.store import Palimpsest, Said
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.separations import separation
from palimpsest.streams.core.version import versions_of
from palimpsest.web.waiting import Pair

Word = Literal["same", "different", "newer", "former"]
WORDS: tuple[Word, ...] = get_args(Word)
SAID: dict[Word, str] = {
    "same": "the same",
    "different": "different",
    "newer": "the newer replaces the older",
    "former": "the newer is a former value",
}
MOVED_ON = "moved_on"


@dataclass(frozen=True)
class Sides:
    """A pair in its owner's ledger: `newer` is the candidate that was decided on."""

    ledger: Ledger
    newer: Entry
    older: Entry

    @property
    def version(self) -> str:
        """What stands for both memories as they are: an answer is about these."""
        return versions_of({one.memory.id: one.memory for one in (self.older, self.newer)}.values())


TakeBack = Callable[[Palimpsest], object]


@dataclass(frozen=True)
class Answer:
    """An answer that was given, with why, and what takes exactly it back.

    `again` is what can be answered once it is taken back.
    """

    pair: Pair
    word: Word
    because: str | None
    take_back: TakeBack
    again: Pair


def sides(store: Palimpsest, pair: Pair) -> Sides | None:
    """The pair as the log has it now; None where it waits no more."""
    ledger = store.gateway.ledger(pair.owner_id, however_large=True)
    assert ledger is not None, "of any size"
    newer = ledger.entries.get(pair.candidate_id)
    older = ledger.entries.get(pair.existing_id)
    if newer is None or older is None or not _waits(ledger, pair, newer, older):
        return None
    return Sides(ledger, newer, older)


def _waits(ledger: Ledger, pair: Pair, newer: Entry, older: Entry) -> bool:
    if pair.waits_as == "forgotten":
        return not newer.living and pair.decision_id not in ledger.reviews
    if pair.waits_as == "undone":
        undone = ledger.edges[pair.decision_id].reversed_by
        apart = separation(ledger, newer, older)
        return undone is not None and apart is not None and apart.event_id == undone.event_id
    if not (newer.living and older.living) or separation(ledger, newer, older) is not None:
        return False
    if pair.waits_as == "pending":
        return older.id in newer.open or newer.held == older.id
    edge = ledger.edges.get(pair.decision_id)
    return edge is not None and edge.standing and pair.decision_id not in ledger.reviews


def give(
    store: Palimpsest, pair: Pair, word: Word, version: str, actor: str, because: str | None
) -> Answer:
    """Write an answer about a pair as it was shown; RefusedError where that is no more."""
    found = sides(store, pair)
    if found is None:
        raise RefusedError("not_waiting", "this pair was settled meanwhile")
    if found.version != version:
        raise RefusedError(MOVED_ON, "its memories have changed since it was shown: look again")
    who: Said = {"actor": actor, "because": because}
    if pair.waits_as == "forgotten":
        return Answer(pair, word, because, _let_in_or_not(store, pair, word, who), pair)
    if word == "different":
        return Answer(pair, word, because, _part(store, pair, who), pair)
    return _unite(store, found, pair, word, who)


def _let_in_or_not(store: Palimpsest, pair: Pair, word: Word, who: Said) -> TakeBack:
    """The same as what was forgotten stays out; what is different is let in, apart from it."""
    if word not in ("same", "different"):
        raise RefusedError("forgotten", "say `same`, to leave it out, or `different`, to let it in")
    about = pair.decision_id, pair.existing_id
    if word == "different":
        store.review_different(*about, **who)
    else:
        store.review_same(*about, **who)

    def take_back(again: Palimpsest) -> None:
        if word == "same":
            raise RefusedError("confirmed", "that it stays out is confirmed: restore its memory")
        again.forget([pair.candidate_id], again="ask", actor=who["actor"])

    return take_back


def _part(store: Palimpsest, pair: Pair, who: Said) -> TakeBack:
    """Nothing automatic unites them again."""
    actor, ends = who["actor"], (pair.existing_id, pair.candidate_id)
    if pair.waits_as == "pending":
        store.separate(*ends, **who)
        return lambda again: again.withdraw(*ends, actor=actor)
    store.unmerge(decision_id=pair.decision_id, **who)
    return lambda again: again.reinstate(pair.decision_id, actor=actor)


def _unite(store: Palimpsest, found: Sides, pair: Pair, word: Word, who: Said) -> Answer:
    """Join them, or agree with their join; of two values one speaks, and the other is former."""
    first, last = sorted((found.newer, found.older), key=lambda one: one.place)
    face = {"newer": last.id, "former": first.id}.get(word)
    stands = pair.waits_as not in ("pending", "undone")
    joined: str | None = None
    if pair.waits_as == "undone" and face is None:
        store.reinstate(pair.decision_id, **who)
        joined = pair.decision_id
    elif face is not None or not stands:
        joined = str(store.merge(first.id, last.id, face=face, **who)["decision_id"])
    if stands:
        store.confirm(pair.decision_id, **who)

    def take_back(again: Palimpsest) -> None:
        """A reinstated join waits for a review again; a merge that is undone leaves two memories.

        These stay apart until somebody says otherwise: that is what a reversal says.
        """
        actor = who["actor"]
        if joined is not None:
            again.unmerge(decision_id=joined, actor=actor)
        if stands:
            again.unmerge(decision_id=pair.decision_id, actor=actor)
            again.reinstate(pair.decision_id, actor=actor)

    undone = replace(pair, waits_as="undone", decision_id=joined) if joined else pair
    return Answer(pair, word, who["because"], take_back, pair if stands else undone)
