"""Verifiers of a cluster: killed anywhere, each question is settled once and none is lost."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from aiokafka import TopicPartition
from typer.testing import CliRunner

from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.cli.main import app
from palimpsest.contracts.errors import NewerError
from palimpsest.contracts.events import AnyEvent, Decided, JudgeSet, Refused, Settled
from palimpsest.contracts.evidence import RecordedJudge
from palimpsest.contracts.questions import QUESTION, SettleQuestion
from palimpsest.contracts.wire import decode
from palimpsest.streams.cluster.client.client import Client
from palimpsest.streams.cluster.questions import MOST_BYTES, TopicQuestions, question_record
from palimpsest.streams.cluster.records import Outgoing
from palimpsest.streams.cluster.topics import partition_of
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.verifier import Verifier
from palimpsest.streams.judge.worker import AnsweredQuestion, JudgeWorker, Tally
from tests.cluster.cluster import Cluster, ended, environment, eventually, stderr_of
from tests.cluster.verifier import events_of, read_topic
from tests.reliability.processes import Forge
from tests.streams.judge.stand_in import StandIn
from tests.streams.judge.test_verifier import about
from tests.streams.write.runtime import inputs

OWNERS = ("ada", "ben", "cleo", "dora")
ROWS = [
    {
        "owner_id": owner,
        "text": f"Hedda paints {n} wooden boats in the harbour",
        "id": f"{owner} {n}",
        "source": "test",
    }
    for n in range(2, 6)
    for owner in OWNERS
]
PENDING = len(ROWS) - len(OWNERS)


class Dies(Exception):
    """Stands for a kill: what comes after it does not happen."""


class Mortal(TopicQuestions):
    """Dies before it publishes, or before it notes what it published."""

    dies_before = ""

    async def _publish(self, answered: Sequence[AnsweredQuestion]) -> None:
        self._die("publish")
        await super()._publish(answered)

    async def _commit(self) -> None:
        self._die("commit")
        await super()._commit()

    def _die(self, what: str) -> None:
        if self.dies_before == what:
            raise Dies


def verified(cluster: Cluster, judge: StandIn, dies_before: str = "") -> Tally | None:
    """One verifier, until nothing waits; None where it died."""

    async def run() -> Tally | None:
        questions = Mortal(cluster.connection, cluster.topics)
        questions.dies_before = dies_before
        async with questions:
            verifier = Verifier(lambda _: judge, Batcher(BatchSettings(patience=0.0)))
            worker = JudgeWorker(questions, verifier, lambda _: None, poll=0.05, most=5)
            try:
                return await worker.run(asyncio.Event(), once=True)
            except Dies:
                return None

    return cluster.run(run())


def events(cluster: Cluster) -> list[AnyEvent]:
    cluster.decided()
    found = cluster.run(events_of(cluster.connection, cluster.topics))
    return [event for owner in OWNERS for event in found.get(owner, ())]


def settled(cluster: Cluster) -> Counter[str]:
    found = [event for event in events(cluster) if isinstance(event, Settled)]
    assert len({event.data.candidate_id for event in found}) == len(found)
    return Counter(event.data.decision for event in found)


def test_questions_are_published_with_decisions_and_settled_once(cluster: Cluster) -> None:
    cluster.worker()
    cluster.publish(inputs(ROWS))
    cluster.decided()
    name, partitions = cluster.topics.name("verifications"), cluster.topics.partitions
    records = cluster.run(read_topic(cluster.connection, name, partitions))
    pending = {
        event.subject
        for event in events(cluster)
        if isinstance(event, Decided) and event.data.decision == "pending"
    }
    asked = [QUESTION.validate_json(one.value or b"") for some in records for one in some]
    assert len(asked) == len(pending) == PENDING
    assert {question.subject for question in asked} == pending
    for number, some in enumerate(records):
        assert all(partition_of((one.key or b"").decode(), partitions) == number for one in some)
    judge = StandIn(lambda _: "same")
    assert verified(cluster, judge, "publish") is None
    assert settled(cluster) == {}
    assert verified(cluster, judge, "commit") is None
    tally = verified(cluster, judge)
    assert tally is not None
    assert tally.questions == PENDING, "the first two noted nothing"
    assert settled(cluster) == {"llm_reject": PENDING}
    assert not [event for event in events(cluster) if isinstance(event, Refused)]
    calls = judge.calls
    cluster.publish(inputs(ROWS))
    cluster.decided()
    again = verified(cluster, judge)
    assert again is not None
    assert (again.questions, judge.calls) == (0, calls)


def test_what_is_settled_in_one_transaction_is_settled_once_wherever_a_worker_dies(
    cluster: Cluster,
) -> None:
    """All answers wait together when each of the workers begins."""
    worker = cluster.worker()
    cluster.publish(inputs(ROWS))
    cluster.decided()
    assert ended([worker]) == [0], stderr_of(worker)
    assert verified(cluster, StandIn(lambda _: "same")) is not None
    for step in ("begin", "sent", "committed"):
        worker = cluster.worker(crash=[f"transaction:{step}", 1])
        assert worker.wait() == -signal.SIGKILL, stderr_of(worker)
    worker = cluster.worker()
    assert settled(cluster) == {"llm_reject": PENDING}
    assert not [event for event in events(cluster) if isinstance(event, Refused)]
    answers = cluster.topics.name("answers")
    read = cluster.run(read_topic(cluster.connection, answers, cluster.topics.partitions))
    keys = [record.key for records in read for record in records]
    assert len(keys) == len(set(keys)) == PENDING, "each is answered by itself, and once"
    assert ended([worker]) == [0], stderr_of(worker)


def test_each_partition_knows_a_judge_before_its_first_verdict(cluster: Cluster) -> None:
    """And from its own records alone; one in which a judge has said nothing does not name it."""
    cluster.worker()
    first, later = (
        RecordedJudge(protocol="openai-chat", model=model) for model in ("small", "large")
    )
    alone = [row for row in ROWS if row["owner_id"] == OWNERS[0]]
    for rows, judge in ((alone, first), (ROWS, later)):
        cluster.publish(inputs(rows))
        cluster.decided()
        assert verified(cluster, StandIn(recorded=judge)) is not None
        cluster.decided()
    name, partitions = cluster.topics.name("decisions"), cluster.topics.partitions
    named: list[list[str]] = []
    for records in cluster.run(read_topic(cluster.connection, name, partitions)):
        known: list[str] = []
        said = [decode(record.value or b"") for record in records]
        for event in said:
            if isinstance(event, JudgeSet):
                assert event.data.former == (known[-1] if known else None)
                known.append(event.data.hash)
            if isinstance(event, Settled):
                assert {verdict.judge for verdict in event.data.evidence.verdicts} == {known[-1]}
        named.append(known)
    home = partition_of(OWNERS[0], partitions)
    others = {partition_of(owner, partitions) for owner in OWNERS[1:]} - {home}
    assert others
    assert named[home][0] == first.hash
    assert all(named[partition] == [later.hash] for partition in others)
    asked = others | {home}
    assert not any(some for number, some in enumerate(named) if number not in asked)


def publish_no_question(cluster: Cluster) -> None:
    """A record that is not a question into the first partition of the questions."""

    async def publish() -> None:
        client = Client(cluster.connection, cluster.topics)
        await client.start()
        try:
            topic = cluster.topics.name("verifications")
            await client._producer.send_and_wait(topic, b"no question", b"ada", partition=0)
        finally:
            await client.stop()

    cluster.run(publish())


def test_what_is_no_question_is_passed_over(cluster: Cluster) -> None:
    cluster.worker()
    publish_no_question(cluster)
    cluster.publish(inputs(ROWS[:8]))
    cluster.decided()
    tally = verified(cluster, StandIn())
    assert tally is not None
    assert tally.questions == 4
    assert settled(cluster) == {"llm_keep": 4}


def test_what_is_no_question_is_passed_over_once(cluster: Cluster) -> None:
    """Also where no question follows it, which would be noted with its answer."""

    async def unreadable() -> int:
        async with TopicQuestions(cluster.connection, cluster.topics) as questions:
            async with asyncio.timeout(60):
                while not await questions.at_end():
                    assert await questions.take(5) == []
            return questions.unreadable

    publish_no_question(cluster)
    assert cluster.run(unreadable()) == 1
    assert cluster.run(unreadable()) == 0


def test_a_verifier_killed_while_the_service_is_away_is_followed_by_another(
    cluster: Cluster, forge: Forge
) -> None:
    """The command itself: SIGKILL in an outage, then one that settles all and ends with 0."""
    cluster.worker()
    with JudgeServer() as server:
        server.stop()
        cluster.publish(inputs(ROWS))
        cluster.decided()
        words = ["verifier", "--data", str(cluster.folder / "verifier")]
        judge = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": server.url}
        env = environment(cluster.connection) | judge | {"PALIMPSEST_JUDGE_RETRIES": "0"}
        first = forge.start(cluster.folder / "store", words, env=env)
        eventually(lambda: "does not answer" in stderr_of(first), "it waits for the service")
        first.kill()
        assert first.wait() == -signal.SIGKILL
        assert settled(cluster) == {}
        server.start()
        second = forge.run(cluster.folder / "store", [*words, "--once"], env=env)
        assert second.wait() == 0, stderr_of(second)
    kinds = settled(cluster)
    assert sum(kinds.values()) == PENDING
    assert not any(kind.startswith("fallback") for kind in kinds)
    assert not [child for child in (first, second) if "Hedda" in stderr_of(child)]


def test_what_waits_in_a_store_that_follows_is_asked_and_settled_once(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--from-store`: for questions that the topic has no more. Here it has them, too."""
    cluster.worker()
    cluster.projector()
    cluster.publish(inputs(ROWS[:8]))
    cluster.decided()
    cluster.followed()
    where = ["--bootstrap", cluster.connection.bootstrap, "--prefix", cluster.connection.prefix]
    words = ["--store", str(cluster.folder / "store"), "--json", "verifier", "--once"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    with JudgeServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ran = CliRunner().invoke(app, [*words, "--from-store", *where])
    assert ran.exit_code == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["questions"], told["waiting"]) == (4, 0)
    before = settled(cluster)
    assert sum(before.values()) == 4
    again = verified(cluster, StandIn(lambda _: "same"))
    assert again is not None
    assert again.questions == 4
    assert settled(cluster) == before


@pytest.mark.parametrize(("share", "left"), [(3, ["a", "b"]), (2, ["a"])])
def test_a_question_that_is_too_large_asks_about_fewer(share: int, left: list[str]) -> None:
    """No record of a worker may be too large: it would end it, and the next one."""
    long = "x" * (MOST_BYTES // share)
    question = about("a", "b", "c")
    sides = [one.model_copy(update={"side": one.side.model_copy(update={"text": long})})
             for one in question.asked]  # fmt: skip
    large = question.model_copy(update={"asked": tuple(sides)})
    record = question_record("topic", large)
    assert isinstance(record, Outgoing)
    asked = QUESTION.validate_json(record.value)
    assert isinstance(asked, SettleQuestion)
    assert [one.side.candidate_id for one in asked.asked] == left
    alone = large.model_copy(
        update={"candidate": large.candidate.model_copy(update={"text": long * 3})}
    )
    assert question_record("topic", alone) is None


def take(record: bytes) -> tuple[list[Any], list[str]]:
    """What a verifier makes of a record, and what it notes at the brokers."""
    at = TopicPartition("verifications", 0)
    found = SimpleNamespace(topic=at.topic, partition=at.partition, offset=7, value=record)
    consumer = Mock(getmany=AsyncMock(return_value={at: [found]}))
    member: Any = SimpleNamespace(
        _consumer=consumer, _progress={}, unreadable=0, _commit=AsyncMock()
    )
    member._taken = partial(TopicQuestions._taken, member)
    taken: list[Any] = asyncio.run(TopicQuestions.take(member, 3))
    return taken, ["committed"] * member._commit.await_count


def test_settings_of_a_newer_version_that_are_left_alone_do_not_stop_an_older_verifier() -> None:
    """A record has no setting at its default that policies had not from the first."""
    question = about("a", "b")
    record = question_record("topic", question)
    assert record is not None
    assert not set(json.loads(record.value)["rules"]) & {"ask", "model", "share", "enabled"}
    assert QUESTION.validate_json(record.value) == question
    rules = question.rules.model_copy(update={"ask": "same"})
    other = question_record("topic", question.model_copy(update={"rules": rules}))
    assert other is not None
    assert json.loads(other.value)["rules"]["ask"] == "same"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"rules": {"foresight": 1}, "requires": "9.2"}, "needs Palimpsest 9.2 or newer"),
        ({"question": "foresee", "requires": "9.2"}, "needs Palimpsest 9.2 or newer"),
        ({"requires": "9.2"}, "needs Palimpsest 9.2 or newer"),
        ({"question": "foresee"}, "was written by a newer version"),
    ],
)
def test_a_question_of_a_newer_version_ends_a_verifier_and_stays(
    more: dict[str, Any], told: str
) -> None:
    record = question_record("topic", about("a", "b"))
    assert record is not None
    question = json.loads(record.value)
    question |= more | {"rules": question["rules"] | more.get("rules", {})}
    with pytest.raises(NewerError, match=told) as refused:
        take(json.dumps(question).encode())
    assert "verifications/0/7" in str(refused.value)


def test_a_question_that_is_damaged_is_passed_over() -> None:
    assert take(b"{}") == ([], ["committed"])


def test_no_more_questions_are_taken_than_there_is_room_for() -> None:
    consumer = Mock(getmany=AsyncMock(return_value={}))
    member: Any = SimpleNamespace(_consumer=consumer)
    assert asyncio.run(TopicQuestions.take(member, 3)) == []
    assert consumer.getmany.await_args.kwargs["max_records"] == 3
