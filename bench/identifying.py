"""Identifiers in questions: whether the memory with the identifier is among the first five."""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice

import orjson

from bench.figure import Measured, Scale
from bench.opened import busy_ms, scratch_palimpsest
from bench.sentences import sentences

OWNER = "kafka"
ASKED = 50
ISSUE = re.compile(r"KAFKA-\d+")


def identifiers(scale: Scale) -> list[Measured]:
    """How many of 50 issues are found by their id, by meaning alone and together with words."""
    found = {text: text_id.group(0) for text in issues(scale) if (text_id := ISSUE.search(text))}
    often = Counter(found.values())
    asked = [text for text, issue in found.items() if often[issue] == 1][:ASKED]
    note = f"{len(found):,} memories of one owner"
    with scratch_palimpsest() as store:
        store.submit([{"owner_id": OWNER, "text": text} for text in found])
        measured: list[Measured] = []
        for hybrid, reach in ((False, None), (True, float(ASKED))):
            recall = partial(store.recall, OWNER, hybrid=hybrid)
            hits = sum(text in (hit["face"] for hit in recall(found[text])) for text in asked)
            took = [busy_ms(recall, f"what happened in {found[text]}?") for text in asked]
            how = "by meaning and words" if hybrid else "by meaning"
            measured += [
                Measured(
                    f"identifiers found {how}", f"of {ASKED}", [float(hits)], reach, note=note
                ),
                Measured(f"recall of an identifier {how}", "ms of a processor", took, note=note),
            ]
    return measured


def issues(scale: Scale) -> Iterator[str]:
    """Commit subjects that name an issue, or made-up ones."""
    rows = scale.of(200, 1_500, 1_500)
    if scale.data is None:
        made_up = islice(sentences(), rows)
        yield from (f"KAFKA-{1_000 + n}: {text}" for n, text in enumerate(made_up))
        return
    with gzip.open(scale.data / "throughput" / "commit_subjects.jsonl.gz") as lines:
        texts = {orjson.loads(line)["text"][:500] for line in lines if b"KAFKA-" in line}
    yield from random.Random(7).sample(sorted(texts), rows)
