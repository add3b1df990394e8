"""A batch that unpacks to too much is cut record by record, and every record is still there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import aiokafka.consumer.fetcher as fetching
import pytest
from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import READ_UNCOMMITTED, Fetcher, PartitionRecords
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.streams.cluster.records import Record, read
from palimpsest.streams.cluster.unpacking import CUT, bound_unpacking, bytes_at_once, size_of

MOST = 4096
CODECS = {"gzip": 1, "lz4": 3, "zstd": 4}
FITS = [(b"ann", b"x" * 100, [("trace", b"1"), ("none", None)]), (None, None, []), (b"", b"", [])]
LARGE = (b"ann", b"y" * 300_000, [("h", b"z" * 9000)])


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    modules = [vars(sys.modules[DefaultRecordBatch.__module__]), vars(fetching)]
    before = [dict(module) for module in modules]
    bound_unpacking(MOST)
    yield
    for module, names in zip(modules, before, strict=True):
        module.update(names)


def packed_batch(codec: str, records: list[Any], first: int = 0) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=CODECS[codec],
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=10**7,
    )
    for offset, (key, value, headers) in enumerate(records):
        assert builder.append(offset, 1_700_000_000_000 + offset, key, value, headers)
    batch = bytes(builder.build())
    return first.to_bytes(8) + batch[8:]  # the offset is not in the checksum


def unpacked(codec: str, records: list[Any]) -> list[Any]:
    return list(DefaultRecordBatch(packed_batch(codec, records)))


@pytest.mark.parametrize("codec", CODECS)
def test_what_fits_is_as_it_was_sent(codec: str) -> None:
    found = unpacked(codec, FITS)
    assert [(one.key, one.value, list(one.headers)) for one in found] == FITS
    assert [one.offset for one in found] == [0, 1, 2]


@pytest.mark.parametrize("codec", CODECS)
def test_what_does_not_fit_is_cut_and_told(codec: str) -> None:
    found = unpacked(codec, [*FITS, LARGE, (b"k" * 9000, b"v", []), *FITS])
    assert [one.offset for one in found] == [*range(8)]
    assert [one.timestamp for one in found] == [1_700_000_000_000 + n for n in range(8)]
    kept = [(one.key, one.value, list(one.headers)) for one in found]
    assert kept[:3] == FITS
    cut = [(CUT, b"300000")]
    assert kept[3][0] == b"ann"
    assert LARGE[1].startswith(kept[3][1] or b"no")
    assert MOST // 2 < len(kept[3][1] or b"") <= MOST
    assert kept[3][2] == cut
    assert kept[4] == (None, b"", [(CUT, b"1")])
    assert sum(len(one.value or b"") for one in found) <= MOST
    record = Record("memory.candidates", 0, 3, kept[3][1] or b"", kept[3][0], tuple(cut))
    meaning = read(record, "memory.candidates", 1).meaning
    assert isinstance(meaning, InvalidInputError)
    assert "of its 300000 bytes" in meaning.detail


def test_of_many_batches_that_each_fit_few_are_unpacked_at_once() -> None:
    at_once, offsets = asyncio.run(taken([[(b"ann", b"x" * 1000, [("h", b"z" * 200)])] * 3] * 20))
    assert MOST <= max(at_once) < MOST + 1203
    assert offsets == [[*range(60)]] * 2


async def taken(batches: list[list[Any]]) -> tuple[list[int], list[list[int]]]:
    """How many bytes come at once of two partitions that were fetched, and the offsets of each."""
    packed = b"".join(packed_batch("zstd", records, 3 * at) for at, records in enumerate(batches))
    subscription = SubscriptionState()
    subscription.subscribe({"candidates"})
    partitions = [TopicPartition("candidates", number) for number in range(2)]
    subscription.assign_from_subscribed(partitions)
    assignment = subscription.subscription.assignment
    fetcher = Fetcher(AIOKafkaClient(), subscription)
    fetched = vars(fetcher)["_records"]
    for at in partitions:
        assignment.state_value(at).reset_to(0)
        records = MemoryRecords(packed)
        unpacking = PartitionRecords(at, records, [], 0, None, None, False, READ_UNCOMMITTED)
        fetched[at] = fetching.FetchResult(
            at, assignment=assignment, partition_records=unpacking, backoff=0
        )
    at_once: list[int] = []
    offsets: dict[TopicPartition, list[int]] = {at: [] for at in partitions}
    while fetched:
        with bytes_at_once(MOST):
            found = await fetcher.fetched_records(set(partitions))
        at_once.append(sum(size_of(one) for some in found.values() for one in some))
        for at, some in found.items():
            offsets[at] += [one.offset for one in some]
    await fetcher.close()
    return at_once, [*offsets.values()]


def test_what_is_damaged_is_no_batch() -> None:
    builder = DefaultRecordBatchBuilder(2, 4, False, -1, -1, -1, 10**7)
    builder.append(0, 0, b"ann", b"x" * 100_000, [])
    with pytest.raises((OSError, EOFError)):
        list(DefaultRecordBatch(bytes(builder.build())[:-9]))
