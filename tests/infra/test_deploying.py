"""What is shipped for running a cluster names commands, files and settings that are there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError, URLError

import pytest
import yaml
from typer.testing import CliRunner

from infra.distribution import kafka_version
from palimpsest.cli.main import app
from palimpsest.cli.shell import WRONG_USAGE
from palimpsest.settings.settings import Settings
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.judge.settings import JudgeSettings

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
COMPOSE: dict[str, Any] = yaml.safe_load((INFRA / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
UNITS = sorted((INFRA / "systemd").glob("*.service"))
PROCESSES = dict(
    line.split(": ", 1)
    for line in (INFRA / "Procfile").read_text().splitlines()
    if not line.startswith("#")
)


def is_understood(words: list[str]) -> bool:
    """Whether the command line takes these words; nothing of the command is run."""
    return CliRunner().invoke(app, [*words, "--help"]).exit_code == 0


def test_there_are_a_broker_topics_a_worker_a_projector_and_a_verifier() -> None:
    assert set(SERVICES) == {"kafka", *OURS}
    assert OURS == ["topics", "worker", "project", "verifier"]
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{kafka_version()}"


@pytest.mark.parametrize("name", OURS)
def test_a_service_runs_a_command_that_is_there(name: str) -> None:
    assert is_understood(shlex.split(SERVICES[name]["command"]))
    assert SERVICES[name]["build"]["dockerfile"] == "infra/Dockerfile"
    for setting in SERVICES[name]["environment"]:
        assert setting == "HF_HOME" or setting.endswith("_API_KEY") or is_setting(setting)


def is_setting(name: str) -> bool:
    said = name.removeprefix("PALIMPSEST_").lower()
    return (
        said in Settings.model_fields
        or said.removeprefix("kafka_") in Connection.model_fields
        or said.removeprefix("judge_") in JudgeSettings.model_fields
    )


def test_services_wait_for_others_that_are_there_and_crashes_are_started_again() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        named = {one.partition(":")[0] for one in service.get("volumes", ()) if ":" in one}
        assert named <= set(COMPOSE["volumes"])
    assert {SERVICES[name]["restart"] for name in OURS[1:]} == {"on-failure"}


def test_each_replica_of_a_worker_is_one_of_its_own_and_keeps_its_copies(tmp_path: Path) -> None:
    worker = SERVICES["worker"]
    (tmp_path / "palimpsest").write_text('#!/bin/sh\necho "$PALIMPSEST_INSTANCE: $*"\n')
    (tmp_path / "palimpsest").chmod(0o755)
    words = [word.replace("$$", "$") for word in worker["entrypoint"]]
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOSTNAME": "replica"}
    said = subprocess.run(
        [*words, *shlex.split(worker["command"])], env=environment, capture_output=True, check=True
    )
    assert said.stdout == b"replica: worker\n"
    assert worker["volumes"] == ["/data"]
    assert "PALIMPSEST_DATA" in worker["environment"]


class Pages(BaseHTTPRequestHandler):
    """Says that all is well, or not."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def test_the_image_is_as_well_as_its_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    [check] = re.findall(r"HEALTHCHECK .+\n +CMD (.+)", (INFRA / "Dockerfile").read_text())
    program, option, code = json.loads(check)
    assert (program, option) == ("python", "-c")
    exec(code, {})  # no pages: well
    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("PALIMPSEST_WEB_PORT", str(server.server_port))
        exec(code, {})
        monkeypatch.setattr(Pages, "status", 503)
        with pytest.raises(HTTPError, match="503"):
            exec(code, {})
        server.shutdown()
    with pytest.raises(URLError):
        exec(code, {})


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_that_is_there_and_restarts_crashes(unit: Path) -> None:
    lines = unit.read_text().splitlines()
    [command] = [line.partition("=")[2] for line in lines if line.startswith("ExecStart=")]
    program, *words = shlex.split(command)
    assert program.endswith("/palimpsest")
    assert is_understood(words)
    assert "Restart=on-failure" in lines
    assert f"RestartPreventExitStatus={WRONG_USAGE}" in lines
    assert lines.index("StartLimitIntervalSec=0") < lines.index("[Service]")


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_of_the_procfile_runs_commands_that_are_there(name: str) -> None:
    commands = re.findall(r"palimpsest ([^;]+)", PROCESSES[name])
    assert all(is_understood(shlex.split(command)) for command in commands)
    assert commands or "python -m infra.broker" in PROCESSES[name]


def test_the_image_has_every_package_and_the_pinned_versions() -> None:
    steps = (INFRA / "Dockerfile").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    copied = {
        word for line in re.findall(r"^COPY (.+)$", steps, re.MULTILINE) for word in line.split()
    }
    assert {*project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]} <= copied
    assert all((ROOT / word).exists() for word in copied if not word.startswith("."))
    installed = re.findall(r"pip install [^&]+", steps)
    assert all("--constraint infra/constraints.txt" in line for line in installed)
    pins = (INFRA / "constraints.txt").read_text().casefold()
    extras = project["project"]["optional-dependencies"]
    [named] = re.findall(r"'\.\[([\w,]+)\]'", steps)
    assert named.split(",") == ["cluster", "judge", "lancedb", "serve"], "each command works in it"
    for wanted in (one for extra in named.split(",") for one in extras[extra]):
        name = re.split(r"[\[<>=]", wanted)[0].replace("-", "_")
        assert f"\n{name}==" in pins.replace("-", "_")
