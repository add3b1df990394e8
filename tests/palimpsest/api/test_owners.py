"""One owner's ids give no access to another's memories; an agent's handle has one owner."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from palimpsest import InvalidInputError, Palimpsest, RefusedError, Selection, UsageError
from palimpsest.api.agent import Agent
from palimpsest.contracts.shown import DecisionRow

UNKNOWN = ("unknown_candidate", "unknown_decision")


class Ids(NamedTuple):
    """Bob's ids in a store: two memories, a join, a reversed one, an update, a forgetting."""

    candidates: tuple[str, str]
    joined: str
    reversed: str
    updated: str
    forgotten: str


@pytest.fixture(name="bobs")
def bobs_fixture(memories: Palimpsest) -> Ids:
    texts = ("Bob has a boat", "Bob has a boat", "Bob sails", "Bob paints", "Bob sings", "Bob hums")
    said = memories.submit([{"owner_id": "bob", "text": text} for text in texts])
    first, second, third = said[0], said[2], said[4]
    memories.submit({"owner_id": "ada", "text": "Ada has a boat"})
    ids = [str(one.candidate_id) for one in said]
    joined = memories.merge(ids[0], ids[2])
    memories.unmerge(decision_id=joined["decision_id"])
    updated = memories.update(str(third.memory_id), "Bob sings in a choir")
    forgotten = memories.forget(str(said[5].memory_id))
    return Ids(
        (str(first.candidate_id), str(second.candidate_id)),
        str(said[1].decision_id),
        str(joined["decision_id"]),
        str(updated["decision_id"]),
        str(forgotten["forgotten"]),
    )


def calls(memories: Palimpsest, ids: Ids) -> Iterator[tuple[Callable[..., Any], Mapping[str, Any]]]:
    """Every call that takes an id, with one of bob's."""
    a, b = ids.candidates
    yield memories.access, {"candidate_id": a}
    yield memories.merge, {"a": a, "b": b}
    yield memories.separate, {"a": a, "b": b}
    yield memories.withdraw, {"a": a, "b": b}
    yield memories.confirm, {"decision_id": ids.joined}
    yield memories.pin, {"memory_id": a}
    yield memories.renew, {"candidate_id": a, "expires_at": "2999-01-01"}
    for name, value in (("candidate_id", a), ("memory_id", a), ("decision_id", ids.joined)):
        yield memories.unmerge, {name: value}
    yield memories.reinstate, {"decision_id": ids.reversed}
    yield memories.update, {"memory_id": a, "text": "Bob has no boat"}
    for named in (ids.updated, ids.joined, ids.forgotten, a):
        yield memories.undo, {"some_id": named}
        yield memories.redo, {"some_id": named}
    yield memories.forget, {"what": [a]}
    yield memories.restore, {"forgotten": ids.forgotten}
    for read in (memories.get, memories.history, memories.show):
        yield read, {"memory_id": a}
    yield memories.show_candidate, {"candidate_id": a}
    yield memories.why, {"some_id": a}
    yield memories.why_not, {"a": a, "b": b}
    for answer in (memories.review_same, memories.review_different):
        yield answer, {"decision_id": ids.joined, "existing_id": a}


def test_an_id_of_another_owner_is_unknown(memories: Palimpsest, bobs: Ids) -> None:
    before = memories.list("bob"), memories.list("ada"), memories.decisions()
    for call, arguments in calls(memories, bobs):
        with pytest.raises(RefusedError) as refused:
            call(**arguments, owner_id="ada")
        assert refused.value.reason in UNKNOWN, call.__name__
    assert (memories.list("bob"), memories.list("ada"), memories.decisions()) == before


def test_every_call_with_an_id_takes_an_owner(memories: Palimpsest, bobs: Ids) -> None:
    tried = {call.__name__ for call, _ in calls(memories, bobs)}
    for name, member in inspect.getmembers(Palimpsest, inspect.isfunction):
        names = inspect.signature(member).parameters
        ids = [
            name for name in names if name.endswith("_id") and name not in ("owner_id", "letter_id")
        ]
        if ids and "session_id" not in ids and not name.startswith("_"):
            assert name in tried, name
    assert {"merge", "separate", "withdraw", "forget", "restore"} <= tried


def test_with_its_owner_an_id_works_as_without(memories: Palimpsest, bobs: Ids) -> None:
    a, b = bobs.candidates
    assert memories.get(a, owner_id="bob") == memories.get(a)
    assert memories.history(bobs.candidates[1], owner_id="bob") == memories.history(b)
    assert memories.reinstate(bobs.reversed, owner_id="bob")["reinstated"] == [bobs.reversed]
    assert memories.confirm(bobs.joined, owner_id="bob")["decision_id"] == bobs.joined
    assert memories.restore(forgotten=bobs.forgotten, owner_id="bob")["owners"] == 1
    urn = memories.get(a)["urn"]
    assert memories.show(urn, owner_id="bob")["owner_id"] == "bob"
    with pytest.raises(RefusedError, match="nothing here has the id"):
        memories.show(urn, owner_id="ada")


def test_an_agent_remembers_corrects_and_forgets(memories: Palimpsest) -> None:
    ada = memories.agent("ada", actor="helper")
    [first, second] = ada.submit(["Ada lives in Paris", {"text": "Ada has a dog", "id": "7"}])
    assert (first.result, second.result) == ("decided", "decided")
    assert ada.check("Ada has a dog")["decision"] == "hash_exact"
    changed = ada.update(str(first.memory_id), "Ada lives in Rome")
    assert [one["face"] for one in ada.recall("Ada lives", k=1)] == ["Ada lives in Rome"]
    assert [one["face"] for one in ada.recall("Ada", since="2026-01-01", k=1)]
    ada.undo(str(changed["decision_id"]))
    assert ada.get(str(first.memory_id))["face"] == "Ada lives in Paris"
    assert ada.why(str(first.memory_id))["face"] == "Ada lives in Paris"
    apart = ada.why_not(str(first.candidate_id), str(second.candidate_id))
    assert not apart["together"]
    assert (ada.triangles(), ada.names()["names"]) == ([], [])
    gone = ada.forget(ada.find("dog", by=["words"]))
    for hidden in (ada.why, lambda gone: ada.why_not(str(first.candidate_id), gone)):
        with pytest.raises(RefusedError, match="nothing here has the id"):
            hidden(str(second.candidate_id))
    assert ada.list()["total"] == 1
    with pytest.raises(RefusedError) as refused:
        ada.get(str(second.memory_id))
    assert refused.value.reason == "unknown_candidate"
    assert "dog" not in str(ada.history(str(second.memory_id)))
    ada.restore(gone["forgotten"])
    assert ada.list()["total"] == 2
    assert ada.show(str(second.memory_id))["face"] == "Ada has a dog"
    [event, *_] = reversed(memories.history(str(second.memory_id))["events"])
    assert event["actor"] == "helper"


def test_an_agent_reads_no_text_in_the_history_of_a_retracted_memory(memories: Palimpsest) -> None:
    ada = memories.agent("ada")
    [said] = ada.submit("Ada has a dog")
    assert "dog" in str(ada.history(str(said.memory_id)))
    memories.retract(Selection(candidate_id=said.candidate_id))
    told = ada.history(str(said.memory_id))
    assert (told["state"], "dog" in str(told)) == ("retracted", False)
    assert [one["event"] for one in told["events"]] == ["decided", "retracted"]


def test_a_consolidation_has_the_actor_who_ended_the_session(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "store", policy="layered") as memories:
        memories.agent("ada", actor="helper").end_session("s")
        memories.end_session("ada", "t", actor="grace")
        told = memories.changes("ada")["changes"]
    ran = [(one["did"], one["actor"]) for one in told if one["event"] == "ran"]
    assert ran == [("a batch run ended", "helper"), ("a batch run ended", "grace")]


def test_an_agent_cannot_overrule_a_person_nor_reach_another(
    memories: Palimpsest, bobs: Ids
) -> None:
    """The handle is an agent's even if the store was opened for a person."""
    bob, ada = memories.agent("bob", actor="helper"), memories.agent("ada")
    asked: list[dict[str, Any]] = [{}, {"by": "person"}, {"owner_id": "ada"}, {"actor": "grace"}]
    for more in asked:
        with pytest.raises(RefusedError) as refused:
            bob.undo(bobs.updated, **more)
        assert refused.value.reason == "outranked"
    with pytest.raises(RefusedError, match="a person stated this"):
        bob.restore(bobs.forgotten)
    for name, arguments in (
        ("get", (bobs.candidates[0],)),
        ("history", (bobs.candidates[0],)),
        ("show", (bobs.candidates[0],)),
        ("why", (bobs.candidates[0],)),
        ("why_not", (bobs.candidates[0], bobs.candidates[1])),
        ("update", (bobs.candidates[0], "mine")),
        ("undo", (bobs.updated,)),
        ("forget", (bobs.candidates[0],)),
        ("restore", (bobs.forgotten,)),
        ("reinstate", (bobs.reversed,)),
    ):
        with pytest.raises(RefusedError) as unknown:
            getattr(ada, name)(*arguments)
        assert unknown.value.reason in UNKNOWN, name
    with pytest.raises(RefusedError):
        ada.unmerge(decision_id=bobs.joined)
    with pytest.raises(UsageError, match="another owner"):
        ada.submit({"owner_id": "bob", "text": "Bob is here"})
    with pytest.raises(UsageError, match="as of now"):
        ada.recall("boat", as_of=1)
    assert not {"merge", "separate", "confirm", "withdraw", "sql"} & set(dir(Agent))


@pytest.mark.parametrize("kind", ["candidate", "session_ended", "compacted"])
def test_an_agents_event_belongs_to_its_owner(memories: Palimpsest, kind: str) -> None:
    """A CloudEvent names its owner in its data, which is checked like a row's own field."""
    event = {"specversion": "1.0", "type": f"palimpsest.{kind}.v1", "id": "1", "source": "x"}
    data = {"text": "Ada sails"} if kind == "candidate" else {"session_id": "s"}
    ada = memories.agent("ada")
    with pytest.raises(UsageError, match="another owner"):
        ada.submit({**event, "data": {**data, "owner_id": "bob"}})
    assert memories.position == 0
    [said] = ada.submit({**event, "data": data})
    assert said.result in ("decided", "heard")
    assert [one["owner_id"] for one in memories.changes()["changes"]][-1] == "ada"
    with pytest.raises(InvalidInputError):
        ada.submit({**event, "data": None})


@pytest.mark.parametrize("given", [None, 5, b"Ada sails", [None], [5]])
def test_an_agents_candidate_is_a_text_or_a_mapping(memories: Palimpsest, given: Any) -> None:
    ada = memories.agent("ada")
    for call in (ada.submit, ada.check):
        with pytest.raises(UsageError, match="a candidate should be a text"):
            call(given)


def test_a_row_of_a_decision_has_the_keys_of_its_type(memories: Palimpsest) -> None:
    memories.submit({"owner_id": "ada", "text": "Ada sails"})
    [row] = memories.decisions()
    assert row.keys() == DecisionRow.__required_keys__


MOMENTS = ("2026-01-01", "2026-01-01T00:00", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("when", MOMENTS)
def test_a_time_may_be_a_string(memories: Palimpsest, when: str) -> None:
    fields = {"owner_id": "ada", "text": "Ada sails", "occurred_at": "2026-01-01"}
    [said] = memories.submit([fields])
    assert len(memories.recall("ada", "sails", since=when)) == 1
    assert memories.recall("ada", "sails", until=when) == []
    assert memories.list("ada", since=when)["total"] == 1
    assert len(memories.decisions(since=when)) == 1
    assert memories.recall("ada", "sails", as_of=when) == []
    assert memories.status(as_of=when)["candidates"] == 0
    updated = memories.update(str(said.memory_id), "Ada sails a boat", occurred_at=when)
    assert (
        memories.get(updated["memories"][0]["memory_id"])["occurred_at"]
        == "2026-01-01T00:00:00+00:00"
    )


@pytest.mark.parametrize("when", ["yesterday", "", "2026-13-01", "0001-01-01T00:00+14:00"])
def test_what_is_no_time_is_named(memories: Palimpsest, when: str) -> None:
    for name, call in (
        ("since", lambda: memories.recall("ada", "sails", since=when)),
        ("until", lambda: memories.list("ada", until=when)),
        ("since", lambda: memories.decisions(since=when)),
        ("as_of", lambda: memories.recall("ada", "sails", as_of=when)),
    ):
        with pytest.raises(UsageError, match=f"`{name}`"):
            call()
