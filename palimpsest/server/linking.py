"""Asks a store's running server for a link to its pages."""

from __future__ import annotations

import http.client

import orjson

from palimpsest.client.shim import connect
from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.server.endpoint import Endpoint

ANSWER_SECONDS = 10.0


def ask_for_link(endpoint: Endpoint, token: str | None, wanted: dict[str, str]) -> str:
    """A URL that admits one browser, within a minute; `wanted` as in `WantedLink`.

    Raises UsageError if the server refuses the token or the request, TransientError if it does not
    answer.
    """
    secret = endpoint.operator or token
    if secret is None:
        raise UsageError("the server was given tokens: set PALIMPSEST_TOKEN to an operator's")
    connection = connect(endpoint, ANSWER_SECONDS)
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    try:
        connection.request("POST", "/links", orjson.dumps(wanted), headers)
        response = connection.getresponse()
        answer = orjson.loads(response.read())
    except (OSError, http.client.HTTPException, orjson.JSONDecodeError) as error:
        raise TransientError(f"the server does not answer: {type(error).__name__}") from None
    finally:
        connection.close()
    if response.status != 200:
        raise UsageError(f"the server gives no link: {answer.get('detail')}")
    path: str = answer["path"]
    return endpoint.url + path
