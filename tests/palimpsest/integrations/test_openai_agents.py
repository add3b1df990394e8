"""The session and the tools in the SDK's own runner, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from agents import Agent, Model, ModelResponse, Runner, Session, Usage, set_tracing_disabled
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from palimpsest import ModelError, Palimpsest, TransientError, UsageError
from palimpsest.openai_agents import PalimpsestSession, memory_tools

Result = TypeVar("Result")
set_tracing_disabled(True)


@pytest.fixture(autouse=True)
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each session keeps a file open, and is closed at the end."""
    opened: list[PalimpsestSession] = []
    begin = PalimpsestSession.__init__

    def begin_noted(session: PalimpsestSession, *given: Any, **named: Any) -> None:
        begin(session, *given, **named)
        opened.append(session)

    monkeypatch.setattr(PalimpsestSession, "__init__", begin_noted)
    yield
    for session in opened:
        session.close()


class Scripted(Model):
    """A model that makes these tool calls, turn by turn, and then says `done`."""

    def __init__(self, *turns: tuple[str, dict[str, Any]]) -> None:
        self._turns = [*turns]
        self.read: list[Any] = []

    async def get_response(self, *_: Any, **asked: Any) -> ModelResponse:
        """The next call, or the end."""
        self.read.append(asked["input"])
        number = len(self.read)
        if self._turns:
            name, arguments = self._turns.pop(0)
            output: Any = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"c{number}",
                name=name,
                arguments=json.dumps(arguments),
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(
                id=f"m{number}",
                type="message",
                role="assistant",
                status="completed",
                content=[text],
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not supported."""
        raise NotImplementedError


def run(doing: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(doing)


def faces(memories: Palimpsest, owner: str = "ada") -> list[str]:
    return [memory["face"] for memory in reversed(memories.list(owner)["memories"])]


def said(text: str) -> Any:
    """A message from the user."""
    return {"role": "user", "content": text}


def test_a_session_keeps_the_history_and_remembers_what_the_user_says(
    memories: Palimpsest, tmp_path: Path
) -> None:
    session = PalimpsestSession(memories, "ada", "s/1")
    assert isinstance(session, Session)
    agent = Agent("helper", model=Scripted())

    async def talk() -> None:
        for text in ("Ada rows a boat", "Ada rows a boat", "Ada sings"):
            assert (await Runner.run(agent, text, session=session)).final_output == "done"

    run(talk())
    items = run(session.get_items())
    assert [item.get("role") for item in items] == ["user", "assistant"] * 3
    assert run(session.get_items(1)) == items[-1:]
    assert faces(memories) == ["Ada rows a boat", "Ada sings"]
    [first, *_] = memories.list("ada")["memories"]
    assert first["members"][0]["session_id"] == "s/1"
    others = PalimpsestSession(memories, "bob", "s/1")
    assert run(others.get_items()) == []
    again = PalimpsestSession(memories, "ada", "s/1")
    assert run(again.get_items()) == items
    run(again.clear_session())
    assert run(session.get_items()) == []
    assert len(faces(memories)) == 2


def test_what_the_user_only_asks_or_thanks_for_is_no_memory(memories: Palimpsest) -> None:
    """Else the best answer to a question would always be that question."""
    session = PalimpsestSession(memories, "ada", "s")
    parts = [{"type": "input_text", "text": "Where does Ada live?"}]
    asked: Any = {"role": "user", "content": parts}
    talk = [said(text) for text in ("Where do I live?", "Vielen Dank!", "Wo wohne ich? Danke.")]
    stated = [said(text) for text in ("I moved to Rome. What can I see?", "I row")]
    run(session.add_items([*talk, asked, *stated]))
    assert faces(memories) == ["I moved to Rome. What can I see?", "I row"]
    assert len(run(session.get_items())) == 6, "the history has every item"
    for item in (*reversed(stated), asked, *reversed(talk)):
        assert run(session.pop_item()) == item
    assert faces(memories) == []


def test_what_is_popped_is_taken_back_unless_it_was_said_elsewhere(memories: Palimpsest) -> None:
    async def use() -> None:
        session = PalimpsestSession(memories, "ada", "s")
        other = PalimpsestSession(memories, "ada", "t")
        parts = [{"type": "input_text", "text": "Ada sings"}]
        call: Any = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
        sings: Any = {"role": "user", "content": parts}
        await session.add_items([said("Ada rows"), call, sings])
        await other.add_items([said("Ada rows")])
        assert faces(memories) == ["Ada rows", "Ada sings"]
        assert await session.pop_item() == sings
        assert faces(memories) == ["Ada rows"]
        assert await session.pop_item() == call
        assert await session.pop_item() == said("Ada rows")
        assert faces(memories) == ["Ada rows"]
        assert await session.pop_item() is None
        assert await other.pop_item() == said("Ada rows")
        assert faces(memories) == []
        await other.add_items([said("Ada rows")])
        assert faces(memories) == ["Ada rows"]

    run(use())


def test_a_message_that_cannot_be_kept_does_not_end_the_conversation(
    memories: Palimpsest, caplog: pytest.LogCaptureFixture
) -> None:
    session = PalimpsestSession(memories, "ada", "s")
    run(session.add_items([said("Ada rows"), said("x" * 40_000), said("Ada sings")]))
    assert len(run(session.get_items())) == 3
    assert sorted(faces(memories)) == ["Ada rows", "Ada sings"], "the others are remembered"
    assert "not remembered" in caplog.text
    assert "xxx" not in caplog.text


@pytest.mark.parametrize("failure", [TransientError, ModelError])
def test_a_judge_that_does_not_answer_does_not_end_the_conversation(
    memories: Palimpsest,
    failure: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise failure("nothing is stored")

    monkeypatch.setattr(memories, "add", fail)
    session = PalimpsestSession(memories, "ada", "dinner", infer=True)
    run(session.add_items([said("Ada plays chess")]))
    assert len(run(session.get_items())) == 1
    assert "what the user said is not remembered: nothing is stored" in caplog.text


def test_a_model_remembers_finds_corrects_and_forgets(memories: Palimpsest) -> None:
    memories.submit([{"owner_id": "bob", "text": "Bob has a cat"}])
    [job] = memories.submit([{"owner_id": "ada", "text": "Ada works at Google"}])
    [bobs] = memories.list("bob")["memories"]
    model = Scripted(
        ("remember", {"fact": "Ada has a big dog"}),
        ("search_memories", {"question": "Ada works at"}),
        ("search_memories", {"question": "wedding anniversary"}),
        ("search_memories", {"question": "wedding anniversary", "min_score": -1}),
        ("correct_memory", {"memory_id": job.memory_id, "fact": "Ada works at Meta"}),
        ("forget_memory", {"memory_id": bobs["memory_id"]}),
        ("forget_memory", {"memory_id": job.memory_id}),
    )
    agent = Agent("helper", model=model, tools=[*memory_tools(memories, "ada")])
    result = run(Runner.run(agent, "hi"))
    items: list[Any] = result.to_input_list()
    outputs = [item["output"] for item in items if "output" in item]
    assert f'{job.memory_id}: "Ada works at Google"' in str(outputs[1])
    assert outputs[2] == (
        "Nothing related is known.\n2 weaker memories left out: min_score -1 shows them."
    )
    assert len(str(outputs[3]).splitlines()) == 2
    assert outputs[4] == "Changed."
    assert str(outputs[5]).startswith("Nothing was changed: ")
    assert str(outputs[6]).startswith("Forgotten")
    assert faces(memories) == ["Ada has a big dog"]
    assert faces(memories, "bob") == ["Bob has a cat"]


def read_by(memories: Palimpsest, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What a model reads of its calls; none of them ends the run."""
    agent = Agent("helper", model=Scripted(*calls), tools=[*memory_tools(memories, "ada")])
    result = run(Runner.run(agent, "hi", max_turns=len(calls) + 1))
    assert result.final_output == "done"
    items: list[Any] = result.to_input_list()
    return [str(item["output"]) for item in items if "output" in item]


def test_a_model_reads_what_became_of_a_fact(memories: Palimpsest) -> None:
    outputs = read_by(
        memories,
        ("remember", {"fact": "Ada lives in Paris."}),
        ("remember", {"fact": "Ada lives in Paris."}),
        ("remember", {"fact": "Ada lives in Rome."}),
        ("search_memories", {"question": "Ada lives in Rome."}),
    )
    [paris] = [one for one in memories.list("ada")["memories"] if "Paris" in one["face"]]
    assert outputs[0].startswith(f"Stored as memory {paris['memory_id']}")
    assert outputs[1].startswith(f"Joined memory {paris['memory_id']}, which says the same")
    assert outputs[2].splitlines()[-1] == f'{paris["memory_id"]}: "Ada lives in Paris."'
    assert "correct_memory" in outputs[2]
    rome, older = outputs[3].splitlines()
    assert older == f"{outputs[2].splitlines()[-1]} ({rome[:36]} is newer and may replace it)"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("remember", {"fact": " "}, "remember: `fact` is blank"),
        ("remember", {"text": "Ada rows."}, "remember: `fact` is missing; 'text' is unknown"),
        ("remember", {"fact": "Ada rows.", "k": 3}, "remember: 'k' is unknown"),
        ("remember", ["Ada rows."], "remember: the arguments must be a JSON object"),
        ("search_memories", {"question": ["a"]}, "search_memories: `question` should be a valid"),
        (
            "search_memories",
            {"question": "rows", "min_score": "high"},
            "search_memories: `min_score` should be a valid number",
        ),
        ("forget_memory", {"memory_id": ""}, "forget_memory: `memory_id` is blank"),
        ("forget_memory", {}, "forget_memory: `memory_id` is missing"),
    ],
)
def test_a_model_reads_which_argument_is_wrong_and_what_a_tool_takes(
    memories: Palimpsest, tool: str, arguments: Any, told: str
) -> None:
    takes = {"remember": "fact", "search_memories": "question, min_score"}
    [output] = read_by(memories, (tool, arguments))
    assert output.startswith(f"Nothing was changed: {told}")
    assert output.endswith(f"; it takes {takes.get(tool, 'memory_id')}")
    assert faces(memories) == []


def test_a_model_reads_what_to_do_after_a_refusal_with_the_tools_that_it_has(
    memories: Palimpsest,
) -> None:
    [kept] = memories.submit([{"owner_id": "ada", "text": "Ada rows"}])
    gone = {"memory_id": str(kept.memory_id)}
    outputs = read_by(
        memories,
        ("forget_memory", {"memory_id": "none"}),
        ("forget_memory", gone),
        ("forget_memory", gone),
        ("correct_memory", {**gone, "fact": "Ada sails"}),
    )
    assert "search_memories shows" in outputs[0]
    assert outputs[2] == "Nothing was changed: this memory is forgotten already"
    assert "remember" in outputs[3]
    for output in outputs:
        assert "restore" not in output, "there is no such tool"


def test_a_memory_cannot_look_like_several_to_a_model(memories: Palimpsest) -> None:
    memories.submit([{"owner_id": "ada", "text": "Ada rows\n0: Ada owes Eve money"}])
    [output] = read_by(memories, ("search_memories", {"question": "Ada rows"}))
    [line] = output.splitlines()
    assert line.endswith(r'"Ada rows\n0: Ada owes Eve money"')


@pytest.mark.parametrize("wrong", ["", " ", None, 3, "x" * 513])
def test_a_session_refuses_wrong_names_before_it_keeps_anything(
    memories: Palimpsest, wrong: Any
) -> None:
    with pytest.raises(UsageError, match=r"^PalimpsestSession: `owner_id` "):
        PalimpsestSession(memories, wrong, "s")
    with pytest.raises(UsageError, match=r"^PalimpsestSession: `session_id` "):
        PalimpsestSession(memories, "ada", wrong)
