"""Counts what a policy did with labelled pairs and clusters: false joins, their bound, recall.

Each pair is decided on in both orders, and the worse result counts: a pair that must not be joined
counts as joined if either order joins it, a pair that should be joined only if both do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from palimpsest.contracts.counting import counted
from palimpsest.contracts.policy import Policy
from palimpsest.evaluation.groups import groups_of
from palimpsest.evaluation.labelled import Label, LabelledMember, LabelledPair
from palimpsest.evaluation.rates import Agreement, b_cubed, lower_bound, pairwise, upper_bound
from palimpsest.evaluation.trial import Fate, Stream, Trial, TrialDecision, TrialVectors
from palimpsest.streams.embedder import Progress
from palimpsest.streams.guard import Reading, Tables, compare, guard_hash, kept_reading, tables_of

ENGLISH, OTHER = "en", "other"
"""The languages of pairs that name none: English if the guard reads both texts as English."""
NO_CUE = "none"
MOST_SHOWN = 100
"""Maximum number of wrong joins that are listed."""


class Seen(NamedTuple):
    """A labelled pair and what a policy did with it in the worse of its two orders."""

    pair: LabelledPair
    fate: Fate
    check: str | None
    cosine: float | None
    language: str
    cues: tuple[str, ...]
    order_matters: bool

    @property
    def wrong(self) -> bool:
        """Whether it was joined, but is labelled as different."""
        return self.fate == "joined" and self.pair.label == "different"


@dataclass(slots=True)
class LabelCounts:
    """Outcomes of pairs, without exact repeats and related ones."""

    different: int = 0
    false_joins: int = 0
    different_asked: int = 0
    same: int = 0
    found: int = 0
    same_asked: int = 0

    def add(self, label: Label, fate: Fate) -> None:
        """Count a pair."""
        if label == "same":
            self.same += 1
            self.found += fate == "joined"
            self.same_asked += fate == "asked"
        else:
            self.different += 1
            self.false_joins += fate == "joined"
            self.different_asked += fate == "asked"

    def document(self, confidence: float) -> dict[str, Any]:
        """Counts with rates; each bound is one-sided and exact (Clopper-Pearson)."""
        joined = self.false_joins + self.found
        return {
            "different": self.different,
            "false_joins": self.false_joins,
            "false_join_rate": _share(self.false_joins, self.different),
            "false_join_bound": upper_bound(self.false_joins, self.different, confidence),
            "joined": joined,
            "wrong_share": _share(self.false_joins, joined),
            "wrong_bound": upper_bound(self.false_joins, joined, confidence),
            "same": self.same,
            "found": self.found,
            "recall": _share(self.found, self.same),
            "recall_bound": lower_bound(self.found, self.same, confidence),
            "asked": self.different_asked + self.same_asked,
            "asked_share": _share(
                self.different_asked + self.same_asked, self.different + self.same
            ),
            "different_asked": self.different_asked,
            "same_asked": self.same_asked,
        }


def evaluate_pairs(
    pairs: Sequence[LabelledPair], policy: Policy, vectors: TrialVectors, progress: Progress
) -> list[Seen]:
    """Decide on each pair in both orders, through a writer of the policy."""
    vectors.prepare({text for pair in pairs for text in (pair.a, pair.b)}, progress)
    with Trial(policy, vectors) as trial:
        decided = trial.pairs(pairs, progress)
        tables = tables_of(policy.languages)
        return [
            _seen(pair, both, vectors, tables) for pair, both in zip(pairs, decided, strict=True)
        ]


def pairs_document(
    seen: Sequence[Seen], policy: Policy, vectors: TrialVectors, confidence: float
) -> dict[str, Any]:
    """The answer of `evaluate --pairs`."""
    exact = [result for result in seen if result.fate == "exact"]
    related = [result for result in seen if result.pair.label == "related"]
    counted = [
        result for result in seen if result.fate != "exact" and result.pair.label != "related"
    ]
    by = partial(_counts_by, counted, confidence)
    return {
        **_head(policy, vectors, confidence),
        "pairs": len(seen),
        "groups": len(groups_of([(result.pair.a, result.pair.b) for result in counted])),
        "exact": len(exact),
        "exact_different": sum(result.pair.label == "different" for result in exact),
        "related": len(related),
        "related_joined": sum(result.fate == "joined" for result in related),
        "order_matters": sum(result.order_matters for result in counted),
        "total": by(lambda _: ("all",))["all"] if counted else LabelCounts().document(confidence),
        "by_check": by(lambda result: (result.check or "none",) if result.fate == "joined" else ()),
        "by_cue": by(lambda result: result.cues),
        "by_language": by(lambda result: (result.language,)),
        "by_source": by(lambda result: (result.pair.source or "none",)),
        "wrong": [result.pair.id for result in counted if result.wrong][:MOST_SHOWN],
    }


def _counts_by(
    seen: Iterable[Seen], confidence: float, names: Callable[[Seen], Iterable[str]]
) -> dict[str, dict[str, Any]]:
    """The counts of the pairs under each name that `names` gives them."""
    counts: defaultdict[str, LabelCounts] = defaultdict(LabelCounts)
    for result in seen:
        for name in names(result):
            counts[name].add(result.pair.label, result.fate)
    return {name: counts[name].document(confidence) for name in sorted(counts)}


def _seen(
    pair: LabelledPair, both: Sequence[TrialDecision], vectors: TrialVectors, tables: Tables
) -> Seen:
    worse = max(both, key=lambda decision: _FROM_BEST[pair.label].index(decision.fate))
    one, other = (_reading(text, vectors, tables) for text in (pair.a, pair.b))
    cues = tuple(map(str, compare(one, other).cues)) or (NO_CUE,)
    near = both[0].neighbour or both[1].neighbour
    return Seen(
        pair,
        worse.fate,
        worse.check,
        near.cosine if near else None,
        language_of(pair),
        cues,
        both[0].fate != both[1].fate,
    )


def language_of(pair: LabelledPair) -> str:
    """The language that a pair names; else English if the guard reads both texts as English."""
    if pair.language is not None:
        return pair.language
    return ENGLISH if kept_reading(pair.a).is_english and kept_reading(pair.b).is_english else OTHER


_FROM_BEST: dict[str, tuple[Fate, ...]] = {
    "same": ("exact", "joined", "asked", "kept"),
    "different": ("kept", "asked", "exact", "joined"),
    "related": ("kept", "asked", "exact", "joined"),
}


def _reading(text: str, vectors: TrialVectors, tables: Tables) -> Reading:
    [seen] = vectors.embed([text])
    partly = seen.truncated and seen.windows is None
    return kept_reading(
        text, truncated=partly, unknown=seen.unknown, model=vectors.model, tables=tables
    )


# -- clusters ------------------------------------------------------------------------------------


def evaluate_clusters(
    members: Sequence[LabelledMember], policy: Policy, vectors: TrialVectors, progress: Progress
) -> list[list[Stream]]:
    """Decide on the texts of each owner as they come, and again from the last to the first."""
    vectors.prepare({member.text for member in members}, progress)
    owners: defaultdict[str, list[LabelledMember]] = defaultdict(list)
    for member in members:
        owners[member.owner_id].append(member)
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        progress(f"deciding on {counted(len(members), 'text')}", done / (2 * len(members)))

    orders: list[list[Stream]] = []
    for step in (1, -1):
        with Trial(policy, vectors) as trial:
            orders.append([trial.stream(texts[::step], advance) for texts in owners.values()])
    return orders


def clusters_document(
    orders: Sequence[Sequence[Stream]],
    policy: Policy,
    vectors: TrialVectors,
    confidence: float,
) -> dict[str, Any]:
    """The answer of `evaluate --clusters`."""
    names = ("as given", "last to first")
    return {
        **_head(policy, vectors, confidence),
        "texts": sum(len(stream.members) for stream in orders[0]),
        "owners": len(orders[0]),
        "clusters": len({(m.owner_id, m.cluster) for stream in orders[0] for m in stream.members}),
        "orders": [
            {"order": name, **_of_order(streams, confidence)}
            for name, streams in zip(names, orders, strict=True)
        ],
    }


def _of_order(streams: Sequence[Stream], confidence: float) -> dict[str, Any]:
    found, gold = {}, {}
    joins: list[tuple[str, bool]] = []
    fates: Counter[Fate] = Counter()
    for stream in streams:
        for number, member in enumerate(stream.members):
            item = member.owner_id, number
            found[item] = stream.memories[number]
            gold[item] = member.owner_id, member.cluster
        fates.update(decision.fate for decision in stream.decisions)
        joins += _joins(stream)
    checks = sorted({check for check, _ in joins})
    return {
        "memories": len({*found.values()}),
        "pairwise": _agreement(pairwise(found, gold)),
        "b_cubed": _agreement(b_cubed(found, gold)),
        "exact": fates["exact"],
        "asked": fates["asked"],
        "asked_share": _share(fates["asked"], len(found)),
        **_wrong_of([wrong for _, wrong in joins], confidence),
        "by_check": {
            check: _wrong_of([wrong for name, wrong in joins if name == check], confidence)
            for check in checks
        },
    }


def _joins(stream: Stream) -> Iterator[tuple[str, bool]]:
    """The check of each join except exact repeats, and whether the join is across clusters."""
    for member, decision in zip(stream.members, stream.decisions, strict=True):
        if decision.fate == "joined" and decision.joined_to is not None:
            other = stream.members[stream.numbers[decision.joined_to]]
            yield decision.check or "none", other.cluster != member.cluster


def _wrong_of(joins: Sequence[bool], confidence: float) -> dict[str, Any]:
    wrong = sum(joins)
    return {
        "joined": len(joins),
        "false_joins": wrong,
        "wrong_share": _share(wrong, len(joins)),
        "wrong_bound": upper_bound(wrong, len(joins), confidence),
    }


def _agreement(agreement: Agreement) -> dict[str, float]:
    return {"precision": agreement.precision, "recall": agreement.recall, "f1": agreement.f1}


def _head(policy: Policy, vectors: TrialVectors, confidence: float) -> dict[str, Any]:
    return {
        "policy": policy.name,
        "policy_hash": policy.hash,
        "embedder": f"{vectors.model}/{vectors.name}",
        "guard": guard_hash(tables_of(policy.languages)),
        "confidence": confidence,
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
