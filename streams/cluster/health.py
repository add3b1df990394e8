"""What /metrics, /healthz and /readyz say, of whichever process and whoever serves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

NOT_WELL = 503
TEXT = "text/plain"


class Watched(Protocol):
    """A process that knows how it is."""

    def stuck(self) -> bool:
        """Whether something waits for it, and nothing happens."""

    def ready(self) -> bool:
        """Whether it has got to where its work begins."""

    def figures(self) -> bytes:
        """All figures as they are now."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page's text, and its status of HTTP."""

    body: bytes
    status: int = 200


def _metrics(watched: Watched) -> Page:
    return Page(watched.figures())


def _healthz(watched: Watched) -> Page:
    if watched.stuck():
        return Page(b"stuck: something waits, and nothing is done\n", NOT_WELL)
    return Page(b"alive\n")


def _readyz(watched: Watched) -> Page:
    if not watched.ready():
        return Page(b"not ready: nothing assigned, or not caught up\n", NOT_WELL)
    return Page(b"ready\n")


PAGES: Mapping[str, Callable[[Watched], Page]] = {
    "metrics": _metrics,
    "healthz": _healthz,
    "readyz": _readyz,
}
