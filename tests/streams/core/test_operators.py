"""What a person says: merge, separate, un-merge, reinstate, retract (docs/design.md)."""

from __future__ import annotations

from uuid import uuid4

import pytest

from palimpsest.contracts.commands import Reinstate, Unmerge
from palimpsest.contracts.events import Rank, Reversed
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    Step,
    access,
    combine,
    compose,
    confirm,
    for_request,
    given,
    judge,
    merge,
    on_decision,
    reinstate,
    restore,
    retract,
    say,
    separate,
    separated,
    unmerge,
    update,
    withdraw,
)

JOINED: tuple[Step, ...] = (say("a", "Tea"), say("b", "Chai", {"a": KEEP}))
APART: tuple[Step, ...] = (say("a", "Tea"), say("b", "Chai"))


def test_unmerging_takes_one_join_out_and_leaves_the_rest_as_it_was() -> None:
    history = given(*JOINED, say("c", "Mate", {"b": KEEP}), say("d", "Milk", {"a": TAKE}))
    history.when(unmerge("b")).then("reversed b a").shows({"Milk": "a d", "Chai": "b c"})


def test_unmerging_sticks() -> None:
    history = given(*JOINED, unmerge("b"))
    held = separated(history, "a", "b")
    assert held is not None
    assert held.rank == "person"


def test_unmerging_twice_is_refused_and_delivered_twice_is_once() -> None:
    history = given(*JOINED).when(unmerge("b")).again().then()
    history.when(unmerge("b")).then("refused not_standing").again().then()


def test_what_joined_nothing_cannot_be_taken_out() -> None:
    history = given(*JOINED)
    joined_nothing = history.ledger.entries[history.id("a")].decision_id
    history.when(on_decision(Unmerge, joined_nothing)).then("refused not_a_join")
    history.when(on_decision(Unmerge, history.id("a"))).then("refused unknown_decision")


def test_an_exact_repeat_cannot_be_taken_out() -> None:
    history = given(say("a", "Tea"), say("b", "Tea")).when(unmerge("b"))
    history.then("refused same_text").shows({"Tea": "a b"})


def test_a_cut_elsewhere_that_parts_an_exact_repeat_is_refused_too() -> None:
    history = given(*APART, merge("a", "b"), say("x", "Chai"))
    history.when(unmerge("b")).then("reversed b a").shows({"Tea": "a", "Chai": "b x"})
    history = given(say("a", "Tea"), retract("a"), say("b", "Chai"), merge("b", "a"))
    history.then("refused not_living")
    history = given(
        say("a", "Tea"), say("b", "Tea"), retract("a"), unmerge("b"), retract("b"), restore("a")
    )
    history.when(say("c", "Chai", {"a": KEEP})).when(reinstate("b")).when(restore("b"))
    history.when(unmerge("b")).then("refused same_text").shows({"Tea": "a b c"})


def test_a_repeat_of_a_retracted_text_can_be_taken_out_and_then_not_restored() -> None:
    history = given(say("a", "Tea"), say("b", "Tea"), retract("a"))
    history.when(unmerge("b")).then("reversed b a").shows({"Tea": "b"})
    history.when(restore("a")).then("refused same_text")
    history.when(retract("b")).when(restore("a")).shows({"Tea": "a"})


def test_a_second_join_by_a_person_is_support() -> None:
    history = given(*JOINED, say("c", "Mate", {"b": KEEP}), merge("a", "c"))
    history.then("c manual_join a").shows({"Tea": "a b c"})
    history.when(unmerge("b")).then("refused supported")
    assert history.join("c", "a").id in history.detail()
    history.when(unmerge("c", "a")).then("reversed (still together) c a")
    history.when(unmerge("b")).then("reversed b a").shows({"Tea": "a", "Chai": "b c"})


def test_taking_support_back_separates_nobody() -> None:
    history = given(*JOINED, merge("a", "b"), unmerge("b", "a")).shows({"Tea": "a b"})
    assert not separated(history, "a", "b")


def test_taking_support_back_brings_back_what_was_said_before_it() -> None:
    reviewed = [*APART, separate("a", "b", rank="review"), say("c", "Mate"), merge("a", "c")]
    history = given(*reviewed, merge("b", "c"), merge("a", "b")).shows({"Chai": "a b c"})
    assert not separated(history, "a", "b")
    history.when(unmerge("b", "a")).then("reversed (still together) b a")
    assert separated(history.shows({"Chai": "a b c"}), "a", "b")


def test_taking_support_back_leaves_no_person_overruled_by_what_came_since() -> None:
    history = given(*APART, separate("a", "b"), merge("a", "b"), say("c", "Mate", {"b": KEEP}))
    history.do(merge("a", "c")).when(unmerge("b", "a")).then("reversed (still together) b a")
    assert not separated(history.shows({"Tea": "a b c"}), "a", "b")
    history.do(reinstate("b", "a"), unmerge("b", "a")).then("reversed (still together) b a")
    assert not separated(history, "a", "b"), "who brought it back only said it again"


def test_taking_support_back_brings_back_that_a_memory_was_taken_apart() -> None:
    apart_whole = [for_request("one", unmerge(name)) for name in "cb"]
    joined = [*JOINED, say("c", "Mate", {"b": KEEP})]
    history = given(*joined, *apart_whole, say("x", "Milk"))
    history.do(merge("a", "x"), merge("c", "x"))
    assert separated(history, "a", "c")
    history.do(merge("a", "c")).when(unmerge("c", "a")).then("reversed (still together) c a")
    assert separated(history, "a", "c")
    history.do(merge("a", "c")).when(withdraw("a", "c")).then("withdrawn c a")
    assert separated(history, "a", "c")


def test_an_update_that_is_unmerged_is_no_word_taken_back() -> None:
    history = given(*APART, update("a", "u", "Herbal tea"), merge("a", "b"), merge("u", "b"))
    history.when(unmerge("u", "a")).then("reversed (still together) u a")
    [cut] = history.new
    assert isinstance(cut, Reversed)
    assert cut.data.withdraws is None


def test_a_withdrawn_merge_separates_nobody_and_can_be_said_again() -> None:
    history = given(*APART, merge("a", "b", face="b")).shows({"Chai": "a b"})
    history.when(withdraw("b", "a")).then("withdrawn b a").shows({"Tea": "a", "Chai": "b"})
    assert not separated(history, "a", "b")
    history.when(withdraw("a", "b")).then("refused not_separated")
    history.when(merge("a", "b")).then("b manual_join a").shows({"Tea": "a b"})


def test_what_was_said_before_a_withdrawn_merge_holds_again() -> None:
    history = given(*APART, separate("a", "b"), merge("a", "b"), withdraw("a", "b"))
    assert separated(history.shows({"Tea": "a", "Chai": "b"}), "a", "b")


def test_a_withdrawn_merge_is_reinstated_and_withdrawn_again_or_un_merged() -> None:
    back = (*APART, merge("a", "b"), withdraw("a", "b"), reinstate("b"))
    history = given(*back).shows({"Tea": "a b"}).when(withdraw("a", "b")).then("withdrawn b a")
    assert not separated(history.shows({"Tea": "a", "Chai": "b"}), "a", "b")
    history = given(*back).when(unmerge("b")).then("reversed b a")
    assert separated(history, "a", "b")


def test_what_was_said_before_a_reinstated_merge_holds_again_once_that_is_withdrawn() -> None:
    history = given(*APART, separate("a", "b"), merge("a", "b"), unmerge("b"), reinstate("b"))
    history.shows({"Tea": "a b"}).when(withdraw("a", "b")).then("withdrawn b a")
    assert separated(history.shows({"Tea": "a", "Chai": "b"}), "a", "b")


def test_a_merge_is_not_withdrawn_where_other_joins_hold_a_separated_pair_together() -> None:
    history = given(*APART, separate("a", "b"), merge("a", "b"), say("c", "Mate", {"b": KEEP}))
    history.when(merge("a", "c")).when(withdraw("a", "b")).then("refused supported")
    assert history.join("c", "a").id in history.detail()
    history = given(*JOINED, merge("a", "b"))
    history.when(withdraw("a", "b")).then("withdrawn b a").shows({"Tea": "a b"})
    history = given(*APART, separate("a", "b", rank="review"), say("c", "Mate"), merge("a", "b"))
    history.do(merge("a", "c"), merge("b", "c")).when(withdraw("a", "b")).then("withdrawn b a")
    assert separated(history.shows({"Chai": "a b c"}), "a", "b"), "overruled by persons, as before"


def test_a_person_cannot_say_the_same_twice() -> None:
    given(*APART, merge("a", "b")).when(merge("b", "a")).then("refused standing_already")


def test_merging_needs_two_known_living_candidates_of_one_scope() -> None:
    history = given(*APART, retract("b"))
    history.when(merge("a", "b")).then("refused not_living")
    history.when(merge("a", "a")).then("refused same_candidate")
    history.when(merge("a", "z")).then("refused unknown_candidate")


@pytest.mark.parametrize("rank", ["rule", "judge", "review"])
def test_a_person_outranks_every_other_separation(rank: Rank) -> None:
    history = given(*APART, separate("a", "b", rank=rank)).then("separated b a")
    history.when(merge("a", "b")).then("b manual_join a")


def test_the_same_persons_later_word_about_a_pair_holds() -> None:
    history = given(*APART, separate("a", "b"), merge("a", "b")).shows({"Tea": "a b"})
    history.when(unmerge("b")).when(reinstate("b")).shows({"Tea": "a b"})


def test_two_persons_who_contradict_each_other_get_the_path() -> None:
    history = given(*APART, say("c", "Mate", {"b": KEEP}), separate("a", "c"))
    history.when(merge("a", "b")).then("refused separated")
    assert history.join("c").id in history.detail()
    assert history.id("a") in history.detail()
    history.shows({"Tea": "a", "Chai": "b c"})


def test_a_lower_ranks_separation_does_not_hinder_a_person() -> None:
    history = given(*APART, say("c", "Mate", {"b": KEEP}), separate("a", "c", rank="review"))
    history.when(merge("a", "b")).then("b manual_join a")


def test_who_says_the_same_text_again_is_not_separated_but_retracted() -> None:
    history = given(say("a", "Tea"), say("b", "Tea"), separate("a", "b"))
    assert "retract one of them" in history.detail()
    history.when(retract("b")).then("retracted b")


def test_what_keeps_two_apart_says_how_that_is_taken_back() -> None:
    history = given(*JOINED, unmerge("b"), withdraw("a", "b")).then("refused not_a_statement")
    assert "reinstate that decision" in history.detail()
    history.when(reinstate("b")).shows({"Tea": "a b"})
    asked = given(say("a", "Tea"), say("b", "Chai", {"a": ASK}), judge("b", a="different"))
    asked.when(withdraw("a", "b")).then("refused not_a_statement")
    assert "an answer, event" in asked.detail()
    asked.when(merge("a", "b")).shows({"Tea": "a b"})


CROSSED: tuple[Step, ...] = (
    *(say("a", "Tea"), say("b", "Chai", {"a": KEEP})),
    *(say("c", "Mate"), say("d", "Milk", {"c": KEEP})),
    *(for_request("r", unmerge("b")), for_request("r", unmerge("d"))),
    *(merge("a", "c"), merge("b", "d")),
)
"""Two joins taken out; each end was merged with another since, so that each bars the other."""


def test_joins_of_one_request_that_bar_each_other_come_back_together() -> None:
    history = given(*CROSSED).shows({"Tea": "a c", "Chai": "b d"})
    history.when(reinstate("b", "a")).then("reinstated b a", "reinstated d c")
    history.shows({"Tea": "a b c d"})
    assert not separated(history, "c", "d")


def test_joins_of_two_requests_come_back_together_where_both_are_meant() -> None:
    (*before, _, _, one, other) = CROSSED
    history = given(*before, unmerge("b"), unmerge("d"), one, other)
    history.when(reinstate("b", "a")).then("refused separated")

    def both(now: History) -> Reinstate:
        command = reinstate("b", "a")(now)
        assert isinstance(command, Reinstate)
        return command.model_copy(update={"also": (now.join("d", "c").id,)})

    history.when(both).then("reinstated b a", "reinstated d c").shows({"Tea": "a b c d"})


def test_separating_members_of_one_memory_is_refused_with_the_path() -> None:
    history = given(*JOINED).when(separate("a", "b")).then("refused one_memory")
    assert history.join("b").id in history.detail()


def test_a_separation_of_a_higher_rank_is_one_more() -> None:
    history = given(*APART).when(separate("a", "b", rank="judge")).then("separated b a")
    history.when(separate("a", "b", rank="judge")).then("refused standing_already")
    history.when(separate("a", "b", rank="rule")).then("refused standing_already")
    history.when(separate("a", "b")).then("separated b a")


def test_a_review_cannot_take_out_what_a_person_said() -> None:
    history = given(*APART, merge("a", "b"))
    history.when(unmerge("b", rank="review")).then("refused outranked").shows({"Tea": "a b"})
    history.when(unmerge("b")).then("reversed b a")


def test_a_review_may_take_out_and_put_back_what_a_rule_did() -> None:
    history = given(*JOINED).when(unmerge("b", rank="review")).then("reversed b a")
    history.when(reinstate("b", rank="judge")).then("refused separated")
    history.when(reinstate("b", rank="review")).then("reinstated b a").shows({"Tea": "a b"})


def test_reinstating_restores_what_was_there() -> None:
    history = given(*JOINED, unmerge("b")).when(reinstate("b")).then("reinstated b a")
    history.shows({"Tea": "a b"}).when(reinstate("b")).then("refused standing_already")
    assert not separated(history, "a", "b")


def test_reinstating_against_a_persons_separation_is_refused() -> None:
    history = given(*JOINED, say("c", "Mate", {"b": KEEP}), unmerge("b"), separate("a", "c"))
    history.when(reinstate("b")).then("refused separated")


def test_what_never_joined_cannot_be_reinstated() -> None:
    history = given(*JOINED)
    history.when(on_decision(Reinstate, history.id("a"))).then("refused unknown_decision")


def test_confirming() -> None:
    history = given(*JOINED).when(confirm("b")).then("confirmed b a")
    history.when(confirm("b")).then("refused standing_already")
    history.when(unmerge("b")).when(confirm("b")).then("refused not_standing")
    history.when(confirm("a"))
    assert [event.type for event in history.new] == ["palimpsest.confirmed.v1"]


def test_retracting_leaves_the_joins() -> None:
    history = given(*JOINED, say("c", "Mate", {"b": KEEP}), retract("b")).shows({"Tea": "a c"})
    history.when(retract("b")).then("refused retracted_already")
    history.when(restore("b")).shows({"Tea": "a b c"})
    history.when(restore("b")).then("refused not_retracted")


def test_words_about_unknown_candidates_are_refused() -> None:
    for step in (retract("z"), restore("z"), access("z")):
        given().when(step).then("refused unknown_candidate")


def test_access_is_counted() -> None:
    history = given(*JOINED).when(access("b")).then("accessed b").again().then()
    assert history.ledger.entries[history.id("b")].accesses == 1


def test_a_refused_command_changes_nothing() -> None:
    history = given(*JOINED, say("c", "Milk"), say("d", "Cream", {"c": ASK}), separate("a", "c"))
    before = history.faces(), dict(history.ledger.statements), history.ledger.edges.copy()
    refused: tuple[Step, ...] = (
        merge("b", "c"),
        separate("a", "b"),
        reinstate("b"),
        judge("d", b="same"),
        compose("b", "Both", "a b"),
        restore("a"),
    )
    for step in refused:
        history.when(step)
        assert [event.type for event in history.new] == ["palimpsest.refused.v1"]
        assert (history.faces(), history.ledger.statements, history.ledger.edges) == before


def test_the_separated_pair_may_still_share_a_memory_through_a_persons_word() -> None:
    """A person's join over a judge's separation holds, and the judge's word does not cut it."""
    history = given(*APART, separate("a", "b", rank="judge"), merge("a", "b"))
    history.when(say("c", "Mate", {"a": KEEP})).shows({"Tea": "a b c"})


@pytest.mark.parametrize("together", [True, False], ids=["one request", "two requests"])
def test_only_what_one_request_takes_out_of_a_memory_is_apart_from_each_other(
    together: bool,
) -> None:
    first = str(uuid4())
    second = first if together else str(uuid4())
    history = given(
        *JOINED,
        say("c", "Mate", {"a": KEEP}),
        for_request(first, unmerge("c")),
        for_request(second, unmerge("b")),
    )
    assert (separated(history, "b", "c") is not None) == together
    history.when(combine("b", "c"))
    history.then("refused separated" if together else "c llm_reject b")


def test_what_a_request_goes_on_to_take_out_of_a_part_is_apart_from_the_other_part() -> None:
    """The part that left first is the smaller one, with a join of its own."""
    request = str(uuid4())
    history = given(
        *JOINED,
        say("c", "Mate"),
        say("d", "Milk", {"c": KEEP}),
        say("e", "Cream", {"c": KEEP}),
        merge("b", "c"),
        for_request(request, unmerge("c", "b")),
        for_request(request, unmerge("b", "a")),
    )
    history.shows({"Tea": "a", "Chai": "b", "Mate": "c d e"})
    assert separated(history, "a", "c")
    history.when(combine("a", "d")).then("refused separated")


def test_a_part_that_a_freed_answer_joins_to_a_larger_memory_stays_apart_from_the_others() -> None:
    """The answer settles between two joins of one request."""
    request = str(uuid4())
    history = given(
        *JOINED,
        say("c", "Mate", {"b": KEEP}),
        say("d", "Milk", {"b": ASK}),
        say("e", "Cream", {"d": KEEP}),
        say("f", "Whey", {"d": KEEP}),
        separate("a", "d"),
        judge("d", b="same"),
    )
    history.when(for_request(request, unmerge("b"))).then("reversed b a", "d llm_reject b")
    history.when(for_request(request, unmerge("c"))).then("reversed c b")
    history.shows({"Tea": "a", "Chai": "b d e f", "Mate": "c"})
    history.when(combine("a", "c")).then("refused separated")


@pytest.mark.parametrize("larger", [True, False], ids=["larger", "smaller"])
def test_a_part_that_a_freed_answer_joins_to_one_of_an_earlier_request_stays_apart(
    larger: bool,
) -> None:
    """The parts of the later request go on to be apart, whichever of the two memories is larger."""
    earlier, later = str(uuid4()), str(uuid4())
    history = given(
        *JOINED,
        say("c", "Mate", {"b": KEEP}),
        *(say(f"c{number}", f"Mate {number}", {"c": KEEP}) for number in range(0 if larger else 6)),
        say("d", "Milk", {"b": ASK}),
        say("e", "Cream", {"d": KEEP}),
        say("f", "Whey", {"d": KEEP}),
        say("g", "Curd", {"d": KEEP}),
        say("h", "Soy", {"d": KEEP}),
        for_request(earlier, unmerge("h")),
        separate("a", "d"),
        judge("d", b="same"),
    )
    history.when(for_request(later, unmerge("b"))).then("reversed b a", "d llm_reject b")
    history.when(for_request(later, unmerge("c"))).then("reversed c b")
    history.when(combine("a", "c")).then("refused separated")


def test_a_retracted_repeat_may_leave_its_text_but_not_live_beside_it() -> None:
    history = given(*JOINED, say("c", "Tea"))
    history.when(unmerge("c")).then("refused same_text")
    history.when(retract("c")).when(unmerge("c")).then("reversed c a")
    history.when(restore("c")).then("refused same_text").shows({"Tea": "a b"})
