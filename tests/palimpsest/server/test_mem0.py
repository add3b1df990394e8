"""The door for mem0's client, by its requests; `make test-mem0` uses the client itself."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, cast

import pytest

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import Again
from palimpsest.integrations.mem0 import door as mem0
from palimpsest.integrations.mem0.door import _added
from palimpsest.integrations.mem0.filters import parse_filters
from palimpsest.integrations.mem0.rows import history_rows
from palimpsest.server.intents import Intents
from palimpsest.server.problems import problem_of
from tests.palimpsest.server.conftest import Server, Use, displaced
from tests.tables import each

ADD = "/mem0/v3/memories/add/"
SEARCH = "/mem0/v3/memories/search/"
LIST = "/mem0/v3/memories/"
PIZZA = "Ada likes pizza with olives"
SUSHI = "her favourite food is sushi"
ADA = {"user_id": "ada"}


async def answer(server: Server, method: str, path: str, document: Any = None, **more: Any) -> Any:
    response = await server.ask(method, path, document, **more)
    assert response.status_code == 200, response.text
    return response.json()


async def added(server: Server, *texts: str, **more: Any) -> list[dict[str, Any]]:
    messages = [{"role": "user", "content": text} for text in texts]
    found = await answer(server, "POST", ADD, {"messages": messages, **ADA, **more})
    results: list[dict[str, Any]] = found["results"]
    return results


async def listed(server: Server, **filters: Any) -> list[str]:
    found = await answer(server, "POST", LIST, {"filters": {**ADA, **filters}})
    assert found["count"] == len(found["results"])
    return [row["memory"] for row in found["results"]]


def path_of(row: dict[str, Any], rest: str = "") -> str:
    return f"/mem0/v1/memories/{row['id']}/{rest}"


def test_a_client_that_is_too_old_is_told_which_version_it_has_to_be(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        search = {"query": "pizza", **ADA}
        for method, path, body in (
            ("POST", "/mem0/v1/memories/", {"messages": PIZZA, **ADA}),
            ("GET", "/mem0/v1/memories/?user_id=ada", None),
            ("POST", "/mem0/v1/memories/search/", search),
            ("POST", "/mem0/v2/memories/", {"filters": ADA}),
            ("POST", "/mem0/v2/memories/search/", search),
        ):
            refused = await server.ask(method, path, body)
            assert (refused.status_code, path) == (404, path)
            assert "mem0ai 2" in refused.json()["detail"]

    served(used)


def test_what_the_user_says_is_remembered_once(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        assert (await answer(server, "GET", "/mem0/v1/ping/"))["user_email"] is None
        [first, again] = await added(server, PIZZA, f"{PIZZA}  ", metadata={"by": "ada"})
        assert (first["event"], again["event"]) == ("ADD", "NONE")
        assert (first["id"], first["memory"]) == (again["id"], PIZZA)
        [found] = (await answer(server, "POST", SEARCH, {"query": "pizza", "filters": ADA}))[
            "results"
        ]
        assert (found["memory"], found["user_id"], found["metadata"]) == (
            PIZZA,
            "ada",
            {"by": "ada"},
        )
        assert found["score"] > 0
        got = await answer(server, "GET", path_of(first))
        assert {**got, "score": found["score"]} == found

    served(used)


def test_an_update_to_the_text_that_it_has_keeps_what_is_known_about_it(
    served: Use[None],
) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA, metadata={"cup": "blue"}, run_id="monday")
        same = await answer(server, "PUT", path_of(row), {"text": PIZZA})
        timed = {"text": PIZZA, "timestamp": 1_700_000_000}
        then = await answer(server, "PUT", path_of(row), timed)
        for said in (same, then):
            assert (said["memory"], said["metadata"]) == (PIZZA, {"cup": "blue"})
            assert said["run_id"] == "monday"
        assert then["created_at"].startswith("2023-11-14")
        assert (await server.twin.status())["candidates"] == 2, "the time was said, nothing else"

    served(used)


def test_an_expiry_under_a_key_is_set_once(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA, expiration_date="2999-01-01")
        await added(server, PIZZA, expiration_date="2999-06-01")
        path = path_of(row)

        async def put(day: str, key: str, **more: str) -> tuple[int, str | None]:
            body, headers = {"expiration_date": day, **more}, {"Idempotency-Key": key}
            done = await server.ask("PUT", path, body, headers=headers)
            assert done.status_code == 200 or done.json()["reason"] == "id_conflict"
            now = await answer(server, "GET", path)
            return done.status_code, now.get("expiration_date")

        assert await put("2030-01-01", "a") == (200, "2030-01-01")
        assert await put("2031-01-01", "a") == (422, "2030-01-01")
        assert await put("2030-01-01", "a", text="Ada likes sushi") == (422, "2030-01-01")
        assert await put("2031-01-01", "b") == (200, "2031-01-01")
        assert await put("2030-01-01", "a") == (200, "2031-01-01"), "it was done, whatever came"
        assert len(await answer(server, "GET", path_of(row, "history/"))) == 1

    served(used)


def test_an_update_of_which_a_part_is_refused_changes_nothing(served: Use[None]) -> None:
    """The text may change, but only a person may say that a memory never expires."""

    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA, expiration_date="2999-01-01")
        [forever] = await added(server, SUSHI)
        for one, day in ((row, None), (forever, "2999-01-01")):
            before = await answer(server, "GET", path_of(one))
            for headers in ({}, {"Idempotency-Key": f"both {day}"}):
                body = {"text": "Ada likes soup", "expiration_date": day}
                refused = await server.ask("PUT", path_of(one), body, headers=headers)
                assert (refused.status_code, refused.json()["reason"]) == (409, "outranked")
                assert await answer(server, "GET", path_of(one)) == before
        body = {"text": "Ada likes soup", "expiration_date": "2999-06-01"}
        for _ in range(2):
            done = await answer(
                server, "PUT", path_of(row), body, headers={"Idempotency-Key": "later"}
            )
            assert (done["memory"], done["expiration_date"]) == ("Ada likes soup", "2999-06-01")

    served(used)


def test_an_event_is_about_its_own_message(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        first, again = await added(server, PIZZA, f"{PIZZA}  ")
        assert [(one["event"], one["memory"]) for one in (first, again)] == [
            ("ADD", PIZZA),
            ("NONE", PIZZA),
        ]
        key = {"headers": {"idempotency-key": "once"}}
        full = f"{PIZZA}."
        loud = {"messages": [{"role": "user", "content": full}], **ADA}
        for event, says in (("NONE", PIZZA), ("UPDATE", full)):
            [one] = (await answer(server, "POST", ADD, loud, **key))["results"]
            assert (one["event"], one["memory"]) == (event, says)
            [row] = await server.twin.sql("FROM candidates ORDER BY position DESC LIMIT 1")
            pair = {"a": first["id"], "b": row["candidate_id"], "face": row["candidate_id"]}
            await server.ask("POST", "/v1/owners/ada/merge", pair, name="grace")

    served(used)


def test_roles_say_what_is_remembered(served: Use[None]) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are kind"},
        {"role": "user", "content": [{"type": "text", "text": PIZZA}]},
        {"role": "assistant", "content": SUSHI},
        {"role": "user", "content": "  "},
    ]

    async def used(server: Server) -> None:
        said = {"messages": messages, "filters": {**ADA, "run_id": "r 1"}, "custom_categories": []}
        assert len((await answer(server, "POST", ADD, said))["results"]) == 1
        assert await listed(server) == [PIZZA]
        await answer(server, "POST", ADD, {**said, "infer": False, "timestamp": 1_700_000_000})
        assert await listed(server) == [SUSHI, PIZZA]
        assert await listed(server, metadata={"role": "assistant"}) == [SUSHI]
        [wording] = (await server.twin.list("ada"))["memories"][0]["members"]
        assert (wording["session_id"], wording["source"]) == ("r 1", "mem0")
        assert str(wording["occurred_at"]).startswith("2023-11-14T22:13:20")

    served(used)


def test_who_was_there_is_named_at_the_top_and_in_the_filters(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        parts = [{"type": "text", "text": text} for text in ("Ada likes pizza", "and olives")]
        said = {"messages": [{"role": "user", "content": parts}], "agent_id": "cook", **ADA}
        await answer(server, "POST", ADD, {**said, "filters": {"run_id": "r 1"}})
        [row] = (await answer(server, "POST", LIST, {"filters": ADA}))["results"]
        assert (row["agent_id"], row["run_id"]) == ("cook", "r 1")
        assert (row["memory"], row["metadata"]) == ("Ada likes pizza\nand olives", {})

    served(used)


def test_a_message_that_cannot_be_kept_is_a_problem(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        messages = [{"role": "user", "content": text} for text in (PIZZA, "rhinoceros" * 10_000)]
        refused = await server.ask("POST", ADD, {"messages": messages, **ADA})
        assert (refused.status_code, refused.json()["reason"]) == (422, "field")
        assert "rhinoceros" not in refused.text

    served(used)


def test_what_a_cluster_decides_later_is_told_as_added() -> None:
    unknown = dict.fromkeys(("decision", "joined_to", "memory_id", "reason"))
    outcome = {"candidate_id": "c", **unknown}
    told = asyncio.run(_added(cast("Intents", None), outcome))
    assert told == {"id": "c", "memory": None, "event": "ADD"}


def test_a_memory_changes_and_has_a_history(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA, agent_id="cook", metadata={"sure": True})
        changed = await answer(server, "PUT", path_of(row), {"text": SUSHI})
        assert (changed["id"], changed["memory"]) == (row["id"], SUSHI)
        assert (changed["metadata"], changed["agent_id"]) == ({"sure": True}, "cook")
        marked = await answer(server, "PUT", path_of(row), {"metadata": {"sure": False}})
        assert (marked["memory"], marked["metadata"]) == (SUSHI, {"sure": False})
        assert marked["agent_id"] == "cook"
        story = await answer(server, "GET", path_of(row, "history/"))
        assert [(one["event"], one["old_memory"], one["new_memory"]) for one in story] == [
            ("ADD", None, PIZZA),
            ("UPDATE", PIZZA, SUSHI),
        ]
        await answer(server, "DELETE", path_of(row))
        assert (await server.ask("GET", path_of(row))).status_code == 404
        assert (await server.ask("DELETE", path_of(row))).status_code == 404
        for name in ("ada", "grace", "root"):
            assert (await server.ask("GET", path_of(row), name=name)).status_code == 404
            told = await answer(server, "GET", path_of(row, "history/"), name=name)
            assert [one["event"] for one in told] == ["DELETE"]
            assert SUSHI not in str(told)

    served(used)


def test_a_history_shows_a_change_that_was_taken_back_also_once_it_is_forgotten(
    served: Use[None],
) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA)
        await answer(server, "PUT", path_of(row), {"text": SUSHI})
        await server.ask("POST", "/v1/owners/ada/undo", {"id": row["id"]})
        await answer(server, "DELETE", path_of(row))
        story = [*history_rows(await server.twin.history(row["id"]))]
        assert [(one["event"], one["old_memory"], one["new_memory"]) for one in story] == [
            ("ADD", None, PIZZA),
            ("UPDATE", PIZZA, SUSHI),
            ("UPDATE", SUSHI, PIZZA),
            ("DELETE", PIZZA, None),
        ]

    served(used)


def test_who_said_it_is_not_what_an_update_says(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA, agent_id="cook")
        said = {"text": SUSHI, "metadata": {"agent_id": "waiter", "sure": True}}
        changed = await answer(server, "PUT", path_of(row), said)
        assert (changed["agent_id"], changed["metadata"]) == ("cook", {"sure": True})

    served(used)


def test_an_update_has_its_time_and_stays_where_its_memory_is(served: Use[None]) -> None:
    """Also an update of only metadata, which is a repeat."""

    async def used(server: Server) -> None:
        before = {"namespace": "kitchen", "occurred_at": "2020-01-01T00:00:00Z"}
        row = {"id": (await server.add(PIZZA, **before))["memory_id"]}
        said = {"text": SUSHI, "timestamp": 1_700_000_000}
        assert (await answer(server, "PUT", path_of(row), said))["memory"] == SUSHI
        said = {"metadata": {"sure": True}, "timestamp": "2026-03-01T12:00:00Z"}
        assert (await answer(server, "PUT", path_of(row), said))["metadata"] == {"sure": True}
        rows = await server.twin.sql(
            "SELECT namespace, strftime(occurred_at, '%Y-%m-%dT%H:%M') AS at FROM candidates"
            " ORDER BY position"
        )
        assert [(row["namespace"], row["at"]) for row in rows] == [
            ("kitchen", "2020-01-01T00:00"),
            ("kitchen", "2023-11-14T22:13"),
            ("kitchen", "2026-03-01T12:00"),
        ]
        assert await listed(server) == [SUSHI]

    served(used)


def test_an_update_to_a_text_of_another_memory_makes_them_one(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        _, other = await added(server, PIZZA, SUSHI)
        changed = await answer(server, "PUT", path_of(other), {"text": PIZZA})
        assert changed["memory"] == PIZZA
        assert await listed(server) == [PIZZA]

    served(used)


def test_all_of_a_user_is_forgotten_and_nothing_is_lost(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await added(server, PIZZA, agent_id="cook")
        await added(server, SUSHI)
        await server.add("Bob rows", "bob")
        await answer(server, "DELETE", "/mem0/v1/memories/?user_id=ada&agent_id=cook")
        assert await listed(server) == [SUSHI]
        for _ in range(2):
            await answer(server, "DELETE", "/mem0/v1/memories/?user_id=ada")
            assert await listed(server) == []
        status = await server.twin.status()
        assert (status["candidates"], (await server.twin.list("bob"))["total"]) == (3, 1)
        [again] = await added(server, SUSHI)
        assert again["memory"] == SUSHI

    served(used)


def test_all_of_a_user_includes_what_an_update_has_displaced(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await displaced(server)
        await answer(server, "DELETE", "/mem0/v1/memories/?user_id=ada")
        assert (await server.twin.list("ada", former=True))["total"] == 0

    served(used)


def test_what_a_person_has_forgotten_is_not_remembered_by_an_agent(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        rules: tuple[tuple[Again, str], ...] = (("ask", PIZZA), ("refuse", SUSHI))
        for again, text in rules:
            [row] = await added(server, text)
            await server.twin.forget(row["id"], again=again)
            for name in ("ada", "grace", "root"):
                document = {"messages": [{"role": "user", "content": text}], **ADA}
                [said] = (await answer(server, "POST", ADD, document, name=name))["results"]
                assert (said["event"], said["memory"]) == ("NONE", None), name
        assert await listed(server) == []

    served(used)


def test_all_is_one_forgetting_also_with_a_key(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await added(server, PIZZA, SUSHI)
        key = {"headers": {"idempotency-key": "once"}}
        await answer(server, "DELETE", "/mem0/v1/memories/?user_id=ada", **key)
        assert await listed(server) == []
        gone = await server.twin.sql("SELECT DISTINCT cause FROM events WHERE event = 'retracted'")
        assert len(gone) == 1

    served(used)


def test_a_key_is_of_one_request_and_answers_it_again(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        pizza, sushi = await added(server, PIZZA, SUSHI)
        key = {"idempotency-key": "once"}
        gone = [await answer(server, "DELETE", path_of(pizza), headers=key) for _ in range(2)]
        assert gone[0] == gone[1]
        refused = await server.ask("DELETE", path_of(sushi), headers=key)
        assert (refused.status_code, refused.json()["reason"]) == (422, "id_conflict")
        refused = await server.ask("PUT", path_of(sushi), {"text": "No fish"}, headers=key)
        assert (refused.status_code, refused.json()["reason"]) == (422, "id_conflict")
        assert await listed(server) == [SUSHI]

    served(used)


def test_a_key_of_a_call_that_had_nothing_to_do_is_of_that_call_too(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        [pizza] = await added(server, PIZZA)
        greeting = {**ADA, "messages": [{"role": "assistant", "content": "Hello!"}]}
        for method, path, first, other in (
            ("POST", ADD, greeting, {**ADA, "messages": [{"role": "user", "content": SUSHI}]}),
            ("PUT", path_of(pizza), {"expiration_date": None}, {"text": SUSHI}),
        ):
            key = {"idempotency-key": method}
            said = [await answer(server, method, path, first, headers=key) for _ in range(2)]
            assert said[0] == said[1]
            assert (await server.ask(method, path, other, headers=key)).status_code == 422
        assert await listed(server) == [PIZZA]

    served(used)


def test_all_is_forgotten_once_by_a_key_though_more_came_since(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        key = {"headers": {"idempotency-key": "once"}}
        await added(server, PIZZA)
        await answer(server, "DELETE", "/mem0/v1/memories/?user_id=ada", **key)
        await added(server, SUSHI)
        await answer(server, "DELETE", "/mem0/v1/memories/?user_id=ada", **key)
        assert await listed(server) == [SUSHI]

    served(used)


def test_all_of_nobody_is_forgotten_once_by_a_key_though_some_came_since(
    served: Use[None],
) -> None:
    async def used(server: Server) -> None:
        key = {"headers": {"idempotency-key": "once"}}
        path = "/mem0/v1/memories/?user_id=ada"
        first = await answer(server, "DELETE", path, **key)
        await added(server, PIZZA)
        assert await answer(server, "DELETE", path, **key) == first
        assert await listed(server) == [PIZZA]
        other = await server.ask("DELETE", f"{path}&agent_id=cook", headers=key["headers"])
        assert (other.status_code, other.json()["reason"]) == (422, "id_conflict")
        said = {"messages": [{"role": "user", "content": SUSHI}], **ADA}
        more = {"messages": [*said["messages"], {"role": "user", "content": "tea"}], **ADA}
        named = {"headers": {"idempotency-key": "said"}}
        told = [await answer(server, "POST", ADD, said, **named) for _ in range(2)]
        assert told[0] == told[1]
        other = await server.ask("POST", ADD, more, headers=named["headers"])
        assert (other.status_code, other.json()["reason"]) == (422, "id_conflict")
        assert await listed(server) == [SUSHI, PIZZA]

    served(used)


def test_of_messages_of_which_one_is_invalid_none_is_stored(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        messages = [{"role": "user", "content": text} for text in (PIZZA, "x" * 40_000, SUSHI)]
        refused = await server.ask("POST", ADD, {"messages": messages, **ADA})
        assert refused.status_code == 422
        assert await listed(server) == []

    served(used)


@pytest.mark.parametrize("asked", [{"icontains": "YES"}, {"icontains": 1}, {"contains": "yes"}])
def test_what_has_no_such_value_does_not_pass(asked: dict[str, Any]) -> None:
    passes = parse_filters(ADA, {"metadata": {"sure": asked}}).keep
    assert not passes({"metadata": {}})
    assert not passes({"metadata": {"sure": 1}})
    assert passes({"metadata": {"sure": "yes, yes"}}) == (1 not in asked.values())


def test_nobody_is_never_everybody(served: Use[None]) -> None:
    message = {"messages": [{"role": "user", "content": PIZZA}]}
    asked: list[tuple[str, str, Any]] = [
        ("POST", ADD, message),
        ("POST", ADD, {**message, "agent_id": "cook"}),
        ("POST", LIST, {}),
        ("POST", LIST, {"filters": {"user_id": "*"}}),
        ("POST", LIST, {"filters": {"user_id": {"ne": "bob"}}}),
        ("POST", LIST, {"filters": {"OR": [ADA, {"agent_id": "cook"}]}}),
        ("POST", LIST, {"filters": {"AND": [ADA, {"user_id": "bob"}]}}),
        ("POST", SEARCH, {"query": "food"}),
        ("POST", SEARCH, {"query": "food", "filters": {"agent_id": "cook"}}),
        ("DELETE", "/mem0/v1/memories/", None),
        ("DELETE", "/mem0/v1/memories/?agent_id=cook", None),
    ]

    async def used(server: Server) -> None:
        for method, path, document in asked:
            response = await server.ask(method, path, document, name="root")
            assert response.status_code == 422, (path, document, response.text)
            assert "user_id" in response.text
        assert (await server.twin.status())["candidates"] == 0

    served(used)


def test_what_is_another_users_is_not_there(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA)
        for method, rest in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "history/")):
            document = {"text": SUSHI} if method == "PUT" else None
            mine = await server.ask(method, path_of(row, rest), document, name="bob")
            nobodys = await server.ask(method, path_of({"id": "x"}, rest), document, name="bob")
            assert (mine.status_code, mine.json()) == (404, nobodys.json())
        asked: list[tuple[str, str, Any]] = [
            ("POST", ADD, {"messages": [], **ADA}),
            ("POST", LIST, {"filters": ADA}),
            ("POST", SEARCH, {"query": "food", "filters": ADA}),
            ("DELETE", "/mem0/v1/memories/?user_id=ada", None),
        ]
        for method, path, document in asked:
            assert (await server.ask(method, path, document, name="bob")).status_code == 403
        assert await listed(server) == [PIZZA]
        assert (await server.ask("GET", "/mem0/v1/ping/", name=None)).status_code == 401

    served(used)


def test_users_are_those_whom_the_token_opens(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Bob rows", "bob")
        await added(server, PIZZA)
        seen = {}
        for name in ("ada", "grace"):
            found = await answer(server, "GET", "/mem0/v1/entities/", name=name)
            seen[name] = [(result["type"], result["name"]) for result in found["results"]]
        assert seen == {"ada": [("user", "ada")], "grace": [("user", "ada"), ("user", "bob")]}

    served(used)


def test_pages_are_counted(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        texts = [f"who{n} does{n} what{n}" for n in range(5)]
        await added(server, *texts)
        seen: list[str] = []
        for page in (1, 2, 3):
            found = await answer(
                server, "POST", f"{LIST}?page={page}&page_size=2", {"filters": ADA}
            )
            seen += [row["memory"] for row in found["results"]]
            assert found["count"] == 5
            assert (found["next"] is None, found["previous"] is None) == (page == 3, page == 1)
        assert seen == texts[::-1]
        assert (await server.ask("POST", f"{LIST}?page=0", {"filters": ADA})).status_code == 422

    served(used)


def test_filters_narrow_lists_and_searches(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        for number in range(6):
            await added(
                server,
                f"who{number} does{number} what{number}",
                agent_id=f"agent {number % 2}",
                metadata={"n": number, "tags": ["even", "odd"][number % 2 : number % 2 + 1]},
            )
        await added(server, "who0 does0 what0", agent_id="agent 1", metadata={"n": 0})
        assert len(await listed(server, agent_id="agent 1")) == 4
        assert len(await listed(server, agent_id={"ne": "agent 1"})) == 2
        assert len(await listed(server, metadata={"n": {"gte": 3}})) == 3
        assert len(await listed(server, metadata={"tags": ["odd"]})) == 3
        assert len(await listed(server, NOT=[{"metadata": {"n": {"in": [1, 2]}}}])) == 4
        assert (
            len(
                await listed(
                    server, OR=[{"agent_id": "agent 0"}, {"keywords": {"contains": "who5"}}]
                )
            )
            == 3
        )
        asked = {"filters": {"AND": [ADA, {"metadata": {"tags": {"contains": "odd"}}}]}, "top_k": 2}
        found = await answer(server, "POST", SEARCH, {**asked, "query": "who3 does3 what3"})
        assert len(found["results"]) == 2
        assert found["results"][0]["metadata"] == {"n": 3, "tags": ["odd"]}
        near = {"query": "who3 does3 what3", "filters": ADA, "threshold": 1.0}
        assert len((await answer(server, "POST", SEARCH, near))["results"]) == 1
        twice = {"filters": {"AND": [ADA, {"metadata": {"n": 1}}, {"metadata": {"n": 2}}]}}
        assert (await answer(server, "POST", LIST, twice))["count"] == 0

    served(used)


def test_a_search_finds_also_what_is_far_unless_it_says_how_near(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def used(server: Server) -> None:
        await added(server, PIZZA)
        near = await server.twin.recall("ada", PIZZA)

        async def far(*_: Any, **__: Any) -> list[Any]:
            return [{**one, "score": -0.25} for one in near]

        monkeypatch.setattr(server.twin, "recall", far)
        for threshold, count in (({}, 1), ({"threshold": -0.25}, 1), ({"threshold": 0}, 0)):
            asked = {"query": "opposite", "filters": ADA, **threshold}
            assert len((await answer(server, "POST", SEARCH, asked))["results"]) == count

    served(used)


def test_metadata_and_days_may_stand_beside_the_filters(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        [row] = await added(server, PIZZA, metadata={"n": 1})
        await added(server, SUSHI, metadata={"n": 2})
        near = {"query": PIZZA, "filters": ADA, "metadata": {"n": 2}}
        found = (await answer(server, "POST", SEARCH, near))["results"]
        assert [one["memory"] for one in found] == [SUSHI]
        at = (await answer(server, "GET", path_of(row)))["created_at"]
        for begin, end, count in (
            (at, at, 1),
            (at, None, 2),
            (None, at, 1),
            (None, "2020-01-01", 0),
        ):
            dates = {"start_date": begin, "end_date": end}
            found = await answer(server, "POST", LIST, {"filters": ADA, **dates})
            assert found["count"] == count, dates

    served(used)


@each(
    ("asked", "row", "passes"),
    [
        (
            {"created_at": {"gte": "2026-01-01", "lt": "2026-01-02"}},
            {"created_at": "2026-01-01T09:00:00+00:00"},
            True,
        ),
        ({"created_at": {"lt": "2026-01-01"}}, {"created_at": "2026-01-01T00:00:00+00:00"}, False),
        (
            {"created_at": {"gte": "2026-01-01T01:00:00+02:00"}},
            {"created_at": "2025-12-31T23:30:00+00:00"},
            True,
        ),
        ({"run_id": "*"}, {"run_id": None}, False),
        ({"metadata": {"tags": "*"}}, {"metadata": {"tags": []}}, False),
        ({"metadata": {"tags": "*"}}, {"metadata": {"tags": ["odd"]}}, True),
        ({"run_id": {"in": ["a", "b"]}}, {"run_id": "b"}, True),
        ({"keywords": {"icontains": "PIZZA"}}, {"memory": PIZZA}, True),
        ({"metadata": {"n": {"gt": "x"}}}, {"metadata": {"n": 1}}, False),
        ({"AND": [{"NOT": [{"run_id": "a"}]}]}, {"run_id": "a"}, False),
        ({"metadata": {"tags": {"ne": "odd"}}}, {"metadata": {"tags": ["odd", "red"]}}, False),
        ({"metadata": {"tags": {"ne": "odd"}}}, {"metadata": {"tags": ["even", "red"]}}, True),
        ({"metadata": {"tags": ["odd", "red"]}}, {"metadata": {"tags": ["odd", "red"]}}, True),
        ({"metadata": {"tags": ["odd"]}}, {"metadata": {"tags": ["odd", "red"]}}, False),
        ({"metadata": {"tags": ["odd"]}}, {"metadata": {"tags": "odd"}}, False),
        ({"metadata": {"tags": {"ne": ["odd"]}}}, {"metadata": {"tags": ["odd"]}}, False),
        ({"metadata": {"tags": {"in": ["odd"]}}}, {"metadata": {"tags": ["odd", "red"]}}, True),
    ],
)
def test_a_condition(asked: dict[str, Any], row: dict[str, Any], passes: bool) -> None:
    filters = parse_filters({**ADA, "OR": [asked]})
    assert filters.keep(row) is passes


@pytest.mark.parametrize(
    "asked",
    [
        {"colour": "red"},
        {"categories": {"in": ["food"]}},
        {"run_id": {"near": 1}},
        {"run_id": {"in": "abc"}},
        {"created_at": {"gte": "yesterday"}},
        {"OR": {"run_id": "a"}},
    ],
)
def test_a_condition_that_is_not_understood_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as refused:
        parse_filters(ADA, asked)
    assert problem_of(refused.value).status == 422


@pytest.mark.parametrize(
    "more",
    [{"expiration_date": "some day"}, {"colour": "red"}, {"timestamp": "soon"}, {"metadata": 1}],
)
def test_what_would_mean_something_is_not_ignored(served: Use[None], more: dict[str, Any]) -> None:
    async def used(server: Server) -> None:
        said = {"messages": [{"role": "user", "content": PIZZA}], **ADA}
        assert (await server.ask("POST", ADD, {**said, **more})).status_code == 422
        assert (await server.ask("POST", ADD, {**said, "expiration_date": None})).status_code == 200

    served(used)


def test_an_update_moves_the_last_day_and_a_person_sets_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = {"messages": [{"role": "user", "content": PIZZA}], **ADA}
        added = await server.ask("POST", ADD, {**said, "expiration_date": "2999-01-01"})
        path = f"/mem0/v1/memories/{added.json()['results'][0]['id']}/"
        for more in ({"metadata": {"n": 1}}, {"text": "Ada is fond of ramen"}):
            kept = await server.ask("PUT", path, more)
            assert kept.json()["expiration_date"] == "2999-01-01", "nothing else prolongs it"
        for day in ("2999-12-30", "2020-01-31", "2999-06-01"):
            moved = await server.ask("PUT", path, {"expiration_date": day, "metadata": {"n": day}})
            assert (moved.json()["expiration_date"], moved.json()["metadata"]) == (day, {"n": day})
        never = {"expiration_date": None}
        assert (await server.ask("PUT", path, never)).json()["reason"] == "outranked"
        assert "expiration_date" not in (await server.ask("PUT", path, never, name="grace")).json()
        later = {"expiration_date": "2999-01-01"}
        assert (await server.ask("PUT", path, later)).json()["reason"] == "outranked"
        for no_day in ("some day", "9999-12-31", 5.5):
            wrong = await server.ask("PUT", path, {"expiration_date": no_day})
            assert wrong.status_code == 422

    served(used)


def test_a_star_stands_for_any_value_and_for_none_that_is_missing() -> None:
    filters = parse_filters({"user_id": "ada", "agent_id": "*", "metadata": {"page": "*"}})
    assert filters.metadata == {}, "no member has to say a star"
    row = {"agent_id": "chef", "metadata": {"page": 3}}
    assert filters.keep(row)
    assert not filters.keep({**row, "agent_id": None})
    assert not filters.keep({**row, "metadata": {}})


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process is Unix's")
def test_a_time_without_a_zone_is_utc_wherever_the_server_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filters = parse_filters({"user_id": "ada", "created_at": {"gte": "2026-03-01T12:00:00"}})
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        there = parse_filters({"user_id": "ada", "created_at": {"gte": "2026-03-01T12:00:00"}})
        for each in (filters, there):
            assert each.keep({"created_at": "2026-03-01T12:00:00+00:00"})
            assert not each.keep({"created_at": "2026-03-01T11:59:00+00:00"})
    finally:
        monkeypatch.undo()
        time.tzset()


MANY: list[dict[str, Any]] = [
    {"AND": [{"user_id": "ada"}, *({"agent_id": str(n)} for n in range(5_000))]},
    {"AND": [{"user_id": "ada"}, {"OR": [{"metadata": {"a": n}} for n in range(5_000)]}]},
    {"user_id": "ada", "metadata": {f"key {n}": "*" for n in range(5_000)}},
    {"user_id": "ada", "metadata": {"a": {"in": [[n] for n in range(5_000)]}}},
    {"user_id": "ada", "agent_id": {"in": [str(n) for n in range(20_000)]}},
]


@pytest.mark.parametrize("filters", MANY)
def test_filters_have_a_bound(filters: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="at most 500 conditions"):
        parse_filters(filters)


def test_a_long_list_is_looked_up() -> None:
    wanted = [f"agent {n}" for n in range(9_000)]
    filters = parse_filters({"user_id": "ada", "NOT": [{"agent_id": {"in": wanted}}]})
    assert filters.keep({"agent_id": "agent 9001"})
    assert not filters.keep({"agent_id": "agent 8999"})
    assert filters.keep({"agent_id": ["a list that has no hash"]})


def test_others_add_while_memories_are_filtered(
    served: Use[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    filtering, added = threading.Event(), threading.Event()
    kept = mem0._kept

    def wait(*args: Any) -> Any:
        filtering.set()
        assert added.wait(60)
        return kept(*args)

    monkeypatch.setattr(mem0, "_kept", wait)

    async def used(server: Server) -> None:
        answering = asyncio.create_task(
            server.ask("POST", "/mem0/v3/memories/", {"filters": {"user_id": "ada"}})
        )
        assert await asyncio.to_thread(filtering.wait, 60)
        await server.add("The ferry leaves at noon.", "bob")
        added.set()
        assert (await answering).status_code == 200

    served(used)


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief"},
    {"role": "user", "content": [PICTURE, {"type": "text", "text": PIZZA}, "and olives"]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "[]"},
    {"role": "assistant", "tool_calls": []},
    {"role": "user", "content": PICTURE},
    {"role": "user", "content": [PICTURE]},
    {"role": "assistant", "content": [{"type": "output_text", "text": SUSHI}, {"text": None}]},
]


@pytest.mark.parametrize(
    ("infer", "said"),
    [(True, [f"{PIZZA}\nand olives"]), (False, [SUSHI, "[]", f"{PIZZA}\nand olives"])],
)
def test_a_conversation_is_read_for_the_texts_that_it_holds(
    served: Use[None], infer: bool, said: list[str]
) -> None:
    async def used(server: Server) -> None:
        messages = {"messages": CONVERSATION, "infer": infer, **ADA}
        assert len((await answer(server, "POST", ADD, messages))["results"]) == len(said)
        assert await listed(server) == said

    served(used)


def test_a_long_conversation_is_remembered_whole_or_not_at_all(served: Use[None]) -> None:
    def messages(count: int, last: str = "the end") -> dict[str, Any]:
        texts = [*(f"note {n} {n}x{n}" for n in range(count - 1)), last]
        return {"messages": [{"content": text} for text in texts], **ADA}

    async def used(server: Server) -> None:
        for wrong in (messages(513), messages(300, "x" * 40_000), messages(300, "a\u0000b")):
            response = await server.ask("POST", ADD, wrong)
            assert response.status_code == 422
            assert await listed(server) == []
        silent = [{"role": "assistant", "content": "as you wish"}] * 600
        many = {**messages(512), "messages": [*silent, *messages(512)["messages"]]}
        assert len((await answer(server, "POST", ADD, many))["results"]) == 512
        assert len(await listed_pages(server)) == 512

    served(used)


async def listed_pages(server: Server) -> list[str]:
    """The memories of all pages."""
    found: list[str] = []
    for page in range(1, 9):
        path = f"{LIST}?page={page}&page_size=200"
        rows = await answer(server, "POST", path, {"filters": ADA})
        found += [row["memory"] for row in rows["results"]]
    return found


def test_the_time_of_a_message_is_shown_and_filtered(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await added(server, PIZZA, timestamp=1_700_000_000)
        await added(server, SUSHI)
        past = {"created_at": {"lt": "2024-01-01"}}
        assert await listed(server, **past) == [PIZZA]
        assert await listed(server, created_at={"gte": "2024-01-01"}) == [SUSHI]
        found = await answer(server, "POST", SEARCH, {"query": "food", "filters": {**ADA, **past}})
        [row] = found["results"]
        assert row["created_at"] == "2023-11-14T22:13:20+00:00"
        assert (await answer(server, "GET", path_of(row)))["created_at"] == row["created_at"]
        dates = {"filters": ADA, "end_date": "2023-12-31"}
        assert [
            result["memory"] for result in (await answer(server, "POST", LIST, dates))["results"]
        ] == [PIZZA]

    served(used)
