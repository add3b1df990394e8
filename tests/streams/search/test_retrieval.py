"""A newcomer finds all that it must see: after another policy, a changed row, or a stranger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Literal
from uuid import uuid4

import numpy as np
import pytest
from numpy.typing import NDArray

from palimpsest.contracts.errors import SearchError
from palimpsest.contracts.events import Decided
from palimpsest.contracts.evidence import Neighbour
from palimpsest.contracts.policy import (
    CosineCheck,
    Judge,
    Policy,
    SessionCheck,
    Similar,
    TokenCheck,
    Zone,
)
from palimpsest.contracts.requests import (
    ForgetRequest,
    MergeRequest,
    RestoreRequest,
    RetractRequest,
    Selection,
)
from palimpsest.streams.embedder import Embedding
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search import cosine
from palimpsest.streams.search.scope_index import Reach, vector_of
from palimpsest.streams.write.inputs import Outcome
from palimpsest.streams.write.serve import execute
from tests.streams.write.runtime import Runtime, inputs
from tests.stub_engine import StubEngine

WORDS = "one two three four five six seven eight nine ten alpha bravo delta hotel".split()
WORDS += "india lima mike oscar papa romeo".split()
GRAY = Zone(at_least=0.7, action="pending")
MODEL = load_policy("standard").model
Numbers = NDArray[np.float16]


def row_of(number: int, *places: int, **more: str) -> dict[str, object]:
    """A row of twenty words, others at these places: nineteen that two texts share are .95."""
    words = [f"other{number}at{at}" if at in places else word for at, word in enumerate(WORDS)]
    return {"owner_id": "ann", "id": str(number), "text": " ".join(words), **more}


def rules(
    *checks: CosineCheck | SessionCheck | TokenCheck,
    search: Literal["candidates", "memories"] = "candidates",
) -> Policy:
    return Policy(name="rules", model=MODEL, search=search, checks=checks)


ASKING = rules(CosineCheck(check="cosine", zones=(GRAY,)))


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(tmp_path / "log.sqlite", policy=ASKING) as running:
        yield running


def asked(runtime: Runtime, outcome: Outcome) -> Sequence[str]:
    """Whom the judge is asked about, by the candidate's decision."""
    found = runtime.log.find(outcome.decision_id or "")
    assert found is not None
    assert isinstance(found.event, Decided)
    return found.event.data.evidence.asked


def test_another_policy_looks_as_far_as_it_says(runtime: Runtime) -> None:
    """The index of the policy before it had a higher floor."""
    strict = rules(CosineCheck(check="cosine", zones=(Zone(at_least=0.99, action="pending"),)))
    runtime.writer.use_policy(strict)
    first, second = runtime.submit(row_of(1), row_of(2, 0, 1))
    assert second.decision == "stored"
    runtime.writer.use_policy(ASKING)
    (third,) = runtime.submit(row_of(3, 0, 1, 2))
    assert set(asked(runtime, third)) == {first.candidate_id, second.candidate_id}


def test_a_text_that_comes_back_to_life_is_found_in_the_window_that_brings_it_back(
    runtime: Runtime,
) -> None:
    """It was not there when the window's newcomers were looked up."""
    (retracted,) = runtime.submit(row_of(1))
    selection = Selection(candidate_id=retracted.candidate_id)
    request = RetractRequest(request_id=str(uuid4()), selection=selection)
    execute(runtime.writer, request)
    runtime.writer.commit()
    before, repeat, after = runtime.submit(row_of(2, 0), {**repeat_of(1, 3)}, row_of(4, 1))
    assert asked(runtime, before) == ()
    assert repeat.decision == "hash_exact"
    assert asked(runtime, after) == (repeat.candidate_id, before.candidate_id)


def repeat_of(number: int, again: int) -> dict[str, object]:
    """The text of a row under another id."""
    return {**row_of(number), "id": str(again)}


def test_who_was_not_looked_up_with_the_window_is_found_by_it(runtime: Runtime) -> None:
    """Its text is on its way for a window whose candidate is then refused: it is embedded late."""
    refused = {**repeat_of(2, 1)}
    windows = [
        runtime.writer.open_window(inputs(rows))
        for rows in (
            [row_of(1, *range(20)), refused],
            [repeat_of(2, 2), row_of(3, 0), row_of(4, *range(10))],
        )
    ]
    [_, conflict], [stranger, near, _] = [runtime.writer.close_window(window) for window in windows]
    assert (conflict.reason, stranger.decision) == ("id_conflict", "stored")
    assert asked(runtime, near) == (stranger.candidate_id,)


@pytest.mark.parametrize("top", [1, 2, 3])
def test_the_session_is_seen_whole_where_others_fill_the_top(tmp_path: Path, top: int) -> None:
    """Two of another session are nearer: with a top of two they leave no room in it."""
    policy = rules(
        SessionCheck(check="session", threshold=0.85, guard=False),
        CosineCheck(check="cosine", zones=(GRAY,), top=top),
    )
    with Runtime(tmp_path / "log.sqlite", policy=policy) as runtime:
        own, *_ = runtime.submit(
            row_of(1, 2, 3, session_id="own"),
            row_of(2, 0, session_id="other"),
            row_of(3, 1, session_id="other"),
        )
        (last,) = runtime.submit(row_of(4, session_id="own"))
        assert (last.decision, last.joined_to) == ("session_reject", own.candidate_id)


def test_who_is_near_for_the_session_alone_is_none_of_the_top(tmp_path: Path) -> None:
    policy = rules(
        SessionCheck(check="session", threshold=0.85, nearest=5, guard=False),
        CosineCheck(check="cosine", zones=(GRAY,), top=1),
    )
    with Runtime(tmp_path / "log.sqlite", policy=policy) as runtime:
        runtime.submit(*(row_of(number, number, session_id="other") for number in (1, 2, 3)))
        (last,) = runtime.submit(row_of(4, session_id="own"))
        found = runtime.log.find(last.decision_id or "")
        assert found is not None
        assert isinstance(found.event, Decided)
        assert len(found.event.data.evidence.neighbours) == 1


def test_a_retracted_text_takes_no_place_among_those_that_share_words(tmp_path: Path) -> None:
    words = TokenCheck(check="tokens", threshold=0.86, top=1, guard=False)
    with Runtime(tmp_path / "log.sqlite", policy=rules(words)) as runtime:
        rows = [row_of(number) for number in (1, 2, 3)]
        for row, changed in zip(rows[1:], (("two", "three"), ("two",)), strict=True):
            for word in changed:
                row["text"] = str(row["text"]).replace(word, f"un{word}")
        first, second = runtime.submit(*rows[:2])
        assert (first.decision, second.decision) == ("stored", "stored")
        retracting = RetractRequest(
            request_id=str(uuid4()), selection=Selection(candidate_id=first.candidate_id)
        )
        execute(runtime.writer, retracting)
        runtime.writer.commit()
        (found,) = runtime.submit(rows[2])
        assert found.joined_to == second.candidate_id


def test_a_memory_that_went_into_another_is_found_no_more(tmp_path: Path) -> None:
    """Its own row is there still, in an index that was made before; it takes no other's place."""
    policy = rules(CosineCheck(check="cosine", zones=(GRAY,), top=2), search="memories")
    with Runtime(tmp_path / "log.sqlite", policy=policy) as runtime:
        first, second = (runtime.submit(row_of(number, number))[0] for number in (1, 2))
        assert first.candidate_id is not None
        assert second.candidate_id is not None
        assert asked(runtime, second) == (first.candidate_id,)
        merging = MergeRequest(request_id=str(uuid4()), a=first.candidate_id, b=second.candidate_id)
        execute(runtime.writer, merging)
        runtime.writer.commit()
        (far,) = runtime.submit(row_of(4, 4, 5))
        (third,) = runtime.submit(row_of(3, 3))
        assert asked(runtime, third) == (first.candidate_id, far.candidate_id)


def test_another_policy_searches_again_what_could_not_be_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ASKING.model_copy(update={"search_fails": "store"})

    def broken(*_: object) -> None:
        raise SearchError("no index")

    with Runtime(tmp_path / "log.sqlite", policy=policy) as runtime:
        (first,) = runtime.submit(row_of(1))
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(
                "palimpsest.streams.search.scope_index.ScopeIndex.surroundings", broken
            )
            assert asked(runtime, runtime.submit(row_of(2, *range(20)))[0]) == ()
        assert asked(runtime, runtime.submit(row_of(3, 0))[0]) == ()
        runtime.writer.use_policy(policy.model_copy(update={"name": "another"}))
        (found,) = runtime.submit(row_of(4, 1))
        assert first.candidate_id in asked(runtime, found)


class Changed(StubEngine):
    """An engine whose vectors change once it is told so."""

    change: Callable[[Numbers], Numbers] | None = None

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        found = super().embed(texts)
        if self.change is None:
            return found
        return [replace(one, vector=self.change(one.vector)) for one in found]


@pytest.mark.parametrize("search", ["candidates", "memories"])
@pytest.mark.parametrize(
    "change", [lambda vector: vector[:200], lambda vector: vector * np.float16("nan")]
)
def test_a_scope_is_searched_again_once_an_unusable_vector_is_retracted(
    tmp_path: Path,
    search: Literal["candidates", "memories"],
    change: Callable[[Numbers], Numbers],
) -> None:
    """Such as that of a service whose `dimensions` had been changed for a while."""
    lenient = rules(CosineCheck(check="cosine", zones=(GRAY,)), search=search).model_copy(
        update={"search_fails": "store"}
    )
    engine = Changed()
    with Runtime(tmp_path / "log.sqlite", policy=lenient, engine=engine) as runtime:
        (first,) = runtime.submit(row_of(1))
        engine.change = change
        (unusable,) = runtime.submit(row_of(2, *range(10, 20)))
        engine.change = None
        runtime.writer.use_policy(lenient.model_copy(update={"search_fails": "stop"}))
        for number in (3, 4):
            with pytest.raises(SearchError):
                runtime.submit(row_of(number, number))
        selection = Selection(candidate_id=unusable.candidate_id)
        execute(runtime.writer, RetractRequest(request_id=str(uuid4()), selection=selection))
        runtime.writer.commit()
        (found,) = runtime.submit(row_of(5, 5))
        assert asked(runtime, found) == (first.candidate_id,)


@pytest.mark.parametrize("search", ["candidates", "memories"])
def test_a_scope_is_searched_again_once_its_only_vector_of_another_length_is_retracted(
    tmp_path: Path, search: Literal["candidates", "memories"]
) -> None:
    """The first vector says how long all are: no longer, once it is gone."""
    engine = Changed()
    engine.change = lambda vector: vector[:200]
    policy = rules(CosineCheck(check="cosine", zones=(GRAY,)), search=search)
    with Runtime(tmp_path / "log.sqlite", policy=policy, engine=engine) as runtime:
        (unusable,) = runtime.submit(row_of(1))
        engine.change = None
        with pytest.raises(SearchError):
            runtime.submit(row_of(2, 2))
        selection = Selection(candidate_id=unusable.candidate_id)
        execute(runtime.writer, RetractRequest(request_id=str(uuid4()), selection=selection))
        runtime.writer.commit()
        (first,) = runtime.submit(row_of(3, 3))
        assert asked(runtime, first) == ()
        (found,) = runtime.submit(row_of(4, 4))
        assert asked(runtime, found) == (first.candidate_id,)


@pytest.mark.parametrize(
    "change", [lambda vector: vector[:200], lambda vector: vector * np.float16("nan")]
)
def test_a_forgotten_text_with_an_unusable_vector_stops_nothing(
    tmp_path: Path, change: Callable[[Numbers], Numbers]
) -> None:
    """It can never be compared, and to forget it is what a person would try."""
    lenient = ASKING.model_copy(update={"search_fails": "store"})
    engine = Changed()
    with Runtime(tmp_path / "log.sqlite", policy=lenient, engine=engine) as runtime:
        (first,) = runtime.submit(row_of(1))
        engine.change = change
        (unusable,) = runtime.submit(row_of(2, *range(10, 20)))
        engine.change = None
        runtime.writer.use_policy(lenient.model_copy(update={"search_fails": "stop"}))
        for gone in (first, unusable):
            forget(runtime, gone.candidate_id)
        (found,) = runtime.submit(row_of(5, 5))
        assert asked(runtime, found) == (first.candidate_id,)


def forget(runtime: Runtime, candidate_id: str | None) -> str:
    """Forget a memory so that a person is asked; the request."""
    request = ForgetRequest(request_id=str(uuid4()), memory_ids=(str(candidate_id),), again="ask")
    execute(runtime.writer, request)
    runtime.writer.commit()
    return request.request_id


@pytest.mark.parametrize("search", ["candidates", "memories"])
def test_a_forgotten_text_is_found_until_it_is_back(
    runtime: Runtime, search: Literal["candidates", "memories"]
) -> None:
    """In its scope alone, and after a policy that looks less far."""
    strict = CosineCheck(check="cosine", zones=(Zone(at_least=0.99, action="pending"),))
    runtime.writer.use_policy(rules(strict, search=search))
    (first,) = runtime.submit(row_of(1))
    request = forget(runtime, first.candidate_id)
    assert [one.decision for one in runtime.submit(row_of(2, 0))] == ["stored"]
    runtime.writer.use_policy(rules(CosineCheck(check="cosine", zones=(GRAY,)), search=search))
    near, other, far = runtime.submit(
        row_of(3, 1), row_of(4, 2, namespace="work"), row_of(5, *range(3, 15))
    )
    assert [one.decision for one in (near, other, far)] == ["pending", "stored", "stored"]
    assert first.candidate_id in asked(runtime, near)
    back = RestoreRequest(request_id=str(uuid4()), forgotten=request)
    execute(runtime.writer, back)
    runtime.writer.commit()
    (later,) = runtime.submit(row_of(6, 4))
    ledger = runtime.writer.owners.get("ann").ledger
    assert ledger.entries[str(later.candidate_id)].living


def test_what_was_forgotten_is_found_by_words_too(
    runtime: Runtime,
) -> None:
    words = TokenCheck(check="tokens", threshold=0.75, guard=False)
    runtime.writer.use_policy(rules(words))
    (first,) = runtime.submit(row_of(1))
    forget(runtime, first.candidate_id)
    near, far = runtime.submit(row_of(2, 1), row_of(3, *range(9)))
    assert [one.decision for one in (near, far)] == ["pending", "stored"]


def test_a_search_reaches_as_far_as_the_namespace_and_the_similar_facts_ask() -> None:
    one = load_policy("standard").model_copy(
        update={
            "checks": (
                TokenCheck(check="tokens", threshold=0.85),
                CosineCheck(
                    check="cosine",
                    zones=(Zone(at_least=0.9, action="superseded"),),
                    namespaces={"plans": 0.7},
                ),
            ),
            "similar": None,
            "judge": Judge(),
        }
    )
    near = {name: Reach.of(one, name).cosine for name in ("default", "plans")}
    assert near == {"default": 0.9, "plans": 0.7}
    reach = Reach.of(one.model_copy(update={"similar": Similar(at_least=0.6)}), "plans")
    assert (reach.cosine, reach.jaccard) == (0.6, 0.6)
    owners = one.model_copy(update={"judge": Judge(of_owner=0.5)})
    assert Reach.of(owners, "default").cosine == 0.5
    assert Reach.of(one.model_copy(update={"enabled": False}), "plans").cosine > 1.0


@pytest.mark.parametrize("floor", [0.0, 0.4])
def test_a_search_reaches_as_far_as_the_guard_may_join(floor: float) -> None:
    cosine = CosineCheck(check="cosine", zones=(GRAY,), top=5, near_identical=floor)
    assert Reach.of(rules(cosine), "default").cosine == floor


def test_a_search_reaches_as_far_as_the_session_asks() -> None:
    cosine = CosineCheck(check="cosine", zones=(GRAY,), top=5)

    def reach(threshold: float, nearest: int | None) -> tuple[float, int]:
        session = SessionCheck(check="session", threshold=threshold, nearest=nearest)
        found = Reach.of(rules(cosine, session), "default")
        return found.near, found.near_top

    assert reach(0.6, 20) == (0.6, 20)
    assert reach(0.8, 3) == (0.7, 5)
    assert reach(0.8, None) == (0.7, 5)
    assert Reach.of(rules(cosine), "default").near == 0.7


@pytest.mark.parametrize("search", ["candidates", "memories"])
@pytest.mark.parametrize("window", [1, 4, 40])
def test_who_is_stored_names_the_nearest_of_all(
    tmp_path: Path, search: Literal["candidates", "memories"], window: int
) -> None:
    """However far, in windows of any size, and outside the neighbours: by a plain comparison."""
    random = Random(7)
    texts = [" ".join(random.choices(WORDS, k=6)) for _ in range(40)]
    rows = [
        {"owner_id": "ann", "id": str(number), "text": text} for number, text in enumerate(texts)
    ]
    policy = rules(
        CosineCheck(check="cosine", zones=(Zone(at_least=0.6, action="auto_reject"),)),
        search=search,
    )
    with Runtime(tmp_path / "log.sqlite", policy=policy) as running:
        for start in range(0, len(rows), window):
            running.stream(rows[start : start + window])
        decided = [r.event for r in running.log.of_owner("ann") if isinstance(r.event, Decided)]
    seen: list[Decided] = []
    for event in decided:
        own, evidence = event.data.content.vector, event.data.evidence
        others = [one for one in seen if search == "candidates" or one.data.join is None]
        scored = [
            (cosine(vector_of(own), vector_of(one.data.content.vector)), -place, one.subject)
            for place, one in enumerate(others)
            if own is not None and one.data.content.vector is not None
        ]
        best = max(scored, default=None)
        if event.data.decision != "stored" or best is None:
            assert evidence.nearest is None
        else:
            assert evidence.nearest == Neighbour(candidate_id=best[2], cosine=best[0])
            assert best[0] >= 0.6 or evidence.neighbours == ()
        seen.append(event)
    assert {event.data.decision for event in decided} >= {"stored", "auto_reject"}


def test_nobody_is_nearest_where_nothing_is_searched_by_meaning(tmp_path: Path) -> None:
    policy = rules(TokenCheck(check="tokens", threshold=0.9))
    with Runtime(tmp_path / "log.sqlite", policy=policy) as running:
        running.submit(row_of(1), row_of(2, *range(10)))
        found = [r.event for r in running.log.of_owner("ann") if isinstance(r.event, Decided)]
    assert [event.data.decision for event in found] == ["stored", "stored"]
    assert [event.data.evidence.nearest for event in found] == [None, None]
