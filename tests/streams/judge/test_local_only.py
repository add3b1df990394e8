"""What a policy keeps local reaches no remote service, whatever the way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import orjson
import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as api
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts import policy as contract
from palimpsest.contracts.candidate import DEFAULT_NAMESPACE
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.questions import QUESTION, AnyQuestion
from palimpsest.contracts.requests import AnyRequest, MergeRequest, RetractRequest, Selection
from palimpsest.jobs.questions import open_questions, settle
from palimpsest.streams.cluster.records import Outgoing, Record
from palimpsest.streams.cluster.topics import Topics
from palimpsest.streams.cluster.worker.metrics import Metrics
from palimpsest.streams.cluster.worker.partition_writer import PartitionWriter
from palimpsest.streams.cluster.worker.replica import Followed, PartitionReplica
from palimpsest.streams.core.ledger import Entry
from palimpsest.streams.core.local_only import is_local
from palimpsest.streams.core.questions import settle_question
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.judge.batching import Batcher, BatchSettings
from palimpsest.streams.judge.judge import LOCAL_ONLY, Judge
from palimpsest.streams.judge.own import OwnJudge
from palimpsest.streams.judge.pairs import JudgedPair, Side
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.verifier import Undecided, Verifier
from palimpsest.streams.log.log import Lines
from palimpsest.streams.policies import load_policy
from palimpsest.streams.reach import is_remote
from palimpsest.streams.write.commit import InputOffset
from tests.streams.judge.asking import BEGIN, Asking, pair, side
from tests.streams.judge.recorder import Recorder
from tests.streams.judge.test_worker import ASKING, Store
from tests.streams.write.runtime import AT, inputs
from tests.stub_engine import StubEngine, load_stub

STANDARD = load_policy("standard")
LOCAL = ("health", "private", "zoe")
SECRET = b"secret"
"""The beginning of a word that every local text of a history has, and no other."""
Row = dict[str, Any]
FIXED = str(UUID(int=7))


def asks_all(**changed: Any) -> Policy:
    return STANDARD.model_copy(update={"checks": (ASKING,), "local_only": LOCAL, **changed})


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in counts as a service elsewhere, although it is on this machine."""
    monkeypatch.setattr("palimpsest.streams.judge.service.is_remote", lambda _: True)


@pytest.fixture
def recorder(server: JudgeServer, remote: None) -> Iterator[Recorder]:
    with Recorder(int(server.url.rpartition(":")[2])) as running:
        yield running


def settings_of(recorder: Recorder) -> JudgeSettings:
    return JudgeSettings(base_url=recorder.url, retries=0, calls_per_second=1000)


# -- both runtimes -------------------------------------------------------------------------------


class SettlingRuntime(Protocol):
    """Takes rows and requests, and has the judge asked about all that waits."""

    def say(self, rows: Sequence[Row]) -> None: ...

    def ask(self, request: AnyRequest) -> object: ...

    def settle(self, settings: JudgeSettings) -> list[str]:
        """Why questions stay open."""

    def close(self) -> None: ...


class EmbeddedRuntime:
    """A store, and a verifier of it."""

    def __init__(self, folder: Path, policy: Policy) -> None:
        self._store = Store(folder, policy)

    def say(self, rows: Sequence[Row]) -> None:
        self._store.writer.submit(inputs(rows))

    def ask(self, request: AnyRequest) -> object:
        return self._store.writer.ask(request)

    def close(self) -> None:
        self._store.writer.close()

    def settle(self, settings: JudgeSettings) -> list[str]:
        async def settled() -> list[str]:
            async with open_questions(self._store.opened) as questions:
                stop = asyncio.Event()
                return [
                    *(await settle(questions, self._store.folder, settings, stop, once=True)).left
                ]

        return asyncio.run(settled())


class PartitionRuntime:
    """A partition's writer, and a verifier of the questions that it publishes."""

    def __init__(self, folder: Path, policy: Policy) -> None:
        self._folder, self._offset, self._published = folder, 0, 0
        self._questions: dict[str, AnyQuestion] = {}
        self._embedder, topics = Embedder(StubEngine()), Topics("", 1)
        self._topic = topics.name("verifications")
        self._log = PartitionReplica.create(folder / "replica.sqlite")
        self._writer = PartitionWriter(
            self._log,
            self._publish,
            Followed(topics.name("decisions"), 0, "id", 0),
            topics,
            {"memory.candidates": "candidates", "memory.commands": "commands"},
            policy,
            lambda _model: self._embedder,
            lambda: AT,
            Metrics(),
        )

    def close(self) -> None:
        self._embedder.close()
        self._log.close()

    def _publish(
        self, lines: Lines, others: Sequence[Outgoing], _done: Sequence[InputOffset]
    ) -> int:
        for other in others:
            if other.topic == self._topic:
                question = QUESTION.validate_json(other.value)
                self._questions[question.subject] = question
        self._published += len(lines)
        return self._published

    def say(self, rows: Sequence[Row]) -> None:
        records = [self._record("memory.candidates", orjson.dumps(row)) for row in rows]
        self._writer.close(self._writer.open(records))

    def ask(self, request: AnyRequest) -> None:
        body = request.model_dump_json(exclude_none=True).encode()
        self._writer.carry_out([self._record("memory.commands", body)])

    def _record(self, topic: str, value: bytes) -> Record:
        self._offset += 1
        return Record(topic, 0, self._offset, value)

    def settle(self, settings: JudgeSettings) -> list[str]:
        questions, self._questions = list(self._questions.values()), {}

        async def settled() -> list[Any]:
            batcher = Batcher(BatchSettings())
            judge = Judge.beside(self._folder, contract.Judge(), settings, lambda: BEGIN)
            async with judge:
                verifier = Verifier(cache(judge.by), batcher)
                return await asyncio.gather(*map(verifier.answer, questions))

        left = []
        for answer in asyncio.run(settled()):
            if isinstance(answer, Undecided):
                left.append(answer.reason)
            else:
                self.ask(answer)
        return left


RUNTIMES: dict[str, Callable[[Path, Policy], SettlingRuntime]] = {
    "embedded": EmbeddedRuntime,
    "partition": PartitionRuntime,
}


def history(seed: int) -> Iterator[Row | MergeRequest | RetractRequest]:
    """Rows that all are gray to each other, a part of them local by owner, namespace or category.

    A local text is said again without its category, which alone is living then, and is merged, as
    the face, with one that is not local.
    """
    choose = random.Random(seed)

    def an_id() -> str:
        return str(UUID(int=choose.getrandbits(128), version=4))

    said: list[Row] = []
    for n in range(36):
        owner = choose.choice(["ada", "ada", "zoe"])
        row = {
            "owner_id": owner,
            "source": "test",
            "id": str(n),
            "namespace": choose.choice(["default", "default", "default", "private"]),
            "category": choose.choice([None, None, "health", "work"]),
        }
        local = not {owner, row["namespace"], row["category"]}.isdisjoint(LOCAL)
        place = f"{SECRET.decode()}{n}" if local else choose.choice(["Rome", "Oslo", "Bergen"])
        text = f"Boats of wood are painted slowly in the old harbour of {place} on day {n}"
        said.append({name: value for name, value in row.items() if value} | {"text": text})
        yield said[-1]
        if local and choose.random() < 0.5:
            said.append(said[-1] | {"id": f"again {n}", "category": "work"})
            yield said[-1]
            if choose.random() < 0.7:
                yield RetractRequest(
                    request_id=an_id(),
                    selection=Selection(candidate_id=candidate_id(owner, "test", str(n))),
                )
        scope = [one for one in said if (one["owner_id"], one["namespace"]) == ("ada", "default")]
        if len(scope) > 1 and choose.random() < 0.4:
            a, b = (
                candidate_id(one["owner_id"], "test", one["id"]) for one in choose.sample(scope, 2)
            )
            yield MergeRequest(request_id=an_id(), a=a, b=b, face=choose.choice([a, b]))


@pytest.mark.parametrize(
    ("search", "ask"),
    [
        ("candidates", "relation"),
        pytest.param("memories", "relation", marks=pytest.mark.long),
        ("memories", "compose"),
    ],
)
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_no_byte_of_a_local_text_is_sent(
    tmp_path: Path, recorder: Recorder, runtime: str, search: str, ask: str
) -> None:
    rules = STANDARD.judge.model_copy(update={"ask": ask})
    with closing(RUNTIMES[runtime](tmp_path, asks_all(search=search, judge=rules))) as made:
        left = play(made, settings_of(recorder))
    assert b"harbour of" in recorder.sent
    assert SECRET not in recorder.sent
    assert LOCAL_ONLY in left


def play(made: SettlingRuntime, settings: JudgeSettings) -> list[str]:
    """Why questions were left, of a whole history."""
    left: list[str] = []
    for number, act in enumerate(history(7)):
        if isinstance(act, dict):
            made.say([act])
        else:
            with suppress(RefusedError):
                made.ask(act)
        if number % 12 == 11:
            left += made.settle(settings)
    return left + made.settle(settings)


StoreOf = Callable[..., Store]


@pytest.fixture
def store_of(tmp_path: Path) -> Iterator[StoreOf]:
    """A store whose policy asks about everything, with these changes."""
    made: list[Store] = []

    def opened(**changed: Any) -> Store:
        made.append(Store(tmp_path, asks_all(**changed)))
        return made[-1]

    yield opened
    for store in made:
        store.writer.close()


# -- whose texts are local -----------------------------------------------------------------------


PLACES = "Boats of wood are painted slowly in the old harbour of {}"


def row(place: str, **named: str) -> Row:
    return {"owner_id": "ada", "source": "test", "id": place, "text": PLACES.format(place), **named}


def asked_of(store: Store) -> Any:
    """The question about the newcomer that came last."""
    return settle_question(
        store.reader.ledger("ada"), entries(store)[-1].id, store.reader.policy_in_force()
    )


@pytest.mark.parametrize(
    ("local", "named"),
    [
        ((), {"category": "health"}),
        (("health",), {"category": "health"}),
        (("default",), {}),
        (("ada",), {}),
        (("Health", "adam"), {"category": "health"}),
    ],
)
def test_owners_namespaces_and_categories_are_named(
    store_of: StoreOf, local: tuple[str, ...], named: dict[str, str]
) -> None:
    store = store_of(local_only=local)
    store.writer.submit(inputs([row("Rome"), row("Oslo", **named)]))
    question = asked_of(store)
    expected = bool({"ada", "default", named.get("category")} & set(local))
    assert question.candidate.local is expected
    assert question.asked[0].side.local is bool({"ada", "default"} & set(local))


def test_a_text_is_local_for_whoever_says_it(store_of: StoreOf) -> None:
    store = store_of()
    store.writer.submit(inputs([row("Oslo", category="health"), row("Oslo", id="again")]))
    first = candidate_id("ada", "test", "Oslo")
    store.ask(RetractRequest(request_id=FIXED, selection=Selection(candidate_id=first)))
    store.writer.submit(inputs([row("Rome")]))
    [neighbour] = asked_of(store).asked
    assert neighbour.side.candidate_id == candidate_id("ada", "test", "again")
    assert neighbour.side.local


def test_a_composed_text_is_as_its_sources_are_also_when_it_is_said_again(
    store_of: StoreOf, server: JudgeServer
) -> None:
    rules = STANDARD.judge.model_copy(update={"ask": "compose"})
    store = store_of(judge=rules)
    store.writer.submit(inputs([row("Rome", category="health"), row("Oslo")]))
    assert store.verified(server).outcomes["settled"] == 1, "the stand-in is local here"
    [memory] = {entry.memory.id: entry.memory for entry in entries(store)}.values()
    assert memory.face.sources == tuple(entry.id for entry in entries(store))
    said = row("recalled") | {"text": memory.face.text}
    store.writer.submit(inputs([said, row("Bergen")]))
    ledger = store.reader.ledger("ada")
    again = ledger.entries[candidate_id("ada", "test", "recalled")]
    assert is_local(ledger, again, store.reader.policy_in_force())
    oslo, bergen = (
        ledger.entries[candidate_id("ada", "test", name)] for name in ("Oslo", "Bergen")
    )
    assert not is_local(ledger, oslo, store.reader.policy_in_force())
    assert not is_local(ledger, bergen, store.reader.policy_in_force())


def entries(store: Store) -> list[Entry]:
    return [*store.reader.ledger("ada").entries.values()]


def test_a_policy_without_it_keeps_hash_and_questions(
    store_of: StoreOf,
) -> None:
    assert "local_only" not in STANDARD.model_dump_json()
    assert STANDARD.model_copy(update={"local_only": ("health",)}).hash != STANDARD.hash
    store = store_of(local_only=())
    store.writer.submit(inputs([row("Rome"), row("Oslo")]))
    assert "local" not in asked_of(store).model_dump_json(exclude={"rules"})


# -- what a judge does with them -----------------------------------------------------------------


OPEN = pair("Ada has a big dog.", "ada has a big dog", "open")
KEPT = JudgedPair(
    Side("kept", "Ada has diabetes.", BEGIN, local=True), side("Ada has a diabetes.", "n", 1)
)


def test_a_pair_with_one_local_side_is_not_in_a_batch(asking: Asking, remote: None) -> None:
    mirrored = JudgedPair(KEPT.newer, KEPT.older)
    kept, said, other = asking.compare(KEPT, OPEN, mirrored)
    assert (kept.answer, kept.reasoning, kept.model, kept.calls) == (
        "unusable",
        LOCAL_ONLY,
        None,
        None,
    )
    assert (said.answer, said.calls, said.remote) == ("same", 1, True)
    assert other.reasoning == LOCAL_ONLY
    assert "diabetes" not in str(asking.server.requests)


def test_it_is_neither_reviewed_nor_composed(asking: Asking, remote: None) -> None:
    assert asking.review(KEPT)[0].reasoning == LOCAL_ONLY
    composed = asking.compose(KEPT.newer, KEPT.older)
    assert (composed.text, composed.verdict.reasoning) == (None, LOCAL_ONLY)
    assert asking.server.calls == 0


def test_what_a_local_judge_answered_is_known_to_a_remote_one(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    [asked] = asking.compare(KEPT)
    assert (asked.answer, asked.remote) == ("same", False)
    monkeypatch.setattr("palimpsest.streams.judge.service.is_remote", lambda _: True)
    [known] = asking.compare(KEPT)
    assert (known.answer, known.calls) == ("same", 0)
    assert asking.server.calls == 1


@pytest.mark.parametrize("local", [False, True])
def test_a_function_counts_as_remote_unless_it_says_otherwise(local: bool) -> None:
    def alike(_older: str, _newer: str) -> str:
        return "same"

    if local:
        alike.local = True  # type: ignore[attr-defined]
    judge = OwnJudge(alike, contract.Judge(ask="same"))
    kept, said = asyncio.run(judge.compare([KEPT, OPEN]))
    assert said.answer == "same"
    assert kept.reasoning == (None if local else LOCAL_ONLY)


def test_a_redirection_leads_nowhere(asking: Asking) -> None:
    with JudgeServer() as elsewhere:
        asking.server.always = Fault(307, headers={"location": f"{elsewhere.url}/v1/messages"})
        with pytest.raises(UsageError, match=r"redirects \(status 307\).*`base_url`"):
            asking.compare(OPEN)
        assert elsewhere.calls == 0
        asking.server.always = None
        assert asking.answers(OPEN) == ["same"], "nothing was cached"


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("http://localhost:11434/v1", False),
        ("http://127.0.0.1", False),
        ("http://[::1]:8080", False),
        ("https://192.168.3.4/v1", False),
        ("http://10.1.2.3:8000", False),
        ("http://172.31.0.1", False),
        ("http://[fd00::1]", False),
        ("http://[fe80::1]", False),
        ("http://[::ffff:192.168.0.1]", False),
        ("http://172.32.0.1", True),
        ("http://100.64.0.1", True),
        ("http://8.8.8.8", True),
        ("http://[::ffff:8.8.8.8]", True),
        ("http://2130706433", True),
        ("http://ollama:11434", True),
        ("http://localhost.example.com", True),
        ("http://127.0.0.1.example.com", True),
        ("http://localhost@example.com", True),
        ("https://api.anthropic.com", True),
        ("", True),
    ],
)
def test_what_is_local_is_written_in_the_address(
    monkeypatch: pytest.MonkeyPatch, url: str, remote: bool
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert is_remote(url) is remote


def test_a_proxy_makes_an_address_remote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    for name in ("http_proxy", "ALL_PROXY"):
        with monkeypatch.context() as patched:
            patched.setenv(name, "http://proxy.example.com")
            assert is_remote("http://192.168.1.2")
            patched.setenv("no_proxy", "192.168.1.2")
            assert not is_remote("http://192.168.1.2")


# -- batch runs, reviews, conversations, and the view --------------------------------------------


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Palimpsest]:
    monkeypatch.setattr(api, "load_engine", load_stub)
    rules = STANDARD.dedupe or contract.TokenDedupe(rule="tokens")
    with Palimpsest.open(tmp_path / "store", policy=asks_all(dedupe=rules)) as opened:
        yield opened


def test_batch_runs_and_reviews_send_none_and_the_view_says_what_was_sent(
    memories: Palimpsest, recorder: Recorder
) -> None:
    settings = settings_of(recorder)
    memories.submit([row("Rome"), row("Oslo"), row(f"{SECRET.decode()}", category="health")])
    told = memories.ask_judge(judge=settings)
    assert told["left"] == {LOCAL_ONLY: 1}
    memories.dedupe(judge=settings, force=True)
    memories.review(judge=settings)
    assert SECRET not in recorder.sent
    [sent, *_] = memories.sql("FROM sent_out ORDER BY position")
    assert (sent["owner_id"], sent["protocol"], sent["remote"]) == ("ada", "anthropic", True)
    assert sent["model"] == "claude-haiku-5-5"
    assert {sent["candidate_id"], sent["neighbour_id"]} == {
        candidate_id("ada", "test", name) for name in ("Rome", "Oslo")
    }


def test_no_conversation_of_a_local_owner_is_extracted(
    memories: Palimpsest, recorder: Recorder
) -> None:
    said = [{"role": "user", "content": f"My {SECRET.decode()} is safe."}]
    with pytest.raises(UsageError, match="local_only"):
        memories.add(said, "zoe", judge=settings_of(recorder))
    with pytest.raises(UsageError, match="local_only"):
        memories.add(said, "ada", namespace="private", judge=settings_of(recorder))
    assert recorder.sent == b""
    memories.add(said, "ada", session_id="private", judge=settings_of(recorder))
    assert SECRET in recorder.sent


def test_no_conversation_is_extracted_if_the_namespace_of_all_others_is_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    monkeypatch.setattr(api, "load_engine", load_stub)
    said = [{"role": "user", "content": f"My {SECRET.decode()} is safe."}]
    local = asks_all(local_only=(DEFAULT_NAMESPACE,))
    with Palimpsest.open(tmp_path / "store", policy=local) as memories:
        with pytest.raises(UsageError, match="local_only"):
            memories.add(said, "ada", judge=settings_of(recorder))
        assert recorder.sent == b""
        memories.add(said, "ada", namespace="open", judge=settings_of(recorder))
    assert SECRET in recorder.sent
