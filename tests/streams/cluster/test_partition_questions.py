"""What a partition's writer tells `memory.verifications`, with the decisions that it comes of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from palimpsest.contracts.errors import TransientError
from palimpsest.contracts.events import Reversed
from palimpsest.contracts.questions import QUESTION, AnyQuestion, ComposeQuestion
from palimpsest.contracts.requests import UnmergeRequest
from palimpsest.streams.cluster.records import Outgoing, Record
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import PartitionWriter
from palimpsest.streams.cluster.worker.replica import Followed, PartitionReplica
from palimpsest.streams.log.log import Lines
from palimpsest.streams.write.commit import InputOffset
from palimpsest.streams.write.writer import Writer
from tests.laws.checks import must_not_be_asked, texts_to_compose
from tests.laws.histories import ASKING, COMPOSED, Act, Playback, losses
from tests.laws.world import BEGIN
from tests.streams.write.written import Written

TOPICS = Topics("", 1)
INPUTS = {"memory.candidates": "candidates", "memory.commands": "commands"}


class Brokers:
    """What was published, one transaction after the other; `away`: they take nothing."""

    def __init__(self) -> None:
        self.taken: list[tuple[Lines, list[AnyQuestion]]] = []
        self.away = False

    def publish(
        self, lines: Lines, others: Sequence[Outgoing], _done: Sequence[InputOffset]
    ) -> int:
        """Take a transaction."""
        if self.away:
            raise TransientError("the brokers are away")
        topic = TOPICS.name("verifications")
        questions = [
            QUESTION.validate_json(other.value) for other in others if other.topic == topic
        ]
        self.taken.append((lines, questions))
        return sum(len(some) for some, _ in self.taken)

    def asked(self) -> dict[str, AnyQuestion]:
        """The last question about each subject: what whoever reads the topic knows."""
        return {question.subject: question for _, questions in self.taken for question in questions}

    def partition(self, path: Path, clock: Callable[[], datetime]) -> PartitionWriter:
        """The writer of the only partition, on a replica that has all that was published."""
        log = PartitionReplica.create(path)
        known = sum(len(lines) for lines, _ in self.taken)
        decisions = Followed(TOPICS.name("decisions"), 0, "id", known)
        return PartitionWriter(
            log,
            self.publish,
            decisions,
            TOPICS,
            INPUTS,
            ASKING,
            must_not_be_asked,
            clock,
            Metrics(),
        )

    def filled_by(self, story: list[Act], path: Path) -> Written:
        """A story played to a partition's writer, each act in a transaction of its own."""

        def made(clock: Callable[[], datetime]) -> Writer:
            return self.partition(path, clock).writer

        world = Written(ASKING, made)
        playback = Playback(world)
        for act in story:
            playback.follow(act)
            world.writer.commit()
        return world


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(story=losses)
def test_the_last_question_about_a_join_is_of_the_sources_that_are_left(story: list[Act]) -> None:
    brokers = Brokers()
    with TemporaryDirectory() as folder:
        world = brokers.filled_by(story, Path(folder) / "replica.sqlite")
        asked = brokers.asked()
        for edge_id, left in texts_to_compose(world.ledger).items():
            question = asked[edge_id]
            assert isinstance(question, ComposeQuestion)
            assert tuple(source.candidate_id for source in question.sources) == left
        assert world.writer.log.verifications.count() == 0, "who asks the judge reads the topic"
        world.writer.log.close()


@pytest.fixture
def composed(tmp_path: Path) -> tuple[Brokers, Path, str]:
    """A text composed of four, its partition's replica, and the join of the oldest of them."""
    brokers = Brokers()
    world = brokers.filled_by(COMPOSED, tmp_path / "replica.sqlite")
    world.writer.log.close()
    return brokers, tmp_path / "replica.sqlite", next(iter(world.ledger.edges))


def command(decision_id: str) -> Record:
    request = UnmergeRequest(request_id=str(uuid4()), decision_id=decision_id)
    return Record("memory.commands", 0, 7, request.model_dump_json().encode())


def test_a_text_is_asked_for_in_the_transaction_that_takes_its_source_away(
    composed: tuple[Brokers, Path, str],
) -> None:
    brokers, path, join = composed
    record = command(join)
    for _ in range(2):  # the second time by whoever has the partition next
        writer = brokers.partition(path, lambda: BEGIN)
        writer.carry_out([record])
        writer.log.close()
    assert not any(isinstance(q, ComposeQuestion) for _, some in brokers.taken[:-1] for q in some)
    lines, [question] = brokers.taken[-1]
    assert [type(event) for event, _ in lines] == [Reversed]
    assert isinstance(question, ComposeQuestion)
    # All that are left: the texts of two and of three have lost their source, too.
    assert len(question.sources) == 3


def test_what_the_brokers_did_not_take_is_asked_when_it_comes_again(
    composed: tuple[Brokers, Path, str],
) -> None:
    brokers, path, join = composed
    before, record = len(brokers.taken), command(join)
    writer = brokers.partition(path, lambda: BEGIN)
    brokers.away = True
    with pytest.raises(TransientError):
        writer.carry_out([record])
    brokers.away = False
    writer.log.close()
    writer = brokers.partition(path, lambda: BEGIN)  # of the next assignment
    writer.carry_out([record])
    writer.log.close()
    [(_, questions)] = brokers.taken[before:]
    assert [type(question) for question in questions] == [ComposeQuestion]
