"""The schedule: steps that are due at clock times of a zone, each done once (docs/commands.md).

A run is identified by its owner, its step and the time it was due, and the owner's writer records
it once. So the result is the same if two schedulers run, or if one was down or restarts. If several
times were missed, only the latest counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any, Literal, Protocol, TypedDict
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from palimpsest.contracts.answers import WITHOUT_MODEL
from palimpsest.contracts.errors import PalimpsestError, RefusedError

_log = logging.getLogger(__name__)

RETRY_SECONDS = 60.0
"""Pause before a failed step is retried; also the longest interval between checks."""
ScheduledStep = Literal["review", "dedupe"]
STEPS: tuple[ScheduledStep, ...] = ("review", "dedupe")
"""The steps that have clock times, in the order in which they run."""


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {name!r}; use a name like Europe/Oslo") from None
    return name


def _clock_times(given: object) -> object:
    """Parse `03:00`, or `03:00, 15:30`, or a list of such times."""
    if isinstance(given, str):
        given = [part.strip() for part in given.split(",") if part.strip()]
    if not isinstance(given, list | tuple):
        raise ValueError("should be clock times such as 03:00, or 03:00, 15:30")
    return tuple(sorted({_clock_time(written) for written in given}))


def _clock_time(given: object) -> time:
    try:
        found = given if isinstance(given, time) else time.fromisoformat(str(given))
    except ValueError:
        raise ValueError(f"{given} is not a clock time such as 03:00") from None
    if found.tzinfo is not None:
        raise ValueError(f"{given} names a zone: set it once, as `zone`")
    return found


ClockTimes = Annotated[tuple[time, ...] | str, BeforeValidator(_clock_times)]
"""Clock times of a day, sorted; also accepts a text with commas."""


class Schedule(BaseModel):
    """The settings `[schedule]`: the clock times, in `zone`, at which each step is due."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    dedupe: ClockTimes = ()
    review: ClockTimes = ()

    def times(self, step: ScheduledStep) -> Sequence[time]:
        """The clock times of a step."""
        found: Sequence[time] = getattr(self, step)
        return found

    def latest(self, step: ScheduledStep, now: datetime) -> datetime | None:
        """When a step was last due, in UTC; None for a step without a time."""
        return max((moment for moment in self._around(step, now) if moment <= now), default=None)

    def upcoming(self, now: datetime) -> datetime | None:
        """When any step is due next, in UTC."""
        coming = (moment for step in STEPS for moment in self._around(step, now) if moment > now)
        return min(coming, default=None)

    def _around(self, step: ScheduledStep, now: datetime) -> Iterator[datetime]:
        """A step's times on the days around `now`; a time that a clock change skips is delayed."""
        zone = ZoneInfo(self.zone)
        today = now.astimezone(zone).date()
        for days in (-1, 0, 1):
            for clock in self.times(step):
                day = today + timedelta(days=days)
                yield datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)


class StepDone(TypedDict):
    """The outcome of a step that was due: its answer, or why it failed."""

    step: ScheduledStep
    due: str
    answer: Mapping[str, Any] | None
    failed: str | None


class Stop(Protocol):
    """Tells the schedule to stop: a `threading.Event`, or a test's clock."""

    def is_set(self) -> bool:
        """Whether the schedule must stop."""

    def wait(self, timeout: float) -> bool:
        """Wait for at most `timeout` seconds, or until the schedule must stop."""


@dataclass(slots=True)
class Scheduler:
    """Runs due steps. `steps` maps each step to a function that runs it for every owner.

    `done` has the latest due time of each step that succeeded or was refused here.
    """

    schedule: Schedule
    steps: Mapping[ScheduledStep, Callable[[datetime], Mapping[str, Any]]]
    clock: Callable[[], datetime]
    report: Callable[[StepDone], None]
    done: dict[ScheduledStep, datetime] = field(default_factory=dict)

    def run(self, stop: Stop) -> None:
        """Run each step when it is due, until `stop`; run a missed step at once."""
        while not stop.is_set():
            self.run_due()
            stop.wait(self._pause())

    def run_due(self) -> bool:
        """Run the steps that are due and not done; returns whether all succeeded.

        A failed step does not prevent the next; it is retried at the next check. A refused step
        runs again when it is next due; if the model was down, it is retried, too.
        """
        succeeded = True
        for step, carry_out in self.steps.items():
            due = self.schedule.latest(step, self.clock())
            if due is None or self.done.get(step) == due:
                continue
            done = self._carry_out(step, due, carry_out)
            succeeded = succeeded and done["failed"] is None
            self.report(done)
        return succeeded

    def _carry_out(
        self, step: ScheduledStep, due: datetime, carry_out: Callable[[datetime], Mapping[str, Any]]
    ) -> StepDone:
        due_text = due.isoformat()
        try:
            answer = carry_out(due)
        except RefusedError as error:
            if error.reason not in WITHOUT_MODEL:
                self.done[step] = due
            _log.warning("%s, due at %s, was refused: %s", step, due_text, error)
            return {"step": step, "due": due_text, "answer": None, "failed": str(error)}
        except PalimpsestError as error:
            _log.warning("%s, due at %s, failed and will be retried: %s", step, due_text, error)
            return {"step": step, "due": due_text, "answer": None, "failed": str(error)}
        except Exception as error:  # noqa: BLE001 - a bug in one step must not stop the others
            _log.exception("%s, due at %s, met a bug and will be retried", step, due_text)
            return {"step": step, "due": due_text, "answer": None, "failed": type(error).__name__}
        self.done[step] = due
        return {"step": step, "due": due_text, "answer": answer, "failed": None}

    def _pause(self) -> float:
        now = self.clock()
        coming = self.schedule.upcoming(now)
        if coming is None:
            return RETRY_SECONDS
        return min(RETRY_SECONDS, max(0.0, (coming - now).total_seconds()))
