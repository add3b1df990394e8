"""A store with automatic joins, a few of them wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from palimpsest import Palimpsest
from palimpsest.api import store
from palimpsest.auditing import recorded
from palimpsest.auditing.audits import AuditQuestion, Audits, LabelDone
from palimpsest.contracts.events import AnyEvent, AuditLabel
from palimpsest.contracts.policy import Policy
from tests.stub_engine import load_stub

RULES = Policy.model_validate(
    {
        "name": "near",
        "model": "all-MiniLM-L6-v2",
        "search": "candidates",
        "checks": [
            {
                "check": "cosine",
                "top": 3,
                "zones": [
                    {"at_least": 0.97, "action": "superseded"},
                    {"at_least": 0.9, "action": "auto_reject"},
                ],
            }
        ],
        "judge": {"enabled": False, "unavailable": "keep"},
    }
)
WRONG = "denied"
"""A word that makes a newer text say something else."""


@dataclass
class Audited:
    """A store, and the actions of an attentive auditor."""

    memories: Palimpsest
    audits: Audits

    def hold(self, right: int, wrong: int = 0, owner: str = "ada") -> None:
        """Make `right` and `wrong` joins of an owner; no two pairs of texts share words."""
        for number in range(right + wrong):
            words = [f"{owner}{number}{letter}" for letter in "abcdefghi"]
            text = f"{' '.join(words)} is at {number}"
            more = WRONG if number >= right else "indeed"
            rows = ((f"{number}", text), (f"{number}+", f"{text} {more}"))
            self.memories.submit(
                [{"owner_id": owner, "id": name, "text": said} for name, said in rows]
            )

    def judge(self, question: AuditQuestion) -> AuditLabel:
        """The right label of a pair, also of a probe, in which a fact is changed."""
        older, newer = question["older"], question["newer"]
        assert older is not None
        assert newer is not None
        return "right" if newer == f"{older} indeed" else "wrong"

    def label_next(self) -> LabelDone:
        """Label one pair."""
        question = self.audits.next()
        assert question is not None
        return self.audits.label(question["pair"], self.judge(question))

    def label_all(self) -> list[LabelDone]:
        """Label until the target is proven or no pair is left."""
        done = []
        while not self.audits.status()["certified"] and self.audits.next() is not None:
            done.append(self.label_next())
        return done

    def events(self, kind: type[AnyEvent] | None = None) -> list[AnyEvent]:
        """The events of the log."""
        events = [recorded.event for recorded in self.memories.reader.log.after(0, 10_000)]
        return [event for event in events if kind is None or isinstance(event, kind)]


@pytest.fixture(autouse=True, scope="module")
def _without_a_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load_engine", load_stub)
        yield


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Audited]:
    """An empty store whose policy joins near texts; its audits have the same seeds in each run."""
    seeds = map("{:032x}".format, count())
    monkeypatch.setattr(recorded, "secrets", SimpleNamespace(token_hex=lambda _size: next(seeds)))
    with Palimpsest.open(tmp_path / "store", by="person", policy=RULES) as memories:
        yield Audited(memories, memories.audits(actor="eve"))
