"""What counts as an exact repeat under each policy, and what can be done with its join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from palimpsest import Palimpsest, RefusedError
from palimpsest.contracts.event_data import Again
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import JoinSelection
from palimpsest.streams.policies import load_policy

LAMP = "The lamp is Tulip7"
OTHER = {"case": "The lamp is tulip7", "white_space": "The  lamp is Tulip7"}
POWER, PLAIN = "The sample holds 10\u2075 cells", "The sample holds 105 cells"
VERBATIM = ("standard", "layered", "replace-or-merge", "importance")
FOLDED = ("store-time", "namespaced")

Open = Callable[[Policy | str], Palimpsest]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_with(policy: Policy | str) -> Palimpsest:
            path = tmp_path / "store"
            return stack.enter_context(Palimpsest.open(path, policy=policy, by="person"))

        yield open_with


def say(store: Palimpsest, *texts: str) -> list[str]:
    return [str(one.candidate_id) for one in store.submit([_row(text) for text in texts])]


def decide(store: Palimpsest, text: str) -> str | None:
    [outcome] = store.submit([_row(text)])
    return outcome.decision


def _row(text: str) -> dict[str, str]:
    return {"owner_id": "ada", "text": text}


def faces(store: Palimpsest) -> set[str]:
    return {memory["face"] for memory in store.list("ada")["memories"]}


@pytest.mark.parametrize("preset", VERBATIM)
@pytest.mark.parametrize("text", [*OTHER.values()])
def test_other_letters_are_another_text_where_the_policy_is_verbatim(
    opened: Open, preset: str, text: str
) -> None:
    store = opened(preset)
    say(store, LAMP)
    assert decide(store, text) not in ("hash_exact", "recent_capture")


@pytest.mark.parametrize("preset", FOLDED)
@pytest.mark.parametrize("kind", OTHER)
def test_a_folded_repeat_is_a_join_that_names_what_differs(
    opened: Open, preset: str, kind: str
) -> None:
    store = opened(preset)
    _, repeat = say(store, LAMP, OTHER[kind])
    shown = store.show_candidate(repeat)
    assert shown["decision"] in ("hash_exact", "recent_capture")
    assert (shown["evidence"]["check"], shown["evidence"]["differs"]) == ("folded", [kind])
    assert len(store.list("ada")["memories"]) == 1


@pytest.mark.parametrize("preset", [*VERBATIM, *FOLDED])
def test_a_superscript_is_another_number_under_every_preset(opened: Open, preset: str) -> None:
    store = opened(preset)
    say(store, POWER)
    assert decide(store, PLAIN) not in ("hash_exact", "recent_capture")


@pytest.mark.parametrize("preset", FOLDED)
def test_it_holds_while_the_policy_is_switched_off(opened: Open, preset: str) -> None:
    store = opened(load_policy(preset).model_copy(update={"enabled": False}))
    say(store, LAMP)
    assert decide(store, OTHER["case"]) in ("hash_exact", "recent_capture")


def test_a_folded_join_is_taken_out_put_back_and_parted(opened: Open) -> None:
    store = opened("namespaced")
    _, repeat = say(store, LAMP, OTHER["case"])
    decision = store.show_candidate(repeat)["decision_id"]
    store.unmerge(decision_id=decision)
    assert faces(store) == {LAMP, OTHER["case"]}
    assert decide(store, OTHER["case"]) in ("hash_exact", "recent_capture"), "each has its own"
    assert faces(store) == {LAMP, OTHER["case"]}
    store.reinstate(decision)
    assert len(faces(store)) == 1
    assert store.verify()["differences"] == 0


def test_a_verbatim_repeat_stays(opened: Open) -> None:
    store = opened("namespaced")
    _, repeat = say(store, LAMP, f" \u200b{LAMP} ")
    with pytest.raises(RefusedError, match="the same text would live in two"):
        store.unmerge(candidate_id=repeat)


def test_other_texts_are_unmerged_in_bulk_and_a_sentence_start_is_not(opened: Open) -> None:
    store = opened("namespaced")
    say(store, LAMP, LAMP.lower().replace("tulip7", "Tulip7"), *OTHER.values(), LAMP)
    planned = store.reverse(JoinSelection(folded=True), dry_run=True)
    assert {join["newer_text"] for join in planned["joins"]} == set(OTHER.values())
    assert len(store.list("ada")["memories"]) == 1, "a dry run writes nothing"
    made = store.position
    assert (store.status()["joins"], store.status()["folded"]) == (4, len(OTHER))
    store.reverse(JoinSelection(folded=True))
    assert faces(store) == {LAMP, *OTHER.values()}
    assert (store.status()["joins"], store.status()["folded"]) == (2, 0)
    assert store.status(as_of=made)["folded"] == len(OTHER)
    assert store.verify()["differences"] == 0


def test_a_policy_of_before_joins_by_the_search_form_and_says_so(opened: Open) -> None:
    """Its document has no `exact`; its hash stays the same, and its joins can be removed."""
    store = opened(load_policy("standard").model_copy(update={"exact": None}))
    _, plain = say(store, POWER, PLAIN)
    evidence = store.show_candidate(plain)["evidence"]
    assert (evidence["check"], evidence["differs"]) == ("folded", ["compatibility"])
    store.unmerge(candidate_id=plain)
    assert faces(store) == {POWER, PLAIN}


@pytest.mark.parametrize("text", [OTHER["case"], LAMP.replace("lamp", "l\u00e1mp")])
def test_an_update_that_corrects_letters_changes_the_text(opened: Open, text: str) -> None:
    store = opened("namespaced")
    [lamp] = say(store, LAMP)
    store.update(lamp, text)
    assert faces(store) == {text}


@pytest.mark.parametrize("again", ["refuse", "ask"])
@pytest.mark.parametrize(
    "text", [LAMP, LAMP.upper(), f"{LAMP}!", f"\u201c{LAMP}\u201d", LAMP.replace(" ", "\u200b ")]
)
def test_what_was_forgotten_does_not_return_in_other_letters(
    opened: Open, again: Again, text: str
) -> None:
    store = opened("standard")
    [lamp] = say(store, LAMP)
    store.forget([lamp], again=again)
    say(store, text)
    assert faces(store) == set()
