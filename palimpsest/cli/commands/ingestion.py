"""Commands for producers: `ingest`, `add`, `extract`, `prompt` and `session`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer
from rich.text import Text
from typer import get_binary_stream, get_text_stream

from palimpsest.cli import rendering
from palimpsest.cli.invocation import invocation, moment
from palimpsest.cli.rendering import shown, summary_table
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.candidate import seconds_of
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.process.output import Output, Progress, print_json
from palimpsest.process.signals import INTERRUPTED

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.jobs.ingest import IngestProgress


# -- ingest --------------------------------------------------------------------------------------


app = typer.Typer()


Format = Literal["csv", "json"]
"""The values of `--format`."""

Renames = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="THEIRS=OURS", help="Read their field as ours; repeatable."),
]


def _duration(value: str | None) -> str | None:
    """A time to live as it was typed; BadParameter if it is not one."""
    try:
        seconds_of(value)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return value


ExpiresIn = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="The expiry of rows that state none: 90m, 12h, 7d, 2w.",
        callback=_duration,
    ),
]


@app.command(epilog="Example: palimpsest ingest chat.jsonl.gz --source chat --map content=text")
def ingest(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…", help="JSONL, a JSON array or CSV, also gzipped; Parquet; or - ."
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The rows' source; defaults to the file name."),
    ] = None,
    renames: Renames = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="The files' format; by default by name or content."),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Read a file whose first hundred rows are all wrong."),
    ] = False,
    owner: Annotated[
        str | None,
        typer.Option(metavar="OWNER", help="The owner of rows that have none."),
    ] = None,
    dedupe_first: Annotated[
        bool,
        typer.Option("--dedupe-first", help="Run the policy's batch rules first."),
    ] = False,
    expires_in: ExpiresIn = None,
) -> None:
    """Decide on every row of the files and print a summary.

    Creates the store if there is none. A row is a CloudEvent, or has
    owner_id and text. Ingesting the same file twice changes
    nothing. Unreadable rows are kept as dead letters, and the exit
    status is 1.
    """
    from palimpsest.jobs.ingest import Defaults, check_files, decide_on

    call = invocation(context)
    checked_files = check_files(  # before the store is created: a wrong file leaves none
        files,
        source=source,
        mapping=parse_renames(renames),
        form=form,
        keep_going=keep_going or confirmation(call.output, call.output.problem, "Read it anyway?"),
        defaults=Defaults(owner, expires_in),
    )
    with call.store(create=True) as store, call.output.progress() as report:
        if dedupe_first:
            before = store.dedupe(judge=call.settings.judge, progress=report)
            call.output.remark(f"{len(before['joined']):,} joined by the batch rules before")
        summary = decide_on(store.writer, checked_files, _row_progress(report))
    print_summary(call.output, summary.document())


add_app = typer.Typer()


@add_app.command(epilog='Example: palimpsest add ada "Ada has a big dog."')
def add(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="The memory's owner.")],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The memory; - reads it from standard input.")
    ],
    source: Annotated[
        str, typer.Option(metavar="NAME", help="Where the text is from.")
    ] = "command-line",
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="The session that it is from.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(metavar="N", help="Its namespace.")] = None,
    category: Annotated[str | None, typer.Option(metavar="C", help="Its category.")] = None,
    expires_in: ExpiresIn = None,
) -> None:
    """Add one memory, and show what became of it.

    Creates the store if there is none. The exit status is 1 if the
    text is invalid.
    """
    call = invocation(context)
    said = get_text_stream("stdin").read() if text == "-" else text
    row = {
        "owner_id": owner,
        "text": said,
        "session_id": session,
        "namespace": namespace,
        "category": category,
        "ttl": expires_in,
    }
    with call.store(create=True) as store:
        [outcome] = store.submit(row, source=source)
    document = asdict(outcome)
    call.output.answer(document, lambda: rendering.fields(document))
    if outcome.result == "invalid":
        raise typer.Exit(FAILED)


def confirmation(
    output: Output, tell: Callable[[str], None], question: str
) -> Callable[[str], bool] | Literal[False]:
    """A question to a person, told why first; `no` ends the command. False if nobody can answer."""

    def confirm(why: str) -> bool:
        tell(why)
        return typer.confirm(question, abort=True, err=True)

    return confirm if output.asks else False


def print_summary(output: Output, document: dict[str, Any]) -> None:
    """Print a summary; the exit status shows invalid rows or an interrupt."""
    output.answer(document, lambda: summary_table(document))
    for remark in document["remarks"]:
        output.remark(remark)
    if document["interrupted"]:
        output.problem("interrupted; the rows counted above are decided, the others are not")
        raise typer.Exit(INTERRUPTED)
    if document["invalid"]:
        output.remark(
            f"{document['invalid']} invalid: `palimpsest dead-letters list` names them all,"
            " `dead-letters show ID` shows the bytes"
        )
        raise typer.Exit(FAILED)


def parse_renames(renames: list[str] | None) -> dict[str, str]:
    """Parse `THEIRS=OURS` options: their names of fields to ours."""
    mapping: dict[str, str] = {}
    for rename in renames or []:
        theirs, sign, ours = rename.partition("=")
        if not (theirs and sign and ours):
            raise typer.BadParameter(f"--map {rename}: write it as THEIRS=OURS")
        mapping[theirs] = ours
    return mapping


def _row_progress(report: Progress) -> Callable[[IngestProgress], None]:
    def report_rows(progress: IngestProgress) -> None:
        """Report the rows decided on, by outcome."""
        total = progress.bytes_total
        share = progress.bytes_read / total if total else None
        kinds = progress.decisions
        stored, pending = kinds.get("stored", 0), kinds.get("pending", 0)
        joined = sum(kinds.values()) - stored - pending
        rows = counted(progress.rows, "row")
        report(f"{rows}: {stored:,} stored, {joined:,} joined, {pending:,} pending", share)

    return report_rows


# -- extract, prompt -----------------------------------------------------------------------------


extract_app = typer.Typer()

prompt_app = typer.Typer(
    no_args_is_help=True,
    help="The prompts for models: templates to copy.",
    epilog="Example: palimpsest prompt extract",
)


@extract_app.command(epilog="Example: palimpsest extract chat.jsonl --owner ada > memories.jsonl")
def extract(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSONL of messages, or - .")],
    owner: Annotated[str, typer.Option("--owner", metavar="OWNER", help="The memories' owner.")],
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="The namespace of all of them.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Its session; by default from its first message's time."),
    ] = None,
) -> None:
    """Print the memories of a conversation, one JSON object a line, for `ingest -`.

    A message has role, content, and at or time. The exit status is
    1 if the model gave no usable answer about a part of it.
    """
    from palimpsest.backends.paths import LOG_FILE
    from palimpsest.contracts.policy import recorded_policy
    from palimpsest.jobs.extract import extract_candidates
    from palimpsest.streams.log.log import Log
    from palimpsest.streams.policies import load_policy

    call = invocation(context)
    named = {"owner_id": owner, "namespace": namespace, "session_id": session}
    folder = call.settings.store if call.settings.store.is_dir() else None
    policy = load_policy(call.settings.policy or "replace-or-merge")
    if folder is not None and (folder / LOG_FILE).is_file():
        with Log.open(folder / LOG_FILE) as log:
            recorded = log.last_policy()
        if recorded is not None:
            local = (*policy.local_only, *recorded_policy(recorded.data).local_only)
            policy = policy.model_copy(update={"local_only": local})
    with nullcontext(get_binary_stream("stdin")) if file == "-" else open_file(Path(file)) as lines:
        found = extract_candidates(
            lines,
            {name: value for name, value in named.items() if value is not None},
            print_json,
            policy=policy,
            settings=call.settings.judge,
            folder=folder,
        )
    if found.unanswered or found.unusable:
        why = f" ({found.why})" if found.why else ""
        call.output.remark(
            f"unanswered parts: {found.unanswered} of {found.parts}{why};"
            f" unusable answers: {found.unusable}"
        )
        raise typer.Exit(FAILED)


def open_file(file: Path) -> BinaryIO:
    """A file to read; UsageError if it cannot be read."""
    try:
        return file.open("rb")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None


@prompt_app.command("extract", epilog="Example: palimpsest prompt extract")
def show_extract(context: typer.Context) -> None:
    """Print the prompt that `extract` uses, to copy or to change."""
    from palimpsest.streams.extract.extract import extract_prompt

    prompt = extract_prompt()
    document = {"name": prompt.name, "id": prompt.id, "text": prompt.text, "tool": prompt.tool}
    invocation(context).output.answer(document, lambda: Text(prompt.text.rstrip()))


# -- session -------------------------------------------------------------------------------------


session_app = typer.Typer(
    no_args_is_help=True,
    help="Report that a session ended, or that its conversation was compacted.",
    epilog="Example: palimpsest session compacted ID",
)

Session = Annotated[str, typer.Argument(metavar="ID", help="The session's id.")]

Owner = Annotated[
    str | None,
    typer.Option(
        metavar="OWNER", help="Its owner; defaults to the only one with candidates in it."
    ),
]


@session_app.command("id", epilog="Example: palimpsest session id 2026-03-01T12:00:00Z")
def session_id(
    context: typer.Context,
    began: Annotated[
        datetime,
        typer.Argument(parser=moment, metavar="TIME", help="The time of its first message."),
    ],
) -> None:
    """Print the id that a session without one gets, from the time of its first message."""
    from palimpsest.contracts.identity import session_of

    found = session_of(began)
    invocation(context).output.answer({"session_id": found}, lambda: shown(found))


@session_app.command(epilog="Example: palimpsest session end ID")
def end(context: typer.Context, session: Session, owner: Owner = None) -> None:
    """Report that a session ended."""
    call = invocation(context)
    with call.store() as store:
        answer = store.end_session(owner or _owner_of(store, session), session)
    call.output.answer(answer, lambda: rendering.fields(answer))


@session_app.command(epilog="Example: palimpsest session compacted ID")
def compacted(context: typer.Context, session: Session, owner: Owner = None) -> None:
    """Report that a conversation was compacted: `recall --session` finds what it stated before."""
    call = invocation(context)
    with call.store() as store:
        answer = store.compact_session(owner or _owner_of(store, session), session)
    call.output.answer(answer, lambda: rendering.fields(answer))


def _owner_of(store: Palimpsest, session: str) -> str:
    owners = store.owners_of_session(session)
    if len(owners) != 1:
        count = "no owner has" if not owners else f"{len(owners)} owners have"
        raise typer.BadParameter(f"{count} candidates in this session: name its owner with --owner")
    return owners[0]
