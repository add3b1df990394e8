"""The time of cleaning a file, divided by that of embedding its distinct texts.

The file has all rows of all streams in order, then commit subjects in their order: real texts with
their real repeats, nothing added. `python -m bench.cleaning --data DIR` compares the joins of each
stream with those of a store.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from bench.figure import Measured, Scale
from bench.opened import scratch_palimpsest
from bench.rows import batched, read_rows
from bench.scratch import scratch_folder
from bench.sentences import sentences
from palimpsest.cleaning.by_rule import join_by_rule
from palimpsest.cleaning.texts import ScopedText, Texts
from palimpsest.cleaning.vectors import AT_ONCE, TextVectors
from palimpsest.streams.embedder import Engine, ignore_progress, load_engine
from palimpsest.streams.policies import load_policy

WITHIN = "0.9"
COMMITS = "throughput/commit_subjects.jsonl.gz"
Join = tuple[int, int, str]


def cleaning(scale: Scale) -> list[Measured]:
    """Processor time of the whole command, including start and model, in its own process."""
    texts = rows_of(scale.data, scale.of(500, 5_000, 50_000))
    engine = load_engine()
    distinct = sorted(dict.fromkeys(texts), key=len)
    engine.embed(distinct[:AT_ONCE])
    begun = time.process_time()
    for some in batched(distinct, AT_ONCE):
        engine.embed(some)
    bare = time.process_time() - begun
    kind = "real" if scale.data else "made up"
    note = f"{len(texts):,} rows, {len(distinct):,} distinct texts, {kind}"
    found = []
    with scratch_folder() as folder:
        file = folder / "rows.jsonl"
        file.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in texts))
        for name, options, reach in (
            ("by rule", [], 0.6),
            ("--within " + WITHIN, ["--within", WITHIN], 1.2),
        ):
            seconds, memory, answer = _clean(file, *options)
            beside = {
                "processor s": seconds,
                "bare s": bare,
                "embedded": float(answer["embedded"]),
                "removed": float(answer["removed"]),
            }
            whole = f"cleaning {name}, divided by embedding the distinct texts"
            ratio = seconds / bare
            found += [
                Measured(whole, "", [ratio], reach, at_most=True, note=note, beside=beside),
                Measured(f"the same, peak memory {name}", "MB", [memory], 600, at_most=True),
            ]
    return found


_COMMAND = """
import sys
from palimpsest.cli.start import main
try:
    main()
finally:
    lines = open("/proc/self/status").read().splitlines()
    print(*(line for line in lines if line.startswith("VmHWM:")), file=sys.stderr)
"""
"""Runs the command and reports its peak memory, because `wait4` includes this process's memory."""


def _clean(file: Path, *options: str) -> tuple[float, float, dict[str, Any]]:
    """Processor seconds, peak resident MB and the answer of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", _COMMAND, "--json", "clean", str(file), "--force", *options]
    ran = subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, int(ran.stderr.split()[-2]) / 1024, orjson.loads(ran.stdout)


def rows_of(data: Path | None, count: int) -> list[str]:
    """Texts of real rows in order, with repeats; without data, made-up ones, a third repeated."""
    if data is None:
        made = [*islice(sentences(), count)]
        return [*made[count // 3 :], *made[count // 3 : 2 * (count // 3)]][:count]
    streams = chain.from_iterable(map(read_rows, sorted((data / "streams").glob("*.jsonl"))))
    rows = chain(streams, read_rows(data / COMMITS))
    return [row["text"] for row in islice(rows, count)]


# -- the joins -----------------------------------------------------------------------------------


def compared(rows: Sequence[dict[str, Any]], engine: Engine) -> tuple[set[Join], set[Join]]:
    """The joins of `clean`, and those of a store under `standard` without a judge, by row number.

    In both, rows are compared within their owner, and have no session.
    """
    policy = load_policy("standard")
    texts = Texts.read(ScopedText(row["text"], scope=row["owner_id"]) for row in rows)
    vectors = TextVectors(texts.texts, lambda: engine, ignore_progress)
    options = join_by_rule(texts, policy, vectors, ignore_progress)
    joins = [*texts.repeats(), *(joins[0] for joins in options)]
    with scratch_palimpsest(policy=policy) as store:
        given = (
            {"owner_id": row["owner_id"], "text": row["text"], "id": str(number)}
            for number, row in enumerate(rows)
        )
        for some in batched(given, 512):
            store.submit(some, source="rows")
        known = store.sql("SELECT candidate_id, producer_id FROM candidates")
        of = {row["candidate_id"]: int(row["producer_id"]) for row in known}
        stored = store.sql("SELECT candidate_id, joined_to, decision FROM joins")
    return (
        {(join.row, join.partner, join.rule) for join in joins},
        {(of[row["candidate_id"]], of[row["joined_to"]], row["decision"]) for row in stored},
    )


def main() -> int:
    """Print how the joins differ for each stream, by owner and as one scope; 1 if any differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.cleaning", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with streams/")
    asked = parser.parse_args()
    engine = load_engine()
    differ = 0
    for file in sorted((asked.data / "streams").glob("*.jsonl")):
        rows = [*read_rows(file)]
        for name, some in (
            ("by owner", rows),
            ("one scope", [row | {"owner_id": "one"} for row in rows]),
        ):
            mine, stored = compared(some, engine)
            differ += len(mine ^ stored)
            print(
                f"{file.stem}, {name}: {len(rows):,} rows, {len(stored):,} joins of the store,"
                f" {len(mine - stored)} only of clean, {len(stored - mine)} only of the store",
                flush=True,
            )
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
