"""The cost of a slow judge for the stream: the same rows with a verifier beside it, and without."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median

from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.judge import service
from bench.opened import writer_with
from bench.scratch import OwnedText, inputs, scratch_folder
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.streams.embedder import Engine, load_engine
from palimpsest.streams.log.log import Log

ROUNDS = 3
DELAY = 2.0
AT_ONCE = 32
WARM = 128
EVERY = 5
"""After this many rows comes a rewording of the last text, on which only a judge can decide."""


def stream(scale: Scale) -> list[Measured]:
    """Candidates per second with a judge that takes 2 s per answer, divided by those without."""
    texts = _with_gray(distinct(scale.data, scale.of(768, 3_072, 8_192)))
    engine = load_engine()
    alone, beside, settled, pending = [], [], 0, 0
    os.environ["ANTHROPIC_API_KEY"] = "demo"
    with service(DELAY) as url:
        for _ in range(ROUNDS):
            with _store(engine) as writer:
                alone.append(_rate(writer, texts[WARM:], texts[:WARM]))
            with _store(engine) as writer, _verifier(writer.reader.folder, url):
                beside.append(_rate(writer, texts[WARM:], texts[:WARM], judged=True))
                pending = writer.reader.log.verifications.count()
                settled = _decided(writer, "palimpsest.settled.v1")
    figures = {
        "with, texts/s": median(beside),
        "without, texts/s": median(alone),
        "settled meanwhile": float(settled),
        "waiting at the end": float(pending),
    }
    ratios = [b / a for b, a in zip(beside, alone, strict=True)]
    note = f"{len(texts)} texts, {DELAY:.0f} s an answer, {AT_ONCE} at once, in turns"
    name = "candidates/s with a slow judge, divided by without"
    return [Measured(name, "", ratios, 0.95, note=note, beside=figures)]


def _with_gray(texts: Sequence[OwnedText]) -> list[OwnedText]:
    made: list[OwnedText] = []
    for number, (owner, text) in enumerate(texts):
        made.append((owner, text))
        if number % EVERY == 0:
            made.append((owner, f"{text.rstrip('.')} for {number + 2} years now."))
    return made


@contextmanager
def _store(engine: Engine) -> Iterator[EmbeddedWriter]:
    with (
        scratch_folder() as folder,
        closing(writer_with(engine, Log.create(folder / LOG_FILE))) as writer,
    ):
        yield writer


def _rate(
    writer: EmbeddedWriter,
    texts: Sequence[OwnedText],
    first: Sequence[OwnedText],
    *,
    judged: bool = False,
) -> float:
    """Texts per second, after a first window; with a verifier, after its first verdicts.

    Nobody else was writing when these came, so the verifier wrote them itself. The second half of
    the window waits until it has released the lock.
    """
    half = len(first) // 2
    writer.submit(list(inputs(first[:half])))
    while judged and not _decided(writer, "palimpsest.settled.v1"):
        time.sleep(0.1)
    writer.submit(list(inputs(first[half:], "bench 1")))
    begun = time.perf_counter()
    for _ in writer.stream(inputs(texts, "bench 2"), {}):
        pass
    return len(texts) / (time.perf_counter() - begun)


def _decided(writer: EmbeddedWriter, kind: str) -> int:
    sql = "SELECT count(*) FROM events WHERE instr(line, CAST(? AS BLOB))"
    row = writer.reader.log.row(sql, (kind,))
    return row[0] if row else 0


@contextmanager
def _verifier(store: Path, url: str) -> Iterator[None]:
    words = ["--json", "--store", str(store), "verifier"]
    env = os.environ | {"ANTHROPIC_BASE_URL": url, "PALIMPSEST_JUDGE_CONCURRENCY": str(AT_ONCE)}
    with subprocess.Popen(
        [sys.executable, "-m", "palimpsest", *words], env=env, stdout=subprocess.DEVNULL
    ) as verifier:
        try:
            yield
        finally:
            verifier.terminate()
