"""A language as a file, which becomes part of the policy that names it (docs/guard.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.language import Language
from palimpsest.contracts.model import wrong_keys
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.toml import parse_toml
from palimpsest.streams.guard import Reading, Tables, passes, read, tables_of

EXAMPLES = ("same", "different")
"""The keys of a file's example pairs: those that the guard must find near-identical, and those that
it must not. They are tried, but not recorded."""
_MODEL = "multilingual-e5-small"
"""The model that reads every script, so that examples test the language rather than the model."""
_UNKNOWN = "in each text at least two words, and at least a tenth of all, have to be in `words`"
"""Why a text may have no language (`streams.guard.text.language`)."""


def load_language(file: Path) -> Language:
    """The language of a file. Raises UsageError, which names the wrong key or example."""
    try:
        rules = parse_toml(file.read_bytes(), file)
    except FileNotFoundError:
        raise UsageError(f"there is no language file {file}") from None
    except OSError as error:
        raise UsageError(f"the language file {file} cannot be read: {error.strerror}") from None
    examples = {key: _pairs(file, key, rules.pop(key, [])) for key in EXAMPLES}
    try:
        language = Language.model_validate(rules)
    except ValidationError as error:
        raise UsageError(f"{file} is not a language: {wrong_keys(error)}") from None
    problems = [*_conflicts(language), *_not_held(examples, tables_of((language,)))]
    if problems:
        raise UsageError(f"{file} cannot be used: " + "; ".join(problems))
    return language


def _pairs(file: Path, key: str, given: Any) -> list[tuple[str, str]]:
    if not isinstance(given, list):
        raise UsageError(f'{file}: {key} has to be a list of pairs such as ["een kat", "1 kat"]')
    pairs = []
    for number, pair in enumerate(given, 1):
        match pair:
            case [str(one), str(other)]:
                pairs.append((one, other))
            case _:
                raise UsageError(
                    f'{file}: {key}, pair {number}: it has to be two texts, such as ["een kat",'
                    ' "1 kat"]'
                )
    return pairs


def _conflicts(language: Language) -> Iterator[str]:
    own = tables_of().numbers
    for word, value in language.numbers.items():
        if own.get(word, str(value)) != str(value):
            yield f"numbers.{word}: the word means {own[word]} in another language, so leave it out"


def _not_held(examples: dict[str, list[tuple[str, str]]], tables: Tables) -> Iterator[str]:
    for key, joined in zip(EXAMPLES, (True, False), strict=True):
        for number, pair in enumerate(examples[key], 1):
            one, other = (read(text, model=_MODEL, tables=tables) for text in pair)
            if {passes(one, other), passes(other, one)} != {joined}:
                yield f"{key}, pair {number}: these are {_otherwise(one, other, joined=joined)}"


def _otherwise(one: Reading, other: Reading, *, joined: bool) -> str:
    """What the guard finds of a pair that it does not treat as the file says."""
    near = "not near-identical" if joined else "near-identical"
    known = sorted({reading.language or "none" for reading in (one, other)})
    why = f": {_UNKNOWN}" if joined and "none" in known else ""
    return f"{near}, and their language is {', '.join(known)}{why}"


def add_languages(policy: Policy, files: Iterable[Path]) -> Policy:
    """A policy with the languages of some files added; they replace those with the same code."""
    languages = {language.code: language for language in policy.languages}
    languages |= {language.code: language for language in map(load_language, files)}
    return policy.model_copy(update={"languages": tuple(languages.values())})


def with_languages(rules: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The rules of a policy, with each language file that they name read from its folder."""
    named = rules.get("languages")
    if not isinstance(named, list):
        return rules
    return rules | {"languages": [*_loaded(named, folder)]}


def _loaded(named: Iterable[Any], folder: Path) -> Iterator[Any]:
    for language in named:
        yield load_language(folder / language) if isinstance(language, str) else language
