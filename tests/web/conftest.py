"""The review page: its server in this process, as the other doors' tests have it, and people."""

from __future__ import annotations

import re
from collections.abc import Mapping

import httpx2

from palimpsest.serve.callers import Caller
from palimpsest.serve_settings import Role
from palimpsest.web.entering import link_path
from tests.serve.conftest import Server, _without_a_model, served

__all__ = ["_without_a_model", "served"]
COOKIE = "palimpsest_review_7077"


def person(name: str = "grace", owners: str = "ada|bob", role: Role = "reviewer") -> Caller:
    """Whom a link lets in."""
    return Caller(name, role, re.compile(owners))


class Browser:
    """What a browser without JavaScript does: keeps the cookie and sends forms as they are."""

    def __init__(self, server: Server, **headers: str) -> None:
        self.server = server
        self.cookie: str | None = None
        self._headers = headers
        self.last: httpx2.Response | None = None

    async def ask(
        self, method: str, path: str, form: Mapping[str, str] | None = None, **headers: str
    ) -> httpx2.Response:
        """One request, redirects not followed."""
        if self.cookie:
            headers.setdefault("cookie", f"{COOKIE}={self.cookie}")
        async with self.server.client(None, **self._headers, **headers) as client:
            self.last = response = await client.request(method, path, data=form)
        given = response.headers.get("set-cookie")
        if given:
            assert given.startswith(f"{COOKIE}=")
            self.cookie = given.partition("=")[2].partition(";")[0] or None
        return response

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        """Load a page."""
        return await self.ask("GET", path, None, **headers)

    async def send(self, path: str, **form: str) -> httpx2.Response:
        """Send a form, with the hidden field that the last page had."""
        return await self.ask("POST", path, {"csrf": self.csrf, **form})

    @property
    def csrf(self) -> str:
        """The session's secret as the last page had it."""
        assert self.last is not None
        found = re.search(r'name="csrf" value="([^"]*)"', self.last.text)
        assert found is not None, self.last.text
        return found[1]

    async def enter(self, who: Caller | None = None) -> httpx2.Response:
        """Come in by a new link."""
        path = link_path(self.server.app.sessions.link(who or person()))
        response = await self.get(path)
        assert response.status_code == 200, response.text
        return response
