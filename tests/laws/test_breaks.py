"""Each law can fail: a deliberate break of the code, such as a hasty hand would make, is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import datetime
from operator import itemgetter
from typing import Any
from uuid import uuid5

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import Admit, Unmerge
from palimpsest.contracts.events import AnyEvent, Content, Decided, Reinstated, Reversed
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.identity import NAMESPACE
from palimpsest.contracts.light import serializer
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import decode
from palimpsest.streams.core import (
    admit,
    combine,
    evolve,
    exact,
    faces,
    graph,
    indexes,
    neighbour_lookup,
    operate,
    settle,
)
from palimpsest.streams.core import decide as deciding
from palimpsest.streams.core import walk as walking
from palimpsest.streams.core.checks import CheckOutcome
from palimpsest.streams.core.faces import Face
from palimpsest.streams.core.ledger import Answer, Edge, Entry, Ledger, Memory, Scope
from palimpsest.streams.core.neighbour_lookup import NeighbourLookup
from palimpsest.streams.core.refusal import Refusal
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.core.walk import Due, walk
from palimpsest.streams.search.prefetch import Prefetch
from tests.laws import checks, undoing, world
from tests.laws.histories import ASKING, arrivals, losses, policies, questions, stories, waiting

Patch = Callable[[pytest.MonkeyPatch], None]
Check = Callable[..., None]

any_policy = policies()
candidates_policy = policies(search="candidates")
numbers = st.integers(0, 15)
chances = st.builds(random.Random, st.integers(0, 9))


def search(check: Check, *drawn: st.SearchStrategy[Any], examples: int = 1_000) -> None:
    """Look for a counterexample among the same histories on every run; the first one is enough."""

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*drawn))
    def attempt(drawn: tuple[Any, ...]) -> None:
        check(*drawn)

    attempt()


def cut_keeps_the_old_face(monkeypatch: pytest.MonkeyPatch) -> None:
    """The older part goes on with the face that the whole had."""

    def broken(edge: Edge) -> tuple[Memory, Memory] | None:
        face = edge.newer.memory.face
        parts = graph.cut(edge)
        if parts is not None:
            parts[1].keep_face(face)
        return parts

    monkeypatch.setattr(evolve, "cut", broken)


def decisions_rest_on_faces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer is compared with faces although the policy says candidates."""
    by_brute_force = world.by_brute_force

    def broken(policy: Policy) -> world.Retrieve:
        return by_brute_force(policy.model_copy(update={"search": "memories"}))

    monkeypatch.setattr(world, "by_brute_force", broken)


def joins_name_the_first_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join is recorded to the memory's first member, not to the candidate compared."""
    compared = admit._compared

    def broken(command: Admit, ledger: Ledger, policy: Policy, now: datetime) -> Decided:
        event = compared(command, ledger, policy, now)
        join = event.data.join
        if join is None:
            return event
        first = structs.replace(join, to=ledger.entries[join.to].memory.id)
        return structs.replace(event, data=structs.replace(event.data, join=first))

    monkeypatch.setattr(admit, "_compared", broken)


def refused_verdicts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict that a separation held back is not kept for the un-merge."""
    monkeypatch.setattr(evolve, "_refused", lambda ledger, event, touched: None)


def the_last_kept_verdict_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts that were held back are taken up in another order than they came in."""

    def broken(ledger: Ledger, policy: Policy) -> tuple[Entry, Answer] | None:
        found = [(entry, walk(ledger, entry)) for entry in ledger.held.values()]
        free = [(e, s.answer) for e, s in found if isinstance(s, Due) and s.hindrance is None]
        return max(free, key=lambda one: one[1].given.order, default=None)

    monkeypatch.setattr(deciding, "due", broken)


def commands_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """`decide` does not know a command again."""
    monkeypatch.setattr(
        deciding, "event_id", lambda first, step: str(uuid5(NAMESPACE, f"new {first} {step}"))
    )


def a_cut_reaches_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking one join out takes another memory's latest join out too."""
    reverse = evolve._reversed

    def broken(ledger: Ledger, event: Reversed, touched: Touched) -> None:
        memory = ledger.edges[event.data.decision_id].newer.memory
        reverse(ledger, event, touched)
        for edge in ledger.edges.values():
            if edge.standing and edge.newer.memory is not memory:
                edge.standing = False
                graph.cut(edge)
                return

    monkeypatch.setattr(evolve, "_reversed", broken)


def the_smaller_part_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniting forgets to tell the smaller part's members where they are now."""

    def broken(big: Memory, small: Memory) -> None:
        big.members = sorted(big.members + small.members, key=lambda entry: entry.place)
        small.members[0].memory = big

    monkeypatch.setattr(graph, "_absorb", broken)


def exact_repeats_can_be_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An un-merge does not ask whether a text would live on both sides."""
    monkeypatch.setattr(operate, "_same_text_on_both_sides", lambda *_: False)


def hidden_characters_make_another_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is known again only as it was written, with what nobody sees in it."""

    def broken(ledger: Ledger, namespace: str, content: Content) -> Entry | None:
        found = exact.verbatim_target(ledger, namespace, content)
        return found if found is not None and found.text == content.text else None

    monkeypatch.setattr(admit, "verbatim_target", broken)


def every_policy_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of one search form are joined, as before there was a setting."""

    def broken(ledger: Ledger, of: Candidate, text: Content, policy: Policy) -> exact.Twin | None:
        return exact.folded_target(ledger, of, text, policy.model_copy(update={"exact": None}))

    monkeypatch.setattr(admit, "folded_target", broken)


def folded_repeats_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """An un-merge takes texts of one search form for the same."""
    on_both_sides = operate._same_text_on_both_sides

    def broken(edge: Edge, side: set[Entry]) -> bool:
        alike = edge.newer.distinct.search_hash == edge.older.distinct.search_hash
        return alike or on_both_sides(edge, side)

    monkeypatch.setattr(operate, "_same_text_on_both_sides", broken)


def the_fold_counts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that is delivered twice is folded twice."""
    fold = evolve.evolve

    def broken(ledger: Ledger, event: AnyEvent) -> Touched:
        if event.type != "palimpsest.decided.v1":
            ledger.events.discard(event.id)
        return fold(ledger, event)

    monkeypatch.setattr(checks, "evolve", broken)


def the_wire_forgets_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field is lost on the way through the log."""

    def broken(line: bytes) -> AnyEvent:
        return decode(line.replace(b'"pending"', b'"stored"'))

    def with_nulls(event: AnyEvent) -> bytes:
        return serializer(type(event)).to_json(event)

    monkeypatch.setattr(checks, "decode", broken)
    monkeypatch.setattr(checks, "encode", with_nulls)


def what_is_put_back_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reinstated join is folded at its reinstatement, not at the newcomer's arrival."""
    reinstate = evolve._reinstated

    def broken(ledger: Ledger, event: Reinstated, touched: Touched) -> None:
        ledger.edges[event.data.decision_id].place = ledger.seen
        reinstate(ledger, event, touched)

    monkeypatch.setattr(evolve, "_reinstated", broken)


def verdicts_ask_for_no_separation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late verdict joins whoever it names."""
    monkeypatch.setattr(walking, "separated_pair", lambda ledger, a, b: None)


def who_is_together_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer that a rule joins is asked about who is of another memory by then, for good."""
    asked_of = admit._asked

    def broken(
        command: Admit, policy: Policy, lookup: NeighbourLookup, outcome: CheckOutcome
    ) -> tuple[str, ...]:
        asked = asked_of(command, policy, lookup, outcome)
        if outcome.choice is None:
            return asked
        entries = lookup._ledger.entries
        home = lookup.entry(outcome.choice.neighbour).memory
        return tuple(one for one in asked if entries[one].memory is not home)

    monkeypatch.setattr(admit, "_asked", broken)


def batches_ask_for_no_separation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch run joins what somebody separated."""

    def broken(ledger: Ledger, entry: Entry, other: Entry) -> Refusal | None:
        refusal = settle.obstacle(ledger, entry, other)
        return None if refusal is not None and refusal.reason == "separated" else refusal

    monkeypatch.setattr(combine, "obstacle", broken)


def batches_answer_open_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch run joins what the judge has not answered yet: the answer comes to nothing."""
    monkeypatch.setattr(combine, "_forestalled", lambda older, newer: None)


def verdicts_ignore_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """`different` from one member and `same` as another, in one answer."""
    hindrance = walking._hindrance
    monkeypatch.setattr(
        walking,
        "_hindrance",
        lambda ledger, entry, other, answer, said: hindrance(ledger, entry, other, answer, ()),
    )


def keep_means_the_candidate_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """`keep` gives the face to the older candidate, not to what speaks for its part."""
    combine = faces.combine

    def broken(edge: Edge, by_id: dict[str, Entry], a: Face, b: Face) -> Face:
        kept = Face(edge.older, displaced=a.displaced) if edge.face == "keep" else a
        return combine(edge, by_id, kept, b)

    monkeypatch.setattr(graph, "combine", broken)
    monkeypatch.setattr(faces, "combine", broken)


def scopes_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of a namespace belongs to nobody."""
    shared: dict[str, Scope] = {}

    class Anew(world.World):
        def __init__(self, policy: Policy, owner_id: str = "ada") -> None:
            super().__init__(policy, owner_id)
            shared.clear()

    def broken(ledger: Ledger, namespace: str) -> Scope:
        ledger.scopes = shared
        return shared.setdefault(namespace, Scope(namespace))

    monkeypatch.setattr(checks, "World", Anew)
    monkeypatch.setattr(Ledger, "scope", broken)


def the_past_knows_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold looks up what became of a join elsewhere than in its own prefix of the log."""
    gone: set[str] = set()

    class Anew(world.World):
        def __init__(self, policy: Policy) -> None:
            super().__init__(policy)
            gone.clear()

    reverse, joined = evolve._reversed, evolve._edge

    def reverse_for_ever(ledger: Ledger, event: Reversed, touched: Touched) -> None:
        gone.add(event.data.decision_id)
        reverse(ledger, event, touched)

    def take_for_granted(ledger: Ledger, event: Any, *rest: Any) -> Edge:
        edge: Edge = joined(ledger, event, *rest)
        edge.face = "keep" if event.id in gone else edge.face
        return edge

    monkeypatch.setattr(checks, "World", Anew)
    monkeypatch.setattr(evolve, "_reversed", reverse_for_ever)
    monkeypatch.setattr(evolve, "_edge", take_for_granted)


def unmerging_asks_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """An un-merge looks for the newcomer's neighbours again."""
    unmerge = operate.unmerge

    def broken(command: Unmerge, ledger: Ledger, now: datetime) -> operate.Result:
        newcomer = world.admit_at(ledger.owner_id, "again", 0)
        looked = neighbour_lookup.NeighbourLookup(ledger, newcomer, ASKING)
        for entry in ledger.entries.values():
            looked.passes(Neighbour(candidate_id=entry.id))
        return unmerge(command, ledger, now)

    monkeypatch.setattr(operate, "unmerge", broken)


def ties_go_to_the_first_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal scores are left in the order of the search's answer."""

    def broken(_: object, scored: Iterable[tuple[Neighbour, float]]) -> list[Neighbour]:
        return [n for n, _ in sorted(scored, key=itemgetter(1), reverse=True)]

    monkeypatch.setattr(neighbour_lookup.NeighbourLookup, "_ranked", broken)


def a_window_does_not_see_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who arrived since a window was looked up is not searched."""
    monkeypatch.setattr(Prefetch, "note_arrived", lambda *_: None)


def moves_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates whose memory has another id now are not named."""
    monkeypatch.setattr(Touched, "moved", lambda self, entries: None)


def the_face_always_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late join continues the face as if it were the latest."""

    def broken(edge: Edge) -> list[Entry]:
        edge.older.memory.last_place = edge.newer.memory.last_place = 0
        return graph.unite(edge)

    monkeypatch.setattr(evolve, "unite", broken)


def newcomers_do_not_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what takes a source away is looked at, not who joins a memory whose text is missing."""
    keep = indexes.keep_lost_texts

    def broken(ledger: Ledger, event_id: str, touched: Touched) -> None:
        if not any(edge.standing for edge in touched.edges.values()):
            keep(ledger, event_id, touched)

    monkeypatch.setattr(evolve, "keep_lost_texts", broken)


HISTORY = (any_policy, stories)
QUESTIONS = (st.just(ASKING), questions)
WAITING = (st.just(ASKING), waiting, numbers)
CHOICE = (any_policy, stories, numbers)
CANDIDATES = (candidates_policy, stories, numbers)
BREAKS: list[tuple[str, Patch, Check, tuple[st.SearchStrategy[Any], ...]]] = [
    ("L1", cut_keeps_the_old_face, undoing.l1_unmerge_restores, HISTORY),
    ("L2", decisions_rest_on_faces, undoing.l2_late_equals_at_once, CANDIDATES),
    ("L2", joins_name_the_first_member, undoing.l2_late_equals_at_once, CANDIDATES),
    ("L2", decisions_rest_on_faces, undoing.l2_equals_never, CANDIDATES),
    ("L2", joins_name_the_first_member, undoing.l2_equals_never, CANDIDATES),
    ("L2", who_is_together_is_not_asked_about, undoing.l2_equals_never, CANDIDATES),
    ("L2", refused_verdicts_are_forgotten, undoing.l2_late_equals_at_once, WAITING),
    ("L2", the_last_kept_verdict_goes_first, undoing.l2_late_equals_at_once, WAITING),
    ("L3", commands_are_not_remembered, checks.l3_twice_is_once, HISTORY),
    ("L4", a_cut_reaches_further, checks.l4_nothing_outside, HISTORY),
    ("L5", the_smaller_part_is_not_moved, checks.l5_partition, HISTORY),
    ("L6", exact_repeats_can_be_parted, checks.l6_one_memory_per_text, HISTORY),
    ("L6", hidden_characters_make_another_text, checks.l6_one_memory_per_text, HISTORY),
    ("exact", every_policy_folds, checks.degrees_of_exactness, HISTORY),
    ("exact", folded_repeats_stay, checks.degrees_of_exactness, HISTORY),
    ("L7", the_fold_counts_again, checks.l7_fold_is_live, (*HISTORY, chances)),
    ("L7", the_wire_forgets_sources, checks.l7_fold_is_live, (*HISTORY, chances)),
    ("L8", what_is_put_back_comes_last, checks.l8_redo_restores, CHOICE),
    ("L9", verdicts_ask_for_no_separation, checks.l9_separations_bind, QUESTIONS),
    ("L9", batches_ask_for_no_separation, checks.l9_separations_bind, HISTORY),
    ("L9", verdicts_ignore_themselves, checks.l9_separations_bind, QUESTIONS),
    ("L10", keep_means_the_candidate_compared, checks.l10_no_way_back, HISTORY),
    ("L11", scopes_are_shared, checks.l11_owners_are_apart,
     (any_policy, st.tuples(stories, stories))),
    ("L12", the_past_knows_the_future, checks.l12_as_of, HISTORY),
    ("L13", unmerging_asks_the_guard, checks.l13_no_model, HISTORY),
    ("L14", ties_go_to_the_first_found, checks.l14_order_of_neighbours,
     (any_policy, arrivals, chances)),
    ("L15", a_window_does_not_see_itself, checks.l15_batch_size,
     (*HISTORY, st.integers(2, 7))),
    ("touched", moves_are_not_reported, checks.touched_is_all, HISTORY),
    ("pending", batches_answer_open_questions, checks.batches_leave_questions_open, HISTORY),
    ("face", the_face_always_goes_on, checks.face_is_a_fold, HISTORY),
    ("texts", newcomers_do_not_speak, checks.lost_texts_are_kept, (any_policy, losses)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "broken", "check", "drawn"),
    BREAKS,
    ids=[f"{law}-{broken.__name__}-{check.__name__}" for law, broken, check, _ in BREAKS],
)
def test_a_break_is_found(
    law: str,
    broken: Patch,
    check: Check,
    drawn: tuple[st.SearchStrategy[Any], ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        search(check, *drawn)


def test_every_law_has_a_break() -> None:
    assert {law for law, *_ in BREAKS} >= {f"L{number}" for number in range(1, 16)}
