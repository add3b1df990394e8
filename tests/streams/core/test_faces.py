"""The face as a fold over standing joins, and what comes back (docs/design.md, Faces)."""

from __future__ import annotations

from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    Step,
    given,
    judge,
    merge,
    reinstate,
    restore,
    retract,
    say,
    separate,
    unmerge,
    withdraw,
)

MOVE: tuple[Step, ...] = (say("paris", "Paris"), say("berlin", "Berlin", {"paris": TAKE}))


def test_keep_leaves_the_face_to_the_older_part() -> None:
    given(say("a", "Tea"), say("b", "Chai", {"a": KEEP})).shows({"Tea": "a b"})


def test_take_gives_the_face_to_the_newer_part() -> None:
    given(*MOVE).shows({"Berlin": "paris berlin"})


def test_a_displaced_face_comes_back_by_an_exact_repeat() -> None:
    given(*MOVE, say("back", "PARIS")).shows({"PARIS": "paris berlin back"})


def test_it_comes_back_again_and_again() -> None:
    history = given(*MOVE, say("back", "Paris"), say("again", "Berlin"))
    history.shows({"Berlin": "paris berlin back again"})


def test_a_repeat_that_happened_before_the_standing_face_brings_nothing_back() -> None:
    """An old diary is read: she lives in Berlin still."""
    diary = say("diary", "Paris", occurred_at="2020-01-01T00:00:00Z")
    given(*MOVE, diary).shows({"Berlin": "paris berlin diary"})


def test_an_exact_repeat_of_the_face_changes_nothing() -> None:
    given(*MOVE, say("still", "berlin")).shows({"Berlin": "paris berlin still"})


def test_a_text_that_was_kept_out_does_not_repeat_its_way_to_the_face() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Chai"))
    history.shows({"Tea": "a b c"})


def test_a_text_that_was_kept_out_of_a_displaced_face_does_not_either() -> None:
    history = given(*MOVE, say("x", "Lyon", {"paris": KEEP}), say("y", "Lyon"))
    history.shows({"Berlin": "paris berlin x y"})


def test_what_another_part_displaced_does_not_come_back_where_that_part_was_kept_out() -> None:
    history = given(say("rome", "Rome"), *MOVE, merge("rome", "berlin"), say("back", "Paris"))
    history.shows({"Rome": "rome paris berlin back"})


def test_taking_a_displacement_out_lets_the_older_face_speak() -> None:
    given(*MOVE, unmerge("berlin")).shows({"Paris": "paris", "Berlin": "berlin"})


def test_a_repeat_came_back_only_while_it_was_displaced() -> None:
    history = given(*MOVE, say("back", "Paris"), unmerge("berlin"))
    history.shows({"Paris": "paris back", "Berlin": "berlin"})


def test_a_late_verdict_takes_its_place_by_arrival() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": ASK}),
        say("c", "Mate", {"a": TAKE}),
    )
    history.when(judge("b", a="update")).then("b superseded a").shows({"Mate": "a b c"})


def test_a_late_verdict_does_not_displace_a_repeat_that_came_later() -> None:
    history = given(say("a", "Paris"), say("b", "Berlin", {"a": ASK}), say("c", "paris"))
    history.shows({"Paris": "a c", "Berlin": "b"})
    history.when(judge("b", a="update")).shows({"paris": "a b c"})


def test_a_reinstated_join_takes_its_place_by_arrival() -> None:
    history = given(*MOVE, unmerge("berlin"), say("rome", "Rome", {"paris": TAKE}))
    history.when(reinstate("berlin")).shows({"Rome": "paris berlin rome"})


def test_a_persons_join_has_the_place_of_its_event() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"), say("c", "Mate", {"b": TAKE}))
    history.when(merge("a", "b", face="b")).shows({"Mate": "a b c"})
    history.when(say("d", "Milk", {"a": KEEP})).shows({"Mate": "a b c d"})


def test_a_person_says_whose_side_speaks() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"))
    history.when(merge("b", "a")).shows({"Tea": "a b"})
    history.when(unmerge("b")).when(merge("a", "b", face="b")).shows({"Chai": "a b"})
    history.when(merge("a", "b", face="c")).then("refused not_a_face")


def test_a_person_says_which_text_of_one_memory_speaks() -> None:
    history = given(*MOVE, merge("paris", "berlin", face="paris")).shows({"Paris": "paris berlin"})
    history.when(say("back", "Berlin")).shows({"Paris": "paris berlin back"})
    history.when(say("rome", "Rome", {"paris": TAKE})).shows({"Paris": "paris berlin back rome"})
    assert history.ledger.memories()[0].face.contradicts, "what says otherwise waits for review"


def test_what_speaks_already_is_chosen_where_a_person_says_so() -> None:
    history = given(*MOVE, merge("paris", "berlin", face="berlin"), say("back", "Paris"))
    history.shows({"Berlin": "paris berlin back"})


def test_a_choice_inside_a_memory_is_taken_back_as_every_join() -> None:
    history = given(*MOVE, merge("paris", "berlin", face="paris"))
    history.when(withdraw("paris", "berlin")).shows({"Berlin": "paris berlin"})
    history.when(merge("paris", "berlin", face="paris")).shows({"Paris": "paris berlin"})
    history.when(unmerge("berlin")).shows({"Berlin": "paris berlin"})


def test_a_chosen_text_that_is_retracted_gives_way() -> None:
    history = given(*MOVE, merge("paris", "berlin", face="paris"), retract("paris"))
    history.shows({"Berlin": "berlin"})
    history.when(restore("paris")).shows({"Paris": "paris berlin"})


def test_a_choice_of_the_members_own_text_and_not_of_the_side_that_it_came_with() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), say("c", "Mate", {"b": TAKE}))
    history.shows({"Mate": "a b c"}).when(merge("a", "b", face="b")).shows({"Chai": "a b c"})


def test_older_and_newer_go_by_the_candidates_that_the_join_names() -> None:
    history = given(say("a", "Tea"), say("b", "Chai"), say("c", "Mate", {"a": KEEP}))
    history.when(merge("b", "c")).then("c manual_join b").shows({"Chai": "a b c"})


def test_a_retracted_face_gives_way() -> None:
    history = given(*MOVE, retract("berlin")).shows({"Paris": "paris"})
    history.when(restore("berlin")).shows({"Berlin": "paris berlin"})


def test_a_retracted_root_keeps_its_joins_and_its_id() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}), retract("a"))
    history.shows({"Chai": "b"})
    (memory,) = history.ledger.memories()
    assert memory.id == history.id("a")
    history.when(restore("a")).shows({"Tea": "a b"})


def test_a_memory_without_a_living_member_is_not_shown() -> None:
    history = given(say("a", "Tea"), retract("a")).shows({})
    history.when(say("b", "Tea")).then("b hash_exact a").shows({"Tea": "b"})
    history.when(restore("a")).shows({"Tea": "a b"})


def test_a_repeat_that_took_the_face_and_is_retracted_gives_it_back() -> None:
    history = given(*MOVE, say("back", "Paris"), retract("back"))
    history.shows({"Berlin": "paris berlin"})


def test_a_support_moves_the_place_from_which_the_face_goes_on() -> None:
    """The first of two persons' joins goes; a verdict of an earlier place then comes before it."""
    history = given(
        say("x", "Tea"),
        say("y", "Chai"),
        merge("x", "y", face="y"),
        say("p", "Mate", {"x": ASK}),
        say("z", "Milk", {"y": KEEP}),
        merge("x", "z", face="z"),
        unmerge("y", "x"),
    )
    history.shows({"Chai": "x y z", "Mate": "p"})
    history.when(judge("p", x="update")).shows({"Chai": "x y p z"})


def test_separated_candidates_are_not_joined_by_a_late_verdict() -> None:
    history = given(say("a", "Tea"), say("b", "Milk"), say("c", "Chai", {"a": ASK, "b": ASK}))
    history.when(separate("a", "c")).then("separated c a")
    history.when(judge("c", a="same")).then("refused separated")
    history.shows({"Tea": "a", "Milk": "b", "Chai": "c"})


def test_a_newer_value_replaces_the_chosen_text_that_it_was_compared_with() -> None:
    """The judge was asked about another text first, and said that it is a different fact."""
    history = given(
        say("x", "Tea"),
        say("b", "Chai"),
        merge("x", "b", face="b"),
        say("a", "Milk"),
        say("c", "Mate", {"a": 0.85, "b": ASK}),
        judge("c", a="different", b="update"),
    )
    history.shows({"Mate": "x b c", "Milk": "a"})


def test_what_contradicts_a_chosen_text_is_still_to_be_reviewed_when_it_moves_forward() -> None:
    history = given(
        say("x", "Tea"),
        say("b", "Chai"),
        merge("x", "b", face="b"),
        say("d", "Milk", {"b": TAKE}),
    )
    contradicts = (history.join("d").id,)
    assert history.memory("x").face.contradicts == contradicts
    history.do(say("c", "Mate", {"b": ASK}), judge("c", b="update"))
    history.shows({"Mate": "x b d c"})
    assert history.memory("x").face.contradicts == contradicts
