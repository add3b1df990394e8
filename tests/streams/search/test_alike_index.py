"""Of an owner with names, what says the same is found whatever its rank among the nearest."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from palimpsest.contracts.events import Decided
from palimpsest.contracts.policy import CosineCheck, Judge, Zone
from palimpsest.contracts.requests import RetractRequest, Selection, SetNamesRequest
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search.alike_index import AlikeIndex
from palimpsest.streams.write.serve import execute
from tests.streams.write.runtime import Runtime

NEAREST_ALONE = CosineCheck(
    check="cosine",
    top=1,
    near_identical=0.0,
    zones=(Zone(at_least=0.999, action="auto_reject", guard=True),),
)
POLICY = load_policy("standard").model_copy(update={"checks": (NEAREST_ALONE,), "judge": Judge()})
NEARER = [f"I live in Rome with {who}." for who in ("Bob", "Eve", "Tom", "Kim")]


def say(runtime: Runtime, *texts: str) -> list[str | None]:
    rows = [{"owner_id": "ada", "id": uuid4().hex, "text": text} for text in texts]
    return [one.decision for one in runtime.submit(*rows)]


def call(runtime: Runtime, *names: str) -> None:
    request = SetNamesRequest(request_id=str(uuid4()), owner_id="ada", names=names)
    execute(runtime.writer, request)


def joined_to(runtime: Runtime) -> str:
    """Whom the last newcomer joined, and the neighbours in its evidence."""
    ledger = runtime.writer.ledger("ada")
    last = [*ledger.entries.values()][-1]
    found = runtime.log.find(last.decision_id)
    assert found is not None
    assert isinstance(found.event, Decided)
    join = found.event.data.join
    assert join is not None
    seen = {one.candidate_id: one for one in found.event.data.evidence.neighbours}
    assert seen[join.to].near_identical
    return ledger.entries[join.to].text


def test_another_name_is_found_behind_the_nearest(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=POLICY) as runtime:
        assert say(runtime, "Ada lives in Rome.", *NEARER) == ["stored"] * 5
        assert say(runtime, "The user lives in Rome.") == ["stored"]
        call(runtime, "Ada", "I")
        assert say(runtime, "I live in Rome.") == ["auto_reject"]
        assert joined_to(runtime) == "Ada lives in Rome."
        call(runtime, "the user", "I")
        assert say(runtime, "I live in Rome") == ["auto_reject"]
        assert joined_to(runtime) in ("The user lives in Rome.", "I live in Rome.")


def test_what_is_retracted_or_of_nobodys_name_is_not_found(tmp_path: Path) -> None:
    with Runtime(tmp_path / "log.sqlite", policy=POLICY) as runtime:
        call(runtime, "Ada", "I")
        say(runtime, "Ada lives in Rome.", "Bob lives in Rome.", *NEARER)
        [ada, *_] = runtime.writer.ledger("ada").entries
        gone = RetractRequest(request_id=str(uuid4()), selection=Selection(candidate_id=ada))
        execute(runtime.writer, gone)
        assert say(runtime, "I live in Rome.") == ["stored"]


def test_without_names_nobody_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(AlikeIndex, "of")
    with Runtime(tmp_path / "log.sqlite", policy=POLICY) as runtime:
        assert say(runtime, "Ada lives in Rome.", "I live in Rome.") == ["stored", "stored"]
