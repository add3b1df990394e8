"""All commands by name: their modules, and their lines in `palimpsest --help`.

A command is imported and built when it is looked up: the help needs none, a call only its own.
"""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand


@dataclass(frozen=True, slots=True)
class Listed:
    """A command or a group: a part of the typer `app` of a `module` of `commands`."""

    module: str
    line: str
    app: str = "app"
    group: bool = False

    def outline(self, name: str) -> TyperCommand:
        """The command's name and line for the help of all commands."""
        return TyperCommand(name=name, help=self.line)

    def built(self, name: str) -> Any:
        """The command itself."""
        app = getattr(import_module(f"{__package__}.commands.{self.module}"), self.app)
        tree = typer.Typer()
        tree.add_typer(app, name=name if self.group else None)
        return typer.main.get_group(tree).commands[name]


LISTED = {
    "ingest": Listed("ingestion", "Decide on every row of the files and print a summary."),
    "add": Listed("ingestion", "Add one memory, and show what became of it.", "add_app"),
    "clean": Listed(
        "migration",
        "Copy a file without its duplicates: no store is needed, and by default none is made.",
    ),
    "import": Listed(
        "migration",
        "Import an existing store: files, SQLite, LanceDB, Qdrant, Chroma, mem0; it is only read.",
    ),
    "export": Listed(
        "migration", "Copy an imported store without its duplicates; the original is only read."
    ),
    "metrics": Listed(
        "queries", "Print how many new candidates were duplicates, in Prometheus' text format."
    ),
    "status": Listed(
        "queries",
        "Count candidates, memories, joins and decisions; show how far each projection lags.",
    ),
    "recall": Listed(
        "queries",
        "Find memories by meaning, best first: the face, the score (cosine) and the members.",
    ),
    "find": Listed(
        "queries",
        "Find the memories that are meant: all that mention the query, then "
        "the nearest by meaning.",
    ),
    "likeness": Listed(
        "queries", "Report an owner's similar memories across namespaces; nothing is joined."
    ),
    "why": Listed(
        "queries", "Explain why a candidate is in its memory, or why two are not in one."
    ),
    "triangles": Listed(
        "queries",
        "List pairs that a person separated, with a third candidate joined to one and near the "
        "other.",
    ),
    "check": Listed(
        "queries",
        "Show what would become of a candidate: the decision, the neighbour and the score.",
    ),
    "show": Listed(
        "queries",
        "Draw a memory as a tree: the face, and each member with the reason for its join.",
    ),
    "decisions": Listed(
        "queries", "List the latest decisions, newest last; with --json one document a line."
    ),
    "changes": Listed(
        "queries",
        "Show a page of all events, oldest first; with --json also the memories that they changed.",
    ),
    "sql": Listed(
        "queries",
        "Query the analysts' views; without a query, print their file and how to open it.",
    ),
    "list": Listed(
        "queries", "List the living memories of an owner, the latest first, a page at a time."
    ),
    "get": Listed(
        "queries",
        "Show the current memory of an id, with its wordings, and whether it "
        "moved or is retracted.",
    ),
    "history": Listed(
        "queries", "List every event of a memory: what it did, who did it, why and when."
    ),
    "update": Listed(
        "intent", "Change a memory's text; the old text is kept, and `undo` brings it back."
    ),
    "undo": Listed(
        "intent",
        "Undo what an id names: a join, an update, a forgetting, a statement or a whole request.",
    ),
    "redo": Listed("intent", "Do again what was undone, named by the id that was undone."),
    "forget": Listed("intent", "Forget memories with all their wordings; `undo` brings them back."),
    "merge": Listed("statements", "Declare two candidates the same: their memories become one."),
    "separate": Listed(
        "statements", "Declare two candidates different: nothing automatic joins them any more."
    ),
    "withdraw": Listed("statements", "Take back a merge or a separation of two candidates."),
    "confirm": Listed("statements", "Agree with a decision."),
    "pin": Listed(
        "statements",
        "Keep a memory that expires, or has expired; `undo` with the answer's id takes it back.",
    ),
    "renew": Listed(
        "statements",
        "Move the time when a memory expires, with an agent's rank; `pin` keeps one for ever.",
    ),
    "names": Listed("statements", "Show the names that texts call an owner by, or declare them."),
    "unmerge": Listed(
        "undo",
        "Take a join out and show the resulting memories. Name a decision, a candidate or a "
        "memory.",
    ),
    "reverse": Listed(
        "undo",
        "Un-merge all joins that match the options, except verbatim repeats; or what an id names.",
    ),
    "reinstate": Listed(
        "undo",
        "Take a reversal back, so that its join stands again; with options, all that match.",
    ),
    "retract": Listed(
        "undo", "Hide candidates from recall and search; joins are kept, and `restore` undoes it."
    ),
    "restore": Listed(
        "undo", "Bring retracted candidates back, or everything that a single `forget` hid."
    ),
    "evaluate": Listed(
        "proof.labelled",
        "Count how many joins of a policy are wrong, on labelled pairs or clusters.",
        "evaluate_app",
    ),
    "backtest": Listed(
        "proof.backtest",
        "Decide the store's history again under another policy, and show what would be different.",
    ),
    "calibrate": Listed(
        "proof.labelled",
        "Choose thresholds from a budget of errors, on labelled pairs, and certify them.",
        "calibrate_app",
    ),
    "audit": Listed(
        "proof.audit",
        "Prove how many automatic joins are wrong at most, by looking at few.",
        group=True,
    ),
    "rebuild": Listed(
        "maintenance", "Recreate projections from the log beside the live ones, then swap them in."
    ),
    "verify": Listed(
        "maintenance",
        "Fold the log and list every difference from the projections; "
        "exit status 1 if there is one.",
    ),
    "schemas": Listed(
        "maintenance",
        "Write the JSON Schemas of all messages and events, and the topics as AsyncAPI.",
    ),
    "embed": Listed(
        "maintenance",
        "Embed texts that lack a vector: because the model was down, or for another model.",
    ),
    "dedupe": Listed(
        "judge",
        "Compare existing memories by the policy's batch rules, and join those that are the same.",
        "dedupe_app",
    ),
    "review": Listed(
        "judge", "Review decisions: by a stronger model, or by a person.", "review_app", group=True
    ),
    "schedule": Listed(
        "schedule",
        "Run the batch rules and the review at the clock times of the settings, `\\[schedule]`.",
    ),
    "session": Listed(
        "ingestion",
        "Report that a session ended, or that its conversation was compacted.",
        "session_app",
        group=True,
    ),
    "hook": Listed("hook", "Hooks that agents call; they never stop the agent.", group=True),
    "log": Listed("logs", "The log as a file: CloudEvents, one a line, byte for byte.", group=True),
    "policy": Listed(
        "policies", "Thresholds and rules: presets, your own, the one in force.", group=True
    ),
    "dead-letters": Listed(
        "logs", "Unreadable input, with its original bytes.", "dead_letters_app", group=True
    ),
    "topics": Listed(
        "cluster",
        "Create, check and restore the topics of a Kafka cluster.",
        "topics_app",
        group=True,
    ),
    "worker": Listed(
        "cluster", "Decide on the records of the topics, as one of any number of workers."
    ),
    "project": Listed(
        "cluster",
        "Follow a cluster's decisions into the store: recall, show, sql and "
        "status read them there.",
    ),
    "serve": Listed(
        "serving", "Serve the store over HTTP (/v1) and MCP (/mcp/OWNER) to agents and people."
    ),
    "mcp": Listed(
        "serving",
        "Speak MCP on standard input and output, for one owner, and forward it "
        "to the store's server.",
    ),
    "verifier": Listed(
        "judge", "Ask the judge about pending candidates in batches, and deliver its verdicts."
    ),
    "judge": Listed("judge", "Try the judge of the settings.", "judge_app", group=True),
    "extract": Listed(
        "ingestion",
        "Print the memories of a conversation, one JSON object a line, for `ingest -`.",
        "extract_app",
    ),
    "prompt": Listed(
        "ingestion", "The prompts for models: templates to copy.", "prompt_app", group=True
    ),
    "demo-judge": Listed(
        "judge",
        "Answer as the judge's service would, by rules on words and without a model.",
        "demo_app",
    ),
    "doctor": Listed(
        "maintenance",
        "Report what is installed, what is missing and the store's state; exit "
        "status 1 on failure.",
        "doctor_app",
    ),
}
"""All commands in the order of the help. A line is the first sentence of a command's own help."""


class Commands(UserDict[str, Any]):
    """All commands by name, in the order of the help; each is built when it is looked up."""

    def __init__(self) -> None:
        super().__init__(LISTED)

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        if isinstance(found, Listed):
            found = self.data[name] = found.built(name)
        return found
