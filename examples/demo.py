"""`make demo`: a real stream of memories, deduplicated, looked at, un-merged and verified.

Each step is a command of `palimpsest`, printed before it runs so that it can be typed again.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STREAM = HERE / "data" / "memories.jsonl.gz"
STORE = Path("demo-store")
COMMAND = os.path.relpath(Path(sys.executable).with_name("palimpsest"))
"""The command of this environment, as it can be typed here."""
PALIMPSEST = [COMMAND, "--store", str(STORE)]

_MEMORY = """
SELECT j.memory_id, j.decision_id, j.decision, m.members
FROM joins j JOIN memories m USING (memory_id)
WHERE j.standing AND j.decision NOT IN ('hash_exact', 'recent_capture')
ORDER BY m.members DESC, j.similarity, j.decision_id LIMIT 1
"""


def announce(sentence: str) -> None:
    """Print a heading."""
    print(f"\n\033[1m{sentence}\033[0m", flush=True)


def show(*arguments: str) -> None:
    """Print a command, and run it."""
    print(f"$ palimpsest --store {STORE} {shlex.join(arguments)}", flush=True)
    subprocess.run([*PALIMPSEST, *arguments], check=True)


def ask(*arguments: str) -> Any:
    """Run a command, and return its answer."""
    command = [*PALIMPSEST, "--json", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main(stream: Path = STREAM) -> None:
    """Run the demo, from an empty store to a verified one."""
    begun = time.monotonic()
    shutil.rmtree(STORE, ignore_errors=True)
    announce("1. A stream of memories, as agents and extractors wrote them down (examples/data).")
    show("ingest", str(stream))
    announce("2. What the store has now.")
    show("status")
    found = ask("sql", _MEMORY)[0]
    announce("3. One memory: its face, every wording, and why each was joined.")
    show("show", found["memory_id"])
    announce("4. Suppose that this join was a mistake. What would un-merging change?")
    show("unmerge", "--decision", found["decision_id"], "--dry-run")
    announce("5. Take it out. Nothing is deleted: the log has one event more.")
    reason = "shown in the demo"
    show("unmerge", "--decision", found["decision_id"], "--because", reason)
    announce("6. Fold the whole log and compare it with everything that the projections hold.")
    show("verify")
    print_summary(ask("status"), found, time.monotonic() - begun)


def print_summary(status: Any, found: Any, seconds: float) -> None:
    """Print the demo's main results."""
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(status["decisions"].items()))
    announce(f"Done in {seconds:.0f} seconds.")
    print(
        f"""
{status["candidates"]:,} candidates came and are {status["memories"]:,} memories now.
Decisions: {kinds}.
{status["pending"]:,} wait for a judge or a person; the stream did not wait for them.
One {found["decision"]} was taken out, and its two sides are memories of their own again.

Three commands to try next:
  {COMMAND} --store {STORE} recall jmb:marcus_02 "where does he work?"
  {COMMAND} --store {STORE} sql "SELECT * FROM daily"
  {COMMAND} --store {STORE} reinstate {found["decision_id"]}

And to see it all in a browser, and decide on the pairs that wait:
  {COMMAND} --store {STORE} review open
"""
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
