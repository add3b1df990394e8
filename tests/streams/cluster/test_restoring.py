"""Which records of a copy each restored partition gets; the whole is in tests/cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import MagicMock
from uuid import uuid4

import pytest

from palimpsest.contracts.events import AnyEvent, JudgeSet, Refused, RefusedData
from palimpsest.contracts.evidence import RecordedJudge, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster.client import restore
from palimpsest.streams.cluster.topics import Topics, partition_of
from palimpsest.streams.core.record import judge_event

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SMALL, LARGE = (RecordedJudge(protocol="openai-chat", model=name) for name in ("small", "large"))
ANN, BEN = "ann", "ben"
"""They are in different partitions of the two."""


def answer(owner: str, judge: RecordedJudge) -> Refused:
    """An owner's answer of a judge, the first event of its request."""
    verdict = Verdict(neighbour_id="a", answer="same", judge=judge.hash)
    return Refused(
        id=str(uuid4()),
        subject="a",
        time=NOW,
        partitionkey=owner,
        requestid=str(uuid4()),
        data=RefusedData(command="settle", reason="separated", detail="", verdicts=(verdict,)),
    )


def named(judge: RecordedJudge, of: Refused, former: RecordedJudge | None = None) -> JudgeSet:
    """The event with which a partition learns of a judge, before its answer."""
    assert of.requestid is not None
    made = event_id(of.requestid, "judge")
    return judge_event(judge, made, NOW, None if former is None else former.hash)


def restored(
    monkeypatch: pytest.MonkeyPatch, events: list[AnyEvent], left: list[AnyEvent]
) -> dict[int, list[AnyEvent]]:
    """What each of two partitions gets from a copy; Ann's still has those that are left."""
    lines = [(event, event.id.encode()) for event in events]
    monkeypatch.setattr(restore, "exported_events", lambda _lines: iter(lines))
    plan = restore._Plan(MagicMock(), Topics("", 2), MagicMock(), MagicMock())
    plan.deleted = {0: 9, 1: 9}
    plan._take(partition_of(ANN, 2), [MagicMock(value=encode(event)) for event in left])
    found: dict[int, list[AnyEvent]] = {0: [], 1: []}
    for partition, event, line in plan._from_copy():
        assert line == event.id.encode()
        found[partition].append(event)
    return found


def test_a_partition_names_the_judges_that_answered_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each before its first answer, as the partition's writer recorded it; no other."""
    ann, ben = partition_of(ANN, 2), partition_of(BEN, 2)
    assert ann != ben
    first, second, third, of_ben = (
        answer(ANN, SMALL),
        answer(ANN, LARGE),
        answer(ANN, LARGE),
        answer(BEN, SMALL),
    )
    hers: list[AnyEvent] = [named(SMALL, first), first, named(LARGE, second, SMALL), second, third]
    his: list[AnyEvent] = [named(SMALL, of_ben), of_ben]
    together = [his[0], *hers[:4], his[1], hers[4]]
    assert restored(monkeypatch, together, []) == {ann: hers, ben: his}
    assert restored(monkeypatch, together, hers[2:4]) == {ann: [*hers[:2], hers[4]], ben: his}


def test_a_judge_of_an_imported_log_is_named_wherever_it_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There, each judge was recorded once, with the first answer about anybody."""
    ann, ben = partition_of(ANN, 2), partition_of(BEN, 2)
    first, second, of_ben = answer(ANN, SMALL), answer(ANN, LARGE), answer(BEN, SMALL)
    small, large = named(SMALL, first), named(LARGE, second, SMALL)
    assert restored(monkeypatch, [small, first, of_ben, large, second], []) == {
        ann: [small, first, large, second],
        ben: [small, of_ben],
    }


def test_a_judge_whose_first_answer_is_beyond_the_copy_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The topic still has the answer, but no longer the judge that was recorded before it."""
    first, second, third = answer(ANN, SMALL), answer(ANN, LARGE), answer(ANN, LARGE)
    small, large = named(SMALL, first), named(LARGE, second, SMALL)
    ann, ben = partition_of(ANN, 2), partition_of(BEN, 2)
    lost: list[AnyEvent] = [small, first, large]
    assert restored(monkeypatch, lost, [second, third]) == {ann: lost, ben: []}
    assert restored(monkeypatch, [*lost, second], [second, third]) == {ann: lost, ben: []}
    assert restored(monkeypatch, lost, [third]) == {ann: lost, ben: []}
    assert restored(monkeypatch, [small, first], [large, second]) == {ann: [small, first], ben: []}
    assert restored(monkeypatch, [small], [first, large, second]) == {ann: [small], ben: []}
