"""The path of a decision on a pair: what each check measured, and its thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

from msgspec import structs

from palimpsest.backends.reader import Reader
from palimpsest.contracts.evidence import Evidence, Verdict
from palimpsest.contracts.light import to_json
from palimpsest.queries.evidence import evidence_of, explained
from palimpsest.streams.core.ledger import Edge, Entry


class Step(TypedDict):
    """A check of a decision's path: what it found, its thresholds, and what that means.

    `share` is the score from 0 to 1, if there is one, and `marks` are the thresholds as numbers.
    """

    name: str
    found: str
    thresholds: list[str]
    outcome: str
    share: float | None
    marks: list[float]


def path(
    reader: Reader,
    decision_id: str,
    newer: Entry,
    older: Entry,
    join: Edge | None,
    verdict: Verdict | None = None,
) -> list[Step]:
    """The checks of a decision on two candidates in order, as far as anything was measured.

    `join` is the join that the decision made, if any; `verdict` is the judge's latest verdict on
    the two, in case the decision's evidence has none.
    """
    steps = [_exact(newer, older, join)]
    evidence = _with_arrival(reader, decision_id, newer)
    if evidence is None:
        return steps
    shown = explained(evidence, newer, reader.log.policies())
    seen: dict[str, Any] = next(
        (one for one in shown["neighbours"] if one["candidate_id"] == older.id), {}
    )
    session = newer.fields.session_id
    of_one = session is not None and session == older.fields.session_id
    cosine = (*(("session",) if of_one else ()), *_by_cosine(seen))
    return [
        *steps,
        _words_in_common(seen, shown["thresholds"]),
        _measured("Cosine", seen.get("cosine"), shown["thresholds"], cosine),
        *_windows(seen, shown["thresholds"], cosine),
        _guard(seen),
        *_verdicts(shown, older.id, verdict),
    ]


def _with_arrival(reader: Reader, decision_id: str, newer: Entry) -> Evidence | None:
    """The evidence of a decision, with the neighbours that were considered on arrival."""
    found, arrival = (evidence_of(reader, some) for some in (decision_id, newer.decision_id))
    if found is None or arrival is None or found.neighbours:
        return found or arrival
    return structs.replace(found, neighbours=arrival.neighbours)


def _step(
    name: str,
    found: str,
    thresholds: Sequence[str] = (),
    outcome: str = "",
    *,
    share: float | None = None,
    marks: Sequence[float] = (),
) -> Step:
    return {
        "name": name,
        "found": found,
        "thresholds": [*thresholds],
        "outcome": outcome,
        "share": share,
        "marks": [*marks],
    }


def _exact(newer: Entry, older: Entry, join: Edge | None) -> Step:
    if join is not None and join.differs:
        found = f"equal but for {', '.join(map(_plain, join.differs))}"
        return _step("Exact", found, ("equal, folded",), outcome="a match")
    same = newer.distinct is older.distinct or (join is not None and join.exact)
    found, outcome = ("equal texts", "a match") if same else ("different texts", "no match")
    return _step("Exact", found, ("equal texts",), outcome=outcome)


def _by_cosine(seen: dict[str, Any]) -> tuple[str, ...]:
    """The checks that judge a cosine; `near_identical` only if the guard accepts the pair."""
    accepted = seen.get("near_identical") and not seen.get("cues")
    return ("cosine", "near_identical") if accepted else ("cosine",)


def _measured(
    name: str, score: float | None, thresholds: list[dict[str, Any]], checks: tuple[str, ...]
) -> Step:
    mine = [threshold for threshold in thresholds if threshold["check"] in checks]
    found = [f"{_range(threshold)}: {_plain(threshold['then'])}" for threshold in mine]
    marks = [threshold["at_least"] for threshold in mine]
    if score is None:
        return _step(name, "not measured", found, marks=marks)
    reached = next((threshold for threshold in mine if _reaches(score, threshold)), None)
    outcome = _plain(reached["then"]) if reached else ("below" if mine else "")
    share = max(0.0, min(score, 1.0))
    return _step(name, f"{score:.4f}", found, outcome, share=share, marks=marks)


def _range(threshold: dict[str, Any]) -> str:
    floor = f"{threshold['at_least']:g}"
    return f"over {floor}" if "exclusive" in threshold else f"{floor} and more"


def _reaches(score: float, threshold: dict[str, Any]) -> bool:
    floor: float = threshold["at_least"]
    return score > floor or (score == floor and "exclusive" not in threshold)


def _windows(
    seen: dict[str, Any], thresholds: list[dict[str, Any]], checks: tuple[str, ...]
) -> Iterator[Step]:
    """For texts beyond the model's input: the least similar window."""
    if seen.get("covered") is not None:
        yield _measured("Windows", seen["covered"], thresholds, checks)


def _words_in_common(seen: dict[str, Any], thresholds: list[dict[str, Any]]) -> Step:
    """The Jaccard score; a considered neighbour has one only if it reached a threshold."""
    step = _measured("Jaccard", seen.get("jaccard"), thresholds, ("tokens",))
    if seen and step["share"] is None and step["marks"]:
        step |= {"found": f"less than {min(step['marks']):g}", "outcome": "below"}
    return step


def _guard(seen: dict[str, Any]) -> Step:
    near, cues = seen.get("near_identical"), seen.get("cues") or ()
    if near is None and not cues:
        return _step("Guard", "not asked", ("near-identical, and no cue",))
    order = "near-identical in order" if near else "not near-identical in order"
    # Below the zones, cues are sought in near-identical texts only.
    no_cue = ["no cue"] if near else []
    found = "; ".join([order, *([", ".join(map(_plain, cues))] if cues else no_cue)])
    outcome = "passes" if near and not cues else "stops it"
    return _step("Guard", found, ("near-identical, and no cue",), outcome=outcome)


def _verdicts(evidence: dict[str, Any], candidate_id: str, latest: Verdict | None) -> list[Step]:
    found = [verdict for verdict in evidence["verdicts"] if verdict["neighbour_id"] == candidate_id]
    if not found and latest is not None:
        found = [to_json(latest)]
    if not found:
        asked = candidate_id in evidence["asked"]
        return [_step("Verdict", "none yet" if asked else "nobody was asked about the two")]
    return [
        _step(
            "Verdict",
            verdict.get("reasoning") or "no reasoning",
            (verdict.get("model") or "no model named",),
            outcome=_plain(verdict["answer"]),
        )
        for verdict in found
    ]


def _plain(name: object) -> str:
    return str(name).replace("_", " ")
