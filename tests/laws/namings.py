"""The laws of names as checks: an oracle that reads a log's lines, and a table of who says what."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

from palimpsest.contracts.policy import Policy
from palimpsest.contracts.wire import encode
from tests.laws.histories import Act, Call, OnJoin, Sentence, play
from tests.laws.world import PREDICATES, SUBJECTS, sentence

NAME = {"Ada": "Ada", "The user": "the user", "I": "I", "Bob": "Bob"}
SAID = {
    sentence(who, what): (NAME[SUBJECTS[who]], what)
    for who, what in product(range(len(SUBJECTS)), range(len(PREDICATES)))
}
OF_ADA = len(PREDICATES) - 1
"""What mentions Ada beside the subject: nobody's name is exchanged there if she is the owner."""


def _lines(policy: Policy, story: list[Act]) -> list[dict[str, Any]]:
    return [json.loads(encode(event)) for event in play(policy, story).world.log]


def rules_join_by_names_in_force_alone(policy: Policy, story: list[Act]) -> None:
    """A rule joins two sentences only if one thing is said of one subject, by the names of then."""
    names: set[str] = set()
    said: dict[str, str] = {}
    for event in _lines(policy, story):
        data, kind = event["data"], event["type"].split(".")[1]
        if kind == "names_set":
            names = {*data["names"]}
        if kind == "decided":
            said[event["subject"]] = data["content"]["text"]
            if data.get("join") and data["decision"] == "auto_reject":
                (one, what), (other, of) = (
                    SAID[said[i]] for i in (event["subject"], data["join"]["to"])
                )
                certain = what != OF_ADA or "Ada" not in names
                assert what == of, (what, of)
                assert one == other or ({one, other} <= names and certain), (one, other)


def what_names_make_one_is_joined(policy: Policy, story: list[Act]) -> None:
    """A newcomer joins if what it says was said by another name of its subject; nobody cuts."""
    names: set[str] = set()
    before: list[tuple[str, int]] = []
    for event in _lines(policy, [act for act in story if isinstance(act, Sentence | Call)]):
        data, kind = event["data"], event["type"].split(".")[1]
        if kind == "names_set":
            names = {*data["names"]}
        if kind == "decided":
            who, what = SAID[data["content"]["text"]]
            certain = who in names and (what != OF_ADA or "Ada" not in names)
            alike = {who, *names} if certain else {who}
            joined = any((one, what) in before for one in alike)
            assert bool(data.get("join")) == joined, data["decision"]
            before.append((who, what))


def names_of_nobody_change_nothing(policy: Policy, story: list[Act]) -> None:
    """Names that no text uses leave every decision as it is without names."""
    others = ("Zoe", "Max")
    plain: list[Act] = [act for act in story if not isinstance(act, Call)]
    named: list[Act] = [Call(others), *plain]
    decided = []
    for acts in (plain, named):
        lines = [line for line in _lines(policy, acts) if line["type"] == "palimpsest.decided.v1"]
        for line in lines:
            line["data"]["evidence"].pop("guard", None)
        decided.append([(line["subject"], line["data"]) for line in lines])
    cuts = any(isinstance(act, OnJoin) for act in plain)
    assert decided[0] == decided[1] or cuts, "an un-merge has another id there"
