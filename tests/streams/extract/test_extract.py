"""`extract` through the real SDK against the local server: what is asked, kept and refused."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.cli.main import app
from palimpsest.contracts.errors import PalimpsestError, TransientError, UsageError
from palimpsest.contracts.identity import session_of
from palimpsest.jobs.extract import memories_of
from palimpsest.streams.embedded import session
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.extract.conversation import Message, parts, read_conversation
from palimpsest.streams.extract.extract import extract_prompt, statements, states
from palimpsest.streams.judge import storage
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.policies import load_policy
from tests.streams.judge.hostile import HOSTILE
from tests.stub_engine import load_stub
from tests.tables import each

CHAT = [
    {
        "role": "user",
        "content": "Hi! I adopted a rescue cat in 2023.",
        "at": "2026-03-01T12:00:00Z",
    },
    {
        "role": "assistant",
        "content": "Lovely. What is the cat called?",
        "time": "2026-03-01T12:01:00Z",
    },
    {"role": "user", "content": "Her name is Whiskers now.", "time": "2026-03-01T12:02:00Z"},
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    with JudgeServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        yield running


def written(folder: Path, messages: list[Any]) -> str:
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    return str(path)


def run(folder: Path, *words: str, messages: list[Any] | None = None) -> Any:
    file = written(folder, CHAT if messages is None else messages)
    store_option = ["--store", str(folder / "store")]
    return CliRunner().invoke(app, [*store_option, "extract", file, "--owner", "ada", *words])


def rows(ran: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.split("\n") if line]


def test_a_conversation_becomes_candidates_with_their_times(
    server: JudgeServer, tmp_path: Path
) -> None:
    ran = run(tmp_path, "--namespace", "cats")
    assert ran.exit_code == 0, ran.output
    found = rows(ran)
    assert [row["text"] for row in found] == [
        "I adopted a rescue cat in 2023.",
        "Her name is Whiskers now.",
    ]
    assert [row["occurred_at"][:16] for row in found] == ["2026-03-01T12:00", "2026-03-01T12:02"]
    assert {row["namespace"] for row in found} == {"cats"}
    [message] = read_conversation([json.dumps(CHAT[0]).encode()])
    assert message.at is not None
    assert {row["session_id"] for row in found} == {session_of(message.at)}


def test_a_session_that_is_named_is_not_computed(server: JudgeServer, tmp_path: Path) -> None:
    assert {row["session_id"] for row in rows(run(tmp_path, "--session", "s1"))} == {"s1"}


def test_they_are_fit_for_ingest_and_known_when_they_come_again(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    path = tmp_path / "memories.jsonl"
    path.write_text(run(tmp_path).stdout + run(tmp_path).stdout)
    with Palimpsest.open(tmp_path / "store", policy="replace-or-merge") as opened:
        summary = opened.ingest([str(path)])
        assert (summary.rows, summary.known, summary.invalid) == (4, 2, 0)


def test_the_prompt_asks_for_longer_memories_in_the_documents_words() -> None:
    ran = CliRunner().invoke(app, ["prompt", "extract"])
    for words in (
        "For each memory, provide",
        "The fact to remember. Include relevant context such as",
        "When it was mentioned (if notable)",
        "Why it matters or how it came up",
        "Related details that distinguish this from similar facts",
        "Aim for 1–3 sentences rather than fragments",
    ):
        assert words.casefold() in ran.stdout.casefold()
    named = json.loads(CliRunner().invoke(app, ["--json", "prompt", "extract"]).stdout)
    assert named["id"] == extract_prompt().id


def test_what_is_said_stays_data(server: JudgeServer, tmp_path: Path) -> None:
    """Hostile messages are values inside one JSON value, and change nothing around them."""
    messages = [{"role": "user", "content": text} for text in HOSTILE.values()]
    ran = run(tmp_path, messages=messages)
    assert ran.exit_code == 0, ran.output
    asked: list[str] = []
    for request in server.requests:
        assert [message["role"] for message in request["messages"]] == ["user"]
        assert [tool["name"] for tool in request["tools"]] == ["remember"]
        asked += [
            message["content"]
            for message in json.loads(request["messages"][0]["content"])["messages"]
        ]
    assert asked == [*HOSTILE.values()]
    assert {row["owner_id"] for row in rows(ran)} <= {"ada"}
    assert {*rows(ran)[0]} == {"id", "source", "owner_id", "text"}


WRONG: dict[str, Any] = {
    "no object": "memories",
    "no list": {"memories": "a fact"},
    "no memory": {"memories": ["a fact", 7, None]},
    "no text": {"memories": [{"content": 7, "message": 1}, {"message": 1}]},
    "blank": {"memories": [{"content": "  ", "message": 1}]},
    "too long": {"memories": [{"content": "x" * 40_000, "message": 1}]},
    "NUL": {"memories": [{"content": "a\0b", "message": 1}]},
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_none_is_left_out_and_reported(
    given: Any, server: JudgeServer, tmp_path: Path
) -> None:
    def change(message: dict[str, Any]) -> dict[str, Any]:
        message["content"][0]["input"] = given
        return message

    server.fail(Fault(change=change))
    ran = run(tmp_path)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert re.search(r"unusable answers: [1-9]", ran.stderr)


def test_a_message_number_that_nobody_gave_gives_no_time(
    server: JudgeServer, tmp_path: Path
) -> None:
    def change(message: dict[str, Any]) -> dict[str, Any]:
        memory = {"content": "Ada has a cat.", "message": 99, "owner_id": "bob"}
        message["content"][0]["input"] = {"memories": [memory]}
        return message

    server.fail(Fault(change=change))
    [row] = rows(run(tmp_path))
    assert "occurred_at" not in row
    assert row["owner_id"] == "ada", "whose memory it is the model does not say"


def test_what_an_answer_has_twice_is_one_memory(server: JudgeServer, tmp_path: Path) -> None:
    def change(message: dict[str, Any]) -> dict[str, Any]:
        cat, dog = ({"content": f"Ada has a {pet}.", "message": 1} for pet in ("cat", "dog"))
        message["content"][0]["input"] = {"memories": [cat, dog, cat]}
        return message

    server.fail(Fault(change=change))
    assert [row["text"] for row in rows(run(tmp_path))] == ["Ada has a cat.", "Ada has a dog."]


def test_what_is_wrong_in_any_part_is_counted(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer with one good memory among others, in each of three parts."""

    def change(message: dict[str, Any]) -> dict[str, Any]:
        memories = [{"content": "Ada has a cat.", "message": 1}, {"message": 1}]
        message["content"][0]["input"] = {"memories": memories}
        return message

    monkeypatch.setattr("palimpsest.streams.extract.extract.PART_BYTES", 1)
    server.fail(*[Fault(change=change)] * 3)
    ran = run(tmp_path)
    assert len(rows(ran)) == 3
    assert "unusable answers: 3" in ran.stderr


def test_half_an_answer_is_none(server: JudgeServer, tmp_path: Path) -> None:
    def change(message: dict[str, Any]) -> dict[str, Any]:
        return message | {"stop_reason": "max_tokens"}

    server.fail(Fault(change=change))
    assert (run(tmp_path).exit_code, server.calls) == (1, 1)


def test_where_nobody_answers_it_says_so(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_JUDGE_RETRIES", "0")
    server.fail(Fault(status=529))
    ran = run(tmp_path)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert "unanswered parts: 1 of 1" in ran.stderr


def test_a_stores_budget_of_a_day_is_for_all_conversations(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_JUDGE_DAILY_CALLS", "1")
    for _ in range(2):
        assert run(tmp_path).exit_code == 0, "there is no store, so each call has its own"
    Palimpsest.open(tmp_path / "store").close()
    assert run(tmp_path).exit_code == 0
    ran = run(tmp_path)
    assert (ran.exit_code, server.calls) == (1, 3)
    assert "unanswered parts: 1 of 1" in ran.stderr


# -- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", [b"no JSON", b"[]", b'{"role": "user"}', b'{"content": "a"}', b'{"role": 1}', b"\xff"]
)
def test_a_line_that_is_no_message_is_named_and_not_quoted(line: bytes) -> None:
    good = b'{"role": "user", "content": "a"}'
    with pytest.raises(UsageError, match="line 3 is not a message") as error:
        read_conversation([good, b"  ", line])
    assert line.decode(errors="replace") not in str(error.value)


def test_a_long_conversation_is_asked_part_by_part_and_nothing_is_lost() -> None:
    messages = [Message(role="user", content="x" * size) for size in (30, 30, 90, 5, 5)]
    found = list(parts(messages, 60))
    assert [[number for number, _ in part] for part in found] == [[1, 2], [3], [4, 5]]


def test_a_part_is_measured_in_bytes() -> None:
    messages = [Message(role="user", content="é" * 10) for _ in range(3)]
    assert [len(part) for part in parts(messages, 40)] == [2, 1]
    assert [len(part) for part in parts(messages, 39)] == [1, 1, 1]


def test_a_time_that_is_null_leaves_it_to_another_name() -> None:
    line = {"role": "user", "content": "tea", "at": None, "timestamp": "2026-03-01T09:00:00Z"}
    [message] = read_conversation([json.dumps(line).encode()])
    assert message.at is not None


def test_add_extracts_and_keeps_the_message_that_a_memory_rests_on(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    said = [{"role": "system", "content": "Be kind"}, *CHAT]
    with Palimpsest.open(tmp_path / "store") as memories:
        for result in ("decided", "known"):
            outcomes = memories.add(said, "ada")
            assert [outcome.result for outcome in outcomes] == [result, result]
        found = {memory["face"]: memory["metadata"] for memory in memories.list("ada")["memories"]}
        assert found == {
            "I adopted a rescue cat in 2023.": {"message": 2},
            "Her name is Whiskers now.": {"message": 4},
        }
        server.always = Fault(status=500)
        with pytest.raises(TransientError, match="nothing is stored"):
            memories.add([{"role": "user", "content": "The dog is called Rex now."}], "ada")
        assert memories.list("ada")["total"] == 2


@pytest.mark.parametrize(
    ("fault", "settings", "why"),
    [
        (Fault(status=529), {}, r"did not answer \(status 529\)"),
        (Fault(), {"daily_calls": 0}, "the budget of this day is spent"),
        (Fault(body=b"<html>"), {}, "in the form that was asked for"),
    ],
)
def test_what_is_stored_whole_or_not_at_all_is_paid_for_no_further_than_a_failed_part(
    tmp_path: Path, server: JudgeServer, fault: Fault, settings: dict[str, int], why: str
) -> None:
    said = [{"content": f"{n} {'Ada has a dog. ' * 1500}"} for n in range(5)]
    server.fail(fault)
    judge = JudgeSettings.model_validate({"base_url": server.url, "retries": 0, **settings})
    with Palimpsest.open(tmp_path / "store", engine="none") as memories:
        with pytest.raises(PalimpsestError, match=why):
            memories.add(said, "ada", judge=judge)
        assert memories.list("ada")["total"] == 0
    assert server.calls <= 1


def long_chat() -> list[dict[str, str]]:
    """A conversation of two parts, each of which is a request of its own."""
    return [
        {"content": f"My neighbour has {pet} called Otto. {'Yes. ' * 4000}"}
        for pet in ("a dog", "a tame raven")
    ]


@pytest.mark.parametrize(
    "fault", [Fault(status=529), Fault(body=b"<html>")], ids=["no answer", "another form"]
)
def test_a_repeat_pays_only_for_the_parts_that_gave_nothing(
    tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    server.fail(Fault(), fault)
    judge = JudgeSettings.model_validate({"base_url": server.url, "retries": 0})
    with Palimpsest.open(tmp_path / "store") as memories:
        with pytest.raises(PalimpsestError, match="nothing is stored"):
            memories.add(long_chat(), "ada", judge=judge)
        assert (server.calls, memories.list("ada")["total"]) == (2, 0)
        assert len(memories.add(long_chat(), "ada", judge=judge)) == 2
        assert server.calls == 3
        memories.add(long_chat(), "ada", judge=judge)
        assert server.calls == 5, "what is stored is no longer kept beside the store"


def test_answers_about_parts_are_kept_for_a_day(
    tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    server.fail(Fault(), Fault(status=529))
    judge = JudgeSettings.model_validate({"base_url": server.url, "retries": 0})
    with Palimpsest.open(tmp_path / "store") as memories:
        with pytest.raises(TransientError):
            memories.add(long_chat(), "ada", judge=judge)
        monkeypatch.setattr(storage, "KEPT_SECONDS", 0.0)
        memories.add(long_chat(), "ada", judge=judge)
    assert server.calls == 4
    held = b"".join(file.read_bytes() for file in (tmp_path / "store").glob("judge.sqlite*"))
    assert b"a dog" not in held


def test_a_part_that_is_answered_as_the_process_stops_is_paid_for_once(
    tmp_path: Path, server: JudgeServer
) -> None:
    judge = JudgeSettings.model_validate({"base_url": server.url})
    policy = load_policy("standard")

    async def extracted(*, stop: bool) -> list[dict[str, Any]]:
        asking = asyncio.create_task(
            memories_of(
                long_chat(), {"owner_id": "ada"}, policy, judge, source="test", folder=tmp_path
            )
        )
        while stop and not server.calls:  # noqa: ASYNC110 - nobody gives word of it
            await asyncio.sleep(0.001)
        if stop:
            asking.cancel()
        return await asking

    server.always = Fault(delay=0.3)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(extracted(stop=True))
    server.always = None
    assert len(asyncio.run(extracted(stop=False))) == 2
    assert server.calls == 2


def test_a_conversation_of_many_messages_is_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    said = [{"content": f"I know {n} songs."} for n in range(WINDOW + 88)]
    with Palimpsest.open(tmp_path / "store") as memories:
        commits = Mock(wraps=session.append)
        monkeypatch.setattr(session, "append", commits)
        assert len(memories.add(said, "ada", infer=False)) == len(said)
        assert commits.call_count == 1


def test_add_without_a_key_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "load_engine", load_stub)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with Palimpsest.open(tmp_path / "store") as memories, pytest.raises(UsageError):
        memories.add("Ada has a dog", "ada")


@each(
    ("said", "stated"),
    [
        ("I live in Rome now. Do you? Yes.", ["I live in Rome now."]),
        ("Ich wohne in Rom. Wie geht es dir?", ["Ich wohne in Rom."]),
        (
            "私はローマに住んでいます。犬を二匹飼っています。元気ですか？はい。",
            ["私はローマに住んでいます。", "犬を二匹飼っています。"],
        ),
        ("我住在罗马。我有两只狗！你好吗？好的。", ["我住在罗马。", "我有两只狗！"]),
        ("저는 로마에 살아요. 네.", ["저는 로마에 살아요."]),
        ("谢谢你。我很好。", []),
        ("彼は「ローマに行く。」と言った。", ["彼は「ローマに行く。」と言った。"]),
        ("Thank you so much! Yes, please do that.", []),
        ("Vielen Dank für die Hilfe! Guten Morgen, alles klar.", []),
        ("Merci beaucoup pour ton aide ! Oui, c'est très bien.", []),
        ("¡Hola! Muchas gracias por tu ayuda.", []),
        ("どうもありがとうございました！もう一度お願いします。はい、了解しました。", []),
        ("完璧です、ありがとう。黒が好きです。", ["黒が好きです。"]),
        ("好的，谢谢。我知道了。对，就是这样。", []),
        ("辛苦了。我吃素三年了。", ["我吃素三年了。"]),
        ("네, 알겠습니다. 정말 감사합니다. 다시 해 주세요.", []),
        ("Thank you for my new job at Meta.", ["Thank you for my new job at Meta."]),
        ("ありがとうと花子が言った。", ["ありがとうと花子が言った。"]),
        ("Thanks, that was very helpful! That looks good. See you tomorrow.", []),
        ("Vielen lieben Dank 🙏\nDas sieht gut aus, danke dir! Schönen Abend noch.", []),
        ("本当にありがとうございます☀\n教えていただきありがとうございます。大変助かりました。", []),
        ("とても大変でした。", ["とても大変でした。"]),
        ("Danke, das war ein Geschenk.", ["Danke, das war ein Geschenk."]),
    ],
)
def test_what_a_user_stated_is_kept_in_every_script(said: str, stated: list[str]) -> None:
    assert stated_in(said) == stated


@each(
    "said",
    [
        "Unser Hund ist am 3. Mai 2019 geboren.",
        "Wir fahren vom 3. bis zum 5. Juni nach Bonn.",
        "Der Kurs ist am 12. 3. um zehn Uhr.",
        "Ich wohne im 3. Stock ohne Aufzug.",
        "Il a déménagé le 3. Mai 2019 à Lyon.",
        "Dr. Weber ist meine Hausärztin.",
        "Meine Tochter geht z.B. gern schwimmen.",
        "Meine Tochter mag z. B. Musik und Sport.",
        "Ich fahre i. d. R. mit dem Rad zur Arbeit.",
        "Die Miete beträgt ca. 950 Euro im Monat.",
        "My dentist is Dr. Smith in Rome.",
        "I like books by J. R. Hartley.",
    ],
)
def test_a_full_stop_within_a_sentence_ends_none(said: str) -> None:
    assert stated_in(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "I have lived here since 1990. My dog is called Rex.",
        "I am now 12. My dog is called Rex.",
        "Ich habe einen Hund. Wir wohnen in Bonn am Rhein.",
        "So do my wife and I. We live in Rome.",
        "I always say no. My dog is called Rex.",
    ],
)
def test_two_sentences_are_two(said: str) -> None:
    assert len(stated_in(said)) == 2


@each(
    "said",
    [
        "Gibt es einen Zug nach Dresden um acht?!",
        "Kennst du meinen Hund noch? 😊",
        "Kennst du meinen Hund noch?😊",
        "ポルトガルの首都はどこですか。",
        "明日の天気を教えてくれますか",
        "昨日のことを覚えていませんか…",
        "どうしたらいいでしょうか。",
        "你知道我住在哪里吗",
        "제가 어디에 사는지 아십니까? 서울은 어떻습니까.",
        "أين أسكن الآن في هذه المدينة؟ ",
    ],
)
def test_a_question_states_nothing(said: str) -> None:
    assert stated_in(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "好きな食べ物はすいか。",
        "She asked me “where do you live?”.",
        "彼は「行きますか？」と言った。",
    ],
)
def test_a_question_that_is_told_is_a_statement(said: str) -> None:
    assert stated_in(said) == [said]


def stated_in(said: str) -> list[str]:
    rows = statements([Message(role="user", content=said)], {"owner_id": "ada"})
    return [row["text"] for row in rows]


def test_what_a_message_has_besides_is_not_read() -> None:
    nested = b'{"role": "user", "content": "x", "tools": ' + b"[" * 300 + b"]" * 300 + b"}"
    assert read_conversation([nested]) == [Message(role="user", content="x")]


@pytest.mark.parametrize("field", ["role", "content", "at"])
def test_a_field_of_a_message_that_is_nested_deeply_is_named(field: str) -> None:
    row = {"role": '"user"', "content": '"x"'} | {field: "[" * 300 + "]" * 300}
    line = "{" + ", ".join(f'"{name}": {value}' for name, value in row.items()) + "}"
    with pytest.raises(UsageError, match=f"line 1 is not a message: {field}: "):
        read_conversation([line.encode()])


@each(
    ("text", "stated"),
    [
        ("Where do I live?", False),
        ("What am I allergic to?", False),
        ("Do I have a dog? Thank you!", False),
        ("Was esse ich gern?", False),
        ("Can you remember that I'm allergic to nuts?", True),
        ("Did I say that my sister moved to Rome?", True),
        ("I moved to Rome. What can I see?", True),
        ("我住在哪里？", False),
        ("私はどこに住んでいますか？", False),
        ("내 이름은 뭐예요?", False),
        ("I live in Rome, where should I eat?", True),
        ("Can I have tea?", False),
        ("Did you know I moved to Rome?", True),
        ("As a vegan, what can I eat?", True),
        ("Ich wohne in Rom, wo kann ich essen?", True),
        ("J'habite à Rome, où manger ?", True),
        ("Où est-ce que j'habite ?", False),
        ("Dove vivo?", True),
        ("Vivo en Roma, ¿dónde puedo comer?", True),
        ("Soy vegano, ¿qué puedo cocinar?", True),
        ("我住在罗马，哪里好吃？", True),
        ("私はローマに住んでいますが、どこがいいですか？", True),
        ("나는 로마에 살아, 어디가 맛있어?", True),
        ("私はどこに住んでいますか？ありがとうございます。", False),
        ("我住在罗马。我能看什么？", True),
        ("Where do I live? 🙂", False),
        ("Do you know who I am?", False),
        ("Do you still remember where I live?", False),
        ("Can you tell me what my name is?", False),
        ("Do you know my name?", False),
        ("Weißt du, wer ich bin?", False),
        ("Weißt du noch, wo ich wohne?", False),
        ("Tu sais qui je suis ?", False),
        ("¿Sabes quién soy?", False),
        ("你知道我是谁吗？", False),
        ("私が誰か知っていますか？", False),
        ("제가 누구인지 아세요?", False),
        ("Do you know I moved to Rome?", True),
        ("Do you know why I'm vegan?", True),
        ("Do you know who I married after I moved to Rome?", True),
        ("Do you remember my sister moved to Rome?", True),
        ("Do you know what I do now that I'm retired?", True),
        ("Weißt du, dass ich in Rom wohne?", True),
        ("Tu sais que j'habite à Rome ?", True),
        ("¿Sabes que vivo en Roma?", True),
        ("", False),
        ("Mein Fehler!", False),
        ("Je suis désolé.", False),
        ("I live in Rome, right?", True),
        ("Ich wohne in Rom, weißt du noch?", True),
        ("Wo wohne ich?", False),
        ("Kannst du dir merken, dass ich Vegetarier bin?", True),
        ("Qu'est-ce que ma femme aime ?", False),
        ("Tu peux te souvenir que j'ai deux chats ?", True),
        ("¿Dónde vivo?", False),
        ("¿Puedes recordar que soy vegetariano?", True),
        ("你能记住我吃素吗？", True),
        ("私がベジタリアンだと覚えておいてくれますか？", True),
        ("私の誕生日を覚えていますか？", False),
        ("제가 채식주의자라는 걸 기억해 주시겠어요?", True),
        ("제 생일을 기억하세요?", True),
    ],
)
def test_a_question_may_state_something(text: str, stated: bool) -> None:
    assert states(text) is stated


PRESUPPOSING = """
Do you know how I lost my job?
Do you remember when I moved to Rome?
Do you still remember how I met my wife?
Do you know when my father died?
Can you remember how we got engaged?
Do you recall when I quit smoking?
Do you know how my sister broke her leg?
Could you tell me how I became a nurse?
Do you remember when our cat ran away?
Do you know when I first visited Japan?
Do you know how I finally sold the house?
Can you tell me when I started therapy?
Weißt du, wie ich meinen Job verloren habe?
Weißt du noch, wann ich nach Rom gezogen bin?
Weißt du noch, wie wir uns verlobt haben?
Tu sais comment j'ai perdu mon travail ?
Tu sais quand j'ai arrêté de fumer ?
Vous savez comment je suis devenu père ?
Tu sais quand je suis arrivée à Lyon ?
Tu sais comment je me suis cassé le bras ?
Tu sais comment nous avons finalement vendu la maison ?
Tu sais quand j'ai pris ma retraite ?
¿Sabes cómo perdí mi trabajo?
¿Recuerdas cuándo dejé de fumar?
¿Sabes cómo encontré mi piso?
¿Sabes cómo me rompí el brazo?
¿Sabes cuándo preparé la cena?
¿Sabes cuándo miré la casa?
¿Sabes cuándo esperé en la puerta?
¿Recuerdas cómo me enteré de la boda?
¿Sabes cómo separé la cocina?
Weißt du, wann ich die Prüfung bestanden habe?
Weißt du noch, wann ich nach Rom gefahren bin?
Weißt du, wie wir in Rom angekommen sind?
Weißt du noch, wann ich Lehrer geworden bin?
Weißt du noch, wann ich umgezogen bin?
Weißt du, wann ich geheiratet habe?
Weißt du, wann ich den Vertrag unterschrieben habe?
Weißt du, wann ich das Bad renoviert habe?
Weißt du noch, wann mein Vater gestorben ist?
¿Sabes cuándo fui a Roma?
¿Sabes cuándo tuve el accidente?
¿Sabes cómo hice la mudanza?
"""
ASKING = """
Do you know how I take my coffee?
Do you know when I was born?
Do you know when my birthday is?
Do you remember how old I am?
Do you still know where I live?
Do you remember what I ordered?
Do you know who I work for?
Can you tell me when I need my passport?
Do you know how I feel about cats?
Do you recall which doctor I see?
Do you know when my rent is due?
Could you tell me how my name is spelled?
Weißt du, wann ich Geburtstag habe?
Weißt du noch, wie ich heiße?
Weißt du, wann ich geboren bin?
Weißt du, wann mein Büro geöffnet hat?
Tu sais quand je suis né ?
Tu sais où je travaille ?
Tu sais comment je m'appelle ?
¿Sabes cuándo nací?
¿Recuerdas cómo me llamo?
Can you tell me how I embed a video?
Could you tell me how I shed some weight?
Can you tell me how I put a photo here?
Can you tell me how I cut an onion?
Tu sais quand j'ai mon rendez-vous ?
Tu sais quand j'ai cours demain ?
Tu sais quand nous avons congé demain ?
Tu sais quand je suis libre demain ?
¿Sabes cuándo volveré a casa?
¿Sabes cómo llegaré a Madrid?
¿Sabes cuándo tendré mi cita?
¿Sabes cuándo sabré la nota?
¿Sabes cómo sé nadar?
¿Sabes cuándo aquí llueve?
¿Sabes cuándo prepararé la cena?
¿Sabes cuándo ocuparé la casa?
Weißt du, wann ich am Montag besetzt bin?
Weißt du, wann ich am Montag verabredet bin?
Weißt du, wann ich am Montag beschäftigt bin?
Weißt du, wie ich in Rom versichert bin?
Weißt du, wann wir im Mai verreist sind?
Weißt du, wann ich dran bin?
Weißt du, wann ich am Montag eingeteilt bin?
Weißt du, wie ich in Rom willkommen bin?
Weißt du, wann ich endlich erwachsen bin?
Weißt du, wann mein Sohn besetzt ist?
Weißt du, wann meine Schwester Geburtstag hat?
Weißt du, wann meine Mutter Bereitschaft hat?
¿Sabes cuándo es mi cita?
Weißt du, wann ich im Mai Bereitschaft habe?
Weißt du, wann ich am Montag Besprechungen habe?
"""


@pytest.mark.parametrize("text", PRESUPPOSING.strip().splitlines())
def test_a_question_that_tells_what_has_happened_states_it(text: str) -> None:
    assert states(text)


@pytest.mark.parametrize("text", ASKING.strip().splitlines())
def test_a_question_for_what_holds_states_nothing(text: str) -> None:
    assert not states(text)
