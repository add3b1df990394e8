"""A store of memories, from Python: everything that the command line can do (docs/python.md)."""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
)

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from palimpsest.api.agent import Agent
from palimpsest.api.calls import (
    Id,
    Place,
    Time,
    Turn,
    Words,
    check_calls,
    moment,
    require_no_inheritance,
)
from palimpsest.auditing.audits import Audits
from palimpsest.backends.access_log import Uses
from palimpsest.backends.cluster import ClusterWriter, log_that_follows
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.reader import Reader, Wait
from palimpsest.backends.requested import request_id
from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.answers import (
    Accessed,
    Agreed,
    Apart,
    Checked,
    Concluded,
    Forgotten,
    Merged,
    NewExpiry,
    PolicyInForce,
    PutBack,
    Recomposed,
    Reinstatements,
    Restorations,
    Retractions,
    Reversals,
    Session,
    TakenBack,
    Unmerged,
    Updated,
)
from palimpsest.contracts.candidate import DEFAULT_NAMESPACE, Duration, Metadata, Name, Text
from palimpsest.contracts.errors import InvalidInputError, RefusedError, UsageError
from palimpsest.contracts.events import Again, Decision, Speaker
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import (
    AccessRequest,
    CheckRequest,
    ComposeRequest,
    ConfirmRequest,
    ForgetRequest,
    JoinSelection,
    MergeRequest,
    PolicyRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    SessionRequest,
    SetExpiryRequest,
    SettleRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
)
from palimpsest.contracts.shown import (
    DecisionRow,
    Found,
    History,
    Page,
    Recalled,
    ShownCandidate,
    ShownMemory,
)
from palimpsest.evaluation.backtest import Backtest, backtest
from palimpsest.jobs import log_files as exchange
from palimpsest.jobs import review_queue
from palimpsest.jobs.dedupe import Wanted, dedupe
from palimpsest.jobs.embed import embed_late
from palimpsest.jobs.export_source import MOST_CHANGES, Texts, export
from palimpsest.jobs.extract import memories_of, spoken
from palimpsest.jobs.import_source import bring_in, foresee_import, look_at, spool_rows
from palimpsest.jobs.ingest import (
    Defaults,
    IngestProgress,
    KeepGoing,
    Summary,
    check_files,
    decide_on,
    retry_dead_letters,
    to_inputs,
)
from palimpsest.jobs.judge_on_demand import JudgeOnDemand
from palimpsest.jobs.questions import TableQuestions, TableReading, call_here
from palimpsest.jobs.review import review
from palimpsest.process.paths import LOG_FILE, PROJECTIONS
from palimpsest.projections.recall.filter import Filter
from palimpsest.projections.recall.hits import RecallOptions
from palimpsest.queries import show as viewing
from palimpsest.queries.duplicates import DedupResult, DuplicateCheck, dedup_result, duplicate_check
from palimpsest.queries.find import By, Plan, find, meant
from palimpsest.queries.ids import bare, forgetting_of, require_owned
from palimpsest.queries.likeness import Alike, across_namespaces
from palimpsest.queries.memories import find_memory, history_of, page_of, speaker_of
from palimpsest.queries.recall import recall
from palimpsest.queries.triangles import Triangle, triangles
from palimpsest.queries.undoing import Way, request_for
from palimpsest.queries.why import Explanation, WhyNot, why, why_not
from palimpsest.sources import SourcePlace as ImportPlace
from palimpsest.sources.contract import Trust
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.core.text import verbatim_hash
from palimpsest.streams.dedupe import Progress as BatchProgress
from palimpsest.streams.embedder import DEFAULT_MODEL, Embedder, Progress, load_engine
from palimpsest.streams.intake import Form, Prepared
from palimpsest.streams.judge.batching import PATIENCE_SECONDS, Batcher, BatchSettings
from palimpsest.streams.judge.own import JudgeFunction
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.verifier import Verifier
from palimpsest.streams.judge.worker import JudgeWorker
from palimpsest.streams.log.as_of import AsOf
from palimpsest.streams.log.dead_letters import DeadLetterState
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.handlers.check import undecided
from palimpsest.streams.write.inputs import (
    Input,
    Outcome,
    Submission,
    rejected,
    why_invalid,
)
from palimpsest.streams.write.serve import execute

if TYPE_CHECKING:
    from palimpsest.settings.settings import Settings

_log = logging.getLogger(__name__)

MOST = 2**63 - 1
"""The largest limit that DuckDB accepts."""


def _known(decision: str) -> str:
    if decision not in get_args(Decision):
        raise ValueError(f"should be one of {', '.join(get_args(Decision))}")
    return decision


Position = Annotated[int, Field(ge=0, le=MOST)]
"""The position of an event in the log; 0 is before the first."""

Seconds = Annotated[float, Field(ge=0, le=86_400)]
"""A timeout of at most a day."""

KnownDecision = Annotated[str, AfterValidator(_known)]
"""A kind of decision, named as in the log."""

Result = TypeVar("Result")


def _ignore(_what: str, _share: float | None) -> None:
    """Ignore progress."""


class Narrowed(TypedDict, total=False):
    """Conditions that one living member of a memory must meet, all of them.

    Every key of `metadata` must have the given value. The member happened at `since` or later,
    and before `until`; times without a zone are UTC. Memories that have expired are left out
    unless `show_expired`.
    """

    namespace: Name | None
    category: Name | None
    metadata: Mapping[str, JsonValue] | None
    since: Time | None
    until: Time | None
    show_expired: bool


def _filter(narrowed: Narrowed) -> Filter:
    since, until = narrowed.get("since"), narrowed.get("until")
    return Filter(
        namespace=narrowed.get("namespace"),
        category=narrowed.get("category"),
        metadata=narrowed.get("metadata") or {},
        since=_time(since),
        until=_time(until),
        show_expired=narrowed.get("show_expired", False),
    )


def _time(when: datetime | str | None) -> datetime | None:
    """A time in UTC, if there is one."""
    return None if when is None else moment(when)


def _as_of(when: AsOf | str | None) -> AsOf | None:
    """A position, or a time in UTC."""
    return when if isinstance(when, int) else _time(when)


class Attribution(TypedDict, total=False):
    """The actor of a request and the reason; both are recorded."""

    actor: str | None
    because: str | None


def fresh() -> str:
    """The id of the current request: the caller's, or a new one."""
    return request_id()


def _no_text(candidates: object) -> object:
    if isinstance(candidates, str | bytes):
        raise ValueError("should be a mapping, such as a dict, or several of them")
    return candidates


Candidates = Annotated[Mapping[str, Any] | Iterable[Mapping[str, Any]], BeforeValidator(_no_text)]
"""One candidate or several, as Python values."""

Candidate = Annotated[Mapping[str, Any], BeforeValidator(_no_text)]
"""One candidate, as Python values."""

IfInvalid = Literal["raise", "collect"]
"""What to do with unreadable candidates: raise an error, or return them as outcomes."""


class Offer(NamedTuple):
    """The candidates of one caller; `submission` names the request, if it has an id."""

    candidates: Candidates
    source: Name = "python"
    invalid: IfInvalid = "raise"
    submission: Submission | None = None


def _read(offer: Offer) -> list[Input] | InvalidInputError:
    """Read all candidates of an offer; of several, the first unreadable one is the error."""
    alone = isinstance(offer.candidates, Mapping)
    rows = [offer.candidates] if alone else offer.candidates
    inputs = to_inputs(rows, offer.source, offer.submission)
    if alone or offer.invalid == "collect":
        return inputs
    for index, item in enumerate(inputs):
        if isinstance(item.meaning, InvalidInputError):
            return InvalidInputError(item.meaning.reason, item.meaning.detail, index)
    return inputs


EngineName = Literal["onnx", "sentence-transformers", "none"]


@check_calls
class Palimpsest:
    """An open store. Several threads may use it; their calls take turns.

    Any number of processes may have the same store open; one of them writes at a time. While
    another one does, candidates and requests go through the inbox and the call waits for the
    answer. A forked child cannot use what its parent opened: open stores after the fork.

    Ids are those that the calls and `sql` return; a URN works wherever an id does. With `owner_id`,
    an id of another owner is refused as unknown: name the owner if the id comes from a user or a
    model, or use the handle of one owner, `agent`. Runs that
    ask the judge (`dedupe`, `review`) run an event loop of their own: inside another one, call
    them with `asyncio.to_thread`.
    """

    @classmethod
    def open(
        cls,
        path: Place | None = None,
        *,
        create: bool = True,
        policy: str | Policy | None = None,
        engine: EngineName | None = None,
        model: str | None = None,
        progress: Progress | None = None,
        cluster: Connection | None = None,
        wait: Wait = "durable",
        accept_loss: bool = False,
        by: Speaker = "agent",
    ) -> Self:
        """Open the store in the folder `path`, created first unless `create` is False.

        Without a `path`, it is the store of PALIMPSEST_STORE or palimpsest.toml, and a `policy`,
        an `engine`, a `model` and a `cluster` that are not given come from there too, as for the
        command line.

        `policy` (a preset's name, a file, or a policy; `standard`) is put in force by the first
        candidate of a new store; later `set_policy` changes it, and a warning is logged if another
        is named here. The model is loaded when the first text needs it.
        With a `cluster`, which this store follows, all writes go to its topics; only `project`
        creates a store then, and without one nothing can be read.

        A call that writes returns when its effect is `durable`: this store's own calls see it,
        and other readers a moment later (`wait_for`). With `wait="visible"` it returns when they
        do; `close` and the end of the process wait for that in any case.

        `by` is the speaker in `update`, `forget`, `undo`, `unmerge` and `reinstate`, unless a call
        says otherwise: an agent, or a person; an agent cannot overrule a person.

        Raises StoreError if there is no readable store, or if its log lacks events that were
        acknowledged, unless `accept_loss`; UsageError in a process that was forked after a store
        was opened.
        """
        require_no_inheritance()
        if path is None:
            settings = _settings()
            path, cluster = settings.store, cluster or settings.kafka
            engine, model = engine or settings.engine, model or settings.model
            policy = policy or settings.opening().get("policy")
        folder = Path(path)
        wanted = policy if isinstance(policy, Policy) else load_policy(policy or "standard")

        def embedder() -> Embedder:
            return Embedder(
                load_engine(model or DEFAULT_MODEL, engine or "onnx", progress=progress)
            )

        if cluster is not None:
            log = log_that_follows(folder, needed=not create)
            if policy is not None:
                _warn_of_another(folder, log, wanted)
            reader = Reader(folder, log, wanted, embedder, of_cluster=True)
            return cls(folder, ClusterWriter(reader, cluster), by)
        if create:
            exchange.make_folder(folder)
        log = (Log.create if create else Log.open)(folder / LOG_FILE, shared=True)
        try:
            log.require_acknowledged(accept_loss=accept_loss)
        except BaseException:
            log.close()
            raise
        if policy is not None:
            _warn_of_another(folder, log, wanted)
        return cls(folder, EmbeddedWriter(Reader(folder, log, wanted, embedder, wait)), by)

    def __init__(self, folder: Path, writer: StoreWriter, by: Speaker = "agent") -> None:
        self.folder = folder
        self._by: Speaker = by
        self.turn = Turn()
        self._unchecked = writer
        self._uses = Uses(writer, self.turn.lock)

    @property
    def _writer(self) -> StoreWriter:
        self.turn.require()
        return self._unchecked

    @property
    def _reader(self) -> Reader:
        self.turn.require()
        return self._unchecked.reader

    @property
    def writer(self) -> StoreWriter:
        """What writes to the store, for code beside the facade."""
        return self._writer

    @property
    def reader(self) -> Reader:
        """What reads the store, for code beside the facade."""
        return self._reader

    def close(self) -> None:
        """Stop the threads and close the files; later calls raise UsageError.

        In a forked child it does nothing, because the files belong to the parent.
        """
        if self.turn.end():
            try:
                self._uses.close()
            finally:
                self._unchecked.close()

    def __enter__(self) -> Self:
        self.turn.require()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def agent(self, owner_id: Name, *, actor: Name | None = None) -> Agent:
        """A handle for an agent with the memories of one owner, such as a model's user.

        It knows no ids of other owners, and cannot overrule a person. `actor` is recorded with its
        requests.
        """
        self.turn.require()
        return Agent(self, owner_id, actor)

    # -- from producers ----------------------------------------------------------------------------

    def submit(
        self,
        candidates: Candidates,
        *,
        source: Name = "python",
        invalid: IfInvalid = "raise",
    ) -> builtins.list[Outcome]:
        """Decide on one candidate or several, in order; return one outcome for each.

        A candidate is a mapping with `owner_id` and `text` (docs/producers.md has all fields).
        Several are all read first: if one breaks a rule, or is not a mapping of plain JSON values,
        nothing is stored, and InvalidInputError has its `index` and names the field. With
        `invalid="collect"`, or if it is the only one and not in a list, its outcome is `invalid`,
        its bytes go to the dead letters, and the others are not affected. A candidate whose id is
        known with other content (`id_conflict`) is always handled in this way.
        """
        writer = self._writer
        inputs = _read(Offer(candidates, source, invalid))
        if isinstance(inputs, InvalidInputError):
            raise inputs
        return writer.submit(inputs)

    def submit_each(
        self, offers: Sequence[Offer]
    ) -> builtins.list[builtins.list[Outcome] | InvalidInputError]:
        """Decide on the candidates of several callers as one batch.

        Returns for each caller its outcomes, or the error if none of its candidates is stored. Up
        to 512 candidates in all are one commit: either all are stored, or none.
        """
        writer = self._writer
        read = [_read(Offer(*offer)) for offer in offers]
        readable = (some for some in read if not isinstance(some, InvalidInputError))
        outcomes = iter(writer.submit([item for some in readable for item in some]))
        return [
            some if isinstance(some, InvalidInputError) else list(islice(outcomes, len(some)))
            for some in read
        ]

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        owner_id: Name,
        *,
        infer: bool = True,
        session_id: Name | None = None,
        namespace: Name | None = None,
        source: Name = "conversation",
        judge: JudgeSettings | None = None,
    ) -> builtins.list[Outcome]:
        """Remember a conversation: messages with `role` and `content`, and a time if they have one.

        The judge's model extracts memories, as `palimpsest extract` does; with `infer=False`, each
        message but the system's is stored as it is. The metadata of each has the `message` that it
        came from: its `id`, or its number from 1. All are stored, or none. UsageError if the judge
        cannot be used, TransientError if it did not answer for a part.
        """
        given = [messages] if isinstance(messages, str | Mapping) else messages
        listed = [
            {"content": message} if isinstance(message, str) else message for message in given
        ]
        about = {"owner_id": owner_id, "session_id": session_id, "namespace": namespace}
        known = {name: value for name, value in about.items() if value is not None}
        if not infer:
            return self.submit(spoken(listed, known), source=source)
        rules = self._reader.policy_in_force().judge
        settings = judge or _settings().judge
        rows = _run(memories_of(listed, known, rules, settings, source=source, folder=self.folder))
        return self.submit(rows, source=source)

    def check(self, candidate: Candidate, *, source: Name = "python") -> Checked:
        """Show the decision on a candidate if it were submitted now; nothing is written.

        `candidate` and `source` as in `submit`. The answer has the decision, the neighbour with
        its score, all neighbours considered, and the time it took.
        """
        [item] = to_inputs([candidate], source)
        if not isinstance(item.meaning, Prepared):
            return undecided(
                rejected(item, why_invalid(item.meaning)), self._reader.policy_in_force()
            )
        request = CheckRequest(
            request_id=fresh(),
            owner_id=item.meaning.candidate.owner_id,
            row=item.row.raw.decode(),
            source=source,
        )
        return self._writer.ask(request)

    def check_duplicate(self, candidate: Candidate, *, source: Name = "python") -> DuplicateCheck:
        """Whether a candidate would be a duplicate, and of which memory, as `namespaced` has it.

        The same as `check`, in the terms of that design; nothing is written.
        """
        answer = self.check(candidate, source=source)
        owner_id = str(candidate.get("owner_id"))
        namespace = str(candidate.get("namespace") or DEFAULT_NAMESPACE)
        return duplicate_check(answer, owner_id, namespace)

    def dedup_result(self, candidate: Candidate, *, source: Name = "python") -> DedupResult:
        """Whether a candidate would be a duplicate, and of which memory, as `layered` has it.

        The same as `check`, in the terms of that design; nothing is written.
        """
        return dedup_result(self.check(candidate, source=source))

    def ingest(
        self,
        files: Place | Sequence[Place],
        *,
        source: Name | None = None,
        mapping: Mapping[str, str] | None = None,
        form: Form | None = None,
        keep_going: KeepGoing = False,
        owner: Name | None = None,
        expires_in: Duration | None = None,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> Summary:
        """Decide on every row of a file or several (JSONL or a JSON array, CSV, Parquet, or `-`).

        Rows without an owner belong to `owner`, and those that do not say when they expire do so
        after `expires_in`, such as `7d`, or seconds. `mapping` renames fields (theirs to ours);
        `form` is the files' format if their names do not show it. An interrupt stops it and keeps
        what was done. If the first hundred rows of a file are all wrong, it raises WrongFileError
        before anything is written, unless `keep_going`.
        """
        writer = self._writer
        paths = [files] if isinstance(files, str | Path) else files
        checked = check_files(
            [str(path) for path in paths],
            source=source,
            mapping=mapping,
            form=form,
            keep_going=keep_going,
            defaults=Defaults(owner, expires_in),
        )
        return decide_on(writer, checked, progress)

    def import_source(
        self,
        path: Place,
        *,
        table: str | None = None,
        query: str | None = None,
        history: Place | None = None,
        mapping: Mapping[str, str] | None = None,
        owner: Name | None = None,
        source: Name | None = None,
        model_of_vectors: str | None = None,
        trust: Trust = False,
        dry_run: bool = False,
        progress: Progress = _ignore,
    ) -> dict[str, Any]:
        """Import an existing store (docs/import.md); a dry run shows what would be imported.

        `path` is a file or the folder of a database; `table`, `query` and `history` select a part.
        `mapping` (theirs to ours) is given, the rest is guessed; rows without an owner belong to
        `owner`. Raises UsageError if the field of the text or the owner is unknown, or if data that
        could run a program would be read without `trust`.
        """
        place = ImportPlace(
            Path(path), table, query, Path(history) if history is not None else None, trust
        )
        brought = look_at(place, source=source, owner=owner, renames=mapping)
        absent = self._reader.policy_in_force().absent.confidence
        with spool_rows(brought, absent, progress) as spool:
            if dry_run:
                return foresee_import(brought, spool)
            return bring_in(self._writer, brought, spool, model=model_of_vectors, progress=progress)

    def export_source(
        self,
        path: Place,
        to: Place,
        *,
        source: Name | None = None,
        texts: Texts = "original",
        keep: Sequence[str] = (),
        max_changes: Annotated[int, Field(ge=0, le=MOST)] = MOST_CHANGES,
        trust: Trust = False,
        dry_run: bool = False,
        progress: Progress = _ignore,
    ) -> dict[str, Any]:
        """Copy an imported store to `to` without its duplicates, in its own format.

        Returns the changes, and how to undo each; a file beside the copy has the same. With `texts`
        "original", a row is removed only if its text, or one that it was joined to, stays in
        another row; the sources of composed texts stay. With "face", each memory is one row, with
        the memory's text and its vector. Rows whose ids are in `keep` stay. Only the first
        `max_changes` changes are made. Raises RefusedError if `to` exists, or if rows cannot get
        the texts of faces; UsageError if nothing was imported from `path`.
        """
        return export(
            self._reader,
            Path(path),
            Path(to),
            source=source,
            texts=texts,
            keep=frozenset(keep),
            max_changes=max_changes,
            trust=trust,
            dry_run=dry_run,
            progress=progress,
        )

    def access(self, candidate_id: Id, *, owner_id: Name | None = None) -> Accessed:
        """Record that the memory of a candidate was used."""
        require_owned(self._reader, owner_id, candidate_id)
        return self._writer.ask(AccessRequest(request_id=fresh(), candidate_id=candidate_id))

    def end_session(self, owner_id: Name, session_id: Name) -> Session:
        """Record that a session ended; the answer has the figures of its consolidation, if any."""
        return self._writer.ask(
            SessionRequest(
                request_id=fresh(),
                request="end_session",
                owner_id=owner_id,
                session_id=session_id,
            )
        )

    def compact_session(self, owner_id: Name, session_id: Name) -> Session:
        """Record that a session's conversation was compacted: recall may return its texts again."""
        return self._writer.ask(
            SessionRequest(
                request_id=fresh(),
                request="compact",
                owner_id=owner_id,
                session_id=session_id,
            )
        )

    def retry_dead_letters(
        self,
        letter_ids: Sequence[Id] | None = None,
        *,
        mapping: Mapping[str, str] | None = None,
    ) -> Summary:
        """Read dead letters again: all open ones, or those named; `mapping` as in `ingest`."""
        return retry_dead_letters(self._writer, letter_ids, mapping)

    # -- one statement of a person -----------------------------------------------------------------

    def merge(
        self,
        a: Id,
        b: Id,
        *,
        face: Id | None = None,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> Merged:
        """Declare two candidates the same; `face` is the one whose text becomes the face.

        Raises RefusedError, with the path, if a person separated them.
        """
        require_owned(self._reader, owner_id, a, b, face)
        request = MergeRequest(request_id=fresh(), a=a, b=b, face=face, **attribution)
        return self._writer.ask(request)

    def separate(
        self, a: Id, b: Id, *, owner_id: Name | None = None, **attribution: Unpack[Attribution]
    ) -> Apart:
        """Declare two candidates different: nothing automatic joins them again."""
        require_owned(self._reader, owner_id, a, b)
        request = SeparateRequest(request_id=fresh(), a=a, b=b, **attribution)
        return self._writer.ask(request)

    def withdraw(
        self, a: Id, b: Id, *, owner_id: Name | None = None, **attribution: Unpack[Attribution]
    ) -> Apart:
        """Take back the latest statement about a pair, a merge or a separation.

        Earlier statements about the pair hold again. RefusedError if there is none.
        """
        require_owned(self._reader, owner_id, a, b)
        request = WithdrawRequest(request_id=fresh(), a=a, b=b, **attribution)
        return self._writer.ask(request)

    def confirm(
        self, decision_id: Id, *, owner_id: Name | None = None, **attribution: Unpack[Attribution]
    ) -> Agreed:
        """Confirm a decision."""
        require_owned(self._reader, owner_id, decision_id)
        request = ConfirmRequest(request_id=fresh(), decision_id=decision_id, **attribution)
        return self._writer.ask(request)

    def unmerge(
        self,
        *,
        decision_id: Id | None = None,
        candidate_id: Id | None = None,
        memory_id: Id | None = None,
        dry_run: bool = False,
        with_consequences: bool = False,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> Unmerged:
        """Remove a join, named by exactly one of its decision, its candidate or its memory.

        Returns the reversed decisions and the resulting memories. `dry_run` returns the result,
        with the later decisions that would have been different, and writes nothing.
        `with_consequences` changes these, too. Raises RefusedError if it is impossible, or if it is
        `by` an agent and a person made the join (`outranked`).
        """
        require_owned(self._reader, owner_id, decision_id, candidate_id, memory_id)
        request = UnmergeRequest(
            request_id=fresh(),
            decision_id=decision_id,
            candidate_id=candidate_id,
            memory_id=memory_id,
            dry_run=dry_run,
            with_consequences=with_consequences,
            rank=by or self._by,
            **attribution,
        )
        return self._writer.ask(request)

    def reinstate(
        self,
        decision_id: Id,
        *,
        dry_run: bool = False,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> PutBack:
        """Take a reversal back, with everything that was done because of it.

        Returns the joins that are `reinstated`; those made because of the reversal, which are
        `taken_back`; those of them that a review had `confirmed`; those that later statements
        prevent (`refused`); and the resulting memories. `dry_run` returns the result and writes
        nothing. Raises RefusedError if the join itself cannot return, and `by` an agent, also if a
        person separated the two.
        """
        require_owned(self._reader, owner_id, decision_id)
        request = ReinstateRequest(
            request_id=fresh(),
            decision_id=decision_id,
            rank=by or self._by,
            dry_run=dry_run,
            **attribution,
        )
        return self._writer.ask(request)

    # -- by intent ---------------------------------------------------------------------------------

    def update(
        self,
        memory_id: Id,
        text: Text,
        *,
        expect: str | None = None,
        merge: bool = False,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        source: Name = "update",
        session_id: Name | None = None,
        occurred_at: Time | None = None,
        metadata: Metadata | None = None,
        dry_run: bool = False,
        **attribution: Unpack[Attribution],
    ) -> Updated:
        """Change the text of a memory, named by any of its members.

        It is one event, which `undo` takes back. `expect` is a version of the memory, or the
        candidate whose text is its face: RefusedError (`moved_on`) if it has changed; without
        `expect`, the answer names the text that was `displaced`. If another memory has the text,
        `merge` joins the two; `dry_run` shows the result. `by` an agent, it cannot overrule a
        person's statement. `owner_id`, if given, must be the memory's.
        """
        request = UpdateRequest(
            request_id=fresh(),
            memory_id=memory_id,
            text=text,
            owner_id=owner_id,
            expect=expect,
            merge=merge,
            rank=by or self._by,
            source=source,
            session_id=session_id,
            occurred_at=_time(occurred_at),
            metadata=metadata,
            dry_run=dry_run,
            **attribution,
        )
        return self._writer.ask(request)

    def undo(
        self,
        some_id: Id,
        *,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        dry_run: bool = False,
        **attribution: Unpack[Attribution],
    ) -> TakenBack:
        """Undo what an id names: a join, an update, a forgetting, a statement or a whole request.

        A join goes with its consequences. Of an update the text leaves, nothing is separated, and
        later updates stay. A candidate's or a memory's id means the memory's last update, or that
        it was hidden. The answer is that of the request that undoes it (docs/undo.md); `dry_run`
        returns what it would be and writes nothing. RefusedError if the id is unknown, if no
        request undoes it (`not_undoable`), or `by` an agent, if a person stated it (`outranked`).
        """
        return self._take("undo", some_id, by, owner_id, dry_run, attribution)

    def redo(
        self,
        some_id: Id,
        *,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        dry_run: bool = False,
        **attribution: Unpack[Attribution],
    ) -> TakenBack:
        """Do again what was undone, named by the id that was undone (docs/undo.md).

        RefusedError as for `undo`, and if nothing took it back (`not_undone`, `standing_already`).
        """
        return self._take("redo", some_id, by, owner_id, dry_run, attribution)

    def _take(
        self,
        way: Way,
        some_id: str,
        by: Speaker | None,
        owner_id: str | None,
        dry_run: bool,
        attribution: Attribution,
    ) -> TakenBack:
        """Undo or redo by an id; a request that comes again is answered as it was."""
        if not dry_run and self._reader.log.of_request(name := fresh()):
            answered: TakenBack = self._reader.answered(name)
            return answered
        request: Request[TakenBack] = request_for(
            self._reader, way, some_id, by=by or self._by, owner_id=owner_id, **attribution
        )
        if not dry_run:
            return self._writer.ask(request)
        if "dry_run" in type(request).model_fields:
            request = request.model_copy(update={"dry_run": True})
        return execute(self._reader.trial(), request)

    def forget(
        self,
        what: Mapping[str, Any] | Id | Sequence[Id],
        *,
        expect: str | None = None,
        again: Again | None = None,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        dry_run: bool = False,
        **attribution: Unpack[Attribution],
    ) -> Forgotten:
        """Forget memories of one owner with all their wordings, by a plan of `find` or by ids.

        A plan's token (or `expect`) is compared with their current state: RefusedError (`moved_on`)
        if one of them has changed. If a text arrives `again`, it waits for a person (`ask`), is
        stored as new (`allow`) or is refused. By default a person is asked; texts forgotten by an
        agent are allowed, but refused if they happened before. `restore(forgotten=…)` undoes all of
        it. `dry_run` also shows which candidates wait for a verdict about these memories.
        """
        ids, token = meant(what)
        request = ForgetRequest(
            request_id=fresh(),
            memory_ids=ids,
            owner_id=owner_id,
            expect=token or expect,
            again=again,
            rank=by or self._by,
            dry_run=dry_run,
            **attribution,
        )
        return self._writer.ask(request)

    # -- statements about many candidates ----------------------------------------------------------

    def reverse(
        self, selection: JoinSelection, *, dry_run: bool = False, **attribution: Unpack[Attribution]
    ) -> Reversals:
        """Un-merge every join of a selection, except verbatim repeats; `dry_run` names them."""
        request = ReverseRequest(
            request_id=fresh(), selection=selection, dry_run=dry_run, **attribution
        )
        return self._writer.ask(request)

    def reinstate_many(
        self, selection: JoinSelection, *, dry_run: bool = False, **attribution: Unpack[Attribution]
    ) -> Reinstatements:
        """Take back the reversal of every join that matches a selection; `dry_run` names them."""
        request = ReinstateManyRequest(
            request_id=fresh(), selection=selection, dry_run=dry_run, **attribution
        )
        return self._writer.ask(request)

    def retract(
        self, selection: Selection, *, dry_run: bool = False, **attribution: Unpack[Attribution]
    ) -> Retractions:
        """Hide candidates from recall and search, reversibly; their joins stay."""
        request = RetractRequest(
            request_id=fresh(), selection=selection, dry_run=dry_run, **attribution
        )
        return self._writer.ask(request)

    def restore(
        self,
        selection: Selection | None = None,
        *,
        forgotten: Id | None = None,
        owner_id: Name | None = None,
        dry_run: bool = False,
        **attribution: Unpack[Attribution],
    ) -> Restorations:
        """Bring retracted candidates back: a selection, or all that were `forgotten` at once.

        A memory that has received a forgotten text since then is joined in the same command. What
        was `forgotten` must be of the owner, if one is given; a selection names its owner itself.
        """
        if owner_id is not None and forgotten is not None:
            forgetting_of(self._reader, owner_id, forgotten)
        request = RestoreRequest(
            request_id=fresh(),
            selection=selection,
            forgotten=forgotten,
            dry_run=dry_run,
            **attribution,
        )
        return self._writer.ask(request)

    def pin(
        self,
        memory_id: Id,
        *,
        until: Time | None = None,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> NewExpiry:
        """Have a memory never expire, or at `until`; `undo` of the `event_id` takes it back.

        Any of its ids works: what is pinned is the candidate that speaks for it. Raises
        RefusedError if the memory does not expire (`unchanged`), or if it has expired, and its text
        was said again since (`same_text`).
        """
        require_owned(self._reader, owner_id, memory_id)
        speaker = speaker_of(self._reader, memory_id)
        return self._set_expiry(speaker, _time(until), "person", attribution)

    def renew(
        self,
        candidate_id: Id,
        expires_at: Time,
        *,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> NewExpiry:
        """Have a candidate that expires do so at another time, for an agent that still uses it.

        Raises RefusedError if it never expires (`outranked`), or if it has expired, and its text
        was said again since (`same_text`).
        """
        require_owned(self._reader, owner_id, candidate_id)
        return self._set_expiry(candidate_id, moment(expires_at), "agent", attribution)

    def _set_expiry(
        self, candidate_id: str, expires_at: datetime | None, rank: Speaker, said: Attribution
    ) -> NewExpiry:
        return self._writer.ask(
            SetExpiryRequest(
                request_id=fresh(),
                candidate_id=candidate_id,
                expires_at=expires_at,
                rank=rank,
                **said,
            )
        )

    # -- the review queue --------------------------------------------------------------------------

    def next_review(
        self, *, owner_id: Name | None = None, skip: Annotated[int, Field(ge=0, le=MOST)] = 0
    ) -> dict[str, Any] | None:
        """The next question for a person, about any memories or one owner's; None if none waits.

        It is a pair of texts with its decision; `skip` leaves out the first questions, which the
        person could not decide.
        """
        return review_queue.next_question(self._reader, owner_id=owner_id, skip=skip)

    def review_same(
        self,
        decision_id: Id,
        existing_id: Id,
        *,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> Merged | Agreed:
        """Record that a pair is the same; both ids are those of `next_review`.

        A pending pair is merged, a join confirmed; a text that repeats a forgotten one stays out.
        Raises RefusedError if that pair does not wait.
        """
        require_owned(self._reader, owner_id, decision_id, existing_id)
        row = review_queue.question_about(self._reader, decision_id, existing_id)
        if row["waits_as"] == "pending":
            return self.merge(row["existing_id"], row["candidate_id"], **attribution)
        return self.confirm(decision_id, **attribution)

    def review_different(
        self,
        decision_id: Id,
        existing_id: Id,
        *,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> Apart | Restorations | Unmerged:
        """Record that a pair is different: a pending pair is separated, a join removed.

        A text that waits because of a forgotten one is stored and separated from it; if the two are
        the same text, it is only stored.
        """
        require_owned(self._reader, owner_id, decision_id, existing_id)
        row = review_queue.question_about(self._reader, decision_id, existing_id)
        if row["waits_as"] == "pending":
            return self.separate(row["existing_id"], row["candidate_id"], **attribution)
        if row["waits_as"] == "forgotten":
            back = self.restore(Selection(candidate_id=row["candidate_id"]), **attribution)
            if verbatim_hash(row["new_text"]) != verbatim_hash(row["existing_text"]):
                self.separate(row["existing_id"], row["candidate_id"], **attribution)
            return back
        return self.unmerge(decision_id=decision_id, by="person", **attribution)

    # -- batch runs and verdicts -------------------------------------------------------------------

    def dedupe(
        self,
        *,
        owner_id: Name | None = None,
        dry_run: bool = False,
        force: bool = False,
        plan: str | None = None,
        due: Time | None = None,
        judge: JudgeSettings | JudgeFunction | None = None,
        progress: BatchProgress = _ignore,
        **attribution: Unpack[Attribution],
    ) -> dict[str, Any]:
        """Run the policy's batch rules, over one owner's memories if `owner_id` is given.

        Returns the numbers compared, asked and joined, the cost of the judge's calls, and each
        owner's run with its figures, or why it was skipped: by the policy's conditions, unless
        `force`. A run of one owner that was `due` at a time (default: now) is done once, however
        often it is requested. `dry_run` writes nothing but asks the judge; the real run uses the
        cached answers. With the `plan` of a dry run's answer, the run does exactly what that
        showed. Without `judge` its settings are those of the commands: PALIMPSEST_JUDGE_* and
        `[judge]` of ./palimpsest.toml; a function of the older and the newer text answers itself.
        Raises RefusedError if it would now do something else, or if
        the policy has no batch rules; UsageError if the judge cannot be used.
        """
        wanted = Wanted(
            _time(due) or datetime.now(UTC), owner_id, dry_run, force, plan, **attribution
        )

        async def run() -> dict[str, Any]:
            async with self._judge(judge, recorded=not dry_run) as asked:
                done = await dedupe(self._writer, asked, wanted, progress)
                return {**done, "cost": asked.cost()}

        return _run(run())

    def review(
        self,
        *,
        owner_id: Name | None = None,
        due: Time | None = None,
        judge: JudgeSettings | JudgeFunction | None = None,
        progress: BatchProgress = _ignore,
    ) -> dict[str, Any]:
        """Review every rejection, or one owner's; one that was `due` at a time is done once.

        Exact repeats are confirmed, and the stronger model reviews the others. `left` counts those
        without an answer: those that it was `asked` about wait for a person, those that were
        `unavailable` wait for the next run.
        """

        async def run() -> dict[str, Any]:
            async with self._judge(judge) as asked:
                done = await review(
                    self._writer, asked, owner_id=owner_id, due=_time(due), progress=progress
                )
                return {**done, "cost": asked.cost()}

        return _run(run())

    def ask_judge(
        self,
        *,
        judge: JudgeSettings | JudgeFunction | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> dict[str, Any]:
        """Ask the judge about all pending candidates, and settle them; as `verifier --once`.

        `judge` is as for `dedupe`. An outage of the service may last for `patience` in seconds
        before the policy's fallback decides. Returns the counts of questions, answers, outcomes and
        those `left` without a usable answer, `calls`, `usd`, and how many are `waiting`.
        """

        async def run() -> dict[str, Any]:
            questions = TableQuestions(TableReading(self._writer), call_here)
            async with self._judge(judge) as asked:
                batcher = Batcher(BatchSettings(patience=patience))
                worker = JudgeWorker(questions, Verifier(lambda _: asked, batcher), lambda _: None)
                tally = await worker.run(asyncio.Event(), once=True)
                await batcher.close()
            return tally.document(await questions.waiting())

        return _run(run())

    def _judge(
        self, judge: JudgeSettings | JudgeFunction | None, *, recorded: bool = True
    ) -> JudgeOnDemand:
        rules = self._reader.policy_in_force().judge
        return JudgeOnDemand(self.folder, rules, judge or _settings().judge, recorded=recorded)

    def embed(
        self,
        *,
        owner_id: Name | None = None,
        long: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[str, int]:
        """Embed texts that were stored while the model was down: all, or one owner's.

        With `long`, embed instead the ends of texts longer than the model's input that were stored
        before these were embedded. Returns how many were `embedded` and are `left`; `progress`
        receives both numbers in between, and `dry_run` embeds none. The texts are not decided on
        again. Raises RefusedError if the model is still down.
        """
        return embed_late(self._writer, owner_id, progress, long=long, dry_run=dry_run)

    def settle(self, requests: Sequence[SettleRequest]) -> builtins.list[Concluded | RefusedError]:
        """Deliver the judge's verdicts about pending candidates; an answer or refusal for each."""
        return self._writer.ask_each(requests)

    def compose(self, request: ComposeRequest) -> Recomposed:
        """Deliver a recomposed text for a memory that needs one."""
        return self._writer.ask(request)

    # -- reads -------------------------------------------------------------------------------------

    def recall(
        self,
        owner_id: Name,
        query: Text,
        *,
        k: Annotated[int, Field(ge=1, le=PYTHON.found)] = 5,
        as_of: int | Time | None = None,
        session_id: Name | None = None,
        min_confidence: Annotated[float, Field(ge=0, le=1)] | None = None,
        former: bool = False,
        fold: bool = True,
        hybrid: bool | None = False,
        min_score: Annotated[float, Field(ge=-1, le=1)] | None = None,
        max_tokens: Annotated[int, Field(ge=1)] | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> builtins.list[Recalled]:
        """The `k` memories nearest to a question, best first: face, score (cosine) and members.

        Keywords of `Narrowed` select memories. `as_of` a position of the log, or a time, answers
        as of then; UsageError if it is in the future. `session_id` leaves out memories that only
        this session has stated since its conversation was last compacted. Memories whose
        confidence, decayed by the policy, is below `min_confidence` (default: the policy's) are
        left out. `former` includes texts that the face has displaced among the members, and
        memories that an update of another one has displaced. Indistinguishable memories are shown
        once, unless `fold` is False; nothing is written. `hybrid` moves memories up that mention
        an identifier of the question, such as INC-7; None does so unless the owner is large
        and not in memory. Of the others, those with a score under
        `min_score` are left out. The faces have about `max_tokens` at most, unless the first alone
        has more.
        """
        found = recall(
            self._reader,
            owner_id,
            query,
            RecallOptions(
                k,
                _filter(narrowed),
                session_id,
                former=former,
                hybrid=hybrid,
                min_score=min_score,
                max_tokens=max_tokens,
            ),
            as_of=_as_of(as_of),
            min_confidence=min_confidence,
            fold=fold,
            unrecorded=self._uses.unrecorded(owner_id),
        )
        if as_of is None:
            self._uses.note(owner_id, [memory["memory_id"] for memory in found])
        return found

    def find(
        self,
        owner_id: Name,
        query: Words,
        *,
        by: Sequence[By] = ("words", "meaning"),
        k: Annotated[int, Field(ge=1, le=PYTHON.found)] = 5,
        namespace: Name | None = None,
        show_expired: bool = False,
    ) -> Plan:
        """Find memories: all that mention the query, then the `k` nearest by meaning.

        Words match whole and in canonical form: `ABC-123` matches `abc123`, not `ABC1234`. Each hit
        has the reason why it was found; the plan's token identifies the memories in this state.
        Memories that have expired are left out unless `show_expired`.
        """
        return find(
            self._reader,
            owner_id,
            query,
            by=by,
            k=k,
            namespace=namespace,
            show_expired=show_expired,
        )

    def list(
        self,
        owner_id: Name,
        *,
        limit: Annotated[int, Field(ge=1, le=PYTHON.listed)] = 50,
        after: Id | None = None,
        former: bool = False,
        **narrowed: Unpack[Narrowed],
    ) -> Page:
        """A page of an owner's living memories, the latest first by their earliest members.

        `after` is the `next` of the previous page: a memory that exists throughout is on exactly
        one page, whatever is added or removed. Keywords of `Narrowed` select memories. `former`
        includes texts that the face has displaced among the members, and memories that an update
        of another one has displaced. Raises UsageError if `after` is malformed.
        """
        wanted = _filter(narrowed)
        return page_of(self._reader, owner_id, wanted, limit=limit, after=after, former=former)

    def get(self, memory_id: Id, *, owner_id: Name | None = None) -> Found:
        """The current memory by any id that a memory or a candidate ever had.

        `moved`: the memory has another id now; `state`: `living`, `pending`, `expired` or
        `retracted`. It has all wordings, `former` ones included. Raises RefusedError for an
        unknown id.
        """
        require_owned(self._reader, owner_id, memory_id)
        return find_memory(self._reader, memory_id)

    def history(self, memory_id: Id, *, owner_id: Name | None = None) -> History:
        """Every event of a memory in order, each with what it `did`, who, why and when.

        This includes members that left, up to when they left; any id works, as for `get`.
        """
        require_owned(self._reader, owner_id, memory_id)
        return history_of(self._reader, memory_id)

    def status(self, *, as_of: int | Time | None = None) -> dict[str, Any]:
        """Counts, the log's position, how far each projection lags behind it, and `behind`.

        `as_of` a position of the log, or a time, counts as of then.
        """
        return viewing.status(self._reader, _as_of(as_of), self._writer.behind)

    def likeness(
        self,
        owner_id: Name,
        *,
        at_least: Annotated[float, Field(ge=0, le=1)] = 0.9,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
    ) -> builtins.list[Alike]:
        """An owner's similar memories across namespaces; nothing is joined.

        The nearest pair comes first, by the cosine of the faces; long faces are compared by
        windows, and the score is that of the least similar window, in either direction.
        """
        return across_namespaces(self._reader, owner_id, at_least, limit)

    def backtest(
        self,
        policy: Policy | str,
        *,
        owner: str | None = None,
        since: Time | None = None,
        compares_anew: bool = False,
        processes: Annotated[int, Field(ge=1, le=64)] = 1,
        progress: Progress = _ignore,
    ) -> Backtest:
        """What would be different if another policy had decided on this history (docs/proof.md).

        Of owners that match the pattern `owner`, and of what was decided at `since` or later. From
        the log alone: what the guard saw then counts, unless the pairs are compared anew. Nothing
        is written. Several `processes` share the owners: guard your main module, as for
        `multiprocessing`. UsageError for a policy of another embedder.
        """
        rules = load_policy(policy) if isinstance(policy, str) else policy
        return backtest(
            self._reader,
            rules,
            progress,
            owner=owner,
            since=_time(since),
            compares_anew=compares_anew,
            processes=processes,
        )

    def triangles(
        self,
        owner_id: Name,
        *,
        at_least: Annotated[float, Field(ge=0, le=1)] = 0.85,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
    ) -> builtins.list[Triangle]:
        """An owner's pairs that a person separated, with a third joined to one and near the other.

        Near by the cosine of their own texts, the nearest first; one of the two words may be wrong.
        """
        return triangles(self._reader, owner_id, at_least, limit)

    def why(self, some_id: Id, *, owner_id: Name | None = None) -> Explanation:
        """Why a candidate, or each member of a memory, is where it is: the path of its decision.

        Of one that joined nobody, the path to the nearest that was looked at.
        """
        require_owned(self._reader, owner_id, some_id)
        return why(self._reader, bare(self._reader, some_id))

    def why_not(self, a: Id, b: Id, *, owner_id: Name | None = None) -> WhyNot:
        """Why two candidates are not in one memory: the reasons, the decisive one first.

        Such as `separated`, `judge`, `not_retrieved`, `below`, `guard` (docs/proof.md).
        """
        require_owned(self._reader, owner_id, a, b)
        return why_not(self._reader, bare(self._reader, a), bare(self._reader, b))

    def metrics(self) -> str:
        """Metrics of duplicates on arrival, counted from the log, in Prometheus' text format."""
        return viewing.metrics(self._reader)

    def show(
        self, memory_id: Id, *, owner_id: Name | None = None, as_of: int | Time | None = None
    ) -> ShownMemory:
        """A memory with every member, its join and its evidence; any member's id works.

        `timeline` lists the later statements about its members; `as_of` a position or a time.
        """
        require_owned(self._reader, owner_id, memory_id)
        return viewing.show(self._reader, memory_id, _as_of(as_of))

    def show_candidate(
        self, candidate_id: Id, *, owner_id: Name | None = None, as_of: int | Time | None = None
    ) -> ShownCandidate:
        """A candidate with its decision, its evidence, its timeline and the memory it is in."""
        require_owned(self._reader, owner_id, candidate_id)
        return viewing.show_candidate(self._reader, candidate_id, _as_of(as_of))

    def decisions(
        self,
        *,
        owner_id: Name | None = None,
        decision: KnownDecision | None = None,
        since: Time | None = None,
        limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
        as_of: int | Time | None = None,
    ) -> builtins.list[DecisionRow]:
        """The latest decisions that match, newest last; `as_of` a position or a time."""
        return viewing.decisions(
            self._reader,
            owner_id=owner_id,
            decision=decision,
            since=_time(since),
            limit=limit,
            as_of=_as_of(as_of),
        )

    def owners_of_session(self, session_id: Name) -> builtins.list[str]:
        """The owners with candidates in a session: usually one."""
        return viewing.owners_of_session(self._reader, session_id)

    def sql(
        self, query: Words, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> builtins.list[dict[str, Any]]:
        """Rows of a query over the analysts' views, as objects by column.

        `parameters` are a list for the query's `?`, or a dict for its `$name`. If two columns have
        the same name, the second is `name_1`. Raises UsageError for a bad query.
        """
        return viewing.sql(self._reader, query, parameters)

    @property
    def sql_file(self) -> Path:
        """The DuckDB file of views that analysts open, from any process at any time."""
        return viewing.sql_file(self._reader)

    @property
    def position(self) -> int:
        """The log's last position: everything that calls have written is durable up to it."""
        return self._reader.log.head()

    def wait_for(self, position: Position, *, timeout: Seconds = 30.0) -> None:
        """Wait until readers here see the log up to a position that a writer named.

        A store's own calls see what it wrote; this is for another process, which was given a
        `position`. Raises TransientError if it is not reached within `timeout` seconds.
        """
        self._reader.wait_for(position, timeout)

    def behind(self) -> int | None:
        """How many records of the decisions the store is behind the cluster.

        None without a cluster, if the store follows no cluster, or if no broker answers.
        """
        return self._writer.behind()

    def dead_letters(
        self,
        state: DeadLetterState | None = None,
        *,
        limit: Annotated[int, Field(ge=1)] | None = None,
        after: Id | None = None,
    ) -> builtins.list[dict[str, Any]]:
        """Unreadable inputs, the oldest first, without their bytes.

        At most `limit`, and only those that came after the one with the id `after`: a page.
        """
        return exchange.dead_letters(self._reader, state, limit, after)

    def dead_letter(self, letter_id: Id) -> tuple[dict[str, Any], bytes]:
        """An unreadable input, with its original bytes."""
        return exchange.dead_letter(self._reader, letter_id)

    # -- proof -------------------------------------------------------------------------------------

    def audits(
        self,
        *,
        actor: Name | None = None,
        progress: Callable[[str, float | None], None] | None = None,
    ) -> Audits:
        """A handle for audits: how many automatic joins are wrong at most (docs/proof.md).

        Its calls are `open`, `next`, `label`, `status`, `certify` and `check`; keep it for as long
        as you label, since it keeps what it read. `actor` is recorded with its requests.
        """
        return Audits(self._writer, self.turn.lock, progress, actor)

    # -- policy, projections and the log -----------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._reader.policy_in_force()

    def set_policy(self, policy: str | Policy, *, actor: str | None = None) -> PolicyInForce:
        """Put a policy in force from here on: a preset's name, a file, or a policy.

        Earlier decisions stay. UsageError for an unknown name.
        """
        wanted = policy if isinstance(policy, Policy) else load_policy(policy)
        rules = wanted.model_dump(mode="json")
        return self._writer.ask(PolicyRequest(request_id=fresh(), policy=rules, actor=actor))

    def rebuild(
        self,
        which: Sequence[str] = PROJECTIONS,
        progress: Callable[[str, float], None] | None = None,
    ) -> dict[str, Any]:
        """Recreate projections from the log beside the live ones, then swap them in."""
        return self._reader.upkeep.rebuild(which, progress)

    def verify(self, progress: Callable[[str, float], None] | None = None) -> dict[str, Any]:
        """Fold the log and compare it with everything in the projections."""
        return self._reader.upkeep.verify(progress)

    def export_log(self, file: Place, progress: Callable[[int], None] | None = None) -> int:
        """Write the log as CloudEvents lines, byte for byte; returns their number."""
        return exchange.export_log(self._reader, Path(file), progress)

    @staticmethod
    def import_log(path: Place, file: Place, progress: Callable[[int], None] | None = None) -> int:
        """Create a store at `path` from exported lines, exactly as they are."""
        return exchange.import_log(Path(path), Path(file), progress)


def _warn_of_another(folder: Path, log: Log, wanted: Policy) -> None:
    """Warn if a store that is opened with a policy has another one: the store's is in force."""
    recorded = log.last_policy()
    if recorded is not None and recorded.data.hash != wanted.hash:
        _log.warning(
            "the store %s keeps its policy %s (%s): the policy %s (%s) of the settings is for a new"
            " store, and `palimpsest policy set` changes it",
            folder,
            recorded.data.policy["name"],
            recorded.data.hash,
            wanted.name,
            wanted.hash,
        )


def _settings() -> Settings:
    from palimpsest.settings.settings import read_settings  # slow: only if needed

    return read_settings()


def _run(doing: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on a new event loop; UsageError inside a running one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(doing)
    doing.close()
    raise UsageError(
        "this call runs an event loop of its own: inside a running one, await it with"
        " asyncio.to_thread"
    )
