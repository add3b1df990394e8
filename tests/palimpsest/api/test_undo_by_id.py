"""Any id can be used to undo what it names, and to do it again (docs/undo.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from unittest.mock import create_autospec
from uuid import uuid4

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    ExpirySet,
    Joined,
    Redecided,
    Reinstated,
    Restored,
    Retracted,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import JoinSelection, Selection
from palimpsest.queries.undoing import INSTEAD, request_for
from palimpsest.streams.core.separations import separation
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write import answered
from palimpsest.streams.write.owners import fold_owner

TEXTS = (
    "The ferry leaves at noon from the old harbour",
    "Grandmother keeps bees behind the mill",
    "A locksmith repaired the cellar door",
    "Thunder woke the whole street on Sunday",
)

Act = Callable[[Palimpsest, list[str]], str]
"""An action on candidates; returns the id that names it."""


def say(store: Palimpsest, text: str, owner: str = "ada") -> str:
    [outcome] = store.submit({"owner_id": owner, "text": text})
    assert outcome.candidate_id is not None
    return outcome.candidate_id


def four(store: Palimpsest, owner: str = "ada") -> list[str]:
    return [say(store, text, owner) for text in TEXTS]


def living(store: Palimpsest, owner: str = "ada") -> list[Any]:
    """The visible state of an owner's memories: their faces and their living members."""
    ledger = store.reader.ledger(owner)
    return sorted(
        (
            memory["memory_id"],
            memory["face"],
            sorted(e.id for e in ledger.entries[memory["memory_id"]].memory.members if e.living),
        )
        for memory in store.list(owner, former=True)["memories"]
    )


def last_event(store: Palimpsest, some_id: str) -> str:
    return str(store.history(some_id)["events"][-1]["event_id"])


def merge(store: Palimpsest, ids: list[str]) -> str:
    return str(store.merge(ids[0], ids[1])["decision_id"])


def update(store: Palimpsest, ids: list[str]) -> str:
    return str(store.update(ids[0], "The ferry leaves at one")["decision_id"])


def update_by_memory(store: Palimpsest, ids: list[str]) -> str:
    update(store, ids)
    return ids[0]


def update_by_candidate(store: Palimpsest, ids: list[str]) -> str:
    return str(store.update(ids[0], "The ferry leaves at one")["candidate_id"])


def forget(store: Palimpsest, ids: list[str]) -> str:
    return str(store.forget(ids[:2])["forgotten"])


def forget_by_memory(store: Palimpsest, ids: list[str]) -> str:
    store.forget(ids[:1])
    return ids[0]


def retract(store: Palimpsest, ids: list[str]) -> str:
    store.retract(Selection(candidate_id=ids[0]))
    return last_event(store, ids[0])


def retract_many(store: Palimpsest, ids: list[str]) -> str:
    return str(store.retract(Selection(owner_id="ada"))["cause"])


def reverse_many(store: Palimpsest, ids: list[str]) -> str:
    return str(store.reverse(JoinSelection(owner_id="ada"))["cause"])


def unmerge(store: Palimpsest, ids: list[str]) -> str:
    return str(store.unmerge(candidate_id=ids[1])["cause"])


def unmerge_update(store: Palimpsest, ids: list[str]) -> str:
    """Take the last update out by its join, so that its text becomes a memory of its own."""
    edges = store.reader.ledger("ada").edges.values()
    standing = [edge.id for edge in edges if edge.standing and edge.over is not None]
    if not standing:
        raise RefusedError("no_update", "nothing was updated")
    return str(store.unmerge(decision_id=standing[-1])["undo"])


def reinstate(store: Palimpsest, ids: list[str]) -> str:
    """Bring back the join that was taken out last, whatever took it out."""
    edges = store.reader.ledger("ada").edges.values()
    out = [edge for edge in edges if edge.reversed_by is not None]
    if not out:
        raise RefusedError("not_undone", "nothing was taken out")
    last = max(out, key=lambda edge: edge.reversed_by.order if edge.reversed_by else 0)
    return str(store.reinstate(last.id)["undo"])


def undo_update(store: Palimpsest, ids: list[str]) -> str:
    """Undo the last update of a memory."""
    return str(store.undo(ids[0])["undo"])


def restore(store: Palimpsest, ids: list[str]) -> str:
    store.restore(Selection(candidate_id=ids[0]))
    return last_event(store, ids[0])


def merge_two_pairs(store: Palimpsest, ids: list[str]) -> None:
    store.merge(ids[0], ids[1])
    store.merge(ids[2], ids[3])


def unmerge_one_of_two(store: Palimpsest, ids: list[str]) -> None:
    merge_two_pairs(store, ids)
    store.unmerge(candidate_id=ids[1])


FIRST: dict[Act, Callable[[Palimpsest, list[str]], object]] = {
    reverse_many: merge_two_pairs,
    unmerge: merge,
    unmerge_update: update,
    undo_update: update,
    reinstate: unmerge_one_of_two,
    restore: retract,
}
"""The preparation of each act."""

UNDONE: dict[Act, str] = {
    merge: "unmerge",
    update: "undo",
    update_by_memory: "undo",
    update_by_candidate: "undo",
    forget: "restore",
    forget_by_memory: "restore",
    retract: "restore",
    retract_many: "restore",
    restore: "retract",
    reverse_many: "reinstate_many",
    unmerge: "reinstate_many",
    unmerge_update: "reinstate_many",
    undo_update: "restore",
    reinstate: "unmerge",
}
"""The request that undoes each act."""

DONE_AGAIN = (
    *(merge, update, update_by_candidate, retract, restore, unmerge),
    *(unmerge_update, undo_update, reinstate),
)


def act_on(store: Palimpsest, act: Act) -> tuple[list[Any], str]:
    """Do the act to four memories; return the memories before it, and its id."""
    ids = four(store)
    if act in FIRST:
        FIRST[act](store, ids)
    was = living(store)
    return was, act(store, ids)


@pytest.mark.parametrize("act", UNDONE, ids=lambda act: act.__name__)
def test_an_id_undoes_what_it_names(memories: Palimpsest, act: Act) -> None:
    was, some_id = act_on(memories, act)
    done, position = living(memories), memories.position
    assert done != was
    assert request_for(memories.reader, "undo", some_id, by="person").request == UNDONE[act]
    memories.undo(some_id, dry_run=True)
    assert (memories.position, living(memories)) == (position, done), "a dry run writes nothing"
    memories.undo(some_id)
    assert living(memories) == was


@pytest.mark.parametrize("act", DONE_AGAIN, ids=lambda act: act.__name__)
def test_what_was_undone_is_done_again(memories: Palimpsest, act: Act) -> None:
    was, some_id = act_on(memories, act)
    done = living(memories)
    memories.undo(some_id)
    memories.redo(some_id)
    assert living(memories) == done
    memories.undo(some_id)
    assert living(memories) == was, "and undone once more"


@pytest.fixture
def unnamed(tmp_path: Path) -> Iterator[Palimpsest]:
    """A store opened without saying who acts."""
    with Palimpsest.open(tmp_path / "unnamed") as store:
        yield store


@pytest.mark.parametrize("act", UNDONE, ids=lambda act: act.__name__)
def test_who_acts_unnamed_undoes_what_it_did(unnamed: Palimpsest, act: Act) -> None:
    was, some_id = act_on(unnamed, act)
    done = living(unnamed)
    unnamed.undo(some_id)
    assert living(unnamed) == was
    if act in DONE_AGAIN:
        unnamed.redo(some_id)
        assert living(unnamed) == done


def test_a_pin_and_a_renewal_by_nobody_named_are_undone_in_turn(unnamed: Palimpsest) -> None:
    """An agent may renew again after them: no person is left who decided when it expires."""
    soon, later = (datetime.now(UTC) + timedelta(days=days) for days in (1, 2))
    row = {"owner_id": "ada", "text": TEXTS[0], "expires_at": soon}
    expiring = str(unnamed.submit(row)[0].candidate_id)
    pinned = unnamed.pin(expiring)["event_id"]
    unnamed.undo(str(pinned))
    renewed = unnamed.renew(expiring, later)["event_id"]
    unnamed.undo(str(renewed))
    assert unnamed.renew(expiring, later)["expires_at"] == later.isoformat()


@pytest.mark.parametrize("named", ["decision_id", "candidate_id", "memory_id"])
def test_a_persons_joins_are_taken_out_as_a_person_and_others_as_an_agent(
    unnamed: Palimpsest, named: str
) -> None:
    ids = four(unnamed)
    before = living(unnamed)
    merged = merge(unnamed, ids)
    join: Any = {named: {"decision_id": merged, "candidate_id": ids[1], "memory_id": ids[0]}[named]}
    with pytest.raises(RefusedError, match="outranked"):
        unnamed.unmerge(**join, by="agent")
    unnamed.unmerge(**join)
    assert living(unnamed) == before
    unnamed.reinstate(merged)
    [again] = unnamed.submit({"owner_id": "ada", "text": f"{TEXTS[2]}."})
    unnamed.unmerge(decision_id=str(again.decision_id))
    told = {event["event"]: event.get("rank") for event in unnamed.history(ids[1])["events"]}
    assert told["reversed"] == told["reinstated"] == "person"
    assert unnamed.history(ids[2])["events"][-1]["rank"] == "agent"


def test_a_neighbours_merge_makes_no_person_of_who_takes_a_rules_join_out(
    unnamed: Palimpsest,
) -> None:
    _, repeat, other = (say(unnamed, text) for text in (TEXTS[0], f"{TEXTS[0]}.", TEXTS[1]))
    unnamed.merge(repeat, other)
    out = unnamed.unmerge(candidate_id=repeat)
    taken = unnamed.history(repeat)["events"][-1]
    assert (taken["event"], taken["rank"]) == ("reversed", "agent")
    unnamed.agent("ada").redo(str(out["reversed"][0]))


def test_a_request_of_an_agent_is_undone_as_an_agent(unnamed: Palimpsest) -> None:
    say(unnamed, TEXTS[0])
    repeat = say(unnamed, f"{TEXTS[0]}.")
    [join] = unnamed.reader.ledger("ada").edges
    unnamed.undo(str(unnamed.unmerge(decision_id=join)["cause"]))
    assert unnamed.history(repeat)["events"][-1]["rank"] == "agent"
    unnamed.agent("ada").unmerge(decision_id=join)


@pytest.mark.parametrize("way", ["undo", "redo", "reinstate"])
def test_a_withdrawn_merge_comes_back(unnamed: Palimpsest, way: str) -> None:
    ids = four(unnamed)
    join = merge(unnamed, ids)
    done = living(unnamed)
    withdrawn = str(unnamed.withdraw(ids[0], ids[1])["undo"])
    getattr(unnamed, way)(withdrawn if way == "undo" else join)
    assert living(unnamed) == done


def test_a_withdrawal_of_a_merge_is_done_again_as_a_withdrawal(unnamed: Palimpsest) -> None:
    """A withdrawn merge leaves no trace: its pair is not separated."""
    ids = four(unnamed)
    before = living(unnamed)
    merge(unnamed, ids)
    withdrawn = str(unnamed.withdraw(ids[0], ids[1])["undo"])
    unnamed.undo(withdrawn)
    unnamed.redo(withdrawn)
    ledger = unnamed.reader.ledger("ada")
    assert living(unnamed) == before
    assert separation(ledger, *(ledger.entries[one] for one in ids[:2])) is None


def test_undoing_the_return_of_a_withdrawn_merge_separates_nothing(unnamed: Palimpsest) -> None:
    ids = four(unnamed)
    before = living(unnamed)
    join = merge(unnamed, ids)
    unnamed.withdraw(ids[0], ids[1])
    back = str(unnamed.reinstate(join)["undo"])
    unnamed.undo(back)
    assert living(unnamed) == before
    ledger = unnamed.reader.ledger("ada")
    assert separation(ledger, *(ledger.entries[one] for one in ids[:2])) is None
    unnamed.redo(back)
    unnamed.unmerge(decision_id=join)
    back = str(unnamed.reinstate(join)["undo"])
    unnamed.undo(back)
    ledger = unnamed.reader.ledger("ada")
    assert separation(ledger, *(ledger.entries[one] for one in ids[:2])) is not None


def test_a_withdrawal_that_was_not_undone_is_not_done_again(memories: Palimpsest) -> None:
    """It would withdraw what was stated before the merge."""
    a, b, *_ = four(memories)
    memories.separate(a, b)
    memories.merge(a, b)
    withdrawn = str(memories.withdraw(a, b)["undo"])
    with pytest.raises(RefusedError, match="not_undone"):
        memories.redo(withdrawn)
    ledger = memories.reader.ledger("ada")
    assert separation(ledger, ledger.entries[a], ledger.entries[b]) is not None


def test_the_id_of_an_undo_with_another_id_is_refused(memories: Palimpsest) -> None:
    ids = four(memories)
    first, second = merge(memories, ids), str(memories.merge(ids[2], ids[3])["decision_id"])
    name = str(uuid4())
    with name_request(name):
        memories.undo(first)
        position = memories.position
        for way in (memories.undo, memories.redo):
            with pytest.raises(RefusedError, match="id_conflict"):
                way(second)
        with pytest.raises(RefusedError, match="id_conflict"):
            memories.redo(first)
    assert memories.position == position


def test_who_must_ask_is_not_part_of_what_was_asked(unnamed: Palimpsest) -> None:
    """When the request comes again, a person has spoken, and would have to ask."""
    a, b = say(unnamed, TEXTS[0]), say(unnamed, f"{TEXTS[0]}.")
    [join] = unnamed.reader.ledger("ada").edges
    name = str(uuid4())
    with name_request(name):
        first = unnamed.unmerge(decision_id=join)
    unnamed.merge(a, b)
    position = unnamed.position
    with name_request(name):
        assert unnamed.unmerge(decision_id=join) == first
    assert unnamed.position == position


def test_an_agent_by_name_undoes_no_statement_of_a_person(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "agent", by="agent") as store:
        ids = four(store)
        for some_id in (merge(store, ids), str(store.separate(ids[2], ids[3])["undo"])):
            with pytest.raises(RefusedError, match="outranked"):
                store.undo(some_id)


def test_a_separation_is_withdrawn_and_stated_again(memories: Palimpsest) -> None:
    a, b, *_ = four(memories)
    memories.separate(a, b)
    said = last_event(memories, a)

    def separated() -> bool:
        ledger = memories.reader.ledger("ada")
        return separation(ledger, ledger.entries[a], ledger.entries[b]) is not None

    with pytest.raises(RefusedError, match="not_undone"):
        memories.redo(said)
    memories.undo(said)
    assert not separated()
    with pytest.raises(RefusedError, match="not separated"):
        memories.undo(said)
    memories.redo(said)
    assert separated()
    again = last_event(memories, a)
    with pytest.raises(RefusedError, match=f"`undo` {again}"):
        memories.undo(said)
    memories.undo(again)
    assert not separated()


def test_a_bulk_request_of_two_owners_is_undone_for_one_or_for_both(memories: Palimpsest) -> None:
    for owner in ("ada", "bob"):
        ids = four(memories, owner)
        merge(memories, ids)
    was = living(memories), living(memories, "bob")
    cause = str(memories.retract(Selection(source="python"))["cause"])
    memories.undo(cause, owner_id="bob")
    assert (living(memories), living(memories, "bob")) == ([], was[1])
    memories.undo(cause)
    assert (living(memories), living(memories, "bob")) == was


def test_a_reversal_of_two_owners_is_undone_for_both(memories: Palimpsest) -> None:
    for owner in ("ada", "bob"):
        merge(memories, four(memories, owner))
    was = living(memories), living(memories, "bob")
    cause = str(memories.reverse(JoinSelection(since=datetime(2000, 1, 1, tzinfo=UTC)))["cause"])
    assert living(memories) != was[0]
    assert living(memories, "bob") != was[1]
    memories.undo(cause)
    assert (living(memories), living(memories, "bob")) == was


@pytest.mark.parametrize("hides", [False, True])
def test_a_bulk_request_that_was_committed_in_parts_is_undone_by_its_id(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch, hides: bool
) -> None:
    """Its answer is then in an event without an owner."""
    monkeypatch.setattr("palimpsest.streams.write.handlers.bulk.STEPS", 2)
    for owner in ("ada", "bob"):
        merge(memories, four(memories, owner))
    was = living(memories), living(memories, "bob")
    cause = (
        memories.retract(Selection(source="python"))["cause"]
        if hides
        else memories.reverse(JoinSelection(since=datetime(2000, 1, 1, tzinfo=UTC)))["cause"]
    )
    assert living(memories) != was[0]
    memories.undo(str(cause))
    assert (living(memories), living(memories, "bob")) == was


def test_an_update_that_was_undone_is_back_by_the_request_that_undid_it(
    memories: Palimpsest,
) -> None:
    decision = update(memories, four(memories))
    was, name = living(memories), str(uuid4())
    with name_request(name):
        memories.undo(decision)
    memories.undo(name)
    assert living(memories) == was


def forget_again(store: Palimpsest, some_id: str) -> list[Any]:
    """The memories after another request has forgotten one."""
    store.forget([some_id])
    return living(store)


def test_a_forgetting_that_was_undone_does_not_bring_back_what_another_forgot(
    memories: Palimpsest,
) -> None:
    some_id, *_ = four(memories)
    first = str(memories.forget([some_id])["forgotten"])
    memories.undo(first)
    gone = forget_again(memories, some_id)
    with pytest.raises(RefusedError, match="not_undoable: another request has forgotten it"):
        memories.undo(first)
    assert living(memories) == gone


def test_a_retraction_or_a_restoration_does_not_bring_back_what_was_forgotten_since(
    memories: Palimpsest,
) -> None:
    some_id, *_ = four(memories)
    retracted = retract(memories, [some_id])
    restored = restore(memories, [some_id])
    gone = forget_again(memories, some_id)
    for way, named in (("undo", retracted), ("redo", restored)):
        with pytest.raises(RefusedError, match="not_undoable: another request has forgotten it"):
            getattr(memories, way)(named)
    assert living(memories) == gone


def test_a_restoration_is_not_undone_twice(memories: Palimpsest) -> None:
    some_id, *_ = four(memories)
    retract(memories, [some_id])
    restored = restore(memories, [some_id])
    memories.undo(restored)
    with pytest.raises(RefusedError, match="retracted_already"):
        memories.undo(restored)


def test_an_agents_reversal_of_some_of_the_named_joins_is_undone(memories: Palimpsest) -> None:
    a, b, *_ = four(memories)
    merge(memories, [a, b])
    memories.update(a, "The ferry leaves at one", by="agent")
    was = living(memories)
    done = memories.unmerge(memory_id=a, by="agent")
    assert [one["reason"] for one in done["refused"]] == ["outranked"], "a person merged the two"
    assert living(memories) != was
    memories.undo(str(done["undo"]), by="agent")
    assert living(memories) == was


WITH_A_REQUEST = frozenset(
    {
        *(Decided, Settled, Joined, Redecided, Reinstated, Reversed),
        *(Separated, Retracted, Restored, ExpirySet),
    }
)


def test_every_other_kind_of_event_says_what_to_do_instead() -> None:
    kinds = {*get_args(AnyEvent)}
    assert len(kinds) > 20
    assert INSTEAD.keys() == kinds - WITH_A_REQUEST


def test_what_no_request_undoes_says_what_to_do_instead(memories: Palimpsest) -> None:
    a, b, *_ = four(memories)
    decision = merge(memories, [a, b])
    memories.confirm(decision)
    with pytest.raises(RefusedError, match=r"not_undoable: .*`unmerge`"):
        memories.undo(last_event(memories, a))
    memories.unmerge(decision_id=decision)
    memories.end_session("ada", "s")
    ended = orjson.loads([*memories.reader.log.lines()][-1][1])
    assert ended["type"] == "palimpsest.session_ended.v1"
    with pytest.raises(RefusedError, match=r"not_undoable: .*`undo` the joins"):
        memories.undo(ended["id"])
    stored = memories.show_candidate(a)["decision_id"]
    with pytest.raises(RefusedError, match=r"no_update: .*`retract`"):
        memories.undo(stored)
    with pytest.raises(RefusedError, match=r"not_undoable: .*the id of what `undo` took back"):
        memories.redo(stored)


@pytest.mark.parametrize("way", ["undo", "redo"])
def test_unknown_ids_and_those_of_others_are_unknown(memories: Palimpsest, way: str) -> None:
    bobs = merge(memories, four(memories, "bob"))
    act = getattr(memories, way)
    for unknown, owner in ((str(uuid4()), None), ("no id", None), (bobs, "ada")):
        with pytest.raises(RefusedError, match=r"unknown_candidate: nothing here .*`cause`"):
            act(unknown, owner_id=owner)


def test_an_agent_undoes_its_own_and_no_statement_of_a_person(memories: Palimpsest) -> None:
    ids = four(memories)
    was = living(memories)
    ada, other = memories.agent("ada", actor="a"), memories.agent("ada", actor="b")
    forgotten = str(ada.forget(ids[:1])["forgotten"])
    with pytest.raises(RefusedError, match="outranked"):
        other.undo(forgotten)
    ada.undo(forgotten)
    ada.undo(str(ada.update(ids[0], "The ferry leaves at one")["decision_id"]))
    assert living(memories) == was
    for act in (merge, update, forget, retract_many):
        some_id = act(memories, ids)
        done = living(memories)
        with pytest.raises(RefusedError, match="outranked"):
            ada.undo(some_id)
        assert living(memories) == done
        memories.undo(some_id)


def test_what_is_left_of_a_bulk_request_is_undone_for_its_other_owners(
    memories: Palimpsest,
) -> None:
    """One owner's part may have been undone before."""
    ids = [say(memories, TEXTS[0], owner) for owner in ("ada", "bob", "cy")]
    hidden = memories.retract(Selection(source="python"))["undo"]
    memories.undo(hidden, owner_id="ada")
    assert memories.undo(hidden)["restored"] == ids[1:]
    with pytest.raises(RefusedError) as refused:
        memories.undo(hidden)
    assert refused.value.reason == "not_retracted"


@pytest.mark.parametrize("again", ["ask", "refuse"])
@pytest.mark.parametrize("by", ["forgetting", "candidate"])
def test_what_a_restoration_brought_back_is_forgotten_again_by_its_undo(
    memories: Palimpsest, again: Any, by: str
) -> None:
    ferry = say(memories, TEXTS[0])
    gone = memories.forget(ferry, again=again)
    back = (
        memories.restore(forgotten=gone["forgotten"])
        if by == "forgetting"
        else memories.restore(Selection(candidate_id=ferry))
    )
    memories.undo(back["undo"])
    memories.redo(back["undo"])
    assert memories.get(ferry)["state"] == "living"
    undone = memories.undo(back["undo"])
    assert undone["retracted"] == [ferry]
    assert TEXTS[0] not in str(memories.agent("ada").history(ferry))
    [repeat] = memories.submit({"owner_id": "ada", "text": TEXTS[0]})
    assert (repeat.reason, living(memories)) == ("forgotten", [])
    memories.undo(undone["undo"])
    assert memories.get(ferry)["state"] == "living"
    assert memories.submit({"owner_id": "ada", "text": TEXTS[0]})[0].memory_id == ferry


def test_a_text_that_was_let_in_is_kept_out_again_by_the_undo(memories: Palimpsest) -> None:
    memories.forget(say(memories, TEXTS[0]))
    waiting = say(memories, TEXTS[0])
    back = memories.restore(Selection(candidate_id=waiting))
    assert memories.undo(back["undo"], dry_run=True)["again"] == "ask", "it does not wait again"
    assert memories.undo(back["undo"])["again"] == "ask"
    assert TEXTS[0] not in str(memories.agent("ada").history(waiting))
    [repeat] = memories.submit({"owner_id": "ada", "text": TEXTS[0]})
    assert (repeat.reason, living(memories)) == ("forgotten", [])


def test_an_update_stands_if_the_restoration_of_its_text_is_undone(memories: Palimpsest) -> None:
    """Forgetting takes out no join, and neither does putting a forgetting back."""
    ferry = say(memories, TEXTS[0])
    changed = memories.update(ferry, TEXTS[1])
    memories.retract(Selection(candidate_id=ferry))
    gone = memories.forget(changed["candidate_id"] or "")
    memories.undo(memories.restore(forgotten=gone["forgotten"])["undo"])
    edges = memories.reader.ledger("ada").edges
    assert edges[changed["decision_id"] or ""].standing


def test_a_restoration_that_also_joined_is_undone_in_two_steps(memories: Palimpsest) -> None:
    first = say(memories, TEXTS[0])
    gone = memories.forget(first, again="allow")
    twin = say(memories, TEXTS[0])
    was, name = living(memories), str(uuid4())
    with name_request(name):
        back = memories.restore(forgotten=gone["forgotten"])
    assert "undo" not in back
    with pytest.raises(RefusedError) as refused:
        memories.undo(name)
    assert refused.value.reason == "not_undoable"
    memories.undo(refused.value.detail.split("`undo` ")[1].split(",")[0])
    memories.withdraw(first, twin)
    assert living(memories) == was


@pytest.mark.parametrize("act", UNDONE, ids=lambda act: act.__name__)
def test_an_undo_delivered_again_has_its_answer_and_changes_nothing(
    memories: Palimpsest, act: Act
) -> None:
    _, some_id = act_on(memories, act)
    name = str(uuid4())
    with name_request(name):
        first = memories.undo(some_id)
    position = memories.position
    with name_request(name):
        again = memories.undo(some_id)
    assert (again, memories.position) == (first, position)


STEPS = (
    *(merge, update, forget, forget_by_memory, retract, unmerge),
    *(unmerge_update, undo_update, reinstate),
)


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.permutations(range(len(TEXTS)))),
        min_size=1,
        max_size=7,
    )
)
def test_the_last_step_of_any_history_is_undone_and_done_again(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Act, list[int]]]
) -> None:
    """Undoing the last step restores the memories before it; redoing it those after it."""
    with Palimpsest.open(tmp_path_factory.mktemp("drawn") / "store", by="person") as store:
        ids = four(store)
        for act, order in steps:
            was = living(store)
            try:
                some_id = act(store, [ids[n] for n in order])
            except RefusedError:
                continue  # not possible in this state, as for a person
            done = living(store)
            if done == was:
                continue
            store.undo(some_id)
            assert living(store) == was, act.__name__
            if act in DONE_AGAIN:
                store.redo(some_id)
                assert living(store) == done, act.__name__


def test_a_redo_without_an_undone_update_says_so_once(memories: Palimpsest) -> None:
    a, *_ = four(memories)
    with pytest.raises(RefusedError) as refused:
        memories.redo(a)
    assert refused.value.detail == "no update with this candidate was undone"


@pytest.mark.parametrize(("way", "reason"), [("undo", "not_retracted"), ("redo", "not_undone")])
def test_what_was_refused_stays_refused_when_it_comes_again(
    memories: Palimpsest, way: str, reason: str
) -> None:
    """A repeated request gets its first answer, whatever happened since."""
    a, b, *_ = four(memories)
    act, name = getattr(memories, way), str(uuid4())
    only = Selection(candidate_id=a)
    if way == "undo":
        memories.retract(only)
        target = last_event(memories, a)
        memories.restore(only)
    else:
        memories.separate(a, b)
        target = last_event(memories, a)
    with name_request(name), pytest.raises(RefusedError, match=reason):
        act(target)
    if way == "undo":
        memories.retract(only)
    else:
        memories.withdraw(a, b)
    was, position = living(memories), memories.position
    with name_request(name), pytest.raises(RefusedError, match=reason):
        act(target)
    assert (living(memories), memories.position) == (was, position)
    act(target)
    assert living(memories) != was or memories.position > position


@pytest.mark.parametrize("act", [retract_many, reverse_many])
def test_a_bulk_request_is_not_done_again_in_part(memories: Palimpsest, act: Act) -> None:
    """Its id did the first of them alone."""
    was, some_id = act_on(memories, act)
    memories.undo(some_id)
    with pytest.raises(RefusedError, match=r"not_undoable: it took \d out: give the same command"):
        memories.redo(some_id)
    assert living(memories) == was


def test_a_reinstatement_is_undone_with_what_it_took_back(memories: Palimpsest) -> None:
    """By its request, too: what it took back is reversed under the same id."""
    rules = load_policy("replace-or-merge").model_dump(mode="json")
    rules["checks"][0]["zones"] = [{"at_least": 0.75, "action": "superseded"}]
    memories.set_policy(Policy.model_validate(rules | {"name": "replace"}))
    texts = (
        "old clocks tick aloud here",
        "old clocks tick aloud now",
        "old clocks tick here twice",
    )
    ids = [say(memories, text) for text in texts]
    join = str(memories.show_candidate(ids[1])["decision_id"])
    together = living(memories)
    memories.unmerge(decision_id=join, with_consequences=True)
    apart, name = living(memories), str(uuid4())
    with name_request(name):
        back = memories.reinstate(join)
    assert back["taken_back"], "the third had joined the first instead"
    assert living(memories) == together
    memories.undo(name)
    assert living(memories) == apart
    memories.undo(str(memories.reinstate(join)["undo"]))
    assert living(memories) == apart


def test_a_request_that_a_partition_refused_first_is_undone_by_what_another_did(
    memories: Palimpsest, tmp_path: Path
) -> None:
    """A request of an unknown owner goes to every partition of a cluster, and one knows its id."""
    ferry, name = say(memories, TEXTS[0]), str(uuid4())
    gone = memories.forget(ferry)
    was = living(memories)
    with name_request(name), Palimpsest.open(tmp_path / "other") as other:
        with pytest.raises(RefusedError):
            other.restore(forgotten=gone["forgotten"])
        refused = [line for _, line in other.reader.log.lines()][-1]
    with name_request(name):
        memories.restore(forgotten=gone["forgotten"])
    *before, restored = (line for _, line in memories.reader.log.lines())
    decided = tmp_path / "log.jsonl"
    decided.write_bytes(b"".join(b"%s\n" % line for line in (*before, refused, restored)))
    Palimpsest.import_log(tmp_path / "following", decided)
    with Palimpsest.open(tmp_path / "following") as following:
        following.undo(name)
        assert living(following) == was


def test_an_agent_is_offered_no_undo_that_only_a_person_may_use(memories: Palimpsest) -> None:
    ada = memories.agent("ada", actor="bot")
    ids = four(memories)
    changed = ada.update(ids[0], "The ferry leaves at one")
    gone = ada.forget(ids[1])
    back = ada.restore(gone["forgotten"])
    assert (back["restored"], "undo" in back) == ([ids[1]], False)
    again = ada.forget(ids[1])
    assert "undo" not in ada.undo(again["undo"])
    assert "undo" not in ada.undo(changed["undo"]), "`redo` takes it back, by the first id"
    done_again = ada.redo(changed["undo"])
    assert ada.undo(done_again["undo"])["memories"][0]["face"] == TEXTS[0]


def test_no_history_is_read_to_offer_an_agent_an_undo(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took twenty times as long as forgetting one of 6,000 memories."""
    added = say(memories, TEXTS[0])
    folded = create_autospec(fold_owner, side_effect=fold_owner)
    monkeypatch.setattr(answered, "fold_owner", folded)
    agent = memories.agent("ada", actor="bot")
    gone = agent.forget(added)
    assert agent.undo(gone["undo"])["restored"] == [added]
    assert not folded.called


def test_an_agent_is_offered_no_undo_of_several_reversals_at_once(memories: Palimpsest) -> None:
    texts = (f"{TEXTS[0]}, she said to her brother", f"{TEXTS[0]}, she said to her brother.")
    one, *others = [
        say(memories, text) for text in (*texts, texts[1].replace("at noon", "at  noon"))
    ]
    edges = memories.reader.ledger("ada").edges.values()
    assert len([edge for edge in edges if edge.standing]) == len(others)
    done = memories.agent("ada").unmerge(memory_id=one)
    assert len(done["reversed"]) > 1
    assert "undo" not in done
    for decision in done["reversed"]:
        assert memories.agent("ada").reinstate(decision)["reinstated"]
