"""Queries from Python: values are passed as parameters, and no column is lost."""

from __future__ import annotations

import re
import traceback
from uuid import uuid4

import pytest

from palimpsest import Palimpsest, UsageError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requests import Selection, SettleRequest
from tests.palimpsest.api.test_evidence import asking_about_all

SAID = [{"owner_id": owner, "text": f"She lives in {owner}."} for owner in ("ada", "it's")]


def test_values_go_in_by_place_or_by_name(memories: Palimpsest) -> None:
    memories.submit(SAID)
    counted = "SELECT count(*) AS n FROM memories WHERE owner_id = "
    assert memories.sql(f"{counted}?", ["it's"]) == [{"n": 1}]
    assert memories.sql(f"{counted}$owner", {"owner": "ada"}) == [{"n": 1}]
    with pytest.raises(UsageError, match="parameter"):
        memories.sql(f"{counted}$owner")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("face::INT", "in `::INT`"),
        ("face::JSON", "Conversion error"),
        ("error(face)", "Invalid Input error"),
        ("strptime(face, '%Y')", "Invalid Input error"),
        ("regexp_matches('a', face || '(')", "one of its values"),
    ],
)
def test_an_error_quotes_no_memory(memories: Palimpsest, wrong: str, told: str) -> None:
    memories.submit(SAID)
    with pytest.raises(UsageError, match=re.escape(told)) as caught:
        memories.sql(f"SELECT {wrong} FROM memories")
    assert "lives" not in "".join(traceback.format_exception(caught.value))


def test_an_error_before_anything_is_read_quotes_the_query(memories: Palimpsest) -> None:
    memories.submit(SAID)
    with pytest.raises(UsageError, match='column "nope" not found'):
        memories.sql("SELECT nope FROM memories")


def test_columns_of_one_name_are_all_there(memories: Palimpsest) -> None:
    memories.submit(SAID)
    pairs = "FROM candidates a, candidates b WHERE a.owner_id < b.owner_id"
    found = memories.sql(f"SELECT a.text, b.text, 1 AS text_1, a.text {pairs}")
    ada, other = (row["text"] for row in SAID)
    assert found == [{"text": ada, "text_2": other, "text_1": 1, "text_3": ada}]


def test_what_was_forgotten_shows_what_it_said_of_itself(memories: Palimpsest) -> None:
    """In a memory with a living member, only that member's text would count."""
    row = {"owner_id": "ada", "text": "She lives in Rome.", "metadata": {"seen": "today"}}
    [outcome] = memories.submit([row | {"intensity": 0.5}])
    assert outcome.candidate_id is not None
    memories.retract(Selection(candidate_id=outcome.candidate_id))
    shown = memories.show(outcome.candidate_id)
    assert (shown["living"], shown["metadata"], shown["intensity"]) == (
        False,
        {"seen": "today"},
        0.5,
    )


def test_a_status_has_no_cost_if_a_price_is_not_known(memories: Palimpsest) -> None:
    memories.set_policy(asking_about_all("candidates"))
    texts = ("two cats sleep", "two cats sleep a lot", "two cats sleep long")
    ids = [
        str(one.candidate_id)
        for one in memories.submit([{"owner_id": "ada", "text": text} for text in texts])
    ]
    assert memories.status()["judge"]["usd"] == 0.0
    for newer, cost, total in ((ids[1], 0.5, 0.5), (ids[2], None, None)):
        verdicts = tuple(
            Verdict(neighbour_id=one, answer="different", calls=1.0, cost_usd=cost)
            for one in memories.show_candidate(newer)["evidence"]["asked"]
        )
        request = SettleRequest(request_id=str(uuid4()), candidate_id=newer, verdicts=verdicts[:1])
        memories.settle([request])
        for status in (memories.status(), memories.status(as_of=memories.position)):
            assert status["judge"]["usd"] == total
