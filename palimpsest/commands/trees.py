"""Memories and candidates as trees: what joined what, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from palimpsest.commands.drawing import shown

Member = Mapping[str, Any]


def memory_tree(memory: Mapping[str, Any]) -> RenderableType:
    """A memory: its face, and under each member those that joined it, by arrival."""
    tree = Tree(Group(shown(memory["face"], "bold"), shown(_about(memory), "dim")))
    branches: dict[str, Tree] = {}
    for member in memory["members"]:
        above = branches.get(member.get("joined_to") or "", tree)
        branches[member["candidate_id"]] = above.add(_label(member))
    return Group(tree, *_timeline(memory))


def _about(memory: Mapping[str, Any]) -> str:
    marks = [
        *([] if memory.get("living", True) else ["retracted"]),
        *(["needs composition"] if memory.get("needs_composition") else []),
    ]
    where = f"{memory['owner_id']} / {memory['namespace']}"
    return "  ".join([f"memory {memory['memory_id']}", where, *marks])


def _label(member: Member) -> RenderableType:
    reason = Text.assemble(shown(_reason(member), "cyan"), shown(_marks(member), "yellow"))
    lines = [
        shown(member["text"]),
        reason,
        shown(f"candidate {member['candidate_id']}  decision {member['decision_id']}", "dim"),
    ]
    if member.get("reasoning"):
        lines.append(shown(f"the judge: {member['reasoning']}", "dim"))
    lines += [_support(one) for one in member.get("supports", [])]
    return Group(*lines)


def _reason(member: Member) -> str:
    similarity = member.get("similarity")
    parts = [
        str(member["decision"]),
        *([] if similarity is None else [f"similarity {similarity:.4f}"]),
        *([f"by the check {member['check']}"] if member.get("check") else []),
        *([f"from {member['source']}"] if member.get("source") else []),
        *([str(member["decided_at"])] if member.get("decided_at") else []),
    ]
    return "  ".join(parts)


def _marks(member: Member) -> str:
    marks = [f"cue {cue}" for cue in member.get("cues", [])]
    if not member.get("living", True):
        marks.append("retracted")
    if member.get("pending"):
        marks.append("pending")
    return "".join(f"  {mark}" for mark in marks)


def _support(support: Member) -> Text:
    told = f"also {support['decision']} to {support['joined_to']}"
    return shown(f"{told}  decision {support['decision_id']}", "dim")


def candidate_tree(candidate: Mapping[str, Any]) -> RenderableType:
    """A candidate: its decision, what was looked at, its joins and its memory."""
    tree = Tree(Group(shown(candidate["text"], "bold"), shown(_of(candidate), "dim")))
    tree.add(_label(candidate))
    looked_at = _looked_at(candidate.get("evidence") or {})
    if looked_at:
        branch = tree.add(shown("looked at"))
        for line in looked_at:
            branch.add(line)
    for join in candidate.get("joins", []):
        tree.add(_join(join))
    tree.add(
        Group(
            shown(f"in the memory {candidate['memory_id']}"),
            shown(candidate["face"], "bold"),
        )
    )
    return Group(tree, *_timeline(candidate))


def _timeline(told: Mapping[str, Any]) -> list[RenderableType]:
    """What was said since, one event after the other; nothing where nobody said anything."""
    said = told.get("timeline", [])
    return [shown("timeline", "bold"), *map(_event, said)] if said else []


def _event(event: Mapping[str, Any]) -> RenderableType:
    who = " ".join(str(event[name]) for name in ("rank", "actor") if event.get(name))
    pair = " and ".join(event[name] for name in ("candidate_id", "other_id") if event.get(name))
    because = [event[name] for name in ("because", "reasoning", "detail") if event.get(name)]
    if event.get("consequence_of"):
        because.append(f"as a consequence of {event['consequence_of']}")
    kind = " ".join(event[name] for name in ("event", "decision", "command") if event.get(name))
    line = Text.assemble(
        shown(f"  {event['decided_at']}  "),
        shown(kind, "cyan"),
        shown("".join(f"  {part}" for part in (who, *dict.fromkeys(because)) if part)),
    )
    answers = f"  answers {event['answers']}" if event.get("answers") else ""
    return Group(line, shown(f"    {pair}  event {event['event_id']}{answers}", "dim"))


def _of(candidate: Mapping[str, Any]) -> str:
    session = candidate.get("session_id")
    parts = [candidate["owner_id"], candidate["namespace"], *([session] if session else [])]
    return " / ".join(map(str, parts))


def _looked_at(evidence: Mapping[str, Any]) -> Sequence[RenderableType]:
    asked = evidence.get("asked", [])
    lines: list[RenderableType] = []
    for one in evidence.get("neighbours", []):
        scores = "  ".join(
            f"{name} {one[name]:.4f}" for name in ("cosine", "jaccard") if name in one
        )
        cues = "".join(f"  cue {cue}" for cue in one.get("cues", []))
        judge = "  asked the judge" if one["candidate_id"] in asked else ""
        about = shown(f"{one['candidate_id']}  {scores}{cues}{judge}", "dim")
        lines.append(Group(shown(one["text"]), about) if one.get("text") else about)
    for verdict in evidence.get("verdicts", []):
        told = f"the judge on {verdict['neighbour_id']}: {verdict['answer']}"
        lines.append(shown(f"{told}  {verdict.get('reasoning', '')}"))
    floors = [f"{one['check']} {one['at_least']:g} {one['then']}" for one in _floors(evidence)]
    return [*lines, shown(f"thresholds: {', '.join(floors)}", "dim")] if lines and floors else lines


def _floors(evidence: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = evidence.get("thresholds", [])
    return found


def _join(join: Mapping[str, Any]) -> RenderableType:
    standing = "joined" if join["standing"] else "was joined, and reversed,"
    return shown(
        f"{standing} with {join['joined_to']}  {join['decision']}  decision {join['decision_id']}"
    )


def changed(verb: str, answer: Mapping[str, Any]) -> RenderableType:
    """What a person's word did: to which decisions, and the memories that there are then."""
    ids = answer.get("reversed") or [answer.get("decision_id")]
    head = [shown(f"{verb}: {one}") for one in ids if one] or [shown(verb)]
    trees = (_after(memory) for memory in answer.get("memories", []))
    rested = [_rested(one) for one in answer.get("consequences", [])]
    mood = "would be " if verb.startswith("would be") else ""
    mark = "without it, later decisions would be"
    mark = f"{mood}carried out" if "carried_out" in answer else mark
    title = [shown(f"{mark}:", "yellow")] if rested else []
    return Group(*head, *_refused(answer), *trees, *title, *rested)


def put_back(answer: Mapping[str, Any], *, dry_run: bool) -> RenderableType:
    """What taking a reversal back did or would do: joins that are back, and those that go out."""
    mood = "would be " if dry_run else ""
    back = [shown(f"{mood}reinstated: {one}") for one in answer["reinstated"]]
    made = "(made because of the reversal)"
    out = [shown(f"{mood}taken back: {one} {made}", "yellow") for one in answer["taken_back"]]
    return Group(*back, *out, *_refused(answer), *map(_after, answer["memories"]))


def _refused(answer: Mapping[str, Any]) -> list[Text]:
    return [
        shown(f"refused: {one['decision_id']}: {one['detail']} ({one['reason']})", "yellow")
        for one in answer.get("refused", [])
    ]


def _rested(one: Mapping[str, Any]) -> Tree:
    """A later decision that would have been another."""
    was, then = one["was"], one["would_be"]
    asks = f", never asked about {', '.join(one['asks'])}" if one["asks"] else ""
    line = f"{_to(was)} would be {_to(then)}{asks}"
    tree = Tree(Group(shown(one["text"]), shown(one["candidate_id"], "dim")))
    tree.add(shown(line))
    return tree


def _to(told: Mapping[str, Any]) -> str:
    return f"{told['decision']} {told['joined_to']}" if told["joined_to"] else str(told["decision"])


def _after(memory: Mapping[str, Any]) -> Tree:
    tree = Tree(Group(shown(memory["face"], "bold"), shown(_about(memory), "dim")))
    for member in memory["members"]:
        mark = "" if member.get("living", True) else "  retracted"
        tree.add(Group(shown(member["text"]), shown(f"{member['candidate_id']}{mark}", "dim")))
    return tree
