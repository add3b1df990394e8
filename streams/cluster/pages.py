"""The worker's pages: /metrics, /healthz and /readyz, on Faust's web server and the loopback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import faust
from faust import web

from palimpsest.streams.cluster.health import PAGES, TEXT, Page
from palimpsest.streams.cluster.watch import Watch


def add_pages(app: faust.App, watch: Watch) -> None:
    """Put the pages on Faust's web server."""
    for name, told in PAGES.items():
        _add_page(app, name, partial(told, watch))


def _add_page(app: faust.App, name: str, told: Callable[[], Page]) -> None:
    async def page(view: web.View, _request: web.Request) -> web.Response:
        said = told()
        return view.bytes(said.body, content_type=TEXT, status=said.status)

    app.page(f"/{name}", name=name)(page)
