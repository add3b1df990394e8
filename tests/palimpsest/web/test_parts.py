"""The parts that pages are made of, without a server: queues, steps of evidence, texts, fields."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib import resources
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import Headers

from palimpsest.charts.kinds import FAMILIES
from palimpsest.charts.zones import zones_of_run
from palimpsest.contracts.evidence import Cue
from palimpsest.contracts.limits import LONGEST_REASON
from palimpsest.contracts.policy import CosineCheck, PairsDedupe
from palimpsest.queries.path import (
    _by_cosine,
    _guard,
    _measured,
    _verdicts,
    _windows,
    _words_in_common,
)
from palimpsest.server.bodies import Because
from palimpsest.server.problems import ProblemError
from palimpsest.streams.guard.places import CuePlace
from palimpsest.streams.policies import load_policy, preset_names
from palimpsest.web import banner, paths, rendering
from palimpsest.web.board import board
from palimpsest.web.board.answers import GivenAnswer
from palimpsest.web.board.board import MOST_ANSWERS, REFRESH_SECONDS, REFRESH_SHARE, Person
from palimpsest.web.board.pairs import PairsPage, _path
from palimpsest.web.board.waiting import (
    LEASE_SECONDS,
    Leases,
    QueueFilter,
    WaitingPair,
    WaitingPairs,
    in_order,
    wanted_of,
)
from palimpsest.web.board.word_diff import cue_kind, word_diff
from palimpsest.web.door import MOST_DIGITS, MOST_FIELDS, _fields, whole_number
from palimpsest.web.pages.days import SPAN, _parse_day, _row
from palimpsest.web.rendering import EXCERPT, excerpt, render, shown, words
from palimpsest.web.sessions import (
    LINK_SECONDS,
    MOST_SESSIONS,
    NOBODY,
    SESSION_SECONDS,
    Sessions,
    WebSession,
    cookie_name,
)
from palimpsest.web.taking_back import Foreseen
from tests.palimpsest.web.conftest import person, plain
from tests.palimpsest.web.test_board import pair
from tests.tables import each

EVERYBODY, ADA = re.compile(".*"), re.compile("ada")


# -- the queue -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        (QueueFilter(), True),
        (QueueFilter(owner="ada", source="chat", cue="number", decision="llm_reject"), True),
        (QueueFilter(owner="bob"), False),
        (QueueFilter(source="mail"), False),
        (QueueFilter(cue="name"), False),
        (QueueFilter(decision="pending"), False),
    ],
)
def test_a_filter_takes_what_has_all_that_it_names(wanted: QueueFilter, taken: bool) -> None:
    assert wanted.takes(pair(1, decision="llm_reject")) is taken


def test_what_is_wanted_is_in_the_fields_of_a_form() -> None:
    form = {"in_owner": " ada ", "in_cue": "number", "owner": "bob"}
    assert wanted_of(form) == QueueFilter(owner="ada", cue="number")
    wanted = QueueFilter("a b", "chat", "number", "pending")
    assert _path(wanted) == (
        "/review?in_owner=a+b&in_source=chat&in_cue=number&in_decision=pending"
    )
    assert _path(QueueFilter()) == "/review"


@pytest.mark.parametrize(
    ("given", "kept"), [(" so it is ", "so it is"), ("  ", None), ("x" * 2_001, "x" * 2_000)]
)
def test_a_reason_is_kept_up_to_its_bound(given: str, kept: str | None) -> None:
    said: list[Any] = []

    async def answer(*words: Any) -> None:
        said.append(words)

    session = WebSession(person(), "")
    visit: Any = SimpleNamespace(
        form={"say": "same", "decision": "d", "existing": "e", "version": "v", "because": given},
        session=session,
        is_partial=False,
        to=lambda path: path,
    )
    pages = PairsPage(SimpleNamespace(answer=answer))  # type: ignore[arg-type]
    assert asyncio.run(pages.answer(visit)) == "/review"  # type: ignore[comparison-overlap]
    assert said == [(session, ("d", "e"), "same", "v", kept)]


@pytest.mark.parametrize(
    ("waits_as", "decision", "cues", "is_joined", "disagree"),
    [
        ("pending", "pending", ("number",), False, False),
        ("forgotten", "auto_reject", (), False, False),
        ("unreviewed", "auto_reject", ("number",), True, False),
        ("unreviewed", "llm_reject", ("number",), True, True),
        ("unreviewed", "llm_merge", ("number",), True, True),
        ("unreviewed", "llm_reject", (), True, False),
    ],
)
def test_a_pair_says_what_it_is(
    waits_as: str, decision: str, cues: tuple[str, ...], is_joined: bool, disagree: bool
) -> None:
    one = replace(pair(1), waits_as=waits_as, decision=decision, cues=cues)
    assert (one.is_joined, one.disagree) == (is_joined, disagree)
    assert one.key == ("d1", "e1")


def test_of_equal_consequences_a_question_comes_before_a_join_and_the_earlier_first() -> None:
    joined = pair(1, memory="a", decision="auto_reject")
    later, earlier = pair(3, memory="b"), pair(2, memory="c")
    pairs = [joined, later, earlier]
    assert [one.position for one in in_order(pairs)] == [2, 3, 1]


def test_what_is_settled_is_left_no_more_and_what_waits_again_is() -> None:
    pairs = [pair(1), pair(2, decision="llm_reject"), replace(pair(3), owner_id="bob")]
    waiting = WaitingPairs(pairs)
    work, ada, cue = (
        QueueFilter(),
        QueueFilter(owner="ada"),
        QueueFilter(cue="number"),
    )
    queues = [(EVERYBODY, one) for one in (work, ada, cue)] + [(ADA, work)]

    def left() -> list[int]:
        counted = [waiting.queue(*queue).left for queue in queues]
        assert counted == [len([*waiting.open(*queue)]) for queue in queues]
        return counted

    assert left() == [3, 2, 1, 2]
    for _ in range(2):
        waiting.settle(pairs[1].key)
        assert left() == [2, 1, 0, 1]
    waiting.settle(("d", "e"))
    for _ in range(2):
        waiting.wait_again(pairs[1])
        assert left() == [3, 2, 1, 2]
    assert waiting.kinds(ADA) == {"cues": ["number"], "decisions": ["llm_reject", "pending"]}
    assert waiting.kinds(re.compile("bob")) == {"cues": [], "decisions": ["pending"]}


def test_an_answer_about_whoever_is_named_alike_is_left_to_them() -> None:
    waiting = WaitingPairs([pair(1), replace(pair(2), owner_id="adam")])
    assert waiting.queue(ADA, QueueFilter()).left == 1
    waiting.settle(pair(2).key)
    assert waiting.queue(ADA, QueueFilter()).left == 1
    assert [one.owner_id for one in waiting.open(ADA, QueueFilter())] == ["ada"]


def test_the_pair_with_the_most_consequences_counts_however_many_pairs_a_memory_has() -> None:
    few = [pair(number, memory="a", later_joins=2) for number in (1, 2)]
    most = pair(3, memory="b", later_joins=3)
    assert [one.position for one in in_order([*few, most])] == [3, 1, 2]


def test_what_waits_again_and_was_not_read_stands_beside_its_memory() -> None:
    waiting = WaitingPairs([pair(1, memory="a", later_joins=1), pair(2, memory="b")])
    assert [one.position for one in waiting.open(EVERYBODY, QueueFilter())] == [1, 2]
    waiting.kinds(EVERYBODY)
    waiting.wait_again(pair(3, memory="b"))
    assert [one.position for one in waiting.open(EVERYBODY, QueueFilter())] == [1, 3, 2]
    waiting.wait_again(pair(4, memory="c", decision="llm_reject"))
    assert [one.position for one in waiting.open(EVERYBODY, QueueFilter())] == [4, 1, 3, 2]
    assert waiting.kinds(EVERYBODY)["cues"] == ["number"]


def test_a_lease_that_is_taken_again_lasts_longer_and_what_is_over_is_forgotten() -> None:
    now = [0.0]
    leases = Leases(lambda: now[0])
    first, second = pair(1).key, pair(2).key
    for at in (0.0, LEASE_SECONDS / 2):
        now[0] = at
        assert leases.take(first, "kim")
    assert leases.take(second, "lee")
    now[0] = LEASE_SECONDS
    leases.drop_expired()
    assert not leases.take(first, "lee")
    leases.release_all("kim")
    assert leases.take(first, "lee")
    assert not leases.take(second, "kim")
    now[0] = 1.5 * LEASE_SECONDS
    leases.drop_expired()
    assert leases.take(second, "kim")
    assert not leases.take(first, "kim")


def test_a_person_has_few_answers_each_with_its_number() -> None:
    kim = Person()
    assert kim.take(None) is None
    for number in range(1, MOST_ANSWERS + 2):
        kim.note(GivenAnswer(pair(number), "same", None, lambda _: None), ("a", "b"))
    assert [answer.number for answer in kim.answers] == [*range(2, MOST_ANSWERS + 2)]
    latest, second = kim.take(None), kim.take(2)
    assert latest is not None
    assert second is not None
    assert (latest.number, second.answer.pair.position) == (MOST_ANSWERS + 1, 2)
    assert kim.take(1) is None


def test_a_board_knows_so_many_people_and_whoever_came_last_stays() -> None:
    one: Any = board.ReviewBoard(SimpleNamespace())  # type: ignore[arg-type]
    sessions = [WebSession(person(), str(number)) for number in range(MOST_SESSIONS + 1)]
    first = one.person(sessions[0])
    for session in sessions[1:-1]:
        one.person(session)
    assert one.person(sessions[0]) is first
    second = one.person(sessions[-1])
    assert one.person(sessions[0]) is first
    assert one.person(sessions[-1]) is second
    assert len(one._people) == MOST_SESSIONS
    one.leave(sessions[0])
    assert one.person(sessions[0]) is not first


class Read:
    """A store whose queue takes this number of seconds to read; counts the reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> None:
        self.now, self.head, self.times, self.seconds = 1_000.0, 7, 0, seconds
        self.reader = SimpleNamespace(projections=None, refresh=lambda: None)
        self.store = self
        self.board = board.ReviewBoard(self, lambda: self.now)  # type: ignore[arg-type]
        monkeypatch.setattr(board, "read_pairs", self._pairs)
        monkeypatch.setattr(board, "latest_statements", lambda *_: [])

    async def position(self) -> int:
        return self.head

    async def call(self, method: Any) -> Any:
        return method(self)

    def _pairs(self, _: object) -> list[WaitingPair]:
        self.times += 1
        self.now += self.seconds
        return []

    async def begin(self) -> int:
        """Read the queue if it is time; returns the number of reads so far."""
        self.board.begin()
        if self.board._aside is not None:
            await self.board._aside
        return self.times


def test_the_queue_is_read_again_in_a_minute_where_the_log_has_moved_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def used() -> None:
        read = Read(monkeypatch)
        assert await read.begin() == 1
        read.head += 1
        read.now += 1
        assert await read.begin() == 1, "it has just been read"
        read.head -= 1
        read.now += REFRESH_SECONDS
        assert await read.begin() == 1, "nothing has happened"
        read.head += 1
        assert await read.begin() == 1, "it has just been looked at"
        read.now += REFRESH_SECONDS + 1
        assert await read.begin() == 2

    asyncio.run(used())


def test_a_queue_that_takes_long_is_read_in_a_small_share_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def used() -> None:
        read = Read(monkeypatch, seconds=10.0)
        begun = read.now
        await read.begin()
        read.head += 1
        read.now = begun + 10.0 / REFRESH_SHARE
        assert await read.begin() == 1
        read.now += 1
        assert await read.begin() == 2

    asyncio.run(used())


def test_leases_that_are_over_are_dropped_as_the_queue_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def used() -> None:
        read = Read(monkeypatch)
        read.board.leases.take(("d1", "e1"), "kim")
        read.now += LEASE_SECONDS + 1
        read.board.leases.take(("d2", "e2"), "lee")
        await read.begin()
        assert read.board.leases._held.keys() == {("d2", "e2")}

    asyncio.run(used())


def test_who_does_not_wait_for_the_queue_does_not_stop_its_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def used() -> None:
        read, go_on = Read(monkeypatch), asyncio.Event()

        async def position() -> int:
            await go_on.wait()
            return 7

        monkeypatch.setattr(read, "position", position)
        monkeypatch.setattr(board, "PATIENCE_SECONDS", 0.0)
        assert not await read.board._patiently(lambda: read.times > 0)
        reading = read.board._aside
        assert reading is not None
        go_on.set()
        await reading
        assert read.times == 1

    asyncio.run(used())


# -- evidence ------------------------------------------------------------------------------------

THRESHOLDS = [
    {"check": "tokens", "at_least": 0.6, "then": "token_reject"},
    {"check": "cosine", "at_least": 0.92, "then": "auto_reject"},
    {"check": "cosine", "at_least": 0.85, "then": "pending"},
]


@pytest.mark.parametrize(
    ("score", "found", "share", "outcome"),
    [
        (0.95, "0.9500", 0.95, "auto reject"),
        (0.92, "0.9200", 0.92, "auto reject"),
        (0.85, "0.8500", 0.85, "pending"),
        (0.8499, "0.8499", 0.8499, "below"),
        (1.00001, "1.0000", 1.0, "auto reject"),
        (-0.2, "-0.2000", 0.0, "below"),
        (None, "not measured", None, ""),
    ],
)
def test_a_score_is_told_by_the_threshold_that_it_reaches(
    score: float | None, found: str, share: float | None, outcome: str
) -> None:
    step = _measured("Cosine", score, THRESHOLDS, ("cosine",))
    assert (step["name"], step["found"], step["share"], step["outcome"]) == (
        "Cosine",
        found,
        share,
        outcome,
    )
    assert step["thresholds"] == ["0.92 and more: auto reject", "0.85 and more: pending"]
    assert step["marks"] == [0.92, 0.85]
    assert _measured("Cosine", 0.5, THRESHOLDS, ("session",))["outcome"] == ""


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        ({"near_identical": True}, "auto reject"),
        ({"near_identical": True, "cues": ["number"]}, "below"),
        ({"near_identical": False}, "below"),
        ({}, "below"),
    ],
)
def test_a_cosine_below_the_zones_joins_what_the_guard_accepts(
    seen: dict[str, Any], outcome: str
) -> None:
    proven = {"check": "near_identical", "at_least": 0.4, "then": "auto_reject"}
    step = _measured("Cosine", 0.5, [*THRESHOLDS, proven], _by_cosine(seen))
    assert step["outcome"] == outcome


def test_windows_are_a_step_of_long_texts_alone() -> None:
    assert [*_windows({"cosine": 0.95}, THRESHOLDS, ("cosine",))] == []
    [step] = _windows({"cosine": 0.95, "covered": 0.5}, THRESHOLDS, ("cosine",))
    assert (step["name"], step["found"], step["outcome"]) == ("Windows", "0.5000", "below")


@pytest.mark.parametrize(
    ("seen", "thresholds", "found", "outcome"),
    [
        ({"jaccard": 0.7}, THRESHOLDS, "0.7000", "token reject"),
        ({"cosine": 0.9}, THRESHOLDS, "less than 0.6", "below"),
        ({}, THRESHOLDS, "not measured", ""),
        ({"cosine": 0.9}, THRESHOLDS[1:], "not measured", ""),
    ],
)
def test_few_words_in_common_are_below_the_threshold(
    seen: dict[str, Any], thresholds: list[dict[str, Any]], found: str, outcome: str
) -> None:
    step = _words_in_common(seen, thresholds)
    assert (step["name"], step["found"], step["outcome"]) == ("Jaccard", found, outcome)


@pytest.mark.parametrize(
    ("seen", "found", "outcome"),
    [
        ({}, "not asked", ""),
        ({"near_identical": True}, "near-identical in order; no cue", "passes"),
        ({"near_identical": False}, "not near-identical in order", "stops it"),
        (
            {"near_identical": True, "cues": ["swapped_order", "number"]},
            "near-identical in order; swapped order, number",
            "stops it",
        ),
        ({"cues": ["number"]}, "not near-identical in order; number", "stops it"),
    ],
)
def test_the_guard_says_why_it_stops_a_join(seen: dict[str, Any], found: str, outcome: str) -> None:
    step = _guard(seen)
    assert (step["name"], step["found"], step["outcome"]) == ("Guard", found, outcome)
    assert step["thresholds"] == ["near-identical, and no cue"]


def test_a_verdict_is_about_its_own_neighbour() -> None:
    evidence: dict[str, Any] = {
        "asked": [],
        "verdicts": [
            {"neighbour_id": "a", "answer": "not_sure", "reasoning": "why", "model": "claude"},
            {"neighbour_id": "b", "answer": "same"},
        ],
        "neighbours": [{"candidate_id": "a", "cosine": 1}, {"candidate_id": "b", "cosine": 2}],
    }
    [one] = _verdicts(evidence, "a", None)
    assert (one["found"], one["thresholds"], one["outcome"]) == ("why", ["claude"], "not sure")
    [bare] = _verdicts(evidence, "b", None)
    assert (bare["found"], bare["thresholds"]) == ("no reasoning", ["no model named"])
    nobody = ["nobody was asked about the two"]
    assert [step["found"] for step in _verdicts(evidence, "c", None)] == nobody
    assert [s["found"] for s in _verdicts(evidence | {"asked": ["c"]}, "c", None)] == ["none yet"]
    assert [s["found"] for s in _verdicts(evidence | {"asked": ["d"]}, "c", None)] == nobody


@pytest.mark.parametrize(
    ("cue", "kind"),
    [
        (Cue.NUMBER, "value"),
        (Cue.NEGATION, "meaning"),
        (Cue.ANTONYM, "meaning"),
        (Cue.SWAPPED_ORDER, "order"),
        (Cue.NAME, "order"),
        (Cue.UNIT, "value"),
        (Cue.UNKNOWN_TOKEN, "blind"),
    ],
)
def test_a_cue_has_a_colour(cue: Cue, kind: str) -> None:
    assert cue_kind(cue) == kind


def test_each_character_of_a_script_without_spaces_is_compared_also_beside_letters() -> None:
    left, right = word_diff("Pythonで書く", "Pythonで読む")
    assert [(one.text, one.only) for one in left] == [("Pythonで", False), ("書く", True)]
    assert [(one.text, one.only) for one in right] == [("Pythonで", False), ("読む", True)]


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("ame\u0301lie vit", "amelie vit", ["ame\u0301lie"]),
        ("हिन्दी बोलती", "उर्दू बोलती", ["हिन्दी"]),
        ("か\u3099す", "かす", ["か\u3099"]),
        ("ราคาแพง", "ราคาถูก", ["แพง"]),
        ("a 👩\u200d👧 b", "a 👩\u200d👦 b", ["👩\u200d👧"]),
        ("ﾄﾖﾀ", "ﾄﾖｶ", ["ﾀ"]),
    ],
)
def test_no_character_is_cut_in_two(old: str, new: str, marked: list[str]) -> None:
    left, _ = word_diff(old, new)
    assert "".join(one.text for one in left) == old
    assert [one.text for one in left if one.only] == marked


def test_words_of_one_text_are_marked_with_the_spaces_between_them() -> None:
    places: tuple[list[CuePlace], list[CuePlace]] = ([], [CuePlace(6, 7, Cue.NUMBER)])
    old, new = word_diff("a red boat", "a big 2 red boat", places)
    assert [(one.text, one.only) for one in old] == [("a red boat", False)]
    assert [(one.text, one.only) for one in new] == [
        ("a ", False),
        ("big 2 ", True),
        ("red boat", False),
    ]
    assert [(part.text, part.kind) for one in new for part in one.parts if part.kind] == [
        ("2", "value")
    ]
    left, right = word_diff("東京", "京都")
    assert [one.text for one in left if one.only] == ["東"]
    assert [one.text for one in right if one.only] == ["都"]


# -- texts and numbers ---------------------------------------------------------------------------


def test_an_excerpt_says_that_there_is_more() -> None:
    assert excerpt("x" * EXCERPT) == "x" * EXCERPT
    assert excerpt("x" * (EXCERPT + 1)) == "x" * EXCERPT + "…"
    assert excerpt("x" * (EXCERPT - 1) + "👍🏽") == "x" * (EXCERPT - 1) + "…"
    assert words("llm_reject_now") == "llm reject now"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<b> & 'x'", "&lt;b&gt; &amp; &#39;x&#39;"),
        ("a\n\tb", "a\n\tb"),
        ("<\n", "&lt;\n"),
        ("\x07", '<span class="control" title="control character">U+0007</span>'),
        ("\u202e", '<span class="control" title="right-to-left override">U+202E</span>'),
        (3, "3"),
    ],
)
def test_a_text_is_shown_with_names_for_what_cannot_be_seen(text: object, html: str) -> None:
    assert str(shown(text)) == html


@pytest.mark.parametrize("given", ["0", "7", "9" * MOST_DIGITS])
def test_a_whole_number_is_read(given: str) -> None:
    assert whole_number("start", given) == int(given)


@pytest.mark.parametrize("given", ["", "-1", "1.5", "x", "9" * (MOST_DIGITS + 1)])
def test_what_is_no_whole_number_is_reported_by_its_name(given: str) -> None:
    with pytest.raises(ProblemError, match="`start` should be a whole number") as refused:
        whole_number("start", given)
    assert refused.value.status == 422


def test_a_form_has_the_last_value_of_each_field_also_an_empty_one() -> None:
    assert _fields(b"a=1&b=&a=%C3%A9+x") == {"a": "é x", "b": ""}
    assert len(_fields("&".join(f"f{n}=" for n in range(MOST_FIELDS)).encode())) == MOST_FIELDS
    for wrong in ("&".join(f"f{n}=" for n in range(MOST_FIELDS + 1)).encode(), b"\xff", b"a=%ff"):
        with pytest.raises(ProblemError, match="the form cannot be read") as refused:
            _fields(wrong)
        assert refused.value.status == 400


@pytest.mark.parametrize(
    ("given", "found"),
    [("2026-03-01", date(2026, 3, 1)), ("2026-3-1", None), ("0001-02-28", None), ("", None)],
)
def test_a_day_is_one_that_has_days_around_it(given: str, found: date | None) -> None:
    assert SPAN == 30
    if found is not None:
        assert _parse_day(given) == found
        return
    with pytest.raises(ProblemError, match="write a day like 2026-03-01"):
        _parse_day(given)


def test_a_row_of_a_day_adds_up_what_the_judge_did() -> None:
    day: Any = SimpleNamespace(
        day=date(2026, 3, 1),
        decisions={"stored": 2, "llm_keep": 1, "hash_exact": 4},
        words={"merged": 1},
        judge=[SimpleNamespace(verdicts=2), SimpleNamespace(verdicts=3)],
        cost_usd=0.5,
    )
    row = _row(day)
    assert (row.day, row.verdicts, row.cost_usd, row.words) == (
        day.day,
        5,
        0.5,
        {"merged": 1},
    )
    assert row.families == {"kept": 3, "repeated": 4}
    assert [*row.families] == [name for name in FAMILIES if name in row.families]


def test_paths_take_ids_of_any_characters() -> None:
    base = "/review/owners/a%2Fb%3F"
    assert paths.owners() == "/review/owners"
    assert paths.owner("a/b?", after="x y") == f"{base}?after=x+y"
    assert paths.search("a/b?") == f"{base}/search"
    assert paths.memory("a/b?", "m/", since="3") == f"{base}/memories/m%2F?since=3"
    assert paths.timeline("a/b?", "m") == f"{base}/memories/m/timeline"
    assert paths.take_back("a/b?", "m", "a/b", consequences="0") == (
        f"{base}/memories/m/take-back?id=a%2Fb&consequences=0"
    )
    assert paths.queue("a/b?") == "/review?in_owner=a%2Fb%3F"
    assert paths.days(until="2026-03-01") == "/review/days?until=2026-03-01"
    assert paths.day(date(2026, 3, 1)) == "/review/days/2026-03-01"
    assert paths.policy("sha256:x") == "/review/policies/sha256%3Ax"


@pytest.mark.parametrize("name", preset_names())
def test_zones_of_a_run_are_its_own(name: str) -> None:
    policy = load_policy(name)
    zones = zones_of_run(policy)
    assert (zones[0].end, zones[-1].begin) == (1.0, 0.0)
    if isinstance(policy.dedupe, PairsDedupe):
        assert [zone.begin for zone in zones] == [policy.dedupe.above, 0.0]
        assert [(zone.kind, zone.label) for zone in zones] == [("joined",) * 2, ("kept",) * 2]
    else:
        checks = [check for check in policy.checks if isinstance(check, CosineCheck)]
        begins = [zone.at_least for check in checks[:1] for zone in check.zones]
        assert [zone.begin for zone in zones] == [*begins, 0.0]


# -- sessions, and the banner --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:7077", "palimpsest_review_7077"),
        ("example.org", "palimpsest_review_web"),
        ("[::1]:80", "palimpsest_review_80"),
    ],
)
def test_a_cookie_is_named_by_the_port(host: str, name: str) -> None:
    assert cookie_name(Headers({"host": host})) == name


def cookie(secret: str) -> Headers:
    return Headers({"host": "127.0.0.1:1", "cookie": f"palimpsest_review_1={secret}"})


def test_a_link_and_a_session_end_exactly_in_time() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    codes = [sessions.link(person("kim")) for _ in range(2)]
    now[0] = LINK_SECONDS - 0.001
    assert sessions.redeem(codes[0]) == person("kim")
    assert sessions.redeem(codes[0]) is None
    now[0] = LINK_SECONDS
    assert sessions.redeem(codes[1]) is None
    short, long = sessions.begin(person("kim"), 10.0), sessions.begin(person("lee"))
    assert sessions.caller(cookie(short.secret)).name == "kim"
    now[0] += 10.0
    assert sessions.caller(cookie(short.secret)) is NOBODY
    found = sessions.find(cookie(long.secret))
    assert found is not None
    assert (found.csrf, found.secret) == (long.csrf, "")
    now[0] += SESSION_SECONDS
    assert sessions.find(cookie(long.secret)) is None


def test_one_session_ends_and_others_stay() -> None:
    sessions = Sessions(lambda: 0.0)
    kim, lee = sessions.begin(person("kim")), sessions.begin(person("lee"))
    sessions.end(cookie(kim.secret))
    sessions.end(cookie("nobody"))
    assert sessions.find(cookie(kim.secret)) is None
    assert sessions.caller(cookie(lee.secret)).name == "lee"
    assert sessions.caller(Headers({"host": "127.0.0.1:2", "cookie": "x=y"})) is NOBODY


@pytest.mark.parametrize("count", [0, 1, 2_000])
def test_the_banner_counts_what_waits(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = SimpleNamespace(count=lambda *_: count, unembedded=lambda: count)
    log = SimpleNamespace(verifications=counted)
    reader, writer = SimpleNamespace(log=log), SimpleNamespace(behind=lambda: count or None)
    store: Any = SimpleNamespace(reader=reader, writer=writer)
    monkeypatch.setattr(banner, "DeadLetters", lambda _: counted)
    found = [one.text for one in banner._waiting(store)]
    one = [
        "This store is 1 record behind its cluster.",
        "1 question waits for the judge.",
        "1 text waits for the model, which was down.",
        "1 input could not be read: palimpsest dead-letters list.",
    ]
    many = [
        "This store is 2,000 records behind its cluster.",
        "2,000 questions wait for the judge.",
        "2,000 texts wait for the model, which was down.",
        "2,000 inputs could not be read: palimpsest dead-letters list.",
    ]
    assert found == {0: [], 1: one, 2_000: many}[count]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "1 command was refused in the last 24 hours."),
        (2, "2 commands were refused in the last 24 hours."),
    ],
)
def test_refusals_are_counted_for_operators_with_the_day(
    count: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[datetime] = []

    def refused_since(_: object, since: datetime) -> tuple[int, datetime]:
        asked.append(since)
        return count, datetime(2026, 3, 1, 23, 59, tzinfo=UTC)

    monkeypatch.setattr(banner, "refused_since", refused_since)
    store: Any = SimpleNamespace(reader=SimpleNamespace(projections=None))
    [line] = banner._refused(store)
    assert line == banner.BannerLine(told, "/review/days/2026-03-01#words", for_operators=True)
    assert abs((datetime.now(UTC) - asked[0]).total_seconds() - 24 * 3600) < 60


# -- the effect of a step ------------------------------------------------------------------------


def picture(face: str, *members: str, **also: Any) -> Any:
    """A memory as a step's page shows it; a member with a leading minus is retracted."""
    texts = {member.removeprefix("-"): member[0] != "-" for member in members}
    said = [{"candidate_id": one, "text": one, "living": living} for one, living in texts.items()]
    shown = {"memory_id": face, "face": face, "members": said, "living": True}
    return {**shown, "needs_composition": False, **also}


def stepped(**also: Any) -> str:
    """The text of a step's page, without its layout."""
    foreseen: dict[str, Any] = {
        "id": "d",
        "does": "unmerge",
        "with_consequences": True,
        "before": [picture("a", "a", "b")],
        "after": [picture("a", "a"), picture("b", "-b", living=False, needs_composition=True)],
        "changes": True,
    }
    html = render(
        "take_back.html",
        owner_id="ada",
        memory_id="m",
        shown=Foreseen(**foreseen | also),
        shown_members=2,
        paths=paths,
        me=person(),
        csrf="secret",
        says_who=False,
        path="/review",
        banner=(),
    )
    return plain(html[html.index("Back to the memory") :])


LATER = {
    "text": "later <i>",
    "was": {"decision": "llm_reject"},
    "would_be": {"decision": "stored"},
    "asks": [],
}


def test_a_step_is_shown_with_the_memories_before_and_after() -> None:
    said = stepped()
    now, then = said.partition(" Then ")[::2]
    assert "Take a join out" in now
    assert "Nothing automatic joins the two again. Nothing is done yet." in now
    assert "2 members a b" in now
    assert "retracted" not in now
    assert "1 member a" in then
    assert "1 member retracted needs composition b retracted" in then
    for untold in (
        "What depends on it",
        "What is impossible",
        "stays as it is",
        "Nothing would change",
    ):
        assert untold not in said


@each(
    "does",
    "unmerge reinstate undo separate withdraw retract restore remember set_expiry".split(),
)
def test_every_undo_says_what_it_is(does: str) -> None:
    said = stepped(does=does)
    [title] = re.findall(r"\(it is recorded\) (.*) Leave it$", said)
    assert said.startswith(f"Back to the memory {title} ")


def test_a_large_memory_says_how_many_more_members_it_has() -> None:
    said = stepped(before=[picture("a", "a", "b", "c")], after=[])
    assert "3 members a b and 1 more" in said
    assert "Then No memory." in said


def test_what_rests_on_a_step_is_told() -> None:
    said = stepped(consequences=[LATER, LATER | {"asks": ["x"]}], overtaken=["e"])
    assert "later <i> : llm reject would have been stored ." in said
    assert "would have been stored , and the judge would have been asked." in said
    assert "1 later statement of people would not have been possible; they stay." in said
    assert "These are carried out, too: leave them as they are ." in said
    kept = stepped(consequences=[LATER], with_consequences=False, overtaken=["e", "f"])
    assert "These stay as they are: carry them out, too ." in kept
    assert "2 later statements of people" in kept
    alone = stepped(overtaken=["e"])
    assert "What depends on it" in alone
    assert "carried out" not in alone


def test_what_cannot_be_and_what_changes_nothing_is_told() -> None:
    refused = stepped(refused=[{"detail": "a person said so", "reason": "outranked"}])
    assert "What is impossible a person said so outranked" in refused
    same = [picture("a", "a")]
    assert "The memory stays as it is: other joins hold" in stepped(before=same, after=same)
    nothing = stepped(changes=False)
    assert "Nothing would change." in nothing
    assert "Because" not in nothing


def test_a_form_takes_a_reason_as_long_as_the_doors_do() -> None:
    pages = resources.files("palimpsest.web").joinpath("templates").iterdir()
    fields = [
        field
        for page in pages
        for field in re.findall(r'<input [^>]*name="because"[^>]*>', page.read_text())
    ]
    assert len(fields) > 3
    assert all('maxlength="{{ longest_reason }}"' in field for field in fields)
    assert rendering.environment().globals["longest_reason"] == LONGEST_REASON
    assert TypeAdapter(Because).validate_python("x" * LONGEST_REASON)
    with pytest.raises(ValidationError):
        TypeAdapter(Because).validate_python("x" * (LONGEST_REASON + 1))
