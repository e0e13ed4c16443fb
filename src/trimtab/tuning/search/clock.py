"""The duration of a search, over all its processes, killed ones included.

Machines that share a search share its time. Each counts its own clock's seconds; one that is
behind, as it started late or was asleep, jumps to the furthest saved time. No machine's date
counts. Times of two machines agree within a second or two, if the file system shows a new file at
once.
"""

import math
import time
from pathlib import Path

from trimtab.files import parse_json, read_limited, write_json

KEPT_EVERY_S = 5.0  # at least; a killed search loses no more
_SELDOM_S = 1.0
_MOST_BYTES = 1000


class SearchClock:
    """The seconds of a search, at least `began_s`, saved at `path` for the next process.

    Clocks of other machines are beside it, with the same prefix.
    """

    def __init__(self, path: Path, began_s: float = 0.0) -> None:
        self._path = path
        self._began_at = time.monotonic() - began_s
        self._follow()
        self._kept_at = -math.inf

    def now_s(self) -> float:
        """Return the seconds since the search began, without gaps between its processes."""
        return time.monotonic() - self._began_at

    def keep(self) -> None:
        """Save the time and read other machines' clocks, unless that was just done."""
        now = time.monotonic()
        if now - self._kept_at >= _SELDOM_S:
            self._follow()
            write_json(self._path, {"searched_s": self.now_s()})
            self._kept_at = now

    def _follow(self) -> None:
        """Set this clock to the furthest one, if it is behind."""
        word, _, _ = self._path.stem.partition("_")
        for path in self._path.parent.glob(f"{word}*.json"):
            self._began_at -= max(0.0, _kept_s(path) - self.now_s())


def _kept_s(path: Path) -> float:
    try:
        found = float(parse_json(read_limited(path, _MOST_BYTES))["searched_s"])
    except (OSError, ValueError, TypeError, KeyError):  # missing or damaged: rows say enough
        return 0.0
    return found if 0 <= found < math.inf else 0.0
