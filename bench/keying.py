"""How long a reviewer waits for the next pair after each key, in a real browser.

Needs playwright and Debian's chromium, or the browser that PALIMPSEST_BROWSER names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from bench.figure import Measured, Scale
from bench.filling import fill
from bench.scratch import ScratchStore, of_owners, scratch_folder
from bench.sentences import sentences
from bench.serving import Running, serving
from bench.stub import StubEngine
from palimpsest import Palimpsest
from palimpsest.server.endpoint import Endpoint
from palimpsest.server.linking import ask_for_link
from palimpsest.streams.policies import load_policy

REACH_MS = 120.0
REACH_SECONDS = 30.0
KEYS = "sduf"
WATCH = """() => {
  window.took = [];
  let begun;
  document.addEventListener("keydown", () => { begun = performance.now(); }, true);
  const swapped = () => {
    if (begun === undefined || document.getElementById("board") === null) return;
    const from = begun;
    begun = undefined;
    requestAnimationFrame(() => window.took.push(performance.now() - from));
  };
  new MutationObserver(swapped).observe(document.querySelector("main"), { childList: true });
}"""
"""Records the milliseconds from each key to the frame that shows its effect."""

SHOWN = """count => new Promise(shown => {
  const look = () => window.took.length > count ? shown() : setTimeout(look, 2);
  look();
})"""


def keys(scale: Scale) -> list[Measured]:
    """Milliseconds from a key to the next pair, and the total waiting time of a session."""
    held, owners = scale.of(500, 100_000, 100_000), scale.of(10, 1_000, 1_000)
    pairs = scale.of(8, 301, 301)
    with scratch_folder() as scratch:
        folder = scratch / "store"
        made = _made(folder, held, owners, pairs)
        with serving(folder) as server, open_page() as page:
            first = _first_load(server, page)
            took = _pressed(page, made - 1)  # after the last pair there is no next one
    note = f"{held:,} memories of {owners:,} owners, {len(took)} joins reviewed"
    p95 = float(np.percentile(took, 95))
    beside = {"p50": float(np.median(took)), "most": max(took), "first load": first}
    name, seconds = "a key until the next pair is shown, p95", sum(took) / 1e3
    waited = f"{len(took)} pairs by keyboard, waiting in all"
    return [
        Measured(name, "ms", [p95], REACH_MS, at_most=True, note=note, beside=beside),
        Measured(waited, "s", [seconds], REACH_SECONDS, at_most=True, note=note),
    ]


def audit_keys(scale: Scale) -> list[Measured]:
    """Time from an audit's key to the new bound, divided by that from a review key to a pair."""
    held, owners = scale.of(500, 5_000, 100_000), scale.of(10, 50, 1_000)
    pairs, rounds = scale.of(60, 400, 1_000), scale.of(2, 8, 12)
    with scratch_folder() as scratch:
        folder = scratch / "store"
        _made(folder, held, owners, pairs)
        with Palimpsest.open(folder, by="person") as store:
            joins = store.audits().open(target=0.001, probes=0)["joins"]
        with serving(folder) as server, open_page() as review:
            _first_load(server, review)
            audit = review.context.new_page()
            audit.goto(f"{server.url}/review/sealed")
            audit.wait_for_selector("#answer")
            took: dict[str, list[float]] = {"review": [], "audit": []}
            for _ in range(rounds):
                for name, page, sequence in (("review", review, KEYS), ("audit", audit, "rrrw")):
                    page.bring_to_front()
                    took[name] += _pressed(page, 20, sequence)
    p50 = {name: float(np.median(seconds)) for name, seconds in took.items()}
    name = "one key of the audit / one key of the review queue, p50"
    ratio = p50["audit"] / p50["review"]
    note = f"{joins:,} joins, {held:,} memories, {rounds * 20} keys each, in turns"
    beside = {f"{door}, ms": seconds for door, seconds in p50.items()}
    return [Measured(name, "times", [ratio], 1.3, at_most=True, note=note, beside=beside)]


def _made(folder: Path, held: int, owners: int, pairs: int) -> int:
    """Make a store with joined rewordings; returns their number."""
    folder.mkdir()
    with closing(ScratchStore(folder, StubEngine())) as store:
        fill(store.log, of_owners(islice(sentences(), held), owners), load_policy("standard"))
        store.session.begin()
        reworded = (text.removesuffix(".") for text in islice(sentences(), min(held, pairs)))
        joined = [one for one in store.outcomes(of_owners(reworded, owners)) if one.joined_to]
        store.projections.show()
        return len(joined)


@contextmanager
def open_page() -> Iterator[Page]:
    """A page of a headless browser."""
    program = os.environ.get("PALIMPSEST_BROWSER") or shutil.which("chromium")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        try:
            yield browser.new_context().new_page()
        finally:
            browser.close()


def _first_load(server: Running, page: Page) -> float:
    """Milliseconds until the first pair is shown by a server that has just started."""
    endpoint = Endpoint(url=server.url, pid=server.pid, operator=server.operator)
    page.goto(ask_for_link(endpoint, None, {"name": "bench"}))
    page.wait_for_url("**/review")
    page.wait_for_load_state("load")
    came_with_the_page = page.locator("#answer").count()
    page.wait_for_selector("#answer")
    took: float = page.evaluate(
        "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
        if came_with_the_page
        else "() => performance.now()"
    )
    return took


def _pressed(page: Page, count: int, sequence: str = KEYS) -> list[float]:
    page.evaluate(WATCH)
    for number in range(count):
        assert page.locator("#answer").count(), f"only {number} pairs waited"
        page.keyboard.press(sequence[number % len(sequence)])
        page.evaluate(SHOWN, number)
    took: list[float] = page.evaluate("() => window.took")
    return took
