"""A writer whose model is down: it stops, or stores texts whose vectors follow."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import current_thread
from unittest.mock import Mock, patch
from uuid import uuid4

import numpy as np
import pytest

from palimpsest.contracts.answers import Done, Refused
from palimpsest.contracts.errors import ModelError, SearchError, StoreError, UsageError
from palimpsest.contracts.events import Decided, Embedded
from palimpsest.contracts.evidence import Evidence
from palimpsest.contracts.policy import Policy, TokenCheck
from palimpsest.contracts.requests import CombineRequest, EmbedRequest, SeparateRequest
from palimpsest.server.problems import problem_of
from palimpsest.streams.embedder import Embedder, Embedding, ModelUnusable
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write import vectors, writer
from palimpsest.streams.write.owners import Owners
from palimpsest.streams.write.serve import PendingRequest, serve, serve_all
from tests.streams.write.runtime import Runtime, inputs
from tests.stub_engine import StubEngine

STORES = load_policy("namespaced")
STOPS = STORES.model_copy(update={"embedder_fails": "stop"})
LONG = "on sunday mornings nora rows her narrow green boat past the old mill to buy fresh bread"
NEAR = LONG.replace("bread", "milk")


class Plug(StubEngine):
    """An engine that is down while it is unplugged."""

    plugged = False
    asked = 0

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.asked += 1
        if not self.plugged:
            raise ModelError("unplugged")
        return super().embed(texts)


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    """One that is asked again at once."""
    monkeypatch.setattr(vectors, "RETRY_SECONDS", 0.0)
    return Plug()


def runtime(path: Path, plug: Plug, policy: Policy = STORES) -> Runtime:
    return Runtime(path / "log.sqlite", engine=plug, policy=policy)


def rows_of(*texts: str) -> list[dict[str, str]]:
    return [{"owner_id": "ann", "text": text} for text in texts]


def embed(one: Runtime) -> Done | Refused:
    request = EmbedRequest(request_id=str(uuid4()), owner_id="ann")
    [answer] = serve(one.writer, [PendingRequest(request)])
    assert isinstance(answer, Done | Refused)
    return answer


def kinds(one: Runtime) -> list[str]:
    return [event.type.split(".")[1] for _, event, _ in one.told[1:]]


def test_a_policy_stops_unless_it_says_otherwise(tmp_path: Path, plug: Plug) -> None:
    assert load_policy("standard").embedder_fails == "stop"
    with runtime(tmp_path, plug, STOPS) as one:
        with pytest.raises(ModelError, match="unplugged"):
            one.submit(*rows_of(LONG))
        assert one.log.head() == 0
        plug.plugged = True
        [stored] = one.submit(*rows_of(LONG))
    assert stored.decision == "stored"


def test_what_comes_while_the_model_is_down_is_stored_uncompared(
    tmp_path: Path, plug: Plug
) -> None:
    with runtime(tmp_path, plug) as one:
        told = one.submit(*rows_of(LONG, NEAR, f" {LONG}"))
        decided = [event for _, event, _ in one.told if isinstance(event, Decided)]
        assert [each.decision for each in told] == ["stored", "stored", "recent_capture"]
        assert [event.data.evidence.down for event in decided] == [("embedder",)] * 2 + [None]
        assert [event.data.content.vector for event in decided] == [None] * 3
        assert one.log.verifications.owners_unembedded() == {"ann": 2}
        assert one.log.verifications.count() == 0, "nothing of it is the judge's"
        assert one.log.verifications.waiting(5) == []


def test_without_a_model_and_a_search_a_decision_names_both(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are compared without a model, and that needs the search."""

    def broken(*_: object) -> None:
        raise SearchError("no index")

    monkeypatch.setattr("palimpsest.streams.search.scope_index.ScopeIndex.surroundings", broken)
    words = TokenCheck(check="tokens", threshold=0.85)
    policy = STORES.model_copy(update={"checks": (words,), "search_fails": "store"})
    with runtime(tmp_path, plug, policy) as one:
        one.submit(*rows_of(LONG))
        [event] = [event for _, event, _ in one.told if isinstance(event, Decided)]
    assert event.data.evidence.down == ("embedder", "search")


def test_vectors_follow_with_the_next_new_text(tmp_path: Path, plug: Plug) -> None:
    with runtime(tmp_path, plug) as one:
        first, second = one.submit(*rows_of(LONG, "tea"))
        plug.plugged = True
        one.submit(*rows_of(" tea", "milk"))
        assert kinds(one) == ["decided"] * 4 + ["embedded"] * 2
        late = [event.subject for _, event, _ in one.told if isinstance(event, Embedded)]
        assert late == [first.candidate_id, second.candidate_id]
        assert one.log.verifications.unembedded() == 0
        [joined] = one.submit(*rows_of(NEAR))
        assert (joined.decision, joined.joined_to) == ("auto_reject", first.candidate_id)


def test_an_exact_repeat_asks_for_no_model(tmp_path: Path, plug: Plug) -> None:
    with runtime(tmp_path, plug) as one:
        one.submit(*rows_of(LONG))
        asked = plug.asked
        one.submit(*rows_of(f" {LONG}"))
        assert plug.asked == asked


def test_a_model_that_is_down_is_left_alone_for_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The warning comes once, and says no text."""
    plug = Plug()
    with runtime(tmp_path, plug) as one, caplog.at_level(logging.WARNING):
        one.submit(*rows_of(LONG))
        one.submit(*rows_of(NEAR))
        assert plug.asked == 1
        [warning] = [r.getMessage() for r in caplog.records if "embedder" in r.getMessage()]
        assert "nora" not in warning
        plug.plugged = True
        one.submit(*rows_of("tea"))
        assert one.log.verifications.unembedded() == 3
        assert embed(one) == Done({"embedded": 3, "left": 0}), "a person need not wait"


def test_each_outage_of_the_model_is_told_of_once(
    tmp_path: Path, plug: Plug, caplog: pytest.LogCaptureFixture
) -> None:
    with runtime(tmp_path, plug) as one, caplog.at_level(logging.WARNING):
        for plugged, texts in ((False, "ab"), (True, "c"), (False, "de")):
            plug.plugged = plugged
            for text in texts:
                one.submit(*rows_of(f"text {text}"))
    warnings = [r for r in caplog.records if "the embedder is down" in r.getMessage()]
    assert len(warnings) == 2


def test_so_many_follow_at_once(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LATE", 2)
    with runtime(tmp_path, plug) as one:
        one.submit(*rows_of("one", "two", "three"))
        plug.plugged = True
        assert embed(one) == Done({"embedded": 2, "left": 1})
        assert embed(one) == Done({"embedded": 1, "left": 0})
        assert embed(one) == Done({"embedded": 0, "left": 0})


@pytest.mark.parametrize("policy", [STORES, STOPS], ids=["store", "stop"])
def test_asking_for_vectors_is_refused_while_the_model_is_down(
    tmp_path: Path, plug: Plug, policy: Policy
) -> None:
    with runtime(tmp_path, plug) as one:
        one.submit(*rows_of(LONG))
        one.writer.use_policy(policy)
        answer = embed(one)
    assert isinstance(answer, Refused)
    assert answer.reason == "embedder_down"


def test_asking_for_vectors_again_is_carried_out_once_the_model_is_back(
    tmp_path: Path, plug: Plug
) -> None:
    with runtime(tmp_path, plug) as one:
        one.submit(*rows_of(LONG))
        request = PendingRequest(EmbedRequest(request_id=str(uuid4()), owner_id="ann"))
        [refused] = serve(one.writer, [request])
        assert isinstance(refused, Refused)
        plug.plugged = True
        assert serve(one.writer, [request]) == [Done({"embedded": 1, "left": 0})]


def test_a_model_of_another_name_is_no_model_that_is_down(tmp_path: Path, plug: Plug) -> None:
    plug.plugged = True
    plug.model = "another"
    with runtime(tmp_path, plug) as one, pytest.raises(UsageError, match="thresholds for"):
        one.submit(*rows_of(LONG))


def test_wrong_usage_is_no_model_that_is_down() -> None:
    def named_wrongly() -> Embedder:
        raise UsageError("there is no such engine")

    with pytest.raises(UsageError, match="no such engine"):
        vectors.Vectors(named_wrongly).submit([LONG], STORES)


def test_a_candidate_given_alone_is_embedded_by_who_waits_for_it(tmp_path: Path) -> None:
    """Several, and those of a stream, are left to the embedder's thread."""
    threads: list[str] = []

    class Telling(StubEngine):
        def embed(self, texts: Sequence[str]) -> list[Embedding]:
            threads.append(current_thread().name)
            return super().embed(texts)

    with Runtime(tmp_path / "log.sqlite", engine=Telling()) as one:
        one.submit(*rows_of(LONG))
        assert threads == [current_thread().name]
        one.submit(*rows_of(NEAR, "tea"))
        one.stream(rows_of("coffee"))
    assert current_thread().name not in threads[1:]
    assert len(threads) == 3


def test_a_vector_is_recorded_with_where_it_came_from(plug: Plug) -> None:
    """An engine that gives another's vectors says whose they are."""
    made = vectors.Vectors(lambda: Embedder(plug))
    numbers = np.zeros(plug.dimension, np.float16)
    for origin, engine in ((None, plug.name), ("elsewhere", "elsewhere")):
        embedding = Embedding(numbers, truncated=False, unknown=(), origin=origin)
        assert made.vector(embedding, STORES).engine == engine


def test_the_size_of_windows_changes_nothing(tmp_path: Path, plug: Plug) -> None:
    """Vectors follow after the same newcomer, however many come at once."""
    logs = []
    for name, size in (("one", 1), ("five", 5)):
        plug.plugged = False
        (tmp_path / name).mkdir()
        with runtime(tmp_path / name, plug) as each:
            each.submit(*rows_of(LONG, "tea"))
            plug.plugged = True
            rows = rows_of("TEA", NEAR, "milk", LONG.replace("old", "new"), "Tea")
            for start in range(0, len(rows), size):
                each.submit(*rows[start : start + size])
            logs.append(each.lines())
    assert logs[0] == logs[1]


def test_the_table_follows_from_the_log(tmp_path: Path, plug: Plug) -> None:
    with runtime(tmp_path, plug) as one:
        one.submit(*rows_of(LONG, "tea"))
        with one.log.transaction():
            one.log.execute("DELETE FROM verifications")
            one.log.find_questions(["ann"])
        assert one.log.verifications.unembedded() == 2


def test_one_text_in_two_namespaces_is_embedded_for_both(tmp_path: Path, plug: Plug) -> None:
    with runtime(tmp_path, plug) as one:
        one.submit(*rows_of(LONG), {"owner_id": "ann", "text": LONG, "namespace": "work"})
        plug.plugged = True
        assert embed(one) == Done({"embedded": 2, "left": 0})


def test_how_long_checks_take_is_reported(tmp_path: Path, plug: Plug) -> None:
    """An exact repeat is not searched for, nor is anything without a model."""
    told: list[str] = []
    plug.plugged = True
    with runtime(tmp_path, plug) as one:
        one.writer.time_checks(lambda check, _milliseconds: told.append(check))
        one.submit(*rows_of(LONG))
        assert told == ["exact", "semantic", "total"]
        one.submit(*rows_of(f" {LONG}"))
        plug.plugged = False
        one.submit(*rows_of("tea"))
    assert told[3:] == ["exact", "total"] * 2


@pytest.mark.parametrize(("kind", "call"), [(Embedder, "submit"), (Owners, "get")])
def test_a_window_that_could_not_be_opened_leaves_no_text_behind(
    tmp_path: Path, plug: Plug, kind: type, call: str
) -> None:
    """Else nobody would embed its texts ahead again: each window would believe another does."""
    plug.plugged = True
    with runtime(tmp_path, plug, STOPS) as one:
        window = inputs(rows_of(LONG, NEAR))
        with patch.object(kind, call, side_effect=StoreError), pytest.raises(StoreError):
            one.writer.open_window(window)
        assert one.writer.open_window(window).texts == [LONG, NEAR]


# -- composed texts ------------------------------------------------------------------------------


def combine(one: Runtime, a: str, b: str) -> CombineRequest:
    """Join two candidates by a composed text, which needs a vector."""
    return CombineRequest(
        request_id=str(uuid4()),
        a=b,
        b=a,
        decision="llm_merge",
        face="text",
        composed="nora rows to buy bread and milk",
        sources=(a, b),
        evidence=Evidence(policy=one.writer.policy.hash),
    )


def ids_of(one: Runtime, *texts: str) -> list[str]:
    """The candidates of texts that no rule joins."""
    return [str(told.candidate_id) for told in one.submit(*rows_of(*texts))]


def test_a_composed_text_is_refused_while_the_model_is_down_and_made_when_it_is_back(
    tmp_path: Path, plug: Plug
) -> None:
    """The requests beside it are carried out, and nothing of it is recorded."""
    plug.plugged = True
    with runtime(tmp_path, plug) as one:
        a, b, c = ids_of(one, LONG, "tea", "milk")
        plug.plugged = False
        before = one.log.head()
        waits = combine(one, a, b)
        apart = SeparateRequest(request_id=str(uuid4()), a=a, b=c)
        refused, done = serve_all(one.writer, [PendingRequest(waits, 1), PendingRequest(apart, 2)])
        assert isinstance(refused, Refused)
        assert refused.reason == "embedder_down"
        assert isinstance(done, Done)
        assert one.log.head() == before + 1
        plug.plugged = True
        [joined] = serve_all(one.writer, [PendingRequest(waits, 3)])
        assert isinstance(joined, Done)
        [memory] = joined.result["memories"]
        assert memory["face"] == "nora rows to buy bread and milk"
        assert one.ledger_matches_log()


def test_whatever_a_model_fails_with_refuses_a_composed_text(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug.plugged = True
    with runtime(tmp_path, plug) as one:
        a, b = ids_of(one, LONG, "tea")
        monkeypatch.setattr(plug, "embed", Mock(side_effect=ConnectionError("away")))
        [refused] = serve_all(one.writer, [PendingRequest(combine(one, a, b), 1)])
    assert isinstance(refused, Refused)
    assert refused.reason == "embedder_down"


def test_a_model_that_is_down_is_not_tried_again_for_each_composed_text(tmp_path: Path) -> None:
    plug = Plug()
    plug.plugged = True
    with runtime(tmp_path, plug) as one:
        a, b = ids_of(one, LONG, "tea")
        plug.plugged, plug.asked = False, 0
        for number in range(3):
            serve_all(one.writer, [PendingRequest(combine(one, a, b), number)])
    assert plug.asked == 1


def test_a_server_says_that_a_composed_text_may_be_asked_for_again(
    tmp_path: Path, plug: Plug
) -> None:
    """502 would say that a repeat fails, too."""
    with runtime(tmp_path, plug) as one:
        for _ in ("tried", "left alone"):
            with pytest.raises(ModelError, match="send the request again") as down:
                one.writer.content("nora rows to buy bread and milk")
            assert problem_of(down.value).status == 503


def test_a_server_says_why_a_composed_text_need_not_be_asked_for_again(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the model is left alone."""
    unusable = Mock(side_effect=ModelUnusable("its answer is no JSON"))
    monkeypatch.setattr(plug, "embed", unusable)
    monkeypatch.setattr(vectors, "RETRY_SECONDS", 30.0)
    with runtime(tmp_path, plug) as one:
        for _ in ("tried", "left alone"):
            with pytest.raises(ModelError, match="no JSON") as down:
                one.writer.content("nora rows to buy bread and milk")
            assert problem_of(down.value).status == 502
    assert unusable.call_count == 1


def test_a_policy_that_stops_from_now_on_stores_nothing_without_a_vector(tmp_path: Path) -> None:
    """The model was just tried under a policy that continues without it."""
    with runtime(tmp_path, Plug()) as one:
        one.submit(*rows_of(LONG))
        one.writer.use_policy(STOPS)
        with pytest.raises(ModelError, match="unplugged"):
            one.submit(*rows_of("tea"))


def test_a_policy_that_stops_stops_at_a_composed_text(tmp_path: Path, plug: Plug) -> None:
    plug.plugged = True
    with runtime(tmp_path, plug, STOPS) as one:
        a, b = ids_of(one, LONG, "tea")
        plug.plugged = False
        with pytest.raises(ModelError, match="unplugged"):
            serve_all(one.writer, [PendingRequest(combine(one, a, b), 1)])
