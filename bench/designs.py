"""Compares the presets on the same real streams: `make bench ARGS="designs --data D"`.

Fields that a stream lacks are drawn by a seeded rule (`rows`). The rows' times drive the clock:
batch rules run when a day of the stream is over (a janitor's once a week, the clean-up of
`replace-or-merge` once, at the end), and a session ends with its last row. The labels of a stream
take the judge's place; without labels nobody answers, and candidates wait.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, islice
from pathlib import Path
from typing import Any
from uuid import uuid5

import orjson
from rich.console import Console
from rich.table import Table

from bench.printing import print_line, print_wide
from bench.rows import read_rows
from bench.scratch import ScratchStore, scratch_folder, scratch_store
from bench.vectors import KeptVectors
from palimpsest.contracts.events import AnyEvent, Decided, Joined, Settled
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.identity import NAMESPACE, candidate_id, event_id
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.contracts.policy import PairsDedupe, Policy, TokenDedupe
from palimpsest.contracts.requests import RunRequest, SessionRequest, SettleRequest
from palimpsest.evaluation.rates import pairwise
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.dedupe import Run, proposals
from palimpsest.streams.embedded.pipeline import decide_all
from palimpsest.streams.embedder import (
    DEFAULT_MODEL,
    Embedding,
    Engine,
    ignore_progress,
    load_engine,
)
from palimpsest.streams.intake import RawRow, understand
from palimpsest.streams.judge.messages import ANSWER_TOKENS, tokens
from palimpsest.streams.judge.models import Usage, model
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.prompts import prompt
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.write.inputs import Input
from palimpsest.streams.write.owners import fold_owner

STREAMS = ("labelled_e2e", "multi_extractor", "generative_agents", "longmemeval_user_turns")
SEED = 20_260_101
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DESIGNS = [name for name in preset_names() if load_policy(name).model == DEFAULT_MODEL]
"""The presets that differ in more than the model."""
STEP = timedelta(minutes=20)
"""The time between two rows of a stream without times."""
SESSION_ROWS = 12
"""Rows of an owner per session, in a stream without sessions."""
CATEGORIES = ("observation",) * 9 + ("constraint",)
IMPORTANCE = (0.1, 0.3, 0.5, 0.7, 0.9)
CONFIDENCE = (0.6, 0.7, 0.8, 0.9, 0.95)


# -- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate of a stream, with its time and its label."""

    said: dict[str, Any]
    at: datetime
    gold: str | None
    timed: bool

    @property
    def decided_at(self) -> datetime:
        """Its own time, rounded down to five minutes; in a stream without times, its day's end."""
        if self.timed:
            return self.at - timedelta(
                minutes=self.at.minute % 5, seconds=self.at.second, microseconds=self.at.microsecond
            )
        return self.at.replace(hour=23, minute=59, second=0, microsecond=0)

    @property
    def id(self) -> str:
        """The candidate's id."""
        return candidate_id(self.said["owner_id"], self.said["source"], self.said["id"])

    def as_input(self) -> Input:
        """The row as a producer would send it."""
        row = RawRow(orjson.dumps(self.said), self.said["source"], 1)
        return Input(row, understand(row))


def rows(file: Path, limit: int | None = None) -> list[Row]:
    """The rows of a stream in order of time; missing fields are filled in.

    Without times, a row comes every 20 minutes; without sessions, twelve rows of an owner form one.
    Importance, confidence and category are drawn with a seed for each row; one row in ten is a
    `constraint`.
    """
    chance = random.Random(SEED)
    found: list[Row] = []
    said: Counter[str] = Counter()
    for number, row in enumerate(islice(read_rows(file), limit)):
        owner = row["owner_id"]
        at = datetime.fromisoformat(row["created_at"]) if "created_at" in row else None
        at = at or BEGIN + number * STEP
        drawn = {
            "importance": chance.choice(IMPORTANCE),
            "confidence": chance.choice(CONFIDENCE),
            "category": chance.choice(CATEGORIES),
            "session_id": row.get("session_id") or f"{owner}/{said[owner] // SESSION_ROWS}",
        }
        said[owner] += 1
        fields = {"owner_id": owner, "text": row["text"], "id": str(number), "source": file.stem}
        fields |= drawn | {"occurred_at": at.isoformat()}
        found.append(Row(fields, at, row.get("gold_cluster"), "created_at" in row))
    return sorted(found, key=lambda row: row.at)


# -- the labels as a judge -----------------------------------------------------------------------


class LabelJudge:
    """Answers by the labels of a stream, or never if there are none. Counts its questions.

    `usd` is an upper bound: the list price of the policy's model with one pair per request. In
    reality pairs share requests, and the service caches the prompt.
    """

    recorded = None

    def __init__(self, gold: Mapping[str, str], texts: Mapping[str, str], rules: Rules) -> None:
        self._gold = gold
        self._texts = texts
        self._model = model(rules.model)
        self._prompt = tokens(
            prompt("compare-same" if rules.ask == "same" else "compare-relation").text
        )
        self.pairs = 0
        self.texts = 0
        self.usd = 0.0

    @property
    def answers(self) -> bool:
        """Whether there are labels."""
        return bool(self._gold)

    def says(self, a: str, b: str) -> Answer:
        """The answer of the labels about two candidates."""
        if not self.answers:
            return "unavailable"
        self.pairs += 1
        sent = self._prompt + tokens(self._texts[a]) + tokens(self._texts[b])
        usage = Usage(input_tokens=sent, output_tokens=ANSWER_TOKENS)
        self.usd += self._model.cost(usage) or 0.0
        return "same" if self._gold[a] == self._gold[b] else "different"

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """A verdict for each pair, as the batch rules ask for them."""
        return [
            Verdict(
                neighbour_id=pair.older.candidate_id,
                answer=self.says(pair.older.candidate_id, pair.newer.candidate_id),
            )
            for pair in pairs
        ]

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Do nothing: no question is interrupted."""

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """The longest of the texts, if all have the same label; else nothing is composed."""
        neighbour = sources[0].candidate_id
        if not self.answers:
            return CompositionAnswer(None, Verdict(neighbour_id=neighbour, answer="unavailable"))
        self.texts += 1
        if len({self._gold[source.candidate_id] for source in sources}) > 1:
            return CompositionAnswer(None, Verdict(neighbour_id=neighbour, answer="unusable"))
        text = max((source.text for source in sources), key=len)
        return CompositionAnswer(text, Verdict(neighbour_id=neighbour, answer="compose"))


# -- one run -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Result:
    """The result of a preset on a stream. `seconds` exclude the embedding."""

    stream: str
    preset: str
    rows: int
    memories: int
    joins: dict[str, int]
    pending: int
    precision: float | None
    recall: float | None
    false_pairs: int | None
    judged: int
    composed: int
    usd: float
    seconds: float


class KnownTexts:
    """An engine whose texts were embedded before."""

    def __init__(self, engine: Engine, known: Mapping[str, Embedding]) -> None:
        self.name, self.model, self.dimension = engine.name, engine.model, engine.dimension
        self._known = known
        self._engine = engine

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """The vectors; only composed texts are embedded now."""
        return [self._known.get(text) or self._engine.embed([text])[0] for text in texts]


class Clock:
    """A clock that shows the stream's time."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        """The time."""
        return self.now


class Driven:
    """A store whose clock is driven by its rows."""

    def __init__(
        self, store: ScratchStore, clock: Clock, policy: Policy, judge: LabelJudge
    ) -> None:
        self.store = store
        self.clock = clock
        self.policy = policy
        self.judge = judge
        self._asked = 0
        self._days = 0
        self._waiting: dict[str, None] = {}

    def ledger(self, owner_id: str) -> Ledger:
        """The writer's own ledger of an owner."""
        return self.store.session.writer.owners.get(owner_id).ledger

    def run_day(self, said: Sequence[Row], ended: Collection[tuple[str, str]]) -> None:
        """Decide on a day's rows, then run the judge, end sessions, and run the batch rules."""
        for at, some in groupby(said, key=lambda row: row.decided_at):
            self.clock.now = at
            decide_all(self.store.session.writer, [row.as_input() for row in some])
        owners = [*dict.fromkeys(row.said["owner_id"] for row in said)]
        for owner in owners:
            self._judge(owner)
        requests = [
            SessionRequest(
                request_id=str(uuid5(NAMESPACE, f"{owner_id} {session}")),
                request="end_session",
                owner_id=owner_id,
                session_id=session,
            )
            for owner_id, session in ended
        ]
        self.store.ask(requests)
        self._waiting.update(dict.fromkeys(owners))
        self._days += 1
        match self.policy.dedupe:
            case PairsDedupe():
                self.run_batch(self.clock.now)
            case TokenDedupe() if self._days % 7 == 0:
                self.run_batch(self.clock.now)
            case _:
                pass

    def run_batch(self, due: datetime) -> None:
        """Run the policy's batch rules for the owners with new rows since the last time."""
        owners = [*self._waiting]
        self._waiting.clear()
        if isinstance(self.policy.dedupe, PairsDedupe):
            self.store.ask([_run(owner, due) for owner in owners])
        elif self.policy.dedupe is not None:
            asyncio.run(self._by_judge(owners))

    def _judge(self, owner_id: str) -> None:
        """Answer waiting questions until there are none."""
        if not (self.judge.answers and self.policy.judge.enabled):
            return
        ledger = self.ledger(owner_id)
        while waiting := [e for e in ledger.entries.values() if e.open and e.living]:
            self.store.ask([self._settled(entry) for entry in waiting])

    def _settled(self, entry: Entry) -> SettleRequest:
        verdicts = []
        for neighbour in entry.open:
            answer = self.judge.says(neighbour, entry.id)
            if answer == "same" and self.policy.judge.ask == "compose":
                answer = "compose"
            verdicts.append(Verdict(neighbour_id=neighbour, answer=answer))
            if answer != "different":
                break
        composed = None
        if verdicts[-1].answer == "compose":
            self.judge.texts += 1
            older = self.ledger(entry.fields.owner_id).entries[verdicts[-1].neighbour_id]
            composed = max(older.memory.face.text, entry.text, key=len)
        self._asked += 1
        request_id = event_id(entry.id, f"bench:{self._asked}")
        return SettleRequest(
            request_id=request_id,
            candidate_id=entry.id,
            verdicts=tuple(verdicts),
            composed=composed,
        )

    async def _by_judge(self, owners: Sequence[str]) -> None:
        run = Run(ignore_progress)
        for owner in owners:
            ledger = fold_owner(self.store.log, owner)
            run.seen = ledger.seen
            async for part in proposals(ledger, self.policy, self.judge, run):
                self.store.ask(part)
            ledger.dissolve()


def _run(owner_id: str, due: datetime) -> RunRequest:
    request_id = str(uuid5(NAMESPACE, f"run {owner_id} {due}"))
    return RunRequest(request_id=request_id, owner_id=owner_id, step="dedupe", due=due)


def run_one(stream: str, preset: str, said: Sequence[Row], engine: Engine) -> Result:
    """Run a preset on a whole stream."""
    policy = load_policy(preset)
    gold = {row.id: row.gold for row in said if row.gold is not None}
    judge = LabelJudge(gold, {row.id: row.said["text"] for row in said}, policy.judge)
    events, ledgers, seconds = _decided(said, policy, judge, engine)
    joins = Counter(
        event.data.decision
        for event in events
        if isinstance(event, Decided | Settled | Joined) and event.data.join is not None
    )
    entries = [entry for ledger in ledgers for entry in ledger.entries.values()]
    clusters = {entry.id: entry.memory.id for entry in entries}
    found = pairwise(clusters, gold) if gold else None
    return Result(
        stream=stream,
        preset=preset,
        rows=len(said),
        memories=sum(memory.living for ledger in ledgers for memory in ledger.memories()),
        joins=dict(joins.most_common()),
        pending=sum(bool(entry.open) for entry in entries),
        precision=found.precision if found else None,
        recall=found.recall if found else None,
        false_pairs=_false_pairs(clusters, gold) if gold else None,
        judged=judge.pairs,
        composed=judge.texts,
        usd=judge.usd,
        seconds=seconds,
    )


def _decided(
    said: Sequence[Row], policy: Policy, judge: LabelJudge, engine: Engine
) -> tuple[list[AnyEvent], list[Ledger], float]:
    """The events and ledgers of a stream that was decided on, and the seconds that this took."""
    clock = Clock()
    with scratch_store(engine, clock, policy) as store:
        driven = Driven(store, clock, policy, judge)
        ending = _ending_sessions(said)
        begun = time.perf_counter()
        for day, rows_of_day in groupby(said, key=lambda row: row.at.date()):
            driven.run_day([*rows_of_day], ending[day])
        clock.now += timedelta(days=1)
        driven.run_batch(clock.now)
        seconds = time.perf_counter() - begun
        events = [one.event for owner in store.log.owners() for one in store.log.of_owner(owner)]
        ledgers = [driven.ledger(owner) for owner in {row.said["owner_id"] for row in said}]
    return events, ledgers, seconds


def _ending_sessions(said: Sequence[Row]) -> dict[date, list[tuple[str, str]]]:
    """The sessions of which each day has the last row."""
    last = {(row.said["owner_id"], row.said["session_id"]): row.at.date() for row in said}
    ending: dict[date, list[tuple[str, str]]] = defaultdict(list)
    for session, day in last.items():
        ending[day].append(session)
    return ending


def _false_pairs(clusters: Mapping[str, str], gold: Mapping[str, str]) -> int:
    """Pairs in one memory that do not belong together."""
    sizes = Counter(clusters.values())
    both = Counter((memory, gold[one]) for one, memory in clusters.items())
    together = sum(n * (n - 1) // 2 for n in sizes.values())
    return together - sum(n * (n - 1) // 2 for n in both.values())


# -- output --------------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> Table:
    """A row for each preset on each stream."""
    shown = Table(title="The presets on real streams")
    for name in ("stream", "preset", "rows", "memories", "joins by decision", "pending"):
        shown.add_column(name, justify="left" if name in ("stream", "preset") else "right")
    for name in ("precision", "recall", "false pairs", "judged", "composed", "USD", "s"):
        shown.add_column(name, justify="right")
    for result in results:
        joins = "\n".join(f"{kind} {count:,}" for kind, count in result.joins.items())
        rates = [
            "-" if rate is None else f"{rate:.3f}" for rate in (result.precision, result.recall)
        ]
        false = "-" if result.false_pairs is None else f"{result.false_pairs:,}"
        shown.add_row(
            result.stream,
            result.preset,
            f"{result.rows:,}",
            f"{result.memories:,}",
            joins,
            f"{result.pending:,}",
            *rates,
            false,
            f"{result.judged:,}",
            f"{result.composed:,}",
            f"{result.usd:.2f}" if result.judged else "-",
            f"{result.seconds:.1f}",
        )
    return shown


def draw(results: Sequence[Result], file: Path) -> None:
    """Draw two charts as one SVG: the memories left of each stream, and precision and recall."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "palimpsest"
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    _draw_memories(left, results)
    _draw_rates(right, results)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def _draw_memories(axes: Any, results: Sequence[Result]) -> None:
    share = {(one.preset, one.stream): one.memories / one.rows for one in results}
    presets = [*dict.fromkeys(result.preset for result in results)]
    streams = [*dict.fromkeys(result.stream for result in results)]
    width = 0.8 / len(presets)
    for place, preset in enumerate(presets):
        offset = (place - len(presets) / 2) * width
        at = [number + offset for number in range(len(streams))]
        heights = [share[preset, stream] for stream in streams]
        axes.bar(at, heights, width=width, label=preset, align="edge")
    axes.set_xticks(range(len(streams)), [name.replace("_", "\n", 1) for name in streams])
    axes.set_ylabel("memories left ÷ candidates")
    axes.set_title("What is left of each stream")
    axes.legend(fontsize="small")


def _draw_rates(axes: Any, results: Sequence[Result]) -> None:
    for result in results:
        if result.precision is not None and result.recall is not None:
            axes.scatter(result.recall, result.precision, label=result.preset)
            axes.annotate(
                result.preset,
                (result.recall, result.precision),
                textcoords="offset points",
                xytext=(5, 4),
                fontsize="small",
            )
    axes.set_xlabel("recall: pairs of one meaning that are one memory")
    axes.set_ylabel("precision: pairs of one memory that are one meaning")
    axes.set_title("labelled_e2e, the labels as the judge")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every preset on every stream; print a table, and draw it if a file is named."""
    parser = argparse.ArgumentParser(prog="python -m bench designs", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with streams/")
    parser.add_argument("--presets", nargs="+", choices=DESIGNS, help="default: all")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, help="default: all")
    parser.add_argument("--limit", type=int, help="maximum number of rows per stream")
    parser.add_argument("--vectors", type=Path, help="a file that keeps embeddings between runs")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the results, too")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    asked = parser.parse_args(arguments)
    console = Console(stderr=True)
    logging.disable(logging.WARNING)  # that nobody answers is part of the measurement
    engine = load_engine()
    results: list[Result] = []
    with (
        scratch_folder() as folder,
        closing(KeptVectors(asked.vectors or folder / "vectors.sqlite", engine)) as kept,
    ):
        for stream in asked.streams or STREAMS:
            said = rows(asked.data / "streams" / f"{stream}.jsonl", asked.limit)
            with console.status(f"embedding {stream}"):
                known = KnownTexts(engine, kept.of({row.said["text"] for row in said}))
            for preset in asked.presets or DESIGNS:
                with console.status(f"{preset} on {stream}"):
                    results.append(run_one(stream, preset, said, known))
                if asked.json:
                    print_line(asdict(results[-1]))
    if not asked.json:
        print_wide(table(results))
    if asked.plot:
        draw(results, asked.plot)
    return 0
