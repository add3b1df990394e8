"""The door of the pages: a request as a `Visit`, permissions, and errors as pages."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.limits import LONGEST_REASON
from palimpsest.server.callers import Authenticator, Caller
from palimpsest.server.gate import PAGES, admitted
from palimpsest.server.problems import ProblemError, problem_of
from palimpsest.settings.serve import Role
from palimpsest.web import paths
from palimpsest.web.banner import Banner, BannerLine
from palimpsest.web.rendering import render
from palimpsest.web.seen import seen_by
from palimpsest.web.sessions import NOBODY, Sessions, WebSession

SIGN_IN = f"{PAGES}/sign-in"
NAME = f"{PAGES}/name"
CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf"
MOST_FIELDS = 100
MOST_DIGITS = 15
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""The Content-Security-Policy: only our own files, and no script or style within a page."""
SECURITY = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

NAV = (
    ("/review", "Work"),
    ("/review/sealed", "Audit"),
    ("/review/owners", "Owners"),
    ("/review/days", "Days"),
    ("/review/policies", "Policies"),
)
"""The navigation of every page, in order: path and name."""
FOR_ALL_OWNERS = frozenset({"/review/sealed"})
"""Pages only for callers who may see every owner."""

Page = Callable[["Visit"], Awaitable[Response]]


@dataclass(frozen=True)
class Visit:
    """One request for a page, with its session and its values, all percent-decoded.

    `ids` are those in the path. If a name is given twice, the last value counts. `sees_all`: the
    caller may see every owner.
    """

    store: AsyncPalimpsest
    request: Request
    session: WebSession | None
    ids: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    banner: Sequence[BannerLine] = ()
    sees_all: bool = False

    @property
    def caller(self) -> Caller:
        """The caller: name, role and owners."""
        return self.session.caller if self.session else NOBODY

    @property
    def is_partial(self) -> bool:
        """Whether htmx asks, which needs only a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    def owner(self) -> str:
        """The owner in the path; a problem if the caller may not see that owner."""
        owner_id = self.ids["owner"]
        self.caller.require_owner(owner_id)
        return owner_id

    def number(self, name: str) -> int | None:
        """A whole number of the query; None if it is missing, a problem if it is malformed."""
        given = self.query.get(name)
        return None if given is None else whole_number(name, given)

    def page(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """A page, or a part of one; the template gets `context`, the caller and the banner."""
        html = render(
            template,
            me=self.caller if self.session and self.caller.name else None,
            says_who=self.session is not None and self.session.says_who,
            csrf=self.session.csrf if self.session else "",
            path=self.request.url.path,
            banner=self.banner,
            nav=[page for page in NAV if self.sees_all or page[0] not in FOR_ALL_OWNERS],
            paths=paths,
            **context,
        )
        return HTMLResponse(html, status, SECURITY)

    def to(self, path: str) -> Response:
        """Redirect the browser to another of our pages."""
        if self.is_partial:
            return Response(status_code=204, headers={**SECURITY, "hx-redirect": path})
        return RedirectResponse(path, 303, SECURITY)


class Door:
    """Registers pages, each with its path below `/review` and the role that it requires."""

    def __init__(
        self, store: AsyncPalimpsest, sessions: Sessions, authenticator: Authenticator
    ) -> None:
        self.store = store
        self.sessions = sessions
        self.authenticator = authenticator
        self.routes: list[BaseRoute] = []
        self._banner = Banner()

    def get(self, path: str, page: Page, role: Role | None = "reviewer") -> None:
        """Add a page that changes nothing; `role` None admits everybody."""
        self._add("GET", path, page, role)

    def post(self, path: str, page: Page, role: Role | None = "reviewer") -> None:
        """Add the target of a form, which must send the session's CSRF secret."""
        self._add("POST", path, page, role)

    def _add(self, method: str, path: str, page: Page, role: Role | None) -> None:
        async def endpoint(request: Request) -> Response:
            """Check session, role and CSRF secret, then serve the page; errors are pages, too."""
            visit = self._visit(request)
            try:
                visit = replace(visit, form=_form(request))
                if role is not None and visit.session is None:
                    return visit.to(SIGN_IN)
                if role is not None and not visit.caller.name:
                    return visit.to(NAME)
                if role is not None:
                    visit.caller.require_role(role)
                if method == "POST" and visit.session is not None:
                    require_csrf(visit, visit.session.csrf)
                visit = await self._with_banner(visit)
                return await page(visit)
            except Exception as error:
                problem = problem_of(error)
                if problem.status >= 500:
                    raise  # for the gate's log
                return visit.page("problem.html", status=problem.status, problem=problem.document())

        self.routes.append(Route(f"{PAGES}{path}", endpoint, methods=[method]))

    async def _with_banner(self, visit: Visit) -> Visit:
        if visit.session is None or visit.is_partial:
            return visit

        def seen(store: Palimpsest) -> tuple[Sequence[BannerLine], bool]:
            return self._banner.lines(store), seen_by(store, visit.caller) is None

        lines, sees_all = await self.store.call(seen)
        may = visit.caller.role == "operator"
        shown = [line for line in lines if may or not line.for_operators]
        return replace(visit, banner=shown, sees_all=sees_all)

    def _visit(self, request: Request) -> Visit:
        return Visit(
            self.store,
            request,
            self.sessions.find(request.headers),
            {name: unquote(value) for name, value in request.path_params.items()},
            dict(request.query_params),
        )


def whole_number(name: str, given: str) -> int:
    """A whole number given as `name`; a problem if it is malformed, or has too many digits."""
    if not given.isdecimal() or len(given) > MOST_DIGITS:
        raise ProblemError(422, "invalid", f"`{name}` should be a whole number")
    return int(given)


def reason_in(form: Mapping[str, str]) -> str | None:
    """The reason that a person gave in a form, cut to the longest; None if it is blank."""
    return form.get("because", "").strip()[:LONGEST_REASON] or None


def require_csrf(visit: Visit, secret: str) -> None:
    """A problem if a form, or htmx, does not send the session's CSRF secret."""
    given = visit.request.headers.get(CSRF_HEADER) or visit.form.get(CSRF_FIELD, "")
    if not hmac.compare_digest(given.encode(), secret.encode()):
        raise ProblemError(403, "forbidden", "the form is from another session: load it again")


def _form(request: Request) -> dict[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_form = kind == "application/x-www-form-urlencoded"
    return _fields(admitted(request).body) if is_form else {}


def _fields(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise ProblemError(400, "bad_request", "the form cannot be read") from None
    return dict(pairs)
