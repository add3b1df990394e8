"""A scripted model with Palimpsest's tools, by `langchain-mcp-adapters` over standard input/output.

It starts the command in its arguments, holds the conversation, and prints what the model answered
and was shown. The model reads messages as a provider's API has them: the text of a tool's answer,
without its structured content.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from tests.palimpsest.server.mcp.conversation import CONVERSATION, NOT_KNOWN, Turn

LINE = re.compile(r'"((?:[^"\\]|\\.)*)" \(id ([0-9a-f-]+)')
"""A memory in the text of a tool's answer."""
TOKEN = re.compile(r"this token: (\S+)$", re.MULTILINE)
UNDO = re.compile(r"undo with id ([0-9a-f-]+)")


class Scripted(BaseChatModel):
    """Does the recorded action in each turn, with the ids that it was shown."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[Any], *args: Any, **options: Any) -> ChatResult:
        wire = convert_to_openai_messages(messages)
        heard = [at for at, message in enumerate(wire) if message["role"] == "user"]
        turn = CONVERSATION[len(heard) - 1]
        assert turn.user == wire[heard[-1]]["content"]
        shown = [_text(each) for each in wire[heard[-1] :] if each["role"] == "tool"]
        before = [_text(each) for each in wire[: heard[-1]] if each["role"] == "tool"]
        calls = [*_calls(turn, before, shown)][len(shown) :]
        if calls:
            [(name, arguments)] = calls
            call = {"name": name, "args": arguments, "id": f"call {len(wire)}"}
            said = AIMessage("", tool_calls=[call])
        else:
            said = AIMessage(_answer(turn, shown))
        return ChatResult(generations=[ChatGeneration(message=said)])


def _calls(turn: Turn, before: list[str], shown: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls of a turn that are possible with what was shown before it and in it."""
    match turn.does:
        case "remember":
            yield "add_memory", {"text": turn.text}
        case "ask":
            yield "search_memories", {"query": turn.text}
        case "correct" | "amend":
            amends = turn.does == "amend"
            first = ("add_memory", "text") if amends else ("search_memories", "query")
            yield first[0], {first[1]: turn.text}
            if shown:
                [meant, *_] = _ids(shown[0], turn.of)
                merge = {"merge": True} if amends else {}
                yield "update_memory", {"memory_id": meant, "text": turn.text, **merge}
        case "forget":
            yield "find_memories", {"query": turn.text}
            if shown:
                found = _ids(shown[0], turn.of)
                yield "delete_found_memories", {"memory_ids": found, "token": _token(shown[0])}
        case "undo":
            last = [found for text in before for found in UNDO.findall(text)][-1]
            yield "undo", {"id": last}
            if shown:
                yield "undo", {"id": last, "token": _token(shown[0])}
        case _:
            pass


def _answer(turn: Turn, shown: list[str]) -> str:
    if turn.does != "ask":
        return "All right."
    faces = (str(face) for face, _ in LINE.findall(shown[-1]) if turn.of in face)
    return next(faces, NOT_KNOWN)


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _ids(text: str, of: str) -> list[str]:
    return [memory for face, memory in LINE.findall(text) if of in face]


def _token(text: str) -> str:
    return str(TOKEN.findall(text)[0])


async def talk(command: list[str]) -> dict[str, Any]:
    """Hold the conversation; return the answer in each turn, and each call with its answer."""
    connection = {"transport": "stdio", "command": command[0], "args": command[1:]}
    async with MultiServerMCPClient({"memory": connection}).session("memory") as session:
        tools: dict[str, BaseTool] = {tool.name: tool for tool in await load_mcp_tools(session)}
        model, messages = Scripted(), list[BaseMessage]()
        answers, calls = [], []
        for turn in CONVERSATION:
            messages.append(HumanMessage(turn.user))
            while (said := await model.ainvoke(messages)).tool_calls:
                messages.append(said)
                for call in said.tool_calls:
                    done = await tools[call["name"]].ainvoke(call)
                    messages.append(done)
                    [wire] = convert_to_openai_messages([done])
                    calls.append({**call, "shown": _text(wire), "status": done.status})
            messages.append(said)
            answers.append(said.content)
    return {"answers": answers, "calls": calls}


if __name__ == "__main__":
    json.dump(asyncio.run(talk(sys.argv[1:])), sys.stdout)
