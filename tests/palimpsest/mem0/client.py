"""mem0's own clients, run where mem0 is installed: every call with its answer.

`python client.py URL SECRET SECRET`; the second secret is a person's. That environment has mem0,
but nothing of ours.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import (
    AddMemoryOptions,
    GetAllMemoryOptions,
    SearchMemoryOptions,
    UpdateMemoryOptions,
)

PIZZA = "Ada likes pizza with olives"
SUSHI = "her favourite food is sushi"
ADA = {"user_id": "ada"}


def every_call(client: MemoryClient) -> None:
    """The nine calls, as their documentation shows them."""
    [row] = client.add([{"role": "user", "content": PIZZA}], user_id="ada")["results"]
    assert (row["event"], row["memory"]) == ("ADD", PIZZA)
    [again] = client.add(PIZZA, AddMemoryOptions(filters=ADA, metadata={"n": 1}))["results"]
    assert (again["event"], again["id"]) == ("NONE", row["id"])
    client.add({"role": "user", "content": SUSHI}, user_id="ada", agent_id="cook", infer=False)

    found = client.search("pizza olives", filters=ADA, top_k=1)["results"]
    assert [one["memory"] for one in found] == [PIZZA]
    wanted = {"AND": [ADA, {"agent_id": "cook"}]}
    found = client.search("food", SearchMemoryOptions(filters=wanted, threshold=-1))["results"]
    assert [(one["memory"], one["agent_id"]) for one in found] == [(SUSHI, "cook")]
    page = client.get_all(filters=ADA, page=1, page_size=1)
    assert (page["count"], len(page["results"]), page["next"] is None) == (2, 1, False)
    assert client.get_all(GetAllMemoryOptions(filters=ADA))["count"] == 2

    assert client.get(row["id"])["metadata"] == {"n": 1}
    assert client.update(row["id"], text="Ada is fond of ramen")["memory"] == "Ada is fond of ramen"
    changes = [(one["event"], one["new_memory"]) for one in client.history(row["id"])]
    assert changes == [("ADD", PIZZA), ("UPDATE", "Ada is fond of ramen")]
    assert [result["name"] for result in client.users()["results"]] == ["ada"]

    assert "deleted" in client.delete(row["id"])["message"]
    refused(lambda: client.get(row["id"]), "MemoryNotFoundError")
    assert "deleted" in client.delete_all(user_id="ada")["message"]
    assert client.get_all(filters=ADA)["count"] == 0


def what_expires(client: MemoryClient, person: MemoryClient) -> None:
    """An update sets the last day; an agent can only move it, a person can set and clear it."""
    [row] = client.add(PIZZA, user_id="ada", expiration_date="2999-01-01")["results"]
    client.add(SUSHI, user_id="ada")
    later = client.update(row["id"], UpdateMemoryOptions(expiration_date="2999-12-30"))
    assert (later["memory"], later["expiration_date"]) == (PIZZA, "2999-12-30")
    over = client.update(row["id"], expiration_date="2020-01-31")
    assert (over["id"], over["expiration_date"]) == (row["id"], "2020-01-31")
    assert client.get_all(filters=ADA)["count"] == 1
    assert client.get_all(filters=ADA, show_expired=True)["count"] == 2
    refused(lambda: client.update(row["id"], expiration_date=None), "ValidationError")
    assert "expiration_date" not in person.update(row["id"], expiration_date=None)
    assert client.get_all(filters=ADA)["count"] == 2
    refused(lambda: client.update(row["id"], expiration_date="2999-01-01"), "ValidationError")
    both = person.update(row["id"], expiration_date="2999-01-01", metadata={"n": 2})
    assert (both["expiration_date"], both["metadata"]) == ("2999-01-01", {"n": 2})
    refused(lambda: client.update(row["id"], expiration_date="some day"), "ValidationError")
    client.delete_all(user_id="ada")


def what_is_refused(client: MemoryClient) -> None:
    """A missing user never means all users, and unsupported arguments are refused."""
    refused(lambda: client.add(PIZZA), "ValidationError")
    refused(client.get_all, "ValidationError")
    refused(client.delete_all, "ValidationError")
    refused(lambda: client.delete_all(filters=ADA), "ValidationError")
    refused(lambda: client.add(PIZZA, user_id="ada", expiration_date="some day"), "ValidationError")


def refused(call: Callable[[], object], kind: str) -> None:
    """Check that a call fails with one of mem0's errors."""
    found = "nothing"
    try:
        call()
    except Exception as error:  # noqa: BLE001 - which one it is, is compared
        found = type(error).__name__
    assert found == kind, f"{kind} was expected, and {found} came"


async def also_awaited(host: str, secret: str) -> None:
    """The client for asyncio."""
    client: Any = AsyncMemoryClient(host=host, api_key=secret)
    [row] = (await client.add(PIZZA, user_id="ada"))["results"]
    assert (await client.get(row["id"]))["memory"] == PIZZA
    assert len((await client.search("pizza", filters=ADA))["results"]) == 1
    await client.delete(row["id"])


def main(host: str, secret: str, persons: str) -> None:
    """Drive both clients."""
    client = MemoryClient(host=host, api_key=secret)
    every_call(client)
    what_is_refused(client)
    what_expires(client, MemoryClient(host=host, api_key=persons))
    asyncio.run(also_awaited(host, secret))
    refused(lambda: MemoryClient(host=host, api_key="nobody's"), "ValueError")


if __name__ == "__main__":
    main(*sys.argv[1:])
