"""What can be taken back, shown before it is done, done only while that holds, and its way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.requests import Selection
from palimpsest.server.problems import ProblemError
from palimpsest.web.taking_back import (
    Foreseen,
    Step,
    carry_out,
    cut_of,
    foresee,
    step_of,
    way_back,
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
    """Two candidates that a person merged, and the decision."""
    a, b = say(store, FERRY), say(store, "A boat goes there every day")
    return a, b, str(store.merge(a, b)["decision_id"])


def ways(store: Palimpsest, some_id: str, owner: str = "ada") -> dict[str, Step | None]:
    """The way back of each event of a memory, by what it is; of several, the last one's."""
    ledger = store.reader.ledger(owner)
    assert ledger is not None
    return {event["event"]: way_back(ledger, event) for event in store.history(some_id)["events"]}


def do(store: Palimpsest, step: Step, owner: str = "ada") -> Foreseen:
    shown = foresee(store, owner, step)
    return carry_out(
        store,
        owner,
        step,
        with_consequences=True,
        token=shown.token,
        actor="grace",
        because="two things",
    )


def faces(store: Palimpsest, owner: str = "ada") -> set[str]:
    return {memory["face"] for memory in store.list(owner)["memories"]}


def test_a_join_is_cut_and_comes_back(store: Palimpsest) -> None:
    a, b, decision = pair(store)
    assert ways(store, a) == {"decided": None, "joined": Step("unmerge", decision)}
    shown = foresee(store, "ada", Step("unmerge", decision))
    assert [len(one["members"]) for one in shown.before] == [2]
    assert [one["memory_id"] for one in shown.after] == [a, b]
    assert len(faces(store)) == 1, "nothing is done yet"
    done = do(store, Step("unmerge", decision))
    assert done == shown
    assert len(faces(store)) == 2
    told = store.history(a)["events"][-1]
    assert (told["event"], told.get("actor"), told.get("because")) == (
        "reversed",
        "grace",
        "two things",
    )
    assert ways(store, a)["reversed"] == Step("reinstate", decision)
    assert ways(store, a)["joined"] is None, "it is taken out already"
    do(store, Step("reinstate", decision))
    assert len(faces(store)) == 1
    assert ways(store, a)["reinstated"] == Step("unmerge", decision)


def test_what_is_not_as_it_was_shown_is_not_done(store: Palimpsest) -> None:
    a, _, decision = pair(store)
    step = Step("unmerge", decision)
    token = foresee(store, "ada", step).token
    say(store, "The weather was fine that summer")
    assert foresee(store, "ada", step).token == token, "something else changes nothing"
    store.update(a, "The ferry leaves at one")
    with pytest.raises(ProblemError) as stale:
        carry_out(
            store,
            "ada",
            step,
            with_consequences=True,
            token=token,
            actor="grace",
            because=None,
        )
    assert (stale.value.status, stale.value.more["reason"]) == (409, "moved_on")
    assert len(store.list("ada", former=True)["memories"]) == 2


def test_consequences_are_shown_and_an_option(tmp_path: Path) -> None:
    """The third text met the face alone, which the second had taken: without it, the first."""
    words = [chr(ord("a") + n) for n in range(20)]
    with Palimpsest.open(tmp_path / "store", policy="replace-or-merge", by="person") as store:
        first = say(store, " ".join(words))
        second = say(store, " ".join([*words[:19], "u"]))
        third = say(store, " ".join([*words[:18], "v", "t"]))
        joined = {member["candidate_id"]: member for member in store.show(first)["members"]}
        assert joined.keys() == {first, second}
        step = Step("unmerge", joined[second]["decision_id"])
        kept = foresee(store, "ada", step, with_consequences=False)
        carried = foresee(store, "ada", step, with_consequences=True)
        assert [
            (consequence["candidate_id"], consequence["would_be"])
            for consequence in kept.consequences
        ] == [(third, {"decision": "superseded", "joined_to": first})]
        assert kept.consequences == carried.consequences
        assert not kept.overtaken, "nobody said anything since"
        assert [len(one["members"]) for one in kept.after] == [1, 1]
        assert [len(one["members"]) for one in carried.after] == [2, 1]
        assert kept.token != carried.token
        do(store, step)
        assert {member["candidate_id"] for member in store.show(first)["members"]} == {first, third}
        assert ways(store, first)["redecided"] == Step("reinstate", step.about)
        do(store, Step("reinstate", step.about))
        assert {member["candidate_id"] for member in store.show(first)["members"]} == {
            first,
            second,
        }
        assert ways(store, third)["redecided"] is None, "it went with what it followed from"


def test_a_join_beside_others_is_cut_and_the_memory_stays(store: Palimpsest) -> None:
    a, b, first = pair(store)
    c = say(store, "She takes it to work")
    store.merge(b, c)
    beside = Step("unmerge", str(store.merge(a, c)["decision_id"]))
    shown = foresee(store, "ada", beside)
    assert shown.changes
    assert shown.before == shown.after != []
    do(store, beside)
    assert len(store.show(a)["members"]) == 3
    shown = foresee(store, "ada", Step("unmerge", first))
    assert len(shown.after) == 2, "nothing beside it holds them together any more"
    do(store, Step("reinstate", beside.about))
    [standing] = [member["supports"] for member in store.show(a)["members"] if member["supports"]]
    assert [one["decision_id"] for one in standing] == [beside.about]


def test_words_on_a_pair_are_taken_back_and_said_again(store: Palimpsest) -> None:
    a, b = say(store, FERRY), say(store, "Something else altogether")
    store.separate(a, b)
    step = ways(store, a)["separated"]
    assert step == Step("withdraw", a, b)
    shown = do(store, step)
    assert shown.changes
    assert [one["memory_id"] for one in shown.after] == [a, b]
    assert ways(store, a)["separated"] is None
    again = ways(store, a)["reversed"]
    assert again == Step("separate", a, b)
    do(store, again)
    assert ways(store, a)["reversed"] is None
    assert store.reader.log.head() == 6


def test_an_update_is_undone_and_comes_back(store: Palimpsest) -> None:
    a = say(store, FERRY)
    updated = store.update(a, "The ferry leaves at one")
    step = Step("undo", str(updated["decision_id"]))
    told = ways(store, a)
    assert told["decided"] == step
    shown = do(store, step)
    assert faces(store) == {FERRY}
    assert [one["face"] for one in shown.before] == ["The ferry leaves at one"]
    back = ways(store, str(updated["candidate_id"]))
    assert back["retracted"] == back["reversed"] == Step("reinstate", step.about)
    do(store, Step("reinstate", step.about))
    assert faces(store) == {"The ferry leaves at one"}


def test_what_was_retracted_or_forgotten_comes_back(store: Palimpsest) -> None:
    a, b, _ = pair(store)
    store.retract(Selection(owner_id="ada", candidate_id=b))
    step = ways(store, a)["retracted"]
    assert step == Step("restore", b)
    do(store, step)
    assert ways(store, a)["restored"] == Step("retract", b)
    do(store, Step("retract", b))
    do(store, Step("restore", b))
    name = store.forget(a)["forgotten"]
    step = ways(store, a)["retracted"]
    assert step == Step("remember", name)
    shown = do(store, step)
    assert [one["living"] for one in shown.before] == [False]
    assert [one["living"] for one in shown.after] == [True]
    assert {member["living"] for member in store.show(a)["members"]} == {True}


def all_ways(store: Palimpsest, some_id: str, event: str) -> list[Step | None]:
    """The way back of each event of a kind, in their order."""
    ledger = store.reader.ledger("ada")
    told = store.history(some_id)["events"]
    return [way_back(ledger, one) for one in told if one["event"] == event]


def test_of_what_was_done_again_and_again_the_last_is_taken_back(store: Palimpsest) -> None:
    a = say(store, FERRY)
    which = Selection(owner_id="ada", candidate_id=a)
    store.retract(which)
    store.restore(which)
    assert all_ways(store, a, "retracted") == [None], "it is living"
    assert all_ways(store, a, "restored") == [Step("retract", a)]
    store.retract(which)
    assert all_ways(store, a, "restored") == [None], "it is retracted again"


def test_of_words_on_a_pair_the_one_that_holds_is_taken_back(store: Palimpsest) -> None:
    a, b = say(store, FERRY), say(store, "A boat goes there every day")
    store.separate(a, b)
    store.withdraw(a, b)
    assert all_ways(store, b, "separated") == [None]
    assert all_ways(store, b, "reversed") == [Step("separate", a, b)]
    store.separate(a, b)
    assert all_ways(store, b, "separated") == [None, Step("withdraw", a, b)]
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
        foresee(store, "ada", Step("unmerge", edge.id))


def test_nothing_of_another_owner_can_be_named(store: Palimpsest) -> None:
    a, b, decision = pair(store)
    other = say(store, FERRY, "bob")
    name = store.forget(other)["forgotten"]
    for step in (
        Step("unmerge", decision),
        Step("retract", a),
        Step("separate", other, a),
        Step("separate", a, other),
    ):
        with pytest.raises(ProblemError) as hidden:
            foresee(store, "bob", step)
        assert hidden.value.status == 404
    with pytest.raises(ProblemError) as hidden:
        foresee(store, "ada", Step("remember", name))
    assert hidden.value.status == 404
    assert faces(store) == {store.get(b)["face"]}


@pytest.mark.parametrize(
    "given", [{}, {"verb": "unmerge"}, {"verb": "erase", "about": "x"}, {"about": "x"}]
)
def test_a_query_that_names_no_step_is_nothing(given: dict[str, str]) -> None:
    with pytest.raises(ProblemError) as error:
        step_of(given)
    assert error.value.status == 404


def test_a_step_travels_in_a_query() -> None:
    step = Step("withdraw", "a/b", "c&d")
    assert step.query(more="1") == "verb=withdraw&about=a%2Fb&other=c%26d&more=1"
    assert step_of({"verb": "withdraw", "about": "a/b", "other": "c&d"}) == step


@pytest.mark.parametrize("verb", ["unmerge", "reinstate", "undo", "retract", "remember"])
@pytest.mark.parametrize("about", ["no id", "5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22"])
def test_what_is_not_there_is_reported(store: Palimpsest, verb: str, about: str) -> None:
    say(store, FERRY)
    with pytest.raises((ProblemError, RefusedError)):
        foresee(store, "ada", step_of({"verb": verb, "about": about}))
