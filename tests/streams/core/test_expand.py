"""Requests that name many joins or candidates, expanded to commands (docs/design.md, Un-merge)."""

from __future__ import annotations

from uuid import uuid4

import pytest
from pydantic import ValidationError

from palimpsest.contracts.commands import Redecide, Reinstate, Unmerge
from palimpsest.contracts.events import Reversed
from palimpsest.contracts.requests import (
    JoinSelection,
    ReinstateManyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    UnmergeRequest,
)
from palimpsest.streams.core.expand import (
    reinstate_commands,
    restore_commands,
    retract_commands,
    reverse_commands,
    reversed_joins,
    unmerge_commands,
)
from tests.streams.core.spec import (
    ASK,
    KEEP,
    PLAIN,
    SECOND,
    TAKE,
    History,
    for_request,
    given,
    judge,
    merge,
    redecide,
    say,
    separate,
    unmerge,
    withdraw,
)

APART = "6bd751e0-4c1a-53ee-9147-69a89a5b7d87"


def joined() -> History:
    """A memory of three with an exact repeat and a person's support, and another memory."""
    return given(
        say("a", "Tea"),
        say("b", "Chai", {"a": KEEP}),
        say("c", "Mate", {"b": TAKE}),
        say("d", "Tea"),
        say("x", "Milk"),
        say("y", "Cream", {"x": KEEP}),
        merge("a", "c"),
    )


def named(history: History, commands: list[Unmerge]) -> list[str]:
    """The joins of un-merge commands, by their newer and older candidates."""
    edges = [history.ledger.edges[command.decision_id] for command in commands]
    return [f"{history.name(edge.newer.id)} {history.name(edge.older.id)}" for edge in edges]


def test_unmerging_a_memory_means_all_its_joins_but_exact_repeats_a_persons_first() -> None:
    history = joined()
    request = UnmergeRequest(request_id=history.fresh(), memory_id=history.id("a"))
    commands = unmerge_commands(history.ledger, request)
    assert named(history, commands) == ["c a", "c b", "b a"]
    for command in commands:
        history.carry_out(command)
        assert isinstance(history.new[0], Reversed)
    history.shows({"Tea": "a d", "Chai": "b", "Mate": "c", "Milk": "x y"})


def test_who_was_taken_apart_with_a_memory_is_not_apart_by_anybodys_word() -> None:
    """Nobody said it of the two: the refusal names the request, and a merge is still possible."""
    history = given(
        say("a", "Blue"), say("b", "Blue one", {"a": KEEP}), say("c", "One blue", {"b": KEEP})
    )
    request = UnmergeRequest(request_id=APART, memory_id=history.id("a"))
    for command in unmerge_commands(history.ledger, request):
        history.carry_out(command)
    history.when(withdraw("a", "c")).then("refused not_a_statement")
    assert f"request {APART} split their memory" in history.detail()
    history.when(merge("a", "c")).then("c manual_join a")


def test_a_request_cut_short_is_carried_on_when_it_comes_again() -> None:
    history = joined()
    request = UnmergeRequest(request_id=history.fresh(), memory_id=history.id("a"))
    commands = unmerge_commands(history.ledger, request)
    history.carry_out(commands[0])
    assert set(unmerge_commands(history.ledger, request)) >= set(commands[1:])
    for command in unmerge_commands(history.ledger, request):
        history.carry_out(command)
    history.shows({"Tea": "a d", "Chai": "b", "Mate": "c", "Milk": "x y"})


def test_unmerging_a_candidate_means_the_joins_that_it_made() -> None:
    history = joined()
    request = UnmergeRequest(request_id=history.fresh(), candidate_id=history.id("b"))
    assert named(history, unmerge_commands(history.ledger, request)) == ["b a"]


def reverse(history: History, **selected: object) -> list[str]:
    """The joins that a bulk request means."""
    selection = JoinSelection.model_validate(selected)
    request = ReverseRequest(request_id=history.fresh(), selection=selection)
    return named(history, reverse_commands(history.ledger, request))


def test_joins_are_selected_by_source_decision_policy_score_and_time() -> None:
    history = joined()
    assert reverse(history, source="spec") == ["c a", "y x", "c b", "b a"]
    assert reverse(history, source="another") == []
    assert reverse(history, decision="superseded") == ["c b"]
    assert reverse(history, policy=PLAIN.hash) == ["y x", "c b", "b a"]
    assert reverse(history, below=0.95) == ["y x", "b a"]
    assert reverse(history, below=TAKE) == ["y x", "b a"], "a score is not below itself"
    at = history.log[2].time
    assert reverse(history, since=at.isoformat()) == ["c a", "y x", "c b"]
    assert reverse(history, until=at.isoformat()) == ["b a"]
    assert reverse(history, since=at.isoformat(), until=(at + SECOND).isoformat()) == ["c b"]


def test_what_was_taken_out_is_not_selected_again() -> None:
    history = joined().do(unmerge("y"))
    assert reverse(history, source="spec") == ["c a", "c b", "b a"]


def test_candidates_are_retracted_and_restored_in_bulk() -> None:
    history = joined()
    selection = Selection(source="spec", decision="stored")
    retracting = RetractRequest(request_id=history.fresh(), selection=selection)
    for command in retract_commands(history.ledger, retracting):
        history.carry_out(command)
    history.shows({"Tea": "b c d", "Cream": "y"})
    again = [command.command_id for command in retract_commands(history.ledger, retracting)]
    assert len(again) == 2
    restoring = RestoreRequest(request_id=history.fresh(), selection=selection)
    for back in restore_commands(history.ledger, restoring):
        history.carry_out(back)
    history.shows({"Tea": "a b c d", "Milk": "x y"})


def test_joins_are_reinstated_by_the_selection_that_reversed_them() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"b": TAKE}))
    selection = JoinSelection(policy=PLAIN.hash)
    taken = named(history, take_out(history, selection))
    request = ReinstateManyRequest(request_id=history.fresh(), selection=selection)
    back = [edge.id for edge in reversed_joins(history.ledger, request)]
    edges = [history.ledger.edges[one] for one in back]
    assert [f"{history.name(e.newer.id)} {history.name(e.older.id)}" for e in edges] == taken[::-1]
    other = request.model_copy(update={"selection": JoinSelection(source="another")})
    assert reversed_joins(history.ledger, other) == []


def test_by_its_cause_only_what_one_request_took_out_is_reinstated() -> None:
    """Not what a person had taken out of the same joins before, nor what a later request did."""
    history = given(
        say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"b": TAKE}), unmerge("b")
    )
    everything = JoinSelection(policy=PLAIN.hash)
    [command] = take_out(history, everything)
    for cause, meant in ((command.cause, ["c"]), (str(uuid4()), []), (None, ["b", "c"])):
        selection = everything.model_copy(update={"cause": cause})
        request = ReinstateManyRequest(request_id=history.fresh(), selection=selection)
        found = reversed_joins(history.ledger, request)
        assert [history.name(edge.newer.id) for edge in found] == meant
    with pytest.raises(ValidationError, match="reversed or retracted already"):
        ReverseRequest(request_id=history.fresh(), selection=JoinSelection(cause=command.cause))


def test_a_consequence_is_not_reinstated_without_its_cause() -> None:
    """It separated nothing: the join that it followed from brings it back."""
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}))
    selection = JoinSelection(policy=PLAIN.hash)
    [command] = take_out(history, selection, consequence_of=history.log[0].id)
    assert not history.ledger.edges[command.decision_id].standing
    request = ReinstateManyRequest(request_id=history.fresh(), selection=selection)
    assert reversed_joins(history.ledger, request) == []


def take_out(history: History, selection: JoinSelection, **how: object) -> list[Unmerge]:
    """Reverse what a selection means."""
    request = ReverseRequest(request_id=history.fresh(), selection=selection)
    commands = reverse_commands(history.ledger, request)
    for command in commands:
        history.carry_out(command.model_copy(update=how))
    return commands


def test_a_question_that_was_replaced_again_since_is_not_asked_by_a_reinstatement() -> None:
    first, second = str(uuid4()), str(uuid4())
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": KEEP}),
        say("x", "Mate", {"b": ASK}),
        for_request(first, unmerge("b")),
        for_request(first, redecide("x", "pending", after="b", asks="a")),
    )
    request = ReinstateRequest(request_id=str(uuid4()), decision_id=history.join("b").id)
    commands = reinstate_commands(history.ledger, request, PLAIN)
    assert [type(command) for command in commands] == [Redecide, Reinstate]
    history.do(for_request(second, redecide("x", "pending", after="b", asks="a b")))
    commands = reinstate_commands(history.ledger, request, PLAIN)
    assert [type(command) for command in commands] == [Reinstate]


def test_a_reinstatement_leaves_joins_that_no_reversal_had_freed() -> None:
    """The judge answered about the two since then, as about any other."""
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": KEEP}),
        say("c", "Mate", {"a": KEEP}),
        for_request(str(uuid4()), unmerge("b")),
        separate("b", "c", rank="judge"),
        say("d", "Milk", {"b": ASK}),
        judge("d", b="same"),
    )
    request = ReinstateRequest(request_id=str(uuid4()), decision_id=history.join("b").id)
    commands = reinstate_commands(history.ledger, request, PLAIN)
    assert [type(command) for command in commands] == [Reinstate]
    history.carry_out(commands[0])
    history.shows({"Tea": "a b c d"})
