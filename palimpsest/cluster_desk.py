"""The door to a store that follows a cluster: reads come from it, writes go to the topics."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from contracts.errors import InvalidInputError, RefusedError, UsageError
from contracts.identity import event_id
from contracts.policy import Policy
from contracts.requests import AnyRequest
from palimpsest.desk import FrontDesk, answer_or_refusal, told
from palimpsest.interrupts import between_windows
from streams.cluster.connection import Connection
from streams.embedded.desk import Answer
from streams.embedded.inputs import Input, Outcome
from streams.embedded.log import Log
from streams.embedded.pipeline import WINDOW
from streams.embedder import Embedder
from streams.intake import RawRow, understand
from streams.intake.parsing import NO_RENAMES

if TYPE_CHECKING:
    from palimpsest.line import Line

_log = logging.getLogger(__name__)

FOLLOWING_SECONDS = 10.0
"""How long is waited until the store shows what the cluster has done."""
POLL_SECONDS = 0.05
IN_BULK = ("reversed", "retracted", "restored")


class ClusterDesk(FrontDesk):
    """As `FrontDesk`, with a cluster that decides.

    The line to it is made by the first write: who only reads needs no broker.
    """

    def __init__(
        self,
        folder: Path,
        log: Log,
        policy: Policy,
        load: Callable[[], Embedder],
        cluster: Connection,
    ) -> None:
        super().__init__(folder, log, policy, load)
        self._cluster = cluster
        self._connected: Line | None = None

    def close(self) -> None:
        """Hang up, and let the files go."""
        if self._connected is not None:
            self._connected.close()
        super().close()

    def _line(self) -> Line:
        if self._connected is None:
            if self.log.head() and not self.follows():
                raise UsageError(
                    f"the store {self.folder} has decisions of its own, and a cluster is named"
                    " beside it: name a store that follows the cluster, or no cluster"
                )
            if find_spec("aiokafka") is None:
                raise UsageError("a cluster needs more packages: pip install 'palimpsest[cluster]'")
            from palimpsest.line import Line

            self._connected = Line(self._cluster)
        return self._connected

    # -- what producers say ------------------------------------------------------------------------

    def submit(
        self,
        inputs: Sequence[Input],
        renames: Mapping[str, str] = NO_RENAMES,  # noqa: ARG002 - what is published is renamed
    ) -> list[Outcome]:
        """Publish inputs; what becomes of them, the followed store will show."""
        self._line().publish(inputs)
        return [Outcome("published") for _ in inputs]

    def stream(
        self,
        inputs: Iterator[Input],
        renames: dict[str, str],  # noqa: ARG002 - what is published is renamed already
    ) -> Generator[Sequence[Outcome], None, None]:
        """Publish many inputs, window by window."""
        with between_windows() as check:
            while window := list(islice(inputs, WINDOW)):
                yield self.submit(window)
                check()

    def retry(self, raw: bytes, origin: str, renames: Mapping[str, str]) -> Outcome:  # noqa: ARG002 - the origin is a place in a topic, no source
        """Publish a dead letter anew if it can be read now, as if it came in the topic."""
        line = self._line()
        from streams.cluster.partition import SOURCE

        row = RawRow(raw, SOURCE, 1)
        meaning = understand(row, renames)
        if isinstance(meaning, InvalidInputError):
            return Outcome("invalid", reason=meaning.reason, detail=meaning.detail)
        line.publish([Input(row, meaning)])
        return Outcome("published")

    # -- what people say ---------------------------------------------------------------------------

    def ask(self, request: AnyRequest) -> Answer:
        """Have a request carried out by the workers, and wait until the store shows what it did."""
        answer = told(self._line().ask(request))
        self._await(_events_of(request, answer))
        return answer

    def ask_each(self, requests: Sequence[AnyRequest]) -> list[Answer | RefusedError]:
        """Have requests carried out, one after the other; wait until the store shows them all."""
        line = self._line()
        answers = [answer_or_refusal(lambda one: told(line.ask(one)), one) for one in requests]
        done = zip(requests, answers, strict=True)
        pairs = [(one, answer) for one, answer in done if not isinstance(answer, RefusedError)]
        self._await([event for one, answer in pairs for event in _events_of(one, answer)])
        return answers

    def _await(self, events: Sequence[str]) -> None:
        last = time.monotonic() + FOLLOWING_SECONDS
        while not self._shows(events):
            if time.monotonic() > last:
                _log.warning(
                    "the cluster has done it, but the store %s does not show it after %.0f s:"
                    " is `palimpsest project` running on it?",
                    self.folder,
                    FOLLOWING_SECONDS,
                )
                return
            time.sleep(POLL_SECONDS)

    def _shows(self, events: Sequence[str]) -> bool:
        positions = []
        for one in events:
            found = self.log.find(one)
            if found is None:
                return False
            positions.append(found.position)
        return not positions or max(positions) <= min(self.positions().values())


def _events_of(request: AnyRequest, answer: Answer) -> list[str]:
    """The ids of the events that an answer tells of, as far as they follow from it."""
    targets = [target for name in IN_BULK for target in answer.get(name, ())]
    events = [event_id(event_id(request.request_id, target), "0") for target in targets]
    events += answer.get("carried_out", ())
    if request.request in ("merge", "combine") and answer.get("decision_id"):
        events.append(answer["decision_id"])
    return events
