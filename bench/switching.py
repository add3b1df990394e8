"""A large store that moves to another embedding model: killed half-way, continued, switched."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from bench.deciding import resident
from bench.figure import Measured, Scale
from bench.filling import fill
from bench.opened import writer_with
from bench.scratch import of_owners, scratch_folder
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.errors import RefusedError
from palimpsest.jobs.embed import embed_ahead, switch_model
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy

OWNERS = 100


class OtherEngine(StubEngine):
    """The stub under another model's name."""

    model = "another-stub"


def switch(scale: Scale) -> list[Measured]:
    """Seconds and memory of each step, each in its own process, like a command."""
    count = scale.of(2_000, 100_000, 100_000)
    with scratch_folder() as folder:
        with Log.create(folder / LOG_FILE) as log:
            fill(log, of_owners(islice(sentences(), count), OWNERS), load_policy("standard"))
        killed_at = _killed(folder, count // 2)
        embedded, embedding, most = _in_process(folder, "embed")
        _, switching, most_switching = _in_process(folder, "switch")
    note = f"{count:,} texts of {OWNERS} owners, stub embedder, processor time"
    if not 0 < killed_at <= count - embedded:
        raise RuntimeError(f"killed after {killed_at:,}, and {embedded:,} embedded after that")
    return [
        Measured(
            "another model's vectors recorded, after a kill",
            "texts/s",
            [embedded / embedding],
            note=f"{note}; killed after {count - embedded:,}, the other {embedded:,} once each",
        ),
        Measured("- the most memory of it", "MB", [most]),
        Measured("the switch to it", "s", [switching], note=note),
        Measured("- the most memory of it", "MB", [most_switching]),
    ]


def _killed(folder: Path, after: int) -> int:
    """Kill an embedding process after this many texts; returns the number that it reported."""
    process, ours = _started(folder, "embed")
    done = 0
    while done < after:
        done = ours.recv()
    process.kill()
    process.join()
    return done


def _in_process(folder: Path, what: str) -> tuple[int, float, float]:
    """Texts, seconds of processor time, and peak memory in MB of a step in a new process."""
    process, ours = _started(folder, what)
    while isinstance(said := ours.recv(), int):
        pass
    process.join()
    texts, seconds, most = said
    return texts, seconds, most


def _started(folder: Path, what: str) -> tuple[BaseProcess, Connection]:
    """A new process that does a step, and where it reports; its death ends a `recv`."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_work, args=(folder, what, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _work(folder: Path, what: str, told: Connection) -> None:
    engine = OtherEngine()
    with closing(writer_with(engine, Log.open(folder / LOG_FILE))) as writer:
        begun, texts = time.process_time(), 0
        if what == "embed":
            try:
                switch_model(writer, engine.model, None, None)
            except RefusedError:
                pass
            else:
                raise RuntimeError("switched before every text had its vector")
            begun = time.process_time()
            done = embed_ahead(writer, engine, lambda count, _left: told.send(count))
            texts = done["embedded"]
        else:
            switch_model(writer, engine.model, None, None)
        told.send((texts, time.process_time() - begun, resident()))
