"""Access control at the brokers: what is documented is enough, and what is missing is named."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from palimpsest.contracts.errors import TransientError
from palimpsest.streams.cluster.connection import Connection
from palimpsest.streams.cluster.setup import admin, create
from tests.cluster.cluster import eventually
from tests.cluster.secured import GUEST, PASSWORD, Listeners
from tests.cluster.shell import Shell, rows
from tests.reliability.processes import Child, Forge

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
ROW = re.compile(r"^\| `(?P<process>[a-z ]+)` \| (?P<grants>.+) \|$", re.MULTILINE)
GRANT = re.compile(
    r"(?P<operations>[A-Z]\w+(?:, [A-Z]\w+)*) on (?P<kind>topic|group|id) `(?P<name>[^`]+)`"
)


def documented(process: str) -> Iterator[tuple[str, str, str]]:
    """The operations, kinds of resources and their names that the page lists for a process."""
    section = PAGE.read_text().partition("## Permissions")[2].partition("\n## ")[0]
    [grants] = [row["grants"] for row in ROW.finditer(section) if row["process"] == process]
    for grant in GRANT.finditer(grants):
        for operation in grant["operations"].split(", "):
            yield operation, grant["kind"], grant["name"]


class Guest:
    """Somebody who may do what is granted, in an installation of this test's own."""

    def __init__(self, folder: Path, secured: Listeners, prefix: str, forge: Forge) -> None:
        self._bootstrap = secured.bootstrap
        self._prefix = prefix
        asyncio.run(create(Connection(bootstrap=secured.bootstrap, prefix=prefix), 1))
        eventually(self._has_groups, "the broker has its topic of groups")
        self.settings = {
            "bootstrap": secured.sasl_ssl,
            "prefix": prefix,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_username": GUEST,
            "sasl_password": PASSWORD,
            "ssl_cafile": f"{secured.folder}/server.crt",
        }
        self._shell = Shell(folder, Connection.model_validate(self.settings), forge)

    def _has_groups(self) -> bool:
        async def find() -> int:
            async with admin(Connection(bootstrap=self._bootstrap)) as client:
                found: int = await client.find_coordinator("any")
                return found

        try:
            return asyncio.run(find()) >= 0
        except TransientError:
            return False

    def grant(self, process: str, *, but: str = "nothing", instead: str | None = None) -> None:
        """Grant what the page lists for a process, but what names this; or another operation."""
        from confluent_kafka.admin import (  # type: ignore[attr-defined]
            AclBinding,
            AclOperation,
            AclPermissionType,
            AdminClient,
            ResourcePatternType,
            ResourceType,
        )

        kinds = {
            "topic": ResourceType.TOPIC,
            "group": ResourceType.GROUP,
            "id": ResourceType.TRANSACTIONAL_ID,
        }
        bindings = [
            AclBinding(
                kinds[kind],
                f"{self._prefix}{name.removesuffix('*')}",
                ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL,
                f"User:{GUEST}",
                "*",
                AclOperation[(instead or operation).upper()],
                AclPermissionType.ALLOW,
            )
            for operation, kind, name in documented(process)
            if but not in f"{operation} on {kind} {name}"
        ]
        client = AdminClient({"bootstrap.servers": self._bootstrap})
        for done in client.create_acls([*dict.fromkeys(bindings)]).values():
            done.result(30)

    def starts(self, *words: str, **more: str) -> Child:
        """A process of the guest."""
        told = {f"PALIMPSEST_KAFKA_{k.upper()}": v for k, v in self.settings.items()}
        return self._shell.start(*words, **told, **more)

    def until(self, candidates: int) -> Mapping[str, object]:
        found: Mapping[str, object] = self._shell.until(candidates)
        return found

    def close(self) -> None:
        self._shell.close()


@pytest.fixture
def guest(secured: Listeners, tmp_path: Path, prefix: str, forge: Forge) -> Iterator[Guest]:
    somebody = Guest(tmp_path, secured, prefix, forge)
    yield somebody
    somebody.close()


def test_the_documented_permissions_are_enough(guest: Guest, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(rows("Ada sings.", "Ada sings."))
    for process in ("worker", "project", "ingest"):
        guest.grant(process)
    worker, project = guest.starts("worker"), guest.starts("project")
    ingest = guest.starts("ingest", str(tmp_path / "rows.jsonl"))
    assert ingest.wait() == 0, ingest.printed(0, 2)
    guest.until(2)
    for child in (worker, project):
        child.kill(signal.SIGTERM)
        assert child.wait() == 0, child.printed(0, 2)
        assert "AuthorizationFailed" not in child.printed(0, 2)


@pytest.mark.parametrize(
    ("process", "but", "named"),
    [
        ("worker", "group", "Read on the group {}palimpsest-worker"),
        ("worker", "on id", "Write on the transactional id {}palimpsest-writer-0"),
        (
            "worker",
            "Write on topic memory.dead-letters",
            "Describe on the topic {}memory.dead-letters",
        ),
        ("project", "dead-letters", "Describe on the topic {}memory.dead-letters"),
    ],
)
def test_a_missing_permission_is_named(guest: Guest, process: str, but: str, named: str) -> None:
    guest.grant(process, but=but)
    child = guest.starts(process)
    assert child.wait() == 1
    said = child.printed(0, 2)
    assert f"the brokers do not permit {named.format(guest.settings['prefix'])}" in said
    assert "Traceback" not in said


def test_one_that_may_only_describe_is_told_what_else_it_needs(guest: Guest) -> None:
    """Brokers show it topics and group, and it would wait for ever for what is in them."""
    guest.grant("worker", instead="Describe")
    child = guest.starts("worker")
    assert child.wait() == 1
    said = child.printed(0, 2)
    prefix = guest.settings["prefix"]
    for missing in (
        f"Read on the topic {prefix}memory.candidates",
        f"Write on the topic {prefix}memory.decisions",
        f"Read on the group {prefix}palimpsest-worker",
    ):
        assert missing in said
