"""All commands by name: their modules, and their lines in `palimpsest --help`.

A command is imported and built when it is looked up: the help needs none, a call only its own.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import typer

_INDEX = r"""
[ingestion]
ingest: Decide on every row of the files and print a summary.
add: Add one memory, and show what became of it.
[cleaning]
clean: Copy a file without its duplicates: no store is needed, and by default none is made.
[migration]
import: Import an existing store: files, SQLite, LanceDB, Qdrant, Chroma, mem0; it is only read.
export: Copy an imported store without its duplicates; the original is only read.
[queries]
metrics: Print how many new candidates were duplicates, in Prometheus' text format.
status: Count candidates, memories, joins and decisions; show how far each projection lags.
recall: Find memories by meaning, best first: the face, the score (cosine) and the members.
find: Find the memories that are meant: all that mention the query, then the nearest by meaning.
likeness: Report an owner's similar memories across namespaces; nothing is joined.
why: Explain why a candidate is in its memory, or why two are not in one.
triangles: List pairs that a person separated, with a third candidate joined to one and near the other.
check: Show what would become of a candidate: the decision, the neighbour and the score.
show: Draw a memory as a tree: the face, and each member with the reason for its join.
decisions: List the latest decisions, newest last; with --json one document a line.
changes: Show a page of all events, oldest first; with --json also the memories that they changed.
sql: Query the analysts' views; without a query, print their file and how to open it.
list: List the living memories of an owner, the latest first, a page at a time.
get: Show the current memory of an id, with its wordings, and whether it moved or is retracted.
history: List every event of a memory: what it did, who did it, why and when.
[intent]
update: Change a memory's text; the old text is kept, and `undo` brings it back.
undo: Undo what an id names: a join, an update, a forgetting, a statement or a whole request.
redo: Do again what was undone, named by the id that was undone.
forget: Forget memories with all their wordings; `undo` brings them back.
[statements]
merge: Declare two candidates the same: their memories become one.
separate: Declare two candidates different: nothing automatic joins them any more.
withdraw: Take back a merge or a separation of two candidates.
confirm: Agree with a decision.
pin: Keep a memory that expires, or has expired; `undo` with the answer's id takes it back.
renew: Move the time when a memory expires, with an agent's rank; `pin` keeps one for ever.
names: Show the names that texts call an owner by, or declare them.
[undo]
unmerge: Take a join out and show the resulting memories. Name a decision, a candidate or a memory.
reverse: Un-merge all joins that match the options, except verbatim repeats; or what an id names.
reinstate: Take a reversal back, so that its join stands again; with options, all that match.
retract: Hide candidates from recall and search; joins are kept, and `restore` undoes it.
restore: Bring retracted candidates back, or everything that a single `forget` hid.
[proof.labelled]
evaluate: Count how many joins of a policy are wrong, on labelled pairs or clusters.
[proof.backtest]
backtest: Decide the store's history again under another policy, and show what would be different.
[proof.labelled]
calibrate: Choose thresholds from a budget of errors, on labelled pairs, and certify them.
[proof.audit]
audit: Prove how many automatic joins are wrong at most, by looking at few.
[maintenance]
rebuild: Recreate projections from the log beside the live ones, then swap them in.
verify: Fold the log and list every difference from the projections; exit status 1 if there is one.
schemas: Write the JSON Schemas of all messages and events, and the topics as AsyncAPI.
embed: Embed texts that lack a vector: because the model was down, or for another model.
[judge]
dedupe: Compare existing memories by the policy's batch rules, and join those that are the same.
review: Review decisions: by a stronger model, or by a person.
[schedule]
schedule: Run the batch rules and the review at the clock times of the settings, `\[schedule]`.
[ingestion]
session: Report that a session ended, or that its conversation was compacted.
[hook]
hook: Hooks that agents call; they never stop the agent.
[logs]
log: The log as a file: CloudEvents, one a line, byte for byte.
[policies]
policy: Thresholds and rules: presets, your own, the one in force.
[logs]
dead-letters: Unreadable input, with its original bytes.
[cluster]
topics: Create, check and restore the topics of a Kafka cluster.
worker: Decide on the records of the topics, as one of any number of workers.
project: Follow a cluster's decisions into the store: recall, show, sql and status read them there.
[serving]
serve: Serve the store over HTTP (/v1) and MCP (/mcp/OWNER) to agents and people.
mcp: Speak MCP on standard input and output, for one owner, and forward it to the store's server.
[judge]
verifier: Ask the judge about pending candidates in batches, and deliver its verdicts.
judge: Try the judge of the settings.
[ingestion]
extract: Print the memories of a conversation, one JSON object a line, for `ingest -`.
prompt: The prompts for models: templates to copy.
[judge]
demo-judge: Answer as the judge's service would, by rules on words and without a model.
[maintenance]
doctor: Report what is installed, what is missing and the store's state; exit status 1 on failure.
"""  # noqa: E501 - a line is a command
"""All commands in the order of the help, under the modules of `commands` that have them.

A line is the first sentence of a command's own help.
"""


class Listed(NamedTuple):
    """A command or a group of commands, and its line in the help."""

    module: str
    line: str


def _listed() -> Iterator[tuple[str, Listed]]:
    module = ""
    for row in _INDEX.split("\n"):
        if row.startswith("["):
            module = row.strip("[]")
        elif row:
            name, _, line = row.partition(": ")
            yield name, Listed(module, line)


LISTED = dict(_listed())


class Commands(UserDict[str, Any]):
    """All commands by name, in the order of the help; each is built when it is looked up.

    A command is in its module's typer application of its own name, such as `review_app`, or else in
    `app`. An application with a help of its own is a group.
    """

    def __init__(self) -> None:
        super().__init__(LISTED)

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]
        if isinstance(found, Listed):
            module = import_module(f"{__package__}.commands.{found.module}")
            app = getattr(module, f"{name.replace('-', '_')}_app", None) or module.app
            tree = typer.Typer()
            tree.add_typer(app, name=name if isinstance(app.info.help, str) else None)
            found = self.data[name] = typer.main.get_group(tree).commands[name]
        return found
