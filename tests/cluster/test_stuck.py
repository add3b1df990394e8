"""A real worker's pages while it catches up, while it is stuck, and how it ends of that."""

from __future__ import annotations

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from infra.broker import free_port
from tests.cluster.cluster import Cluster, ended, eventually, stderr_of
from tests.reliability.rows import lines, rows
from tests.streams.write.runtime import inputs

STREAM = [*lines(rows(24, owners=5))]
FOR_EVER = 3600.0


def status(port: int, page: str, host: str = "127.0.0.1") -> int:
    """The status of a page; 0 where nobody listens."""
    try:
        with urlopen(f"http://{host}:{port}/{page}", timeout=10) as told:
            return int(told.status)
    except HTTPError as error:
        return error.code
    except OSError:
        return 0


@pytest.mark.outage
def test_it_is_not_ready_while_it_catches_up_and_ends_when_it_is_stuck(cluster: Cluster) -> None:
    cluster.publish(inputs(STREAM[:12]))
    first = cluster.worker()
    cluster.decided()
    assert ended([first]) == [0], stderr_of(first)

    port = free_port()
    cluster.publish(inputs(STREAM[12:]))
    limits = {"look": 0.2, "stuck": 0.4, "give_up": 10.0}
    worker = cluster.worker("two", web_port=port, slow=1.5, embedding=FOR_EVER, **limits)
    eventually(lambda: status(port, "healthz") == 200, "its pages are there")
    assert status(port, "readyz") == 503, stderr_of(worker)
    assert status(port, "table/") == 404
    assert status(port, "healthz", "127.0.0.2") == 0, "the loopback's own address alone is bound"
    eventually(lambda: status(port, "readyz") == 200, "it is ready")
    eventually(lambda: status(port, "healthz") == 503, "it is stuck")
    assert worker.wait() == 1, stderr_of(worker)
    assert "input waits, without progress for 10 s" in stderr_of(worker)

    last = cluster.worker("two")
    cluster.decided()
    assert ended([last]) == [0], stderr_of(last)
