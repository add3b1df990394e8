"""Without duplicates, the store answers like LangGraph's own `InMemoryStore`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    NamespacePath,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from palimpsest import Palimpsest
from palimpsest.langgraph import Namespace, PalimpsestStore
from tests.stub_engine import DIMENSION, vector_of

NAMESPACES: tuple[Namespace, ...] = (
    ("a",),
    ("a", "b"),
    ("a", "b.c"),
    ("b", "a"),
    ("c %", "a", "b"),
)
PREFIXES: tuple[Namespace, ...] = ((), *NAMESPACES, ("nowhere",))
KEYS = ("k", "l", "m")
TEXTS = tuple(f"who{n} does{n} what{n}" for n in range(40))
owners = count()


class Query(NamedTuple):
    """A search by meaning, compared by scores: the order of equal scores is not defined."""

    op: SearchOp


some = st.sampled_from
values = st.fixed_dictionaries(
    {"text": some(TEXTS), "n": some([0, 1, 2.5, -3, "2"])},
    optional={"tag": some(["x", "y", None]), "deep": some([{"k": 1}, {"k": 2, "l": [1, 2]}, [1]])},
)
comparisons = st.dictionaries(
    some(["$gt", "$gte", "$lt", "$lte"]), some([0, 1, 2.5, "2"]), min_size=1
)
equalities = st.dictionaries(some(["$eq", "$ne"]), some([0, "x", None, {"k": 1}]), min_size=1)
filters = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": comparisons | equalities | some([0, 1, 1.0]),
        "tag": equalities | some(["x", None]),
        "deep": equalities | some([{"k": 1}, {"l": [1, 2]}, {"k": {"$gt": 1}}, [1], [1, 2]]),
    },
)
limits = st.integers(1, 12)
offsets = st.integers(0, 4)
puts = st.builds(PutOp, some(NAMESPACES), some(KEYS), values, some([None, None, False]), st.none())
searches = st.builds(SearchOp, some(PREFIXES), filters, limits, offsets)
paths: st.SearchStrategy[NamespacePath] = st.lists(some(["a", "b", "*"]), max_size=3).map(tuple)
conditions = st.lists(st.builds(MatchCondition, some(["prefix", "suffix"]), paths), max_size=2)
operations = st.one_of(
    puts,
    puts,
    st.builds(PutOp, some(NAMESPACES), some(KEYS), st.none(), st.none(), st.none()),
    st.builds(GetOp, some(NAMESPACES), some(KEYS)),
    searches,
    st.builds(Query, st.builds(SearchOp, some(PREFIXES), filters, limits, offsets, some(TEXTS))),
    st.builds(
        ListNamespacesOp, conditions.map(tuple), st.none() | st.integers(1, 3), limits, offsets
    ),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Palimpsest]:
    with Palimpsest.open(tmp_path_factory.mktemp("like") / "store") as memories:
        yield memories


class Both:
    """The store and the model, given the same operations; each of the `texts` is put once."""

    def __init__(self, memories: Palimpsest) -> None:
        owner_id = f"owner {next(owners)}"
        self.store = PalimpsestStore(memories, owner_of=lambda _: owner_id)
        self.model = InMemoryStore(
            index={
                "dims": DIMENSION,
                "embed": lambda texts: [[*map(float, vector_of(text))] for text in texts],
                "fields": ["text"],
            }
        )
        self._said: set[str] = set()
        self._replaced = False

    def do(self, op: Any) -> None:
        match op:
            case PutOp():
                self._put(op)
            case GetOp():
                [found] = self.store.batch([op])
                expected = (
                    self.model.batch([GetOp(*op[:2])])[0] if op.namespace in self._there() else None
                )
                assert plain(found) == plain(expected)
            case SearchOp():
                [found], [expected] = self.store.batch([op]), self.model.batch([op])
                assert [plain(one) for one in listed(found)] == [
                    plain(one) for one in listed(expected)
                ]
            case ListNamespacesOp():
                assert self.store.batch([op]) == self._without_empty_ones().batch([op])
            case _:
                self._query(op.op)

    def _put(self, op: PutOp) -> None:
        before = self.model.batch([GetOp(*op[:2])])[0] if op.namespace in self._there() else None
        if op.value is not None:
            same = before is not None and value_of(before)["text"] == op.value["text"]
            if not same and op.value["text"] in self._said:
                return  # it would be a duplicate
            self._said.add(op.value["text"])
            self._replaced |= before is not None
        assert self.store.batch([op]) == [None]
        self.model.batch([op])

    def _query(self, op: SearchOp) -> None:
        """Compare scores only without overwritten texts, by which values are still found."""
        [found] = self.store.batch([op])
        everything = listed(self.model.batch([op._replace(offset=0, limit=1000)])[0])
        expected = {(one.namespace, one.key): one for one in everything}
        items = listed(found)
        assert len(items) == len(everything[op.offset :][: op.limit])
        for item in items:
            assert plain(item) == plain(expected[item.namespace, item.key])
        if not self._replaced:
            page = sorted(map(score_of, expected.values()), reverse=True)[op.offset :][: op.limit]
            assert [*map(score_of, items)] == pytest.approx(page, abs=2e-3)

    def _there(self) -> list[Namespace]:
        return [*vars_of(self.model)]

    def _without_empty_ones(self) -> InMemoryStore:
        """The model without empty namespaces, which it would also list."""
        kept = InMemoryStore()
        vars_of(kept).update({name: found for name, found in vars_of(self.model).items() if found})
        return kept


def score_of(found: SearchItem) -> float:
    """An item's score; one without is below all others."""
    return -2.0 if found.score is None else found.score


def value_of(item: Any) -> dict[str, Any]:
    value: dict[str, Any] = item.value
    return value


def vars_of(model: InMemoryStore) -> dict[Namespace, Any]:
    found: dict[Namespace, Any] = model._data
    return found


def listed(found: Any) -> list[SearchItem]:
    assert isinstance(found, list)
    return found


def plain(item: Any) -> Any:
    """An item without its times, which the model resets with every put."""
    if item is None:
        return None
    assert item.created_at <= item.updated_at
    return item.namespace, item.key, item.value


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=settings().max_examples // 8,  # of 25 operations at most
)
@given(st.lists(operations, min_size=1, max_size=25))
def test_the_store_answers_as_the_one_in_memory(shared: Palimpsest, ops: list[Any]) -> None:
    both = Both(shared)
    for op in ops:
        both.do(op)
    for namespace in NAMESPACES:
        for key in KEYS:
            both.do(GetOp(namespace, key))
    both.do(SearchOp((), limit=1000))
    both.do(ListNamespacesOp())
