"""Signing in: links valid once for a minute, tokens in a form, cookies only under `/review`."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from palimpsest import Palimpsest
from palimpsest.server.endpoint import OnlyServer
from palimpsest.server.problems import ProblemError
from palimpsest.server_process.run import serve
from palimpsest.settings.serve import ServeSettings
from palimpsest.web.board.board import ReviewBoard
from palimpsest.web.door import MOST_FIELDS
from palimpsest.web.entering import _both, link_path
from palimpsest.web.rendering import STATIC
from palimpsest.web.sessions import SESSION_SECONDS, Sessions, cookie_name, set_cookie
from tests.palimpsest.server.conftest import Server, Use, secret, serving, token
from tests.palimpsest.web.conftest import Browser, person
from tests.palimpsest.web.site import browser_program


def test_a_link_lets_one_browser_in_once(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        path = link_path(server.app.sessions.link(person()))
        looked = Browser(server)
        assert (await looked.ask("HEAD", path)).status_code == 200
        assert looked.cookie is None
        first, second = Browser(server), Browser(server)
        assert (await first.get(path)).status_code == 200
        assert first.cookie is not None
        again = await second.get(path)
        assert again.status_code == 403
        assert second.cookie is None
        page = await first.get("/review")
        assert page.status_code == 200
        assert "grace, reviewer" in page.text
        assert (await second.get("/review")).headers["location"] == "/review/sign-in"

    served(used)


def test_a_link_and_a_session_are_over_in_time(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        now = 1000.0
        server.app.sessions._now = lambda: now
        path = link_path(server.app.sessions.link(person()))
        browser = Browser(server)
        await browser.enter()
        now += 60.0
        assert (await Browser(server).get(path)).status_code == 403
        assert (await browser.get("/review")).status_code == 200
        now += SESSION_SECONDS - 60.0
        assert (await browser.get("/review")).status_code == 303

    served(used)


def test_a_cookie_counts_under_review_alone_and_a_token_does_not(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter(person("root", ".*", "operator"))
        for path in ("/v1/status", "/metrics", "/v1/owners/ada/memories", "/reviewed"):
            assert (await browser.get(path)).status_code == 401, path
        link = await browser.ask("POST", "/links")
        assert link.status_code == 401
        for name in ("ada", "grace", "root"):
            response = await server.ask("GET", "/review", name=name)
            assert response.headers["location"] == "/review/sign-in"

    served(used)


def test_a_form_without_the_sessions_secret_is_refused(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser, other = Browser(server), Browser(server)
        await browser.enter()
        await other.enter()
        await other.get("/review")
        for form in ({}, {"csrf": ""}, {"csrf": "x"}, {"csrf": other.csrf}):
            assert (await browser.ask("POST", "/review/leave", form)).status_code == 403
        assert (await browser.get("/review")).status_code == 200
        assert (await browser.send("/review/leave")).status_code == 303
        assert browser.cookie is None
        headers = {"origin": "http://evil.example"}
        assert (await Browser(server, **headers).get("/review")).status_code == 403

    served(used)


def test_no_form_is_taken_without_the_sessions_secret(served: Use[None]) -> None:
    """Whatever the form says: no page has to check it itself."""

    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter(person(role="operator", owners=".*"))
        forms = [
            route.path
            for route in server.app.gate.routes
            if route.path.startswith("/review/") and route.methods == {"POST"}
        ]
        assert len(forms) > 6
        for path in forms:
            named = path.replace("{owner}", "ada").replace("{memory}", "m")
            for headers in ({}, {"hx-request": "true"}):
                response = await browser.ask("POST", named, {"csrf": "x"}, **headers)
                assert response.status_code == 403, path
                assert "from another session" in response.text, path

    served(used)


def test_where_no_page_is_a_page_says_so(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        for path in ("/review/", "/review/nowhere", "/review/owners/", "/review/days/1/2"):
            assert (await browser.get(path)).headers["location"] == "/review/sign-in"
        await browser.enter()
        for path in ("/review/", "/review/nowhere", "/review/owners/", "/review/days/1/2"):
            response = await browser.get(path)
            assert response.status_code == 404, path
            assert response.headers["content-type"].startswith("text/html"), path
            assert "Back to the queue" in response.text

    served(used)


def test_a_part_of_a_page_sends_the_whole_browser_to_the_way_in(served: Use[None]) -> None:
    """A redirect would put the sign-in form into the part."""

    async def used(server: Server) -> None:
        whole = await Browser(server).get("/review")
        assert (whole.status_code, whole.headers["location"]) == (303, "/review/sign-in")
        part = await Browser(server).get("/review", **{"hx-request": "true"})
        assert (part.status_code, part.headers["hx-redirect"]) == (204, "/review/sign-in")
        assert "content-security-policy" in part.headers

    served(used)


def test_a_bug_in_a_page_is_logged(served: Use[None], caplog: pytest.LogCaptureFixture) -> None:
    async def used(server: Server) -> None:
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("rhinoceros")

        await server.add("Ada skis")
        browser = Browser(server)
        await browser.enter()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server.twin.store, "list", fail)
            failed = await browser.get("/review/owners/ada")
        assert failed.status_code == 500
        assert "rhinoceros" not in failed.text

    with caplog.at_level(logging.ERROR):
        served(used)
    assert any("a request failed: RuntimeError" in record.getMessage() for record in caplog.records)


def test_leaving_ends_the_session_and_not_the_cookie_alone(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter()
        kept = browser.cookie
        await browser.get("/review")
        await browser.send("/review/leave")
        browser.cookie = kept
        assert (await browser.get("/review")).status_code == 303

    served(used)


def test_a_reviewers_token_lets_in_and_an_agents_does_not(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        for name, status in (("grace", 200), ("root", 200), ("ada", 403), ("nobody", 401)):
            browser = Browser(server)
            await browser.get("/review/sign-in")
            response = await browser.send("/review/sign-in", token=secret(name))
            assert response.status_code == status, name
            assert secret(name) not in response.text
            seen = await browser.get("/review")
            assert (seen.status_code == 200) == (status == 200)
        browser = Browser(server)
        await browser.get("/review/sign-in")
        browser.cookie = "another"
        assert (await browser.send("/review/sign-in", token=secret("grace"))).status_code == 403
        browser.cookie = None
        form = {"csrf": "", "token": secret("grace")}
        assert (await browser.ask("POST", "/review/sign-in", form)).status_code == 403

    served(used)


def test_who_signs_in_by_a_token_is_out_when_it_expires(tmp_path: Path) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)

    async def used() -> None:
        tokens = (token("grace", "ada", "reviewer", expires=until),)
        async with serving(tmp_path / "store", tokens) as server:
            now = 1000.0
            server.app.sessions._now = lambda: now
            browser = Browser(server)
            await browser.get("/review/sign-in")
            await browser.send("/review/sign-in", token=secret("grace"))
            assert (await browser.get("/review")).status_code == 200
            now += 3600.0
            assert (await browser.get("/review")).headers["location"] == "/review/sign-in"

    asyncio.run(used())


def test_an_operators_program_makes_links_for_others(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        wanted = {"name": "lin", "role": "reviewer", "owners": "ada"}
        for name, status in (("ada", 403), ("grace", 403), (None, 401), ("root", 200)):
            response = await server.ask("POST", "/links", wanted, name=name)
            assert response.status_code == status, name
        response = await server.ask("POST", "/links", wanted, name="root")
        browser = Browser(server)
        await browser.get(response.json()["path"])
        assert "lin, reviewer" in (await browser.get("/review")).text
        wrongs: list[object] = [
            {"role": "agent"},
            {"owners": "("},
            {"name": ""},
            {"more": 1},
            [],
            "",
        ]
        for wrong in wrongs:
            response = await server.ask("POST", "/links", wrong, name="root")
            assert response.status_code == 422, wrong

    served(used)


def test_who_has_no_name_yet_sees_nothing_and_is_nobody_who_has_a_token(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        link = await server.ask(
            "POST", "/links", {"role": "reviewer", "owners": "ada"}, name="root"
        )
        browser = Browser(server)
        await browser.get(link.json()["path"])
        for path in ("/review", "/review/owners/ada", "/review/nowhere"):
            assert (await browser.get(path)).headers["location"] == "/review/name", path
        await browser.get("/review/name")
        form = {"decision": "x", "existing": "y", "say": "same"}
        answered = await browser.ask("POST", "/review/answer", {"csrf": browser.csrf, **form})
        assert answered.headers["location"] == "/review/name"
        for wrong in ("", " ", "root", " grace", "x" * 101, "a\x00b"):
            await browser.get("/review/name")
            assert (await browser.send("/review/name", name=wrong)).status_code == 422, wrong
        assert (await browser.get("/review")).headers["location"] == "/review/name"

    served(used)


def test_who_has_a_name_already_keeps_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter()
        assert (await browser.get("/review/name")).headers["location"] == "/review"
        await browser.get("/review")
        assert "Not you?" not in (await browser.get("/review")).text
        assert (await browser.send("/review/name", name="lin")).status_code == 403

    served(used)


def test_a_form_that_cannot_be_read_gets_a_page_too(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter()
        refused = await browser.ask(
            "POST", "/review/skip", {f"f{n}": "" for n in range(MOST_FIELDS + 1)}
        )
        assert refused.status_code == 400
        assert refused.headers["content-type"].startswith("text/html")
        assert "the form cannot be read" in refused.text

    served(used)


def test_nobody_lets_others_see_more_than_they_see_themselves(tmp_path: Path) -> None:
    team = token("lead", "ada|bob", "operator")

    async def used() -> None:
        async with serving(tmp_path / "store", (team,)) as server:
            for wanted, sees in ((None, "ada bob"), ("bob|eve", "bob"), (".*", "ada bob")):
                body = {"name": "lin"} | ({} if wanted is None else {"owners": wanted})
                link = await server.ask("POST", "/links", body, name="lead")
                browser = Browser(server)
                await browser.get(link.json()["path"])
                for owner in ("ada", "bob", "eve", "bobby"):
                    page = await browser.get(f"/review/owners/{owner}")
                    assert page.status_code == (404 if owner in sees.split() else 403), owner

    asyncio.run(used())


def test_a_wanted_pattern_does_not_change_what_the_operators_own_refers_to(tmp_path: Path) -> None:
    lead = token("lead", r"(.)-\1", "operator")

    async def used() -> None:
        async with serving(tmp_path / "store", (lead,)) as server:
            body = {"name": "lin", "owners": "..(.)"}
            link = await server.ask("POST", "/links", body, name="lead")
            browser = Browser(server)
            await browser.get(link.json()["path"])
            for owner, status in (("a-a", 404), ("a-b", 403)):
                page = await browser.get(f"/review/owners/{owner}")
                assert page.status_code == status, owner

    asyncio.run(used())


@pytest.mark.parametrize("wanted", [r"(.)-\1", "(a)?-(?(1)a|b)"])
def test_a_wanted_pattern_that_would_mean_another_is_refused(wanted: str, tmp_path: Path) -> None:
    """Its groups have other numbers beside those of the operator's own."""

    async def used() -> None:
        async with serving(tmp_path / "store", (token("lead", "(a|b)-.*", "operator"),)) as server:
            body = {"name": "lin", "owners": wanted}
            assert (await server.ask("POST", "/links", body, name="lead")).status_code == 422

    asyncio.run(used())


def test_a_wanted_pattern_that_nests_as_far_as_one_may_is_refused() -> None:
    wanted = "a"
    with suppress(RecursionError):
        while True:
            re.compile(f"({wanted})")
            wanted = f"({wanted})"
    with pytest.raises(ProblemError, match="cannot be combined with your own pattern"):
        _both(re.compile("a|b"), wanted)


def test_every_page_forbids_foreign_and_inline_code(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter()
        for path in ("/review", "/review/sign-in", "/review/static/style.css"):
            response = await browser.get(path)
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
        page = (await browser.get("/review")).text
        config = re.search(r"name=\"htmx-config\" content='([^']*)'", page)
        assert config is not None
        wanted = {"allowEval", "allowScriptTags", "includeIndicatorStyles"}
        said = json.loads(html.unescape(config[1]))
        assert {name: said[name] for name in wanted} == dict.fromkeys(wanted, False)
        assert said["selfRequestsOnly"] is True
        assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|<style", page)
        loaded = re.findall(r'(?:src|href)="(/review/static/[^"]*)"', page)
        assert len(loaded) == 4
        for path in loaded:
            response = await browser.get(path)
            assert response.status_code == 200
            assert "immutable" in response.headers["cache-control"]
        assert (await browser.get("/review")).headers["cache-control"] == "no-store"
        assert (await browser.get("/review/static/..%2Fapp.py")).status_code == 404

    served(used)


def test_a_cookie_is_strict_and_secure_wherever_others_are_on_the_line() -> None:
    for host, secure in (("localhost:1", False), ("[::1]:1", False), ("memory.example", True)):
        said = set_cookie(Headers({"host": host}), "x")
        for word in ("HttpOnly", "SameSite=Strict", "Path=/review", "Max-Age="):
            assert f"; {word}" in said
        assert said.endswith("; Secure") == secure


def test_many_links_and_sessions_take_bounded_room() -> None:
    sessions = Sessions()
    first = sessions.link(person())
    for _ in range(1_000):
        sessions.link(person())
        sessions.begin(person())
    assert len(sessions._links) == len(sessions._sessions) == 1_000
    assert sessions.redeem(first) is None


def test_no_session_outlasts_half_a_day_however_long_a_token_is_good_for() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    host = Headers({"host": "localhost"})
    short, long = (sessions.begin(person(), seconds).secret for seconds in (60.0, 1e9))

    def is_in(secret: str) -> bool:
        return (
            sessions.find(Headers({**host, "cookie": f"{cookie_name(host)}={secret}"})) is not None
        )

    seen = {}
    for at in (59.0, 60.0, SESSION_SECONDS - 1, SESSION_SECONDS):
        now[0] = at
        seen[at] = is_in(short), is_in(long)
    assert [*seen.values()] == [(True, True), (False, True), (False, True), (False, False)]


def test_a_visitor_has_no_owner(served: Use[None]) -> None:
    caller = Sessions().caller(Headers({"host": "localhost", "cookie": "palimpsest_review_web=x"}))
    for owner in ("", "ada", "visitor"):
        with pytest.raises(ProblemError):
            caller.require_owner(owner)
    assert not caller.may_act_as("reviewer")


@pytest.mark.parametrize("idle", [None, 60.0], ids=["started by a person", "for an agent"])
def test_a_server_reads_the_queue_once_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: float | None
) -> None:
    """Not if it was started for an agent: then a request for a link has it read."""
    begun: list[bool] = []
    monkeypatch.setattr(ReviewBoard, "begin", lambda _: begun.append(True))

    async def run() -> None:
        stop = asyncio.Event()
        settings = ServeSettings(port=0)
        ready = lambda *_: stop.set()  # noqa: E731 - a line is enough
        only = OnlyServer(tmp_path)
        await serve(
            lambda: Palimpsest.open(tmp_path), only, settings, stop, idle=idle, on_ready=ready
        )

    asyncio.run(run())
    assert len(begun) == (idle is None)


def test_the_one_script_of_others_is_credited() -> None:
    script = (STATIC / "htmx.min.js").read_text(encoding="utf-8")
    version = re.search(r'version:"([^"]+)"', script)
    assert version is not None
    credited = (Path(__file__).parents[3] / "NOTICE").read_text(encoding="utf-8")
    assert f"htmx {version[1]} " in credited
    assert "Zero-Clause" in (STATIC / "htmx.LICENSE.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("required", "outcome", "why"),
    [
        ("0", pytest.skip.Exception, "no browser is wanted"),
        ("", pytest.skip.Exception, "no browser: install chromium"),
        ("1", pytest.fail.Exception, "have to be tried in a browser"),
    ],
)
def test_where_no_browser_is_the_tests_say_so(
    monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException], why: str
) -> None:
    monkeypatch.setenv("PALIMPSEST_REQUIRE_BROWSER", required)
    monkeypatch.delenv("PALIMPSEST_BROWSER", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(outcome, match=why):
        browser_program()
