"""The laws hold of stories in which memories are changed by intent; and each of them can fail."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from palimpsest.contracts.commands import Admit, Reinstate, Undo, Update
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    DecidedData,
    Joined,
    Refused,
    Retracted,
    Reversed,
)
from palimpsest.contracts.policy import CosineCheck, Policy, TokenCheck
from palimpsest.streams.core import admit, evolve, faces, graph, operate
from palimpsest.streams.core import update as updating
from palimpsest.streams.core.checks import CheckOutcome
from palimpsest.streams.core.faces import Face
from palimpsest.streams.core.ledger import Distinct, Edge, Entry, Ledger
from palimpsest.streams.core.operate import Result
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.text import identity_of
from tests.laws import checks, common, undoing
from tests.laws.histories import (
    ASKING,
    Act,
    Change,
    Forgetting,
    OnCandidate,
    Pair,
    Say,
    changes,
    play,
    policies,
    retold,
)
from tests.laws.test_breaks import search
from tests.laws.world import World, cosine_of, jaccard_of, picture
from tests.long import elsewhere

any_policy = policies()
candidates_policy = policies(search="candidates")
numbers = st.integers(0, 15)
chances = st.builds(random.Random, st.integers(0, 9))
fewer = settings(
    max_examples=max(1, elsewhere() * 3 // 10),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
"""The same laws see other stories by the hundred; every break is found among these."""


@pytest.mark.parametrize("law", checks.OF_ANY_STORY, ids=lambda law: law.__name__)
@fewer
@given(any_policy, changes)
def test_laws_hold(law: checks.Law, policy: Policy, story: list[Act]) -> None:
    law(policy, story)


@fewer
@given(st.just(ASKING), retold)
def test_l6_a_composed_text_lives_in_one_memory(policy: Policy, story: list[Act]) -> None:
    checks.l6_one_memory_per_text(policy, story)
    checks.face_is_a_fold(policy, story)


@fewer
@given(candidates_policy, changes, numbers, st.booleans())
def test_l2_unmerging_late_is_unmerging_at_once_or_never(
    policy: Policy, story: list[Act], which: int, never: bool
) -> None:
    check = undoing.l2_equals_never if never else undoing.l2_late_equals_at_once
    check(policy, story, which)


@fewer
@given(any_policy, changes, chances)
def test_l7_fold_is_live(policy: Policy, story: list[Act], chance: random.Random) -> None:
    checks.l7_fold_is_live(policy, story, chance)


FORGOTTEN_WITH_ITS_UPDATE: list[Act] = [
    *(Say(point=0), Change(which=0, point=1), Say(point=0)),
    *(Pair(same=True, a=2, b=1), Forgetting(which=0)),
]
"""The update can go alone: a person's merge holds its memory together."""


@fewer
@example(ASKING, FORGOTTEN_WITH_ITS_UPDATE, 0)
@given(any_policy, changes, numbers)
def test_l8_redo_restores(policy: Policy, story: list[Act], which: int) -> None:
    checks.l8_redo_restores(policy, story, which)


@fewer
@given(any_policy, st.tuples(changes, changes))
def test_l11_owners_are_apart(policy: Policy, two: tuple[list[Act], list[Act]]) -> None:
    checks.l11_owners_are_apart(policy, two)


@fewer
@given(any_policy, changes, chances, st.integers(2, 7))
def test_l14_and_l15_neither_order_nor_batches_count(
    policy: Policy, story: list[Act], chance: random.Random, size: int
) -> None:
    checks.l14_order_of_neighbours(policy, story, chance)
    checks.l15_batch_size(policy, story, size)


@fewer
@given(any_policy, changes)
def test_the_fold_is_whole(policy: Policy, story: list[Act]) -> None:
    checks.touched_is_all(policy, story)
    checks.face_is_a_fold(policy, story)


@fewer
@given(any_policy, changes)
def test_the_face_that_somebody_chose_survives_automation(policy: Policy, story: list[Act]) -> None:
    checks.a_persons_face_survives(policy, story)


# -- updates alone -------------------------------------------------------------------------------


def undone_at_once(policy: Policy, story: list[Act]) -> None:
    """An update undone with nothing after it is as if it had not been; its own text is gone.

    So is what it said of the two that it made one. Reinstated, by whichever of its joins, it is
    there as before; and undone once more, it is out as before.
    """
    told = play(policy, [])
    for act in story:
        before, said = picture(told.world.ledger), common.said_of_pairs(told.world.ledger)
        start = len(told.world.log)
        told.follow(act)
        events = told.world.log[start:]
        if not events or not all(map(_is_of_an_update, events)):
            continue
        after = picture(told.world.ledger)
        for named, again in product(events, repeat=2):
            copy = common.copied(told.world)
            copy.log = list(told.world.log)
            _undo(copy, named)
            undone = picture(copy.ledger)
            assert {one: seen for one, seen in undone.items() if one in before} == before
            assert common.said_of_pairs(copy.ledger) == said
            alone = [memory for memory in copy.ledger.memories() if memory.id not in before]
            assert not any(memory.living for memory in alone)
            redo = Reinstate(command_id=copy.fresh(), owner_id="ada", decision_id=again.id)
            assert common.accepted(copy.run(redo))
            assert picture(copy.ledger) == after
            _undo(copy, named)
            assert picture(copy.ledger) == undone
            assert common.said_of_pairs(copy.ledger) == said


def _undo(world: World, update: AnyEvent) -> None:
    undo = Undo(command_id=world.fresh(), owner_id="ada", decision_id=update.id)
    assert common.accepted(world.run(undo))


def _is_of_an_update(event: AnyEvent) -> bool:
    if not isinstance(event, Decided | Joined) or event.data.join is None:
        return False
    return event.data.join.over is not None


def nothing_brings_it_back(policy: Policy, story: list[Act]) -> None:
    """A newcomer or a batch join has no memory say again what a living update displaced."""
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        gone = {
            memory.members[0]: {
                edge.over.distinct.hash
                for edge in memory.edges()
                if edge.over is not None and edge.winner.living
            }
            for memory in ledger.memories()
        }
        faces_before = {memory.face.hash for memory in ledger.memories()}
        evolve.evolve(ledger, event)
        if isinstance(event, Decided | Joined) and not common.by_person(event):
            for first, displaced in gone.items():
                face = first.memory.face
                assert face.hash in faces_before or face.hash not in displaced


def what_is_forgotten_stays_so(policy: Policy, story: list[Act]) -> None:
    """No newcomer has a memory live that was forgotten, whoever of it was retracted before."""
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        gone = [memory.members[0] for memory in ledger.memories() if memory.forgotten]
        evolve.evolve(ledger, event)
        if isinstance(event, Decided):
            assert not any(first.memory.living for first in gone)


def rewordings_wait(policy: Policy, story: list[Act]) -> None:
    """Who is in the policy's zones of a text that waits does, or joined somebody as near."""
    ledger = Ledger("ada")
    gone: list[Distinct] = []
    for event in play(policy, story).world.log:
        nearest = 0.0
        if isinstance(event, Decided) and event.data.rank is None:
            nearest = _nearest(policy, ledger, event.data, gone)
        evolve.evolve(ledger, event)
        if isinstance(event, Retracted) and event.data.again == "ask":
            gone.append(ledger.entries[event.data.candidate_id].distinct)
        if isinstance(event, Decided) and nearest and event.data.withheld is None:
            join = event.data.join
            assert join is not None
            assert join.similarity is not None
            assert join.similarity >= nearest


def _nearest(policy: Policy, ledger: Ledger, said: DecidedData, gone: list[Distinct]) -> float:
    """The highest score of a forgotten text that a check reaches; none of an exact repeat."""
    namespace, content = said.candidate.namespace, said.content
    same = ledger.distinct(namespace, identity_of(content))
    if same is not None and (same.target or same.forgotten) is not None:
        return 0.0
    texts = [one for one in gone if one.namespace == namespace and one.guarded is not None]
    found = [0.0]
    for text in texts:
        words = jaccard_of(content.text, text.members[0].text)
        near = cosine_of(content.vector, text.vector) if content.vector and text.vector else 0.0
        for check in policy.active:
            zones = check.zones_of(namespace) if isinstance(check, CosineCheck) else ()
            by_words = isinstance(check, TokenCheck) and words >= check.threshold
            if by_words or any(near >= zone.at_least for zone in zones):
                found.append(max(words, near))
    return max(found)


def chain_is_whole(numbers: list[int], out: int) -> None:
    """Of updates one after the other, any one can be undone, and the last of the rest speaks."""
    told = play(ASKING, [Say(0), *(Change(which=n, point=1 + n) for n in numbers)])
    updates = [edge for edge in told.world.ledger.edges.values() if edge.over is not None]
    if not updates:
        return
    gone = updates[out % len(updates)]
    undo = Undo(command_id=told.world.fresh(), owner_id="ada", decision_id=gone.id)
    if not common.accepted(told.world.run(undo)):
        return
    rest = [edge for edge in updates if edge is not gone]
    living = [memory for memory in told.world.ledger.memories() if memory.living]
    assert len(living) == 1
    memory = living[0]
    said = rest[-1].winner.text if rest else memory.members[0].text
    assert memory.face.text == said
    assert [e.id for e in memory.members[1:]] == [edge.winner.id for edge in rest]


FORMER_ELSEWHERE: list[Act] = [
    *(Say(point=0), Say(point=10), Change(which=0, point=4)),
    Change(which=1, point=0, merge=True),
]
"""An update to a text that another memory has, and does not say any more: two joins."""


@fewer
@example(ASKING, FORMER_ELSEWHERE)
@given(any_policy, changes)
def test_an_update_undone_at_once_leaves_no_trace(policy: Policy, story: list[Act]) -> None:
    undone_at_once(policy, story)


RETRACTED_THEN_FORGOTTEN: list[Act] = [
    *(Say(point=0), Say(point=0), OnCandidate(word="retract", which=0)),
    *(Change(which=0, point=6, sign="!", rank="agent", merge=True), Forgetting(which=0)),
    Say(point=0),
]
"""Of a forgotten memory one wording was retracted before: a repeat of it is stored as new."""

RETRACTED_WITH_ITS_UPDATE: list[Act] = [
    *(Say(point=0), Change(which=0, point=6)),
    *(OnCandidate(word="retract", which=0), OnCandidate(word="retract", which=1), Say(point=0)),
]
"""A retracted update displaces nothing any more: a repeat has the memory live, and speaks."""


@fewer
@example(ASKING, RETRACTED_THEN_FORGOTTEN)
@example(ASKING, RETRACTED_WITH_ITS_UPDATE)
@given(any_policy, changes)
def test_nothing_automatic_brings_back_what_an_update_displaced(
    policy: Policy, story: list[Act]
) -> None:
    nothing_brings_it_back(policy, story)


@fewer
@example(ASKING, RETRACTED_THEN_FORGOTTEN)
@given(any_policy, changes)
def test_no_newcomer_brings_back_what_was_forgotten(policy: Policy, story: list[Act]) -> None:
    what_is_forgotten_stays_so(policy, story)


@fewer
@given(any_policy, changes)
def test_rewordings_of_what_was_forgotten_wait_for_a_person(
    policy: Policy, story: list[Act]
) -> None:
    rewordings_wait(policy, story)


chains = st.lists(st.integers(0, 9), min_size=1, max_size=8)


@given(chains, numbers)
def test_a_chain_of_updates_is_whole_without_any_one_of_them(chain: list[int], out: int) -> None:
    chain_is_whole(chain, out)


# -- what the stories are made of ----------------------------------------------------------------

LEAST = {
    "updates": 100,
    "updates by an agent": 25,
    "updates that merge": 4,
    "updates of what was updated": 30,
    "updates undone": 12,
    "updates undone in the middle": 2,
    "updates back to a former text": 2,
    "refused moved_on": 10,
    "refused lives_elsewhere": 5,
    "refused outranked": 1,
    "refused unchanged": 4,
    "refused forgotten": 5,
    "forgotten": 30,
    "wait because of a forgetting": 4,
    "wait as rewordings": 4,
    "come back with a twin": 1,
}
"""Of each kind, in the same three hundred stories on every run."""


def made_of(policy: Policy, story: list[Act]) -> Counter[str]:
    counted: Counter[str] = Counter()
    ledger = Ledger("ada")
    for event in play(policy, story).world.log:
        match event:
            case Decided() | Joined() if event.data.join and event.data.join.over:
                counted["updates"] += 1
                counted["updates by an agent"] += event.data.rank == "agent"
                counted["updates that merge"] += isinstance(event, Joined)
                memory = ledger.entries[event.data.join.over].memory
                counted["updates of what was updated"] += memory.face.chosen
                if isinstance(event, Decided):
                    back = identity_of(event.data.content) in memory.face.former
                    counted["updates back to a former text"] += back
            case Reversed() if event.data.decision_id in ledger.edges:
                edge = ledger.edges[event.data.decision_id]
                undone = edge.over is not None and not event.data.separates
                counted["updates undone"] += undone
                later = [e for e in edge.newer.memory.edges() if e.over and e.order > edge.order]
                counted["updates undone in the middle"] += undone and bool(later)
            case Retracted():
                counted["forgotten"] += event.data.again is not None
            case Decided() if event.data.withheld is not None:
                counted["wait because of a forgetting"] += 1
                counted["wait as rewordings"] += event.data.evidence.neighbours[0].cosine != 1.0
            case Joined() if event.data.join.over is None and event.data.join.similarity == 1.0:
                counted["come back with a twin"] += common.by_person(event)
            case Refused():
                counted[f"refused {event.data.reason}"] += 1
            case _:
                pass
        evolve.evolve(ledger, event)
    return counted


LEAST_RETOLD = {
    "forgotten": 300,
    "wait because of a forgetting": 15,
    "come back with a twin": 6,
    "refused same_text": 8,
    "refused lives_elsewhere": 2,
    "updates": 40,
}


def short_of(least: dict[str, int], of: st.SearchStrategy[tuple[Policy, list[Act]]]) -> list[str]:
    """What three hundred stories have too seldom."""
    counted: Counter[str] = Counter()

    @settings(
        max_examples=300,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(of)
    def count(told: tuple[Policy, list[Act]]) -> None:
        counted.update(made_of(*told))

    count()
    return [f"{what}: {counted[what]}" for what in least if counted[what] < least[what]]


@pytest.mark.long
def test_the_stories_have_enough_of_everything() -> None:
    assert short_of(LEAST, st.tuples(any_policy, changes)) == []
    assert short_of(LEAST_RETOLD, st.tuples(st.just(ASKING), retold)) == []


# -- each of them can fail -----------------------------------------------------------------------


def updates_join_who_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update joins the update before it: that one takes it along when it is undone."""
    monkeypatch.setattr(updating, "anchor", lambda memory: memory.face.speaker)


def undoing_only_retracts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update undone stays in the memory: only its text is retracted."""
    found = updating._taken_back

    def broken(*said: Any) -> Result:
        done = found(*said)
        return done if isinstance(done, Refusal) else done[:1]

    monkeypatch.setattr(updating, "_taken_back", broken)


def undone_updates_go_on_saying_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an update said of the two that it made one holds when it is undone."""
    monkeypatch.setattr(evolve, "withdraw", lambda *_: None)


def those_that_stood_again_go_on_saying_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of one that was reinstated meanwhile."""

    def broken(ledger: Ledger, a: str, b: str, event_id: str) -> None:
        for statement in ledger.statements.get(a, {}).get(b, ()):
            statement.withdrawn = statement.withdrawn or statement.event_id == event_id

    monkeypatch.setattr(evolve, "withdraw", broken)


def the_text_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undoing leaves the update's text alive, as a memory of its own."""
    found = updating._taken_back

    def broken(*said: Any) -> Result:
        done = found(*said)
        return done if isinstance(done, Refusal) else done[-1:]

    monkeypatch.setattr(updating, "_taken_back", broken)


def updates_are_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update displaces as a rule does, so a repeat brings back what it displaced."""
    combine = faces.combine

    def broken(edge: Edge, by_id: dict[str, Entry], a: Face, b: Face) -> Face:
        if edge.over is None:
            return combine(edge, by_id, a, b)
        return faces._over(b, a) if edge.face == "take" else faces._over(a, b)

    monkeypatch.setattr(faces, "combine", broken)
    monkeypatch.setattr(graph, "combine", broken)


def rules_move_it_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes the face moves forward what somebody chose, not the judge alone."""
    monkeypatch.setattr(faces, "_moves_forward", lambda edge, a, b: a.chosen and not b.chosen)


def texts_may_live_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update does not ask where its text lives."""
    monkeypatch.setattr(updating, "_home", lambda *_: None)


def updates_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update that changed nothing is not recorded, and changes something when it comes again."""
    update = updating.update

    def broken(command: Update, *said: Any) -> Result:
        found = update(command, *said)
        unchanged = isinstance(found, Refusal) and found.reason in ("unchanged", "lives_elsewhere")
        return [] if unchanged else found

    monkeypatch.setattr(updating, "update", broken)


def repeats_join_what_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exact repeat joins the forgotten candidate, as it joins a retracted one."""

    def broken(self: Distinct) -> Entry | None:
        return self.representative or (self.members[0] if self.members else self.alias)

    monkeypatch.setattr(Distinct, "target", property(broken))


def meaning_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact wordings alone wait."""
    monkeypatch.setattr(admit, "in_reach", lambda *_: False)


def any_join_is_near_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who joins anybody living does not wait, however near it is to what was forgotten."""
    found = admit._reworded

    def broken(
        command: Admit, ledger: Ledger, policy: Policy, outcome: CheckOutcome, same: list[Entry]
    ) -> Any:
        return () if outcome.choice else found(command, ledger, policy, outcome, same)

    monkeypatch.setattr(admit, "_reworded", broken)


def twins_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks who has the text by now of what comes back."""
    monkeypatch.setattr(operate, "twin_of", lambda *_: None)


def composed_texts_are_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text lives where a candidate says it, not where a composed one speaks."""
    monkeypatch.setattr(Distinct, "spoken_outside", lambda *_: None)


def refusals_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was refused is admitted once the text may come again."""

    class Forgetful(set[str]):
        def __contains__(self, one: object) -> bool:
            return False

    made = Ledger.__init__

    def broken(self: Ledger, *said: Any, **named: Any) -> None:
        made(self, *said, **named)
        self.turned_away = Forgetful()

    monkeypatch.setattr(Ledger, "__init__", broken)


BREAKS = [
    (repeats_join_what_was_forgotten, what_is_forgotten_stays_so, (any_policy, changes)),
    (meaning_is_not_compared, rewordings_wait, (any_policy, changes)),
    (any_join_is_near_enough, rewordings_wait, (any_policy, changes)),
    (twins_stay_apart, checks.l6_one_memory_per_text, (any_policy, changes)),
    (composed_texts_are_nobodys, checks.l6_one_memory_per_text, (st.just(ASKING), retold)),
    (refusals_are_not_remembered, checks.l3_twice_is_once, (any_policy, changes)),
    (updates_join_who_speaks, chain_is_whole, (chains, numbers)),
    (undoing_only_retracts, undone_at_once, (any_policy, changes)),
    (undone_updates_go_on_saying_so, undone_at_once, (any_policy, changes)),
    (those_that_stood_again_go_on_saying_so, undone_at_once, (any_policy, changes)),
    (the_text_stays, undone_at_once, (any_policy, changes)),
    (updates_are_takes, nothing_brings_it_back, (any_policy, changes)),
    (rules_move_it_forward, checks.a_persons_face_survives, (any_policy, changes)),
    (texts_may_live_twice, checks.l6_one_memory_per_text, (any_policy, changes)),
    (updates_are_not_remembered, checks.l3_twice_is_once, (any_policy, changes)),
]


SLOW = {any_join_is_near_enough, composed_texts_are_nobodys}


@pytest.mark.parametrize(
    ("patch", "check", "drawn"),
    [
        pytest.param(
            *one,
            id=f"{one[0].__name__}-{one[1].__name__}",
            marks=[pytest.mark.long] * (one[0] in SLOW),
        )
        for one in BREAKS
    ],
)
def test_a_break_is_found(
    patch: Callable[[pytest.MonkeyPatch], None],
    check: Callable[..., None],
    drawn: tuple[st.SearchStrategy[Any], ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patch(monkeypatch)
    with pytest.raises(AssertionError):
        search(check, *drawn)
