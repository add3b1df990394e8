"""Each environment variable is on the page of the doors, has its effect, and says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from palimpsest import Palimpsest, UsageError
from palimpsest.cli.main import app
from palimpsest.mem0 import Memory
from palimpsest.settings.settings import Settings, read_settings
from tests.docs.pages import ROOT, text_of

PREFIX = "PALIMPSEST_"
READ_DIRECTLY = re.compile(r'(?:environ\.get\(|envvar=)"(PALIMPSEST_[A-Z_]+)"')
SAMPLES: dict[str, Any] = {
    "PALIMPSEST_STORE": "of-variable",
    "PALIMPSEST_ENGINE": "none",
    "PALIMPSEST_STANDBY": "true",
    "PALIMPSEST_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "PALIMPSEST_KAFKA_SASL_MECHANISM": "PLAIN",
    "PALIMPSEST_KAFKA_BOOTSTRAP": "127.0.0.1:1",
    "PALIMPSEST_EMBEDDER_PROTOCOL": "openai",
    "PALIMPSEST_EMBEDDER_CHARACTERS": "500",
    "PALIMPSEST_EMBEDDER_BASE_URL": "http://127.0.0.1:9/v1",
    "PALIMPSEST_JUDGE_BASE_URL": "http://127.0.0.1:9/v1",
    "PALIMPSEST_JUDGE_PROTOCOL": "anthropic",
    "PALIMPSEST_JUDGE_PLATFORM": "bedrock",
    "PALIMPSEST_JUDGE_FIRST": '{"model": "small"}',
    "PALIMPSEST_SCHEDULE_ZONE": "Europe/Oslo",
    "PALIMPSEST_SCHEDULE_DEDUPE": "03:00",
    "PALIMPSEST_SCHEDULE_REVIEW": "04:00",
    "PALIMPSEST_SERVE_ALLOWED_HOSTS": '["memory.example"]',
    "PALIMPSEST_SERVE_TOKENS": '[{"name": "a", "secret": "sixteen or more!", "owners": "ada"}]',
    "PALIMPSEST_DEDUP_ENABLED": "false",
}
"""A value of each variable whose type does not show one."""


def group_of(annotation: Any) -> type[BaseModel] | None:
    kinds = (annotation, *get_args(annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)


def variables() -> Iterator[tuple[str, Any]]:
    """Each variable of a setting, with the type of its value."""
    for name, field in Settings.model_fields.items():
        group = group_of(field.annotation)
        if group is None:
            yield f"{PREFIX}{name.upper()}", field.annotation
        else:
            for part, inner in group.model_fields.items():
                yield f"{PREFIX}{name.upper()}_{part.upper()}", inner.annotation


VARIABLES = dict(variables())


def read_directly() -> set[str]:
    """The variables that the code reads by name."""
    files = [*(ROOT / "palimpsest").rglob("*.py"), *(ROOT / "streams").rglob("*.py")]
    return {name for file in files for name in READ_DIRECTLY.findall(file.read_text())}


def documented() -> Iterator[str]:
    """The variables of the page; after a whole name, `_PART` is another of its group."""
    table = text_of("docs/doors.md").partition("## Environment")[2]
    for line in re.findall(r"^\| (`PALIMPSEST_[^|]+) \|", table, flags=re.MULTILINE):
        names = re.findall(r"`([A-Z_]+)`", line)
        group = "_".join(names[0].split("_")[:2])
        yield from (name if name.startswith(PREFIX) else f"{group}{name}" for name in names)


def test_the_page_has_every_variable_and_no_other() -> None:
    listed = [*documented()]
    assert sorted(listed) == sorted({*VARIABLES, *read_directly()})


def number_or_text(annotation: Any) -> str:
    """A value of a type: a number if it takes one."""
    text = str(annotation)
    return "0.5" if "float" in text else "7" if "int" in text else "text"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, without the variables of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_every_variable_sets_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, because some need others; each part differs from its default."""
    defaults = read_settings()
    for name, annotation in VARIABLES.items():
        monkeypatch.setenv(name, SAMPLES.get(name, number_or_text(annotation)))
    settings = read_settings()
    for key, field in Settings.model_fields.items():
        was, now = getattr(defaults, key), getattr(settings, key)
        group = group_of(field.annotation)
        if group is None:
            assert now != was, key
            continue
        assert now.model_fields_set == group.model_fields.keys(), key
        same = {part for part in group.model_fields if getattr(now, part) == getattr(was, part, 0)}
        assert same <= {"protocol"}, "one vendor is the default, and the only one of the platforms"


WRONG = {
    "PALIMPSEST_STORE": " ",
    "PALIMPSEST_ENGINE": "steam",
    "PALIMPSEST_STANDBY": "perhaps",
    "PALIMPSEST_WEB_PORT": "0",
    "PALIMPSEST_LETTERS_PER_MINUTE": "-1",
    "PALIMPSEST_KAFKA_SECURITY_PROTOCOL": "none",
    "PALIMPSEST_EMBEDDER_RETRIES": "many",
    "PALIMPSEST_JUDGE_CONCURRENCY": "0",
    "PALIMPSEST_JUDGE_MODLE": "x",
    "PALIMPSEST_STOER": "elsewhere",
    "PALIMPSEST_JUGDE_MODEL": "small",
    "PALIMPSEST_DEDUP_THRESHOLD_DEFAULT": "92",
    "PALIMPSEST_SCHEDULE_ZONE": "Oslo",
    "PALIMPSEST_SERVE_TOKENS": "secret",
    "PALIMPSEST_SERVE_PORT": "70000",
}
COMMANDS = (
    ("status",),
    ("ingest", "rows.jsonl"),
    ("add", "ada", "She sails."),
    ("serve",),
    ("mcp", "--owner", "ada"),
    ("worker", "--bootstrap", "127.0.0.1:1"),
    ("project", "--bootstrap", "127.0.0.1:1"),
    ("topics", "check", "--bootstrap", "127.0.0.1:1"),
    ("verifier", "--once"),
    ("schedule", "--once"),
    ("policy", "set", "standard"),
    ("review", "run"),
    ("doctor",),
)
"""A command of each kind of door."""


@pytest.mark.parametrize(("name", "value"), WRONG.items())
def test_a_wrong_value_is_named_at_every_door(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    typed = name[len(PREFIX) :].lower().replace("stoer", "store").replace("jugde", "judge")
    key = next(key for key in Settings.model_fields if typed.startswith(key))
    Path("rows.jsonl").write_text('{"owner_id": "ada", "text": "She sails."}\n')
    for command in COMMANDS:
        ran = CliRunner().invoke(app, command)
        told = " ".join(ran.stderr.split())
        if name == "PALIMPSEST_JUDGE_MODLE" or command == ("doctor",):
            assert ran.exit_code != 0, command
        else:
            assert ran.exit_code == 2, (command, ran.output)
        assert key in (told + ran.stdout).lower(), (command, told)
        assert value not in told or value in (" ", "0", "-1", "x", "Oslo"), (command, told)
        assert not Path(".palimpsest").exists(), command
    for call in (Palimpsest.open, Memory):
        with pytest.raises(UsageError, match=f"(?i){key}"):
            call()


@pytest.mark.parametrize(
    "name", ["TOKEN", "OWNER", "DEBUG", "PORT", "SERVER", "SERVER_URL", "SCHEDULER_ENABLED"]
)
def test_other_variables_with_our_prefix_are_left_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PREFIX + name, "x")
    assert read_settings() == Settings()


@pytest.mark.parametrize("service", ["", "SERVER_", "JUDGES_"])
def test_what_kubernetes_sets_for_a_service_is_left_alone(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = f"{PREFIX}{service}PORT"
    for name in (
        f"{PREFIX}{service}SERVICE_HOST",
        f"{PREFIX}{service}SERVICE_PORT",
        f"{PREFIX}{service}SERVICE_PORT_HTTP",
        port,
        f"{port}_8000_TCP",
        f"{port}_8000_TCP_ADDR",
        f"{port}_8000_TCP_PORT",
        f"{port}_8000_TCP_PROTO",
    ):
        monkeypatch.setenv(name, "x")
    assert read_settings() == Settings()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("STOER", "STORE"),
        ("WEBPORT", "WEB_PORT"),
        ("JUGDE_BASE_URL", "JUDGE_BASE_URL"),
        ("SERVER_PORT", "SERVE_PORT"),
        ("EMBEDDING_MODEL", "EMBEDDER_MODEL"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_setting(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PREFIX + name, "")
    read_settings()
    monkeypatch.setenv(PREFIX + name, "x")
    with pytest.raises(UsageError, match=f"there is no {PREFIX}{name}: the setting is .*_{meant}$"):
        read_settings()
