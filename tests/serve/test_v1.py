"""The HTTP door: what it answers is what the store says, and what OpenAPI promises."""

from __future__ import annotations

import asyncio
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from palimpsest.serve.problems import MEDIA_TYPE
from tests.serve.conftest import Server, Use

MEMORIES = "/v1/owners/ada/memories"


def test_a_memory_is_added_found_and_shown(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        first = await server.add("Ada lives in Paris")
        again = await server.add("Ada lives in Paris")
        assert (first["decision"], again["decision"]) == ("stored", "hash_exact")
        await server.add("The cat sleeps", metadata={"room": ["kitchen"]}, topics=["pets"])
        response = await server.ask("POST", f"{MEMORIES}/search", {"query": "Ada lives", "k": 1})
        [memory] = response.json()["memories"]
        assert memory["face"] == "Ada lives in Paris"
        narrow = {"query": "Ada lives", "metadata": {"room": ["kitchen"]}}
        response = await server.ask("POST", f"{MEMORIES}/search", narrow)
        assert [one["face"] for one in response.json()["memories"]] == ["The cat sleeps"]
        found = await server.ask("POST", f"{MEMORIES}/find", {"query": "cat", "by": ["words"]})
        assert [hit["face"] for hit in found.json()["hits"]] == ["The cat sleeps"]
        checked = await server.ask("POST", f"{MEMORIES}/check", {"text": "The cat sleeps"})
        assert checked.json()["decision"] == "hash_exact"
        shown = await server.ask("GET", f"{MEMORIES}/{again['candidate_id']}/joins")
        assert shown.json()["memory_id"] == first["memory_id"]
        assert len(shown.json()["members"]) == 2

    served(used)


def test_a_key_makes_a_repeat_of_a_retry_and_refuses_other_content(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        key = {"Idempotency-Key": "k 1"}
        first = await server.ask("POST", MEMORIES, {"text": "Ada skis"}, headers=key)
        again = await server.ask("POST", MEMORIES, {"text": "Ada skis"}, headers=key)
        assert (first.json()["result"], again.json()["result"]) == ("decided", "known")
        assert first.json()["candidate_id"] == again.json()["candidate_id"]
        other = await server.ask("POST", MEMORIES, {"text": "Ada rows"}, headers=key)
        assert other.status_code == 422
        assert other.json()["reason"] == "id_conflict"
        assert (await server.twin.status())["candidates"] == 1

    served(used)


def test_an_unmerge_is_shown_done_once_and_taken_back(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, b = [await server.add(text) for text in ("Ada rows a boat", "Ada paints walls")]
        pair = {"a": a["candidate_id"], "b": b["candidate_id"]}
        joined = await server.ask("POST", "/v1/owners/ada/merge", pair, name="grace")
        decision = {"decision_id": joined.json()["decision_id"]}
        path = "/v1/owners/ada/unmerge"
        dry = await server.ask("POST", path, {**decision, "dry_run": True}, name="grace")
        assert len(dry.json()["memories"]) == 2
        assert (await server.twin.status())["memories"] == 1
        key = {"Idempotency-Key": "undo 1"}
        twice = [server.ask("POST", path, decision, name="grace", headers=key) for _ in range(2)]
        done, again = [await one for one in twice]
        assert done.json()["reversed"] == [decision["decision_id"]]
        assert again.json() == done.json()
        path = "/v1/owners/ada/reinstate"
        back = await server.ask("POST", path, decision, name="grace")
        assert len(back.json()["memories"]) == 1
        refused = await server.ask("POST", path, decision, name="grace")
        assert refused.status_code == 409
        assert refused.json()["reason"]

    served(used)


def test_a_memory_is_changed_once_by_a_key_and_forgotten(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = (await server.add("Ada works at Google"))["memory_id"]
        path, key = f"{MEMORIES}/{memory}", {"Idempotency-Key": "change 1"}
        said = {"text": "Ada works at Meta", "because": "she said so"}
        dry = await server.ask("PATCH", path, {**said, "dry_run": True})
        assert dry.json()["changed"]
        done, again = [await server.ask("PATCH", path, said, headers=key) for _ in range(2)]
        assert done.json()["decision_id"] == again.json()["decision_id"]
        assert (await server.ask("GET", path)).json()["face"] == "Ada works at Meta"
        page = await server.ask("GET", MEMORIES, params={"limit": 1})
        assert (page.json()["total"], page.json()["next"]) == (1, None)
        back = await server.ask("POST", "/v1/owners/ada/undo", {"id": memory})
        assert back.status_code == 200
        assert (await server.ask("GET", path)).json()["face"] == "Ada works at Google"
        events = (await server.ask("GET", f"{path}/history")).json()["events"]
        assert events[1]["actor"] == "ada"
        assert events[1]["because"] == "she said so"
        gone = await server.ask("DELETE", path)
        assert memory in gone.json()["candidates"]
        assert (await server.ask("GET", path)).status_code == 404
        assert (await server.ask("GET", path, name="grace")).json()["state"] == "retracted"

    served(used)


def test_decisions_come_page_by_page_and_who_waits_gets_the_next(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        path = "/v1/owners/ada/decisions"
        nothing = await server.ask("GET", path)
        assert nothing.json()["decisions"] == []
        for number in range(3):
            await server.add(f"note {number} of {number}")
            await server.add(f"note {number} of {number}", "bob")
        first = (await server.ask("GET", path, params={"limit": 2})).json()
        rest = (await server.ask("GET", path, params={"after": first["next"]})).json()
        assert [len(first["decisions"]), len(rest["decisions"])] == [2, 1]
        waiting = asyncio.ensure_future(
            server.ask("GET", path, params={"after": rest["next"], "wait": 20})
        )
        await asyncio.sleep(0.05)
        await server.add("another", "bob")
        await asyncio.sleep(0.15)
        assert not waiting.done()
        news = await server.add("something else entirely")
        [decision] = (await waiting).json()["decisions"]
        assert decision["candidate_id"] == news["candidate_id"]
        idle = asyncio.ensure_future(
            server.ask("GET", path, params={"after": await server.twin.position(), "wait": 20})
        )
        await asyncio.sleep(0.05)
        server.app.end()
        assert (await idle).json()["decisions"] == []

    served(used)


def test_what_is_wrong_is_a_problem_without_what_was_sent(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        marker = "hippopotamus"
        wrong: list[tuple[str, str, Any, int]] = [
            ("POST", MEMORIES, {"text": f"{marker}\x00"}, 422),
            ("POST", MEMORIES, {"text": "a", marker: marker}, 422),
            ("POST", MEMORIES, {"text": "a", "confidence": marker}, 422),
            ("POST", MEMORIES, [marker], 422),
            ("POST", f"{MEMORIES}/search", {"query": marker, "k": 101}, 422),
            ("GET", f"/v1/owners/ada/decisions?wait={marker}", None, 422),
            ("GET", "/v1/owners/ada/decisions?wait=nan", None, 422),
            ("GET", f"/v1/owners/ada/decisions?{marker}=1", None, 422),
            ("GET", "/v1/owners/ada/decisions?wait=1&wait=2", None, 422),
            ("POST", "/v1/owners/ada/unmerge", {"decision_id": "a", "memory_id": "b"}, 422),
            ("POST", "/v1/owners/ada/unmerge", {"decision_id": marker}, 404),
            ("POST", MEMORIES, None, 400),
            ("GET", f"/v1/{marker}", None, 404),
            ("PUT", f"{MEMORIES}/search", None, 405),
        ]
        for method, path, document, status in wrong:
            response = await server.ask(method, path, document)
            assert response.status_code == status, (path, response.text)
            assert response.headers["content-type"] == MEDIA_TYPE
            assert response.json()["status"] == status
            assert marker not in response.text
        async with server.client() as client:
            headers = {"content-type": "application/json"}
            broken = await client.post(MEMORIES, content=b'{"text": "hip', headers=headers)
            assert broken.status_code == 400
            deep = b'{"text": "a", "metadata": ' + b'{"a":' * 60 + b"1" + b"}" * 61
            assert (await client.post(MEMORIES, content=deep, headers=headers)).status_code == 400

    served(used)


def test_with_a_key_a_memory_keeps_the_id_that_it_was_offered_with(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = {"text": "Ada sings", "id": "mine"}
        key = {"idempotency-key": "once"}
        first = await server.ask("POST", MEMORIES, memory, headers=key)
        again = await server.ask("POST", MEMORIES, memory)
        assert (again.json()["result"], again.json()["candidate_id"]) == (
            "known",
            first.json()["candidate_id"],
        )

    served(used)


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON;x=y"])
def test_json_may_name_more_than_its_kind(served: Use[None], kind: str) -> None:
    async def used(server: Server) -> None:
        async with server.client() as client:
            said = await client.post(
                MEMORIES, content=b'{"text": "Ada sings"}', headers={"content-type": kind}
            )
        assert said.is_success, said.text

    served(used)


def test_answers_are_what_openapi_promises(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        told = (await server.ask("GET", "/v1/openapi.json")).json()
        operations = {
            f"{method.upper()} {path}": operation
            for path, methods in told["paths"].items()
            for method, operation in methods.items()
        }
        routes = {route.path for route in server.app.gate.routes if route.path.startswith("/v1")}
        assert routes - {"/v1/openapi.json"} == set(told["paths"])

        def require(response: Any, operation: str) -> None:
            content = operations[operation]["responses"]["200"]["content"]
            schema = content["application/json"]["schema"]
            whole = {**schema, "components": told["components"]}
            jsonschema.Draft202012Validator(whole).validate(response.json())

        base = "/v1/owners/{owner}/memories"
        added = await server.ask("POST", MEMORIES, {"text": "Ada sings"})
        require(added, f"POST {base}")
        many = await server.ask("POST", f"{MEMORIES}/batch", {"memories": [{"text": "Ada hums"}]})
        require(many, f"POST {base}/batch")
        require(await server.ask("POST", f"{MEMORIES}/find", {"query": "Ada"}), f"POST {base}/find")
        asked = await server.ask("POST", f"{MEMORIES}/search", {"query": "Ada"})
        require(asked, f"POST {base}/search")
        one = f"{MEMORIES}/{added.json()['memory_id']}"
        for what in ("", "/history", "/joins"):
            shown = await server.ask("GET", f"{one}{what}")
            require(shown, f"GET {base}/{{memory}}{what}")
        require(await server.ask("GET", MEMORIES), f"GET {base}")
        changed = await server.ask("PATCH", one, {"text": "Ada sings no more"})
        require(changed, f"PATCH {base}/{{memory}}")
        undone = await server.ask(
            "POST", "/v1/owners/ada/undo", {"id": changed.json()["decision_id"]}
        )
        require(undone, "POST /v1/owners/{owner}/undo")
        shown = await server.ask("POST", f"{MEMORIES}/forget-all", {})
        require(shown, f"POST {base}/forget-all")
        require(await server.ask("DELETE", one), f"DELETE {base}/{{memory}}")
        checked = await server.ask("POST", f"{MEMORIES}/check", {"text": "Ada sings"})
        require(checked, f"POST {base}/check")
        feed = await server.ask("GET", "/v1/owners/ada/decisions")
        require(feed, "GET /v1/owners/{owner}/decisions")
        problem = await server.ask("GET", "/v1/status")
        default = operations["GET /v1/status"]["responses"]["default"]["content"][MEDIA_TYPE]
        whole = {**default["schema"], "components": told["components"]}
        jsonschema.Draft202012Validator(whole).validate(problem.json())

    served(used)
