"""Produces items in a thread while the caller uses earlier ones.

So reading a trace, simulating it and writing results overlap: the kernel releases the interpreter
lock.
"""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

_Item = TypeVar("_Item")
_DEPTH = 2


class Prefetcher(Generic[_Item]):
    """Iterates over `items`, up to two of which are produced ahead.

    An exception of the producer is raised in place of its item. `with` ends the thread, even when
    items are left.
    """

    def __init__(self, items: Iterable[_Item]) -> None:
        self._made: queue.Queue[tuple[_Item | None, BaseException | None]] = queue.Queue(_DEPTH)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._make, args=(items,), daemon=True)

    def __enter__(self) -> Iterator[_Item]:
        self._thread.start()
        return self._take()

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        while self._thread.is_alive():
            try:  # the thread may wait for a free slot
                self._made.get(timeout=0.01)
            except queue.Empty:
                continue
        self._thread.join()

    def _make(self, items: Iterable[_Item]) -> None:
        try:
            for item in items:
                self._made.put((item, None))
                if self._stopped.is_set():
                    return
            self._made.put((None, None))
        except BaseException as error:
            self._made.put((None, error))

    def _take(self) -> Iterator[_Item]:
        while True:
            item, error = self._made.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
