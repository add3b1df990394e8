"""An audit in every runtime: opened, labelled, certified, with the same events once each."""

from __future__ import annotations

from collections import Counter

from palimpsest.auditing.audits import Audits
from palimpsest.contracts.events import AuditLabelled, AuditOpened, Certified, Reversed
from palimpsest.contracts.requests import LabelAuditRequest
from tests.cluster.runtime import FEW_PARTITIONS
from tests.conformance.runtime import Runtime
from tests.conformance.test_conformance import events, folded, fresh, row

OWNERS = ("ann", "ada", "gus")
TEXTS = [f"{who} keeps the key of the red mill in a blue coat" for who in ("Ada", "Grace", "Edith")]


def label(audits: Audits, said: str) -> str:
    question = audits.next()
    assert question is not None
    done = audits.label(question["pair"], "wrong" if said == "wrong" else "right")
    assert (done["unmerged"] is not None) == (said == "wrong")
    return question["pair"]


def test_an_audit_has_the_same_events_in_every_runtime(runtime: Runtime) -> None:
    """Owners of several partitions; the process that decides is replaced in between."""
    for owner in OWNERS:
        texts = [form for text in TEXTS for form in (text, f"{text}.")]
        runtime.submit([row(text, number, owner) for number, text in enumerate(texts)])
    with runtime.client() as memories:
        audits = memories.audits(actor="eve")
        opened = audits.open(target=0.5, probes=0)
        assert opened["joins"] == 9
        [sealed] = [event.data for event in events(runtime) if isinstance(event, AuditOpened)]
        if memories.reader.follows():
            assert sealed.offsets is not None
            assert len(sealed.offsets) == FEW_PARTITIONS
            assert sum(sealed.offsets) >= sealed.position, "each event is below its offset"
        else:
            assert sealed.offsets is None
        wrong = label(audits, "wrong")
        runtime.restart()
        while not audits.status()["certified"]:
            label(audits, "right")
        status = audits.certify()
        [said] = [e for e in events(runtime) if isinstance(e, AuditLabelled) and e.subject == wrong]
        again = LabelAuditRequest(request_id=fresh(), labelled=said.data)
        assert memories.writer.ask(again) == memories.writer.ask(again)
        assert audits.status() == status
    counted = Counter(type(event) for event in events(runtime))
    assert (counted[AuditOpened], counted[Certified], counted[Reversed]) == (1, 1, 1)
    assert counted[AuditLabelled] == status["labels"] + 1
    for owner in OWNERS:
        assert folded(runtime, owner) == runtime.memories(owner)
