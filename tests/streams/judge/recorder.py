"""Stands between a judge and its service, and keeps every byte that is sent."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from types import TracebackType
from typing import Self


class Recorder:
    """Passes connections on to a local port; `sent` has all that clients sent."""

    def __init__(self, port: int) -> None:
        self.pieces: list[bytes] = []
        recorder = self

        class _Connection(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection(("127.0.0.1", port)) as service:
                    while True:
                        for ready in select.select([self.request, service], [], [])[0]:
                            piece = ready.recv(65536)
                            if not piece:
                                return
                            if ready is self.request:
                                recorder.pieces.append(piece)
                                service.sendall(piece)
                            else:
                                self.request.sendall(piece)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Connection)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def sent(self) -> bytes:
        return b"".join(self.pieces)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
