"""The embedder: an engine on its own thread, so that embedding overlaps with other work."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from threading import Lock

from palimpsest.streams.embedder.contract import Embedding, Engine

REMEMBERED = 4096
"""Number of recent texts that are cached, about 2 kB each."""
TOGETHER = 32
"""Waiting submissions are embedded together, up to this number of texts: more would not be faster,
and the first would wait longer."""

Submission = tuple[Sequence[str], Future[list[Embedding]]]
"""Texts, and the future of their embeddings."""


class Embedder:
    """Embeds submissions in order on its own thread; small ones that wait are embedded together.

    No text is embedded twice within a submission, or while it is among the `remembered` most recent
    texts, which are cached.
    """

    def __init__(self, engine: Engine, *, remembered: int = REMEMBERED) -> None:
        self.engine = engine
        self._remembered = remembered
        self._recent: OrderedDict[str, Embedding] = OrderedDict()
        self._embedding = Lock()
        self._waiting: deque[Submission] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self.embed_once = lru_cache(maxsize=remembered)(self.embed_now)
        """Like `embed_now`, for texts such as names that are asked for again and again.

        Its cache is not that of `submit`, which is locked while submissions are embedded.
        """

    def submit(self, texts: Sequence[str]) -> Future[list[Embedding]]:
        """Embed `texts` later; the future's result is one embedding per text, in order.

        An exception of the engine is raised by the future, and later submissions continue. Raises
        RuntimeError after `close`.
        """
        future: Future[list[Embedding]] = Future()
        self._waiting.append((tuple(texts), future))
        self._thread.submit(self._embed_waiting)
        return future

    def submit_waiting(self, texts: Sequence[str]) -> Future[list[Embedding]]:
        """Like `submit`, but on the caller's thread: on return, the future has its result.

        Handing one text to another thread, and its vector back, takes a tenth of its embedding.
        """
        future: Future[list[Embedding]] = Future()
        self._embed_together([(tuple(texts), future)])
        return future

    def embed_now(self, text: str) -> Embedding:
        """Embed a text on the caller's thread, without waiting for submissions."""
        return self._run([text])[0]

    def close(self) -> None:
        """Finish the running submission, cancel those that wait, and stop the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        for _, future in tuple(self._waiting):
            future.cancel()
        self._thread.shutdown()

    def _embed_waiting(self) -> None:
        """Embed the next submissions, unless they were embedded with earlier ones."""
        some: list[Submission] = []
        count = 0
        while self._waiting and (not some or count + len(self._waiting[0][0]) <= TOGETHER):
            texts, future = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                some.append((texts, future))
                count += len(texts)
        self._embed_together(some)

    def _embed_together(self, some: Sequence[Submission]) -> None:
        """Embed submissions in one call of the engine; if it fails, each alone."""
        try:
            with self._embedding:
                found = iter(self._embed([text for texts, _ in some for text in texts]))
        except BaseException as error:  # noqa: BLE001 - raised by the future
            if len(some) == 1:
                some[0][1].set_exception(error)
                return
            for one in some:
                self._embed_together([one])
            return
        for texts, future in some:
            future.set_result([*islice(found, len(texts))])

    def _embed(self, texts: Sequence[str]) -> list[Embedding]:
        found = {text: self._recent[text] for text in texts if text in self._recent}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found.update(zip(new, self._run(new), strict=True))
        for text, embedding in found.items():
            self._recent[text] = embedding
            self._recent.move_to_end(text)
        while len(self._recent) > self._remembered:
            self._recent.popitem(last=False)
        return [found[text] for text in texts]

    def _run(self, texts: Sequence[str]) -> list[Embedding]:
        return self.engine.embed(texts)
