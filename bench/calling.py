"""An agent's calls, one by one and warm: a submit, a recall, and both in turns."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from itertools import chain, islice

import numpy as np

from bench.designs import KnownTexts
from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.filling import fill
from bench.opened import OWNER, busy_ms, ms, row, scratch_palimpsest
from bench.scratch import of_owners, scratch_folder
from bench.sentences import sentences
from palimpsest import Palimpsest
from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.candidate import MAX_TEXT_BYTES
from palimpsest.streams.embedder import load_engine
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy

LENGTHS = (40, 300, 1_500, 8_000)
"""Lengths in words; the last exceeds the limit, so that the longest accepted text is measured."""
WARM = 20


def calls(scale: Scale) -> list[Measured]:
    """Milliseconds of single calls in a store with some memories of one owner."""
    held, rounds = scale.of(50, 1_000, 1_000), scale.of(10, 200, 1_000)
    texts = sentences()
    with scratch_palimpsest() as store:
        store.submit([row(text) for text in islice(texts, held)], source="bench")
        for text in islice(texts, WARM):
            store.submit(row(text))
            store.recall(OWNER, text)
        submits = [ms(store.submit, row(text)) for text in islice(texts, rounds)]
        recalls = [ms(store.recall, OWNER, text) for text in islice(texts, rounds)]
        pairs = [
            ms(store.submit, row(text)) + ms(store.recall, OWNER, text)
            for text in islice(texts, rounds)
        ]
        embedder = store.reader.embedder()
        bare = [ms(embedder.embed_now, text) for text in islice(texts, rounds)]
    note = f"{held:,} memories of one owner, {rounds} calls"
    beside = {"bare embedding, ms": float(np.median(bare))}
    return [
        _measured("one submit of a new text", submits, 5.0, note, beside),
        _measured("one recall", recalls, 6.0, note, beside),
        _measured("a submit and a recall, in turns", pairs, 22.0, note),
    ]


def calls_alone(scale: Scale) -> list[Measured]:
    """Processor time of single calls whose texts are already embedded: the rest is our own work.

    All threads count, so that the time includes projections made meanwhile.
    """
    held, rounds = scale.of(50, 1_000, 1_000), scale.of(10, 200, 1_000)
    engine, found = load_engine(), []
    for kind, texts in _texts_by_kind(scale, held + WARM + rounds).items():
        known = dict(zip(texts, engine.embed(texts), strict=True))
        with (
            scratch_palimpsest() as store,
            store.reader.embedding_by(KnownTexts(engine, known)),
        ):
            store.submit([row(text) for text in texts[:held]], source="bench")
            for text in texts[held : held + WARM]:
                store.submit(row(text))
                store.recall(OWNER, text)
            asked = texts[-rounds:]
            recalls = [busy_ms(store.recall, OWNER, text) for text in asked]
            submits, after = [], []
            for text in asked:
                submits.append(busy_ms(store.submit, row(text)))
                after.append(busy_ms(store.recall, OWNER, text))
        note = f"{held:,} memories of one owner, {rounds} calls, processor time"
        found += [
            _measured(f"a recall beyond its embedding, {kind}", recalls, 2.0, note),
            _measured(f"a recall after each submit, {kind}", after, 2.0, note),
            _measured(f"a submit beyond its embedding, {kind}", submits, 3.0, note),
        ]
    return found


def _texts_by_kind(scale: Scale, needed: int) -> dict[str, list[str]]:
    kinds = {"made-up texts": [*islice(sentences(), needed)], "a diary": _diary(needed)}
    if scale.data is not None:
        real = [text for _, text in distinct(scale.data, needed * 10)]
        random.Random(1).shuffle(real)
        kinds["real texts"] = real[:needed]
    return kinds


def _diary(count: int) -> list[str]:
    """One measured value, day by day: texts that differ only in figures."""
    first = date(2020, 1, 1)
    return [
        f"Ada's weight on {first + timedelta(day)} was {60 + day % 7}.{day % 10} kg."
        for day in range(count)
    ]


def calls_by_length(scale: Scale) -> list[Measured]:
    """Processor time of single calls, by the length of the texts; most need several windows."""
    held, rounds = scale.of(2, 20, 20), scale.of(2, 10, 20)
    found = []
    for words in LENGTHS:
        texts, asked = _of_length(words), sentences(seed=2)
        with scratch_palimpsest() as store:
            store.submit([row(text) for text in islice(texts, held)], source="bench")
            store.recall(OWNER, next(asked))
            said = [*islice(texts, rounds)]
            submits = [busy_ms(store.submit, row(text)) for text in said]
            windows = store.submit(row(said[0]))[0].windows or 1
            recalls = [busy_ms(store.recall, OWNER, text) for text in islice(asked, rounds)]
        count = len(said[0].split())
        note = f"{held} memories of {count:,} words, {windows} windows each, and {rounds} calls"
        found += [
            Measured(f"a submit of {count:,} words, processor time", "ms", submits, note=note),
            Measured("a recall among such texts, processor time", "ms", recalls, note=note),
        ]
    return found


def _of_length(words: int) -> Iterator[str]:
    """Texts of `words` words made of sentences, cut to the maximum accepted length."""
    made = chain.from_iterable(sentence.split() for sentence in sentences())
    while True:
        text = " ".join(islice(made, words))
        if len(text) > MAX_TEXT_BYTES:
            text = text[: text.rindex(" ", 0, MAX_TEXT_BYTES)]
        yield text


def recalls_of_many(scale: Scale) -> list[Measured]:
    """Milliseconds of a warm recall in a store of many owners, each recalled before."""
    held, owners, rounds = scale.of(1_000, 100_000, 1_000_000), 1_000, scale.of(10, 200, 1_000)
    texts = sentences()
    with scratch_folder() as folder:
        with Log.create(folder / LOG_FILE) as log:
            fill(log, of_owners(islice(texts, held), owners), load_policy("standard"))
        with Palimpsest.open(folder) as store:
            asked = [(f"{OWNER} {n}", text) for n, text in enumerate(islice(texts, rounds))]
            for owner, text in asked:
                store.recall(owner, text)
            took = [ms(store.recall, owner, next(texts)) for owner, _ in asked]
    note = f"{held:,} memories of {owners:,} owners, {rounds} calls"
    return [_measured("one recall in a store of many owners", took, 8.0, note)]


def finds(scale: Scale) -> list[Measured]:
    """Milliseconds of a warm `find` of an identifier, by words and by meaning, in a large store."""
    held, rounds = scale.of(50, 10_000, 10_000), scale.of(10, 200, 1_000)
    texts = (f"{text} Order AB-{number}." for number, text in enumerate(sentences()))
    with scratch_palimpsest() as store:
        store.submit([row(text) for text in islice(texts, held)], source="bench")
        asked = [f"ab{number * held // rounds}" for number in range(rounds)]
        for query in asked[:WARM]:
            store.find(OWNER, query)
        took = [ms(store.find, OWNER, query) for query in asked]
    note = f"{held:,} memories of one owner, {rounds} calls"
    return [_measured("one find of an identifier", took, 15.0, note)]


def checks(scale: Scale) -> list[Measured]:
    """Milliseconds of a check under `namespaced`: compared with bare embedding, and by itself.

    Each text is new, long enough to be searched for, and embedded twice: bare, then in the check.
    """
    held, rounds = scale.of(50, 1_000, 10_000), scale.of(10, 200, 1_000)
    texts = (f"{text} It was so all summer, every day of it." for text in sentences())
    alone: list[float] = []
    with scratch_palimpsest(policy="namespaced") as store:
        store.submit([row(text) for text in islice(texts, held)], source="bench")
        embedder, bare, whole = store.reader.embedder(), [], []
        for text in islice(texts, rounds):
            bare.append(ms(embedder.embed_now, text))
            whole.append(ms(store.check, row(text)))
        with store.reader.upkeep.writing() as session:
            assert session is not None
            session.writer.time_checks(lambda kind, ms: alone.append(ms if kind != "total" else 0))
        for text in islice(texts, rounds):
            store.submit(row(text))
    more = [both - one for both, one in zip(whole, bare, strict=True)]
    each = [sum(alone[at : at + 3]) for at in range(0, len(alone), 3)]
    note = f"`namespaced`, {held:,} memories of one owner, {rounds} new texts"
    beside = {"bare embedding, ms": float(np.median(bare)), "check, ms": float(np.median(whole))}
    name = "one candidate checked, beyond its embedding"
    return [
        Measured(name, "ms", more, 3.0, at_most=True, note=note, beside=beside),
        _measured("the checks alone", each, 0.5, note),
    ]


def many_calls(scale: Scale) -> list[Measured]:
    """How much slower a submit is after thousands of others: nothing may grow with the calls."""
    count, owners = scale.of(100, 3_000, 10_000), 10
    with scratch_palimpsest() as store:
        took = [
            ms(store.submit, {"owner_id": owner, "text": text})
            for owner, text in of_owners(islice(sentences(), count), owners)
        ]
    first, last = (float(np.mean(part)) for part in (took[: count // 10], took[-count // 10 :]))
    note = f"{count:,} submits of {owners} owners, one after the other"
    beside = {"the first, ms": first, "the last, ms": last}
    name = "submits: the last tenth ÷ the first"
    return [Measured(name, "", [last / first], 1.2, at_most=True, note=note, beside=beside)]


def _measured(
    name: str, took: list[float], reach: float, note: str, beside: Mapping[str, float] = {}
) -> Measured:
    beside = {"p95, ms": float(np.percentile(took, 95)), **beside}
    return Measured(name, "ms", took, reach, at_most=True, note=note, beside=beside)
