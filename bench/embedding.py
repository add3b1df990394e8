"""Measures the whole pipeline beside the embedder alone, and the rate of exact repeats."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from statistics import median

from bench.figure import Measured, Scale
from bench.rows import read_rows
from bench.scratch import OwnedText, of_owners, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.embedder import Embedder, Engine, load_engine

ROUNDS = 3
STREAMS = tuple(
    f"streams/{name}.jsonl"
    for name in (
        "synthetic_persona_chat",
        "multi_extractor",
        "generative_agents",
        "memorybank_user_turns",
    )
)
REPEATED = 0.62
"""The share of exact repeats in the streams of generative agents."""


def end_to_end(scale: Scale) -> list[Measured]:
    """New texts through the whole pipeline, divided by the same through the embedder alone."""
    texts = distinct(scale.data, scale.of(256, 4_096, 8_192))
    count = len(texts)
    engine = load_engine()
    bare_seconds(engine, texts[:WINDOW])
    with scratch_store(engine) as store:
        store.ingest(texts[:WINDOW])  # imports LanceDB, which takes over a second, once per process
    bare, whole = [], []
    for _ in range(ROUNDS):
        bare.append(count / bare_seconds(engine, texts))
        with scratch_store(engine) as store:
            whole.append(count / store.ingest(texts))
    note = f"{count} texts, {'real' if scale.data else 'made up'}, bare and whole in turns"
    ratios = [w / b for w, b in zip(whole, bare, strict=True)]
    name = "end to end on new texts, divided by the bare embedder"
    beside = {"whole, texts/s": median(whole), "bare, texts/s": median(bare)}
    return [Measured(name, "", ratios, 0.91, note=note, beside=beside)]


def bulk(scale: Scale) -> list[Measured]:
    """Processor time of new texts of one owner and of many, compared with the embedder alone.

    Measured in turns. The more texts an owner has, the more a newcomer is compared with.
    """
    texts = [text for _, text in distinct(scale.data, 20_000)]
    random.Random(1).shuffle(texts)
    texts = texts[: scale.of(256, 3_000, 8_192)]
    kinds = {
        f"{count} owner{'s' if count > 1 else ''}": [*of_owners(texts, count)] for count in (1, 100)
    }
    engine = load_engine()
    bare_seconds(engine, [("", text) for text in texts[:WINDOW]])
    with scratch_store(engine) as store:
        store.ingest(kinds["1 owner"][:WINDOW])
    bare, whole = [], dict[str, list[float]]()
    for _ in range(ROUNDS):
        for kind, stream in kinds.items():
            begun = time.process_time()
            bare_seconds(engine, stream)
            bare.append(time.process_time() - begun)
            with scratch_store(engine) as store:
                begun = time.process_time()
                store.ingest(stream)
                whole.setdefault(kind, []).append(bare[-1] / (time.process_time() - begun))
    note = f"{len(texts)} {'real' if scale.data else 'made-up'} texts, processor time, in turns"
    beside = {"bare, ms a text": median(bare) / len(texts) * 1e3}
    return [
        Measured(
            f"the bare embedder ÷ new texts of {kind}", "", shares, 0.9, note=note, beside=beside
        )
        for kind, shares in whole.items()
    ]


def long_texts(scale: Scale) -> list[Measured]:
    """Processor time of a text of the maximum accepted size, with all of its windows."""
    engine = load_engine()
    text = " ".join(islice(sentences(), 4_000))[:MAX_TEXT_BYTES]
    windows = engine.embed([text])[0].windows
    assert windows is not None, "it is longer than the model's input"
    used = []
    for _ in range(scale.of(1, ROUNDS, ROUNDS)):
        begun = time.process_time()
        engine.embed([text])
        used.append(time.process_time() - begun)
    note = f"{len(text)} bytes, {1 + len(windows)} vectors"
    return [Measured("a text of 32 KiB embedded, processor time", "s", used, note=note)]


def bare_seconds(engine: Engine, texts: Sequence[OwnedText]) -> float:
    """Seconds for embedding the texts, window by window, as the pipeline submits them."""
    embedder = Embedder(engine, remembered=0)
    begun = time.perf_counter()
    for start in range(0, len(texts), WINDOW):
        embedder.submit([text for _, text in texts[start : start + WINDOW]]).result()
    embedder.close()
    return time.perf_counter() - begun


def distinct(data: Path | None, count: int) -> list[OwnedText]:
    """At most `count` distinct texts with their owners: real ones if there are any."""
    if data is None:
        return [*of_owners(islice(sentences(), count), 20)]
    texts: dict[str, str] = {}
    for row in chain.from_iterable(read_rows(data / stream) for stream in STREAMS):
        texts.setdefault(row["text"], row["owner_id"])
    return [(owner, text) for text, owner in texts.items()][:count]


def repeats(scale: Scale) -> list[Measured]:
    """Candidates per second if all, or most, are exact repeats under new ids."""
    texts = distinct(None, 2_000)
    again = random.Random(1).choices(texts, k=scale.of(2_000, 20_000, 100_000))
    rates, busy = [], []
    for number in range(ROUNDS):
        with scratch_store(StubEngine()) as store:
            store.ingest(texts)
            before = time.process_time()
            rates.append(len(again) / store.ingest(again, f"again {number}"))
            busy.append((time.process_time() - before) / len(again) * 1e6)
    note = f"{len(again)} repeats of {len(texts)} texts of 20 owners"
    name, beside = "exact repeats, everything included", {"us of processor time each": median(busy)}
    pure = Measured(name, "candidates/s", rates, 5_000, note=note, beside=beside)
    return [pure, _mostly_repeats(scale)]


def _mostly_repeats(scale: Scale) -> Measured:
    chance = random.Random(2)
    new = iter(distinct(scale.data, scale.of(200, 2_000, 4_000)))
    stream: list[OwnedText] = []
    for one in new:
        stream.append(one)
        while chance.random() < REPEATED:
            stream.append(chance.choice(stream))
    engine = load_engine()
    rates = []
    for _ in range(ROUNDS):
        with scratch_store(engine) as store:
            rates.append(len(stream) / store.ingest(stream))
    return Measured(
        f"a stream with {REPEATED:.0%} exact repeats, default engine", "candidates/s", rates
    )
