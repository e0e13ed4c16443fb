"""How often a request that failed is made again, and when."""

from collections.abc import Callable

from trimtab.cold_store.responses import RegistryError

_LONGEST_PAUSE_S = 5.0
_FIRST_PAUSE_S, _GROWTH = 0.05, 4


class Retries:
    """At most `attempts` of one request; `pause` waits for some seconds before another."""

    def __init__(self, attempts: int, pause: Callable[[float], None]):
        self._attempts, self._pause = attempts, pause
        self._failed = 0

    def failed(self, error: RegistryError) -> None:
        """Wait for the next attempt; raise `error` after the last, or if waiting does not help."""
        self._failed += 1
        if not error.passing or self._failed >= self._attempts:
            raise error
        pause_s = _FIRST_PAUSE_S * _GROWTH ** (self._failed - 1)
        self._pause(min(_LONGEST_PAUSE_S, max(error.pause_s, pause_s)))

    def renew(self) -> None:
        """Forget earlier failures: the request is another one now."""
        self._failed = 0
