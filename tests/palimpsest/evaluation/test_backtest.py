"""A history decided again under another policy equals what that policy would have decided."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palimpsest import Palimpsest
from palimpsest.api import store as facade
from palimpsest.auditing.foreseen import labels_needed
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.policy import Check, CosineCheck, Policy
from palimpsest.contracts.requests import SettleRequest
from palimpsest.evaluation.automatic import standing
from palimpsest.evaluation.backtest import Backtest, backtest
from palimpsest.streams.embedder import DEFAULT_MODEL
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.streams.replay.another_policy import AnotherPolicy
from palimpsest.streams.search.scope_indexes import ScopeIndexes
from tests.long import examples
from tests.stub_engine import load_stub

TEXTS = (
    "The ferry leaves at noon from the old harbour",
    "the ferry leaves at noon from the old harbour.",
    "The ferry leaves at one from the old harbour",
    "A ferry leaves at noon from the old harbour",
    "The ferry leaves at noon from the new harbour",
    "Grandmother keeps bees behind the mill",
    "Grandmother keeps bees behind the big mill",
    "Grandmother kept bees behind the mill",
    "A locksmith repaired the cellar door",
)


def standard_with(by: float, **changes: dict[str, Any]) -> Policy:
    """`standard` with zones that begin lower, and different settings of some checks."""

    def changed(check: Check) -> Check:
        more = dict(changes.get(check.check, {}))
        if isinstance(check, CosineCheck):
            more["zones"] = tuple(
                zone.model_copy(update={"at_least": zone.at_least - by}) for zone in check.zones
            )
        return check.model_copy(update=more)

    standard = load_policy("standard")
    return standard.model_copy(update={"checks": tuple(map(changed, standard.checks))})


POLICIES = {
    name: policy
    for name in preset_names()
    if (policy := load_policy(name)).model == DEFAULT_MODEL  # another's vectors are missing
} | {
    "loose": standard_with(0.3),
    "farther": standard_with(0.3, cosine={"near_identical": 0.1, "top": 2}),
    "farthest": standard_with(0.3, cosine={"near_identical": 0.0, "top": 2}),
    "wordy": standard_with(0.1, tokens={"threshold": 0.5}, session={"threshold": 0.5}),
}
"""Three of them search further than `standard`, the third also by words."""


@pytest.fixture(autouse=True, scope="module")
def _without_a_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facade, "load_engine", load_stub)
        yield


def quiet(_what: str, _share: float | None) -> None:
    """Report nothing."""


Rows = list[tuple[int, int]]
"""For each row, the number of its text and of its session."""
rows_of_owners = st.lists(
    st.tuples(st.integers(0, len(TEXTS) - 1), st.integers(0, 2)), min_size=1, max_size=14
)


def submit(store: Palimpsest, rows: Rows) -> None:
    store.submit(
        [
            {
                "owner_id": "ada",
                "text": TEXTS[text],
                "id": str(number),
                "session_id": f"s{session}",
                "category": "fact",
                "importance": 0.5,
                "confidence": 0.5,
            }
            for number, (text, session) in enumerate(rows)
        ]
    )


def fates(store: Palimpsest) -> dict[str, tuple[str, str | None, str]]:
    """For each candidate, its decision, its partner and its memory, as the facade shows them."""
    found = {}
    for memory in store.list("ada", former=True)["memories"]:
        for member in store.show(memory["memory_id"])["members"]:
            waits = member["pending"] and member["joined_to"] is None
            name = "pending" if waits else member["decision"]
            found[member["candidate_id"]] = (name, member["joined_to"], memory["memory_id"])
    return found


def again(store: Palimpsest, policy: str, **how: Any) -> dict[str, tuple[str, str | None, str]]:
    """The same for the history as another policy would have decided it."""
    log = store.reader.log
    search = ScopeIndexes(framed=True).neighbours
    history = AnotherPolicy("ada", POLICIES[policy], log.policies(), search, **how)
    history.replay([recorded.event for recorded in log.of_owner("ada")])
    found = {}
    for entry in history.other.entries.values():
        join = next((e for e in entry.edges if e.standing and e.newer is entry), None)
        name = join.decision if join else "pending" if entry.pending else entry.decision
        found[entry.id] = (name, join.older.id if join else None, entry.memory.id)
    return found


@pytest.mark.timeout(600)  # eighty stores, also while other tests run
@settings(max_examples=examples(40), deadline=None)
@given(
    rows=rows_of_owners,
    written=st.sampled_from(sorted(POLICIES)),
    wanted=st.sampled_from(sorted(POLICIES)),
    anew=st.booleans(),
)
def test_it_is_what_that_policy_decides_on_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows, written: str, wanted: str, anew: bool
) -> None:
    """Also under the same policy; the oracle is a store of its own that the policy decided."""
    folder = tmp_path_factory.getbasetemp() / "drawn"
    shutil.rmtree(folder, ignore_errors=True)
    with Palimpsest.open(folder / "written", policy=POLICIES[written]) as store:
        submit(store, rows)
        found = again(store, wanted, compares_anew=anew)
    with Palimpsest.open(folder / "wanted", policy=POLICIES[wanted]) as store:
        submit(store, rows)
        assert found == fates(store)


def counted(store: Palimpsest, policy: str, **how: Any) -> Backtest:
    return backtest(store.reader, POLICIES[policy], quiet, **how)


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Palimpsest]:
    """A history of nine texts and two repeats, under `standard`."""
    with Palimpsest.open(tmp_path / "store", by="person") as made:
        submit(made, [(number % len(TEXTS), 0) for number in range(11)])
        yield made


def test_what_would_be_different_is_counted_with_examples(store: Palimpsest) -> None:
    position = store.position
    same = counted(store, "standard")
    assert (same["changed"], same["changes"], same["split"], same["united"]) == (0, [], 0, 0)
    assert same["memories"] == same["would_be_memories"]
    loose = counted(store, "loose")
    assert loose["candidates"] == 11
    assert loose["would_be_questions"] > loose["questions"]
    assert loose["unanswered"] == loose["would_be_questions"] - loose["questions"]
    assert loose["cost_usd"] is None
    layered = counted(store, "layered")
    assert 0 < layered["changed"] == sum(change["count"] for change in layered["changes"])
    example = layered["changes"][0]["examples"][0]
    assert example["text"] in TEXTS
    assert store.position == position, "nothing is written"


def test_memories_that_unite_and_split_are_named(store: Palimpsest, tmp_path: Path) -> None:
    there = counted(store, "layered")
    with Palimpsest.open(tmp_path / "layered", policy="layered") as other:
        submit(other, [(number % len(TEXTS), 0) for number in range(11)])
        back = counted(other, "standard")
    assert there["united"] == back["split"] > 0
    assert there["unions"] == back["splits"]
    assert len(there["unions"][0]["memories"]) > 1


def test_an_answer_that_the_log_has_is_used_and_no_other_is_guessed(store: Palimpsest) -> None:
    entry = next(one for one in store.reader.ledger("ada").entries.values() if one.pending)
    verdicts = tuple(
        Verdict(neighbour_id=one, answer="same", model="m", cost_usd=0.5) for one in entry.open
    )
    request = SettleRequest(request_id=str(uuid4()), candidate_id=entry.id, verdicts=verdicts)
    store.writer.ask(request)
    assert counted(store, "standard")["changed"] == 0
    loose = counted(store, "loose")
    assert loose["unanswered"] > 0
    assert loose["cost_usd"] == 0.5 * loose["unanswered"]


def test_statements_of_people_are_repeated(store: Palimpsest) -> None:
    entries = [*store.reader.ledger("ada").entries.values()]
    merged = store.merge(entries[2].id, entries[5].id)
    store.confirm(merged["decision_id"])
    store.separate(entries[0].id, entries[8].id)
    for policy in ("standard", "loose"):
        found = counted(store, policy)
        assert found["overtaken"] == 0
        assert not any("manual_join" in (one["was"], one["would_be"]) for one in found["changes"])
    assert counted(store, "standard")["changed"] == 0


def test_several_processes_find_the_same(store: Palimpsest) -> None:
    for owner in ("bob", "cid", "dora"):
        store.submit([{"owner_id": owner, "text": text} for text in TEXTS])
    alone = counted(store, "layered")
    assert alone["owners"] == 4
    assert counted(store, "layered", processes=2) == alone


def test_no_more_processes_are_started_than_there_are_owners(
    store: Palimpsest, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    class Started(ThreadPoolExecutor):
        """Threads will do: they are only counted."""

        def __init__(self, processes: int, *_: Any) -> None:
            started.append(processes)
            super().__init__(processes)

    monkeypatch.setattr("palimpsest.evaluation.backtest.ProcessPoolExecutor", Started)
    alone = counted(store, "layered")
    assert counted(store, "layered", processes=4) == alone
    store.submit({"owner_id": "bob", "text": TEXTS[0]})
    assert counted(store, "layered", processes=4)["owners"] == 2
    assert started == [2]


def test_only_what_is_asked_for_is_decided_again(store: Palimpsest) -> None:
    store.submit({"owner_id": "bob", "text": TEXTS[0]})
    assert counted(store, "loose", owner="bob")["candidates"] == 1
    assert counted(store, "loose", owner="a.*")["candidates"] == 11
    later = counted(store, "loose", since=datetime(2999, 1, 1, tzinfo=UTC))
    assert (later["candidates"], later["changed"]) == (0, 0)
    for wrong in ("(", "a{99999999999999999999}", "(" * 5_000 + ")" * 5_000):
        with pytest.raises(UsageError, match="not a regular expression"):
            counted(store, "loose", owner=wrong)
    other = POLICIES["standard"].model_copy(update={"model": "another"})
    with pytest.raises(
        UsageError, match="an owner has 9 texts without a recorded vector of another"
    ):
        backtest(store.reader, other, quiet)


@pytest.mark.parametrize(("written", "wanted"), [("standard", "faces"), ("faces", "standard")])
def test_what_the_guard_saw_of_a_composed_text_is_not_what_it_sees_of_its_source(
    tmp_path: Path, written: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of memories compares the face, one of candidates the same candidate's own text."""
    bees, big, again_big = (
        "Grandmother keeps bees behind the mill",
        "Grandmother keeps bees behind the big mill",
        "Grandmother keeps  bees behind the big mill",
    )
    standard = load_policy("standard")
    judge = standard.judge.model_copy(update={"frames": 0, "bridges": False, "of_owner": None})
    faces = standard.model_copy(update={"search": "memories", "judge": judge})
    monkeypatch.setitem(POLICIES, "faces", faces)

    def write(store: Palimpsest) -> None:
        store.submit([{"owner_id": "ada", "text": text, "id": text} for text in (bees, big)])
        waits = next(one for one in store.reader.ledger("ada").entries.values() if one.pending)
        request = SettleRequest(
            request_id=str(uuid4()),
            candidate_id=waits.id,
            verdicts=(Verdict(neighbour_id=waits.open[0], answer="compose"),),
            composed="Grandmother keeps bees behind the mill, the big one by the water",
        )
        store.writer.ask(request)
        store.submit({"owner_id": "ada", "text": again_big, "id": "again"})

    with Palimpsest.open(tmp_path / "written", policy=POLICIES[written]) as store:
        write(store)
        found, same = again(store, wanted), again(store, written)
        assert same == fates(store)
    with Palimpsest.open(tmp_path / "wanted", policy=POLICIES[wanted]) as store:
        write(store)
        assert found == fates(store) != same


def test_what_a_certificate_still_covers_is_counted(store: Palimpsest) -> None:
    """Found by looking at each join: the policy in force makes all of them again, another none."""
    assert counted(store, "standard")["audited"] is None
    store.submit([row for n in range(8) for row in _close_pair(n)])
    gone = min(edge.id for edge in standing(store.reader.ledger("bo")))
    store.unmerge(decision_id=gone)
    audits = store.audits()
    opened = audits.open(target=0.5, probes=0)
    while not audits.status()["certified"] and (question := audits.next()) is not None:
        audits.label(question["pair"], "right")
    labels = audits.certify()["labels"]
    same = store.backtest(POLICIES["standard"])["audited"]
    assert same is not None
    kept = (same["joins"], same["still"], same["others"], same["labels"], same["labels_kept"])
    assert kept == (opened["joins"], opened["joins"], 0, labels, labels)
    needed = labels_needed(store.reader.log, opened["joins"])
    assert needed is not None
    fresh = needed * (1 - labels / opened["joins"])
    assert same["labels_needed"] == math.ceil(fresh) < needed
    none = store.backtest(POLICIES["importance"])["audited"]
    assert none is not None
    assert (none["joins"], none["still"], none["others"]) == (opened["joins"], 0, 0)
    assert (none["labels_kept"], none["labels_needed"]) == (0, 0)
    store.submit([row for n in range(8, 10) for row in _close_pair(n)])
    later = store.backtest(POLICIES["standard"])["audited"]
    assert later is not None
    assert (later["joins"], later["others"]) == (opened["joins"], 2)
    store.reinstate(gone)
    back = store.backtest(POLICIES["standard"])["audited"]
    assert back is not None
    assert (back["joins"], back["others"]) == (opened["joins"], 3)
    assert store.backtest(POLICIES["standard"], processes=2)["audited"] == back


def _close_pair(number: int) -> list[dict[str, str]]:
    words = " ".join(f"w{number}{letter}" for letter in "abcdefghi")
    return [{"owner_id": "bo", "text": text} for text in (words, f"{words}.")]
