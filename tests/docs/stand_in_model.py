"""A language model stood in for: it answers `/v1/messages` with the tools that plain words mean.

It has no state: what comes next follows from the messages, as it does for a model.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]


def next_step(said: str, results: list[Any]) -> Call | str:
    """The next tool with its arguments, or what is said in the end."""
    verb, _, rest = said.partition(": ")
    match verb, results:
        case "Remember", []:
            return "add_memory", {"text": rest}
        case "Remember", [done]:
            return f"I remember it ({done['decision']})."
        case "Change", []:
            return "search_memories", {"query": rest.split(" -> ")[0], "k": 1}
        case "Change", [{"memories": [found]}]:
            text = rest.split(" -> ")[1]
            return "update_memory", {"memory_id": found["memory_id"], "text": text}
        case "Change", [_, done]:
            return f"Now it is: {done['memories'][0]['face']}"
        case "Forget", []:
            return "find_memories", {"query": rest, "by": ["words"]}
        case "Forget", [plan]:
            ids = [hit["memory_id"] for hit in plan["hits"]]
            return "delete_found_memories", {"memory_ids": ids, "token": plan["token"]}
        case "Forget", [_, done]:
            return f"I forgot {len(done['candidates'])} wordings."
        case "Not the same", []:
            return "search_memories", {"query": rest, "k": 1}
        case "Not the same", [{"memories": [found]}]:
            joined = next(member for member in found["members"] if member["text"] == rest)
            return "undo", {"id": joined["decision_id"]}
        case "Not the same", [{"memories": [found]}, shown]:
            joined = next(member for member in found["members"] if member["text"] == rest)
            return "undo", {"id": joined["decision_id"], "token": shown["token"]}
        case "Not the same", [*_, done]:
            return f"They are {len(done['result']['memories'])} memories again."
        case _, []:
            return "get_memories", {}
        case _:
            faces = sorted(memory["face"] for memory in results[0]["memories"])
            return f"I know: {'; '.join(faces)}"


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        first, *rest = asked["messages"]
        results = [
            json.loads(part["content"])
            for message in rest if message["role"] == "user"
            for part in message["content"]
        ]  # fmt: skip
        step = next_step(first["content"], results)
        known = {tool["name"] for tool in asked["tools"]}
        if isinstance(step, str):
            content: dict[str, Any] = {"type": "text", "text": step}
        else:
            assert step[0] in known, known
            content = {"type": "tool_use", "id": f"t{len(rest)}", "name": step[0], "input": step[1]}
        body = json.dumps(
            {
                "id": "m", "type": "message", "role": "assistant", "model": asked["model"],
                "content": [content], "stop_reason": "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def stand_in() -> Iterator[str]:
    """The base URL of a model, as ANTHROPIC_BASE_URL wants it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
