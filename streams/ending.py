"""Bounds shutdown: exits after eight seconds even if a broker or disk does not respond."""

from __future__ import annotations

import os
import threading

ENDING_SECONDS = 8.0
"""Maximum time for shutting down; what is not published by then is not decided."""


def end_in_time(status: int) -> None:
    """Exit this process after eight seconds with this status, if it is still running.

    Clients wait for brokers, and threads for disks, much longer than is acceptable.
    """
    limit = threading.Timer(ENDING_SECONDS, _give_up, [status])
    limit.daemon = True
    limit.start()


def _give_up(status: int) -> None:
    import logging  # late: until the first handlers are installed, an interrupt prints a traceback

    log = logging.getLogger(__name__)
    log.error("something did not respond within %.0f s: exiting without it", ENDING_SECONDS)
    logging.shutdown()
    os._exit(status)
