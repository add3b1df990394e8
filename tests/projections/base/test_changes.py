"""What events touch becomes one row per key, whatever the batches were."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from palimpsest.contracts.commands import Merge, Reinstate, Retract, Unmerge
from palimpsest.contracts.events import Vector
from palimpsest.projections.base.changes import MANY_MEMBERS, RowChanges
from palimpsest.projections.base.rows import DistinctState, Gone, MemoryState, Rows
from palimpsest.projections.base.totals import Total
from palimpsest.projections.base.vectors import Numbers, Packed
from palimpsest.projections.fold import folded, owner_rows
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from tests.projections.histories import History
from tests.streams.core.spec import given, say


def test_nothing_added_is_nothing_taken() -> None:
    assert RowChanges().take() is None


def test_an_event_delivered_twice_leaves_no_second_row() -> None:
    log = History(1).steps(60, owners=1).log
    ledger, changes = Ledger("owner 0's"), RowChanges()
    for event in log.events:
        if event.event.owner_id == ledger.owner_id:
            for _ in range(2):
                changes.add(event.position, event.event, evolve(ledger, event.event))
    rows, once = changes.take(), owner_rows(log, ledger.owner_id, 0, log.head())
    assert rows is not None
    assert once is not None
    assert [fact.event.id for fact in rows.facts] == [fact.event.id for fact in once.facts]
    assert {key: row.memory_id for key, row in rows.candidates.items()} == {
        key: row.memory_id for key, row in once.candidates.items()
    }


def test_a_repeat_of_a_forgotten_text_speaks_for_it() -> None:
    history = History()
    first = history.admit("ada", "Tea")
    history.run(Retract(candidate_id=first, command_id=history.fresh(), owner_id="ada"))
    assert isinstance(history.take().distincts[first], Gone)
    again = history.admit("ada", "Tea")
    row = history.take().distincts[first]
    assert isinstance(row, DistinctState)
    assert row.entry.id == again


def test_rows_that_wait_take_in_what_is_said_of_the_same_things_later() -> None:
    """A reversal and its reinstatement, and the memories as they are after both."""
    history = History()
    a, b = (history.admit("ada", text) for text in ("Tea", "Milk"))
    [joined] = history.run(Merge(command_id=history.fresh(), owner_id="ada", a=a, b=b))
    history.take()
    waiting = []
    for command in (Unmerge, Reinstate):
        history.run(command(command_id=history.fresh(), owner_id="ada", decision_id=joined.id))
        waiting.append(history.take())
    first, second = waiting
    assert first.reviews[joined.id].review == "reversed"
    assert isinstance(first.memories[b], MemoryState)
    first.add(second)
    assert first.reviews == second.reviews
    assert first.reviews[joined.id].review == "reinstated"
    assert isinstance(first.memories[b], Gone)
    assert {entry.memory_id for entry in first.candidates.values()} == {a}


def final(batches: list[Rows]) -> dict[str, MemoryState | Gone]:
    memories: dict[str, MemoryState | Gone] = {}
    for rows in batches:
        memories |= rows.memories
    return memories


def test_batches_do_not_matter() -> None:
    history = History(2)
    batches = []
    for size in (1, 2, 3, 50, 1, 80):
        history.steps(size)
        rows = history.changes.take()
        batches += [rows] if rows is not None else []
    whole = list(folded(history.log, 0, history.log.head()))
    assert final(batches) == final(whole)


def test_a_large_memory_is_summed_as_it_grows() -> None:
    history = History()
    batches = []
    for number in range(MANY_MEMBERS + 20):
        history.admit("ada", "The kettle sings.", topics=[f"topic {number % 7}"])
        batches.append(history.take())
    (memory,) = final(batches).values()
    assert isinstance(memory, MemoryState)
    assert memory.members == MANY_MEMBERS + 20
    assert memory.topics == tuple(f"topic {number}" for number in range(7))
    assert final(batches) == final(list(folded(history.log, 0, history.log.head())))


def test_a_large_memory_is_summed_again_after_a_retraction() -> None:
    """Whoever is retracted was counted, with its topic; the newcomers after it count once."""
    history = History()
    ids = [
        history.admit("ada", "The kettle sings.", topics=[f"topic {number}"])
        for number in range(MANY_MEMBERS + 1)
    ]
    batches = [history.take()]
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=ids[7]))
    batches.append(history.take())
    history.admit("ada", "The kettle sings.", topics=["the last"])
    batches.append(history.take())
    (memory,) = final(batches).values()
    assert isinstance(memory, MemoryState)
    assert memory.members == MANY_MEMBERS + 1
    kept = [f"topic {number}" for number in range(MANY_MEMBERS + 1) if number != 7]
    assert memory.topics == (*kept, "the last")


@pytest.mark.parametrize("before", [3, MANY_MEMBERS + 1])
def test_a_memory_that_a_person_joins_to_a_large_one_is_counted_in_its_place(before: int) -> None:
    """Whoever arrived after all that were counted is added to them; else all are counted anew."""
    history = History()
    batches = []
    for number in range(before):
        history.admit("ada", "The kettle sings.", topics=[f"topic {number}"])
    batches.append(history.take())
    other = history.admit("ada", "The kettle hums.", topics=["the other"])
    for number in range(before, MANY_MEMBERS + 1):
        history.admit("ada", "The kettle sings.", topics=[f"topic {number}"])
    batches.append(history.take())
    [large] = (memory for memory in history.ledgers["ada"].memories() if len(memory.members) > 1)
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=large.id, b=other))
    batches.append(history.take())
    history.admit("ada", "The kettle sings.", topics=["afterwards"])
    batches.append(history.take())
    memory = final(batches)[large.id]
    assert isinstance(memory, MemoryState)
    assert memory.topics.index("the other") == before
    assert memory.members == MANY_MEMBERS + 3
    assert final(batches) == final(list(folded(history.log, 0, history.log.head())))


def test_a_join_is_of_its_newer_candidate_whichever_memory_took_in_the_other() -> None:
    history = History()
    a, b, c = (history.admit("ada", text) for text in ("Tea", "Milk", "Salt"))
    for one, other in ((a, c), (b, c)):
        history.take()
        history.run(Merge(command_id=history.fresh(), owner_id="ada", a=one, b=other))
    rows = history.take()
    assert rows.candidates.keys() == {b}, "c is where it was"
    [fact] = rows.facts
    assert fact.entry is not None
    assert fact.entry.id == c


def of_memory(history: History, memory_id: str) -> MemoryState:
    row = history.take().memories[memory_id]
    assert isinstance(row, MemoryState)
    return row


def test_a_memory_waits_while_all_of_it_does() -> None:
    history = History()
    a = history.admit("ada", "The kettle sings.")
    b = history.admit("ada", "The kettle hums.", (a, 0.8))
    assert of_memory(history, b).status == "pending"
    history.admit("ada", "The kettle hums.")
    assert of_memory(history, b).status == "living"


def test_of_several_times_the_latest_counts_whenever_it_came() -> None:
    history = History()
    years = (2021, 2024, 2022)
    first, *_ = (
        history.admit("ada", "The kettle sings.", occurred_at=f"{year}-05-01T00:00:00Z")
        for year in years
    )
    occurred = of_memory(history, first).occurred_at
    assert occurred is not None
    assert occurred.year == 2024


def vector(numbers: list[float]) -> Vector:
    data = base64.b64encode(np.array(numbers, "<f2").tobytes()).decode()
    return Vector(model="m", engine="e", dimension=len(numbers), data=data)


def test_vectors_become_a_column() -> None:
    foreign = vector([1, 2])
    vectors = [vector([1, 2, 3]), None, vector([4, 5, 6]), foreign]
    packed, places = Packed.of(vectors)
    three, two = Numbers(packed, 3), Numbers(packed, 2)
    assert three.column(places).to_pylist() == [[1, 2, 3], None, [4, 5, 6], None]
    assert three.column(places[2::-2]).to_pylist() == [[4, 5, 6], [1, 2, 3]]
    assert two.column(places).to_pylist() == [None, None, None, [1, 2]]
    assert three.foreign(places).to_pylist() == [None, None, None, foreign.data]
    for nothing in ([], [None]):
        packed, places = Packed.of(nothing)
        assert Numbers(packed, 3).column(places).to_pylist() == nothing
        assert Numbers(packed, 3).foreign(places).to_pylist() == nothing


def test_a_vector_that_is_not_made_of_numbers_is_none() -> None:
    packed, places = Packed.of([vector([1, np.nan]), vector([2, np.inf]), vector([3])])
    assert Numbers(packed, 2).column(places).to_pylist() == [None, [2, np.inf], None]
    assert Numbers(packed, 2).foreign(places).to_pylist() == [None, None, vector([3]).data]


def test_a_vector_in_many_places_is_decoded_once() -> None:
    one, other = vector([1, 2]), vector([3, 4])
    packed, places = Packed.of([one, other, one, one])
    assert places.tolist() == [0, 1, 0, 0]
    assert packed.numbers.tolist() == [1, 2, 3, 4]


def test_an_intensity_of_nought_is_one() -> None:
    history = given(say("a", "Tea", intensity=0.0), say("b", "Chai"))
    told = [Total.of(history.memory(name)).intensity for name in ("a", "b")]
    assert told == [0.0, None]
