"""A blob in pieces, despite failures that are soon over."""

import hashlib
from collections.abc import Callable, Iterator

from trimtab.cold_store import ranges
from trimtab.cold_store.responses import OtherBytesError, RegistryError
from trimtab.cold_store.retries import Retries

_RENEWING_BYTES = 16 << 20


def chunks_of(
    rest: Callable[[int, bool], Iterator[bytes]],
    digest: str,
    size_bytes: int,
    retries: Retries,
    said: str,
) -> Iterator[bytes]:
    """Yield a blob; its digest is checked after the last piece.

    `rest` asks for the blob from a place on, as a range or as a part of the whole. After a failure
    that may be over soon it is asked again, and without ranges if the registry refuses them.
    Raises RegistryError, which begins with `said`.
    """
    seen, place, by_range = hashlib.sha256(), 0, True
    while True:
        began = place
        try:
            for piece in rest(place, by_range):
                seen.update(piece)
                place += len(piece)
                yield piece
            found = f"sha256:{seen.hexdigest()}"
            if found == digest:
                return
            if place < size_bytes:
                raise RegistryError(f"{said}: cut off at byte {place}", passing=True)
            raise OtherBytesError(f"{said}: it sent {found}; expected {digest}")
        except RegistryError as error:
            if began and by_range and error.status in ranges.REFUSALS:
                by_range = False
                continue
            if place - began >= _RENEWING_BYTES:  # so a large blob has as many as its parts
                retries.renew()
            retries.failed(error)
