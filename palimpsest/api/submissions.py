"""What producers call: submit candidates, ingest files, import stores and export a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Unpack

from pydantic import Field

from palimpsest.api.arguments import Attribution, Id, Place
from palimpsest.api.calls import check_calls, run_to_end, takes_own_turns
from palimpsest.api.offers import Candidate, Candidates, IfInvalid, Offer, fields_of, read_offer
from palimpsest.api.opened import OpenedStore, late_settings
from palimpsest.contracts.answers import Accessed, Checked, Session
from palimpsest.contracts.candidate import DEFAULT_NAMESPACE, Duration, Name
from palimpsest.contracts.errors import InvalidInputError, UsageError
from palimpsest.contracts.limits import MOST
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import AccessRequest, CheckRequest, SessionRequest
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
from palimpsest.queries.duplicates import DedupResult, DuplicateCheck, dedup_result, duplicate_check
from palimpsest.queries.ids import require_owned
from palimpsest.sources import SourcePlace as ImportPlace
from palimpsest.sources.contract import Trust
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.embedder import Progress, ignore_progress
from palimpsest.streams.extract.conversation import wrong_time
from palimpsest.streams.intake import Form, Prepared
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.write.inputs import Outcome, Submission, why_invalid


@check_calls
class Submissions(OpenedStore):
    """Decides on candidates, from Python, files and existing stores."""

    def submit(
        self,
        candidates: Candidates,
        *,
        source: Name = "python",
        invalid: IfInvalid = "raise",
    ) -> list[Outcome]:
        """Decide on one candidate or several, in order; return one outcome for each.

        A candidate is a mapping with `owner_id` and `text` (docs/producers.md has all fields).
        All are read before any is stored: if one breaks a rule, or is not a mapping of plain JSON
        values, nothing is stored, and InvalidInputError has its `index` and names the field. With
        `invalid="collect"`, or if a single candidate is given without a list, its outcome is
        `invalid`, its bytes go to the dead letters, and the others are not affected. A candidate
        whose id is known with other content (`id_conflict`) is always handled in this way.
        """
        writer = self._writer
        inputs = read_offer(Offer(candidates, source, invalid))
        if isinstance(inputs, InvalidInputError):
            raise inputs
        return writer.submit(inputs)

    def submit_each(self, offers: Sequence[Offer]) -> list[list[Outcome] | InvalidInputError]:
        """Decide on the candidates of several callers as one batch.

        Returns for each caller its outcomes, or the error because of which none of its candidates
        is stored. Up to 512 candidates in total are one commit: either all are stored, or none.
        """
        writer = self._writer
        read = [read_offer(Offer(*offer)) for offer in offers]
        readable = (some for some in read if not isinstance(some, InvalidInputError))
        outcomes = iter(writer.submit([item for some in readable for item in some]))
        return [
            some if isinstance(some, InvalidInputError) else list(islice(outcomes, len(some)))
            for some in read
        ]

    @takes_own_turns
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
    ) -> list[Outcome]:
        """Remember a conversation: messages with `role` and `content`, and a time if they have one.

        The judge's model extracts memories, as `palimpsest extract` does; with `infer=False`, each
        message but empty ones and those of `system` and `developer` is stored as it is. A memory's
        metadata names the `message` that it came from: by its `id`, or by its number, from 1. All
        are stored, or none.
        UsageError if the judge cannot be used, or a `content` is of another type; InvalidInputError
        for a wrong time; TransientError if the judge gave no answer about some part of the
        conversation; ModelError if its model did not answer in the requested form.
        """
        given = [messages] if isinstance(messages, str | Mapping) else messages
        listed = [
            {"content": message} if isinstance(message, str) else message for message in given
        ]
        for number, message in enumerate(listed, start=1):
            if not isinstance(message.get("content"), str | list | tuple | None):
                raise UsageError(
                    f"message {number}: its `content` must be a text, a list of parts, or None"
                )
            if (wrong := wrong_time(message)) is not None:
                raise InvalidInputError("field", f"message {number}: {wrong}")
        about = {"owner_id": owner_id, "session_id": session_id, "namespace": namespace}
        known = {name: value for name, value in about.items() if value is not None}
        if not infer:
            return self._submit_whole(spoken(listed, known), source)
        with self.turn.lock:
            policy = self._reader.policy_in_force()
        settings = judge or late_settings().judge
        extracted = memories_of(listed, known, policy, settings, source=source, folder=self.folder)
        return self._submit_whole(run_to_end(extracted), source)

    def _submit_whole(self, rows: Sequence[Mapping[str, Any]], source: Name) -> list[Outcome]:
        """Submit rows in one commit, however many they are."""
        whole = Submission(request_id(), "", len(rows))
        inputs = read_offer(Offer(rows, source, submission=whole if len(rows) > WINDOW else None))
        if isinstance(inputs, InvalidInputError):
            raise inputs
        with self.turn.lock:
            return self._writer.submit(inputs)

    def check(self, candidate: Candidate, *, source: Name = "python") -> Checked:
        """Show what would be decided on a candidate if it were submitted now; write nothing.

        `candidate` and `source` are as in `submit`. The answer has the decision, the neighbour with
        its score, all neighbours considered, and the time it took. If the candidate breaks a rule,
        there is no decision on it, and InvalidInputError names the field.
        """
        [item] = to_inputs([candidate], source)
        if not isinstance(item.meaning, Prepared):
            raise why_invalid(item.meaning)
        request = CheckRequest(
            request_id=request_id(),
            owner_id=item.meaning.candidate.owner_id,
            row=item.row.raw.decode(),
            source=source,
        )
        return self._writer.ask(request)

    def check_duplicate(self, candidate: Candidate, *, source: Name = "python") -> DuplicateCheck:
        """Whether a candidate would be a duplicate, and of which memory.

        The same as `check`, in the terms of the `namespaced` design; nothing is written. Raises
        InvalidInputError if the candidate would be invalid.
        """
        answer = self.check(candidate, source=source)
        fields = fields_of(candidate)
        namespace = fields.get("namespace") or DEFAULT_NAMESPACE
        return duplicate_check(answer, fields["owner_id"], namespace)

    def dedup_result(self, candidate: Candidate, *, source: Name = "python") -> DedupResult:
        """Whether a candidate would be a duplicate, and of which memory.

        The same as `check`, in the terms of the `layered` design; nothing is written. Raises
        InvalidInputError if the candidate would be invalid.
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

        Rows without an owner belong to `owner`; rows without an expiry expire after `expires_in`
        (a duration such as `7d`, or seconds). `mapping` renames fields (theirs to ours); `form` is
        the files' format if their names do not show it. An interrupt stops the run and keeps what
        was decided. If the first hundred rows of a file are all wrong, WrongFileError is raised
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
        progress: Progress = ignore_progress,
    ) -> dict[str, Any]:
        """Import an existing store (docs/import.md); a dry run shows what would be imported.

        `path` is a file or the folder of a database; `table`, `query` and `history` select a part.
        `mapping` names fields (theirs to ours); those it leaves out are guessed. Rows without an
        owner belong to `owner`. Raises UsageError if the field of the text or the owner is unknown,
        or if the data could run a program and `trust` is False.
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
        progress: Progress = ignore_progress,
    ) -> dict[str, Any]:
        """Copy an imported store to `to` without its duplicates, in its own format.

        Returns the changes, and how to undo each; a file beside the copy says the same. With
        `texts` "original", a row is removed only if another row keeps its text, or a text that it
        was joined to; the sources of composed texts stay. With "face", each memory is one row, with
        the memory's text and its vector. Rows whose ids are in `keep` stay. Only the first
        `max_changes` changes are made. Raises RefusedError if `to` exists, or if the texts of rows
        cannot be replaced by faces; UsageError if nothing was imported from `path`.
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
        return self._writer.ask(AccessRequest(request_id=request_id(), candidate_id=candidate_id))

    def end_session(
        self, owner_id: Name, session_id: Name, **attribution: Unpack[Attribution]
    ) -> Session:
        """Record that a session ended; returns the figures of its consolidation, if any."""
        return self._writer.ask(
            SessionRequest(
                request_id=request_id(),
                request="end_session",
                owner_id=owner_id,
                session_id=session_id,
                **attribution,
            )
        )

    def compact_session(
        self, owner_id: Name, session_id: Name, **attribution: Unpack[Attribution]
    ) -> Session:
        """Record that a session's conversation was compacted: recall may return its texts again."""
        return self._writer.ask(
            SessionRequest(
                request_id=request_id(),
                request="compact",
                owner_id=owner_id,
                session_id=session_id,
                **attribution,
            )
        )

    def retry_dead_letters(
        self,
        letter_ids: Sequence[Id] | None = None,
        *,
        mapping: Mapping[str, str] | None = None,
    ) -> Summary:
        """Read dead letters again: all open ones, or those named; `mapping` is as in `ingest`."""
        return retry_dead_letters(self._writer, letter_ids, mapping)
