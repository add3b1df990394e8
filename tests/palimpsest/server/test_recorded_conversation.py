"""A recorded conversation with a model that reads only the texts of answers.

It finds, corrects and forgets by these texts, like models behind clients that pass on only texts.
"""

from __future__ import annotations

import re
from typing import Any

from palimpsest.server.mcp import next_steps
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.server.test_mcp import client, prose

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "Ada lives in Paris"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "user", "content": "Rex is the dog of Ada and Grace"},
    {"role": "user", "content": "Ada takes care of INC-1007"},
]


class Reader:
    """A scripted model: it calls a tool, and reads the text of the answer."""

    def __init__(self, made: Any) -> None:
        self._made = made

    async def read(self, tool: str, **arguments: Any) -> str:
        return prose(await self._made.call_tool(tool, arguments))

    async def search(self, query: str, word: str) -> str:
        """The id beside the first hit with a word."""
        lines = (await self.read("search_memories", query=query)).split("\n")
        [line, *_] = [line for line in lines if word in line]
        return id_in(line)

    async def twice(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and then again with the token at the end of the answer's first line."""
        token = token_in(await self.read(tool, **arguments))
        return await self.read(tool, **arguments, token=token)

    async def knows(self) -> set[str]:
        """Everything that is known."""
        return set(re.findall(r'^- "(.*)" \(id', await self.read("get_memories"), re.MULTILINE))


def id_in(text: str) -> str:
    return str(re.findall(r"\bid ([0-9a-f-]{8,})", text)[0])


def token_in(text: str) -> str:
    return str(re.findall(r"this token: (\S+)$", text, re.MULTILINE)[0])


def test_a_model_finds_corrects_and_forgets_the_right_memories(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Bob lives in Paris", "bob")
        async with client(server) as made:
            model = Reader(made)
            told = await model.read("add_messages", messages=SAID)
            assert told.count("Stored as memory") == 3
            joined = await model.read("add_memory", text="Rex is the dog of Ada and Grace.")
            assert "If the join is wrong" in joined

            home = await model.search("Ada lives in", "Paris")
            changed = await model.read("update_memory", memory_id=home, text="Ada lives in Rome")
            assert await model.search("Ada lives in", "Rome") == home
            assert await model.search("INC-1007", "INC-1007") != home
            back = await model.twice("undo", id=id_in(changed))
            assert "Paris" in back
            await model.twice("redo", id=id_in(changed))

            parts = await model.twice("undo", id=id_in(joined))
            assert parts.count('"Rex is') == 2

            plan = await model.read("find_memories", query="Rex")
            found = plan.split("perhaps not meant")[0].split("\n")
            ids = [id_in(line) for line in found if "Rex" in line]
            gone = await model.read("delete_found_memories", memory_ids=ids, token=token_in(plan))
            assert await model.knows() == {"Ada lives in Rome", "Ada takes care of INC-1007"}
            await model.twice("undo", id=id_in(gone))
            assert len(await model.knows()) == 4

            everything = await model.read("delete_all_memories")
            await model.read("add_memory", text="Ada sings in the choir")
            stale = await model.read("delete_all_memories", token=token_in(everything))
            assert next_steps.PREVIEW_AGAIN in stale
            assert "Forgotten: " in await model.twice("delete_all_memories")
            assert await model.knows() == set()
        assert (await server.twin.list("bob"))["total"] == 1

    served(used)


def test_a_model_is_told_what_is_so_over_a_whole_day(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        async with client(server) as made:
            model = Reader(made)
            assert await model.read("search_memories", query="who am I") == "No memories found."
            await model.read("add_memory", text="Ada lives in Paris")
            bus = await model.read(
                "add_memory", text="The bus is late", expires_at="2999-01-01T01:00:00+01:00"
            )
            assert bus.endswith("Searches find it until 2999-01-01 00:00Z.")
            pass_ = await model.read(
                "add_memory", text="The pass is valid", expires_at="2026-01-01T00:00:00Z"
            )
            assert "It has expired already: a search finds it only with show_expired." in pass_

            other = await model.read("search_memories", query="wedding anniversary")
            assert other.startswith("No memories found.\nLeft out: 2 memories that scored less")
            assert "2 memories found" in await model.read(
                "search_memories", query="wedding anniversary", min_score=-1
            )
            near = await model.read("find_memories", query="Paris", by=["meaning"])
            assert re.search(r'"Ada lives in Paris" \(id \S+ score \d\.\d\d\)', near)

            old = id_in(await model.read("find_memories", query="pass", show_expired=True))
            assert "only with show_expired" in await model.read("get_memory", memory_id=old)
            refused = await model.read("update_memory", memory_id=old, text="The pass is lost")
            assert refused.endswith(
                "next: only a person can pin it; store the text with add_memory instead"
            )
            wrong = await model.read("search_memories", query="pass", show_expired="perhaps")
            assert "show_expired: should be a valid boolean" in wrong
            assert "as_of" not in wrong, "an agent has no such field"

            home = await model.search("Ada lives in", "Paris")
            await model.read("update_memory", memory_id=home, text="Ada lives in Rome")
            first = await model.read("delete_all_memories")
            assert first.startswith("Nothing is forgotten yet: 4 texts would be.")
            gone = await model.read("delete_all_memories", token=token_in(first))
            left = await model.read("get_memories", show_expired=True)
            assert left.startswith("0 memories of 0"), "what has expired is forgotten, too"
            await model.twice("undo", id=id_in(gone))
            assert await model.knows() == {"Ada lives in Rome", "The bus is late"}

    served(used)
