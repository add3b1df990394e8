"""A candidate's first decision (docs/design.md)."""

from __future__ import annotations

import pytest

from palimpsest.contracts.events import Decided
from palimpsest.contracts.policy import (
    CosineCheck,
    Policy,
    RecentCheck,
    SessionCheck,
    Similar,
    TokenCheck,
    Zone,
)
from palimpsest.streams.core.skips import skipped_for
from tests.streams.core.spec import (
    ASK,
    KEEP,
    PLAIN,
    TAKE,
    ZONES,
    History,
    forget,
    given,
    judge,
    merge,
    policy,
    retract,
    say,
    unmerge,
)

TOKENS = TokenCheck(check="tokens", threshold=0.85, guard=False)


def test_nothing_near_is_stored() -> None:
    given().when(say("a", "Tea")).then("a stored").shows({"Tea": "a"})


@pytest.mark.parametrize(
    ("cosine", "decision"),
    [
        (0.95, "b superseded a"),
        (0.9499, "b auto_reject a"),
        (0.9, "b auto_reject a"),
        (0.8999, "b pending"),
        (0.7, "b pending"),
        (0.6999, "b stored"),
    ],
)
def test_thresholds_are_inclusive_upward(cosine: float, decision: str) -> None:
    given(say("a", "Tea")).when(say("b", "Chai", {"a": cosine})).then(decision)


@pytest.mark.parametrize(("jaccard", "decision"), [(0.85, "token_reject a"), (0.8499, "stored")])
def test_the_token_threshold_is_inclusive(jaccard: float, decision: str) -> None:
    tokens = policy(TOKENS)
    given(say("a", "Tea"), policy=tokens).when(say("b", "T", words={"a": jaccard})).then(
        f"b {decision}"
    )


def test_a_newcomer_joins_the_best() -> None:
    history = given(say("a", "Tea"), say("b", "Coffee"))
    history.when(say("c", "Mocha", {"a": 0.91, "b": 0.93})).then("c auto_reject b")


@pytest.mark.parametrize("sees", [{"a": KEEP, "b": KEEP}, {"b": KEEP, "a": KEEP}])
def test_ties_go_to_the_earlier_candidate(sees: dict[str, float]) -> None:
    history = given(say("a", "Tea"), say("b", "Coffee"))
    history.when(say("c", "Mocha", sees)).then("c auto_reject a")


def test_the_judge_is_handed_the_best_gray_neighbours() -> None:
    history = given(*(say(name, name) for name in "abcd"), policy=policy(neighbours=2))
    history.when(say("e", "e", {"a": 0.71, "b": 0.8, "c": 0.8, "d": 0.75})).then("e pending")
    assert asked(history) == ["b", "c"]


def asked(history: History) -> list[str]:
    (event,) = history.new
    assert isinstance(event, Decided)
    return [history.name(candidate) for candidate in event.data.evidence.asked]


PROVEN = policy(
    CosineCheck(
        check="cosine",
        zones=(Zone(at_least=0.8, action="superseded"), Zone(at_least=0.7, action="pending")),
        near_identical=0.4,
    )
)
"""What the guard accepts joins from .4 on; only the highest zone decides otherwise."""


@pytest.mark.parametrize(
    ("text", "cosine", "decision"),
    [
        ("Likes tea", 0.8, "superseded a"),
        ("Likes tea", 0.79, "auto_reject a"),
        ("Likes tea", 0.5, "auto_reject a"),
        ("Likes tea", 0.4, "auto_reject a"),
        ("Likes tea", 0.39, "stored"),
        ("Likes coffee", 0.7, "pending"),
        ("Likes coffee", 0.69, "stored"),
        ("User likes 2 teas", 0.69, "stored"),
    ],
)
def test_what_the_guard_accepts_joins_below_the_zones(
    text: str, cosine: float, decision: str
) -> None:
    given(say("a", "User likes tea."), policy=PROVEN).when(say("b", text, {"a": cosine})).then(
        f"b {decision}"
    )


def test_the_evidence_says_which_of_them_the_guard_did_not_accept() -> None:
    history = given(say("a", "User likes tea."), policy=PROVEN)
    history.when(say("b", "Likes coffee", {"a": 0.69}))
    (event,) = history.new
    assert isinstance(event, Decided)
    [neighbour] = event.data.evidence.neighbours
    assert (neighbour.near_identical, neighbour.cues) == (False, ())
    assert event.data.evidence.guard is not None


def test_the_guard_looks_past_a_nearer_neighbour_that_it_does_not_accept() -> None:
    history = given(say("a", "User likes tea."), say("b", "User loves tea."), policy=PROVEN)
    history.when(say("c", "Likes tea", {"b": 0.6, "a": 0.5})).then("c auto_reject a")


def test_a_forgotten_text_is_not_said_again_in_an_edit_of_it() -> None:
    history = given(say("a", "User likes tea."), forget("a", again="ask"), policy=PROVEN)
    history.when(say("b", "Likes tea", rewords={"a": 0.5})).then("b pending")
    history.when(say("c", "Likes coffee", rewords={"a": 0.5})).then("c stored")


def test_what_the_guard_stops_is_handed_to_the_judge() -> None:
    zones = (Zone(at_least=0.9, action="auto_reject", guard=True),)
    guarded = policy(CosineCheck(check="cosine", zones=zones))
    history = given(say("a", "Ada has 3 cats"), policy=guarded)
    history.when(say("b", "Ada has 4 cats", {"a": 0.99})).then("b pending")
    assert asked(history) == ["a"]
    history.when(say("c", "Ada has 3 cats.", {"a": 0.99})).then("c auto_reject a")


def test_what_the_guard_stops_does_not_stop_the_next_best() -> None:
    zones = (Zone(at_least=0.9, action="auto_reject", guard=True),)
    guarded = policy(CosineCheck(check="cosine", zones=zones))
    history = given(say("a", "Ada has 3 cats"), say("b", "Ada has 4 cats"), policy=guarded)
    history.when(say("c", "Ada has 4 cats.", {"a": 0.99, "b": 0.95})).then("c auto_reject b")


@pytest.mark.parametrize(
    ("search", "near", "told"),
    [
        ("memories", "b", "c auto_reject b"),
        ("memories", "a", "c pending"),
        ("candidates", "b", "c pending"),
    ],
)
def test_the_guard_compares_the_face_with_who_speaks_alone(
    search: str, near: str, told: str
) -> None:
    """Who does not speak, such as a wording that a person displaced, is compared as it is."""
    zones = (
        Zone(at_least=0.9, action="auto_reject", guard=True),
        Zone(at_least=0.7, action="pending"),
    )
    guarded = policy(CosineCheck(check="cosine", zones=zones), search=search)
    history = given(
        say("a", "Ada has a cat"),
        say("b", "Ada has 2 cats", {"a": 0.8}),
        judge("b", a="compose", text="Ada has 3 cats", sources="a b"),
        policy=guarded,
    )
    history.when(say("c", "Ada has 3 cats.", {near: 0.95})).then(told)


def test_an_exact_repeat_joins_the_earliest_of_its_hash_before_every_policy() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"))
    history.when(say("c", "  TEA ", {"b": TAKE})).then("c hash_exact a")
    history.shows({"Tea": "a c", "Chai": "b"})


def test_an_exact_repeat_is_never_embedded() -> None:
    history = given(say("a", "Tea")).when(say("b", "Tea"))
    (event,) = history.new
    assert isinstance(event, Decided)
    assert event.data.content.vector is None


def test_an_exact_repeat_of_a_retracted_text_joins_its_memory() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), retract("b"))
    history.when(say("c", "Chai")).then("c hash_exact b").shows({"Tea": "a c"})


def test_an_exact_repeat_joins_the_earliest_that_is_living() -> None:
    history = given(say("a", "Tea"), say("b", "Tea"), retract("a"), unmerge("b"))
    history.when(say("c", "Tea")).then("c hash_exact b").shows({"Tea": "b c"})


def test_namespaces_are_apart() -> None:
    history = given(say("a", "Tea"))
    history.when(say("b", "Tea", namespace="work")).then("b stored")
    history.when(merge("a", "b")).then("refused two_namespaces")


def test_the_same_candidate_again_gives_no_event() -> None:
    given(say("a", "Tea")).when(say("a", "Tea")).then()


def test_the_same_id_with_other_content_is_invalid_once() -> None:
    history = given(say("a", "Tea"))
    history.when(say("a", "Coffee")).then("invalid id_conflict").shows({"Tea": "a"})
    history.again().then()
    history.when(say("a", "Mocha")).then("invalid id_conflict")


RECENT = policy(RecentCheck(check="recent", seconds=300), ZONES)


@pytest.mark.parametrize(
    ("after", "decision"), [(299, "recent_capture"), (300, "hash_exact"), (0, "recent_capture")]
)
def test_an_exact_repeat_within_the_window_is_a_recent_capture(after: int, decision: str) -> None:
    history = given(say("a", "Tea"), policy=RECENT)
    history.when(say("b", "Tea", after=after)).then(f"b {decision} a")


def test_a_window_may_be_longer_than_any_duration() -> None:
    always = policy(RecentCheck(check="recent", seconds=10**15), ZONES)
    history = given(say("a", "Tea"), policy=always)
    history.when(say("b", "Tea", after=10**8)).then("b recent_capture a")


def bounded(capacity: int) -> Policy:
    return policy(RecentCheck(check="recent", seconds=300, capacity=capacity), ZONES)


def test_a_recent_capture_is_among_the_last_texts_of_the_owner() -> None:
    history = given(say("a", "Tea"), say("b", "Milk", namespace="work"), policy=bounded(2))
    history.when(say("c", "Tea")).then("c recent_capture a")
    history.when(say("d", "Mate")).then("d stored")
    history.when(say("e", "Tea")).then("e hash_exact a")
    history.when(say("f", "Milk", namespace="work")).then("f recent_capture b")


def test_a_recent_capture_is_within_the_window_too() -> None:
    history = given(say("a", "Tea"), policy=bounded(2))
    history.when(say("b", "Tea", after=300)).then("b hash_exact a")


def test_a_text_that_a_repeat_keeps_alive_is_as_recent_as_that_repeat() -> None:
    """Who said it first took it back."""
    history = given(say("a", "Tea"), say("b", "Milk"), say("c", "Tea"), policy=bounded(1))
    history.when(retract("a"), say("d", "Tea")).then("d recent_capture c")


def session_policy(last: int) -> Policy:
    return policy(SessionCheck(check="session", threshold=0.85, last=last, guard=False))


def test_the_session_check_sees_the_own_session_alone() -> None:
    history = given(
        say("a", "Tea", session_id="s"), say("b", "Chai", session_id="t"), policy=session_policy(20)
    )
    history.when(say("c", "Mate", {"a": 0.85, "b": 0.99}, session_id="s"))
    history.then("c session_reject a")
    history.when(say("d", "Milk", {"a": 0.9})).then("d stored")


@pytest.mark.parametrize(("nearest", "decision"), [(1, "stored"), (2, "session_reject a")])
def test_the_session_check_sees_the_nearest_of_the_scope(nearest: int, decision: str) -> None:
    check = SessionCheck(check="session", threshold=0.85, nearest=nearest, guard=False)
    history = given(
        say("a", "Tea", session_id="s"), say("b", "Chai", session_id="t"), policy=policy(check)
    )
    history.when(say("c", "Mate", {"a": 0.85, "b": 0.99}, session_id="s")).then(f"c {decision}")


def test_what_the_session_took_back_is_not_near_to_it_though_another_says_it() -> None:
    check = SessionCheck(check="session", threshold=0.85, nearest=1, guard=False)
    history = given(
        say("a", "Tea", session_id="s"),
        say("b", "Tea", session_id="t"),
        retract("a"),
        policy=policy(check),
    )
    history.when(say("c", "Mate", {"b": 0.99}, session_id="s")).then("c stored")
    history.when(say("d", "Milk", {"b": 0.99}, session_id="t")).then("d session_reject b")


@pytest.mark.parametrize(("jaccard", "decision"), [(0.85, "stored"), (0.8501, "token_reject a")])
def test_an_exclusive_threshold_must_be_exceeded(jaccard: float, decision: str) -> None:
    tokens = policy(TOKENS.model_copy(update={"exclusive": True}))
    given(say("a", "Tea"), policy=tokens).when(say("b", "T", words={"a": jaccard})).then(
        f"b {decision}"
    )


def test_the_session_check_sees_its_last_texts_alone() -> None:
    texts = [say(name, f"Text {name}", session_id="s") for name in "abc"]
    history = given(*texts, policy=session_policy(2))
    history.when(say("d", "Other", {"a": 0.99, "b": 0.9}, session_id="s"))
    history.then("d session_reject b")


def test_what_the_session_took_back_is_one_of_its_last_all_the_same() -> None:
    texts = [say(name, f"Text {name}", session_id="s") for name in "abc"]
    history = given(*texts, retract("c"), policy=session_policy(2))
    history.when(say("d", "Other", {"a": 0.99, "b": 0.9}, session_id="s"))
    history.then("d session_reject b")
    history.when(say("e", "More", {"a": 0.99}, session_id="s")).then("e stored")


def test_what_the_session_took_back_is_none_of_its_texts() -> None:
    """Another session says it still."""
    session = policy(SessionCheck(check="session", threshold=0.85, last=20, guard=False))
    history = given(
        say("a", "Tea", session_id="s"),
        say("b", "Tea", session_id="t"),
        retract("a"),
        policy=session,
    )
    history.when(say("c", "Mate", {"b": 0.99}, session_id="s")).then("c stored")
    history.when(say("d", "Milk", {"b": 0.99}, session_id="t")).then("d session_reject b")


def test_checks_are_asked_in_their_order() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"), policy=policy(TOKENS, ZONES))
    history.when(say("c", "Mate", {"a": KEEP}, words={"b": 0.9})).then("c token_reject b")


PROTECTED = policy(protected=("gotcha",))


def test_protected_categories_are_joined_by_a_person_alone() -> None:
    history = given(say("a", "Tea", category="gotcha"), say("b", "Chai"), policy=PROTECTED)
    history.when(say("c", "Mate", {"a": TAKE, "b": 0.1})).then("c stored")
    history.when(say("d", "Milk", {"b": TAKE}, category="gotcha")).then("d stored")
    history.when(merge("a", "d")).then("d manual_join a")


def test_exact_repeats_of_a_protected_text_are_joined() -> None:
    history = given(say("a", "Tea", category="gotcha"), policy=PROTECTED)
    history.when(say("b", "Tea")).then("b hash_exact a")
    history.when(say("c", "Chai", {"a": TAKE})).then("c stored")


def test_a_text_is_protected_by_a_later_repeat_too() -> None:
    history = given(say("a", "Tea"), say("b", "Tea", category="gotcha"), policy=PROTECTED)
    history.when(say("c", "Chai", {"a": TAKE})).then("c stored")


def test_retracted_neighbours_are_not_chosen() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"), retract("a"))
    history.when(say("c", "Mate", {"a": 0.94, "b": 0.91})).then("c auto_reject b")


def test_short_texts_skip_the_cosine_check_where_the_policy_says_so() -> None:
    long_only = ZONES.model_copy(update={"min_characters": 5})
    history = given(say("a", "Green tea"), policy=policy(long_only))
    history.when(say("b", "Teas", {"a": KEEP})).then("b stored")
    history.when(say("c", "Green", {"a": KEEP})).then("c auto_reject a")


def test_a_threshold_by_namespace() -> None:
    check = CosineCheck(
        check="cosine",
        zones=(Zone(at_least=0.9, action="auto_reject"),),
        namespaces={"decisions": 0.92},
    )
    history = given(say("a", "Tea"), say("b", "Tea", namespace="decisions"), policy=policy(check))
    history.when(say("c", "Chai", {"a": 0.91})).then("c auto_reject a")
    history.when(say("d", "Chai", {"b": 0.91}, namespace="decisions")).then("d stored")


def test_decided_at_never_goes_back() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", after=-3600), say("c", "Mate"))
    times = [event.time for event in history.log]
    assert times == sorted(times)


def test_every_decision_names_its_policy_and_what_was_looked_at() -> None:
    history = given(say("a", "Tea"), say("b", "Chai")).when(say("c", "M", {"b": 0.1, "a": KEEP}))
    (event,) = history.new
    assert isinstance(event, Decided)
    evidence = event.data.evidence
    assert (evidence.policy, evidence.check) == (PLAIN.hash, "cosine")
    assert [history.name(seen.candidate_id) for seen in evidence.neighbours] == ["a", "b"]
    assert event.data.join is not None
    assert event.data.join.similarity == KEEP


def test_similar_facts_are_living_ones() -> None:
    telling = policy().model_copy(update={"similar": Similar(at_least=0.4, most=3)})
    history = given(say("a", "Tea"), say("b", "Chai"), retract("a"), policy=telling)
    (event,) = history.when(say("c", "Mate", {"a": 0.6, "b": 0.5})).new
    assert isinstance(event, Decided)
    assert event.data.evidence.similar == (history.id("b"),)


@pytest.mark.parametrize(("most", "expected"), [(3, "dab"), (2, "da")])
def test_similar_facts_come_most_similar_first_and_of_two_the_earlier(
    most: int, expected: str
) -> None:
    telling = policy().model_copy(update={"similar": Similar(at_least=0.5, most=most)})
    history = given(*(say(name, name) for name in "abcd"), policy=telling)
    seen = say("e", "e", {"c": 0.49, "a": 0.5, "b": 0.4}, words={"b": 0.5, "d": 0.6})
    (event,) = history.when(seen).new
    assert isinstance(event, Decided)
    assert [history.name(one) for one in event.data.evidence.similar or ()] == [*expected]


def test_who_joins_resembles_nobody_else() -> None:
    telling = policy().model_copy(update={"similar": Similar(at_least=0.5, most=3)})
    history = given(say("a", "Tea"), say("b", "Chai"), policy=telling)
    (event,) = history.when(say("c", "Mate", {"a": KEEP, "b": 0.6})).new
    assert isinstance(event, Decided)
    assert event.data.evidence.similar is None


@pytest.mark.parametrize("sees", [{"a": 0.5, "b": 0.5}, {"b": 0.5, "a": 0.5}])
def test_of_neighbours_as_near_the_evidence_names_the_earlier_first(
    sees: dict[str, float],
) -> None:
    history = given(say("a", "Tea"), say("b", "Chai"), say("c", "Milk"))
    (event,) = history.when(say("d", "Mate", {"c": 0.5, **sees}, words={"c": 0.1})).new
    assert isinstance(event, Decided)
    seen = event.data.evidence.neighbours
    assert [history.name(one.candidate_id) for one in seen] == ["c", "a", "b"]


def test_event_ids_are_the_same_in_every_store() -> None:
    steps = [say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"a": ASK})]
    steps.append(unmerge("b"))
    assert [e.id for e in given(*steps).log] == [e.id for e in given(*steps).log]
    slow = History()
    for step in steps:
        slow.now += 1000 * (slow.now - slow.now.replace(second=0))
        slow.do(step)
    assert [e.id for e in slow.log] == [e.id for e in given(*steps).log]


@pytest.mark.parametrize(
    ("decision", "skip"),
    [
        ("stored", None),
        ("pending", None),
        ("hash_exact", "exact"),
        ("recent_capture", "recent"),
        ("token_reject", "semantic"),
        ("session_reject", "semantic"),
        ("auto_reject", "semantic"),
        ("superseded", "semantic"),
    ],
)
def test_each_decision_that_joins_is_a_skip_of_its_kind(decision: str, skip: str | None) -> None:
    assert skipped_for(decision) == skip
