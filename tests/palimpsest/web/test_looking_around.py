"""Owners, a search, days, policies and the banner: their figures agree, for the right owners."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

import pytest

from palimpsest import Palimpsest
from palimpsest.charts.kinds import FAMILIES, FAMILY_OF, by_family
from palimpsest.charts.zones import zones_of
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.events import Decision
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import SettleRequest
from palimpsest.projections.duckdb.activity import Scored, refused_since
from palimpsest.streams.policies import load_policy
from palimpsest.web.banner import (
    FRESH_SECONDS,
    LAG,
    QUIET_SECONDS,
    RECENT,
    UNREADABLE,
    Banner,
    BannerLine,
)
from palimpsest.web.pages import policy as policy_page
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.web.conftest import Browser, person, plain, waiting_pairs


async def entered(server: Server, owners: str = "ada|bob") -> Browser:
    browser = Browser(server)
    await browser.enter(person(owners=owners))
    return browser


async def fill(server: Server) -> tuple[str, str]:
    """Add memories of two owners and undo a merge of ada's; returns her two candidates."""
    a, b = [await server.add(text) for text in ("Ada rows a boat", "Ada paints walls")]
    await server.add("Ada rows a boat")
    await server.add("Bob bakes bread", owner="bob")
    said = await server.twin.merge(a["candidate_id"], b["candidate_id"])
    await server.twin.unmerge(decision_id=said["decision_id"], because="two hobbies")
    return a["candidate_id"], b["candidate_id"]


def test_an_owner_is_found_and_shown_page_by_page(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        rows = [{"owner_id": "ada", "text": f"fact number {n}"} for n in range(30)]
        await server.twin.submit(rows)
        await server.add("Bob bakes bread", owner="bob")
        browser = await entered(server)
        owners = await browser.get("/review/owners")
        assert re.findall(r'href="/review/owners/(\w+)"', owners.text) == ["ada", "bob"]
        owners = await browser.get("/review/owners?q=BO")
        assert re.findall(r'href="/review/owners/(\w+)"', owners.text) == ["bob"]
        page = await browser.get("/review/owners/ada")
        said = plain(page.text)
        assert "Memories 30 Candidates 30 Repeats 0" in said
        assert page.text.count("/review/owners/ada/memories/") == 25
        [after] = re.findall(r'href="([^"]+)">Earlier memories', page.text)
        rest = await browser.get(unescape(after))
        assert rest.text.count("/review/owners/ada/memories/") == 5
        assert "Earlier memories" not in rest.text
        assert (await browser.get("/review/owners/ada?after=x")).status_code == 422

    served(used)


def test_a_search_finds_by_words_and_by_meaning(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await fill(server)
        browser = await entered(server)
        await browser.get("/review/owners/ada")
        search = "/review/owners/ada/search"
        found = await browser.send(search, q="boat", by="words")
        assert "Ada rows a boat" in found.text
        assert "mentions the words" in found.text
        assert "Ada paints walls" not in found.text
        both = await browser.send(search, q="Ada walls")
        assert "near in meaning" in both.text
        none = await browser.send(search, q="<script>", by="words")
        assert "Nothing found" in none.text
        assert 'value="&lt;script&gt;"' in none.text
        empty = await browser.send(search, q="  ")
        assert empty.headers["location"] == "/review/owners/ada"
        accessed = "SELECT count(*) AS n FROM events WHERE event = 'accessed'"
        assert (await server.twin.sql(accessed))[0]["n"] == 0

    served(used)


def test_nobody_sees_an_owner_who_is_not_theirs(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await fill(server)
        browser = await entered(server, owners="bob")
        owners = await browser.get("/review/owners")
        assert re.findall(r'href="/review/owners/(\w+)"', owners.text) == ["bob"]
        assert (await browser.get("/review/owners/ada")).status_code == 403
        refused = await browser.send("/review/owners/ada/search", q="boat")
        assert refused.status_code == 403
        browser = await entered(server, owners=".*")
        assert (await browser.get("/review/owners/nobody")).status_code == 404

    served(used)


def test_days_show_what_the_views_do(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await fill(server)
        browser = await entered(server)
        today = datetime.now(UTC).date()
        page = await browser.get("/review/days")
        row = plain(re.split(r'<th scope="row">', page.text)[1])
        assert row.startswith(f"{today} 3 1 1 0 0 0 1 0 0 0 0 0 0 0 $0.0000")
        assert page.text.count('<th scope="row">') == 1, "days without anything are left out"
        assert page.text.count('role="img"') == 2, "of what the judge cost there is nothing"
        long_ago = await browser.get("/review/days?until=2001-01-31")
        assert "Nothing happened." in long_ago.text
        assert 'href="/review/days?until=2001-03-02"' in long_ago.text
        assert "style=" not in page.text
        day = plain((await browser.get(f"/review/days/{today}")).text)
        assert "manual join joined 1" in day
        assert "stored kept 3" in day
        assert "Because: two hobbies" in day
        assert "manual join , with" in day or "manual join, with" in day
        assert "hash exact," not in day, "repeats are counted, and not listed"
        assert "the day after" not in day, "there is none yet"
        before = await browser.get(f"/review/days/{today - timedelta(days=1)}")
        assert "Nothing was decided" in before.text
        assert f'href="/review/days/{today}">{today}, the day after' in before.text
        assert (await browser.get("/review/days/never")).status_code == 422
        assert (await browser.get("/review/days/0001-01-01")).status_code == 422
        assert (await browser.get("/review/days?until=9999-12-31")).status_code == 422

    served(used)


@pytest.mark.parametrize(("cost", "told"), [(0.0125, "$0.0125"), (None, "price unknown")])
def test_a_day_shows_what_the_judge_cost(served: Use[None], cost: float | None, told: str) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        [asked] = await server.twin.sql("FROM review_queue")
        verdict = Verdict(
            neighbour_id=asked["existing_id"],
            answer="different",
            model="claude",
            calls=1.0,
            cost_usd=cost,
        )
        settle = SettleRequest(
            request_id=request_id(), candidate_id=asked["candidate_id"], verdicts=(verdict,)
        )
        await server.twin.settle([settle])
        browser = await entered(server)
        today = datetime.now(UTC).date()
        day = plain((await browser.get(f"/review/days/{today}")).text)
        assert f"Model Verdicts No answer Calls Cost claude 1 0 1.0 {told}" in day
        assert "llm keep kept 1" in day
        days = (await browser.get("/review/days")).text
        assert days.count('role="img"') == (1 if cost is None else 2)
        assert ("$0.0125 claude" in days) == (cost is not None), "in the chart"
        assert ("without a known price: claude" in plain(days)) == (cost is None)
        assert plain(days).endswith(f"1 {told} Days without events are left out.")

    served(used)


def test_days_and_policies_are_of_the_owners_that_one_sees(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await fill(server)
        await server.twin.submit({"owner_id": "ada"}, invalid="collect")
        today = datetime.now(UTC).date()
        policy = quote((await server.twin.policy()).hash, safe="")
        bob = await entered(server, owners="bob")
        day = plain((await bob.get(f"/review/days/{today}")).text)
        assert "stored kept 1" in day
        assert "invalid" not in day
        assert "Ada" not in day
        assert "hobbies" not in day
        became = plain((await bob.get(f"/review/policies/{policy}")).text)
        assert "stored 1 0 0" in became
        assert "hash exact" not in became
        nobody = await entered(server, owners="carol")
        assert "Nothing was decided" in (await nobody.get(f"/review/days/{today}")).text
        assert "Nothing happened." in (await nobody.get("/review/days")).text
        everybody = await entered(server, owners=".*")
        day = plain((await everybody.get(f"/review/days/{today}")).text)
        assert "invalid invalid 1" in day
        assert "stored kept 3" in day
        became = plain((await everybody.get(f"/review/policies/{policy}")).text)
        assert "stored 3 0 0" in became

    served(used)


def test_a_policy_is_explained_and_its_zones_are_counted(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await fill(server)
        words = [f"word{n}" for n in range(20)]
        await server.add(" ".join(words))
        await server.add(" ".join([*words[:19], "other"]))
        browser = await entered(server)
        listed = await browser.get("/review/policies")
        [path] = re.findall(r'href="(/review/policies/[^"]+)"', listed.text)
        page = await browser.get(path)
        said = plain(page.text)
        assert "in force" in said
        assert "A verbatim repeat of a text joins it, before any check" in said
        rows = await server.twin.sql("FROM policy_outcomes ORDER BY decision")
        for row in rows:
            start = f"{row['decision'].replace('_', ' ')} {row['n']} {row['reversed']}"
            assert start in said
        assert page.text.count('class="zone series-') == len(zones_of(load_policy("standard")))
        assert (await browser.get("/review/policies/sha256%3Aunknown")).status_code == 404

    served(used)


def test_scores_at_a_bound_are_in_the_zone_that_begins_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = [Scored(at, "pending", 1) for at in (10_000, 8_500, 8_499, 8_400, 8_399, 0)]
    monkeypatch.setattr(policy_page, "outcomes", lambda *_: ([], scored))
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        view = policy_page.view(store, person(owners=".*"), store.policy.hash)
    assert [(stretch.zone.begin, stretch.decisions) for stretch in view.stretches] == [
        (0.85, {"asked": 2}),
        (0.84, {"asked": 2}),
        (0.0, {"asked": 2}),
    ]
    assert view.chart.bars[-1].title == "0.98: 1 asked"


def test_a_policy_that_was_in_force_has_its_page(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        store.submit({"owner_id": "ada", "text": "Ada rows"})
        before = store.policy
        store.set_policy(load_policy("replace-or-merge"))
        for policy, in_force in ((before, False), (store.policy, True)):
            view = policy_page.view(store, person(owners=".*"), policy.hash)
            assert (view.policy.hash, view.in_force) == (policy.hash, in_force)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("standard", None),
        (
            "store-time",
            [(0.98, 1.0, "joined", True), (0.88, 0.98, "asked", False), (0.0, 0.88, "kept", False)],
        ),
    ],
)
def test_zones_cover_everything_from_0_to_1(name: str, wanted: Any) -> None:
    zones = zones_of(load_policy(name))
    assert zones[0][0].end == 1.0
    assert zones[-1][0].begin == 0.0
    assert all(a.begin == b.end for (a, _), (b, _) in pairwise(zones))
    if wanted is not None:
        assert [(z.begin, z.end, z.kind, guarded) for z, guarded in zones] == wanted


def test_every_decision_is_of_one_family() -> None:
    kinds = [kind for family in FAMILIES.values() for kind in family]
    assert sorted(kinds) == sorted(set(get_args(Decision)))
    found = by_family({"hash_exact": 4, "stored": 2, "llm_keep": 1})
    assert [*found.items()] == [("kept", 3), ("repeated", 4)]
    assert FAMILY_OF["superseded"] == "replaced"


def test_the_banner_shows_what_waits_and_what_failed(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.add("Ada has one dog")
        browser = await entered(server)
        assert "banner" not in (await browser.get("/review/owners")).text
        words = [f"word{n}" for n in range(20)]
        await server.add(" ".join(words))
        decided = await server.add(" ".join([*words[:18], "other", "more"]))
        assert decided["decision"] == "pending"
        await server.twin.submit(
            [{"owner_id": "ada"}, {"owner_id": "ada", "text": ""}], invalid="collect"
        )
        banner = Banner()
        lines = await server.twin.call(banner.lines)
        assert [line.text for line in lines] == [
            "1 question waits for the judge.",
            "2 inputs could not be read: palimpsest dead-letters list.",
        ]

    served(used)


def test_refusals_are_shown_to_an_operator_who_finds_them(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        a = (await server.add("Ada rows a boat"))["candidate_id"]
        b = (await server.add("Ada walks the dog"))["candidate_id"]
        merged = await server.twin.merge(a, b)
        for _ in range(2):
            with pytest.raises(RefusedError):
                await server.twin.reinstate(merged["decision_id"], actor="kim", because="why not")
        root, grace = Browser(server), await entered(server)
        await root.enter(person("root", ".*", "operator"))
        page = await root.get("/review/owners")
        assert "2 commands were refused in the last 24 hours." in page.text
        [path] = re.findall(r'<aside.*href="([^"]+)">Look at them', page.text)
        told = plain((await root.get(path)).text)
        assert "refused kim," in told
        assert "reinstate: decision" in told
        assert "Because: why not" in told
        assert "refused" not in (await grace.get("/review/owners")).text

    served(used)


def test_refusals_are_looked_up_where_something_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, asked = 100.0, list[datetime]()

    def asking(folder: Path, since: datetime) -> tuple[int, datetime | None]:
        asked.append(since)
        return refused_since(folder, since)

    monkeypatch.setattr("palimpsest.web.banner.refused_since", asking)
    banner = Banner(lambda: now)
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        for seconds, wanted in ((0.0, 1), (FRESH_SECONDS, 1), (QUIET_SECONDS, 2)):
            now += seconds
            banner.lines(store)
            assert len(asked) == wanted
        store.submit({"owner_id": "ada", "text": "Ada rows"})
        store.status()
        now += FRESH_SECONDS
        banner.lines(store)
        assert len(asked) == 3


NOBODY = "00000000-0000-5000-8000-000000000000"


def test_no_refusal_is_shown_that_nobody_asked_for(tmp_path: Path) -> None:
    """Refusing a repeated forgotten text is intended, and old refusals are not shown."""
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        store.submit({"owner_id": "ada", "text": "Ada rows"})
        store.forget([store.list("ada")["memories"][0]["memory_id"]], again="refuse")
        store.submit({"owner_id": "ada", "text": "Ada rows", "id": "again"})
        assert [one["command"] for one in store.sql("FROM events WHERE event = 'refused'")]
        assert Banner().lines(store) == []
        ids = [store.submit({"owner_id": "ada", "text": text})[0].candidate_id for text in "ab"]
        merged = store.merge(*map(str, ids))
        with pytest.raises(RefusedError):
            store.confirm(NOBODY)
        [unknown] = store.sql("FROM events WHERE reason = 'unknown_decision'")
        assert unknown["owner_id"] is None
        assert Banner().lines(store) == []
        with pytest.raises(RefusedError):
            store.reinstate(merged["decision_id"])
        assert len(Banner().lines(store)) == 1
        now = datetime.now(UTC)
        assert refused_since(store.reader.projections, now - RECENT)[0] == 1
        assert refused_since(store.reader.projections, now) == (0, None)


def test_a_page_that_shows_a_problem_has_the_banner_too(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.twin.submit({"owner_id": "ada"}, invalid="collect")
        browser = await entered(server, owners=".*")
        page = await browser.get("/review/owners/nobody")
        assert page.status_code == 404
        assert "1 input could not be read" in page.text
        nobody = await Browser(server).get("/review/sign-in")
        assert "could not be read" not in nobody.text

    served(used)


def test_a_banner_is_looked_up_once_in_a_while(tmp_path: Path) -> None:
    now = 100.0
    banner = Banner(lambda: now)
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        assert banner.lines(store) == []
        store.submit({"owner_id": "ada"}, invalid="collect")
        assert banner.lines(store) == [], "it is fresh"
        now += FRESH_SECONDS
        assert len(banner.lines(store)) == 1


def test_projections_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        store.submit({"owner_id": "ada", "text": "Ada rows"})
        now = 100.0
        banner = Banner(lambda: now)
        assert banner.lines(store) == []
        (tmp_path / "store" / "projections" / "lancedb" / "position.json").write_text("{")
        now += FRESH_SECONDS
        assert banner.lines(store) == [BannerLine(UNREADABLE)]


def test_a_projection_that_stays_behind_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    banner = Banner(lambda: now)
    with Palimpsest.open(tmp_path / "store", by="person") as store:
        store.submit([{"owner_id": "ada", "text": f"fact {n}"} for n in range(3)])
        reader = store.reader
        monkeypatch.setattr(reader, "positions", lambda: {"duckdb": 2, "lancedb": 4})
        assert banner.lines(store) == [], "it may be on its way"
        now += FRESH_SECONDS
        [line] = banner.lines(store)
        assert line.text == "The projection duckdb is 2 events behind the log."
        monkeypatch.setattr(reader.log, "head", lambda: LAG + 5)
        assert len(Banner().lines(store)) == 2, "so far behind at the first look"
