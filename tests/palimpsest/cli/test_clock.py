"""When steps are due, and that each is done once; the clock is simulated."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from palimpsest.cli.commands import schedule as command
from palimpsest.cli.commands.schedule import describe_step
from palimpsest.contracts.errors import RefusedError, TransientError
from palimpsest.process.signals import SIGNALS
from palimpsest.settings.schedule import RETRY_SECONDS, Schedule, Scheduler, StepDone
from palimpsest.settings.settings import read_settings
from tests.tables import each

OSLO = Schedule(zone="Europe/Oslo", dedupe="03:00")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (at(1, 12), at(1, 2)),
        (at(1, 2), at(1, 2)),
        (at(1, 1, 59), at(28, 2, month=2)),
        (at(29, 12), at(29, 1)),
        (at(30, 12), at(30, 1)),
    ],
)
def test_the_latest_time_is_of_the_zone_also_when_its_clocks_change(
    now: datetime, due: datetime
) -> None:
    """03:00 in Oslo is 02:00 UTC in winter and, from the 29th on, 01:00 UTC in summer."""
    assert OSLO.latest("dedupe", now) == due


def test_a_time_that_a_clock_change_skips_is_due_an_hour_later_and_one_that_it_repeats_once() -> (
    None
):
    skipped = Schedule(zone="Europe/Oslo", dedupe="02:30")
    assert skipped.latest("dedupe", at(29, 12)) == at(29, 1, 30)
    assert skipped.latest("dedupe", at(25, 12, month=10)) == at(25, 0, 30, month=10)


def test_of_several_times_the_latest_counts_and_the_next_is_waited_for() -> None:
    schedule = Schedule(dedupe="15:30, 03:00", review="16:00")
    assert schedule.latest("dedupe", at(1, 16)) == at(1, 15, 30)
    assert schedule.latest("dedupe", at(1, 15)) == at(1, 3)
    assert schedule.upcoming(at(1, 15, 45)) == at(1, 16)
    assert schedule.upcoming(at(1, 16)) == at(2, 3)
    assert Schedule().latest("dedupe", NOON) is None
    assert Schedule().upcoming(NOON) is None


@each(
    ("said", "wrong"),
    [
        ({"zone": "Europe"}, "there is no time zone 'Europe'"),
        ({"zone": "Oslo"}, "no time zone 'Oslo'"),
        ({"zone": "../etc"}, "no time zone"),
        ({"dedupe": "three"}, "three is not a clock time"),
        ({"dedupe": "25:00"}, "25:00 is not a clock time"),
        ({"dedupe": "03:00+01:00"}, "set it once, as `zone`"),
        ({"dedupe": (time(3, tzinfo=UTC),)}, "set it once, as `zone`"),
        ({"dedupe": (time(3, tzinfo=ZoneInfo("Asia/Tokyo")),)}, "set it once, as `zone`"),
        ({"dedupe": 3}, "should be clock times"),
        ({"janitor": "03:00"}, "Extra inputs"),
    ],
)
def test_what_is_no_schedule_is_reported(said: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        Schedule.model_validate(said)


def test_the_days_about_a_moment_are_those_of_the_zone() -> None:
    """Kiritimati is 14 hours ahead: the next time is on the day after tomorrow there."""
    far = Schedule(zone="Pacific/Kiritimati", dedupe="00:30")
    assert far.latest("dedupe", at(1, 11)) == at(1, 10, 30)
    assert far.upcoming(at(1, 11)) == at(2, 10, 30)


def test_clock_times_are_sorted_and_each_is_one() -> None:
    assert Schedule(dedupe="15:30, 03:00, 15:30,").dedupe == (time(3), time(15, 30))


def test_a_schedule_is_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_SCHEDULE_DEDUPE", "03:00")
    (tmp_path / "palimpsest.toml").write_text(
        '[schedule]\nzone = "Europe/Oslo"\nreview = ["02:00", "04:30"]\n'
    )
    found = read_settings().schedule
    assert [f"{moment:%H:%M}" for moment in found.times("review")] == ["02:00", "04:30"]
    assert found.latest("dedupe", at(1, 12)) == at(1, 2)


# -- carrying out ----------------------------------------------------------------------------------


@dataclass
class Clock:
    """A clock that advances when somebody waits, until a moment."""

    now: datetime
    until: datetime
    waited: list[float] = field(default_factory=list)

    def __call__(self) -> datetime:
        return self.now

    def is_set(self) -> bool:
        return self.now >= self.until

    def wait(self, timeout: float) -> bool:
        self.waited.append(timeout)
        self.now += timedelta(seconds=timeout)
        return self.is_set()


@dataclass
class Steps:
    """Steps that record when they were due, and fail as often as they are told to."""

    failures: int = 0
    error: Callable[[], Exception] = lambda: TransientError("away")
    done: list[tuple[str, datetime]] = field(default_factory=list)

    def review(self, due: datetime) -> Mapping[str, Any]:
        if self.failures:
            self.failures -= 1
            raise self.error()
        self.done.append(("review", due))
        return {"exact": 0}

    def dedupe(self, due: datetime) -> Mapping[str, Any]:
        self.done.append(("dedupe", due))
        return {"joined": []}


def scheduler(schedule: Schedule, clock: Clock, steps: Steps) -> tuple[Scheduler, list[StepDone]]:
    told: list[StepDone] = []
    both = {"review": steps.review, "dedupe": steps.dedupe}
    return Scheduler(schedule, both, clock, told.append), told  # type: ignore[arg-type]


NIGHTLY = Schedule(review="03:00", dedupe="03:00")


def test_each_step_is_done_once_a_night_the_review_first() -> None:
    clock, steps = Clock(at(1, 12), at(3, 12)), Steps()
    scheduler(NIGHTLY, clock, steps)[0].run(clock)
    nights = [at(1, 3), at(2, 3), at(3, 3)]
    assert steps.done == [(step, night) for night in nights for step in ("review", "dedupe")]
    assert max(clock.waited) <= RETRY_SECONDS
    assert min(clock.waited) > 0


def test_of_missed_nights_the_latest_is_caught_up_with() -> None:
    clock, steps = Clock(at(5, 12), at(5, 13)), Steps()
    scheduler(NIGHTLY, clock, steps)[0].run(clock)
    assert steps.done == [("review", at(5, 3)), ("dedupe", at(5, 3))]


@pytest.mark.parametrize(
    "error",
    [
        lambda: TransientError("away"),
        lambda: KeyError("a bug"),
        lambda: RefusedError("embedder_down", "the model is down"),
    ],
)
def test_a_step_that_fails_does_not_keep_the_next_from_running_and_is_tried_again(
    error: Callable[[], Exception],
) -> None:
    clock, steps = Clock(at(1, 12), at(1, 13)), Steps(failures=2, error=error)
    running, told = scheduler(NIGHTLY, clock, steps)
    running.run(clock)
    assert steps.done == [("dedupe", at(1, 3)), ("review", at(1, 3))]
    assert [(one["step"], one["failed"] is None) for one in told] == [
        ("review", False),
        ("dedupe", True),
        ("review", False),
        ("review", True),
    ]


def test_a_step_that_is_refused_waits_for_its_next_time() -> None:
    clock, steps = Clock(at(1, 12), at(2, 12)), Steps(failures=1, error=refused)
    running, told = scheduler(Schedule(review="03:00"), clock, steps)
    running.run(clock)
    assert steps.done == [("review", at(2, 3))]
    assert [one["failed"] is None for one in told] == [False, True]


def refused() -> Exception:
    return RefusedError("no_batch_rules", "there are none")


def test_a_look_says_whether_all_succeeded() -> None:
    clock, steps = Clock(at(1, 12), at(1, 13)), Steps(failures=1)
    running, _ = scheduler(NIGHTLY, clock, steps)
    assert not running.run_due()
    assert running.run_due()
    assert running.run_due(), "nothing is due any more"
    assert len(steps.done) == 2


def test_when_it_is_to_end_it_begins_nothing() -> None:
    clock, steps = Clock(at(1, 12), at(1, 12)), Steps()
    scheduler(NIGHTLY, clock, steps)[0].run(clock)
    assert steps.done == []


# -- what is told ----------------------------------------------------------------------------------


def dedupe_done(**runs: Mapping[str, Any]) -> StepDone:
    """A dedupe of these owners, in which each owner that was not skipped joined two memories."""
    each = [{"owner_id": owner, **run} for owner, run in runs.items()]
    joined = [{"owner_id": owner} for owner, run in runs.items() if "ran" in run for _ in range(2)]
    answer = {"owners": len(each), "runs": each, "joined": joined}
    return StepDone(step="dedupe", due="2026-03-01", answer=answer, failed=None)


NOW: Mapping[str, Any] = {"ran": "an event"}
BEFORE: Mapping[str, Any] = {"ran": "an event", "done_before": True}
SKIPPED: Mapping[str, Any] = {"skipped": {"reason": "too_soon"}}


@pytest.mark.parametrize(
    ("runs", "line"),
    [
        ({"ann": NOW}, "1 owner, 2 joined"),
        ({"ann": NOW, "bob": NOW, "cy": SKIPPED}, "2 owners, 4 joined"),
        ({"ann": BEFORE}, "0 owners, 0 joined; 1 done before"),
        ({"ann": BEFORE, "bob": NOW}, "1 owner, 2 joined; 1 done before"),
    ],
)
def test_what_was_done_before_is_not_reported_as_done_now(
    runs: dict[str, Mapping[str, Any]], line: str
) -> None:
    """As when a timer starts the schedule twice in one night."""
    assert describe_step(dedupe_done(**runs)) == f"dedupe, due at 2026-03-01: {line}"


@pytest.mark.parametrize(
    ("answer", "failed", "line"),
    [
        ({"exact": 2, "confirmed": 3, "reversed": ["d"]}, None, "5 confirmed"),
        (None, "busy", "failed: busy"),
    ],
)
def test_a_review_and_a_failure_are_told_in_a_line(
    answer: dict[str, Any] | None, failed: str | None, line: str
) -> None:
    done = StepDone(step="review", due="2026-03-01", answer=answer, failed=failed)
    assert describe_step(done) == f"review, due at 2026-03-01: {line}"


@pytest.mark.parametrize(("before", "stops"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_hang_up_stops_the_schedule_unless_it_was_started_by_nohup(
    monkeypatch: pytest.MonkeyPatch, before: signal.Handlers, stops: bool
) -> None:
    monkeypatch.setattr(command, "end_in_time", lambda _: None)
    was = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, before)
    try:
        stop = command._stop_event()
        signal.raise_signal(signal.SIGHUP)
        assert stop.is_set() is stops
    finally:
        for number, handler in was.items():
            signal.signal(number, handler)
