"""The laws where the model is down for some newcomers, and their vectors follow with the next."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.commands import Admit, Embed
from palimpsest.contracts.events import Decided, Embedded
from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core import candidates
from palimpsest.streams.core.exact import verbatim_target
from tests.laws import checks, consequences, undoing
from tests.laws.histories import FEW, Act, Playback, Say, play, policies, stories
from tests.laws.test_consequences import lates, presets
from tests.laws.world import Command, World, by_brute_force, vector_of

any_policy = policies()
numbers = st.integers(0, 15)
chances = st.randoms(use_true_random=False)
patient = settings(FEW, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@contextmanager
def often_down() -> Iterator[None]:
    """For one of three newcomers the model is down; vectors follow as `Writer` has them follow."""
    ready, follow = World.ready, Playback.follow

    def without(self: World, command: Command) -> Command:
        found = ready(self, command)
        if not isinstance(found, Admit) or not _is_down(found, self):
            return found
        content = structs.replace(found.content, vector=None)
        down = structs.replace(found, content=content, down=("embedder",))
        return structs.replace(down, neighbours=by_brute_force(self.policy)(self.ledger, down))

    def following(self: Playback, act: Act) -> None:
        follow(self, act)
        if not isinstance(act, Say) or self.steps[-1][0] is None or _lacks(self):
            return
        for first_id, distinct in [*self.world.ledger.unembedded.items()]:
            late = Embed(
                command_id=event_id(first_id, "embedded:grid"),
                owner_id=self.world.ledger.owner_id,
                candidate_id=first_id,
                vector=vector_of(distinct.members[0].text),
            )
            self.steps.append((late, self.world.run(late)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "ready", without)
        patch.setattr(Playback, "follow", following)
        yield


def _is_down(admit: Admit, world: World) -> bool:
    known = admit.candidate_id in world.ledger.entries
    repeats = verbatim_target(world.ledger, admit.candidate.namespace, admit.content) is not None
    return not known and not repeats and int(admit.candidate.id.removeprefix("c")) % 3 == 1


def _lacks(told: Playback) -> bool:
    """Whether what was said last came without a vector itself, down or a repeat."""
    last = told.world.log[-1]
    return isinstance(last, Decided) and last.data.content.vector is None


def test_vectors_are_lacking_and_follow() -> None:
    """What is drawn has enough of it: down, embedded late, joined by a late vector."""
    policy = Policy.model_validate(
        {
            "name": "near",
            "model": "grid",
            "search": "memories",
            "checks": [{"check": "cosine", "zones": [{"at_least": 0.8, "action": "auto_reject"}]}],
        }
    )
    with often_down():
        told = play(policy, [Say(0), Say(6), Say(11), Say(7)])
    log = told.world.log
    assert [type(event) for event in log] == [Decided, Decided, Decided, Embedded, Decided]
    assert isinstance(last := log[-1], Decided)
    assert last.data.join is not None
    assert last.data.join.to == log[1].subject
    assert not told.world.ledger.unembedded


@patient
@given(any_policy, stories, chances, numbers)
def test_laws_of_one_history(
    policy: Policy, story: list[Act], chance: random.Random, which: int
) -> None:
    with often_down():
        checks.l3_twice_is_once(policy, story)
        checks.l5_partition(policy, story)
        checks.l6_one_memory_per_text(policy, story)
        checks.l7_fold_is_live(policy, story, chance)
        checks.l9_separations_bind(policy, story)
        checks.l14_order_of_neighbours(policy, story, chance)
        checks.touched_is_all(policy, story)


@patient
@given(any_policy, stories, numbers)
def test_L1_and_L8_unmerging_and_redo(policy: Policy, story: list[Act], which: int) -> None:  # noqa: N802
    with often_down():
        undoing.l1_unmerge_restores(policy, story)
        checks.l8_redo_restores(policy, story, which)


@pytest.mark.long
@patient
@given(policies(search="candidates"), stories, numbers)
def test_L2_unmerging_late_equals_at_once_and_never(  # noqa: N802
    policy: Policy, story: list[Act], which: int
) -> None:
    with often_down():
        undoing.l2_late_equals_at_once(policy, story, which)
        undoing.l2_equals_never(policy, story, which)


@patient
@given(presets(), stories, numbers, lates)
def test_with_consequences_equals_the_history_without(
    policy: Policy, story: list[Act], which: int, late: list[Answer]
) -> None:
    with often_down():
        consequences.equals_without(policy, story, which, late)


def test_a_break_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late vector that searches do not see."""
    monkeypatch.setattr(candidates, "keep_unembedded", lambda *_: None)
    with pytest.raises(AssertionError):
        test_vectors_are_lacking_and_follow()
