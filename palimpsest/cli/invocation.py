"""What all commands share: settings, the open store, output, and common options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from palimpsest.contracts.counting import counted
from palimpsest.contracts.limits import MOST
from palimpsest.process.output import Output, Progress, visible

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.settings.settings import Settings
    from palimpsest.streams.embedder import EmbedderSource, Engine


Because = Annotated[str | None, typer.Option(metavar="TEXT", help="The reason; recorded.")]

OneOwner = Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Only this owner.")]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")]

LONGEST_POSITION = 100
"""Maximum number of digits of a position: Python refuses to read several thousand."""

A_LITTLE = 100
"""The normal lag of a store behind its cluster, in records: it catches up in a moment."""


@dataclass
class Invocation:
    """One call of the command line; settings are read on first use."""

    store_option: Path | None
    output: Output = field(default_factory=lambda: Output(as_json=False))
    bootstrap: str | None = None
    prefix: str | None = None
    model: str | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings, overridden by `--store`, `--model`, `--bootstrap` and `--prefix`."""
        from palimpsest.settings.settings import read_settings

        options = {"bootstrap": self.bootstrap, "prefix": self.prefix}
        kafka = {name: value for name, value in options.items() if value is not None}
        return read_settings(store=self.store_option, model=self.model, kafka=kafka or None)

    @contextmanager
    def store(
        self, *, create: bool = False, accept_loss: bool = False, **opening: Any
    ) -> Iterator[Palimpsest]:
        """Open the store; StoreError if there is none, unless `create`.

        `accept_loss` also opens one that lacks acknowledged events; `opening` overrides settings.
        """
        from palimpsest.api.store import Palimpsest

        settings = self.settings
        with (
            self.output.progress() as report,
            Palimpsest.open(
                settings.store,
                create=create,
                progress=report,
                cluster=settings.kafka,
                by="person",
                accept_loss=accept_loss,
                **(settings.opening() | opening),
            ) as store,
        ):
            yield store

    def require_owner(self, store: Palimpsest, owner: str | None) -> None:
        """Exit with 1 if no event is about the named owner."""
        if owner is not None and not store.reader.owners(owner):
            self.output.problem(f"there is no owner {visible(owner)} in this store")
            raise typer.Exit(1)

    def warn_if_behind(self, store: Palimpsest, *, at_all: bool = False) -> None:
        """Warn that an answer is outdated if the store is far behind its configured cluster."""
        behind = store.behind()
        if behind is not None and behind > (0 if at_all else A_LITTLE):
            self.output.remark(
                f"warning: the store {self.settings.store} is {counted(behind, 'record')} behind"
                " the cluster: is `palimpsest project` running on it?"
            )

    def embedder_source(self, report: Progress) -> EmbedderSource:
        """The model or service of the settings, by their engine."""
        from palimpsest.streams import embedder

        settings = self.settings

        def load(model: str) -> Engine:
            return embedder.load_engine(model, settings.engine or "onnx", progress=report)

        return embedder.EmbedderSource(load, settings.model, settings.embedder)


def invocation(context: typer.Context) -> Invocation:
    """The invocation of a command."""
    found = context.find_object(Invocation)
    assert found is not None
    return found


def moment(text: str) -> datetime:
    """Parse an ISO 8601 time; without an offset it is UTC."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("must be a time like 2026-03-01 or 2026-03-01T12:00Z") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def is_position(text: str) -> bool:
    """Whether a text is a number that may be a position of the log."""
    return text.isdecimal() and len(text) <= LONGEST_POSITION


def position_or_time(text: str) -> int | datetime:
    """A position of the log, or a time parsed by `moment`."""
    return int(text) if is_position(text) else moment(text)


AsOfOption = Annotated[
    Any,
    typer.Option(
        "--as-of",
        parser=position_or_time,
        metavar="P|TIME",
        help="Answer as of this position of the log, or as of this time (ISO 8601).",
    ),
]


def named_values(option: str, given: list[str] | None) -> dict[str, str]:
    """Values by name, as texts; the caller converts them."""
    values: dict[str, str] = {}
    for assignment in given or []:
        name, sign, value = assignment.partition("=")
        if not (name and sign):
            raise typer.BadParameter(f"{option} {assignment}: write it as NAME=VALUE")
        values[name] = value
    return values


Category = Annotated[
    str | None, typer.Option("--category", metavar="C", help="Only with a member of this category.")
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("--metadata", metavar="KEY=VALUE", help="Only with this metadata; repeatable."),
]
HappenedSince = Annotated[
    datetime | None,
    typer.Option(
        "--since", parser=moment, metavar="TIME", help="Only what happened at this time or later."
    ),
]
HappenedUntil = Annotated[
    datetime | None,
    typer.Option(
        "--until", parser=moment, metavar="TIME", help="Only what happened before this time."
    ),
]


Former = Annotated[bool, typer.Option("--former", help="Include displaced wordings.")]
ShowExpired = Annotated[
    bool, typer.Option("--show-expired", help="Include memories that have expired.")
]


def limit_option(what: str, most: int = MOST) -> Any:
    """The option for the maximum number of something."""
    return typer.Option(
        "--limit", "-k", min=1, max=most, metavar="N", help=f"The maximum number of {what}."
    )


def metadata_of(given: list[str] | None) -> dict[str, Any]:
    """Metadata by key: valid JSON is parsed, so 2 is a number; anything else is text."""
    return {name: _json_or_text(value) for name, value in named_values("--metadata", given).items()}


def _json_or_text(written: str) -> Any:
    from orjson import JSONDecodeError, loads

    try:
        return loads(written)
    except JSONDecodeError:
        return written


# -- shell completion ----------------------------------------------------------------------------


_NAMES = """
SELECT DISTINCT unnest([table_name, column_name]) AS name
FROM duckdb_columns() WHERE NOT internal ORDER BY 1
"""

_LAST_WORD = re.compile(r"\w*$")


def complete_presets(incomplete: str) -> list[str]:
    """The presets' names."""
    from palimpsest.streams.policies import MODEL_PRESETS, preset_names

    return _starting_with([*preset_names(), *MODEL_PRESETS.values()], incomplete)


WhichPolicy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="A preset, or a .toml file; by default the setting `policy`, or the model's preset.",
        autocompletion=complete_presets,
    ),
]


def complete_kinds(incomplete: str) -> list[str]:
    """The kinds of decisions."""
    from palimpsest.contracts.events import Decision

    return _starting_with(get_args(Decision), incomplete)


def complete_columns(context: typer.Context, incomplete: str) -> list[str]:
    """A query, with its last word completed to a view or a column of the store."""
    from palimpsest.backends.paths import PROJECTIONS_FOLDER
    from palimpsest.projections.duckdb.queries import query, views_file
    from palimpsest.settings.settings import read_settings

    store = context.find_root().params.get("store")
    folder = read_settings(store=store).store / PROJECTIONS_FOLDER
    if not views_file(folder).is_file():
        return []
    [word] = _LAST_WORD.findall(incomplete)[:1]
    before = incomplete.removesuffix(word)
    names = [row["name"] for row in query(folder, _NAMES)]
    return [before + name for name in _starting_with(names, word)]


def _starting_with(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
