"""The stand-in of the service: its rules, how it is started and stopped, its command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from palimpsest.cli.demo import judge as demo_judge
from palimpsest.cli.demo import rules as demo_rules
from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.cli.main import app
from tests.tables import each


@each(
    ("older", "newer", "said"),
    [
        ("Ada has a big dog.", "ADA has a  big dog", "same"),
        ("Ada has a dog called Rex.", "Ada has a dog.", "same"),
        ("Ada has a dog.", "Ada has a dog called Rex.", "update"),
        ("The timeout is 30 s.", "The timeout is 60 s.", "update"),
        ("The big job runs at night.", "The big job runs there.", "compose"),
        ("Ada has a dog.", "The build runs at night.", "different"),
        ("Ada and her old dog Rex swim daily in a cold lake.", "Rex.", "different"),
        ("Red boats sail past old stone piers.", "Red boats sail far past old stone.", "same"),
        ("Ada has a big dog.", "Ada has a large dog.", "same"),
        ("Tom sells pears and plums.", "Tom sells plums and pears.", "same"),
        ("In Oslo Ada has a flat.", "Ada has a flat in Oslo.", "same"),
        ("", "", "same"),
    ],
)
def test_relations_are_by_shared_words_and_cues(older: str, newer: str, said: str) -> None:
    assert demo_rules.relation(older, newer) == said
    assert demo_rules.same(older, newer) == ("same" if said == "same" else "different")


def test_sentences_are_composed_each_once() -> None:
    texts = ["Ada has a dog. It is big.", "ada has a  dog. It is called Rex", "Rex is old!"]
    assert demo_rules.compose(texts) == "Ada has a dog. It is big. It is called Rex. Rex is old!"


def test_what_a_user_states_in_whole_sentences_is_remembered() -> None:
    said = [
        ("user", "Hi there! I adopted a cat. Ben keeps bees."),
        ("assistant", "I like all cats."),
        ("user", "Do all cats swim daily? Mine does not swim."),
    ]
    messages = [
        {"number": number, "role": role, "content": content}
        for number, (role, content) in enumerate(said, 1)
    ]
    remembered = demo_rules.answer({"name": "remember"}, {"messages": messages})["memories"]
    assert remembered == [
        {"content": "I adopted a cat.", "message": 1},
        {"content": "Ben keeps bees.", "message": 1},
        {"content": "Mine does not swim.", "message": 3},
    ]


def test_another_path_is_not_there(server: JudgeServer) -> None:
    request = urllib.request.Request(f"{server.url}/v1/complete", b"{}")
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request)
    assert raised.value.code == 404
    raised.value.close()


def test_it_answers_after_its_delay_or_a_faults(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(demo_judge, "time", Mock(sleep=slept.append))
    server.delay = 0.5
    server.fail(Fault(429), Fault(429, delay=2.0))
    for _ in range(2):
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(f"{server.url}/v1/messages", b"{}")
        raised.value.close()
    assert slept == [0.5, 2.0]


@pytest.mark.parametrize(("keep", "kept"), [(True, [{"n": 1}, {"n": 2}, {"n": 3}]), (False, [])])
def test_it_counts_requests_and_keeps_them_where_it_is_to(keep: bool, kept: list[Any]) -> None:
    judge = JudgeServer(keep=keep)
    with judge.took({"n": 1}), judge.took({"n": 2}):
        pass
    with judge.took({"n": 3}):
        pass
    assert (judge.calls, judge.most_at_once, [*judge.requests]) == (3, 2, kept)


def test_it_is_stopped_twice_and_started_again_where_it_was(server: JudgeServer) -> None:
    url = server.url
    server.stop()
    server.stop()
    server.start()
    assert server.url == url


def test_a_port_that_is_taken_is_reported() -> None:
    with JudgeServer() as running:
        port = running.url.rpartition(":")[2]
        ran = CliRunner().invoke(app, ["--json", "demo-judge", "--port", port])
    assert ran.exit_code == 2
    assert f"port {port} is not available" in json.loads(ran.stdout)["error"]["detail"]


def test_the_command_answers_until_it_is_stopped(tmp_path: Path) -> None:
    run = "from palimpsest.cli.main import main; main()"
    command = [sys.executable, "-c", run, "--json", "demo-judge", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=os.environ) as ran:
        try:
            assert ran.stdout is not None
            answer = _ask(json.loads(ran.stdout.readline())["url"])
            ran.send_signal(signal.SIGTERM)
            assert ran.wait(30) == 0
        finally:
            ran.kill()
    assert answer["content"][0]["input"] == {"text": "One. Two."}


def _ask(url: str) -> Any:
    payload = {"memories": [{"text": "One."}, {"text": "Two."}]}
    body = {
        "model": "m",
        "system": [],
        "tools": [{"name": "compose"}],
        "messages": [{"role": "user", "content": json.dumps(payload)}],
    }
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answered:
        return json.load(answered)


@each(
    ("older", "newer", "answer"),
    [
        ("Carla teaches Dmitri.", "Dmitri teaches Carla.", "different"),
        ("The ferry follows the tug.", "The tug follows the ferry.", "different"),
        ("The rent is 900 euros a month.", "The rent is 950 euros a month.", "update"),
        ("Ines eats meat on weekdays.", "Ines does not eat meat on weekdays.", "update"),
        ("Ines does not like olives.", "Ines likes olives.", "update"),
        ("The office has no parking spaces.", "The office has parking spaces.", "update"),
        ("The shop is open on feast days.", "The shop is closed on feast days.", "update"),
        ("Carla teaches Dmitri.", "Dmitri really teaches Carla.", "different"),
        ("Lea lent her bike to Max.", "Max lent his bike to Lea.", "different"),
        ("Max likes Lea and Lea likes Tom.", "Lea likes Max and Tom likes Lea.", "different"),
        ("Ada lives in Oslo.", "Ada lives in Bergen.", "update"),
        ("The wifi password is swordfish.", "The wifi password is marlin.", "update"),
        ("Red boats sail past old stone piers.", "Red boats sail past old stone quays.", "update"),
        ("Ada plays the violin daily.", "Ada plays the piano daily.", "different"),
        ("The tenant has an old cat.", "The tenant has an old dog.", "different"),
        ("The tenant has moved to Oslo.", "The tenant has moved to Bergen.", "update"),
        ("Ada visited Rome once.", "Ada visited Rome twice.", "update"),
        ("No, pets are allowed.", "No pets are allowed.", "update"),
    ],
)
def test_roles_numbers_and_contradictions_are_not_the_same(
    older: str, newer: str, answer: str
) -> None:
    assert demo_rules.relation(older, newer) == answer
    assert demo_rules.same(older, newer) == "different"


def test_of_a_contradiction_the_newer_text_stays_in_a_composition() -> None:
    rents = [f"The rent is {euros} euros a month." for euros in (900, 950)]
    assert demo_rules.compose(rents) == rents[1]
    kept = "The flat has a balcony."
    older, newer = "The landlord allows cats here.", "The landlord does not allow cats here."
    assert demo_rules.compose([f"{kept} {older}", newer]) == f"{kept} {newer}"
