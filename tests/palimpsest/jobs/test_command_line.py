"""Reviews, batch runs and sessions from the command line, also with a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from palimpsest.cli.demo.judge import JudgeServer
from palimpsest.cli.main import app
from tests.palimpsest.jobs.conftest import STORE_TIME
from tests.palimpsest.jobs.speaker import Installation, Speaker
from tests.palimpsest.jobs.test_review import OTHER, SAME, pair

Commands = Callable[..., Any]


@pytest.fixture
def palimpsest(installation: Installation) -> Commands:
    """Runs a command; returns the document that it prints."""

    def typed(*words: str) -> Any:
        ran = CliRunner().invoke(app, [*installation.options, "--json", *words])
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.stdout)

    return typed


def test_a_person_and_the_stronger_model_review(
    ada: Speaker, palimpsest: Commands, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    ada.under(STORE_TIME)
    ada.say(*SAME, *OTHER, SAME[0])
    about = ("--owner", ada.name)
    keys = palimpsest("review", "next", *about)
    assert keys["new_text"] == OTHER[1]
    palimpsest("review", "different", *pair(keys), "--because", "two keys")
    boats = palimpsest("review", "next", *about)
    assert boats["new_text"] == SAME[1]
    palimpsest("review", "same", *pair(boats))
    assert palimpsest("review", "next", *about) is None
    assert palimpsest("review", "run", *about)["exact"] == 1
    assert palimpsest("dedupe", *about)["joined"] == []
    assert (server.calls, len(ada.faces())) == (0, 3)


def test_a_session_recalls(ada: Speaker, palimpsest: Commands) -> None:
    session = f"{ada.name}, now"
    ada.say("Ada likes boats", session_id=session)
    words = ("recall", ada.name, "boats", "--session", session)
    assert palimpsest(*words) == []
    palimpsest("session", "compacted", session)
    ada.say("Ada sold boats", session_id=session)
    assert [found["face"] for found in palimpsest(*words)] == ["Ada likes boats"]
