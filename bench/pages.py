"""How long the review pages take to answer, each at its first load.

Every load is of another owner or day, so that no ledger is in memory yet. The browser's own work is
not included: the pages have no scripts except htmx.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlencode, urlsplit

from bench.figure import Measured, Scale
from bench.filling import BEGINNING, fill
from bench.scratch import OwnedText, ScratchStore, of_owners, scratch_folder
from bench.sentences import sentences
from bench.serving import Running, serving
from bench.stub import StubEngine
from palimpsest.streams.policies import load_policy

REACH_MS = 400.0
LARGE = "a large owner"
FORM = {"content-type": "application/x-www-form-urlencoded"}
CSRF = re.compile(r'name="csrf" value="([^"]+)"')
CUT = re.compile(r'href="([^"]+/take-back\?[^"]+)"')


class Visitor:
    """A browser's connection, with the cookie of a session."""

    def __init__(self, server: Running) -> None:
        at = urlsplit(server.url)
        assert at.hostname
        self._connection = http.client.HTTPConnection(at.hostname, at.port)
        self._cookie = ""
        headers = {"content-type": "application/json", "authorization": f"Bearer {server.operator}"}
        self._ask("GET", json.loads(self._ask("POST", "/links", "{}", headers))["path"])
        self._csrf = ""

    def load(self, path: str, form: dict[str, str] | None = None) -> tuple[float, str]:
        """Milliseconds until a page, or the answer to a form, is received; and its text."""
        begun = time.perf_counter()
        if form is None:
            page = self._ask("GET", path)
        else:
            page = self._ask("POST", path, urlencode(form | {"csrf": self._csrf}), FORM)
        took = (time.perf_counter() - begun) * 1e3
        self._csrf = CSRF.findall(page)[0]
        return took, page

    def _ask(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        self._connection.request(method, path, body, {"cookie": self._cookie, **headers})
        response = self._connection.getresponse()
        page = response.read().decode()
        assert response.status == 200, (path, response.status, page)
        self._cookie = response.headers.get("set-cookie", self._cookie).partition(";")[0]
        return page


def pages(scale: Scale) -> list[Measured]:
    """Milliseconds of the first load of each page, in a store of many memories."""
    held, owners = scale.of(500, 100_000, 100_000), scale.of(10, 1_000, 1_000)
    large, rounds = scale.of(100, 5_000, 20_000), scale.of(2, 10, 30)
    with scratch_folder() as scratch:
        folder = scratch / "store"
        joined = _made(folder, held, owners, large)
        with serving(folder) as server:
            visitor = Visitor(server)
            visitor.load("/review/owners")  # templates are read once
            found = _loads(visitor, joined, owners // 2, rounds)
    note = f"{held:,} memories of {owners:,} owners, {rounds} loads, each of another page"
    beside = f"an owner of {large:,} memories"
    measured = []
    for name, took in found.items():
        reach, about = (None, beside) if name.endswith(LARGE) else (REACH_MS, note)
        page = f"first load of {name}"
        measured.append(Measured(page, "ms", took, reach, at_most=True, note=about))
    return measured


def _made(folder: Path, held: int, owners: int, large: int) -> dict[str, str]:
    """Make a store; returns for each owner with a join the candidate that was joined."""
    folder.mkdir()
    with closing(ScratchStore(folder, StubEngine())) as store:
        fill(store.log, _texts_of_owners(held, owners, large), load_policy("standard"))
        store.session.begin()
        texts = _texts_of_owners(held, owners, large)
        again = [*islice(texts, 1), *islice(texts, large - 1, large - 1 + min(owners // 2, 100))]
        reworded = [(owner, text.removesuffix(".")) for owner, text in again]
        made = zip(reworded, store.outcomes(reworded), strict=True)
        found = {owner: str(one.candidate_id) for (owner, _), one in made if one.joined_to}
        store.projections.show()
        return found


def _texts_of_owners(count: int, owners: int, large: int) -> Iterator[OwnedText]:
    texts = sentences()
    yield from ((LARGE, text) for text in islice(texts, large))
    yield from of_owners(islice(texts, count), owners)


def _loads(
    visitor: Visitor, joined: dict[str, str], other: int, rounds: int
) -> dict[str, list[float]]:
    """The times of each page, by name; owners from number `other` on have no join."""
    memories = [(owner, one) for owner, one in joined.items() if owner != LARGE]
    assert len(memories) >= rounds, "the stub joined too few"
    found: dict[str, list[float]] = {}

    def load(name: str, path: str, form: dict[str, str] | None = None) -> str:
        took, page = visitor.load(path, form)
        found.setdefault(name, []).append(took)
        return page

    for number in range(rounds):
        owner, memory = memories[number]
        at = f"/review/owners/{quote(owner, safe='')}"
        page = load("a memory's page", f"{at}/memories/{memory}")
        [cut, *_] = CUT.findall(page)
        load("what a cut would do", cut.replace("&amp;", "&"))
    for number in range(rounds):
        at = f"/review/owners/owner%20{other + number}"
        load("an owner's page", at)
        load("a search in an owner's memories", f"{at}/search", {"q": "kettle"})
        day = BEGINNING.date() - timedelta(days=number)
        load("the days' page", f"/review/days?until={day + timedelta(days=20)}")
        load("a day's page", f"/review/days/{day}")
    page = visitor.load("/review/policies")[1]
    [policy] = re.findall(r'href="(/review/policies/[^"]+)"', page)
    for _ in range(rounds):
        load("a policy's page", policy)
    at = f"/review/owners/{quote(LARGE)}"
    load(f"a memory's page of {LARGE}", f"{at}/memories/{joined[LARGE]}")
    load(f"the page of {LARGE}", at)
    return found
