"""What was said before, of whom, and by whose text: where one word leaves room for another."""

from __future__ import annotations

from uuid import uuid4

import pytest
from msgspec import structs

from palimpsest.contracts.commands import Admit, Operation, Separate, SetNames
from palimpsest.contracts.events import NamesSet, Refused, Reinstated, Settled, Speaker
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requests import ReinstateRequest
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.expand import reinstate_commands
from palimpsest.streams.guard.names import called_alike
from tests.streams.core.spec import (
    ASK,
    KEEP,
    PLAIN,
    TAKE,
    History,
    Step,
    combine,
    for_request,
    given,
    judge,
    merge,
    policy,
    redecide,
    reinstate,
    replayed,
    say,
    separate,
    separated,
    unmerge,
    update,
    withdraw,
)

THREE = (say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"a": KEEP}))


def test_a_refusal_names_each_pair_once() -> None:
    """Also one that is apart both by its own reversal and by the request."""
    request = str(uuid4())
    history = given(
        *THREE, for_request(request, unmerge("c")), for_request(request, unmerge("b"))
    ).do(say("x", "Milk", {"a": KEEP}))
    history.when(merge("x", "c")).then("refused separated")
    assert history.detail().count(", through ") == 1


def test_a_refusal_names_every_pair_that_stands_in_the_way() -> None:
    """Each has to be withdrawn before the merge can be made."""
    history = given(*THREE, say("x", "Milk"), separate("x", "b"), separate("x", "c"))
    history.when(merge("x", "a")).then("refused separated")
    for name in "bc":
        assert history.id(name) in history.detail()


def test_a_refused_word_names_both_of_whom_it_was_said() -> None:
    history = given(say("a", "Tea")).when(merge("a", "b"))
    (event,) = history.new
    assert isinstance(event, Refused)
    assert (event.data.a, event.data.b) == (history.id("a"), history.id("b"))


def test_what_keeps_a_separated_pair_waits_for_the_better_neighbour() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Milk"),
        say("c", "Chai", {"a": ASK, "b": 0.75}),
        separate("b", "c"),
    )
    history.when(judge("c", b="different")).then("refused pending")


@pytest.mark.parametrize("search", ["candidates", "memories"])
@pytest.mark.parametrize("rank", ["person", "agent"])
def test_who_speaks_for_both_by_now_differs_from_the_other_and_not_from_itself(
    search: str, rank: Speaker
) -> None:
    """The judge was asked before the two became one, and does not say whose text it read."""
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": ASK}),
        update("a", "b2", "Chai", merges=True, rank=rank),
        policy=policy(search=search),
    )
    assert history.memory("a").face.text == "Chai"
    history.do(judge("b", a="different"))
    [said] = history.ledger.entries[history.id("b")].answers.values()
    assert [one.speaker for one in said] == [history.id("a")]
    assert separated(history, "b", "b") is None


def test_a_memory_taken_apart_is_a_later_word_than_a_merge_in_it() -> None:
    request = str(uuid4())
    history = given(
        *THREE,
        merge("b", "c"),
        for_request(request, unmerge("c", "b")),
        for_request(request, unmerge("c", "a")),
        for_request(request, unmerge("b", "a")),
    )
    assert separated(history, "b", "c")


def test_who_is_put_back_is_apart_from_nobody_whom_the_request_alone_had_named() -> None:
    request = str(uuid4())
    history = given(*THREE, for_request(request, unmerge("c")), for_request(request, unmerge("b")))
    assert separated(history, "b", "c")
    history.do(reinstate("b"))
    assert separated(history, "b", "c") is None


def test_all_that_stood_behind_a_face_brings_it_back() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": ASK}),
        judge("b", a="same"),
        say("c", "Mate", {"a": ASK}),
        judge("c", a="same"),
        say("d", "Milk", {"a": TAKE}),
    ).shows({"Milk": "a b c d"})
    history.when(say("e", "Chai")).shows({"Tea": "a b c d e"})


def test_a_composed_text_has_displaced_what_either_part_had() -> None:
    history = given(
        say("a", "Tea"),
        say("x", "Milk"),
        say("y", "Cream", {"x": TAKE}),
        combine("a", "y", "llm_merge", text="Tea with cream", sources="a y"),
    ).shows({"Tea with cream": "a x y"})
    history.when(say("z", "Milk")).shows({"Milk": "a x y z"})


def test_of_sources_at_one_moment_the_later_arrival_speaks() -> None:
    then = "2025-03-01T12:00:00+00:00"
    history = given(
        say("a", "Likes tea", occurred_at=then),
        say("b", "Likes it green", {"a": ASK}, occurred_at=then),
        judge("b", a="compose", text="Likes green tea", sources="a b"),
    )
    (memory,) = history.ledger.memories()
    assert history.name(memory.face.speaker.id) == "b"


def test_an_answer_about_who_spoke_leaves_the_next_speaker_to_be_asked_about() -> None:
    history = given(
        say("a", "Tea"),
        say("d", "Chai", {"a": TAKE}),
        say("c", "Mate", {"a": ASK}),
        judge("c", a="unusable"),
        policy=policy(search="memories"),
    ).then("c llm_keep")
    history.do(unmerge("d"))
    history.when(judge("c", a="same")).then("c llm_reject a")


def test_a_question_that_was_closed_is_closed_again_by_the_reinstatement() -> None:
    request = str(uuid4())
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": KEEP}),
        say("x", "Mate", {"b": ASK}),
        judge("x", b="unavailable"),
        for_request(request, unmerge("b")),
        for_request(request, redecide("x", "pending", after="b", asks="a")),
    )
    assert history.ledger.entries[history.id("x")].pending
    again = ReinstateRequest(request_id=str(uuid4()), decision_id=history.join("b").id)
    for command in reinstate_commands(history.ledger, again, PLAIN):
        history.carry_out(command)
    assert not history.ledger.entries[history.id("x")].pending
    (back,) = history.new
    assert isinstance(back, Reinstated)
    assert back.data.cause == again.request_id


def test_a_refusal_names_the_joins_that_stand_not_one_that_was_taken_out() -> None:
    history = given(say("a", "Tea"), say("b", "Milk"), say("c", "Water"), merge("a", "c"))
    gone = history.join("c", "a").id
    history.do(withdraw("a", "c"), merge("a", "b"), merge("b", "c"))
    history.when(separate("a", "c")).then("refused one_memory")
    assert history.join("b", "a").id in history.detail()
    assert gone not in history.detail()


NEAR: tuple[Step, ...] = (
    say("a", "Tea"),
    say("b", "Chai", {"a": TAKE}),
    say("c", "Milk"),
    say("d", "Cream", {"c": TAKE}),
)


def spoke(history: History, step: Step) -> dict[str, str]:
    """Who spoke for whom a step's event looked at, by name, as projections hear of it."""
    before = replayed(history)
    history.when(step)
    touched = evolve(before, history.new[0])
    return {history.name(one): history.name(who.speaker) for one, who in touched.compared.items()}


@pytest.mark.parametrize(
    ("sees", "expected"),
    [
        ({"a": 0.5, "c": 0.4}, {"a": "b"}),
        ({"c": 0.5, "a": 0.4}, {"c": "d"}),
        ({"a": ASK, "c": 0.75}, {"a": "b", "c": "d"}),
        ({"c": ASK, "a": 0.4}, {"c": "d"}),
        ({"a": KEEP, "c": ASK}, {"a": "b"}),
        ({"b": 0.5}, {}),
    ],
)
def test_of_the_neighbours_the_nearest_and_those_asked_about_are_shown_as_they_spoke(
    sees: dict[str, float], expected: dict[str, str]
) -> None:
    assert spoke(given(*NEAR), say("e", "Mate", sees)) == expected


def test_a_verdict_is_shown_with_whom_it_names() -> None:
    history = given(*NEAR, say("e", "Mate", {"a": ASK}))
    assert spoke(history, judge("e", speaker="b", a="different")) == {"a": "b"}


@pytest.mark.parametrize(
    ("search", "expected"),
    [("candidates", {"a": "a", "c": "c"}), ("memories", {"a": "b", "c": "d"})],
)
def test_a_verdict_that_names_nobody_is_about_whom_a_search_compares(
    search: str, expected: dict[str, str]
) -> None:
    history = given(*NEAR, say("e", "Mate", {"a": ASK, "c": 0.75}), policy=policy(search=search))
    assert spoke(history, judge("e", a="different", c="same")) == expected


def test_a_verdict_of_an_older_log_names_nobody_and_is_shown_all_the_same() -> None:
    history = given(*NEAR, say("e", "Mate", {"a": ASK}))
    before = replayed(history)
    (event,) = history.when(judge("e", a="different")).new
    assert isinstance(event, Settled)
    said = tuple(structs.replace(verdict, speaker=None) for verdict in event.data.evidence.verdicts)
    evidence = structs.replace(event.data.evidence, verdicts=said)
    older = structs.replace(event, data=structs.replace(event.data, evidence=evidence))
    found = evolve(before, older).compared
    assert {one: who.speaker for one, who in found.items()} == {history.id("a"): history.id("b")}


@pytest.mark.parametrize("compares", [False, True])
def test_only_a_separation_with_a_verdict_compared_what_was_composed(compares: bool) -> None:
    composed = (say("x", "Oat", {"d": ASK}), judge("x", d="compose", text="Oats", sources="c x"))
    history = given(*NEAR, *composed)

    def apart(history: History) -> Admit | Operation:
        command = separate("a", "x")(history)
        assert isinstance(command, Separate)
        verdict = Verdict(neighbour_id=history.id("a"), answer="different")
        return command.model_copy(update={"verdicts": (verdict,) if compares else None})

    assert spoke(history, apart) == ({"x": "x"} if compares else {})


def test_names_recorded_before_they_were_kept_in_nfc_match_their_texts() -> None:
    """The angstrom sign is a letter of its own that NFC turns into Å."""
    names = ("\u212bsa", "I")
    history = given(
        lambda history: SetNames.model_construct(
            command_id=history.fresh(), owner_id=history.owner_id, names=names
        )
    )
    assert [event.data.names for event in history.log if isinstance(event, NamesSet)] == [names]
    for ledger in (history.ledger, replayed(history)):
        assert called_alike("\u212bsa lives in Oslo", ledger.names) == "\u00c5sa lives in Oslo"
        assert called_alike("\u00c5sa lives in Oslo", ledger.names) == "\u00c5sa lives in Oslo"
