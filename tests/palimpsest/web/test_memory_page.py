"""A memory's page: read, a join cut and restored, only by forms; and what it refuses."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import pytest

from palimpsest.web.pages import memory as memory_page
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.web.conftest import Browser, person

OWNER = "/review/owners/ada"
HOSTILE = "<script>alert(1)</script> \u202egnp.exe & \x07"


async def merged(server: Server) -> tuple[str, str, str]:
    """Two candidates of ada's that a person merged, and the decision."""
    a, b = [await server.add(text) for text in ("Ada rows a boat", "Ada paints walls")]
    said = await server.twin.merge(a["candidate_id"], b["candidate_id"], because="one hobby")
    return a["candidate_id"], b["candidate_id"], said["decision_id"]


async def entered(server: Server, owners: str = "ada") -> Browser:
    browser = Browser(server)
    await browser.enter(person(owners=owners))
    return browser


def fields(html: str) -> dict[str, str]:
    """The hidden fields of the form on a page that shows an undo."""
    form = html[html.index('class="decide"') :]
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form)
    return {name: unescape(value) for name, value in found if name != "csrf"}


def links(html: str, label: str) -> list[str]:
    return [unescape(one) for one in re.findall(rf'href="([^"]+)">{label}</a>', html)]


def test_a_memory_is_shown_with_its_tree_and_its_timeline(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, b, decision = await merged(server)
        browser = await entered(server)
        page = await browser.get(f"{OWNER}/memories/{b}")
        assert page.status_code == 200
        assert page.text.count("Ada paints walls") >= 2
        assert re.search(rf'class="depth-0" id="c-{a}"', page.text)
        assert re.search(rf'class="depth-1" id="c-{b}"', page.text)
        assert "one hobby" in page.text
        assert f"It was <code>{b}</code> once" in page.text
        assert len(links(page.text, "Cut this join")) == 1
        assert len(links(page.text, "Undo")) == 1
        assert page.text.count("It said from then on") == 3
        await server.twin.confirm(decision)
        page = await browser.get(f"{OWNER}/memories/{b}")
        assert "the decision was confirmed" in page.text
        assert page.text.count("It said from then on") == 3, "the face is the same"

    served(used)


def test_a_join_is_cut_and_put_back(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, b, _ = await merged(server)
        browser = await entered(server)
        page = await browser.get(f"{OWNER}/memories/{a}")
        [cut] = links(page.text, "Cut this join")
        shown = await browser.get(cut)
        assert shown.status_code == 200
        assert "Nothing is done yet" in shown.text
        assert (await server.twin.status())["memories"] == 1
        done = await browser.send(cut.partition("?")[0], because="two people", **fields(shown.text))
        assert done.status_code == 303
        assert (await server.twin.status())["memories"] == 2
        told = await browser.get(done.headers["location"])
        assert "the join was taken out" in told.text
        assert told.text.count('class="fresh"') == 1
        assert "two people" in told.text
        assert f'href="{OWNER}/memories/{b}"' in told.text, "the other memory"
        [last] = await server.twin.sql("SELECT actor, because FROM events WHERE event = 'reversed'")
        assert last == {"actor": "grace", "because": "two people"}
        [back] = links(told.text, "Take this back")
        shown = await browser.get(back)
        done = await browser.send(back.partition("?")[0], because="", **fields(shown.text))
        assert (await server.twin.status())["memories"] == 1
        told = await browser.get(done.headers["location"])
        assert "stands again" in told.text

    served(used)


def test_what_was_shown_before_something_changed_is_not_done(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, _, _ = await merged(server)
        browser = await entered(server)
        page = await browser.get(f"{OWNER}/memories/{a}")
        [cut] = links(page.text, "Cut this join")
        shown = await browser.get(cut)
        stale = fields(shown.text)
        await server.twin.update(a, "Ada sails")
        await browser.get(cut)
        refused = await browser.send(cut.partition("?")[0], **stale)
        assert refused.status_code == 409
        assert "moved_on" in refused.text
        assert (await server.twin.status())["memories"] == 1
        forged = await browser.ask("POST", cut.partition("?")[0], stale)
        assert forged.status_code == 403, "the form has no secret"

    served(used)


def test_nobody_sees_or_changes_what_is_not_theirs(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a, _, decision = await merged(server)
        browser = await entered(server, owners="bob")
        assert (await browser.get(f"{OWNER}/memories/{a}")).status_code == 403
        own = "/review/owners/bob/memories"
        assert (await browser.get(f"{own}/{a}")).status_code == 404
        query = f"id={decision}"
        assert (await browser.get(f"{own}/{a}/take-back?{query}")).status_code == 404
        assert (await browser.get(f"{OWNER}/memories/{a}/take-back?{query}")).status_code == 403
        form = {"id": decision, "token": "x"}
        assert (await browser.send(f"{own}/{a}/take-back", **form)).status_code == 404
        nobody = Browser(server)
        away = await nobody.get(f"{OWNER}/memories/{a}")
        assert away.headers["location"] == "/review/sign-in"
        assert (await server.twin.status())["memories"] == 1

    served(used)


def test_what_cannot_be_is_reported_with_its_reason(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        first = await server.add("Ada rows a boat")
        again = await server.add("Ada rows a boat")
        browser = await entered(server)
        path = f"{OWNER}/memories/{first['memory_id']}"
        assert not links((await browser.get(path)).text, "Undo")
        query = f"take-back?id={again['decision_id']}"
        refused = await browser.get(f"{path}/{query}")
        assert refused.status_code == 409
        assert "same_text" in refused.text
        assert (await browser.get(f"{path}/take-back?id=x")).status_code == 404
        assert (await browser.get(f"{path}?start=x")).status_code == 422
        assert (await browser.get(f"{OWNER}/memories/no-id")).status_code == 404
        assert (await browser.get(f"{OWNER}/memories/{again['decision_id']}")).status_code == 404

    served(used)


def test_what_expires_is_marked_and_a_person_pins_and_unpins_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        bus = await server.add("The bus is late", expires_at="2026-01-01T00:00:00Z")
        await server.add("The shop is closed", expires_at="2999-01-01T12:30:00Z")
        path, marked = f"{OWNER}/memories/{bus['memory_id']}", "expired <time"
        browser = await entered(server)
        listed = (await browser.get(OWNER)).text
        assert "expires <time" in listed
        assert "The bus is late" not in listed
        assert "<dt>Memories</dt><dd>1</dd>" in listed
        assert "<dt>Expired</dt><dd>1</dd>" in listed
        [every] = links(listed, "Show what has expired, too")
        assert marked in (await browser.get(every)).text
        found = await browser.send(f"{OWNER}/search", q="bus", by="words")
        assert marked in found.text
        page = (await browser.get(path)).text
        assert page.count(marked) == 2, "the memory and its member"
        assert "2026-01-01 00:00" in page
        kept = await browser.send(f"{path}/pin", until="", because="it still is")
        page = (await browser.get(kept.headers["location"])).text
        assert "pinned" in page
        assert marked not in page
        assert "Because: " in page
        assert "pinned" in (await browser.get(OWNER)).text
        assert "<summary>Keep it</summary>" not in page
        [unpin] = links(page, "Unpin")
        shown = (await browser.get(unpin)).text
        assert "Restore its previous expiry" in shown
        done = await browser.send(f"{path}/take-back", **fields(shown))
        assert marked in (await browser.get(done.headers["location"])).text
        until = await browser.send(f"{path}/pin", until="2999-01-30", because="")
        page = (await browser.get(until.headers["location"])).text
        assert "expires <time" in page
        assert "2999-01-31 00:00" in page
        for wrong, status in (("2999-01-30", 409), ("soon", 422), ("9999-12-31", 422)):
            assert (await browser.send(f"{path}/pin", until=wrong)).status_code == status
        other = await entered(server, owners="bob")
        await other.get("/review")
        assert (await other.send(f"{path}/pin", until="")).status_code == 403

    served(used)


def test_hostile_texts_are_texts(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        owner = "a/b <i>"
        [said] = await server.twin.submit({"owner_id": owner, "text": HOSTILE, "source": "<b>"})
        browser = await entered(server, owners=".*")
        page = await browser.get(
            f"/review/owners/{quote(owner, safe='')}/memories/{said.candidate_id}"
        )
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
        assert "\u202e" not in page.text
        assert "U+202E" in page.text
        assert "a/b &lt;i&gt;" in page.text
        pages = [page]
        for path in ("", "/search"):
            at = f"/review/owners/{quote(owner, safe='')}{path}"
            seen = await (browser.send(at, q="alert") if path else browser.get(at))
            pages.append(seen)
        for seen in pages:
            assert "alert(1)" in seen.text
            apart = re.sub(r"<title>.*?</title>", "", seen.text, flags=re.DOTALL)
            apart = re.sub(r'<bdi class="text" hx-disable>.*?</bdi>', "", apart, flags=re.DOTALL)
            assert "alert(1)" not in apart, "htmx is kept away from every text"

    served(used)


def test_a_large_memory_is_shown_part_by_part(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        rows = [{"owner_id": "ada", "text": "Ada rows", "id": str(n)} for n in range(205)]
        first = (await server.twin.submit(rows))[0].candidate_id
        browser = await entered(server)
        page = await browser.get(f"{OWNER}/memories/{first}")
        assert page.text.count('id="c-') == 200
        [more] = links(page.text, "5 more members")
        rest = await browser.get(more)
        assert rest.text.count('id="c-') == 5
        assert 'start="201"' in rest.text
        [earlier] = links(page.text, "Earlier")
        assert page.text.count("hash exact)") == 100
        second = await browser.get(earlier)
        assert second.text.count("hash exact)") == 100
        [earlier] = links(second.text, "Earlier")
        first_events = await browser.get(earlier)
        assert first_events.text.count("hash exact)") == 4
        assert first_events.text.count("(stored)") == 1
        assert not links(first_events.text, "Earlier")

    served(used)


def test_the_timeline_of_an_owner_of_many_events_follows_later(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_page, "MANY_EVENTS", 3)

    async def used(server: Server) -> None:
        a, _, _ = await merged(server)
        browser = await entered(server)
        path = f"{OWNER}/memories/{a}"
        assert len(links((await browser.get(path)).text, "Undo")) == 1, "three events"
        await server.add("Ada sings")
        page = await browser.get(path)
        assert f'hx-get="{path}/timeline"' in page.text
        assert not links(page.text, "Undo")
        assert len(links(page.text, "Cut this join")) == 1
        part = await browser.get(f"{path}/timeline", **{"hx-request": "true"})
        assert len(links(part.text, "Undo")) == 1
        assert "<html" not in part.text
        [whole] = links(page.text, "Show what happened")
        assert len(links((await browser.get(whole)).text, "Undo")) == 1
        done = await browser.get(f"{path}?since=1")
        assert "Done" in done.text, "what was just done is always there"

    served(used)
