"""Un-merging: reversing joins, and what would have been decided without them (docs/design.md)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from palimpsest.contracts.answers import NotDone, PutBack, Unmerged
from palimpsest.contracts.commands import Combine, Redecide, Reinstate, Unmerge
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Reinstated
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.policy import PairsDedupe, Policy, recorded_policy
from palimpsest.contracts.requests import ReinstateRequest, UnmergeRequest
from palimpsest.contracts.wire import Recorded
from palimpsest.streams.core.expand import reinstate_commands, unmerge_commands
from palimpsest.streams.core.ledger import Entry, Ledger
from palimpsest.streams.core.picture import pictures
from palimpsest.streams.replay.consequences import (
    commands,
    describe,
    describe_runs,
    plan,
)
from palimpsest.streams.search.scope_indexes import ScopeIndexes
from palimpsest.streams.write.dry_run import DryRun
from palimpsest.streams.write.executor import (
    Executor,
    owner_of_candidate,
    owner_of_decision,
    run_one,
    trial_of,
)


def unmerge(executor: Executor, request: UnmergeRequest) -> Unmerged:
    """Reverse joins. Raises RefusedError if none can be reversed.

    With `dry_run` or `with_consequences`, the answer lists the later decisions that would have been
    different; `with_consequences` also changes them. A repeated request gets its first answer and
    does nothing.
    """
    owner_id = (
        owner_of_decision(executor, request.decision_id)
        if request.decision_id
        else owner_of_candidate(executor, request.candidate_id or request.memory_id or "")
    )
    first = _earlier(executor, owner_id, request)
    if first is not None:
        executor = as_found(executor, first)
    ledger = executor.ledger(owner_id)
    done: list[str] = []
    refused: list[NotDone] = []
    joins_out = unmerge_commands(ledger, request)
    if request.memory_id is not None and _is_exact(ledger, joins_out[0].decision_id):
        detail = "all its joins are verbatim repeats, which stay: equal texts are one memory"
        refusal = RefusedError("same_text", detail)
        executor.refuse(joins_out[0], refusal)
        raise refusal
    for command in joins_out:
        _, why = run_one(executor, command, command.decision_id)
        refused += why
        if not why:
            done.append(command.decision_id)
    if not done:
        raise RefusedError(refused[0]["reason"], refused[0]["detail"])
    memories = pictures(_ends(ledger, done))
    answer: Unmerged = {"reversed": done, "refused": refused, "memories": memories}
    if not request.dry_run:
        answer["cause"] = request.request_id
    if request.dry_run or request.with_consequences:
        _add_consequences(executor, request, answer, ledger)
    return answer


def _ends(ledger: Ledger, joins: Iterable[str]) -> list[Entry]:
    """The candidates that each of the joins is between."""
    edges = (ledger.edges[join] for join in joins)
    return [entry for edge in edges for entry in (edge.older, edge.newer)]


def _is_exact(ledger: Ledger, decision_id: str) -> bool:
    edge = ledger.edges.get(decision_id)
    return edge is not None and edge.exact


def _earlier(executor: Executor, owner_id: str, request: UnmergeRequest) -> Recorded | None:
    """The first event of the same request, if it was carried out before."""
    ledger = executor.ledger(owner_id)
    own = (event_id(command.command_id, "0") for command in unmerge_commands(ledger, request))
    events = [executor.log.find(some_id) for some_id in own if some_id in ledger.events]
    return min(
        (event for event in events if event), key=lambda recorded: recorded.position, default=None
    )


def as_found(executor: Executor, first: Recorded) -> DryRun:
    """A dry run on the log as the request found it, so that it gives the same answer again.

    All that a request does is committed at once, so nothing of it is left to be done.
    """
    before = first.position - 1
    recorded = executor.log.last_policy(before)
    policy = recorded_policy(recorded.data) if recorded else executor.policy
    return DryRun(executor.log, policy, lambda: first.event.time, before)


def reinstate(
    executor: Executor,
    request: ReinstateRequest,
    also: tuple[str, ...] = (),
    *,
    shows: bool = True,
) -> PutBack:
    """Take a reversal back, with everything that its request did because of it.

    `taken_back` are the joins that were made because of the reversal, `confirmed` those among them
    that a review had confirmed, `reinstated` the joins that are back, `refused` what later
    statements prevent, and `events` the ids of the recorded events. Raises RefusedError, without
    any effect, if the join itself cannot come back. A repeated request gets its first answer.
    `also` are joins that may come back together with it if none of them could alone. Without
    `shows`, the answer has no memories: showing one of thousands of members costs more than its
    join.
    """
    owner_id = owner_of_decision(executor, request.decision_id)
    first = executor.log.find(event_id(event_id(request.request_id, request.decision_id), "0"))
    if first is not None:
        return _put_back(as_found(executor, first), owner_id, request, also, shows=shows)
    asked_for = reinstate_commands(executor.ledger(owner_id), request, executor.policy)
    if len(asked_for) > 1 and not isinstance(executor, DryRun):
        # Other joins are reversed before this one comes back: try it first on the committed state.
        executor.commit_part()
        try:
            _put_back(trial_of(executor), owner_id, request, also, shows=False)
        except RefusedError as error:
            itself = next(
                command for command in asked_for if _target(command) == request.decision_id
            )
            executor.refuse(itself, error)
            raise
    return _put_back(executor, owner_id, request, also, shows=shows)


def _put_back(
    executor: Executor,
    owner_id: str,
    request: ReinstateRequest,
    also: tuple[str, ...],
    *,
    shows: bool,
) -> PutBack:
    ledger = executor.ledger(owner_id)
    back: list[str] = []
    taken: list[str] = []
    confirmed: list[str] = []
    refused: list[NotDone] = []
    touched: list[str] = []
    recorded: list[str] = []
    for command in reinstate_commands(ledger, request, executor.policy):
        target = _target(command)
        if target in back:  # it came back with an earlier one
            continue
        was_confirmed = ledger.reviews.get(target) == "confirmed"
        together = {"also": also} if isinstance(command, Reinstate) else {}
        events, why = run_one(executor, command.model_copy(update=together), target)
        if why and target == request.decision_id:
            raise RefusedError(why[0]["reason"], why[0]["detail"])
        refused += why
        recorded += [event.id for event in events]
        if isinstance(command, Redecide):
            continue
        joins = [event.data.decision_id for event in events if isinstance(event, Reinstated)]
        back += joins
        touched += joins or [command.decision_id]
        if isinstance(command, Unmerge) and not why:
            taken.append(target)
        if was_confirmed and not why:
            confirmed.append(target)
    answer: PutBack = {
        "decision_id": request.decision_id,
        "reinstated": back,
        "taken_back": taken,
        "confirmed": confirmed,
        "refused": refused,
        "memories": pictures(_ends(ledger, touched)) if shows else [],
    }
    return answer if request.dry_run else {**answer, "events": recorded}


def _target(command: Unmerge | Redecide | Reinstate | Combine) -> str:
    if isinstance(command, Combine):
        return event_id(command.command_id, "0")
    return command.candidate_id if isinstance(command, Redecide) else command.decision_id


# -- consequences --------------------------------------------------------------------------------


def _add_consequences(
    executor: Executor, request: UnmergeRequest, answer: Unmerged, ledger: Ledger
) -> None:
    """Add to the answer the consequences that the committed log shows; execute them if asked."""
    out, policies = answer["reversed"], executor.log.policies()
    recorded = executor.recorded(ledger.owner_id) if _join_memories(policies.values()) else ()
    found = plan(ledger, recorded, out, policies, ScopeIndexes().neighbours)
    described = [describe(consequence) for consequence in found.consequences]
    answer["consequences"] = described + describe_runs(ledger, found)
    answer["overtaken"] = list(found.overtaken)
    if request.with_consequences:
        _carry_out(executor, commands(ledger, request, out, found), answer)
        changed = [
            *(
                member["candidate_id"]
                for shown in answer["memories"]
                for member in shown["members"]
            ),
            *(consequence.candidate.id for consequence in found.consequences),
            *(edge.newer.id for edge in found.unmade),
            *(event.data.candidate_id for event in found.made),
        ]
        entries = executor.ledger(ledger.owner_id).entries
        answer["memories"] = pictures([entries[candidate] for candidate in changed])


def _join_memories(policies: Iterable[Policy]) -> bool:
    """Whether a policy compares or joins memories, so that a join may rest on their history."""
    return any(
        policy.search == "memories" or isinstance(policy.dedupe, PairsDedupe) for policy in policies
    )


def _carry_out(
    executor: Executor, asked_for: Iterable[Unmerge | Redecide | Combine], answer: Unmerged
) -> None:
    carried_out: list[str] = []
    for command in asked_for:
        _, why = run_one(executor, _embed(executor, command), _target(command))
        answer["refused"] += why
        if not why:
            carried_out.append(event_id(command.command_id, "0"))
    answer["carried_out"] = carried_out


def _embed(
    executor: Executor, command: Unmerge | Redecide | Combine
) -> Unmerge | Redecide | Combine:
    """The command; a text that no run has composed before gets its vector now."""
    text = command.composition if isinstance(command, Combine) else None
    if text is None or text.content.vector is not None:
        return command
    made = structs.replace(text, content=executor.content(text.content.text))
    return command.model_copy(update={"composition": made})
