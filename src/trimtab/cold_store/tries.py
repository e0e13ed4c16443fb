"""How often a request that failed is made again, and when."""

from collections.abc import Callable

from trimtab.cold_store.answers import RegistryError

_LONGEST_PAUSE_S = 5.0
_FIRST_PAUSE_S, _GROWTH = 0.05, 4


class Tries:
    """At most `most` tries of one request; `pause` waits for some seconds before another."""

    def __init__(self, most: int, pause: Callable[[float], None]):
        self._most, self._pause = most, pause
        self._failed = 0

    def failed(self, error: RegistryError) -> None:
        """Wait for the next try; raise `error` after the last, or if it will not be over soon."""
        self._failed += 1
        if not error.passing or self._failed >= self._most:
            raise error
        pause_s = _FIRST_PAUSE_S * _GROWTH ** (self._failed - 1)
        self._pause(min(_LONGEST_PAUSE_S, max(error.pause_s, pause_s)))

    def renew(self) -> None:
        """Forget earlier failures: the request is another one now."""
        self._failed = 0
