"""Each environment variable has its effect at every door that the page names for it.

All variables are set at once, each to a value of its own. A door runs up to the call that acts on
them (opening a store, asking the judge, joining the cluster, starting the server), which is
replaced by one that notes its arguments: among these must be the value of each variable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr
from typer.testing import CliRunner

from palimpsest import Palimpsest
from palimpsest.cli.main import app
from palimpsest.contracts.policy import Policy
from palimpsest.mem0 import Memory
from palimpsest.settings.settings import Settings, read_settings
from palimpsest.streams.embedder import EmbedderSource
from tests.docs.test_environment import PREFIX, SAMPLES, VARIABLES, documented, number_or_text

ROW = {"owner_id": "ada", "text": "She sails."}
OF_KAFKA, OF_JUDGE, OF_DEDUP = "KAFKA_", "JUDGE_", "DEDUP_"
OPENING = ("POLICY", "ENGINE", "MODEL", "EMBEDDER_", OF_DEDUP)
WORKERS = ("INSTANCE", "STANDBY", "LETTERS_PER_MINUTE", "WEB_PORT")
OWN_VALUES = {
    "PALIMPSEST_POLICY": "namespaced",
    "PALIMPSEST_MODEL": "its-model",
    "PALIMPSEST_ACTOR": "grace",
    "PALIMPSEST_DATA": "its-data",
    "PALIMPSEST_INSTANCE": "its-instance",
    "PALIMPSEST_WEB_PORT": "54321",
    "PALIMPSEST_LETTERS_PER_MINUTE": "4321",
    "PALIMPSEST_EMBEDDER_MODEL": "model-of-service",
    "PALIMPSEST_DEDUP_TIME_WINDOW_SECS": "777",
    "PALIMPSEST_DEDUP_CACHE_CAPACITY": "55",
}


class SeenError(Exception):
    """The call that acts on the variables was reached."""


@dataclass(frozen=True)
class Door:
    """What the page says of a door, how to come through it, and the call that acts on it.

    `has` are variables without their prefix; one that ends in `_` is a whole group. Those in
    `without` are not set. `seams` are functions by module and name; the last ends the run.
    """

    has: Sequence[str]
    go: Callable[[], object]
    seams: Sequence[str]
    without: Sequence[str] = ()


def command(*words: str, stdin: str | None = None) -> Callable[[], object]:
    return lambda: CliRunner().invoke(app, words, input=stdin)


def opened(method: str, *args: Any, **named: Any) -> Callable[[], object]:
    def call() -> None:
        with Palimpsest.open() as store:
            getattr(store, method)(*args, **named)

    return call


CLUSTER = "palimpsest.cli.commands.cluster"
TOPICS = "palimpsest.cli.commands.judge:wait_for_topics"
OPEN = ("palimpsest.api.store:Palimpsest.open",)
OF_CLUSTER = ("palimpsest.api.store:Reader", "palimpsest.api.store:ClusterWriter")
JUDGE = ("palimpsest.api.runs:JudgeOnDemand",)
STORE = ("STORE", *OPENING, OF_KAFKA)
HOOK = json.dumps({"session_id": "s", "transcript_path": "transcript.jsonl"})
PAIRS = '{"a": "She sails.", "b": "She skis.", "label": "different"}\n'

DOORS = {
    "ingest": Door(STORE, command("ingest", "rows.jsonl"), OPEN),
    "add": Door(STORE, command("add", "ada", "She sails."), OPEN),
    "status": Door(("STORE", OF_KAFKA), command("status"), OPEN),
    "Palimpsest.open": Door(STORE, Palimpsest.open, OF_CLUSTER),
    "mem0's class": Door(STORE, Memory, OF_CLUSTER),
    "serve": Door(
        (*STORE, OF_JUDGE, "SERVE_"),
        command("serve"),
        ("palimpsest.server_process.run:serve",),
    ),
    "mcp": Door(
        ("STORE", "TOKEN"), command("mcp", "--owner", "ada"), ("palimpsest.client.shim:speak",)
    ),
    "review open": Door(
        ("STORE", "TOKEN"),
        command("review", "open"),
        ("palimpsest.server.starting:find_or_start", "palimpsest.server.linking:ask_for_link"),
    ),
    "worker": Door(
        ("POLICY", "ENGINE", "MODEL", OF_DEDUP, OF_KAFKA, "DATA", *WORKERS),
        command("worker"),
        (
            f"{CLUSTER}:_require_free",
            f"{CLUSTER}:_check_topics",
            "palimpsest.streams.cluster.worker.worker:run",
        ),
        without=("EMBEDDER_",),
    ),
    "worker with an embedding service": Door(
        ("EMBEDDER_",),
        command("worker"),
        (
            f"{CLUSTER}:_require_free",
            f"{CLUSTER}:_check_topics",
            "palimpsest.streams.embedder.source:_service",
        ),
    ),
    "project": Door(
        ("STORE", OF_KAFKA, "WEB_PORT"),
        command("project"),
        (
            f"{CLUSTER}:_require_free",
            f"{CLUSTER}:_follow",
        ),
    ),
    "topics": Door(
        (OF_KAFKA,), command("topics", "check"), ("palimpsest.streams.cluster.setup:check",)
    ),
    "verifier": Door(
        (OF_JUDGE, "DATA"),
        command("verifier", "--once"),
        ("palimpsest.jobs.questions:settle",),
        without=(OF_KAFKA,),
    ),
    "verifier of a cluster": Door(
        (OF_KAFKA,),
        command("verifier", "--once"),
        (TOPICS,),
    ),
    "review run": Door((OF_JUDGE,), command("review", "run"), JUDGE, without=(OF_KAFKA,)),
    "dedupe": Door((OF_JUDGE,), command("dedupe"), JUDGE, without=(OF_KAFKA,)),
    "schedule": Door(
        ("SCHEDULE_",), command("schedule", "--once"), ("palimpsest.settings.schedule:Scheduler",)
    ),
    "judge doctor": Door(
        (OF_JUDGE,), command("judge", "doctor"), ("palimpsest.jobs.judge_doctor:examine_all",)
    ),
    "judge pairs": Door(
        (OF_JUDGE, "DATA"),
        command("judge", "pairs", "pairs.jsonl", "--to", "judged.jsonl"),
        ("palimpsest.evaluation.judge_pairs:ask_about_pairs",),
    ),
    "extract": Door(
        (OF_JUDGE,),
        command("extract", "chat.jsonl", "--owner", "ada"),
        ("palimpsest.jobs.extract:extract_candidates",),
    ),
    "hook": Door(
        (OF_JUDGE, "OWNER"),
        command("hook", "pre-compact", stdin=HOOK),
        ("palimpsest.jobs.extract:transcript_candidates",),
        without=(OF_KAFKA,),
    ),
    "hook, the store": Door(STORE, command("hook", "pre-compact", stdin=HOOK), OPEN),
    "policy set": Door(
        ("POLICY", OF_DEDUP, "ACTOR"),
        command("policy", "set", "namespaced"),
        ("palimpsest.api.store:Palimpsest.set_policy",),
        without=(OF_KAFKA,),
    ),
    "separate": Door(
        ("ACTOR",),
        command("separate", "a", "b"),
        ("palimpsest.api.store:Palimpsest.separate",),
        without=(OF_KAFKA,),
    ),
    "review in Python": Door((OF_JUDGE,), opened("review"), JUDGE, without=(OF_KAFKA,)),
    "dedupe in Python": Door((OF_JUDGE,), opened("dedupe"), JUDGE, without=(OF_KAFKA,)),
    "ask_judge in Python": Door((OF_JUDGE,), opened("ask_judge"), JUDGE, without=(OF_KAFKA,)),
    "add in Python": Door(
        (OF_JUDGE,),
        opened("add", "She sails.", "ada", infer=True),
        ("palimpsest.api.submissions:memories_of",),
        without=(OF_KAFKA,),
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_variable_has_its_effect_at_the_door(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, monkeypatch)
    skipped = tuple(f"{PREFIX}{name}" for name in door.without)
    values = {
        name: OWN_VALUES.get(name) or SAMPLES.get(name) or number_or_text(annotation)
        for name, annotation in VARIABLES.items()
    } | {"PALIMPSEST_TOKEN": "sixteen letters!", "PALIMPSEST_OWNER": "bob"}
    for name in values:
        monkeypatch.delenv(name, raising=False)
        if not (skipped and name.startswith(skipped)):
            monkeypatch.setenv(name, values[name])
    noted: list[Any] = []
    for place, last in zip(door.seams, [*[False] * (len(door.seams) - 1), True], strict=True):
        replace(place, noted, monkeypatch, last=last)
    with suppress(SeenError):
        door.go()
    leaves = {*flat(noted)}
    settings = read_settings()
    claimed = claimed_by(door, values)
    missing = {name for name in claimed if not effect(name, values[name], settings) & leaves}
    assert claimed
    assert missing == set()


def claimed_by(door: Door, names: Iterable[str]) -> set[str]:
    """Those of the variables that the door has."""
    return {
        name
        for name in names
        for has in door.has
        if name.removeprefix(PREFIX) == has or (has.endswith("_") and name.startswith(PREFIX + has))
    }


def test_every_variable_is_tried_at_a_door() -> None:
    """But the one of debugging, which `tests/palimpsest/cli/test_logs.py` tries."""
    names = {*documented()}
    tried = {name for door in DOORS.values() for name in claimed_by(door, names)}
    assert names - tried == {"PALIMPSEST_DEBUG"}


def fill(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty store and the files of the commands, in the current folder."""
    monkeypatch.chdir(folder)
    Palimpsest.open(folder / SAMPLES["PALIMPSEST_STORE"], engine="none").close()
    Path("rows.jsonl").write_text(json.dumps(ROW) + "\n")
    Path("chat.jsonl").write_text('{"role": "user", "content": "I sail."}\n')
    Path("transcript.jsonl").write_text('{"role": "user", "content": "I sail."}\n')
    Path("pairs.jsonl").write_text(PAIRS)


def replace(place: str, noted: list[Any], monkeypatch: pytest.MonkeyPatch, *, last: bool) -> None:
    """Put a function that notes its arguments in the place of another one."""
    module, _, name = place.partition(":")
    owner: Any = import_module(module)
    *kind, name = name.split(".")
    for part in kind:
        owner = getattr(owner, part)

    def note(*args: Any, **named: Any) -> Any:
        noted.append((args, named))
        if last:
            raise SeenError
        return None

    async def note_later(*args: Any, **named: Any) -> Any:
        return note(*args, **named)

    waits = iscoroutinefunction(getattr(owner, name))
    monkeypatch.setattr(owner, name, note_later if waits else note)


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The values in what was noted, each under the name that it has there, and under none."""
    match value:
        case Policy():
            yield "policy", value.hash
        case EmbedderSource():
            yield from flat((value.configured, value.given))
            yield from flat(value.load)
        case BaseModel():
            yield from flat(dict(value))
        case partial():
            yield from flat((value.args, value.keywords))
        case Mapping():
            for key, inner in value.items():
                yield from flat(inner, str(key))
        case list() | tuple() | set() | frozenset():
            yield name, str(value)
            for inner in value:
                yield from flat(inner)
        case SecretStr():
            yield name, value.get_secret_value()
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield from flat({one.name: getattr(value, one.name) for one in fields(value)})
        case _ if hasattr(value, "__wrapped__"):
            yield from flat(value.__wrapped__)
        case _ if closure := getattr(value, "__closure__", None):
            for cell in closure:
                yield from flat(cell.cell_contents)
        case _:
            yield from ((name, str(value)), ("", str(value)))


def effect(name: str, value: str, settings: Settings) -> set[tuple[str, str]]:
    """What must be among the values of a door: a setting's under its name, or the value itself."""
    key = name.removeprefix(PREFIX).lower()
    group, _, part = key.partition("_")
    if key == "policy" or group == "dedup":
        return {("policy", settings.policy_of_new_store().hash)}
    inner = getattr(settings, group, None)
    if not isinstance(inner, BaseModel) or part not in type(inner).model_fields:
        absolute = Path(value).absolute()
        of_log = str(absolute / "log.sqlite")
        return {("", value), ("", str(absolute)), ("", of_log), (key, value.capitalize())}
    found = getattr(inner, part)
    if isinstance(found, BaseModel):
        return {(one, str(getattr(found, one))) for one in found.model_fields_set}
    if isinstance(found, SecretStr):
        return {(part, found.get_secret_value())}
    return {(part, str(found))}
