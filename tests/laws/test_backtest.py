"""A history decided again from its record is as one that is searched for again, text by text.

The oracle asks the search about every newcomer; the record's neighbours are taken where a search
would find the same, which depends on both policies and on what else is different there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.commands import Admit
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import CosineCheck, Policy, SessionCheck, TokenCheck
from palimpsest.streams.core.exact import FOLDED
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.replay import recorded_neighbours
from palimpsest.streams.replay.another_policy import AnotherPolicy
from palimpsest.streams.replay.recorded_neighbours import RecordedNeighbours, _RecordedSearch
from palimpsest.streams.replay.without import Search, Without
from palimpsest.streams.search.scope_index import Reach
from palimpsest.streams.search.scope_indexes import ScopeIndexes
from tests.laws.histories import Act, Playback, calling, expiring, policies, stories
from tests.laws.test_breaks import search
from tests.laws.world import Command, World, cosine_of, picture
from tests.long import elsewhere, long_but

TOPS = (1, 2, 20)


def with_checks(policy: Policy, **changes: Mapping[str, Any]) -> Policy:
    """The policy with other settings of some checks."""
    checks = (check.model_copy(update=changes.get(check.check, {})) for check in policy.checks)
    return policy.model_copy(update={"checks": tuple(checks)})


@st.composite
def pairs_of_policies(draw: st.DrawFn) -> tuple[Policy, Policy]:
    """A policy, and one that differs in what its search reaches, or in who is there to be found."""
    policy = draw(policies(search="candidates"))
    policy = with_checks(policy, cosine={"top": draw(st.sampled_from(TOPS))})
    other = policy
    for check in policy.checks:
        match check:
            case CosineCheck():
                floors = [zone.at_least for zone in check.zones]
                most, least = round(16 - 16 * floors[0]), round(16 * floors[-1])
                by = draw(st.sampled_from([0, -1, 1, -4, -8, 4])) / 16
                by = max(-least / 16, min(most / 16, by))
                zones = tuple(
                    zone.model_copy(update={"at_least": min(1.0, max(0.0, zone.at_least + by))})
                    for zone in check.zones
                )
                proven = draw(st.sampled_from([check.near_identical, 0.0, 0.25, 0.5, None]))
                top = draw(st.sampled_from([check.top, check.top, *TOPS]))
                changed: dict[str, Any] = {"zones": zones, "near_identical": proven, "top": top}
                if len({zone.at_least for zone in zones}) == len(zones):
                    other = with_checks(other, cosine=changed)
            case TokenCheck():
                floor = draw(st.sampled_from([check.threshold, check.threshold, 0.1, 0.9]))
                other = with_checks(other, tokens={"threshold": floor})
            case SessionCheck():
                floor = draw(st.sampled_from([check.threshold, check.threshold, 0.5]))
                other = with_checks(other, session={"threshold": floor})
            case _:
                pass
    frames = draw(st.sampled_from([policy.judge.frames, policy.judge.frames, 0, 2]))
    expiry = draw(st.sampled_from([{}, {}, {"gotcha": 3.0}]))
    exact = draw(st.sampled_from([policy.exact, policy.exact, "folded", "verbatim"]))
    judge = policy.judge.model_copy(update={"frames": frames})
    return policy, other.model_copy(update={"judge": judge, "expiry": expiry, "exact": exact})


def searching() -> Search:
    """The real search; texts as long as each other stand for a frame, here as in other laws."""
    indexes = ScopeIndexes()

    def found(ledger: Ledger, admit: Admit, policy: Policy) -> tuple[Neighbour, ...]:
        near = {n.candidate_id: n for n in indexes.neighbours(ledger, admit, policy)}
        rows = ledger.scope(admit.candidate.namespace).rows
        living = [(distinct, e) for distinct in rows if (e := distinct.current) is not None]
        living.sort(key=lambda row: row[0].members[-1].place, reverse=True)
        mates = [row for row in living if len(row[1].text) % 3 == len(admit.content.text) % 3]
        own = admit.content.vector
        for distinct, entry in mates[: policy.judge.frames if policy.judge.enabled else 0]:
            both = own is not None and distinct.vector is not None
            only = Neighbour(
                candidate_id=entry.id,
                cosine=cosine_of(own, distinct.vector) if both else None,
                frame="only",
            )
            known = near.get(entry.id)
            near[entry.id] = structs.replace(known, frame="also") if known else only
        return tuple(near.values())

    return found


class Recording(World):
    """A world whose stored newcomers name the nearest of all, by a plain comparison."""

    def ready(self, command: Command) -> Command:
        """The command with its neighbours, and with the nearest."""
        ready = super().ready(command)
        if not isinstance(ready, Admit) or ready.content.vector is None:
            return ready
        own, rows = ready.content.vector, self.ledger.scope(ready.candidate.namespace).rows
        scores = [
            Neighbour(candidate_id=d.current.id, cosine=cosine_of(own, d.vector))
            for d in rows
            if d.current is not None and d.vector is not None
        ]
        return structs.replace(
            ready, nearest=max(scores, key=lambda n: n.cosine or 0.0, default=None)
        )


class Searching(AnotherPolicy):
    """The oracle: every newcomer is searched for."""

    def _neighbours(self, event: Decided, admit: Admit, policy: Policy) -> tuple[Neighbour, ...]:
        return Without._neighbours(self, event, admit, policy)


def told(policy: Policy, story: list[Act]) -> World:
    """A story with the neighbours that the real search finds."""
    find = searching()
    playback = Playback(Recording(policy, retrieve=lambda ledger, a: find(ledger, a, policy)))
    for act in story:
        playback.follow(act)
    return playback.world


def from_the_record(both: tuple[Policy, Policy], story: list[Act]) -> None:
    """Each decision, its evidence, and the memories are those of the oracle."""
    policy, other = both
    world = told(policy, story)
    found = []
    for kind in (AnotherPolicy, Searching):
        history = kind("ada", other, {policy.hash: policy}, searching())
        history.replay(world.log)
        found.append((history.made, picture(history.other), history.overtaken))
    assert found[0] == found[1]


@settings(max_examples=elsewhere())
@given(pairs_of_policies(), stories | expiring | calling)
def test_the_record_has_what_a_search_would_find(
    both: tuple[Policy, Policy], story: list[Act]
) -> None:
    from_the_record(both, story)


def any_texts_will_do(patch: pytest.MonkeyPatch) -> None:
    """The two histories are taken to have the same texts."""
    patch.setattr(RecordedNeighbours, "_has_the_same", lambda *_: True)


def repeats_were_searched_for(patch: pytest.MonkeyPatch) -> None:
    """A repeat that was joined at once, and would not be, is taken to have no neighbours."""
    patch.setattr(recorded_neighbours, "COMPARED", (*recorded_neighbours.COMPARED, FOLDED))


def who_was_found_is_all(patch: pytest.MonkeyPatch) -> None:
    """The record counts whatever the floor is."""
    patch.setattr(_RecordedSearch, "proves", lambda known, _: known.near and known.words != "other")


def one_fewer_is_enough(patch: pytest.MonkeyPatch) -> None:
    """The record is taken to be full with one neighbour to spare."""
    of = _RecordedSearch.of

    def broken(recorded: Policy, policy: Policy, namespace: str) -> _RecordedSearch | None:
        known = of(recorded, policy, namespace)
        if known is None:
            return None
        return replace(known, now=replace(known.now, cosine_top=known.now.cosine_top - 1))

    patch.setattr(_RecordedSearch, "of", broken)


def more_words_are_the_same(patch: pytest.MonkeyPatch) -> None:
    """Whom a lower floor of the words brings in is overlooked."""
    of = recorded_neighbours._words

    def broken(was: Reach, now: Reach) -> str:
        return "same" if (words := of(was, now)) == "more" else words

    patch.setattr(recorded_neighbours, "_words", broken)


def other_words_are_more(patch: pytest.MonkeyPatch) -> None:
    """Who was found by words from a lower floor on counts from a higher one, too."""
    of = recorded_neighbours._words

    def broken(was: Reach, now: Reach) -> str:
        return "more" if (words := of(was, now)) == "other" and now.tokens else words

    patch.setattr(recorded_neighbours, "_words", broken)


def frames_are_searched_for(patch: pytest.MonkeyPatch) -> None:
    """The frame's candidates of the record are lost."""
    of = recorded_neighbours._with_frame

    def broken(found: Any, recorded: tuple[Neighbour, ...]) -> tuple[Neighbour, ...]:
        return of(found, tuple(n for n in recorded if n.frame is None))

    patch.setattr(recorded_neighbours, "_with_frame", broken)


BREAKS = [
    *(any_texts_will_do, repeats_were_searched_for, who_was_found_is_all, one_fewer_is_enough),
    *(more_words_are_the_same, other_words_are_more, frames_are_searched_for),
]
SLOW = {any_texts_will_do, who_was_found_is_all, one_fewer_is_enough, other_words_are_more}
"""To be found only among hundreds of histories."""


@pytest.mark.parametrize("broken", long_but(*(one for one in BREAKS if one not in SLOW), of=BREAKS))
def test_a_break_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        search(from_the_record, pairs_of_policies(), stories | expiring | calling)
