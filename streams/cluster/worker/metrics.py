"""A worker's Prometheus metrics, each with advice for operators."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Literal

from palimpsest.contracts.events import (
    AnyEvent,
    Composed,
    Decided,
    Joined,
    Redecided,
    Refused,
    Reinstated,
    Reversed,
    Settled,
)
from palimpsest.contracts.evidence import Verdict
from palimpsest.streams.cluster.records import Outgoing, rejected_for
from palimpsest.streams.cluster.registry import Board, Figure
from palimpsest.streams.cluster.worker.producer import PublishAsync
from palimpsest.streams.core.skips import OTHER, SCORES, label_of, skipped_for
from palimpsest.streams.core.touched import Touched
from palimpsest.streams.embedder import Embedder, Embedding
from palimpsest.streams.embedder.contract import Engine
from palimpsest.streams.log.log import Lines
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.writer import CheckType

Stage = Literal["catch_up", "read", "embed", "decide", "publish"]
LETTERS_PER_MINUTE = 100
MOST_NAMESPACES = 100
"""Maximum number of namespaces as labels: producers choose them, and each series stays for ever."""
MINUTE = 60.0


MILLISECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)

FIGURES = (
    Figure(
        "palimpsest_candidates",
        "counter",
        "Candidates that this worker decided on.",
        "Its rate is the worker's throughput; compare the sum over all workers with what producers"
        " publish.",
    ),
    Figure(
        "palimpsest_decisions",
        "counter",
        "Decisions by kind and namespace, with later joins, reversals and composed texts.",
        "A jump in the share of `pending` or joins: a producer or the policy changed. From the"
        " 101st on, namespaces count as `other`.",
        ("decision", "namespace"),
    ),
    Figure(
        "palimpsest_verdicts",
        "counter",
        "Verdicts of the judge, by answer.",
        "Alert on the share of `unavailable`: the service is down, or a budget is spent.",
        ("answer",),
    ),
    Figure(
        "palimpsest_judge_usd",
        "counter",
        "The cost of these verdicts in USD, as far as prices are known.",
        "Compare its rate with the verifiers' daily budgets.",
    ),
    Figure(
        "palimpsest_dead_letters",
        "counter",
        "Unreadable inputs, by reason.",
        "Alert on its rate: look at `palimpsest dead-letters list` and fix the producer.",
        ("reason",),
    ),
    Figure(
        "palimpsest_dead_letters_flood",
        "gauge",
        "1 while this worker meets more unreadable inputs a minute than `--letters-per-minute`,"
        " else 0.",
        "Alert on 1 from any worker: a producer is broken. Readable input is decided all the same.",
    ),
    Figure(
        "palimpsest_stage_seconds",
        "histogram",
        "Seconds per stage: filling replicas, reading a batch, embedding its new texts, deciding a"
        " batch or a request (`publish` included), publishing a transaction.",
        "Long `embed` or `decide`: start more workers. Long `publish`: check the brokers. Long"
        " `catch_up`: keep the replicas' folder between starts.",
        ("stage",),
    ),
    Figure(
        "palimpsest_event_loop_lag_seconds",
        "histogram",
        "How late the event loop runs, which also sends the heartbeats.",
        "Above .1 s for long: the machine has too few cores.",
    ),
    Figure(
        "palimpsest_lag",
        "gauge",
        "Unacknowledged records of every partition, whichever worker has it, as the brokers"
        " reported within the last ten seconds.",
        "All workers report the same, so take the maximum. Alert when it grows for minutes: start"
        " more workers, up to one per partition.",
        ("topic", "partition"),
    ),
    Figure(
        "palimpsest_inputs_deleted",
        "gauge",
        "Offsets of an input topic that brokers had deleted, at the last assignment, before any"
        " worker read them.",
        "Alert above 0: nothing was decided on these inputs. Publish them again, and keep inputs"
        " for longer (`retention.ms`).",
        ("topic", "partition"),
    ),
    Figure(
        "palimpsest_decisions_begin",
        "gauge",
        "The offset at which a partition of the decisions begins: what came before it was deleted.",
        "Alert above 0: a worker or store without the deleted records stops. Keep every replica and"
        " store, and run `palimpsest topics restore`.",
        ("partition",),
    ),
    Figure(
        "palimpsest_decisions_expire",
        "gauge",
        "1 if the settings of the decisions topic let brokers delete decisions, else 0.",
        "Alert on 1: `palimpsest topics check` names the setting, and the command that changes it.",
    ),
    Figure(
        "palimpsest_records_held",
        "gauge",
        "Records received from the brokers and not acknowledged yet.",
        "Bounded, whatever the lag. High and steady: the worker is at its limit; start more.",
    ),
    Figure(
        "palimpsest_owners_in_memory",
        "gauge",
        "Owners whose ledgers are loaded.",
        "Memory follows it. The bound counts candidates, so a few large owners may fill it.",
    ),
    Figure(
        "palimpsest_partitions",
        "gauge",
        "Partitions that this worker decides for.",
        "Zero for minutes: there are more workers than partitions, or the group does not form.",
    ),
    Figure(
        "palimpsest_embedder_queue",
        "gauge",
        "Texts queued for the embedder or being embedded.",
        "High while there is lag: the embedder is the bottleneck; start more workers.",
    ),
    Figure(
        "palimpsest_progress_timestamp_seconds",
        "gauge",
        "When the worker last finished a stage or a record, in seconds since 1970.",
        "Old while there is lag: the worker is stuck, and /healthz says so.",
    ),
)

DEDUP_FIGURES = (
    Figure(
        "palimpsest_dedup_checks",
        "counter",
        "New candidates compared on arrival, by result: `duplicate` or `unique`.",
        "Watch the share of `duplicate` after changing a threshold. Namespaces that the policy does"
        " not name count as `other`.",
        ("namespace", "result"),
    ),
    Figure(
        "palimpsest_dedup_skipped",
        "counter",
        "Duplicates on arrival, by reason: `exact`, `semantic` or `recent`.",
        "Many `recent` ones: a producer repeats itself.",
        ("namespace", "reason"),
    ),
    Figure(
        "palimpsest_dedup_check_duration_ms",
        "histogram",
        "Milliseconds per check, without embedding: `exact` (includes `recent`), `semantic`, or"
        " `total` for the whole candidate.",
        "Long `semantic`: a scope is large.",
        ("check_type",),
        MILLISECONDS,
    ),
    Figure(
        "palimpsest_dedup_similarity_score",
        "histogram",
        "The scores of `semantic` duplicates.",
        "Many just above a threshold: review them before lowering it.",
        ("namespace",),
        SCORES,
    ),
)


class Flood:
    """Detects whether more than `most` events occurred within the last minute."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._latest: deque[float] = deque(maxlen=most + 1)
        self._clock = clock

    def count_one(self) -> None:
        """Count an event."""
        self._latest.append(self._clock())

    def is_on(self) -> bool:
        """Whether there were more than `most`."""
        many = len(self._latest) == self._latest.maxlen
        return many and self._clock() - self._latest[0] < MINUTE


class Metrics(Board):
    """The metrics of one worker; more dead letters per minute than the limit are a flood."""

    def __init__(self, letters_per_minute: int = LETTERS_PER_MINUTE) -> None:
        super().__init__((*FIGURES, *DEDUP_FIGURES))
        self.flood = Flood(letters_per_minute)
        self._namespaces: set[str] = set()
        self.steps = 0
        self.progress()

    def progress(self) -> None:
        """Note that a piece of work was done; `steps` counts them."""
        self.steps += 1
        self.set("palimpsest_progress_timestamp_seconds", time.time())

    def decided(
        self, done: Sequence[tuple[int, AnyEvent, Touched]], named: Container[str] = ()
    ) -> None:
        """Count events that the brokers have, with their positions and what each changed.

        `named` are the namespaces that the policy names.
        """
        for _, event, touched in done:
            match event:
                case Decided():
                    self.count("palimpsest_candidates")
                    self._count_check(event, named)
                    self._count_decision(event.data.decision, touched)
                case Settled():
                    self._count_decision(event.data.decision, touched)
                    self._count_verdicts(event.data.evidence.verdicts)
                case Joined() | Redecided():
                    self._count_decision(event.data.decision, touched)
                case Reversed() | Reinstated() | Composed():
                    self._count_decision(event.type.split(".")[1], touched)
                case Refused():
                    if event.data.command == "admit":
                        self.count("palimpsest_candidates")
                    self._count_verdicts(event.data.verdicts)
                case _:
                    pass

    def rejected(self, others: Sequence[Outgoing]) -> None:
        """Count the dead letters among records that the brokers have, one per input."""
        for reason in filter(None, map(rejected_for, others)):
            self.count("palimpsest_dead_letters", 1.0, reason)
            self.flood.count_one()

    def _count_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            self.count("palimpsest_verdicts", 1.0, verdict.answer)
            self.count("palimpsest_judge_usd", verdict.cost_usd or 0.0)

    def _count_decision(self, decision: str, touched: Touched) -> None:
        self.count("palimpsest_decisions", 1.0, decision, self._namespace(touched))

    def _count_check(self, event: Decided, named: Container[str]) -> None:
        reason, join = skipped_for(event.data.decision), event.data.join
        namespace = label_of(event.data.candidate.namespace, named)
        result = "duplicate" if reason else "unique"
        self.count("palimpsest_dedup_checks", 1.0, namespace, result)
        if reason is not None:
            self.count("palimpsest_dedup_skipped", 1.0, namespace, reason)
        if reason == "semantic" and join is not None and join.similarity is not None:
            self.observe("palimpsest_dedup_similarity_score", join.similarity, namespace)

    def checked(self, check: CheckType, milliseconds: float) -> None:
        """Record the duration of a check."""
        self.observe("palimpsest_dedup_check_duration_ms", milliseconds, check)

    def _namespace(self, touched: Touched) -> str:
        """The namespace of what was changed: each event concerns only one."""
        namespace = next(iter(_namespaces(touched)), OTHER)
        if namespace not in self._namespaces and len(self._namespaces) >= MOST_NAMESPACES:
            return OTHER
        self._namespaces.add(namespace)
        return namespace

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Time a stage."""
        begun = time.perf_counter()
        yield
        seconds = time.perf_counter() - begun
        self.observe("palimpsest_stage_seconds", seconds, stage)
        self.progress()

    def watching(self, publish: PublishAsync) -> PublishAsync:
        """Time a `publish` function."""

        async def watched(
            lines: Lines, others: Sequence[Outgoing], done: Sequence[InputOffset]
        ) -> int | None:
            """Publish, and note how long it took."""
            with self.stage("publish"):
                offset = await publish(lines, others, done)
            self.rejected(others)
            return offset

        return watched

    def text(self) -> bytes:
        """Like `Board.text`."""
        self.set("palimpsest_dead_letters_flood", self.flood.is_on())
        return super().text()


def _namespaces(touched: Touched) -> Iterator[str]:
    yield from (entry.fields.namespace for entry in touched.entries.values())
    yield from (edge.newer.fields.namespace for edge in touched.edges.values())
    yield from (memory.namespace for memory in touched.memories.values() if memory)


class CountedEmbedder(Embedder):
    """An embedder that reports how many texts wait, and how long a batch takes."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        super().__init__(engine)
        self._metrics = metrics

    def submit(self, texts: Sequence[str]) -> Future[list[Embedding]]:
        """Like `Embedder.submit`."""
        count = len(texts)
        self._metrics.add("palimpsest_embedder_queue", count)
        future = super().submit(texts)
        future.add_done_callback(lambda _: self._metrics.add("palimpsest_embedder_queue", -count))
        return future

    def _run(self, texts: Sequence[str]) -> list[Embedding]:
        with self._metrics.stage("embed"):
            return super()._run(texts)
