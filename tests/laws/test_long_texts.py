"""The laws where some texts are longer than the model's input, and some have no windows yet."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.commands import Admit, Embed
from palimpsest.contracts.events import AnyEvent, Decided, Embedded, Vector
from palimpsest.contracts.evidence import Answer, Cue, Neighbour
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import CosineCheck, Policy, SessionCheck
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.neighbour_lookup import NeighbourLookup
from palimpsest.streams.search.scope_index import coverage
from tests.laws import checks, consequences, undoing, world
from tests.laws.histories import (
    FEW,
    Act,
    OnJoin,
    Playback,
    Say,
    play,
    policies,
    stories,
)
from tests.laws.test_breaks import search
from tests.laws.test_consequences import lates, layered, presets
from tests.laws.world import POINTS, Command, World, cosine_of, vector_at

any_policy = policies()
numbers = st.integers(0, 15)
chances = st.randoms(use_true_random=False)
judged = presets().filter(lambda policy: policy.judge.enabled)


@contextmanager
def often_long() -> Iterator[None]:
    """Two of three newcomers are long: they end at a near point, and some have no windows yet.

    Every fourth newcomer is followed by `palimpsest embed --long`.
    """
    ready, follow, compared = World.ready, Playback.follow, world._compared

    def long(self: World, command: Command) -> Command:
        if isinstance(command, Admit) and command.candidate_id not in self.ledger.entries:
            number = int(command.candidate.id[1:])
            vector = _long(command.content.vector, number) if number % 3 else None
            if vector is not None:
                content = structs.replace(command.content, vector=vector)
                command = structs.replace(command, content=content)
        return ready(self, command)

    def with_windows(admit: Admit, entry: Entry, text: str, vector: Vector | None) -> Neighbour:
        covered = by_hand(admit.content.vector, vector)
        return structs.replace(compared(admit, entry, text, vector), covered=covered)

    def embedding(self: Playback, act: Act) -> None:
        follow(self, act)
        ledger = self.world.ledger
        if not isinstance(act, Say) or len(ledger.entries) % 4:
            return
        for distinct in ledger.without_windows():
            first, vector = distinct.members[0], distinct.vector
            assert vector is not None
            late = Embed(
                command_id=event_id(first.id, "windows:grid"),
                owner_id=ledger.owner_id,
                candidate_id=first.id,
                vector=structs.replace(vector, windows=(vector_at(len(first.text) % 3).data,)),
            )
            self.steps.append((late, self.world.run(late)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "ready", long)
        patch.setattr(Playback, "follow", embedding)
        patch.setattr(world, "_compared", with_windows)
        yield


def _long(vector: Vector | None, number: int) -> Vector | None:
    """A vector that is of the beginning alone, with a window or two, or from before there were."""
    if vector is None:
        return None
    ends = [vector_at((number // 3 + n) % POINTS).data for n in range(1 + number % 2)]
    return structs.replace(vector, truncated=True, windows=None if number % 5 == 4 else (*ends,))


def by_hand(ours: Vector | None, theirs: Vector | None) -> float | None:
    """The lowest cosine of any window of either with its nearest in the other."""
    if ours is None or theirs is None or not (ours.truncated or theirs.truncated):
        return None
    if any(one.truncated and one.windows is None for one in (ours, theirs)):
        return None
    table = [[cosine_of(a, b) for b in theirs.each()] for a in ours.each()]
    nearest: list[float] = [max(cosines) for cosines in [*table, *zip(*table, strict=True)]]
    return min(nearest)


def windows_have_their_counterparts(policy: Policy, story: list[Act]) -> None:
    """No check joins by a cosine what has a window without a counterpart at its threshold."""
    made_of(policy, story)


def made_of(policy: Policy, story: list[Act]) -> Counter[str]:
    """What the law has looked at in a story."""
    counted: Counter[str] = Counter()
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        if isinstance(event, Decided):
            _counterparts(policy, ledger, event, counted)
        counted["windows came late"] += isinstance(event, Embedded)
        evolve(ledger, event)
    return counted


def _counterparts(policy: Policy, ledger: Ledger, event: Decided, counted: Counter[str]) -> None:
    own, evidence, join = event.data.content.vector, event.data.evidence, event.data.join
    for seen in evidence.neighbours:
        theirs = _compared(policy, ledger.entries[seen.candidate_id])
        if not any(one is not None and one.truncated for one in (own, theirs)):
            continue
        covered = by_hand(own, theirs)
        assert covered == seen.covered == coverage(own, theirs)
        counted["a cue"] += Cue.TRUNCATED in seen.cues
        if join is None or join.to != seen.candidate_id or join.face == "repeat":
            continue
        if evidence.check in ("cosine", "session"):
            assert covered is not None
            assert covered >= _threshold(policy, event, seen)
            counted["joined by windows"] += 1


def _compared(policy: Policy, entry: Entry) -> Vector | None:
    face = entry.memory.face
    if policy.search == "memories" and face.speaker is entry:
        return face.vector
    return entry.distinct.vector


def _threshold(policy: Policy, event: Decided, seen: Neighbour) -> float:
    """That of the check which joined the two, or of the highest zone that their cosine is in."""
    check = next(check for check in policy.checks if check.check == event.data.evidence.check)
    if isinstance(check, SessionCheck):
        return check.threshold
    assert isinstance(check, CosineCheck)
    assert seen.cosine is not None
    zones = check.zones_of(event.data.candidate.namespace)
    return max(zone.at_least for zone in zones if zone.at_least <= seen.cosine)


def test_windows_are_what_histories_are_made_of() -> None:
    counted: Counter[str] = Counter()

    def count(drawn: Policy, story: list[Act]) -> None:
        counted.update(made_of(drawn, story))

    with often_long():
        search(count, any_policy, stories, examples=100)
    assert all(
        counted[kind] >= least
        for kind, least in {"a cue": 50, "joined by windows": 20, "windows came late": 50}.items()
    ), counted


def test_a_break_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first windows alone are compared."""
    monkeypatch.setattr(NeighbourLookup, "_covers", lambda *_: True)
    with often_long(), pytest.raises(AssertionError):
        search(windows_have_their_counterparts, any_policy, stories, examples=100)


@FEW
@given(any_policy, stories, chances, numbers)
def test_laws_of_one_history(
    policy: Policy, story: list[Act], chance: random.Random, which: int
) -> None:
    with often_long():
        windows_have_their_counterparts(policy, story)
        checks.l3_twice_is_once(policy, story)
        checks.l5_partition(policy, story)
        checks.l7_fold_is_live(policy, story, chance)
        checks.l9_separations_bind(policy, story)
        checks.l14_order_of_neighbours(policy, story, chance)
        checks.touched_is_all(policy, story)
        undoing.l1_unmerge_restores(policy, story)
        checks.l8_redo_restores(policy, story, which)


@pytest.mark.long
@FEW
@given(policies(search="candidates"), stories, numbers)
def test_L2_unmerging_late_equals_at_once_and_never(  # noqa: N802
    policy: Policy, story: list[Act], which: int
) -> None:
    with often_long():
        undoing.l2_late_equals_at_once(policy, story, which)
        undoing.l2_equals_never(policy, story, which)


@pytest.mark.long
@FEW
@given(judged, stories, numbers, lates)
def test_with_consequences_equals_the_history_without(
    policy: Policy, story: list[Act], which: int, late: list[Answer]
) -> None:
    with often_long():
        consequences.equals_without(policy, story, which, late)


def test_with_consequences_nobody_waits_for_a_judge_that_is_switched_off() -> None:
    """A newcomer that is decided on again and would wait for its windows is kept apart at once."""
    story = [Say(2), Say(0), Say(5), OnJoin(0), Say(4)]
    drawn = map(st.just, (layered(0.75, 0.8125), story, 1, ["same"]))
    with often_long():
        search(consequences.equals_without, *drawn, examples=1)


def test_embedding_windows_twice_is_once() -> None:
    """And their first vector stays as it was recorded."""
    policy = Policy(name="one", model="grid", search="candidates", checks=())
    with often_long():
        told = play(policy, [Say(point % POINTS) for point in range(5)])
        lacking = told.world.ledger.without_windows()
        assert len(lacking) == 1
        first, before = lacking[0].members[0], lacking[0].vector
        assert before is not None
        new = structs.replace(vector_at(3), truncated=True, windows=(vector_at(4).data,))
        late = Embed(
            command_id=told.world.fresh(), owner_id="ada", candidate_id=first.id, vector=new
        )
        events: list[AnyEvent] = told.world.run(late)
        [event] = [event for event in events if isinstance(event, Embedded)]
        assert event.data.vector == structs.replace(before, windows=new.windows)
        assert told.world.run(late.model_copy(update={"command_id": told.world.fresh()})) == []
