"""A policy that keeps texts local refuses embedders that may send them away (docs/judge.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palimpsest import Palimpsest, Policy, UsageError
from palimpsest.streams.embedder import EmbedFunction
from palimpsest.streams.policies import load_policy

ADA = {"owner_id": "ada", "text": "Ada has a big dog.", "category": "health"}


class Elsewhere:
    """An embedding function of the caller's, which remembers its arguments."""

    def __init__(self, *, local: bool = False) -> None:
        self.local = local
        self.texts: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [[1.0, float(len(text))] for text in texts]


def policy(*local_only: str) -> Policy:
    rules = load_policy("standard").model_dump(mode="json")
    return Policy.model_validate({**rules, "model": "own", "local_only": local_only})


def opened(folder: Path, embed: EmbedFunction, **options: Any) -> Palimpsest:
    return Palimpsest.open(folder, embedder=embed, model="own", **options)


def test_no_text_of_a_policy_that_keeps_some_local_reaches_such_a_function(tmp_path: Path) -> None:
    embed = Elsewhere()
    with opened(tmp_path, embed, policy=policy("health")) as store:
        for call in (
            lambda: store.submit(ADA),
            lambda: store.submit({**ADA, "category": "travel"}),
            lambda: store.recall("ada", "Which pets?"),
        ):
            with pytest.raises(UsageError, match="local_only"):
                call()
        assert store.status()["candidates"] == 0
    assert embed.texts == ["word"]


def test_from_the_policy_on_it_gets_no_more_texts(tmp_path: Path) -> None:
    embed = Elsewhere()
    with opened(tmp_path, embed, policy=policy()) as store:
        store.submit(ADA)
        store.set_policy(policy("health"))
        before = len(embed.texts)
        with pytest.raises(UsageError, match="local_only"):
            store.submit({**ADA, "text": "She lives in Rome."})
        with pytest.raises(UsageError, match="local_only"):
            store.recall("ada", "Where is her home?", as_of=1)
        assert len(embed.texts) == before
        assert store.list("ada")["total"] == 1


@pytest.mark.parametrize(("local", "names"), [(True, ["health"]), (False, [])])
def test_a_function_of_this_machine_says_so(tmp_path: Path, local: bool, names: list[str]) -> None:
    with opened(tmp_path, Elsewhere(local=local), policy=policy(*names)) as store:
        assert [one.decision for one in store.submit([ADA])] == ["stored"]
        assert len(store.recall("ada", "Which pets?")) == 1


def test_another_model_that_may_send_texts_elsewhere_is_not_begun(tmp_path: Path) -> None:
    embed = Elsewhere()
    with opened(tmp_path, Elsewhere(local=True), policy=policy("health")) as store:
        store.submit(ADA)
        with pytest.raises(UsageError, match="local_only"):
            store.embed_with("other", embedder=embed)
    assert embed.texts == ["word"]
