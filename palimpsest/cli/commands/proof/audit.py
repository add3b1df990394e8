"""`audit`: how many automatic joins are wrong at most, proven by looking at few (docs/proof.md)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from palimpsest.cli.invocation import Because, Invocation, invocation, moment
from palimpsest.cli.rendering import shown
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError

if TYPE_CHECKING:
    from palimpsest.auditing.audits import (
        AuditForecast,
        AuditProgress,
        AuditQuestion,
        Audits,
        AuditStatus,
    )
    from palimpsest.auditing.recalls import RecallQuestion, RecallStatus
    from palimpsest.contracts.event_data import AuditLabel

app = typer.Typer(
    no_args_is_help=True,
    help="Prove how many automatic joins are wrong at most, by looking at few.",
    epilog="Example: palimpsest audit open --target .01",
)

Which = Annotated[
    str | None,
    typer.Option("--audit", metavar="ID", help="This audit instead of the latest."),
]


@contextmanager
def _audits(call: Invocation) -> Iterator[Audits]:
    with call.output.progress() as report, call.store() as store:
        yield store.audits(actor=call.settings.actor, progress=report)


@app.command("open", epilog="Example: palimpsest audit open --target .01 --confidence .95")
def open_audit(
    context: typer.Context,
    target: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The largest share of wrong joins; default .01."),
    ] = 0.01,
    confidence: Annotated[
        float, typer.Option(metavar="C", help="How sure the bound is; default .95.")
    ] = 0.95,
    owners: Annotated[
        str | None,
        typer.Option(
            "--owner", metavar="PATTERN", help="Only joins of these owners, such as `team-*`."
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(parser=moment, metavar="TIME", help="Only joins decided then or later."),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Your own seed, such as rolled dice, chosen after --at."),
    ] = None,
    position: Annotated[
        int | None,
        typer.Option("--at", metavar="P", min=1, help="Seal this position, not the log's last."),
    ] = None,
    probes: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Mix in up to N pairs known to be wrong; default 100."
        ),
    ] = None,
    because: Because = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how many labels it would take; seal nothing."),
    ] = False,
) -> None:
    """Seal the automatic joins that stand now, and draw the order in which they are looked at.

    Verbatim repeats are left out: their hash proves them. Nothing is joined or taken out.
    With --dry-run, show how many labels each target would take for several shares of wrong joins.
    """
    from palimpsest.auditing.probes import MOST

    call = invocation(context)
    most = MOST if probes is None else probes
    with _audits(call) as audits:
        if dry_run:
            forecast = audits.foresee(
                target=target,
                confidence=confidence,
                owners=owners,
                since=since,
                position=position,
                probes=most,
            )
            call.output.answer(forecast, lambda: _foreseen(forecast))
            return
        status = audits.open(
            target=target,
            confidence=confidence,
            owners=owners,
            since=since,
            seed=seed,
            position=position,
            probes=most,
            because=because,
        )
    call.output.answer(status, lambda: _drawn(status))
    call.output.remark("palimpsest audit label")


@app.command(epilog="Example: palimpsest audit recall --labels 200")
def recall(
    context: typer.Context,
    labels: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many pairs you would look at; default 200.")
    ] = 200,
    confidence: Annotated[
        float, typer.Option(metavar="C", help="Of the interval; default .95.")
    ] = 0.95,
    owners: Annotated[
        str | None,
        typer.Option("--owner", metavar="PATTERN", help="Only pairs of these owners."),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(parser=moment, metavar="TIME", help="Only texts decided then or later."),
    ] = None,
    because: Because = None,
) -> None:
    """Draw pairs that are not joined, to estimate how many duplicates were missed.

    Label them with `audit label`: `wrong` means that the two say the same. `audit status` shows the
    estimate and its interval. It is not a certificate, and a label joins nothing.
    """
    call = invocation(context)
    with _audits(call) as audits:
        status = audits.recall.open(
            labels=labels, confidence=confidence, owners=owners, since=since, because=because
        )
    call.output.answer(status, lambda: _estimated(status))
    call.output.remark("palimpsest audit label")


@app.command("next", epilog="Example: palimpsest audit next")
def next_pair(context: typer.Context, audit: Which = None) -> None:
    """Show the next pair to look at, and how to label it."""
    call = invocation(context)
    with _audits(call) as audits:
        question = audits.meant(audit).next(audit)
    nothing = shown("every pair has a label", "dim")
    call.output.answer(question, lambda: _pair(question) if question else nothing)
    if question is not None:
        call.output.remark(f"palimpsest audit label {question['pair']} right|wrong|unsure")


@app.command(
    epilog="Example: palimpsest audit label 5d1c7a52-1f0a-5b7e-8f53-9d6f6d0c8a22 right",
)
def label(
    context: typer.Context,
    pair: Annotated[
        str | None,
        typer.Argument(metavar="PAIR", help="The pair that `next` shows, or an earlier one."),
    ] = None,
    said: Annotated[
        str | None, typer.Argument(metavar="LABEL", help="`right`, `wrong` or `unsure`.")
    ] = None,
    audit: Which = None,
    because: Because = None,
) -> None:
    """Say whether a join is right; without PAIR, label one pair after another by pressing keys.

    A wrong join is un-merged at once, and counts for the audit all the same; `palimpsest undo` with
    the id in `unmerged` takes that back. An unsure one counts as wrong and stays.
    """
    from palimpsest.auditing.recalls import Recalls

    call = invocation(context)
    if pair is None:
        if call.output.as_json:
            raise UsageError("with --json name PAIR and LABEL: `audit next` shows the pair")
        with _audits(call) as audits:
            _label_each(call, audits, audit, because)
        return
    if said not in _KEYS.values():
        raise UsageError("name LABEL after PAIR: right, wrong or unsure")
    with _audits(call) as audits:
        meant, word = audits.meant(audit), cast("AuditLabel", said)
        if isinstance(meant, Recalls):
            found = meant.label(pair, word, audit=audit, because=because)
            call.output.answer(found, lambda: _estimate_line(found["status"]))
            return
        done = audits.label(pair, word, audit=audit, because=because)
    call.output.answer(
        done,
        lambda: Group(*_unmerged(done["unmerged"], done["not_unmerged"]), _line(done["status"])),
    )


@app.command(epilog="Example: palimpsest audit status")
def status(context: typer.Context, audit: Which = None) -> None:
    """Show the bound now, the labels still needed, and the bound of each part of the joins.

    Of an estimate (`audit recall`): how many duplicates were missed.
    """
    from palimpsest.auditing.recalls import Recalls

    call = invocation(context)
    with _audits(call) as audits:
        meant = audits.meant(audit)
        if isinstance(meant, Recalls):
            found = meant.status(audit)
            call.output.answer(found, lambda: _estimated(found))
            return
        answer = audits.status(audit)
    call.output.answer(answer, lambda: _drawn(answer))


@app.command(epilog="Example: palimpsest audit certify")
def certify(context: typer.Context, audit: Which = None, because: Because = None) -> None:
    """Record that at most the target is wrong; exit status 3 if the labels do not prove it yet."""
    call = invocation(context)
    with _audits(call) as audits:
        answer = audits.certify(audit, because=because)
    call.output.answer(answer, lambda: _drawn(answer))


@app.command(epilog="Example: palimpsest audit check --max .01 --max-members 50")
def check(
    context: typer.Context,
    most: Annotated[
        float,
        typer.Option(
            "--max",
            metavar="SHARE",
            help="The largest share of wrong joins that the latest certificate may allow.",
        ),
    ] = 0.01,
    most_members: Annotated[
        int | None,
        typer.Option(
            "--max-members", metavar="N", help="The largest number of members a memory may have."
        ),
    ] = None,
) -> None:
    """Check that the latest certificate still covers the store; exit status 1 if it does not.

    The certificate is void for joins by a policy, guard, embedder, judge or prompt that it does
    not name.
    """
    call = invocation(context)
    with _audits(call) as audits:
        answer = audits.check(most=most, most_members=most_members)
    found = (
        f"joins: {answer['covered']:,} certified, {answer['since']:,} later by the same rules,"
        f" {answer['void']:,} by others; the largest memory has"
        f" {counted(answer['members'], 'member')}"
    )
    if answer["outside"]:
        found += f"; outside of what the audit was about: {counted(answer['outside'], 'join')}"
    call.output.answer(answer, lambda: shown(found))
    for problem in answer["problems"]:
        call.output.problem(problem)
    if not answer["holds"]:
        raise typer.Exit(FAILED)


# -- labelling by keys ---------------------------------------------------------------------------

_KEYS: dict[str, AuditLabel] = {"r": "right", "w": "wrong", "u": "unsure"}


def _label_each(call: Invocation, audits: Audits, audit: str | None, because: str | None) -> None:
    """Show pair after pair until `q`, the end of input, or the last pair.

    Un-merged joins are reported only at the end, so that nothing distinguishes probes before.
    """
    from palimpsest.auditing.recalls import Recalls

    meant, taken_out = audits.meant(audit), list[Text]()
    if isinstance(meant, Recalls):
        while (apart := meant.next(audit)) is not None:
            call.output.show(_pair(apart))
            if (key := _key()) not in _KEYS:
                break
            told = meant.label(apart["pair"], _KEYS[key], audit=audit, because=because)
            call.output.show(_estimate_line(told["status"]))
        found = meant.status(audit)
        call.output.answer(found, lambda: _estimated(found))
        return
    while (question := audits.next(audit)) is not None:
        call.output.show(_pair(question))
        key = _key()
        if key not in _KEYS:
            break
        done = audits.label(question["pair"], _KEYS[key], audit=audit, because=because)
        taken_out += _unmerged(done["unmerged"], done["not_unmerged"])
        call.output.show(_line(done["status"]))
    for line in taken_out:
        call.output.show(line)
    answer = audits.status(audit)
    call.output.answer(answer, lambda: _drawn(answer))


def _key() -> str:
    """Read one of the valid keys; `q` also at the end of the input."""
    while True:
        if sys.stdin.isatty():
            pressed = typer.getchar()
        else:
            line = sys.stdin.readline()
            pressed = line.strip()[:1] if line else "q"
        if pressed in (*_KEYS, "q", "\x03", "\x04"):
            return pressed


def _pair(question: AuditQuestion | RecallQuestion) -> RenderableType:
    texts = [
        shown(f"{name}: {question[name] or '(forgotten since: label it unsure)'}")
        for name in ("older", "newer")
    ]
    if (composed := question.get("composed")) is not None:
        texts.append(shown(f"written from both: {composed}"))
    asked = f"{question['question']}  r right, w wrong ({question['wrong_if']}), u unsure, q stop"
    return Group(shown(f"pair {question['number']}", "bold"), *texts, shown(asked, "dim"))


def _unmerged(reversal: str | None, refused: str | None) -> list[Text]:
    if refused is not None:
        return [shown(f"not un-merged: {refused}")]
    if reversal is None:
        return []
    return [shown(f"un-merged; to take that back: palimpsest undo {reversal}")]


# -- on the terminal -----------------------------------------------------------------------------


def _line(status: AuditProgress) -> Text:
    """The bound now, and what is left to do, on one line."""
    if status["certified"]:
        left = "enough: palimpsest audit certify"
    elif status["labels_needed"] is None:
        left = "more labels of this audit cannot reach the target"
    else:
        left = f"{status['labels_needed']:,} more without an error to certify"
    before = f"{status['bound_before_detection']:.2%} if the labels miss nothing"
    return shown(f"at most {status['bound']:.2%} wrong ({before}); {left}")


def _foreseen(forecast: AuditForecast) -> RenderableType:
    """The labels that half of all audits need (nine in ten), by target and share of wrong joins."""
    shares = list(dict.fromkeys(cell["wrong"] for cell in forecast["foreseen"]))
    table = Table("target", box=SIMPLE_HEAD)
    for share in shares:
        table.add_column(f"{share:.2%} wrong" if share else "none wrong", justify="right")
    rows: dict[float, list[str]] = {}
    for cell in forecast["foreseen"]:
        counts = (f"{n:,}" if n is not None else "–" for n in (cell["labels"], cell["mostly"]))
        rows.setdefault(cell["target"], [f"{cell['target']:.2%}"]).append("{} ({})".format(*counts))
    for row in rows.values():
        table.add_row(*row)
    what = (
        f"{forecast['joins']:,} automatic joins at position {forecast['position']:,}: labels until"
        f" the target is certified, at {forecast['confidence']:.0%} confidence, by the share"
        " of joins that are wrong"
    )
    how = "in half of all audits (in nine of ten); about 900 labels an hour, at four seconds each"
    return Group(shown(what), table, shown(how, "dim"))


def _drawn(status: AuditStatus) -> RenderableType:
    sealed = (
        f"audit {status['audit']}: {counted(status['joins'], 'automatic join')} at position"
        f" {status['position']:,}, in the order of the seed {status['seed']}"
    )
    labelled = (
        f"{counted(status['labels'], 'join')} with a label: {status['errors']:,} wrong or unsure"
    )
    bound = (
        f"at most {status['bound']:.2%} of all joins are wrong, at {status['confidence']:.0%}"
        f" confidence; the target is {status['target']:.2%}"
    )
    lines = [sealed, labelled, _detection(status), *_second(status), bound]
    if status["certificates"]:
        lines.append("certified")
    elif not status["certified"]:
        lines += _needed(status)
    lines += [f"found wrong, but still joined: {decision}" for decision in status["still_joined"]]
    return Group(*map(shown, lines), _strata(status["strata"]))


def _estimate_line(status: RecallStatus) -> Text:
    """The estimate now, on one line."""
    near = status["near"]
    return shown(
        f"{near['estimate']:,.0f} missed ({near['low']:,.0f} to {near['high']:,.0f}) of"
        f" {counted(near['pairs'], 'pair')}; {status['labels']:,} of {status['planned']:,} labels"
    )


def _estimated(status: RecallStatus) -> RenderableType:
    at_random, recalled = (
        status["at_random"],
        [f"{status[name]:.1%}" for name in ("recall", "recall_low", "recall_high")],
    )
    drawn_by = f"sealed at position {status['position']:,}, drawn by the seed {status['seed']}"
    others = f"{at_random['missed']:,} of {at_random['labels']:,} labels say the same"
    standing = counted(status["joins"], "standing join")
    lines = [
        f"estimate {status['audit']}: texts that joined none, each with its nearest; {drawn_by}",
        f"an estimate, not a certificate, at {status['confidence']:.0%} confidence",
        f"recall {recalled[0]} ({recalled[1]} to {recalled[2]}); {standing}",
        f"other pairs: {others}; at most {at_random['high']:,.0f} of {at_random['pairs']:,} do",
        *(f"palimpsest merge {older} {newer}" for older, newer in status["found"]),
    ]
    table = Table(box=SIMPLE_HEAD)
    for heading in ("score", "pairs", "labels", "same", "missed", "interval"):
        table.add_column(heading, justify="right")
    for part in status["strata"]:
        under = f"under {part['under']}" if part["at_least"] is None else ""
        table.add_row(
            under or f"{part['at_least']} and over",
            *(f"{part[name]:,}" for name in ("pairs", "labels", "missed")),
            f"{part['estimate']:,.0f}",
            f"{part['low']:,.0f} to {part['high']:,.0f}",
        )
    return Group(_estimate_line(status), *map(shown, lines), table)


def _needed(status: AuditStatus) -> Iterator[str]:
    """How many labels the target still needs: without and with probes, and after errors."""
    joins, everything = status["joins_needed"], status["labels_needed"]
    if joins is None or everything is None:
        yield "more labels of this audit cannot reach the target: open another one"
        return
    yield (
        f"still needed, if there are no more errors: {counted(joins, 'label')} if nothing is"
        f" missed; {everything:,} with the probes that show how much is missed"
    )
    after = (
        "no number is enough" if n is None else f"{n:,}" for n in status["labels_after_errors"]
    )
    yield "with one further error {}; with two {}".format(*after)


def _second(status: AuditProgress) -> Iterator[str]:
    """How far two people agree, if two gave labels."""
    if status["seconds"]:
        kappa = "says nothing" if status["kappa"] is None else f"is {status['kappa']:.2f}"
        yield (
            f"a second person looked at {counted(status['seconds'], 'pair')}, and agrees on"
            f" {status['agreed']:,}: Cohen's kappa {kappa}"
        )


def _detection(status: AuditProgress) -> str:
    if not status["probes"]:
        if not status["detected"]:
            return "no probe was shown yet: until then nothing is proven"
        return "there are no probes: the labels are taken to be right"
    return (
        f"{status['probes_found']:,} of {status['probes']:,} probes were found: at least"
        f" {status['detected']:.1%} of wrong joins are, if they are as easy to see"
    )


def _strata(strata: list[Mapping[str, Any]] | list[dict[str, Any]]) -> RenderableType:
    """The strata of the joins, if a kind has several; each bound is a separate statement."""
    several = Counter(part["by"] for part in strata)
    table = Table(box=SIMPLE_HEAD)
    for heading in ("part", "", "joins", "labels", "wrong", "at most"):
        table.add_column(heading, justify="left" if heading in ("part", "") else "right")
    for part in strata:
        if several[part["by"]] == 1:
            continue
        counts = (f"{part[name]:,}" for name in ("joins", "labels", "errors"))
        table.add_row(shown(part["by"]), shown(part["value"][:40]), *counts, f"{part['bound']:.2%}")
    return table if table.row_count else Text("")
