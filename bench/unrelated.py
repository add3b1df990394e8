"""How many unrelated memories a score keeps out: `python -m bench unrelated --data DIR`.

Questions (`questions.jsonl`, `day.jsonl`, `corrections.jsonl`) are asked of what extractors
remembered about eleven people (`multi_extractor`) and of the facts of two days. The five nearest
texts of each question count. A question is lost if all those that answer it score too low.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from bench.correcting import CORRECTIONS
from bench.printing import print_wide
from bench.remembering import FACTS
from bench.rows import read_rows, shipped_rows
from palimpsest.streams.embedder import Engine, load_engine
from palimpsest.streams.embedder.scores import MIN_SCORES

SHOWN = 5
QUESTIONS = shipped_rows("questions.jsonl")
"""Questions, with a pattern of the texts that answer them (`answered_by`), or with the `fact`."""
OF_ONE = frozenset("pet diet phone time address preference".split())
"""Kinds of corrections about whose subjects the extractors have remembered nothing."""
DAYS = frozenset({"home", "work", "studio", "chat", "harbour"})
"""Days whose questions are asked: the scores in use were measured with these."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about some texts, and those that answer it."""

    texts: Sequence[str]
    question: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cut:
    """The effect on the questions if hits below a score are left out.

    `lost` is the share of the questions with an answer that lose it. For questions without an
    answer, `shown` is the mean number of hits, and `silent` the share that show none.
    """

    score: float
    lost: float
    shown: float
    silent: float


def asked(data: Path) -> Iterator[Asked]:
    """All questions, each once for every collection of texts that it is asked about."""
    for texts in _people(data):
        yield from _of_person(texts)
    for day in ("home", "work"):
        yield from _of_day([fact for fact in FACTS if fact["day"] == day])
    corrections = [one[when] for one in CORRECTIONS for when in ("before", "after")]
    for one in CORRECTIONS:
        yield Asked(corrections, one["question"], frozenset({one["before"], one["after"]}))


def _of_person(texts: Sequence[str]) -> Iterator[Asked]:
    for question in QUESTIONS:
        if "fact" not in question:
            answers = re.compile(question.get("answered_by", "$^"), re.IGNORECASE)
            right = frozenset(filter(answers.search, texts))
            yield from (Asked(texts, words, right) for words in question["questions"])
    for one in CORRECTIONS:
        if one["kind"] in OF_ONE:
            yield Asked(texts, one["question"], frozenset())


def _of_day(facts: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    firsts = [fact["wordings"][0] for fact in facts]
    for question in QUESTIONS:
        if "fact" in question:
            right = frozenset({question["fact"]}.intersection(firsts))
            yield from (Asked(firsts, words, right) for words in question["questions"])
    every = [text for fact in facts for text in _texts_of(fact)]
    for fact in FACTS:
        if "after" in fact and fact["day"] in DAYS:
            yield Asked(every, fact["question"], frozenset(_texts_of(fact)).intersection(every))


def _people(data: Path) -> Iterator[list[str]]:
    texts: dict[str, dict[str, None]] = {}
    for row in read_rows(data / "streams/multi_extractor.jsonl"):
        texts.setdefault(row["owner_id"], {})[row["text"]] = None
    return map(list, texts.values())


def _texts_of(fact: dict[str, str | list[str]]) -> list[str]:
    return [*fact["wordings"], *([str(fact["after"])] if "after" in fact else [])]


def hits(engine: Engine, questions: Sequence[Asked]) -> list[list[tuple[float, bool]]]:
    """For each question, the scores of the nearest texts, and whether these answer it."""
    texts = {text for one in questions for text in (*one.texts, one.question)}
    found = dict(zip(sorted(texts), engine.embed(sorted(texts)), strict=True))
    vectors: dict[str, NDArray[np.float32]] = {
        text: np.vstack([made.vector, *(() if made.windows is None else made.windows)])
        for text, made in found.items()
    }
    near = []
    for one in questions:
        vector = vectors[one.question][0].astype(np.float32)
        scores = [float((vectors[text].astype(np.float32) @ vector).max()) for text in one.texts]
        best = np.argsort(-np.array(scores), kind="stable")[:SHOWN]
        near.append([(scores[n], one.texts[n] in one.right) for n in best])
    return near


def cut(near: Sequence[Sequence[tuple[float, bool]]], unanswered: Sequence[bool], at: float) -> Cut:
    """The effect of a minimum score."""
    best = [max(score for score, right in one if right) for one in near if any(r for _, r in one)]
    others = [one for one, alone in zip(near, unanswered, strict=True) if alone]
    kept = [sum(score >= at for score, _ in one) for one in others]
    lost = sum(score < at for score in best) / len(best)
    return Cut(at, lost, sum(kept) / len(kept), sum(not count for count in kept) / len(kept))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the curve of every model that has its own minimum score."""
    parser = argparse.ArgumentParser(prog="python -m bench unrelated", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with streams/")
    parser.add_argument("--models", nargs="+", default=[*MIN_SCORES], help="default: all that ship")
    given = parser.parse_args(arguments)
    questions = [*asked(given.data)]
    unanswered = [not one.right for one in questions]
    for model in given.models:
        near = hits(load_engine(model=model), questions)
        table = Table(
            "score", "answers lost", "hits of five without an answer", "none", title=model
        )
        chosen = MIN_SCORES.get(model, 0.0)
        for step in (-0.1, -0.05, -0.025, -0.01, 0.0, 0.01, 0.025, 0.05, 0.1):
            one = cut(near, unanswered, round(chosen + step, 4))
            cells = (f"{one.score:g}", f"{one.lost:.1%}", f"{one.shown:.2f}", f"{one.silent:.0%}")
            table.add_row(*cells, style="bold" if step == 0.0 else "")
        print_wide(table, 100)
    return 0
