"""Each answer names the id that undoes it, and that id does, on both runtimes (docs/undo.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import orjson
import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.requested import name_request
from palimpsest.contracts.requests import JoinSelection, Selection
from tests.conformance.runtime import Runtime

TEXTS = (
    "The ferry leaves at noon from the old harbour",
    "Grandmother keeps bees behind the mill",
    "A locksmith repaired the cellar door",
    "Thunder woke the whole street on Sunday",
)
BY: Any = {"by": "person"}
Act = Callable[[Palimpsest, list[str]], Mapping[str, Any]]

ACTS: dict[str, Act] = {
    "merge": lambda store, ids: store.merge(ids[0], ids[1]),
    "unmerge": lambda store, ids: store.unmerge(candidate_id=ids[3], **BY),
    "update": lambda store, ids: store.update(ids[0], "The ferry leaves at one", **BY),
    "separate": lambda store, ids: store.separate(ids[0], ids[1]),
    "forget": lambda store, ids: store.forget(ids[:2], **BY),
    "retract": lambda store, ids: store.retract(Selection(owner_id=owner(store, ids))),
    "reverse": lambda store, ids: store.reverse(JoinSelection(owner_id=owner(store, ids))),
}


def owner(store: Palimpsest, ids: list[str]) -> str:
    return store.get(ids[0])["owner_id"]


def told(store: Palimpsest, owner_id: str) -> list[tuple[str, str, int]]:
    """What is seen of an owner's memories."""
    return sorted(
        (memory["memory_id"], memory["face"], len(memory["members"]))
        for memory in store.list(owner_id, former=True)["memories"]
    )


def kept_apart(store: Palimpsest, ids: list[str]) -> bool:
    """Whether a person's statement keeps the first two apart."""
    events = store.history(ids[0])["events"]
    words = [event["event"] for event in events if event["event"] in ("separated", "reversed")]
    return words[-1:] == ["separated"]


def submitted(shared: Runtime, owner_id: str) -> list[str]:
    """The ids of the texts, once all are decided on: requests to a cluster may overtake them."""
    rows = [orjson.dumps({"owner_id": owner_id, "text": text}) for text in TEXTS]
    return [str(outcome["candidate_id"]) for outcome in shared.submit(rows)]


@pytest.mark.parametrize("act", ACTS)
def test_the_answer_names_the_id_that_undoes_it(shared: Runtime, name: str, act: str) -> None:
    ids = submitted(shared, name)
    with shared.client() as store:
        store.merge(ids[2], ids[3])
        was = told(store, name)
        answer = ACTS[act](store, ids)
        done = told(store, name)
        assert done != was or kept_apart(store, ids)
        undone = store.undo(answer["undo"], **BY)
        assert told(store, name) == was
        assert not kept_apart(store, ids)
        if act in ("forget", "retract"):
            assert "undo" not in undone, "several came back: no one request hides them again"
        else:
            store.undo(undone["undo"], **BY)
            assert told(store, name) == done
            assert kept_apart(store, ids) is (act == "separate")


def test_what_brought_several_back_is_undone_one_by_one(shared: Runtime, name: str) -> None:
    ids = submitted(shared, name)
    with shared.client() as store:
        hidden = store.retract(Selection(owner_id=name))
        back = str(uuid4())
        with name_request(back):
            store.undo(hidden["undo"], **BY)
        with pytest.raises(RefusedError, match="not_undoable: it brought 4 back"):
            store.undo(back, **BY)
        for some_id in ids:
            [restored] = [
                event["event_id"]
                for event in store.history(some_id)["events"]
                if event["event"] == "restored"
            ]
            store.undo(restored, **BY)
        assert told(store, name) == []


def test_a_restoration_is_undone_by_the_id_that_its_answer_names(
    shared: Runtime, name: str
) -> None:
    """Every partition is asked who forgot it, and the others refuse, perhaps earlier."""
    ids = submitted(shared, name)
    with shared.client() as store:
        gone = store.forget(ids[0], again="refuse", **BY)
        was = told(store, name)
        back = store.restore(forgotten=gone["forgotten"])
        store.undo(back["undo"], **BY)
        assert told(store, name) == was
        row = {"owner_id": name, "text": TEXTS[0], "id": "again"}
        [repeat] = shared.submit([orjson.dumps(row)])
        assert (repeat["decision"], told(store, name)) == ("forgotten", was)
        store.redo(back["undo"], **BY)
        assert store.get(ids[0])["state"] == "living"
