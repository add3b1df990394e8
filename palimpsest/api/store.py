"""A store of memories, from Python: everything that the command line can do (docs/python.md)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal, Self

from palimpsest.api.agent import Agent
from palimpsest.api.arguments import Place
from palimpsest.api.calls import check_calls, require_no_inheritance
from palimpsest.api.maintenance import Maintenance
from palimpsest.api.opened import late_settings
from palimpsest.api.reads import Reads
from palimpsest.api.runs import Runs
from palimpsest.api.submissions import Submissions
from palimpsest.backends.cluster import ClusterWriter, log_that_follows
from palimpsest.backends.embedded import EmbeddedWriter
from palimpsest.backends.paths import LOG_FILE
from palimpsest.backends.reader import Reader, Wait
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import StoreError
from palimpsest.contracts.events import Speaker
from palimpsest.contracts.policy import Policy, recorded_policy
from palimpsest.jobs import log_files as exchange
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.embedder import (
    EmbedderSettings,
    EmbedderSource,
    EmbedFunction,
    Engine,
    Progress,
    load_engine,
)
from palimpsest.streams.home_path import expand_home
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import default_policy, load_policy

_log = logging.getLogger(__name__)


EngineName = Literal["onnx", "sentence-transformers", "none"]


@check_calls
class Palimpsest(Submissions, Runs, Reads, Maintenance):
    """An open store. Several threads may use it; their calls take turns.

    Any number of processes may have the same store open; one of them writes at a time. While
    another one does, candidates and requests go through the inbox and the call waits for the
    answer. A forked child cannot use what its parent opened: open stores after the fork.

    Ids are those that the calls and `sql` return; a URN works wherever an id does. With `owner_id`,
    an id of another owner is refused as unknown; name the owner if the id comes from a user or a
    model, or use the handle of one owner, `agent`. Calls that ask the judge (`dedupe`, `review`,
    `ask_judge`, `add`) run an event loop of their own; inside another one, call them with
    `asyncio.to_thread`.
    """

    @classmethod
    def open(
        cls,
        path: Place | None = None,
        *,
        create: bool = True,
        policy: str | Policy | None = None,
        engine: EngineName | None = None,
        model: str | None = None,
        embedder: EmbedderSettings | EmbedFunction | None = None,
        progress: Progress | None = None,
        cluster: Connection | None = None,
        wait: Wait = "durable",
        accept_loss: bool = False,
        by: Speaker | None = None,
    ) -> Self:
        """Open the store in the folder `path`, created first unless `create` is False.

        Without a `path`, the store is that of PALIMPSEST_STORE or palimpsest.toml; `policy`,
        `engine`, `model`, `embedder` and `cluster` also default to the settings there, as for the
        command line.

        `policy` is a preset's name, a file, or a policy. Its default is `standard`, or the preset
        for `model` if it has one. The first candidate of a new store puts it in force; after that,
        only `set_policy` changes it, and a warning is logged if another one is named here. The
        model is loaded when the first text needs it. An `embedder` replaces the local model: it is
        the settings of a service, or a function from a list of texts to their vectors, recorded
        under the name `model`. Vectors are recorded, so no exact repeat is embedded. A warning is
        logged if the store compares by another model.
        With a `cluster`, which this store follows, all writes go to its topics. Only `project`
        then creates a store, and without one nothing can be read.

        A call that writes returns when its effect is `durable`: this store's own calls see it at
        once, and other readers a moment later (`wait_for`). With `wait="visible"` it returns when
        other readers see it, too; `close` and the end of the process always wait for that.

        `by` is the speaker in `update`, `forget`, `undo`, `redo`, `unmerge` and `reinstate`, unless
        a call names another: an agent or a person. An agent cannot overrule a person. If none is
        named, it is an agent, except that what a person stated last about a pair is taken back as a
        person.

        Raises StoreError if there is no readable store, or if its log lacks events that were
        acknowledged, unless `accept_loss`; UsageError for a wrong policy or setting, and in a
        process that was forked after a store was opened.
        """
        require_no_inheritance()
        if path is None:
            settings = late_settings()
            path, cluster = settings.store, cluster or settings.kafka
            engine, model = engine or settings.engine, model or settings.model
            embedder = embedder or settings.embedder
            policy = policy or settings.opening().get("policy")
        folder = _whole_path(path)

        def load(name: str) -> Engine:
            return load_engine(name, engine or "onnx", progress=progress)

        source = EmbedderSource(load, model, embedder)
        wanted = load_policy(policy or default_policy(source.model))
        if cluster is not None:
            log = log_that_follows(folder, needed=not create)
        else:
            if create:
                exchange.make_folder(folder)
            log = (Log.create if create else Log.open)(folder / LOG_FILE, shared=True)
        try:
            if cluster is None:
                log.require_acknowledged(accept_loss=accept_loss)
            if policy is not None:
                _warn_of_another(folder, log, wanted)
            _warn_of_another_model(log, source)
            if cluster is not None:
                reader = Reader(folder, log, wanted, source, of_cluster=True)
                return cls(folder, ClusterWriter(reader, cluster), by)
            return cls(folder, EmbeddedWriter(Reader(folder, log, wanted, source, wait)), by)
        except BaseException:
            log.close()
            raise

    def agent(self, owner_id: Name, *, actor: Name | None = None) -> Agent:
        """A handle for an agent on the memories of one owner, such as a model's user.

        It knows no ids of other owners, and cannot overrule a person. `actor` is recorded with its
        requests.
        """
        self.turn.require()
        return Agent(self, owner_id, actor)


def _whole_path(path: Place) -> Path:
    """The path from the root, which stays valid if the process changes its directory."""
    try:
        return expand_home(path).absolute()
    except FileNotFoundError as error:
        raise StoreError(
            "the current folder was removed: change to another, or name the whole path of the store"
        ) from error


def _warn_of_another_model(log: Log, source: EmbedderSource) -> None:
    """Warn, with the remedy, if the configured model is missing or not the one in force."""
    recorded = log.last_policy()
    in_force = None if recorded is None else str(recorded.data.policy["model"])
    if (why := source.why_not(in_force)) is not None:
        _log.warning("%s", why)


def _warn_of_another(folder: Path, log: Log, wanted: Policy) -> None:
    """Warn if a store is opened with another policy than its own, which stays in force."""
    recorded = log.last_policy()
    if recorded is not None and recorded.data.hash != wanted.hash:
        _log.warning(
            "the store %s keeps its policy %s (%s); the policy %s (%s), which was named now,"
            " applies only to a new store: to put it in force here, use `palimpsest policy set`%s",
            folder,
            recorded.data.policy["name"],
            recorded.data.hash,
            wanted.name,
            wanted.hash,
            _other_languages(recorded_policy(recorded.data), wanted),
        )


def _other_languages(recorded: Policy, wanted: Policy) -> str:
    """The user's languages that differ, as the end of a sentence; empty if none does."""
    ours, theirs = ({one.code: one for one in policy.languages} for policy in (recorded, wanted))
    differ = sorted(code for code in ours | theirs if ours.get(code) != theirs.get(code))
    named = ", ".join(differ)
    return f" (for the languages {named}, the store uses what it recorded)" if differ else ""
