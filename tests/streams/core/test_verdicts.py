"""How a pending candidate is settled, late, blocked and resumed (docs/design.md)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from palimpsest.contracts.commands import Settle
from palimpsest.contracts.events import Settled
from palimpsest.contracts.evidence import Answer
from palimpsest.contracts.policy import CosineCheck, Zone
from palimpsest.contracts.wire import decode, encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    Step,
    for_request,
    given,
    judge,
    merge,
    policy,
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

GRAY: tuple[Step, ...] = (say("a", "Tea"), say("b", "Chai", {"a": ASK}))
TWO_ASKED: tuple[Step, ...] = (
    say("a", "Tea"),
    say("b", "Milk"),
    say("c", "Chai", {"a": ASK, "b": 0.75}),
)


@pytest.mark.parametrize(
    ("answer", "told", "shown"),
    [
        ("different", "b llm_keep", {"Tea": "a", "Chai": "b"}),
        ("same", "b llm_reject a", {"Tea": "a b"}),
        ("update", "b superseded a", {"Chai": "a b"}),
        ("unusable", "b llm_keep", {"Tea": "a", "Chai": "b"}),
        ("unavailable", "b fallback_keep", {"Tea": "a", "Chai": "b"}),
        ("compose", "b llm_keep", {"Tea": "a", "Chai": "b"}),
    ],
)
def test_each_answer_has_its_settlement(answer: Answer, told: str, shown: dict[str, str]) -> None:
    given(*GRAY).when(judge("b", a=answer)).then(told).shows(shown)


def test_what_the_guard_does_not_accept_no_fallback_joins() -> None:
    zones = (
        Zone(at_least=0.9, action="auto_reject", guard=True),
        Zone(at_least=0.7, action="pending"),
    )
    rejecting = policy(CosineCheck(check="cosine", zones=zones), unavailable="reject")
    swapped = (say("a", "Ada loves Ben"), say("b", "Ben loves Ada", {"a": 0.99}))
    given(*swapped, policy=rejecting).when(judge("b", a="unavailable")).then("b fallback_keep")
    reworded = (say("a", "Ada drinks tea"), say("b", "Ada has some tea", {"a": 0.89}))
    given(*reworded, policy=rejecting).when(judge("b", a="unavailable")).then("b fallback_keep")
    accepted = (say("a", "Ada drinks tea"), say("b", "Ada drinks tea.", {"a": 0.89}))
    given(*accepted, policy=rejecting).when(judge("b", a="unavailable")).then("b fallback_reject a")


@pytest.mark.parametrize("unavailable", ["keep", "reject", "supersede"])
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ada has 2 cats", "Ada has 3 cats"),
        ("Ada flies on Monday", "Ada flies on Friday"),
        ("Ada runs 5 km", "Ada runs 5 miles"),
        ("The app is v2.1", "The app is v2.2"),
        ("She likes tea", "She does not like tea"),
        ("We met Ada at noon", "We met Grace at noon"),
        ("The tea is hot", "The tea is cold"),
        ("The dog bit the man", "The man bit the dog"),
    ],
)
def test_a_cue_keeps_both_whatever_the_fallback(older: str, newer: str, unavailable: str) -> None:
    asking = policy(unavailable=unavailable)
    gray = (say("a", older), say("b", newer, {"a": ASK}))
    given(*gray, policy=asking).when(judge("b", a="unavailable")).then("b fallback_keep")
    off = asking.model_copy(update={"judge": asking.judge.model_copy(update={"enabled": False})})
    given(policy=off).do(*gray).then("b pending", "b fallback_keep")


def test_where_no_cue_was_looked_for_the_fallback_keeps() -> None:
    """Under the policy that asked, nobody's silence joined: so the guard had not been asked."""
    history = given(*GRAY)
    history.policy = policy(unavailable="reject")
    history.when(judge("b", a="unavailable")).then("b fallback_keep")


@pytest.mark.parametrize(
    ("unavailable", "told", "shown"),
    [
        ("keep", "b fallback_keep", {"Tea": "a", "Chai": "b"}),
        ("reject", "b fallback_reject a", {"Tea": "a b"}),
        ("supersede", "b fallback_supersede a", {"Chai": "a b"}),
    ],
)
def test_where_no_judge_is_wanted_the_fallback_settles_at_once(
    unavailable: str, told: str, shown: dict[str, str]
) -> None:
    asking = policy(unavailable=unavailable)
    nobody = asking.judge.model_copy(update={"enabled": False})
    history = given(policy=asking.model_copy(update={"judge": nobody})).do(*GRAY)
    history.then("b pending", told).shows(shown).again().then()
    assert [event.data.rank for event in history.log if isinstance(event, Settled)] == ["rule"]


def test_a_composed_text_speaks_for_both() -> None:
    history = given(*GRAY).when(judge("b", a="compose", text="Tea, chai", sources="a b"))
    history.then("b llm_merge a").shows({"Tea, chai": "a b"})


@pytest.mark.parametrize(
    ("unavailable", "told", "face"),
    [
        ("keep", "b fallback_keep", None),
        ("reject", "b fallback_reject a", "Tea"),
        ("supersede", "b fallback_supersede a", "Chai"),
    ],
)
def test_a_missing_judge_means_what_the_policy_says(
    unavailable: str, told: str, face: str | None
) -> None:
    history = given(*GRAY, policy=policy(unavailable=unavailable))
    history.when(judge("b", a="unavailable")).then(told)
    history.shows({face: "a b"} if face else {"Tea": "a", "Chai": "b"})


def test_an_unusable_answer_keeps_whatever_the_fallback_is() -> None:
    history = given(*GRAY, policy=policy(unavailable="reject"))
    history.when(judge("b", a="unusable")).then("b llm_keep")


def test_the_first_settling_wins() -> None:
    history = given(*GRAY, judge("b", a="same"))
    history.when(judge("b", a="different")).then("refused not_pending").shows({"Tea": "a b"})


def test_the_same_verdict_twice_is_once() -> None:
    given(*GRAY).when(judge("b", a="same")).again().then()


def test_the_stream_does_not_wait() -> None:
    history = given(*GRAY, say("c", "Chai"), say("d", "Mate", {"b": KEEP}))
    history.shows({"Tea": "a", "Chai": "b c d"})
    history.when(judge("b", a="same")).shows({"Tea": "a b c d"})


def test_different_is_a_separation_of_the_judges_rank() -> None:
    history = given(*GRAY, judge("b", a="different"))
    held = separated(history, "a", "b")
    assert held is not None
    assert held.rank == "judge"


def test_different_and_same_in_one_answer() -> None:
    history = given(*TWO_ASKED).when(judge("c", a="different", b="same"))
    history.then("c llm_reject b").shows({"Tea": "a", "Milk": "b c"})
    assert separated(history, "a", "c")


def test_different_and_same_of_one_memory_contradict_and_wait() -> None:
    history = given(*TWO_ASKED, merge("a", "b"))
    history.when(judge("c", a="different", b="same")).then("refused separated")
    history.shows({"Tea": "a b", "Chai": "c"})
    history.when(unmerge("b")).then("reversed b a", "c llm_reject b")
    history.shows({"Tea": "a", "Milk": "b c"})


def test_what_is_said_twice_does_not_hide_what_is_said_after_it() -> None:
    history = given(say("a", "Tea"), say("b", "Milk"), say("d", "Mate"))
    history.do(say("c", "Chai", {"a": ASK, "b": 0.75, "d": 0.72}))
    history.when(judge("c", b="different")).then("refused pending")
    history.when(judge("c", b="different", d="same")).then("refused pending")
    history.when(judge("c", a="different")).then("c llm_reject d")


def test_a_verdict_about_a_pair_that_nobody_asked_about_is_refused() -> None:
    history = given(*GRAY, say("c", "Milk"))
    history.when(judge("b", c="same")).then("refused not_asked")
    history.when(judge("b", nobody="different")).then("refused not_asked")
    history.when(judge("b", a="same")).then("b llm_reject a")


def test_a_verdict_about_an_unknown_candidate_is_refused() -> None:
    given().when(judge("a", b="same")).then("refused unknown_candidate")


def test_a_verdict_about_a_candidate_that_was_never_pending_is_refused() -> None:
    given(say("a", "Tea")).when(judge("a", b="same")).then("refused not_pending")


def test_a_verdict_waits_while_one_of_the_pair_is_retracted() -> None:
    history = given(*GRAY, retract("a"))
    history.when(judge("b", a="same")).then("refused not_living").shows({"Chai": "b"})
    history.when(restore("a")).then("restored a", "b llm_reject a").shows({"Tea": "a b"})


def test_a_verdict_on_a_pair_that_a_person_separated_changes_nothing() -> None:
    history = given(*TWO_ASKED, separate("a", "c"))
    history.when(judge("c", a="same")).then("refused separated")
    history.when(judge("c", b="update")).then("c superseded b")


def test_separating_all_that_was_asked_settles_too() -> None:
    given(*GRAY).when(separate("a", "b")).then("separated b a", "b llm_keep")
    history = given(*TWO_ASKED, separate("a", "c")).then("separated c a")
    history.when(separate("b", "c")).then("separated c b", "c llm_keep")


def test_a_persons_join_settles_the_question() -> None:
    history = given(*TWO_ASKED, merge("a", "c"))
    history.when(judge("c", b="same")).then("refused not_pending").shows(
        {"Tea": "a c", "Milk": "b"}
    )


def test_a_verdict_blocked_by_a_merge_is_resumed_by_the_unmerge() -> None:
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
    )
    history.when(judge("c", a="same")).then("refused separated")
    history.shows({"Tea": "a x", "Chai": "c"})
    history.when(unmerge("x")).then("reversed x a", "c llm_reject a")
    history.shows({"Tea": "a c", "Mate": "x"})
    history.again().then()


def test_a_resumed_verdict_settles_no_earlier_than_what_freed_it() -> None:
    """Whatever the clock says meanwhile: within an owner the recorded time never goes back."""
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
        judge("c", a="same"),
    )
    history.now -= timedelta(hours=1)
    history.when(unmerge("x")).then("reversed x a", "c llm_reject a")
    times = [event.time for event in history.log]
    assert times == sorted(times)


def test_a_resumed_verdict_settles_as_what_it_was_and_by_whom() -> None:
    """Of its rank, with who said it and why: also after a start, from the log alone."""
    said = {"rank": "review", "actor": "a stronger model", "because": "the same drink"}
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
    )

    def review(history: History) -> Settle:
        verdict = judge("c", a="same")(history)
        assert isinstance(verdict, Settle)
        return verdict.model_copy(update=said)

    history.when(review)
    history.then("refused separated")
    history.ledger = Ledger(history.owner_id)
    for event in history.log:
        evolve(history.ledger, decode(encode(event)))
    history.when(unmerge("x")).then("reversed x a", "c llm_reject a")
    settled = history.new[-1]
    assert isinstance(settled, Settled)
    assert {name: getattr(settled.data, name) for name in said} == said


@pytest.mark.parametrize("named", [True, False])
def test_a_resumed_verdict_names_the_request_that_freed_it(named: bool) -> None:
    """Where a command belongs to no request, its event."""
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
        judge("c", a="same"),
    )
    history.when(for_request("the request", unmerge("x")) if named else withdraw("x", "c"))
    freed_by, settled = history.new
    assert isinstance(settled, Settled)
    assert settled.data.cause == ("the request" if named else freed_by.id)


def test_resumed_verdicts_settle_in_the_order_in_which_they_came() -> None:
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        say("d", "Cha", {"a": ASK}),
        *(separate("x", name) for name in "cd"),
        separate("c", "d"),
        judge("d", a="same"),
        judge("c", a="same"),
    )
    history.when(unmerge("x")).then("reversed x a", "d llm_reject a")
    history.shows({"Tea": "a d", "Mate": "x", "Chai": "c"})
    history.when(unmerge("d")).then("reversed d a", "c llm_reject a")


def test_every_kept_verdict_may_settle_not_the_last_alone() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Milk"),
        say("x", "Mate", {"a": KEEP}),
        say("y", "Cream", {"b": KEEP}),
        say("c", "Chai", {"a": ASK, "b": 0.75}),
        separate("x", "c"),
        separate("y", "c"),
        judge("c", a="same"),
        judge("c", b="same"),
    )
    history.when(unmerge("x")).then("reversed x a", "c llm_reject a")
    history.when(unmerge("y")).then("reversed y b")


def test_a_fallback_that_was_blocked_is_resumed_too() -> None:
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
        judge("c", a="unavailable"),
        policy=policy(unavailable="reject"),
    )
    history.when(unmerge("x")).then("reversed x a", "c fallback_reject a")


def test_a_verdict_for_a_pair_that_is_one_memory_waits() -> None:
    history = given(*GRAY, say("c", "Chai"), merge("a", "c"))
    history.when(judge("b", a="same")).then("refused not_pending").shows({"Tea": "a b c"})
    history.when(unmerge("c", "a")).then("reversed c a").shows({"Tea": "a", "Chai": "b c"})
    history.when(reinstate("c", "a")).shows({"Tea": "a b c"})


def test_a_verdict_joins_nothing_once_another_word_keeps_the_pair_one_memory() -> None:
    """Had nobody said the first, it had joined before the second was said (L2's exception)."""
    history = given(*GRAY, say("c", "Mate", {"a": KEEP}), merge("a", "b"))
    history.when(judge("b", a="same")).then("refused not_pending")
    history.when(merge("b", "c")).when(withdraw("a", "b")).then("withdrawn b a")
    history.shows({"Chai": "a b c"})


def test_a_verdict_joins_nothing_once_the_text_that_was_compared_has_left() -> None:
    """Had nobody merged the two, it had joined while that text spoke (L2's exception)."""
    history = given(say("a", "Tea"), update("a", "u", "Milk"), say("b", "Chai", {"a": ASK}))
    history.when(merge("a", "b")).when(judge("b", a="same", speaker="u"))
    history.then("refused not_pending")
    history.when(unmerge("u")).when(withdraw("a", "b")).then("withdrawn b a")
    history.shows({"Tea": "a", "Milk": "u", "Chai": "b"})
    assert history.ledger.entries[history.id("b")].open == (history.id("a"),)


def test_a_verdict_that_came_before_the_retraction_joins_once_it_is_free() -> None:
    """As it had joined at once, had the two never been held apart."""
    history = given(
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
        judge("c", a="same"),
        retract("a"),
    )
    history.when(unmerge("x")).then("reversed x a", "c llm_reject a")


def test_a_composed_text_waits_for_the_answer_about_a_better_neighbour() -> None:
    history = given(*TWO_ASKED)
    history.when(judge("c", b="compose", text="Milk or chai", sources="b c"))
    history.then("refused pending").shows({"Tea": "a", "Milk": "b", "Chai": "c"})
    history.when(judge("c", a="different")).then("c llm_merge b")
    history.shows({"Tea": "a", "Milk or chai": "b c"})


def test_a_composed_text_that_cannot_be_kept_keeps_both_whatever_holds_joins_back() -> None:
    """It would join nobody, so no separation is in its way: late equals at once (law L2)."""
    history = given(
        say("m", "Milk"),
        say("a", "Tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Chai", {"a": ASK}),
        separate("x", "c"),
    )
    history.when(judge("c", a="compose", text="Milk", sources="a c")).then("c llm_keep")
    history.when(unmerge("x")).then("reversed x a")
    assert not history.ledger.entries[history.id("c")].pending


def test_a_late_verdict_comes_before_what_happened_to_its_own_memory_meanwhile() -> None:
    history = given(*GRAY, say("c", "Mate", {"b": TAKE})).shows({"Tea": "a", "Mate": "b c"})
    history.when(judge("b", a="same")).shows({"Mate": "a b c"})
