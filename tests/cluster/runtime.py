"""The cluster runtime as the conformance suite sees it: one worker, one projector, a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palimpsest import Palimpsest
from palimpsest.backends.paths import LOG_FILE, PROJECTIONS_FOLDER
from palimpsest.contracts.errors import InvalidInputError, RefusedError
from palimpsest.contracts.events import Decided, Invalid, Refused
from palimpsest.contracts.identity import decision_id_of, digest, forgotten_id, invalid_id
from palimpsest.contracts.requests import AnyRequest
from palimpsest.contracts.wire import decode
from palimpsest.projections.duckdb.queries import query
from palimpsest.streams.cluster.client.client import as_record
from palimpsest.streams.cluster.client.import_log import import_lines
from palimpsest.streams.cluster.questions import TopicQuestions
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.worker import Tally
from palimpsest.streams.log.dead_letters import DeadLetters
from palimpsest.streams.log.log import Log
from palimpsest.streams.write.inputs import Input
from palimpsest.streams.write.owners import fold_owner
from tests.cluster.cluster import Clients, Cluster, eventually, has_followed, is_shown, stderr_of
from tests.conformance.runtime import verified
from tests.reliability.processes import Forge
from tests.streams.write.runtime import inputs

FEW_PARTITIONS = 2
"""Enough to be more than one: each costs a producer at each start of a worker."""
MEMORIES = "SELECT memory_id, face, members FROM memories WHERE owner_id = ? ORDER BY memory_id"


class ClusterRuntime:
    """One worker and one projector; what is asked is asked of the store that follows.

    `history` is a log from elsewhere, that is imported first.
    """

    def __init__(
        self, folder: Path, bootstrap: str, forge: Forge, history: Sequence[bytes] = ()
    ) -> None:
        self.cluster = cluster = Cluster(folder, bootstrap, forge, FEW_PARTITIONS)
        if history:
            told = import_lines(cluster.connection, cluster.topics, lambda: history, lambda _: None)
            cluster.run(told)
        self._worker = self.cluster.worker()
        self._projector = self.cluster.projector()
        self._clients = Clients(cluster)
        self._store = folder / "store"
        self._is_settled = False

    def submit(self, rows: Sequence[bytes]) -> list[Mapping[str, Any]]:
        """Publish rows, and find in the log what became of them."""
        offered = inputs(rows)
        before = self._known()
        self._is_settled = False
        self._clients.publish(offered)
        self._settle()
        with self._log() as log:
            outcomes = []
            for one in offered:
                outcomes.append(self._outcome(log, one, before))
                before.add(str(outcomes[-1].get("decision_id")))
            return outcomes

    def _known(self) -> set[str]:
        return {decode(line).id for line in self.log()}

    def _outcome(self, log: Log, one: Input, before: set[str]) -> Mapping[str, Any]:
        rejected = log.find(invalid_id(digest(as_record(one)[1])))
        if rejected is not None:
            assert isinstance(rejected.event, Invalid)
            return {
                "result": "invalid",
                "decision": "invalid",
                "decision_id": rejected.event.id,
                "reason": rejected.event.data.reason,
            }
        if isinstance(one.meaning, InvalidInputError):
            raise AssertionError("an unreadable row left no trace")
        candidate_id = getattr(one.meaning, "candidate_id", None)
        if candidate_id is None:
            return {"result": "heard"}
        refused = log.find(forgotten_id(candidate_id))
        if refused is not None:
            assert isinstance(refused.event, Refused)
            return {
                "result": "decided",
                "decision": refused.event.data.reason,
                "decision_id": refused.event.id,
                "reason": refused.event.data.reason,
            }
        found = log.find(decision_id_of(candidate_id))
        assert found is not None, "a candidate left no trace"
        assert isinstance(found.event, Decided)
        entry = fold_owner(log, found.event.owner_id, upto=found.position).entries[candidate_id]
        return {
            "result": "known" if found.event.id in before else "decided",
            "candidate_id": candidate_id,
            "decision": found.event.data.decision,
            "decision_id": found.event.id,
            "joined_to": found.event.data.join.to if found.event.data.join else None,
            "memory_id": entry.memory.id,
        }

    def ask(self, request: AnyRequest) -> Mapping[str, Any]:
        self._is_settled = False
        answer = self._clients.ask(request)
        self._settle()
        if "refused" in answer:
            raise RefusedError(answer["refused"]["reason"], answer["refused"]["detail"])
        return dict(answer["done"])

    def verify(self, judge: PairJudge) -> Tally:
        self._settle()

        async def run() -> Tally:
            cluster = self.cluster
            async with TopicQuestions(cluster.connection, cluster.topics) as questions:
                return await verified(questions, judge)

        self._is_settled = False
        tally = self.cluster.run(run())
        self._settle()
        return tally

    def dry_run(self, request: AnyRequest) -> Mapping[str, Any]:
        return self.ask(request.model_copy(update={"dry_run": True}))

    def log(self) -> list[bytes]:
        """Each owner's in its order; what is nobody's first, the policy before all.

        Between partitions there is no order, so what is nobody's is ordered by id.
        """
        self._settle()
        with self._log() as log:
            lines = [(decode(line), line) for _, line in log.lines()]
        order = {"palimpsest.policy_set.v1": 0, "palimpsest.invalid.v1": 1}
        lines.sort(
            key=lambda one: (
                one[0].owner_id,
                order.get(one[0].type, 2),
                "" if one[0].owner_id else one[0].id,
            )
        )
        return [line for _, line in lines]

    def memories(self, owner_id: str) -> list[Mapping[str, Any]]:
        return [*query(self.read_side() / PROJECTIONS_FOLDER, MEMORIES, [owner_id])]

    def read_side(self) -> Path:
        self._settle()
        eventually(lambda: is_shown(self._store), "the projections follow")
        return self._store

    def client(self) -> Palimpsest:
        store = self.read_side()
        self._is_settled = False  # it may publish
        return Palimpsest.open(store, create=False, cluster=self.cluster.connection)

    def dead_letters(self) -> list[bytes]:
        self._settle()
        with self._log() as log:
            letters = DeadLetters(log)
            return [letters.original(letter.id) or b"" for letter in letters.all()]

    def restart(self) -> None:
        self._settle()
        self._worker.kill(15)
        assert self._worker.wait() == 0, self._worker.printed(0, 2)
        self._worker = self.cluster.worker()

    def stderr(self) -> str:
        """What the worker has told so far."""
        return stderr_of(self._worker)

    def stopped(self) -> int:
        """Wait until the worker ends by itself; its exit status."""
        return self._worker.wait()

    def close(self) -> None:
        self._clients.close()
        self.cluster.close()

    def _log(self) -> Log:
        return Log.open(self._store / LOG_FILE)

    def _settle(self) -> None:
        """Wait until everything published is decided, and the store has followed.

        Only this runtime publishes to its cluster, so that holds until it publishes again.
        """
        if self._is_settled:
            return
        ends = self._clients.ends()
        eventually(lambda: has_followed(self._store, ends), "the store has followed")
        self._is_settled = True
