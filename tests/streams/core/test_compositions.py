"""Composed texts: their sources, what happens without one, and their aliases (docs/design.md)."""

from __future__ import annotations

import pytest

from palimpsest.contracts.candidate import DEFAULT_NAMESPACE, MAX_TEXT_BYTES
from palimpsest.contracts.events import Decided, Settled
from palimpsest.streams.core.concatenate import (
    concatenated,
    one_after_the_other,
    recompositions,
)
from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    History,
    Step,
    combine,
    compose,
    given,
    judge,
    merge,
    reinstate,
    restore,
    retract,
    say,
    separate,
    unmerge,
)

COMPOSED: tuple[Step, ...] = (
    say("a", "Likes tea"),
    say("b", "Likes it green", {"a": ASK}),
    judge("b", a="compose", text="Likes green tea", sources="a b"),
)
OF_THREE: tuple[Step, ...] = (
    *COMPOSED,
    say("c", "Likes it hot", {"b": ASK}),
    judge("c", b="compose", text="Likes hot green tea", sources="a b c"),
)


def test_a_composition_speaks_through_its_newest_source() -> None:
    history = given(*OF_THREE).shows({"Likes hot green tea": "a b c"})
    (memory,) = history.ledger.memories()
    assert history.name(memory.face.speaker.id) == "c"


def test_it_stands_while_later_joins_leave_it_the_face() -> None:
    history = given(*COMPOSED, say("c", "Loves tea", {"a": KEEP}))
    history.shows({"Likes green tea": "a b c"})
    history.when(say("d", "Hates tea", {"a": TAKE})).shows({"Hates tea": "a b c d"})


def test_the_sources_of_a_standing_composition_do_not_come_back() -> None:
    history = given(*COMPOSED, say("again", "Likes tea"))
    history.shows({"Likes green tea": "a b again"})


def test_a_displaced_composition_comes_back_by_a_repeat_of_its_text() -> None:
    history = given(*COMPOSED, say("c", "Hates tea", {"a": TAKE}), say("d", "Likes green tea"))
    history.then("d hash_exact b").shows({"Likes green tea": "a b c d"})


def test_what_the_composition_says_again_is_not_displaced_by_it() -> None:
    history = given(
        say("a", "Paris"),
        say("b", "Berlin", {"a": TAKE}),
        say("c", "Berlin first", {"b": ASK}),
        judge("c", b="compose", text="Paris", sources="a b c"),
    )
    (memory,) = history.ledger.memories()
    assert memory.face.hash not in memory.face.displaced


def test_an_exact_repeat_of_a_composed_text_joins_its_newest_source() -> None:
    history = given(*OF_THREE)
    history.when(say("d", "Likes hot green tea ")).then("d hash_exact c")
    history.when(say("e", "Likes hot green tea")).then("e hash_exact d")
    history.shows({"Likes hot green tea": "a b c d e"})


def test_a_repeat_of_a_composed_text_has_its_vector() -> None:
    history = given(*COMPOSED, say("c", "Likes green tea"))
    (event,) = history.new
    assert isinstance(event, Decided)
    assert event.data.content.vector is None
    assert history.ledger.entries[history.id("c")].distinct.vector is not None


def test_without_a_source_the_composition_is_a_take() -> None:
    """Two sources are left and need a new text; the newest of them speaks until then."""
    history = given(*OF_THREE, unmerge("b"))
    history.shows({"Likes tea": "a", "Likes it hot*": "b c"})


def test_a_single_source_that_is_left_needs_no_composition() -> None:
    history = given(*COMPOSED, say("c", "Loves tea", {"b": KEEP}), unmerge("b"))
    history.shows({"Likes tea": "a", "Likes it green": "b c"})


def test_a_retracted_source_takes_the_composition_down() -> None:
    history = given(*COMPOSED, retract("a")).shows({"Likes it green": "b"})
    history.when(restore("a")).shows({"Likes green tea": "a b"})
    history.when(retract("b")).shows({"Likes tea": "a"})


def test_a_recreated_composed_text_stands() -> None:
    history = given(*OF_THREE, unmerge("b"))
    history.when(compose("c", "Likes it hot and green", "b c")).then("composed c b")
    history.shows({"Likes tea": "a", "Likes it hot and green": "b c"})


def test_the_original_stands_again_after_a_reinstatement() -> None:
    history = given(*OF_THREE, unmerge("b"), compose("c", "Likes it hot and green", "b c"))
    history.when(reinstate("b")).shows({"Likes hot green tea": "a b c"})
    history.when(unmerge("b")).shows({"Likes tea": "a", "Likes it hot and green": "b c"})


def to_compose(history: History) -> list[str]:
    """The candidates of which one text is to be composed anew."""
    (lost,) = history.ledger.composing.values()
    return [history.name(source) for source in lost.sources]


def test_where_two_texts_in_a_row_are_lost_one_is_composed_of_everything_left() -> None:
    history = given(
        *OF_THREE,
        say("d", "Likes it strong", {"c": ASK}),
        judge("d", c="compose", text="Likes hot, strong green tea", sources="a b c d"),
        retract("c"),
    )
    history.shows({"Likes it strong*": "a b d"})
    assert to_compose(history) == ["a", "b", "d"]


@pytest.mark.parametrize("gone", ["a", "b", "c", "d"])
def test_whoever_leaves_a_cluster_a_text_is_composed_of_everything_left(gone: str) -> None:
    texts = {"a": "Tea", "b": "Tea, green", "c": "Tea, hot", "d": "Tea, strong"}
    whole = "Hot, strong green tea"
    history = given(
        *(say(name, text) for name, text in texts.items()),
        *(combine(a, b, "llm_merge", text=whole, sources="a b c d") for a, b in ("ab", "bc", "cd")),
    )
    history.shows({whole: "a b c d"})
    left = [name for name in texts if name != gone]
    history.when(retract(gone)).shows({f"{texts[left[-1]]}*": " ".join(left)})
    assert to_compose(history) == left


def test_composing_is_refused_where_nothing_is_needed() -> None:
    history = given(*OF_THREE)
    history.when(compose("c", "Other", "b c")).then("refused not_needed")
    history.when(unmerge("b")).when(compose("b", "Other", "a b")).then("refused not_needed")


def test_composing_is_refused_of_what_is_not_a_living_member() -> None:
    history = given(*OF_THREE, unmerge("b"))
    history.when(compose("c", "Other", "a c")).then("refused unusable_text")
    history.when(compose("c", " ", "b c")).then("refused unusable_text")
    history.when(compose("c", "Other", "")).then("refused unusable_text")
    history.when(compose("c", "Likes tea", "b c")).then("refused unusable_text")


def test_composing_for_a_join_without_a_text_is_refused() -> None:
    history = given(say("a", "Tea"), say("b", "Chai", {"a": KEEP}))
    history.when(compose("b", "Other", "a b")).then("refused unknown_decision")


def test_a_text_of_unknown_sources_or_without_the_newcomer_is_unusable() -> None:
    gray = COMPOSED[:2]
    history = given(*gray).when(judge("b", a="compose", text="Both", sources="a nobody"))
    history.then("b llm_keep")
    given(*gray).when(judge("b", a="compose", text="Both", sources="a")).then("b llm_keep")
    given(*gray).when(judge("b", a="compose", text=" ", sources="a b")).then("b llm_keep")


def test_a_text_that_is_another_candidates_is_unusable() -> None:
    history = given(say("x", "Likes green tea"), *COMPOSED)
    history.then("b llm_keep")


def test_a_text_that_speaks_for_another_memory_is_unusable() -> None:
    """Nobody said it, but it was composed there: two memories would have one face."""
    apart: tuple[Step, ...] = (say("x", "Drinks tea"), say("y", "Green it is", {"x": ASK}))
    history = given(*COMPOSED, *apart)
    history.when(judge("y", x="compose", text="Likes green tea", sources="x y"))
    history.then("y llm_keep")
    history.when(combine("x", "y", text="Likes green tea", sources="x y"))
    history.then("refused unusable_text")
    history.shows({"Likes green tea": "a b", "Drinks tea": "x", "Green it is": "y"})


def test_a_text_that_cannot_stand_stays_with_its_verdict() -> None:
    """Without some join it could: the history told again without that has it (docs/design.md)."""
    history = given(say("a", "Tea"), say("b", "Chai", {"a": ASK}), say("x", "Tea, chai"))
    history.when(judge("b", a="compose", text="Tea, chai", sources="a b")).then("b llm_keep")
    settled = history.log[-1]
    assert isinstance(settled, Settled)
    assert settled.data.composition is not None
    assert settled.data.composition.content.text == "Tea, chai"
    history.shows({"Tea": "a", "Chai": "b", "Tea, chai": "x"})


def test_a_text_that_is_one_of_its_sources_is_usable() -> None:
    history = given(*COMPOSED[:2]).when(judge("b", a="compose", text="likes tea", sources="a b"))
    history.then("b llm_merge a").shows({"likes tea": "a b"})


def test_a_composition_of_a_source_in_another_namespace_is_not_kept() -> None:
    elsewhere = say("o", "Likes it hot", namespace="work")
    history = given(elsewhere, *COMPOSED[:2])
    history.when(judge("b", a="compose", text="Likes hot green tea", sources="a b o"))
    history.then("b llm_keep")


def test_a_composition_whose_sources_are_not_together_joins_and_does_not_stand() -> None:
    """The judge was asked while `a` and `x` were one memory (law L2: late equals at once)."""
    start = (
        say("a", "Likes tea"),
        say("x", "Likes it green", {"a": TAKE}),
        say("c", "Likes it hot", {"a": ASK}),
    )
    verdict = judge("c", a="compose", text="Likes hot green tea", sources="x c")
    at_once = given(*start, unmerge("x"), verdict).then("c llm_merge a")
    late = given(*start, verdict, unmerge("x"))
    at_once.shows({"Likes it hot*": "a c", "Likes it green": "x"})
    assert late.faces() == at_once.faces()


def test_a_cut_that_leaves_the_composed_text_living_on_both_sides_is_refused() -> None:
    history = given(*COMPOSED, say("c", "Likes green tea"))
    history.when(unmerge("c")).then("refused same_text")
    history.when(unmerge("b")).then("reversed b a")
    history.shows({"Likes tea": "a", "Likes it green": "b c"})


@pytest.mark.parametrize(
    ("hides", "back", "shown"),
    [
        (unmerge("b"), reinstate("b"), {"Likes green tea": "a b c"}),
        (unmerge("b"), merge("a", "b"), {"Likes tea": "a b c"}),
        (retract("a"), restore("a"), {"Likes green tea": "a b c"}),
        (
            say("d", "Likes it hot", {"b": TAKE}),
            unmerge("d"),
            {"Likes green tea": "a b c", "Likes it hot": "d"},
        ),
    ],
    ids=["un-merged and reinstated", "merged anew", "retracted and restored", "displaced"],
)
def test_a_repeat_of_a_composed_text_stays_where_that_may_speak_again(
    hides: Step, back: Step, shown: dict[str, str]
) -> None:
    """Apart, it would be a second memory of that text (law L6)."""
    history = given(*COMPOSED, say("c", "Likes green tea"), hides)
    history.when(unmerge("c")).then("refused same_text")
    history.when(back).shows(shown)


def test_two_compositions_in_two_parts_that_a_person_unites() -> None:
    history = given(
        *COMPOSED,
        say("x", "Owns a cat"),
        say("y", "The cat is black", {"x": ASK}),
        judge("y", x="compose", text="Owns a black cat", sources="x y"),
        merge("a", "x", face="x"),
    )
    history.shows({"Owns a black cat": "a b x y"})
    history.when(unmerge("y")).shows({"Owns a cat": "a b x", "The cat is black": "y"})


def test_a_blocked_composition_is_kept_with_its_verdict() -> None:
    history = given(
        say("a", "Likes tea"),
        say("x", "Mate", {"a": KEEP}),
        say("c", "Likes it hot", {"a": ASK}),
        separate("x", "c"),
        judge("c", a="compose", text="Likes hot tea", sources="a c"),
    )
    history.then("refused separated")
    history.when(unmerge("x")).shows({"Likes hot tea": "a c", "Mate": "x"})


def test_a_late_composition_speaks_from_its_newest_source_on() -> None:
    """It was made of the face that stood then, which came after the newcomer that it settles."""
    history = given(
        say("a", "Paris"),
        say("b", "Has a cat", {"a": ASK}),
        say("c", "Berlin", {"a": TAKE}),
        say("d", "Paris"),
    )
    history.shows({"Paris": "a c d", "Has a cat": "b"})
    history.when(judge("b", a="compose", text="Paris, with a cat", sources="d b"))
    history.shows({"Paris, with a cat": "a b c d"})
    history.when(say("e", "Rome", {"a": TAKE})).shows({"Rome": "a b c d e"})


def test_what_stands_behind_a_composed_text_does_not_come_back() -> None:
    """Not even where it brought a displaced face back before the text was composed."""
    history = given(
        say("a", "Tea"),
        say("b", "Chai", {"a": ASK}),
        judge("b", a="same"),
        say("c", "Mate", {"a": TAKE}),
        say("d", "Chai"),
    ).shows({"Tea": "a b c d"})
    history.do(
        say("e", "Milk", {"a": ASK}),
        judge("e", a="compose", text="Tea with milk", sources="a e"),
    )
    history.when(say("f", "Chai")).shows({"Tea with milk": "a b c d e f"})


def test_a_source_and_its_repeat_are_one_text_that_is_left() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Chai"),
        say("c", "Mate"),
        say("d", "Tea"),
        combine("a", "c"),
        combine("a", "b", "llm_merge", text="Tea or mate", sources="a d c"),
    ).shows({"Tea or mate": "a b c d"})
    history.when(unmerge("c")).shows({"Chai": "a b d", "Mate": "c"})


def test_a_text_that_is_composed_twice_stays_with_its_first_newest_source() -> None:
    history = given(
        *COMPOSED,
        say("c", "Likes it hot", {"b": ASK}),
        judge("c", b="compose", text="Likes green tea", sources="b c"),
    )
    history.when(say("d", "Likes green tea")).then("d hash_exact b")


def test_a_text_of_the_judge_is_not_put_together_anew_without_it() -> None:
    history = given(*OF_THREE, unmerge("b"))
    assert history.ledger.composing
    assert [*recompositions(history.ledger)] == []


def test_what_is_left_of_a_text_is_put_together_as_it_happened() -> None:
    history = given(
        say("a", "Tea"),
        say("b", "Chai", occurred_at="2025-12-02T00:00:00Z"),
        say("c", "Mate", occurred_at="2025-12-01T00:00:00Z"),
        combine("a", "b"),
        combine("b", "c", "concatenated", text="Mate. Chai. Tea", sources="c b a"),
    )
    history.do(retract("a"))
    (found,) = recompositions(history.ledger)
    assert found.text == "Mate. Chai"
    assert found.sources == (history.id("c"), history.id("b"))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("ä" * (MAX_TEXT_BYTES // 2), True),
        ("ä" * (MAX_TEXT_BYTES // 2) + "a", MAX_TEXT_BYTES % 2 == 1),
    ],
    ids=["as long as a text may be", "a byte longer"],
)
def test_a_text_of_several_is_no_longer_in_bytes_than_any_other(text: str, fits: bool) -> None:
    history = given(say("a", "Tea"), say("b", "Chai"))
    sources = (history.id("a"), history.id("b"))
    made = concatenated(history.ledger, DEFAULT_NAMESPACE, text, sources)
    assert (made is not None) is fits


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        (("Tea", "Chai"), "Tea. Chai"),
        ((" Tea ", " Chai "), "Tea. Chai"),
        (("Tea.", "Chai!", "Mate?", "Milk…", "Cocoa"), "Tea. Chai! Mate? Milk… Cocoa"),
        (("茶。", "咖啡！", "水？", "牛奶"), "茶。 咖啡！ 水？ 牛奶"),
        (("Tea,", "Chai."), "Tea,. Chai."),
    ],
)
def test_texts_are_put_together_as_sentences(texts: tuple[str, ...], whole: str) -> None:
    assert one_after_the_other(texts) == whole
