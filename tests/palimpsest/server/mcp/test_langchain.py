"""A model behind `langchain-mcp-adapters`, in its own environment (`make test-langchain`).

The adapters are incompatible with the server's version of MCP's SDK.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest import Palimpsest
from tests.docs.pages import ROOT
from tests.palimpsest.server.mcp.conversation import CONVERSATION, KNOWN
from tests.palimpsest.server.test_shim import end

pytestmark = pytest.mark.langchain

PYTHON = ROOT / ".venv-langchain" / "bin" / "python"
IDS = ("memory_id", "memory_ids", "id", "token")


def test_a_model_that_reads_texts_alone_finds_corrects_and_forgets(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Palimpsest.open(store) as memories:
        memories.submit([{"owner_id": "bob", "text": "Ada lives in Paris"}])
    command = [sys.executable, "-m", "palimpsest", "--store", str(store), "mcp", "--owner", "ada"]
    try:
        done = subprocess.run(
            [str(PYTHON), "-m", "tests.palimpsest.server.mcp.scripted_model", *command],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
        )
    finally:
        end(store)
    held = json.loads(done.stdout)

    asked = [number for number, turn in enumerate(CONVERSATION) if turn.does == "ask"]
    assert [held["answers"][n] for n in asked] == [CONVERSATION[n].answer for n in asked]
    shown = ""
    for call in held["calls"]:
        assert call["status"] == "success", call["shown"]
        for name in call["args"].keys() & IDS:
            for used in re.findall(r"[\w.-]+", str(call["args"][name])):
                assert used in shown, "an id that no text has shown"
        shown += call["shown"]
    with Palimpsest.open(store) as memories:
        assert {memory["face"] for memory in memories.list("ada")["memories"]} == KNOWN
        assert [memory["face"] for memory in memories.list("bob")["memories"]] == [
            "Ada lives in Paris"
        ]
