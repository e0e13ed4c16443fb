"""Responses of registries, and errors."""

import http.client
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import urllib3

from trimtab.cold_store.timeouts import SLOWEST_BYTES_PER_S

FAILURES = (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError)
_PASSING = {408, 429, 500, 502, 503, 504}
_PIECE_BYTES = 1 << 18
_MOST_SAID_BYTES = 1 << 16
_OBJECT = re.compile(r"^(?:<.*?>|\w+\(.*?\)): ")  # urllib3 begins its errors with one


class RegistryError(Exception):
    """A request that failed, in one plain line; `status` is that of the registry's response, or 0.

    A `passing` failure may be over soon.
    """

    def __init__(self, said: str, status: int = 0, passing: bool = False, pause_s: float = 0):
        super().__init__(plain(said))
        self.status, self.passing, self.pause_s = status, passing, pause_s


class OtherBytesError(RegistryError):
    """A response with other bytes than its digest, or more than asked for."""


def plain(text: str) -> str:
    """Return a foreign text as one short line without control characters."""
    return "".join(each if each.isprintable() else " " for each in text)[:500]


def reason_of(error: BaseException) -> str:
    """Return what one of FAILURES says."""
    return _OBJECT.sub("", str(error)) or type(error).__name__


class Response:
    """A response of a registry, whose body is read piece by piece before `deadline_s`."""

    def __init__(self, raw: Any, said: str, wait_s: float):
        self.status: int = raw.status
        self.headers: Mapping[str, str] = raw.headers
        self._raw, self._said, self._wait_s = raw, said, wait_s

    def pieces(self, most_bytes: int) -> Iterator[bytes]:
        """Yield the body, up to `most_bytes`. Raises RegistryError if it is cut off or slow."""
        deadline = time.monotonic() + self._wait_s + most_bytes / SLOWEST_BYTES_PER_S
        while most_bytes > 0:
            try:
                data = self._raw.read1(min(most_bytes, _PIECE_BYTES), decode_content=False)
            except FAILURES as error:
                raise RegistryError(
                    f"{self._said}: cut off: {reason_of(error)}", passing=True
                ) from None
            if not data:
                return
            if time.monotonic() > deadline:
                raise RegistryError(f"{self._said}: the registry sends too slowly", passing=True)
            most_bytes -= len(data)
            yield data

    def body(self, most_bytes: int) -> bytes:
        """Return the whole body. Raises RegistryError if it has more than `most_bytes`."""
        data = b"".join(self.pieces(most_bytes + 1))
        if len(data) > most_bytes:
            raise OtherBytesError(f"{self._said}: more than {most_bytes} bytes; expected fewer")
        return data

    def refusal(self, host: str) -> RegistryError:
        """Return the error that a response is, with what the registry says of it."""
        status = self.status
        try:
            text = b"".join(self.pieces(_MOST_SAID_BYTES)).decode(errors="replace")
            errors = json.loads(text)["errors"]
            why = ", ".join(str(each.get("message") or each.get("code")) for each in errors)
        except (RegistryError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            why = ""
        advice = f"; type `docker login {host}`, or give a file with its credentials"
        words = http.client.responses.get(status, "an unknown status")
        return RegistryError(
            f"{self._said}: {status} {words}{': ' if why else ''}{why[:200]}"
            f"{advice if status in (401, 403) else ''}",
            status,
            status in _PASSING,
            _pause_s(self.headers.get("Retry-After", "")),
        )


def _pause_s(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
