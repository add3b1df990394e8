"""`extract` and `prompt`: memories out of a conversation, and what a model is told for it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.text import Text
from typer import get_binary_stream

from palimpsest.commands.invocation import invocation
from palimpsest.commands.shell import FAILED
from palimpsest.contracts.errors import UsageError
from palimpsest.output import write_json

app = typer.Typer()
prompts = typer.Typer(
    no_args_is_help=True,
    help="What models are told: templates to copy.",
    epilog="Example: palimpsest prompt extract",
)


@app.command(epilog="Example: palimpsest extract chat.jsonl --owner ada > memories.jsonl")
def extract(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSONL of messages, or - .")],
    owner: Annotated[str, typer.Option("--owner", metavar="OWNER", help="Whose memories.")],
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="The namespace of all of them.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Else from the first message's time.")
    ] = None,
) -> None:
    """Print the memories of a conversation, one JSON object a line, fit for `ingest -`.

    A message has role, content, and at or time. The exit status is
    1 where a part of the conversation came to nothing.
    """
    from palimpsest.extracting import extract_candidates
    from palimpsest.streams.policies import load_policy

    call = invocation(context)
    named = {"owner_id": owner, "namespace": namespace, "session_id": session}
    folder = call.settings.store if call.settings.store.is_dir() else None
    with ExitStack() as stack:
        lines = get_binary_stream("stdin") if file == "-" else stack.enter_context(_opened(file))
        found = extract_candidates(
            lines,
            {name: value for name, value in named.items() if value is not None},
            write_json,
            rules=load_policy(call.settings.policy or "replace-or-merge").judge,
            settings=call.settings.judge,
            folder=folder,
        )
    if found.unanswered or found.unusable:
        call.output.remark(
            f"of {found.parts} parts nobody answered about {found.unanswered};"
            f" {found.unusable} answers were of no use"
        )
        raise typer.Exit(FAILED)


def _opened(file: str) -> BinaryIO:
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None


@prompts.command("extract", epilog="Example: palimpsest prompt extract")
def show_extract(context: typer.Context) -> None:
    """Print the template for longer memories, as `extract` uses it: to copy, or to change."""
    from palimpsest.streams.extract.extracting import extract_prompt

    prompt = extract_prompt()
    document = {"name": prompt.name, "id": prompt.id, "text": prompt.text, "tool": prompt.tool}
    invocation(context).output.answer(document, lambda: Text(prompt.text.rstrip()))
