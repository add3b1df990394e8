"""`list`, `get` and `history`: an owner's memories, one memory by any id, and all its events."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, RefusedError, UsageError
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.requests import Selection
from palimpsest.contracts.shown import Happened
from tests.long import long_but

WORDS = "tea kettle boat shed Paris Berlin blue car paints clocks sings harbour".split()


def submit(store: Palimpsest, *texts: str, owner: str = "ada", **fields: Any) -> list[str]:
    rows = [{"owner_id": owner, "text": text, **fields} for text in texts]
    return [str(one.candidate_id) for one in store.submit(rows)]


def pages(
    store: Palimpsest,
    between: Callable[[], None] = lambda: None,
    limit: int = 3,
    **wanted: Any,
) -> Iterator[str]:
    """The ids of an owner's memories, in order; `between` is called between two pages."""
    after: str | None = None
    while True:
        page = store.list("ada", limit=limit, after=after, **wanted)
        yield from (memory["memory_id"] for memory in page["memories"])
        after = page["next"]
        if after is None:
            return
        between()


def test_the_latest_memory_comes_first_and_nobody_elses(memories: Palimpsest) -> None:
    a, b, c = submit(memories, "tea in the shed", "a blue car", "the boat sings")
    submit(memories, "ben's kettle", owner="ben")
    page = memories.list("ada", limit=2)
    assert [memory["memory_id"] for memory in page["memories"]] == [c, b]
    assert (page["next"], page["total"]) == (b, 3)
    last = memories.list("ada", limit=2, after=page["next"])
    assert [memory["memory_id"] for memory in last["memories"]] == [a]
    assert (last["next"], last["total"]) == (None, 3)
    assert memories.list("ada", limit=3)["next"] is None, "the last page is full"
    assert memories.list("nobody") == {"memories": [], "next": None, "total": 0}
    with pytest.raises(UsageError, match="after"):
        memories.list("ben", after=a)


def test_a_page_that_has_the_last_memory_names_no_next_one(memories: Palimpsest) -> None:
    submit(memories, "tea in the shed", "a blue car")
    assert len(memories.list("ada", limit=2)["memories"]) == 2
    assert memories.list("ada", limit=2)["next"] is None


@pytest.mark.parametrize("seed", long_but(0, 1, of=range(6)))
def test_nothing_is_doubled_or_left_out_while_memories_come_and_go(
    memories: Palimpsest, seed: int
) -> None:
    chance = random.Random(seed)
    ids = submit(memories, *(f"{number} {chance.choice(WORDS)} {number}" for number in range(14)))

    def living() -> set[str]:
        rows = memories.sql("SELECT memory_id FROM memories WHERE owner_id = 'ada'")
        return {row["memory_id"] for row in rows}

    always = living()
    joins: list[str] = []

    def something() -> None:
        nonlocal always
        match chance.choice(["say", "retract", "restore", "merge", "unmerge"]):
            case "say":
                ids.extend(submit(memories, f"new {len(ids)} {len(ids)}"))
            case "retract":
                memories.retract(Selection(candidate_id=chance.choice(ids)))
            case "restore":
                memories.restore(Selection(candidate_id=chance.choice(ids)))
            case "merge":
                a, b = chance.sample(ids, 2)
                joins.append(memories.merge(a, b)["decision_id"])
            case "unmerge" if joins:
                memories.unmerge(decision_id=joins.pop())
        always &= living()

    def few() -> None:
        for _ in range(2):
            try:
                something()
            except RefusedError:
                continue

    listed = list(pages(memories, few))
    assert len(listed) == len(set(listed))
    assert always <= set(listed)
    assert always


def test_a_memory_is_listed_if_one_living_member_has_all_that_is_asked_for(
    memories: Palimpsest,
) -> None:
    chance = random.Random(8)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows: list[dict[str, Any]] = [
        {
            "owner_id": "ada",
            "text": f"{number} {chance.choice(WORDS)} {number}",
            "namespace": chance.choice(["home", "work"]),
            "category": chance.choice(["plan", "taste", None]),
            "metadata": {"page": chance.choice([1, 2, True, "2"]), "tags": ["x", {"y": 1.0}]},
            "occurred_at": (start + timedelta(days=chance.randint(0, 9))).isoformat(),
        }
        for number in range(24)
    ]
    ids = [str(one.candidate_id) for one in memories.submit(rows)]
    for _ in range(12):
        a, b = chance.sample(ids, 2)
        try:
            memories.merge(a, b)
        except RefusedError:
            continue
    for gone in chance.sample(ids, 3):
        memories.retract(Selection(candidate_id=gone))
    members = memories.sql("SELECT candidate_id, memory_id FROM candidates WHERE living")
    by_id = dict(zip(ids, rows, strict=True))

    def listed(**wanted: Any) -> set[str]:
        return set(pages(memories, limit=5, **wanted))

    def expected(has: Callable[[dict[str, Any]], bool]) -> set[str]:
        return {row["memory_id"] for row in members if has(by_id[row["candidate_id"]])}

    def at(row: dict[str, Any]) -> datetime:
        return datetime.fromisoformat(row["occurred_at"])

    since, until = start + timedelta(days=3), start + timedelta(days=6)
    assert listed() == expected(lambda row: True)
    assert listed(namespace="home") == expected(lambda row: row["namespace"] == "home")
    assert listed(category="plan") == expected(lambda row: row["category"] == "plan")
    assert listed(since=since, until=until) == expected(lambda row: since <= at(row) < until)
    for wrong in (since, since - timedelta(days=1)):
        with pytest.raises(UsageError, match="`since` must be before `until`"):
            listed(since=since, until=wrong)
        with pytest.raises(UsageError, match="`since` must be before `until`"):
            memories.recall("ada", "a plan", since=since, until=wrong)
    for page in (1, 2, True, "2"):
        got = {
            row["memory_id"]
            for row in members
            if repr(by_id[row["candidate_id"]]["metadata"]["page"]) == repr(page)
        }
        assert listed(metadata={"page": page}) == got
    assert listed(metadata={"page": 2.0}) == listed(metadata={"page": 2})
    both = {"category": "plan", "since": since, "metadata": {"tags": ["x", {"y": 1}]}}
    assert listed(**both) == expected(lambda row: row["category"] == "plan" and at(row) >= since)
    assert listed(metadata={"pages": 1}) == set()
    assert listed(category="plan") != listed(category="taste")


def test_times_without_a_zone_are_utc(memories: Palimpsest) -> None:
    [noon] = submit(memories, "tea at noon", occurred_at="2026-03-01T12:00:00Z")
    assert list(pages(memories, since=datetime(2026, 3, 1, 12))) == [noon]  # noqa: DTZ001
    assert list(pages(memories, until=datetime(2026, 3, 1, 12))) == []  # noqa: DTZ001


def test_any_id_that_was_ever_a_memorys_finds_todays(memories: Palimpsest) -> None:
    a, b = submit(memories, "tea in the shed", "a blue car", source="chat", session_id="s1")
    found = memories.get(b)
    assert (found["memory_id"], found["moved"], found["state"]) == (b, False, "living")
    joined = memories.merge(a, b)["decision_id"]
    found = memories.get(b)
    assert (found["memory_id"], found["id"], found["moved"]) == (a, b, True)
    assert (found["owner_id"], found["face"]) == ("ada", "tea in the shed")
    [own, other] = sorted(found["members"], key=lambda one: one["candidate_id"] != a)
    assert (own["decision"], other["decision"], other["decision_id"]) == (
        "stored",
        "manual_join",
        joined,
    )
    assert (other["session_id"], other["relation"]) == ("s1", "same")
    assert memories.get(found["urn"])["moved"] is False
    memories.unmerge(decision_id=joined)
    assert memories.get(b)["moved"] is False


def test_the_retracted_are_marked(memories: Palimpsest) -> None:
    a, b = submit(memories, "tea in the shed", "a blue car")
    memories.merge(a, b)
    memories.retract(Selection(candidate_id=a))
    assert [member["text"] for member in memories.get(a)["members"]] == ["a blue car"]
    assert memories.get(a)["state"] == "living"
    memories.retract(Selection(candidate_id=b))
    found = memories.get(b)
    assert (found["state"], found["moved"]) == ("retracted", True)
    assert {member["text"] for member in found["members"]} == {"tea in the shed", "a blue car"}
    assert memories.list("ada")["memories"] == []
    with pytest.raises(RefusedError, match="nothing here has the id"):
        memories.get("0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")


def test_what_a_face_displaced_is_former(memories: Palimpsest) -> None:
    paris, home, berlin, again = submit(
        memories, "she lives in Paris", "her home is Paris", "she moved to Berlin", "elsewhere"
    )
    memories.merge(paris, home)
    memories.merge(paris, berlin, face=berlin)

    def relations(one: str) -> dict[str, str]:
        return {w["candidate_id"]: w["relation"] for w in memories.get(one)["members"]}

    assert relations(paris) == {paris: "former", home: "former", berlin: "same"}
    [listed] = [m for m in memories.list("ada")["memories"] if m["memory_id"] == paris]
    assert [member["candidate_id"] for member in listed["members"]] == [berlin]
    [listed] = memories.list("ada", former=True, until=datetime.now(UTC))["memories"][1:]
    assert len(listed["members"]) == 3
    memories.merge(berlin, again)
    assert relations(again)[again] == "same"


def test_a_history_has_every_event_of_the_members_and_of_who_left_until_then(
    memories: Palimpsest,
) -> None:
    tea, car, boat = submit(memories, "tea in the shed", "a blue car", "the boat sings")
    memories.merge(tea, boat, because="one thing", actor="eve")
    joined = memories.merge(tea, car, face=car)["decision_id"]
    memories.access(tea)
    memories.unmerge(decision_id=joined, because="two things")
    memories.retract(Selection(candidate_id=car), because="after it left")
    with pytest.raises(RefusedError, match="separated them already"):
        memories.separate(tea, car)
    told = memories.history(boat)
    assert (told["memory_id"], told["moved"], told["face"]) == (tea, True, "tea in the shed")

    def line(event: Happened) -> tuple[str, str | None, str | None, str | None]:
        face, why = event.get("face"), event.get("because")
        return event["event"], event.get("candidate_id"), face, why

    assert [line(event) for event in told["events"]] == [
        ("decided", tea, "tea in the shed", None),
        ("decided", car, "a blue car", None),
        ("decided", boat, "the boat sings", None),
        ("joined", boat, "tea in the shed", "one thing"),
        ("joined", car, "a blue car", None),
        ("accessed", tea, "a blue car", None),
        ("reversed", car, "tea in the shed", "two things"),
        ("refused", car, "tea in the shed", None),
    ]
    positions = [event["position"] for event in told["events"]]
    assert positions == sorted(positions)
    assert all(event["did"] and event["decided_at"] for event in told["events"])
    assert told["events"][3]["actor"] == "eve"
    assert told["events"][0]["text"] == "tea in the shed"
    alone = memories.history(car)["events"]
    until_it_left = [event["event"] for event in told["events"][:-1]]
    assert [event["event"] for event in alone] == [*until_it_left, "retracted", "refused"]


def test_who_came_back_and_left_again_is_told_of_until_the_last_time(
    memories: Palimpsest,
) -> None:
    tea, car = submit(memories, "tea in the shed", "a blue car")
    joined = memories.merge(tea, car)["decision_id"]
    memories.unmerge(decision_id=joined)
    memories.reinstate(joined)
    memories.access(car)
    memories.unmerge(decision_id=joined)
    memories.access(car)
    told = [
        (event["event"], event.get("candidate_id")) for event in memories.history(tea)["events"]
    ]
    assert told == [
        ("decided", tea),
        ("decided", car),
        *((event, car) for event in ("joined", "reversed", "reinstated", "accessed", "reversed")),
    ]


@pytest.mark.parametrize("first", [0, 1], ids=["the lower id", "the higher id"])
def test_after_a_reversal_that_was_taken_back_the_face_is_that_of_the_part_with_the_id(
    memories: Palimpsest, first: int
) -> None:
    """Both are members again, whichever has the lower id."""
    names = sorted("xy", key=lambda name: candidate_id("ada", "python", name))
    said = zip((names[first], names[1 - first]), ("tea in the shed", "a blue car"), strict=True)
    tea, car = (submit(memories, text, id=name)[0] for name, text in said)
    joined = memories.merge(tea, car, face=car)["decision_id"]
    memories.unmerge(decision_id=joined)
    memories.reinstate(joined)
    told = [(event["event"], event.get("face")) for event in memories.history(car)["events"]]
    assert told[2:] == [
        ("joined", "a blue car"),
        ("reversed", "tea in the shed"),
        ("reinstated", "a blue car"),
    ]


def test_a_separation_that_is_withdrawn_makes_nobody_a_member(memories: Palimpsest) -> None:
    a, b = submit(memories, "tea in the shed", "a blue car")
    memories.separate(a, b)
    memories.withdraw(a, b)
    memories.access(b)
    told = memories.history(a)["events"]
    assert [event["event"] for event in told] == ["decided", "separated", "reversed"]
    assert "withdrawn" in told[2]["did"]


def test_who_speaks_is_said_when_the_store_is_opened(tmp_path: Path) -> None:
    text = {"owner_id": "ada", "text": "Ada lives in Paris"}
    with Palimpsest.open(tmp_path / "agent") as store:
        [first] = store.submit(text)
        changed = store.update(str(first.memory_id), "Ada lives in Rome")
        events = store.history(str(first.memory_id))["events"]
        assert events[-1]["rank"] == "agent"
        assert "an agent chose the newer wording" in events[-1]["did"]
        assert "a person" not in str(events)
        store.undo(changed["decision_id"] or "")
        store.forget(str(first.memory_id))
        [again] = store.submit(text)
        assert (again.decision, again.reason) == ("stored", None)
        assert [one["face"] for one in store.recall("ada", "Paris")] == ["Ada lives in Paris"]
        store.update(str(again.memory_id), "Ada lives in Oslo", by="person")
        with pytest.raises(RefusedError, match="outranked"):
            store.undo(str(again.memory_id))
    with Palimpsest.open(tmp_path / "person", by="person") as store:
        [first] = store.submit(text)
        store.update(str(first.memory_id), "Ada lives in Rome")
        assert "a person chose" in store.history(str(first.memory_id))["events"][-1]["did"]
        with pytest.raises(RefusedError, match="outranked"):
            store.undo(str(first.memory_id), by="agent")
        store.forget(str(first.memory_id))
        [again] = store.submit({**text, "text": "Ada lives in Rome"})
        assert (again.decision, again.reason) == ("pending", "forgotten")
