"""The page of the open audit: one pair at a time, and a curve of the bound after each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, get_args

from starlette.responses import Response

from palimpsest.api.store import Palimpsest
from palimpsest.auditing.audits import Audits
from palimpsest.auditing.recalls import Recalls
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import AuditLabel
from palimpsest.server.callers import Caller
from palimpsest.server.gate import PAGES
from palimpsest.server.problems import ProblemError
from palimpsest.web.door import Door, Visit, reason_in
from palimpsest.web.seen import seen_by

PATH = f"{PAGES}/sealed"
WIDTH, HEIGHT = 600.0, 120.0


class SealedPage:
    """The page on one server. It caches the joins that the audit sealed, once they were read."""

    def __init__(self) -> None:
        self._audits: Audits | None = None

    async def show(self, visit: Visit) -> Response:
        """The next pair, without its verdict or a score."""
        values = await visit.store.call(self._view, visit.caller)
        return visit.page("sealed.html", notice="", **values)

    async def label(self, visit: Visit) -> Response:
        """The keys `r`, `w` and `u`: record a label at once, and show the next pair."""
        word, pair = visit.form.get("say", ""), visit.form.get("decision", "")
        if word not in get_args(AuditLabel):
            labels = ", ".join(get_args(AuditLabel))
            raise ProblemError(422, "invalid", f"`say` must be one of {labels}")
        said, because = cast("AuditLabel", word), reason_in(visit.form)
        notice = await visit.store.call(self._label, visit.caller, pair, said, because)
        if not visit.is_partial:
            return visit.to(PATH)
        values = await visit.store.call(self._view, visit.caller)
        return visit.page("sealed_board.html", notice=notice, **values)

    def _of(self, store: Palimpsest, caller: Caller) -> Audits:
        """The audits, for callers who may see every owner: pairs come from owners at random."""
        if seen_by(store, caller) is not None:
            raise ProblemError(
                403, "forbidden", "an audit covers all owners, and you may see only some"
            )
        if self._audits is None:
            self._audits = store.audits()
        return self._audits

    def _label(
        self, store: Palimpsest, caller: Caller, pair: str, said: AuditLabel, because: str | None
    ) -> str:
        try:
            audits = self._of(store, caller)
            audits.meant().label(pair, said, because=because, actor=caller.name)
        except RefusedError as refused:
            return f"Not recorded: {refused.detail}."
        return f"Recorded: {said}."

    def _view(self, store: Palimpsest, caller: Caller) -> dict[str, Any]:
        audits = self._of(store, caller)
        nothing = {"why": "", "question": None, "progress": None, "recall": None, "points": ""}
        try:
            meant = audits.meant()
            if isinstance(meant, Recalls):
                return {**nothing, "question": meant.next(), "recall": meant.status()}
            question = audits.next(actor=caller.name)
            curve, progress = audits.curve(), audits.progress()
        except RefusedError as refused:
            return {**nothing, "why": refused.detail}
        return {
            **nothing,
            "question": question,
            "progress": progress,
            "points": points_of(curve),
            "aim": HEIGHT * (1.0 - progress["target"]),
        }


def points_of(curve: Sequence[float]) -> str:
    """A falling curve as the points of an SVG line, in a box of `WIDTH` by `HEIGHT`."""
    steps = max(len(curve) - 1, 1)
    return " ".join(
        f"{WIDTH * number / steps:.1f},{HEIGHT * (1.0 - share):.1f}"
        for number, share in enumerate(curve)
    )


def add(door: Door) -> None:
    """Add the page of the audit."""
    page = SealedPage()
    door.get("/sealed", page.show)
    door.post("/sealed", page.label)
