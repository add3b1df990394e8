"""What is read to find the candidates on which a memory depends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from palimpsest.projections.shown.related import related
from palimpsest.streams.core.ledger import Entry
from tests.streams.write.runtime import Runtime

REPEATS = 20


class Members(list[Entry]):
    """The candidates of a text, which counts how often they are gone through."""

    reads = 0

    def __iter__(self) -> Iterator[Entry]:
        self.reads += 1
        return super().__iter__()


def test_the_repeats_of_a_text_are_gone_through_once(tmp_path: Path) -> None:
    runtime = Runtime(tmp_path / "log")
    runtime.submit(*({"owner_id": "ada", "text": "Tea", "id": str(n)} for n in range(REPEATS)))
    entries = runtime.writer.ledger("ada").entries
    first = next(iter(entries.values()))
    members = first.distinct.members = Members(first.distinct.members)
    assert related([first]) == set(entries)
    assert (len(entries), members.reads) == (REPEATS, 1)
