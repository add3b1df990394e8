"""Texts longer than the model's input: each window is found and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest import Palimpsest, RefusedError
from palimpsest.api import store
from palimpsest.backends import reader as store_reader
from palimpsest.cli.rendering import _reason
from palimpsest.contracts.events import Decided, Embedded, Vector
from palimpsest.contracts.wire import decode
from palimpsest.streams.embedder import load_engine
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search.scope_index import coverage
from tests.stub_engine import LONGEST, BeforeWindows, load_stub, windows_of

FILL = [f"filler{n}" for n in range(3 * LONGEST)]
LONG = " ".join(FILL) + " ada is allergic to peanuts"
OTHERS = ["ada likes tea", "ada paints boats", "the shed is blue"]


def keep(memories: Palimpsest, *texts: str) -> list[str]:
    outcomes = memories.submit([{"owner_id": "ada", "text": text} for text in texts])
    return [str(outcome.memory_id) for outcome in outcomes]


def found(memories: Palimpsest, query: str) -> str:
    return memories.recall("ada", query, k=1)[0]["memory_id"]


def test_a_text_is_found_by_what_its_end_says(memories: Palimpsest) -> None:
    long, *_ = keep(memories, LONG, *OTHERS)
    assert found(memories, "allergic to peanuts") == long
    memories.rebuild()
    assert found(memories, "allergic to peanuts") == long
    assert memories.verify()["differences"] == 0


def test_a_query_finds_by_what_its_end_says(memories: Palimpsest) -> None:
    _, tea, *_ = keep(memories, LONG.replace("peanuts", "cats"), *OTHERS)
    query = " ".join(f"question{n}" for n in range(LONGEST)) + f" {OTHERS[0]}"
    assert found(memories, query) == tea


def test_a_text_that_was_updated_is_found_by_the_end_of_the_new_one(memories: Palimpsest) -> None:
    first, *_ = keep(memories, "ada is well", *OTHERS)
    memories.update(first, LONG)
    assert found(memories, "allergic to peanuts") == first


@pytest.fixture(name="unguarded")
def by_cosine_alone(memories: Palimpsest) -> Palimpsest:
    memories.set_policy(load_policy("replace-or-merge"))
    return memories


def decisions(memories: Palimpsest, *texts: str) -> list[str | None]:
    rows = [{"owner_id": "ada", "text": text} for text in texts]
    return [one.decision for one in memories.submit(rows)]


def test_two_texts_whose_windows_all_have_their_like_are_joined(unguarded: Palimpsest) -> None:
    other = " ".join(["opening", *FILL[1:]]) + " ada is allergic to peanuts"
    assert decisions(unguarded, LONG, other) == ["stored", "superseded"]


@pytest.mark.parametrize("turn", [1, -1])
def test_two_texts_with_other_ends_wait(unguarded: Palimpsest, turn: int) -> None:
    """Their beginnings are the same, and once only those were compared."""
    other = " ".join([*FILL, *(f"other{n}" for n in range(20))])
    rows = [{"owner_id": "ada", "text": text} for text in (LONG, other)[::turn]]
    foreseen = [unguarded.check(rows[1])["neighbours"]]
    first = unguarded.submit(rows[0])[0]
    foreseen.append(unguarded.check(rows[1])["neighbours"])
    second = unguarded.submit(rows[1])[0]
    assert (first.decision, second.decision) == ("stored", "pending")
    [shown] = unguarded.show_candidate(str(second.candidate_id))["evidence"]["neighbours"]
    assert "truncated" in shown["cues"]
    assert shown["covered"] < 0.5 < shown["cosine"]
    assert foreseen[0] == []
    assert [one["covered"] for one in foreseen[1]] == [shown["covered"]]


def test_an_outcome_says_how_many_windows_a_long_text_has(memories: Palimpsest) -> None:
    """Also the second and the third time: as a repeat, and by its id."""
    rows = [{"owner_id": "ada", "text": text, "id": text[:9]} for text in (LONG, OTHERS[0])]
    rows.append({"owner_id": "ada", "text": LONG, "id": "repeat"})
    windows = 1 + len(windows_of(LONG))
    for _ in range(2):
        assert [one.windows for one in memories.submit(rows)] == [windows, None, windows]


def test_what_a_join_of_long_texts_rests_on_is_shown(unguarded: Palimpsest) -> None:
    other = " ".join(["opening", *FILL[1:]]) + " ada is allergic to peanuts"
    memory = keep(unguarded, LONG, other)[0]
    _, joined = unguarded.show(memory)["members"]
    assert joined["covered"] is not None
    assert 0.9 < joined["covered"] <= (joined["similarity"] or 0.0)
    assert f"covered {joined['covered']:.4f}" in _reason(joined)


def test_likeness_is_by_all_windows(memories: Palimpsest) -> None:
    """Low for texts with the same beginning and different ends; a short text is like itself."""
    same = " ".join(["opening", *FILL[1:]]) + " ada is allergic to peanuts"
    ends = " ".join([*FILL, *(f"other{n}" for n in range(20))])
    texts = {"a": LONG, "b": ends, "c": same, "d": OTHERS[0], "e": f"{OTHERS[0]} now"}
    memories.submit([{"owner_id": "ada", "namespace": n, "text": t} for n, t in texts.items()])
    vectors = {
        n: entry.distinct.vector
        for entry in memories.reader.ledger("ada").entries.values()
        for n in texts
        if texts[n] == entry.text
    }
    found = {
        (one["a"].split("/")[3], one["b"].split("/")[3]): one
        for one in memories.likeness("ada", at_least=0.0)
    }
    assert found["a", "c"]["similarity"] == coverage(vectors["a"], vectors["c"])
    assert found["a", "b"]["similarity"] == coverage(vectors["a"], vectors["b"])
    assert found["a", "b"]["similarity"] < 0.5
    near = memories.likeness("ada", at_least=0.8)
    assert [(one["a_face"], one["b_face"]) for one in near] == [
        (LONG, same),
        (OTHERS[0], f"{OTHERS[0]} now"),
    ]


def test_large_owners_are_found_by_windows_too(
    memories: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In LanceDB the windows follow their memory through a join, an un-merge and a forgetting."""
    long, tea, *_ = keep(memories, LONG, *OTHERS)
    monkeypatch.setattr(store_reader, "FOLDED_EVENTS", 0)

    def by_lancedb() -> str:
        with Palimpsest.open(memories.folder, create=False) as reader:
            assert reader.verify()["differences"] == 0
            return found(reader, "allergic to peanuts")

    assert by_lancedb() == long
    joined = memories.merge(tea, long)["decision_id"]
    assert by_lancedb() == min(long, tea, key=[long, tea].index)
    memories.unmerge(decision_id=joined)
    assert by_lancedb() == long
    memories.forget([long])
    assert by_lancedb() != long


# -- texts that were stored before long ones had windows -------------------------------------------


END = "ada is allergic to peanuts"
SAME = LONG.replace("filler0", "opening")
"""As long, with another first word."""


@pytest.fixture(name="old")
def stored_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Palimpsest:
    """A store with a long text of Ada's, ten of Ben's, and one that fits."""
    monkeypatch.setattr(store, "load_engine", lambda *_args, **_kwargs: BeforeWindows())
    with Palimpsest.open(tmp_path / "store", by="person", policy="replace-or-merge") as made:
        keep(made, LONG, *OTHERS)
        rows = [*(f"ben{n} {LONG}" for n in range(10)), "ben is well"]
        made.submit([{"owner_id": "ben", "text": text, "id": text[:5]} for text in rows])
    monkeypatch.setattr(store, "load_engine", load_stub)
    return made


def reopened(old: Palimpsest, engine: str = "onnx") -> Palimpsest:
    return Palimpsest.open(old.folder, create=False, by="person", engine=engine)  # type: ignore[arg-type]


def long_of(memories: Palimpsest) -> str:
    [long] = (memory for memory in memories.list("ada")["memories"] if memory["face"] == LONG)
    return long["memory_id"]


def vectors_of(old: Palimpsest) -> dict[str, list[Vector | None]]:
    """The recorded vectors of each candidate, in order."""
    told: dict[str, list[Vector | None]] = {}
    for _, line in old.reader.log.lines():
        event = decode(line)
        if isinstance(event, Decided):
            told.setdefault(event.subject, []).append(event.data.content.vector)
        if isinstance(event, Embedded):
            told.setdefault(event.subject, []).append(event.data.vector)
    return told


def test_old_long_texts_get_their_windows_on_request(old: Palimpsest) -> None:
    """First for one owner, then for all; the recorded vectors of their beginnings stay."""
    so_far: list[tuple[int, int]] = []
    with reopened(old) as reader:
        memories = [memory["memory_id"] for memory in reader.list("ada")["memories"]]
        long = long_of(reader)
        assert found(reader, END) != long
        assert reader.embed() == {"embedded": 0, "left": 0}
        assert reader.embed(long=True, dry_run=True) == {"embedded": 0, "left": 11}
        assert reader.embed(long=True, owner_id="ada") == {"embedded": 1, "left": 0}
        assert found(reader, END) == long
        told = reader.embed(long=True, progress=lambda *now: so_far.append(now))
        assert told == {"embedded": 10, "left": 0}
        assert so_far == [(4, 6), (8, 2), (10, 0)]
        before = reader.position
        assert reader.embed(long=True) == {"embedded": 0, "left": 0}
        assert reader.position == before
        assert memories == [memory["memory_id"] for memory in reader.list("ada")["memories"]]
        for first, *late in vectors_of(reader).values():
            assert first is not None
            assert [(one.data, one.covers_text) for one in late if one] == (
                [(first.data, True)] if first.truncated else []
            )
        assert reader.verify()["differences"] == 0
        reader.rebuild()
        assert reader.verify()["differences"] == 0


def test_old_long_texts_are_joined_by_cosine_once_they_have_their_windows(old: Palimpsest) -> None:
    """The join can be removed like any other."""
    with reopened(old) as writer:
        assert decisions(writer, SAME) == ["pending"]
        again = {"owner_id": "ben", "text": f"ben0 {LONG}", "id": "ben0 "}
        assert writer.submit(again)[0].windows == 1, "its beginning alone"
        writer.embed(long=True)
        [joined] = writer.submit({"owner_id": "ada", "text": SAME.replace("opening", "start")})
        assert joined.decision == "superseded"
        writer.unmerge(decision_id=str(joined.decision_id))
        assert long_of(writer) == joined.joined_to


def test_large_owners_are_found_by_late_windows_too(
    old: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reopened(old) as writer:
        long = long_of(writer)
        writer.embed(long=True)
    monkeypatch.setattr(store_reader, "FOLDED_EVENTS", 0)
    with reopened(old) as reader:
        assert found(reader, END) == long


def test_windows_need_a_model(old: Palimpsest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "load_engine", load_engine)
    with reopened(old, "none") as reader, pytest.raises(RefusedError, match="model_unusable"):
        reader.embed(long=True)
