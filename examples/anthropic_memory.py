"""Claude's memory tool on a Palimpsest store, without a key: the script makes the model's calls.

Run `python examples/anthropic_memory.py`; it needs `pip install '.[judge]'`. With a key,
`Anthropic().beta.messages.tool_runner(tools=[tool], …)` lets the model make the calls.
"""

from __future__ import annotations

from palimpsest import Palimpsest
from palimpsest.anthropic import PalimpsestMemoryTool

PATH = "/memories/ada.md"
CALLS = (
    {"command": "create", "path": PATH, "file_text": "Ada lives in Paris.\nAda has a big dog."},
    {"command": "insert", "path": PATH, "insert_line": 2, "insert_text": "Ada has a large dog."},
    {"command": "str_replace", "path": PATH, "old_str": "Paris", "new_str": "Rome"},
    {"command": "view", "path": PATH},
)


def main() -> None:
    """Write, change and read a file whose lines are memories."""
    with Palimpsest.open("claude-store") as memories:
        tool = PalimpsestMemoryTool(memories, "ada")
        for call in CALLS:
            print(tool.call(call))
        [home] = memories.recall("ada", "where does she live?", k=1)
        print(f"{home['face']} was {memories.history(home['memory_id'])['events'][0]['face']}")


if __name__ == "__main__":
    main()
