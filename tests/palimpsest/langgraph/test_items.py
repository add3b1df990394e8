"""LangGraph's store: the values of keys, and the intended differences from `InMemoryStore`."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from palimpsest import Palimpsest, RefusedError, UsageError
from palimpsest.contracts.events import Again
from palimpsest.langgraph import PalimpsestStore, written
from palimpsest.streams.write.inputs import Outcome
from tests.palimpsest.langgraph.conftest import ADA, owner_of
from tests.tables import each

PIZZA = {"text": "Ada likes pizza with olives"}
SUSHI = {"text": "her favourite food is sushi"}


def got(items: PalimpsestStore, key: str) -> Any:
    """The item of a key of Ada's, which must exist."""
    found = items.get(ADA, key)
    assert found is not None
    return found


def as_is(result: Any) -> Any:
    """A result of any type."""
    return result


def texts(found: list[Any]) -> list[str]:
    return [one.value["text"] for one in found]


def test_two_keys_with_one_text_are_one_memory_and_each_gets_what_it_put(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", {**PIZZA, "by": "a"})
    items.put(ADA, "b", {**PIZZA, "by": "b"})
    assert memories.status()["memories"] == 1
    assert [got(items, key).value["by"] for key in "ab"] == ["a", "b"]
    for found in (items.search(ADA), items.search(ADA, query="pizza")):
        assert [one.key for one in found] == ["a"], "it speaks for the memory"
    [one] = items.search(ADA, filter={"by": "b"})
    assert one.key == "b"


def test_an_item_that_is_not_indexed_comes_after_all_that_are(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", {**PIZZA, "by": "a"}, index=False)
    items.put(ADA, "b", SUSHI)
    query: dict[str, Any] = {"query": "pizza with olives"}
    assert [(one.key, one.score is None) for one in items.search(ADA, **query)] == [
        ("b", False),
        ("a", True),
    ]
    assert [one.key for one in items.search(ADA, limit=1, **query)] == ["b"]
    assert [one.key for one in items.search(ADA, limit=1, offset=1, **query)] == ["a"]
    assert [one.key for one in items.search(ADA)] == ["a", "b"]
    items.put(ADA, "c", {**PIZZA, "by": "c"})  # the same memory, which is found by this key
    assert [one.key for one in items.search(ADA, **query)] == ["c", "b"]
    items.delete(ADA, "c")
    items.put(ADA, "a", {**PIZZA, "by": "a"})  # the same value, indexed from now on
    assert [one.key for one in items.search(ADA, **query)] == ["a", "b"]
    assert memories.verify()["differences"] == 0


@each(
    ("op", "why"),
    [
        (SearchOp(ADA, offset=-1), "`offset` must be a whole number, 0 or more"),
        (SearchOp(ADA, limit=-1), "`limit` must be"),
        (SearchOp(ADA, query="pizza", limit=as_is("3")), "`limit` must be"),
        (SearchOp(ADA, filter=as_is(["a"])), "`filter` must be a dict"),
        (PutOp(ADA, "b", as_is("tea")), "`value` must be a dict"),
        (PutOp(ADA, "b\ud800", SUSHI), "is not valid Unicode"),
        (PutOp(("ada", "\ud800"), "b", SUSHI), "is not valid Unicode"),
        (GetOp(ADA, "b\ud800"), "is not valid Unicode"),
        (GetOp(as_is("ada"), "b"), "`namespace` must be a tuple of texts"),
        (PutOp(as_is([*ADA]), "b", SUSHI), "`namespace` must be a tuple of texts"),
        (SearchOp(as_is([*ADA])), "`namespace_prefix` must be a tuple of texts"),
        (SearchOp(as_is("ada")), "`namespace_prefix` must be a tuple of texts"),
        (SearchOp(ADA, query=" "), "`query` is blank"),
        (SearchOp(as_is((*ADA, 5))), "`namespace_prefix` must be a tuple of texts"),
        (ListNamespacesOp(offset=-2), "`offset` must be"),
        (ListNamespacesOp(max_depth=0), "`max_depth` must be a whole number, 1 or more"),
        *(
            (PutOp(ADA, "b", SUSHI, ttl=as_is(ttl)), "`ttl` must be a number of minutes")
            for ttl in ("7d", 0, -1.0, True, float("nan"), float("inf"))
        ),
        *(
            (PutOp(ADA, "b", SUSHI, ttl=ttl), "at most 52_596_000, which is a hundred years")
            for ttl in (52_596_001, 1e308)
        ),
    ],
)
def test_a_wrong_number_is_refused_before_anything_is_done(
    items: PalimpsestStore, memories: Palimpsest, op: Any, why: str
) -> None:
    items.put(ADA, "b", SUSHI)
    before = memories.position
    with pytest.raises(UsageError, match=why):
        items.batch([PutOp(ADA, "a", PIZZA), op])
    assert memories.position == before


@pytest.mark.parametrize(
    "value", [{"text": "a \ud83d"}, {**PIZZA, "by": ["\ud83d"]}, {"\ud83d": 1}]
)
def test_a_value_with_half_a_character_is_refused(
    items: PalimpsestStore, memories: Palimpsest, value: dict[str, Any]
) -> None:
    """A model's answer that is cut within an emoji ends with one."""
    before = memories.position
    with pytest.raises(UsageError, match="a value breaks a rule: it is not valid Unicode"):
        items.put(ADA, "a", value)
    assert memories.position == before


def test_the_same_put_twice_changes_nothing(items: PalimpsestStore, memories: Palimpsest) -> None:
    items.put(ADA, "a", {**PIZZA, "n": 1})
    before, position = items.get(ADA, "a"), memories.position
    items.put(ADA, "a", {"n": 1.0, **PIZZA})
    assert (items.get(ADA, "a"), memories.position) == (before, position)


def test_what_python_takes_for_equal_is_another_value_in_json(items: PalimpsestStore) -> None:
    for sure in (1, True):
        items.put(ADA, "a", {**PIZZA, "sure": sure})
        assert got(items, "a").value["sure"] is sure


def test_another_text_under_a_key_is_an_update(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "food", PIZZA)
    first = items.get(ADA, "food")
    items.put(ADA, "food", SUSHI)
    now = items.get(ADA, "food")
    assert first is not None
    assert now is not None
    assert now.value == SUSHI
    assert now.created_at == first.created_at < now.updated_at
    [memory] = memories.list("ada", former=True)["memories"]
    assert memory["face"] == SUSHI["text"]
    assert [member["relation"] for member in memory["members"]].count("former") == 1
    [decision] = memories.decisions(decision="superseded")
    memories.undo(decision["decision_id"])
    assert items.get(ADA, "food") == first


def test_another_value_with_the_same_text_is_kept_too(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "food", {**PIZZA, "sure": False})
    items.put(ADA, "food", {**PIZZA, "sure": True})
    [one] = items.search(ADA, query="pizza")
    assert one.value == {**PIZZA, "sure": True}
    assert memories.status()["memories"] == 1
    assert memories.sql("FROM events WHERE event = 'retracted'") == [], "nothing left"


def test_an_item_begins_with_its_first_put_however_often_it_changes(
    items: PalimpsestStore,
) -> None:
    items.put(ADA, "food", PIZZA)
    created = got(items, "food").created_at
    for value in (SUSHI, {**SUSHI, "sure": True}, {"text": "she has stopped eating fish"}):
        items.put(ADA, "food", value)
        now = got(items, "food")
        assert (now.value, now.created_at) == (value, created)


def test_a_key_that_says_something_else_leaves_the_memory_of_others(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", PIZZA)
    items.put(ADA, "b", PIZZA)
    created = got(items, "a").created_at
    items.put(ADA, "a", SUSHI)
    assert got(items, "b").value == PIZZA
    assert got(items, "a").created_at == created
    assert sorted(texts(items.search(ADA))) == sorted([PIZZA["text"], SUSHI["text"]])
    faces = {memory["face"] for memory in memories.list("ada")["memories"]}
    assert faces == {PIZZA["text"], SUSHI["text"]}


def test_a_text_that_lives_under_another_key_makes_one_memory(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", PIZZA)
    items.put(ADA, "b", SUSHI)
    items.put(ADA, "b", {**PIZZA, "by": "b"})
    assert got(items, "b").value == {**PIZZA, "by": "b"}
    assert got(items, "a").value == PIZZA
    assert [memory["face"] for memory in memories.list("ada")["memories"]] == [PIZZA["text"]]
    assert len(items.search(ADA)) == 1


def test_a_person_that_says_otherwise_does_not_hinder_a_put(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", PIZZA)
    items.put(ADA, "b", SUSHI)
    ids = [memory["memory_id"] for memory in memories.list("ada")["memories"]]
    memories.separate(*ids)
    items.put(ADA, "b", {**PIZZA, "by": "b"})
    assert got(items, "b").value == {**PIZZA, "by": "b"}
    assert [memory["face"] for memory in memories.list("ada")["memories"]] == [PIZZA["text"]]


def test_what_is_deleted_is_forgotten_and_not_erased(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "food", PIZZA)
    items.put(ADA, "food", SUSHI)
    items.delete(ADA, "food")
    assert items.get(ADA, "food") is None
    assert items.search(ADA) == items.search(ADA, query="sushi pizza") == []
    assert items.list_namespaces(prefix=ADA) == []
    assert memories.list("ada")["total"] == 0
    assert memories.recall("ada", "sushi pizza") == []
    assert memories.status()["candidates"] == 2
    items.delete(ADA, "food")
    items.put(ADA, "food", SUSHI)
    again = items.get(ADA, "food")
    assert again is not None
    assert again.value == SUSHI
    assert again.created_at == again.updated_at


def test_what_was_deleted_can_be_put_again(items: PalimpsestStore) -> None:
    for _ in range(3):
        items.put(ADA, "food", PIZZA)
        assert got(items, "food").value == PIZZA
        items.delete(ADA, "food")
        assert items.get(ADA, "food") is None


def test_what_was_deleted_is_one_forgetting_that_is_brought_back(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "food", PIZZA)
    items.put(ADA, "food", SUSHI)
    items.delete(ADA, "food")
    gone = memories.sql("SELECT cause, actor FROM events WHERE event = 'retracted'")
    assert len(gone) == 2
    assert len({row["cause"] for row in gone}) == 1
    assert {row["actor"] for row in gone} == {"langgraph"}
    memories.restore(forgotten=gone[0]["cause"])
    assert got(items, "food").value == SUSHI
    items.delete(ADA, "food")
    items.put(ADA, "other", SUSHI)
    assert got(items, "other").value == SUSHI


def test_what_others_say_too_is_not_forgotten(items: PalimpsestStore, memories: Palimpsest) -> None:
    place = written(ADA)
    memories.submit({"owner_id": "ada", "namespace": place, "text": PIZZA["text"]})
    items.put(ADA, "food", PIZZA)
    items.delete(ADA, "food")
    assert items.get(ADA, "food") is None
    assert [memory["face"] for memory in memories.list("ada")["memories"]] == [PIZZA["text"]]


@pytest.mark.parametrize("again", ["ask", "refuse"])
def test_what_a_person_has_forgotten_is_not_put(
    items: PalimpsestStore, memories: Palimpsest, again: Again
) -> None:
    items.put(ADA, "a", PIZZA)
    memories.forget(memories.list("ada")["memories"][0]["memory_id"], again=again)
    items.put(ADA, "b", SUSHI)
    with pytest.raises(RefusedError, match="forgotten"):
        items.put(ADA, "b", PIZZA)
    assert got(items, "b").value == SUSHI
    assert texts(items.search(ADA)) == [SUSHI["text"]]


def test_what_a_cluster_decides_later_is_no_refusal(
    items: PalimpsestStore, memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [Outcome("published", candidate_id="c")]
    monkeypatch.setattr(memories, "submit", lambda *_, **__: sent)
    items.put(ADA, "food", PIZZA)
    assert items.get(ADA, "food") is None, "not yet"


def test_deleting_one_of_two_keys_leaves_the_other(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", PIZZA)
    items.put(ADA, "b", PIZZA)
    items.delete(ADA, "a")
    assert items.get(ADA, "a") is None
    assert got(items, "b").value == PIZZA
    assert [one.key for one in items.search(ADA, query="pizza")] == ["b"]


def test_nobody_searches_everybody(items: PalimpsestStore) -> None:
    bob = ("memories", "bob")
    items.put(ADA, "food", PIZZA)
    items.put(bob, "food", SUSHI)
    assert texts(items.search(bob)) == [SUSHI["text"]]
    assert items.list_namespaces(prefix=bob) == [bob]
    for ask in (
        lambda: items.search(("memories",)),
        lambda: items.get(("memories",), "food"),
        lambda: items.put(("memories",), "food", PIZZA),
        items.list_namespaces,
        lambda: items.list_namespaces(prefix=("memories", "*")),
        lambda: items.list_namespaces(suffix=ADA),
    ):
        with pytest.raises(UsageError, match="has no owner"):
            ask()


def test_several_owners_answer_together_if_the_store_was_opened_for_them(
    memories: Palimpsest,
) -> None:
    bob, eve = ("memories", "bob"), ("memories", "eve")
    everybody = PalimpsestStore(memories, owner_of=owner_of)
    theirs = InMemoryStore()
    for place in (ADA, bob, eve):
        for key, text in (("a", f"{place[1]} rows"), ("b", "pizza is good"), ("c", place[1])):
            everybody.put(place, key, {"text": text})
            if place is not eve:
                theirs.put(place, key, {"text": text})
    items = PalimpsestStore(memories, owner_of=owner_of, owners=("ada", "bob", "ada"))
    assert items.list_namespaces() == theirs.list_namespaces() == [ADA, bob]
    assert items.list_namespaces(prefix=("memories", "*"), limit=1, offset=1) == [bob]
    assert items.list_namespaces(suffix=("bob",)) == [bob]
    assert items.list_namespaces(max_depth=1) == [("memories",)]
    for prefix in ((), ("memories",)):
        for offset, limit in ((0, 10), (1, 2), (3, 2), (4, 9)):
            ours = items.search(prefix, limit=limit, offset=offset)
            wanted = theirs.search(prefix, limit=limit, offset=offset)
            assert [(one.namespace, one.key) for one in ours] == [
                (one.namespace, one.key) for one in wanted
            ]
        near = items.search(prefix, query="pizza is good")
        assert [(one.namespace, one.key) for one in near[:2]] == [(ADA, "b"), (bob, "b")]
        scores = [one.score or 0.0 for one in near]
        assert scores == sorted(scores, reverse=True)
        assert items.search(prefix, query="pizza is good", limit=1, offset=1) == near[1:2]
    assert items.search(bob, query="rows")[0].namespace == bob
    for ask in (
        lambda: items.search(eve),
        lambda: items.get(eve, "a"),
        lambda: items.put(eve, "a", PIZZA),
        lambda: items.list_namespaces(prefix=eve),
    ):
        with pytest.raises(UsageError, match="not among `owners`"):
            ask()
    with pytest.raises(UsageError, match="has no owner"):
        items.put(("memories",), "a", PIZZA)


def test_an_owner_has_many_namespaces(memories: Palimpsest) -> None:
    items = PalimpsestStore(memories, owner_of=lambda namespace: "ada")
    for place in (("food",), ("food", "v1.0"), ("work%", "at home", "é")):
        items.put(place[:1], "k", {"text": f"{place} is a place"}) if len(place) == 1 else (
            items.batch([PutOp(place, "k", {"text": f"{place} is a place"})])
        )
    assert items.list_namespaces() == [("food",), ("food", "v1.0"), ("work%", "at home", "é")]
    assert [one.namespace for one in items.search(("food",))] == [("food",), ("food", "v1.0")]
    assert {one.namespace for one in items.search((), query="place")} == {
        ("food",),
        ("food", "v1.0"),
        ("work%", "at home", "é"),
    }
    assert [one.namespace for one in items.search(("work%",), query="place")] == [
        ("work%", "at home", "é")
    ]


def test_a_value_is_the_callers_own(items: PalimpsestStore) -> None:
    value = {**PIZZA, "tags": ["food"]}
    items.put(ADA, "a", value)
    got(items, "a").value["tags"].append("mine")
    items.search(ADA)[0].value["tags"].append("mine")
    assert got(items, "a").value == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"text": object()}, "a value breaks a rule: it holds what JSON does not have"),
        ({"at": {1, 2}}, "a tuple or a set as a list"),
        ({**PIZZA, "on": date(2026, 1, 1)}, "give a date as text"),
        ({**PIZZA, "days": [{"on": datetime(2026, 1, 1, tzinfo=UTC)}]}, "give a date as text"),
        (
            dict[Any, Any](PIZZA) | {5: 1},
            "a value breaks a rule: it has a key that should be a valid string",
        ),
        ({"text": "x" * 40_000}, "the text of a value breaks a rule: it is over"),
    ],
)
def test_what_the_log_cannot_keep_is_refused(
    items: PalimpsestStore, memories: Palimpsest, value: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        items.put(ADA, "a", value)
    assert items.get(ADA, "a") is None
    assert memories.position == 0


def test_what_is_no_number_is_not_more_than_one(items: PalimpsestStore) -> None:
    """`InMemoryStore` raises a TypeError there."""
    items.put(ADA, "a", {**PIZZA, "n": "many"})
    assert items.search(ADA, filter={"n": {"$gt": 1}}) == []
    assert items.search(ADA, filter={"absent": {"$lt": 1}}) == []
    with pytest.raises(UsageError, match="a filter's operators are"):
        items.search(ADA, filter={"n": {"$near": 1}})


def test_items_are_listed_by_namespace(items: PalimpsestStore) -> None:
    deeper = (*ADA, "food")
    items.put(ADA, "a", PIZZA)
    items.put(deeper, "a", SUSHI)
    items.put(ADA, "b", {"text": "she plays chess on sundays"})
    assert [(one.namespace, one.key) for one in items.search(ADA)] == [
        (ADA, "a"),
        (ADA, "b"),
        (deeper, "a"),
    ]


def test_the_text_can_be_said(memories: Palimpsest) -> None:
    items = PalimpsestStore(
        memories, owner_of=lambda namespace: "ada", text_of=lambda value: f"{value['who']} skis"
    )
    items.put(("sports",), "a", {"who": "Ada", "level": 3})
    [one] = memories.recall("ada", "skis")
    assert one["face"] == "Ada skis"


def test_what_awaits_and_what_does_not_are_one_store(items: PalimpsestStore) -> None:
    async def used() -> None:
        await asyncio.gather(
            *(items.aput(ADA, f"k{n}", {"text": f"thing{n} of kind{n}"}) for n in range(8))
        )
        [found] = await items.asearch(ADA, query="thing3 of kind3", limit=1)
        assert found.key == "k3"
        await items.adelete(ADA, "k3")
        assert await items.aget(ADA, "k3") is None

    asyncio.run(used())
    assert len(items.search(ADA)) == 7


def test_a_batch_reads_what_was_there_before_it(
    items: PalimpsestStore, memories: Palimpsest
) -> None:
    items.put(ADA, "a", PIZZA)
    put, gone = PutOp(ADA, "b", SUSHI), PutOp(ADA, "a", None)
    none, found = [*map(as_is, items.batch([put, SearchOp(ADA)]))]
    assert none is None
    assert [one.key for one in found] == ["a"]
    items.batch([PutOp(ADA, "a", {"text": "lost"}), gone])
    assert [one.key for one in items.search(ADA)] == ["b"]
    assert memories.sql("FROM candidates WHERE text = 'lost'") == [], "the last put counts"


class Clock:
    """A clock that is advanced by hand, by minutes."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def later(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture(name="clock")
def _clock(memories: Palimpsest) -> Clock:
    memories.reader.clock = clock = Clock()
    return clock


def test_an_item_with_a_ttl_is_gone_from_then_on(items: PalimpsestStore, clock: Clock) -> None:
    items.put(ADA, "a", PIZZA, ttl=10)
    items.put(ADA, "b", SUSHI)
    clock.later(11)
    assert items.get(ADA, "a") is None
    for found in (items.search(ADA), items.search(ADA, query="pizza")):
        assert [one.key for one in found] == ["b"]
    items.put(ADA, "a", PIZZA)
    assert got(items, "a").value == PIZZA


def test_reading_refreshes_unless_it_is_not_wanted(items: PalimpsestStore, clock: Clock) -> None:
    items.put(ADA, "a", PIZZA, ttl=10)
    for _ in range(3):
        clock.later(6)
        assert items.get(ADA, "a") is not None
        clock.later(6)
        assert [one.key for one in items.search(ADA, query="pizza")] == ["a"]
    clock.later(6)
    assert items.get(ADA, "a", refresh_ttl=False) is not None
    clock.later(6)
    assert items.get(ADA, "a") is None


def test_many_reads_are_few_events(
    items: PalimpsestStore, memories: Palimpsest, clock: Clock
) -> None:
    items.put(ADA, "a", PIZZA, ttl=10)
    before = memories.position
    for _ in range(20):
        clock.later(0.05)
        items.get(ADA, "a")
    assert memories.position - before == 10


def test_a_put_sets_the_time_again_and_one_without_it_lasts(
    items: PalimpsestStore, clock: Clock
) -> None:
    for ttl, minutes, there in ((10, 9, True), (10, 9, True), (20, 19, True), (None, 99, True)):
        items.put(ADA, "a", PIZZA, ttl=ttl)
        clock.later(minutes)
        assert (items.get(ADA, "a", refresh_ttl=False) is not None) is there
    items.put(ADA, "a", SUSHI, ttl=5)
    clock.later(6)
    assert items.get(ADA, "a") is None


def test_the_store_has_langgraphs_defaults(memories: Palimpsest, clock: Clock) -> None:
    config: Any = {"default_ttl": 10, "refresh_on_read": False}
    items = PalimpsestStore(memories, owner_of=lambda namespace: namespace[1], ttl=config)
    items.put(ADA, "a", PIZZA)
    clock.later(9)
    assert items.get(ADA, "a") is not None
    clock.later(2)
    assert items.get(ADA, "a") is None
