"""A file without duplicates, and no store: `clean`."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType

from palimpsest.backends.paths import LOG_FILE
from palimpsest.cli import rendering
from palimpsest.cli.invocation import DryRun, Invocation, WhichPolicy, invocation
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.cleaning.by_store import RowStore
    from palimpsest.cleaning.clean import Cleaned, Rules
    from palimpsest.cleaning.files import InputFile
    from palimpsest.contracts.policy import Policy
    from palimpsest.process.targets import Write
    from palimpsest.streams.core.ledger import Ledger
    from palimpsest.streams.embedder import Engine, Progress

app = typer.Typer()

KeepWhich = Literal["first", "newest", "longest"]

STDIO = "-"
"""Standard input as the file, standard output as the copy."""


@app.command(epilog="Example: palimpsest clean memories.csv --by user_id --report report.html")
def clean(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="CSV, JSON lines, Parquet, Arrow or lines of text; or - ."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(metavar="CLEAN", help="The clean copy, or -; by default FILE with .clean."),
    ] = None,
    duplicates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the duplicates here: JSON lines, or .csv."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with pictures and examples.")
    ] = None,
    policy: WhichPolicy = None,
    within: Annotated[
        float | None,
        typer.Option(
            min=0.5,
            max=1.0,
            metavar="SIMILARITY",
            help="Also join by cosine alone, at this or above.",
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the texts; else guessed.")
    ] = None,
    keep: Annotated[
        KeepWhich,
        typer.Option(
            metavar="WHICH", help="Which row of a group stays: `first`, `newest` or `longest`."
        ),
    ] = "first",
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Join only rows that are equal in this; repeatable."),
    ] = None,
    separate: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Pairs to keep apart, as a report saves them; repeatable."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Copy a file without its duplicates: no store is needed, and by default none is made.

    The copy has the form, the order and the columns of FILE. Rows that
    cannot be read stay in the copy; the exit status is
    then 1. With `--store`, the rows are kept there, to undo later.
    """
    from palimpsest.cleaning.clean import Rules, find_duplicates
    from palimpsest.cleaning.columns import Columns
    from palimpsest.cleaning.documents import summary_of
    from palimpsest.cleaning.files import input_file
    from palimpsest.cleaning.separated import read_separations
    from palimpsest.process.targets import refuse_targets, write_all

    call = invocation(context)
    begun = time.monotonic()
    target = None if to == STDIO else _target(file, to, dry_run=dry_run)
    to_stdout = to == STDIO and not dry_run
    source = None if file == STDIO else Path(file)
    targets = {"to": target, "duplicates": duplicates, "report": report}
    if not dry_run:
        by_option = {f"--{name}": path for name, path in targets.items()}
        refuse_targets(source, by_option, force=force)
    separated = [pair for path in separate or () for pair in read_separations(path)]
    rules = Rules(call.settings.policy_of_new_store(policy), within, keep, separated)
    named = Columns(text, tuple(by or ()))
    with call.output.progress() as progress, input_file(file, named) as rows:
        if target is not None:
            rows.refuse_name(target)
        columns = named.found(rows.values(), needs_moment=rules.keep == "newest")
        load = partial(_local_engine, call, rules.policy, progress)
        with _keeping(call, rules.policy, dry_run=dry_run) as store:
            found = find_duplicates(rows.read(columns, progress), rules, load, progress, store)
        answer: dict[str, Any] = {
            "file": file,
            "form": rows.form,
            "text": columns.text,
            "by": [*columns.by],
            "moment": columns.moment,
            "owner": columns.owner,
            **summary_of(found, rules),
            **{name: str(path) if path else None for name, path in targets.items()},
            "store": str(call.store_option) if call.store_option else None,
            "dry_run": dry_run,
            "seconds": round(time.monotonic() - begun, 3),
        }
        if not dry_run:
            progress("writing", None)
            write_all(_writes(targets, rows, found, rules, answer))
            if to_stdout:
                _to_stdout(lambda part: rows.copy(part, found.stays))
    if to_stdout:
        call.output.show(_drawn(answer))
    else:
        call.output.answer(answer, lambda: _drawn(answer))
    if answer["unreadable"]:
        raise typer.Exit(FAILED)


def _local_engine(call: Invocation, policy: Policy, progress: Progress) -> Engine:
    """Load the model or service from the settings, else the policy's model."""
    from palimpsest.streams.embedder import require_local

    source, settings = call.embedder_source(progress), call.settings
    by_model = settings.embedder is None and settings.model is not None
    engine = source.engine() if by_model else source.engine_of(policy.model)
    require_local(engine, policy)
    return engine


def _writes(
    targets: Mapping[str, Path | None],
    rows: InputFile,
    found: Cleaned,
    rules: Rules,
    answer: dict[str, Any],
) -> dict[Path, Write]:
    """What writes the file of each target that is named."""
    from palimpsest.cleaning.documents import write_duplicates

    copy, duplicates, report = targets["to"], targets["duplicates"], targets["report"]
    writes: dict[Path, Write] = {}
    if copy is not None:
        writes[copy] = lambda part: rows.copy(part, found.stays)
    if duplicates is not None:
        as_csv = duplicates.name.lower().endswith(".csv")
        writes[duplicates] = lambda part: write_duplicates(found, part, as_csv=as_csv)
    if report is not None:
        from palimpsest.cli.clean_page import clean_page

        page = clean_page(answer, found, rules, _again(answer["file"]))
        writes[report] = lambda part: part.write_text(page, "utf-8")
    return writes


@contextmanager
def _keeping(call: Invocation, policy: Policy, *, dry_run: bool) -> Iterator[RowStore | None]:
    """The store of `--store`, which keeps the rows; a new one is kept small."""
    if call.store_option is None:
        yield None
        return
    folder = call.settings.store
    if dry_run:
        raise UsageError("--dry-run writes nothing, and --store keeps the rows: leave out one")
    from palimpsest.api.store import Palimpsest
    from palimpsest.projections.lancedb.files import leave_out
    from palimpsest.streams.log.database import repack

    new = not (folder / LOG_FILE).exists()
    if new:
        leave_out(folder)
    opening = call.settings.opening() | {"policy": policy, "by": "person"}
    with Palimpsest.open(folder, **opening) as store:
        if store.policy.hash != policy.hash:
            raise UsageError(
                f"the store decides by {store.policy.name} ({store.policy.hash}), not"
                f" {policy.name} ({policy.hash}): name that policy, or another store"
            )
        yield StoreOfRows(store)
    if new:
        repack(folder / LOG_FILE)


class StoreOfRows:
    """The calls of a store that a cleaning makes."""

    def __init__(self, store: Palimpsest) -> None:
        self._store = store

    def submit(self, candidates: Sequence[dict[str, Any]], *, source: str) -> object:
        """Decide on candidates, in order; known ones change nothing."""
        return self._store.submit(candidates, source=source)

    def ledger(self, owner_id: str) -> Ledger:
        """An owner's current state."""
        return self._store.reader.ledger(owner_id)


def _target(file: str, to: str | None, *, dry_run: bool) -> Path | None:
    """Where the copy is written: by default beside the file."""
    if to is not None:
        return Path(to)
    if file == STDIO:
        if dry_run:
            return None
        raise UsageError("what comes from standard input needs --to CLEAN, or --to -")
    from palimpsest.cleaning.files import clean_name

    return clean_name(Path(file))


def _to_stdout(write: Write) -> None:
    with tempfile.TemporaryDirectory(prefix="palimpsest-clean-") as folder:
        part = Path(folder) / "clean"
        write(part)
        with part.open("rb") as copy:
            shutil.copyfileobj(copy, typer.get_binary_stream("stdout"))


def _again(file: str) -> str:
    """The command that cleans again with the page's marks, which include the earlier ones."""
    words, separates = list[str](), False
    for word in sys.argv[1:]:
        if word != "--force" and not separates and not word.startswith("--separate"):
            words.append(word)
        separates = word == "--separate"
    if file not in words:
        words = ["clean", file]
    return shlex.join(["palimpsest", *words, "--force", "--separate", "separate.jsonl"])


def _drawn(answer: dict[str, Any]) -> RenderableType:
    from palimpsest.cli.clean_page import summary_lines

    return Group(*map(rendering.shown, summary_lines(answer)))
