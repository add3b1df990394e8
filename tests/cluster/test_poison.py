"""What cannot be read becomes a dead letter as it came, and never stops those after it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from palimpsest.backends.paths import LOG_FILE
from palimpsest.contracts.events import Decided, Invalid
from palimpsest.contracts.identity import candidate_id, decision_id_of, digest, invalid_id
from palimpsest.contracts.wire import decode
from palimpsest.streams.cluster.records import ROOM
from palimpsest.streams.cluster.topics import LARGEST as LARGEST_WRITTEN
from palimpsest.streams.cluster.topics import partition_of
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from tests.cluster.cluster import PARTITIONS, Cluster, ended, eventually, stderr_of
from tests.cluster.load import publish
from tests.cluster.verifier import Record, check_followed, read_topic

HOME = partition_of("ann", PARTITIONS)
ELSEWHERE = next(f"owner {n}" for n in range(99) if partition_of(f"owner {n}", PARTITIONS) != HOME)
LARGEST = 1024 * 1024 - 300
"""Bytes of a value that a producer with the usual settings can send."""
BEYOND = 3 * LARGEST_WRITTEN // 2
"""Bytes of a value that are sent compressed, and are more than a dead letter has room for."""


def row(number: int, owner: str = "ann", **more: Any) -> bytes:
    said = {"owner_id": owner, "source": "test", "id": str(number), "text": f"text {number}"}
    return orjson.dumps(said | more)


BINARY = [
    ("ce_specversion", b"1.0"),
    ("ce_type", b"palimpsest.candidate.v1"),
    ("ce_source", b"test"),
    ("content-type", b"application/json"),
]
ODD = [
    *BINARY,
    ("ce_id", b"\xff\xfe"),
    ("ce_id", b"again"),
    ("ce_time", None),
    ("", b"no name"),
    ("palimpsest-id", b"\xff not ours"),
    ("palimpsest-odd", b"\xff"),
    ("trace", b""),
]

Sent = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]
GOOD: list[Sent] = [
    (b"ann", row(1), []),
    (None, row(2), []),
    (b"ann", b'{"owner_id": "ann", "text": "text 3"}', [*BINARY, ("ce_id", b"3")]),
    (b"ann", row(4, note="x" * (LARGEST - 200)), []),
    (b"another key", row(5), [("trace", b"\xff")]),
    (b"ann", row(6), []),
    (b"ann", row(7), []),
    (b"ann", row(8), []),
]
POISON: list[Sent] = [
    (b"ann", b"\xff\x00 no json", [("trace", b"1"), ("trace", b"\xff")]),
    (b"ann", None, [("tombstone", b"yes")]),
    (None, b"no key and no json", []),
    (b"ann", row(9, ELSEWHERE), []),
    (b"ann", b'{"owner_id": "ann", "text": 3}', ODD),
    (b"ann", b"y" * LARGEST, []),
    (b"ann", b'{"owner_id": "ann", "text": 3}', [("again", b"yes")]),
    (b"ann", b"z" * BEYOND, [("large", b"x" * (BEYOND // 4))]),
]
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 8)


def offered() -> list[Sent]:
    """Good and poison in turns."""
    return [one for pair in zip(GOOD, POISON, strict=True) for one in pair]


@pytest.fixture
def decided(cluster: Cluster) -> list[Record]:
    """The letters after all of it was decided; the projector's store has them too."""
    raw = [(HOME, key, value, headers) for key, value, headers in offered()]
    publish(cluster.connection, cluster.topics, raw, compression_type="gzip")
    worker, projector = cluster.worker(), cluster.projector()
    eventually(lambda: cluster.is_decided() or worker.has_ended(), "all is decided")
    assert not worker.has_ended(), stderr_of(worker)
    cluster.followed()
    assert ended([worker, projector]) == [0, 0], stderr_of(projector)
    topic = cluster.topics.name("dead_letters")
    return cluster.run(read_topic(cluster.connection, topic, PARTITIONS))[HOME]


def test_poison_is_kept_as_it_came_and_the_rest_goes_on_in_order(
    cluster: Cluster, decided: list[Record]
) -> None:
    topic = cluster.topics.name("candidates")
    for number, (letter, (key, value, headers)) in enumerate(zip(decided, POISON, strict=True)):
        whole = value or b""
        assert letter.key == key
        assert letter.value == whole[: len(letter.value or b"")]
        assert len(letter.value or b"") == len(whole) or len(letter.value or b"") >= ROOM // 2
        assert list(letter.headers[: len(headers)]) == headers
        told = dict(letter.headers[len(headers) :])
        assert told["palimpsest-origin"].decode() == f"{topic}/{HOME}/{2 * number + 1}"
        assert told["palimpsest-id"].decode() == invalid_id(digest(whole))
        assert int(told["palimpsest-bytes"]) == len(whole)
    reasons = [dict(letter.headers)["palimpsest-reason"] for letter in decided]
    assert reasons[3] == b"wrong_partition"

    read = read_topic(cluster.connection, cluster.topics.name("decisions"), PARTITIONS)
    events = [decode(record.value or b"") for record in cluster.run(read)[HOME]]
    found = [event.id for event in events if isinstance(event, Decided | Invalid)]
    good = [decision_id_of(candidate_id("ann", "test", str(number))) for number in NUMBERS]
    bad = [invalid_id(digest(value or b"")) for _, value, _ in POISON]
    offered = (one for pair in zip(good, bad, strict=True) for one in pair)
    assert found == list(dict.fromkeys(offered)), "equal bytes are one event"

    check_followed(cluster)
    with Log.open(cluster.folder / "store" / LOG_FILE) as log:
        letters = DeadLetters(log)
        kept = {one.id: one for one in letters.all()}
        assert list(kept) == list(dict.fromkeys(bad))
        for one, (_, value, headers) in zip(kept.values(), POISON[:6] + POISON[7:], strict=True):
            original = letters.original(one.id) or b""
            assert (value or b"").startswith(original)
            assert (one.size, one.digest) == (len(value or b""), digest(value or b""))
            assert one.size == len(original) or len(original) >= ROOM // 2
            assert letters.headers(one.id) == tuple(headers)
            assert one.times == bad.count(one.id)
