"""A verifier of a store before the local service: the stream does not wait, nothing is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts.errors import RefusedError, TransientError, UsageError
from palimpsest.contracts.events import Refused, Settled
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.contracts.requests import (
    AnyRequest,
    MergeRequest,
    RestoreRequest,
    RetractRequest,
    Selection,
    SeparateRequest,
    SettleRequest,
    UnmergeRequest,
)
from palimpsest.jobs.questions import open_questions
from palimpsest.streams.core.questions import settle_question
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.verifier import Verifier
from palimpsest.streams.judge.worker import AnsweredQuestion, JudgeWorker, PendingQuestion, Tally
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.owners import fold_owner
from tests.streams.judge.stand_in import StandIn
from tests.streams.judge.test_verifier import about
from tests.streams.write.runtime import inputs
from tests.stub_engine import StubEngine

BOATS = [f"Ada paints {n} wooden boats in the harbour" for n in range(2, 8)]
"""Each differs from the first in its number: the guard hands all but that to the judge."""

GRAY = (
    "Ada paints wooden boats in the harbour of the old town",
    "Ada paints wooden boats in the harbour of our small village",
)
ASKING = CosineCheck(check="cosine", zones=(Zone(at_least=0.5, action="pending"),))
"""Gray by its cosine, so that no guard has a say."""


class Store:
    """A store, what is said to it, and verifiers of it."""

    def __init__(self, folder: Path, policy: Policy | None = None) -> None:
        self.folder = folder
        self._policy = policy or load_policy("standard")
        self.writer = self.opened()
        self.reader = self.writer.reader

    def opened(self) -> EmbeddedWriter:
        log = Log.create(self.folder / LOG_FILE)
        return EmbeddedWriter(
            Reader(self.folder, log, self._policy, lambda: Embedder(StubEngine()))
        )

    def say(self, *texts: str, owner: str = "ada") -> list[Outcome]:
        rows = [{"owner_id": owner, "text": text, "id": text, "source": "test"} for text in texts]
        return self.writer.submit(inputs(rows))

    def ask(self, request: AnyRequest) -> None:
        self.writer.ask(request)

    @property
    def waiting(self) -> int:
        return self.reader.log.verifications.count()

    def settled(self) -> Counter[str]:
        found = (one.event for one in self.reader.log.after(0, 10**6))
        return Counter(event.data.decision for event in found if isinstance(event, Settled))

    def refused(self) -> list[str]:
        found = (one.event for one in self.reader.log.after(0, 10**6))
        return [event.data.reason for event in found if isinstance(event, Refused)]

    def verified(
        self,
        server: JudgeServer,
        on_tally: Callable[[Tally], object] = lambda _: None,
        patience: float = 1e9,
        **settings: object,
    ) -> Tally:
        """What one run until nothing waits has done, with a judge of its own."""
        said = {"base_url": server.url, "retries": 0, "calls_per_second": 1000.0, **settings}
        made = JudgeSettings.model_validate(said)

        async def run() -> Tally:
            judge = Judge.beside(self.folder, Rules(), made, lambda: datetime.now(UTC))
            async with open_questions(self.opened) as questions, judge:
                batcher = Batcher(BatchSettings(patience=patience, first_pause=0.001, size=2))
                verifier = Verifier(cache(judge.by), batcher)
                worker = JudgeWorker(questions, verifier, on_tally, poll=0.01, most=4)
                return await worker.run(asyncio.Event(), once=True)

        return asyncio.run(run())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def fresh() -> str:
    return str(uuid4())


def test_what_is_pending_is_settled_and_nothing_is_asked_twice(
    store: Store, server: JudgeServer
) -> None:
    """Law L13: the same files again, a rebuild, a replay and an un-merge ask no model.

    The un-merged candidate had one neighbour only, so no other is left to be compared with it.
    """
    second = store.say(*BOATS)[1].candidate_id
    store.say(*BOATS, owner="ben")
    assert store.waiting == 10
    tally = store.verified(server)
    assert (tally.questions, tally.outcomes["settled"], store.waiting) == (10, 10, 0)
    assert sum(store.settled().values()) == 10
    calls = server.calls
    assert calls > 0
    assert {outcome.result for outcome in store.say(*BOATS)} == {"known"}
    store.reader.upkeep.rebuild(("lancedb", "duckdb"), None)
    joined = next(
        one.event.id
        for one in store.reader.log.after(0, 10**6)
        if isinstance(one.event, Settled) and one.event.data.candidate_id == second
    )
    store.ask(UnmergeRequest(request_id=fresh(), decision_id=joined))
    assert store.verified(server).questions == 0
    assert server.calls == calls


def test_a_service_that_goes_away_half_way_costs_time_alone(
    store: Store, server: JudgeServer
) -> None:
    """The stream goes on meanwhile, and all is settled after it is back: none by a fallback."""
    store.say(*BOATS)

    def on_tally(tally: Tally) -> None:
        if tally.questions >= 2 and not gone:
            server.stop()
            gone.append(tally.questions)
            came.extend(store_of_another.say(*(f"{text}, they say" for text in BOATS)))
            asyncio.get_running_loop().call_later(0.05, server.start)

    gone: list[int] = []
    came: list[Outcome] = []
    store_of_another = Store(store.folder)
    tally = store.verified(server, on_tally)
    assert gone
    assert {outcome.result for outcome in came} == {"decided"}
    assert "unavailable" not in tally.answers
    assert store.waiting == 0
    assert not any(kind.startswith("fallback") for kind in store.settled())
    assert sum(store.settled().values()) == tally.questions


@pytest.mark.parametrize("patience", [0.0, 1e9])
def test_what_one_order_has_cost_is_counted_if_the_other_gets_no_answer(
    store: Store, server: JudgeServer, patience: float
) -> None:
    store.say("Ada lives in Paris near the river", "Ada lives in Lyon near the river")
    server.fail(Fault(), Fault(529))
    tally = store.verified(server, patience=patience)
    answered = server.calls - 1
    assert tally.calls == answered == (1 if patience == 0.0 else 2)
    assert tally.known == 0


@pytest.mark.parametrize(
    ("fallback", "decision"), [("keep", "fallback_keep"), ("supersede", "fallback_supersede")]
)
def test_an_outage_that_outlasts_patience_is_the_policys_fallback(
    tmp_path: Path, server: JudgeServer, fallback: str, decision: str
) -> None:
    rules = {"checks": (ASKING,), "judge": Rules.model_validate({"unavailable": fallback})}
    store = Store(tmp_path, load_policy("standard").model_copy(update=rules))
    store.say(*GRAY)
    server.stop()
    assert store.verified(server, patience=0.0).answers["unavailable"] == 1
    assert store.settled() == {decision: 1}


def test_a_spent_budget_is_the_policys_fallback_at_once(store: Store, server: JudgeServer) -> None:
    store.say(*BOATS)
    store.verified(server, daily_calls=0)
    assert server.calls == 0
    assert store.settled() == {"fallback_keep": 5}


@pytest.mark.parametrize("status", [400, 413])
def test_a_request_that_the_service_refuses_is_no_cached_answer(
    store: Store, server: JudgeServer, status: int
) -> None:
    store.say(*BOATS[:2])
    server.always = Fault(status, "invalid_request_error")
    tally = store.verified(server)
    assert (tally.left, tally.known) == ({f"status {status}": 1}, 0)


def test_what_has_no_usable_answer_waits_and_its_reason_is_counted(
    store: Store, server: JudgeServer
) -> None:
    store.say(*BOATS[:2])
    server.always = Fault(change=lambda message: message | {"stop_reason": "refusal"})
    tally = store.verified(server)
    assert (tally.left, tally.outcomes) == ({"the model refused": 1}, {})
    assert (tally.answers, tally.calls) == ({"unusable": 1}, 2)
    assert (tally.usd or 0) > 0
    assert (store.waiting, store.settled()) == (1, {})
    server.always = None
    assert store.verified(server).calls == 0, "it is remembered, and costs nothing"
    assert store.waiting == 1
    store.verified(server, model="claude-sonnet-5-5")
    assert store.waiting == 0


Meanwhile = Callable[[str, str], Sequence[AnyRequest]]

MEANWHILE: dict[str, tuple[Meanwhile, Counter[str], list[str]]] = {
    "joined": (
        lambda a, b: [MergeRequest(request_id=fresh(), a=a, b=b)],
        Counter(),
        ["not_pending"],
    ),
    "separated": (
        lambda a, b: [SeparateRequest(request_id=fresh(), a=a, b=b)],
        Counter(llm_keep=1),
        ["not_pending"],
    ),
    "retracted": (
        lambda a, _: [RetractRequest(request_id=fresh(), selection=Selection(candidate_id=a))],
        Counter(),
        ["not_living"],
    ),
    "retracted and restored": (
        lambda a, _: [
            RetractRequest(request_id=fresh(), selection=Selection(candidate_id=a)),
            RestoreRequest(request_id=fresh(), selection=Selection(candidate_id=a)),
        ],
        Counter(superseded=1),
        [],
    ),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_a_verdict_that_comes_late(
    store: Store, monkeypatch: pytest.MonkeyPatch, server: JudgeServer, name: str
) -> None:
    """What a person says between the question and the answer holds; the verdict is kept."""
    requests, settled, refused = MEANWHILE[name]
    a, b = (str(outcome.candidate_id) for outcome in store.say(*BOATS[:2]))
    answer = Verifier.answer

    async def late(verifier: Verifier, question: object) -> object:
        found = await answer(verifier, question)  # type: ignore[arg-type]
        for request in requests(a, b):
            Store(store.folder).ask(request)
        return found

    monkeypatch.setattr(Verifier, "answer", late)
    tally = store.verified(server)
    assert tally.questions == 1
    assert (store.settled(), store.refused()) == (settled, refused)
    assert store.waiting == 0
    if name == "retracted":
        Store(store.folder).ask(
            RestoreRequest(request_id=fresh(), selection=Selection(candidate_id=a))
        )
        assert store.settled() == {"superseded": 1}, "the verdict was kept, and is not asked again"


def test_while_a_verdict_is_held_back_the_next_neighbour_is_not_asked_about(
    store: Store, monkeypatch: pytest.MonkeyPatch, server: JudgeServer
) -> None:
    """What is in the way may go: then all is as if it had never been there (laws L2 and L8)."""
    store.say(*BOATS[:2])
    store.verified(server)
    [newest] = store.say(BOATS[2])
    ledger = fold_owner(store.reader.log, "ada")
    question = settle_question(ledger, str(newest.candidate_id), store.reader.policy_in_force())
    assert question is not None
    best, _next = (neighbour.side.candidate_id for neighbour in question.asked)
    chosen = Selection(candidate_id=best)
    answer = Verifier.answer

    async def late(verifier: Verifier, question: object) -> object:
        found = await answer(verifier, question)  # type: ignore[arg-type]
        Store(store.folder).ask(RetractRequest(request_id=fresh(), selection=chosen))
        return found

    monkeypatch.setattr(Verifier, "answer", late)
    store.verified(server)
    assert (store.refused(), store.waiting) == (["not_living"], 0)
    calls = server.calls
    assert store.verified(server).questions == 0
    store.ask(RestoreRequest(request_id=fresh(), selection=chosen))
    assert store.settled() == {"superseded": 2}
    assert server.calls == calls


def test_a_retracted_candidate_is_asked_about_once_it_is_restored(
    store: Store, server: JudgeServer
) -> None:
    _, b = store.say(*BOATS[:2])
    chosen = Selection(candidate_id=b.candidate_id)
    store.ask(RetractRequest(request_id=fresh(), selection=chosen))
    assert store.verified(server).questions == 0
    assert store.waiting == 0
    store.ask(RestoreRequest(request_id=fresh(), selection=chosen))
    assert store.waiting == 1
    assert store.verified(server).outcomes == {"settled": 1}


# -- the loop, on a source of its own ------------------------------------------------------------


class Scripted:
    """Questions from a list, and a place that can be away for a while."""

    def __init__(self, questions: Sequence[PendingQuestion], away: int = 0) -> None:
        self.left = list(questions)
        self.away = away
        self.brought: list[AnsweredQuestion] = []
        self.most: list[int] = []

    async def take(self, most: int) -> list[PendingQuestion]:
        self._reach()
        self.most.append(most)
        some, self.left = self.left[:most], self.left[most:]
        return some

    async def at_end(self) -> bool:
        return not self.left

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        self._reach()
        self.brought += answered
        return Counter(brought=len(answered))

    def _reach(self) -> None:
        self.away -= 1
        if self.away > 0 and self.away % 2:
            raise TransientError("it is away")


def taken(count: int) -> list[PendingQuestion]:
    """Questions about distinct texts: equal ones would share a call."""
    from tests.streams.judge.test_verifier import about

    ids = [str(uuid4()) for _ in range(count)]
    return [PendingQuestion(about(f"a{n}", decided=one), one) for n, one in enumerate(ids)]


def run(
    questions: Scripted, judge: StandIn, stop: Callable[[], Awaitable[object]] | None = None
) -> Tally:
    async def running() -> Tally:
        stopping = asyncio.Event()
        verifier = Verifier(lambda _: judge, Batcher(BatchSettings(patience=0.0)))
        worker = JudgeWorker(questions, verifier, lambda _: None, poll=0.001, most=3)
        task = asyncio.create_task(worker.run(stopping, once=stop is None))
        if stop is not None:
            await stop()
            stopping.set()
        return await task

    return asyncio.run(running())


def test_all_are_brought_once_and_no_more_than_fit_are_in_hand() -> None:
    questions = Scripted(taken(20))
    everyone = [one.origin for one in questions.left]
    tally = run(questions, StandIn())
    assert sorted(one.pending.origin for one in questions.brought) == sorted(everyone)
    assert max(questions.most) == 3
    assert (tally.questions, tally.answers, tally.outcomes) == (
        20,
        {"different": 20},
        {"brought": 20},
    )
    assert tally.usd == pytest.approx(20 * 0.25)


def test_a_place_that_is_away_for_a_while_is_tried_again() -> None:
    questions = Scripted(taken(5), away=8)
    assert run(questions, StandIn()).questions == 5
    assert len(questions.brought) == 5


def test_a_question_that_comes_twice_is_asked_once() -> None:
    one, *_ = taken(1)
    judge = StandIn()
    questions = Scripted([one, PendingQuestion(one.question, "again")])
    assert run(questions, judge).questions == 2
    assert judge.calls == 1


def test_stopped_it_brings_what_is_answered_and_leaves_the_rest() -> None:
    gate = asyncio.Event()
    judge = StandIn(gate=gate)

    async def until_asked() -> None:
        while not judge.under_way:  # noqa: ASYNC110 - nobody gives word of it
            await asyncio.sleep(0)

    questions = Scripted(taken(5))
    tally = run(questions, judge, until_asked)
    assert tally.questions == len(questions.brought) == 0


def test_stopped_as_the_answers_come_it_delivers_and_counts_them() -> None:
    async def stopped_in_time() -> tuple[Tally, int]:
        stop = asyncio.Event()

        class Stopped(JudgeWorker):
            async def _wait(self, _: asyncio.Task[Any]) -> None:
                await asyncio.wait(self._tasks)
                stop.set()

        questions = Scripted(taken(3))
        verifier = Verifier(lambda _: StandIn(), Batcher(BatchSettings(patience=0.0)))
        tally = await Stopped(questions, verifier, lambda _: None).run(stop)
        return tally, len(questions.brought)

    tally, brought = asyncio.run(stopped_in_time())
    assert (tally.questions, tally.outcomes, brought) == (3, {"brought": 3}, 3)


def test_what_the_judge_raises_ends_it() -> None:
    class Broken(StandIn):
        async def compare(self, pairs: object) -> list[object]:  # type: ignore[override]
            raise RefusedError("broken", "a bug in the judge")

    with pytest.raises(RefusedError):
        run(Scripted(taken(5)), Broken())


def test_what_was_answered_before_the_key_was_refused_is_delivered() -> None:
    class Revoked(StandIn):
        async def compare(self, pairs: Any) -> list[Verdict]:
            if len(self.asked) == 2:
                while self.under_way:  # noqa: ASYNC110 - nobody gives word of it
                    await asyncio.sleep(0)
                raise UsageError("the service refuses the key")
            return await super().compare(pairs)

    questions = Scripted(taken(5))
    with pytest.raises(UsageError):
        run(questions, Revoked())
    assert len(questions.brought) == 2


def test_only_what_was_answered_is_known() -> None:
    """Neither cost anything: one was cached, and the other nobody answered."""
    tally = Tally()
    for answer in ("same", "unavailable"):
        verdict = Verdict(neighbour_id=str(uuid4()), answer=answer, calls=0.0)
        request = SettleRequest(
            request_id=str(uuid4()), candidate_id=str(uuid4()), verdicts=(verdict,)
        )
        tally.count(AnsweredQuestion(PendingQuestion(about("a", "b"), None), request))
    assert (tally.questions, tally.known) == (2, 1)


def test_a_cost_is_unknown_once_a_price_is() -> None:
    tally = Tally()

    def count(calls: float, cost_usd: float | None = None) -> float | None:
        verdict = Verdict(neighbour_id=str(uuid4()), answer="same", calls=calls, cost_usd=cost_usd)
        request = SettleRequest(
            request_id=str(uuid4()), candidate_id=str(uuid4()), verdicts=(verdict,)
        )
        tally.count(AnsweredQuestion(PendingQuestion(about("a", "b"), None), request))
        return tally.usd

    assert count(calls=1.0, cost_usd=0.25) == 0.25
    assert count(calls=0.0) == 0.25, "it was cached"
    assert count(calls=1.0) is None
    assert count(calls=1.0, cost_usd=0.25) is None
