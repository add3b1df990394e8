"""The examples run, and say what they should."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import mcp.client.stdio  # noqa: F401 - it keeps the stderr that it is imported under: not capsys's
import pytest

from tests.docs.pages import ROOT
from tests.docs.stand_in_model import stand_in

EXAMPLES = ROOT / "examples"
SAY = {
    "agent": ("known, stored: Ada does not eat meat.", "4 candidates, 3 memories"),
    "own_judge": ("2 members: Ada owns 3 cats.", "2 members: The meeting with Grace is on Monday"),
    "anthropic_memory": ("2\tAda has a big dog.", "Ada lives in Rome. was Ada lives in Paris."),
    "openai_agents": ("I know: Ada has a big dog.", "1 memory"),
    "analyst": ("('pending', ", "['number']", "('ada', 0.5)"),
}
"""By each example, what it prints in the end; run twice where the second time is the point."""


def test_every_example_is_run() -> None:
    names = {file.stem for file in EXAMPLES.glob("*.py")}
    assert names == {*SAY, "demo", "cluster_demo", "mcp_agent"}


@pytest.mark.usefixtures("own_views")
@pytest.mark.parametrize("name", SAY)
def test_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main = import_module(f"examples.{name}").main
    main()
    if name == "agent":
        main()
    said = capsys.readouterr().out
    for words in SAY[name]:
        assert words in said


TOLD = {
    "Remember: Ada has a big dog.": "I remember it (stored).",
    "Remember: Ada works at Google.": "I remember it (stored).",
    "Remember: Ada has a large dog.": "I remember it (auto_reject).",
    "Change: where does Ada work? -> Ada works at Meta.": "Now it is: Ada works at Meta.",
    "Not the same: Ada has a large dog.": "They are 2 memories again.",
    "What do you know?": ("I know: Ada has a big dog.; Ada has a large dog.; Ada works at Meta."),
    "Forget: Meta": "I forgot 2 wordings.",
    "And now?": "I know: Ada has a big dog.; Ada has a large dog.",
}
"""What the user of the agent says, and what it answers."""


def test_an_agent_remembers_changes_its_mind_and_forgets(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with stand_in() as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("AGENT_MODEL", "stand-in")
        monkeypatch.setattr(sys, "argv", ["mcp_agent", *TOLD])
        import_module("examples.mcp_agent").main()
    assert capfd.readouterr().out.splitlines() == [*TOLD.values()]


OWNER = b"jmb:thomas_14"
"""Whose part of the demo's stream is enough for each step to have something to show."""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_demo_prints_its_story(tmp_path: Path) -> None:
    stream = gzip.decompress((EXAMPLES / "data" / "memories.jsonl.gz").read_bytes()).splitlines()
    rows = [row for row in stream if OWNER in row]
    (first := tmp_path / "memories.jsonl").write_bytes(b"\n".join(rows))
    said = ran(tmp_path, sys.executable, str(EXAMPLES / "demo.py"), str(first))
    summary = said[said.index("Done in") :]
    assert f"{len(rows):,} candidates came and are" in summary
    assert re.search(r"\b0 differences, \d+ checked", said)
    assert re.search(r"palimpsest --store \S+ review open\n*\Z", summary), "it ends with the page"
    reinstate = re.search(r"palimpsest (--store .* reinstate .*)$", summary, flags=re.MULTILINE)
    assert reinstate is not None
    palimpsest = str(Path(sys.executable).with_name("palimpsest"))
    again = json.loads(ran(tmp_path, palimpsest, "--json", *reinstate[1].split()))
    assert len(again["memories"]) == 1


def ran(folder: Path, *command: str) -> str:
    """What a command prints in a folder of its own; it must succeed."""
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
