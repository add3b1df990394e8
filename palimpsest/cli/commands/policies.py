"""`policy`: the presets, your own policies, and the one in force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from palimpsest.cli import rendering
from palimpsest.cli.invocation import DryRun, Invocation, complete_presets, invocation

if TYPE_CHECKING:
    from palimpsest.contracts.answers import PolicyInForce
    from palimpsest.contracts.policy import Policy

app = typer.Typer(
    no_args_is_help=True,
    help="Thresholds and rules: presets, your own, the one in force.",
    epilog="Example: palimpsest policy show standard > mine.toml",
)

Which = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A preset, or a .toml file.",
        autocompletion=complete_presets,
    ),
]


WhichOrInForce = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME|FILE",
        help="A preset, or a .toml file; else the policy in force.",
        autocompletion=complete_presets,
    ),
]


@app.command("list", epilog="Example: palimpsest policy list")
def list_policies(context: typer.Context) -> None:
    """List the presets."""
    from palimpsest.streams.policies import MODEL_PRESETS, load_policy, preset_names

    call = invocation(context)
    rows = [_summary(load_policy(name)) for name in (*preset_names(), *MODEL_PRESETS.values())]
    call.output.answer(rows, lambda: rendering.query_table(rows))


@app.command(epilog="Example: palimpsest policy show standard")
def show(
    context: typer.Context,
    which: WhichOrInForce = None,
) -> None:
    """Print a whole policy: a preset as its file, any other as JSON."""
    from palimpsest.streams.policies import MODEL_PRESETS, load_policy, preset_names

    call = invocation(context)
    policy = _in_force(call) if which is None else load_policy(which)
    document = policy.model_dump(mode="json") | {"hash": policy.hash}
    names = (*preset_names(), *MODEL_PRESETS.values())
    presets = {load_policy(name).hash: name for name in names}
    preset = presets.get(policy.hash)
    call.output.answer(document, lambda: _preset(preset) if preset else rendering.as_json(document))


@app.command(epilog="Example: palimpsest policy explain standard")
def explain(
    context: typer.Context,
    which: WhichOrInForce = None,
) -> None:
    """Explain a policy in words, with its numbers, in the order in which its rules apply."""
    from palimpsest.streams.policies import load_policy
    from palimpsest.streams.policies.explain import explain as explained

    call = invocation(context)
    policy = _in_force(call) if which is None else load_policy(which)
    sentences = explained(policy)
    document = {"name": policy.name, "hash": policy.hash, "sentences": sentences}
    call.output.answer(document, lambda: rendering.paragraphs(sentences))


def _in_force(call: Invocation) -> Policy:
    with call.store() as store:
        return store.policy


def _preset(name: str) -> Text:
    from palimpsest.streams.policies import preset_file

    file = preset_file(name)
    assert file is not None
    return Text(file.read_text().rstrip())


@app.command(epilog="Example: palimpsest policy check mine.toml")
def check(context: typer.Context, which: Which) -> None:
    """Check a policy; report a wrong key with exit status 2."""
    from palimpsest.streams.policies import load_policy

    call, policy = invocation(context), load_policy(which)
    summary = _summary(policy)
    call.output.answer(summary, lambda: rendering.fields(summary))
    _remark_on_exact(call, policy)


@app.command("set", epilog="Example: palimpsest policy set mine.toml")
def set_policy(
    context: typer.Context,
    which: Which,
    language: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Add a language to what the guard knows; repeatable."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    r"""Put a policy in force from here on; earlier decisions stay.

    A language file becomes part of the policy that is recorded; it is not read again.
    For namespaced, the command reads PALIMPSEST_DEDUP_... and the table \[dedup] of
    the settings, and records them with the policy.
    """
    from palimpsest.settings.namespaced import PRESET
    from palimpsest.streams.policies.languages import add_languages

    call = invocation(context)
    settings = call.settings.dedup
    policy = settings.load(which)
    if language:
        policy = add_languages(policy, language)
    overrides = settings.overrides if which == PRESET else {}
    summary = _summary(policy) | {f"dedup.{name}": value for name, value in overrides.items()}
    if dry_run:
        answer: PolicyInForce | dict[str, Any] = {
            "policy": policy.name,
            "hash": policy.hash,
            "exact": policy.exact,
            "rules": policy.model_dump(mode="json"),
        }
    else:
        with call.store(create=True, policy=None) as store:
            answer = store.set_policy(policy, actor=call.settings.actor)
    call.output.answer(answer, lambda: rendering.fields(summary))
    _remark_on_exact(call, policy)


def _remark_on_exact(call: Invocation, policy: Policy) -> None:
    if policy.exact is None:
        call.output.remark(rendering.EXACT_UNSET)


def _summary(policy: Policy) -> dict[str, Any]:
    added = ", ".join(language.code for language in policy.languages)
    return {
        "name": policy.name,
        "hash": policy.hash,
        "search": policy.search,
        "model": policy.model,
        **({"languages": added} if added else {}),
        "description": policy.description,
    }
