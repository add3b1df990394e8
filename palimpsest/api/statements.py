"""What people and agents state about memories: each is a request, and `undo` reverts most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from palimpsest.api.arguments import Attribution, Id, Time, moment, optional_moment
from palimpsest.api.calls import check_calls
from palimpsest.api.opened import OpenedStore
from palimpsest.contracts.answers import (
    Agreed,
    Apart,
    Forgotten,
    Merged,
    Names,
    NewExpiry,
    PutBack,
    Reinstatements,
    Restorations,
    Retractions,
    Reversals,
    TakenBack,
    Unmerged,
    Updated,
)
from palimpsest.contracts.candidate import Metadata, Name, Text
from palimpsest.contracts.errors import RefusedError, UsageError
from palimpsest.contracts.events import Again, Speaker
from palimpsest.contracts.identity import digest
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import (
    ConfirmRequest,
    ForgetRequest,
    JoinSelection,
    MergeRequest,
    RefuseRequest,
    ReinstateManyRequest,
    ReinstateRequest,
    Request,
    RestoreRequest,
    RetractRequest,
    ReverseRequest,
    Selection,
    SeparateRequest,
    SetExpiryRequest,
    SetNamesRequest,
    UnmergeRequest,
    UpdateRequest,
    WithdrawRequest,
)
from palimpsest.queries.find import meant
from palimpsest.queries.ids import forgetting_of, require_owned
from palimpsest.queries.memories import require_future, speaker_of
from palimpsest.queries.undoing import Way, escalated, request_for
from palimpsest.streams.write.answered import CONFLICT
from palimpsest.streams.write.serve import execute


@check_calls
class Statements(OpenedStore):
    """Changes memories on the word of a person or an agent: one memory, or many at once.

    A call about single ids raises RefusedError, with a `reason`, if an id is unknown, or if what
    holds forbids it (docs/unmerge.md, When it is refused).
    """

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
        request = MergeRequest(request_id=request_id(), a=a, b=b, face=face, **attribution)
        return self._writer.ask(request)

    def separate(
        self, a: Id, b: Id, *, owner_id: Name | None = None, **attribution: Unpack[Attribution]
    ) -> Apart:
        """Declare two candidates different: nothing automatic joins them again."""
        require_owned(self._reader, owner_id, a, b)
        request = SeparateRequest(request_id=request_id(), a=a, b=b, **attribution)
        return self._writer.ask(request)

    def withdraw(
        self, a: Id, b: Id, *, owner_id: Name | None = None, **attribution: Unpack[Attribution]
    ) -> Apart:
        """Take back the latest statement about a pair, a merge or a separation.

        Earlier statements about the pair hold again. RefusedError if there is none.
        """
        require_owned(self._reader, owner_id, a, b)
        request = WithdrawRequest(request_id=request_id(), a=a, b=b, **attribution)
        return self._writer.ask(request)

    def confirm(
        self, decision_id: Id, *, owner_id: Name | None = None, **attribution: Unpack[Attribution]
    ) -> Agreed:
        """Confirm a decision."""
        require_owned(self._reader, owner_id, decision_id)
        request = ConfirmRequest(request_id=request_id(), decision_id=decision_id, **attribution)
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
        `with_consequences` changes those decisions, too. Raises RefusedError if it is impossible,
        or if it is `by` an agent and a person made the join (`outranked`).
        """
        require_owned(self._reader, owner_id, decision_id, candidate_id, memory_id)
        request = UnmergeRequest(
            request_id=request_id(),
            decision_id=decision_id,
            candidate_id=candidate_id,
            memory_id=memory_id,
            dry_run=dry_run,
            with_consequences=with_consequences,
            rank=by or self._by or "agent",
            **attribution,
        )
        spoken = by or self._by
        return self._writer.ask(request if spoken else escalated(self._reader, request))

    def reinstate(
        self,
        decision_id: Id,
        *,
        dry_run: bool = False,
        by: Speaker | None = None,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> PutBack:
        """Take a reversal back, and undo everything that was done because of it.

        Returns the joins that are `reinstated`; joins made because of the reversal, which are
        `taken_back`; which of these a review had `confirmed`; joins that later statements
        prevent (`refused`); and the resulting memories. `dry_run` returns the result and writes
        nothing. Raises RefusedError if the join itself cannot return, or if it is `by` an agent
        and a person separated the two.
        """
        require_owned(self._reader, owner_id, decision_id)
        request = ReinstateRequest(
            request_id=request_id(),
            decision_id=decision_id,
            rank=by or self._by or "agent",
            dry_run=dry_run,
            **attribution,
        )
        spoken = by or self._by
        return self._writer.ask(request if spoken else escalated(self._reader, request))

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
        candidate whose text is its face: RefusedError (`moved_on`) if that has changed. Without
        `expect`, the answer names the text that was `displaced`. If another memory has the text,
        `merge` joins the two. `dry_run` shows the result and writes nothing. An update `by` an
        agent cannot overrule a person's statement. `owner_id`, if given, must be the memory's.
        """
        request = UpdateRequest(
            request_id=request_id(),
            memory_id=memory_id,
            text=text,
            owner_id=owner_id,
            expect=expect,
            merge=merge,
            rank=by or self._by or "agent",
            source=source,
            session_id=session_id,
            occurred_at=optional_moment(occurred_at),
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
        """Undo what an id names: a join, an update, a `forget`, a statement or a whole request.

        Undoing a join undoes its consequences, too. Undoing an update removes its text, separates
        nothing and keeps later updates. The id of a candidate or a memory names the memory's last
        update, or the request that hid it. The answer is that of the request that undoes it
        (docs/undo.md); `dry_run` returns what it would be and writes nothing. RefusedError if the
        id is unknown, if no request undoes it (`not_undoable`), or if it is `by` an agent and a
        person stated it (`outranked`).
        """
        return self._take("undo", some_id, by, owner_id, attribution, dry_run=dry_run)

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

        RefusedError as for `undo`, and if it was not undone (`not_undone`, `standing_already`).
        """
        return self._take("redo", some_id, by, owner_id, attribution, dry_run=dry_run)

    def _take(
        self,
        way: Way,
        some_id: str,
        by: Speaker | None,
        owner_id: str | None,
        attribution: Attribution,
        *,
        dry_run: bool,
    ) -> TakenBack:
        """Undo or redo by an id. It is idempotent: a repeated request gets the first answer."""
        name, asked = request_id(), digest(f"{way} {some_id}".encode())[:32]
        answered: TakenBack | None = None if dry_run else self._answered(name, asked)
        if answered is not None:
            return answered
        request: Request[TakenBack]
        try:
            request = request_for(
                self._reader, way, some_id, by=by or self._by, owner_id=owner_id, **attribution
            )
        except RefusedError as error:
            if dry_run:
                raise
            request = RefuseRequest(
                request_id=name,
                named=some_id,
                owner_id=owner_id,
                reason=error.reason,
                detail=error.detail,
                **attribution,
            )
        if not dry_run:
            return self._writer.ask(request.model_copy(update={"asked": asked}))
        if "dry_run" in type(request).model_fields:
            request = request.model_copy(update={"dry_run": True})
        return execute(self._reader.trial(), request)

    def _answered(self, name: str, asked: str) -> Any:
        """The answer to a repeated request, None if it is new; RefusedError if it is another one.

        It is looked up before anything that is refused once the request was carried out.
        """
        earlier = self._reader.log.of_request(name)
        if any(one.event.requestdigest != asked for one in earlier):
            raise RefusedError(CONFLICT.reason, CONFLICT.detail)
        return self._reader.answered(name) if earlier else None

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

        A plan's token, or for ids `expect`, is compared with their current state: RefusedError
        (`moved_on`) if one of them has changed. If a text arrives `again`, it waits for a person
        (`ask`), is stored as new (`allow`) or is refused. The default is `ask`; for texts forgotten
        by an agent it is `allow`, but a candidate that states a time before the forgetting is
        refused. `restore(forgotten=…)` undoes all of it. `dry_run` also shows which candidates wait
        for a verdict about these memories.
        """
        ids, token = meant(what)
        if token is not None and expect is not None:
            raise UsageError("forget: a plan has its own token: leave `expect` out")
        request = ForgetRequest(
            request_id=request_id(),
            memory_ids=ids,
            owner_id=owner_id,
            expect=token or expect,
            again=again,
            rank=by or self._by or "agent",
            dry_run=dry_run,
            **attribution,
        )
        return self._writer.ask(request)

    def reverse(
        self, selection: JoinSelection, *, dry_run: bool = False, **attribution: Unpack[Attribution]
    ) -> Reversals:
        """Un-merge all joins of a selection but verbatim repeats; `dry_run` only names them."""
        request = ReverseRequest(
            request_id=request_id(), selection=selection, dry_run=dry_run, **attribution
        )
        return self._writer.ask(request)

    def reinstate_many(
        self, selection: JoinSelection, *, dry_run: bool = False, **attribution: Unpack[Attribution]
    ) -> Reinstatements:
        """Take back the reversal of every join of a selection; `dry_run` only names the joins."""
        request = ReinstateManyRequest(
            request_id=request_id(), selection=selection, dry_run=dry_run, **attribution
        )
        return self._writer.ask(request)

    def retract(
        self, selection: Selection, *, dry_run: bool = False, **attribution: Unpack[Attribution]
    ) -> Retractions:
        """Hide candidates from recall and search, reversibly; their joins stay."""
        request = RetractRequest(
            request_id=request_id(), selection=selection, dry_run=dry_run, **attribution
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

        Candidates that brought a forgotten text again in the meantime join the restored memory in
        the same command. If `owner_id` is given, what was `forgotten` must belong to it; a
        selection names its own owner.
        """
        if owner_id is not None and forgotten is not None:
            forgetting_of(self._reader, owner_id, forgotten)
        request = RestoreRequest(
            request_id=request_id(),
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
        """Make a memory never expire, or expire at `until`; `undo` of the `event_id` reverts it.

        Any of its ids works: the candidate that speaks for the memory is pinned. Raises
        RefusedError if that is its expiry already (`unchanged`), or if it has expired and its text
        has been stated again since (`same_text`), and UsageError if `until` has passed.
        """
        require_owned(self._reader, owner_id, memory_id)
        speaker = speaker_of(self._reader, memory_id)
        asked = digest(f"pin {memory_id} {until}".encode())[:32]  # another may speak for it later
        return self._set_expiry(speaker, optional_moment(until), "person", attribution, asked)

    def renew(
        self,
        candidate_id: Id,
        expires_at: Time,
        *,
        owner_id: Name | None = None,
        **attribution: Unpack[Attribution],
    ) -> NewExpiry:
        """Change when a candidate expires, for an agent that still uses it.

        Raises RefusedError if it never expires or a person decided when (`outranked`), or if it
        has expired and its text has been stated again since (`same_text`), and UsageError if
        `expires_at` has passed.
        """
        require_owned(self._reader, owner_id, candidate_id)
        return self._set_expiry(candidate_id, moment(expires_at), "agent", attribution)

    def _set_expiry(
        self,
        candidate_id: str,
        expires_at: datetime | None,
        rank: Speaker,
        said: Attribution,
        asked: str | None = None,
    ) -> NewExpiry:
        name = request_id()
        if not self._reader.log.of_request(name):  # a repeat gets its answer, however late it is
            require_future(self._reader, expires_at)
        return self._writer.ask(
            SetExpiryRequest(
                request_id=name,
                asked=asked,
                candidate_id=candidate_id,
                expires_at=expires_at,
                rank=rank,
                **said,
            )
        )

    def set_names(
        self, owner_id: Name, names: Sequence[Name], **attribution: Unpack[Attribution]
    ) -> Names:
        """Set the names that texts call an owner by, such as `Ada`, `the user` and `I`.

        An empty list removes them. Texts that arrive from now on may be joined if they differ only
        in these names; earlier decisions stay. Raises RefusedError if these are the names already
        (`unchanged`), UsageError for one name alone.
        """
        return self._writer.ask(
            SetNamesRequest(
                request_id=request_id(), owner_id=owner_id, names=tuple(names), **attribution
            )
        )
