"""What a person's answer about a pair records in the log, and what takes exactly that back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from palimpsest.contracts.errors import RefusedError
from palimpsest.store import Attribution, Palimpsest
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.separations import separation
from palimpsest.streams.core.version import versions_of
from palimpsest.web.waiting import Pair

Choice = Literal["same", "different", "newer", "former"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
LABELS: dict[Choice, str] = {
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
        """The version of both memories: an answer is about these."""
        return versions_of({one.memory.id: one.memory for one in (self.older, self.newer)}.values())


TakeBack = Callable[[Palimpsest], object]


@dataclass(frozen=True)
class Answer:
    """An answer that was given, with why, and what takes exactly it back."""

    pair: Pair
    word: Choice
    because: str | None
    take_back: TakeBack


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
    if not (newer.living and older.living) or separation(ledger, newer, older) is not None:
        return False
    if pair.waits_as == "pending":
        return older.id in newer.open or newer.held == older.id
    edge = ledger.edges.get(pair.decision_id)
    return edge is not None and edge.standing and pair.decision_id not in ledger.reviews


def give(
    store: Palimpsest, pair: Pair, word: Choice, version: str, actor: str, because: str | None
) -> Answer:
    """Write an answer about a pair as it was shown; RefusedError where that is no more."""
    found = sides(store, pair)
    if found is None:
        raise RefusedError("not_waiting", "this pair was settled meanwhile")
    if found.version != version:
        raise RefusedError(MOVED_ON, "its memories have changed since it was shown: look again")
    who: Attribution = {"actor": actor, "because": because}
    if pair.waits_as == "forgotten":
        return Answer(pair, word, because, _let_in_or_not(store, pair, word, who))
    if word == "different":
        return Answer(pair, word, because, _part(store, pair, who))
    return _unite(store, found, pair, word, who)


def _let_in_or_not(store: Palimpsest, pair: Pair, word: Choice, who: Attribution) -> TakeBack:
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


def _part(store: Palimpsest, pair: Pair, who: Attribution) -> TakeBack:
    """Nothing automatic unites them again."""
    if pair.waits_as == "pending":
        store.separate(pair.existing_id, pair.candidate_id, **who)
    else:
        store.unmerge(decision_id=pair.decision_id, **who)
    return together_again(pair, who["actor"])


def together_again(pair: Pair, actor: str | None) -> TakeBack:
    """What takes *different* back: the word is withdrawn, or the join put back."""
    if pair.waits_as == "pending":
        return lambda again: again.withdraw(pair.existing_id, pair.candidate_id, actor=actor)
    return lambda again: again.reinstate(pair.decision_id, actor=actor)


def _unite(store: Palimpsest, found: Sides, pair: Pair, word: Choice, who: Attribution) -> Answer:
    """Join them, or agree with their join; of two values one speaks, and the other is former."""
    first, last = sorted((found.newer, found.older), key=lambda one: one.place)
    face = {"newer": last.id, "former": first.id}.get(word)
    stands = pair.waits_as != "pending"
    merged = face is not None or not stands
    if merged:
        store.merge(first.id, last.id, face=face, **who)
    if stands:
        store.confirm(pair.decision_id, **who)
    return Answer(pair, word, who["because"], undone(pair, who["actor"], merged=merged))


def undone(pair: Pair, actor: str | None, *, merged: bool) -> TakeBack:
    """What takes an answer back that the two are one memory.

    A merge is withdrawn; a join that was agreed with is reinstated, and waits again.
    """

    def take_back(again: Palimpsest) -> None:
        if merged:
            again.withdraw(pair.existing_id, pair.candidate_id, actor=actor)
        if pair.waits_as != "pending":
            again.unmerge(decision_id=pair.decision_id, actor=actor)
            again.reinstate(pair.decision_id, actor=actor)

    return take_back
