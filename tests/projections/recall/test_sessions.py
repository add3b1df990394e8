"""What a session has just said does not come back to it, until its conversation is compacted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palimpsest.contracts.commands import Compact, Merge, Retract
from palimpsest.contracts.events import Compacted
from palimpsest.projections.projector import Projector
from palimpsest.projections.recall.session import own_memories, own_of
from palimpsest.streams.core.ledger import Ledger
from tests.projections.histories import DIMENSION, History
from tests.projections.recall.recalled import recall, recall_as_of

QUERY = np.ones(DIMENSION, np.float32)


def faces(folder: Path, history: History, session: str | None) -> list[str]:
    """What `ada` recalls, now and as of now: the same."""
    projector = Projector(folder, history.log)
    projector.start()
    projector.close()
    own = own_memories(folder, "ada", session, compacted_at(history, session)) if session else []
    assert set(own) == (own_of(history.ledgers["ada"], session) if session else set())
    now = recall(folder, history.log, "ada", QUERY, 50, without=own)
    then = recall_as_of(history.log, "ada", QUERY, 50, None, history.log.head(), session)
    assert now == then
    return sorted(found["face"] for found in now)


def compacted_at(history: History, session: str) -> int:
    found = (
        one.position
        for one in history.log.of_owner("ada")
        if isinstance(one.event, Compacted) and one.event.data.session_id == session
    )
    return max(found, default=0)


def compact(history: History, session: str, owner: str = "ada") -> None:
    history.run(Compact(command_id=history.fresh(), owner_id=owner, session_id=session))


@pytest.fixture
def history() -> History:
    made = History()
    made.admit("ada", "She rows.", session_id="old")
    made.admit("ada", "She knits.", session_id="now")
    made.admit("ada", "She sails.")
    return made


def test_the_current_session_is_left_out(tmp_path: Path, history: History) -> None:
    assert faces(tmp_path, history, None) == ["She knits.", "She rows.", "She sails."]
    assert faces(tmp_path, history, "now") == ["She rows.", "She sails."]
    assert faces(tmp_path, history, "another") == ["She knits.", "She rows.", "She sails."]


def test_after_a_compaction_what_was_before_it_may_appear_again(
    tmp_path: Path, history: History
) -> None:
    compact(history, "another")
    compact(history, "now", owner="ben")
    assert faces(tmp_path, history, "now") == ["She rows.", "She sails."]
    compact(history, "now")
    history.admit("ada", "She paints.", session_id="now")
    assert faces(tmp_path, history, "now") == ["She knits.", "She rows.", "She sails."]
    compact(history, "now")
    assert "She paints." in faces(tmp_path, history, "now")


def test_a_memory_that_another_session_said_too_is_older_news(
    tmp_path: Path, history: History
) -> None:
    history.admit("ada", "she  knits.", session_id="old")
    assert "She knits." in faces(tmp_path, history, "now")
    again = history.admit("ada", "She rows!", session_id="now")
    old = next(iter(history.ledgers["ada"].entries))
    history.run(Merge(command_id=history.fresh(), owner_id="ada", a=old, b=again))
    assert faces(tmp_path, history, "now") == ["She knits.", "She rows.", "She sails."]
    history.run(Retract(command_id=history.fresh(), owner_id="ada", candidate_id=old))
    assert faces(tmp_path, history, "now") == ["She knits.", "She sails."]


def test_as_of_a_position_before_the_compaction(tmp_path: Path, history: History) -> None:
    before = history.log.head()
    compact(history, "now")
    assert len(faces(tmp_path, history, "now")) == 3
    then = recall_as_of(history.log, "ada", QUERY, 50, None, before, "now")
    assert len(then) == 2


def test_nobody_has_sessions_in_an_empty_store(tmp_path: Path) -> None:
    assert own_of(Ledger("ada"), "now") == set()
