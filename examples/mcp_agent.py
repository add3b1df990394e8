"""An agent whose memory is Palimpsest over MCP: it remembers, changes its mind, and forgets.

Run `python examples/mcp_agent.py "Remember: Ada has a big dog."`: each argument is a message of the
user; without arguments, each line of standard input is one. It needs `pip install
'.[serve,judge]'`, ANTHROPIC_API_KEY, and the name of a model in AGENT_MODEL.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from anthropic import AsyncAnthropic
from mcp import Client, StdioServerParameters

SYSTEM = "Remember what the user tells you with your tools; answer from what they show."


async def answer(memory: Client, model: AsyncAnthropic, name: str, text: str) -> str:
    """Let the model call tools until it answers; returns the answer."""
    tools: list[Any] = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "input_schema": tool.input_schema,
        }
        for tool in (await memory.list_tools()).tools
    ]
    messages: list[Any] = [{"role": "user", "content": text}]
    while True:
        turn = await model.messages.create(
            model=name, max_tokens=1024, system=SYSTEM, tools=tools, messages=messages
        )
        calls = [block for block in turn.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in turn.content if block.type == "text")
        results: list[Any] = []
        for call in calls:
            done = await memory.call_tool(call.name, dict(call.input))
            shown = {"content": json.dumps(done.structured_content), "is_error": done.is_error}
            results.append({"type": "tool_result", "tool_use_id": call.id, **shown})
        messages += [
            {"role": "assistant", "content": [block.model_dump() for block in turn.content]},
            {"role": "user", "content": results},
        ]


async def talk(texts: list[str], name: str) -> None:
    """Answer each of these texts, with Ada's memories in `agent-memories`."""
    command = ["-m", "palimpsest", "--store", "agent-memories", "mcp", "--owner", "ada"]
    async with (
        Client(StdioServerParameters(command=sys.executable, args=command)) as memory,
        AsyncAnthropic() as model,
    ):
        for text in texts:
            print(await answer(memory, model, name, text))


def main() -> None:
    """Hold a conversation."""
    name = os.environ.get("AGENT_MODEL")
    if not name:
        sys.exit("set AGENT_MODEL to the name of a model, and ANTHROPIC_API_KEY to a key")
    asyncio.run(talk(sys.argv[1:] or [line.strip() for line in sys.stdin], name))


if __name__ == "__main__":
    main()
