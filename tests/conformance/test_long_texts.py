"""Texts beyond the model's input, on both runtimes, with some from before they had windows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from palimpsest.contracts.events import Embedded
from palimpsest.contracts.requests import EmbedRequest
from palimpsest.streams.policies import load_policy
from tests.conformance.runtime import Runtime
from tests.conformance.test_by_intent import Agent
from tests.designs.conftest import RUNTIMES, running
from tests.streams.write import runtime as embedded
from tests.stub_engine import LONGEST, BeforeWindows

BEGIN = " ".join(f"filler{n}" for n in range(3 * LONGEST))
LONG = f"{BEGIN} ada is allergic to peanuts"
SAME = LONG.replace("filler0", "opening")
OTHER = f"{BEGIN} {' '.join(f'other{n}' for n in range(20))}"


@pytest.fixture(scope="module", params=RUNTIMES)
def runtime(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runtime]:
    """A runtime in which Ada said something long before there were windows."""
    folder = tmp_path_factory.mktemp(str(request.param))
    policy = load_policy("replace-or-merge")
    with embedded.Runtime(folder / "old.sqlite", policy=policy, engine=BeforeWindows()) as old:
        rows = {"long": LONG, "tea": "ada likes tea"}
        old.submit(*({"owner_id": "ada", "id": row, "text": rows[row]} for row in rows))
        lines = old.lines()
    started = running(request, folder, lines)
    yield started
    started.close()


def test_old_texts_get_their_windows(runtime: Runtime) -> None:
    ada = Agent(runtime, "ada")
    assert [one["decision"] for one in ada.offer(SAME)] == ["pending"]
    told = [ada.ask(EmbedRequest, owner_id="ada", long=True) for _ in range(2)]
    assert told == [{"embedded": 1, "left": 0}, {"embedded": 0, "left": 0}]
    [late] = [event for event in ada.events() if isinstance(event, Embedded)]
    assert (late.data.vector.truncated, late.data.vector.covers_text) == (True, True)
    with ada.reading() as store:
        [found] = store.recall("ada", "ada is allergic to peanuts", k=1)
    assert found["face"] == LONG
    assert [one["decision"] for one in ada.offer(SAME.replace("opening", "start"))] == [
        "superseded"
    ]


@pytest.mark.parametrize("turn", [1, -1])
def test_texts_with_other_ends_wait(runtime: Runtime, turn: int) -> None:
    ben = Agent(runtime, f"ben {turn}")
    told = [one["decision"] for one in ben.offer(*(LONG, OTHER)[::turn])]
    assert told == ["stored", "pending"]
