"""Renders templates: texts are escaped, and invisible characters are named."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from palimpsest.contracts.limits import LONGEST_REASON
from palimpsest.process.cutting import place_to_cut
from palimpsest.process.output import dollars, is_invisible

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
TEMPLATES = FOLDER / "templates"
EXCERPT = 240
"""Maximum length of a text among others; its own page shows all of it."""
BREAKS = "\n\t"
"""Control characters that are kept as layout."""
HTMX_CONFIG = {
    "allowEval": False,
    "allowScriptTags": False,
    "includeIndicatorStyles": False,
    "selfRequestsOnly": True,
    "historyCacheSize": 0,
    "refreshOnHistoryMiss": True,
    "defaultSettleDelay": 0,
}
"""Pages run no inline scripts and are not cached; a swapped-in part takes keys at once."""


@cache
def environment() -> Environment:
    """The Jinja environment; an undefined name is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(shown=shown, words=words, excerpt=excerpt, dollars=dollars)
    made.globals.update(static=static_url, htmx_config=HTMX_CONFIG, longest_reason=LONGEST_REASON)
    return made


def shown(text: object) -> Markup:
    """A text for a page: escaped, with invisible characters shown by number and name."""
    plain = str(text)
    if plain.isprintable():
        return escape(plain)
    return Markup("").join(map(_shown, plain))


def _shown(character: str) -> Markup | str:
    if character in BREAKS or not is_invisible(character):
        return escape(character)
    name = unicodedata.name(character, "control character").lower()
    return Markup('<span class="control" title="{}">U+{:04X}</span>').format(name, ord(character))


def excerpt(text: str) -> str:
    """A text, or the beginning of a long one."""
    return text if len(text) <= EXCERPT else f"{text[: place_to_cut(text, EXCERPT)]}…"


def words(name: object) -> str:
    """An identifier as words: `llm_reject` as `llm reject`."""
    return str(name).replace("_", " ")


@cache
def static_url(name: str) -> str:
    """The URL of a static file, which changes with the file."""
    version = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/review/static/{name}?v={version}"


def render(template: str, **context: Any) -> str:
    """A page, or a part of one, as HTML."""
    return environment().get_template(template).render(**context)
