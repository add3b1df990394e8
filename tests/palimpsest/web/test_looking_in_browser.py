"""The other pages in a real browser: for a person, for axe-core, on a phone, in dark mode."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from palimpsest.api.store import Palimpsest
from palimpsest.contracts.requests import Selection
from palimpsest.web import paths
from palimpsest.web.pages import memory as memory_page
from tests.palimpsest.web.site import PHONE, Site, a_browser, a_site, complaints, picture

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> \u202egnp.exe {{ 7*7 }} hx-get="/"'
OWNER = "ada/home <b>"
LONG = f"robot:{'_' * 80}:arm"
WORDS = [f"word{n}" for n in range(20)]
LIGHT: dict[str, Any] = {}
DARK_PHONE: dict[str, Any] = {"viewport": PHONE, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as started:
        expect.set_options(timeout=60_000)
        yield started


@pytest.fixture(name="served", scope="module")
def _served(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    with a_site(tmp_path_factory.mktemp("looking") / "store", browser) as served:
        yield served


@pytest.fixture
def site(served: Site) -> Iterator[Site]:
    """One site for all tests; none of them may cause an error in the browser."""
    yield served
    wrong, served.wrong = served.wrong, []
    assert wrong == []


def say(store: Palimpsest, text: str, **fields: Any) -> str:
    [outcome] = store.submit({"owner_id": OWNER, "text": text, **fields})
    assert outcome.candidate_id is not None
    return outcome.candidate_id


@pytest.fixture(name="memory")
def _memory(site: Site) -> str:
    """A memory with three wordings in a store with every kind of event; made once."""
    store = site.store
    if not store.position:
        rows = say(store, "Ada rows a boat", session_id="monday")
        walks = say(store, "Ada walks every day")
        store.merge(rows, walks, actor="kim", because="one hobby")
        say(store, HOSTILE)
        say(store, "Ada rows a boat", id="again")
        say(store, " ".join(WORDS))
        say(store, " ".join([*WORDS[:18], "other", "more"]))
        gone = say(store, "Ada has a cat")
        store.retract(Selection(owner_id=OWNER, candidate_id=gone), actor="kim")
        store.update(walks, "Ada sails", actor="grace", because="she said so")
        store.submit({"owner_id": OWNER}, invalid="collect")
        ends = [store.submit({"owner_id": LONG, "text": one})[0] for one in ("lifts", "turns")]
        store.merge(*(str(one.candidate_id) for one in ends))
    [found] = store.sql("SELECT memory_id FROM memories WHERE face = 'Ada sails'")
    return str(found["memory_id"])


def every_page(site: Site, memory: str) -> Iterator[str]:
    """The path of each page."""
    today = datetime.now(UTC).date()
    yield from (paths.owners(), paths.owner(OWNER), paths.memory(OWNER, memory))
    yield from (paths.days(), paths.day(today), paths.policies())
    yield paths.policy(site.store.policy.hash)
    yield from (paths.owner("nobody"), paths.owner(LONG))


def go(page: Page, site: Site, path: str) -> None:
    page.goto(f"{site.endpoint.url}{path}")


def is_as_wide_as_its_window(page: Page) -> bool:
    wide = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    return bool(wide[0] <= wide[1])


@pytest.mark.parametrize("how", [LIGHT, DARK_PHONE], ids=["light", "dark-phone"])
def test_every_page_is_for_everybody(site: Site, memory: str, how: dict[str, Any]) -> None:
    page = site.entered(**how)
    for path in every_page(site, memory):
        missing = path == paths.owner("nobody")
        go(page, site, path)
        assert complaints(page) == [], path
        assert is_as_wide_as_its_window(page), path
        expect(page.locator("h1")).to_have_count(1)
        expect(page.locator("aside.banner")).to_contain_text("1 question waits for the judge")
        site.wrong = [one for one in site.wrong if not (missing and "404" in one)]
    go(page, site, paths.memory(OWNER, memory))
    page.get_by_role("link", name="Cut this join").first.click()
    assert complaints(page) == []
    assert is_as_wide_as_its_window(page)
    go(page, site, paths.owner(OWNER))
    page.get_by_label("Search these memories").fill("boat")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Found")).to_be_visible()
    assert complaints(page) == []
    assert "boat" not in page.url


def test_a_person_cuts_a_join_and_puts_it_back(site: Site, memory: str) -> None:
    page = site.entered("lin")
    go(page, site, paths.owners())
    page.get_by_role("link", name=OWNER).click()
    page.get_by_role("link", name="Ada sails").click()
    picture(page, "review-memory")
    row = page.locator(".tree > li", has_text="Ada walks every day")
    before = site.store.status()["memories"]
    row.get_by_role("link", name="Cut this join").click()
    expect(page.locator("h1")).to_have_text("Take a join out")
    expect(page.locator("section.side").first).to_contain_text("Ada sails")
    assert site.store.status()["memories"] == before
    picture(page, "review-cut")
    page.get_by_label("Because").fill("two hobbies")
    page.keyboard.press("Enter")
    done = page.locator(".done")
    expect(done).to_contain_text("the join was taken out")
    assert complaints(page) == []
    assert site.store.status()["memories"] == before + 1
    expect(page.locator(".timeline .fresh")).to_contain_text("two hobbies")
    done.get_by_role("link", name="Take this back").click()
    expect(page.locator("h1")).to_have_text("Put a join back")
    page.get_by_role("button", name="Put a join back").click()
    expect(page.locator(".done")).to_contain_text("stands again")
    assert site.store.status()["memories"] == before
    [*_, last] = site.store.sql("SELECT event, actor FROM events ORDER BY position")
    assert last == {"event": "reinstated", "actor": "lin"}


def test_a_cut_names_every_memory_that_appears_or_is_swallowed(
    tmp_path: Path, browser: Browser
) -> None:
    """Without the second, the only text that the third was compared with, it joins the first."""
    with a_site(tmp_path / "store", browser) as site:
        site.store.set_policy("replace-or-merge")
        first, second, third = (" ".join([*WORDS[:18], *two]) for two in ("st", "su", "vt"))
        ids = [say(site.store, text) for text in (first, second, third)]
        page = site.entered()
        go(page, site, paths.memory(OWNER, ids[0]))
        page.get_by_role("link", name="Cut this join").click()
        named = [f"new {second}", f"changed {third}", f"swallowed {third}, by {third}"]
        expect(page.locator(".became li")).to_have_text(named)
        page.get_by_role("button", name="Take a join out").click()
        expect(page.locator(".done .became li")).to_have_text(named)
        page.locator(".became li").last.get_by_role("link").first.click()
        expect(page.locator("h1")).to_have_text(third)
        assert site.wrong == []


def test_a_long_timeline_follows_by_itself(
    site: Site, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_page, "MANY_EVENTS", 0)
    page = site.entered()
    go(page, site, paths.memory(OWNER, memory))
    expect(page.locator(".timeline > li").first).to_be_visible()
    expect(page.get_by_role("link", name="Show what happened")).to_have_count(0)
    assert complaints(page) == []


def test_what_others_did_meanwhile_is_not_overwritten(site: Site, memory: str) -> None:
    page = site.entered()
    go(page, site, paths.memory(OWNER, memory))
    page.locator(".timeline").get_by_role("link", name="Undo").first.click()
    undone = site.store.undo(memory, actor="kim")
    before = site.store.position
    page.locator("form.decide button").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert site.store.position == before
    site.wrong = [one for one in site.wrong if "409" not in one]
    site.store.reinstate(undone["decision_id"])


def test_hostile_texts_do_nothing(site: Site, memory: str) -> None:
    page = site.entered()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    [found] = site.store.sql("SELECT memory_id FROM memories WHERE face LIKE '<script>%'")
    go(page, site, paths.memory(OWNER, found["memory_id"]))
    expect(page.locator("h1")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator("h1")).to_contain_text("{{ 7*7 }}")
    expect(page.locator("h1 .control")).to_have_text("U+202E")
    assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
    assert all(url.startswith(site.endpoint.url) for url in asked)
    assert memory


def test_on_a_phone_the_latest_day_of_a_chart_is_in_view(site: Site, memory: str) -> None:
    assert memory
    page = site.entered(**DARK_PHONE)
    go(page, site, paths.days())
    bar = page.locator(".bar[x]").first
    expect(bar).to_be_in_viewport()


def test_charts_are_read_out_and_have_their_numbers_in_a_table(site: Site, memory: str) -> None:
    assert memory
    page = site.entered()
    go(page, site, paths.days())
    chart = page.get_by_role("img", name="Decisions by outcome")
    total = sum(row["n"] for row in site.store.sql("FROM daily"))
    expect(chart.locator("desc")).to_contain_text(f"{total} in all")
    page.get_by_role("link", name=datetime.now(UTC).date().isoformat()).click()
    expect(page.locator("h1")).to_have_text(datetime.now(UTC).date().isoformat())
    picture(page, "review-day")
    go(page, site, paths.policy(site.store.policy.hash))
    fills = page.evaluate(
        "[...document.querySelectorAll('.bar')].map(one => getComputedStyle(one).fill)"
    )
    assert fills
    assert "rgb(0, 0, 0)" not in fills, "a series without a colour"
    picture(page, "review-policy")
