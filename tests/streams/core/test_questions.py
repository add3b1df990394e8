"""What the judge is asked: the texts that are compared, and what a composed one is made of."""

from __future__ import annotations

import orjson
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from palimpsest.contracts.questions import QUESTION, AskedText, ComposeQuestion, SettleQuestion
from palimpsest.contracts.schema import documents
from palimpsest.streams.core.questions import compose_question, settle_question
from palimpsest.streams.judge.verifier import request_id
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    Step,
    compose,
    given,
    judge,
    merge,
    policy,
    redecide,
    restore,
    retract,
    say,
    separate,
    unmerge,
    withdraw,
)

TWO_ASKED: tuple[Step, ...] = (
    say("a", "Tea"),
    say("b", "Milk"),
    say("c", "Chai", {"a": 0.75, "b": ASK}),
)
COMPOSED: tuple[Step, ...] = (
    say("a", "Likes tea"),
    say("b", "Likes it green", {"a": ASK}),
    judge("b", a="compose", text="Likes green tea", sources="a b"),
)


def question(history: History, name: str) -> SettleQuestion | None:
    return settle_question(history.ledger, history.id(name), history.policy)


def asked(history: History, name: str) -> list[tuple[str, str]]:
    """Who is asked about, and which text of theirs."""
    found = question(history, name)
    return [(history.name(n.side.candidate_id), n.side.text) for n in found.asked] if found else []


def texts_of(texts: tuple[AskedText, ...]) -> list[str]:
    return [text.text for text in texts]


def test_it_names_the_candidate_and_its_gray_neighbours_best_first() -> None:
    history = given(*TWO_ASKED, policy=policy(unavailable="reject"))
    found = question(history, "c")
    assert found is not None
    assert (found.owner_id, found.subject, found.candidate.text) == ("ada", history.id("c"), "Chai")
    assert asked(history, "c") == [("b", "Milk"), ("a", "Tea")]
    assert (found.policy, found.rules) == (history.policy.hash, history.policy.judge)
    assert found.candidate.recorded_at > found.asked[0].side.recorded_at
    assert texts_of(found.asked[0].sources) == ["Milk"]


@pytest.mark.parametrize(
    "since",
    [
        (judge("c", b="same"),),
        (merge("b", "c"),),
        (retract("c"),),
        (separate("a", "c"), separate("b", "c")),
    ],
)
def test_there_is_nothing_to_ask(since: tuple[Step, ...]) -> None:
    history = given(*TWO_ASKED, *since)
    assert asked(history, "c") == []
    assert history.ledger.entries[history.id("c")].open == ()


def test_who_was_never_pending_or_never_came_is_not_asked_about() -> None:
    history = given(*TWO_ASKED)
    assert asked(history, "a") == asked(history, "nobody") == []


def test_a_neighbour_that_was_separated_since_is_left_out() -> None:
    assert asked(given(*TWO_ASKED, separate("b", "c")), "c") == [("a", "Tea")]


def test_what_is_restored_is_asked_about_again() -> None:
    assert len(asked(given(*TWO_ASKED, retract("c"), restore("c")), "c")) == 2


@pytest.mark.parametrize(("search", "text"), [("candidates", "Paris"), ("memories", "Berlin")])
def test_the_text_is_the_one_that_the_policy_searches(search: str, text: str) -> None:
    history = given(
        say("a", "Paris"),
        say("b", "Lutetia", {"a": ASK}),
        say("c", "Berlin", {"a": TAKE}),
        policy=policy(search=search),
    )
    assert asked(history, "b") == [("a", text)]


def test_a_composed_text_is_made_of_what_speaks_for_the_neighbour() -> None:
    history = given(
        say("a", "Paris"), say("b", "Berlin", {"a": TAKE}), say("c", "Rome", {"a": ASK})
    )
    found = question(history, "c")
    assert found is not None
    assert found.asked[0].side.text == "Paris"
    assert texts_of(found.asked[0].sources) == ["Berlin"]


def test_a_composed_text_is_made_of_all_sources_of_a_standing_one() -> None:
    history = given(*COMPOSED, say("c", "Likes it hot", {"b": ASK}))
    found = question(history, "c")
    assert found is not None
    assert texts_of(found.asked[0].sources) == ["Likes tea", "Likes it green"]


LOST: tuple[Step, ...] = (
    *COMPOSED,
    say("c", "Likes it hot", {"b": ASK}),
    judge("c", b="compose", text="Likes hot green tea", sources="a b c"),
    say("d", "Loves tea", {"a": KEEP}),
)


def recompose(history: History, name: str) -> ComposeQuestion | None:
    return compose_question(history.ledger, history.join(name).id, history.policy)


def test_a_join_that_lost_its_text_is_composed_of_what_is_left() -> None:
    history = given(*LOST)
    assert recompose(history, "c") is None
    history.when(retract("a")).shows({"Likes it hot*": "b c d"})
    found = recompose(history, "c")
    assert found is not None
    assert found.subject == history.join("c").id
    assert texts_of(found.sources) == ["Likes it green", "Likes it hot"]
    history.when(compose("c", "Likes it hot and green", "b c"))
    assert recompose(history, "c") is None


def test_a_text_that_is_lost_again_is_another_question() -> None:
    """An answer to the first came too late, and is refused: the second must not be taken for it."""
    history = given(*LOST, retract("a"))
    first, by = recompose(history, "c"), history.new[0].id
    again = recompose(history.when(restore("a")).when(retract("a")), "c")
    assert first is not None
    assert again is not None
    assert first.lost_by == by
    assert again.lost_by == history.new[0].id != by
    assert again.sources == first.sources
    history.when(say("e", "Adores tea", {"a": KEEP}))
    assert recompose(history, "c") == again, "what changes nothing of it asks nothing new"


def test_a_join_that_was_taken_out_is_not_composed() -> None:
    history = given(*LOST, retract("a"), unmerge("c"))
    assert recompose(history, "c") is None


@pytest.mark.parametrize("steps", [TWO_ASKED, (*LOST, retract("a"))])
def test_it_is_on_the_wire_as_its_schema_says(steps: tuple[Step, ...]) -> None:
    history = given(*steps)
    found = question(history, "c") or recompose(history, "c")
    assert found is not None
    line = found.model_dump_json().encode()
    assert QUESTION.validate_json(line) == found
    schema = Draft202012Validator(documents()["question.json"])
    assert schema.is_valid(orjson.loads(line))
    assert not schema.is_valid(orjson.loads(line) | {"question": "forget"})


def test_a_question_that_a_decision_made_anew_opens_is_another_one() -> None:
    """An answer to the first, which comes late, must not be taken for one to the second."""
    history = given(
        say("a", "Tea"), say("b", "Milk", {"a": TAKE}), say("c", "Chai", {"b": ASK}), unmerge("b")
    )
    first = question(history, "c")
    history.do(redecide("c", "pending", after="b", asks="b"))
    again = question(history, "c")
    assert first is not None
    assert again is not None
    assert again.asked == first.asked
    assert again.decision_id == history.new[0].id != first.decision_id
    assert request_id(again) != request_id(first)


# -- when it happened ------------------------------------------------------------------------------

LONG_AGO, LATER = "2021-05-01T00:00:00Z", "2023-05-01T00:00:00Z"


def years(texts: tuple[AskedText, ...]) -> list[tuple[str, int]]:
    return [(text.text, text.recorded_at.year) for text in texts]


def test_each_text_has_its_moment() -> None:
    history = given(
        say("a", "Lives in Rome"), say("b", "Lives in Bonn", {"a": ASK}, occurred_at=LONG_AGO)
    )
    found = question(history, "b")
    assert found is not None
    assert years((found.candidate, found.asked[0].side)) == [
        ("Lives in Bonn", 2021),
        ("Lives in Rome", 2026),
    ]


def test_a_face_has_the_moment_of_its_speaker() -> None:
    history = given(
        say("a", "Paris", occurred_at=LONG_AGO),
        say("b", "Berlin", {"a": TAKE}, occurred_at=LATER),
        say("c", "Rome", {"a": ASK}),
        policy=policy(search="memories"),
    )
    found = question(history, "c")
    assert found is not None
    assert years((found.asked[0].side,)) == [("Berlin", 2023)]


def test_sources_are_sent_oldest_first_by_their_moments() -> None:
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes it green", {"a": ASK}, occurred_at=LATER),
        judge("b", a="compose", text="Likes green tea", sources="a b"),
        say("c", "Likes it hot", {"b": ASK}, occurred_at=LONG_AGO),
        policy=policy(search="memories"),
    )
    found = question(history, "c")
    assert found is not None
    assert years(found.asked[0].sources) == [("Likes it green", 2023), ("Likes tea", 2026)]
    assert years((found.asked[0].side,)) == [("Likes green tea", 2026)], "its latest source's"
    history.do(judge("c", b="compose", text="Likes hot green tea", sources="a b c"))
    history.do(say("d", "Loves tea", {"a": KEEP}), retract("a"))
    anew = recompose(history, "c")
    assert anew is not None
    assert years(anew.sources) == [("Likes it hot", 2021), ("Likes it green", 2023)]


def test_who_is_retracted_is_not_asked_about_behind_a_better_neighbour() -> None:
    history = given(*TWO_ASKED, retract("a"))
    assert asked(history, "c") == [("b", "Milk")]
    assert asked(history.do(restore("a")), "c") == [("b", "Milk"), ("a", "Tea")]


def test_a_withdrawn_separation_asks_about_the_pair_again() -> None:
    history = given(*TWO_ASKED, separate("a", "c"))
    assert asked(history, "c") == [("b", "Milk")]
    assert asked(history.do(withdraw("a", "c")), "c") == [("b", "Milk"), ("a", "Tea")]


def test_a_withdrawn_merge_leaves_its_question_open() -> None:
    history = given(*TWO_ASKED)
    before = asked(history, "c")
    assert asked(history.do(merge("a", "c")), "c") != before
    assert asked(history.do(withdraw("a", "c")), "c") == before == [("b", "Milk"), ("a", "Tea")]


def test_a_pair_is_asked_about_again_when_a_source_of_the_text_that_was_compared_leaves() -> None:
    history = given(*COMPOSED, say("c", "Green tea", {"a": ASK}), policy=policy(search="memories"))
    assert asked(history, "c") == [("a", "Likes green tea")]
    assert asked(history.do(judge("c", a="different")), "c") == []
    assert asked(history.do(unmerge("b")), "c") == [("a", "Likes tea")]
