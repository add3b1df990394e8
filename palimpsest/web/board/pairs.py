"""The board's pages: one pair at a time, and the effect of each key."""

from __future__ import annotations

from dataclasses import asdict
from urllib.parse import urlencode

from starlette.responses import Response

from palimpsest.auditing.foreseen import latest_certificate
from palimpsest.server.gate import PAGES
from palimpsest.server.problems import ProblemError
from palimpsest.web.board.answers import CHOICES
from palimpsest.web.board.board import ReviewBoard
from palimpsest.web.board.waiting import Key, QueueFilter, wanted_of
from palimpsest.web.door import Door, Visit, reason_in, whole_number
from palimpsest.web.sessions import WebSession, answers_cookie


class PairsPage:
    """The pages of one board."""

    def __init__(self, board: ReviewBoard) -> None:
        self._board = board

    async def work(self, visit: Visit) -> Response:
        """The waiting pairs, those with the most consequences first."""
        return await self._shown(visit, wanted_of(visit.query))

    async def answer(self, visit: Visit) -> Response:
        """The keys `s`, `d`, `u` and `f`: each records an event at once."""
        word = visit.form.get("say", "")
        if word not in CHOICES:
            raise ProblemError(422, "invalid", f"`say` must be one of {', '.join(CHOICES)}")
        version, because = visit.form.get("version", ""), reason_in(visit.form)
        await self._board.answer(_session(visit), _key(visit), word, version, because)
        return await self._then(visit)

    async def skip(self, visit: Visit) -> Response:
        """The space bar: skip a pair; records no event."""
        await self._board.skip(_session(visit), _key(visit))
        return await self._then(visit)

    async def undo(self, visit: Visit) -> Response:
        """Backspace, or the button of one answer."""
        number = visit.form.get("number", "")
        which = whole_number("number", number) if number else None
        await self._board.undo(_session(visit), wanted_of(visit.form), which)
        return await self._then(visit)

    async def again(self, visit: Visit) -> Response:
        """Show the skipped pairs."""
        self._board.see_skipped(_session(visit))
        return await self._then(visit)

    async def removal(self, visit: Visit) -> Response:
        """Everything that depends on one join, loaded separately for owners with many events."""
        key = visit.query.get("decision", ""), visit.query.get("existing", "")
        values = await self._board.removal(_session(visit), key)
        return visit.page("removal.html", removal=values)

    async def _then(self, visit: Visit) -> Response:
        """The next pair: a part of the page for htmx, a page of its own for a plain form."""
        wanted, session = wanted_of(visit.form), _session(visit)
        then = await self._shown(visit, wanted) if visit.is_partial else visit.to(_path(wanted))
        if session.says_who:
            given = answers_cookie(visit.request.headers, self._board.given(session))
            then.headers["set-cookie"] = given
        return then

    async def _shown(self, visit: Visit, wanted: QueueFilter) -> Response:
        values = await self._board.next(_session(visit), wanted)
        if visit.is_partial:
            return visit.page("board.html", wanted=wanted, here=_path(wanted), **values)
        proven = None
        if visit.sees_all:
            proven = await visit.store.call(lambda store: latest_certificate(store.reader.log))
        return visit.page("review.html", wanted=wanted, here=_path(wanted), proven=proven, **values)


def add(door: Door, board: ReviewBoard) -> None:
    """Add the board's pages."""
    pages = PairsPage(board)
    door.get("", pages.work)
    door.get("/removal", pages.removal)
    door.post("/answer", pages.answer)
    door.post("/skip", pages.skip)
    door.post("/undo", pages.undo)
    door.post("/again", pages.again)


def _session(visit: Visit) -> WebSession:
    assert visit.session is not None, "the door requires a role"
    return visit.session


def _key(visit: Visit) -> Key:
    return visit.form.get("decision", ""), visit.form.get("existing", "")


def _path(wanted: QueueFilter) -> str:
    query = {f"in_{name}": value for name, value in asdict(wanted).items() if value}
    return f"{PAGES}?{urlencode(query)}" if query else PAGES
