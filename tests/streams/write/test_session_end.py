"""The end of a session and what it leads to are one commit: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from palimpsest.contracts.answers import Done
from palimpsest.contracts.events import Decided, Joined, Ran, SessionEnded
from palimpsest.contracts.requests import MergeRequest, SessionRequest
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.serve import PendingRequest, serve
from tests.streams.write.runtime import Runtime
from tests.stub_engine import UNPLUGGED

RULES = load_policy("layered")
TEXTS = ("arm wheel", "pump crane", "plate belt")


class StoppedError(RuntimeError):
    """What the disk says."""


def submit_texts(runtime: Runtime) -> None:
    runtime.submit(
        *(
            {"owner_id": "ann", "session_id": "s", "text": f"grip force cup table winch {text}"}
            for text in TEXTS
        )
    )


def end() -> PendingRequest:
    request = SessionRequest(
        request_id=str(uuid4()), request="end_session", owner_id="ann", session_id="s"
    )
    return PendingRequest(request)


def kinds(runtime: Runtime) -> Sequence[type[object]]:
    return [type(one.event) for one in runtime.log.of_owner("ann")][3:]


class Disk:
    """Fails an append when it is told to."""

    full = False

    def __call__(self, effect: str) -> None:
        if self.full and effect == "log:append":
            raise StoppedError


def test_nothing_of_it_happened_where_the_commit_failed(tmp_path: Path) -> None:
    disk = Disk()
    with Runtime(tmp_path / "log.sqlite", policy=RULES, effect=disk) as runtime:
        submit_texts(runtime)
        asked, disk.full = end(), True
        with pytest.raises(StoppedError):
            serve(runtime.writer, [asked])
        assert kinds(runtime) == []
        assert runtime.ledger_matches_log()
        disk.full = False
        [answer] = serve(runtime.writer, [asked])
        assert isinstance(answer, Done)
        assert answer.result["superseded_count"] == 2
        assert kinds(runtime) == [SessionEnded, Joined, Joined, Ran]
        assert runtime.ledger_matches_log()


def test_all_that_it_leads_to_says_who_ended_it_and_why(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=RULES) as runtime:
        submit_texts(runtime)
        said = {"actor": "eve", "because": "she left"}
        serve(runtime.writer, [PendingRequest(end().request.model_copy(update=said))])
        events = [one.event for one in runtime.log.of_owner("ann")]
        led_to = [event.data for event in events if isinstance(event, Joined | Ran)]
        assert [(data.actor, data.because) for data in led_to] == [("eve", "she left")] * 3


def test_redelivered_it_is_answered_as_it_was_and_nothing_happens(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=RULES) as runtime:
        submit_texts(runtime)
        asked = end()
        answers = [serve(runtime.writer, [asked])[0] for _ in range(2)]
        assert answers[0] == answers[1]
        assert kinds(runtime) == [SessionEnded, Joined, Joined, Ran]
        words = "shaft rotor", "axle frame"
        more = [f"boat oar anchor mast deck {other}" for other in (*words, "hull keel")]
        runtime.submit(*({"owner_id": "ann", "session_id": "s", "text": text} for text in more))
        assert serve(runtime.writer, [asked])[0] == answers[0]
        assert kinds(runtime)[-1] is Decided, "what was said since waits for an end of its own"


def test_a_policy_that_is_switched_off_consolidates_nothing(tmp_path: Path) -> None:
    off = RULES.model_copy(update={"enabled": False})
    with Runtime(tmp_path / "log.sqlite", policy=off) as runtime:
        submit_texts(runtime)
        [answer] = serve(runtime.writer, [end()])
        assert isinstance(answer, Done)
        assert answer.result == {"session_id": "s"}
        assert kinds(runtime) == [SessionEnded]


@pytest.mark.parametrize(("chosen", "contradicts"), [(1, 0), (2, 1)])
def test_a_face_that_a_person_chose_speaks_and_where_two_meet_review_decides(
    tmp_path: Path, chosen: int, contradicts: int
) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=RULES) as runtime:
        submit_texts(runtime)
        rows = [
            {"owner_id": "ann", "session_id": "s", "text": f"grip force cup table winch {text}"}
            for text in ("shaft rotor", "axle frame", "hull keel")
        ]
        others = runtime.submit(*rows[:2], rows[2] | {"confidence": 0.94})
        entries = [*runtime.writer.owners.get("ann").ledger.entries.values()]
        for older, newer in zip(entries[:chosen], others[:chosen], strict=True):
            merge = MergeRequest(
                request_id=str(uuid4()),
                a=older.id,
                b=str(newer.candidate_id),
                face=newer.candidate_id,
            )
            serve(runtime.writer, [PendingRequest(merge)])
        serve(runtime.writer, [end()])
        [memory] = runtime.writer.owners.get("ann").ledger.memories()
        assert memory.face.chosen
        assert memory.face.text == rows[0]["text"]
        assert len(memory.face.contradicts) == contradicts


def test_without_an_embedder_layers_1_and_2_and_consolidation_go_on(
    tmp_path: Path,
) -> None:
    """The document's layer 3 "only runs if embedder is available"; words need none at the end."""
    with Runtime(tmp_path / "log.sqlite", policy=RULES) as runtime:
        rows = [
            {"owner_id": "ann", "session_id": "s", "text": f"grip force cup table winch {word}"}
            for word in (f"{UNPLUGGED} arm", "pump crane", "plate belt")
        ]
        near = rows[0] | {"text": f"{UNPLUGGED} arm winch table and cup force grip"}
        told = runtime.submit(*rows, rows[0] | {"id": "again"}, near)
        stored = ["stored"] * 3
        assert [one.decision for one in told] == [*stored, "hash_exact", "token_reject"]
        assert told[-1].joined_to == told[0].candidate_id
        rows_of = runtime.writer.owners.get("ann").ledger.scope("default").rows
        assert [distinct.vector for distinct in rows_of] == [None] * 4
        *_, last = [one.event for one in runtime.log.of_owner("ann")]
        assert isinstance(last, Decided)
        evidence = last.data.evidence
        assert (evidence.down, evidence.check) == (("embedder",), "tokens")
        assert {neighbour.cosine for neighbour in evidence.neighbours} == {None}
        [answer] = serve(runtime.writer, [end()])
        assert isinstance(answer, Done)
        assert answer.result["superseded_count"] == 2


@pytest.mark.parametrize("protected", [True, False])
def test_what_the_policy_protects_everywhere_is_not_joined_at_the_end_either(
    tmp_path: Path, protected: bool
) -> None:
    """The rule has categories of its own, which come on top."""
    categories = ("promise",) if protected else ()
    rules = RULES.model_copy(update={"protected_categories": categories})
    with Runtime(tmp_path / "log.sqlite", policy=rules) as runtime:
        rows = ({"owner_id": "ann", "session_id": "s", "category": "promise"} for _ in TEXTS)
        runtime.submit(
            *(
                row | {"text": f"grip force cup table winch {text}"}
                for row, text in zip(rows, TEXTS, strict=True)
            )
        )
        [answer] = serve(runtime.writer, [end()])
        assert isinstance(answer, Done)
        assert answer.result["superseded_count"] == (0 if protected else 2)
