"""A stand-in for a server: a script of answers to successive requests."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from palimpsest.server.endpoint import Endpoint


class Script:
    """Answers requests one after the other; errors are raised. `asked` has the requests."""

    def __init__(self, *answers: tuple[int, bytes] | Exception) -> None:
        self._answers = [*answers]
        self.asked: list[dict[str, Any]] = []
        self.status = 0
        self._body = BytesIO()

    def connect(self, endpoint: Endpoint, _seconds: float) -> Script:
        """A connection to a server."""
        self._url = endpoint.url
        return self

    def request(self, method: str, path: str, body: Any = None, headers: Any = None) -> None:
        """Send one request."""
        self.asked.append(
            {"url": self._url, "method": method, "path": path, "body": body, **(headers or {})}
        )

    def getresponse(self) -> Script:
        """The next answer."""
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self.status, self._body = answer[0], BytesIO(answer[1])
        return self

    def read(self) -> bytes:
        """The answer's body."""
        return self._body.read()

    def close(self) -> None:
        """Do nothing: no connection is open."""
