"""A store of memories, from Python: everything that the command line can do (docs/design.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, Unpack

from pydantic import BeforeValidator

from palimpsest import exchange
from palimpsest.batches import Batches, Said, fresh
from palimpsest.calls import Id, Place, checked, require_no_inheritance
from palimpsest.cluster_desk import ClusterDesk, log_that_follows
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requests import (
    AccessRequest,
    ComposeRequest,
    ConfirmRequest,
    MergeRequest,
    PolicyRequest,
    ReinstateRequest,
    SeparateRequest,
    SessionRequest,
    SettleRequest,
    UnmergeRequest,
    WithdrawRequest,
)
from palimpsest.desk import FrontDesk, Wait
from palimpsest.ingesting import (
    IngestProgress,
    KeepGoing,
    Summary,
    decide_on,
    ingest_letters,
    look_at,
    to_inputs,
)
from palimpsest.paths import LOG_FILE, PROJECTIONS
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.embedder import DEFAULT_MODEL, Embedder, Progress, load_engine
from palimpsest.streams.intake import Form
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy
from palimpsest.streams.write.desk import Answer
from palimpsest.streams.write.inputs import Outcome


def _no_text(candidates: object) -> object:
    if isinstance(candidates, str | bytes):
        raise ValueError("should be a mapping, such as a dict, or several of them")
    return candidates


Candidates = Annotated[Mapping[str, Any] | Iterable[Mapping[str, Any]], BeforeValidator(_no_text)]
"""One candidate or several, as Python values."""
EngineName = Literal["onnx", "sentence-transformers"]


@checked
class Palimpsest(Batches):
    """A store that is open in this process. Several threads may use it: their calls take turns.

    A forked child cannot use what its parent opened, and is told so: open stores after the fork.
    Any number of processes may have it open. Whoever wants to write takes the writer's lock for as
    long as the call lasts; while another holds it, candidates and requests go through the inbox
    and the call waits for the answer. Ids are those that the calls and `sql` return.
    """

    @classmethod
    def open(
        cls,
        path: Place,
        *,
        create: bool = True,
        policy: str | Policy = "standard",
        engine: EngineName = "onnx",
        model: str = DEFAULT_MODEL,
        progress: Progress | None = None,
        cluster: Connection | None = None,
        wait: Wait = "durable",
    ) -> Self:
        """Open the store in the folder `path`, made first unless `create` is False.

        `policy` (a preset's name, a file, or a policy) is put in force by the first candidate of a
        new store; later `set_policy` changes it. The model is loaded when the first text needs it.
        With a `cluster`, which this store follows, all that is said goes to its topics; `project`
        alone makes a store then, and without one nothing can be read.

        A call that writes returns when what it wrote is `durable`: this store's own calls see it,
        and other readers a moment later (`wait_for`). With `wait="visible"` it returns when they
        do; `close` and the end of the process wait for that in any case.

        Raises StoreError where there is no store, or none that can be read; UsageError in a process
        that was forked after a store was opened.
        """
        require_no_inheritance()
        folder = Path(path)
        wanted = policy if isinstance(policy, Policy) else load_policy(policy)

        def embedder() -> Embedder:
            return Embedder(load_engine(model, engine, progress=progress))

        if cluster is not None:
            log = log_that_follows(folder, needed=not create)
            return cls(folder, ClusterDesk(folder, log, wanted, embedder, cluster))
        if create:
            exchange.make_folder(folder)
        log = (Log.create if create else Log.open)(folder / LOG_FILE, shared=True)
        return cls(folder, FrontDesk(folder, log, wanted, embedder, wait))

    # -- what producers say ----------------------------------------------------------------------

    def submit(
        self,
        candidates: Candidates,
        *,
        source: Name = "python",
    ) -> list[Outcome]:
        """Decide on one candidate or several, in order; one outcome for each.

        A candidate is a mapping with `owner_id` and `text` (docs/producers.md has all fields). One
        that breaks a rule, or is no mapping of plain JSON values, has the outcome `invalid`; the
        rest goes on.
        """
        rows = [candidates] if isinstance(candidates, Mapping) else list(candidates)
        return self._desk.submit(to_inputs(rows, source))

    def ingest(
        self,
        files: Place | Sequence[Place],
        *,
        source: Name | None = None,
        mapping: Mapping[str, str] | None = None,
        form: Form | None = None,
        keep_going: KeepGoing = False,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> Summary:
        """Decide on every row of a file or several (JSONL or a JSON array, CSV, Parquet, or `-`).

        `mapping` renames fields (theirs to ours); `form` says what the files are where their names
        do not. An interrupt ends it with what was done. WrongFileError, before anything is written,
        where the first hundred rows of a file are all wrong; `keep_going` reads it all the same.
        """
        desk = self._desk
        paths = [files] if isinstance(files, str | Path) else files
        looked = look_at(
            [str(path) for path in paths],
            source=source,
            mapping=mapping,
            form=form,
            keep_going=keep_going,
        )
        return decide_on(desk, looked, progress)

    def access(self, candidate_id: Id) -> Answer:
        """Note that the memory of a candidate was used."""
        return self._desk.ask(AccessRequest(request_id=fresh(), candidate_id=candidate_id))

    def end_session(self, owner_id: Name, session_id: Name) -> Answer:
        """Note that a session ended."""
        return self._desk.ask(
            SessionRequest(
                request_id=fresh(),
                request="end_session",
                owner_id=owner_id,
                session_id=session_id,
            )
        )

    def compact_session(self, owner_id: Name, session_id: Name) -> Answer:
        """Note that a session's conversation was compacted: what it said may be recalled again."""
        return self._desk.ask(
            SessionRequest(
                request_id=fresh(),
                request="compact",
                owner_id=owner_id,
                session_id=session_id,
            )
        )

    # -- what people say -------------------------------------------------------------------------

    def merge(
        self,
        a: Id,
        b: Id,
        *,
        face: Id | None = None,
        **said: Unpack[Said],
    ) -> Answer:
        """Say that two candidates are the same; `face` is the one whose side speaks (the older).

        Raises RefusedError, with the path, where a person said otherwise.
        """
        return self._desk.ask(MergeRequest(request_id=fresh(), a=a, b=b, face=face, **said))

    def separate(self, a: Id, b: Id, **said: Unpack[Said]) -> Answer:
        """Say that two candidates are not the same: nothing automatic joins them any more."""
        return self._desk.ask(SeparateRequest(request_id=fresh(), a=a, b=b, **said))

    def withdraw(self, a: Id, b: Id, **said: Unpack[Said]) -> Answer:
        """Take back the latest word that two candidates are not the same.

        RefusedError where nobody has said so.
        """
        return self._desk.ask(WithdrawRequest(request_id=fresh(), a=a, b=b, **said))

    def confirm(self, decision_id: Id, **said: Unpack[Said]) -> Answer:
        """Agree with a decision."""
        return self._desk.ask(ConfirmRequest(request_id=fresh(), decision_id=decision_id, **said))

    def unmerge(
        self,
        *,
        decision_id: Id | None = None,
        candidate_id: Id | None = None,
        memory_id: Id | None = None,
        dry_run: bool = False,
        with_consequences: bool = False,
        **said: Unpack[Said],
    ) -> Answer:
        """Take a join out, named by exactly one of its decision, its candidate or its memory.

        Returns the reversed decisions and the memories that there are then; with `dry_run` those
        that there would be, the later decisions that would have been others, and nothing is
        written. `with_consequences` carries these out, too. RefusedError where it cannot be.
        """
        if [decision_id, candidate_id, memory_id].count(None) != 2:
            raise UsageError(
                "unmerge: name exactly one of `decision_id`, `candidate_id` and `memory_id`"
            )
        request = UnmergeRequest(
            request_id=fresh(),
            decision_id=decision_id,
            candidate_id=candidate_id,
            memory_id=memory_id,
            dry_run=dry_run,
            with_consequences=with_consequences,
            **said,
        )
        return self._do(request, dry_run)

    def reinstate(self, decision_id: Id, *, dry_run: bool = False, **said: Unpack[Said]) -> Answer:
        """Take a reversal back, with all that was done because of it.

        Returns the joins that are `reinstated`, those that were made because of the reversal and
        are `taken_back`, what later words prevent (`refused`), and the memories that there are
        then; with `dry_run` what would be, and nothing is written. RefusedError where the join
        itself cannot come back.
        """
        request = ReinstateRequest(
            request_id=fresh(), decision_id=decision_id, dry_run=dry_run, **said
        )
        return self._do(request, dry_run)

    def settle(self, requests: Sequence[SettleRequest]) -> list[Answer | RefusedError]:
        """Bring the judge's verdicts about pending candidates; one answer or refusal for each."""
        return self._desk.ask_each(requests)

    def compose(self, request: ComposeRequest) -> Answer:
        """Bring a text composed anew for a memory that needs one."""
        return self._desk.ask(request)

    def set_policy(self, policy: Policy, *, actor: str | None = None) -> Answer:
        """Put a policy in force from here on; what was decided stays."""
        rules = policy.model_dump(mode="json")
        return self._desk.ask(PolicyRequest(request_id=fresh(), policy=rules, actor=actor))

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._desk.policy_in_force()

    # -- care ------------------------------------------------------------------------------------

    def rebuild(
        self,
        which: Sequence[str] = PROJECTIONS,
        progress: Callable[[str, float], None] | None = None,
    ) -> dict[str, Any]:
        """Make projections anew from the log, beside the live ones, and swap them in."""
        return self._desk.rebuild(which, progress)

    def verify(self, progress: Callable[[str, float], None] | None = None) -> dict[str, Any]:
        """Fold the log and compare it with everything that the projections hold."""
        return self._desk.verify(progress)

    @staticmethod
    def import_log(path: Place, file: Place, progress: Callable[[int], None] | None = None) -> int:
        """Make a store at `path` from exported lines; nothing is added to them."""
        return exchange.import_log(Path(path), Path(file), progress)

    def retry_dead_letters(
        self,
        letter_ids: Sequence[Id] | None = None,
        *,
        mapping: Mapping[str, str] | None = None,
    ) -> Summary:
        """Read dead letters again: all open ones, or those named; `mapping` as in `ingest`."""
        return ingest_letters(self._desk, letter_ids, mapping)
