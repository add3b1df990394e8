"""What an agent does not see of what was forgotten: its texts, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from palimpsest import Palimpsest
from palimpsest.api import agent, store
from palimpsest.api.agent import Agent
from palimpsest.queries.hiding import TEXTS, forgotten_texts, without
from palimpsest.server.operations import OPERATIONS
from palimpsest.streams.write.inputs import Outcome

OURS = frozenset(
    """
    actor again answers asked asks at by candidate_id candidates carried_out cause check command
    compared_with confirmed consequence_of created_at cues decided_at decision decision_id detail
    did event event_id events expires_at folded forgotten former found frame id joined joined_to
    last_accessed members memory_id merged message metadata model name names namespace newer next
    occurred_at older one other other_id outcome overtaken owner_id policy query rank reason
    reinstated restored retracted reversed session_id similar_facts source taken_back thresholds
    token undo unsettled updated_at urn version was
    """.split()
)
"""Fields of answers that are no text of a memory."""


def test_a_forgotten_text_hides_no_word_that_is_equal(memories: Palimpsest) -> None:
    """Words of the store, names and metadata of a living memory stay as they are."""
    kept = {"text": "Ada rows a boat", "owner_id": "ada", "metadata": {"list": "default"}}
    gone = [{"text": text, "owner_id": "ada"} for text in ("stored", "default", "ada", "python")]
    memory_id = str(memories.submit([kept])[0].candidate_id)
    ada = memories.agent("ada")
    asked = (ada.get, ada.show, ada.why, ada.history)
    before = [ask(memory_id) for ask in asked]
    ids = [str(outcome.candidate_id) for outcome in memories.submit(gone)]
    memories.forget(ids, again="allow", owner_id="ada")
    assert {"stored", "default", "ada", "python"} <= forgotten_texts(memories.reader.ledger("ada"))
    assert [ask(memory_id) for ask in asked] == before


def test_a_check_quotes_no_forgotten_text_to_an_agent(memories: Palimpsest) -> None:
    text = "every winter two cats sleep near our old kitchen stove until dawn and noon"
    [gone] = memories.submit({"owner_id": "ada", "text": text})
    memories.forget(str(gone.candidate_id))
    answer = memories.agent("ada").check(f"{text} today")
    assert answer["neighbour"] is not None
    assert (answer["check"], answer["neighbour"]["candidate_id"]) == (
        "forgotten",
        gone.candidate_id,
    )
    assert text not in str(answer)


def test_what_an_agent_forgets_is_not_quoted_in_the_answer(memories: Palimpsest) -> None:
    """A plan of it shows the texts: nothing is forgotten yet."""
    texts = ("Ada rows a boat", "Ada plays the oboe")
    ids = [
        str(memories.submit({"owner_id": "ada", "text": text})[0].candidate_id) for text in texts
    ]
    ada = memories.agent("ada")
    assert texts[0] in str(ada.forget(ids[0], dry_run=True))
    answer = ada.forget(ids[0])
    assert [memory["face"] for memory in answer["memories"]] == [""]
    assert texts[0] not in str(answer)


def test_a_text_is_hidden_in_every_field_of_texts() -> None:
    answer = {
        "face": "secret",
        "members": [{"text": "secret", "decision": "secret"}, {"text": "no secret"}],
        "words": ("secret", "open"),
        "metadata": {"text": "secret"},
        "because": None,
    }
    assert without(answer, {"secret"}) == {
        "face": "",
        "members": [{"text": "", "decision": "secret"}, {"text": "no secret"}],
        "words": ["", "open"],
        "metadata": {"text": "secret"},
        "because": None,
    }


def test_every_field_of_answers_is_known_to_hold_a_text_or_none() -> None:
    """A new field has to be named here, or in `TEXTS` if it may hold a forgotten text."""
    names = {**vars(agent), "Palimpsest": store.Palimpsest, "Outcome": Outcome}
    calls = [call for name, call in inspect.getmembers(Agent, inspect.isfunction) if name[0] != "_"]
    answers = [get_type_hints(call, names)["return"] for call in calls]
    answers += [operation.answer for operation in OPERATIONS]
    found = {field for answer in answers for field in fields_of(answer, "", set())}
    assert found == TEXTS | OURS


def fields_of(kind: Any, field: str, seen: set[Any]) -> Iterator[str]:
    """The fields of a type, at every depth, that hold a text, several, or anything."""
    if is_typeddict(kind):
        if kind not in seen:
            seen.add(kind)
            for name, inner in get_type_hints(kind).items():
                yield from fields_of(inner, name, seen)
    elif kind in (str, Any):
        if field:
            yield field
    elif get_origin(kind) is not Literal:
        for inner in get_args(kind):
            yield from fields_of(inner, field, seen)
