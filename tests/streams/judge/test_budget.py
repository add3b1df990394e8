"""What a day may cost, in calls and in money: counted before, corrected after, and kept."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from unittest.mock import AsyncMock, MagicMock

import pytest

from palimpsest.cli.demo.judge import Fault
from palimpsest.contracts.errors import StoreError, UsageError
from palimpsest.streams.judge.messages import pairs_payload, tokens
from palimpsest.streams.judge.models import Usage, model
from palimpsest.streams.judge.pairs import JudgeAnswer
from palimpsest.streams.judge.prompts import prompt
from palimpsest.streams.judge.service import Service, TokenBucket
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.storage import Budget, Key, Spent, VerdictCache, refusal_of
from tests.streams.judge.asking import Asking, pair

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAIRS = [pair(f"Ada has {n} dogs.", f"ada has {n} dogs") for n in range(4)]


class Day:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


def budget(folder: Path, day: Day, calls: int | None = None, usd: float | None = None) -> Budget:
    settings = JudgeSettings(daily_calls=calls, daily_usd=usd)
    return Budget(folder / "judge.sqlite", settings, day)


def test_calls_are_counted_to_the_last_one(tmp_path: Path) -> None:
    spending = budget(tmp_path, Day(), calls=2)
    assert spending.reserve(0.5)
    assert spending.reserve(0.5)
    assert spending.reserve(0.0) is None
    assert spending.spent() == Spent(2, 1.0)
    spending.close()


def test_money_is_reserved_before_it_is_spent(tmp_path: Path) -> None:
    spending = budget(tmp_path, Day(), usd=1.0)
    first = spending.reserve(0.75)
    assert first
    assert spending.reserve(0.75) is None
    spending.settle(first, 0.125)
    assert spending.spent() == Spent(1, 0.125)
    assert spending.reserve(0.75)
    spending.close()


def test_money_is_spent_to_the_last_cent(tmp_path: Path) -> None:
    spending = budget(tmp_path, Day(), usd=1.0)
    assert spending.reserve(0.75)
    assert spending.reserve(0.25)
    assert spending.reserve(0.125) is None
    assert spending.spent() == Spent(2, 1.0)
    spending.close()


def test_a_call_that_nobody_answered_is_given_back(tmp_path: Path) -> None:
    spending = budget(tmp_path, Day(), calls=1)
    reserved = spending.reserve(0.7)
    assert reserved
    spending.give_back(reserved)
    assert spending.spent() == Spent()
    assert spending.reserve(0.7)
    spending.close()


def test_the_next_start_and_another_process_go_on_with_it(tmp_path: Path) -> None:
    one, other = budget(tmp_path, Day(), calls=2), budget(tmp_path, Day(), calls=2)
    assert one.reserve(0)
    assert other.reserve(0)
    assert one.reserve(0) is None
    one.close()
    other.close()
    again = budget(tmp_path, Day(), calls=2)
    assert again.reserve(0) is None
    again.close()


def test_a_day_is_one_in_utc(tmp_path: Path) -> None:
    day = Day()
    spending = budget(tmp_path, day, calls=1)
    assert spending.reserve(0)
    day.now = NOON.astimezone(timezone(timedelta(hours=14)))
    assert spending.reserve(0) is None
    day.now = datetime(2026, 3, 2, tzinfo=UTC)
    assert spending.spent() == Spent()
    assert spending.reserve(0)
    spending.close()


def test_what_is_settled_on_the_next_day_counts_for_its_own(tmp_path: Path) -> None:
    day = Day()
    spending = budget(tmp_path, day)
    reserved = spending.reserve(1.0)
    assert reserved
    day.now = NOON + timedelta(days=1)
    spending.settle(reserved, 0.25)
    assert spending.spent() == Spent()
    day.now = NOON
    assert spending.spent() == Spent(1, 0.25)
    spending.close()


def test_without_limits_all_is_counted_and_nothing_refused(tmp_path: Path) -> None:
    spending = budget(tmp_path, Day())
    assert all(spending.reserve(10.0) for _ in range(5))
    assert spending.spent() == Spent(5, 50.0)
    spending.close()


# -- in front of the service ---------------------------------------------------------------------


def test_a_refusal_has_its_beginning_and_its_latest_reason(tmp_path: Path) -> None:
    day = Day()
    spending = budget(tmp_path, day)
    spending.note_refusal("the key")
    day.now += timedelta(hours=1)
    spending.note_refusal("the model")
    assert refusal_of(tmp_path) == {"at": NOON.isoformat(), "why": "the model"}
    spending.note_acceptance()
    assert refusal_of(tmp_path) is None
    spending.note_refusal("the key")
    spending.close()
    assert [file.name for file in tmp_path.iterdir()] == ["judge.sqlite"]
    assert refusal_of(tmp_path) == {"at": day.now.isoformat(), "why": "the key"}
    assert [file.name for file in tmp_path.iterdir()] == ["judge.sqlite"], "reading leaves no file"


def test_when_the_calls_are_spent_nobody_is_asked(asking: Asking) -> None:
    asking.ruled(most=1).set(daily_calls=2, concurrency=1)
    assert asking.answers(*PAIRS) == ["same", "same", "unavailable", "unavailable"]
    assert asking.server.calls == 2
    verdict = asking.compare(PAIRS[3])[0]
    assert (verdict.answer, verdict.calls) == ("unavailable", 0)
    assert "budget" in (verdict.reasoning or "")


def test_what_is_remembered_needs_no_budget(asking: Asking) -> None:
    asking.set(daily_calls=1)
    assert asking.answers(PAIRS[0]) == ["same"]
    assert asking.answers(PAIRS[0]) == ["same"]


def test_on_the_next_day_it_goes_on(asking: Asking) -> None:
    asking.set(daily_calls=1)
    assert asking.answers(PAIRS[0]) == ["same"]
    assert asking.answers(PAIRS[1]) == ["unavailable"]
    asking.now += timedelta(days=1)
    assert asking.answers(PAIRS[1]) == ["same"]


def test_an_outage_costs_no_budget(asking: Asking) -> None:
    asking.set(daily_calls=1, retries=0)
    asking.server.fail(Fault(500), Fault(500))
    assert [asking.answers(PAIRS[0])[0] for _ in range(3)] == ["unavailable", "unavailable", "same"]


def test_a_budget_in_money_is_kept(asking: Asking) -> None:
    (alone,) = asking.ruled(model="claude-opus-5-5", most=1).compare(PAIRS[0])
    assert alone.cost_usd
    asking.set(daily_usd=2.5 * alone.cost_usd + 0.02, concurrency=1)
    said = asking.answers(*PAIRS[1:], *(pair(f"a{n} b", f"A{n} b") for n in range(40)))
    assert said[0] == "same"
    assert said[-1] == "unavailable"
    assert sum(one == "same" for one in said) + 1 == asking.server.calls


def test_what_the_answer_may_cost_is_counted_before_it_is_asked_for(asking: Asking) -> None:
    name, asked = "claude-opus-5-5", prompt("compare-same")
    sent = tokens(asked.text) + tokens(pairs_payload([PAIRS[0]]))
    read = model(name).cost(Usage(input_tokens=sent))
    assert read
    asking.ruled(model=name).set(daily_usd=1.01 * read)
    assert asking.answers(PAIRS[0]) == ["unavailable"]
    assert asking.server.calls == 0


def test_a_budget_in_money_needs_a_price(asking: Asking) -> None:
    with pytest.raises(UsageError, match="price of home-made is not known"):
        asking.ruled(model="home-made").set(daily_usd=1.0).compare(PAIRS[0])
    assert asking.server.calls == 0


# -- the file ------------------------------------------------------------------------------------


def test_a_damaged_file_is_reported_and_may_be_deleted(tmp_path: Path) -> None:
    file = tmp_path / "judge.sqlite"
    file.write_bytes(b"no database at all, but long enough to be taken for one" * 50)
    with pytest.raises(StoreError, match="delete it"):
        VerdictCache(file)


def test_answers_are_distinguished_by_their_whole_key(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "judge.sqlite")
    key = Key("aa", "bb", "p", "m")
    cache.put({key: JudgeAnswer("same", "r")})
    assert cache.get(key) == JudgeAnswer("same", "r")
    others = [Key("bb", "aa", "p", "m"), Key("aa", "bb", "q", "m"), Key("aa", "bb", "p", "n")]
    assert [cache.get(other) for other in others] == [None, None, None]
    cache.close()


# -- the token bucket ----------------------------------------------------------------------------


def test_a_second_of_calls_begins_at_once_and_then_they_keep_the_rate() -> None:
    bucket = TokenBucket(4.0)
    assert [bucket.wait(0.0) for _ in range(4)] == [0.0] * 4
    assert [bucket.wait(0.0) for _ in range(3)] == [0.25, 0.5, 0.75]
    assert bucket.wait(1.0) == 0.0


def test_a_bucket_holds_no_more_than_a_second() -> None:
    bucket = TokenBucket(2.0)
    bucket.wait(0.0)
    assert [bucket.wait(1000.0) for _ in range(3)] == [0.0, 0.0, 0.5]


def test_a_slow_rate_lets_one_begin() -> None:
    bucket = TokenBucket(0.5)
    assert [bucket.wait(0.0), bucket.wait(0.0)] == [0.0, 2.0]


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = TokenBucket(1.0)
    bucket.wait(10.0)
    assert bucket.wait(5.0) == 1.0


def test_a_call_that_could_not_be_made_is_not_counted(tmp_path: Path) -> None:
    """Without a key nothing is sent, however often the command is started."""

    async def run() -> None:
        spending = budget(tmp_path, Day(), calls=5)
        exchange = MagicMock(address="https://api.example.org")
        exchange.send = AsyncMock(side_effect=UsageError("no key"))
        service = Service(JudgeSettings(), spending, exchange)
        with pytest.raises(UsageError):
            await service.ask(prompt("compose"), "claude-haiku-5-5", "{}")
        assert spending.spent() == Spent(0, 0.0)
        spending.close()

    asyncio.run(run())
