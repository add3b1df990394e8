"""Signing in, by a one-use link or a token in a form; and signing out."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated
from urllib.parse import quote

import orjson
from pydantic import AfterValidator, StringConstraints, TypeAdapter, ValidationError
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.routing import Route

from palimpsest.contracts.candidate import Name
from palimpsest.contracts.model import Strict
from palimpsest.server.callers import Caller
from palimpsest.server.endpoint import EVERYBODY
from palimpsest.server.gate import PAGES, admitted
from palimpsest.server.http.operations import json_response
from palimpsest.server.problems import ProblemError
from palimpsest.settings.serve import Role, pattern
from palimpsest.web.door import SIGN_IN, Door, Visit, require_csrf
from palimpsest.web.sessions import (
    SESSION_SECONDS,
    WebSession,
    answers_of,
    cookie_name,
    reviewer_cookie,
    reviewer_of,
    set_cookie,
)

ENTER = f"{PAGES}/enter"
LONGEST_NAME = 100
_NAME = TypeAdapter(Annotated[Name, StringConstraints(max_length=LONGEST_NAME)])
_BY_NUMBER = re.compile(r"\\[1-9]|\(\?\([1-9]")
"""A reference to a group by its number in a regular expression."""
LINKS = "/links"
"""Where a program requests a link. It is not below `PAGES`, so it takes an operator's token."""


class WantedLink(Strict):
    """A requested link: a name, a role that may review, and a pattern of owners.

    Without a name, the person who uses the link is asked for one.
    """

    name: Name | None = None
    role: Role = "operator"
    owners: Annotated[str, AfterValidator(pattern)] = EVERYBODY


def link_path(code: str) -> str:
    """The path that admits one person once."""
    return f"{ENTER}?code={quote(code)}"


def add(door: Door, coming: Callable[[], None], leaving: Callable[[WebSession], None]) -> None:
    """Add the pages for signing in, and the route at which an operator's program requests a link.

    `coming` is called when somebody will soon sign in, `leaving` with a session that ends.
    """

    async def form(visit: Visit) -> Response:
        coming()
        if visit.session is not None:
            return visit.to(PAGES)
        secret = secrets.token_urlsafe(32)
        response = visit.page("sign_in.html", secret=secret)
        response.headers["set-cookie"] = set_cookie(visit.request.headers, secret)
        return response

    async def leave(visit: Visit) -> Response:
        if visit.session is not None:
            leaving(visit.session)
        door.sessions.end(visit.request.headers)
        response = visit.to(SIGN_IN)
        response.headers["set-cookie"] = set_cookie(visit.request.headers, "")
        return response

    door.get("/enter", lambda visit: _enter(door, visit), role=None)
    door.get("/sign-in", form, role=None)
    door.post("/sign-in", lambda visit: _sign_in(door, visit), role=None)
    door.post("/leave", leave, role=None)
    door.get("/name", _ask_name, role=None)
    door.post("/name", lambda visit: _rename(door, visit, leaving), role=None)

    async def link(request: Request) -> Response:
        """Create a link that signs somebody in, with no more owners than the operator has."""
        given = admitted(request)
        given.caller.require_role("operator")
        document = {} if given.document is None else given.document
        wanted = WantedLink.model_validate_json(orjson.dumps(document))
        if wanted.role == "agent":
            raise ProblemError(422, "invalid", "an agent cannot review")
        caller = Caller(wanted.name or "", wanted.role, _both(given.caller.owners, wanted.owners))
        coming()
        return json_response({"path": link_path(door.sessions.link(caller))})

    door.routes.append(Route(LINKS, link, methods=["POST"]))


def _both(own: re.Pattern[str], wanted: str) -> re.Pattern[str]:
    """Owners that match both patterns: nobody can let others see more than they see themselves.

    The operator's own pattern comes first, so that it keeps the numbers of its groups. If it has
    any, a wanted pattern that refers to groups by number is refused: its numbers would change.
    """
    unfit = ProblemError(422, "invalid", "`owners` cannot be combined with your own pattern")
    if own.groups and _BY_NUMBER.search(wanted):
        raise unfit
    try:
        return re.compile(rf"(?=(?:{own.pattern})\Z)(?:{wanted})")
    except (re.error, RecursionError):
        raise unfit from None


async def _enter(door: Door, visit: Visit) -> Response:
    """Sign in by a link. The page redirects, because links from elsewhere send no strict cookie."""
    if visit.request.method != "GET":  # a link preview, which must not use the link up
        return visit.page("entered.html")
    caller = door.sessions.redeem(visit.query.get("code", ""))
    if caller is None:
        raise ProblemError(403, "forbidden", "this link was used, or is older than a minute")
    return _begin(door, visit, caller, SESSION_SECONDS)


async def _ask_name(visit: Visit) -> Response:
    if visit.session is None:
        return visit.to(SIGN_IN)
    if not visit.session.says_who:
        return visit.to(PAGES)
    name = visit.caller.name or reviewer_of(visit.request.headers)
    return visit.page("name.html", name=name, longest=LONGEST_NAME)


async def _rename(door: Door, visit: Visit, leaving: Callable[[WebSession], None]) -> Response:
    """Set a person's name: from now on, their answers are recorded under it."""
    session = visit.session
    if session is None:
        return visit.to(SIGN_IN)
    if not session.says_who:
        raise ProblemError(403, "forbidden", "your link or token already gives your name")
    name = _known_by(door, visit.form.get("name", ""))
    if name != session.caller.name:
        leaving(session)
        door.sessions.rename(visit.request.headers, name)
    response = visit.to(PAGES)
    response.headers["set-cookie"] = reviewer_cookie(visit.request.headers, name)
    return response


def _known_as(door: Door, visit: Visit) -> str:
    """The name last entered in this browser; empty if it is no longer valid."""
    with suppress(ProblemError):
        return _known_by(door, reviewer_of(visit.request.headers))
    return ""


def _known_by(door: Door, given: str) -> str:
    """A person's own name; a problem if it is empty, or the name of a token."""
    name = given.strip()
    try:
        _NAME.validate_python(name)
    except ValidationError:
        raise ProblemError(422, "invalid", "enter a name that others know you by") from None
    if name in door.authenticator.names:
        raise ProblemError(
            422, "invalid", "a token has this name: sign in with it, or enter another name"
        )
    return name


async def _sign_in(door: Door, visit: Visit) -> Response:
    headers = visit.request.headers
    cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(headers), "")
    if not cookie:
        raise ProblemError(403, "forbidden", "the form is from another session: load it again")
    require_csrf(visit, cookie)
    caller, left = door.authenticator.known(visit.form.get("token", ""))
    caller.require_role("reviewer")
    return _begin(door, visit, caller, SESSION_SECONDS if left is None else left)


def _begin(door: Door, visit: Visit, caller: Caller, seconds: float) -> Response:
    given = answers_of(visit.request.headers)
    session = door.sessions.begin(caller, seconds, _known_as(door, visit), given)
    response = visit.page("entered.html")
    response.headers["set-cookie"] = set_cookie(visit.request.headers, session.secret)
    return response
