"""A real server with a real browser, for the tests of the pages.

`PALIMPSEST_BROWSER` names the browser; the default is Debian's `chromium`. Without a browser the
tests are skipped with the reason, or fail if `PALIMPSEST_REQUIRE_BROWSER=1`. With 0 they are always
skipped.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from palimpsest import Palimpsest
from palimpsest.server.endpoint import Endpoint, OnlyServer
from palimpsest.server.linking import ask_for_link
from palimpsest.server_process.run import serve
from palimpsest.settings.serve import ServeSettings
from tests.palimpsest.web.conftest import pair_texts

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1200, "height": 900}
IMAGES = os.environ.get("PALIMPSEST_SCREENSHOTS")
"""The folder into which the pictures of docs/review.md are written, if it is set."""


def browser_program() -> str:
    """The path of the browser; without one, skips the test, or fails if a browser is required."""
    required = os.environ.get("PALIMPSEST_REQUIRE_BROWSER")
    if required == "0":
        pytest.skip("no browser is wanted: PALIMPSEST_REQUIRE_BROWSER=0")
    found = os.environ.get("PALIMPSEST_BROWSER") or shutil.which("chromium")
    if found:
        return found
    why = "no browser: install chromium, or name one by PALIMPSEST_BROWSER"
    if required == "1":
        pytest.fail(f"the pages have to be tried in a browser: {why}")
    pytest.skip(why)


@contextmanager
def a_browser() -> Iterator[Browser]:
    """A headless browser."""
    program = browser_program()
    with sync_playwright() as playwright:
        flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        started = playwright.chromium.launch(executable_path=program, args=flags)
        try:
            yield started
        finally:
            started.close()


class Site:
    """A server of a store in this process, and people who sign in by links."""

    def __init__(self, endpoint: Endpoint, store: Palimpsest, browser: Browser) -> None:
        self.endpoint = endpoint
        self.store = store
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.wrong: list[str] = []

    def page(self, **options: Any) -> Page:
        """A page of a new browser profile; its errors are collected."""
        options.setdefault("viewport", DESKTOP)
        context = self._browser.new_context(**options)
        context.set_default_timeout(30_000)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._note_error)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(f"a dialog: {dialog.message}"))
        return page

    def _note_error(self, message: Any) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def link(self, name: str = "grace", **wanted: str) -> str:
        """A new link for a person."""
        return ask_for_link(self.endpoint, None, {"name": name, **wanted})

    def own_link(self) -> str:
        """A link as `serve` and `review open` print it: the person who uses it gives a name."""
        return ask_for_link(self.endpoint, None, {})

    def entered(
        self, name: str = "grace", *, wanted: dict[str, str] | None = None, **options: Any
    ) -> Page:
        """A page on which a person is signed in."""
        page = self.page(**options)
        page.goto(self.link(name, **(wanted or {})))
        page.wait_for_url("**/review")
        return page

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()


@contextmanager
def a_site(folder: Path, browser: Browser) -> Iterator[Site]:
    """A server on a new store, ready, until the block ends."""
    stores: list[Palimpsest] = []
    endpoints: list[Endpoint] = []
    ready, loops = Event(), []

    def opened() -> Palimpsest:
        stores.append(Palimpsest.open(folder, by="person"))
        return stores[0]

    def told(endpoint: Endpoint, _link: str) -> None:
        endpoints.append(endpoint)
        ready.set()

    async def run() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        await serve(opened, OnlyServer(folder), ServeSettings(port=0), stop, on_ready=told)

    thread = Thread(target=lambda: asyncio.run(run()), name="server")
    thread.start()
    try:
        assert ready.wait(60), "the server does not start"
        site = Site(endpoints[0], stores[0], browser)
        try:
            yield site
        finally:
            site.close()
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)


def submit_pairs(store: Palimpsest, count: int, owner: str = "ada", first: int = 0) -> None:
    """Create pairs that wait for an answer."""
    rows = [
        {"owner_id": owner, "text": text, "source": "chat"}
        for number in range(first, first + count)
        for text in pair_texts(number)
    ]
    assert [one.decision for one in store.submit(rows)] == ["stored", "pending"] * count


def complaints(page: Page) -> list[str]:
    """Axe-core's findings on a page, rule by rule, with the elements."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    # Elements that pass are not described, which took a seventh of the time.
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:120]} ({node['failureSummary']})"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


def picture(page: Page, name: str) -> None:
    """Write a picture for the docs, if pictures are requested."""
    if IMAGES:
        Path(IMAGES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(IMAGES) / f"{name}.png")
