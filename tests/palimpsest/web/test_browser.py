"""The board in a real browser: keys, two people, a killed server, hostile texts, dark, narrow."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from palimpsest import Palimpsest
from palimpsest.web.board import board as boards
from palimpsest.web.board.waiting import read_pairs
from tests.long import long_but
from tests.palimpsest.server.child import PROGRAM
from tests.palimpsest.web.conftest import own_words
from tests.palimpsest.web.site import (
    PHONE,
    Site,
    a_browser,
    a_site,
    complaints,
    picture,
    submit_pairs,
)

ROOT = Path(__file__).parents[3]
PAIRS = 100
PATIENCE = 60.0
AT_WORK = """() => JSON.stringify({
  notice: document.getElementById("notice").textContent,
  question: document.getElementById("question").textContent,
  focus: document.activeElement.outerHTML.slice(0, 80),
  requests: performance.getEntriesByType("resource").slice(-4).map(
    one => [one.name, one.startTime, one.responseStart, one.responseEnd]),
  now: performance.now(),
})"""
"""The state of a stuck page, and the last requests that it has finished."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as started:
        expect.set_options(timeout=PATIENCE * 1_000)
        yield started


@pytest.fixture
def site(tmp_path: Path, browser: Browser) -> Iterator[Site]:
    with a_site(tmp_path / "store", browser) as served:
        yield served
        assert served.wrong == [], served.wrong


def shown(page: Page) -> str | None:
    """The decision that the page asks about; None if nothing waits."""
    found = page.locator("#answer input[name=decision]")
    return found.get_attribute("value") if found.count() else None


def press(page: Page, key: str) -> None:
    """Press a key, and wait until the board changes."""
    until(page, "board => !board.hasAttribute('hx-trigger')")  # the queue is read
    page.evaluate("() => { document.getElementById('board').dataset.before = 'yes'; }")
    page.keyboard.press(key)
    until(page, "board => !('before' in board.dataset)")


def until(page: Page, holds: str) -> None:
    """Wait until something holds for the board; if it does not, report the page's state.

    It polls by itself: waiting for selectors checks each drawn frame, and a busy machine may draw
    none.
    """
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(f"() => ({holds})(document.getElementById('board'))"):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {PATIENCE:.0f} s: {holds}; {page.evaluate(AT_WORK)}")
        page.wait_for_timeout(10)


def statements(store: Palimpsest) -> list[tuple[str, str]]:
    """Every statement of a person: the event and its actor."""
    rows = store.sql("SELECT event, actor FROM events WHERE actor IS NOT NULL ORDER BY position")
    return [(row["event"], row["actor"]) for row in rows]


def test_from_the_first_load_to_an_undone_merge(site: Site) -> None:
    submit_pairs(site.store, 2)
    page = site.page()
    page.goto(site.link())
    page.wait_for_url("**/review")
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("ins")).to_have_text("downstairs")
    expect(page.locator("del")).to_have_text("upstairs")
    first = shown(page)
    page.keyboard.press("b")
    expect(page.locator("#because")).to_be_focused()
    page.keyboard.type("said twice")
    page.keyboard.press("Enter")
    assert shown(page) == first
    press(page, "s")
    expect(page.locator("#notice")).to_have_text("Recorded: the same.")
    assert shown(page) not in (None, first)
    assert site.store.sql(
        "SELECT actor, because FROM decisions WHERE decision = 'manual_join'"
    ) == [{"actor": "grace", "because": "said twice"}]
    press(page, "Backspace")
    expect(page.locator("#notice")).to_contain_text("Undone: the same.")
    assert site.store.status()["memories"] == 4
    assert shown(page) == first
    page.keyboard.press("?")
    expect(page.locator("#help table")).to_be_in_viewport()
    page.get_by_role("link", name="upstairs").click()
    expect(page.get_by_role("heading", name="What it is made of")).to_be_visible()


def test_a_page_that_came_before_the_queue_was_read_shows_the_pair_by_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Event()
    monkeypatch.setattr(boards, "PATIENCE_SECONDS", 0.01)
    late = lambda *given: gate.wait(60) and read_pairs(*given)  # noqa: E731 - a line is enough
    monkeypatch.setattr("palimpsest.web.board.board.read_pairs", late)
    submit_pairs(site.store, 1)
    page = site.entered(bypass_csp=True)
    expect(page.locator("#question")).to_have_text("Looking for what waits")
    fits(page)
    gate.set()
    expect(page.locator("ins")).to_have_text("downstairs")
    press(page, "d")
    expect(page.locator("#notice")).to_have_text("Recorded: different.")


def test_a_hundred_pairs_by_keyboard_alone(site: Site) -> None:
    submit_pairs(site.store, PAIRS)
    page = site.entered()
    page.evaluate("() => { window.stayed = true; performance.setResourceTimingBufferSize(5000); }")
    keys = ["s", "d", "u", "f", "Space"]
    seen = set()
    for number in range(PAIRS):
        seen.add(shown(page))
        press(page, keys[number % len(keys)])
    assert len(seen) == PAIRS
    assert page.evaluate("() => window.stayed"), "a key was sent before its button was ready"
    expect(page.locator("#question")).to_have_text("Nothing waits here")
    skipped = PAIRS // len(keys)
    expect(page.locator("main")).to_contain_text(f"{skipped} left, {skipped} skipped by you")
    events = [event for event, _ in statements(site.store)]
    assert (events.count("joined"), events.count("separated")) == (60, 20)


def test_two_people_at_once_never_see_the_same_pair(site: Site) -> None:
    submit_pairs(site.store, 11)
    pages = {name: site.entered(name) for name in ("grace", "lin")}
    seen: list[str | None] = []
    for name in ("lin", "grace", "grace") * 3 + ("grace", "lin"):
        page, other = pages[name], pages["grace" if name == "lin" else "lin"]
        assert shown(page) != shown(other)
        seen.append(shown(page))
        press(page, "d")
    assert len(set(seen) - {None}) == 11
    by = [actor for event, actor in statements(site.store) if event == "separated"]
    assert (by.count("grace"), by.count("lin")) == (7, 4)


def test_who_answers_is_asked_once_and_takes_back_their_own_answers_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "REFRESH_SECONDS", 0.0)  # the next person sees what was said
    submit_pairs(site.store, 3)
    pages = {}
    for name, key in (("grace", "d"), ("lin ÷ ;", "s")):
        pages[name] = page = site.page(bypass_csp=True)
        page.goto(site.own_link())
        page.wait_for_url("**/review/name")
        page.goto(f"{site.endpoint.url}/review")
        page.wait_for_url("**/review/name")
        fits(page)
        page.get_by_label("Your name").fill(f" {name} ")
        page.keyboard.press("Enter")
        page.wait_for_url("**/review")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        page.keyboard.press("Backspace")
        press(page, key)
        expect(page.locator("#notice")).to_contain_text("Recorded")
    assert {*statements(site.store)} >= {("separated", "grace"), ("joined", "lin ÷ ;")}
    for name, said in (("lin ÷ ;", "the same"), ("grace", "different")):
        page = pages[name]
        page.goto(site.own_link())
        page.wait_for_url("**/review")
        expect(page.locator("header")).to_contain_text(f"{name}, operator")
        expect(page.locator(".answers li")).to_have_count(1)
        press(page, "Backspace")
        expect(page.locator("#notice")).to_have_text(f"Undone: {said}.")
    page = pages["grace"]
    page.get_by_role("link", name="Not you?").click()
    page.get_by_label("Your name").fill("kim")
    page.get_by_role("button", name="Go on").click()
    press(page, "d")
    assert ("separated", "kim") in statements(site.store)


def test_a_slow_or_broken_connection_is_told_and_a_key_is_never_carried_out_twice(
    site: Site,
) -> None:
    submit_pairs(site.store, 3)
    page = site.entered()
    held: list[Route] = []
    ways: dict[str, Callable[[Route], object]] = {"answer": held.append}
    page.route(
        re.compile(r"/review/(answer|undo)$"),
        lambda route: ways.get(route.request.url.rpartition("/")[2], Route.continue_)(route),
    )
    page.reload()  # what a page loaded before that sends may pass by unseen
    assert shown(page) is not None
    page.keyboard.press("d")
    expect(page.locator("#notice")).to_contain_text("Waiting for the server")
    page.keyboard.press("d")  # about a pair that nobody has seen yet
    held.pop().continue_()
    expect(page.locator("#notice")).to_have_text("Recorded: different.")
    assert held == []
    ways.clear()
    page.keyboard.press("D")  # with caps lock
    expect(page.locator(".about")).to_contain_text("1 left")
    for path, key, again in (
        ("undo", "Backspace", "not among your last answers any more"),
        ("answer", "d", "this pair was settled meanwhile"),
    ):
        ways[path] = carried_out_unheard
        page.keyboard.press(key)
        expect(page.locator("#notice")).to_contain_text("may not have been recorded")
        ways.clear()
        press(page, key)
        expect(page.locator("#notice")).to_contain_text(again)
    events = [event for event, _ in statements(site.store)]
    assert (events.count("separated"), events.count("reversed")) == (3, 1)
    lost_ones = r"htmx:(sendError|afterRequest)|ERR_FAILED"
    site.wrong = [one for one in site.wrong if not re.search(lost_ones, one)]


UNHURRIED = """
const late = setTimeout;
setTimeout = (told, ms, ...rest) => ms === 2000 ? 0 : late(told, ms, ...rest);
"""
"""A script that shows no message to wait, because a busy machine is slow by itself."""


def hold_an_answer(page: Page) -> list[Route]:
    """Hold the next answer back from the server until it is continued."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/review/answer", hold, times=1)
    page.reload()
    return held


def see_both(page: Page) -> None:
    for text in page.locator(".said").all():
        expect(text).to_be_in_viewport(ratio=1)


def test_fast_keys_wait_for_the_next_pair_and_none_is_lost(site: Site) -> None:
    submit_pairs(site.store, 8)
    page = site.entered()
    page.add_init_script(UNHURRIED)
    held = hold_an_answer(page)
    for key in ["d", "s", "Space", "u", "Backspace", "f", "d", "d"]:
        page.keyboard.press(key)
    expect(page.locator(".about")).to_contain_text("8 left")
    held.pop().continue_()
    until(page, "board => board.innerText.includes('2 left')")
    events = [event for event, _ in statements(site.store)]
    assert (events.count("separated"), events.count("joined")) == (3, 3)
    for key in "dddd":  # two are left, and one that was skipped
        page.keyboard.press(key)
    expect(page.locator("#question")).to_have_text("Nothing waits here")
    expect(page.locator("main")).to_contain_text("1 left, 1 skipped by you")
    page.keyboard.press("Backspace")
    expect(page.locator("#notice")).to_have_text("Undone: different.")
    see_both(page)


def test_letters_of_a_reason_are_no_answers_while_an_answer_is_on_its_way(site: Site) -> None:
    submit_pairs(site.store, 4)
    page = site.entered()
    held = hold_an_answer(page)
    page.keyboard.type("dbsuds")
    held.pop().continue_()
    expect(page.locator("#because")).to_be_focused()
    assert statements(site.store)[0] == ("separated", "grace")
    assert "joined" not in dict(statements(site.store))


def test_a_reason_is_kept_if_the_session_was_ended_elsewhere(site: Site) -> None:
    submit_pairs(site.store, 1)
    page = site.entered()
    page.wait_for_selector("#answer")
    page.keyboard.press("b")
    page.keyboard.type("two dogs")
    page.keyboard.press("Enter")
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Leave").click()
    other.wait_for_url("**/review/sign-in")
    page.keyboard.press("d")
    page.wait_for_url("**/review/sign-in")
    page.goto(site.link())
    page.wait_for_selector("#answer")
    expect(page.locator("#because")).to_have_value("two dogs")
    page.keyboard.press("d")
    expect(page.get_by_text("Nothing waits here")).to_be_visible()
    [said] = site.store.sql("SELECT because FROM events WHERE event = 'separated'")
    assert said["because"] == "two dogs"


def test_keys_that_wait_are_dropped_once_an_answer_is_not_recorded(site: Site) -> None:
    submit_pairs(site.store, 3)
    page = site.entered()
    page.add_init_script(UNHURRIED)
    held = hold_an_answer(page)
    asked = shown(page)
    [pair] = site.store.sql(f"SELECT * FROM review_queue WHERE decision_id = '{asked}'")
    site.store.separate(pair["existing_id"], pair["candidate_id"], actor="kim")
    page.keyboard.type("ddd")
    held.pop().continue_()
    expect(page.locator("#notice")).to_contain_text("this pair was settled meanwhile")
    expect(page.locator(".about")).to_contain_text("2 left")
    assert "grace" not in dict(statements(site.store)).values()


@pytest.mark.parametrize("away", ["help", "scrolled"])
def test_a_key_never_answers_a_pair_that_is_not_in_view(site: Site, away: str) -> None:
    submit_pairs(site.store, 3)
    page = site.entered(viewport={"width": 1200, "height": 400})
    first = shown(page)
    if away == "help":
        page.keyboard.press("?")
        expect(page.locator("#help table")).to_be_in_viewport()
    for key in ("d", "u", "Space"):
        page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
        expect(page.locator(".pair")).not_to_be_in_viewport()
        page.keyboard.press(key)
        expect(page.locator("#notice")).to_contain_text("press the key again")
        see_both(page)
        assert shown(page) == first
    assert statements(site.store) == []
    press(page, "d")
    assert shown(page) != first
    see_both(page)


def test_the_button_that_has_the_focus_answers_no_pair_out_of_view_either(site: Site) -> None:
    submit_pairs(site.store, 1)
    page = site.entered(viewport={"width": 1200, "height": 400})
    page.get_by_role("button", name="Different").focus()
    page.evaluate("() => scrollTo(0, document.body.scrollHeight)")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("press the key again")
    assert statements(site.store) == []


def test_in_a_small_window_both_texts_are_read_one_after_the_other(site: Site) -> None:
    submit_pairs(site.store, 2)
    page = site.entered(viewport={"width": 320, "height": 180})  # as at a zoom of 400 %
    older, newer = page.locator(".said").all()
    expect(newer).not_to_be_in_viewport()
    older.scroll_into_view_if_needed()
    page.keyboard.press("d")
    expect(newer).to_be_in_viewport()
    assert statements(site.store) == []
    press(page, "d")
    assert statements(site.store)[0] == ("separated", "grace")


def carried_out_unheard(route: Route) -> None:
    """Let the server carry it out, and break the connection before its answer comes."""
    route.fetch()
    route.abort()


def start(folder: Path, port: int) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start a server in its own process; returns it once it is ready, with its output."""
    words = [*PROGRAM, "--store", str(folder), "--json", "serve", "--port", str(port)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


@pytest.mark.long
def test_a_server_killed_between_two_keys_loses_nothing_it_acknowledged(
    tmp_path: Path, browser: Browser
) -> None:
    folder = tmp_path / "store"
    process, told = start(folder, 0)
    try:
        with Palimpsest.open(folder) as store:
            submit_pairs(store, 4)
        port = int(told["url"].rpartition(":")[2])
        context = browser.new_context()
        page = context.new_page()
        page.goto(told["review"])
        page.get_by_label("Your name").fill("grace")
        page.keyboard.press("Enter")
        page.wait_for_url("**/review")
        for key in ("d", "u"):
            press(page, key)
            expect(page.locator("#notice")).to_contain_text("Recorded")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        page.keyboard.press("s")
        expect(page.locator("#notice")).to_contain_text("does not answer")
        process, told = start(folder, port)
        page.keyboard.press("s")  # the session ended with the server
        page.wait_for_url("**/review/sign-in")
        page.goto(told["review"])
        page.wait_for_url("**/review")
        expect(page.locator(".about")).to_contain_text("2 left")
        press(page, "s")
        context.close()
    finally:
        process.terminate()
        process.communicate()
    with Palimpsest.open(folder) as store:
        events = [event for event, _ in statements(store)]
        assert (events.count("separated"), events.count("joined")) == (1, 2)
        assert store.verify()["differences"] == 0


HOSTILE = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'>",
    "<div hx-get='/review/leave' hx-trigger='load'>{{ 7 * 7 }}</div>",
    "\u202eright to left\u202c \u200b\ufeff \x1b[31m",
    "&lt;b&gt; \" ' javascript:window.pwned=1",
)


def test_hostile_texts_are_shown_as_what_they_are(site: Site) -> None:
    long = "wide" * 8_000
    for number, text in enumerate((*HOSTILE, long)):
        rows = [
            f"{own_words(number, 11)} {text} upstairs",
            f"{own_words(number, 11)} {text} downstairs",
        ]
        site.store.submit([{"owner_id": f"<i>eve</i>{'_' * 90}", "text": row} for row in rows])
    asked: list[str] = []
    page = site.entered(viewport=PHONE)
    page.on("request", lambda request: asked.append(request.url))
    seen = ""
    while shown(page) is not None:
        assert complaints(page) == []
        seen += page.locator(".pair").inner_text()
        assert page.evaluate("() => window.pwned") is None
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert page.locator("main img, main script, main i").count() == 0
        page.locator(".said").last.scroll_into_view_if_needed()
        press(page, "d")
    assert "<script>window.pwned = 1</script>" in seen
    assert "{{ 7 * 7 }}" in seen
    assert "U+202E" in seen
    assert "\u202e" not in seen
    assert "U+001B" in seen
    assert "wide" * 8_000 in seen
    own = f"{site.endpoint.url}/review/static/"
    assert {re.sub(r".*/review", "", url) for url in asked if own not in url} == {"/answer"}


KEY = "Ada keeps the spare key of the boat house under the {} stone behind the old pear tree"
MEETS = "Ada meets her brother on Sundays at {} in the café near the bridge"
REMEMBERED = (
    *map(KEY.format, ("third", "fourth")),
    *map(MEETS.format, ("9", "10")),
    *(f"{own_words(70, 30)}{end}" for end in ("", ".")),
)
"""Texts for the pictures in docs/review.md."""

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "dark", "viewport": PHONE},
}


@pytest.mark.parametrize("look", long_but("light", "phone", of=LOOKS))  # which is dark, too
def test_every_page_of_the_board_can_be_used_by_everybody(site: Site, look: str) -> None:
    """axe-core finds nothing, nothing is wider than the screen, and dark is dark."""
    for number, text in enumerate(REMEMBERED):
        said = {"owner_id": "ada", "source": "chat", "session_id": f"evening {number // 2}"}
        site.store.submit({**said, "text": text})
    page = site.entered(bypass_csp=True, **LOOKS[look])  # axe-core brings its own styles
    assert shown(page) is not None
    fits(page)
    picture(page, f"review-{look}")
    press(page, "d")
    page.locator("details.filters summary").click()
    page.locator("#help summary").click()
    fits(page)
    for path in ("/review/sealed", "/review?in_owner=nobody", "/review/enter?code=x"):
        page.goto(f"{site.endpoint.url}{path}")
        fits(page)
    page.get_by_role("button", name="Leave").click()
    page.wait_for_url("**/review/sign-in")
    fits(page)
    paper = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (look == "light")
    site.wrong = [one for one in site.wrong if "403" not in one]  # an invalid link


def fits(page: Page) -> None:
    """Check that the page is accessible and not wider than the screen."""
    assert complaints(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("look", long_but("light", "phone", of=LOOKS))  # which is dark, too
def test_the_audit_of_the_joins_can_be_used_by_everybody(site: Site, look: str) -> None:
    for number in range(6):
        text = own_words(number, 11)
        site.store.submit([{"owner_id": "ada", "text": said} for said in (text, f"{text}.")])
    page = site.entered(bypass_csp=True, **LOOKS[look])
    page.goto(f"{site.endpoint.url}/review/sealed")
    fits(page)
    site.store.audits().open(target=0.4, probes=0)
    page.reload()
    fits(page)
    for key, word in (("r", "right"), ("w", "wrong"), ("u", "unsure")):
        page.keyboard.press(key)
        expect(page.locator("#notice")).to_have_text(f"Recorded: {word}.")
        fits(page)
    assert (site.store.audits().status()["labels"], site.wrong) == (3, [])


def test_the_board_works_without_scripts(site: Site) -> None:
    submit_pairs(site.store, 2)
    page = site.entered(java_script_enabled=False)
    first = shown(page)
    page.get_by_role("button", name="Different").click()
    expect(page.locator("#notice")).to_have_text("Recorded: different.")
    assert shown(page) != first
    page.get_by_role("button", name="Undo answer").click()
    expect(page.locator("#notice")).to_have_text("Undone: different.")
    assert shown(page) == first


def test_the_keys_are_those_of_the_docs() -> None:
    docs = (ROOT / "docs" / "review.md").read_text(encoding="utf-8")
    template = (ROOT / "palimpsest/web/templates/board.html").read_text(encoding="utf-8")
    keys = {one.lower() for one in re.findall(r'data-key="([^"]+)"', template)}
    told = set(re.findall(r"^\| `([^`]+)` \|", docs, flags=re.MULTILINE))
    assert told == keys
