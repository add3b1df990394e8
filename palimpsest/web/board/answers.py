"""Records a person's answer about a pair in the log, and undoes exactly that answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from palimpsest.api.arguments import Attribution
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.separations import separation, statement_on
from palimpsest.streams.core.version import versions_of
from palimpsest.web.board.waiting import WaitingPair

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
    """A pair in its owner's ledger; `newer` is the candidate of the decision."""

    ledger: Ledger
    newer: Entry
    older: Entry

    @property
    def version(self) -> str:
        """The versions of both memories, to which an answer refers."""
        return versions_of(
            {entry.memory.id: entry.memory for entry in (self.older, self.newer)}.values()
        )


TakeBack = Callable[[Palimpsest], object]


@dataclass(frozen=True)
class GivenAnswer:
    """A recorded answer with its reason, and the function that undoes exactly it.

    `events` are the ids of the events that recorded it.
    """

    pair: WaitingPair
    word: Choice
    because: str | None
    take_back: TakeBack
    events: tuple[str, ...] = ()


def sides(store: Palimpsest, pair: WaitingPair) -> Sides | None:
    """The pair's current state in the log; None if it no longer waits."""
    ledger = _ledger(store, pair)
    newer = ledger.entries.get(pair.candidate_id)
    older = ledger.entries.get(pair.existing_id)
    if newer is None or older is None or not _waits(ledger, pair, newer, older):
        return None
    return Sides(ledger, newer, older)


def _waits(ledger: Ledger, pair: WaitingPair, newer: Entry, older: Entry) -> bool:
    if pair.waits_as == "forgotten":
        waits = newer.forgotten is not None and newer.forgotten.waits
        return waits and pair.decision_id not in ledger.reviews
    if separation(ledger, newer, older) is not None:
        return False
    if pair.waits_as == "pending":
        waits = older.id in newer.open or newer.held == older.id
        return waits and newer.living and older.living
    if not (newer.text_lives and older.text_lives):
        return False
    edge = ledger.edges.get(pair.decision_id)
    return edge is not None and edge.standing and pair.decision_id not in ledger.reviews


def give(
    store: Palimpsest,
    pair: WaitingPair,
    word: Choice,
    version: str,
    actor: str,
    because: str | None,
) -> GivenAnswer:
    """Record an answer about a pair as it was shown.

    RefusedError if the pair has changed since, or if the log refuses the answer.
    """
    found = sides(store, pair)
    if found is None:
        raise RefusedError("not_waiting", "this pair was settled meanwhile")
    if found.version != version:
        raise RefusedError(MOVED_ON, "its memories have changed since it was shown: look again")
    who: Attribution = {"actor": actor, "because": because}
    if pair.waits_as == "forgotten":
        return GivenAnswer(pair, word, because, _let_in_or_not(store, pair, word, who))
    if word == "different":
        return GivenAnswer(pair, word, because, _part(store, pair, who))
    return _unite(store, found, pair, word, who)


def _let_in_or_not(
    store: Palimpsest, pair: WaitingPair, word: Choice, who: Attribution
) -> TakeBack:
    """*Same* leaves a repeat of a forgotten text out; *different* stores it separately."""
    if word not in ("same", "different"):
        raise RefusedError("forgotten", "say `same` to leave it out, or `different` to let it in")
    about = pair.decision_id, pair.existing_id
    if word == "different":
        store.review_different(*about, **who)
    else:
        store.review_same(*about, **who)

    def take_back(again: Palimpsest) -> None:
        """Forget the candidate again, unless others have joined it."""
        if word == "same":
            raise RefusedError("confirmed", "leaving it out is confirmed: restore its memory")
        newer = _ledger(again, pair).entries[pair.candidate_id]
        if len(newer.memory.members) > 1:
            raise RefusedError(
                "one_memory", "others have joined it since it was let in: forget it on its page"
            )
        again.forget([pair.candidate_id], again="ask", by="person", actor=who["actor"])

    return take_back


def _part(store: Palimpsest, pair: WaitingPair, who: Attribution) -> TakeBack:
    """Separate the two: nothing automatic joins them again."""
    if pair.waits_as == "pending":
        store.separate(pair.existing_id, pair.candidate_id, **who)
    else:
        store.unmerge(decision_id=pair.decision_id, by="person", **who)
    ledger = _ledger(store, pair)
    apart = separation(ledger, *_ends(ledger, pair))
    assert apart is not None, "this answer has separated them"
    return together_again(pair, who["actor"], apart.event_id)


def together_again(pair: WaitingPair, actor: str | None, said_by: str) -> TakeBack:
    """A function that undoes *different*, as event `said_by` recorded it.

    It withdraws the separation of a pair that was not joined, and reinstates the join of one that
    was.
    """

    def take_back(again: Palimpsest) -> None:
        """Join the two again, if it is this answer that keeps them apart."""
        ledger = _ledger(again, pair)
        apart = separation(ledger, *_ends(ledger, pair))
        if apart is None or apart.event_id != said_by:
            raise _holds_no_more()
        if pair.waits_as == "pending":
            again.withdraw(pair.existing_id, pair.candidate_id, actor=actor)
        else:
            again.reinstate(pair.decision_id, by="person", actor=actor)

    return take_back


def _holds_no_more() -> RefusedError:
    return RefusedError("overtaken", "there is a later statement about the two")


def _ledger(store: Palimpsest, pair: WaitingPair) -> Ledger:
    return store.reader.ledger(pair.owner_id)


def _ends(ledger: Ledger, pair: WaitingPair) -> tuple[Entry, Entry]:
    return ledger.entries[pair.candidate_id], ledger.entries[pair.existing_id]


def _unite(
    store: Palimpsest, found: Sides, pair: WaitingPair, word: Choice, who: Attribution
) -> GivenAnswer:
    """Join them, or confirm their join; if they have two values, one becomes former."""
    first, last = sorted((found.newer, found.older), key=lambda entry: entry.place)
    face = {"newer": last.id, "former": first.id}.get(word)
    stands = pair.waits_as != "pending"
    merged_by = None
    if face is not None or not stands:
        merged_by = store.merge(first.id, last.id, face=face, **who)["decision_id"]
    if stands:
        store.confirm(pair.decision_id, **who)
    return GivenAnswer(pair, word, who["because"], undone(pair, who["actor"], merged_by))


def undone(pair: WaitingPair, actor: str | None, merged_by: str | None) -> TakeBack:
    """A function that undoes an answer that the two are one memory.

    It withdraws a merge. It removes and reinstates a confirmed join, so that it waits again.
    """

    def take_back(again: Palimpsest) -> None:
        """Undo the merge and the confirmation, if both still hold."""
        ledger = _ledger(again, pair)
        if merged_by is not None:
            said = statement_on(ledger, pair.candidate_id, pair.existing_id)
            if said is None or said.event_id != merged_by:
                raise _holds_no_more()
        if pair.waits_as != "pending" and ledger.reviews.get(pair.decision_id) != "confirmed":
            raise _holds_no_more()
        if merged_by is not None:
            again.withdraw(pair.existing_id, pair.candidate_id, actor=actor)
        if pair.waits_as != "pending":
            again.unmerge(decision_id=pair.decision_id, by="person", actor=actor)
            again.reinstate(pair.decision_id, by="person", actor=actor)

    return take_back
