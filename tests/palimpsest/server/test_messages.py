"""Conversations over HTTP and MCP: remembered all or nothing, and once per key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.streams.judge.settings import JudgeSettings
from tests.palimpsest.server.conftest import Server, Use, serving
from tests.palimpsest.server.test_mcp import client, prose
from tests.streams.judge.conftest import server

__all__ = ["server"]
PATH = "/v1/owners/ada/memories/messages"
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind"},
    {"role": "user", "content": "Ada has a big dog", "timestamp": "2026-03-01T12:00:00Z"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
    {"role": "user", "content": [PICTURE, {"type": "text", "text": "Ada rows a boat"}], "id": "m4"},
    {"role": "user", "content": "  "},
    {"content": [PICTURE]},
]


async def listed(server: Server) -> list[dict[str, Any]]:
    found = await server.ask("GET", "/v1/owners/ada/memories")
    return list(reversed(found.json()["memories"]))


def test_without_a_judge_each_message_is_kept_for_what_it_holds(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = {"messages": SAID, "session_id": "s", "namespace": "chat"}
        added = (await server.ask("POST", PATH, said)).json()["memories"]
        assert [(one["text"], one["message"]) for one in added] == [
            ("Ada has a big dog", 2),
            ("Ada rows a boat", "m4"),
        ]
        assert {one["decision"] for one in added} == {"stored"}
        dog, boat = await listed(server)
        assert dog["metadata"] == {"message": 2, "role": "user"}
        assert dog["occurred_at"] == "2026-03-01T12:00:00+00:00"
        assert (boat["namespace"], boat["members"][0]["session_id"]) == ("chat", "s")
        nothing = await server.ask("POST", PATH, {"messages": SAID[:1]})
        assert nothing.json() == {"memories": []}

    served(used)


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": []},
        {"messages": [{"content": "x"}] * 513},
        {"messages": [*SAID, {"content": "x" * 40_000}]},
        {"messages": [*SAID, {"content": "Ada", "at": "soon"}]},
        {"messages": [*SAID, {"content": {"text": "Ada"}}]},
        {"messages": SAID, "infer": True},
        {"messages": SAID, "colour": "red"},
        {},
    ],
)
def test_what_cannot_be_read_keeps_nothing(wrong: Any, served: Use[None]) -> None:
    async def used(server: Server) -> None:
        refused = await server.ask("POST", PATH, wrong)
        assert refused.status_code == 422
        assert "Ada" not in refused.text
        assert await listed(server) == []

    served(used)


def judged(folder: Path, judge: JudgeServer, use: Callable[[Server], Awaitable[None]]) -> None:
    """Use a server with a judge."""

    async def run() -> None:
        async with serving(folder) as server:
            server.twin.judge = JudgeSettings(base_url=judge.url, retries=0, calls_per_second=1000)
            await use(server)

    asyncio.run(run())


KEY = {"Idempotency-Key": "turn 7"}


def test_a_judges_model_extracts_and_a_repeat_asks_nobody(
    tmp_path: Path, server: JudgeServer
) -> None:
    first: list[Any] = []

    async def used(at: Server) -> None:
        answers = await asyncio.gather(
            *(at.ask("POST", PATH, {"messages": SAID}, headers=KEY) for _ in range(3))
        )
        first.append(answers[0].json())
        assert [one.json() for one in answers] == first * 3
        texts = [(one["text"], one["message"]) for one in first[0]["memories"]]
        assert texts == [("Ada has a big dog", 2), ("Ada rows a boat", "m4")]
        assert [one["face"] for one in await listed(at)] == ["Ada has a big dog", "Ada rows a boat"]

    async def again(at: Server) -> None:
        calls = server.calls
        server.always = Fault(status=500)
        repeat = await at.ask("POST", PATH, {"messages": SAID}, headers=KEY)
        assert repeat.json() == first[0]
        other = await at.ask("POST", PATH, {"messages": SAID[1:]}, headers=KEY)
        assert (other.status_code, other.json()["reason"]) == (422, "id_conflict")
        elsewhere = await at.ask("POST", PATH[: -len("/messages")], {"text": "x"}, headers=KEY)
        assert (elsewhere.status_code, elsewhere.json()["reason"]) == (422, "id_conflict")
        assert server.calls == calls
        kept = await at.ask("POST", PATH, {"messages": SAID, "infer": False})
        assert kept.status_code == 200

    judged(tmp_path, server, used)
    judged(tmp_path, server, again)


def test_a_judge_that_does_not_answer_keeps_nothing(tmp_path: Path, server: JudgeServer) -> None:
    async def used(at: Server) -> None:
        server.always = Fault(status=500)
        failed = await at.ask("POST", PATH, {"messages": SAID}, headers=KEY)
        assert failed.status_code == 503
        assert await listed(at) == []
        server.always = None
        done = await at.ask("POST", PATH, {"messages": SAID}, headers=KEY)
        assert len(done.json()["memories"]) == 2

    judged(tmp_path, server, used)


def test_a_model_that_answers_in_another_form_is_no_model_that_found_nothing(
    tmp_path: Path, server: JudgeServer
) -> None:
    def prose_alone(message: dict[str, Any]) -> dict[str, Any]:
        return message | {"content": [{"type": "text", "text": "<think>Ada has a dog</think>"}]}

    async def used(at: Server) -> None:
        server.always = Fault(change=prose_alone)
        failed = await at.ask("POST", PATH, {"messages": SAID}, headers=KEY)
        assert (failed.status_code, failed.json()["type"]) == (502, "urn:palimpsest:problem:model")
        assert "did not answer in the form" in failed.json()["detail"]
        assert "`infer` false" in failed.json()["detail"]
        async with client(at) as made:
            told = await made.call_tool("add_messages", {"messages": SAID})
            assert told.is_error
            assert "nothing is stored" in prose(told)
            assert "again in a few seconds" not in prose(told)
        server.fail(Fault(change=prose_alone))
        server.always = Fault(status=500)
        two_parts = [{"role": "user", "content": "Ada has a dog. " * 1_200} for _ in range(2)]
        mixed = await at.ask("POST", PATH, {"messages": two_parts}, headers=KEY)
        assert mixed.status_code == 502, "one part is answered and paid for"
        assert await listed(at) == []
        server.always = None
        done = await at.ask("POST", PATH, {"messages": SAID}, headers=KEY)
        assert len(done.json()["memories"]) == 2

    judged(tmp_path, server, used)


def test_that_nothing_was_to_be_kept_is_known_under_the_key_too(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        nothing = {"messages": SAID[:1]}
        for _ in range(2):
            done = await server.ask("POST", PATH, nothing, headers=KEY)
            assert done.json() == {"memories": []}
        other = await server.ask("POST", PATH, {"messages": SAID}, headers=KEY)
        assert (other.status_code, other.json()["reason"]) == (422, "id_conflict")

    served(used)


def test_others_are_served_while_the_judge_reads(tmp_path: Path, server: JudgeServer) -> None:
    async def used(at: Server) -> None:
        server.delay = 5.0
        reading = asyncio.ensure_future(at.ask("POST", PATH, {"messages": SAID}))
        while not server.calls:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.001)
        assert await listed(at) == []
        assert not reading.done()
        assert (await reading).status_code == 200

    judged(tmp_path, server, used)


def test_a_model_is_told_what_became_of_each_message(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async with client(server) as made:
            result = await made.call_tool("add_messages", {"messages": SAID})
            told = prose(result)
            assert "Ada has a big dog" in told
            assert told.count("From message") == 2
            assert told.count("Stored as memory") == 2
            none = await made.call_tool("add_messages", {"messages": SAID[:1]})
            assert prose(none) == "Nothing in these messages is worth remembering."
            hidden = await made.call_tool("add_messages", {"messages": SAID, "infer": True})
            assert hidden.is_error

    served(used)
