"""The judge: `verifier`, `judge`, `demo-judge`, and what asks it: `dedupe`, `review`."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from palimpsest.cli import rendering
from palimpsest.cli.commands.cluster import require_cluster, wait_for_topics
from palimpsest.cli.invocation import Because, Invocation, OneOwner, invocation
from palimpsest.cli.rendering import fields, shown
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.process.output import dollars, visible
from palimpsest.process.signals import run_interruptibly, stop_event
from palimpsest.process.targets import require_targets, write_whole

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.backends.writer import StoreWriter
    from palimpsest.streams.judge.worker import Questions, Tally


# -- verifier ------------------------------------------------------------------------------------


app = typer.Typer()

VERIFIER_FOLDER = Path(".palimpsest-verifier")

PATIENCE_SECONDS = 3600.0

NICENESS = 19
"""The lowest priority: such a process gets idle processor time, and 1/70 of a busy processor."""


@app.command(epilog="Example: palimpsest --store memories verifier --once")
def verifier(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Exit when nothing waits.")] = False,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            help="How long an outage may last before the policy's fallback.",
        ),
    ] = PATIENCE_SECONDS,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="For verdicts and budget; default: the store, or .palimpsest-verifier.",
        ),
    ] = None,
    from_store: Annotated[
        bool,
        typer.Option(
            "--from-store", help="With a cluster: take questions from the store, not the topic."
        ),
    ] = False,
) -> None:
    """Ask the judge about pending candidates in batches, and deliver its verdicts.

    Runs beside a writing process until SIGTERM or Ctrl-C, then exits
    with 0. While the judge's service is down it waits and retries. With --once the exit status is 1
    if the judge left anything unanswered but texts that the policy keeps local.
    """
    import asyncio

    call = invocation(context)
    in_topics = call.settings.kafka is not None and not from_store
    settings = call.settings.over(data=data)
    folder = settings.data or (VERIFIER_FOLDER if in_topics else settings.store)
    from palimpsest.process.logs import log_to_standard_error
    from palimpsest.streams.judge.judge import LOCAL_ONLY

    log_to_standard_error(logging.WARNING if once else logging.INFO)
    lower_priority()
    if folder != settings.store:
        _make_data_folder(folder)
    work = _run_worker(call, folder, once=once, patience=patience, in_topics=in_topics)
    tally, waiting = asyncio.run(work)
    document = tally.document(waiting)
    call.output.answer(document, lambda: rendering.fields(_counts_as_text(document)))
    for line in _unanswered(tally):
        call.output.remark(line)
    if once and (tally.left.keys() - {LOCAL_ONLY} or tally.unavailable):
        raise typer.Exit(FAILED)


def _unanswered(tally: Tally) -> Iterator[str]:
    if tally.left:
        left = counted(tally.left.total(), "question")
        yield f"left pending without a usable answer: {left}, {_reasons(tally.left)}"
    if tally.unavailable:
        pairs = counted(tally.unavailable.total(), "pair")
        yield f"left to the policy's fallback: {pairs}, {_reasons(tally.unavailable)}"


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} ({count})" for reason, count in counts.most_common())


def _make_data_folder(folder: Path) -> None:
    """Make the folder of answers and budget; UsageError if there is something else."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--data: {folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)


def lower_priority() -> None:
    """Lower this process's priority, so that it takes no processor time from the stream.

    A request takes seconds at the service; a few milliseconds more here do not matter.
    """
    if sys.platform != "win32":
        os.nice(max(0, NICENESS - os.nice(0)))


def _counts_as_text(document: dict[str, Any]) -> dict[str, Any]:
    """Counts by kind as one line each, and whole numbers without a fraction."""

    def as_text(value: Any) -> Any:
        if isinstance(value, dict):
            return ", ".join(f"{count} {kind}" for kind, count in value.items()) or "none"
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return {name: as_text(value) for name, value in document.items() if value is not None}


async def _run_worker(
    call: Invocation, folder: Path, *, once: bool, patience: float, in_topics: bool
) -> tuple[Tally, int | None]:
    """Run until stopped; returns the totals, and the number of questions left, if it is known."""
    from palimpsest.jobs.questions import TableQuestions, settle

    async with AsyncExitStack() as stack:
        questions = await (_topic_questions if in_topics else _store_questions)(call, stack)
        with call.output.progress() as report:
            tally = await settle(
                questions,
                folder,
                call.settings.judge,
                stop_event(),
                patience=patience,
                once=once,
                report=partial(_report, report),
            )
        waiting = await questions.waiting() if isinstance(questions, TableQuestions) else None
        return tally, waiting


def _report(report: Callable[[str, float | None], None], tally: Tally, down: bool) -> None:
    away = ", the service does not answer" if down else ""
    asked = f"{counted(tally.questions, 'question')}, {counted(round(tally.calls), 'call')}"
    done = f"{asked}, {dollars(tally.usd)}"
    report(f"{done}{away}", None)


async def _store_questions(call: Invocation, stack: AsyncExitStack) -> Questions:
    from palimpsest.jobs.questions import open_questions

    def open_writer() -> StoreWriter:
        """The writer of the store, on the thread that will use it."""
        from palimpsest.api.store import Palimpsest

        settings = call.settings
        store = Palimpsest.open(
            settings.store, create=False, cluster=settings.kafka, **settings.opening()
        )
        return store.writer

    return await stack.enter_async_context(open_questions(open_writer))


async def _topic_questions(call: Invocation, stack: AsyncExitStack) -> Questions:
    connection = require_cluster(call)
    from palimpsest.streams.cluster.access import VERIFIER, require_access
    from palimpsest.streams.cluster.questions import TopicQuestions

    topics = await wait_for_topics(connection)
    await require_access(connection, topics, VERIFIER)
    return await stack.enter_async_context(TopicQuestions(connection, topics))


# -- judge ---------------------------------------------------------------------------------------


judge_app = typer.Typer(
    no_args_is_help=True,
    help="Try the judge of the settings.",
    epilog="Example: palimpsest judge doctor",
)


@judge_app.command("doctor", epilog="Example: palimpsest judge doctor")
def judge_doctor(
    context: typer.Context,
    against: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="OLDER NEWER", help="Only ask about these two texts."),
    ] = None,
) -> None:
    """Try key, model, form of the answers and order effects on ten pairs; exit status 1 on failure.

    It sends no memory, records nothing, and uses neither the cache nor the budget of the store.
    """
    call = invocation(context)
    from palimpsest.cli.commands.maintenance import DoctorFinding, report_findings
    from palimpsest.jobs.judge_doctor import ask_about, examine_all
    from palimpsest.streams.policies import load_policy

    rules, settings = load_policy(call.settings.policy or "standard").judge, call.settings.judge
    if against is not None:
        verdict = ask_about(*against, rules, settings)
        told = {name: value for name, value in verdict.items() if value is not None}
        call.output.answer(verdict, lambda: fields(told))
        if verdict["answer"] in {"unavailable", "unusable"}:
            raise typer.Exit(FAILED)
        return
    checks = examine_all(rules, settings)
    report_findings(call, [DoctorFinding(**asdict(check)) for check in checks])


@judge_app.command(
    "pairs", epilog="Example: palimpsest judge pairs labelled.jsonl --to judged.jsonl"
)
def judge_pairs(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Labelled pairs, as `calibrate` reads them."),
    ],
    to: Annotated[
        Path, typer.Option(metavar="FILE", help="Write the pairs with the answers to this file.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="For answers and budget; default: .palimpsest-verifier."),
    ] = None,
) -> None:
    """Ask the judge, or the first of two judges, about labelled pairs, for `calibrate --judge-to`.

    Exit status 1 if some are left without a probability; a later call asks about what is not
    cached.
    """
    from palimpsest.evaluation.judge_pairs import ask_about_pairs, rows_of
    from palimpsest.evaluation.labelled import read_pairs
    from palimpsest.streams.policies import load_policy

    call = invocation(context)
    require_targets({"--to": to})
    rules, settings = load_policy(call.settings.policy or "standard").judge, call.settings.judge
    folder = call.settings.over(data=data).data or VERIFIER_FOLDER
    pairs = read_pairs(files, {})
    _make_data_folder(folder)
    judged = run_interruptibly(ask_about_pairs(pairs, rules, settings, folder))
    write_whole(to, b"".join(rows_of(judged)))
    lacking = sum(pair.probability is None for pair in judged)
    document = {"pairs": len(judged), "without_probability": lacking, "file": str(to)}
    call.output.answer(document, lambda: fields(document))
    if lacking:
        raise typer.Exit(FAILED)


# -- demo-judge ----------------------------------------------------------------------------------


demo_judge_app = typer.Typer()

PORT = 8089


@demo_judge_app.command(epilog="Example: palimpsest demo-judge --delay 0.3")
def demo_judge(
    context: typer.Context,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="On the loopback; 0: any free port.")
    ] = PORT,
    delay: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="The delay before each answer.")
    ] = 0.0,
) -> None:
    """Answer as the judge's service would, by rules on words and without a model.

    Runs until SIGTERM or Ctrl-C, then exits with 0.
    """
    call = invocation(context)
    from palimpsest.cli.demo.judge import JudgeServer

    server = JudgeServer(port, delay, keep=False)
    try:
        server.start()
    except OSError as error:
        raise UsageError(
            f"port {port} is not available ({error}): choose another with --port"
        ) from None
    exports = f"export ANTHROPIC_BASE_URL={server.url} ANTHROPIC_API_KEY=demo"
    with suppress(KeyboardInterrupt):
        # The program that reads the address may stop this process before all of it is printed.
        call.output.answer({"url": server.url}, lambda: Text(exports))
        threading.Event().wait()
    server.stop()


# -- dedupe --------------------------------------------------------------------------------------


dedupe_app = typer.Typer()

DedupeDryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be joined; write no decision.")
]


@dedupe_app.command(epilog="Example: palimpsest dedupe --dry-run")
def dedupe(
    context: typer.Context,
    owner: OneOwner = None,
    dry_run: DedupeDryRun = False,
    force: Annotated[
        bool, typer.Option("--force", help="Ignore the policy's conditions for a run.")
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="Do what the dry run with this token showed."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a page with charts."),
    ] = None,
    because: Because = None,
) -> None:
    """Compare existing memories by the policy's batch rules, and join those that are the same.

    An owner is skipped if the policy's conditions for a run do not hold. The exit status is 1 if
    the judge left pairs unanswered, or if a join was refused.
    """
    call = invocation(context)
    require_targets({"--html": page})
    with call.output.progress() as report, call.store() as store:
        call.require_owner(store, owner)
        answer = store.dedupe(
            owner_id=owner,
            dry_run=dry_run,
            force=force,
            plan=plan,
            judge=call.settings.judge,
            progress=report,
            actor=call.settings.actor,
            because=because,
        )
        just_this = _just_this(answer["plan"], owner, force=force)
        if page is not None:
            from palimpsest.cli.dedupe_report import page_of

            write_whole(page, page_of(store.reader, answer, just_this))
    call.output.answer(answer, lambda: _dedupe_report(answer, just_this))
    if refused := answer["refused"]:
        call.output.remark(f"joins that were refused: {len(refused)}")
    if unanswered := answer["asked"].get("unavailable"):
        left = answer["left"]
        waiting = f"{left} wait for the next run" if left else "the policy's fallback settled them"
        call.output.remark(f"the judge left pairs unanswered; {waiting}")
    if refused or unanswered:
        raise typer.Exit(FAILED)


def _just_this(plan: str, owner: str | None, *, force: bool) -> str:
    """The command that does what a dry run showed."""
    words = ["palimpsest", "dedupe", *(("--owner", owner) if owner else ())]
    return shlex.join([*words, *(("--force",) if force else ()), "--plan", plan])


def _dedupe_report(answer: Mapping[str, Any], just_this: str) -> RenderableType:
    return Group(*_dedupe_lines(answer, just_this))


def _dedupe_lines(answer: Mapping[str, Any], just_this: str) -> Iterator[RenderableType]:
    share = answer["pairs"] / answer["all_pairs"] if answer["all_pairs"] else 0.0
    asked = ", ".join(f"{count} {word}" for word, count in sorted(answer["asked"].items()))
    yield shown(f"memories: {answer['memories']:,} (owners: {answer['owners']:,})")
    yield shown(f"pairs compared: {answer['pairs']:,} of {answer['all_pairs']:,} ({share:.1%})")
    yield shown(f"verdicts: {asked or 'none, the judge was not asked'}")
    yield from _why_left(answer)
    cost = answer["cost"]
    if answer["dry_run"] and cost["calls"]:  # the log has the cost of other runs
        yield shown(f"calls for this dry run: {cost['calls']:,} ({dollars(cost['usd'])})")
    verb = "would be joined" if answer["dry_run"] else "joined"
    yield shown(f"{verb}: {len(answer['joined']):,}", "bold")
    for join in answer["joined"]:
        yield from _join_lines(join)
    for refusal in answer["refused"]:
        yield shown(f"  failed: {refusal['a']} and {refusal['b']} ({refusal['reason']})")
    skipped = [run for run in answer["runs"] if "skipped" in run]
    for run in skipped:
        yield shown(f"skipped: {visible(run['owner_id'])}: {run['skipped']['detail']}")
    if answer["dry_run"] and skipped:
        yield shown("to include these: --force")
    for run in answer["runs"]:
        for warning in run.get("warnings", ()):
            yield shown(f"warning: {visible(run['owner_id'])}: {warning}", "yellow")
    if answer["dry_run"] and answer["joined"]:
        yield shown(f"to do exactly this: {just_this}")


def _join_lines(join: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The two texts of a join, and the text that its memory then has, if it is known."""
    margin = " " * len(join["decision"])
    yield shown(f"  {join['decision']}  {join['similarity']:.4f}  {join['older_text']}")
    yield shown(f"{margin}          {join['newer_text']}", "dim")
    if "composed" in join or "face" in join:
        yield shown(f"{margin}        = {join.get('composed', join.get('face'))}")


def _why_left(answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The reasons why the judge gave no usable answer, each with the number of pairs."""
    for reason, count in answer["why_left"].items():
        yield shown(f"  {count:,} without an answer: {reason}")


# -- review --------------------------------------------------------------------------------------


review_app = typer.Typer(
    no_args_is_help=True,
    help="Review decisions: by a stronger model, or by a person.",
    epilog="Example: palimpsest review next",
)

Decision = Annotated[str, typer.Argument(metavar="DECISION", help="As `review next` prints it.")]

Existing = Annotated[str, typer.Argument(metavar="EXISTING", help="The pair's other candidate.")]


@review_app.command("run", epilog="Example: palimpsest review run")
def run_review(context: typer.Context, owner: OneOwner = None) -> None:
    """Confirm exact repeats; the stronger model reviews the other joins.

    The exit status is 1 if it did not answer; those joins wait for the next run. Joins on which it
    gave no usable answer, now or before, wait for a person.
    """
    call = invocation(context)
    with call.output.progress() as report, call.store() as store:
        call.require_owner(store, owner)
        answer = store.review(owner_id=owner, judge=call.settings.judge, progress=report)
    call.output.answer(answer, lambda: _review_report(answer))
    if answer["asked"].get("unavailable"):
        raise typer.Exit(FAILED)


def _review_report(answer: Mapping[str, Any]) -> RenderableType:
    exact = counted(answer["exact"], "exact repeat")
    return Group(
        shown(f"{exact} and {counted(answer['confirmed'], 'other')} confirmed"),
        shown(f"{len(answer['reversed']):,} reversed, {answer['left']:,} left unreviewed"),
        *_why_left(answer),
        *(
            shown(f"  reversed: {join['decision']} {join['decision_id']}: {join['reasoning']}")
            for join in answer["reversed"]
        ),
        *(
            shown(f"  refused: {refusal['decision_id']}: {refusal['detail']} ({refusal['reason']})")
            for refusal in answer["refused"]
        ),
    )


@review_app.command("next", epilog="Example: palimpsest review next")
def next_question(
    context: typer.Context,
    owner: OneOwner = None,
    skip: Annotated[int, typer.Option(min=0, metavar="N", help="Leave out the first N.")] = 0,
) -> None:
    """Show the next pair that waits for a person: pending, forgotten before, or unreviewed."""
    call = invocation(context)
    with call.store() as store:
        call.require_owner(store, owner)
        row = store.next_review(owner_id=owner, skip=skip)
    call.output.answer(row, lambda: fields(row) if row else shown("nothing waits", "dim"))
    if row is not None:
        pair = f"{row['decision_id']} {row['existing_id']}"
        call.output.remark(f"palimpsest review same|different {pair}")


@review_app.command(epilog="Example: palimpsest review same 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 A")
def same(
    context: typer.Context, decision: Decision, existing: Existing, because: Because = None
) -> None:
    """Answer that the two texts are the same: a pending pair is merged, a join confirmed.

    A text that repeats a forgotten one stays out.
    """
    call = invocation(context)
    with call.store() as store:
        decision, existing = _pair(store, decision, existing)
        answer = store.review_same(decision, existing, actor=call.settings.actor, because=because)
    call.output.answer(answer, lambda: rendering.changed("the same", answer))


@review_app.command(
    epilog="Example: palimpsest review different 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 A"
)
def different(
    context: typer.Context, decision: Decision, existing: Existing, because: Because = None
) -> None:
    """Answer that the two texts are different: a pending pair is separated, a join taken out.

    A text that waited because it may repeat a forgotten one is let in.
    """
    call = invocation(context)
    with call.store() as store:
        decision, existing = _pair(store, decision, existing)
        answer = store.review_different(
            decision, existing, actor=call.settings.actor, because=because
        )
    call.output.answer(answer, lambda: rendering.changed("different", answer))


@review_app.command("open", epilog="Example: palimpsest --store memories review open")
def open_page(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The reviewer, recorded with each answer; by default the page asks for it once.",
        ),
    ] = None,
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="`reviewer` or `operator`.")
    ] = "operator",
    owners: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="A regular expression for the owners to show."),
    ] = None,
) -> None:
    """Print a link to the review page; it admits one browser, once, within a minute.

    Starts the server if none runs. If the server was given tokens, set PALIMPSEST_TOKEN to an
    operator's.
    """
    from palimpsest.cli.commands.serving import require_serve, server_of

    call = invocation(context)
    require_serve()
    from palimpsest.server.linking import ask_for_link

    given = {"name": name, "role": role, "owners": owners}
    wanted = {key: value for key, value in given.items() if value is not None}
    link = ask_for_link(server_of(call)(), os.environ.get("PALIMPSEST_TOKEN"), wanted)
    call.output.answer({"review": link}, lambda: shown(link))


def _pair(store: Palimpsest, decision: str, existing: str) -> tuple[str, str]:
    """The pair's full ids."""
    from palimpsest.queries.ids import full_id

    reader = store.reader
    return full_id(reader, decision, "decision"), full_id(reader, existing, "candidate")
