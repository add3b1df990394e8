"""A policy's page: its rules, the similarities in its zones, and the decisions there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from palimpsest.api.store import Palimpsest
from palimpsest.charts.charts import Chart, ChartZone, bin_of, histogram
from palimpsest.charts.kinds import FAMILIES, FAMILY_OF
from palimpsest.charts.zones import zones_of
from palimpsest.contracts.policy import Policy
from palimpsest.projections.duckdb.activity import WHOLE, OutcomeCount, Scored, outcomes
from palimpsest.server.callers import Caller
from palimpsest.server.problems import not_found
from palimpsest.streams.policies.explain import explain
from palimpsest.web.door import Door, Visit
from palimpsest.web.seen import seen_by


@dataclass(frozen=True, slots=True)
class Stretch:
    """A zone, and how many decisions of each family have their nearest neighbour in it."""

    zone: ChartZone
    guarded: bool
    decisions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PolicyView:
    """A policy, its histogram, its zones from the highest, and its decisions by kind."""

    policy: Policy
    in_force: bool
    sentences: Sequence[str]
    chart: Chart
    stretches: Sequence[Stretch]
    outcomes: Sequence[OutcomeCount]


def add(door: Door) -> None:
    """Add the list of policies, and each one's page."""
    door.get("/policies", _policies)
    door.get("/policies/{policy}", _policy)


def view(store: Palimpsest, caller: Caller, policy_hash: str) -> PolicyView:
    """The page of a policy that is or was in force; a problem for any other."""
    store.reader.refresh()
    now = store.policy
    policy = {now.hash: now, **store.reader.log.policies()}.get(policy_hash)
    if policy is None:
        raise not_found("this policy was never in force here")
    became, scored = outcomes(store.reader.projections, policy_hash, seen_by(store, caller))
    zones = zones_of(policy)
    return PolicyView(
        policy=policy,
        in_force=policy_hash == now.hash,
        sentences=explain(policy),
        chart=_chart(scored, [zone for zone, _ in zones]),
        stretches=[_stretch(zone, guarded, scored) for zone, guarded in zones],
        outcomes=became,
    )


def _chart(scored: Sequence[Scored], zones: Sequence[ChartZone]) -> Chart:
    counts: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for bar in scored:
        counts[bin_of(bar.score / WHOLE)][FAMILY_OF[bar.decision]] += bar.n
    title = "Similarity of the nearest neighbour, by outcome"
    return histogram("similarity", title, counts, [*FAMILIES], zones)


def _stretch(zone: ChartZone, guarded: bool, scored: Sequence[Scored]) -> Stretch:
    found: dict[str, int] = defaultdict(int)
    for bar in scored:
        at = max(bar.score / WHOLE, 0.0)
        if zone.begin <= at < zone.end or at == zone.end == 1.0:
            found[FAMILY_OF[bar.decision]] += bar.n
    return Stretch(zone, guarded, found)


# -- pages ---------------------------------------------------------------------------------------


async def _policies(visit: Visit) -> Response:
    def known(store: Palimpsest) -> tuple[Policy, list[Policy]]:
        now = store.policy
        others = store.reader.log.policies()
        return now, [other for name, other in others.items() if name != now.hash]

    now, others = await visit.store.call(known)
    return visit.page("policies.html", now=now, others=others)


async def _policy(visit: Visit) -> Response:
    found = await visit.store.call(view, visit.caller, visit.ids["policy"])
    return visit.page("policy.html", view=found, families=[*FAMILIES])
