"""At every door an id is the same however its UUID is written, such as in capitals."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from palimpsest import Palimpsest, RefusedError
from palimpsest.server.http.operations import FIELD_IN_PATH, over_http
from tests.long import long_but
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.server.test_mcp import client
from tests.palimpsest.server.test_same_words import OF_IDS, TABLE, Call, named

FORMS: dict[str, Callable[[str], str]] = {
    "usual": str,
    "capitals": str.upper,
    "braces": "{{{}}}".format,
    "uuid's urn": "urn:uuid:{}".format,
    "no hyphens": lambda some_id: some_id.replace("-", ""),
    "the beginning": lambda some_id: some_id[:13].upper(),
}
FEW = ("usual", "capitals", "the beginning")
CALLS = (
    *OF_IDS,
    *(named("unmerge", f"{one}_id", f"{one}_id", "unmerge") for one in ("candidate", "memory")),
)
Ids = dict[str, str]
TEXTS = {"member": "Ada skis", "memory": "The ferry leaves at dawn", "third": "Tulips need water"}


async def joined(server: Server, owner: str) -> Ids:
    """Give an owner three memories, of which a person has merged two; returns their ids."""
    path = f"/v1/owners/{owner}"
    ids = {}
    for name, text in TEXTS.items():
        added = await server.ask("POST", f"{path}/memories", {"text": text}, name="root")
        ids[name] = str(added.json()["candidate_id"])
    pair = {"a": ids["memory"], "b": ids["member"]}
    merged = await server.ask("POST", f"{path}/merge", pair, name="root")
    assert merged.status_code == 200, merged.text
    return {**ids, "join": str(merged.json()["undo"])}


def named_by(call: Call, ids: Ids) -> str:
    """The id that the field of a call may have."""
    return ids["join" if call.wrong == "decision_id" or call.operation in TAKEN else "member"]


TAKEN = ("undo", "redo")


def given_to(call: Call, some_id: str, ids: Ids) -> dict[str, Any]:
    if call.option == "candidate":
        return {"selection": {"candidate_id": some_id}}
    others = {name: ids["third"] if one == "ID" else one for name, one in call.given.items()}
    return {**others, call.wrong: [some_id] if call.wrong == "memory_ids" else some_id}


async def over_the_network(server: Server, door: str, owner: str, call: Call, form: str) -> Any:
    """The status of an answer, and the reason of a refusal."""
    ids = await joined(server, owner)
    given = given_to(call, FORMS[form](named_by(call, ids)), ids)
    operation = TABLE[call.operation]
    if door == "mcp":
        async with client(server, owner, name="root") as made:
            answer = (await made.call_tool(str(operation.tool), given)).structured_content
        return (answer.get("status"), answer.get("reason"))
    http = over_http(operation)
    path = http.path.replace("{owner}", owner)
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(given.pop(FIELD_IN_PATH.get(name, name)), safe=""))
    how: dict[str, Any] = {"params": given} if http.method == "GET" else {}
    document = None if http.method == "GET" else given
    found = await server.ask(http.method, path, document, name="root", **how)
    return (found.status_code, found.json().get("reason"))


@pytest.mark.parametrize("forms", long_but(FEW, of=[FEW, (*FORMS,)]), ids=["few", "all"])
@pytest.mark.parametrize("door", ["http", "mcp"])
def test_an_id_is_read_however_it_is_written(
    served: Use[None], door: str, forms: tuple[str, ...]
) -> None:
    async def used(server: Server) -> None:
        for call in CALLS:
            if door == "mcp" and TABLE[call.operation].tool is None:
                continue
            found = {
                form: await over_the_network(server, door, f"{call.id}-{form}", call, form)
                for form in forms
            }
            assert len({*found.values()}) == 1, (call.id, found)
            assert found["usual"][0] != 404 or call.wrong == "forgotten", call.id

    served(used)


def test_an_id_is_read_however_it_is_written_in_python(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        for call in CALLS:
            found = {
                form: await server.twin.call(
                    partial(in_python, call, form, await joined(server, f"{call.id}-{form}"))
                )
                for form in FORMS
                if form != "the beginning"
            }
            assert len({*found.values()}) == 1, (call.id, found)

    served(used)


def in_python(call: Call, form: str, ids: Ids, store: Palimpsest) -> str:
    """How a call ends: `done`, or the reason of its refusal."""
    asked = call.python(FORMS[form](named_by(call, ids)))
    given = {name: ids["third"] if value == "ID" else value for name, value in asked.items()}
    try:
        getattr(store, call.method)(**given)
    except RefusedError as refused:
        return refused.reason
    return "done"
