"""Histories whose undo was once not whole, told twice: with the mistake taken back, and without.

With the default model and the facade, as a person would: each pair of histories has to end alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from palimpsest import Palimpsest
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Speaker
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.policy import Judge, Policy
from palimpsest.contracts.requests import ComposeRequest, JoinSelection, Selection, SettleRequest
from palimpsest.streams.core.questions import compose_question
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.owners import fold_owner
from tests.long import long_but

DOGS = ("Ada has a big dog.", "Ada has a large dog.", "Ada has two large dogs.")
WALKS = (
    "I enjoy long walks with my dog.",
    "I enjoy long walks with my dog. again",
    "I enjoy long walks with my dog?",
)
KEY = "The spare key is under the blue pot."


class OpenStore:
    """One owner's store, whose candidates are named by their texts."""

    def __init__(self, store: Palimpsest) -> None:
        self.store = store
        self.ids: dict[str, str] = {}

    def say(self, text: str, name: str | None = None) -> Any:
        row = {"owner_id": "ada", "text": text, "id": name or text}
        outcome = self.store.submit(row)[0]
        assert outcome.candidate_id is not None
        self.ids.setdefault(text, outcome.candidate_id)
        return outcome

    def settle(
        self, text: str, *answers: tuple[str, Answer], composed: str | None = None
    ) -> str | None:
        """What the judge says of a candidate; the reason where that settles nothing."""
        said = tuple(Verdict(neighbour_id=self.ids[one], answer=a) for one, a in answers)
        request = SettleRequest(
            request_id=str(uuid4()),
            candidate_id=self.ids[text],
            verdicts=said,
            composed=composed,
        )
        [answer] = self.store.settle([request])
        return answer.reason if isinstance(answer, RefusedError) else None

    def compose(self, text: str, of: list[str]) -> None:
        """The answer to the only question for a text that lost a source, which names these."""
        ledger = fold_owner(self.store.reader.log, "ada")
        [decision_id] = ledger.composing
        question = compose_question(ledger, decision_id, self.store.policy)
        assert question is not None
        assert [source.text for source in question.sources] == of
        sources = tuple(source.candidate_id for source in question.sources)
        self.store.compose(
            ComposeRequest(
                request_id=str(uuid4()), decision_id=decision_id, text=text, sources=sources
            )
        )

    def memories(self) -> list[list[str]]:
        rows = self.store.sql("SELECT list(text) AS texts FROM candidates GROUP BY memory_id")
        return sorted(sorted(row["texts"]) for row in rows)

    def faces(self) -> dict[str, bool]:
        rows = self.store.sql("SELECT face, needs_composition FROM memories")
        return {row["face"]: row["needs_composition"] for row in rows}

    def waits(self) -> tuple[int, int, int]:
        """What waits as the status has it, for the judge, and in the queue of reviews."""
        status = self.store.status()
        [queue] = self.store.sql(
            "SELECT count(*) AS n FROM review_queue WHERE waits_as = 'pending'"
        )
        return status["pending"], status["judge"]["waiting"], queue["n"]


@contextmanager
def opened(folder: Path, policy: str | Policy = "standard") -> Iterator[OpenStore]:
    with Palimpsest.open(folder, policy=policy, by="person") as store:
        yield OpenStore(store)


def with_zones(*zones: tuple[float, str]) -> Policy:
    """`replace-or-merge` with other thresholds."""
    data = load_policy("replace-or-merge").model_dump(mode="json")
    data["name"] = "other thresholds"
    data["checks"][0]["zones"] = [{"at_least": at, "action": action} for at, action in zones]
    return Policy.model_validate(data)


@pytest.mark.parametrize("mistake", [False, True])
def test_a_question_outlives_a_mistaken_merge(tmp_path: Path, mistake: bool) -> None:
    with opened(tmp_path) as told:
        told.say(DOGS[0])
        told.say("Ada has two big dogs.")
        told.say(KEY)
        if mistake:
            merged = told.store.merge(told.ids["Ada has two big dogs."], told.ids[KEY])
            told.store.unmerge(decision_id=merged["decision_id"], because="wrong row")
        assert told.waits() == (1, 1, 1)
        assert told.settle("Ada has two big dogs.", (DOGS[0], "same")) is None
        assert told.memories() == [[DOGS[0], "Ada has two big dogs."], [KEY]]


def test_a_bulk_dry_run_counts_the_questions_that_it_opens_again(tmp_path: Path) -> None:
    with opened(tmp_path) as told:
        for text in DOGS:
            told.say(text)
        asked = told.store.show_candidate(told.ids[DOGS[2]])["evidence"]["asked"]
        waited = told.waits()[1]
        told.store.merge(told.ids[DOGS[2]], asked[0], because="mistaken")
        assert len(asked) == 2
        assert told.waits()[1] < waited
        selection = JoinSelection(decision="manual_join")
        planned = told.store.reverse(selection, dry_run=True)
        assert planned["asks"] == 1, "the one that is left: of the other a person has said enough"
        told.store.reverse(selection)
        assert told.waits()[1] == waited


@pytest.mark.parametrize("at_once", [True, False])
def test_an_answer_outlives_a_merge_with_somebody_else(tmp_path: Path, at_once: bool) -> None:
    with opened(tmp_path) as told:
        told.say(DOGS[0])
        joined = told.say(DOGS[1])
        told.say(DOGS[2])
        told.say(KEY)
        if at_once:
            told.store.unmerge(decision_id=joined.decision_id)
        asked = told.store.show_candidate(told.ids[DOGS[2]])["evidence"]["asked"]
        first, second = (next(t for t, i in told.ids.items() if i == one) for one in asked)
        held = told.settle(DOGS[2], (first, "different"), (second, "same"))
        assert held == (None if at_once else "separated")
        told.store.merge(told.ids[DOGS[2]], told.ids[KEY])
        if not at_once:
            told.store.unmerge(decision_id=joined.decision_id)
        assert told.memories() == sorted([[first], sorted([second, DOGS[2], KEY])])


@pytest.mark.parametrize("at_once", [True, False])
def test_different_is_said_of_the_text_that_was_compared(tmp_path: Path, at_once: bool) -> None:
    texts = ("The piano is not idle", "the piano is idle", "piano is idle")
    with opened(tmp_path, "store-time") as told:
        for text in texts:
            told.say(text)
        asked = told.store.show_candidate(told.ids[texts[2]])["evidence"]["asked"]
        names = [next(t for t, i in told.ids.items() if i == one) for one in asked]
        assert told.settle(texts[1], (texts[0], "same")) is None
        [join] = told.store.sql("SELECT decision_id FROM joins")
        if at_once:
            told.store.unmerge(decision_id=join["decision_id"])
        else:
            answers: list[tuple[str, Answer]] = [(name, "different") for name in names]
            told.settle(texts[2], *answers)
            told.store.unmerge(decision_id=join["decision_id"], with_consequences=True)
        assert told.settle(texts[2], (texts[1], "same")) is None
        assert told.memories() == [[texts[0]], sorted(texts[1:])]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_better_neighbour_is_asked_about(tmp_path: Path, at_once: bool) -> None:
    says: dict[tuple[str, str], Answer] = {
        (WALKS[1], WALKS[0]): "same",
        (WALKS[2], WALKS[0]): "different",
        (WALKS[2], WALKS[1]): "same",
    }

    def judge(told: OpenStore) -> None:
        for row in told.store.sql("SELECT text FROM candidates WHERE pending ORDER BY position"):
            candidate = told.store.show_candidate(told.ids[row["text"]])
            names = {i: t for t, i in told.ids.items()}
            answers = []
            for one in candidate["evidence"]["asked"]:
                answers.append((names[one], says[row["text"], names[one]]))
                if answers[-1][1] == "same":
                    break
            told.settle(row["text"], *answers)

    with opened(tmp_path, "store-time") as told:
        told.say(WALKS[0])
        told.say(WALKS[1])
        judge(told)
        [join] = told.store.sql("SELECT decision_id FROM joins")
        if at_once:
            told.store.unmerge(decision_id=join["decision_id"])
        told.say(WALKS[2])
        judge(told)
        if not at_once:
            told.store.unmerge(decision_id=join["decision_id"], with_consequences=True)
            judge(told)
        assert told.memories() == [[WALKS[0]], sorted(WALKS[1:])]


def test_reinstating_takes_the_consequences_back(tmp_path: Path) -> None:
    with opened(tmp_path, with_zones((0.93, "superseded"))) as told:
        decisions = [told.say(text) for text in WALKS]
        before = told.memories(), told.waits()
        cut = told.store.unmerge(decision_id=decisions[1].decision_id, with_consequences=True)
        assert cut["carried_out"]
        back = told.store.reinstate(decisions[1].decision_id)
        assert back["taken_back"]
        assert back["refused"] == []
        assert (told.memories(), told.waits()) == before


@pytest.mark.parametrize("at_once", [True, False])
def test_a_composed_text_that_lost_its_source_is_composed_of_what_there_is(
    tmp_path: Path, at_once: bool
) -> None:
    with opened(tmp_path) as told:
        told.say(DOGS[0])
        joined = told.say(DOGS[1])
        if at_once:
            told.store.unmerge(decision_id=joined.decision_id)
        told.say(DOGS[2])
        text = "Ada has had one, then two large dogs."
        order = told.store.show_candidate(told.ids[DOGS[2]])["evidence"]["asked"]
        names = {i: t for t, i in told.ids.items()}
        answers: list[tuple[str, Answer]] = []
        for one in order:
            answers.append((names[one], "compose" if names[one] == DOGS[1] else "different"))
            if answers[-1][1] == "compose":
                break
        assert told.settle(DOGS[2], *answers, composed=text) is None
        if not at_once:
            told.store.unmerge(decision_id=joined.decision_id)
            assert told.faces() == {DOGS[0]: False, DOGS[2]: True}
            assert told.waits() == (0, 1, 0)
            told.compose(text, of=[DOGS[1], DOGS[2]])
        assert told.faces() == {DOGS[0]: False, text: False}
        assert told.memories() == [[DOGS[0]], sorted(DOGS[1:])]
        assert told.waits() == (0, 0, 0)


@pytest.mark.parametrize("answer", ["compose", "same"])
def test_a_late_verdict_brings_no_displaced_text_back(tmp_path: Path, answer: Answer) -> None:
    x, y, z = (
        "IS A FREELANCE TECH WRITER",
        "IS 2 A FREELANCE TECH WRITER",
        "IS 2 A FREELANCE TECH WRITER!",
    )
    with opened(tmp_path, with_zones((0.9, "superseded"), (0.5, "pending"))) as told:
        for number, text in enumerate((x, y, z, y)):
            told.say(text, str(number))
        assert told.settle(y, (x, answer), composed="Is a freelance tech writer, twice") is None
        assert z not in told.faces()


@pytest.mark.parametrize("requests", [1, 2])
def test_joins_that_bar_each_other_come_back_together(tmp_path: Path, requests: int) -> None:
    with opened(tmp_path) as told:
        outcomes = [told.say(text) for text in (*DOGS[:2], KEY, KEY.removesuffix("."))]
        a, b, c, d = (outcome.candidate_id for outcome in outcomes)
        assert len(told.memories()) == 2
        selection = JoinSelection(owner_id="ada")
        if requests == 1:
            assert len(told.store.reverse(selection)["reversed"]) == 2
        else:
            told.store.unmerge(decision_id=outcomes[1].decision_id)
            told.store.unmerge(decision_id=outcomes[3].decision_id)
        told.store.merge(a, c)
        told.store.merge(b, d)
        if requests == 2:
            named = f"separated.*{outcomes[3].decision_id}.*reinstate all of them at once"
            with pytest.raises(RefusedError, match=named):
                told.store.reinstate(outcomes[1].decision_id)
        plan = told.store.reinstate_many(selection, dry_run=True)
        back = told.store.reinstate_many(selection)
        assert (len(back["reinstated"]), back["refused"]) == (2, [])
        assert plan["reinstated"] == back["reinstated"]
        assert len(told.memories()) == 1
        assert told.store.verify()["differences"] == 0


APART = ("Ada has a large dog.", "Ada owns a big dog.")


def test_an_update_that_was_undone_says_nothing_of_the_two_it_had_made_one(tmp_path: Path) -> None:
    """Also where it stood again meanwhile: the judge's word, and an agent's, count as before."""
    with opened(tmp_path) as told:
        told.say(APART[0])
        newer = told.say(APART[1]).candidate_id
        change = told.store.update(newer, APART[0], merge=True)["decision_id"]
        assert change is not None
        for _ in range(2):
            assert len(told.memories()) == 1
            told.store.undo(change)
            assert len(told.memories()) == 2
            told.store.reinstate(change)
        told.store.undo(change)
        assert told.store.history(newer)["events"][-1]["did"] == "the update was undone"
        assert told.settle(APART[1], (APART[0], "same")) is None
        [join] = told.store.sql("SELECT decision_id FROM joins WHERE standing")
        told.store.unmerge(decision_id=join["decision_id"], by="agent")
        [apart] = told.store.sql("FROM separations WHERE standing")
        assert apart["rank"] == "agent"
        assert told.store.verify()["differences"] == 0


def test_no_update_unites_what_was_taken_apart_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as told:
        a, b, c = (told.say(text).candidate_id for text in (DOGS[0], *APART))
        assert len(told.memories()) == 2
        assert told.settle(APART[1], (DOGS[0], "same")) is None
        told.store.unmerge(memory_id=a, because="three different dogs")
        assert len(told.memories()) == 3
        with pytest.raises(RefusedError, match="not the same"):
            told.store.update(c, APART[0], merge=True)
        told.store.merge(b, c)
        assert len(told.memories()) == 2


THREE = ("Ada has a big dog.", "Ada has a huge dog.", "Ada has got a big dog.")


@pytest.mark.parametrize("by", long_but("person", of=["person", "agent"]))
@pytest.mark.parametrize("many", [False, True])
def test_a_consequence_that_was_out_for_a_moment_goes_with_its_cause(
    tmp_path: Path, by: Speaker, *, many: bool
) -> None:
    with opened(tmp_path, load_policy("replace-or-merge")) as told:
        outcomes = [told.say(text) for text in THREE]
        before = told.memories(), told.waits()
        joined = outcomes[1].decision_id
        out = told.store.unmerge(decision_id=joined, with_consequences=True)
        [made] = told.store.sql("SELECT * FROM joins WHERE standing AND event = 'redecided'")
        told.store.unmerge(decision_id=made["decision_id"], by=by)
        told.store.reinstate(made["decision_id"], by=by)
        if many:
            many_back = told.store.reinstate_many(JoinSelection(cause=out["cause"]))
            assert (many_back["reinstated"], many_back["refused"]) == ([joined], [])
        else:
            assert told.store.reinstate(joined)["refused"] == []
        assert (told.memories(), told.waits()) == before


def test_a_bulk_reinstatement_names_what_did_not_come_back(tmp_path: Path) -> None:
    """A person brought back what an agent had taken out: that is a later statement."""
    with opened(tmp_path, load_policy("replace-or-merge")) as told:
        joined = [told.say(text) for text in THREE][1].decision_id
        out = told.store.unmerge(decision_id=joined, with_consequences=True)
        [made] = told.store.sql("SELECT * FROM joins WHERE standing AND event = 'redecided'")
        told.store.unmerge(decision_id=made["decision_id"], by="agent")
        told.store.reinstate(made["decision_id"])
        plan = told.store.reinstate_many(JoinSelection(cause=out["cause"]), dry_run=True)
        back = told.store.reinstate_many(JoinSelection(cause=out["cause"]))
        assert [one["reason"] for one in back["refused"]][:1] == ["outranked"]
        assert plan["refused"] == back["refused"]
        assert back["reinstated"] == [joined]


# -- a slip that was taken back, and then more is taken back ---------------------------------------


@pytest.mark.parametrize("slip", [False, True])
def test_an_unmerge_that_was_taken_back_stays_so_when_the_update_is_undone(
    tmp_path: Path, *, slip: bool
) -> None:
    with opened(tmp_path) as told:
        told.say(APART[0])
        newer = told.say(APART[1]).candidate_id
        change = told.store.update(newer, APART[0], merge=True)["decision_id"]
        assert change is not None
        if slip:
            told.store.unmerge(decision_id=change)
            told.store.reinstate(change)
        told.store.undo(change)
        assert told.store.sql("FROM separations WHERE standing") == []
        assert told.waits() == (1, 1, 1)
        assert told.store.verify()["differences"] == 0


@pytest.mark.parametrize("slip", [False, True])
def test_a_join_that_was_freed_and_out_for_a_moment_is_held_back_again(
    tmp_path: Path, *, slip: bool
) -> None:
    with opened(tmp_path) as told:
        a = told.say(DOGS[0]).candidate_id
        joined = told.say(DOGS[1])
        told.say(DOGS[2])
        merged = told.store.merge(a, joined.candidate_id)["decision_id"]
        names = {i: t for t, i in told.ids.items()}
        first, second = told.store.show_candidate(told.ids[DOGS[2]])["evidence"]["asked"]
        said = told.settle(DOGS[2], (names[first], "different"), (names[second], "same"))
        assert said == "separated"
        before = told.memories(), told.waits()
        told.store.unmerge(decision_id=merged)
        told.store.unmerge(decision_id=joined.decision_id)
        [freed] = told.store.sql("FROM joins WHERE standing AND event = 'settled'")
        if slip:
            told.store.unmerge(decision_id=freed["decision_id"])
            told.store.reinstate(freed["decision_id"])
        told.store.reinstate(merged)
        assert (told.memories(), told.waits()) == before


@pytest.mark.parametrize("slip", [False, True])
def test_a_merge_that_was_taken_out_is_no_word_against_taking_apart(
    tmp_path: Path, *, slip: bool
) -> None:
    with opened(tmp_path) as told:
        a, b, c = (told.say(text).candidate_id for text in (DOGS[0], WALKS[0], KEY))
        told.store.merge(a, b)
        told.store.merge(a, c)
        if slip:
            told.store.unmerge(decision_id=told.store.merge(b, c)["decision_id"])
        told.store.unmerge(memory_id=a)
        with pytest.raises(RefusedError, match="not the same"):
            told.store.update(c, WALKS[0], merge=True)


@pytest.mark.parametrize("late", [False, True])
def test_a_text_for_somebody_who_was_separated_meanwhile_is_not_lost(
    tmp_path: Path, *, late: bool
) -> None:
    with opened(tmp_path) as told:
        told.say(DOGS[0])
        told.store.unmerge(decision_id=told.say(DOGS[1]).decision_id)
        newer = told.say(DOGS[2]).candidate_id
        names = {i: t for t, i in told.ids.items()}
        first, second = told.store.show_candidate(newer)["evidence"]["asked"]
        told.store.separate(first, newer)
        if not late:
            told.store.withdraw(first, newer)
        answers: list[tuple[str, Answer]] = [
            (names[second], "different"),
            (names[first], "compose"),
        ]
        told.settle(DOGS[2], *answers, composed="Ada has had one, then two large dogs.")
        if late:
            told.store.withdraw(first, newer)
        assert "Ada has had one, then two large dogs." in told.faces()


def test_who_reinstated_an_update_outranks_an_agent(tmp_path: Path) -> None:
    with opened(tmp_path) as told:
        older = told.say(APART[0]).candidate_id
        newer = told.say(APART[1]).candidate_id
        change = told.store.update(newer, APART[0], merge=True, by="agent")["decision_id"]
        assert change is not None
        merged = told.store.merge(older, newer)["decision_id"]
        told.store.withdraw(older, newer)
        assert merged not in [
            one["decision_id"] for one in told.store.sql("FROM joins WHERE standing")
        ]
        assert len(told.memories()) == 1
        told.store.undo(change)
        told.store.reinstate(change)
        with pytest.raises(RefusedError, match="a person"):
            told.store.undo(change, by="agent")


def test_what_a_reinstatement_freed_for_a_moment_overtakes_nobody(tmp_path: Path) -> None:
    """Its commands are one in the history without another join, too: nothing settles in between."""
    rules = {"name": "m", "search": "memories", "judge": Judge()}
    searches = load_policy("standard").model_copy(update=rules)
    near = "Ada owns a big dog, she"
    with opened(tmp_path, searches) as told:
        older = told.say(APART[0], "1").candidate_id
        again = told.say(APART[0], "2")
        newer = told.say(APART[1]).candidate_id
        last = told.say(near).candidate_id
        asked = told.store.show_candidate(last)["evidence"]["asked"]
        names = {i: t for t, i in told.ids.items()}
        before = [names[one] for one in asked[: asked.index(newer)]]
        answers: list[tuple[str, Answer]] = [(one, "different") for one in before]
        assert told.settle(near, *answers, (APART[1], "same")) is None
        [joined] = told.store.sql("FROM joins WHERE standing AND event = 'settled'")
        told.store.separate(again.candidate_id, newer)
        assert told.settle(APART[1], (APART[0], "same")) == "separated"
        told.store.retract(Selection(candidate_id=older))
        told.store.unmerge(decision_id=again.decision_id)
        back = told.store.reinstate(again.decision_id)
        assert len(back["taken_back"]) == 1
        plan = told.store.unmerge(decision_id=joined["decision_id"], dry_run=True)
        assert plan["overtaken"] == []
