"""The pairs that wait for an answer by the current log, and what each answer and its undo do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import Selection, SettleRequest
from palimpsest.web.board.answers import Choice, GivenAnswer, give, sides
from palimpsest.web.board.waiting import WaitingPair, read_pairs
from tests.palimpsest.web.conftest import own_words, pair_texts, say

JOINED = (own_words(9, 30), f"{own_words(9, 30)}.")


def the_pair(store: Palimpsest, waits_as: str) -> WaitingPair:
    """The only waiting pair, after checking its reason, and that it still waits in the log."""
    store.reader.refresh()
    [found] = read_pairs(store.reader.projections)
    assert found.waits_as == waits_as
    assert sides(store, found) is not None
    return found


def asked(store: Palimpsest) -> WaitingPair:
    say(store, *pair_texts(0))
    return the_pair(store, "pending")


def joined(store: Palimpsest) -> WaitingPair:
    say(store, *JOINED)
    return the_pair(store, "unreviewed")


def forgotten(store: Palimpsest) -> WaitingPair:
    [gone] = say(store, JOINED[0])
    store.forget([gone], again="ask")
    say(store, JOINED[1])
    return the_pair(store, "forgotten")


def faces(store: Palimpsest) -> set[str]:
    return {memory["face"] for memory in store.list("ada")["memories"]}


def answered(store: Palimpsest, pair: WaitingPair, word: Choice) -> GivenAnswer:
    found = sides(store, pair)
    assert found is not None
    return give(store, pair, word, found.version, "kim", None)


def retracted(store: Palimpsest, candidate_id: str) -> None:
    store.retract(Selection(owner_id="ada", candidate_id=candidate_id))


@pytest.mark.parametrize("which", ["candidate_id", "existing_id"])
@pytest.mark.parametrize("waiting", [asked, joined])
def test_a_pair_waits_while_both_of_its_texts_are_living(
    store: Palimpsest, waiting: Callable[[Palimpsest], WaitingPair], which: str
) -> None:
    pair = waiting(store)
    one = getattr(pair, which)
    retracted(store, one)
    assert sides(store, pair) is None
    store.restore(Selection(owner_id="ada", candidate_id=one))
    assert sides(store, pair) is not None


def test_a_pair_that_is_parted_waits_no_more(store: Palimpsest) -> None:
    pair = asked(store)
    store.separate(pair.existing_id, pair.candidate_id)
    assert sides(store, pair) is None


def test_a_pair_whose_answer_something_holds_back_waits(store: Palimpsest) -> None:
    """Another member of the older text's memory is separated from the newer text."""
    pair = asked(store)
    [third] = say(store, "Ada sings in a choir")
    store.merge(pair.existing_id, third)
    store.separate(third, pair.candidate_id)
    verdict = Verdict(neighbour_id=pair.existing_id, answer="same")
    request = SettleRequest(
        request_id=request_id(), candidate_id=pair.candidate_id, verdicts=(verdict,)
    )
    store.settle([request])
    found = sides(store, pair)
    assert found is not None
    assert (found.newer.open, found.newer.held) == ((), pair.existing_id)
    store.separate(pair.existing_id, pair.candidate_id)
    assert sides(store, pair) is None


def test_a_join_waits_until_somebody_agreed_or_took_it_out(store: Palimpsest) -> None:
    pair = joined(store)
    store.unmerge(decision_id=pair.decision_id)
    assert sides(store, pair) is None
    store.reinstate(pair.decision_id)
    assert sides(store, pair) is not None
    store.confirm(pair.decision_id)
    assert sides(store, pair) is None


def test_what_was_forgotten_waits_until_it_is_let_in_or_left_out(store: Palimpsest) -> None:
    pair = forgotten(store)
    answered(store, pair, "different")
    assert sides(store, pair) is None
    assert faces(store) == {JOINED[1]}


def test_what_was_forgotten_and_stays_out_waits_no_more(store: Palimpsest) -> None:
    pair = forgotten(store)
    answered(store, pair, "same")
    assert sides(store, pair) is None
    assert faces(store) == set()
    with pytest.raises(RefusedError):
        give(store, pair, "different", "any", "kim", None)


@pytest.mark.parametrize(
    ("kind", "word", "speaks"),
    [
        ("pending", "same", {0}),
        ("pending", "newer", {1}),
        ("pending", "former", {0}),
        ("pending", "different", {0, 1}),
        ("unreviewed", "same", {0}),
        ("unreviewed", "former", {0}),
        ("unreviewed", "different", {0, 1}),
    ],
)
def test_an_answer_chooses_who_speaks_and_is_taken_back_exactly(
    store: Palimpsest, kind: str, word: Choice, speaks: set[int]
) -> None:
    pair = asked(store) if kind == "pending" else joined(store)
    texts = pair_texts(0) if kind == "pending" else JOINED
    before = faces(store)
    found = sides(store, pair)
    assert found is not None
    given = give(store, pair, word, found.version, "kim", "so it is")
    assert faces(store) == {texts[number] for number in speaks}
    assert sides(store, pair) is None
    given.take_back(store)
    assert faces(store) == before
    assert sides(store, pair) is not None
    said = "SELECT DISTINCT actor FROM events WHERE event NOT IN ('decided', 'policy_set')"
    assert store.sql(said) == [{"actor": "kim"}]


def test_which_value_is_former_is_recorded_beside_the_agreement(store: Palimpsest) -> None:
    pair = joined(store)
    answered(store, pair, "former")
    told = store.sql("SELECT event, actor FROM events WHERE event <> 'decided' ORDER BY position")
    assert told[1:] == [{"event": one, "actor": "kim"} for one in ("joined", "confirmed")]


def test_whoever_takes_back_that_a_text_was_let_in_is_named(store: Palimpsest) -> None:
    pair = forgotten(store)
    found = sides(store, pair)
    assert found is not None
    given = give(store, pair, "different", found.version, "kim", None)
    given.take_back(store)
    assert faces(store) == set()
    [told] = store.sql(
        "SELECT actor FROM events WHERE event = 'retracted' ORDER BY position DESC LIMIT 1"
    )
    assert told["actor"] == "kim"


def test_an_answer_that_somebody_has_overtaken_is_not_taken_back(store: Palimpsest) -> None:
    """Later statements stay, whoever made them."""
    pair = asked(store)
    given = answered(store, pair, "different")
    store.withdraw(pair.existing_id, pair.candidate_id)
    store.merge(pair.existing_id, pair.candidate_id, actor="bob")
    merged = faces(store)
    with pytest.raises(RefusedError, match="later statement"):
        given.take_back(store)
    assert faces(store) == merged
    store.withdraw(pair.existing_id, pair.candidate_id)
    again = answered(store, pair, "same")
    store.withdraw(pair.existing_id, pair.candidate_id)
    store.merge(pair.existing_id, pair.candidate_id, actor="bob")
    with pytest.raises(RefusedError, match="later statement"):
        again.take_back(store)
    assert faces(store) == merged


@pytest.mark.parametrize("word", ["same", "different"])
def test_so_is_an_answer_about_a_join(store: Palimpsest, word: Choice) -> None:
    pair = joined(store)
    given = answered(store, pair, word)
    if word == "different":
        store.reinstate(pair.decision_id)
    store.unmerge(decision_id=pair.decision_id, actor="bob")
    parted = faces(store)
    with pytest.raises(RefusedError, match="later statement"):
        given.take_back(store)
    assert faces(store) == parted


def test_who_was_let_in_and_has_company_since_stays(store: Palimpsest) -> None:
    pair = forgotten(store)
    given = answered(store, pair, "different")
    [other] = say(store, "Bob plays a fiddle every Sunday")
    store.merge(pair.candidate_id, other)
    living = faces(store)
    with pytest.raises(RefusedError, match="joined it since"):
        given.take_back(store)
    assert faces(store) == living


def test_who_was_let_in_by_mistake_is_forgotten_and_does_not_wait(store: Palimpsest) -> None:
    pair = forgotten(store)
    answered(store, pair, "different").take_back(store)
    assert faces(store) == set()
    assert sides(store, pair) is None
    assert store.sql("FROM review_queue WHERE waits_as = 'forgotten'") == []
