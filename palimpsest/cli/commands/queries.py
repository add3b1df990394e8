"""Queries of a store (`status`, `decisions`, `sql`) and of memories (`recall`, `show`, …)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.text import Text

from palimpsest.cli import explaining, rendering
from palimpsest.cli.invocation import (
    AsOfOption,
    Category,
    Former,
    HappenedSince,
    HappenedUntil,
    Metadata,
    ShowExpired,
    complete_columns,
    complete_kinds,
    invocation,
    is_position,
    limit_option,
    metadata_of,
    moment,
    named_values,
)
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.limits import COMMAND_LINE
from palimpsest.process.output import plain
from palimpsest.process.targets import require_targets, write_whole

if TYPE_CHECKING:
    from palimpsest.contracts.shown import Changes
    from palimpsest.queries.find import By

app = typer.Typer()

FOLLOWING = 60
"""Seconds that each request of `changes --follow` waits."""

SomeId = Annotated[
    str, typer.Argument(metavar="ID", help="Any id that a memory or candidate ever had.")
]

Since = Annotated[
    datetime | None,
    typer.Option(
        parser=moment, metavar="TIME", help="Only those decided at this time (ISO 8601) or later."
    ),
]


Namespace = Annotated[str | None, typer.Option(metavar="N", help="Only in this namespace.")]


class Way(Enum):
    """The values of `--by`."""

    WORDS = "words"
    MEANING = "meaning"


@app.command(epilog="Example: palimpsest metrics --to palimpsest.prom")
def metrics(
    context: typer.Context,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write it to this file, atomically; else print it."),
    ] = None,
) -> None:
    """Print how many new candidates were duplicates, in Prometheus' text format.

    They are counted from the log; a worker also serves them on its page.
    """
    call = invocation(context)
    require_targets({"--to": to})
    with call.store() as store:
        text = store.metrics()
    if to is None:
        call.output.answer({"text": text}, lambda: Text(text.rstrip()))
        return
    write_whole(to, text)
    call.output.answer({"file": str(to)}, lambda: rendering.shown(str(to)))


@app.command(epilog="Example: palimpsest --json status")
def status(context: typer.Context, as_of: AsOfOption = None) -> None:
    """Count candidates, memories, joins and decisions; show how far each projection lags."""
    call = invocation(context)
    with call.store() as store:
        counts = store.status(as_of=as_of)
    call.output.answer(counts, lambda: rendering.status_table(counts))


@app.command(epilog='Example: palimpsest recall ada "where does she live?" -k 3')
def recall(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The memories' owner.")],
    query: Annotated[str, typer.Argument(help="What to look for, in any words.")],
    k: Annotated[
        int,
        typer.Option(
            "--limit", "-k", min=1, max=COMMAND_LINE.found, help="The number of memories."
        ),
    ] = 5,
    namespace: Namespace = None,
    as_of: AsOfOption = None,
    session: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="The session that asks: leave out what only it has stated since its compaction.",
        ),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="C", help="Leave out memories with a lower decayed confidence."
        ),
    ] = None,
    category: Category = None,
    metadata: Metadata = None,
    since: HappenedSince = None,
    until: HappenedUntil = None,
    former: Former = False,
    show_expired: ShowExpired = False,
    fold: Annotated[
        bool,
        typer.Option("--fold/--no-fold", help="Show indistinguishable memories once, or each."),
    ] = True,
    hybrid: Annotated[
        bool,
        typer.Option(
            "--hybrid", help="Move up memories that mention an identifier of QUERY, such as INC-7."
        ),
    ] = False,
    min_score: Annotated[
        float | None,
        typer.Option(min=-1, max=1, metavar="X", help="Leave out memories with a lower score."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="About how many tokens the texts may have together."),
    ] = None,
) -> None:
    """Find memories by meaning, best first: the face, the score (cosine) and the members."""
    call = invocation(context)
    with call.store() as store:
        found = store.recall(
            owner,
            query,
            k=k,
            as_of=as_of,
            session_id=session,
            min_confidence=min_confidence,
            former=former,
            hybrid=hybrid,
            min_score=min_score,
            max_tokens=max_tokens,
            fold=fold,
            namespace=namespace,
            category=category,
            metadata=metadata_of(metadata),
            since=since,
            until=until,
            show_expired=show_expired,
        )
        call.warn_if_behind(store)
        # Printed before the store is closed: closing may wait for a cluster to record the uses.
        call.output.answer(found, lambda: rendering.recalled(found))


@app.command(epilog="Example: palimpsest find ada dog --by words")
def find(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The memories' owner.")],
    query: Annotated[str, typer.Argument(help="A name, an identifier, or any words.")],
    by: Annotated[
        list[Way] | None,
        typer.Option(help="By whole words or by meaning; repeatable. Default: both."),
    ] = None,
    k: Annotated[
        int,
        typer.Option(
            "--limit", "-k", min=1, max=COMMAND_LINE.found, help="How many to find by meaning."
        ),
    ] = 5,
    namespace: Namespace = None,
    show_expired: ShowExpired = False,
) -> None:
    """Find the memories that are meant: all that mention the query, then the nearest by meaning.

    Words match whole and in canonical form: ABC-123 matches abc123,
    not ABC1234.
    """
    call = invocation(context)
    with call.store() as store:
        ways: list[By] = [way.value for way in by or Way]
        plan = store.find(
            owner, query, by=ways, k=k, namespace=namespace, show_expired=show_expired
        )
    call.output.answer(plan, lambda: rendering.plan(plan))


@app.command(epilog="Example: palimpsest likeness ada --at-least 0.8")
def likeness(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The memories' owner.")],
    at_least: Annotated[
        float, typer.Option(min=0.0, max=1.0, metavar="S", help="The lowest cosine.")
    ] = 0.9,
    limit: Annotated[int, limit_option("pairs")] = 50,
) -> None:
    """Report an owner's similar memories across namespaces; nothing is joined."""
    call = invocation(context)
    with call.store() as store:
        found = store.likeness(owner, at_least=at_least, limit=limit)
    call.output.answer(found, lambda: rendering.alike(found))


@app.command(
    epilog="Example: palimpsest why 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"
    " 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22"
)
def why(
    context: typer.Context,
    which: SomeId,
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="Explain why the two are apart.")
    ] = None,
) -> None:
    """Explain why a candidate is in its memory, or why two are not in one.

    The id of a memory explains each of its members.
    """
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        some_id = resolve_id(store.reader, which).candidate_id
        if other is None:
            answer = store.why(some_id)
            call.output.answer(answer, lambda: explaining.why(answer))
            return
        other_id = resolve_id(store.reader, other).candidate_id
        apart = store.why_not(some_id, other_id)
        call.output.answer(apart, lambda: explaining.why_not(apart))


@app.command(epilog="Example: palimpsest triangles ada --at-least 0.8")
def triangles(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The memories' owner.")],
    at_least: Annotated[
        float, typer.Option(min=0.0, max=1.0, metavar="S", help="The lowest cosine.")
    ] = 0.85,
    limit: Annotated[int, limit_option("triangles")] = 50,
) -> None:
    """List pairs that a person separated, with a third candidate joined to one and near the other.

    Either that join or the separation may be wrong.
    """
    call = invocation(context)
    with call.store() as store:
        found = store.triangles(owner, at_least=at_least, limit=limit)
    call.output.answer(found, lambda: explaining.triangles(found))


@app.command(epilog='Example: palimpsest check ada "Ada has got a big dog."')
def check(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The owner of the candidate.")],
    text: Annotated[str, typer.Argument(help="The text of the candidate.")],
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="NAME=VALUE",
            help="Another field: namespace, session_id, category, …; repeatable.",
        ),
    ] = None,
    source: Annotated[str, typer.Option(metavar="NAME", help="The candidate's source.")] = "check",
    duplicate: Annotated[
        bool,
        typer.Option("--duplicate", help="Answer in the form of `namespaced`."),
    ] = False,
    dedup_result: Annotated[
        bool,
        typer.Option("--dedup-result", help="Answer in the form of `layered`."),
    ] = False,
) -> None:
    """Show what would become of a candidate: the decision, the neighbour and the score.

    Nothing is written. The exit status is 1 if the candidate would be invalid.
    """
    call = invocation(context)
    if duplicate and dedup_result:
        raise typer.BadParameter("name one of --duplicate and --dedup-result")
    candidate = {**named_values("--field", fields), "owner_id": owner, "text": text}
    with call.store() as store:
        if duplicate or dedup_result:
            shaped = store.check_duplicate if duplicate else store.dedup_result
            found = shaped(candidate, source=source)
            call.output.answer(found, lambda: rendering.fields(found))
            return
        answer = store.check(candidate, source=source)
    call.output.answer(answer, lambda: rendering.checked(answer))
    if answer["result"] == "invalid":
        raise typer.Exit(FAILED)


@app.command(epilog="Example: palimpsest show 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
def show(
    context: typer.Context,
    memory: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="A memory, any member of it, or a decision."),
    ] = None,
    candidate: Annotated[
        str | None, typer.Option(metavar="C", help="Show this candidate with its evidence.")
    ] = None,
    as_of: AsOfOption = None,
) -> None:
    """Draw a memory as a tree: the face, and each member with the reason for its join.

    For a decision, its candidate is shown with the evidence.
    """
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    if (memory is None) == (candidate is None):
        raise typer.BadParameter("name a memory, or a candidate with --candidate")
    with call.store() as store:
        call.warn_if_behind(store)
        what = resolve_id(store.reader, candidate or memory or "")
        if candidate is not None or what.kind == "decision":
            one = store.show_candidate(what.candidate_id, as_of=as_of)
            call.output.answer(one, lambda: rendering.candidate_tree(one))
        else:
            found = store.show(what.id, as_of=as_of)
            call.output.answer(found, lambda: rendering.memory_tree(found))


def _known_kind(kind: str | None) -> str | None:
    from palimpsest.contracts.events import Decision

    if kind is not None and kind not in get_args(Decision):
        raise typer.BadParameter(f"no decision {kind}: {', '.join(get_args(Decision))}")
    return kind


@app.command(epilog="Example: palimpsest decisions --owner ada --decision auto_reject --limit 10")
def decisions(
    context: typer.Context,
    owner: Annotated[str | None, typer.Option(metavar="OWNER", help="Only of this owner.")] = None,
    decision: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Only of this kind: stored, hash_exact, …",
            callback=_known_kind,
            autocompletion=complete_kinds,
        ),
    ] = None,
    since: Since = None,
    limit: Annotated[int, limit_option("decisions")] = 50,
    as_of: AsOfOption = None,
) -> None:
    """List the latest decisions, newest last; with --json one document a line."""
    call = invocation(context)
    with call.store() as store:
        found = store.decisions(
            owner_id=owner, decision=decision, since=since, limit=limit, as_of=as_of
        )
    call.output.stream(found, rendering.decision_lines)


@app.command(epilog="Example: palimpsest --json changes ada --after 0 --limit 100")
def changes(
    context: typer.Context,
    owner: Annotated[str | None, typer.Argument(help="Only of this owner.")] = None,
    after: Annotated[
        str, typer.Option(metavar="P", help="The `next` of the previous page, or an event's id.")
    ] = "0",
    limit: Annotated[
        int, typer.Option("--limit", "-k", min=1, max=COMMAND_LINE.listed, help="Events a page.")
    ] = 100,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0, max=86_400, help="Seconds to wait if there is nothing yet (not with --follow)."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show page after page, until it is interrupted.")
    ] = False,
) -> None:
    """Show a page of all events, oldest first; with --json also the memories that they changed.

    With --json a page is one document on one line.
    """
    call = invocation(context)
    if follow and wait is not None:
        raise typer.BadParameter("--follow waits for ever: leave out --wait")
    place: int | str = int(after) if is_position(after) else after

    def pages() -> Iterator[Changes]:
        nonlocal place
        while True:
            page = store.changes(
                owner, after=place, limit=limit, wait=FOLLOWING if follow else wait or 0
            )
            place = page["next"]
            if page["changes"] or not follow:
                yield page
            if not follow:
                return

    with call.store() as store:
        call.output.stream(pages(), rendering.changes)


@app.command(epilog='Example: palimpsest sql "SELECT decision, count(*) FROM decisions GROUP BY 1"')
def sql(
    context: typer.Context,
    query: Annotated[
        str | None,
        typer.Argument(help="One SELECT in DuckDB's SQL.", autocompletion=complete_columns),
    ] = None,
    params: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="The value of $NAME in the query."),
    ] = None,
    views: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the DuckDB file of the views here."),
    ] = None,
) -> None:
    """Query the analysts' views; without a query, print their file and how to open it.

    A query is one SELECT, which reads the views and nothing else. With --views, the file of the
    views is written elsewhere, for a store that you may only read.
    """
    from palimpsest.projections.duckdb.queries import write_views

    if query is None and params:
        raise typer.BadParameter("--param goes with a query")
    call = invocation(context)
    with call.store() as store:
        if views is not None:
            write_views(store.sql_file.parent, views)
        if query is None:
            file = (views or store.sql_file).resolve()
            ways = rendering.ways_to_open(file)
            call.output.answer(
                {"file": str(file), "open": ways}, lambda: rendering.views(file, ways)
            )
        else:
            found = store.sql(query, named_values("--param", params))
            rows = [plain(row, infinite=True) for row in found]
            call.output.answer(rows, lambda: rendering.query_table(rows))


@app.command("list", epilog="Example: palimpsest list ada --category preference --limit 20")
def list_memories(
    context: typer.Context,
    owner: Annotated[str, typer.Argument(help="The memories' owner.")],
    namespace: Namespace = None,
    category: Category = None,
    metadata: Metadata = None,
    since: HappenedSince = None,
    until: HappenedUntil = None,
    limit: Annotated[int, limit_option("memories on the page", COMMAND_LINE.listed)] = 50,
    after: Annotated[
        str | None, typer.Option(metavar="NEXT", help="The page after the one with this `next`.")
    ] = None,
    former: Former = False,
    show_expired: ShowExpired = False,
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
            show_expired=show_expired,
        )
    call.output.answer(page, lambda: rendering.page(page))


@app.command(epilog="Example: palimpsest get 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
def get(context: typer.Context, some_id: SomeId) -> None:
    """Show the current memory of an id, with its wordings, and whether it moved or is retracted."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        call.warn_if_behind(store)
        found = store.get(resolve_id(store.reader, some_id).candidate_id)
    call.output.answer(found, lambda: rendering.found_memory(found))


@app.command(epilog="Example: palimpsest history 0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11")
def history(context: typer.Context, some_id: SomeId) -> None:
    """List every event of a memory: what it did, who did it, why and when."""
    from palimpsest.queries.ids import resolve_id

    call = invocation(context)
    with call.store() as store:
        call.warn_if_behind(store)
        found = store.history(resolve_id(store.reader, some_id).candidate_id)
    call.output.answer(found, lambda: rendering.history(found))
