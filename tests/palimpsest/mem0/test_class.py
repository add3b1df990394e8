"""Our class `Memory` answers like mem0's own, which runs in its own environment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from palimpsest.api import store
from palimpsest.contracts.errors import UsageError
from palimpsest.mem0 import AsyncMemory, Memory
from tests.palimpsest.mem0.calls import Awaiting, calls
from tests.palimpsest.mem0.test_client import ran
from tests.stub_engine import load_stub
from tests.tables import each


@pytest.fixture(name="memory")
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """Our memory, without a model."""
    monkeypatch.setattr(store, "load_engine", load_stub)
    with Memory.from_config({"vector_store": {}}, store=tmp_path / "store") as made:
        yield made


def theirs(folder: Path, *kind: str) -> list[Any]:
    """The answers of mem0's own class."""
    script = Path(__file__).with_name("calls.py")
    answers: list[Any] = json.loads(ran(folder, str(script), str(folder), *kind).splitlines()[-1])
    return answers


@pytest.mark.mem0
def test_the_answers_are_those_of_mem0(memory: Memory, tmp_path: Path) -> None:
    ours = json.loads(json.dumps(calls(memory)))
    for our, their in zip(ours, theirs(tmp_path), strict=True):
        assert our == their


@pytest.mark.mem0
def test_the_answers_are_those_of_mem0_awaited(memory: Memory, tmp_path: Path) -> None:
    ours = awaited_calls(tmp_path / "awaited")
    for our, their in zip(ours, theirs(tmp_path, "AsyncMemory"), strict=True):
        assert our == their


def awaited_calls(folder: Path) -> list[Any]:
    """The answers of our asynchronous class, awaited one by one."""
    with asyncio.Runner() as runner:
        memory = AsyncMemory.from_config({"vector_store": {}}, store=folder)
        answers: list[Any] = json.loads(json.dumps(calls(Awaiting(memory, runner.run))))
        memory.close()
    return answers


def test_awaited_calls_answer_alike(memory: Memory, tmp_path: Path) -> None:
    assert awaited_calls(tmp_path / "awaited") == json.loads(json.dumps(calls(memory)))


def test_many_calls_are_awaited_at_once(memory: Memory, tmp_path: Path) -> None:
    async def remember() -> list[Any]:
        async with AsyncMemory(store=tmp_path / "awaited") as awaited:
            texts = [f"Ada has {number} red cups" for number in range(2, 12)]
            added = await asyncio.gather(*(awaited.add(one, user_id="ada") for one in texts))
            with pytest.raises(ValueError, match="not found"):
                await awaited.delete("00000000-0000-4000-8000-000000000000")
            return [added, await awaited.get_all(filters={"user_id": "ada"})]

    added, kept = asyncio.run(remember())
    assert {row["results"][0]["event"] for row in added} == {"ADD"}
    assert len(kept["results"]) == 10


def test_a_program_remembers_changes_and_forgets(memory: Memory) -> None:
    said = calls(memory)
    assert said[0][1]["results"][0]["event"] == "ADD"
    assert said[-1] == [0, 1]


def test_repeats_join_and_nothing_is_erased(memory: Memory) -> None:
    [first] = memory.add("Ada likes tea", user_id="ada")["results"]
    [again] = memory.add("Ada likes tea", user_id="ada", metadata={"page": 1})["results"]
    assert (first["event"], again["event"]) == ("ADD", "NONE")
    assert first["id"] == again["id"]
    [row] = memory.get_all(filters={"user_id": "ada", "page": 1})["results"]
    assert row["memory"] == "Ada likes tea"
    memory.reset()
    assert memory.get(first["id"]) is None
    assert memory.history(first["id"])[-1]["event"] == "DELETE"
    assert memory.memories.history(first["id"])["state"] == "retracted"


def test_a_reset_forgets_every_owner_whatever_the_name(memory: Memory) -> None:
    """In filters, `*` stands for anybody."""
    for owner_id in ("*", "ada", "a b"):
        memory.memories.submit({"owner_id": owner_id, "text": "tea"})
    memory.reset()
    assert [memory.memories.list(one)["memories"] for one in memory.memories.reader.owners()] == [
        [],
        [],
        [],
    ]


def test_what_is_only_asked_is_remembered_only_without_inference(memory: Memory) -> None:
    """Else the best answer to a question would always be that question."""
    talk = [
        {"role": "user", "content": "Where do I live?"},
        {"role": "user", "content": [{"type": "text", "text": "Vielen Dank!"}]},
        {"role": "user", "content": "I moved to Rome. What can I see?"},
    ]
    [said] = memory.add(talk, user_id="ada")["results"]
    assert said["memory"] == "I moved to Rome. What can I see?"
    assert memory.add("Where do I live?", user_id="ada") == {"results": []}
    assert len(memory.add(talk, user_id="bob", infer=False)["results"]) == 3


def test_all_messages_are_kept_or_none(memory: Memory) -> None:
    for wrong in (["a word", "x" * 40_000], ["a word", 5], [{"content": 5}]):
        with pytest.raises(Exception) as error:  # noqa: PT011 - ours, or a ValueError
            memory.add(wrong, user_id="ada")
        assert "a word" not in str(error.value)
    assert memory.get_all(filters={"user_id": "ada"})["results"] == []
    with pytest.raises(ValueError, match="expiration_date"):
        memory.add("a word", user_id="ada", expiration_date="some day")


def test_metadata_with_half_a_character_is_refused(memory: Memory) -> None:
    [first] = memory.add("Ada likes tea", user_id="ada")["results"]
    with pytest.raises(UsageError, match="not valid Unicode"):
        memory.update(first["id"], metadata={"page": "\ud83d"})
    assert memory.get_all(filters={"user_id": "ada"})["results"][0]["metadata"] is None


def test_what_expired_is_found_by_its_id_and_shown_if_asked_for(memory: Memory) -> None:
    memory.add("Ada likes tea", user_id="ada", expiration_date="2020-01-31")
    memory.add("Ada likes coffee", user_id="ada", expiration_date="2999-12-30")
    ada: dict[str, Any] = {"user_id": "ada"}
    [coffee] = memory.get_all(filters=ada)["results"]
    assert (coffee["memory"], coffee["expiration_date"]) == ("Ada likes coffee", "2999-12-30")
    assert [row["memory"] for row in memory.search("tea", filters=ada)["results"]] != [
        "Ada likes tea"
    ]
    tea = memory.get_all(filters=ada, show_expired=True)["results"][1]
    assert (tea["memory"], tea["expiration_date"]) == ("Ada likes tea", "2020-01-31")
    named = {row["id"] for row in memory.search("tea", filters=ada, show_expired=True)["results"]}
    assert tea["id"] in named
    found = memory.get(tea["id"])
    assert found is not None
    assert found["memory"] == "Ada likes tea"


def test_an_update_sets_the_last_day_of_all_that_would_outlive_it(memory: Memory) -> None:
    first, again = (
        memory.add("Ada likes tea", user_id="ada", expiration_date=day)["results"][0]["id"]
        for day in ("2999-01-01", "2999-06-01")
    )
    assert first == again
    for day in ("2999-12-30", "2030-01-01", "2020-01-31", None, "2999-01-01"):
        memory.update(first, expiration_date=day)
        found = memory.get(first)
        assert found is not None
        assert found.get("expiration_date") == day
        shown = memory.get_all(filters={"user_id": "ada"})["results"]
        assert len(shown) == (day != "2020-01-31")
    memory.update(first, metadata={"cup": "blue"})
    found = memory.get(first)
    assert found is not None
    assert found["expiration_date"] == "2999-01-01", "more about it does not prolong it"
    memory.update(first, "Ada likes coffee", expiration_date="2020-01-31")
    [over] = memory.get_all(filters={"user_id": "ada"}, show_expired=True)["results"]
    assert (over["memory"], over["expiration_date"]) == ("Ada likes coffee", "2020-01-31")
    memory.update(first, "Ada likes cocoa", expiration_date="2999-01-01")
    assert memory.get_all(filters={"user_id": "ada"})["results"][0]["memory"] == "Ada likes cocoa"


@each(
    ("wrong", "why"),
    [
        ({"query": "  "}, "query: is blank"),
        ({"query": None}, "query: should be a valid string"),
        ({"query": "x" * 40_000}, "query: is over"),
        ({"top_k": "3"}, "top_k must be"),
        ({"top_k": -1}, "top_k must be a whole number, 0 or more"),
        ({"reference_date": "2026-01-01"}, "reference_date: leave it out"),
        ({"agent_id": "guide"}, r"use filters={'agent_id': '\.\.\.'}"),
        ({"user_id": "ada", "run_id": "r"}, r"{'user_id': '\.\.\.', 'run_id': '\.\.\.'}"),
        ({"filters": {"user_id": " "}}, "user_id is blank"),
        ({"filters": {"agent_id": ""}}, "agent_id is blank"),
        ({"filters": {"user_id": "*"}}, "name one user_id"),
        ({"filters": {"user_id": {"in": ["ada", "bob"]}}}, "user_id must be one id, such as 'ada'"),
        ({"filters": {"user_id": "ada", "run_id": ["r"]}}, "run_id must be one id"),
        ({"filters": {"user_id": "ada", "OR": [{"user_id": "bob"}]}}, "one user_id"),
        ({"filters": {"user_id": "ada", "AND": [{"user_id": "bob"}]}}, "name one user_id"),
        ({"filters": {"user_id": "ada", "metadata": {"cup": "blue"}}}, "beside the ids"),
        ({"top_k": 2.5}, "top_k must be"),
        ({"threshold": "low"}, "threshold must be a number from -1 to 1"),
        ({"threshold": 70}, "threshold must be a number from -1 to 1"),
        ({"show_expired": "no"}, "show_expired must be true or false"),
        ({"filters": "ada"}, "filters must be a dict"),
        ({"filters": {"user_id": "ada", "OR": 5}}, "need a list of conditions"),
        ({"filters": {"user_id": "ada", "AND": ["page"]}}, "need a list of conditions"),
    ],
)
def test_an_argument_of_a_wrong_type_is_told(memory: Memory, wrong: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        memory.search(**{"query": "tea", "filters": {"user_id": "ada"}, **wrong})


def test_what_mem0_takes_is_taken(memory: Memory) -> None:
    memory.add("Ada likes tea", user_id="ada")
    ada: dict[str, Any] = {"user_id": "ada"}
    assert memory.search("tea", filters=ada, threshold=None) == memory.search("tea", filters=ada)
    assert memory.search("tea", filters=ada, top_k=0) == {"results": []}
    assert memory.get_all(filters=ada, top_k=0) == {"results": []}
    twice = {**ada, "AND": [ada]}
    assert memory.search("tea", filters=twice) == memory.search("tea", filters=ada)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"memory_type": "procedural_memory"}, "memory_type: leave it out; add takes messages, us"),
        ({"actor_id": "x"}, "actor_id: leave it out; add takes"),
        ({"expiration_date": 5}, "expiration_date must be a date string in YYYY-MM-DD format"),
        ({"expiration_date": "soon"}, "expiration_date must be a valid date in YYYY-MM-DD format"),
        ({"user_id": " "}, "user_id is blank"),
        ({"agent_id": ["guide", "cook"]}, "agent_id must be one id"),
    ],
)
def test_a_wrong_argument_of_add_is_told(memory: Memory, wrong: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        memory.add("Ada likes tea", **{"user_id": "ada", **wrong})
    assert memory.get_all(filters={"user_id": "ada"}) == {"results": []}


def test_a_moment_is_an_expiry_on_its_day(memory: Memory) -> None:
    memory.add("Ada likes tea", user_id="ada", expiration_date=datetime(2999, 1, 2, 3, tzinfo=UTC))
    [row] = memory.get_all(filters={"user_id": "ada"})["results"]
    assert row["expiration_date"] == "2999-01-02"


def test_delete_all_takes_what_mem0s_does(memory: Memory) -> None:
    memory.add("Ada likes tea", user_id="ada")
    for wrong, why in (({"user_id": ""}, "user_id is blank"), ({}, "name at least one")):
        with pytest.raises(ValueError, match=why):
            memory.delete_all(**wrong)
    with pytest.raises(TypeError, match="filters"):
        memory.delete_all(filters={"user_id": "ada"})  # type: ignore[call-arg]
    memory.delete_all("ada")
    assert memory.get_all(filters={"user_id": "ada"}) == {"results": []}


def test_an_update_to_metadata_that_is_no_dict_is_refused(memory: Memory) -> None:
    first = memory.add("Ada likes tea", user_id="ada")["results"][0]["id"]
    with pytest.raises(ValueError, match="metadata must be a dict"):
        memory.update(first, metadata=5)


def test_blanks_around_an_id_do_not_count(memory: Memory) -> None:
    memory.add("Ada likes tea", user_id=" ada ")
    for user_id in ("ada", " ada"):
        [row] = memory.get_all(filters={"user_id": user_id})["results"]
        assert row["user_id"] == "ada"


@pytest.mark.parametrize(("test", "passes"), [("in", False), ("nin", True)])
def test_a_mapping_is_in_no_list(memory: Memory, test: str, passes: bool) -> None:
    memory.add("Ada likes tea", user_id="ada", metadata={"cup": {"size": 1}})
    found = memory.get_all(filters={"user_id": "ada", "cup": {test: ["blue"]}})["results"]
    assert bool(found) is passes


def test_an_update_to_no_text_is_refused(memory: Memory) -> None:
    first = memory.add("Ada likes tea", user_id="ada")["results"][0]["id"]
    with pytest.raises(UsageError, match="is blank"):
        memory.update(first, "")
    found = memory.get(first)
    assert found is not None
    assert found["memory"] == "Ada likes tea"


def test_the_time_of_a_message_is_shown(memory: Memory) -> None:
    memory.add("Ada likes tea", user_id="ada", timestamp=1_700_000_000)
    past: dict[str, Any] = {"user_id": "ada", "created_at": {"lt": "2024-01-01"}}
    [row] = memory.search("tea", filters=past)["results"]
    assert row["created_at"] == "2023-11-14T22:13:20+00:00"


def test_the_new_fact_comes_first_also_among_several_owners(memory: Memory) -> None:
    for text in ("Ada lives in Paris", "Ada lives in Rome"):
        memory.add(text, user_id="ada", agent_id="guide")
    memory.add("Bob lives in Paris", user_id="bob", agent_id="guide")
    found = memory.search("Ada lives in Paris", filters={"agent_id": "guide"})["results"]
    assert [row["memory"] for row in found][:2] == ["Ada lives in Rome", "Ada lives in Paris"]
    assert [row["user_id"] for row in found] == ["ada", "ada", "bob"]
