"""An owner's memories: `list`, `get`, `history`."""

from __future__ import annotations

from typing import Annotated

import typer

from palimpsest.cli import rendering
from palimpsest.cli.invocation import (
    Category,
    Former,
    HappenedSince,
    HappenedUntil,
    Metadata,
    invocation,
    metadata_of,
)

app = typer.Typer()

SomeId = Annotated[
    str, typer.Argument(metavar="ID", help="Any id that a memory or candidate ever had.")
]


@app.command("list", epilog="Example: palimpsest list ada --category preference --limit 20")
def list_memories(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The memories' owner.")],
    namespace: Annotated[
        str | None, typer.Option(metavar="N", help="Only in this namespace.")
    ] = None,
    category: Category = None,
    metadata: Metadata = None,
    since: HappenedSince = None,
    until: HappenedUntil = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="The most memories on the page.")
    ] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="NEXT", help="The page after the one with this `next`.")
    ] = None,
    former: Former = False,
) -> None:
    """List the living memories of an owner, the latest first, a page at a time.

    A memory is listed if one living member has all that the options ask for.
    """
    call = invocation(context)
    with call.store() as store:
        call.warn_if_behind(store)
        page = store.list(
            owner,
            limit=limit,
            after=after,
            former=former,
            namespace=namespace,
            category=category,
            metadata=metadata_of(metadata),
            since=since,
            until=until,
        )
    call.output.answer(page, lambda: rendering.page(page))


@app.command(epilog="Example: palimpsest get 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
def get(context: typer.Context, some_id: SomeId) -> None:
    """Show the current memory of an id, with its wordings, and whether it moved or is retracted."""
    from palimpsest.queries.ids import named

    call = invocation(context)
    with call.store() as store:
        call.warn_if_behind(store)
        found = store.get(named(store.gateway, some_id).candidate_id)
    call.output.answer(found, lambda: rendering.found_memory(found))


@app.command(epilog="Example: palimpsest history 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
def history(context: typer.Context, some_id: SomeId) -> None:
    """List every event of a memory: what it did, who did it, why and when."""
    from palimpsest.queries.ids import named

    call = invocation(context)
    with call.store() as store:
        call.warn_if_behind(store)
        found = store.history(named(store.gateway, some_id).candidate_id)
    call.output.answer(found, lambda: rendering.history(found))
