"""Decides a store's history again under another policy, and reports what would be different.

It uses only the log: no model is called, nothing is written, and nothing is guessed.
"""

from __future__ import annotations

import math
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypedDict

from palimpsest.backends.reader import Reader
from palimpsest.contracts.counting import counted
from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    Redecided,
    Reinstated,
    Reversed,
    Settled,
)
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import Recorded
from palimpsest.evaluation.automatic import CertifiedJoins
from palimpsest.evaluation.other_vectors import with_vectors_of
from palimpsest.streams.core.ledger import Entry, Ledger, Memory
from palimpsest.streams.embedder import Progress
from palimpsest.streams.garbage import collector_at_rest
from palimpsest.streams.log.log import Log
from palimpsest.streams.replay.another_policy import AnotherPolicy
from palimpsest.streams.search.scope_indexes import ScopeIndexes

PARTS = 8
"""Parts into which each process's owners are divided; progress is reported after each part."""
MOST_EXAMPLES = 5
"""Examples of each change, and of memories that split or unite."""


class Example(TypedDict):
    """A candidate that would be decided on differently, with what it joined and would join."""

    owner_id: str
    candidate_id: str
    text: str
    joined: str | None
    would_join: str | None


class ChangedDecision(TypedDict):
    """Decisions that would be different: the names before and after, their number, and examples.

    If both names are the same, the decisions would join another candidate.
    """

    was: str
    would_be: str
    count: int
    examples: list[Example]


class Regrouping(TypedDict):
    """The texts of a memory that would become several, or of several that would become one."""

    owner_id: str
    memories: list[list[str]]


class StillCovered(TypedDict):
    """How much the latest certificate of an audit would still cover under the other policy.

    `still` of its standing `joins` would be made in the same way. `others` counts the joins that
    the policy would make and the certificate does not cover. `labels_kept` of its `labels` would
    count again. A new audit would take about `labels_needed` *new* labels, if none is an error and
    nothing is missed, because some of the joins that it draws keep their label. None if no number
    of labels would do.
    """

    audit: str
    joins: int
    still: int
    others: int
    labels: int
    labels_kept: int
    labels_needed: int | None


class Backtest(TypedDict):
    """The differences; fields named `would_be_…` are counts under the other policy.

    `split` counts memories that would become several, `united` those that would result from
    several; `faces` counts living memories with the same members and another face. `questions` are
    the recorded pairs for the judge, and `would_be_questions` those of the other policy. Of these,
    the log has no answer to `unanswered`: they would cost `cost_usd` at the mean cost of the log's
    verdicts on newcomers; None if that is unknown. `overtaken` counts events of people and runs
    that would no longer be possible. `certificate` says what `calibrate` has certified, `audited`
    what the latest certificate of an audit still covers.
    """

    policy: str
    hash: str
    owners: int
    candidates: int
    changed: int
    changes: list[ChangedDecision]
    memories: int
    would_be_memories: int
    split: int
    united: int
    splits: list[Regrouping]
    unions: list[Regrouping]
    faces: int
    questions: int
    would_be_questions: int
    unanswered: int
    cost_usd: float | None
    overtaken: int
    certificate: str | None
    audited: StillCovered | None


@dataclass
class _Counts:
    """Counts over owners."""

    owners: int = 0
    candidates: int = 0
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: defaultdict[tuple[str, str], list[Example]] = field(
        default_factory=partial(defaultdict, list)
    )
    splits: list[Regrouping] = field(default_factory=list)
    unions: list[Regrouping] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    costs: list[float] = field(default_factory=list)

    def add(self, more: _Counts) -> None:
        """Add the counts of other owners."""
        self.owners += more.owners
        self.candidates += more.candidates
        self.changes += more.changes
        self.totals += more.totals
        self.costs += more.costs
        for names, examples in more.examples.items():
            self.examples[names] = [*self.examples[names], *examples][:MOST_EXAMPLES]
        self.splits = [*self.splits, *more.splits][:MOST_EXAMPLES]
        self.unions = [*self.unions, *more.unions][:MOST_EXAMPLES]


@dataclass(frozen=True)
class _Again:
    """How to decide again, the same for every process."""

    policy: Policy
    since: datetime | None
    compares_anew: bool
    certified: CertifiedJoins | None


def backtest(
    reader: Reader,
    policy: Policy,
    progress: Progress,
    *,
    owner: str | None = None,
    since: datetime | None = None,
    compares_anew: bool = False,
    processes: int = 1,
    certified: CertifiedJoins | None = None,
    labels_needed: Callable[[int], int | None] = lambda _: None,
) -> Backtest:
    """Decide a store's history again under a policy, with the answers and vectors in the log.

    It covers the owners that match the regular expression `owner`, and decisions from `since` on.
    Several `processes` share the owners; each imports the program's main module, as
    `multiprocessing` does. `labels_needed` maps a number of joins to the labels that an audit of
    them takes. UsageError if a text has no recorded vector of the policy's model, or no owner
    matches.
    """
    owners = _owners(reader, owner)
    counts, asked = _Counts(), _Again(policy, since, compares_anew, certified)
    processes = min(processes, len(owners)) or 1  # all are started at once, each for a second
    size = math.ceil(len(owners) / (PARTS * processes)) or 1
    parts = [owners[start : start + size] for start in range(0, len(owners), size)]
    with ExitStack() as held:
        if processes == 1:
            found: Iterator[_Counts] = (_decide_again(reader.log, asked, part) for part in parts)
        else:
            workers = ProcessPoolExecutor(processes, get_context("spawn"), _end_in_silence)
            pool = held.enter_context(workers)
            held.callback(pool.shutdown, cancel_futures=True)  # an interrupt ends the wait
            with _without_interrupts():
                found = pool.map(partial(_in_process, reader.log.path, asked), parts)
        for number, part in enumerate(found, 1):
            counts.add(part)
            progress(f"deciding again for {counted(len(owners), 'owner')}", number / len(parts))
    audited = None if certified is None else _covered(certified.audit, counts, labels_needed)
    return _document(counts, policy, audited)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes that are started here get Ctrl-C once they can end without printing a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_in_silence() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _in_process(log_file: Path, asked: _Again, owners: Sequence[str]) -> _Counts:
    with Log.open(log_file, read_only=True) as log:
        return _decide_again(log, asked, owners)


def _decide_again(log: Log, asked: _Again, owners: Sequence[str]) -> _Counts:
    """What would be different for some owners."""
    counts, policies = _Counts(), log.policies()
    others = {known.model for known in policies.values()} - {asked.policy.model}
    for owner_id in owners:
        recorded = [*log.of_owner(owner_id)]
        events = [one.event for one in recorded]
        if others:
            events = with_vectors_of(asked.policy.model, events)
        history = AnotherPolicy(
            owner_id,
            asked.policy,
            policies,
            ScopeIndexes(framed=True).neighbours,
            since=asked.since,
            compares_anew=asked.compares_anew,
        )
        with collector_at_rest():
            history.replay(events)
        _compare(counts, history, events, asked.since)
        if asked.certified is not None:
            position = asked.certified.position
            sealed = _standing_at(position, recorded)
            counts.totals += asked.certified.kept(history.real, history.other, sealed)
        history.real.dissolve()
        history.other.dissolve()
    return counts


def _standing_at(position: int, events: Sequence[Recorded]) -> set[str]:
    """The ids of an owner's events up to a position, without joins that did not stand then."""
    first_said: dict[str, AnyEvent] = {}
    for recorded in events:
        event = recorded.event
        if recorded.position > position and isinstance(event, Reversed | Reinstated):
            first_said.setdefault(event.data.decision_id, event)
    out = {one for one, event in first_said.items() if isinstance(event, Reinstated)}
    return {one.event.id for one in events if one.position <= position} - out


def _owners(reader: Reader, pattern: str | None) -> list[str]:
    if pattern is None:
        return [*reader.log.owners()]
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"the pattern of owners is not a regular expression: {error}") from None
    found = [owner for owner in reader.log.owners() if wanted.fullmatch(owner)]
    if not found:
        raise UsageError(
            f"no owner matches the regular expression {pattern}; `team-.*` matches team-a"
        )
    return found


def _compare(
    counts: _Counts, history: AnotherPolicy, events: Sequence[AnyEvent], since: datetime | None
) -> None:
    real, other = history.real, history.other
    counts.owners += 1
    for entry in real.entries.values():
        if since is None or entry.decided_at >= since:
            counts.candidates += 1
            _compare_candidate(counts, entry, other.entries[entry.id])
    was, then = _groups(real), _groups(other)
    counts.totals["memories"] += len(was)
    counts.totals["would_be_memories"] += len(then)
    counts.totals["split"] += _regrouped(counts.splits, real, was, then)
    counts.totals["united"] += _regrouped(counts.unions, other, then, was)
    counts.totals["faces"] += sum(
        members in then and then[members].text != memory.text for members, memory in was.items()
    )
    counts.totals["questions"] += _asked(real)
    counts.totals["would_be_questions"] += _asked(other)
    counts.totals["unanswered"] += sum(
        len({*entry.open} - {*real.entries[entry.id].open}) for entry in other.entries.values()
    )
    counts.totals["overtaken"] += len(history.overtaken)
    counts.costs += _costs(events)


def _compare_candidate(counts: _Counts, entry: Entry, there: Entry) -> None:
    (was, joined), (would_be, would_join) = _fate(entry), _fate(there)
    if (was, joined and joined.id) == (would_be, would_join and would_join.id):
        return
    names = was, would_be
    counts.changes[names] += 1
    if len(counts.examples[names]) < MOST_EXAMPLES:
        counts.examples[names].append(
            {
                "owner_id": entry.fields.owner_id,
                "candidate_id": entry.id,
                "text": entry.text,
                "joined": joined.text if joined else None,
                "would_join": would_join.text if would_join else None,
            }
        )


def _fate(entry: Entry) -> tuple[str, Entry | None]:
    """The outcome of a candidate's own decision, and the candidate that it joined."""
    join = next((edge for edge in entry.edges if edge.standing and edge.newer is entry), None)
    if join is not None:
        return join.decision, join.older
    return "pending" if entry.pending else entry.decision, None


Members = frozenset[str]


def _groups(ledger: Ledger) -> dict[Members, Memory]:
    """The living memories by their living members."""
    return {
        frozenset(entry.id for entry in memory.members if entry.living): memory
        for memory in ledger.memories()
        if memory.living
    }


def _regrouped(
    examples: list[Regrouping],
    ledger: Ledger,
    whole: Mapping[Members, Memory],
    parts: Mapping[Members, Memory],
) -> int:
    """How many of the `whole` memories are in several `parts`; some are kept as examples."""
    home = {some_id: members for members in parts for some_id in members}
    count = 0
    for members in whole:
        pieces = {home[some_id] & members for some_id in members if some_id in home}
        if len(pieces) < 2:
            continue
        count += 1
        if len(examples) < MOST_EXAMPLES:
            texts = [sorted({ledger.entries[some].text for some in piece}) for piece in pieces]
            examples.append({"owner_id": ledger.owner_id, "memories": sorted(texts)})
    return count


def _asked(ledger: Ledger) -> int:
    return sum(len(entry.asked) for entry in ledger.entries.values())


def _costs(events: Sequence[AnyEvent]) -> Iterator[float]:
    """What each verdict cost, if it is known."""
    for event in events:
        if isinstance(event, Decided | Settled | Redecided) and event.data.evidence is not None:
            for verdict in event.data.evidence.verdicts:
                if verdict.cost_usd is not None:
                    yield verdict.cost_usd


def _document(counts: _Counts, policy: Policy, audited: StillCovered | None) -> Backtest:
    mean = sum(counts.costs) / len(counts.costs) if counts.costs else None
    unanswered = counts.totals["unanswered"]
    total = counts.totals
    return {
        "policy": policy.name,
        "hash": policy.hash,
        "owners": counts.owners,
        "candidates": counts.candidates,
        "changed": counts.changes.total(),
        "changes": [
            {"was": was, "would_be": would, "count": n, "examples": counts.examples[was, would]}
            for (was, would), n in counts.changes.most_common()
        ],
        "memories": total["memories"],
        "would_be_memories": total["would_be_memories"],
        "split": total["split"],
        "united": total["united"],
        "splits": counts.splits,
        "unions": counts.unions,
        "faces": total["faces"],
        "questions": total["questions"],
        "would_be_questions": total["would_be_questions"],
        "unanswered": unanswered,
        "cost_usd": None if mean is None else round(mean * unanswered, 4),
        "overtaken": total["overtaken"],
        "certificate": _certificate(policy),
        "audited": audited,
    }


def _covered(
    audit: str, counts: _Counts, labels_needed: Callable[[int], int | None]
) -> StillCovered:
    """How much of a certificate remains valid, and what a new one would take."""
    total = counts.totals
    joins = total["would_be_joins"]
    needed = labels_needed(joins)
    fresh = 1 - total["labels_kept"] / joins if joins else 0.0
    return {
        "audit": audit,
        "joins": total["certified"],
        "still": total["still"],
        "others": joins - total["still"],
        "labels": total["labels"],
        "labels_kept": total["labels_kept"],
        "labels_needed": None if needed is None else math.ceil(needed * fresh),
    }


def _certificate(policy: Policy) -> str | None:
    """What the policy's certificate covers, in words."""
    held = policy.certificate
    if held is None:
        return None
    return (
        f"its certificate of {held.date} rests on {counted(held.tested, 'label')} with vectors of"
        f" {held.embedder}; this history may have another mix of pairs"
    )
