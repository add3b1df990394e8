"""`mcp config` prints what a client needs to start the server, wherever the client starts it."""

from __future__ import annotations

import getpass
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.palimpsest.cli.conftest import CommandLine


def server_in(document: Any, client: str) -> Any:
    if client != "vscode":
        return document["mcpServers"]["memory"]
    assert document["servers"]["memory"]["type"] == "stdio"
    return document["servers"]["memory"]


@pytest.mark.parametrize("client", ["claude", "cursor", "vscode"])
def test_a_configuration_has_absolute_paths(
    palimpsest: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, client: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    given = ("--store", "here", "--model", "mine", "mcp", "config", client, "--owner", "ada b")
    server = server_in(palimpsest.bare(*given).document, client)
    assert server["command"] == sys.executable
    store, model = str(tmp_path / "here"), str(tmp_path / "mine")
    assert server["args"][2:] == ["--store", store, "--model", model, "mcp", "--owner", "ada b"]
    started = [server["command"], *server["args"], "--help"]
    ran = subprocess.run(started, cwd="/", capture_output=True, text=True, check=True)
    assert "Speak MCP" in ran.stdout


def test_a_model_in_the_home_folder_of_nobody_is_named_as_it_is(palimpsest: CommandLine) -> None:
    told = palimpsest.bare("--model", "~nobody-here/e5", "mcp", "config", "claude")
    words = server_in(told.document, "claude")["args"]
    assert words[words.index("--model") + 1] == "~nobody-here/e5"


@pytest.mark.parametrize(
    ("client", "file"),
    [("claude", ".mcp.json"), ("cursor", "~/.cursor/mcp.json"), ("vscode", ".vscode/mcp.json")],
)
def test_it_says_in_which_file_the_client_looks(
    palimpsest: CommandLine, client: str, file: str
) -> None:
    assert file in palimpsest.bare("mcp", "config", client).err


def test_a_cluster_is_named_and_the_owner_is_whoever_asks(palimpsest: CommandLine) -> None:
    told = palimpsest.bare("--bootstrap", "b:9092", "--prefix", "p", "mcp", "config", "claude")
    words = server_in(told.document, "claude")["args"]
    assert words[-7:] == [
        "--bootstrap",
        "b:9092",
        "--prefix",
        "p",
        "mcp",
        "--owner",
        getpass.getuser(),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["config"], "name a client: claude, cursor, vscode"),
        (["config", "other"], "Invalid value for 'client': 'other' is not one of 'claude'"),
        (["other"], "Invalid value for 'config': 'other' is not one of 'config'"),
        ([], "name the owner of the memories: --owner ada"),
    ],
)
def test_what_is_missing_is_named(palimpsest: CommandLine, words: list[str], told: str) -> None:
    ran = palimpsest("mcp", *words)
    assert ran.status == 2
    assert told in " ".join(ran.err.replace("│", " ").split())
