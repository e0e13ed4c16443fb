"""How much of an image there may be: what comes from outside decides about no memory of ours."""

import threading
from dataclasses import dataclass, field

from trimtab.images.errors import DamagedError

MOST_ENTRIES = 4_000_000  # with 1.3 million pictures of a data set an image is still one
_MOST_TEXT_BYTES = 1 << 30  # of names, targets and attributes


@dataclass(slots=True)
class EntryLimit:
    """How many entries all layers of an image may still have, and text in them."""

    entries: int = MOST_ENTRIES
    text_bytes: int = _MOST_TEXT_BYTES
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def spend(self, text_bytes: int) -> None:
        """Count an entry. Raises DamagedError past the limit."""
        with self._lock:
            self.entries -= 1
            self.text_bytes -= text_bytes
            if self.entries < 0 or self.text_bytes < 0:
                raise DamagedError(
                    f"the image has more than {MOST_ENTRIES:,} entries, or names and attributes of"
                    f" more than {_MOST_TEXT_BYTES:,} bytes"
                )
