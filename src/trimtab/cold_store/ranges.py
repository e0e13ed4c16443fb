"""Ranges of a blob, from responses of registries that know ranges and of those that do not."""

import re
from collections.abc import Iterator

from trimtab.cold_store.responses import RegistryError, Response

STATUSES = (200, 206)  # the whole blob, or the range
REFUSALS = (206, 400, 405, 416, 501)  # of registries without ranges; 206 is another range
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(?:\d{1,15}|\*)")


def header_of(start: int, end: int) -> dict[str, str]:
    """Return the header that asks for the bytes from `start` up to `end`."""
    return {"Range": f"bytes={start}-{end - 1}"}


def pieces_of(response: Response, start: int, end: int, said: str) -> Iterator[bytes]:
    """Yield the bytes from `start` up to `end`, in pieces; of a whole blob the rest is skipped.

    The last piece may come too early: the response ends where the registry ended it. Raises
    RegistryError, which begins with `said`, for another range.
    """
    skipped = start
    if response.status == 206:
        skipped = 0
        sent = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not sent or (int(sent[1]), int(sent[2])) != (start, end - 1):
            raise RegistryError(
                f"{said}: it sent {sent[0] if sent else 'no range'};"
                f" expected bytes {start}-{end - 1}",
                response.status,
            )
    for piece in response.pieces(end - start + skipped):
        kept = piece[skipped:]
        skipped = max(0, skipped - len(piece))
        if kept:
            yield kept
