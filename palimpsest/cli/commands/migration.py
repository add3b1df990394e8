"""Existing stores and files: `import`, `export` and `clean`."""

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
from palimpsest.cli.commands.ingestion import Renames, confirmation, parse_renames, print_summary
from palimpsest.cli.invocation import DryRun, Invocation, WhichPolicy, invocation
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.process.output import Output

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.cleaning.by_store import RowStore
    from palimpsest.cleaning.clean import Cleaned, Rules
    from palimpsest.cleaning.files import InputFile
    from palimpsest.contracts.policy import Policy
    from palimpsest.process.targets import Write
    from palimpsest.sources import MappedSource
    from palimpsest.sources.contract import Trust
    from palimpsest.streams.core.ledger import Ledger
    from palimpsest.streams.embedder import Engine, Progress

app = typer.Typer()

Texts = Literal["original", "face"]
KeepWhich = Literal["first", "newest", "longest"]

SourcePath = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="A file, or the folder of a database.")
]
Table = Annotated[
    str | None, typer.Option(metavar="NAME", help="The table or collection, if there are several.")
]
Query = Annotated[
    str | None, typer.Option(metavar="SQL", help="For a SQLite file: the rows of this query.")
]
History = Annotated[
    Path | None, typer.Option(metavar="FILE", help="mem0's history, if it is elsewhere.")
]
Trusted = Annotated[
    bool,
    typer.Option("--trust", help="Read data that could run a program (Qdrant's pickled points)."),
]


@app.command("import", epilog="Example: palimpsest import export.jsonl --owner ada --dry-run")
def import_source(
    context: typer.Context,
    path: SourcePath,
    table: Table = None,
    query: Query = None,
    history: History = None,
    renames: Renames = None,
    owner: Annotated[
        str | None, typer.Option(metavar="OWNER", help="The owner of rows that name none.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="The source's name from now on.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model-of-vectors", metavar="MODEL", help="The model of the source's vectors."
        ),
    ] = None,
    trust: Trusted = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept the guessed mapping.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Import an existing store: files, SQLite, LanceDB, Qdrant, Chroma, mem0; it is only read.

    The command guesses which fields are ours, shows the mapping, and asks for
    confirmation. After an interruption run it again: known rows change nothing.
    """
    from palimpsest.jobs.import_source import bring_in, foresee_import, look_at, spool_rows
    from palimpsest.sources import SourcePlace

    call = invocation(context)
    mapped = look_at(
        SourcePlace(path, table, query, history, trust or _asking_for_trust(call.output)),
        source=source,
        owner=owner,
        renames=parse_renames(renames),
    )
    if not dry_run:
        _confirm(call.output, mapped, yes=yes)
    with call.output.progress() as report, spool_rows(mapped, _absent(call), report) as spool:
        if dry_run:
            document = foresee_import(mapped, spool)
        else:
            with call.store(create=True) as store:
                document = bring_in(store.writer, mapped, spool, model=model, progress=report)
    if dry_run:
        call.output.answer(document, lambda: rendering.foreseen_table(document))
        return
    if document["vectors"]["there"]:
        call.output.remark(rendering.vectors_sentence(document["vectors"]))
    print_summary(call.output, document)


@app.command(epilog="Example: palimpsest export export.jsonl --to cleaned.jsonl --dry-run")
def export(
    context: typer.Context,
    path: SourcePath,
    to: Annotated[Path, typer.Option(metavar="NEW", help="The copy; must not exist yet.")],
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which import, if there are several.")
    ] = None,
    texts: Annotated[
        Texts,
        typer.Option(
            metavar="WHICH",
            help="`original`: rows keep their texts, and sources of composed texts stay; `face`:"
            " one row per memory, with the memory's text.",
        ),
    ] = "original",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Keep this row (its id in the source); repeatable."),
    ] = None,
    max_changes: Annotated[
        int | None,
        typer.Option(
            "--max-changes",
            min=0,
            metavar="N",
            help="The largest number of changes in this run; 200 unless a person allows all.",
        ),
    ] = None,
    trust: Trusted = False,
    dry_run: DryRun = False,
) -> None:
    """Copy an imported store without its duplicates; the original is only read.

    The copy has the same format. It leaves out forgotten rows, and rows that
    repeat another row, verbatim or by a join; the report says how to bring
    each back. The exit status is 1 if --max-changes left out some changes.
    """
    from palimpsest.jobs.export_source import MOST_CHANGES

    call = invocation(context)
    most = MOST_CHANGES if max_changes is None else max_changes
    asks = call.output.asks and max_changes is None and not dry_run

    def write_copy_of(most: int, *, dry_run: bool) -> dict[str, Any]:
        """Make at most `most` changes, or in a dry run only count them."""
        with call.store() as store, call.output.progress() as report:
            return store.export_source(
                path,
                to,
                source=source,
                texts=texts,
                keep=keep or (),
                max_changes=most,
                trust=trusted,
                dry_run=dry_run,
                progress=report,
            )

    trusted = trust or _asking_for_trust(call.output)
    if asks and (found := write_copy_of(most, dry_run=True)["changes"]) > most:
        question = (
            f"The copy needs {counted(found, 'change')}, and a run makes {most:,}. Make them all?"
        )
        most = found if typer.confirm(question, err=True) else most
    document = write_copy_of(most, dry_run=dry_run)
    call.output.answer(document, lambda: rendering.export_report(document))
    if document["left"] and not dry_run:
        call.output.remark(
            f"the copy is not clean yet: --max-changes {most} left out"
            f" {document['left']:,} of {document['changes']:,} changes; export to another place"
            " with a larger number"
        )
        raise typer.Exit(FAILED)


def _confirm(output: Output, mapped: MappedSource, *, yes: bool) -> None:
    """Show the mapping and ask a person to confirm it; a script gives `--yes`."""
    if not output.as_json:
        output.show(rendering.mapping_table(mapped.shown()))
    if yes:
        return
    if not output.asks:
        raise UsageError(
            "without a terminal the mapping cannot be confirmed: check it with --dry-run, change it"
            " with --map, then give --yes"
        )
    typer.confirm("Import with this mapping?", abort=True, err=True)


def _asking_for_trust(output: Output) -> Trust:
    return confirmation(output, output.remark, "Is it yours, and do you trust it?")


def _absent(call: Invocation) -> float | None:
    """The confidence that rows without one get by the policy in force, or that of a new store."""
    from palimpsest.streams.log.database import NoStoreError

    try:
        with call.store() as store:
            return store.reader.policy_in_force().absent.confidence
    except NoStoreError:
        return call.settings.policy_of_new_store().absent.confidence


# -- clean ---------------------------------------------------------------------------------------

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
