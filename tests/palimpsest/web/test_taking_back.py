"""Undoing: shown before it is done, done only if the effect is still the same, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.requests import Selection
from palimpsest.contracts.shown import Happened
from palimpsest.server.problems import ProblemError
from palimpsest.web.taking_back import (
    Foreseen,
    carry_out,
    cut_of,
    foresee,
    undone_by,
)

FERRY = "The ferry leaves at noon from the old harbour"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Palimpsest]:
    with Palimpsest.open(tmp_path / "store", by="person") as made:
        yield made


def say(store: Palimpsest, text: str, owner: str = "ada") -> str:
    [outcome] = store.submit({"owner_id": owner, "text": text})
    assert outcome.candidate_id is not None
    return outcome.candidate_id


def pair(store: Palimpsest) -> tuple[str, str, str]:
    """Merge two candidates as a person; returns them with the decision."""
    a, b = say(store, FERRY), say(store, "A boat goes there every day")
    return a, b, str(store.merge(a, b)["decision_id"])


class Step(NamedTuple):
    """An event's undo: the kind of request, the ids that it names, and the event's own id."""

    kind: str
    about: tuple[str, ...]
    event_id: str


def way(store: Palimpsest, event: Happened, owner: str = "ada") -> Step | None:
    request = undone_by(store, store.reader.ledger(owner), event["event_id"])
    if request is None:
        return None
    fields = request.model_dump(exclude_none=True)
    fields |= fields.get("selection") or {}
    names = ("decision_id", "candidate_id", "a", "b", "forgotten")
    about = tuple(fields[name] for name in names if name in fields)
    return Step(request.request, about, event["event_id"])


def ways(store: Palimpsest, some_id: str) -> dict[str, Step | None]:
    """How each event of a memory is undone, by its kind; for several of a kind, the last one."""
    return {event["event"]: way(store, event) for event in store.history(some_id)["events"]}


def steps(store: Palimpsest, some_id: str) -> dict[str, tuple[str, ...] | None]:
    """Like `ways`: the kind of request and the ids that it names."""
    found = ways(store, some_id)
    return {event: step and (step.kind, *step.about) for event, step in found.items()}


def do(store: Palimpsest, some_id: str, owner: str = "ada") -> Foreseen:
    shown = foresee(store, owner, some_id)
    return carry_out(
        store,
        owner,
        some_id,
        with_consequences=True,
        token=shown.token,
        actor="grace",
        because="two things",
    )


def undo_event(store: Palimpsest, some_id: str, event: str) -> Foreseen:
    """Undo the last event of a kind, by its id."""
    step = ways(store, some_id)[event]
    assert step is not None
    return do(store, step.event_id)


def faces(store: Palimpsest, owner: str = "ada") -> set[str]:
    return {memory["face"] for memory in store.list(owner)["memories"]}


def test_a_join_is_cut_and_comes_back(store: Palimpsest) -> None:
    a, b, decision = pair(store)
    assert steps(store, a) == {"decided": None, "joined": ("unmerge", decision)}
    shown = foresee(store, "ada", decision)
    assert [len(one["members"]) for one in shown.before] == [2]
    assert [one["memory_id"] for one in shown.after] == [a, b]
    assert len(faces(store)) == 1, "nothing is done yet"
    done = do(store, decision)
    assert done == shown
    assert len(faces(store)) == 2
    told = store.history(a)["events"][-1]
    assert (told["event"], told.get("actor"), told.get("because")) == (
        "reversed",
        "grace",
        "two things",
    )
    assert steps(store, a)["reversed"] == ("reinstate", decision)
    assert ways(store, a)["joined"] is None, "it is taken out already"
    undo_event(store, a, "reversed")
    assert len(faces(store)) == 1
    assert steps(store, a)["reinstated"] == ("unmerge", decision)


def test_undoing_an_update_shows_its_memory_without_the_new_text(store: Palimpsest) -> None:
    a, b, _ = pair(store)
    new = store.update(a, "The ferry leaves at one")
    shown = foresee(store, "ada", new["undo"])
    assert [[member["candidate_id"] for member in one["members"]] for one in shown.after] == [
        [a, b],
        [new["candidate_id"]],
    ]


def test_what_is_not_as_it_was_shown_is_not_done(store: Palimpsest) -> None:
    a, _, decision = pair(store)
    token = foresee(store, "ada", decision).token
    say(store, "The weather was fine that summer")
    assert foresee(store, "ada", decision).token == token, "something else changes nothing"
    store.update(a, "The ferry leaves at one")
    with pytest.raises(ProblemError) as stale:
        carry_out(
            store,
            "ada",
            decision,
            with_consequences=True,
            token=token,
            actor="grace",
            because=None,
        )
    assert (stale.value.status, stale.value.more["reason"]) == (409, "moved_on")
    assert len(store.list("ada", former=True)["memories"]) == 2


def test_consequences_are_shown_and_an_option(tmp_path: Path) -> None:
    """The third text was compared only with the face, the second text; without that, the first."""
    words = [chr(ord("a") + n) for n in range(20)]
    with Palimpsest.open(tmp_path / "store", policy="replace-or-merge", by="person") as store:
        first = say(store, " ".join(words))
        second = say(store, " ".join([*words[:19], "u"]))
        third = say(store, " ".join([*words[:18], "v", "t"]))
        joined = {member["candidate_id"]: member for member in store.show(first)["members"]}
        assert joined.keys() == {first, second}
        decision = str(joined[second]["decision_id"])
        kept = foresee(store, "ada", decision, with_consequences=False)
        carried = foresee(store, "ada", decision, with_consequences=True)
        assert [
            (consequence["candidate_id"], consequence["would_be"])
            for consequence in kept.consequences
        ] == [(third, {"decision": "superseded", "joined_to": first})]
        assert kept.consequences == carried.consequences
        assert not kept.overtaken, "nobody said anything since"
        assert [len(one["members"]) for one in kept.after] == [1, 1]
        assert [len(one["members"]) for one in carried.after] == [2, 1]
        assert kept.token != carried.token
        do(store, decision)
        assert {member["candidate_id"] for member in store.show(first)["members"]} == {first, third}
        assert steps(store, first)["redecided"] == ("reinstate", decision)
        undo_event(store, first, "redecided")
        assert {member["candidate_id"] for member in store.show(first)["members"]} == {
            first,
            second,
        }
        assert ways(store, third)["redecided"] is None, "it went with what it followed from"


def test_a_join_beside_others_is_cut_and_the_memory_stays(store: Palimpsest) -> None:
    a, b, first = pair(store)
    c = say(store, "She takes it to work")
    store.merge(b, c)
    beside = str(store.merge(a, c)["decision_id"])
    shown = foresee(store, "ada", beside)
    assert shown.changes
    assert shown.before == shown.after != []
    do(store, beside)
    assert len(store.show(a)["members"]) == 3
    shown = foresee(store, "ada", first)
    assert len(shown.after) == 2, "nothing beside it holds them together any more"
    undo_event(store, a, "reversed")
    [standing] = [member["supports"] for member in store.show(a)["members"] if member["supports"]]
    assert [one["decision_id"] for one in standing] == [beside]


def test_words_on_a_pair_are_taken_back_and_said_again(store: Palimpsest) -> None:
    a, b = say(store, FERRY), say(store, "Something else altogether")
    store.separate(a, b)
    assert steps(store, a)["separated"] == ("withdraw", b, a)
    shown = undo_event(store, a, "separated")
    assert shown.changes
    assert {one["memory_id"] for one in shown.after} == {a, b}
    assert ways(store, a)["separated"] is None
    assert steps(store, a)["reversed"] == ("separate", a, b)
    undo_event(store, a, "reversed")
    assert ways(store, a)["reversed"] is None
    assert store.reader.log.head() == 6


def test_an_update_is_undone_and_comes_back(store: Palimpsest) -> None:
    a = say(store, FERRY)
    updated = store.update(a, "The ferry leaves at one")
    decision = str(updated["decision_id"])
    assert steps(store, a)["decided"] == ("undo", decision)
    shown = do(store, decision)
    assert faces(store) == {FERRY}
    assert [one["face"] for one in shown.before] == ["The ferry leaves at one"]
    told = steps(store, str(updated["candidate_id"]))
    assert told["retracted"] == told["reversed"] == ("reinstate", decision)
    undo_event(store, str(updated["candidate_id"]), "retracted")
    assert faces(store) == {"The ferry leaves at one"}


def test_what_was_retracted_or_forgotten_comes_back(store: Palimpsest) -> None:
    a, b, _ = pair(store)
    store.retract(Selection(owner_id="ada", candidate_id=b))
    assert steps(store, a)["retracted"] == ("restore", b)
    undo_event(store, a, "retracted")
    assert steps(store, a)["restored"] == ("retract", b)
    undo_event(store, a, "restored")
    undo_event(store, a, "retracted")
    name = str(store.forget(a)["forgotten"])
    assert steps(store, a)["retracted"] == ("restore", name)
    shown = undo_event(store, a, "retracted")
    assert shown.does == "remember"
    assert [one["living"] for one in shown.before] == [False]
    assert [one["living"] for one in shown.after] == [True]
    assert {member["living"] for member in store.show(a)["members"]} == {True}


def all_ways(store: Palimpsest, some_id: str, event: str) -> list[tuple[str, ...] | None]:
    """How each event of a kind is undone, in order."""
    told = store.history(some_id)["events"]
    found = [way(store, one) for one in told if one["event"] == event]
    return [step and (step.kind, *step.about) for step in found]


def test_of_what_was_done_again_and_again_the_last_is_taken_back(store: Palimpsest) -> None:
    a = say(store, FERRY)
    which = Selection(owner_id="ada", candidate_id=a)
    store.retract(which)
    store.restore(which)
    assert all_ways(store, a, "retracted") == [None], "it is living"
    assert all_ways(store, a, "restored") == [("retract", a)]
    store.retract(which)
    assert all_ways(store, a, "restored") == [None], "it is retracted again"


def test_of_words_on_a_pair_the_one_that_holds_is_taken_back(store: Palimpsest) -> None:
    a, b = say(store, FERRY), say(store, "A boat goes there every day")
    store.separate(a, b)
    store.withdraw(a, b)
    assert all_ways(store, b, "separated") == [None]
    assert all_ways(store, b, "reversed") == [("separate", a, b)]
    store.separate(a, b)
    assert all_ways(store, b, "separated") == [None, ("withdraw", b, a)]
    assert all_ways(store, b, "reversed") == [None], "they are two again"
    store.withdraw(a, b)
    store.merge(a, b)
    assert all_ways(store, b, "reversed") == [None, None], "they are one"


def test_an_exact_repeat_cannot_be_cut(store: Palimpsest) -> None:
    a, again = say(store, FERRY), store.submit({"owner_id": "ada", "text": FERRY, "id": "2"})[0]
    assert again.decision == "hash_exact"
    ledger = store.reader.ledger("ada")
    [edge] = ledger.edges.values()
    assert cut_of(edge) is None
    assert set(ways(store, a).values()) == {None}
    with pytest.raises(RefusedError):
        foresee(store, "ada", edge.id)


def test_nothing_of_another_owner_can_be_named(store: Palimpsest) -> None:
    a, b, decision = pair(store)
    other = say(store, FERRY, "bob")
    name = str(store.forget(other)["forgotten"])
    event_id = store.history(a)["events"][-1]["event_id"]
    for some_id in (decision, event_id, a, "", "no id", name):
        with pytest.raises(ProblemError) as hidden:
            foresee(store, "bob" if some_id != name else "ada", some_id)
        assert hidden.value.status == 404
    assert faces(store) == {store.get(b)["face"]}


@pytest.mark.parametrize("some_id", ["no id", "5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22"])
def test_what_is_not_there_is_reported(store: Palimpsest, some_id: str) -> None:
    say(store, FERRY)
    with pytest.raises(ProblemError):
        foresee(store, "ada", some_id)


def test_what_waited_does_not_wait_again_and_the_page_says_so(store: Palimpsest) -> None:
    gone = say(store, "Ada keeps a goat")
    store.forget(gone, by="person")
    waits = say(store, "Ada keeps a goat")
    store.restore(Selection(candidate_id=waits))
    [restored] = [one for one in store.history(waits)["events"] if one["event"] == "restored"]
    assert foresee(store, "ada", restored["event_id"]).does == "forget"
