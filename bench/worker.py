"""A worker in its own process, with the stub or the default engine: `python -m bench.worker`.

Its only argument is a JSON object with its options.
"""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

from bench.stub import StubEngine
from palimpsest.process.gc_thresholds import raise_gc_thresholds
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker import manager
from palimpsest.streams.cluster.worker.worker import WorkerSettings, run
from palimpsest.streams.embedder import Embedder, Engine, load_engine
from palimpsest.streams.policies import load_policy


def main() -> None:
    """Run a worker until SIGTERM."""
    plan = orjson.loads(sys.argv[1])
    engine: Engine = load_engine()
    engine.embed(["the default engine is in memory, as it is in use"])
    if plan["stub"]:
        engine = StubEngine()
    embedder = Embedder(engine)
    if plan["most_candidates"] is not None:
        manager.MOST_CANDIDATES = plan["most_candidates"]
    raise_gc_thresholds()
    run(
        WorkerSettings(
            Connection(bootstrap=plan["bootstrap"]),
            Topics("", plan["partitions"]),
            Path(plan["folder"]),
            load_policy("standard"),
            lambda: embedder,
            instance=plan["instance"],
            web_port=plan["web_port"],
            standby=plan["standby"],
        )
    )


if __name__ == "__main__":
    main()
