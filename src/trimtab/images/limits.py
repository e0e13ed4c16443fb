"""Limits for images: untrusted input must not use unlimited memory.

Nor unlimited time: work is counted over all threads that read layers.
"""

import threading
from collections.abc import Iterable, Iterator

from trimtab.images.errors import DamagedError

MOST_ENTRIES = 4_000_000  # allows an image with 1.3 million pictures of a data set
MOST_TEXT_BYTES = 1 << 30  # of names, targets and attributes
MOST_GROWTH = 100  # layers grow to 2 to 5 times their size
ALWAYS_BYTES = 1 << 30  # allowed for any image: a file of zeros is harmless


class ImageLimit:
    """The remaining limits for the layers of an image with `stored_bytes`."""

    def __init__(self, stored_bytes: int) -> None:
        self._stored_bytes = stored_bytes
        self._entries, self._text_bytes = MOST_ENTRIES, MOST_TEXT_BYTES
        self._growth_bytes = ALWAYS_BYTES + MOST_GROWTH * stored_bytes
        self._lock = threading.Lock()

    def entry(self, text_bytes: int) -> None:
        """Count an entry and its text. Raises DamagedError past the limit."""
        with self._lock:
            self._entries -= 1
            self._text_bytes -= text_bytes
            if self._entries < 0 or self._text_bytes < 0:
                raise DamagedError(
                    f"the image has more than {MOST_ENTRIES:,} entries, or names, links and"
                    f" attributes of more than {MOST_TEXT_BYTES:,} bytes"
                )

    def bounded(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield uncompressed pieces. Raises DamagedError past the image's growth limit."""
        for piece in pieces:
            with self._lock:
                self._growth_bytes -= len(piece)
                if self._growth_bytes < 0:
                    raise DamagedError(
                        f"the image grows to more than {MOST_GROWTH} times its"
                        f" {self._stored_bytes:,} bytes and a GiB; none of files does"
                    )
            yield piece
