"""Bounds shutdown: exits after eight seconds even if a broker or disk does not respond."""

from __future__ import annotations

import logging
import os
import threading

_log = logging.getLogger(__name__)

ENDING_SECONDS = 8.0
"""How long ending may take; what is not published by then is not decided."""


def end_in_time(status: int) -> None:
    """Have this process end in eight seconds with an exit status, if it still runs then.

    Clients wait for brokers, and threads for disks, much longer than may be waited.
    """
    limit = threading.Timer(ENDING_SECONDS, _give_up, [status])
    limit.daemon = True
    limit.start()


def _give_up(status: int) -> None:
    _log.error("something did not answer in %.0f s: ended without it", ENDING_SECONDS)
    logging.shutdown()
    os._exit(status)
