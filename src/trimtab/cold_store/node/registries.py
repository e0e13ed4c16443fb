"""The registries that a node asks; one that is down is left alone for a moment."""

import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from trimtab.cold_store.credentials import CredentialSource
from trimtab.cold_store.registry import Registry, RegistryError
from trimtab.cold_store.transport import Transport, trusting

_LEFT_ALONE_S = 1.0
_TIMEOUT_S, _TRIES = 10.0, 2
Result = TypeVar("Result")


class Registries:
    """The registries by their hosts, with the node's credentials. Thread-safe."""

    def __init__(
        self,
        credentials: CredentialSource,
        ca: Path | None = None,
        plain_http: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ):
        self._credentials, self._ca, self._plain_http = credentials, ca, plain_http
        self._clock = clock
        trusting(ca)  # to fail before anybody asks
        self._lock = threading.Lock()
        self._open: dict[str, Registry] = {}
        self._down: dict[str, tuple[float, RegistryError]] = {}

    def ask(self, host: str, question: Callable[[Registry], Result]) -> Result:
        """Return what `question` gets of a registry.

        Raises RegistryError, for about a second the same one if it was for a registry that is down.
        """
        until, error = self._down.get(host, (0.0, None))
        if error is not None and self._clock() < until:
            raise error
        try:
            answer = question(self._registry(host))
        except RegistryError as failure:
            if failure.passing:
                self._down[host] = self._clock() + _LEFT_ALONE_S, failure
            raise
        self._down.pop(host, None)
        return answer

    def _registry(self, host: str) -> Registry:
        with self._lock:
            if host not in self._open:
                plain = host in self._plain_http
                given = (host, self._credentials, self._ca, plain, _TIMEOUT_S, _TRIES)
                self._open[host] = Registry(Transport(*given))
            return self._open[host]
