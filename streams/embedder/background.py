"""The embedder: an engine on its own thread, so that embedding overlaps with other work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from palimpsest.streams.embedder.contract import Embedding, Engine

REMEMBERED = 4096
"""Number of recent texts that are cached, about 2 kB each."""


class Embedder:
    """Embeds submissions one after another, in order, on its own thread.

    No text is embedded twice within a submission, or while it is among the `remembered` most recent
    texts.
    """

    def __init__(self, engine: Engine, *, remembered: int = REMEMBERED) -> None:
        self.engine = engine
        self._remembered = remembered
        self._recent: OrderedDict[str, Embedding] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedding")

    def submit(self, texts: Sequence[str]) -> Future[list[Embedding]]:
        """Embed `texts` later; the future's result is one embedding per text, in order.

        An exception of the engine is raised by the future, and later submissions continue. Raises
        RuntimeError after `close`.
        """
        return self._thread.submit(self._embed, tuple(texts))

    def embed_now(self, text: str) -> Embedding:
        """Embed a text on the caller's thread, without waiting for submissions."""
        return self.engine.embed([text])[0]

    def close(self) -> None:
        """Finish the running submission, cancel those that wait, and stop the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _embed(self, texts: tuple[str, ...]) -> list[Embedding]:
        found = {text: self._recent[text] for text in texts if text in self._recent}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found.update(zip(new, self.engine.embed(new), strict=True))
        self._remember(found)
        return [found[text] for text in texts]

    def _remember(self, found: dict[str, Embedding]) -> None:
        for text, embedding in found.items():
            self._recent[text] = embedding
            self._recent.move_to_end(text)
        while len(self._recent) > self._remembered:
            self._recent.popitem(last=False)
