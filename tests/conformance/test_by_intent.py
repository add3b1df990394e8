"""What an owner's agent wants, on both runtimes (docs/intent.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from palimpsest import Palimpsest
from palimpsest.api import store as facade
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AnyEvent, Decided
from palimpsest.contracts.requests import (
    AnyRequest,
    ForgetRequest,
    MergeRequest,
    PolicyRequest,
    ReinstateRequest,
    RestoreRequest,
    RetractRequest,
    Selection,
    SeparateRequest,
    SetExpiryRequest,
    SetNamesRequest,
    UndoRequest,
    UnmergeRequest,
    UpdateRequest,
)
from palimpsest.streams.policies import load_policy
from tests.conformance.runtime import Runtime
from tests.conformance.test_conformance import BESIDE, FIRST, folded, fresh, of
from tests.stub_engine import load_stub

GOOGLE, META, APPLE = (f"Ada works at {name}" for name in ("Google", "Meta", "Apple"))
KENT = ("I moved to Kent.", "Ada moved to Kent.", "Bob moved to Kent.")
BRIDGE, RIVER = "the bridge is closed", "no way over this river"


class Agent:
    """One owner's memories, through a runtime's doors."""

    def __init__(self, runtime: Runtime, owner_id: str) -> None:
        self._runtime = runtime
        self.owner_id = owner_id
        self._said = 0

    def offer(self, *texts: str, **fields: Any) -> list[Any]:
        """Candidates, each new; what became of them."""
        rows = []
        for text in texts:
            self._said += 1
            row = {"owner_id": self.owner_id, "text": text, "id": str(self._said), "source": "test"}
            rows.append(orjson.dumps(row | fields))
        return self._runtime.submit(rows)

    def say(self, *texts: str, **fields: Any) -> list[str]:
        """The ids of candidates."""
        return [str(one["candidate_id"]) for one in self.offer(*texts, **fields)]

    def ask(self, kind: type[Any], **said: Any) -> Any:
        """Make a request; its answer."""
        return self._runtime.ask(kind(request_id=fresh(), **said))

    def dry_run(self, kind: type[Any], **said: Any) -> Any:
        """What a request would do; nothing is written."""
        before = self._runtime.log()
        request: AnyRequest = kind(request_id=fresh(), **said)
        answer = self._runtime.dry_run(request)
        assert self._runtime.log() == before
        return answer

    def refused(self, kind: type[Any], **said: Any) -> str:
        """Why a request is refused."""
        with pytest.raises(RefusedError) as refused:
            self.ask(kind, **said)
        return refused.value.reason

    def update(self, memory: str, text: str, **said: Any) -> Any:
        return self.ask(UpdateRequest, memory_id=memory, text=text, **said)

    def jobs(self) -> tuple[str, Any, Any]:
        """Google, changed to Meta, changed to Apple."""
        [google] = self.say(GOOGLE)
        return google, self.update(google, META), self.update(google, APPLE)

    def events(self) -> list[AnyEvent]:
        """What the log has about the owner."""
        return of(self.owner_id, self._runtime)

    def faces(self) -> dict[str, int]:
        """The living memories, as both the log and the read side have them."""
        shown = self._runtime.memories(self.owner_id)
        assert shown == folded(self._runtime, self.owner_id)
        return {one["face"]: one["members"] for one in shown}

    @contextmanager
    def reading(self) -> Iterator[Palimpsest]:
        """A store of the read side."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(facade, "load_engine", load_stub)
            with Palimpsest.open(self._runtime.read_side(), create=False, by="person") as store:
                yield store


@pytest.fixture
def ada(shared: Runtime, name: str) -> Agent:
    """An owner who has said nothing yet."""
    return Agent(shared, name)


def test_an_update_to_a_text_that_lives_elsewhere_is_a_merge_that_is_shown_first(
    ada: Agent,
) -> None:
    google, bridge = ada.say(GOOGLE, BRIDGE)
    said = {"memory_id": google, "text": BRIDGE}
    assert ada.refused(UpdateRequest, **said) == "lives_elsewhere"
    [shown] = ada.dry_run(UpdateRequest, **said, merge=True)["memories"]
    assert (shown["face"], len(shown["members"])) == (BRIDGE, 2)
    merged = ada.ask(UpdateRequest, **said, merge=True)
    assert merged["merged"] == bridge
    assert ada.faces() == {BRIDGE: 2}
    ada.ask(UndoRequest, decision_id=merged["decision_id"])
    assert ada.faces() == {GOOGLE: 1, BRIDGE: 1}
    [river] = ada.say(RIVER)
    ada.ask(SeparateRequest, a=google, b=river)
    said = {"memory_id": google, "text": RIVER}
    assert ada.refused(UpdateRequest, **said, merge=True) == "separated"


def test_what_joined_an_update_leaves_with_it_and_stays_former(ada: Agent) -> None:
    google, meta, _ = ada.jobs()
    ada.say(META)
    rest = meta["candidate_id"]  # the memory of what joined it keeps its name
    undo = {"decision_id": meta["decision_id"]}
    foreseen = ada.dry_run(UndoRequest, **undo)
    undone = ada.ask(UndoRequest, **undo)
    assert foreseen["former"] == undone["former"] == [rest]
    assert ada.faces() == {APPLE: 2, META: 1}
    with ada.reading() as store:
        found = [memory["memory_id"] for memory in store.list(ada.owner_id)["memories"]]
        every = [
            memory["memory_id"] for memory in store.list(ada.owner_id, former=True)["memories"]
        ]
        recalled = store.recall(ada.owner_id, META)
        also = store.recall(ada.owner_id, META, former=True)
        separated = store.sql(
            "SELECT 1 FROM events WHERE owner_id = ? AND event = 'separated'", [ada.owner_id]
        )
    assert (found, sorted(every)) == ([google], sorted([google, rest]))
    assert [one["face"] for one in recalled] == [APPLE]
    assert {one["face"] for one in also} == {APPLE, META}
    assert separated == [], "nobody said that they differ"


def test_retracting_an_updates_candidate_undoes_it_and_restoring_does_it_again(ada: Agent) -> None:
    _, _, apple = ada.jobs()
    candidate = Selection(candidate_id=apple["candidate_id"])
    ada.ask(RetractRequest, selection=candidate)
    assert ada.faces() == {META: 2}
    assert [type(event).__name__ for event in ada.events()[-2:]] == ["Retracted", "Reversed"]
    ada.ask(RestoreRequest, selection=candidate)
    assert ada.faces() == {APPLE: 3}
    assert [type(event).__name__ for event in ada.events()[-2:]] == ["Reinstated", "Restored"]


def test_an_agent_ranks_under_persons(ada: Agent) -> None:
    google, meta, apple = ada.jobs()
    agent = {"rank": "agent"}
    last = {"decision_id": apple["decision_id"]}
    assert ada.refused(UpdateRequest, memory_id=google, text=META, **agent) == "outranked"
    assert ada.refused(UndoRequest, **last, **agent) == "outranked"
    bridge, river = ada.say(BRIDGE, RIVER)
    joined = {"decision_id": ada.ask(MergeRequest, a=bridge, b=river)["decision_id"]}
    assert ada.refused(UnmergeRequest, **joined, **agent) == "outranked"
    ada.ask(UnmergeRequest, **joined)
    assert ada.refused(ReinstateRequest, **joined, **agent) == "separated"
    own = ada.update(google, "Ada works at home", **agent)
    assert ada.faces() == {"Ada works at home": 4, BRIDGE: 1, RIVER: 1}
    ada.ask(UndoRequest, decision_id=own["decision_id"], **agent)
    assert ada.faces() == {APPLE: 3, BRIDGE: 1, RIVER: 1}
    assert meta["candidate_id"] != apple["candidate_id"]


def test_who_forgets_says_what_becomes_of_it_when_it_comes_again(ada: Agent) -> None:
    bridge, river = ada.say(BRIDGE, RIVER)
    gone = ada.ask(ForgetRequest, memory_ids=(bridge,), rank="agent")
    assert gone["again"] == "allow"
    [before] = ada.offer(BRIDGE, occurred_at="2020-01-01T00:00:00Z")
    [since] = ada.offer(BRIDGE)
    assert [before["decision"], since["decision"]] == ["forgotten", "stored"]
    ada.update(river, "the river is dry")
    assert ada.ask(ForgetRequest, memory_ids=(river,))["again"] == "ask"
    outcomes = ada.offer(RIVER, "THE RIVER is dry")
    assert [outcome["decision"] for outcome in outcomes] == ["pending"] * 2, "every wording of it"
    assert ada.faces() == {BRIDGE: 1}


def test_a_plan_is_of_memories_and_lists_what_waits_for_them(ada: Agent) -> None:
    google, bridge = ada.say(GOOGLE, BRIDGE)
    cats = ada.say(FIRST)[0]
    with ada.reading() as store:
        plan = store.find(ada.owner_id, "bridge", by=("words",))
        near = store.find(ada.owner_id, "bridges", by=("words",))
    assert [(hit["memory_id"], hit["why"]) for hit in plan["hits"]] == [(bridge, "word")]
    assert near["hits"] == [], "words match whole"
    ada.update(google, META)  # the log goes on, and the plan's memory is as it was
    planned = {"memory_ids": (bridge,), "expect": plan["token"]}
    shown = ada.dry_run(ForgetRequest, **planned)
    assert (shown["candidates"], shown["waits"]) == ([bridge], [])
    ada.update(bridge, RIVER)
    assert ada.refused(ForgetRequest, **planned) == "moved_on"
    [waiting] = ada.offer(BESIDE.replace("two", "three"))
    assert waiting["decision"] == "pending"
    asked = ada.dry_run(ForgetRequest, memory_ids=(cats,))
    assert [one["candidate_id"] for one in asked["waits"]] == [waiting["candidate_id"]]


def test_restoring_is_exact_and_a_twin_joins_in_the_same_command(ada: Agent) -> None:
    bridge, river, google = ada.say(BRIDGE, RIVER, GOOGLE)
    joined = ada.ask(MergeRequest, a=bridge, b=river)["decision_id"]
    memories = (bridge, google)
    gone = ada.ask(ForgetRequest, memory_ids=memories, again="allow")["forgotten"]
    assert ada.faces() == {}
    ada.ask(UnmergeRequest, decision_id=joined)
    twin, other = ada.say(RIVER, GOOGLE)
    ada.ask(SeparateRequest, a=other, b=google)
    count = len(ada.events())
    back = ada.ask(RestoreRequest, forgotten=gone)
    assert sorted(back["restored"]) == sorted([bridge, river])
    assert [(one["decision_id"], one["reason"]) for one in back["refused"]] == [
        (google, "separated")
    ]
    kinds = [type(event).__name__ for event in ada.events()[count:]]
    assert sorted(kinds) == ["Joined", "Refused", "Restored", "Restored"], "in one command"
    assert ada.faces() == {BRIDGE: 1, RIVER: 2, GOOGLE: 1}, "no join comes back"
    with ada.reading() as store:
        assert store.get(twin)["memory_id"] == store.get(river)["memory_id"]
        told = store.history(bridge)
    assert [event["event"] for event in told["events"]].count("retracted") >= 1
    assert told["memory_id"] == bridge


def test_a_memory_is_recalled_by_what_is_asked_for_and_as_it_was(ada: Agent) -> None:
    google = ada.say(
        GOOGLE, category="work", metadata={"k": 1}, occurred_at="2024-05-01T00:00:00Z"
    )[0]
    first = ada.events()[-1]
    ada.say(BRIDGE, category="town")
    meta = ada.update(google, META)
    with ada.reading() as store:

        def faces(**asked: Any) -> list[str]:
            return [one["face"] for one in store.recall(ada.owner_id, "Ada works", **asked)]

        assert sorted(faces()) == sorted([META, BRIDGE])
        assert faces(category="work") == faces(metadata={"k": 1}) == [META]
        assert faces(until=first.time.replace(year=2025)) == [META]
        assert faces(namespace="other") == faces(category="none") == []
        assert faces(as_of=first.time) == [GOOGLE], "by when it was decided, not when it happened"
        then = store.history(google)["events"][0]
        assert faces(as_of=then["position"]) == [GOOGLE]
        assert then["decided_at"] > "2026"
        [hit] = store.recall(ada.owner_id, "Ada works", category="work", former=True)
        relations = {
            member["text"]: (member["relation"], member["source"]) for member in hit["members"]
        }
        assert relations == {META: ("same", "update"), GOOGLE: ("former", "test")}
        moved = store.get(meta["candidate_id"])
        assert (moved["memory_id"], moved["moved"]) == (google, True)


def test_what_has_expired_is_passed_over_and_a_pin_brings_it_back(ada: Agent) -> None:
    past = {"expires_at": "2020-01-01T00:00:00Z"}
    bridge, again = (*ada.say(BRIDGE, **past), *ada.say(BRIDGE))
    ada.say(BRIDGE)
    decided = [event.data for event in ada.events() if isinstance(event, Decided)]
    joined = [(one.decision, one.join.to if one.join else None) for one in decided]
    assert joined == [("stored", None), ("stored", None), ("hash_exact", again)]
    assert ada.refused(SetExpiryRequest, candidate_id=bridge) == "same_text"
    river = ada.say(RIVER, **past)[0]
    with ada.reading() as store:
        assert [one["face"] for one in store.list(ada.owner_id)["memories"]] == [BRIDGE]
        assert store.list(ada.owner_id, show_expired=True)["total"] == 3
    pinned = ada.ask(SetExpiryRequest, candidate_id=river)
    assert pinned["expires_at"] is None
    ada.say(RIVER)
    last = ada.events()[-1]
    assert isinstance(last, Decided)
    assert (last.data.decision, last.data.join and last.data.join.to) == ("hash_exact", river)
    with ada.reading() as store:
        faces = [one["face"] for one in store.list(ada.owner_id)["memories"]]
        assert faces == [RIVER, BRIDGE]
    assert ada.refused(SetExpiryRequest, candidate_id=river, rank="agent") == "unchanged"


def test_by_its_names_an_owner_is_one_subject_from_then_on(ada: Agent) -> None:
    names = ("Ada", "the user", "I")
    texts = ("Ada lives in Rome.", "I live in Rome.", "The user lives in Rome.")
    ada.say(*texts)
    owner = {"owner_id": ada.owner_id}
    assert ada.ask(SetNamesRequest, **owner, names=names) == {**owner, "names": [*names]}
    assert ada.refused(SetNamesRequest, **owner, names=names) == "unchanged"
    assert len(ada.faces()) == 3
    again = ada.say(*KENT)
    join = ada.events()[-2]
    assert isinstance(join, Decided)
    assert (join.data.decision, join.data.join and join.data.join.to) == ("auto_reject", again[0])
    assert ada.faces()[KENT[0]] == 2
    ada.ask(UnmergeRequest, decision_id=join.id)
    assert ada.faces() == dict.fromkeys((*texts, *KENT), 1)
    ada.ask(SetNamesRequest, **owner, names=())
    ada.say("The user moved to Kent.")
    assert len(ada.faces()) == 7
    with ada.reading() as store:
        assert store.names(ada.owner_id)["names"] == []


def test_an_update_keeps_what_was_said_beside_the_text(ada: Agent) -> None:
    beside: dict[str, Any] = {
        "category": "work",
        "kind": "perception",
        "confidence": 0.9,
        "importance": 0.8,
        "intensity": 0.7,
        "topics": ("jobs", "towns"),
        "metadata": {"k": 1},
    }
    google = ada.say(GOOGLE, **beside)[0]
    ada.update(google, META)
    updated = ada.events()[-1]
    assert isinstance(updated, Decided)
    assert {name: getattr(updated.data.candidate, name) for name in beside} == beside
    ada.update(google, APPLE, metadata={})
    cleared = ada.events()[-1]
    assert isinstance(cleared, Decided)
    assert cleared.data.candidate.metadata == {}, "empty is said, too"


def test_what_nothing_tells_apart_is_folded_and_the_log_gets_nothing(runtime: Runtime) -> None:
    ann = Agent(runtime, "ann")
    rules = load_policy("standard").model_dump(mode="json")
    ann.ask(PolicyRequest, policy=rules | {"enabled": False})
    cats, beside, three = ann.say(FIRST, BESIDE, FIRST.replace("two", "three"))
    ann.ask(PolicyRequest, policy=rules)
    before = runtime.log()
    with ann.reading() as store:
        found = store.recall("ann", FIRST, k=2)
        apart = store.recall("ann", FIRST, fold=False)
    assert [(one["memory_id"], one["folded"]) for one in found] == [(cats, [beside]), (three, [])]
    assert len(apart) == 3
    assert runtime.log() == before
