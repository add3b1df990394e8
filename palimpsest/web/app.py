"""The routes of all pages under `/review`, and of their static files."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.server.callers import Authenticator
from palimpsest.server.gate import PAGES
from palimpsest.server.problems import not_found
from palimpsest.web import entering
from palimpsest.web.board import pairs
from palimpsest.web.board.board import ReviewBoard
from palimpsest.web.door import SECURITY, Door, Visit
from palimpsest.web.pages import days as days_page
from palimpsest.web.pages import memory as memory_page
from palimpsest.web.pages import owner as owner_page
from palimpsest.web.pages import policy as policy_page
from palimpsest.web.pages import sealed as sealed_page
from palimpsest.web.rendering import STATIC
from palimpsest.web.sessions import Sessions

MEDIA_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
FOR_EVER = {"cache-control": "private, max-age=31536000, immutable"}
"""For files whose URL changes with their content (`static_url`)."""


def routes(
    store: AsyncPalimpsest, sessions: Sessions, authenticator: Authenticator, board: ReviewBoard
) -> list[BaseRoute]:
    """The routes of all pages."""
    door = Door(store, sessions, authenticator)
    entering.add(door, board.begin, board.leave)
    pairs.add(door, board)
    for module in (memory_page, owner_page, days_page, policy_page, sealed_page):
        module.add(door)
    door.get("/{rest:path}", _nowhere)  # last, because it matches every path
    return [_static(), *door.routes]


async def _nowhere(_visit: Visit) -> Response:
    raise not_found("there is no such page")


def _static() -> Route:
    files = {
        path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in MEDIA_TYPES
    }

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise not_found("there is no such file")
        kind = MEDIA_TYPES[name[name.rindex(".") :]]
        return Response(files[name], headers={**SECURITY, **FOR_EVER}, media_type=kind)

    return Route(f"{PAGES}/static/{{name}}", static, methods=["GET"])
