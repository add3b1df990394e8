"""Every column of every table and view against a statement that shares no code with them."""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid5

import lancedb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs

from palimpsest.contracts.events import (
    AnyEvent,
    Decided,
    PolicySet,
    PolicySetData,
    Redecided,
    Settled,
)
from palimpsest.contracts.evidence import Cue
from palimpsest.contracts.identity import NAMESPACE
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import encode
from palimpsest.projections.base import changes
from palimpsest.projections.duckdb.queries import queries
from palimpsest.projections.duckdb.views import Place, views
from palimpsest.projections.lancedb.store import FOLDER, read_state
from palimpsest.projections.projector import Projector
from palimpsest.streams.core.evolve import evolve
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.core.record import judge_event
from tests.laws.common import accepted, unmerged
from tests.laws.consequences import carry_out
from tests.laws.histories import (
    ASKING,
    COMPOSED,
    FIELDS,
    FORGETTINGS,
    KINDS,
    ON_CANDIDATES,
    RECOMPOSES,
    REMEMBERINGS,
    Act,
    Batch,
    Change,
    Judge,
    OnJoin,
    Pair,
    Say,
    TakeBack,
    expiring,
    play,
    policies,
)
from tests.long import long_but
from tests.projections.histories import JUDGES, STEPS, History, MemoryLog
from tests.projections.oracle import Tables
from tests.projections.oracle_tables import differences, tables

VIEWS = tuple(views(Place("", "")))
IN_LANCE = "lancedb "
ALL_TABLES = (*VIEWS, *(f"{IN_LANCE}{name}" for name in ("memories", "candidates")))
Drawn = TypeVar("Drawn")
ALL = [
    *KINDS, *[ON_CANDIDATES] * 3, *[RECOMPOSES] * 12, *[FORGETTINGS] * 3, *[REMEMBERINGS] * 3,
]  # fmt: skip


TAKEN_BACK: list[Act] = [
    *(Say(0), Say(3), Say(6)),
    *(Pair(same=False, a=0, b=0), TakeBack(0)),
    *(Pair(same=False, a=0, b=1), Pair(same=True, a=0, b=1), TakeBack(3)),
    *(Judge(0, ("same",)), OnJoin(0), OnJoin(1, standing=False)),
]
"""A separation is withdrawn, a merge that overruled one, and the reversal of an answered join."""
OVERRULED: list[Act] = [
    *(Say(0), Say(3), Change(which=1, point=0, rank="agent", merge=True)),
    Judge(0, ("different",)),
]
"""An agent makes one memory of two that the judge finds different, later."""
FACES_COMPARED: list[Act] = [
    *(Say(11), Say(0), Say(1), Judge(0, ("compose",), point=5)),
    Batch(a=2, b=0),
]
"""A batch run joins a memory to an older one: it has compared its composed face."""
ASKED: list[Act] = [Say(0), Say(1), Say(2), Judge(0, ("same",))]
"""A question was answered, another waits."""


def lines(log: MemoryLog) -> list[tuple[int, bytes]]:
    """The log as `log export` writes it."""
    return [(event.position, encode(event.event)) for event in log.events]


def projected(folder: Path, names: Sequence[str] = ALL_TABLES) -> Tables:
    """What both projections say, or these of their tables."""
    asked = [name for name in names if name in VIEWS]
    rows = queries(folder, *((f"FROM {view}", ()) for view in asked))
    found: Tables = dict(zip(asked, rows, strict=True))
    for name in names:
        if name not in VIEWS:
            found[name] = in_lance(folder / FOLDER, name.removeprefix(IN_LANCE))
    return found


def in_lance(folder: Path, name: str) -> list[dict[str, Any]]:
    recorded = read_state(folder)["tables"].get(name)
    if recorded is None:
        return []
    table = lancedb.connect(folder).open_table(name)
    table.checkout(recorded["version"])
    rows: list[dict[str, Any]] = table.search().limit(recorded["rows"] + 1).to_list()
    for row in rows:
        assert row.pop("foreign_vector") is None
        if name == "candidates":
            row.pop("position")  # of whatever event touched the text last
    return rows


def wrong(folder: Path, log: MemoryLog) -> list[str]:
    """Whatever is projected otherwise than the oracle says."""
    return differences(tables(lines(log)), projected(folder))


def project_live(folder: Path, log: MemoryLog, commits: int = 4) -> None:
    """As it happens live: some events are folded, then a commit."""
    ledgers: dict[str, Ledger] = {}
    noted = changes.RowChanges()
    projector = Projector(folder, log.upto(0))
    projector.start()
    size = -(-len(log.events) // commits)
    for at in range(0, len(log.events), size):
        for position, event in log.events[at : at + size]:
            ledger = ledgers.setdefault(event.owner_id, Ledger(event.owner_id))
            noted.add(position, event, evolve(ledger, event))
        rows = noted.take()
        assert rows is not None
        projector.submit(rows)
        projector.flush()
    projector.close()


def test_the_oracle_shares_no_code_with_what_it_checks() -> None:
    used = set()
    for file in Path(__file__).parent.glob("oracle*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                used.add(f"{node.module}")
    ours = {name for name in used if name.partition(".")[0] not in sys.stdlib_module_names}
    assert ours <= {"tests.projections", "tests.projections.oracle"}


@pytest.mark.parametrize("seed", long_but(0, of=range(2)))
def test_what_is_projected_live_is_what_the_oracle_says(tmp_path: Path, seed: int) -> None:
    log = History(seed).steps(150).log
    project_live(tmp_path, log)
    assert wrong(tmp_path, log) == []


def composes(act: Act) -> bool:
    """Whether an act may bring a composed text."""
    match act:
        case Judge(answers=answers):
            return "compose" in answers
        case Batch(face=face):
            return face == "text"
        case _:
            return False


def test_what_expires_is_projected_as_the_oracle_says(tmp_path: Path) -> None:
    log = MemoryLog()
    for number, (policy, story) in enumerate(drawn(st.tuples(policies(), expiring), 12)):
        log.append(policy_set(policy))
        kept = [act for act in story if not composes(act)]
        for event in play(policy, kept, f"owner {number}").world.log:
            log.append(event)
    project_live(tmp_path, log)
    assert wrong(tmp_path, log) == []
    rows = tables(lines(log))["lancedb candidates"]
    said = {(row["owner_id"], row["namespace"], row["text"]) for row in rows}
    assert len(said) < len(rows), "some text was said again after it had expired"


# -- histories of the laws: each an owner of one log -----------------------------------------------


def drawn(strategy: st.SearchStrategy[Drawn], count: int) -> list[Drawn]:
    """The same examples on every run."""
    found: list[Drawn] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(one: Drawn) -> None:
        found.append(one)

    collect()
    return found


def acts(seed: int, count: int) -> list[Act]:
    """Acts of every kind, at random."""
    chance = random.Random(seed)
    return [
        chance.choice(ALL).act([chance.randrange(2**16) for _ in range(FIELDS)])
        for _ in range(count)
    ]


def history_of(policy: Policy, story: list[Act], owner_id: str) -> list[AnyEvent]:
    """A story, and after it some joins are taken out with their consequences."""
    world = play(policy, story, owner_id).world
    for edge in list(world.ledger.edges.values())[:3]:
        recorded = list(world.log)
        if accepted(unmerged(world, edge.id)):
            carry_out(world, recorded, edge.id)
    return world.log


def policy_set(policy: Policy) -> PolicySet:
    return PolicySet(
        id=str(uuid5(NAMESPACE, policy.hash)),
        subject=policy.hash,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        partitionkey="",
        data=PolicySetData(hash=policy.hash, policy=policy.model_dump(mode="json")),
    )


def shuffled(histories: Sequence[Sequence[AnyEvent]], seed: int = 0) -> list[AnyEvent]:
    """Several owners' events among each other, each owner's in order."""
    chance = random.Random(seed)
    left = [list(history) for history in histories if history]
    found = []
    while left:
        one = chance.choice(left)
        found.append(one.pop(0))
        left = [history for history in left if history]
    return found


def of_owners(count: int, length: int) -> MemoryLog:
    """The owners; every other one asks about everything, and begins with a composed text."""
    log = MemoryLog()
    examples = [one for policy in drawn(policies(), count // 2) for one in (policy, ASKING)]
    for policy in {policy.hash: policy for policy in examples}.values():
        log.append(policy_set(policy))
    histories = [
        history_of(policy, [*(COMPOSED if n % 2 else []), *acts(n, length)], f"owner {n}")
        for n, policy in enumerate(examples)
    ]
    by_hand = {"withdrawing": TAKEN_BACK, "overruled": OVERRULED, "of faces": FACES_COMPARED}
    histories += [play(ASKING, story, owner).world.log for owner, story in by_hand.items()]
    histories.append([of_words(event) for event in play(ASKING, ASKED, "of words").world.log])
    for number, event in enumerate(shuffled(histories)):
        if number % 50 == 0:
            judge = JUDGES[number // 50 % len(JUDGES)]
            log.append(judge_event(judge, str(UUID(int=number)), event.time, None))
        log.append(judged(guarded(event)))
    return log


def of_words(event: AnyEvent) -> AnyEvent:
    """As it would be recorded where nothing but the words of texts could be compared."""
    if not isinstance(event, Decided):
        return event
    evidence = event.data.evidence
    seen = tuple(structs.replace(neighbour, cosine=None) for neighbour in evidence.neighbours)
    evidence = structs.replace(evidence, neighbours=seen)
    return structs.replace(event, data=structs.replace(event.data, evidence=evidence))


def guarded(event: AnyEvent) -> AnyEvent:
    """As a guard that saw a number in each pair which is asked about would have it recorded."""
    if not isinstance(event, Decided | Redecided) or event.data.decision != "pending":
        return event
    seen = [
        structs.replace(neighbour, cues=(Cue.NUMBER,))
        if neighbour.candidate_id in evidence.asked
        else neighbour
        for evidence in [event.data.evidence]
        for neighbour in evidence.neighbours
    ]
    evidence = structs.replace(event.data.evidence, neighbours=tuple(seen))
    return structs.replace(event, data=structs.replace(event.data, evidence=evidence))


def judged(event: AnyEvent) -> AnyEvent:
    """As it would be recorded with one judge or two, in turns, remote or not."""
    if not isinstance(event, Settled):
        return event
    evidence = event.data.evidence
    verdicts = tuple(
        structs.replace(verdict, **STEPS[int(verdict.neighbour_id[-2:], 16) % len(STEPS)])
        for verdict in evidence.verdicts
    )
    evidence = structs.replace(evidence, verdicts=verdicts)
    return structs.replace(event, data=structs.replace(event.data, evidence=evidence))


@pytest.fixture(scope="module")
def many() -> MemoryLog:
    """Histories with every kind of event."""
    return of_owners(40, 60)


def test_the_histories_have_every_kind_of_event(many: MemoryLog) -> None:
    kinds = [event.event.type.split(".")[1] for event in many.events]
    fewest = {
        "decided": 300, "settled": 50, "joined": 30, "reversed": 30, "reinstated": 5,
        "separated": 15, "refused": 30, "retracted": 10, "restored": 3, "accessed": 5,
        "confirmed": 5, "composed": 2, "redecided": 3, "judge_set": 10,
    }  # fmt: skip
    found = {kind: kinds.count(kind) for kind in fewest}
    assert {kind: n for kind, n in found.items() if n < fewest[kind]} == {}, found


def test_what_is_projected_live_of_the_laws_histories(many: MemoryLog, tmp_path: Path) -> None:
    project_live(tmp_path, many)
    assert wrong(tmp_path, many) == []


def test_what_is_caught_up_is_what_the_oracle_says(many: MemoryLog, tmp_path: Path) -> None:
    """In three goes: each folds the owners that have something new."""
    for share in (0.3, 0.8, 1.0):
        log = many.upto(many.events[int(len(many.events) * share) - 1].position)
        projector = Projector(tmp_path, log)
        projector.start()
        projector.close()
    assert wrong(tmp_path, many) == []
