"""Forgetting by intent: a memory with all its wordings, and exactly back (docs/design.md)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from palimpsest.contracts.candidate import DEFAULT_NAMESPACE
from palimpsest.contracts.events import Decided, Embedded, EmbeddedData
from palimpsest.contracts.wire import encode
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.forget import OF_NO_PREVIEW
from palimpsest.streams.core.version import token_of_each, version_of, versions_of
from tests.streams.core.spec import (
    ASK,
    KEEP,
    ZONES,
    History,
    Step,
    forget,
    given,
    judge,
    merge,
    policy,
    reinstate,
    restore,
    say,
    separate,
    undo,
    unmerge,
    update,
    vector,
)

JOB = (say("google", "Google"), update("google", "meta", "Meta"))


def gone(*steps: Step) -> tuple[Step, ...]:
    return (*JOB, forget("google"), *steps)


def test_a_memory_is_forgotten_with_all_its_wordings() -> None:
    given(*JOB, forget("meta")).then("retracted google", "retracted meta").shows({})


def test_no_update_is_undone_by_it() -> None:
    history = given(*gone())
    assert history.join("meta").standing


def test_a_plan_is_compared_with_what_the_memories_are_now() -> None:
    history = given(*JOB, say("tea", "Tea"))
    token = versions_of([history.memory("google"), history.memory("tea")])
    history.when(say("else", "Elsewhere"))
    history.when(update("tea", "mate", "Mate"))
    history.when(forget("google", "tea", expect=token)).then("refused moved_on")
    assert history.detail() == OF_NO_PREVIEW
    history.when(forget("google", expect="made-up")).then("refused moved_on")
    assert history.detail() == OF_NO_PREVIEW
    each = token_of_each([version_of(history.memory("google")), version_of(history.memory("tea"))])
    history.when(update("tea", "chai", "Chai"), forget("google", "tea", expect=each))
    tea = history.memory("tea").id
    assert history.detail().startswith(
        f"changed since the token was made, or not covered by it: {tea}"
    )
    token = versions_of([history.memory("google")])
    history.when(say("more", "More"), forget("meta", expect=token))
    history.then("retracted google", "retracted meta")


def test_forgetting_twice_is_refused() -> None:
    given(*gone(forget("google"))).then("refused retracted_already")


def test_allow_stores_the_text_as_new() -> None:
    history = given(*gone(say("again", "Google"))).then("again stored").shows({"Google": "again"})
    history.when(say("twice", "google")).then("twice hash_exact again")


def test_refuse_records_that_it_came_and_nothing_of_its_text() -> None:
    history = given(*JOB, forget("google", again="refuse"), say("again", "META"))
    history.then("refused forgotten").shows({})
    assert not any(b"META" in encode(event) for event in history.new)
    history.again().then()


def test_ask_has_it_wait_for_a_person() -> None:
    history = given(*JOB, forget("google", again="ask"), say("again", "Google"))
    history.then("again pending").shows({})
    history.when(restore("again")).then("restored again").shows({"Google": "again"})


def waits_for(history: History) -> list[str]:
    """Of whose forgetting the last newcomer says that it waits."""
    (event,) = history.new
    assert isinstance(event, Decided)
    assert event.data.withheld == "forgetting"
    return [history.name(neighbour.candidate_id) for neighbour in event.data.evidence.neighbours]


def test_who_waits_has_nobody_else_wait() -> None:
    history = given(*JOB, forget("google", again="ask"), say("again", "Google"))
    assert waits_for(history) == ["google"]
    history.when(say("once more", "Google")).then("once more pending")
    assert waits_for(history) == ["google"]


def test_the_latest_forgetting_of_a_text_stands_in_its_way() -> None:
    history = given(
        say("a", "Tea"),
        forget("a"),
        say("b", "Tea"),
        forget("b"),
        restore("a"),
        forget("a", again="ask"),
    )
    history.when(say("again", "Tea")).then("again pending")
    assert waits_for(history) == ["a"]


@pytest.mark.parametrize("names", [("x", "y"), ("y", "x")])
def test_of_two_forgotten_as_near_a_rewording_waits_for_the_earlier(names: tuple[str, str]) -> None:
    gone = (say("x", "Tea"), say("y", "Chai"), forget("x", "y", again="ask"))
    history = given(*gone, say("again", "Mate", rewords=dict.fromkeys(names, KEEP)))
    assert waits_for(history) == ["x", "y"]


def test_texts_too_short_for_the_cosine_check_reword_nothing() -> None:
    long_only = policy(ZONES.model_copy(update={"min_characters": 4}))
    history = given(say("a", "Chai"), forget("a", again="ask"), policy=long_only)
    history.when(say("b", "Tea", rewords={"a": KEEP})).then("b stored")
    history.when(say("c", "Mate", rewords={"a": KEEP})).then("c pending")


def test_a_forgotten_text_is_compared_again_once_it_has_its_vector() -> None:
    history = given(say("a", "Tea"), forget("a", again="ask"), say("b", "Chai"), forget("b"))
    guarded = history.ledger.scope(DEFAULT_NAMESPACE).forgotten
    assert [text for _, text in guarded] == ["Tea"]
    for name in "ab":
        data = EmbeddedData(candidate_id=history.id(name), vector=vector(1.0, 2.0))
        evolve(
            history.ledger,
            Embedded(
                id=history.fresh(),
                subject=history.id(name),
                time=history.now,
                partitionkey=history.owner_id,
                data=data,
            ),
        )
    assert [text for _, text in guarded] == ["Tea", "Tea"]


REWORDED = (*JOB, forget("google", again="ask"), say("again", "At Google", rewords={"google": ASK}))


def open_about(history: History) -> tuple[str, ...]:
    """Whom the rewording is compared with next."""
    return history.ledger.entries[history.id("again")].open


def test_a_rewording_waits_too_and_is_apart_once_a_person_lets_it_in() -> None:
    history = given(*REWORDED)
    history.then("again pending").shows({})
    assert open_about(history) == (), "nobody is asked about who is not living"
    history.when(restore("again")).then("restored again").shows({"At Google": "again"})
    assert open_about(history) == (), "what was forgotten is asked about by nobody"


def test_a_rewording_waits_whatever_the_guard_or_its_category_says() -> None:
    history = given(*JOB, forget("google", again="ask"), policy=policy(protected=("gotcha",)))
    history.when(say("again", "At Google", rewords={"google": KEEP}, category="gotcha"))
    history.then("again pending").shows({})


def test_an_agent_does_not_update_to_a_rewording_that_a_person_does() -> None:
    history = given(say("tea", "Tea"), *JOB, forget("google", again="ask"))
    history.when(update("tea", "again", "At Google", rank="agent", rewords={"google": ASK}))
    history.then("refused forgotten").shows({"Tea": "tea"})
    history.when(update("tea", "again", "At Google", rewords={"google": ASK}))
    history.then("again superseded tea")


def test_an_agents_update_that_is_as_near_to_its_memory_rewords_nothing() -> None:
    near = (say("tea", "Tea"), say("car", "Car"), *JOB, forget("google", again="ask"))
    rewords = {"google": 0.93}
    for sees in ({"tea": 0.92, "car": 0.99}, {}):
        history = given(*near)
        said = update("tea", "x", "Teas", rank="agent", sees=sees, rewords=rewords)
        history.when(said).then("refused forgotten")
    history = given(*near)
    said = update("tea", "x", "Teas", rank="agent", sees={"tea": 0.93}, rewords=rewords)
    history.when(said).then("x superseded tea")
    far = update("tea", "y", "Mate", rank="agent", rewords={"google": 0.69})
    history.when(far).then("y superseded tea")


def test_what_is_under_the_zones_is_no_rewording() -> None:
    history = given(*JOB, forget("google", again="ask"))
    history.when(say("tea", "Tea", rewords={"google": 0.69})).then("tea stored")


def test_who_joins_somebody_living_as_near_does_not_wait() -> None:
    near = (say("tea", "Tea"), *JOB, forget("google", again="ask"))
    history = given(*near, say("x", "Teas", {"tea": KEEP}, rewords={"google": KEEP}))
    history.then("x auto_reject tea")
    history = given(*near, say("x", "Teas", {"tea": KEEP}, rewords={"google": 0.93}))
    history.then("x pending").shows({"Tea": "tea"})


def test_the_judge_is_asked_once_a_rewording_and_what_it_rewords_are_back() -> None:
    history = given(*REWORDED, restore("google"), restore("again"))
    assert open_about(history) == (history.id("google"),)
    history.when(judge("again", google="same")).then("again llm_reject google")


def test_a_rewording_of_what_waits_does_not_wait() -> None:
    """What waits was never forgotten by anybody: meaning does not spread from it."""
    history = given(*REWORDED)
    assert [text for _, text in history.ledger.scope("default").forgotten] == ["Google", "Meta"]
    history.when(say("third", "AT GOOGLE")).then("third pending")


def test_what_happened_before_the_forgetting_is_refused() -> None:
    history = given(*JOB, forget("google", earlier="refuse"))
    history.when(say("before", "Google", occurred_at="2020-01-01T00:00:00Z"))
    history.then("refused forgotten")
    history.when(say("since", "Google")).then("since stored")


def test_what_happened_in_the_moment_of_the_forgetting_is_not_before_it() -> None:
    history = given(*JOB, forget("google", earlier="refuse"))
    moment = history.new[-1].time
    just_before = moment - timedelta(microseconds=1)
    history.when(say("before", "Google", occurred_at=just_before.isoformat()))
    history.then("refused forgotten")
    history.when(say("then", "Google", occurred_at=moment.isoformat())).then("then stored")


def test_an_agent_does_not_update_to_it() -> None:
    other = (forget("google", again="ask"), say("tea", "Tea"))
    history = given(*JOB, *other).when(update("tea", "x", "Meta", rank="agent"))
    history.then("refused forgotten")
    history.when(update("tea", "y", "Meta")).shows({"Meta": "tea y"})


def test_restoring_is_exact() -> None:
    keep = say("inc", "Google Inc", {"google": KEEP})
    history = given(say("google", "Google"), keep, unmerge("inc"), forget("google"))
    history.when(restore("google")).then("restored google")
    history.shows({"Google": "google", "Google Inc": "inc"})


def test_restoring_reinstates_no_update_that_was_undone_meanwhile() -> None:
    history = given(*gone(undo("meta"), restore("google"), restore("meta")))
    history.then("restored meta").shows({"Google": "google", "Meta": "meta"})


def test_reinstating_an_update_restores_no_text_that_was_forgotten_before() -> None:
    history = given(*gone(undo("meta")))
    history.when(reinstate("meta")).then("reinstated meta google").shows({})
    history.when(restore("google"), restore("meta")).shows({"Meta": "google meta"})


def test_nor_where_its_memory_was_held_together_by_another_join() -> None:
    held = (*JOB, say("again", "Google"), merge("again", "meta"), forget("google"))
    history = given(*held, unmerge("meta"), say("new", "Meta"))
    history.when(reinstate("meta")).then("reinstated meta google").shows({"Meta": "new"})


def test_a_twin_that_came_meanwhile_joins_in_the_same_command() -> None:
    history = given(*gone(say("again", "Google")), restore("google"))
    history.then("again manual_join google", "restored google")
    history.when(restore("meta")).then("restored meta")
    history.shows({"Meta": "google meta again"})


def test_who_said_a_composed_text_meanwhile_joins_when_it_would_speak_again() -> None:
    composed = judge("mate", tea="compose", text="Tea and mate", sources="tea mate")
    history = given(say("tea", "Tea"), say("mate", "Mate", {"tea": ASK}), composed, forget("tea"))
    history.when(say("again", "Tea and mate"), restore("mate"), restore("tea"))
    history.then("again manual_join tea", "restored tea").shows({"Tea and mate": "tea mate again"})


def test_what_waited_because_of_it_joins_too() -> None:
    history = given(*JOB, forget("google", again="ask"), say("again", "Google"))
    history.when(restore("google"), restore("meta"), restore("again"))
    history.then("again manual_join google", "restored again")
    history.shows({"Meta": "google meta again"})


def test_who_was_separated_meanwhile_keeps_it_from_coming_back() -> None:
    history = given(*gone(say("again", "Google"), separate("again", "meta")))
    history.when(restore("google")).then("refused separated")


def test_a_composed_text_that_cannot_come_back_leaves_its_sources_forgotten() -> None:
    composed = judge("mate", tea="compose", text="Tea and mate", sources="tea mate")
    history = given(say("tea", "Tea"), say("mate", "Mate", {"tea": ASK}), composed, forget("tea"))
    history.do(say("again", "Tea and mate"), restore("mate"), separate("again", "tea"))
    history.when(restore("tea")).then("refused separated")
    history.shows({"Tea and mate": "again", "Mate": "mate"})
    assert not history.ledger.entries[history.id("tea")].living
