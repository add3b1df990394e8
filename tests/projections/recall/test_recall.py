"""Recall from LanceDB is recall from the log, at any position."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree, rmtree

import numpy as np
import orjson
import pytest
from msgspec import structs

from palimpsest.contracts.commands import Access, Merge, Restore, Retract, Separate, Settle, Unmerge
from palimpsest.contracts.errors import StoreError, TransientError
from palimpsest.contracts.events import Composition, Vector
from palimpsest.contracts.evidence import Verdict
from palimpsest.projections.base.vectors import decoded
from palimpsest.projections.duckdb.queries import query
from palimpsest.projections.projector import Projector
from palimpsest.projections.recall import from_lance as recall_lance
from palimpsest.projections.recall.collapse import DECIMALS, Folding
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.from_ledger import Query
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.streams.core.ledger import Ledger
from tests.long import long_but
from tests.projections.histories import DIMENSION, STANDARD, History, content_of, vector_of
from tests.projections.recall.recalled import recall, recall_as_of, recall_both


def of(text: str) -> Query:
    vector: Query = decoded([vector_of(text)], DIMENSION)[0].astype(np.float32)
    return vector


def project(folder: Path, history: History) -> None:
    projector = Projector(folder, history.log)
    projector.start()
    projector.close()


def rounded_alike(ledger: Ledger, numbers: np.random.Generator) -> Query:
    """A query none of whose scores is so near to a bound of rounding that single precision decides.

    LanceDB's cosines and NumPy's differ by a unit of that precision.
    """
    said = [memory.face.vector for memory in ledger.memories()]
    said += [entry.distinct.vector for entry in ledger.entries.values()]
    windows = [window for one in said if one is not None for window in one.each()]
    vectors = decoded(windows, DIMENSION).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    while True:
        query: Query = numbers.normal(size=DIMENSION).astype(np.float32)
        cosines = vectors @ (query / np.linalg.norm(query.astype(np.float64)))
        if np.all(np.abs(cosines * 10**DECIMALS % 1 - 0.5) > 1e-6 * 10**DECIMALS):
            return query


@pytest.mark.parametrize("seed", long_but(0, of=range(2)))
def test_now_is_as_of_now(tmp_path: Path, seed: int) -> None:
    history = History(seed).steps(150)
    project(tmp_path, history)
    head = history.log.head()
    numbers = np.random.default_rng(seed)
    for owner in history.ledgers:
        for namespace in (None, "plans", "elsewhere"):
            for k in (1, 4, 500):
                query = rounded_alike(history.ledgers[owner], numbers)
                now = recall(tmp_path, history.log, owner, query, k, namespace)
                assert now == recall_as_of(history.log, owner, query, k, namespace, head)
                assert len(now) <= k


def test_any_wording_finds_the_memory_and_returns_its_face(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "She lives in Oslo.")
    b = history.admit("ada", "Oslo is where her flat is.")
    other = history.admit("bob", "She lives in Oslo.")
    done = history.run(Merge(command_id=history.fresh(), owner_id="ada", a=a, b=b))
    merged = history.log.head()
    project(tmp_path, history)
    (found,) = recall(tmp_path, history.log, "ada", of("Oslo is where her flat is."), 5)
    assert (found["memory_id"], found["face"], found["score"]) == (a, "She lives in Oslo.", 1.0)
    assert {wording["candidate_id"] for wording in found["members"]} == {a, b}
    assert [r["memory_id"] for r in recall(tmp_path, history.log, "bob", of("x"), 5)] == [other]
    history.run(Unmerge(command_id=history.fresh(), owner_id="ada", decision_id=done[0].id))
    project(tmp_path, history)
    found = recall(tmp_path, history.log, "ada", of("Oslo is where her flat is."), 1)[0]
    assert (found["memory_id"], found["face"]) == (b, "Oslo is where her flat is.")
    (before,) = recall_as_of(history.log, "ada", of("x"), 5, None, merged)
    assert before["memory_id"] == a


def test_a_memory_adds_up_its_living_members_in_every_projection(tmp_path: Path) -> None:
    """The highest intensity, and the metadata of the one that happened last, not that came last."""
    history = History()
    a = history.admit("ada", "She lives in Oslo.", intensity=0.9, metadata={"page": 1})
    past = "2025-01-02T03:04:05Z"
    text, page = "She lived in Rome.", {"page": 2}
    b = history.admit("ada", text, intensity=0.4, metadata=page, occurred_at=past)
    c = history.admit("ada", "In Oslo she has a flat.", intensity=0.2, metadata={"page": 3})
    for other in (b, c):
        history.run(Merge(command_id=history.fresh(), owner_id="ada", a=a, b=other))
    said = [added_up(tmp_path, history)]
    for gone in (a, c):
        history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=gone))
        said.append(added_up(tmp_path, history))
    assert said == [(0.9, {"page": 3}), (0.4, {"page": 3}), (0.4, {"page": 2})]


def added_up(folder: Path, history: History) -> tuple[float | None, dict[str, int]]:
    """What recall, the same as of now, and the view `memories` agree on."""
    project(folder, history)
    (now,) = recall(folder, history.log, "ada", of("Oslo"), 5)
    assert [now] == recall_as_of(history.log, "ada", of("Oslo"), 5, None, history.log.head())
    (row,) = query(folder, "FROM memories")
    assert (row["intensity"], row["metadata"]) == (
        now["intensity"],
        orjson.dumps(now["metadata"]).decode(),
    )
    for time in ("created_at", "updated_at", "occurred_at"):
        told = row[time].replace(tzinfo=UTC).isoformat() if row[time] else None
        assert now[time] == told
    return now["intensity"], now["metadata"]


def test_the_retracted_are_not_recalled(tmp_path: Path) -> None:
    history = History()
    a = history.admit("ada", "The harbour freezes.")
    history.admit("ada", "A ferry crosses it.")
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=a))
    project(tmp_path, history)
    assert [
        r["face"] for r in recall(tmp_path, history.log, "ada", of("The harbour freezes."), 5)
    ] == ["A ferry crosses it."]


def test_vectors_of_another_length_are_not_compared(tmp_path: Path) -> None:
    """An imported log may have them; the rest is found, now and as of then."""
    short = structs.replace(vector_of("x"), dimension=2, data="AAAAAA==")
    history = History()
    history.admit("ada", "The harbour freezes.")
    project(tmp_path, history)
    odd = history.admit("ada", "A ferry crosses it.", vector=short)
    project(tmp_path, history)
    history.run(Access(command_id=history.fresh(), owner_id="ada", candidate_id=odd))
    last = history.admit("ada", "The kettle sings.")
    project(tmp_path, history)
    found = recall(tmp_path, history.log, "ada", of("The kettle sings."), 5)
    assert [one["face"] for one in found] == ["The kettle sings.", "The harbour freezes."]
    assert found == recall_as_of(history.log, "ada", of("The kettle sings."), 5, None, 10**6)
    assert found[0]["memory_id"] == last
    with pytest.raises(StoreError, match="2 numbers"):
        recall(tmp_path, history.log, "ada", np.ones(2, np.float32), 5)


@pytest.mark.parametrize("k", [1, 3, 8, 60])
def test_of_many_that_are_as_near_the_older_are_recalled(tmp_path: Path, k: int) -> None:
    """More of them than a search returns; each has wordings enough to fill it alone, too."""
    history = History()
    same = vector_of("The kettle sings.")
    ids = [
        history.admit("ada", f"Kettle {number} sings in the hall.", vector=same)
        for number in range(60)
    ]
    project(tmp_path, history)
    for word in (Retract, Restore):  # the oldest are written last
        for oldest in ids[:5]:
            history.run(word(command_id=history.fresh(), owner_id="ada", candidate_id=oldest))
    project(tmp_path, history)
    memories = history.ledgers["ada"].memories()
    older = sorted(memories, key=lambda memory: (memory.members[0].decided_at, memory.id))
    expected = [memory.id for memory in older[:k]]
    query = of("The kettle sings.")
    then = recall_as_of(history.log, "ada", query, k, None, history.log.head())
    assert [one["memory_id"] for one in then] == expected
    assert recall(tmp_path, history.log, "ada", query, k) == then


def test_a_composed_text_is_among_those_that_are_as_near(tmp_path: Path) -> None:
    """Only its memory's face has its vector: no candidate says it."""
    history = History()
    same = vector_of("The kettle sings.")
    a = history.admit("ada", "The kettle is old.")
    b = history.admit("ada", "The kettle is loud.", (a, 0.8))
    for number in range(60):
        history.admit("ada", f"Kettle {number} sings in the hall.", vector=same)
    project(tmp_path, history)
    text = "The kettle is old and loud."
    history.run(
        Settle(
            command_id=history.fresh(),
            owner_id="ada",
            candidate_id=b,
            verdicts=(Verdict(neighbour_id=a, answer="compose"),),
            composition=Composition(content=content_of(text, same), sources=(a, b)),
        )
    )
    project(tmp_path, history)
    (found,) = recall(tmp_path, history.log, "ada", of("The kettle sings."), 1)
    assert (found["memory_id"], found["face"]) == (a, text)


@pytest.mark.parametrize(
    ("wanted", "faces"),
    [
        (Filter(category="sport"), ["She rows."]),
        (Filter(category="music"), []),
        (Filter(category="dance"), []),
        (Filter(since=datetime(2029, 1, 1, tzinfo=UTC)), []),
        (Filter(until=datetime(2029, 1, 1, tzinfo=UTC)), ["She rows.", "She will dance."]),
        (Filter(until=datetime(2026, 1, 1, tzinfo=UTC)), []),
    ],
    ids=str,
)
def test_a_filter_looks_at_living_members_that_have_happened(
    tmp_path: Path, wanted: Filter, faces: Collection[str]
) -> None:
    """Nothing happens after it was recorded, whatever its producer says."""
    history = History()
    rows = history.admit("ada", "She rows.", category="sport")
    sings = history.admit("ada", "She sings.", category="music")
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=rows, b=sings))
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=sings))
    history.admit("ada", "She will dance.", occurred_at="2030-01-01T00:00:00Z")
    project(tmp_path, history)
    asked = RecallOptions(5, wanted)
    found = recall_both(tmp_path, history.log, "ada", of("She rows."), asked)
    assert {one["face"] for one in found} == set(faces)


def test_more_memories_than_a_search_can_name_are_asked_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History()
    for text in ("She rows.", "She rides."):
        history.admit("ada", text, category="sport")
    project(tmp_path, history)
    for most, faces in ((2, 2), (1, None)):
        monkeypatch.setattr(recall_lance, "MOST_NAMED", most)
        asked = RecallOptions(5, Filter(category="sport"))
        found = recall_lance.recall(tmp_path, history.log, "ada", of("x"), asked)
        assert (found and len(found)) == faces


def test_a_face_of_another_model_is_folded_with_nothing(tmp_path: Path) -> None:
    """Another wording of its memory is found all the same."""
    history = History()
    short = structs.replace(vector_of("x"), dimension=2, data="AAAAAA==")
    ferry = history.admit("ada", "A ferry crosses it.", vector=short)
    freezes = history.admit("ada", "The harbour freezes.")
    merge = Merge(command_id=history.fresh(), owner_id="ada", a=freezes, b=ferry, face=ferry)
    history.run(merge)
    project(tmp_path, history)
    asked = RecallOptions(5, folding=Folding(STANDARD))
    [found] = recall_both(tmp_path, history.log, "ada", of("The harbour freezes."), asked)
    assert (found["face"], found["score"]) == ("A ferry crosses it.", 1.0)


def test_the_ledger_is_asked_for_a_twin_behind_many_that_are_nearer(tmp_path: Path) -> None:
    """More are nearer than a search returns, and the guard tells each of them apart."""
    history = History()
    same = vector_of("The kettle sings.")
    nearly = decoded([same], DIMENSION)[0].astype(np.float32) + 0.05 * of("another")
    twin = structs.replace(same, data=b64encode(nearly.astype("<f2").tobytes()).decode())
    oldest = history.admit("ada", "The kettle sings in 0 keys.", vector=same)
    for number in range(1, recall_lance.FEWEST + 8):
        history.admit("ada", f"Kettle {number} sings in the hall.", vector=same)
    history.admit("ada", "The kettle sings in 0 keys", vector=twin, namespace="plans")
    project(tmp_path, history)
    asked, query = RecallOptions(1, folding=Folding(STANDARD)), of("The kettle sings.")
    [found] = recall_both(tmp_path, history.log, "ada", query, asked)
    assert (found["memory_id"], found["folded"]) == (oldest, []), "one elsewhere is not a twin"
    history.admit("ada", "The kettle sings in 0 keys", vector=twin)
    project(tmp_path, history)
    assert recall_lance.recall(tmp_path, history.log, "ada", query, asked) is None


def at_cosine(text: str, cosine: float) -> Vector:
    """A vector of this cosine to that of a text."""
    one, other = of(text).astype(np.float64), of("another").astype(np.float64)
    one /= np.linalg.norm(one)
    other -= (other @ one) * one
    other /= np.linalg.norm(other)
    numbers = (cosine * one + np.sqrt(1 - cosine**2) * other).astype("<f2")
    return structs.replace(vector_of(text), data=b64encode(numbers.tobytes()).decode())


@pytest.mark.parametrize(("cosine", "asks"), [(0.9215, True), (0.9195, True), (0.918, False)])
def test_the_ledger_is_asked_about_a_pair_that_only_rounding_may_fold(
    tmp_path: Path, cosine: float, asks: bool
) -> None:
    """Its arithmetic is not LanceDB's: the policy folds from 0.92 on."""
    history = History()
    history.admit("ada", "The kettle sings.")
    near = at_cosine("The kettle sings.", cosine)
    history.admit("ada", "The kettle sings", vector=near)
    project(tmp_path, history)
    asked = RecallOptions(5, folding=Folding(STANDARD))
    found = recall_lance.recall(tmp_path, history.log, "ada", of("The kettle sings."), asked)
    assert (found is None) == asks


def test_the_ledger_is_asked_about_hits_of_one_frame(tmp_path: Path) -> None:
    """Only it knows who told them apart; what is not a hit does not count."""
    history = History()
    same = vector_of("She lives in")
    for place in ("Rome", "Oslo"):
        history.admit("ada", f"She lives in {place}.", vector=same)
    history.admit("ada", "She lives in Paris.", vector=same, namespace="plans")
    project(tmp_path, history)
    query = of("She lives in")
    assert recall_lance.recall(tmp_path, history.log, "ada", query, RecallOptions(3)) is None
    assert recall_both(tmp_path, history.log, "ada", query, RecallOptions(1))
    apart = RecallOptions(3, Filter("plans"))
    assert len(recall_both(tmp_path, history.log, "ada", query, apart)) == 1


def test_a_face_that_the_tables_do_not_have_yet_is_asked_of_the_ledger(tmp_path: Path) -> None:
    """LanceDB is ahead of DuckDB: a repeat speaks, whose text is an earlier candidate's."""
    history = History()
    paris = history.admit("ada", "She lives in Paris.")
    berlin = history.admit("ada", "She lives in Berlin.", (paris, 0.8))
    verdicts = (Verdict(neighbour_id=paris, answer="update"),)
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=berlin, verdicts=verdicts)
    )
    project(tmp_path, history)
    segments, behind = tmp_path / "segments", tmp_path / "behind"
    copytree(segments, behind)
    again = history.admit("ada", "She lives in Paris.")
    assert history.ledgers["ada"].entries[paris].memory.face.speaker.id == again
    project(tmp_path, history)
    asked, query = RecallOptions(5, former=True), of("She lives in Paris.")
    [found] = recall_both(tmp_path, history.log, "ada", query, asked)
    assert found["face"] == "She lives in Paris."
    rmtree(segments)
    behind.rename(segments)
    assert recall_lance.recall(tmp_path, history.log, "ada", query, asked) is None


def test_what_waits_for_an_answer_is_unsettled_with_what_it_waits_for(tmp_path: Path) -> None:
    """No longer once it is retracted."""
    history = History()
    old = history.admit("ada", "The kettle is old.")
    red = history.admit("ada", "The kettle is red.")
    loud = history.admit("ada", "The kettle is loud.", (old, 0.8), (red, 0.75))
    wanted = RecallOptions(9, former=True)

    def unsettled() -> dict[str, list[str]]:
        project(tmp_path, history)
        found = recall_both(tmp_path, history.log, "ada", of("The kettle is loud."), wanted)
        assert found is not None
        return {one["memory_id"]: one["unsettled"] for one in found}

    assert unsettled() == {loud: sorted([old, red]), old: [loud], red: [loud]}
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=loud))
    assert unsettled() == {old: [], red: []}


def test_an_answer_that_a_separation_holds_back_is_unsettled(tmp_path: Path) -> None:
    history = History()
    old = history.admit("ada", "The kettle is old.")
    red = history.admit("ada", "The kettle is red.")
    loud = history.admit("ada", "The kettle is loud.", (old, 0.8), (red, 0.75))
    history.run(Separate(command_id=history.fresh(), owner_id="ada", a=old, b=red))
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=red, b=loud))
    verdicts = (Verdict(neighbour_id=old, answer="same"),)
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=loud, verdicts=verdicts)
    )
    project(tmp_path, history)
    asked = RecallOptions(9, former=True)
    found = recall_both(tmp_path, history.log, "ada", of("The kettle is old."), asked)
    assert {one["memory_id"]: one["unsettled"] for one in found} == {old: [red], red: [old]}


def test_a_composed_text_agrees_while_all_its_sources_are_living_members(tmp_path: Path) -> None:
    history = History()
    old = history.admit("ada", "old")
    red, loud, new = (history.admit("ada", text, (old, 0.8)) for text in ("red", "loud", "new"))
    [joined] = history.run(Merge(command_id=history.fresh(), owner_id="ada", a=old, b=red))

    def compose(*sources: str) -> None:
        text = content_of(f"composed of {len(sources)}")
        settle = Settle(
            command_id=history.fresh(),
            owner_id="ada",
            candidate_id=sources[-1],
            verdicts=(Verdict(neighbour_id=old, answer="compose"),),
            composition=Composition(content=text, sources=sources),
        )
        history.run(settle)

    def former() -> set[str]:
        project(tmp_path, history)
        asked = RecallOptions(9, former=True)
        found = recall_both(tmp_path, history.log, "ada", of("old"), asked)
        members = [member for one in found if one["memory_id"] == old for member in one["members"]]
        return {member["text"] for member in members if member["relation"] == "former"}

    compose(old, red, loud)
    assert former() == set()
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=red))
    assert former() == {"old"}
    history.run(Restore(command_id=history.fresh(), owner_id="ada", candidate_id=red))
    assert former() == set()
    history.run(Unmerge(command_id=history.fresh(), owner_id="ada", decision_id=joined.id))
    assert former() == {"old"}
    compose(old, new)
    assert former() == {"loud"}, "the text of another join does not stand for this one"


def test_a_wording_came_by_the_join_that_was_recorded_first(tmp_path: Path) -> None:
    """A verdict has the place of its question, but what a person said before it stands."""
    history = History()
    old = history.admit("ada", "The kettle is old.")
    red = history.admit("ada", "The kettle is red.")
    loud = history.admit("ada", "The kettle is loud.", (old, 0.8))
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=red, b=loud))
    verdicts = (Verdict(neighbour_id=old, answer="same"),)
    history.run(
        Settle(command_id=history.fresh(), owner_id="ada", candidate_id=loud, verdicts=verdicts)
    )
    project(tmp_path, history)
    asked = RecallOptions(9, former=True)
    [found] = recall_both(tmp_path, history.log, "ada", of("The kettle is old."), asked)
    came = {member["candidate_id"]: member["decision"] for member in found["members"]}
    assert came == {old: "stored", red: "stored", loud: "manual_join"}


def test_while_lancedb_is_being_replaced_recall_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History()
    ferry = history.admit("ada", "The ferry leaves.")
    project(tmp_path, history)
    live, aside = tmp_path / "lancedb", tmp_path / "lancedb.old"
    live.rename(aside)
    monkeypatch.setattr("time.sleep", lambda _seconds: aside.rename(live))
    [found] = recall(tmp_path, history.log, "ada", of("x"), 5)
    assert found["memory_id"] == ferry
    live.rename(aside)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    with pytest.raises(TransientError, match="being rewritten"):
        recall(tmp_path, history.log, "ada", of("x"), 5)


def test_nothing_is_recalled_from_nothing(tmp_path: Path) -> None:
    assert recall(tmp_path / "nowhere", History().log, "ada", of("x"), 3) == []
    project(tmp_path, History())
    assert recall(tmp_path, History().log, "ada", of("x"), 3) == []
    assert recall_as_of(History().log, "ada", of("x"), 3, None, 0) == []


def test_a_memory_is_found_by_each_window_of_its_texts(tmp_path: Path) -> None:
    """Also by those of a composed text, by a part that was cut off, and by no window that left."""
    history = History(7).steps(130)
    project(tmp_path, history)
    windows = 0
    for owner, ledger in history.ledgers.items():
        for memory in ledger.memories():
            vector = memory.face.vector
            if not memory.living or vector is None:
                continue
            for window in vector.each()[1:]:
                windows += 1
                query = decoded([window], DIMENSION)[0].astype(np.float32)
                [hit] = recall(tmp_path, history.log, owner, query, 1, memory.namespace)
                assert (hit["memory_id"], round(hit["score"], 3)) == (memory.id, 1.0)
    assert windows > 10
