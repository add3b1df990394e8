"""The review page: its server in this process, like those of the other doors' tests, and people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path

import httpx2
import pytest

from palimpsest import Palimpsest
from palimpsest.server.callers import Caller
from palimpsest.settings.serve import Role
from palimpsest.web.board import board
from palimpsest.web.entering import link_path
from tests.palimpsest.server.conftest import Server, _without_a_model, served

__all__ = ["_without_a_model", "served"]
COOKIE = "palimpsest_review_7077"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page waits for the queue, however busy the machine is."""
    monkeypatch.setattr(board, "PATIENCE_SECONDS", 60.0)


def person(name: str = "grace", owners: str = "ada|bob", role: Role = "reviewer") -> Caller:
    """The person whom a link admits."""
    return Caller(name, role, re.compile(owners))


class Browser:
    """A browser without JavaScript: keeps the cookie, and sends forms as they are."""

    def __init__(self, server: Server, **headers: str) -> None:
        self.server = server
        self.cookie: str | None = None
        self.known_as = self.answers = ""
        self._headers = headers
        self.last: httpx2.Response | None = None

    async def ask(
        self, method: str, path: str, form: Mapping[str, str] | None = None, **headers: str
    ) -> httpx2.Response:
        """One request, redirects not followed."""
        held = [f"{COOKIE}={self.cookie}"] if self.cookie else []
        held += [one for one in (self.known_as, self.answers) if one]
        if held:
            headers.setdefault("cookie", "; ".join(held))
        async with self.server.client(None, **self._headers, **headers) as client:
            self.last = response = await client.request(method, path, data=form)
        given = response.headers.get("set-cookie")
        if given and given.startswith("palimpsest_reviewer="):
            self.known_as = given.partition(";")[0]
        elif given and given.startswith("palimpsest_answers="):
            self.answers = given.partition(";")[0]
        elif given:
            assert given.startswith(f"{COOKIE}=")
            self.cookie = given.partition("=")[2].partition(";")[0] or None
        return response

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        """Load a page."""
        return await self.ask("GET", path, None, **headers)

    async def send(self, path: str, **form: str) -> httpx2.Response:
        """Send a form, with the hidden field of the last page."""
        return await self.ask("POST", path, {"csrf": self.csrf, **form})

    async def say(self, word: str, **form: str) -> httpx2.Response:
        """Answer the pair that the last page shows, and load the next."""
        fields = {name: self.field(name) for name in ("decision", "existing", "version")}
        await self.send("/review/answer", say=word, **{**fields, **form})
        return await self.get("/review")

    def field(self, name: str) -> str:
        """A hidden field of the last page."""
        assert self.last is not None
        found = re.search(rf'name="{name}" value="([^"]*)"', self.last.text)
        assert found is not None, self.last.text
        return found[1]

    @property
    def notice(self) -> str:
        """The last page's notice about the previous answer."""
        assert self.last is not None
        found = re.search(r'role="status">([^<]*)<', self.last.text)
        assert found is not None, self.last.text
        return found[1]

    @property
    def left(self) -> int:
        """The number of pairs left, according to the last page."""
        assert self.last is not None
        found = re.search(r"([\d,]+) left", self.last.text)
        assert found is not None, self.last.text
        return int(found[1].replace(",", ""))

    @property
    def texts(self) -> tuple[str, str]:
        """Both texts of the pair that is shown, without marks."""
        assert self.last is not None
        found = re.findall(r'<p class="said"[^>]*><bdi[^>]*>(.*?)</bdi>', self.last.text)
        older, newer = (re.sub(r"<[^>]*>", "", one) for one in found)
        return older, newer

    @property
    def csrf(self) -> str:
        """The session's secret in the last page."""
        return self.field("csrf")

    async def enter(self, who: Caller | None = None) -> httpx2.Response:
        """Sign in by a new link."""
        path = link_path(self.server.app.sessions.link(who or person()))
        response = await self.get(path)
        assert response.status_code == 200, response.text
        return response


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Iterator[Palimpsest]:
    """A store without a server."""
    with Palimpsest.open(tmp_path / "store", by="person") as made:
        yield made


def say(store: Palimpsest, *texts: str, owner: str = "ada") -> list[str]:
    """Submit texts of an owner; return the candidates' ids."""
    rows = [{"owner_id": owner, "text": text} for text in texts]
    return [str(one.candidate_id) for one in store.submit(rows)]


def plain(html: str) -> str:
    """A page's text, without tags and layout."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def pair_texts(number: int) -> tuple[str, str]:
    """Two texts that the judge would be asked about, far from those of any other pair."""
    said = own_words(number, 11)
    return f"{said} upstairs", f"{said} downstairs"


def own_words(number: int, count: int) -> str:
    """Words that belong only to this number; digits would be cues."""
    codes = (f"{number:04d}{one:02d}" for one in range(count))
    return " ".join(code.translate(str.maketrans("0123456789", "abcdefghij")) for code in codes)


async def waiting_pairs(server: Server, count: int, owner: str = "ada", **fields: str) -> None:
    """Create pairs that wait for an answer."""
    rows = [
        {"owner_id": owner, "text": text, **fields}
        for number in range(count)
        for text in pair_texts(number)
    ]
    outcomes = await server.twin.submit(rows, source=fields.pop("source", "chat"))
    assert [outcome.decision for outcome in outcomes] == ["stored", "pending"] * count
