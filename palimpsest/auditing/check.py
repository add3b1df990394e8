"""Checks whether the latest certificate still covers a store, so that a build can fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypedDict

from palimpsest.auditing.joins import AuditedJoin, AuditScope, Sealed
from palimpsest.auditing.state import Audit
from palimpsest.backends.reader import Reader
from palimpsest.contracts.counting import counted
from palimpsest.contracts.events import CertifiedData
from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.automatic import standing
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.embedder import Progress
from palimpsest.streams.guard import guard_hash, tables_of


class AuditCheck(TypedDict):
    """Whether a certificate still covers the store; `problems` are sentences.

    `covered` counts the certificate's joins that still stand, `since` the later joins by rules that
    it covers, and `void` the later joins by other rules. `outside` counts the joins of owners and
    times that the audit was not about.
    """

    holds: bool
    problems: list[str]
    audit: str | None
    bound: float | None
    covered: int
    since: int
    void: int
    outside: int
    largest_memory: str | None
    members: int


class Coverage:
    """The joins and rules that a certificate covers, and the rules of later joins it does not."""

    def __init__(
        self, audit: Audit, certificate: CertifiedData, joins: Mapping[str, AuditedJoin]
    ) -> None:
        self.audit, self.certificate = audit.id, certificate
        self.scope = AuditScope(audit.opened.owners, audit.opened.since)
        self.position = audit.opened.position
        self._joins = joins
        self._rules = {(stratum.by, stratum.value) for stratum in certificate.strata}
        self._others: set[tuple[str, str]] = set()

    def of(self, join: AuditedJoin) -> Literal["covered", "since", "void"]:
        """Whether a join is certified, or came later by a rule that is covered or by another."""
        if join.id in self._joins:
            return "covered"
        rules = {part for part in join.made.items() if part[0] not in ("decision", "language")}
        new = rules - self._rules
        self._others |= new
        return "void" if new else "since"

    def problems(self, policy: Policy, before: Policy) -> list[str]:
        """What the certificate does not cover, given the `policy` and the guard in force.

        A policy that was in force `before`, at the sealed position, and had joined nothing by then
        is not a problem until it joins something: another audit could not cover more. Nor is the
        guard for owners with declared names, if only joins of other owners are certified, or vice
        versa.
        """
        tables = tables_of(policy.languages)
        guards = [("guard", guard_hash(tables, named=named)) for named in (False, True)]
        in_force = {("policy", policy.hash)}
        if self._rules.isdisjoint(guards):
            in_force.add(guards[0])
        if policy.hash == before.hash and ("policy", policy.hash) not in self._rules:
            in_force = set()
        kinds = {by for by, _ in self._rules}
        others = self._others | {part for part in in_force - self._rules if part[0] in kinds}
        return [
            f"the certificate is void for what is joined by the {by} {value}: open another audit"
            for by, value in sorted(others)
        ]


def check(
    reader: Reader,
    coverage: Coverage | None,
    most: float,
    most_members: int | None,
    progress: Progress,
) -> AuditCheck:
    """Look at every living memory and standing join, owner by owner."""
    answer = AuditCheck(
        holds=False,
        problems=[],
        audit=coverage.audit if coverage else None,
        bound=coverage.certificate.bound if coverage else None,
        covered=0,
        since=0,
        void=0,
        outside=0,
        largest_memory=None,
        members=0,
    )
    now = Sealed(reader.log, reader.log.head(), AuditScope())
    owners = now.owners()
    for number, owner in enumerate(owners):
        progress("reading the joins", number / len(owners))
        _note_largest(now.ledger(owner), answer)
        if coverage is not None:
            _count_joins(now, owner, coverage, answer)
    answer["problems"] = [*_problems(answer, coverage, most, most_members)]
    if coverage is not None:
        before = reader.policy_as_of(coverage.position)
        answer["problems"] += coverage.problems(reader.policy_in_force(), before)
    answer["holds"] = not answer["problems"]
    return answer


def _note_largest(ledger: Ledger, answer: AuditCheck) -> None:
    for memory in ledger.memories():
        if memory.living and len(memory.members) > answer["members"]:
            answer["members"], answer["largest_memory"] = len(memory.members), memory.id


def _count_joins(now: Sealed, owner: str, coverage: Coverage, answer: AuditCheck) -> None:
    scope = coverage.scope
    meant = now.joins_of(owner, scope.since) if scope.has(owner) else []
    for join in meant:
        answer[coverage.of(join)] += 1
    answer["outside"] += sum(1 for _ in standing(now.ledger(owner))) - len(meant)


def _problems(
    answer: AuditCheck, coverage: Coverage | None, most: float, most_members: int | None
) -> Iterator[str]:
    if coverage is None:
        yield "nothing is certified: `audit open`, `audit label`, then `audit certify`"
    elif coverage.certificate.bound > most:
        yield f"{coverage.certificate.bound:.2%} of what is certified may be wrong, over {most:.2%}"
    if most_members is not None and answer["members"] > most_members:
        yield (
            f"the memory {answer['largest_memory']} has {counted(answer['members'], 'member')},"
            f" over {most_members:,}"
        )
