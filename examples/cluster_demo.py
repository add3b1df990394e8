"""`make cluster-demo`: the demo's stream through a cluster, with a worker killed half-way.

A real Kafka broker from its published jars, two workers, a projector, a producer and a verifier,
each in its own process. The result must equal that of one embedded process on the same file. Then
a local stand-in for the judge answers about the pairs that no rule could settle.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.broker import Broker, BrokerError
from infra.distribution import NotAvailableError
from palimpsest import Palimpsest
from palimpsest.cli.demo.judge import JudgeServer

STREAM = Path(__file__).parent / "data" / "memories.jsonl.gz"
PALIMPSEST = str(Path(sys.executable).with_name("palimpsest"))
PLAIN_CASES = (
    "Ada has a big dog.",
    "Ada has a big dog.",
    "Ada has a large dog.",
    "Ada works as a nurse at the city hospital.",
    "Ada works as a night nurse at the city hospital.",
    "Grandmother taught Ada to knit.",
    "Ada taught grandmother to knit.",
)
"""Texts before the stream: a case for each kind of decision."""
KINDS = ("hash_exact", "auto_reject", "llm_keep", "superseded")
"""Decisions that the demo must show: by exact text, by a rule, and by the judge, both ways."""
PARTITIONS = 6
PATIENCE = 300.0
"""Seconds to wait for anything; after that the demo fails."""

_MEMORIES = "SELECT memory_id, face, members FROM memories ORDER BY memory_id"
_JOINS = "SELECT decision_id, joined_to, decision FROM joins ORDER BY decision_id"
_DECISIONS = "SELECT decision, count(*) AS n FROM decisions GROUP BY decision ORDER BY decision"
_DECIDED = "SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM policies)"
_SETTLED = """
SELECT (SELECT count(*) FROM candidates WHERE pending)
    <= (SELECT count(*) FROM events WHERE event = 'refused') AS done
"""
_JOIN = """
SELECT j.decision_id, j.decision FROM joins j JOIN memories m USING (memory_id)
WHERE j.standing AND j.decision NOT IN ('hash_exact', 'recent_capture')
ORDER BY m.members DESC, j.decision_id LIMIT 1
"""


class DemoError(Exception):
    """The demo did not show what it should."""


def announce(sentence: str) -> None:
    """Print a heading."""
    print(f"\n\033[1m{sentence}\033[0m", flush=True)


class Demo:
    """Runs commands in one folder, with one cluster, and keeps the running processes."""

    def __init__(self, folder: Path, bootstrap: str, judge: str) -> None:
        self.folder = folder
        self._where = ["--bootstrap", bootstrap]
        # The demo ignores settings that the reader has for their own work.
        self._env = {k: v for k, v in os.environ.items() if not k.startswith("PALIMPSEST_")}
        self._env |= {"ANTHROPIC_API_KEY": "demo", "ANTHROPIC_BASE_URL": judge}
        self._running: list[subprocess.Popen[bytes]] = []

    def show(self, *words: str, cluster: bool = True) -> None:
        """Print a command, and run it."""
        command = [*words, *(self._where if cluster else [])]
        print(f"$ palimpsest {shlex.join(command)}", flush=True)
        subprocess.run([PALIMPSEST, *command], check=True, cwd=self.folder, env=self._env)

    def store(self, name: str) -> Palimpsest:
        """Open a store of the demo; the one that follows the cluster is an ordinary store."""
        return Palimpsest.open(self.folder / name, create=False)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a process that logs to a file."""
        command = [*words, *self._where]
        print(f"$ palimpsest {shlex.join(command)} &", flush=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [PALIMPSEST, *command], cwd=self.folder, env=self._env, stdout=log, stderr=log
            )
        self._running.append(process)
        return process

    @property
    def log(self) -> Path:
        """The log file of the processes."""
        return self.folder / "processes.log"

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Tell a process to end; it must do so with exit status 0."""
        process.send_signal(signal.SIGTERM)
        if (status := process.wait(PATIENCE)) != 0:
            raise DemoError(f"a process that was stopped ended with {status}")

    def kill_all(self) -> None:
        """Kill all processes that still run."""
        for process in self._running:
            process.kill()
            process.wait()


@contextmanager
def cluster() -> Iterator[Demo]:
    """A broker in a temporary folder; at the end all processes there are killed."""
    with (
        TemporaryDirectory(prefix="palimpsest-demo-") as name,
        Broker(Path(name) / "b") as broker,
        JudgeServer(keep=False) as judge,
    ):
        demo = Demo(Path(name), broker.bootstrap, judge.url)
        try:
            yield demo
        except BaseException:
            log = demo.log.read_text(errors="replace") if demo.log.exists() else ""
            print("\n".join(log.splitlines()[-30:]), file=sys.stderr)
            raise
        finally:
            demo.kill_all()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    last = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > last:
            raise DemoError(f"not within {PATIENCE:.0f} seconds: {what}")
        time.sleep(0.01)


def write_rows(folder: Path, rows: int | None) -> int:
    """Write the plain cases and the stream, or its first rows; return how many rows there are."""
    cases = [{"owner_id": "demo", "id": str(n), "text": t} for n, t in enumerate(PLAIN_CASES)]
    with gzip.open(STREAM, "rb") as lines, (folder / "memories.jsonl").open("wb") as out:
        plain = (json.dumps(case).encode() + b"\n" for case in cases)
        return sum(bool(out.write(line)) for line in (*plain, *islice(lines, rows)))


def run(demo: Demo, rows: int) -> None:
    """Run the demo, from a fresh broker to the summary."""
    begun = time.monotonic()
    announce("1. Topics, two workers that decide, and a projector that fills the store `followed`.")
    demo.show("topics", "create", "--partitions", str(PARTITIONS))
    workers = [demo.start("worker", "--instance", name) for name in ("one", "two")]
    project = demo.start("--store", "followed", "project")
    wait_until(
        lambda: demo.log.read_text().count("ready: partitions") >= 2, "two workers are ready"
    )
    announce("2. A producer publishes a real stream of memories; workers decide while it is read.")
    demo.show("ingest", "memories.jsonl")
    killed = kill_half_way(demo, workers[0], rows)
    wait_until(lambda: decisions(demo) >= rows, "everything is decided")
    wait_until(lambda: candidates(demo) == rows, "every decision is shown")
    announce("3. One embedded process decides on the same file, without any Kafka.")
    demo.show("--store", "embedded", "ingest", "memories.jsonl", cluster=False)
    require_equal(demo, "the cluster and the embedded process differ")
    decision = take_back(demo)
    announce("5. A verifier asks the judge's stand-in about the pairs that no rule could settle.")
    demo.show("verifier", "--once")
    wait_until(lambda: is_settled(demo), "everything is settled")
    announce("6. All processes are stopped, and the store is checked against its log.")
    demo.stop(workers[1])
    demo.stop(project)
    with demo.store("followed") as followed:
        verified = followed.verify()
    if verified["differences"]:
        raise DemoError(f"verify found {verified['differences']} differences")
    print_summary(demo, killed, decision, verified["checked"], time.monotonic() - begun)


def kill_half_way(demo: Demo, worker: subprocess.Popen[bytes], rows: int) -> int:
    """Kill a worker with SIGKILL once a third is decided; return the number of decisions."""
    wait_until(lambda: decisions(demo) >= rows // 3, "a third is decided")
    worker.kill()
    worker.wait()
    decided = decisions(demo)
    print(f"kill -9 {worker.pid}    # worker one, with {decided:,} of {rows:,} candidates decided")
    return decided


def decisions(demo: Demo) -> int:
    """The number of decisions in the store `followed`, from its log, because that is fast."""
    log = demo.folder / "followed" / "log.sqlite"
    if not log.exists():
        return 0
    with closing(sqlite3.connect(f"{log.as_uri()}?mode=ro", uri=True)) as connection:
        found: int = connection.execute(_DECIDED).fetchone()[0]
        return found


def candidates(demo: Demo) -> int:
    """The number of candidates that the store `followed` shows."""
    with demo.store("followed") as followed:
        found: int = followed.status()["candidates"]
        return found


def is_settled(demo: Demo) -> bool:
    """Whether the store `followed` shows every answer of the judge, settled or refused."""
    with demo.store("followed") as followed:
        return bool(followed.sql(_SETTLED)[0]["done"])


def require_equal(demo: Demo, otherwise: str) -> None:
    """Raise DemoError unless both stores show the same decisions, joins, memories and ids."""
    with demo.store("followed") as followed, demo.store("embedded") as embedded:
        for query in (_DECISIONS, _JOINS, _MEMORIES):
            if followed.sql(query) != embedded.sql(query):
                raise DemoError(f"{otherwise}: {query}")


def take_back(demo: Demo) -> str:
    """Un-merge one join, through the topics and embedded; both must show the same result."""
    announce(
        "4. One join is taken out: the request goes through the topics to the worker that decides."
    )
    with demo.store("embedded") as embedded:
        found = embedded.sql(_JOIN)[0]
        embedded.unmerge(decision_id=found["decision_id"])
    demo.show("--store", "followed", "unmerge", "--decision", found["decision_id"])
    require_equal(demo, "after the un-merge they differ")
    kind: str = found["decision"]
    return kind


def print_summary(demo: Demo, killed: int, decision: str, checked: int, seconds: float) -> None:
    """Print the demo's main results."""
    with demo.store("followed") as followed:
        status = followed.status()
    if missing := set(KINDS) - status["decisions"].keys():
        raise DemoError(f"no decision is {' or '.join(sorted(missing))}")
    counted = ", ".join(f"{n:,} {kind}" for kind, n in sorted(status["decisions"].items()))
    announce(f"Done in {seconds:.0f} seconds.")
    print(
        f"""
{status["candidates"]:,} candidates were published and are {status["memories"]:,} memories now.
Decisions: {counted}.
A worker was killed with SIGKILL after {killed:,} of them; the other took its partitions over.
Nothing was lost and nothing doubled: every decision, join and memory equalled those of one embedded
process that read the same file, ids included, before and after one {decision} was taken out.
Then the judge's stand-in answered about the pairs that no rule could settle.
verify compared {checked:,} facts and found 0 differences.

The broker, its data and both stores are gone again. docs/cluster.md explains how to run a lasting
cluster.
"""
    )


def main() -> int:
    """Run the demo; 0 if it showed everything that it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, metavar="N", help="only the first rows of the stream")
    options = parser.parse_args()
    try:
        with cluster() as demo:
            run(demo, write_rows(demo.folder, options.rows))
    except (NotAvailableError, BrokerError, DemoError, subprocess.CalledProcessError) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
