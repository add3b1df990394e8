"""Every word on a pair, a decision or a candidate is in the tables: who, when, why, on what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from msgspec import structs

from palimpsest.contracts.candidate import Candidate
from palimpsest.contracts.commands import (
    Combine,
    Compose,
    Confirm,
    Merge,
    Redecide,
    Reinstate,
    Restore,
    Retract,
    Separate,
    Settle,
    Unmerge,
    Update,
    Withdraw,
)
from palimpsest.contracts.events import (
    Composition,
    Join,
    Rank,
    Separated,
    SeparatedData,
    Speaker,
)
from palimpsest.contracts.evidence import Answer, Evidence, Neighbour, Verdict
from palimpsest.contracts.identity import candidate_id
from palimpsest.contracts.policy import Judge
from palimpsest.projections.duckdb.queries import query
from palimpsest.projections.duckdb.segments import MANIFEST, listed
from palimpsest.projections.duckdb.tables import LAYOUT
from palimpsest.projections.projector import Projector
from palimpsest.projections.shown.timeline import Timeline
from palimpsest.projections.verify import verify
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.separations import statement_on
from tests.projections.histories import STANDARD, START, History, content_of
from tests.projections.oracle_questions import RANKS
from tests.projections.test_oracle import wrong

OWNER = "ada"
FACES = STANDARD.model_copy(update={"name": "faces", "search": "memories", "judge": Judge()})


class OneOwner(History):
    """A history by hand, of one owner, with words on it."""

    def say(self, text: str, *near: tuple[str, float], **extra: Any) -> str:
        return self.admit(OWNER, text, *near, **extra)

    def decision(self, candidate: str) -> str:
        return self.ledgers[OWNER].entries[candidate].decision_id

    def words(self, actor: str = "kim", because: str | None = "so") -> dict[str, Any]:
        return {
            "command_id": self.fresh(),
            "owner_id": OWNER,
            "actor": actor,
            "because": because,
        }

    def answer(
        self, candidate: str, neighbour: str, answer: Answer, text: str = "", *sources: str
    ) -> str:
        """The judge's answer; the id of the event."""
        composition = None
        if text:
            made_of = sources or (neighbour, candidate)
            composition = Composition(content=content_of(text), sources=made_of)
        settle = Settle(
            command_id=self.fresh(),
            owner_id=OWNER,
            candidate_id=candidate,
            verdicts=(verdict(neighbour, answer),),
            composition=composition,
        )
        return self.run(settle)[0].id


def verdict(neighbour: str, answer: Answer) -> Verdict:
    return Verdict(neighbour_id=neighbour, answer=answer, reasoning="as it reads", calls=1.0)


def show(folder: Path, history: History) -> None:
    projector = Projector(folder, history.log)
    projector.start()
    projector.close()


def rows(folder: Path, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in query(folder, text)]


@pytest.fixture
def ada() -> OneOwner:
    return OneOwner()


def test_a_word_on_a_join_answers_it(tmp_path: Path, ada: OneOwner) -> None:
    a, b = ada.say("She keeps a kettle."), ada.say("A kettle is hers.")
    joined = ada.run(Merge(a=a, b=b, **ada.words()))[0].id
    confirmed = ada.run(Confirm(decision_id=joined, **ada.words("lee")))[0].id
    reversal = ada.run(Unmerge(decision_id=joined, **ada.words("max", "two kettles")))[0].id
    back = ada.run(Reinstate(decision_id=joined, **ada.words("kim", "one after all")))[0].id
    show(tmp_path, ada)
    told = "event, event_id, decision_id, answers, candidate_id, other_id, actor, because, rank"
    assert rows(tmp_path, f"SELECT {told} FROM events WHERE position > 2 ORDER BY position") == [
        ("joined", joined, joined, None, b, a, "kim", "so", "person"),
        ("confirmed", confirmed, joined, joined, b, a, "lee", "so", "person"),
        ("reversed", reversal, joined, joined, b, a, "max", "two kettles", "person"),
        ("reinstated", back, joined, reversal, b, a, "kim", "one after all", "person"),
    ]
    [[review]] = rows(tmp_path, "SELECT review_status FROM joins")
    assert review == "reinstated"
    log = "SELECT decision, decision_id, existing_text, actor FROM dedup_log ORDER BY position"
    assert rows(tmp_path, log) == [
        ("manual_join", joined, "She keeps a kettle.", "kim"),
        ("reversed", reversal, "She keeps a kettle.", "max"),
        ("reinstated", back, "She keeps a kettle.", "kim"),
    ]
    assert rows(tmp_path, "SELECT event_id, standing FROM separations") == [(reversal, False)]


def test_a_settlement_answers_its_question(tmp_path: Path, ada: OneOwner) -> None:
    a = ada.say("The orchard is sold.")
    b = ada.say("They sold the orchard to a cousin.", (a, 0.81))
    settled = ada.answer(b, a, "different")
    late = ada.answer(b, a, "same")
    show(tmp_path, ada)
    wanted = "SELECT event, event_id, answers, reason, llm_answer FROM events WHERE position > 2"
    assert rows(tmp_path, f"{wanted} ORDER BY position") == [
        ("settled", settled, ada.decision(b), None, "different"),
        ("refused", late, ada.decision(b), "not_pending", "same"),
    ]
    [separation] = query(tmp_path, "FROM separations")
    assert (separation["candidate_id"], separation["other_id"]) == (b, a)
    assert (separation["standing"], separation["rank"], separation["event"]) == (
        True,
        "judge",
        "settled",
    )
    assert separation["llm_reasoning"] == "as it reads"


def test_what_a_person_separates(tmp_path: Path, ada: OneOwner) -> None:
    a = ada.say("The orchard is sold.")
    b = ada.say("They sold the orchard to a cousin.", (a, 0.81))
    parted, kept = (e.id for e in ada.run(Separate(a=a, b=b, **ada.words(because="another"))))
    show(tmp_path, ada)
    log = (
        "SELECT decision_id, decision, existing_id, similarity, actor, because"
        " FROM dedup_log WHERE decision <> 'pending' ORDER BY position"
    )
    assert rows(tmp_path, log) == [
        (parted, "separated", a, 0.81, "kim", "another"),
        (kept, "llm_keep", a, 0.81, "kim", "another"),
    ]
    [[answers]] = rows(tmp_path, "SELECT answers FROM events WHERE event = 'separated'")
    assert answers == ada.decision(b)
    assert rows(tmp_path, "SELECT actor, because, standing FROM separations") == [
        ("kim", "another", True)
    ]


def test_retractions_and_refusals(tmp_path: Path, ada: OneOwner) -> None:
    a = ada.say("The tunnel floods in March.")
    gone = ada.run(Retract(candidate_id=a, **ada.words("lee", "wrong tunnel")))[0].id
    refused = ada.run(Retract(candidate_id=a, **ada.words("max")))[0].id
    back = ada.run(Restore(candidate_id=a, **ada.words("kim")))[0].id
    show(tmp_path, ada)
    told = "event, event_id, answers, actor, because, command, reason, namespace"
    assert rows(tmp_path, f"SELECT {told} FROM events WHERE position > 1 ORDER BY position") == [
        ("retracted", gone, ada.decision(a), "lee", "wrong tunnel", None, None, "default"),
        (
            "refused",
            refused,
            ada.decision(a),
            "max",
            "so",
            "retract",
            "retracted_already",
            "default",
        ),
        ("restored", back, gone, "kim", "so", None, None, "default"),
    ]


def test_a_refused_merge_names_its_pair(tmp_path: Path, ada: OneOwner) -> None:
    a, b = ada.say("The orchard is sold."), ada.say("A lantern hangs high up.")
    ada.run(Separate(a=a, b=b, **ada.words()))
    [refused] = ada.run(Separate(a=a, b=b, **ada.words("lee")))
    show(tmp_path, ada)
    told = "event_id, candidate_id, other_id, actor, command, reason"
    assert rows(tmp_path, f"SELECT {told} FROM events WHERE event = 'refused'") == [
        (refused.id, b, a, "lee", "separate", "standing_already")
    ]


def test_a_refused_answer_names_its_pair(tmp_path: Path, ada: OneOwner) -> None:
    a = ada.say("The orchard is sold.")
    b = ada.say("Somebody sold the orchard.", (a, 0.8))
    ada.answer(b, a, "different")
    refused = ada.answer(b, a, "same")
    show(tmp_path, ada)
    told = "event_id, candidate_id, other_id, command, llm_answer"
    named = [(refused, b, a, "settle", "same")]
    assert rows(tmp_path, f"SELECT {told} FROM events WHERE event = 'refused'") == named


def test_a_nightly_keep_is_a_row_of_its_own(tmp_path: Path, ada: OneOwner) -> None:
    a, b = ada.say("The ferry leaves at noon."), ada.say("At noon a ferry leaves.")
    words, said = ada.words("janitor", "dedupe"), (verdict(a, "different"),)
    [kept] = ada.run(Separate(a=a, b=b, rank="judge", verdicts=said, similarity=0.91, **words))
    show(tmp_path, ada)
    [row] = query(tmp_path, "FROM dedup_log")
    assert (row["decision"], row["decision_id"], row["rank"]) == ("separated", kept.id, "judge")
    assert (row["existing_text"], row["llm_answer"]) == ("The ferry leaves at noon.", "different")
    assert (row["llm_reasoning"], row["joined"]) == ("as it reads", False)
    assert (row["similarity"], row["review_status"]) == (0.91, None)


def test_a_separation_by_a_nightly_run_has_the_judges_reason(tmp_path: Path, ada: OneOwner) -> None:
    a, b = ada.say("The ferry leaves at noon."), ada.say("At noon a ferry leaves.")
    said = (verdict(a, "different"),)
    ada.run(Separate(a=a, b=b, rank="judge", verdicts=said, **ada.words("janitor", "dedupe")))
    show(tmp_path, ada)
    assert rows(tmp_path, "SELECT llm_reasoning FROM separations") == [("as it reads",)]


def faces(ada: OneOwner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a policy in force that compares with faces, and record it."""
    monkeypatch.setattr("tests.projections.histories.STANDARD", FACES)
    ada.nobody()


def composed(ada: OneOwner) -> tuple[str, str, str]:
    """Two candidates of one composed text, and the text."""
    a = ada.say("Alice is a nurse.")
    b = ada.say("Alice works at night.", (a, 0.8))
    text = "Alice is a nurse who works at night."
    ada.answer(b, a, "compose", text)
    return a, b, text


def test_the_existing_text_is_the_composed_one(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `search: memories`, whatever becomes of the memory later."""
    faces(ada, monkeypatch)
    a, b, text = composed(ada)
    c = ada.say("Alice is a night nurse.", (b, 0.85))
    show(tmp_path, ada)
    waits = "SELECT existing_id, existing_text FROM review_queue WHERE waits_as = 'pending'"
    assert rows(tmp_path, waits) == [(b, text)]
    ada.answer(c, b, "update")
    ada.run(Retract(candidate_id=b, **ada.words()))
    show(tmp_path, ada)
    log = "SELECT decision, existing_id, existing_text, similarity FROM dedup_log"
    assert rows(tmp_path, f"{log} WHERE candidate_id = '{c}' ORDER BY position") == [
        ("pending", b, text, 0.85),
        ("superseded", b, text, 0.85),
    ]
    assert rows(tmp_path, f"{log} WHERE candidate_id = '{b}' ORDER BY position") == [
        ("pending", a, "Alice is a nurse.", 0.8),
        ("llm_merge", a, "Alice is a nurse.", 0.8),
    ]


def test_the_existing_text_is_the_face_of_another(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    faces(ada, monkeypatch)
    a = ada.say("She lives in Rome.")
    b = ada.say("Her home is in Rome.", (a, 0.8))
    c = ada.say("She moved to Berlin.", (a, 0.75))
    ada.answer(c, a, "update")
    ada.answer(b, a, "same")
    show(tmp_path, ada)
    log = "SELECT existing_id, existing_text FROM dedup_log WHERE decision = 'llm_reject'"
    assert rows(tmp_path, log) == [(a, "She moved to Berlin.")]


def test_the_existing_text_of_what_is_decided_again_is_the_face(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    faces(ada, monkeypatch)
    a = ada.say("She lives in Rome.")
    b = ada.say("She moved to Berlin.", (a, 0.8))
    ada.answer(b, a, "update")
    c, d = ada.say("Her home is Berlin."), ada.say("She has a kettle.")
    out = ada.run(Merge(a=c, b=d, **ada.words()))[0].id
    ada.run(Unmerge(decision_id=out, **ada.words()))
    near = (Neighbour(candidate_id=a, cosine=0.93),)
    again = Redecide(
        candidate_id=c,
        consequence_of=out,
        decision="auto_reject",
        join=Join(to=a, face="keep"),
        evidence=Evidence(policy=FACES.hash, neighbours=near),
        **ada.words(),
    )
    ada.run(again)
    show(tmp_path, ada)
    log = "SELECT existing_id, existing_text FROM dedup_log WHERE decision = 'auto_reject'"
    assert rows(tmp_path, log) == [(a, "She moved to Berlin.")]


def test_who_spoke_for_a_neighbour_is_separated(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the neighbour itself, whose text nobody compared."""
    faces(ada, monkeypatch)
    a = ada.say("She lives in Rome.")
    b = ada.say("She moved to Berlin.", (a, 0.8))
    ada.answer(b, a, "update")
    c = ada.say("She visits Rome.", (a, 0.75))
    different = ada.answer(c, a, "different")
    show(tmp_path, ada)
    wanted = "SELECT candidate_id, other_id, event_id, standing, llm_reasoning FROM separations"
    assert rows(tmp_path, wanted) == [(c, b, different, True, "as it reads")]
    assert wrong(tmp_path, ada.log) == []


def test_a_composed_text_separates_while_it_stands(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it fell apart, nobody has compared the two: the question is open again."""
    faces(ada, monkeypatch)
    a, b, _ = composed(ada)
    c = ada.say("Alice is a night nurse.", (b, 0.85))
    ada.answer(c, b, "different")
    show(tmp_path, ada)
    wanted = "SELECT candidate_id, other_id, standing FROM separations ORDER BY position"
    waits = f"SELECT pending, waits_for FROM candidates WHERE candidate_id = '{c}'"
    assert rows(tmp_path, wanted) == [(c, b, True)]
    assert rows(tmp_path, waits) == [(False, [])]
    [join] = ada.ledgers[OWNER].edges
    ada.run(Unmerge(decision_id=join, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(c, b, False), (b, a, True)]
    assert rows(tmp_path, waits) == [(True, [b])]
    assert wrong(tmp_path, ada.log) == []
    ada.run(Reinstate(decision_id=join, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(c, b, True), (b, a, False)]
    assert wrong(tmp_path, ada.log) == []


def test_a_composed_text_separates_also_when_the_neighbour_has_left_its_memory(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a source of the text that was compared; whoever left was never compared: ask again."""
    faces(ada, monkeypatch)
    a, _, _ = composed(ada)
    c = ada.say("She has a kettle.")
    [merged] = ada.run(Merge(a=a, b=c, **ada.words()))
    d = ada.say("Alice is a night nurse.", (c, 0.85))
    ada.answer(d, c, "different")
    wanted = "SELECT candidate_id, other_id, standing FROM separations ORDER BY position"
    waits = f"SELECT pending, waits_for FROM candidates WHERE candidate_id = '{d}'"
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(d, a, True)]
    assert rows(tmp_path, waits) == [(False, [])]
    ada.run(Unmerge(decision_id=merged.id, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(d, a, True), (c, a, True)]
    assert rows(tmp_path, waits) == [(True, [c])]
    assert wrong(tmp_path, ada.log) == []


def test_a_text_separates_while_its_join_stands_and_its_sources_are_together(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a third source, too, and where a person holds the two together without the join."""
    faces(ada, monkeypatch)
    a, b, _ = composed(ada)
    c = ada.say("Alice is on the ward.", (b, 0.8))
    ada.answer(c, b, "compose", "Alice works at night on the ward.", a, b, c)
    d = ada.say("Alice is a night nurse.", (c, 0.85))
    ada.answer(d, c, "different")
    first, second = ada.ledgers[OWNER].edges
    wanted = f"SELECT standing FROM separations WHERE candidate_id = '{d}'"

    def stands() -> bool:
        show(tmp_path, ada)
        [[found]] = rows(tmp_path, wanted)
        assert wrong(tmp_path, ada.log) == []
        return bool(found)

    assert stands()
    ada.run(Unmerge(decision_id=first, **ada.words()))
    assert not stands()
    ada.run(Reinstate(decision_id=first, **ada.words()))
    assert stands()
    ada.run(Unmerge(decision_id=second, rank="review", **ada.words()))
    ada.run(Merge(a=a, b=c, **ada.words()))
    assert ada.ledgers[OWNER].entries[c].memory.id == a
    assert not stands()


def test_a_text_that_came_again_by_a_redecision_separates_as_before(
    tmp_path: Path, ada: OneOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    faces(ada, monkeypatch)
    x, a = ada.say("Alice is a nurse."), ada.say("Alice nurses.")
    [merged] = ada.run(Merge(a=x, b=a, **ada.words()))
    b = ada.say("Alice works at night.", (a, 0.8))
    text = "Alice is a nurse who works at night."
    join = ada.answer(b, a, "compose", text, x, b)
    c = ada.say("Alice is a night nurse.", (b, 0.85))
    ada.answer(c, b, "different")
    wanted = f"SELECT other_id, standing FROM separations WHERE candidate_id = '{c}'"

    def stands() -> bool:
        show(tmp_path, ada)
        [[other, found]] = rows(tmp_path, wanted)
        said = statement_on(ada.ledgers[OWNER], c, b)
        assert (other, found) == (b, said is not None and said.separated)
        assert wrong(tmp_path, ada.log) == []
        return bool(found)

    assert stands()
    ada.run(Unmerge(decision_id=merged.id, **ada.words()))
    ada.run(Unmerge(decision_id=join, consequence_of=merged.id, **ada.words()))
    assert not stands()
    redecide = Redecide(
        candidate_id=b,
        consequence_of=merged.id,
        decision="llm_merge",
        join=Join(to=x, face="text"),
        composition=Composition(content=content_of(text), sources=(x, b)),
        evidence=Evidence(policy=FACES.hash),
        **ada.words(),
    )
    [again] = ada.run(redecide)
    assert stands()
    ada.run(Unmerge(decision_id=again.id, rank="review", **ada.words()))
    ada.run(Merge(a=x, b=b, **ada.words()))
    assert not stands()


def test_an_answer_that_settled_nothing_separates(tmp_path: Path, ada: OneOwner) -> None:
    x, a = ada.say("The kettle is old."), ada.say("The ferry leaves at noon.")
    c = ada.say("A ferry goes at noon.", (x, 0.82), (a, 0.75))
    refused = ada.answer(c, a, "different")
    ada.answer(c, a, "same")
    show(tmp_path, ada)
    wanted = "SELECT candidate_id, other_id, event, event_id, rank, standing FROM separations"
    assert rows(tmp_path, wanted) == [(c, a, "refused", refused, "judge", True)]
    waits = "SELECT existing_id FROM review_queue WHERE waits_as = 'pending'"
    assert rows(tmp_path, waits) == [(x,)]
    assert wrong(tmp_path, ada.log) == []


def test_a_separation_that_was_taken_back_does_not_stand(tmp_path: Path, ada: OneOwner) -> None:
    a = ada.say("The orchard is sold.")
    b = ada.say("They sold the orchard to a cousin.", (a, 0.81))
    nightly = ada.run(Separate(a=a, b=b, rank="judge", **ada.words("janitor")))[0].id
    parted = ada.run(Separate(a=a, b=b, **ada.words()))[0].id
    wanted = "SELECT event_id, standing FROM separations ORDER BY position"
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(nightly, False), (parted, True)]
    [back] = ada.run(Withdraw(a=a, b=b, **ada.words("lee", "one orchard")))
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(nightly, True), (parted, False)]
    told = f"SELECT event, answers, candidate_id, other_id FROM events WHERE event_id = '{back.id}'"
    assert rows(tmp_path, told) == [("reversed", parted, b, a)]
    assert wrong(tmp_path, ada.log) == []


def test_an_agents_merge_outranks_a_judge_who_is_late(tmp_path: Path, ada: OneOwner) -> None:
    """And no person: the agent's word is between theirs."""
    a = ada.say("The orchard is sold.")
    b = ada.say("They sold the orchard to a cousin.", (a, 0.81))
    [join] = ada.run(merging_update(ada, b, "The orchard is sold.", rank="agent"))
    late = ada.answer(b, a, "different")
    show(tmp_path, ada)
    joined = "SELECT decision, candidate_id, joined_to, rank FROM joins"
    assert rows(tmp_path, joined) == [("manual_join", b, a, "agent")]
    wanted = "SELECT event_id, rank, standing FROM separations ORDER BY position"
    assert rows(tmp_path, wanted) == [(late, "judge", False)]
    assert wrong(tmp_path, ada.log) == []
    parted = ada.run(Unmerge(decision_id=join.id, **ada.words()))[0].id
    show(tmp_path, ada)
    assert rows(tmp_path, wanted) == [(late, "judge", False), (parted, "person", True)]
    assert wrong(tmp_path, ada.log) == []


def merging_update(ada: OneOwner, memory: str, text: str, rank: Speaker) -> Update:
    """A text of another memory said of this one, which makes one of the two."""
    candidate = Candidate(owner_id=OWNER, source="test", id=ada.fresh(), text=text)
    return Update(
        memory=memory,
        candidate_id=candidate_id(OWNER, "test", candidate.id),
        candidate=candidate,
        content=content_of(text),
        merge=True,
        rank=rank,
        **ada.words(),
    )


def test_of_two_words_the_higher_rank_holds_and_of_equal_ones_the_later(
    tmp_path: Path, ada: OneOwner
) -> None:
    """Whoever may speak has a place among the ranks."""
    assert sorted(RANKS) == sorted(get_args(Rank))
    assert set(get_args(Speaker)) <= set(RANKS)
    expected = set()
    for first, second in product(get_args(Rank), repeat=2):
        a = ada.say(f"The {first} speaks.")
        b = ada.say(f"The {second} answers the {first}.")
        earlier, later = (said_apart(ada, a, b, rank) for rank in (first, second))
        expected.add(later if RANKS.index(second) >= RANKS.index(first) else earlier)
        said = statement_on(ada.ledgers[OWNER], a, b)
        assert said is not None
        assert said.event_id in expected
    show(tmp_path, ada)
    standing = rows(tmp_path, "SELECT event_id FROM separations WHERE standing")
    assert sorted(standing) == sorted((one,) for one in expected)


def said_apart(ada: OneOwner, a: str, b: str, rank: Rank) -> str:
    """A separation in the log, whatever was said of the pair before; the id of the event."""
    data = SeparatedData(candidate_id=b, other_id=a, rank=rank, actor="kim")
    event = Separated(id=ada.fresh(), subject=b, time=START, partitionkey=OWNER, data=data)
    ada.changes.add(ada.log.append(event), event, evolve(ada.ledgers[OWNER], event))
    return event.id


def test_what_contradicts_a_chosen_face_waits_for_a_person(tmp_path: Path, ada: OneOwner) -> None:
    """Until somebody confirms it, or chooses another face."""
    a, b = ada.say("She lives in Rome."), ada.say("She lives in Berlin.")
    ada.run(Merge(a=a, b=b, face=b, **ada.words()))
    again = ada.decision(ada.say("She lives in Rome."))
    once_more = ada.decision(ada.say(" She lives in Rome."))
    show(tmp_path, ada)
    queue = (
        "SELECT waits_as, decision, decision_id, existing_id FROM review_queue ORDER BY position"
    )
    both = [("contradicts", "hash_exact", one, a) for one in (again, once_more)]
    assert rows(tmp_path, queue) == both
    memory = "SELECT face, contradicts FROM memories"
    assert rows(tmp_path, memory) == [("She lives in Berlin.", [again, once_more])]
    assert wrong(tmp_path, ada.log) == []
    ada.run(Confirm(decision_id=again, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, queue) == both[1:]
    c = ada.say("Her home is in Paris.")
    ada.run(Merge(a=a, b=c, face=c, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, queue) == []
    assert rows(tmp_path, memory) == [("Her home is in Paris.", [])]
    assert wrong(tmp_path, ada.log) == []


def test_candidates_are_compared_with_what_they_say(tmp_path: Path, ada: OneOwner) -> None:
    """Under `search: candidates`, whatever speaks for their memory."""
    ada.nobody()
    _, b, _ = composed(ada)
    ada.say("Alice is a night nurse.", (b, 0.85))
    show(tmp_path, ada)
    waits = "SELECT existing_text FROM review_queue WHERE waits_as = 'pending'"
    assert rows(tmp_path, waits) == [("Alice works at night.",)]


def test_a_repeat_of_a_composed_text_was_compared_with_that(tmp_path: Path, ada: OneOwner) -> None:
    _, b, text = composed(ada)
    ada.say(text.upper())
    show(tmp_path, ada)
    log = "SELECT existing_id, existing_text FROM dedup_log WHERE decision = 'hash_exact'"
    assert rows(tmp_path, log) == [(b, text)]


def test_a_batch_run_compares_faces(tmp_path: Path, ada: OneOwner) -> None:
    a, b, text = composed(ada)
    c = ada.say("Alice is a night nurse.")
    evidence = Evidence(
        policy=STANDARD.hash,
        check="dedupe",
        neighbours=(Neighbour(candidate_id=b, cosine=0.97),),
        asked=(b,),
        verdicts=(verdict(b, "same"),),
    )
    combine = Combine(
        a=b, b=c, decision="llm_reject", face="keep", evidence=evidence, **ada.words()
    )
    ada.run(combine)
    show(tmp_path, ada)
    log = "SELECT new_text, existing_text, similarity FROM dedup_log WHERE candidate_id = ?"
    [row] = query(tmp_path, log, [c])
    assert tuple(row.values()) == ("Alice is a night nurse.", text, 0.97)
    assert rows(tmp_path, "SELECT text, sources FROM compositions") == [(text, [a, b])]


def test_the_newer_text_of_a_batch_run_is_the_face_of_its_memory(
    tmp_path: Path, ada: OneOwner
) -> None:
    """In the queue as in the log of what was compared, and as it was then."""
    c = ada.say("Alice is a night nurse.")
    _, b, text = composed(ada)
    evidence = Evidence(
        policy=STANDARD.hash,
        check="dedupe",
        neighbours=(Neighbour(candidate_id=c, cosine=0.97),),
        asked=(c,),
        verdicts=(verdict(c, "same"),),
    )
    ada.run(Combine(a=b, b=c, decision="llm_reject", face="keep", evidence=evidence, **ada.words()))
    show(tmp_path, ada)
    compared = "SELECT new_text, existing_text, similarity FROM {} WHERE candidate_id = ?"
    compared += " ORDER BY position"
    both = [
        ("Alice works at night.", "Alice is a nurse.", 0.8),
        (text, "Alice is a night nurse.", 0.97),
    ]
    found = query(tmp_path, compared.format("review_queue"), [b])
    assert [tuple(row.values()) for row in found] == both
    logged = query(tmp_path, compared.format("dedup_log"), [b])
    assert [tuple(row.values()) for row in logged] == [both[0], *both]
    assert wrong(tmp_path, ada.log) == []


def test_a_recomposed_text_is_a_row(tmp_path: Path, ada: OneOwner) -> None:
    a, b, _ = composed(ada)
    c = ada.say("Alice is on the ward.", (b, 0.8))
    ada.answer(c, b, "compose", "Alice works at night on the ward.", a, b, c)
    ada.run(Retract(candidate_id=a, **ada.words()))
    [join] = ada.ledgers[OWNER].composing
    anew = Composition(content=content_of("On the ward, Alice works at night."), sources=(b, c))
    paid = (verdict(b, "compose"),)
    [event] = ada.run(Compose(decision_id=join, composition=anew, verdicts=paid, **ada.words()))
    show(tmp_path, ada)
    cost = f"SELECT answer, calls FROM verdicts WHERE event_id = '{event.id}'"
    assert rows(tmp_path, cost) == [("compose", 1.0)]
    wanted = f"SELECT decision_id, text FROM compositions WHERE event_id = '{event.id}'"
    assert rows(tmp_path, wanted) == [(join, "On the ward, Alice works at night.")]
    [[answers]] = rows(tmp_path, f"SELECT answers FROM events WHERE event_id = '{event.id}'")
    assert answers == join


def test_an_answer_of_nobody_was_not_known_before(tmp_path: Path, ada: OneOwner) -> None:
    """It cost no call either."""
    a = ada.say("The orchard is sold.")
    b = ada.say("Somebody sold the orchard.", (a, 0.8))
    nobody = structs.replace(verdict(a, "unavailable"), calls=0.0)
    ada.run(Settle(command_id=ada.fresh(), owner_id=OWNER, candidate_id=b, verdicts=(nobody,)))
    show(tmp_path, ada)
    assert rows(tmp_path, "SELECT known, unavailable FROM judge_cost") == [(0, 1)]


def test_the_queue_is_what_a_person_can_answer(tmp_path: Path, ada: OneOwner) -> None:
    """Nothing retracted, nothing taken out, no question that another replaced."""
    a, x = ada.say("The ferry leaves at noon."), ada.say("A lantern hangs high up.")
    b = ada.say("The ferry leaves at noon", (a, 0.99))
    y = ada.say("A lantern hangs high up", (x, 0.99))
    c = ada.say("The ferry goes at noon.", (a, 0.8), (x, 0.75))
    show(tmp_path, ada)
    queue = "SELECT candidate_id, existing_id FROM review_queue ORDER BY position, existing_id"
    assert set(rows(tmp_path, queue)) == {(b, a), (y, x), (c, a), (c, x)}
    ada.run(Retract(candidate_id=x, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, queue) == [(b, a), (c, a)]
    join = ada.decision(b)
    ada.run(Unmerge(decision_id=join, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, queue) == [(c, a)]
    ada.run(Reinstate(decision_id=join, **ada.words()))
    show(tmp_path, ada)
    assert rows(tmp_path, queue) == [(b, a), (c, a)]
    assert wrong(tmp_path, ada.log) == []


def test_the_score_of_a_pair_of_which_only_words_were_compared_is_theirs(
    tmp_path: Path, ada: OneOwner
) -> None:
    """While it waits and once it was joined, as in the log of what was compared."""
    a = ada.say("The boat to the island costs 4 euros.")
    b = ada.admit(OWNER, "The boat to the island costs 5 euros.", words=((a, 0.9),))
    show(tmp_path, ada)
    queue = "SELECT waits_as, candidate_id, similarity FROM review_queue"
    log = "SELECT decision, similarity FROM dedup_log ORDER BY position"
    assert rows(tmp_path, queue) == [("pending", b, 0.9)]
    assert rows(tmp_path, log) == [("pending", 0.9)]
    assert wrong(tmp_path, ada.log) == []
    ada.answer(b, a, "same")
    show(tmp_path, ada)
    assert rows(tmp_path, queue) == [("unreviewed", b, 0.9)]
    assert rows(tmp_path, log) == [("pending", 0.9), ("llm_reject", 0.9)]
    assert wrong(tmp_path, ada.log) == []


def test_a_pair_that_a_person_separated_is_not_in_the_queue(tmp_path: Path, ada: OneOwner) -> None:
    a, x = ada.say("The ferry leaves at noon."), ada.say("A lantern hangs high up.")
    ada.say("The ferry has a lantern.", (a, 0.8), (x, 0.75))
    [b] = (entry.id for entry in ada.ledgers[OWNER].entries.values() if entry.pending)
    ada.run(Separate(a=a, b=b, **ada.words()))
    show(tmp_path, ada)
    queue = "SELECT candidate_id, existing_id FROM review_queue"
    assert rows(tmp_path, queue) == [(b, x)]


def test_tables_of_an_earlier_version_are_recreated(tmp_path: Path, ada: OneOwner) -> None:
    """They lack columns: a start says so, and nobody is told of differences."""
    ada.say("The orchard is sold.")
    show(tmp_path, ada)
    for segment in listed(tmp_path):
        manifest = segment.manifest() | {"layout": LAYOUT - 1}
        (segment.path / MANIFEST).write_bytes(orjson.dumps(manifest))
    projector = Projector(tmp_path, ada.log)
    assert any("layout" in done for done in projector.start().done)
    projector.close()
    assert verify(ada.log, tmp_path)["differences"] == 0
    assert len(query(tmp_path, "FROM events")) == 1


# -- over random histories -------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[11, 12])
def random(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    history = History(request.param).steps(260)
    folder = tmp_path_factory.mktemp("random")
    show(folder, history)
    return folder, history


def test_every_event_is_a_row(random: tuple[Path, History]) -> None:
    folder, history = random
    found = query(folder, "FROM events ORDER BY position")
    logged = [(event.position, event.event.id, event.event.type) for event in history.log.events]
    assert [(r["position"], r["event_id"], f"palimpsest.{r['event']}.v1") for r in found] == logged
    position = {row["event_id"]: row["position"] for row in found}
    answers = [row for row in found if row["answers"] is not None]
    assert all(position[row["answers"]] < row["position"] for row in answers)
    assert {row["event"] for row in answers} >= {"reversed", "confirmed", "retracted", "settled"}
    said = {"reversed", "reinstated", "confirmed", "retracted", "restored"}
    words = [row for row in found if row["event"] in said]
    assert all(row["answers"] and row["actor"] == "kim" for row in words)


def test_standing_separations_are_those_of_the_ledgers(random: tuple[Path, History]) -> None:
    folder, history = random
    standing = "SELECT candidate_id, other_id, rank FROM separations WHERE standing"
    found = [(frozenset(pair), rank) for *pair, rank in rows(folder, standing)]
    assert len(found) == len(set(found)) > 3
    assert set(found) == set(_separated(history))


def _separated(history: History) -> Iterator[tuple[frozenset[str], str]]:
    for ledger in history.ledgers.values():
        for a, others in ledger.statements.items():
            for b in others:
                said = statement_on(ledger, a, b)
                if said is not None and said.separated:
                    yield frozenset((a, b)), said.rank


def test_what_was_compared_is_a_row_each(random: tuple[Path, History]) -> None:
    folder, _ = random
    found = rows(folder, "SELECT decision_id FROM dedup_log")
    assert len(found) == len(set(found))
    wanted = (
        "SELECT decision_id FROM decisions WHERE joined_to IS NOT NULL OR nearest_id IS NOT NULL"
        " OR decision = 'llm_keep' UNION ALL"
        " SELECT event_id FROM events WHERE event IN ('separated', 'reversed', 'reinstated')"
    )
    assert set(found) == set(rows(folder, wanted))
    assert not rows(folder, "FROM dedup_log WHERE existing_text IS NULL OR new_text IS NULL")


def test_a_timeline_says_what_the_events_say(random: tuple[Path, History]) -> None:
    """Two ways to the same: in Python along the log, and in SQL over the tables."""
    folder, history = random
    timeline = Timeline()
    events = [event for event in history.log.events if event.event.owner_id == "owner 1's"]
    for one in events:
        timeline.note(one)
    found = query(folder, "FROM events WHERE owner_id = 'owner 1''s' ORDER BY position")
    told = {one["event_id"]: one for one in timeline.of(history.ledgers["owner 1's"].entries)}
    assert len(told) > 30
    said = ("decision", "candidate_id", "other_id", "answers", "rank", "actor", "because", "reason")
    rows = {row["event_id"]: row for row in found}
    for event_id, event in told.items():
        row = rows[event_id]
        assert [event.get(name) for name in said] == [row[name] for name in said], event
        assert event.get("reasoning") == row["llm_reasoning"], event
    assert any("reasoning" in event for event in told.values())
