"""Clients of a server over HTTP, sync and async: typed calls, retried under one key."""

from __future__ import annotations

import asyncio
import time
from typing import Self

import httpx

from .calls import AsyncCalls, Calls
from .exchange import BUSY, Answer, ClientRequest, Tries, answer
from .shim import ServerAddress

PATIENCE_SECONDS = 60.0
TIMEOUT_SECONDS = 60.0
"""Timeout of each wait; a request for decisions may take up to 30 s to answer."""


class PalimpsestClient(Calls):
    """Calls a server, for its token's owners; may be used by several threads.

    `patience`: seconds for which a call is retried while the server is unreachable or busy. Every
    write has an idempotency key, so that it is done once. Raises ClientError for a `url` that is
    not an HTTP(S) URL. Calls raise ServerProblem for an answer without a result, and
    ServerUnreachable once the patience is used up.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = PATIENCE_SECONDS,
        timeout: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._patience = patience
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=ServerAddress(url).url, headers=headers, timeout=timeout, transport=transport
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, wanted: ClientRequest[Answer]) -> Answer:
        method, path, headers, content = wanted.request()
        tries = Tries(self._patience)
        while True:
            try:
                response = self._http.request(method, path, headers=headers, content=content)
            except httpx.TransportError as error:
                wait = tries.pause(type(error).__name__)
            else:
                if response.status_code not in BUSY:
                    found: Answer = answer(response.status_code, response.content)
                    return found
                wait = tries.pause(f"status {response.status_code}", response.headers)
            time.sleep(wait)


class AsyncPalimpsestClient(AsyncCalls):
    """Like `PalimpsestClient`, for asyncio."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = PATIENCE_SECONDS,
        timeout: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._patience = patience
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.AsyncClient(
            base_url=ServerAddress(url).url, headers=headers, timeout=timeout, transport=transport
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, wanted: ClientRequest[Answer]) -> Answer:
        method, path, headers, content = wanted.request()
        tries = Tries(self._patience)
        while True:
            try:
                response = await self._http.request(method, path, headers=headers, content=content)
            except httpx.TransportError as error:
                wait = tries.pause(type(error).__name__)
            else:
                if response.status_code not in BUSY:
                    found: Answer = answer(response.status_code, response.content)
                    return found
                wait = tries.pause(f"status {response.status_code}", response.headers)
            await asyncio.sleep(wait)
