"""Asks the judge about labelled pairs, so that `calibrate` can certify its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from palimpsest.contracts import policy
from palimpsest.evaluation.labelled import LabelledPair
from palimpsest.streams.judge.batching import BATCH_SIZE
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.pairs import JudgedPair, Side
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.storage import FILE, FIRST_FILE

_OLDER = datetime(2026, 1, 1, tzinfo=UTC)
_NEWER = _OLDER + timedelta(hours=1)


async def ask_about_pairs(
    pairs: Sequence[LabelledPair], rules: policy.Judge, settings: JudgeSettings, folder: Path
) -> list[LabelledPair]:
    """The pairs with answer, probability, model and prompt, as far as the judge gave them.

    If there are two judges, the first is asked: about each pair in one order, and in batches as a
    verifier sends them. Answers are cached in `folder`, beside those about memories. Raises
    UsageError as `Judge` does.
    """
    asked, name = (settings, FILE) if settings.first is None else (settings.first, FIRST_FILE)
    rules = rules.model_copy(update={"most": min(rules.most, BATCH_SIZE)})
    judge = Judge.beside(folder, rules, asked, lambda: datetime.now(UTC), name=name)
    async with judge:
        verdicts = await judge.compare_once(
            [JudgedPair(Side("a", pair.a, _OLDER), Side("b", pair.b, _NEWER)) for pair in pairs]
        )
    return [pair.judged(verdict) for pair, verdict in zip(pairs, verdicts, strict=True)]


def rows_of(pairs: Sequence[LabelledPair]) -> Iterator[bytes]:
    """A line of JSON for each pair, as `calibrate` reads it; columns without a value are absent."""
    for pair in pairs:
        row = {name: value for name, value in pair._asdict().items() if value is not None}
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
