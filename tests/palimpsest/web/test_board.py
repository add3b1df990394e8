"""The board without a browser's speed: answers are events, leases, filters, conflicts, undo."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from palimpsest.contracts.evidence import Cue, Verdict
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.requested import request_id
from palimpsest.contracts.requests import SettleRequest
from palimpsest.streams.guard.places import CuePlace
from palimpsest.streams.policies import load_policy
from palimpsest.web.board import board as boards
from palimpsest.web.board.waiting import (
    LEASE_SECONDS,
    Leases,
    QueueFilter,
    WaitingPair,
    WaitingPairs,
    read_pairs,
)
from palimpsest.web.board.word_diff import word_diff
from tests.long import long_but
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.web.conftest import (
    Browser,
    own_words,
    pair_texts,
    person,
    plain,
    waiting_pairs,
)

TEA, CELLO = "Ada drinks tea", "the cello belongs to her sister"


async def events(server: Server) -> list[tuple[str, Any, Any]]:
    """The events after the arrivals: kind, actor and reason."""
    rows = await server.twin.sql(
        "SELECT event, actor, because FROM events WHERE event NOT IN ('decided', 'policy_set')"
        " ORDER BY position"
    )
    return [(row["event"], row["actor"], row["because"]) for row in rows]


async def faces(server: Server, owner: str = "ada") -> list[str]:
    """The faces of the owner's memories."""
    page = await server.twin.list(owner)
    return sorted(memory["face"] for memory in page["memories"])


def test_each_answer_is_an_event_at_once_by_the_person_who_gave_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 4)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        assert browser.left == 4
        wanted = []
        for word, kinds, speaks in (
            ("same", ["joined"], 0),
            ("different", ["separated", "settled"], None),
            ("newer", ["joined"], 1),
            ("former", ["joined"], 0),
        ):
            texts = browser.texts
            await browser.say(word, because=f"it is {word}")
            assert browser.notice.startswith("Recorded")
            wanted += [(kind, "grace", f"it is {word}") for kind in kinds]
            assert await events(server) == wanted
            there = set(await faces(server)) & set(texts)
            assert there == (set(texts) if speaks is None else {texts[speaks]})
        assert browser.left == 0
        assert "Nothing waits here" in (await browser.get("/review")).text

    served(used)


def test_a_join_is_confirmed_or_taken_out_and_both_are_taken_back(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = own_words(0, 30)
        for text in (said, f"{said}."):
            await server.add(text)
        [before] = await _list(server)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        assert browser.left == 1
        for word in ("same", "different", "newer"):
            await browser.say(word)
            assert browser.notice.startswith("Recorded"), browser.notice
            assert browser.left == 0
            await browser.send("/review/undo")
            await browser.get("/review")
            assert browser.notice.startswith("Undone"), browser.notice
            assert browser.left == 1
            assert await _list(server) == [before]
            restarted = boards.ReviewBoard(server.twin)
            await restarted._read()
            assert len(restarted._waiting.pairs) == 1, "nobody has answered, the log says"

    served(used)


def test_a_pair_shows_the_composed_text_that_was_compared(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        searches = {"search": "memories", "judge": {}}
        rules = load_policy("standard").model_dump(mode="json") | searches
        await server.twin.set_policy(Policy.model_validate(rules))
        await waiting_pairs(server, 1)
        _, newer = pair_texts(0)
        composed = f"{newer} and upstairs"
        [waits] = await server.twin.sql("SELECT candidate_id, existing_id FROM review_queue")
        answer = Verdict(neighbour_id=waits["existing_id"], answer="compose")
        settle = SettleRequest(
            request_id=request_id(),
            candidate_id=waits["candidate_id"],
            verdicts=(answer,),
            composed=composed,
        )
        await server.twin.settle([settle])
        outcomes = await server.twin.submit([{"owner_id": "ada", "text": f"{composed} too"}])
        browser = Browser(server)
        await browser.enter()
        await browser.get(f"/review?in_decision={outcomes[0].decision}")
        assert browser.texts == (composed, f"{composed} too")
        assert browser.last is not None
        assert f"Its own text {newer} " in plain(browser.last.text)
        await browser.say("same")
        assert composed in plain(browser.last.text), "among the answers that can be taken back"

    served(used)


async def _list(server: Server) -> list[Any]:
    page = await server.twin.list("ada")
    return [
        (memory["memory_id"], memory["face"], len(memory["members"])) for memory in page["memories"]
    ]


def test_one_old_answer_is_taken_back_and_later_ones_stay(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 3)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        first = browser.texts
        for word in ("different", "same", "different"):
            await browser.say(word)
        page = (await browser.get("/review")).text
        assert re.findall(r"<p><strong>([^<]+)</strong>: <bdi[^>]*>([^<]+)</bdi>", page)[-1] == (
            "different",
            first[0],
        )
        await browser.send("/review/undo", number="1")
        await browser.get("/review")
        assert browser.notice == "Undone: different."
        assert (browser.left, browser.texts) == (1, first)
        told = await server.twin.sql("SELECT count(*) AS n FROM separations WHERE standing")
        assert told == [{"n": 1}]
        assert len(await server.twin.sql("FROM joins WHERE standing")) == 1
        await browser.send("/review/undo", number="1")
        await browser.get("/review")
        assert browser.notice == "That is not among your last answers any more."

    served(used)


def test_undo_takes_back_the_answer_that_the_page_had_last_however_often_it_is_sent(
    served: Use[None],
) -> None:
    """Even if the page got no confirmation: the answer before it stays."""

    async def used(server: Server) -> None:
        await waiting_pairs(server, 2)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        for _ in range(2):
            await browser.say("different")
        number = browser.field("number")
        for notice in ("Undone: different.", "That is not among your last answers any more."):
            await browser.send("/review/undo", number=number)
            await browser.get("/review")
            assert browser.notice == notice
            assert browser.left == 1

    served(used)


def test_of_two_browsers_with_one_typed_name_each_takes_back_its_own_answers(
    served: Use[None],
) -> None:
    """Also after both signed in again; a link with the name has the answers of both."""

    async def come(server: Server, browser: Browser) -> None:
        browser.cookie = None
        link = await server.ask("POST", "/links", {"role": "reviewer"}, name="root")
        await browser.get(link.json()["path"])
        if not browser.known_as:
            await browser.get("/review/name")
            await browser.send("/review/name", name="kim")
        await browser.get("/review")

    async def undo(browser: Browser) -> str:
        await browser.send("/review/undo")
        await browser.get("/review")
        return browser.notice

    async def used(server: Server) -> None:
        await waiting_pairs(server, 3)
        first, second, linked = Browser(server), Browser(server), Browser(server)
        for browser in (first, second):
            await come(server, browser)
            await browser.say("different")
        await server.app.board._read()
        for browser in (first, second):
            await come(server, browser)
            assert await undo(browser) == "Undone: different."
            assert await undo(browser) == boards.NOTHING_TO_UNDO
            await browser.say("different")
        await server.app.board._read()
        await linked.enter(person("kim"))
        await linked.get("/review")
        assert [await undo(linked) for _ in range(2)] == ["Undone: different."] * 2

    served(used)


def test_answers_that_are_taken_back_are_all_left_again(served: Use[None]) -> None:
    """Even if the queue was read in between: it had none of them once nothing was left."""

    async def used(server: Server) -> None:
        await waiting_pairs(server, 3)
        said = own_words(9, 30)
        for text in (said, f"{said}."):
            await server.add(text)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        first = browser.texts
        for _ in range(4):
            await browser.say("different")
        assert "Nothing waits here" in (browser.last.text if browser.last else "")
        assert not server.app.board._waiting.pairs
        for left in range(1, 5):
            await browser.send("/review/undo")
            await browser.get("/review")
            assert (browser.notice, browser.left) == ("Undone: different.", left)
        assert browser.texts == first
        await browser.get("/review?in_owner=ada&in_decision=pending")
        assert browser.left == 3
        await browser.get("/review")
        seen = set()
        for left in (3, 2, 1, 0):
            seen.add(browser.texts)
            await browser.say("different")
            assert browser.left == left
        assert len(seen) == 4

    served(used)


def test_a_merge_that_is_taken_back_waits_as_if_nobody_had_said_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        before = await queue(server)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        both = sorted(browser.texts)
        for word, speaks in (("same", 0), ("newer", 1), ("former", 0), ("same", 0)):
            await browser.say(word)
            assert browser.notice.startswith("Recorded"), word
            assert await faces(server) == [pair_texts(0)[speaks]]
            await browser.send("/review/undo")
            page = await browser.get("/review")
            assert browser.notice.startswith("Undone: "), word
            assert await faces(server) == both
            assert sorted(browser.texts) == both
            assert "waits for an answer" in page.text
            assert await queue(server) == before
        assert await server.twin.sql("FROM separations") == []
        await browser.say("different")
        assert browser.notice == "Recorded: different."
        assert "Nothing waits here" in (await browser.get("/review")).text

    served(used)


def test_the_newer_replaces_also_where_a_rule_has_joined_the_two(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = own_words(8, 30)
        await server.add(said)
        await server.add(f"{said}.")
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        await browser.say("newer")
        assert browser.notice.startswith("Recorded")
        assert await faces(server) == [f"{said}."]
        await browser.send("/review/undo")
        assert await faces(server) == [said]

    served(used)


async def queue(server: Server) -> list[dict[str, Any]]:
    return await server.twin.sql("FROM review_queue ORDER BY ALL")


def test_what_was_forgotten_is_left_out_or_let_in(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        browser = Browser(server)
        await browser.enter()
        for word, text, lives in (("same", TEA, []), ("different", CELLO, [CELLO])):
            memory = (await server.add(text))["memory_id"]
            await server.twin.forget([memory], again="ask")
            assert (await server.add(text))["decision"] == "pending"
            page = await browser.get("/review")
            assert "Does it repeat what was forgotten?" in page.text
            await browser.say("newer")
            assert "to leave it out" in browser.notice
            await browser.say(word)
            assert browser.notice.startswith("Recorded"), browser.notice
            assert await faces(server) == lives
            assert "Nothing waits here" in (await browser.get("/review")).text
        await browser.send("/review/undo")
        assert await faces(server) == []

    served(used)


def test_a_skip_is_no_event_and_comes_again_when_asked_for(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 2)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        seen = set()
        for _ in range(2):
            seen.add(browser.texts)
            key = {name: browser.field(name) for name in ("decision", "existing")}
            await browser.send("/review/skip", **key)
            await browser.get("/review")
        assert len(seen) == 2
        assert "Nothing waits here" in (browser.last.text if browser.last else "")
        assert await events(server) == []
        await browser.send("/review/again")
        await browser.get("/review")
        assert browser.texts in seen

    served(used)


def shown_key(browser: Browser) -> dict[str, str]:
    """The fields that the shown pair's form sends."""
    return {name: browser.field(name) for name in ("decision", "existing", "version")}


def test_a_pair_that_somebody_skips_is_free_for_others(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        grace, lin = Browser(server), Browser(server)
        await grace.enter()
        await lin.enter(person("lin"))
        await grace.get("/review")
        held = grace.texts
        await grace.send("/review/skip", **shown_key(grace))
        await lin.get("/review")
        assert lin.texts == held

    served(used)


def test_a_skipped_pair_counts_while_it_waits_and_passes_the_filter(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        await waiting_pairs(server, 1, owner="bob")
        grace, lin = Browser(server), Browser(server)
        await grace.enter()
        await lin.enter(person("lin"))
        await grace.get("/review?in_owner=ada")
        await grace.send("/review/skip", in_owner="ada", **shown_key(grace))
        of_ada = plain((await grace.get("/review?in_owner=ada")).text)
        assert "1 left, 1 skipped by you." in of_ada
        await lin.get("/review?in_owner=bob")
        of_bob = plain((await grace.get("/review?in_owner=bob")).text)
        assert "skipped" not in of_bob.partition("Help")[0]
        assert "others are being looked at" in of_bob
        await lin.get("/review?in_owner=ada")
        await lin.say("different")
        assert "1 skipped" not in (await grace.get("/review?in_owner=ada")).text

    served(used)


def test_a_skip_of_what_is_no_pair_is_not_counted(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        await browser.send("/review/skip", decision="none", existing="none")
        page = await browser.get("/review")
        assert browser.left == 1
        assert "skipped by you" not in page.text

    served(used)


def test_a_pair_is_not_skipped_any_more_once_it_is_answered_and_shown_again_once_it_is_taken_back(
    served: Use[None],
) -> None:
    """The page in another tab of the browser may be older."""

    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        held, key = browser.texts, shown_key(browser)
        await browser.send("/review/skip", **key)
        assert "See the 1 skipped again" in (await browser.get("/review")).text
        await browser.send("/review/answer", say="different", **key)
        page = await browser.get("/review")
        assert browser.notice == "Recorded: different."
        assert "skipped" not in page.text
        await browser.send("/review/skip", **key)
        await browser.get("/review")
        await browser.send("/review/undo")
        await browser.get("/review")
        assert browser.texts == held

    served(used)


def test_a_pair_that_somebody_else_settled_is_left_no_more(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 2)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        assert browser.left == 2
        first = browser.texts
        [row] = await server.twin.sql("FROM review_queue WHERE new_text = ?", [first[1]])
        await server.twin.separate(row["existing_id"], row["candidate_id"])
        await browser.get("/review")
        assert browser.texts != first
        assert browser.left == 1

    served(used)


def test_a_pair_that_is_shown_is_left_whatever_was_asked_for(served: Use[None]) -> None:
    """An undone pair is shown where the undo was requested, also under a filter."""

    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        shown = browser.texts
        await browser.say("different")
        await browser.send("/review/undo", in_cue="number")
        await browser.get("/review?in_cue=number")
        assert browser.texts == shown
        assert browser.left == 1

    served(used)


def test_a_pair_is_shown_to_one_person_until_the_lease_is_over(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        now = 1000.0
        server.app.board.leases.now = lambda: now
        await waiting_pairs(server, 2)
        grace, lin, late = Browser(server), Browser(server), Browser(server)
        await grace.enter()
        await lin.enter(person("lin"))
        await late.enter(person("late"))
        for browser in (grace, lin, late):
            await browser.get("/review")
        assert grace.texts != lin.texts
        assert "being looked at by somebody else" in (late.last.text if late.last else "")
        first = grace.texts
        now += LEASE_SECONDS - 1
        await lin.get("/review")
        now += 2
        await late.get("/review")
        assert late.texts == first
        await late.say("different")
        await grace.say("same")
        assert grace.notice.startswith("Not recorded: this pair")
        assert [event for event in await events(server) if event[1] == "grace"] == []

    served(used)


def test_who_leaves_holds_no_pair(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        grace, lin = Browser(server), Browser(server)
        await grace.enter()
        await lin.enter(person("lin"))
        await grace.get("/review")
        page = await lin.get("/review")
        assert "being looked at by somebody else" in page.text
        held = grace.texts
        await grace.send("/review/leave")
        await lin.get("/review")
        assert lin.texts == held

    served(used)


def test_pairs_that_come_later_are_found_aside_and_where_none_is_left(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        now, board = 1000.0, server.app.board
        board._now = lambda: now
        await waiting_pairs(server, 1, "ada")
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        await waiting_pairs(server, 1, "bob")
        await browser.get("/review")
        assert browser.left == 1
        now += 10_000  # however long the first look took
        await browser.get("/review")
        assert board._aside is not None
        await board._aside
        await browser.get("/review")
        assert browser.left == 2
        for _ in range(2):
            await browser.say("different")
        assert browser.left == 0
        await server.twin.submit({"owner_id": "ada", "text": text} for text in pair_texts(7))
        await browser.get("/review")
        assert browser.left == 1

    served(used)


def counted(monkeypatch: pytest.MonkeyPatch, gate: Event | None = None) -> list[int]:
    """The number of pairs that each read of the queue found; each waits for the gate, if given."""
    found: list[int] = []
    read = read_pairs

    def reading(projections: Path) -> list[WaitingPair]:
        pairs = read(projections)
        found.append(len(pairs))
        assert gate is None or gate.wait(60)
        return pairs

    monkeypatch.setattr("palimpsest.web.board.board.read_pairs", reading)
    return found


def test_the_queue_is_read_before_anybody_asks_for_the_page(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = counted(monkeypatch)

    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        answer = await server.ask("POST", "/links", {"name": "grace"}, name="root")
        assert server.app.board._aside is not None, "who asks for a link will soon be there"
        await server.app.board._aside
        assert reads == [1]
        browser = Browser(server)
        await browser.get(answer.json()["path"])
        await browser.get("/review")
        assert (browser.left, reads) == (1, [1])

    served(used)


def test_a_page_does_not_wait_long_for_the_queue(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Event()
    reads = counted(monkeypatch, gate)

    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        browser = Browser(server)
        await browser.enter()
        monkeypatch.setattr(boards, "PATIENCE_SECONDS", 0.01)
        page = (await browser.get("/review?in_owner=ada")).text
        assert "Looking for what waits" in page
        assert 'hx-get="/review?in_owner=ada" hx-trigger="load delay' in page, "it asks again"
        assert "Nothing waits" not in page
        gate.set()
        monkeypatch.setattr(boards, "PATIENCE_SECONDS", 60.0)
        page = (await browser.get("/review?in_owner=ada")).text
        assert 'hx-trigger="load delay' not in page
        assert (browser.left, reads) == (1, [1])

    served(used)


def test_where_nothing_waits_the_queue_is_read_once_for_a_page(
    served: Use[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = counted(monkeypatch)

    async def used(server: Server) -> None:
        server.app.board._now = lambda: 1000.0
        browser = Browser(server)
        await browser.enter()
        for number in range(3):
            await server.add(f"fact {own_words(number, 5)}")
            before = len(reads)
            page = (await browser.get("/review")).text
            assert "Nothing waits here" in page
            assert len(reads) == before + 1

    served(used)


def test_who_skipped_a_pair_is_shown_what_came_since_the_queue_was_read(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        server.app.board._now = lambda: 1000.0
        await waiting_pairs(server, 1, "ada")
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        await waiting_pairs(server, 1, "bob")
        key = {name: browser.field(name) for name in ("decision", "existing")}
        await browser.send("/review/skip", **key)
        page = (await browser.get("/review")).text
        assert "Nothing waits here" not in page
        assert "1 skipped by you" not in page
        await browser.say("different")
        assert browser.last is not None
        assert "1 left, 1 skipped by you." in browser.last.text, "nobody else looks at any"

    served(used)


def test_an_answer_is_about_what_was_shown(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        older = browser.field("existing")
        await server.twin.update(older, "Ada has moved to the garden")
        await browser.say("same")
        assert "changed since it was shown" in browser.notice
        assert "moved to the garden" in (browser.last.text if browser.last else "")
        await browser.say("same")
        assert browser.notice.startswith("Recorded")

    served(used)


def test_a_reviewer_sees_the_owners_of_the_pattern_alone(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1, "ada")
        await waiting_pairs(server, 1, "eve")
        grace, root = Browser(server), Browser(server)
        await grace.enter()
        await root.enter(person("root", ".*", "operator"))
        await grace.get("/review")
        assert grace.left == 1
        assert "eve" not in (grace.last.text if grace.last else "")
        await root.get("/review?in_owner=eve")
        assert root.left == 1
        names = ("decision", "existing", "version")
        foreign = {name: root.field(name) for name in names}
        assert (await grace.send("/review/answer", say="same", **foreign)).status_code == 404
        about = "&".join(f"{name}={foreign[name]}" for name in ("decision", "existing"))
        assert (await grace.get(f"/review/removal?{about}")).status_code == 404
        assert await events(server) == []
        assert (await root.get(f"/review/removal?{about}")).status_code == 200

    served(used)


def test_filters_narrow_the_queue_and_wrong_words_are_reported(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1, "ada", source="mail")
        await waiting_pairs(server, 2, "bob")
        browser = Browser(server)
        await browser.enter()
        for query, left in (
            ("", 3),
            ("in_owner=bob", 2),
            ("in_source=mail", 1),
            ("in_decision=pending", 3),
            ("in_decision=llm_reject", 0),
            ("in_cue=number", 0),
            ("in_owner=ada&in_source=chat", 0),
        ):
            await browser.get(f"/review?{query}")
            assert browser.left == left, query
        await browser.get("/review?in_owner=bob")
        key = {name: browser.field(name) for name in ("decision", "existing", "in_owner")}
        response = await browser.send("/review/skip", **key)
        assert response.headers["location"] == "/review?in_owner=bob"
        await browser.get("/review")
        assert (await browser.send("/review/answer", say="maybe")).status_code == 422
        await browser.get("/review")
        for number in ("-1", "x", "9" * 5_000):
            await browser.get("/review")
            assert (await browser.send("/review/undo", number=number)).status_code == 422

    served(used)


def test_what_cannot_be_seen_in_a_text_is_named(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = own_words(0, 11)
        for text in (f"{said} <b>up</b>", f"{said} \u202edown\u202c\u200b"):
            await server.add(text)
        browser = Browser(server)
        await browser.enter()
        page = (await browser.get("/review")).text
        assert page.count('<bdi class="text" hx-disable>') == page.count("<bdi") >= 3
        assert "\u202e" not in page
        assert 'title="right-to-left override">U+202E</span>' in page
        assert "U+200B" in page
        assert "<b>up" not in page

    served(used)


def test_words_that_show_a_cue_have_its_colour(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = own_words(0, 11)
        for text in (f"{said} is happy with 9 boats", f"{said} is unhappy with 10 boats"):
            await server.add(text)
        await waiting_pairs(server, 1, "bob")
        browser = Browser(server)
        await browser.enter()
        for cue, left in (("negation", 1), ("number", 1), ("unit", 0)):
            await browser.get(f"/review?in_cue={cue}")
            assert browser.left == left, cue
        page = (await browser.get("/review?in_owner=ada")).text
        marks = re.findall(r'<mark class="cue (\w+)" title="(\w+)">([^<]*)</mark>', page)
        assert marks == [
            ("value", "number", "9"),
            ("meaning", "negation", "unhappy"),
            ("value", "number", "10"),
        ]
        assert '<span class="cue value">number</span>' in page, "the same colour, with its name"
        assert browser.texts == (
            f"{said} is happy with 9 boats",
            f"{said} is unhappy with 10 boats",
        )

    served(used)


def test_a_diff_has_every_character_once_and_the_first_kind_of_cue() -> None:
    old, new = "on Monday at 9", "on Tuesday at 10 pm"
    places = ([CuePlace(3, 9, Cue.NAME), CuePlace(3, 9, Cue.DATE)], [CuePlace(14, 19, Cue.DATE)])
    left, right = word_diff(old, new, places)
    assert ("".join(one.text for one in left), "".join(one.text for one in right)) == (old, new)
    parts = [(part.text, part.cue) for piece in left for part in piece.parts]
    assert parts == [("on ", ""), ("Monday", "date"), (" at ", ""), ("9", "")]
    assert [part.text for piece in right for part in piece.parts if part.cue] == ["10 pm"]


def test_spaces_between_words_of_one_text_are_of_that_text() -> None:
    left, right = word_diff("Ada has a boat", "Ada sold her boat")
    assert [(one.text, one.only) for one in left] == [
        ("Ada ", False),
        ("has a", True),
        (" boat", False),
    ]
    assert [(one.text, one.only) for one in right][1] == ("sold her", True)


def test_what_depends_on_a_join_is_shown_before_a_key_is_pressed(served: Use[None]) -> None:
    """The third text was compared only with the face, the second text; without that, the first."""

    async def used(server: Server) -> None:
        await server.twin.set_policy(load_policy("replace-or-merge"))
        words = [chr(ord("a") + n) for n in range(20)]
        texts = [words, [*words[:19], "u"], [*words[:18], "v", "t"]]
        for text in texts:
            await server.add(" ".join(text))
        browser = Browser(server)
        await browser.enter()
        page = (await browser.get("/review")).text
        told = plain(page[page.index('id="h-removal"') : page.index('id="h-memory"')])
        assert "Without it there would be 2 memories:" in told
        assert "1 later decision would have been different" in told
        assert f"{' '.join(texts[2])} : pending would have been superseded" in told
        assert [event for event in await events(server) if event[1] == "grace"] == []
        about = "&".join(f"{name}={browser.field(name)}" for name in ("decision", "existing"))
        later = (await browser.get(f"/review/removal?{about}")).text
        assert "pending</strong> would have been <strong>superseded" in later

    served(used)


def test_a_pair_is_shown_with_when_where_and_what_it_would_join(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        upstairs, downstairs = pair_texts(0)
        said = {"owner_id": "ada", "namespace": "house"}
        at = ("2026-03-01T09:30:00Z", "2026-03-02T18:45:00Z")
        rows = [
            {**said, "text": upstairs, "occurred_at": at[0], "session_id": "monday"},
            {**said, "text": upstairs, "occurred_at": at[0], "id": "again"},
            {**said, "text": downstairs, "occurred_at": at[1], "session_id": "tuesday"},
        ]
        await server.twin.submit(rows[:2], source="chat")
        await server.twin.submit(rows[2:], source="mail")
        browser = Browser(server)
        await browser.enter()
        page = plain((await browser.get("/review")).text)
        for said_of_both in (
            "Owner ada Namespace house",
            "Happened 2026-03-01 09:30 Source chat Session monday Candidate",
            "Happened 2026-03-02 18:45 Source mail Session tuesday Candidate",
            f"The memory that it would join {upstairs} 2 members",
        ):
            assert said_of_both in page

    served(used)


async def restarted(server: Server, browser: Browser) -> None:
    """The board as in a new process."""
    board = server.app.board
    fresh = vars(boards.ReviewBoard(server.twin))
    vars(board).update(fresh)
    await browser.get("/review")


def test_a_restart_forgets_no_answer(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 4)
        said = own_words(9, 30)
        for text in (said, f"{said}."):
            await server.add(text)
        browser = Browser(server)
        await browser.enter()
        before = await _list(server)
        for path in ("/review?in_decision=pending", "/review?in_decision=token_reject"):
            for word in ("same", "different", "newer", "former"):
                await browser.get(path)
                if "Nothing waits" in (browser.last.text if browser.last else ""):
                    continue
                await browser.say(word, because=f"{word} it is")
                assert browser.notice.startswith("Recorded")
                if "token" in path:
                    break
        page = plain(browser.last.text if browser.last else "")
        listed = page[page.index("Your last answers") : page.index("Filters")]
        await restarted(server, browser)
        page = plain(browser.last.text if browser.last else "")
        assert page[page.index("Your last answers") : page.index("Filters")] == listed
        assert listed.count("Undo") == 5
        for left in range(1, 6):
            await browser.send("/review/undo")
            await browser.get("/review")
            assert browser.notice.startswith("Undone"), browser.notice
            assert "Nothing waits" not in (browser.last.text if browser.last else "")
            if left == 3:
                await restarted(server, browser)
        assert await _list(server) == before
        await restarted(server, browser)
        assert browser.left == 5
        await browser.send("/review/undo")
        await browser.get("/review")
        assert browser.notice == "There is nothing to undo."

    served(used)


def test_of_a_restart_a_person_sees_their_own_answers(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 2, "ada")
        await waiting_pairs(server, 1, "eve")
        grace, lin = Browser(server), Browser(server)
        await grace.enter()
        await grace.get("/review")
        await grace.say("different")
        merged = await server.twin.sql("FROM review_queue WHERE owner_id = 'eve'")
        ends = merged[0]["candidate_id"], merged[0]["existing_id"]
        await server.twin.separate(*ends, actor="grace")
        await restarted(server, grace)
        assert grace.last is not None
        assert grace.last.text.count('aria-label="Undo answer') == 1, "eve is not hers"
        await lin.enter(person("lin"))
        page = await lin.get("/review")
        assert "Your last answers" not in page.text
        root = Browser(server)
        await root.enter(person("grace", ".*", "operator"))
        page = await root.get("/review")
        assert page.text.count('aria-label="Undo answer') == 2

    served(used)


@pytest.mark.parametrize("word", long_but("newer", of=["same", "different", "newer"]))
def test_a_restart_forgets_no_answer_about_a_join(served: Use[None], word: str) -> None:
    async def used(server: Server) -> None:
        said = own_words(0, 30)
        for text in (said, f"{said}."):
            await server.add(text)
        before = await _list(server)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        await browser.say(word)
        await restarted(server, browser)
        page = browser.last.text if browser.last else ""
        assert page.count('aria-label="Undo answer') == 1, "one answer, however many words"
        assert "Nothing waits" in page
        await browser.send("/review/undo")
        await browser.get("/review")
        assert browser.notice.startswith("Undone"), browser.notice
        assert browser.left == 1
        assert await _list(server) == before

    served(used)


def waterfall(page: str) -> dict[str, list[str]]:
    """The steps of the evidence: the finding, the thresholds, and the meaning."""
    table = page[page.index('id="h-evidence"') :].partition("</table>")[0]
    steps = [re.split(r"</t[hd]>", row) for row in table.split("<tr>")[2:]]
    told = [[plain(cell) for cell in row] for row in steps]
    return {row[0]: row[1:4] for row in told}


def test_each_step_of_the_evidence_has_its_thresholds(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = own_words(0, 12)
        await server.twin.submit({"owner_id": "ada", "text": f"{said} up", "session_id": "monday"})
        await server.twin.submit({"owner_id": "ada", "text": f"{said} 7", "session_id": "monday"})
        await server.twin.submit({"owner_id": "bob", "text": f"{said} up", "session_id": "monday"})
        await server.twin.submit({"owner_id": "bob", "text": f"{said} 7", "session_id": "friday"})
        browser = Browser(server)
        await browser.enter()
        steps = waterfall((await browser.get("/review?in_owner=ada")).text)
        assert [*steps] == ["Exact", "Jaccard", "Cosine", "Guard", "Verdict"]
        assert steps["Exact"] == ["different texts", "equal texts", "no match"]
        assert steps["Jaccard"][1:] == ["0.85 and more: token reject", "token reject"]
        assert steps["Cosine"][1:] == [
            "0.8 and more: session reject 0.85 and more: auto reject 0.84 and more: pending",
            "session reject",
        ]
        assert steps["Guard"][1:] == ["near-identical, and no cue", "stops it"]
        assert "number" in steps["Guard"][0]
        assert steps["Verdict"][0] == "none yet"
        steps = waterfall((await browser.get("/review?in_owner=bob")).text)
        assert steps["Cosine"][1:] == [
            "0.85 and more: auto reject 0.84 and more: pending",
            "auto reject",
        ], "the session's threshold is for texts of one session"

    served(used)


def test_an_exact_repeat_that_is_not_verbatim_is_said_to_be_one(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await server.twin.set_policy("store-time")
        for text in ("The lamp is Tulip7", "The  lamp is tulip7"):
            await server.add(text)
        browser = Browser(server)
        await browser.enter()
        steps = waterfall((await browser.get("/review")).text)
        assert steps["Exact"] == ["equal but for case, white space", "equal, folded", "a match"]

    served(used)


def test_a_verdict_has_its_reasoning_and_few_words_in_common_are_shown(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        await waiting_pairs(server, 1)
        browser = Browser(server)
        await browser.enter()
        steps = waterfall((await browser.get("/review")).text)
        assert steps["Jaccard"] == ["less than 0.85", "0.85 and more: token reject", "below"]
        assert "session" not in steps["Cosine"][1], "neither names one"
        assert steps["Verdict"][0] == "none yet"
        await judged(server, "ada", reasoning="both mean <one> house")
        page = (await browser.get("/review")).text
        assert "llm reject" in plain(page)
        assert "<one>" not in page
        steps = waterfall(page)
        assert steps["Verdict"] == ["both mean <one> house", "claude", "same"]

    served(used)


async def judged(server: Server, owner: str, *, reasoning: str | None = None) -> None:
    """Let the judge call the one pair of an owner the same, and read the queue again."""
    [asked] = await server.twin.sql("FROM review_queue WHERE owner_id = ?", [owner])
    verdict = Verdict(
        neighbour_id=asked["existing_id"], answer="same", model="claude", reasoning=reasoning
    )
    settle = SettleRequest(
        request_id=request_id(), candidate_id=asked["candidate_id"], verdicts=(verdict,)
    )
    await server.twin.settle([settle])
    vars(server.app.board).update(vars(boards.ReviewBoard(server.twin)))


def test_where_judge_and_guard_disagree_it_is_told_and_comes_first(served: Use[None]) -> None:
    """Also after an answer that is undone before the queue is read again."""

    async def used(server: Server) -> None:
        said = own_words(0, 30)
        for text in (said, f"{said}."):
            await server.add(text)
        [joined] = await server.twin.sql("SELECT decision FROM review_queue")
        assert joined["decision"] == "token_reject", "the guard had no objection"
        for text in ("the boat is red and has 9 oars", "the boat is red and has 10 oars"):
            await server.twin.submit({"owner_id": "bob", "text": text})
        await judged(server, "bob")
        browser = Browser(server)
        await browser.enter()
        assert_told(browser, (await browser.get("/review")).text)
        assert_told(browser, (await browser.get("/review?in_cue=number")).text)
        await browser.say("same")
        await restarted(server, browser)
        await browser.send("/review/undo")
        assert_told(browser, (await browser.get("/review")).text)

    def assert_told(browser: Browser, page: str) -> None:
        assert browser.texts[0] == "the boat is red and has 9 oars"
        assert "judge and guard disagree" in page
        assert '<span class="cue value">number</span>' in page
        assert '<mark class="cue value" title="number">10</mark>' in page
        assert "number" in waterfall(page)["Guard"][0]

    served(used)


def pair(
    number: int,
    *,
    memory: str = "m",
    decision: str = "pending",
    later_joins: int = 0,
    similarity: float = 0.9,
) -> WaitingPair:
    waits = "pending" if decision == "pending" else "unreviewed"
    cues = ("number",) if decision == "llm_reject" else ()
    return WaitingPair(
        f"d{number}", f"c{number}", f"e{number}", "ada", "default", waits, decision, similarity,
        cues, number, "chat", memory, None, None, later_joins,
    )  # fmt: skip


def test_work_goes_by_consequences_then_disagreement_with_memories_together() -> None:
    pairs = [
        pair(1, memory="a"),
        pair(2, memory="b", decision="llm_reject"),
        pair(3, memory="c", decision="auto_reject", later_joins=2),
        pair(4, memory="b", decision="auto_reject"),
        pair(5, memory="c", decision="auto_reject", later_joins=1),
    ]
    queue = WaitingPairs(pairs).queue(person().owners, QueueFilter())
    assert [one.position for one in queue.pairs] == [3, 5, 2, 4, 1]


def test_of_memories_with_equal_consequences_the_one_with_the_least_alike_pair_comes_first() -> (
    None
):
    pairs = [
        pair(1, memory="a", similarity=0.8),
        pair(2, memory="a", similarity=0.81),
        pair(3, memory="b", similarity=0.7),
        pair(4, memory="b", similarity=0.99),
    ]
    queue = WaitingPairs(pairs).queue(person().owners, QueueFilter())
    assert [one.position for one in queue.pairs] == [3, 4, 1, 2]


def test_a_lease_is_over_when_its_time_is() -> None:
    now = [0.0]
    leases = Leases(lambda: now[0])
    key = pair(1).key
    assert leases.take(key, "kim")
    now[0] = LEASE_SECONDS - 1
    assert not leases.take(key, "lee")
    now[0] = LEASE_SECONDS
    assert leases.take(key, "lee")


def test_nobody_lets_go_of_what_another_holds() -> None:
    leases = Leases(lambda: 0.0)
    key = pair(1).key
    assert leases.take(key, "kim")
    leases.release(key, "lee")
    assert not leases.take(key, "lee")
    leases.release(key, "kim")
    assert leases.take(key, "lee")


def test_what_is_in_the_way_of_an_answer_is_told_in_texts(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        said = own_words(1, 11)
        rows = [{"owner_id": "ada", "text": f"{said} {end}"} for end in ("here", "there", "away")]
        a, b, c = [str(one.candidate_id) for one in await server.twin.submit(rows)]
        await server.twin.separate(a, c)
        await server.twin.merge(a, b)
        browser = Browser(server)
        await browser.enter()
        await browser.get("/review")
        assert set(browser.texts) == {f"{said} there", f"{said} away"}
        await browser.say("same")
        assert f"{said} here" in browser.notice
        assert c not in browser.notice

    served(used)
