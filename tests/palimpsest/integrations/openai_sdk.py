"""What the tests need of the SDK of OpenAI's agents, and a scripted model for it."""

from __future__ import annotations

import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Session, Usage, set_tracing_disabled
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from palimpsest.openai_agents import PalimpsestSession, memory_tools

__all__ = ["Agent", "PalimpsestSession", "Runner", "Scripted", "Session", "memory_tools"]
set_tracing_disabled(True)


class Scripted(Model):
    """A model that makes these tool calls, turn by turn, and then says `done`."""

    def __init__(self, *turns: tuple[str, dict[str, Any]]) -> None:
        self._turns = [*turns]
        self.read: list[Any] = []

    async def get_response(self, *_: Any, **asked: Any) -> ModelResponse:
        """The next call, or the end."""
        self.read.append(asked["input"])
        number = len(self.read)
        if self._turns:
            name, arguments = self._turns.pop(0)
            output: Any = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"c{number}",
                name=name,
                arguments=json.dumps(arguments),
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(
                id=f"m{number}",
                type="message",
                role="assistant",
                status="completed",
                content=[text],
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not supported."""
        raise NotImplementedError
