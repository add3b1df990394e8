"""The bounds of a policy's zones, for charts."""

from __future__ import annotations

from collections.abc import Mapping

from palimpsest.charts.charts import ChartZone
from palimpsest.contracts.policy import Action, CosineCheck, PairsDedupe, Policy

FAMILY_OF_ACTION: Mapping[Action, str] = {
    "auto_reject": "joined",
    "superseded": "replaced",
    "pending": "asked",
}


def zones_of(policy: Policy) -> list[tuple[ChartZone, bool]]:
    """The zones of the cosine check, the highest first, then the one below them all.

    The flag beside each says whether the guard may refer its pairs to the judge.
    """
    check = next((check for check in policy.checks if isinstance(check, CosineCheck)), None)
    found, end = [], 1.0
    for zone in check.zones if check is not None else ():
        family = FAMILY_OF_ACTION[zone.action]
        found.append((ChartZone(zone.at_least, end, family, family), zone.guard))
        end = zone.at_least
    return [*found, (ChartZone(0.0, end, "kept", "kept"), False)]


def zones_of_run(policy: Policy) -> list[ChartZone]:
    """The zones of similarity in a batch run: by its own threshold, else as on arrival."""
    if isinstance(policy.dedupe, PairsDedupe):
        above = policy.dedupe.above
        return [ChartZone(above, 1.0, "joined", "joined"), ChartZone(0.0, above, "kept", "kept")]
    return [zone for zone, _ in zones_of(policy)]
