"""A verifier, a batch run and a review of one store at once decide and pay for a pair once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from palimpsest.cli.demo.judge import Fault, JudgeServer
from palimpsest.contracts.events import (
    AnyEvent,
    Confirmed,
    Decided,
    Reversed,
    Separated,
    Settled,
)
from palimpsest.streams.log.log import Log
from tests.reliability.processes import Forge
from tests.reliability.rows import Row, write

PAIRS = [
    (f"Ada {does} {number} small wooden boats in the shed behind the house", ending)
    for does in ("paints", "sells")
    for number, ending in ((2, ""), (3, " daily"), (4, " today"))
]
"""Near texts, of which the second adds a word."""


def said(owner: str, texts: list[str]) -> list[Row]:
    return [
        {"owner_id": owner, "text": text, "id": f"{owner} {text}", "source": "test"}
        for text in texts
    ]


OLDER, NEWER = [text for text, _ in PAIRS], [f"{text}{end or ' early'}" for text, end in PAIRS]
BEFORE = said("run", [*OLDER, *NEWER]) + said("wait", OLDER) + said("joined", OLDER)
"""Memories of another time, which no policy compared: of one owner both texts of each pair."""
JOINED = said("joined", [f"{text}." for text in OLDER])
"""The judge has joined them before: a stronger one reviews that."""
WAIT = said("wait", NEWER)
"""They wait for the answers that the batch run of another owner needs, too."""


def test_what_three_processes_meet_at_once_is_decided_and_paid_for_once(
    forge: Forge, tmp_path: Path
) -> None:
    store, unseeing = tmp_path / "store", tmp_path / "unseeing.toml"
    before, joined, wait = (
        str(write(tmp_path / f"{number}.jsonl", rows, ()))
        for number, rows in enumerate((BEFORE, JOINED, WAIT))
    )
    unseeing.write_text(
        'name = "unseeing"\nmodel = "all-MiniLM-L6-v2"\nsearch = "memories"\nchecks = []\n'
    )
    filled = forge.run(store, ["ingest", before], env={"PALIMPSEST_POLICY": str(unseeing)})
    assert filled.statuses() == [0], filled.printed(0, 2)
    with JudgeServer() as server:
        key = {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": server.url}
        compared = (["ingest", joined], ["verifier", "--once"], ["ingest", wait])
        filled = forge.run(store, ["policy", "set", "store-time"], *compared, env=key)
        assert filled.statuses() == [0, 0, 0, 0], filled.printed(-1, 2)
        server.always = Fault(delay=0.5)
        at_once = (["verifier", "--once"], ["dedupe", "--force"], ["review", "run"])
        children = [forge.start(store, [*command, "--json"], env=key) for command in at_once]
        assert [child.wait() for child in children] == [0, 0, 0]
        assert [child.statuses() for child in children] == [[0], [0], [0]]
        paid = Counter(
            (request["model"], pair["older"]["text"], pair["newer"]["text"])
            for request in server.requests
            for pair in json.loads(request["messages"][0]["content"])["pairs"]
        )
    verifier, run, review = (child.answer() for child in children)
    used = [verifier["answers"], run["asked"], review["asked"]]
    assert all(used), "each of them asks"
    assert sum(sum(answers.values()) for answers in used) > len(paid), "they meet some pairs"
    assert set(paid.values()) == {1}
    with Log.open(store / "log.sqlite") as log:
        events = [recorded.event for recorded in log.after(0, 10**6)]
    settled = Counter(e.subject for e in events if isinstance(e, Settled))
    assert settled == Counter(e.subject for e in events if _waited(e))
    apart = Counter(
        frozenset((e.data.candidate_id, e.data.other_id))
        for e in events
        if isinstance(e, Separated)
    )
    reviewed = Counter(e.data.decision_id for e in events if isinstance(e, Confirmed | Reversed))
    assert set(apart.values()) == set(reviewed.values()) == {1}
    assert forge.run(store, ["verify", "--json"]).answer()["differences"] == 0


def _waited(event: AnyEvent) -> bool:
    return isinstance(event, Decided) and event.data.decision == "pending"
