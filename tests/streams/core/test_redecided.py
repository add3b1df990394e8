"""Later decisions as they would have been without a join: reversed, made anew, pending again."""

from __future__ import annotations

from tests.streams.core.spec import (
    ASK,
    KEEP,
    TAKE,
    given,
    judge,
    redecide,
    reinstate,
    say,
    separate,
    separated,
    unmerge,
)

TOOK = (
    say("a", "Lives in Paris"),
    say("b", "Lives in Berlin", {"a": TAKE}),
    say("c", "Lives in Berlin now", {"b": TAKE}),
)


def test_a_consequence_takes_a_join_out_and_separates_nobody() -> None:
    history = given(*TOOK, unmerge("b")).when(unmerge("c", after="b"))
    history.then("reversed (still together) c b")
    assert separated(history, "c", "b") is None


def test_a_redecided_join_has_the_place_of_the_arrival() -> None:
    history = given(*TOOK, say("d", "Has a dog"), unmerge("b"), unmerge("c", after="b"))
    history.when(redecide("c", "superseded", "a", after="b", face="take"))
    history.then("c superseded a").again().then()
    edge = history.join("c", "a")
    assert edge.place == history.ledger.entries[history.id("c")].place
    history.shows({"Lives in Berlin now": "a c", "Lives in Berlin": "b", "Has a dog": "d"})


def test_it_can_be_taken_out_and_put_back_like_any_join() -> None:
    history = given(*TOOK, unmerge("b"), unmerge("c", after="b"))
    history.do(redecide("c", "superseded", "a", after="b", face="take"))
    history.when(unmerge("c", "a")).then("reversed c a")
    history.when(reinstate("c", "a")).then("reinstated c a")


def test_a_decision_may_be_an_open_question_again() -> None:
    history = given(*TOOK, unmerge("b"), unmerge("c", after="b"))
    history.when(redecide("c", "pending", after="b", asks="a")).then("c pending")
    history.when(judge("c", a="same")).then("c llm_reject a")


def test_a_question_that_would_not_have_been_asked_is_closed() -> None:
    history = given(*TOOK, say("d", "Has a dog", {"a": ASK}), unmerge("b"))
    history.when(redecide("d", "stored", after="b")).then("d stored")
    history.when(judge("d", a="same")).then("refused not_pending")


def test_it_is_refused_where_its_own_join_stands() -> None:
    history = given(*TOOK, unmerge("b"))
    history.when(redecide("c", "superseded", "a", after="b")).then("refused standing_already")


def test_separations_bind_it() -> None:
    history = given(*TOOK, unmerge("b"), unmerge("c", after="b"), separate("a", "c"))
    history.when(redecide("c", "superseded", "a", after="b")).then("refused separated")


def test_it_joins_no_memory_with_itself() -> None:
    history = given(*TOOK, say("e", "Lives there", {"c": KEEP}), unmerge("b"))
    history.when(redecide("e", "auto_reject", "c", after="b")).then("refused standing_already")


def test_a_composed_text_belongs_to_those_decided_again_with_it() -> None:
    """Where the join that had composed it is out: else two memories could show one text."""
    history = given(
        say("a", "Likes tea"),
        say("b", "Likes it green", {"a": ASK}),
        say("x", "Drinks tea"),
        say("y", "Drinks it green", {"x": ASK}),
        judge("b", a="compose", text="Green tea", sources="a b"),
        judge("y", x="compose", text="Green tea", sources="x y"),
        unmerge("b"),
    )
    history.do(redecide("y", "llm_merge", "x", after="b", face="text", text="Green tea"))
    history.when(say("z", "Green tea")).then("z hash_exact y")
    history.shows({"Likes tea": "a", "Likes it green": "b", "Green tea": "x y z"})
