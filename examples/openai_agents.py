"""An agent of OpenAI's SDK with a memory, without a key: a stand-in replaces the model.

Run `python examples/openai_agents.py`; it needs `pip install '.[openai-agents]'`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from palimpsest import Palimpsest
from palimpsest.openai_agents import PalimpsestSession, memory_tools


class StandIn(Model):
    """Stands in for a language model: looks up what it knows, and says it."""

    async def get_response(self, *_: Any, **asked: Any) -> ModelResponse:
        """Search for the user's words first, then answer with what was found."""
        latest: Any = asked["input"][-1]
        if isinstance(latest, dict) and "output" in latest:
            facts = [
                line.partition(": ")[2].strip('"') for line in str(latest["output"]).split("\n")
            ]
            text = ResponseOutputText(
                type="output_text", text=f"I know: {' '.join(facts)}", annotations=[]
            )
            answer: Any = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            answer = ResponseFunctionToolCall(
                type="function_call",
                call_id="c",
                name="search_memories",
                arguments=json.dumps({"question": latest["content"]}),
            )
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not supported: it does not stream."""
        raise NotImplementedError


async def talk() -> None:
    """Hold two turns of a conversation; the second answers from memory."""
    with Palimpsest.open("agents-store") as memories:
        agent = Agent("helper", model=StandIn(), tools=[*memory_tools(memories, "ada")])
        session = PalimpsestSession(memories, "ada", "dinner")
        for text in ("Ada has a big dog.", "Ada has a large dog."):
            print((await Runner.run(agent, text, session=session)).final_output)
        session.close()
        print(f"{memories.list('ada')['total']} memory")


def main() -> None:
    """Hold a conversation with a memory."""
    set_tracing_disabled(True)
    asyncio.run(talk())


if __name__ == "__main__":
    main()
