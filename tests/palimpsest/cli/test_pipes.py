"""A reader that closes the pipe, such as `head`, is not a failure of any command."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from tests.palimpsest.cli.conftest import CommandLine


@pytest.mark.parametrize(
    ("command", "status"),
    [
        pytest.param(["decisions", "--json"], 0, marks=pytest.mark.long),
        pytest.param(["decisions"], 0, marks=pytest.mark.long),
        pytest.param(["sql", "FROM memories", "--json"], 0, marks=pytest.mark.long),
        pytest.param(["list", "ada"], 0, marks=pytest.mark.long),
        (["log", "export", "-"], 0),
        pytest.param(["verify"], 0, marks=pytest.mark.long),
        (["why", "nope", "--json"], 3),
        pytest.param(["unheard-of"], 2, marks=pytest.mark.long),
        (["--help"], 0),
        pytest.param(["--version"], 0, marks=pytest.mark.long),
    ],
)
def test_a_command_ends_as_it_would_have(
    palimpsest: CommandLine, command: list[str], status: int
) -> None:
    for text in ("Ada has a dog", "Ada likes tea"):
        palimpsest.json("add", "ada", text)
    read, write = os.pipe()
    os.close(read)
    said = [sys.executable, "-m", "palimpsest", "--store", str(palimpsest.store), *command]
    done = subprocess.run(said, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert "ipe" not in done.stderr.replace("palimpsest", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")  # noqa: PTH110
@pytest.mark.parametrize(
    "command",
    [
        ["list", "ada"],
        pytest.param(["list", "ada", "--json"], marks=pytest.mark.long),
        pytest.param(["--version"], marks=pytest.mark.long),
        ["--help"],
        pytest.param(["list", "--help"], marks=pytest.mark.long),
        pytest.param(["policy"], marks=pytest.mark.long),
        ["--show-completion", "bash"],
    ],
)
def test_a_full_disk_behind_standard_output_is_told_in_a_sentence(
    palimpsest: CommandLine, command: list[str]
) -> None:
    palimpsest.json("add", "ada", "Ada has a dog")
    said = [sys.executable, "-m", "palimpsest", "--store", str(palimpsest.store), *command]
    # The shell is named: it is found among the parents of this process only if there is one.
    named = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            said, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=named
        )
    assert done.returncode == 1
    assert [line.partition("stream: ")[2] for line in done.stderr.splitlines()] == [
        "No space left on device"
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")  # noqa: PTH110
@pytest.mark.parametrize(
    ("command", "status"),
    [
        pytest.param(["nonsense"], 2, marks=pytest.mark.long),
        pytest.param(["get"], 2, marks=pytest.mark.long),
        pytest.param(["get", "nothing"], 3, marks=pytest.mark.long),
        pytest.param(["get", "nothing", "--json"], 3, marks=pytest.mark.long),
        (["nonsense", "--json"], 2),
        (["--store", "missing", "get", "nothing"], 4),
    ],
    ids=str,
)
def test_an_error_that_cannot_be_written_keeps_its_status(
    palimpsest: CommandLine, command: list[str], status: int
) -> None:
    palimpsest.json("add", "ada", "Ada has a dog")
    said = [sys.executable, "-m", "palimpsest", "--store", str(palimpsest.store), *command]
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        both = [
            subprocess.run(said, stdout=out, stderr=full, check=False).returncode
            for out in (subprocess.DEVNULL, full)
        ]
    assert both == [status, status]


BUG = """
from palimpsest.cli import invocation, start
invocation.Invocation.settings = property(lambda _: 1 / 0)
start.main()
"""


@pytest.mark.parametrize(
    ("behind", "debug"),
    [
        ("full", ""),
        ("closed", "1"),
        pytest.param("full", "1", marks=pytest.mark.long),
        pytest.param("closed", "", marks=pytest.mark.long),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")  # noqa: PTH110
def test_a_bug_that_cannot_be_reported_keeps_its_status(behind: str, debug: str) -> None:
    if behind == "full":
        error = os.open("/dev/full", os.O_WRONLY)
    else:
        read, error = os.pipe()
        os.close(read)
    paths = os.pathsep.join(path for path in sys.path if path)
    env = os.environ | {"PYTHONPATH": paths, "PALIMPSEST_DEBUG": debug}
    said = [sys.executable, "-c", BUG, "status", "--json"]
    done = subprocess.run(said, stdout=subprocess.PIPE, stderr=error, env=env, check=False)
    os.close(error)
    assert done.returncode == 70
    assert b"this is a bug: ZeroDivisionError" in done.stdout


ASCII = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""An environment in which Python reads the command line as ASCII."""


def test_arguments_are_utf8_in_a_locale_without_it(palimpsest: CommandLine) -> None:
    words = [sys.executable, "-m", "palimpsest", "--store", str(palimpsest.store)]
    commands = (["add", "zoë", "Zoë likes tea"], ["list", "zoë"])
    ran = [
        subprocess.run([*words, *said], capture_output=True, check=False, env=ASCII)
        for said in commands
    ]
    assert [(done.returncode, done.stderr) for done in ran] == [(0, b""), (0, b"")]
    assert "Zoë likes tea" in ran[-1].stdout.decode()


def test_an_argument_in_another_encoding_is_told(palimpsest: CommandLine) -> None:
    words = [sys.executable, "-m", "palimpsest", "--store", str(palimpsest.store), "--json"]
    said: list[str | bytes] = [*words, "add", "ada", "Zoë likes tea".encode("latin-1")]
    for env in (os.environ, ASCII):
        done = subprocess.run(said, capture_output=True, check=False, env=env)
        assert done.returncode == 1
        assert b"perhaps it is not in UTF-8" in done.stdout


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        (["--store", "STORE", "log", "export", "-"], ">&-"),
        pytest.param(["--store", "STORE", "list", "ada", "--json"], ">&-", marks=pytest.mark.long),
        (["--store", "STORE", "status"], "<&- >&- 2>&-"),
        (["clean", "-", "--to", "-"], ">&-"),
    ],
)
def test_a_stream_that_is_closed_leads_nowhere(
    palimpsest: CommandLine, command: list[str], closed: str
) -> None:
    """No file gets its number, and the command ends as it would have."""
    palimpsest.json("add", "ada", "Ada has a dog")
    words = [str(palimpsest.store) if word == "STORE" else word for word in command]
    said = f"{shlex.join([sys.executable, '-m', 'palimpsest', *words])} {closed}"
    done = subprocess.run(said, shell=True, input=b"a\nb\n", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert b"bug" not in done.stderr
    assert palimpsest.json("list", "ada")["total"] == 1
