"""Turns ranked memories into hits: filters, folds, takes the best `k`, and orders frames."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Literal, cast

from msgspec import Struct

from palimpsest.contracts.shown import Recalled
from palimpsest.projections.recall.collapse import Folding
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.newer import Newer, may_say_the_same, unsettled
from palimpsest.projections.recall.sayings import Sayings
from palimpsest.projections.recall.session import own_of
from palimpsest.projections.shown.memory import Weighing, shown_memory
from palimpsest.streams.core.frames import MOST, by_face_moment, by_frame, of_one_frame
from palimpsest.streams.core.ledger import Ledger, Memory
from palimpsest.streams.core.text import content_of, folded, search_hash, verbatim


class Ranked(Struct, frozen=True, gc=False):
    """A memory and its score."""

    memory: Memory
    score: float


Fold = list[Ranked]
"""A hit and the memories shown with it, the best first."""
Frame = list[Fold]
"""Hits of one frame."""

Near = Callable[[Sequence[Memory], float, float], Iterable[Ranked]]
"""Takes heads, a score and a floor; returns memories that score less, in order.

They include every memory whose face has a cosine of `floor` or more to one of the heads, and that
is of the same kind as one of them.
"""

Find = Callable[[str], Ranked | None]
"""Takes the id of a memory; returns it with its score, or None if it has none."""

MinScore = float | Literal["model"] | None

LOOKED_AT = 256
"""Number of nearest memories that are compared with the hits, to find indistinguishable ones.

Comparing a hit with all of 10,000 memories took 3 ms more, and twenty times that on busy cores.
"""


LOOKED_AT_PRESUMED = 128
"""The same for an owner whose names are presumed: on four days of 1,000 rows, none was missed."""

MOST_NEWER = 2
"""Maximum number of memories, not hits themselves, shown with a hit because they may replace it."""


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How many memories to return, and which.

    Memories that only the session `session_id` has stated are left out, as are those in `without`,
    by id. `former` includes former wordings, and memories that are former as a whole. `folding`
    says which memories are shown as one, if any. With `hybrid`, memories that mention an identifier
    of the question move up (None: only if the owner's ledger is at hand). Other memories with a
    score below `min_score` (`model`: the model's threshold) are left out, and the last ones if the
    faces together have more than about `max_tokens`. A memory whose face is `verbatim`, by the
    fold of exact repeats, is among the best, even if it is the oldest of its frame.
    """

    k: int
    filter: Filter = field(default_factory=Filter)
    session_id: str | None = None
    weighing: Weighing | None = None
    former: bool = False
    folding: Folding | None = None
    without: frozenset[str] = frozenset()
    hybrid: bool | None = False
    min_score: MinScore = None
    max_tokens: int | None = None
    verbatim: str = ""


def in_order(ranked: Ranked) -> tuple[float, object, str]:
    """A sort key: the best first; ties go to the older memory."""
    return -ranked.score, ranked.memory.members[0].decided_at, ranked.memory.id


def hits(
    ledger: Ledger,
    ranked: Iterable[Ranked],
    wanted: RecallOptions,
    sayings: Sayings,
    near: Near | None = None,
    find: Find | None = None,
) -> list[Recalled]:
    """The best `k` that pass, from memories in order; each counts once.

    The hits of one frame stand together, the newest first, at the place of the best
    (docs/guard.md). A memory that says the question verbatim is always a hit. For an owner with
    names, declared or presumed, hits that the judge may be asked to join stand together, too, and
    the newest is also sought further down, because under another name it may be far from the
    question. `near` quickly selects which of the memories further down are compared with the hits;
    `find` finds each by its id, however far down it is.
    """
    if find is None:
        ranked = [*ranked]
        find = {one.memory.id: one for one in ranked}.get
    said = [*filter(None, map(find, _ids_of_verbatim(ledger, wanted.verbatim)))]
    first = {one.memory.id for one in said}
    names, left, gate = sayings.names, chain(said, ranked), _Gate(ledger, wanted)
    folds = _Folds(ledger, wanted.folding)
    for candidate in filter(gate.lets, left):
        folds.add(candidate)
        if len(folds.all) == wanted.k:
            break
    newer: dict[str, set[str]] = {}
    if names:
        further = [*islice(left, LOOKED_AT if ledger.names else LOOKED_AT_PRESUMED)]
        left = chain(further, left)
        heads = [fold[0].memory for fold in folds.all]
        among = Newer(ledger, sayings, heads, (one.memory for one in further))
        newer = {head.id: among.of(head) for head in heads}
        for candidate in filter(gate.lets, _newest_of(newer.values(), find)):
            folds.add(candidate)
    for candidate in _the_rest(folds.all, left, wanted.folding, near):
        if folds.may_take(candidate) and gate.lets(candidate):
            folds.add(candidate, begins=False)
    groups = _together(ledger, _by_frame(ledger, folds.all, sayings), newer, names)
    shown = [_shown_group(ledger, group, newer, wanted) for group in groups]
    _drop_older(shown, wanted.k, first)
    return [*chain.from_iterable(shown)][: wanted.k]


def _ids_of_verbatim(ledger: Ledger, text: str) -> list[str]:
    """The living memories whose face is this text, by the fold of exact repeats.

    Those that say it verbatim come first.
    """
    form, said, hashed = folded(text), verbatim(text), search_hash(content_of(text))
    same = [
        distinct
        for namespace in (ledger.scopes if form else ())
        for distinct in ledger.of_search_form(namespace, hashed)
    ]
    found = {
        memory.id: verbatim(memory.text) != said
        for distinct in same
        for memory in (
            *(entry.memory for entry in distinct.members),
            *(join.newer.memory for join in distinct.composed_for),
        )
        if memory.living and folded(memory.text) == form
    }
    return sorted(found, key=found.__getitem__)


def _drop_older(groups: list[list[Recalled]], k: int, stay: Set[str]) -> None:
    """Drop hits after a newer one of their group, from the end, until `k` are left.

    Those of `stay` are left, even if newer ones have to go.
    """
    over = sum(map(len, groups)) - k
    for group in reversed(groups):
        for hit in group[::-1]:
            if over > 0 and len(group) > 1 and hit["memory_id"] not in stay:
                group.remove(hit)
                over -= 1


def _by_frame(ledger: Ledger, folds: list[Fold], sayings: Sayings) -> list[Frame]:
    """The folds in groups of one frame, by the faces of their first memories."""
    forms = [sayings.of(fold[0].memory).face for fold in folds[:MOST]]
    groups = by_frame(range(len(folds)), lambda a, b: of_one_frame(ledger, forms[a], forms[b]))
    return [[folds[number] for number in group] for group in groups]


def _newest(fold: Fold) -> tuple[datetime, int]:
    """A sort key: the time at which a fold's shown text happened."""
    return by_face_moment(fold[0].memory)


def _newest_of(newer: Iterable[set[str]], find: Find) -> list[Ranked]:
    """For each hit, the newest memories that may replace it and are not hits themselves."""
    found: dict[str, Ranked] = {}
    for ids in filter(None, newer):
        mates = [*filter(None, map(find, ids))]
        mates.sort(key=lambda one: by_face_moment(one.memory), reverse=True)
        found |= {one.memory.id: one for one in mates[:MOST_NEWER]}
    return [*found.values()]


def _together(
    ledger: Ledger,
    frames: list[Frame],
    newer: Mapping[str, set[str]],
    names: tuple[str, ...],
) -> list[list[Frame]]:
    """Groups of frames in which one may replace or join another, for an owner with names.

    Each group stands at the place of its best hit. Without names, every frame stands alone.
    """
    groups: list[list[Frame]] = []
    for frame in frames:
        ids = {fold[0].memory.id for fold in frame}
        mates = {older for older, ones in newer.items() if not ids.isdisjoint(ones)}
        if names and len(groups) < MOST:
            for fold in frame:
                mates |= may_say_the_same(ledger, fold[0].memory, names)
                mates |= newer.get(fold[0].memory.id, set())
        own = next((group for group in groups if mates and _has_one_of(mates, group)), None)
        if own is None:
            groups.append([frame])
        else:
            own.append(frame)
    return groups


def _has_one_of(ids: set[str], group: list[Frame]) -> bool:
    return any(fold[0].memory.id in ids for frame in group for fold in frame)


class _Gate:
    """Passes each memory that meets the options, once."""

    def __init__(self, ledger: Ledger, wanted: RecallOptions) -> None:
        self._wanted = wanted
        session_id = wanted.session_id
        own = own_of(ledger, session_id) if session_id is not None else set()
        self._shut = own | wanted.without

    def lets(self, ranked: Ranked) -> bool:
        """Whether a memory passes; it does so only once."""
        weighing, memory = self._wanted.weighing, ranked.memory
        if memory.id in self._shut or not self._wanted.filter.keeps(memory):
            return False
        if memory.former and not self._wanted.former:
            return False
        self._shut.add(memory.id)
        return weighing is None or weighing.keeps(memory)


class _Folds:
    """The hits, each with the memories that are shown with it, the best first."""

    def __init__(self, ledger: Ledger, folding: Folding | None) -> None:
        self.all: list[Fold] = []
        self._ledger = ledger
        self._folding = folding
        self._by_kind: dict[Hashable, list[Fold]] = {}

    def add(self, one: Ranked, *, begins: bool = True) -> None:
        """Add a memory to the first fold of memories like it; else it `begins` one."""
        kind = self._kind(one)
        for fold in self._by_kind.get(kind, ()):
            if self._all_fold(fold, one):
                fold.append(one)
                return
        if begins:
            self.all.append([one])
            self._by_kind.setdefault(kind, []).append(self.all[-1])

    def may_take(self, one: Ranked) -> bool:
        """Whether a fold has memories of the same kind."""
        return self._kind(one) in self._by_kind

    def _kind(self, one: Ranked) -> Hashable:
        return None if self._folding is None else self._folding.kind(self._ledger, one.memory)

    def _all_fold(self, fold: Fold, one: Ranked) -> bool:
        folding, ledger = self._folding, self._ledger
        return folding is not None and all(
            folding.folds(ledger, other.memory, one.memory) for other in fold
        )


def _the_rest(
    folds: list[Fold],
    left: Iterator[Ranked],
    folding: Folding | None,
    near: Near | None,
) -> Iterable[Ranked]:
    """Memories too far down to be hits, which may still be folded into one."""
    if folding is None or not folds:
        return ()
    heads = [fold[0].memory for fold in folds]
    floors = [floor for head in heads if (floor := folding.at_least(head.namespace)) is not None]
    if not floors:
        return ()
    if near is None:
        return islice(left, LOOKED_AT)
    return near(heads, folds[-1][0].score, min(floors))


def _shown_group(
    ledger: Ledger, group: list[Frame], newer: Mapping[str, set[str]], wanted: RecallOptions
) -> list[Recalled]:
    """The hits of a group, the newest first, each with the ids of the others."""
    folds = sorted(chain.from_iterable(group), key=_newest, reverse=True)
    shown = [_shown(ledger, fold, wanted) for fold in folds]
    _name_each_other(group, shown, newer)
    return shown


def _shown(ledger: Ledger, fold: Fold, wanted: RecallOptions) -> Recalled:
    head, *others = fold
    shown = shown_memory(head.memory, wanted.weighing, former=wanted.former)
    for other in others:
        shown["members"] += shown_memory(other.memory, former=wanted.former)["members"]
    within = {member.memory.id for member in fold}
    waits = {memory_id for member in fold for memory_id in unsettled(ledger, member.memory)}
    added = {
        "score": head.score,
        "folded": [other.memory.id for other in others],
        "unsettled": sorted(waits - within),
    }
    return cast("Recalled", {**shown, **added})


def _name_each_other(
    group: list[Frame], shown: list[Recalled], newer: Mapping[str, set[str]]
) -> None:
    """Give each hit the others of its frame and those that may replace it, newest first."""
    frame_of = {fold[0].memory.id: at for at, frame in enumerate(group) for fold in frame}

    def belong_together(one: str, other: str) -> bool:
        replaces = other in newer.get(one, ()) or one in newer.get(other, ())
        return replaces or frame_of[one] == frame_of[other]

    ids = [hit["memory_id"] for hit in shown]
    for hit, own in zip(shown, ids, strict=True):
        others = [other for other in ids if other != own and belong_together(own, other)]
        if others:
            hit["frame"] = others
            hit["unsettled"] = sorted({*hit["unsettled"], *others})
