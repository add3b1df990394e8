"""What a command says is what its events say: who, why, of what rank, for whom, on what basis."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec import structs

from palimpsest.contracts.commands import (
    Admit,
    Combine,
    Compact,
    Embed,
    Operation,
    RecordRun,
    Settle,
)
from palimpsest.contracts.events import AnyEvent, Refused, Use
from palimpsest.contracts.evidence import Evidence, Neighbour, Verdict
from tests.streams.core.spec import (
    ASK,
    BEGIN,
    KEEP,
    PLAIN,
    History,
    Step,
    access,
    combine,
    compose,
    confirm,
    end_session,
    forget,
    given,
    judge,
    merge,
    redecide,
    reinstate,
    restore,
    retract,
    say,
    separate,
    undo,
    unmerge,
    update,
    vector,
    withdraw,
)
from tests.tables import each

ANOTHER = str(UUID(int=7))
SAID = {"actor": "eve", "because": "they differ"}
VERDICTS = (Verdict(neighbour_id="one", answer="same", speaker="one", reasoning="alike"),)
APART: tuple[Step, ...] = (say("a", "Tea"), say("b", "Chai"))
JOINED: tuple[Step, ...] = (say("a", "Tea"), say("b", "Chai", {"a": KEEP}))
UPDATED: tuple[Step, ...] = (say("a", "Tea"), update("a", "u", "Chai"))
COMPOSED: tuple[Step, ...] = (
    say("a", "Likes tea"),
    say("b", "Likes it green", {"a": ASK}),
    judge("b", a="compose", text="Likes green tea", sources="a b"),
    say("c", "Likes it hot", {"b": ASK}),
    judge("c", b="compose", text="Likes hot green tea", sources="a b c"),
    unmerge("b"),
)
SEEN = Evidence(
    policy=PLAIN.hash,
    check="dedupe",
    neighbours=(Neighbour(candidate_id="one", cosine=0.9),),
    verdicts=VERDICTS,
)


def saying(step: Step, **fields: object) -> Step:
    """The same command, with who says so and why, and more fields."""

    def said(history: History) -> Admit | Operation:
        command = step(history)
        assert not isinstance(command, Admit)
        return command.model_copy(update={**SAID, **fields})

    return said


def embedding(history: History) -> Operation:
    return Embed(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        candidate_id=history.id("a"),
        vector=vector(3.0),
    )


def unembedded(history: History) -> Admit:
    admit = say("a", "Tea")(history)
    assert isinstance(admit, Admit)
    content = structs.replace(admit.content, vector=None)
    return structs.replace(admit, content=content, down=("embedder",))


def compacting(history: History) -> Operation:
    return Compact(command_id=history.fresh(), owner_id=history.owner_id, session_id="s")


def running(history: History) -> Operation:
    return RecordRun(
        command_id=history.fresh(),
        owner_id=history.owner_id,
        step="consolidate",
        due=BEGIN + timedelta(hours=1),
        figures={"pairs": 3},
        session_id="s",
    )


COMMANDS: dict[str, tuple[tuple[Step, ...], Step, Mapping[str, object]]] = {
    "merge": (APART, merge("a", "b"), {}),
    "combine": (
        APART,
        combine("a", "b"),
        {"rank": "judge", "cause": "run", "evidence": SEEN},
    ),
    "separate": (
        APART,
        separate("a", "b"),
        {"rank": "review", "verdicts": VERDICTS, "similarity": 0.8},
    ),
    "unmerge": (JOINED, unmerge("b"), {"rank": "review", "verdicts": VERDICTS, "cause": "it"}),
    "unmerge, as a consequence": (
        JOINED,
        unmerge("b"),
        {"rank": "rule", "consequence_of": "another", "cause": "it"},
    ),
    "withdraw a merge": ((*APART, merge("a", "b")), withdraw("a", "b"), {}),
    "withdraw a separation": ((*APART, separate("a", "b")), withdraw("a", "b"), {}),
    "redecide": (
        (*JOINED, unmerge("b")),
        redecide("b", "pending", after="b", asks="a"),
        {"rank": "judge", "cause": "it"},
    ),
    "redecide, with a text": (
        (*APART, say("c", "Mate", {"a": KEEP}), unmerge("c")),
        redecide("c", "llm_merge", "b", after="c", face="text", text="Chai and mate"),
        {"rank": "judge", "cause": "it"},
    ),
    "reinstate": ((*JOINED, unmerge("b")), reinstate("b"), {"cause": "it"}),
    "reinstate an update": ((*UPDATED, undo("u")), reinstate("u"), {"cause": "it"}),
    "confirm": (JOINED, confirm("b"), {"rank": "review", "verdicts": VERDICTS}),
    "update": ((say("a", "Tea"),), update("a", "u", "Chai"), {"rank": "agent", "cause": "it"}),
    "update, which merges": (
        APART,
        update("a", "u", "Chai", merges=True),
        {"rank": "agent", "cause": "it"},
    ),
    "undo": (UPDATED, undo("u"), {"cause": "it"}),
    "forget": (JOINED, forget("b"), {"again": "ask", "earlier": "refuse", "cause": "it"}),
    "retract": ((say("a", "Tea"),), retract("a"), {}),
    "retract an update": (UPDATED, retract("u"), {}),
    "restore": ((say("a", "Tea"), retract("a")), restore("a"), {}),
    "restore an update": ((*UPDATED, retract("u")), restore("u"), {}),
    "restore what was forgotten": (
        (say("a", "Tea"), forget("a"), say("b", "Tea")),
        restore("a"),
        {},
    ),
    "settle": ((say("a", "Tea"), say("b", "Chai", {"a": ASK})), judge("b", a="same"), {}),
    "settle, keeping both": (
        (say("a", "Tea"), say("b", "Chai", {"a": ASK})),
        judge("b", a="different"),
        {"rank": "review"},
    ),
    "settle with a text": (
        (say("a", "Tea"), say("b", "Chai", {"a": ASK})),
        judge("b", a="compose", text="Tea and chai", sources="a b"),
        {"rank": "review"},
    ),
    "compose": (COMPOSED, compose("c", "Likes it hot and green", "b c"), {}),
    "access": ((say("a", "Tea"),), access("a"), {}),
    "access, gathered": (
        (say("a", "Tea"),),
        access("a"),
        {"others": (ANOTHER,)},
    ),
    "embed": ((unembedded,), embedding, {}),
    "end a session": ((say("a", "Tea", session_id="s"),), end_session("s"), {}),
    "compact": ((say("a", "Tea", session_id="s"),), compacting, {}),
    "record a run": ((say("a", "Tea"),), running, {}),
}
OF_THEIR_OWN = ("candidate", "content", "candidate_id")
"""What an event writes in another form than its command, or of another candidate."""
REFUSED: dict[str, tuple[tuple[Step, ...], Step, Mapping[str, object]]] = {
    "merge": (APART, merge("a", "x"), {}),
    "combine": (APART, combine("a", "x"), {"evidence": SEEN}),
    "separate": (APART, separate("a", "x"), {"verdicts": VERDICTS}),
    "withdraw": (APART, withdraw("a", "b"), {}),
    "unmerge": ((*JOINED, unmerge("b")), unmerge("b"), {"verdicts": VERDICTS}),
    "reinstate": (JOINED, reinstate("b"), {}),
    "redecide": (JOINED, redecide("b", "stored", after="b"), {}),
    "confirm": ((*JOINED, confirm("b")), confirm("b"), {"verdicts": VERDICTS}),
    "undo": (UPDATED, undo("u"), {"rank": "agent"}),
    "retract": (APART, retract("x"), {}),
    "restore": (APART, restore("a"), {}),
    "settle": (
        (say("a", "Tea"), say("b", "Chai", {"a": ASK}), separate("a", "b")),
        judge("b", a="compose", speaker="a", text="Tea and chai", sources="a b"),
        {"rank": "review"},
    ),
    "compose": (JOINED, compose("b", "Tea and chai", "a b"), {"verdicts": VERDICTS}),
    "access": (APART, access("x"), {}),
}


@each("name", COMMANDS)
def test_every_event_of_a_command_says_what_the_command_says(name: str) -> None:
    before, step, fields = COMMANDS[name]
    history = given(*before)
    if name == "access, gathered":
        fields = {**fields, "uses": (Use(candidate_id=history.id("a"), at=BEGIN, count=3),)}
    history.when(saying(step, **fields))
    for event in history.new:
        assert not isinstance(event, Refused)
        assert said_of(history, event) == asked_for(history, event)
    assert history.new


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_was_refused(name: str) -> None:
    before, step, fields = REFUSED[name]
    history = given(*before).when(saying(step, **fields))
    (event,) = history.new
    assert isinstance(event, Refused)
    command = history.last
    skipped = () if isinstance(command, Settle) else ("rank", "composition")
    asked = {one: said for one, said in asked_for(history, event).items() if one not in skipped}
    assert said_of(history, event) | asked == said_of(history, event)
    assert not isinstance(command, Admit)
    assert event.data.command == getattr(command, "command", None)
    assert event.data.candidate_id == getattr(command, "candidate_id", None)
    if isinstance(command, Combine):
        assert event.data.verdicts == command.evidence.verdicts


def test_a_refused_update_or_forgetting_names_the_memory_that_it_is_about() -> None:
    for step, memory in ((update("a", "u", "Tea"), "a"), (forget("x", "a"), "x")):
        history = given(*APART).when(saying(step))
        (event,) = history.new
        assert isinstance(event, Refused)
        assert event.data.candidate_id == history.id(memory)
        assert (event.data.actor, event.data.because) == (SAID["actor"], SAID["because"])


def asked_for(history: History, event: AnyEvent) -> dict[str, object]:
    """What the last command says that an event has a place for."""
    names = {field.name for field in structs.fields(type(event.data))} - {*OF_THEIR_OWN}
    found = {name: getattr(history.last, name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def said_of(history: History, event: AnyEvent) -> dict[str, object]:
    """The same as the event has it."""
    return {name: getattr(event.data, name) for name in asked_for(history, event)}
