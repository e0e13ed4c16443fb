"""Work that many want at once and one does."""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Flights(Generic[Key, Value]):
    """The work under way, by key. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[Key, Future[Value]] = {}

    def join(
        self, key: Key, planned: Callable[[Callable[[Key], bool]], Sequence[Key]]
    ) -> tuple[Future[Value] | None, dict[Key, Future[Value]]]:
        """Return the future of `key`, or None, and those that the caller has to do.

        `planned` gets what tells whether a key is under way, and returns keys that are not.
        """
        with self._lock:
            mine: dict[Key, Future[Value]] = {
                each: Future() for each in planned(self._flying.__contains__)
            }
            self._flying.update(mine)
            return self._flying.get(key), mine

    def land(self, key: Key, value: Value) -> None:
        """Give the value to all who wait; a key that was planned twice lands once."""
        if (future := self._done(key)) is not None:
            future.set_result(value)

    def fail(self, key: Key, error: Exception) -> None:
        """Give an error to all who wait."""
        if (future := self._done(key)) is not None:
            future.set_exception(error)

    def _done(self, key: Key) -> Future[Value] | None:
        with self._lock:
            return self._flying.pop(key, None)
