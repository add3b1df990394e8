"""The laws where every text gets a vector of another model, and a switch comes in the middle.

The other model's vectors are windows over a row of dimensions of their own, so a comparison across
models is impossible, and those within it have other cosines.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.commands import Admit, Embed, OwnerCommand
from palimpsest.contracts.events import AnyEvent, Decided, PolicySet, Vector
from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.policy import Policy
from palimpsest.streams.core import candidates, evolve, models
from palimpsest.streams.core.evolve import evolve as fold_event
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.record import policy_event
from palimpsest.streams.core.text import content_of as recorded
from palimpsest.streams.replay import without
from palimpsest.streams.search.scope_index import ScopeIndex
from tests.laws import checks, consequences, undoing, world
from tests.laws.common import everything
from tests.laws.histories import FEW, Act, Playback, Say, play, policies, stories
from tests.laws.test_consequences import lates, presets
from tests.laws.world import WIDTH, WORDS, Command, World, cosine_of, vector_at, vector_of
from tests.projections import oracle

MODEL = "wide grid"
BEGINS, A_STEP = 3, 2
"""The act with which the embedding run begins, and how many texts it embeds after each."""

any_policy = policies()
numbers = st.integers(0, 15)
chances = st.randoms(use_true_random=False)
patient = settings(FEW, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@cache
def wide_at(point: int) -> Vector:
    """The other model's vector of a point: the windows of neighbours overlap by less."""
    row = np.zeros(2 * len(WORDS) + WIDTH, dtype="<f2")
    row[2 * point : 2 * point + WIDTH] = 0.25
    data = base64.b64encode(row.tobytes()).decode()
    return Vector(model=MODEL, engine="grid", dimension=len(row), data=data)


def wide_of(words: str) -> Vector:
    return wide_at(WORDS.index(oracle.search_form(words).split(maxsplit=1)[0]))


class Switch(OwnerCommand):
    """Stands among the commands of a history for the store's switch."""

    command_id: str = ""
    owner_id: str = ""


def switched(policy: Policy) -> Policy:
    """The same rules for the other model."""
    return policy.model_copy(update={"model": MODEL})


@contextmanager
def another_model() -> Iterator[None]:
    """After some acts every text gets a vector of the other model; then that is in force."""
    ready, run, follow, begin = World.ready, World.run, Playback.follow, without.Without.__init__
    in_force = ["grid"]

    def vector(words: str) -> Vector:
        return wide_of(words) if in_force[0] == MODEL else vector_of(words)

    def running(self: World, command: Command | Switch, seconds: int = 1) -> Any:
        if isinstance(command, Switch):
            return switch(self)
        in_force[0] = self.policy.model
        return run(self, command, seconds)

    def embedded(self: World, command: Command) -> Command:
        in_force[0] = self.policy.model
        if isinstance(command, Admit) and command.content.vector is not None:
            own = vector(command.content.text)
            command = with_vector(command, own)
        elif (composition := getattr(command, "composition", None)) is not None:
            content = structs.replace(composition.content, vector=vector(composition.content.text))
            composed = structs.replace(composition, content=content)
            command = command.model_copy(update={"composition": composed})  # type: ignore[union-attr]
        return ready(self, command)

    def following(self: Playback, act: Act) -> None:
        follow(self, act)
        if self.world.policy.model == MODEL or len(self.steps) < BEGINS:
            return
        embed_some(self, A_STEP)
        if not any(models.lacking(self.world.ledger, MODEL)):
            self.steps.append((Switch(), self.world.run(Switch())))  # type: ignore[arg-type]

    def knowing_both(
        self: without.Without, owner_id: str, out: Any, known: Any, *rest: Any
    ) -> None:
        each = (
            one.model_copy(update={"model": model})
            for one in known.values()
            for model in ("grid", MODEL)
        )
        both = {policy.hash: policy for policy in each}
        begin(self, owner_id, out, both, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "run", running)
        patch.setattr(World, "ready", embedded)
        patch.setattr(world, "content_of", lambda words: recorded(words, vector=vector(words)))
        patch.setattr(Playback, "follow", following)
        patch.setattr(without.Without, "__init__", knowing_both)
        yield


def with_vector(admit: Admit, vector: Vector) -> Admit:
    return structs.replace(admit, content=structs.replace(admit.content, vector=vector))


def embed_some(told: Playback, most: int) -> None:
    """What `palimpsest embed --model` records, batch by batch."""
    for candidate_id, text_id, distinct in [
        *islice(models.lacking(told.world.ledger, MODEL), most)
    ]:
        command = Embed(
            command_id=told.world.fresh(),
            owner_id=told.world.ledger.owner_id,
            candidate_id=candidate_id,
            text_id=text_id,
            vector=wide_of(distinct.text),
        )
        told.steps.append((command, told.world.run(command)))


def switch(of: World) -> list[AnyEvent]:
    """Put the other model in force by an event of the store; none of the owner's."""
    if of.policy.model == MODEL:
        return []
    policy = switched(of.policy)
    event = policy_event(policy, of.fresh(), None, of.now, former=of.policy.model)
    of.policy = policy
    of.log.append(event)
    fold_event(of.ledger, event)
    return []


def switches(told: Playback) -> bool:
    return any(isinstance(event, PolicySet) for event in told.world.log)


def test_histories_switch_in_the_middle() -> None:
    """What is drawn has enough of it: decided before, embedded meanwhile, decided after."""
    counted = [0, 0]

    @settings(FEW, max_examples=50, derandomize=True, database=None)
    @given(any_policy, stories)
    def count(policy: Policy, story: list[Act]) -> None:
        told = play(policy, story)
        at = next((n for n, e in enumerate(told.world.log) if isinstance(e, PolicySet)), None)
        counted[0] += at is not None
        counted[1] += at is not None and any(isinstance(e, Decided) for e in told.world.log[at:])

    with another_model():
        count()
    assert min(counted) > 20, counted


def compares_by_the_new_model(policy: Policy, story: list[Act]) -> None:
    """After the switch, every score is of the texts' own vectors, as if there had been no other.

    The oracle embeds each text anew and looks at no ledger's vector.
    """
    told = play(policy, story)
    if not switches(told):
        return
    ledger = told.world.ledger
    for memory in ledger.memories():
        assert memory.face.vector == wide_of(memory.face.text)
        assert all(entry.distinct.vector == wide_of(entry.text) for entry in memory.members)
    wanted = told.world.policy
    for point in (0, 5, 11):
        admit = with_vector(told._say(Say(point)), wide_at(point))
        for namespace in ledger.scopes:
            index = ScopeIndex(ledger.scope(namespace), wanted)
            scored = {
                neighbour.candidate_id: neighbour.cosine
                for neighbour in index.neighbours(ledger, admit)
                if neighbour.cosine is not None
            }
            true = by_text(ledger, namespace, wide_at(point), wanted)
            assert scored.items() <= true.items()
            floor = index._reach.cosine
            assert {one for one, score in true.items() if score >= floor} <= set(scored)


def by_text(ledger: Ledger, namespace: str, query: Vector, policy: Policy) -> dict[str, float]:
    """Everyone a newcomer may be compared with, with the cosine of the texts embedded anew."""
    if policy.search == "memories":
        shown = [m for m in ledger.memories() if m.namespace == namespace and m.current]
        return {m.face.speaker.id: cosine_of(query, wide_of(m.face.text)) for m in shown}
    rows = ledger.scope(namespace).rows
    living = [entry for row in rows if (entry := row.current) is not None]
    return {entry.id: cosine_of(query, wide_of(entry.text)) for entry in living}


def old_decisions_stay(policy: Policy, story: list[Act]) -> None:
    """As of before the switch the ledger is what it was, vectors and all."""
    told = Playback(World(policy))
    before = None
    for act in story:
        held = everything(told.world.ledger), len(told.world.log)
        told.follow(act)
        if before is None and switches(told):
            before = held
    if before is not None:
        assert everything(world.fold("ada", told.world.log[: before[1]])) == before[0]


@patient
@given(any_policy, stories)
def test_comparisons_are_those_of_the_new_model(policy: Policy, story: list[Act]) -> None:
    with another_model():
        compares_by_the_new_model(policy, story)
        old_decisions_stay(policy, story)


@patient
@given(any_policy, stories, chances, numbers)
def test_laws_of_one_history(
    policy: Policy, story: list[Act], chance: random.Random, which: int
) -> None:
    with another_model():
        checks.l3_twice_is_once(policy, story)
        checks.l5_partition(policy, story)
        checks.l6_one_memory_per_text(policy, story)
        checks.l7_fold_is_live(policy, story, chance)
        checks.l8_redo_restores(policy, story, which)
        checks.l9_separations_bind(policy, story)
        checks.l12_as_of(policy, story)


@patient
@given(any_policy, stories)
def test_L1_unmerging(policy: Policy, story: list[Act]) -> None:  # noqa: N802
    with another_model():
        undoing.l1_unmerge_restores(policy, story)


@patient
@given(policies(search="candidates"), stories, numbers)
def test_L2_unmerging_late_equals_at_once_and_never(  # noqa: N802
    policy: Policy, story: list[Act], which: int
) -> None:
    with another_model():
        undoing.l2_equals_never(policy, story, which)


@patient
@given(presets(), stories, numbers, lates)
def test_with_consequences_equals_the_history_without(
    policy: Policy, story: list[Act], which: int, late: list[Answer]
) -> None:
    with another_model():
        consequences.equals_without(policy, story, which, late)


def the_run_overwrites(patch: pytest.MonkeyPatch) -> None:
    """A vector that came for the switch takes the place of the one in force."""
    taken = partial(models.take_vector, ahead=False)
    patch.setattr(candidates, "take_vector", lambda d, v, ahead: taken(d, v))


def the_switch_leaves_faces(patch: pytest.MonkeyPatch) -> None:
    """Searches are not told that every text has another vector."""
    patch.setattr(models, "_use", lambda distinct, model: setattr(distinct, "model", model))


def the_switch_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evolve, "fold_models", lambda *_: None)


@pytest.mark.parametrize(
    "hasty", [the_run_overwrites, the_switch_leaves_faces, the_switch_is_forgotten]
)
def test_a_break_is_found(hasty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hasty(monkeypatch)

    story: list[Act] = [Say(0), Say(3), Say(1), Say(7), Say(2), Say(8), Say(1, "!")]
    policy = Policy.model_validate(
        {
            "name": "near",
            "model": "grid",
            "search": "candidates",
            "checks": [{"check": "cosine", "zones": [{"at_least": 0.75, "action": "pending"}]}],
        }
    )
    with another_model(), pytest.raises((AssertionError, ValueError)):
        compares_by_the_new_model(policy, story)


def test_no_index_has_vectors_of_two_models() -> None:
    """Not even if one came late by the old model, as from a partition that has not switched."""
    policy = Policy.model_validate(
        {
            "name": "near",
            "model": "grid",
            "search": "candidates",
            "checks": [{"check": "cosine", "zones": [{"at_least": 0.0, "action": "pending"}]}],
        }
    )
    told = play(policy, [Say(0), Say(3)])
    embed_some(told, 2)
    switch(told.world)
    late = play(policy, [Say(0), Say(3), Say(5)]).world.log[-1]
    fold_event(told.world.ledger, late)
    scope = told.world.ledger.scope("default")
    for model, vector, count in (("grid", vector_at(1), 3), (MODEL, wide_at(1), 2)):
        index = ScopeIndex(scope, policy.model_copy(update={"model": model}))
        found = index.neighbours(told.world.ledger, with_vector(told._say(Say(1)), vector))
        assert len(found) == count, model
        other = wide_at(1) if model == "grid" else vector_at(1)
        assert not index.neighbours(told.world.ledger, with_vector(told._say(Say(1)), other))
