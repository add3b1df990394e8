"""A store of memories, from Python: everything that the command line can do (design section 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

from contracts.errors import RefusedError, StoreError
from contracts.policy import Policy
from contracts.requests import (
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
)
from palimpsest import exchange
from palimpsest.batches import Batches, Said, fresh
from palimpsest.cluster_desk import ClusterDesk, log_that_follows
from palimpsest.desk import FrontDesk
from palimpsest.ingesting import (
    IngestProgress,
    KeepGoing,
    Summary,
    ingest_files,
    ingest_letters,
    to_inputs,
)
from palimpsest.paths import LOG_FILE, PROJECTIONS
from streams.cluster.connection import Connection
from streams.embedded.desk import Answer
from streams.embedded.inputs import Outcome
from streams.embedded.log import Log
from streams.embedder import DEFAULT_MODEL, Embedder, Progress, load_engine
from streams.intake import Form
from streams.policies import load_policy


class Palimpsest(Batches):
    """A store that is open in this process; used by one thread at a time.

    Any number of processes may have it open. Whoever wants to write takes the writer's lock for as
    long as the call lasts; while another holds it, candidates and requests go through the inbox
    and the call waits for the answer. Ids are those that the calls and `sql` return.
    """

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = True,
        policy: str | Policy = "standard",
        engine: str = "onnx",
        model: str = DEFAULT_MODEL,
        progress: Progress | None = None,
        cluster: Connection | None = None,
    ) -> Self:
        """Open the store in the folder `path`, made first unless `create` is False.

        `policy` (a preset's name, a file, or a policy) is put in force by the first candidate of a
        new store; later `set_policy` changes it. The model is loaded when the first text needs it.
        With a `cluster`, which this store follows, all that is said goes to its topics; `project`
        alone makes a store then, and without one nothing can be read.
        Raises StoreError where there is no store, or none that can be read.
        """
        folder = Path(path)
        wanted = policy if isinstance(policy, Policy) else load_policy(policy)

        def embedder() -> Embedder:
            return Embedder(load_engine(model, engine, progress=progress))

        if cluster is not None:
            log = log_that_follows(folder, needed=not create)
            return cls(folder, ClusterDesk(folder, log, wanted, embedder, cluster))
        if create:
            _make(folder)
        log = (Log.create if create else Log.open)(folder / LOG_FILE)
        return cls(folder, FrontDesk(folder, log, wanted, embedder))

    # -- what producers say ----------------------------------------------------------------------

    def submit(
        self, candidates: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, source: str = "python"
    ) -> list[Outcome]:
        """Decide on one candidate or several, in order; one outcome for each.

        A candidate is a mapping with `owner_id` and `text` (docs/producers.md has all fields). One
        that breaks a rule has the outcome `invalid`; the rest goes on.
        """
        rows = [candidates] if isinstance(candidates, Mapping) else list(candidates)
        return self._desk.submit(to_inputs(rows, source))

    def ingest(
        self,
        files: Sequence[str],
        *,
        source: str | None = None,
        mapping: Mapping[str, str] | None = None,
        form: Form | None = None,
        keep_going: KeepGoing = False,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> Summary:
        """Decide on every row of files (JSON lines or an array, CSV, Parquet, or `-`), and sum up.

        `mapping` renames fields (theirs to ours); `form` says what the files are where their names
        do not. An interrupt ends it with what was done. WrongFileError, before anything is written,
        where the first hundred rows of a file are all wrong; `keep_going` reads it all the same.
        """
        return ingest_files(
            self._desk,
            files,
            source=source,
            mapping=mapping,
            form=form,
            keep_going=keep_going,
            progress=progress,
        )

    def access(self, candidate_id: str) -> Answer:
        """Note that the memory of a candidate was used."""
        return self._desk.ask(AccessRequest(request_id=fresh(), candidate_id=candidate_id))

    def end_session(self, owner_id: str, session_id: str) -> Answer:
        """Note that a session ended."""
        return self._desk.ask(
            SessionRequest(
                request_id=fresh(),
                request="end_session",
                owner_id=owner_id,
                session_id=session_id,
            )
        )

    def compact_session(self, owner_id: str, session_id: str) -> Answer:
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
        a: str,
        b: str,
        *,
        face: str | None = None,
        **said: Unpack[Said],
    ) -> Answer:
        """Say that two candidates are the same; `face` is the one whose side speaks (the older).

        Raises RefusedError, with the path, where a person said otherwise.
        """
        return self._desk.ask(MergeRequest(request_id=fresh(), a=a, b=b, face=face, **said))

    def separate(self, a: str, b: str, **said: Unpack[Said]) -> Answer:
        """Say that two candidates are not the same: nothing automatic joins them any more."""
        return self._desk.ask(SeparateRequest(request_id=fresh(), a=a, b=b, **said))

    def confirm(self, decision_id: str, **said: Unpack[Said]) -> Answer:
        """Agree with a decision."""
        return self._desk.ask(ConfirmRequest(request_id=fresh(), decision_id=decision_id, **said))

    def unmerge(
        self,
        *,
        decision_id: str | None = None,
        candidate_id: str | None = None,
        memory_id: str | None = None,
        dry_run: bool = False,
        with_consequences: bool = False,
        **said: Unpack[Said],
    ) -> Answer:
        """Take a join out, named by exactly one of its decision, its candidate or its memory.

        Returns the reversed decisions and the memories that there are then; with `dry_run` those
        that there would be, the later decisions that would have been others, and nothing is
        written. `with_consequences` carries these out, too. RefusedError where it cannot be.
        """
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

    def reinstate(self, decision_id: str, *, dry_run: bool = False, **said: Unpack[Said]) -> Answer:
        """Take a reversal back."""
        request = ReinstateRequest(request_id=fresh(), decision_id=decision_id, **said)
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
    def import_log(
        path: str | Path, file: Path, progress: Callable[[int], None] | None = None
    ) -> int:
        """Make a store at `path` from exported lines; nothing is added to them."""
        _make(Path(path))
        return exchange.import_log(Path(path), file, progress)

    def retry_dead_letters(
        self,
        letter_ids: Sequence[str] | None = None,
        *,
        mapping: Mapping[str, str] | None = None,
    ) -> Summary:
        """Read dead letters again: all open ones, or those named; `mapping` as in `ingest`."""
        return ingest_letters(self._desk, letter_ids, mapping)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder {folder} cannot be made: {error.strerror}") from error
