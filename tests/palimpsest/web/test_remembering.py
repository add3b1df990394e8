"""People's answers are restored from the log: those that still hold, for each person."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import SettleRequest
from palimpsest.projections.duckdb.activity import latest_statements
from palimpsest.web.board.answers import GivenAnswer, sides
from palimpsest.web.board.board import MOST_ANSWERS, MOST_WORDS, Person, ReviewBoard, _texts
from palimpsest.web.board.pictures import picture
from palimpsest.web.board.remembering import answers, by_name
from palimpsest.web.board.waiting import read_pairs
from palimpsest.web.sessions import WebSession
from tests.palimpsest.web.conftest import own_words, pair_texts, person, say


def asked(store: Palimpsest, number: int = 0) -> tuple[str, str]:
    """Create a pair that waits for an answer."""
    older, newer = say(store, *pair_texts(number))
    assert store.show_candidate(newer)["decision"] == "pending"
    return older, newer


def joined(store: Palimpsest) -> tuple[str, str, str]:
    """Create a pair joined by a rule; returns it with the decision."""
    said = own_words(9, 30)
    older, newer = say(store, said, f"{said}.")
    [join] = store.show_candidate(newer)["joins"]
    return older, newer, join["decision_id"]


def remembered(store: Palimpsest, name: str = "kim") -> list[GivenAnswer]:
    store.reader.refresh()
    statements = latest_statements(store.reader.projections, MOST_WORDS)
    return answers(store, by_name(statements).get(name, []))


def words(store: Palimpsest) -> list[tuple[str, str, str]]:
    return [(one.word, one.pair.candidate_id, one.pair.existing_id) for one in remembered(store)]


def test_each_side_shows_the_text_that_stood_for_it_beside_its_own(store: Palimpsest) -> None:
    older, newer = asked(store)
    store.reader.refresh()
    [waits] = read_pairs(store.reader.projections)
    pair = replace(waits, older_text="Tea and milk", newer_text="Tea and mate")
    found = sides(store, pair)
    assert found is not None
    seen = picture(store, pair, found)
    for side, compared, candidate_id in (
        ("older", "Tea and milk", older),
        ("newer", "Tea and mate", newer),
    ):
        assert "".join(piece.text for piece in seen[side]["pieces"]) == compared
        assert seen[side]["own_text"] == store.show_candidate(candidate_id)["text"]
    assert _texts(store, pair) == ("Tea and milk", "Tea and mate")
    as_itself = picture(store, waits, found)
    assert [as_itself[side]["own_text"] for side in ("older", "newer")] == [None, None]


def test_a_pair_has_what_its_question_saw(store: Palimpsest) -> None:
    said = own_words(0, 11)
    older, newer = say(store, f"{said} on floor 3", f"{said} on floor 4")
    evidence = store.show_candidate(newer)["evidence"]
    assert evidence is not None
    [near] = evidence["neighbours"]
    assert near["cues"] == ["number"]
    store.merge(older, newer, actor="kim", because="one floor")
    [answer] = remembered(store)
    assert (answer.word, answer.because) == ("same", "one floor")
    assert answer.pair.similarity == near["cosine"]
    assert answer.pair.cues == ("number",)
    assert answer.pair.decision_id == store.show_candidate(newer)["decision_id"]


def test_a_pair_that_nobody_asked_about_has_no_score(store: Palimpsest) -> None:
    older, newer = say(store, "Ada rows a boat", "Bob paints the walls")
    store.merge(newer, older, actor="kim")
    [answer] = remembered(store)
    assert (answer.pair.existing_id, answer.pair.candidate_id) == (older, newer)
    assert (answer.pair.similarity, answer.pair.cues) == (None, ())


def test_words_that_were_taken_back_are_no_answers(store: Palimpsest) -> None:
    older, newer = asked(store)
    store.separate(older, newer, actor="kim")
    assert words(store) == [("different", newer, older)]
    store.withdraw(older, newer, actor="kim")
    assert words(store) == []
    a, b, decision = joined(store)
    store.unmerge(decision_id=decision, actor="kim")
    assert words(store) == [("different", b, a)]
    store.reinstate(decision, actor="kim")
    assert words(store) == []


def test_of_two_words_on_a_pair_the_one_that_holds_is_the_answer(store: Palimpsest) -> None:
    older, newer = asked(store)
    for because in ("first", "again"):
        store.separate(older, newer, actor="kim", because=because)
        if because == "first":
            store.withdraw(older, newer, actor="kim")
    assert [one.because for one in remembered(store)] == ["again"]


def test_of_two_reversals_of_a_join_the_one_that_holds_is_the_answer(store: Palimpsest) -> None:
    _, _, decision = joined(store)
    for because in ("first", "again"):
        store.unmerge(decision_id=decision, actor="kim", because=because)
        if because == "first":
            store.reinstate(decision, actor="kim")
    assert [one.because for one in remembered(store)] == ["again"]


def test_an_agreement_holds_while_the_join_stands(store: Palimpsest) -> None:
    older, newer, decision = joined(store)
    store.confirm(decision, actor="kim")
    assert words(store) == [("same", newer, older)]
    store.unmerge(decision_id=decision, actor="lee")
    assert words(store) == []
    store.reinstate(decision, actor="lee")
    assert words(store) == [], "the join waits again, as if nobody had agreed"


def test_two_answers_one_after_the_other_are_two(store: Palimpsest) -> None:
    """Only a choice of the face and a confirmation of the same pair are one answer."""
    older, newer = asked(store)
    a, b, decision = joined(store)
    store.merge(older, newer, face=newer, actor="kim")
    store.confirm(decision, actor="kim")
    assert words(store) == [("newer", newer, older), ("same", b, a)]


def test_what_is_no_answer_about_a_pair_that_waited_is_not_remembered(store: Palimpsest) -> None:
    """A person's own merge that was removed again, and an update."""
    a, b = say(store, "Ada rows a boat", "Bob paints the walls")
    merged = store.merge(a, b, actor="kim")
    store.unmerge(decision_id=merged["decision_id"], actor="kim")
    assert words(store) == []
    store.update(a, "Ada sails a boat", actor="kim")
    assert words(store) == []


def test_a_merge_by_an_update_is_no_answer(store: Palimpsest) -> None:
    a, _ = say(store, "Ada rows a boat", "Bob paints the walls")
    store.update(a, "Bob paints the walls", merge=True, actor="kim")
    assert words(store) == []


def test_a_face_and_an_agreement_about_one_join_are_one_answer(store: Palimpsest) -> None:
    older, newer, decision = joined(store)
    store.merge(older, newer, face=newer, actor="kim")
    assert words(store) == [("newer", newer, older)]
    store.confirm(decision, actor="kim")
    assert words(store) == [("newer", newer, older)]
    [answer] = remembered(store)
    assert answer.pair.decision_id == decision
    answer.take_back(store)
    assert words(store) == []
    assert "confirmed" not in {one["review_status"] for one in store.sql("FROM decisions")}


def test_a_face_that_was_chosen_after_an_agreement_is_another_answer(store: Palimpsest) -> None:
    older, newer, decision = joined(store)
    store.confirm(decision, actor="kim")
    store.merge(older, newer, face=newer, actor="kim")
    assert words(store) == [("same", newer, older), ("newer", newer, older)]


def test_a_join_that_the_judge_made_has_what_its_question_saw(store: Palimpsest) -> None:
    """An answer records no neighbours."""
    said = own_words(0, 11)
    older, newer = say(store, f"{said} on floor 3", f"{said} on floor 4")
    verdict = Verdict(neighbour_id=older, answer="same")
    store.settle([SettleRequest(request_id=request_id(), candidate_id=newer, verdicts=(verdict,))])
    [join] = store.show_candidate(newer)["joins"]
    store.confirm(join["decision_id"], actor="kim")
    [found] = remembered(store)
    assert (found.pair.existing_id, found.pair.candidate_id) == (older, newer)
    assert found.pair.cues == ("number",)


@pytest.mark.parametrize("word", ["newer", "former"])
def test_a_chosen_face_is_the_answer_that_it_was(store: Palimpsest, word: str) -> None:
    older, newer = asked(store)
    store.merge(older, newer, face=newer if word == "newer" else older, actor="kim")
    assert words(store) == [(word, newer, older)]
    [answer] = remembered(store)
    answer.take_back(store)
    assert words(store) == []
    assert len(store.list("ada")["memories"]) == 2


def test_everybody_has_their_own_words(store: Palimpsest) -> None:
    first, second = asked(store, 0), asked(store, 1)
    store.separate(*first, actor="kim")
    store.separate(*second, actor="lee")
    assert [one.pair.candidate_id for one in remembered(store, "kim")] == [first[1]]
    assert [one.pair.candidate_id for one in remembered(store, "lee")] == [second[1]]
    assert remembered(store, "grace") == []


def test_a_person_is_told_their_latest_answers_once_they_were_read(store: Palimpsest) -> None:
    pairs = [asked(store, number) for number in range(MOST_ANSWERS + 2)]
    for pair in pairs:
        store.separate(*pair, actor="grace")
    store.reader.refresh()
    told = by_name(latest_statements(store.reader.projections, MOST_WORDS))
    board: Any = ReviewBoard(SimpleNamespace())  # type: ignore[arg-type]
    grace = Person()
    board._remember(store, grace, WebSession(person(), ""))
    assert not grace.remembers, "nothing is read yet"
    board._latest_statements, board._read_through = told, 1
    for _ in range(2):
        board._remember(store, grace, WebSession(person(), ""))
        latest = [answer.answer.pair.candidate_id for answer in grace.answers]
        assert latest == [newer for _, newer in pairs[-MOST_ANSWERS:]]
    narrower = Person()
    board._remember(store, narrower, WebSession(person(owners="bob"), ""))
    assert not narrower.answers, "they are about owners who are not theirs any more"


def test_a_pair_counts_the_later_joins_of_its_memory(store: Palimpsest) -> None:
    older, newer, _ = joined(store)
    waiting = asked(store)

    def later_joins() -> dict[tuple[str, str], int]:
        store.reader.refresh()
        found = read_pairs(store.reader.projections)
        assert {(one.older_text, one.newer_text) for one in found} == {(None, None)}, (
            "each had its own text"
        )
        return {(one.existing_id, one.candidate_id): one.later_joins for one in found}

    assert later_joins() == {(older, newer): 0, waiting: 0}
    first, second = say(store, "Ada rows a boat", "Bob paints the walls")
    store.merge(newer, first)
    out = store.merge(older, second)
    assert later_joins() == {(older, newer): 2, waiting: 0}
    store.unmerge(decision_id=out["decision_id"])
    assert later_joins() == {(older, newer): 1, waiting: 0}
    store.merge(waiting[0], second)
    assert later_joins() == {(older, newer): 1, waiting: 1}


def test_a_confirmation_that_was_given_again_is_one_answer(store: Palimpsest) -> None:
    *_, decision = joined(store)
    for _ in range(2):
        store.confirm(decision, actor="kim")
        [answer] = remembered(store)
        assert answer.word == "same"
        answer.take_back(store)
        assert remembered(store) == []
    store.confirm(decision, actor="kim")
    store.unmerge(decision_id=decision, because="nobody says who")
    store.reinstate(decision)
    store.confirm(decision, actor="bob")
    assert remembered(store) == []
    assert [one.word for one in remembered(store, "bob")] == ["same"]
