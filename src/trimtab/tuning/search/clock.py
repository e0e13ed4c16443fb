"""How long a search has been going on, over all processes that search, killed ones included.

Machines that share a search are on one line of time: each goes by its own clock's seconds, and one
that is behind, as it came late or was asleep, goes on from where the furthest of them was when it
kept its time last. No machine's date counts. So times of two machines are comparable to a second or
two, as far as the file system shows a file at once.
"""

import math
import time
from pathlib import Path

from trimtab.files import parse_json, read_limited, write_json

KEPT_EVERY_S = 5.0  # at least: so much of a killed search is lost at most
_SELDOM_S = 1.0
_MOST_BYTES = 1000


class SearchClock:
    """The seconds of a search, kept at `path` for the next process; at least `began_s` are over.

    Clocks of other machines are beside it, and begin with the same word.
    """

    def __init__(self, path: Path, began_s: float = 0.0) -> None:
        self._path = path
        self._began_at = time.monotonic() - began_s
        self._follow()
        self._kept_at = -math.inf

    def now_s(self) -> float:
        """Return the seconds since the search began, those between its processes left out."""
        return time.monotonic() - self._began_at

    def keep(self) -> None:
        """Keep the time, and look at others' clocks, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self._kept_at >= _SELDOM_S:
            self._follow()
            write_json(self._path, {"searched_s": self.now_s()})
            self._kept_at = now

    def _follow(self) -> None:
        """Go on from where the furthest clock is, if this one is behind."""
        word, _, _ = self._path.stem.partition("_")
        for path in self._path.parent.glob(f"{word}*.json"):
            self._began_at -= max(0.0, _kept_s(path) - self.now_s())


def _kept_s(path: Path) -> float:
    try:
        found = float(parse_json(read_limited(path, _MOST_BYTES))["searched_s"])
    except (OSError, ValueError, TypeError, KeyError):  # not there, or damaged: rows say enough
        return 0.0
    return found if 0 <= found < math.inf else 0.0
