"""The page of the audit: one pair at a time, its verdict hidden, and the bound after each label."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from palimpsest.web.pages.sealed import points_of
from tests.palimpsest.server.conftest import Server
from tests.palimpsest.web.conftest import Browser, own_words, person, plain

Served = Callable[[Callable[[Server], Awaitable[None]]], None]
PATH = "/review/sealed"


async def joined(server: Server, count: int = 6) -> None:
    """Create joins by a rule."""
    texts = [form for n in range(count) for form in (own_words(n, 11), f"{own_words(n, 11)}.")]
    outcomes = await server.twin.submit([{"owner_id": "ada", "text": text} for text in texts])
    assert [outcome.decision for outcome in outcomes] == ["stored", "token_reject"] * count


async def entered(server: Server, owners: str = ".*") -> Browser:
    browser = Browser(server)
    await browser.enter(person(owners=owners))
    return browser


async def said(browser: Browser, word: str) -> str:
    await browser.send(PATH, decision=browser.field("decision"), say=word, because="as I see it")
    return plain((await browser.get(PATH)).text)


def test_pairs_are_labelled_by_keys_until_it_is_proven(served: Served) -> None:
    async def used(server: Server) -> None:
        await joined(server)
        audits = server.twin.store.audits()
        audits.open(target=0.4, probes=0)
        browser = await entered(server)
        page = (await browser.get(PATH)).text
        older, newer = browser.texts
        assert newer == f"{older}."
        for key in "rwu":
            assert f'data-key="{key}"' in page
        assert not re.search(r"token_reject|similar|cosine|jaccard", plain(page))
        shown = plain(page)
        assert "At most 100.00% of 6 joins are wrong" in shown
        bounds = []
        while "That is enough" not in shown:
            shown = await said(browser, "right")
            bounds.append(float(re.findall(r"At most ([\d.]+)%", shown)[0]))
        assert bounds == sorted(bounds, reverse=True)
        assert bounds[-1] <= 40
        assert audits.status()["labels"] == len(bounds)
        assert "Certified" not in (await browser.get("/review")).text
        audits.certify()
        board = plain((await browser.get("/review")).text)
        assert re.search(rf"Certified on \S+ ?: at most {bounds[-1]:.2f}% of 6 joins", board), board
        few = await entered(server, owners="eve")
        assert "Certified" not in (await few.get("/review")).text
        events = [recorded.event for recorded in server.twin.store.reader.log.after(0)]
        labels = [e.data for e in events if e.type == "palimpsest.audit_labelled.v1"]
        assert {(data.actor, data.because) for data in labels} == {("grace", "as I see it")}  # type: ignore[union-attr]

    served(used)


def test_a_wrong_join_is_taken_out_in_the_name_of_who_said_so(served: Served) -> None:
    async def used(server: Server) -> None:
        await joined(server)
        server.twin.store.audits().open(target=0.4, probes=0)
        browser = await entered(server)
        await browser.get(PATH)
        before = len(server.twin.store.list("ada")["memories"])
        await said(browser, "wrong")
        assert len(server.twin.store.list("ada")["memories"]) == before + 1
        events = [recorded.event for recorded in server.twin.store.reader.log.after(0)]
        [taken_out] = [e for e in events if e.type == "palimpsest.reversed.v1"]
        assert taken_out.data.actor == "grace"  # type: ignore[union-attr]

    served(used)


def test_what_cannot_be_is_said_and_changes_nothing(served: Served) -> None:
    async def used(server: Server) -> None:
        await joined(server)
        browser = await entered(server)
        assert "No audit was opened" in plain((await browser.get(PATH)).text)
        audits = server.twin.store.audits()
        audits.open(target=0.4, probes=0)
        await browser.get(PATH)
        assert (await browser.send(PATH, decision="ffff", say="right")).status_code == 303
        await browser.get(PATH)
        assert (await browser.send(PATH, decision="ffff", say="same")).status_code == 422
        await browser.get(PATH)
        headers = {"hx-request": "true", "x-csrf": browser.csrf}
        part = await browser.ask("POST", PATH, {"decision": "ffff", "say": "right"}, **headers)
        assert "Not recorded: " in plain(part.text)
        assert "<html" not in part.text
        assert audits.status()["labels"] == 0
        few = await entered(server, owners="bob")
        assert (await few.get(PATH)).status_code == 403
        assert PATH not in (await few.get("/review")).text, "nobody is shown a way to a refusal"
        assert PATH in (await browser.get("/review")).text

    served(used)


def test_the_curve_falls_from_left_to_right() -> None:
    assert points_of([1.0, 0.5, 0.0]) == "0.0,0.0 300.0,60.0 600.0,120.0"
    assert points_of([1.0]) == "0.0,0.0"
